"""Cuts into intervals that are grown during the run: the operator splits one at its best boundary.

Where an ordered column has no taxonomy, an interval is split at the boundary of largest information gain that
keeps the requirements. Gains follow from one histogram; what a boundary breaks is measured by
:mod:`~ppdm_sql.methods.top_down.boundaries`. Read literally, the paper tries the boundary of largest gain
alone, and leaves the interval as it is where that one breaks a requirement. Source: Fung, Wang, Yu 2005,
section 3 ("dynamically generated taxonomy tree"); Quinlan 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.score import gain_of_halves

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Gains that differ by less are equal, and the smallest boundary wins."""
FEW, HORIZON = 256, 64
"""Of a column of more than the few values, so many intervals are split to see what may come next; the whole
tree may hold as many as values."""


@dataclass(frozen=True)
class IntervalSplit:
    """The best way to cut an interval in two.

    Args:
        boundary: First code of the right half; no two intervals of a tree have the same.
        gain: InfoGain, in bits per record of the interval.
        smallest: Records of the smaller half.
    """

    boundary: int
    gain: float
    smallest: int


BoundaryRule: TypeAlias = "Callable[[ClassHistogram, int, int, Codes], NDArray[np.bool_]]"
"""Tells at which of some boundaries the interval of the codes from low up to high may be split."""


@dataclass(eq=False)
class ClassHistogram:
    """Records of each value of an ordered column by class, and the splits that follow from them.

    Args:
        counts: Shape (values, classes), values in order; NULL, if there is one, is the last.
        has_null: Whether it is; then NULL is split from the numbers first.
        least: Records that each half must have; None where the boundary of largest gain alone is tried.
        rules: What boundaries must meet, but for the one before NULL.
    """

    counts: Counts
    has_null: bool
    least: int | None = None
    rules: tuple[BoundaryRule, ...] = ()
    _splits: dict[tuple[int, int], IntervalSplit | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of values, NULL included."""
        return len(self.counts)

    @cached_property
    def _up_to(self) -> Counts:
        return np.vstack([np.zeros((1, self.counts.shape[1]), dtype=np.int64), self.counts.cumsum(axis=0)])

    @cached_property
    def _records_up_to(self) -> Codes:
        return np.asarray(self._up_to.sum(axis=1))

    def classes(self, low: int | Codes, high: int | Codes) -> Counts:
        """Count the records of the codes from low up to high by class."""
        return np.asarray(self._up_to[high] - self._up_to[low])

    def gains(self, low: int, high: int, boundaries: Codes) -> Floats:
        """Give what is gained where an interval is split at each of some boundaries."""
        return gain_of_halves(self.classes(low, high), self.classes(low, boundaries))

    def is_beneficial(self, low: int, high: int) -> bool:
        """Tell whether the records of an interval are of more than one class."""
        return bool(np.count_nonzero(self.classes(low, high)) > 1)

    def split(self, low: int, high: int, alive: NDArray[np.bool_] | None = None) -> IntervalSplit | None:
        """Give the best split of the codes from low up to high; None where none is beneficial.

        Args:
            low: The first code.
            high: The one after the last.
            alive: For each boundary whether it may still be chosen; None where all may.
        """
        found = self._splits.get((low, high))
        if (low, high) not in self._splits or (found and alive is not None and not alive[found.boundary]):
            # A boundary that is dead stays so, and with it all that was found better before.
            self._splits[low, high] = found = self._best(low, high, alive)
        return found

    def forget(self) -> None:
        """Look for all splits anew: boundaries that had fallen are open again."""
        self._splits.clear()

    def _best(self, low: int, high: int, alive: NDArray[np.bool_] | None) -> IntervalSplit | None:
        if high - low < 2 or not self.is_beneficial(low, high):
            return None
        boundaries = self._boundaries(low, high, alive)
        if not len(boundaries):
            return None
        whole, left = self.classes(low, high), self.classes(low, boundaries)
        gains = self.gains(low, high, boundaries)
        best = int((gains >= gains.max() * (1 - RELATIVE) - ABSOLUTE).argmax())
        sizes = left[best].sum(), (whole - left[best]).sum()
        return IntervalSplit(int(boundaries[best]), float(gains[best]), int(min(sizes)))

    def _boundaries(self, low: int, high: int, alive: NDArray[np.bool_] | None) -> Codes:
        """List the boundaries inside an interval that may be chosen."""
        only_null = self.has_null and high == self.size
        boundaries = np.arange(high - 1 if only_null else low + 1, high)
        if self.least is not None:
            left = self._records_up_to[boundaries] - self._records_up_to[low]
            right = self._records_up_to[high] - self._records_up_to[boundaries]
            boundaries = boundaries[np.minimum(left, right) >= self.least]
        if alive is not None:
            boundaries = boundaries[alive[boundaries]]
        for rule in () if only_null else self.rules:
            boundaries = boundaries[rule(self, low, high, boundaries)]
        return boundaries

    def weighed(self, low: int, high: int) -> tuple[int, int, int]:
        """Give an interval behind a number that sorts those of most records first."""
        return int(self._records_up_to[low] - self._records_up_to[high]), low, high

    def node(self, low: int, high: int) -> int:
        """Number an interval; the root is ``node(0, size)``."""
        return low * (self.size + 1) + high

    def bounds(self, node: int) -> tuple[int, int]:
        """Give back the codes of an interval: the first, and the one after the last."""
        return divmod(node, self.size + 1)


@dataclass(frozen=True, eq=False)
class IntervalCut(Cut):
    """A cut into intervals of codes. A candidate is the boundary at which an interval would be split.

    Args:
        histogram: Of the column.
        boundaries: First codes of the intervals, and at the end the number of codes.
        alive: For each boundary whether it may still be chosen; None as long as none has fallen.
    """

    histogram: ClassHistogram
    boundaries: tuple[int, ...]
    alive: NDArray[np.bool_] | None = None

    @classmethod
    def top(cls, histogram: ClassHistogram) -> IntervalCut:
        """Give the most general cut: one interval, of all values."""
        return cls(histogram, (0, histogram.size))

    @cached_property
    def parts(self) -> Codes:
        return np.repeat(np.arange(len(self.boundaries) - 1), np.diff(self.boundaries))

    @cached_property
    def nodes(self) -> Codes:
        intervals = [self.histogram.node(low, high) for low, high in pairwise(self.boundaries)]
        return np.array(intervals, dtype=np.int64)[self.parts]

    @cached_property
    def _splits(self) -> list[IntervalSplit]:
        found = (self.histogram.split(*bounds, self.alive) for bounds in pairwise(self.boundaries))
        return [split for split in found if split is not None]

    @cached_property
    def candidates(self) -> Codes:
        return np.array([split.boundary for split in self._splits], dtype=np.int64)

    @cached_property
    def gains(self) -> Floats:
        return np.array([split.gain for split in self._splits], dtype=np.float64)

    @cached_property
    def smallest(self) -> Codes:
        return np.array([split.smallest for split in self._splits], dtype=np.int64)

    def _around(self, boundary: int) -> tuple[int, int]:
        place = int(np.searchsorted(self.boundaries, boundary))
        return self.boundaries[place - 1], self.boundaries[place]

    def refine(self, candidate: int) -> IntervalCut:
        return replace(self, boundaries=tuple(sorted((*self.boundaries, int(candidate)))))

    def contested(self, alive: NDArray[np.bool_]) -> Codes | None:
        if self.histogram.least is None:
            return None
        fallen = self.candidates[~alive[self.candidates]]
        intervals = np.zeros(len(self.boundaries) - 1, dtype=bool)
        intervals[np.searchsorted(self.boundaries, fallen) - 1] = True
        return np.asarray(np.where(intervals[self.parts], self.parts, -1))

    def without(self, alive: NDArray[np.bool_]) -> IntervalCut:
        return replace(self, alive=alive.copy())

    def reopened(self, alive: NDArray[np.bool_]) -> IntervalCut:
        if self.histogram.least is None:
            return self
        self.histogram.forget()
        return self.without(alive)

    def split(self, candidate: int) -> Sequence[Codes]:
        low, high = self._around(candidate)
        return np.arange(low, candidate), np.arange(candidate, high)

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        low, high = self._around(candidate)
        node = self.histogram.node
        return node(low, high), (node(low, int(candidate)), node(int(candidate), high))

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        if self.histogram.size <= FEW:
            return self._finest(alive)
        # Of many values the next splits alone: in the intervals of most records first, of those still alive.
        waiting = [self.histogram.weighed(low, high) for low, high in pairwise(self.boundaries)]
        starts = np.zeros(self.histogram.size, dtype=np.int64)
        starts[list(self.boundaries[:-1])] = 1
        heapify(waiting)
        for _ in range(HORIZON):
            if not waiting:
                break
            _, low, high = heappop(waiting)
            split = self.histogram.split(low, high, None if self.histogram.least is None else alive)
            if split is not None and alive[split.boundary]:
                starts[split.boundary] = 1
                heappush(waiting, self.histogram.weighed(low, split.boundary))
                heappush(waiting, self.histogram.weighed(split.boundary, high))
        return np.asarray(starts.cumsum() - 1)

    def _finest(self, alive: NDArray[np.bool_]) -> Codes:
        """Open the boundaries that are alive in an interval whose split is, none in the others."""
        opened = np.zeros(len(self.boundaries) - 1, dtype=bool)
        opened[np.searchsorted(self.boundaries, self.candidates) - 1] = alive[self.candidates]
        starts = opened[self.parts] & alive
        starts[list(self.boundaries[:-1])] = True
        return np.asarray(starts.cumsum() - 1)
