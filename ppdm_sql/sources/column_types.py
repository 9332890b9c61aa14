"""Types of columns and markers of missing values that a user says, and what the texts of a column show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlglot

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, free_name, option_for, resolve, typed
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql, subquery
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of, type_tree
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource
from ppdm_sql.errors import kind_of as class_of

_SAMPLE = 2_048
_ORDERS = ("%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")
_SHORT_YEAR = 2
_CENTURY = " Years up to 68 are read as 2068, and later ones as 1969 to 1999."
_FEWEST_RECORDS = 5
"""So many records must share a text for a message to quote it."""
_MOST_MARKERS = 5
"""So many different texts among numbers or dates may all stand for a missing value."""
_MOST_CODES = 20
"""So many different numbers may well be codes; more are likely to count or measure something."""
_SHOWN_BY = {
    "BIGINT": {"whole number", "long whole"},
    "DOUBLE": {"whole number", "number"},
    "DATE": {"date"},
    "TIMESTAMP": {"time stamp"},
    "TIME": {"time"},
    "BOOLEAN": {"truth value"},
}
"""For each type, the kinds of texts of which it loses nothing, as ``sources/text_kinds`` names them."""
_KEPT_IF = {
    "BIGINT": "coalesce(CAST({v} AS VARCHAR) = {c}, FALSE)",
    "DOUBLE": r"""coalesce(
        isfinite({v})
            AND regexp_full_match({c}, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?')
            AND (length({c}) <= 15 OR CAST({v} AS VARCHAR) = {c}),
        FALSE
    )""",
    "DATE": "coalesce(CAST({v} AS VARCHAR) = {c} AND length({c}) = 10, FALSE)",
}
"""For each type that texts are converted to as they are read, what is enough for one of ``_SHOWN_BY``."""
_WHOLE_NUMBERS = {*_SHOWN_BY["BIGINT"], "lossy whole"}
_NUMBERS = {*_WHOLE_NUMBERS, "number", "lossy number"}
_DATES = {"date", "time stamp", "other date"}
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT")
_WHOLE = (*_SIGNED, *(f"U{name}" for name in _SIGNED))
_TYPE = re.compile(r"[A-Za-z_0-9]+( [A-Za-z]+)*( ?\(\d+(, ?\d+)?\))?")
_BY_FORMAT = ("DATE", "TIMESTAMP", "TIME")
_MARKS = {"decimal comma": ",", "decimal point": "."}
"""What is before the decimals, by how a user says it; the other one may group digits by three."""
_FORMATTED = "formatted number"
_CURRENCIES = "$£€"
_MARKED = re.compile(r"(?P<type>.*\S)\s+(?P<format>decimal (comma|point))", re.IGNORECASE)


class TypeSaid(NamedTuple):
    """The type that a user says a column has, and how texts of dates and times are written."""

    name: str
    format: str = ""  # as strptime knows it, or of _MARKS

    def values(self, name: str, *, of_text: bool) -> Statement:
        """Give the values of a column in this type; NULL for those that are none of it."""
        value, target = column(name), type_tree(self.name)
        whole = self.name.upper() in _WHOLE  # to which a cast from text rounds: 3.7 to 4
        if of_text and (mark := _MARKS.get(self.format)):
            decimals = "" if whole else rf"([{mark}][0-9]+)?"
            grouped = rf"([0-9]+|[0-9]{{1,3}}([{'.' if mark == ',' else ','} '][0-9]{{3}})+){decimals}"
            amount = rf"[+-]?([{_CURRENCIES}] ?)?{grouped}( ?[{_CURRENCIES}])?"
            plain = "replace(regexp_replace({v}, {others}, '', 'g'), {mark}, '.')"
            number = sql(plain, v=value, others=literal(f"[^0-9{mark}+-]"), mark=literal(mark))
            text = "CASE WHEN regexp_full_match({v}, {form}) THEN TRY_CAST({number} AS {type}) END"
            return sql(text, v=value, form=literal(amount), number=number, type=target)
        if self.name in _BY_FORMAT and self.format:
            form = literal(self.format)
            read = "TRY_CAST(try_strptime(CAST({v} AS VARCHAR), {form}) AS {type})"  # also of 20240131
            return sql(read, v=value, form=form, type=target)
        cast = sql("TRY_CAST({v} AS {type})", v=value, type=target)
        if not of_text or not whole:
            return cast
        return sql("CASE WHEN regexp_full_match({v}, '[+-]?[0-9]+') THEN {cast} END", v=value, cast=cast)


class Said(NamedTuple):
    """What a user says of how a source is read: types by name, and texts that stand for a missing value."""

    types: Mapping[str, TypeSaid]
    nulls: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.types or self.nulls)


def types_said(engine: Engine, types: Mapping[str, str] | None) -> dict[str, TypeSaid]:
    """Check what a user says of the types of columns.

    Example:
        >>> import duckdb
        >>> types_said(Engine(duckdb.connect()), {"zip": "VARCHAR", "seen": "date %d.%m.%Y"})
        {'zip': TypeSaid(name='VARCHAR', format=''), 'seen': TypeSaid(name='DATE', format='%d.%m.%Y')}
    """
    if types is None:
        return {}
    if not isinstance(types, Mapping) or not all(
        isinstance(item, str) for pair in types.items() for item in pair
    ):
        raise InvalidOption(
            f"types takes the type of each column by its name, not {class_of(types)}.",
            "Write it as types={'zip': 'VARCHAR'}.",
        )
    return {name: _type_said(engine, name, text) for name, text in types.items()}


def _type_said(engine: Engine, name: str, text: str) -> TypeSaid:
    word, _, form = text.strip().partition(" ")
    if "%" in form and word.upper() in _BY_FORMAT:
        return TypeSaid(word.upper(), form.strip())
    marked = _MARKED.fullmatch(text.strip())
    kind, form = (marked["type"], marked["format"].lower()) if marked else (text.strip(), "")
    try:
        if not _TYPE.fullmatch(kind):
            raise ValueError
        of_type = sql("SELECT typeof(CAST(NULL AS {type}))", type=type_tree(kind))
        ((name_of_type,),) = engine.look_up(of_type, step="type")
        if form and not is_number(name_of_type):
            raise ValueError
    except (sqlglot.errors.SqlglotError, EngineError, ValueError):
        raise InvalidOption(
            f"{text!r}, the type of column {name!r}, is not a type of DuckDB.",
            "Write such as VARCHAR, BIGINT, DOUBLE or DATE; 'DATE %d.%m.%Y' says how dates are written, "
            "'DOUBLE decimal comma' how numbers are.",
        ) from None
    return TypeSaid(kind, form)


# -- what is said is applied -------------------------------------------------------------------


def load_texts(engine: Engine, rows: Statement, said: Said, name: str) -> Table:
    """Write rows of texts into a working table; columns that begin as numbers or dates are converted at once.

    Where a later record would lose something by it, such as a leading zero, all columns are read as texts,
    of which :func:`applied` finds the types.
    """
    names = [str(found) for found, *_ in engine.look_up(sql("DESCRIBE {rows}", rows=rows), step="columns")]
    lowered, types = {given.lower() for given in said.types}, dict[str, str]()
    for found, kinds in _kinds(engine, _first(sql("({rows})", rows=rows), names)).items():
        if found.lower() not in lowered and (kind := _type_of(kinds)) in _KEPT_IF:
            types[found] = kind
    if types:
        lost, cast = column(free_name("lost", names)), "TRY_CAST({c} AS {type}) AS {c}"
        read = [
            sql(cast, c=column(found), type=type_tree(types[found])) if found in types else column(found)
            for found in names
        ]
        kept = joined([_is_kept(found, kind, said.nulls) for found, kind in types.items()], " AND ")
        load = "SELECT {read}, NOT ({kept}) AS {lost}\nFROM ({rows})"
        table = engine.materialize("load", sql(load, read=read, kept=kept, lost=lost, rows=rows), name=name)
        ((some_lost,),) = engine.look_up(sql("SELECT bool_or({c}) FROM {t}", c=lost, t=table), step="lost")
        if not some_lost:
            engine.query(sql("ALTER TABLE {t} DROP COLUMN {c}", t=table, c=lost), step="types of columns")
            return table
        engine.discard(table)
    return engine.materialize("load", rows, name=name)


def _is_kept(name: str, kind: str, markers: Sequence[str]) -> Statement:
    """Tell whether a type loses nothing of a text, which is not a marker of a missing value."""
    value = sql("TRY_CAST({c} AS {type})", c=column(name), type=type_tree(kind))
    kept = sql(_KEPT_IF[kind], c=column(name), v=value)
    if markers:
        listed = [literal(marker) for marker in markers]
        kept = sql("{kept} AND {c} NOT IN ({listed})", kept=kept, c=column(name), listed=listed)
    return sql("({c} IS NULL OR {kept})", c=column(name), kept=kept)


def applied(
    engine: Engine, table: Table, said: Said, shown: str, *, strict: bool, of_texts: bool
) -> tuple[dict[str, TypeSaid], list[str]]:
    """Give the columns of a working table, in their place, the types and the NULLs that are said.

    Of columns that were read as texts, types are found, too. Returns the types of what is changed, and what
    the user should know.
    """
    columns = engine.columns(table)
    notices = _blank_markers(engine, table, columns, said.nulls, shown) if said.nulls else []
    names = [item.name for item in columns]
    lowered = {name.lower() for name in names}
    types = {
        resolve(name, names, table=shown): kind
        for name, kind in said.types.items()
        if strict or name.lower() in lowered
    }
    kept, found = list[str](), dict[str, TypeSaid]()
    for item in columns:
        kind = types.get(item.name)
        if kind is not None:
            read = kind._replace(format="") if kind_of(item.type) in MOMENTS else kind  # it is read already
            values = read.values(item.name, of_text=item.type == "VARCHAR")
            _refuse_lost(engine, table, item.name, read, values, shown)
        elif not of_texts:
            continue
        elif item.type != "VARCHAR":
            kind = TypeSaid(item.type)
        else:
            kinds = _kinds_of(engine, table, item.name)
            if not (fitting := _type_of(kinds)):
                kept += _kept_as_text(engine, table, item.name, kinds, shown)
                continue
            kind = TypeSaid(fitting)
            values = kind.values(item.name, of_text=False)
        found[item.name] = kind
        if kind.name.upper() != item.type:
            _change(engine, table, item.name, kind.name, values)
    told = notices if strict else []
    return found, told + (kept if of_texts else told_of_texts(engine, table, shown))


def _blank_markers(
    engine: Engine, table: Table, columns: Sequence[Column], markers: Sequence[str], shown: str
) -> list[str]:
    """Write NULL where a column of texts holds a marker; tell of markers that none holds."""
    listed, held = [literal(marker) for marker in markers], set[str]()
    for item in columns:
        if kind_of(item.type) not in (Kind.TEXT, Kind.ENUM):
            continue
        marked = sql("CAST({c} AS VARCHAR) IN ({markers})", c=column(item.name), markers=listed)
        query = sql(
            "SELECT DISTINCT CAST({c} AS VARCHAR) FROM {t} WHERE {marked}",
            c=column(item.name),
            t=table,
            marked=marked,
        )
        if rows := engine.query(query, step="markers of missing values"):
            held.update(marker for (marker,) in rows)
            value = sql("CASE WHEN {marked} THEN NULL ELSE {c} END", marked=marked, c=column(item.name))
            _change(engine, table, item.name, item.type, value)
    unused = [repr(marker) for marker in markers if marker not in held]
    if not unused or not engine.size(table):
        return []
    return [
        f"No column of texts of {shown} holds {' or '.join(unused)}, which was to stand for a missing value. "
        "Check how it is written."
    ]


def _change(engine: Engine, table: Table, name: str, kind: str, value: Statement) -> None:
    """Write a column anew; the others are not copied."""
    action = "ALTER TABLE {t} ALTER COLUMN {c} TYPE {type} USING {value}"
    engine.query(
        sql(action, t=table, c=column(name), type=type_tree(kind), value=value), step="types of columns"
    )


def _refuse_lost(
    engine: Engine, table: Table, name: str, said: TypeSaid, values: Statement, shown: str
) -> None:
    if said.name.upper() == "VARCHAR":
        return
    count, record = _lost(engine, table, name, values)
    if not count:
        return
    some = f"{count} values" if count > 1 else "A value"
    first = "the first in" if count > 1 else "in"
    by = f" written {said.format}" if said.format else ""
    remedy = "Say another type, such as VARCHAR, or mend the file."
    if said.name.upper() in _BY_FORMAT and not said.format:
        remedy = f"Say how they are written, such as '{name}={said.name.upper()} %d.%m.%Y', or say VARCHAR."
    elif not said.format and is_number(said.name.upper()):
        remedy = f"{remedy} If decimals follow a comma, say '{name}={said.name} decimal comma'."
    where = f"{some} of column {name!r} of {shown}"
    raise InvalidSource(f"{where} cannot be read as {said.name}{by}, {first} record {record}.", remedy)


def _lost(engine: Engine, table: Table, name: str, values: Statement) -> tuple[int, int]:
    """Count the values of a column that would become NULL, and give the record of the first."""
    query = """
SELECT count(*), min(s.record)
FROM (SELECT {value} AS value, {c} AS given, row_number() OVER () AS record FROM {t}) AS s
WHERE s.value IS NULL AND s.given IS NOT NULL"""
    lost = sql(query, value=values, c=column(name), t=table)
    ((count, record),) = engine.query(lost, step="types that were said")
    return count, record


# -- what texts show --------------------------------------------------------------------------


def _kinds(engine: Engine, texts: Statement) -> dict[str, dict[str, int]]:
    """Count the records of columns of texts, ``name, value``, by what their texts are written like."""
    found: dict[str, dict[str, int]] = {}
    step = bind("sources/text_kinds", tables={"texts": subquery(texts)})
    for name, kind, records in engine.look_up(step, step="text_kinds"):
        found.setdefault(name, {})[kind] = records
    return found


def _kinds_of(engine: Engine, table: Table, name: str) -> dict[str, int]:
    of_column = "SELECT {name} AS name, {c} AS value FROM {t}"  # to stack columns takes twice as long
    texts = sql(of_column, name=literal(name), c=column(name), t=table)
    return _kinds(engine, texts).get(name, {})


def _type_of(kinds: Mapping[str, int]) -> str:
    """Give the type that loses nothing of texts of these kinds; empty where none does or there are none."""
    return next((name for name, of_type in _SHOWN_BY.items() if kinds and kinds.keys() <= of_type), "")


def _first(rows: Statement, names: Sequence[str]) -> Statement:
    """Stack the first values of columns of texts."""
    columns = [column(name) for name in names]
    first = sql("SELECT {columns} FROM {t} LIMIT {n}", columns=columns, t=rows, n=_SAMPLE)
    return sql("FROM (UNPIVOT ({first}) ON COLUMNS(*) INTO NAME name VALUE value) AS s", first=first)


def _kept_as_text(engine: Engine, table: Table, name: str, kinds: Mapping[str, int], shown: str) -> list[str]:
    """Say of a column that holds digits, numbers or dates why it is read as text all the same."""
    if kinds and kinds.keys() <= _NUMBERS:
        kind = "BIGINT" if kinds.keys() <= _WHOLE_NUMBERS else "DOUBLE"
        return [
            f"Column {name!r} of {shown} is read as text, since as a number it would lose leading zeros, "
            f"plus signs or digits. Give {option_for('--types', name, kind)} to read it as a number."
        ]
    if _FORMATTED in kinds and (told := _format_told(engine, table, name, shown)):
        return told
    if not kinds.keys() & (_NUMBERS | _DATES):
        return []
    values, numbers = sum(kinds.values()), sum(kinds[kind] for kind in kinds.keys() & _NUMBERS)
    told = _shapes_told(engine, table, name, shown)
    if not told and numbers >= values / 2:
        return [
            f"Column {name!r} of {shown} is read as text, since only {numbers:,} of its {values:,} values "
            "are numbers."
        ]
    return told


def told_of_texts(engine: Engine, table: Table, shown: str) -> list[str]:
    """Say which texts of a table are numbers or dates, or are so but for texts that may mean none."""
    names = [item.name for item in engine.columns(table) if item.type == "VARCHAR"]
    if not names:
        return []
    kinds = _kinds(engine, _first(sql("{t}", t=table), names))
    told = [name for name in names if kinds.get(name, {}).keys() & (_NUMBERS | _DATES)]
    notices = [notice for name in told for notice in _shapes_told(engine, table, name, shown)]
    for name in told:
        if is_number(_type_of(kinds[name])) and is_number(kind := _type_of_many(engine, table, name)):
            notices.append(
                f"Column {name!r} of {shown} holds numbers as texts. Unless they are codes, give "
                f"{option_for('--types', name, kind)} to read them as numbers."
            )
    formatted = [name for name in names if _FORMATTED in kinds.get(name, {})]
    return notices + [notice for name in formatted for notice in _format_told(engine, table, name, shown)]


def _type_of_many(engine: Engine, table: Table, name: str) -> str:
    """Give the type that loses nothing of a column's texts; empty where they may be codes of a list."""
    values = engine.number(
        sql("SELECT count(DISTINCT {c}) FROM {t}", c=column(name), t=table), step="column_values"
    )
    return _type_of(_kinds_of(engine, table, name)) if values > _MOST_CODES else ""


def _format_told(engine: Engine, table: Table, name: str, shown: str) -> list[str]:
    """Say what reads all texts of a column, some of which are numbers with commas or signs of currencies."""
    said = [TypeSaid("DOUBLE", form) for form in _MARKS]
    read = [kind for kind in said if not _lost(engine, table, name, kind.values(name, of_text=True))[0]]
    options = [option_for("--types", name, f"{kind.name} {kind.format}") for kind in read]
    of = f"Column {name!r} of {shown} holds formatted numbers as texts"
    with_comma = sql("SELECT count(*) FROM {t} WHERE contains({c}, ',')", t=table, c=column(name))
    if len(options) == len(said) and not engine.number(with_comma, step="text_shapes"):
        del options[0]
    if len(options) == len(said):
        both = (
            f"{of}, which do not show whether decimals or groups of three digits follow a comma; say it with "
        )
        return [f"{both}{' or '.join(options)}."]
    return [f"{of}; {option} reads them." for option in options]


def _shapes_told(engine: Engine, table: Table, name: str, shown: str) -> list[str]:
    """Tell of dates in a column of text, and of texts among numbers or dates that may stand for none."""
    cells = sql(
        "SELECT s.{c} AS value, count(*) AS records FROM {t} AS s GROUP BY s.{c}", c=column(name), t=table
    )
    given = {"column_values": subquery(cells)}
    values = {"fewest": _FEWEST_RECORDS, "most": _MOST_MARKERS}
    (row,) = engine.query(bind("sources/text_shapes", tables=given, values=values), step="text_shapes")
    numbers, dates, day, month, year, mark, clock, digits, fewest_digits, others, records, coded, shared = row
    of, told = f"Column {name!r} of {shown}", list[str]()
    shared = shared or []
    unclear = others > 1 and (others > len(shared) or records > numbers + dates)
    if bool(numbers) == bool(dates) or unclear or (numbers and coded):  # as 02139-1234 among zip codes
        return told
    if others:
        # a text that many records share in a column of numbers is nobody's, so it may be shown
        *most, last = map(repr, shared or [""])
        texts = f"the texts {', '.join(most)} and {last}" if most else f"the text {last}"
        option = f"--null {typed(','.join(shared))}"
        if not shared or any("," in text for text in shared):
            texts, option = "one text" if others == 1 else f"{others} texts", "--null TEXT"
        stand = "they stand for missing values" if others > 1 else "it stands for a missing value"
        told.append(
            f"{of} holds {'dates' if dates else 'numbers'}, and in {records:,} record{'s' * (records > 1)} "
            f"{texts}. If {stand}, give {option}."
        )
    alike = mark and clock is not None and digits == fewest_digits
    forms = [form for form, holds in zip(_ORDERS, (day, month, year), strict=True) if holds and alike]
    if digits == _SHORT_YEAR:
        forms = [form.replace("%Y", "%y") for form in forms]
    kind = "TIMESTAMP" if clock else "DATE"
    options = [option_for("--types", name, f"{kind} {form.replace('-', mark)}{clock}") for form in forms]
    century = _CENTURY if digits == _SHORT_YEAR else ""
    if dates and len(options) == 1:
        told.append(f"{of} holds dates as texts; {options[0]} reads them.{century}")
    elif dates and options:
        told.append(
            f"{of} holds dates as texts, which do not show what comes first, the day or the month; say it "
            f"with {' or '.join(options)}.{century}"
        )
    return told
