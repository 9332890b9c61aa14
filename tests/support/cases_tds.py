"""A random table with a call of ``generalize`` on it, and how what comes out is read back."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import cases
import duckdb
import oracle_tds
import pytest
from cases import Case, quote, text
from oracle import Cell, Crowd, Template
from oracle_tds import TDS, Boundary, Closeness, Growing, History, Label, Method, Node, Rule, Treatment
from runs import large_tables_begin_at_one_row

Cut = dict[str, dict[Cell, Label]]


@dataclass(frozen=True)
class TdsCase(Case):
    """A source table and a call of ``generalize`` on it.

    Args:
        treatments: Taxonomies, and intervals grown during the run; all others are suppressed.
        suppressed: Columns whose suppression is asked for by name.
        method: ``tds`` or ``hce-tdr``.
        condition: Other condition attributes, for HCE-TDR.
        boundary: Where grown intervals are cut.
    """

    rules: tuple[Rule, ...]
    treatments: Mapping[str, Treatment]
    suppressed: tuple[str, ...]
    method: Method
    condition: tuple[str, ...]
    boundary: Boundary = "valid"

    def oracle(self) -> TDS:
        """The brute-force run over the same input."""
        return TDS(
            self.source,
            self.rules,
            self.class_column,
            self.treatments,
            self.keep,
            self.method,
            self.condition,
            boundary=self.boundary,
        )

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


def rule_text(rule: Rule) -> str:
    """A requirement in the language of the command line."""
    if isinstance(rule, (Template, Crowd)):
        return cases.rule_text(rule)
    names = ", ".join(map(quote, rule.attributes))
    if isinstance(rule, Closeness):
        return f"t <= {rule.t} of {quote(rule.sensitive)} on {names}"
    return f"{rule.kind} l >= {rule.l} of {quote(rule.sensitive)} on {names}"


def rule_object(rule: Rule) -> Any:
    """A requirement as a value of the Python API."""
    from ppdm_sql.privacy import LDiversity, TCloseness

    if isinstance(rule, (Template, Crowd)):
        return cases.rule_object(rule)
    if isinstance(rule, Closeness):
        return TCloseness(rule.t, rule.sensitive, rule.attributes)
    return LDiversity(rule.kind, rule.l, rule.sensitive, rule.attributes)


def generalize(connection: duckdb.DuckDBPyConnection, case: TdsCase, **options: Any) -> Any:
    """Run the product on a loaded case and give its release."""
    import ppdm_sql

    asked: dict[str, Any] = {
        "require": case.requirements(),
        "class_column": case.class_column,
        "into": case.release,
        "method": case.method,
        "taxonomies": case.taxonomies(),
        "ranges": case.ranges(),
        "condition": case.condition,
        "boundary": case.boundary,
        "suppress": case.suppressed,
        "count_column": case.count_column,
        "keep": case.keep,
        "allow_identifiers": case.keep,
        "allow_absent": True,
        "score": "paper",
    }
    return ppdm_sql.open(connection).generalize(case.table, **(asked | options))


def broken(relation: Any, case: TdsCase, history: History) -> list[Rule]:
    """The rules that a released table breaks, computed from its cells alone."""
    names = list(relation.columns)
    places = [names.index(name) for name in history.columns]
    count = names.index(case.count_column) if case.count_column else None
    records: Counter[tuple[Cell, ...]] = Counter()
    for row in relation.fetchall():
        records[tuple(row[place] for place in places)] += 1 if count is None else row[count]
    rules = oracle_tds.rules_in_force(case.rules, case.source)
    return [r for r in rules if not oracle_tds.holds(r, oracle_tds.measure(records, history.columns, r))]


def published_cut(connection: duckdb.DuckDBPyConnection, case: TdsCase) -> Cut:
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
    connection: duckdb.DuckDBPyConnection, case: TdsCase, attribute: str
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


@contextlib.contextmanager
def all_shortcuts() -> Iterator[None]:
    """Have every small table go through what is meant for large ones, also in generalization alone."""
    with (
        large_tables_begin_at_one_row(),
        mock.patch.multiple("ppdm_sql.methods.base.released_rows", CODES_A_RUN=1),
    ):
        yield
