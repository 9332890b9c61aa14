"""The values of columns by opaque numbers: which records share a value of the partner's, not what it is.

At the end each party names the values of its own columns that the release shows, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.cuts import ClosedCut, Cut
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Label, Masking
from ppdm_sql.methods.top_down.outcome import as_lists
from ppdm_sql.methods.top_down.score import LEAST_GAIN, total_entropy
from ppdm_sql.methods.two_party.failures import impossible
from ppdm_sql.methods.two_party.messages import Message
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
class Specialization:
    """A value of the partner's, and the values that it fell into."""

    value: int
    children: tuple[int, ...]


@dataclass(eq=False)
class Partner(Masking):
    """A column of the partner; in the words of a run, the masking of an attribute.

    Values have opaque numbers: 0 is the root, further ones in the order in which the values came up. Each
    record's stands in ``shown``, the records per number and class in ``counts``, once they are known.
    """

    dictionary: Dictionary
    shown: Ids
    symbol: str
    counts: Counts
    specializations: list[Specialization] = field(default_factory=list)
    names: dict[int, str | None] = field(default_factory=dict)
    recoding: str = "taxonomy"
    made: int = 1

    # -- during the descent -----------------------------------------------------------------------

    def specialize(self, value: int, children: int, numbers: Numbers) -> Ids:
        """Let the records of a value fall into its children.

        ``numbers`` has for each record of the value its child from 1, or 0 where it keeps the value; what is
        given back has that for every record. Records that are others than those here, and a child without
        one, are refused.
        """
        here = np.flatnonzero(self.shown == value)
        parts = np.unique(numbers[numbers > 0])  # at most the records, whatever number of children is told
        proper = 0 < children == len(parts) and np.array_equal(parts, np.arange(1, len(parts) + 1))
        endless = self.made + children > DEEPEST * (len(self.shown) + 1)
        if not len(here) or len(here) != len(numbers) or not proper or endless:
            raise impossible(
                f"The partner specialized records of {self.name!r} that are others than those here."
            )
        whole = np.zeros(len(self.shown), dtype=np.uint32)
        whole[here] = numbers
        self.shown = np.where(whole > 0, whole + np.uint32(self.made - 1), self.shown)
        self.specializations.append(Specialization(value, tuple(range(self.made, self.made + children))))
        self.made += children
        return whole

    @property
    def name(self) -> str:
        return self.dictionary.column.name

    @property
    def present(self) -> list[int]:
        """Numbers of the values that records show, in order."""
        return [int(number) for number in np.unique(self.shown)]

    # -- at the end -------------------------------------------------------------------------------

    def count(self, classes: NDArray[np.uint32]) -> None:
        """Count the records of each number by class; ``classes`` holds the class of each record."""
        size = self.counts.shape[1]
        counted = np.bincount(self.shown.astype(np.int64) * size + classes, minlength=self.made * size)
        self.counts = counted.reshape(self.made, size).astype(np.int64)

    def gains(self) -> list[float]:
        """Give the InfoGain of each specialization, which follows from the classes of the final values."""
        records = self.counts.copy()
        gained = []
        for step in reversed(self.specializations):
            parts = records[[step.value, *step.children]]
            records[step.value] = parts.sum(axis=0)
            left = float(total_entropy(parts).sum())
            whole = float(total_entropy(records[step.value]))
            gain = max(whole - left, 0.0) / max(int(records[step.value].sum()), 1)
            gained.append(gain if gain >= LEAST_GAIN else 0.0)
        return gained[::-1]

    def learn(self, recoding: str, names: Mapping[int, str | None]) -> None:
        self.recoding, self.names = recoding, dict(names)
        for step in reversed(self.specializations):
            if step.value not in self.names:
                self.names[step.value] = self._above(step)

    def _above(self, step: Specialization) -> str:
        """Name a value that the release does not show: by its parts, else by its number."""
        below = [self.names[child] for child in step.children]
        if self.recoding == "suppression" or (self.recoding == "intervals" and None in below):
            return self.symbol
        if self.recoding == "intervals":
            first, last = (Interval.of_label(str(label)) for label in (below[0], below[-1]))
            if first is not None and last is not None:
                return f"[{first.lower}, {last.upper}{']' if last.closed else ')'}"
        opaque = f"#{step.value}"
        while opaque in self.names.values():
            opaque = f"#{opaque}"
        return opaque

    # -- as a masking -----------------------------------------------------------------------------

    @property
    def treatment(self) -> Treatment | None:
        return TREATMENTS[self.recoding]

    @property
    def top(self) -> Cut:
        return PartnerCut(self)

    @property
    def ids(self) -> int:
        return 0

    @property
    def labels(self) -> Sequence[Label]:
        return [(number, name, None, None, None) for number, name in sorted(self.names.items())]

    def is_whole(self, cut: Cut) -> bool:
        return False  # nobody here can tell

    def nodes(self, specialized: Mapping[int, Sequence[int]]) -> list[tuple[int, int | None]]:
        made = [(child, step.value) for step in self.specializations for child in step.children]
        return [(0, None), *made]

    def losses(self, nodes: Codes) -> Floats:
        return np.full(len(nodes), np.nan)  # nobody here can tell


@dataclass(frozen=True, eq=False)
class PartnerCut(ClosedCut):
    """The cut of a partner's column; ids of candidates are places among the partner's specializations."""

    partner: Partner

    @property
    def nodes(self) -> Codes:
        """Each number that records show is a node; one that none shows stands for any."""
        present = np.array(self.partner.present)
        nodes = np.full(self.partner.made, present[0], dtype=np.int64)
        nodes[present] = present
        return nodes

    @property
    def parts(self) -> Codes:
        return np.asarray(np.unique(self.nodes, return_inverse=True)[1].ravel())

    def refine(self, candidate: int) -> PartnerCut:
        return self  # the partner is always in its present state

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        step = self.partner.specializations[candidate]
        return step.value, step.children


# -- own columns, and names ------------------------------------------------------------------------


class Numbering:
    """The opaque numbers of the values of one own column, in the order in which they come up."""

    def __init__(self, root: int) -> None:
        self.numbers = {root: 0}

    def specialize(self, cut: Cut, candidate: int) -> tuple[int, int, Codes]:
        """Give a value's number, how many children with records a candidate makes, and each code's child.

        A code has its child from 1, 0 where it keeps the value, -1 where it has another one.
        """
        node, _ = cut.specialization(candidate)
        parts, after = cut.split(candidate), cut.refine(candidate).nodes
        children = np.where(cut.nodes == node, 0, -1)
        for child, codes in enumerate(parts, start=1):
            children[codes] = child
            self.numbers[int(after[codes[0]])] = len(self.numbers)
        return self.numbers[node], len(parts), children


def names(
    engine: Engine,
    number: int,
    labels: Table,
    own: Mapping[int, Numbering],
    maskings: Sequence[Masking],
    cuts: Sequence[Cut],
) -> Message:
    """Name the values of own columns that records show."""
    shown = [
        (attribute, numbering.numbers[node], node)
        for attribute, numbering in own.items()
        for node in sorted(set(cuts[attribute].nodes.tolist()), key=numbering.numbers.__getitem__)
    ]
    asked = as_lists(("attribute", "number", "node"), shown)
    query = bind("two_party/names", tables={"labels": labels})
    rows = engine.query(query, asked, step="names")
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    named = dict(zip(("attribute", "value", "label"), columns, strict=True))
    recodings = [_recoding(maskings[attribute]) for attribute in own]
    return Message("LABELS", number, {**named, "owned": list(own), "recoding": recodings})


def _recoding(masking: Masking) -> str:
    if isinstance(masking, Generalization):
        return "taxonomy"
    return "intervals" if isinstance(masking, Intervals) else "suppression"


def learn(partners: Mapping[int, Partner], message: Message) -> None:
    """Take over the names that the partner gives its values."""
    fields = cast(Mapping[str, list[object]], message.fields)
    found: dict[int, dict[int, str | None]] = {attribute: {} for attribute in partners}
    named = list(zip(fields["attribute"], fields["value"], fields["label"], strict=True))
    recodings = dict(zip(cast(list[int], fields["owned"]), cast(list[str], fields["recoding"]), strict=True))
    for attribute, value, label in cast(list[tuple[int, int, str | None]], named):
        found.setdefault(attribute, {})[value] = label
    proper = recodings.keys() == found.keys() == partners.keys()
    proper &= len(named) == sum(map(len, found.values()))
    for attribute, partner in partners.items():
        by_value = found.get(attribute, {})
        proper &= sorted(by_value) == partner.present and len(set(by_value.values())) == len(by_value)
    if not proper:
        raise impossible("The partner names other values than those that the release shows.")
    for attribute, partner in partners.items():
        partner.learn(recodings[attribute], found[attribute])
