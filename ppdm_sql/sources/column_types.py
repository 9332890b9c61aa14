"""Types of columns that a user says, and those that the texts of a CSV file show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, option_for, resolve
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource
from ppdm_sql.errors import kind_of as class_of

_SAMPLE = 2_048
_DIGITS = "regexp_full_match(v, '[+-]?[0-9]+')"
_WHOLE_NUMBER = f"{_DIGITS} AND TRY_CAST(v AS BIGINT) IS NOT NULL"
_NUMBER = "regexp_full_match(v, '[+-]?([0-9]+|[0-9]*[.][0-9]+)([eE][+-]?[0-9]+)?')"
_DATED = "regexp_full_match(v, '([0-9]{1,2}[-./]){2}[0-9]{4}|[0-9]{4}([-./][0-9]{1,2}){2}')"
_ORDERS = ("%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")
_FEWEST_RECORDS = 5
"""So many records must share a text for a message to quote it."""
_SHOWN_BY = {
    "BIGINT": "TRY_CAST(v AS BIGINT) IS NOT NULL AND CAST(TRY_CAST(v AS BIGINT) AS VARCHAR) = v",
    "DOUBLE": "regexp_full_match(v, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?') "
    "AND TRY_CAST(v AS DOUBLE) IS NOT NULL AND isfinite(TRY_CAST(v AS DOUBLE)) "
    "AND (length(regexp_replace(v, '[eE].*|[^0-9]', '', 'g')) <= 15 "
    "OR CAST(TRY_CAST(v AS DOUBLE) AS VARCHAR) = v)",
    "DATE": "regexp_full_match(v, '[0-9]{4}-[0-9]{2}-[0-9]{2}') AND TRY_CAST(v AS DATE) IS NOT NULL",
    "TIMESTAMP": "regexp_full_match(v, '[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}"
    "([.][0-9]{1,6})?)?') AND TRY_CAST(v AS TIMESTAMP) IS NOT NULL",
    "TIME": "regexp_full_match(v, '[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?') "
    "AND TRY_CAST(v AS TIME) IS NOT NULL",
    "BOOLEAN": "lower(v) IN ('true', 'false')",
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

    def values(self, value: exp.Expression, *, of_text: bool) -> exp.Expression:
        """Give the values of a column in this type; NULL for those that are none of it."""
        target = exp.DataType.build(self.name, dialect="duckdb")
        if self.format:
            parsed = exp.Anonymous(this="try_strptime", expressions=[value, literal(self.format)])
            return exp.TryCast(this=parsed, to=target)
        cast = exp.TryCast(this=value, to=target)
        if not of_text or self.name.upper() not in _WHOLE:
            return cast
        digits = _condition(_DIGITS, value)  # a cast from text rounds 3.7 to 4
        return exp.case().when(digits, cast)


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

    def without_markers(self, engine: Engine, table: Table) -> Table:
        """Read a table with NULL for these texts; it lasts as long as the workspace."""
        if not self.nulls:
            return table
        columns, markers = engine.columns(table), [literal(text) for text in self.nulls]
        values: dict[str, exp.Expression] = {item.name: column(item.name) for item in columns}
        texts = [item.name for item in columns if kind_of(item.type) in (Kind.TEXT, Kind.ENUM)]
        for name in texts:
            marked = exp.In(this=exp.cast(column(name), "VARCHAR"), expressions=markers)
            values[name] = exp.case().when(marked, exp.null()).else_(column(name))
        rows = exp.select(*(alias(value, name) for name, value in values.items()))
        return engine.overlay(rows.from_(table.expression()))


def types_said(engine: Engine, types: Mapping[str, str] | None) -> dict[str, TypeSaid]:
    """Check what a user says of the types of columns.

    Raises:
        InvalidOption: It is no mapping of names to types, or a type is not known.

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
        target = exp.DataType.build(text, dialect="duckdb")
        probe = exp.select(exp.Cast(this=exp.null(), to=target))
        engine.look_up(render(probe), step="type")
    except (sqlglot.errors.SqlglotError, EngineError, ValueError):
        raise InvalidOption(
            f"{text!r}, the type of column {name!r}, is not a type of DuckDB.",
            "Write such as VARCHAR, BIGINT, DOUBLE or DATE; 'DATE %d.%m.%Y' says how dates are written.",
        ) from None
    return TypeSaid(text.strip())


def resolved_types(
    said: Mapping[str, TypeSaid], columns: Sequence[Column], *, table: str, strict: bool
) -> dict[str, TypeSaid]:
    """Find the columns of which something is said.

    Args:
        said: The types by name.
        columns: The columns that there are.
        table: What they are of.
        strict: Whether each name must be that of a column.

    Raises:
        UnknownColumn: There is no such column.
    """
    names = [item.name for item in columns]
    lowered = {name.lower() for name in names}
    return {
        resolve(name, names, table=table): kind
        for name, kind in said.items()
        if strict or name.lower() in lowered
    }


def typed(
    engine: Engine, table: Table, columns: Sequence[Column], said: Mapping[str, TypeSaid], shown: str
) -> exp.Select:
    """Give the rows of a table with the types that were said.

    Raises:
        InvalidSource: Values are none of the type; the message counts them and says in which record the first
            is.

    Cost: one scan where types are said.
    """
    kinds = {item.name: item.type for item in columns}
    values = {
        name: kind.values(column(name), of_text=kinds[name] == "VARCHAR") for name, kind in said.items()
    }
    _refuse_lost(engine, table, values, said, shown)
    query = exp.select(*(alias(values.get(name, column(name)), name) for name in kinds))
    return query.from_(table.expression())


def _refuse_lost(
    engine: Engine,
    table: Table,
    values: Mapping[str, exp.Expression],
    said: Mapping[str, TypeSaid],
    shown: str,
) -> None:
    changed = {name: value for name, value in values.items() if said[name].name.upper() != "VARCHAR"}
    if not changed:
        return
    number = exp.Window(this=exp.RowNumber())
    numbered = exp.select("*", alias(number, "ppdm_record"))
    counts: list[exp.Expression] = []
    for name, value in changed.items():
        lost = exp.and_(_is_null(value.copy()), exp.not_(_is_null(column(name))))
        counts.append(exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=lost)))
        first = exp.Min(this=exp.column("ppdm_record"))
        counts.append(exp.Filter(this=first, expression=exp.Where(this=lost.copy())))
    query = exp.select(*counts).from_(numbered.from_(table.expression()).subquery("s"))
    (row,) = engine.query(render(query), step="types that were said")
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


def _is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=value, expression=exp.null())


def _condition(text: str, value: exp.Expression) -> exp.Expression:
    """Fill a value in for ``v``."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    replaced = tree.transform(
        lambda node: (
            value.copy() if isinstance(node, exp.Column) and node.name == "v" and not node.table else node
        )
    )
    return exp.paren(replaced, copy=False)


# -- what texts show --------------------------------------------------------------------------


def shown_types(engine: Engine, table: Table, names: Sequence[str]) -> dict[str, TypeSaid]:
    """Find the types of columns of text: a type that all values have, and that loses nothing of any.

    Cost: one scan; a sample says first what need not be asked of all.
    """
    sample = exp.select("*").from_(table.expression()).limit(_SAMPLE).subquery("s")
    asked = {name: tuple(_SHOWN_BY) for name in names}
    possible = _all_are(engine, sample, asked)
    asked = {name: kinds for name, kinds in possible.items() if kinds}
    certain = _all_are(engine, table.expression(), asked) if asked else {}
    return {name: TypeSaid(kinds[0]) for name, kinds in certain.items() if kinds}


def _all_are(
    engine: Engine, rows: exp.Expression, asked: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Tell for each column which types all of its values have; none where it has no value."""
    pairs = [(name, kind) for name, kinds in asked.items() for kind in kinds]
    checks = [
        alias(exp.LogicalAnd(this=_of_values(_SHOWN_BY[kind], column(name))), f"c{number}")
        for number, (name, kind) in enumerate(pairs)
    ]
    if not checks:
        return {}
    (row,) = engine.look_up(render(exp.select(*checks).from_(rows)), step="types that texts show")
    holds = dict(zip(pairs, row, strict=True))
    return {name: tuple(kind for kind in kinds if holds[name, kind]) for name, kinds in asked.items()}


def _of_values(text: str, value: exp.Expression) -> exp.Expression:
    """Ask values only: NULL is of any type."""
    there = exp.not_(_is_null(value.copy()))
    return exp.case().when(there, _condition(text, value))


def kept_as_text(engine: Engine, table: Table, names: Sequence[str], shown: str) -> list[str]:
    """Say which columns hold digits, numbers or dates and are read as text all the same, and why.

    Cost: one scan, and a GROUP BY of each column that holds some.
    """
    notices = []
    for name, (values, whole, numbers, dates) in _counted(engine, table.expression(), names).items():
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
    """Say which texts of a table are dates, or numbers or dates but for one text that may mean none.

    Cost: a look at a sample, and a GROUP BY of each column of text that holds numbers or dates there.
    """
    names = [item.name for item in engine.columns(table) if item.type == "VARCHAR"]
    sample = exp.select("*").from_(table.expression()).limit(_SAMPLE).subquery("s")
    return [
        notice
        for name, (*_, numbers, dates) in _counted(engine, sample, names).items()
        if dates or numbers
        for notice in _shapes_told(engine, table, name, shown)
    ]


def _counted(engine: Engine, rows: exp.Expression, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Count for columns of text the values, whole numbers, numbers, and what is written like a date."""
    if not names:
        return {}
    counts: list[exp.Expression] = []
    for name in names:
        counts.append(exp.Count(this=column(name)))
        counts += [
            exp.CountIf(this=_condition(text, column(name))) for text in (_WHOLE_NUMBER, _NUMBER, _DATED)
        ]
    (row,) = engine.look_up(render(exp.select(*counts).from_(rows)), step="texts of digits")
    found = [count or 0 for count in row]  # of no rows there is no number
    return {name: tuple(found[4 * place : 4 * place + 4]) for place, name in enumerate(names)}


def _shapes_told(engine: Engine, table: Table, name: str, shown: str) -> list[str]:
    """Tell of dates in a column of text, and of one text among numbers or dates that may stand for none."""
    value, records = alias(column(name, "s"), "value"), alias(exp.Count(this=exp.Star()), "records")
    cells = exp.select(value, records).from_(aliased(table, "s")).group_by(column(name, "s"))
    with engine.workspace():
        given, fewest = {"column_values": engine.overlay(cells)}, {"fewest": _FEWEST_RECORDS}
        step = bind("sources/text_shapes", tables=given, values=fewest)
        (row,) = engine.query(step, step="text_shapes")
    numbers, dates, day, month, year, mark, others, records, other = row
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
    forms = [form for form, holds in zip(_ORDERS, (day, month, year), strict=True) if holds and mark]
    options = [option_for("--types", name, f"DATE {form.replace('-', mark)}") for form in forms]
    if dates and len(options) == 1:
        told.append(f"{of} holds dates as texts; {options[0]} reads them.")
    elif dates and options:
        told.append(
            f"{of} holds dates as texts, which do not show what comes first, the day or the month; say it "
            f"with {' or '.join(options)}."
        )
    return told
