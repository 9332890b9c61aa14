"""Writes what a descent reached: the labels of its nodes, the steps, the cuts and the trees.

All of it is made in SQL, so that no value leaves the database. Where records are left out, the release is as
if the source had never held them: the bad classes of the last state are taken out of the atoms, of each
masked attribute the values that only they held go, too, with the steps that told nothing else apart. So no
label, bound, step or count of what is published comes from a record that is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.audit.labels import Shows
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Statement, bind
from ppdm_sql.methods.base.arrays import Codes, Counts
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, counts_by_class
from ppdm_sql.methods.base.released_rows import MaskedAtoms, Params, recoded, runs_of
from ppdm_sql.methods.top_down.constraints import AllowedConstraints, Constraints
from ppdm_sql.methods.top_down.cuts import Cut, SuppressionCut, TaxonomyCut
from ppdm_sql.methods.top_down.interval_cuts import BoundaryRule, ClassHistogram, IntervalCut
from ppdm_sql.methods.top_down.loop import RefinementStep
from ppdm_sql.methods.top_down.maskings import Fixed, Generalization, Intervals, Masking, Suppression

MOST_LISTED = 10_000
"""Values of a column in grown intervals above which ``ppdm.cuts`` does not list them."""

Children = Mapping[int, Sequence[int]]
"""The children of the specialized nodes of one attribute, in the order of the run."""
Move = tuple[int, int, Sequence[int], float, float, float]
"""A step as it is written down: attribute, node, children, score, gain, loss."""


@dataclass(frozen=True)
class Outcome:
    """What a descent reached; the attributes are the first coded columns of the atoms.

    Two working tables: ``texts`` has ``attribute, code, value`` of the masked attributes, ``labels`` has
    ``attribute, node, label, lower, upper, closed``, the last three NULL for what is not an interval.
    """

    atoms: Atoms
    maskings: Sequence[Masking]
    cuts: Sequence[Cut]
    moves: Sequence[Move]
    children_of: Sequence[Children]
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
        return [dictionary.column.name for dictionary in self.atoms.coded]

    @property
    def masked(self) -> MaskedAtoms:
        cuts = {position: self.cut(position) for position in range(len(self.maskings))}
        nodes = {position: cut.nodes for position, cut in cuts.items() if cut is not None}
        return MaskedAtoms(self.atoms, nodes, self.labels)


def moves_of(cuts: Sequence[Cut], steps: Sequence[RefinementStep]) -> list[Move]:
    """Follow the steps from the most general cuts and say what each specialized."""
    moves: list[Move] = []
    current = list(cuts)
    for step in steps:
        attribute, candidate = step.candidate
        node, children = current[attribute].specialization(candidate)
        current[attribute] = current[attribute].refine(candidate)
        moves.append((attribute, node, children, step.score, step.gain, step.loss))
    return moves


def outcome_of(
    engine: Engine, atoms: Atoms, maskings: Sequence[Masking], cuts: Sequence[Cut], moves: Sequence[Move]
) -> Outcome:
    children_of: list[dict[int, list[int]]] = [{} for _ in maskings]
    for attribute, node, children, *_ in moves:
        children_of[attribute].setdefault(node, []).extend(children)
    texts = text_table(engine, maskings, children_of)
    labels = label_table(engine, maskings, children_of, texts)
    return Outcome(atoms, maskings, cuts, moves, children_of, texts, labels)


# -- the labels of nodes --------------------------------------------------------------------------


def as_lists(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Params:
    """Turn rows into one list a column, for a statement that takes them all at once."""
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def text_table(engine: Engine, maskings: Sequence[Masking], children_of: Sequence[Children]) -> Table:
    """Write the values of the masked attributes as text; of many in grown intervals their bounds alone."""
    parts, params = list[str](), dict[str, object]()
    for position, masking in enumerate(maskings):
        size = masking.dictionary.size
        if masking.treatment is None or not size:
            continue
        where = ""
        if isinstance(masking, Intervals) and size > MOST_LISTED:
            bounds = {code for _, *ends in _intervals(masking, children_of[position]) for code in ends}
            params[f"codes{position}"] = sorted({size - masking.dictionary.has_null - 1, *bounds})
            where = f" WHERE list_contains($codes{position}, code)"
        texts = f"SELECT {position} AS attribute, code, value::VARCHAR AS value"
        parts.append(f"{texts} FROM {masking.dictionary.table}{where}")
    nothing = "SELECT NULL::INTEGER AS attribute, NULL::BIGINT AS code, NULL::VARCHAR AS value WHERE false"
    return engine.materialize("texts", " UNION ALL ".join(parts) or nothing, params)


def label_table(
    engine: Engine, maskings: Sequence[Masking], children_of: Sequence[Children], texts: Table
) -> Table:
    """Write the labels of all nodes: those that are known, and those of intervals by their bounds."""
    labels = [(position, *label) for position, masking in enumerate(maskings) for label in masking.labels]
    params = as_lists(("attribute", "node", "label", "lower", "upper", "closed"), labels)
    params["suppressed"] = [a for a, masking in enumerate(maskings) if isinstance(masking, Suppression)]
    query = bind("top_down/labels", tables={"texts": texts})
    rows: list[tuple[object, ...]] = []
    for position, masking in enumerate(maskings):
        if isinstance(masking, Intervals):
            values = masking.dictionary.size - masking.dictionary.has_null
            ends = values, *(masking.range or (None, None)), masking.symbol, *_tails(masking)
            rows += [(position, *interval, *ends) for interval in _intervals(masking, children_of[position])]
    if rows:  # it takes as long to plan as the rest of the outcome, however few intervals there are
        names = (
            *("attribute", "node", "low", "high", "total", "first", "after", "symbol"),
            *("bottom", "top", "above_bottom", "from_top"),
        )
        params |= as_lists([f"interval_{name}" for name in names], rows)
        interval_labels = bind("top_down/interval_labels", tables={"texts": texts})
        query = Statement(f"{query}\nUNION ALL (\n{interval_labels}\n)", file="top_down/labels")
    return engine.materialize("labels", query, params)


def _tails(masking: Intervals) -> tuple[str | None, str | None, int | None, int | None]:
    """Give the bounds of a column's tails, and the codes where they end and begin."""
    tails = masking.tails
    if tails is None:
        return None, None, None, None
    above = None if tails.bottom is None else tails.above_bottom
    return tails.bottom, tails.top, above, None if tails.top is None else tails.from_top


def _intervals(masking: Intervals, children_of: Children) -> list[tuple[int, int, int]]:
    """Give the nodes of grown intervals with their bounds: the first code, and the one after the last."""
    return [(node, *masking.histogram.bounds(node)) for node, _ in masking.nodes(children_of)]


def top_labels(engine: Engine, outcome: Outcome) -> dict[str, str]:
    roots = [masking.root for masking in outcome.maskings]
    query = bind("top_down/tops", tables={"labels": outcome.labels})
    names = outcome.names
    return {names[a]: label for a, label in engine.query(query, {"roots": roots}, step="tops")}


# -- what is recorded -----------------------------------------------------------------------------


def step_rows(engine: Engine, outcome: Outcome) -> Table:
    rows = [
        (step, attribute, node, child, place, score, gain, loss)
        for step, (attribute, node, children, score, gain, loss) in enumerate(outcome.moves, start=1)
        for place, child in enumerate(children)
    ]
    names = ("step", "attribute", "parent", "child", "place", "score", "gain", "loss")
    return _write_rows(engine, outcome, "steps", names, rows)


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
    return _write_rows(engine, outcome, "cuts", ("attribute", "code", "node"), runs, {"texts": outcome.texts})


def tree_rows(engine: Engine, outcome: Outcome) -> Table:
    """Write the trees of the masked attributes, the cut marked; the owner's, never exported."""
    rows: list[tuple[int, int, int, int | None, bool]] = []
    for position, masking in enumerate(outcome.maskings):
        children_of = outcome.children_of[position]
        parents = dict(masking.nodes(children_of))
        order = {node: rank for rank, node in enumerate(sorted(parents, key=masking.order))}
        # nodes of the cut that no record shows are marked, too
        nodes = {masking.root} | {child for children in children_of.values() for child in children}
        shown_nodes = {node for node in nodes if node not in children_of}
        shown_nodes |= nodes & set(outcome.cuts[position].nodes.tolist())
        for node, rank in order.items():
            parent = parents[node]
            above = None if parent is None else order[parent]
            rows.append((position, node, rank, above, node in shown_nodes))
    return _write_rows(engine, outcome, "trees", ("attribute", "key", "node", "parent", "shown"), rows)


def _write_rows(
    engine: Engine,
    outcome: Outcome,
    step: str,
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    tables: Mapping[str, Table] | None = None,
) -> Table:
    query = bind(f"top_down/{step}", tables={"labels": outcome.labels, **(tables or {})})
    return engine.materialize(step, query, as_lists(names, rows) | {"names": outcome.names})


# -- records that are left out --------------------------------------------------------------------


def kept_records(engine: Engine, whole: Outcome, constraints: Constraints, classes: int | None) -> Outcome:
    """Leave out the records in bad classes: the state over the codes of the values that the others hold."""
    atoms, maskings, cuts = whole.atoms, whole.maskings, whole.cuts
    if not isinstance(constraints, AllowedConstraints):
        return whole
    table, records = _kept_rows(engine, atoms, constraints, cuts)
    if records == atoms.records:
        return whole
    positions = [position for position, masking in enumerate(maskings) if masking.treatment is not None]
    codes = {position: _codes(engine, table, position) for position in positions}
    dictionaries = list(atoms.coded)
    for position, kept_codes in codes.items():
        dictionaries[position] = _dictionary(engine, atoms.coded[position], table, position, kept_codes)
    table = engine.materialize("kept_atoms", *_recode(atoms, table, codes))
    kept_atoms = Atoms(table, tuple(dictionaries), atoms.kept, records)
    counts = counts_by_class(engine, kept_atoms, range(len(maskings)), classes)
    pairs = [
        _over_kept(masking, cut, kept_atoms.coded[position], counts[position], codes.get(position))
        for position, (masking, cut) in enumerate(zip(maskings, cuts, strict=True))
    ]
    kept_maskings = [masking for masking, _ in pairs]
    moves = _moves(whole.moves, maskings, kept_maskings, codes)
    return outcome_of(engine, kept_atoms, kept_maskings, [cut for _, cut in pairs], moves)


def _kept_rows(
    engine: Engine, atoms: Atoms, constraints: AllowedConstraints, cuts: Sequence[Cut]
) -> tuple[Table, int]:
    """Give the atoms in good classes, by the codes that they have, and their records."""
    from ppdm_sql.methods.top_down.left_out_measure import CellTable  # where records may be left out

    cells, state = CellTable(engine, atoms, constraints), tuple(cuts)
    good, groupings = cells.settle([state], [[np.zeros(item.size) for item in atoms.coded]])
    keys, params = cells.keys(state)
    same = ", ".join(key for grouping in groupings for key in grouping.keys)
    with_keys = f"SELECT *, {', '.join(key for set_keys in keys for key in set_keys)} FROM {atoms.table}"
    columns = [f"k{position}" for position in range(len(atoms.kept))]
    columns += [f"c{position}" for position in range(len(atoms.coded))]
    query = f"SELECT {', '.join(columns)}, n FROM ({with_keys}) AS a SEMI JOIN {good} USING ({same})"
    rows = engine.materialize("kept", query, params)
    ((records,),) = engine.query(f"SELECT coalesce(sum(n), 0)::BIGINT FROM {rows}", step="kept records")
    return rows, int(records)


def _codes(engine: Engine, table: Table, position: int) -> Codes:
    rows = engine.arrays(f"SELECT DISTINCT c{position} AS c FROM {table} ORDER BY ALL", step="kept codes")
    return np.asarray(rows["c"].astype(np.int64))


def _dictionary(engine: Engine, of: Dictionary, table: Table, position: int, codes: Codes) -> Dictionary:
    """Number the values that are still there anew, in the same order."""
    query = (
        f"SELECT d.value, row_number() OVER (ORDER BY d.code) - 1 AS code FROM {of.table} AS d "
        f"WHERE d.code IN (SELECT c{position} FROM {table})"
    )
    has_null = of.has_null and of.size - 1 in codes[-1:]
    return replace(of, table=engine.materialize("kept_dictionary", query), size=len(codes), has_null=has_null)


def _recode(atoms: Atoms, table: Table, codes: dict[int, Codes]) -> tuple[str, dict[str, object]]:
    params: dict[str, object] = {}
    columns = [f"k{position}" for position in range(len(atoms.kept))]
    for position, of in enumerate(atoms.coded):
        text, own = f"c{position}", dict[str, object]()
        if position in codes:  # the new code of an old one is that of the first one held that is not below it
            places = np.searchsorted(codes[position], np.arange(of.size)).astype(np.int64)
            text, own = recoded(text, places, f"r{position}", "UINTEGER")
            text = f"{text} AS c{position}"
        columns.append(text)
        params |= own
    return f"SELECT {', '.join(columns)}, n FROM {table}", params


def _over_kept(
    masking: Masking, cut: Cut, dictionary: Dictionary, counts: Counts, codes: Codes | None
) -> tuple[Masking, Cut]:
    """Give a masking and a cut over the new codes; none of its parts holds other kept values than before."""
    if codes is None:
        return Fixed(dictionary, counts), cut
    if isinstance(masking, Suppression):
        disclosures = np.flatnonzero(cut.parts[codes] > 0)
        top = SuppressionCut.top(counts, masking.worth)
        return replace(masking, dictionary=dictionary, counts=counts), top.disclose(disclosures)
    if isinstance(masking, Generalization) and isinstance(cut, TaxonomyCut):
        leaves = masking.leaves[codes]
        generalization = replace(masking, dictionary=dictionary, counts=counts, leaves=leaves)
        return generalization, TaxonomyCut(generalization.tree, cut.node_of_code[codes])
    if isinstance(masking, Intervals) and isinstance(cut, IntervalCut):
        histogram, tails, rules = masking.histogram, masking.tails, tuple[BoundaryRule, ...]()
        # in the range of the source; NULL has no place
        places = np.append(histogram.places[codes[codes < len(histogram.places) - 1]], histogram.places[-1])
        places[0] = 0.0
        if tails is not None:
            above_bottom, from_top = np.searchsorted(codes, (tails.above_bottom, tails.from_top)).tolist()
            tails = replace(tails, above_bottom=above_bottom, from_top=from_top)
            rules = (tails,)
        histogram = ClassHistogram(counts, dictionary.has_null, places, None, rules, histogram.worth)
        intervals = replace(masking, dictionary=dictionary, histogram=histogram, tails=tails)
        bounds = np.unique(np.searchsorted(codes, cut.boundaries))
        return intervals, IntervalCut.of(histogram, bounds.tolist())
    raise TypeError(type(masking))


def _moves(
    moves: Sequence[Move], before: Sequence[Masking], after: Sequence[Masking], codes: dict[int, Codes]
) -> list[Move]:
    """Give the steps over the new nodes, without those that told only records apart which are left out."""
    result: list[Move] = []
    for attribute, node, children, score, gain, loss in moves:
        of = before[attribute], after[attribute], codes[attribute]
        parent = _node(*of, node)
        kept_children = [kept_child for child in children if (kept_child := _node(*of, child)) is not None]
        if parent is not None and kept_children and kept_children != [parent]:
            result.append((attribute, parent, kept_children, score, gain, loss))
    return result


def _node(old: Masking, new: Masking, codes: Codes, node: int) -> int | None:
    """Give a node over the new codes; None where no kept value can be in it, for all that the data say."""
    if isinstance(old, Intervals) and isinstance(new, Intervals):
        low, high = np.searchsorted(codes, old.histogram.bounds(node)).tolist()
        return new.histogram.node(low, high) if low < high else None
    if isinstance(new, Generalization):  # the owner's nodes, and NULL if it is still there
        return node if node < len(new.tree.children) else None
    if node == 0:
        return 0
    place = int(np.searchsorted(codes, node - 1))
    return place + 1 if place < len(codes) and codes[place] == node - 1 else None
