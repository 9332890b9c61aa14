"""A column of the partner, as this party sees it: which records share a value, not what the value is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.cuts import Cut, total_entropy
from ppdm_sql.methods.top_down.loop import NOTHING
from ppdm_sql.methods.top_down.maskings import Label
from ppdm_sql.release import Treatment
from ppdm_sql.taxonomy.model import Interval

Ids = NDArray[np.uint32]
Numbers = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]
TREATMENTS: Mapping[str, Treatment] = {
    "taxonomy": "generalized",
    "intervals": "generalized",
    "suppression": "suppressed",
}

DEEPEST = 64
"""Values above each other that a record can have shown; so a partner cannot specialize for ever."""


@dataclass(frozen=True)
class Move:
    """One specialization of the partner's: a value, and the values that it fell into."""

    value: int
    children: tuple[int, ...]


@dataclass(eq=False)
class Partner:
    """A column of the partner; in the words of a run, the recoding of an attribute.

    Values have opaque numbers: 0 is the root, further ones in the order in which the values came up.

    Args:
        dictionary: Its name; it lists no values.
        shown: The number of each record's value, in the order of the records.
        symbol: What stands for suppressed values.
        counts: Records per number and class, once :meth:`count` knows them.
    """

    dictionary: Dictionary
    shown: Ids
    symbol: str
    counts: Counts
    moves: list[Move] = field(default_factory=list)
    names: dict[int, str | None] = field(default_factory=dict)
    recoding: str = "taxonomy"
    made: int = 1
    root: int = 0
    grown: bool = False

    # -- during the descent -----------------------------------------------------------------------

    def specialize(self, value: int, children: int, numbers: Numbers) -> Ids:
        """Let the records of a value fall into its children.

        Args:
            value: Its number.
            children: How many there are.
            numbers: For each record of the value 0 where it keeps the value, else its child, from 1.

        Returns:
            The same for every record, 0 where nothing changes.

        Raises:
            ProtocolError: The records are others than those here, or a child has none.
        """
        here = np.flatnonzero(self.shown == value)
        parts = np.unique(numbers[numbers > 0])  # at most the records, whatever number of children is told
        proper = 0 < children == len(parts) and np.array_equal(parts, np.arange(1, len(parts) + 1))
        endless = self.made + children > DEEPEST * (len(self.shown) + 1)
        if not len(here) or len(here) != len(numbers) or not proper or endless:
            raise ProtocolError(
                f"The partner specialized records of {self.name!r} that are others than those here.",
                "Start again on both sides; report this if it happens twice.",
                reason="message",
            )
        whole = np.zeros(len(self.shown), dtype=np.uint32)
        whole[here] = numbers
        self.shown = np.where(whole > 0, whole + np.uint32(self.made - 1), self.shown)
        self.moves.append(Move(value, tuple(range(self.made, self.made + children))))
        self.made += children
        return whole

    @property
    def name(self) -> str:
        """The column."""
        return self.dictionary.column.name

    @property
    def present(self) -> list[int]:
        """Numbers of the values that records show, in order."""
        return [int(number) for number in np.unique(self.shown)]

    # -- what follows from the class --------------------------------------------------------------

    def gains(self) -> list[float]:
        """Give the InfoGain of each specialization, in their order; the final values' classes tell."""
        records = self.counts.copy()
        gained = []
        for move in reversed(self.moves):
            parts = records[[move.value, *move.children]]
            records[move.value] = parts.sum(axis=0)
            left = float(total_entropy(parts).sum())
            whole = float(total_entropy(records[move.value]))
            gain = max(whole - left, 0.0) / max(int(records[move.value].sum()), 1)
            gained.append(gain if gain >= NOTHING else 0.0)
        return gained[::-1]

    # -- the end ----------------------------------------------------------------------------------

    def count(self, classes: NDArray[np.uint32]) -> None:
        """Count the records of each number by class.

        Args:
            classes: The class of each record, as a code.
        """
        size = self.counts.shape[1]
        counted = np.bincount(self.shown.astype(np.int64) * size + classes, minlength=self.made * size)
        self.counts = counted.reshape(self.made, size).astype(np.int64)

    def learn(self, recoding: str, names: Mapping[int, str | None]) -> None:
        """Take over how the partner masked the column, and what it calls the values that are shown."""
        self.recoding, self.names = recoding, dict(names)
        for move in reversed(self.moves):
            if move.value not in self.names:
                self.names[move.value] = self._above(move)

    def _above(self, move: Move) -> str:
        """Name a value that the release does not show: by its parts, else by its number."""
        below = [self.names[child] for child in move.children]
        if self.recoding == "suppression" or (self.recoding == "intervals" and None in below):
            return self.symbol
        if self.recoding == "intervals":
            first, last = (Interval.of_label(str(label)) for label in (below[0], below[-1]))
            if first is not None and last is not None:
                return f"[{first.lower}, {last.upper}{']' if last.closed else ')'}"
        opaque = f"#{move.value}"
        while opaque in self.names.values():
            opaque = f"#{opaque}"
        return opaque

    # -- as a recoding ----------------------------------------------------------------------------

    @property
    def treatment(self) -> Treatment | None:
        """What the release says of the column."""
        return TREATMENTS[self.recoding]

    @property
    def top(self) -> Cut:
        """The cut, which has no candidates here."""
        return PartnerCut(self)

    @property
    def ids(self) -> int:
        """There are no candidates."""
        return 0

    def is_whole(self, cut: Cut) -> bool:
        """Nobody here can tell."""
        return False

    def order(self, node: int) -> tuple[int, ...]:
        """By number, so that each comes before its descendants."""
        return (node,)

    def nodes(self, specialized: Mapping[int, Sequence[int]]) -> list[tuple[int, int | None]]:
        """The values that came up."""
        return [(0, None), *((child, move.value) for move in self.moves for child in move.children)]

    @property
    def labels(self) -> Sequence[Label]:
        """The names, once they are known."""
        return [(number, name, None, None, None) for number, name in sorted(self.names.items())]

    def losses(self, nodes: Codes) -> Floats | None:
        """Nobody here can tell."""
        return np.full(len(nodes), np.nan)


@dataclass(frozen=True, eq=False)
class PartnerCut:
    """The cut of a partner's column: nothing in it can be refined here."""

    partner: Partner

    @property
    def nodes(self) -> Codes:
        """Each number that records show is a node; one that none shows stands for any."""
        present = np.array(self.partner.present)
        nodes = np.full(self.partner.made, present[0], dtype=np.int64)
        nodes[present] = present
        return nodes

    @property
    def labels(self) -> Codes:
        """The nodes, numbered from 0."""
        return np.asarray(np.unique(self.nodes, return_inverse=True)[1].ravel())

    @property
    def candidates(self) -> Codes:
        """There is nothing to refine here."""
        return np.empty(0, dtype=np.int64)

    @property
    def gains(self) -> Floats:
        """There is nothing to gain here."""
        return np.empty(0, dtype=np.float64)

    @property
    def smallest(self) -> Codes:
        """There is nothing to split here."""
        return np.empty(0, dtype=np.int64)

    def refine(self, candidate: int) -> PartnerCut:
        """Give the cut after one of the partner's specializations: always the present one."""
        return self

    @property
    def disjoint(self) -> bool:
        """There are no candidates."""
        return True

    def split(self, candidate: int) -> Sequence[Codes]:
        """Nothing can be split here."""
        return ()

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        """Give what the partner specialized: ``candidate`` is the place of the move."""
        move = self.partner.moves[candidate]
        return move.value, move.children

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        """Nothing further can be told here."""
        return self.labels
