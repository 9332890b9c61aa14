"""What records show, and so what it costs to leave them out.

A step shows each record of the part that it refines more: its share of what the step tells of the class,
and the fall of its label's certainty penalty. The sum along a record's labels is what it shows; left out, it
shows nothing. So a step that leaves records out pays for what they would have shown, and no record is left
out because it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.constraints import ClassRule, broken, by_fate
from ppdm_sql.methods.top_down.counts import (
    SHOWN,
    Counted,
    CountTable,
    Params,
    added_up,
    needed,
    sides,
    sides_sql,
)
from ppdm_sql.methods.top_down.cuts import Cut, Cuts
from ppdm_sql.methods.top_down.score import Worth
from ppdm_sql.privacy import Formula
from ppdm_sql.privacy.formula import Columns

BITS = 60
"""What records show is counted in whole units, so small that all of it together fits into a BIGINT."""


class ShownDetail:
    """What the labels of each attribute show of its values, by value code; 0 in the most general state."""

    def __init__(self, counts: Sequence[Counts], weights: Sequence[float], worth: Worth) -> None:
        self._records = [each.sum(axis=1) for each in counts]
        self._weights = weights
        classes = max(each.shape[1] for each in counts)
        bits = np.log2(max(classes, 2)) + np.log2(worth.records + 2) + 2  # the latter of a rare value
        self.more = max(weights) * (worth.information * bits + worth.certainty)
        """What a step shows a record at most."""
        self.by_code = [np.zeros(len(each)) for each in self._records]

    @property
    def total(self) -> float:
        """What all records together show, those that are left out as well, as a mean."""
        shown = [records @ each for records, each in zip(self._records, self.by_code, strict=True)]
        return float(sum(shown)) / max(int(self._records[0].sum()), 1)

    def values(self, attribute: int, cut: Cut, candidates: Codes, gains: Floats) -> list[Floats]:
        """Give what each candidate shows each record of its parts."""
        return [parts * self._weights[attribute] for parts in cut.values(candidates, gains)]

    def perform(self, attribute: int, cut: Cut, candidates: Sequence[int], gains: Floats) -> None:
        """Let the records of candidates show more."""
        values = self.values(attribute, cut, np.array(candidates), gains)
        for candidate, more in zip(candidates, values, strict=True):
            self.by_code[attribute] = raised(self.by_code[attribute], cut, candidate, more)


def raised(by_code: Floats, cut: Cut, candidate: int, values: Floats) -> Floats:
    after = by_code.copy()
    for codes, value in zip(cut.split(candidate), values, strict=True):
        after[codes] += value
    return after


class BoundaryWorth(NamedTuple):
    """What splits at boundaries keep and lose, by value code: the first of the right half."""

    left: Floats  # records of the left half that are kept
    right: Floats
    lost: Floats  # what the records that are newly left out showed
    newly: Floats  # how many they are


class WeighedTable(CountTable):
    """A table of counts with what the records of a row show, ``w``, in units of :attr:`unit`."""

    def __init__(
        self, engine: Engine, atoms: Atoms, attributes: Sequence[int], counted: Sequence[Counted]
    ) -> None:
        super().__init__(engine, atoms, attributes, counted)
        self.names.append(SHOWN)
        self._counts, self.unit, self._shown = self.rows, 1.0, Params()
        self.values = np.empty(0)
        """By how much more records show in the parts of the candidates that are measured next."""
        self.show([np.zeros(item.size) for item in atoms.coded], 1.0)

    def show(self, by_code: Sequence[Floats], more: float) -> None:
        """Let values show as much as this, and a step as much more at most."""
        of = [by_code[i] for i in self.attributes]
        most = sum(float(abs(each).max(initial=0.0)) for each in of) + more
        self.unit = 2.0 ** np.ceil(np.log2(max(most * self.atoms.records, 1e-300)) - BITS)
        self.rows, self._shown = self.with_shown(by_code, "shown")

    def with_shown(self, by_code: Sequence[Floats], name: str) -> tuple[str, Params]:
        """Write the counts where values show as much as this, with the parameters."""
        texts, params = ["0"], Params()
        for i in self.attributes:
            if by_code[i].any():
                units = np.rint(by_code[i] / self.unit).astype(np.int64)
                text, own = recoded(f"c{i}", units, f"{name}{i}", "BIGINT")
                texts.append(text)
                params |= own
        return f"(SELECT *, n * ({' + '.join(texts)}) AS {SHOWN} FROM {self._counts})", params

    def _of_parts(self) -> Params:
        return {"value": np.rint(self.values / self.unit).astype(np.int64).tolist()}

    def _keys(self, cuts: Cuts, but: Sequence[int] = ()) -> tuple[list[str], Params]:  # type: ignore[override]
        keys, params = super()._keys(cuts, but)
        return keys, params | self._shown

    def boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, rules: Sequence[ClassRule]
    ) -> BoundaryWorth:
        """Tell for each boundary what a split there keeps and loses; ``part`` is as in :meth:`invalid`."""
        groups = self.by_value(cuts, attribute, part)
        counted = [*needed([rule.formula for rule in rules]), SHOWN]
        text = kept_sides_sql(sides_sql(groups, counted), rules, counted)
        found = self.engine.arrays(text, groups.params, step="boundaries")
        size = len(part)
        ends = 1 + np.append(np.flatnonzero(np.diff(part)), size - 1)  # of each stretch of the same interval
        end = ends[np.searchsorted(ends, found["code"].astype(np.int64), side="right")]
        begin = np.append(0, ends)[np.searchsorted(ends, found["code"].astype(np.int64), side="right")]
        first = found["code"].astype(np.int64) + 1
        last = np.where(found["inside"].astype(bool), found["next"].astype(np.int64) + 1, end)
        left, right, lost, newly = (
            added_up(size, first, last, found[name]) for name in ("kept_left", "kept_right", "lost", "newly")
        )
        right = right + added_up(size, begin, first, found["kept_whole"])  # groups that begin behind it
        return BoundaryWorth(left, right, lost, newly)


def kept_sides_sql(sides_of: str, rules: Sequence[ClassRule], counted: Sequence[str]) -> str:
    """Write what both sides of the boundaries after ``code``, up to ``next``, keep and lose; a row each.

    Behind its last value, where ``inside`` is false, a group is whole on the left; ``kept_whole`` are the
    records of the groups that begin at ``code``.
    """
    left, right = sides(counted, lasts=False)
    whole = {name: f"total_{name}" for name in counted}

    def kept(side: Columns, name: str) -> str:
        return f"CASE WHEN {broken(rules, side)} THEN 0 ELSE {side[name]} END"

    inside = "next IS NOT NULL"
    halves = f"({kept(left, 'n')} + {kept(right, 'n')})"
    shown = f"({kept(left, SHOWN)} + {kept(right, SHOWN)})"
    numbers = {
        "kept_left": f"CASE WHEN {inside} THEN {kept(left, 'n')} ELSE {kept(whole, 'n')} END",
        "kept_right": f"CASE WHEN {inside} THEN {kept(right, 'n')} ELSE 0 END",
        "lost": f"CASE WHEN {inside} THEN {kept(whole, SHOWN)} - {shown} ELSE 0 END",
        "newly": f"CASE WHEN {inside} THEN {kept(whole, 'n')} - {halves} ELSE 0 END",
        "kept_whole": f"CASE WHEN begins THEN {kept(whole, 'n')} ELSE 0 END",
    }
    listed = ", ".join(f"sum({number})::DOUBLE AS {name}" for name, number in numbers.items())
    return (
        f"SELECT code, coalesce(next, 0) AS next, {inside} AS inside, {listed} FROM ({sides_of}) AS sides "
        "GROUP BY ALL"
    )


def shown_by_kept(rules: Sequence[ClassRule]) -> Formula:
    """Give what groups that break no rule show, and with ``value``, what a step shows each of them more."""
    return by_fate(rules, [SHOWN], lambda c: f"{c[SHOWN]} + {c['n']} * {c['value']}")
