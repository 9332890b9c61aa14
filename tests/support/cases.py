"""A random table with a call of ``suppress`` or ``generalize`` on it, and how what comes out is read back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import duckdb
import oracle
import pytest
from filling import fill, quote
from hypothesis import assume
from oracle import (
    PDA,
    TDS,
    Boundary,
    Cell,
    Closeness,
    Crowd,
    Growing,
    History,
    Label,
    Method,
    Node,
    NoSolution,
    Rule,
    Source,
    Template,
    Treatment,
    grouping,
    text,
)

UNNAMED = "nobody named this column"
Records = Counter[tuple[Cell, ...]]
Cut = dict[str, dict[Cell, Label]]


@dataclass(frozen=True)
class Case:
    """A source table and a call of ``suppress`` or ``generalize`` on it.

    Args:
        source: Rows with numbers of records, as the oracle takes them.
        types: SQL type of each column; an ENUM carries its values in ``source.order``.
        count_column: The column that holds the numbers of records, or None where rows are repeated.
        as_text: Whether the requirements are given as text or as objects.
        treatments: Taxonomies, and intervals grown during the run; all others are suppressed.
        suppressed: Columns whose suppression is asked for by name.
        condition: Other condition attributes, for HCE-TDR.
        boundary: Where grown intervals are cut.
    """

    source: Source
    types: dict[str, str]
    rules: tuple[Rule, ...]
    class_column: str | None
    method: Method = "tds"
    treatments: Mapping[str, Treatment] = field(default_factory=dict)
    count_column: str | None = None
    keep: tuple[str, ...] = ()
    table: str = "t"
    release: str = "safe"
    as_text: bool = True
    suppressed: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()
    boundary: Boundary = "valid"

    @property
    def asked(self) -> tuple[Any, ...]:
        """What every oracle takes."""
        of = self.source, self.rules, self.class_column, self.treatments
        return *of, self.keep, self.method, self.condition

    def oracle(self) -> TDS:
        """The brute-force run over the same input."""
        if self.method == "pda":
            assert self.class_column is not None
            return PDA(self.source, self.rules, self.class_column, self.keep)
        return TDS(*self.asked, boundary=self.boundary)

    def requirements(self) -> list[Any]:
        """The requirements in the words of the product."""
        return [rule_text(rule) if self.as_text else rule_object(rule) for rule in self.rules]

    def taxonomies(self) -> dict[str, Any]:
        """The taxonomies as nested mappings."""
        trees = {name: tree for name, tree in self.treatments.items() if isinstance(tree, Node)}
        return {name: {tree.label: below(tree)} for name, tree in trees.items()}

    def ranges(self) -> dict[str, tuple[str, str]]:
        """The ranges of the intervals."""
        grown = {name: found for name, found in self.treatments.items() if isinstance(found, Growing)}
        return {name: found.range for name, found in grown.items() if found.range is not None}


def below(node: Node) -> Any:
    """What hangs under a node: a list of leaves, or a mapping where a child has children."""
    if any(child.children for child in node.children):
        return {child.label: below(child) for child in node.children}
    return [child.label for child in node.children]


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


def literal(value: Cell) -> str:
    """Write a value as a SQL text literal."""
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def rule_text(rule: Rule) -> str:
    """A requirement in the language of the command line."""
    names = ", ".join(map(quote, grouping(rule)))
    if isinstance(rule, Crowd):
        return f"k >= {rule.k} on {names}"
    if isinstance(rule, Closeness):
        return f"t <= {rule.t} of {quote(rule.sensitive)} on {names}"
    if not isinstance(rule, Template):
        return f"{rule.kind} l >= {rule.l} of {quote(rule.sensitive)} on {names}"
    head = f"{names} -> {quote(rule.sensitive)}"
    if rule.values is not None and len(rule.values) == 1:
        head += f" = {literal(rule.values[0])}"
    elif rule.values is not None:
        head += f" IN ({', '.join(literal(value) for value in rule.values)})"
    return f"{head} <= {float(rule.threshold * 100):.1f}%"


def rule_object(rule: Rule) -> Any:
    """A requirement as a value of the Python API."""
    from ppdm_sql import privacy

    if isinstance(rule, Crowd):
        return privacy.KAnonymity(rule.k, rule.attributes)
    if isinstance(rule, Closeness):
        return privacy.TCloseness(rule.t, rule.sensitive, rule.attributes)
    if not isinstance(rule, Template):
        return privacy.LDiversity(rule.kind, rule.l, rule.sensitive, rule.attributes)
    values = None if rule.values is None else tuple(text(value) for value in rule.values)
    return privacy.Template(rule.channel, rule.sensitive, values, rule.threshold)


def load(connection: duckdb.DuckDBPyConnection, case: Case, *, shuffle: int | None = None) -> None:
    """Create the case's table, with a column that nobody names; ``shuffle`` seeds another row order."""
    columns = {name: type_of(case, name) for name in case.source.columns}
    columns |= {case.count_column: "INTEGER"} if case.count_column else {}
    rows = list(_rows(case))
    if shuffle is not None:
        random.Random(shuffle).shuffle(rows)
    fill(connection, case.table, columns | {UNNAMED: "VARCHAR"}, rows)


def type_of(case: Case, name: str) -> str:
    if case.types[name] != "ENUM":
        return case.types[name]
    return f"ENUM ({', '.join(literal(value) for value in case.source.order[name])})"


def _rows(case: Case) -> Iterable[list[Cell]]:
    for place, (row, count) in enumerate(zip(case.source.rows, case.source.counts, strict=True)):
        if case.count_column:
            yield [*row, count, f"unnamed {place}"]
        else:
            yield from ([*row, f"unnamed {place}"] for _ in range(count))


def run(connection: duckdb.DuckDBPyConnection, case: Case, **options: Any) -> Any:
    """Run the product on a loaded case and give its release."""
    import ppdm_sql

    asked: dict[str, Any] = {
        "require": case.requirements(),
        "class_column": case.class_column,
        "into": case.release,
        "count_column": case.count_column,
        "keep": case.keep,
        "allow_identifiers": case.keep,
        "allow_absent": True,
        "score": "paper",
    }
    database = ppdm_sql.open(connection)
    if case.method == "pda":
        return database.suppress(case.table, **(asked | options))
    asked |= {
        "method": case.method,
        "taxonomies": case.taxonomies(),
        "ranges": case.ranges(),
        "condition": case.condition,
        "boundary": case.boundary,
        "suppress": case.suppressed,
    }
    return database.generalize(case.table, **(asked | options))


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


def broken(relation: Any, case: Case, history: History) -> list[Rule]:
    """The rules that a released table breaks, computed from its cells alone."""
    names = list(relation.columns)
    places = [names.index(name) for name in history.columns]
    count = names.index(case.count_column) if case.count_column else None
    records: Counter[tuple[Cell, ...]] = Counter()
    for row in relation.fetchall():
        records[tuple(row[place] for place in places)] += 1 if count is None else row[count]
    rules = oracle.rules_in_force(case.rules, case.source)
    return [r for r in rules if not oracle.holds(r, oracle.measure(records, history.columns, r))]


def published_cut(connection: duckdb.DuckDBPyConnection, case: Case) -> Cut:
    """What ``ppdm.cuts`` says that each value of the masked columns is released as."""
    query = "SELECT attribute, value, generalized FROM ppdm.cuts WHERE release = $name"
    found: Cut = {}
    for attribute, value, label in connection.execute(query, {"name": case.release}).fetchall():
        cells = {text(cell): cell for cell in case.source.domain(attribute)}
        cut = found.setdefault(attribute, {})
        assert cells[value] not in cut
        cut[cells[value]] = label
    return found


class PublishedNode(NamedTuple):
    """A row of ``ppdm.taxonomies``."""

    parent: int | None
    label: Label
    shown: bool


def published_tree(
    connection: duckdb.DuckDBPyConnection, case: Case, attribute: str
) -> dict[int, PublishedNode]:
    """What ``ppdm.taxonomies`` says of a column, by the number of the node."""
    query = "SELECT node, parent, label, shown FROM ppdm.taxonomies WHERE release = $name AND attribute = $of"
    rows = connection.execute(query, {"name": case.release, "of": attribute}).fetchall()
    found = {node: PublishedNode(*rest) for node, *rest in rows}
    assert len(found) == len(rows) == len({node.label for node in found.values()})
    return found


def assert_same_steps(release: Any, history: History) -> None:
    """The steps of a release are the oracle's, with their numbers."""
    found = release.steps()
    assert [step.step for step in found] == list(range(1, len(found) + 1))
    moves = [(step.attribute, step.parent, tuple(step.children)) for step in found]
    assert moves == [(step.attribute, step.parent, step.children) for step in history.steps]
    for step, wanted in zip(found, history.steps, strict=True):
        numbers = (step.score, step.gain, step.loss)
        assert numbers == pytest.approx((wanted.score, wanted.gain, wanted.loss), rel=0, abs=1e-9)
