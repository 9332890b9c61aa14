"""Lets several runs over one collapsed source share what they measure.

Runs that differ in their limits alone walk the same way for as long as the same candidates are valid, and ask
about the same states. What a grouping measures depends on the counts, the state and the formula only, so it
is asked once; a run comes to the same outcome with what others measured as without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

import numpy as np

from ppdm_sql.lazy_dataclass import dataclass
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.boundaries import GroupsByValue
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.grouping_sql import totals
from ppdm_sql.methods.top_down.groupings import Grouping
from ppdm_sql.privacy import Formula

Key = tuple[object, ...]


@dataclass(frozen=True)
class Memory:
    """What runs over one collapsed source found out.

    Args:
        measured: Numbers of groupings, by what they depend on.
        counts: For a coded column its records by value and class.
    """

    measured: dict[Key, Floats] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)


class RememberedGrouping(Grouping):
    """A grouping that asks another one only what the memory does not hold.

    Args:
        grouping: What measures.
        counted: The values that it counts.
        memory: Shared by the runs over one collapsed source.
    """

    def __init__(self, grouping: Grouping, counted: Sequence[Counted], memory: Memory) -> None:
        self._grouping, self._memory = grouping, memory.measured
        self.attributes = grouping.attributes
        self._of: Key = tuple(grouping.attributes), tuple(counted)

    @property
    def groups(self) -> int:  # type: ignore[override]
        """Groups of the first state measured last."""
        return self._grouping.groups

    @property
    def is_large(self) -> bool:
        """Whether candidates of several attributes are better measured in one scan than in one each."""
        return self._grouping.is_large

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        """Tell states apart as far as this grouping can see them."""
        return self._grouping.identity(cuts)

    def detail(self, formulas: Sequence[Formula]) -> Floats:
        """Measure the source itself."""
        key = (*self._key(formulas), "source")
        found = self._remembered([key], lambda _: self._grouping.detail(formulas)[None, :])
        return np.asarray(found[0])

    def counted_chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        """Measure states, a row each."""
        of = self._key(formulas)
        keys = [(*of, "state", self._digest(state)) for state in states]
        return self._remembered(
            keys, lambda rows: self._grouping.counted_chain([states[row] for row in rows], formulas)
        )

    def after_disclosures(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states after candidates that all take one part out."""
        return self._after(self._grouping.after_disclosures, cuts, candidates, formulas)

    def after_specializations(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states after candidates that split parts of their own."""
        return self._after(self._grouping.after_specializations, cuts, candidates, formulas)

    def path(
        self, cuts: Cuts, attribute: int, disclosed: Sequence[int], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states on a way on which values of one attribute are disclosed, one after the other."""
        key = (*self._key(formulas), "path", self._digest(cuts), attribute, *disclosed)
        found = self._remembered(
            [key], lambda _: self._grouping.path(cuts, attribute, disclosed, formulas)[None]
        )
        return np.asarray(found[0])

    def by_value(self, cuts: Cuts, attribute: int, part: Codes, boundaries: Codes) -> GroupsByValue:
        """Give the present groups by the values of an attribute too."""
        return self._grouping.by_value(cuts, attribute, part, boundaries)

    def shrink(self, horizon: Sequence[Codes]) -> None:
        """Learn the parts that the coming states can tell apart."""
        self._grouping.shrink(horizon)

    def _after(
        self,
        measure: Callable[[Cuts, Sequence[Candidate], Sequence[Formula]], Floats],
        cuts: Cuts,
        candidates: Sequence[Candidate],
        formulas: Sequence[Formula],
    ) -> Floats:
        of, state = (*self._key(formulas), "after"), self._digest(cuts)
        keys = [(*of, state, a, _digest(cuts[a].split(candidate))) for a, candidate in candidates]
        return self._remembered(keys, lambda rows: measure(cuts, [candidates[row] for row in rows], formulas))

    def _remembered(self, keys: Sequence[Key], measure: Callable[[list[int]], Floats]) -> Floats:
        """Give a row for each key, measuring those that are not known."""
        missing = [row for row, key in enumerate(keys) if key not in self._memory]
        if missing:
            self._memory.update(zip((keys[row] for row in missing), measure(missing), strict=True))
        return np.stack([self._memory[key] for key in keys])

    def _key(self, formulas: Sequence[Formula]) -> Key:
        return *self._of, *totals(formulas)

    def _digest(self, cuts: Cuts) -> bytes:
        """Digest a state as far as the grouping can see it."""
        return _digest(cuts[attribute].parts for attribute in self.attributes)


def _digest(arrays: Iterable[Codes]) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for codes in arrays:
        found.update(len(codes).to_bytes(8, "little"))
        found.update(np.ascontiguousarray(codes, dtype=np.int64).tobytes())
    return found.digest()
