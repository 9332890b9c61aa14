"""What a release is made of once records are left out: as if the source had never held them.

The bad classes of the last state are taken out of the atoms; of each masked attribute the values that only
they held go, too, with the steps that told nothing else apart. So no label, bound, step or count of what is
published comes from a record that is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes, Counts
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, counts_by_class
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.constraints import AllowedConstraints, Constraints
from ppdm_sql.methods.top_down.cuts import Cut, SuppressionCut, TaxonomyCut
from ppdm_sql.methods.top_down.interval_cuts import BoundaryRule, ClassHistogram, IntervalCut
from ppdm_sql.methods.top_down.maskings import Fixed, Generalization, Intervals, Masking, Suppression
from ppdm_sql.methods.top_down.outcome import Move


class KeptRecords(NamedTuple):
    """The state that a release shows, over the codes of the values that records which it keeps hold."""

    atoms: Atoms
    maskings: Sequence[Masking]
    cuts: Sequence[Cut]
    moves: Sequence[Move]  # the steps that told kept records apart


def kept_records(
    engine: Engine,
    atoms: Atoms,
    constraints: Constraints,
    maskings: Sequence[Masking],
    cuts: Sequence[Cut],
    moves: Sequence[Move],
    classes: int | None,
) -> KeptRecords | None:
    """Leave out the records in bad classes of a state; None where there are none."""
    if not isinstance(constraints, AllowedConstraints):
        return None
    table, records = _kept(engine, atoms, constraints, cuts)
    if records == atoms.records:
        return None
    masked = [position for position, masking in enumerate(maskings) if masking.treatment is not None]
    codes = {position: _codes(engine, table, position) for position in masked}
    dictionaries = list(atoms.coded)
    for position, held in codes.items():
        dictionaries[position] = _dictionary(engine, atoms.coded[position], table, position, held)
    table = engine.materialize("kept_atoms", *_recoded(atoms, table, codes))
    kept = Atoms(table, tuple(dictionaries), atoms.kept, records)
    counts = counts_by_class(engine, kept, range(len(maskings)), classes)
    pairs = [
        _over_kept(masking, cut, kept.coded[position], counts[position], codes.get(position))
        for position, (masking, cut) in enumerate(zip(maskings, cuts, strict=True))
    ]
    made = [masking for masking, _ in pairs]
    return KeptRecords(kept, made, [cut for _, cut in pairs], _moves(moves, maskings, made, codes))


def _kept(
    engine: Engine, atoms: Atoms, constraints: AllowedConstraints, cuts: Sequence[Cut]
) -> tuple[Table, int]:
    """Give the atoms in good classes, by the codes that they have, and their records."""
    from ppdm_sql.methods.top_down.left_out_measure import CellTable  # where records may be left out

    cells, state = CellTable(engine, atoms, constraints), tuple(cuts)
    good, groupings = cells.settled([state], [[np.zeros(item.size) for item in atoms.coded]])
    keys, params = cells.keys(state)
    same = ", ".join(key for grouping in groupings for key in grouping.keys)
    keyed = f"SELECT *, {', '.join(key for some in keys for key in some)} FROM {atoms.table}"
    columns = [f"k{position}" for position in range(len(atoms.kept))]
    columns += [f"c{position}" for position in range(len(atoms.coded))]
    query = f"SELECT {', '.join(columns)}, n FROM ({keyed}) AS a SEMI JOIN {good} USING ({same})"
    rows = engine.materialize("kept", query, params)
    ((records,),) = engine.query(f"SELECT coalesce(sum(n), 0)::BIGINT FROM {rows}", step="kept records")
    return rows, int(records)


def _codes(engine: Engine, table: Table, position: int) -> Codes:
    rows = engine.arrays(f"SELECT DISTINCT c{position} AS c FROM {table} ORDER BY ALL", step="kept codes")
    return np.asarray(rows["c"].astype(np.int64))


def _dictionary(engine: Engine, of: Dictionary, table: Table, position: int, held: Codes) -> Dictionary:
    """Number the values that are still there anew, in the same order."""
    query = (
        f"SELECT d.value, row_number() OVER (ORDER BY d.code) - 1 AS code FROM {of.table} AS d "
        f"WHERE d.code IN (SELECT c{position} FROM {table})"
    )
    has_null = of.has_null and of.size - 1 in held[-1:]
    return replace(of, table=engine.materialize("kept_dictionary", query), size=len(held), has_null=has_null)


def _recoded(atoms: Atoms, table: Table, codes: dict[int, Codes]) -> tuple[str, dict[str, object]]:
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


# -- masks, cuts and moves over the new codes -----------------------------------------------------


def _over_kept(
    masking: Masking, cut: Cut, dictionary: Dictionary, counts: Counts, held: Codes | None
) -> tuple[Masking, Cut]:
    """Give a masking and a cut over the new codes; none of its parts holds other kept values than before."""
    if held is None:
        return Fixed(dictionary, counts), cut
    if isinstance(masking, Suppression):
        disclosed = np.flatnonzero(cut.parts[held] > 0)
        top = SuppressionCut.top(counts, masking.worth)
        return replace(masking, dictionary=dictionary, counts=counts), top.disclose(disclosed)
    if isinstance(masking, Generalization) and isinstance(cut, TaxonomyCut):
        leaves = masking.leaves[held]
        generalized = replace(masking, dictionary=dictionary, counts=counts, leaves=leaves)
        return generalized, TaxonomyCut(generalized.tree, cut.shown[held])
    if isinstance(masking, Intervals) and isinstance(cut, IntervalCut):
        histogram, tails, rules = masking.histogram, masking.tails, tuple[BoundaryRule, ...]()
        # in the range of the source; NULL has no place
        places = np.append(histogram.places[held[held < len(histogram.places) - 1]], histogram.places[-1])
        places[0] = 0.0
        if tails is not None:
            above_bottom, from_top = np.searchsorted(held, (tails.above_bottom, tails.from_top)).tolist()
            tails = replace(tails, above_bottom=above_bottom, from_top=from_top)
            rules = (tails,)
        histogram = ClassHistogram(counts, dictionary.has_null, places, None, rules, histogram.worth)
        grown = replace(masking, dictionary=dictionary, histogram=histogram, tails=tails)
        bounds = np.unique(np.searchsorted(held, cut.boundaries))
        return grown, IntervalCut.of(histogram, bounds.tolist())
    raise TypeError(type(masking))


def _moves(
    moves: Sequence[Move], before: Sequence[Masking], after: Sequence[Masking], codes: dict[int, Codes]
) -> list[Move]:
    """Give the steps over the new nodes, without those that told only records apart which are left out."""
    kept: list[Move] = []
    for attribute, node, children, score, gain, loss in moves:
        of = before[attribute], after[attribute], codes[attribute]
        parent = _node(*of, node)
        found = [kept_child for child in children if (kept_child := _node(*of, child)) is not None]
        if parent is not None and found and found != [parent]:
            kept.append((attribute, parent, found, score, gain, loss))
    return kept


def _node(old: Masking, new: Masking, held: Codes, node: int) -> int | None:
    """Give a node over the new codes; None where no kept value can be in it, for all that the data say."""
    if isinstance(old, Intervals) and isinstance(new, Intervals):
        low, high = np.searchsorted(held, old.histogram.bounds(node)).tolist()
        return new.histogram.node(low, high) if low < high else None
    if isinstance(new, Generalization):  # the owner's nodes, and NULL if it is still there
        return node if node < len(new.tree.children) else None
    if node == 0:
        return 0
    place = int(np.searchsorted(held, node - 1))
    return place + 1 if place < len(held) and held[place] == node - 1 else None
