"""Names of tables and columns: how users write them, and how they enter a statement.

A name becomes SQL in one place only, here, as a quoted identifier of a syntax tree.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard, TypeVar

import sqlglot
from sqlglot import exp

from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn, kind_of, unknown

Value = TypeVar("Value")


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def typed(text: str) -> str:
    """Write a text as one word of a shell, so that a sentence may end behind it.

    Example:
        >>> print(typed("N/A"), typed("k.A."), typed("it's"))
        N/A 'k.A.' 'it'"'"'s'
    """
    return f"'{text}'" if (word := shlex.quote(text)) == text and text.endswith(".") else word


def option_for(option: str, name: str, value: str) -> str:
    r"""Write an option that takes a column's name, so that a shell gives it on as it stands.

    Example:
        >>> option_for("--limit", "age", "40"), option_for("--range", "birth date", "LOW,HIGH")
        ('--limit age=40', "--range 'birth date=LOW,HIGH'")
        >>> option_for("--weight", ' "age" ', "3")
        '--weight \'" ""age"" "=3\''
    """
    plain = re.fullmatch(r"[^=\"'\s](?:[^=\"']*[^=\"'\s])?", name) is not None
    return f"{option} {typed(f'{name if plain else quoted(name)}={value}')}"


def names_option(option: str, names: Iterable[str]) -> str:
    r"""Write an option that takes names of columns, so that a shell gives it on as it stands.

    Example:
        >>> names_option("--person", ["patient"]), names_option("--keep", ["Patient ID", "zip"])
        ('--person patient', '--keep \'"Patient ID",zip\'')
    """
    written = (name if re.fullmatch(r"[^\W\d]\w*", name) else quoted(name) for name in names)
    return f"{option} {typed(','.join(written))}"


def column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def alias(expression: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


@dataclass(frozen=True)
class Table:
    """A table or view that exists, by its parts; without a schema or catalog it is in the current one."""

    name: str
    schema: str | None = None
    catalog: str | None = None
    # whether it is known to be the same at each look within a transaction: stored by DuckDB, in every column
    stable: bool = field(default=False, compare=False)

    def expression(self) -> exp.Table:
        return exp.table_(self.name, db=self.schema, catalog=self.catalog, quoted=True)

    def __str__(self) -> str:
        parts = (self.catalog, self.schema, self.name)
        return ".".join(quoted(part) for part in parts if part is not None)


def aliased(table: Table, name: str) -> exp.Table:
    named = table.expression()
    named.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return named


def free_name(name: str, taken: Iterable[str]) -> str:
    """Give a name that is not taken in any spelling of case, with underscores behind it where it is.

    Example:
        >>> free_name("records", ["Records", "n"]), free_name("records", ["n"])
        ('records_', 'records')
    """
    lowered = {other.lower() for other in taken}
    while name.lower() in lowered:
        name += "_"
    return name


def parse_table(text: str) -> Table:
    """Read a table name that may be qualified and quoted, such as ``shop.main."odd name"``."""
    try:
        found = sqlglot.parse_one(text, into=exp.Table, dialect="duckdb")
        dropped = any(
            token.comments or token.text == ";" for token in sqlglot.tokenize(text, dialect="duckdb")
        )
    except sqlglot.errors.SqlglotError:
        found, dropped = None, False
    if dropped or not _is_name(found):
        raise InvalidOption(f"{text!r} is not a table name.", 'Write it as NAME, SCHEMA.NAME or "odd name".')
    return Table(found.name, found.db or None, found.catalog or None)


def _is_name(found: exp.Expression | None) -> TypeGuard[exp.Table]:
    parts = {"this", "db", "catalog"}
    if not (isinstance(found, exp.Table) and isinstance(found.this, exp.Identifier) and found.name):
        return False
    return not any(value for part, value in found.args.items() if part not in parts)


def table_name(given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidOption(
        f"A table or view is given by its name, not as {kind_of(given)}.",
        "Register a data frame first, connection.register('visits', df), and give 'visits'.",
    )


def plain_name(given: object, what: str) -> str:
    if isinstance(given, str):
        return given
    raise InvalidOption(f"{what} is given by its name, not as {kind_of(given)}.", "Give its name as a text.")


def listed(given: Iterable[str], what: str = "Columns") -> tuple[str, ...]:
    """Give names as a tuple; one name is taken for a list of one."""
    if isinstance(given, str):
        return (given,)
    # Not whatever can be iterated: a frame can, and gives its columns or its cells.
    if not isinstance(given, (Sequence, AbstractSet, Mapping, MappingView, Iterator)):
        raise InvalidOption(
            f"{what} are given as a list of names, not as {kind_of(given)}.", "Write it as ['A', 'B']."
        )
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise InvalidOption(
                f"{what} are given as a list of names, and one of them is {kind_of(name)}.",
                "Write it as ['A', 'B'].",
            )
    return names


def by_name(given: Mapping[str, Value] | None, option: str) -> dict[str, Value]:
    """Give what is said of each column as a dictionary; None says nothing."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidOption(
            f"{option} takes something for each column, not {kind_of(given)}.",
            f"Write it as {option}={{'A': ...}}.",
        )
    return dict(zip(listed(tuple(given)), given.values(), strict=True))


def resolve(wanted: str, columns: Sequence[str], *, table: str) -> str:
    """Find a column as the table spells it: exactly, else without regard to case."""
    wanted = plain_name(wanted, "A column")
    if wanted in columns:
        return wanted
    folded = [name for name in columns if name.lower() == wanted.lower()]
    if len(folded) == 1:
        return folded[0]
    raise unknown(UnknownColumn, f"Table {table} has no column", wanted, columns, here="Its columns are")


def resolve_all(wanted: Iterable[str], columns: Sequence[str], *, table: str) -> tuple[str, ...]:
    """Find several columns; naming one twice is an error, never a narrower list."""
    found = tuple(resolve(name, columns, table=table) for name in listed(wanted))
    for name in found:
        if found.count(name) > 1:
            raise ColumnRoleError(f"Column {name!r} is named twice.", "Name each column once.")
    return found


def refuse_alike(names: Sequence[str], table: str, remedy: str) -> None:
    lowered = [name.lower() for name in names]
    for name in names:
        if lowered.count(name.lower()) > 1:
            raise InvalidSource(
                f"{table} has two columns called {name!r}; upper and lower case count as the same.", remedy
            )


# -- which tables names mean, and statements read ---------------------------------------------

_BEFORE_A_TABLE_READ = (exp.From, exp.Join, exp.Describe)


def tables_read(sql: str, overlays: Mapping[str, str]) -> list[Table]:
    """List the tables of the user's that a statement reads; working tables have no schema in their names."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return []
    found = list[Table]()
    for table in tree.find_all(exp.Table):
        if not isinstance(table.parent, _BEFORE_A_TABLE_READ):
            continue
        if table.db:
            found.append(Table(table.name, table.db, table.catalog or None))
        elif table.name in overlays:
            found += tables_read(overlays[table.name], overlays)
    return list(dict.fromkeys(found))


def as_typed(table: Table, place: tuple[str, str] | None) -> str:
    """Write the name of a table as it is typed where the user is."""
    catalog, schema = place or (None, None)
    parts = [table.name]
    if table.catalog not in (catalog, "temp", None):
        parts = [str(table.catalog), str(table.schema), table.name]
    elif table.schema not in (schema, "main"):
        parts = [str(table.schema), table.name]
    return ".".join(map(as_written, parts))


def spellings(name: str) -> Iterator[Table]:
    """Read a name as it stands, then as a qualified SQL name where it is one."""
    yield Table(name)
    with suppress(InvalidOption):
        yield parse_table(name)


def match(wanted: Table, tables: list[Table], current: tuple[str, str]) -> Table | None:
    """Pick the table that a possibly unqualified name means; temporary tables come first."""
    catalog, schema = current
    if wanted.catalog is not None:
        places = [(wanted.catalog, wanted.schema)]
    elif wanted.schema is not None:
        places = [(catalog, wanted.schema), (wanted.schema, "main")]
    else:
        places = [("temp", "main"), (catalog, schema), (catalog, "main")]
    for place in places:
        asked = [str(part) for part in (*place, wanted.name)]
        folded = [part.lower() for part in asked]
        alike = [table for table in tables if [part.lower() for part in _parts(table)] == folded]
        if alike:
            return next((table for table in alike if _parts(table) == asked), alike[0])
    return None


def _parts(table: Table) -> list[str]:
    return [str(part) for part in (table.catalog, table.schema, table.name)]


def as_written(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else quoted(name)
