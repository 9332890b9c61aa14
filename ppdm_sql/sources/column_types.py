"""Types of columns and markers of missing values that a user says, and what the texts of a column show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlglot

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, option_for, resolve
from ppdm_sql.engine.statements import Statement, bind, literal, sql
from ppdm_sql.engine.types import Kind, kind_of, type_tree
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource
from ppdm_sql.errors import kind_of as class_of

_SAMPLE = 2_048
_TEXT, _DATED, _NUMBER, _WHOLE_NUMBER = range(4)
_DIGITS = "regexp_full_match({v}, '[+-]?[0-9]+')"
_DATE = (
    "(([0-9]{1,2}[-./]){2}([0-9]{2}|[0-9]{4})|[0-9]{4}([-./][0-9]{1,2}){2})([ T][0-9]{1,2}(:[0-9]{2}){1,2})?"
)
_SHAPE = """
CASE
    WHEN NOT unicode({v}) BETWEEN unicode('+') AND unicode('9') THEN {text}
    WHEN {digits} THEN if(TRY_CAST({v} AS BIGINT) IS NULL, {number}, {whole})
    WHEN regexp_full_match({v}, '[+-]?([0-9]+|[0-9]*[.][0-9]+)([eE][+-]?[0-9]+)?') THEN {number}
    WHEN regexp_full_match({v}, {date}) THEN {dated}
    ELSE {text}
END"""
"""What a text is written like; its first letter tells of most that they are no more than texts."""
_ORDERS = ("%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")
_SHORT_YEAR = 2
_CENTURY = " Years up to 68 are read as 2068, and later ones as 1969 to 1999."
_FEWEST_RECORDS = 5
"""So many records must share a text for a message to quote it."""
_SHOWN_BY = {
    "BIGINT": "CAST(TRY_CAST({v} AS BIGINT) AS VARCHAR) IS NOT DISTINCT FROM {v}",
    "DOUBLE": """
CASE
    WHEN NOT regexp_full_match({v}, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?') THEN false
    WHEN NOT coalesce(isfinite(TRY_CAST({v} AS DOUBLE)), false) THEN false
    WHEN length({v}) <= 15 THEN true
    WHEN length(regexp_replace({v}, '[eE].*|[^0-9]', '', 'g')) <= 15 THEN true
    ELSE CAST(TRY_CAST({v} AS DOUBLE) AS VARCHAR) = {v}
END""",
    "DATE": """
regexp_full_match({v}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND TRY_CAST({v} AS DATE) IS NOT NULL""",
    "TIMESTAMP": """
regexp_full_match(
    {v}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?'
) AND TRY_CAST({v} AS TIMESTAMP) IS NOT NULL""",
    "TIME": """
regexp_full_match({v}, '[0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?')
AND TRY_CAST({v} AS TIME) IS NOT NULL""",
    "BOOLEAN": "lower({v}) IN ('true', 'false')",
}
"""For each type, when a text is one of its values and nothing of it is lost, such as a leading zero."""
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT")
_WHOLE = (*_SIGNED, *(f"U{name}" for name in _SIGNED))
_TYPE = re.compile(r"[A-Za-z_0-9]+( [A-Za-z]+)*( ?\(\d+(, ?\d+)?\))?")
_BY_FORMAT = ("DATE", "TIMESTAMP", "TIME")


class TypeSaid(NamedTuple):
    """The type that a user says a column has.

    Args:
        name: In SQL.
        format: How texts of dates and times are written, as ``strptime`` knows it; else empty.
    """

    name: str
    format: str = ""

    def values(self, name: str, *, of_text: bool) -> Statement:
        """Give the values of a column in this type; NULL for those that are none of it."""
        value, target = column(name), type_tree(self.name)
        if self.format:
            form = literal(self.format)
            return sql("TRY_CAST(try_strptime({v}, {form}) AS {type})", v=value, form=form, type=target)
        cast = sql("TRY_CAST({v} AS {type})", v=value, type=target)
        if not of_text or self.name.upper() not in _WHOLE:
            return cast
        # a cast from text rounds 3.7 to 4
        return sql("CASE WHEN {digits} THEN {cast} END", digits=sql(_DIGITS, v=value), cast=cast)


class Said(NamedTuple):
    """What a user says of how a source is read.

    Args:
        types: Types of columns, by name.
        nulls: Texts that stand for a missing value.
    """

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
    try:
        if not _TYPE.fullmatch(text.strip()):
            raise ValueError
        engine.look_up(sql("SELECT CAST(NULL AS {type})", type=type_tree(text)), step="type")
    except (sqlglot.errors.SqlglotError, EngineError, ValueError):
        raise InvalidOption(
            f"{text!r}, the type of column {name!r}, is not a type of DuckDB.",
            "Write such as VARCHAR, BIGINT, DOUBLE or DATE; 'DATE %d.%m.%Y' says how dates are written.",
        ) from None
    return TypeSaid(text.strip())


# -- what is said is applied -------------------------------------------------------------------


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
    values = {
        item.name: types[item.name].values(item.name, of_text=item.type == "VARCHAR")
        for item in columns
        if item.name in types
    }
    _refuse_lost(engine, table, values, types, shown)
    free = [item.name for item in columns if of_texts and item.name not in types]
    found = _shown_types(engine, table, free)
    values |= {name: kind.values(name, of_text=False) for name, kind in found.items()}
    all_types = types | found
    types = {name: all_types[name] for name in names if name in all_types}
    for item in columns:
        if item.name in types and types[item.name].name.upper() != item.type:
            _change(engine, table, item.name, types[item.name].name, values[item.name])
    told = notices if strict else []
    if not of_texts:
        return types, told + told_of_texts(engine, table, shown)
    return types, told + _kept_as_text(engine, table, [name for name in free if name not in types], shown)


def _blank_markers(
    engine: Engine, table: Table, columns: Sequence[Column], markers: Sequence[str], shown: str
) -> list[str]:
    """Write NULL where a column of texts holds a marker; tell of markers that none holds."""
    texts = [item for item in columns if kind_of(item.type) in (Kind.TEXT, Kind.ENUM)]
    marked = [
        sql("count_if(CAST({c} AS VARCHAR) = {marker})", c=column(item.name), marker=literal(marker))
        for item in texts
        for marker in markers
    ]
    query = sql("SELECT {counts} FROM {t}", counts=[*marked, sql("count(*)")], t=table)
    (counts,) = engine.query(query, step="markers of missing values")
    per_column = [counts[place : place + len(markers)] for place in range(0, len(counts) - 1, len(markers))]
    for item, held in zip(texts, per_column, strict=True):
        if any(held):
            value = sql(
                "CASE WHEN CAST({c} AS VARCHAR) IN ({markers}) THEN NULL ELSE {c} END",
                c=column(item.name),
                markers=[literal(marker) for marker in markers],
            )
            _change(engine, table, item.name, item.type, value)
    unused = [
        repr(marker)
        for place, marker in enumerate(markers)
        if counts[-1] and not any(held[place] for held in per_column)
    ]
    told = (
        f"No column of texts of {shown} holds {' or '.join(unused)}, which was to stand for a missing value."
    )
    return [f"{told} Check how it is written."] if unused else []


def _change(engine: Engine, table: Table, name: str, kind: str, value: Statement) -> None:
    """Write a column anew; the others are not copied."""
    action = "ALTER TABLE {t} ALTER COLUMN {c} TYPE {type} USING {value}"
    engine.query(
        sql(action, t=table, c=column(name), type=type_tree(kind), value=value), step="types of columns"
    )


def _refuse_lost(
    engine: Engine,
    table: Table,
    values: Mapping[str, Statement],
    said: Mapping[str, TypeSaid],
    shown: str,
) -> None:
    changed = {name: value for name, value in values.items() if said[name].name.upper() != "VARCHAR"}
    if not changed:
        return
    counts = [
        sql(
            "count(*) FILTER ({v} IS NULL AND {c} IS NOT NULL), "
            "min(ppdm_record) FILTER ({v} IS NULL AND {c} IS NOT NULL)",
            v=value,
            c=column(name),
        )
        for name, value in changed.items()
    ]
    numbered = "SELECT {counts} FROM (SELECT *, row_number() OVER () AS ppdm_record FROM {t}) AS s"
    (row,) = engine.query(sql(numbered, counts=counts, t=table), step="types that were said")
    for name, lost_values, first_record in zip(changed, row[::2], row[1::2], strict=True):
        if lost_values:
            raise _lost(name, said[name], lost_values, first_record, shown)


def _lost(name: str, said: TypeSaid, count: int, record: int, shown: str) -> InvalidSource:
    some = (
        f"{count} values of column {name!r} of {shown} are"
        if count > 1
        else f"A value of column {name!r} of {shown} is"
    )
    by = f" written {said.format}" if said.format else ""
    remedy = "Say another type, such as VARCHAR, or mend the file."
    if said.name.upper() in _BY_FORMAT and not said.format:
        remedy = f"Say how they are written, such as '{name}={said.name.upper()} %d.%m.%Y', or say VARCHAR."
    first = "the first in" if count > 1 else "in"
    return InvalidSource(f"{some} no {said.name}{by}, {first} record {record}.", remedy)


# -- what texts show --------------------------------------------------------------------------


def _shown_types(engine: Engine, table: Table, names: Sequence[str]) -> dict[str, TypeSaid]:
    """Find the types of columns of text: a type that all values have, and that loses nothing of any.

    DuckDB's reader would cost more: with a sample of all records it takes as long as reading a file twice,
    and it says neither what a type loses nor what but a few values have.
    """
    holds = _all_are(engine, _sample(table), [(name, kind) for name in names for kind in _SHOWN_BY])
    possible = {name: [kind for kind in _SHOWN_BY if holds[name, kind] is not False] for name in names}
    types: dict[str, TypeSaid] = {}
    while asked := [(name, kinds[0]) for name, kinds in possible.items() if kinds]:
        holds = _all_are(engine, table, asked)
        types |= {name: TypeSaid(kind) for name, kind in asked if holds[name, kind]}
        possible = {name: possible[name][1:] for name, kind in asked if holds[name, kind] is False}
    return types


def _sample(table: Table) -> Statement:
    return sql("(SELECT * FROM {t} LIMIT {n}) AS s", t=table, n=_SAMPLE)


def _all_are(
    engine: Engine, rows: Table | Statement, asked: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], bool | None]:
    """Tell for columns and types whether all values are of the type; None where there is none."""
    if not asked:
        return {}
    checks = [
        sql(
            "bool_and({shown}) FILTER ({v} IS NOT NULL)",
            shown=sql(_SHOWN_BY[kind], v=column(name)),
            v=column(name),
        )
        for name, kind in asked
    ]
    (row,) = engine.look_up(
        sql("SELECT {checks} FROM {rows}", checks=checks, rows=rows), step="types that texts show"
    )
    return dict(zip(asked, row, strict=True))


def _kept_as_text(engine: Engine, table: Table, names: Sequence[str], shown: str) -> list[str]:
    """Say which columns hold digits, numbers or dates and are read as text all the same, and why."""
    notices = []
    for name, (values, whole, numbers, dates) in _counted(engine, table, names).items():
        if values and values in (whole, numbers):
            kind = "BIGINT" if whole == values else "DOUBLE"
            notices.append(
                f"Column {name!r} of {shown} is read as text, since as a number it would lose leading zeros, "
                f"plus signs or digits. Give {option_for('--types', name, kind)} to read it as a number."
            )
        elif numbers or dates:
            told = _shapes_told(engine, table, name, shown)
            if not told and numbers >= values / 2:
                told = [
                    f"Column {name!r} of {shown} is read as text, since only {numbers:,} of its {values:,} "
                    "values are numbers."
                ]
            notices += told
    return notices


def told_of_texts(engine: Engine, table: Table, shown: str) -> list[str]:
    """Say which texts of a table are dates, or numbers or dates but for one text that may mean none."""
    names = [item.name for item in engine.columns(table) if item.type == "VARCHAR"]
    return [
        notice
        for name, (*_, numbers, dates) in _counted(engine, _sample(table), names).items()
        if dates or numbers
        for notice in _shapes_told(engine, table, name, shown)
    ]


def _counted(engine: Engine, rows: Table | Statement, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Count for columns of text the values, whole numbers, numbers, and what is written like a date."""
    if not names:
        return {}
    codes = {"text": _TEXT, "dated": _DATED, "number": _NUMBER, "whole": _WHOLE_NUMBER}
    shapes = [
        sql(
            "{v} AS {value}, {shape} AS {shaped}",
            v=column(name),
            value=column(f"value{place}"),
            shaped=column(f"shape{place}"),
            shape=sql(
                _SHAPE, v=column(name), digits=sql(_DIGITS, v=column(name)), date=literal(_DATE), **codes
            ),
        )
        for place, name in enumerate(names)
    ]
    counts = [
        sql(
            "count({v}), count_if({s} = {whole}), count_if({s} >= {number}), count_if({s} = {dated})",
            v=column(f"value{place}"),
            s=column(f"shape{place}"),
            **codes,
        )
        for place in range(len(names))
    ]
    query = "SELECT {counts} FROM (SELECT {shapes} FROM {rows}) AS shapes"
    (row,) = engine.look_up(sql(query, counts=counts, shapes=shapes, rows=rows), step="texts of digits")
    found = [count or 0 for count in row]  # of no rows there is no number
    return {name: tuple(found[4 * place : 4 * place + 4]) for place, name in enumerate(names)}


def _shapes_told(engine: Engine, table: Table, name: str, shown: str) -> list[str]:
    """Tell of dates in a column of text, and of one text among numbers or dates that may stand for none."""
    cells = sql(
        "SELECT s.{c} AS value, count(*) AS records FROM {t} AS s GROUP BY s.{c}", c=column(name), t=table
    )
    with engine.workspace():
        given, fewest = {"column_values": engine.overlay(cells)}, {"fewest": _FEWEST_RECORDS}
        step = bind("sources/text_shapes", tables=given, values=fewest)
        (row,) = engine.query(step, step="text_shapes")
    numbers, dates, day, month, year, mark, clock, digits, fewest_digits, others, records, other = row
    of, told = f"Column {name!r} of {shown}", list[str]()
    if bool(numbers) == bool(dates) or others > 1:
        return told
    if others:
        # a text that many records share in a column of numbers is nobody's, so it may be shown
        text, option = f"the text {other!r}", f"--null {shlex.quote(other)}" if other else ""
        if other is None or "," in other:
            text, option = "one text", "--null TEXT"
        told.append(
            f"{of} holds {'dates' if dates else 'numbers'}, and in {records:,} record{'s' * (records > 1)} "
            f"{text}. If it stands for a missing value, give {option}."
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
