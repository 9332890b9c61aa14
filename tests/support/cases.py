"""A random table with what is demanded of it: how it enters DuckDB, and how a release is read back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import duckdb
import oracle
from hypothesis import assume
from oracle import BOTTOM, Cell, Crowd, NoSolution, Rule, Source, Template

UNNAMED = "nobody named this column"
Records = Counter[tuple[Cell, ...]]


@dataclass(frozen=True)
class Case:
    """A source table and a call of ``suppress`` on it.

    Args:
        source: Rows with numbers of records, as the oracle takes them.
        types: SQL type of each column; an ENUM carries its values in ``source.order``.
        count_column: The column that holds the numbers of records, or None where rows are repeated.
        as_text: Whether the requirements are given as text or as objects.
    """

    source: Source
    types: dict[str, str]
    rules: tuple[Rule, ...]
    class_column: str
    count_column: str | None
    keep: tuple[str, ...]
    table: str
    release: str
    as_text: bool

    def oracle(self) -> oracle.PDA:
        """The brute-force run over the same input."""
        return oracle.PDA(self.source, self.rules, self.class_column, self.keep)

    def requirements(self) -> list[Any]:
        """The requirements in the words of the product."""
        return [rule_text(rule) if self.as_text else rule_object(rule) for rule in self.rules]


Found = TypeVar("Found")


def solved(run: Callable[..., Found], *asked: Any) -> Found:
    """The oracle's run; draws without a solution, or that hang on a last bit, are not what is tested here."""
    try:
        found = run(*asked)
    except NoSolution:
        assume(False)
        raise
    assume(not getattr(found, "ambiguous", False))
    return found


def quote(name: str) -> str:
    """Quote an identifier; the tests' own, so that they do not lean on the product's."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Cell) -> str:
    """Write a value as a SQL text literal."""
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def text(cell: Cell) -> str | None:
    """A cell as the engine writes it out as VARCHAR; the suppressed symbol for BOTTOM."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "*" if cell is BOTTOM else str(cell)


def rule_text(rule: Rule) -> str:
    """A requirement in the language of the command line."""
    names = ", ".join(quote(name) for name in oracle.grouping(rule))
    if isinstance(rule, Crowd):
        return f"k >= {rule.k} on {names}"
    head = f"{names} -> {quote(rule.sensitive)}"
    if rule.values is not None and len(rule.values) == 1:
        head += f" = {literal(rule.values[0])}"
    elif rule.values is not None:
        head += f" IN ({', '.join(literal(value) for value in rule.values)})"
    return f"{head} <= {float(rule.threshold * 100):.1f}%"


def rule_object(rule: Rule) -> Any:
    """A requirement as a value of the Python API."""
    from ppdm_sql.privacy import KAnonymity
    from ppdm_sql.privacy import Template as PpdmTemplate

    if isinstance(rule, Crowd):
        return KAnonymity(rule.k, rule.attributes)
    values = None if rule.values is None else tuple(text(value) for value in rule.values)
    return PpdmTemplate(rule.channel, rule.sensitive, values, rule.threshold)


def load(connection: duckdb.DuckDBPyConnection, case: Case, *, shuffle: int | None = None) -> None:
    """Create the case's table, with a column that nobody names; ``shuffle`` seeds another row order."""
    declared = [f"{quote(name)} {_type(case, name)}" for name in case.source.columns]
    declared += [f"{quote(case.count_column)} INTEGER"] if case.count_column else []
    declared += [f"{quote(UNNAMED)} VARCHAR"]
    connection.execute(f"CREATE TABLE {quote(case.table)} ({', '.join(declared)})")
    rows = list(_rows(case))
    if shuffle is not None:
        random.Random(shuffle).shuffle(rows)
    if rows:
        marks = ", ".join("?" for _ in declared)
        connection.executemany(f"INSERT INTO {quote(case.table)} VALUES ({marks})", rows)


def _type(case: Case, name: str) -> str:
    if case.types[name] != "ENUM":
        return case.types[name]
    return f"ENUM ({', '.join(literal(value) for value in case.source.order[name])})"


def _rows(case: Case) -> Iterable[list[Cell]]:
    for place, (row, count) in enumerate(zip(case.source.rows, case.source.counts, strict=True)):
        if case.count_column:
            yield [*row, count, f"unnamed {place}"]
        else:
            yield from ([*row, f"unnamed {place}"] for _ in range(count))


def suppress(connection: duckdb.DuckDBPyConnection, case: Case, **options: Any) -> Any:
    """Run the product on a loaded case and give its release."""
    import ppdm_sql

    return ppdm_sql.open(connection).suppress(
        case.table,
        require=case.requirements(),
        class_column=case.class_column,
        into=case.release,
        count_column=case.count_column,
        keep=case.keep,
        allow_identifiers=case.keep,
        allow_absent=True,
        **({"score": "paper"} | options),
    )


def released(relation: Any, case: Case, columns: Sequence[str]) -> Records:
    """Count the records of each released combination, all cells as text."""
    names = list(relation.columns)
    assert sorted(names) == sorted([*columns, *([case.count_column] if case.count_column else [])])
    places = [names.index(name) for name in columns]
    count = names.index(case.count_column) if case.count_column else None
    found: Records = Counter()
    for row in relation.fetchall():
        found[tuple(text(row[place]) for place in places)] += row[count] if count is not None else 1
    return found


def expected(state: Counter[tuple[Cell, ...]]) -> Records:
    """The oracle's table in the same form."""
    found: Records = Counter()
    for row, count in state.items():
        found[tuple(text(cell) for cell in row)] += count
    return found


def broken(records: Records, columns: Sequence[str], case: Case) -> list[Rule]:
    """The rules that a released table breaks, computed from its cells alone."""
    rules = oracle.rules_in_force(case.rules, case.source)
    return [rule for rule in rules if not oracle.holds(records, columns, _with_text(rule))]


def _with_text(rule: Rule) -> Rule:
    if isinstance(rule, Crowd) or rule.values is None:
        return rule
    return Template(rule.channel, rule.sensitive, tuple(text(value) for value in rule.values), rule.threshold)


def per_mille_up(value: Fraction) -> Fraction:
    """The least multiple of 0.1 %, above zero, that is not below the value."""
    return Fraction(max(1, -(-value.numerator * 1000 // value.denominator)), 1000)
