"""Writes what a descent reached: the rows of the release, the steps, the cuts and the trees, all in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppdm_sql.audit.labels import Shows
from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.code_mapping import runs_of
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import MaskedAtoms
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.label_table import Specialized, as_lists, label_table, text_table
from ppdm_sql.methods.top_down.loop import RefinementStep
from ppdm_sql.methods.top_down.maskings import Intervals, Masking

MOST_LISTED = 10_000
"""Values of a column in grown intervals above which ``ppdm.cuts`` does not list them."""


@dataclass(frozen=True)
class Outcome:
    """What a descent reached.

    Args:
        atoms: The collapsed source.
        maskings: Of the attributes, which are the first coded columns of the atoms.
        cuts: Their final cuts.
        specialized: By attribute.
        texts: From :func:`~ppdm_sql.methods.top_down.label_table.text_table`.
        labels: From :func:`~ppdm_sql.methods.top_down.label_table.label_table`.
    """

    atoms: Atoms
    maskings: Sequence[Masking]
    cuts: Sequence[Cut]
    specialized: Sequence[Specialized]
    texts: Table
    labels: Table

    def cut(self, position: int) -> Cut | None:
        """Give the cut of a coded column; None where every value is released as it is."""
        if position >= len(self.cuts) or self.maskings[position].is_whole(self.cuts[position]):
            return None
        return self.cuts[position]

    def shows(self, position: int) -> Shows:
        """Tell whether a masked column shows its top everywhere, every value as it is, or other labels."""
        cut, masking = self.cut(position), self.maskings[position]
        if cut is None:
            return "values"
        return "top" if not isinstance(masking, Intervals) and (cut.nodes == masking.root).all() else "labels"

    @property
    def names(self) -> list[str]:
        """Names of the coded columns."""
        return [dictionary.column.name for dictionary in self.atoms.coded]

    @property
    def masked(self) -> MaskedAtoms:
        """The collapsed source as the cuts show it."""
        cuts = {position: self.cut(position) for position in range(len(self.maskings))}
        nodes = {position: cut.nodes for position, cut in cuts.items() if cut is not None}
        return MaskedAtoms(self.atoms, nodes, self.labels)


Move = tuple[int, int, Sequence[int], float, float, float]
"""A step as it is written down: attribute, node, children, score, gain, loss."""


def moves_of(cuts: Sequence[Cut], steps: Sequence[RefinementStep]) -> list[Move]:
    """Follow the steps from the most general cuts and say what each specialized."""
    moves: list[Move] = []
    reached = list(cuts)
    for step in steps:
        attribute, candidate = step.candidate
        node, children = reached[attribute].specialization(candidate)
        reached[attribute] = reached[attribute].refine(candidate)
        moves.append((attribute, node, children, step.score, step.gain, step.loss))
    return moves


def outcome_of(
    engine: Engine, atoms: Atoms, maskings: Sequence[Masking], cuts: Sequence[Cut], moves: Sequence[Move]
) -> Outcome:
    """Gather what the release needs to know of its attributes, and label their nodes."""
    specialized: list[dict[int, list[int]]] = [{} for _ in maskings]
    for attribute, node, children, *_ in moves:
        specialized[attribute].setdefault(node, []).extend(children)
    texts = text_table(engine, maskings, specialized, MOST_LISTED)
    labels = label_table(engine, maskings, specialized, texts)
    return Outcome(atoms, maskings, cuts, specialized, texts, labels)


def step_rows(engine: Engine, outcome: Outcome, moves: Sequence[Move]) -> Table:
    """Write the steps with the labels of what each specialized; one row a step."""
    rows = [
        (step, attribute, node, child, place, score, gain, loss)
        for step, (attribute, node, children, score, gain, loss) in enumerate(moves, start=1)
        for place, child in enumerate(children)
    ]
    names = ("step", "attribute", "parent", "child", "place", "score", "gain", "loss")
    return _written(engine, outcome, "steps", names, rows)


def top_labels(engine: Engine, outcome: Outcome) -> dict[str, str]:
    """Give the label of the most general state of each attribute."""
    roots = [masking.root for masking in outcome.maskings]
    query = statements.bind("top_down/tops", tables={"labels": outcome.labels})
    names = outcome.names
    return {names[a]: label for a, label in engine.query(query, {"roots": roots}, step="tops")}


def cut_rows(engine: Engine, outcome: Outcome) -> Table:
    """Write what became of every value of the masked attributes; the owner's, never exported.

    A column of very many values that is shown in intervals is left out: its intervals say it all.
    """
    runs = [
        (position, *run)
        for position, masking in enumerate(outcome.maskings)
        if masking.treatment is not None and masking.dictionary.size
        if not isinstance(masking, Intervals) or masking.dictionary.size <= MOST_LISTED
        for run in zip(*(part.tolist() for part in runs_of(outcome.cuts[position].nodes)), strict=True)
    ]
    return _written(engine, outcome, "cuts", ("attribute", "code", "node"), runs, {"texts": outcome.texts})


def tree_rows(engine: Engine, outcome: Outcome) -> Table:
    """Write the trees of the masked attributes, the cut marked; the owner's, never exported."""
    rows: list[tuple[int, int, int, int | None, bool]] = []
    for position, masking in enumerate(outcome.maskings):
        parents = dict(masking.nodes(outcome.specialized[position]))
        order = {node: rank for rank, node in enumerate(sorted(parents, key=masking.order))}
        shown = _shown(masking, outcome.cuts[position], outcome.specialized[position])
        rows += [
            (position, node, order[node], None if parent is None else order[parent], node in shown)
            for node, parent in sorted(parents.items(), key=lambda pair: order[pair[0]])
        ]
    return _written(engine, outcome, "trees", ("attribute", "key", "node", "parent", "shown"), rows)


def _shown(masking: Masking, cut: Cut, specialized: Specialized) -> set[int]:
    """Give the nodes of the cut, those that no record shows among them."""
    made = {masking.root} | {child for children in specialized.values() for child in children}
    return {node for node in made if node not in specialized} | set(cut.nodes.tolist()) & made


def _written(
    engine: Engine,
    outcome: Outcome,
    step: str,
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    tables: Mapping[str, Table] | None = None,
) -> Table:
    """Run a step that puts names and labels to rows."""
    query = statements.bind(f"top_down/{step}", tables={"labels": outcome.labels, **(tables or {})})
    return engine.materialize(step, query, as_lists(names, rows) | {"names": outcome.names})
