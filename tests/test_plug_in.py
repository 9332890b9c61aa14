"""The loop knows attributes only as cuts: taxonomies plug in without a change to it.

The taxonomies are those of the slides (Wang, Fung, Dong 2005, slides 8, 11 and 15); k of QID2 is taken as 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.examples import creation
from ppdm_sql.progress import SilentProgress
from ppdm_sql.refinement.collapse import Atoms, class_counts, collapse
from ppdm_sql.refinement.cuts import Cut, SuppressionCut, total_entropy
from ppdm_sql.refinement.gauges import Gauges
from ppdm_sql.refinement.loop import Refinement
from ppdm_sql.refinement.measuring import ChannelMeasure
from ppdm_sql.refinement.protected import gauges_of
from ppdm_sql.requirements import parse

Tree = tuple[Any, ...] | frozenset[int] | str
"""A leaf: its value, or all values that it stands for. Otherwise (name of the node, child, child, ...)."""
JOB: Tree = (
    "ANY_Job",
    ("Blue-collar", ("Non-Technical", "Janitor", "Mover"), ("Technical", "Carpenter", "Technician")),
    ("White-collar", "Manager", ("Professional", "Accountant", "Lawyer")),
)
SEX: Tree = ("ANY_Sex", "M", "F")
SALARY: Tree = ("[1, 99)", frozenset({30, 32, 35}), frozenset({37, 42, 44}))


@dataclass(frozen=True, eq=False)
class TaxonomyCut:
    """A cut through a tree: its nodes are numbered depth first, and the open ones are candidates."""

    nodes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # (codes of the leaves below, children)
    counts: NDArray[np.int64]
    shown: tuple[int, ...] = (0,)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        labels = np.empty(len(self.counts), dtype=np.int64)
        for label, node in enumerate(self.shown):
            labels[list(self.nodes[node][0])] = label
        return labels

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        open_nodes = [n for n in self.shown if self.nodes[n][1] and np.count_nonzero(self._below(n)) > 1]
        return np.array(sorted(open_nodes), dtype=np.int64)

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        return np.array([self._gain(int(node)) for node in self.candidates], dtype=np.float64)

    def _below(self, node: int) -> NDArray[np.int64]:
        return np.asarray(self.counts[list(self.nodes[node][0])].sum(axis=0))

    def _gain(self, node: int) -> float:
        children = np.array([self._below(child) for child in self.nodes[node][1]])
        whole = self._below(node)
        return float((total_entropy(whole) - total_entropy(children).sum()) / whole.sum())

    def refine(self, candidate: int) -> TaxonomyCut:
        rest = tuple(node for node in self.shown if node != candidate)
        return TaxonomyCut(self.nodes, self.counts, (*rest, *self.nodes[candidate][1]))

    def split_off(self, candidate: int) -> Sequence[NDArray[np.int64]]:
        return [np.array(self.nodes[child][0]) for child in self.nodes[candidate][1][:-1]]

    def reachable(self, alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        parts = list(self.shown)
        for node in parts:
            if alive[node] and self.nodes[node][1]:
                parts.extend(self.nodes[node][1])
        labels = np.empty(len(self.counts), dtype=np.int64)
        for label, node in enumerate(parts):
            labels[list(self.nodes[node][0])] = label
        return labels


def grow(tree: Tree, codes: dict[Any, int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Number a tree depth first."""
    nodes: list[Any] = []

    def visit(part: Tree) -> int:
        nodes.append(None)
        number = len(nodes) - 1
        if isinstance(part, tuple):
            children = tuple(visit(child) for child in part[1:])
            leaves = tuple(code for child in children for code in nodes[child][0])
        else:
            children = ()
            leaves = tuple(codes[value] for value in (part if isinstance(part, frozenset) else {part}))
        nodes[number] = (leaves, children)
        return number

    visit(tree)
    return nodes


@pytest.fixture
def engine() -> Engine:
    connection = duckdb.connect()
    connection.execute(creation("employees"))
    return Engine(connection)


def collapsed(engine: Engine) -> Atoms:
    columns = {column.name: column for column in engine.columns(engine.find("employees"))}
    coded = [columns[name] for name in ("Sex", "Job", "Salary", "Class")]
    return collapse(engine, engine.find("employees"), coded, [], "n", masked=(), symbol="*")


def taxonomy_cuts(engine: Engine, atoms: Atoms) -> tuple[Cut, ...]:
    cuts = []
    for position, tree in enumerate((SEX, JOB, SALARY)):
        rows = engine.query(f"SELECT value, code FROM {atoms.coded[position].table}", step="values")
        nodes = tuple(grow(tree, dict(rows)))
        cuts.append(TaxonomyCut(nodes, class_counts(engine, atoms, position, 3)))
    return tuple(cuts)


def test_taxonomies_descend_as_on_the_slides(engine: Engine) -> None:
    atoms = collapsed(engine)
    requirements = [parse("k >= 4 on Sex, Job"), parse("k >= 4 on Job, Salary")]
    gauges = Gauges(gauges_of(engine, atoms, requirements), 3)
    cuts = taxonomy_cuts(engine, atoms)
    loop = Refinement(cuts, [len(c.nodes) for c in cuts], gauges, ChannelMeasure(engine, atoms, gauges))
    first = loop.run(max_steps=1, progress=SilentProgress())
    second = loop.run(max_steps=2, progress=SilentProgress())
    assert [step.candidate for step in second.steps] == [(2, 0), (1, 0)]
    assert sizes(engine, atoms, first.cuts) == [12, 22]
    assert sizes(engine, atoms, second.cuts) == [4, 12, 18]


def sizes(engine: Engine, atoms: Atoms, cuts: Sequence[Cut]) -> list[int]:
    """Records of each generalized combination of all attributes, counted in Python."""
    rows = engine.query(f"SELECT c0, c1, c2, sum(n) FROM {atoms.table} GROUP BY ALL", step="rows")
    found: dict[tuple[int, ...], int] = {}
    for *codes, n in rows:
        key = tuple(int(cut.labels[code]) for cut, code in zip(cuts, codes, strict=True))
        found[key] = found.get(key, 0) + n
    return sorted(found.values())


def test_candidates_that_split_in_many_measure_as_their_states_do(engine: Engine) -> None:
    atoms = collapsed(engine)
    requirements = [parse("k >= 1 on Sex, Job"), parse("Job, Salary, Sex -> Class <= 100%")]
    gauges = Gauges(gauges_of(engine, atoms, requirements), 3)
    measure = ChannelMeasure(engine, atoms, gauges)
    taxonomies = taxonomy_cuts(engine, atoms)
    state = (SuppressionCut(class_counts(engine, atoms, 0, 3)), taxonomies[1].refine(0), taxonomies[2])
    candidates = [(a, int(c)) for a, cut in enumerate(state) for c in cut.candidates]
    after = [(*state[:a], state[a].refine(c), *state[a + 1 :]) for a, c in candidates]
    (known,) = measure.path([state])
    assert len(candidates) == 5
    assert measure.beside(state, known, candidates) == pytest.approx(measure.path(after))
