"""The values of columns by opaque numbers: which records share a value of the partner's, not what it is.

The paper keeps a tree of partitions whose leaves hold records (TIPS, slides 15 and 16). Here a leaf is a
number beside each record: records with the same number share a class, whoever made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats, registered
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.base.released_rows import Params
from ppdm_sql.methods.top_down.counts import CountedValue, CountTable
from ppdm_sql.methods.top_down.cuts import ClosedCut, Cut, Cuts
from ppdm_sql.methods.top_down.maskings import Label, Masking
from ppdm_sql.methods.top_down.measuring import Measure
from ppdm_sql.methods.top_down.score import LEAST_GAIN, total_entropy
from ppdm_sql.methods.two_party.messages import impossible
from ppdm_sql.privacy import Formula
from ppdm_sql.release import Treatment
from ppdm_sql.taxonomy.model import Interval

Ids = NDArray[np.uint32]
DEEPEST = 64
"""Values above each other that a record can have shown; so a partner cannot specialize for ever."""


@dataclass(eq=False)
class Partner(Masking):
    """A masking of opaque numbers: 0 is the root, further ones in the order in which the values came up."""

    dictionary: Dictionary
    rows: list[NDArray[np.int64]]  # records by class, of each number
    values: Ids  # the number of each record's value
    classes: Ids  # and its class
    symbol: str
    specializations: list[tuple[int, range]] = field(default_factory=list)  # values, and what they fell into
    names: dict[int, str | None] = field(default_factory=dict)
    recoding: str = "taxonomy"

    def specialize(self, value: int, children: int, numbers: Ids) -> tuple[Codes, float]:
        """Give each record's child, 0 where it keeps the value, and the InfoGain; refuse other records."""
        here, first = np.flatnonzero(self.values == value), len(self.rows)
        parts = np.unique(numbers[numbers > 0])  # no more than records, whatever the partner says
        proper = 0 < children == len(parts) and np.array_equal(parts, np.arange(1, len(parts) + 1))
        endless = first + children > DEEPEST * (len(self.values) + 1)
        if not len(here) or len(here) != len(numbers) or not proper or endless:
            name = self.dictionary.column.name
            raise impossible(f"The partner specialized records of {name!r} that differ from those here.")
        self.values[here] = np.where(numbers > 0, numbers.astype(np.uint32) + np.uint32(first - 1), value)
        size = len(self.rows[0])
        cells = numbers.astype(np.int64) * size + self.classes[here]
        counts = np.bincount(cells, minlength=(children + 1) * size).reshape(children + 1, size)
        self.rows.extend(counts[1:])
        self.rows[value] = counts[0]
        self.specializations.append((value, range(first, first + children)))
        information = float(total_entropy(counts.sum(axis=0))) - float(total_entropy(counts).sum())
        gain, child = max(information, 0.0) / len(here), np.zeros(len(self.values), dtype=np.int64)
        child[here] = numbers
        return child, gain if gain >= LEAST_GAIN else 0.0

    @property
    def counts(self) -> Counts:  # type: ignore[override]
        return np.array(self.rows)

    @property
    def present(self) -> Codes:
        return np.flatnonzero(self.counts.sum(axis=1))

    def above(self, value: int, below: Sequence[str | None]) -> str:
        """Name what the release does not show by its parts, else by its number."""
        if self.recoding == "suppression" or (self.recoding == "intervals" and None in below):
            return self.symbol
        if self.recoding == "intervals":
            first, last = (Interval.of_label(str(label)) for label in (below[0], below[-1]))
            if first is not None and last is not None:
                return f"[{first.lower}, {last.upper}{']' if last.closed else ')'}"
        opaque = f"#{value}"
        while opaque in self.names.values():
            opaque = f"#{opaque}"
        return opaque

    @property
    def treatment(self) -> Treatment | None:
        return "suppressed" if self.recoding == "suppression" else "generalized"

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

    def nodes(self, children_of: Mapping[int, Sequence[int]]) -> list[tuple[int, int | None]]:
        return [(0, None), *((child, value) for value, parts in self.specializations for child in parts)]

    def losses(self, nodes: Codes) -> Floats:
        return np.full(len(nodes), np.nan)  # nobody here can tell


@dataclass(frozen=True, eq=False)
class PartnerCut(ClosedCut):
    """The cut of a partner's column; ids of candidates are places among the partner's specializations."""

    partner: Partner

    @property
    def nodes(self) -> Codes:
        """Each number that records show is a node; one that none shows stands for any."""
        present = self.partner.present
        nodes = np.full(len(self.partner.rows), present[0])
        nodes[present] = present
        return nodes

    @property
    def parts(self) -> Codes:
        return np.asarray(np.unique(self.nodes, return_inverse=True)[1].ravel())

    def refine(self, candidate: int) -> PartnerCut:
        return self  # the partner is always in its present state

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return self.partner.specializations[candidate]


def learn(partners: Mapping[int, Partner], message: Mapping[str, list[Any]]) -> None:
    """Take over the names of the values that records show; each must have one of its own."""
    labels = list(zip(message["attribute"], message["value"], message["label"], strict=True))
    recodings = dict(zip(message["owned"], message["recoding"], strict=True))
    present = [
        (attribute, value) for attribute, partner in partners.items() for value in partner.present.tolist()
    ]
    proper = recodings.keys() == partners.keys()
    proper &= sorted((attribute, value) for attribute, value, _ in labels) == sorted(present)
    if not proper or len({(attribute, label) for attribute, _, label in labels}) < len(labels):
        raise impossible("The partner names other values than those that the release shows.")
    for attribute, partner in partners.items():
        partner.recoding = recodings[attribute]
        partner.names = {value: label for of, value, label in labels if of == attribute}
        for value, children in reversed(partner.specializations):
            if value not in partner.names:
                partner.names[value] = partner.above(value, [partner.names[child] for child in children])


class LeafTable(CountTable):
    """The records of one party with their leaves, numbered without gaps; it knows the present state."""

    def _make_rows(self) -> str:
        self._leaf = np.zeros(self.atoms.records, dtype=np.int64)
        return self._write_leaves()

    def _write_leaves(self) -> str:
        leaf = self._leaf.astype(np.min_scalar_type(self._leaf.max()))
        with registered(self.engine, {"leaf": leaf}) as view:
            self._table = self.engine.materialize("leaves", f"SELECT leaf FROM {view}")
        own = [f"c{i}" for i in self.attributes if self.atoms.coded[i].size]  # none of the partner's
        of_values = [f"(c{i} = {code})::INTEGER AS p{j}" for j, (i, code) in enumerate(self.values)]
        columns = ", ".join(["leaf", *own, "n", *of_values])
        return f"(SELECT {columns} FROM {self._table} POSITIONAL JOIN {self.atoms.table})"

    def split(self, child: Codes, children: int) -> None:
        """Let leaves fall into parts, by the child of each record; 0 where it stays with the rest."""
        movers = np.flatnonzero(child)
        number = self._leaf[movers] * (children + 1) + child[movers]
        self._leaf[movers] = self._leaf.max() + 1 + np.unique(number, return_inverse=True)[1]
        self._leaf = (np.cumsum(np.bincount(self._leaf) > 0) - 1)[self._leaf]
        self.engine.discard(self._table)
        self.rows = self._write_leaves()

    def sizes(self) -> str:
        return sha256(",".join(map(str, sorted(np.bincount(self._leaf).tolist()))).encode()).hexdigest()

    def source(self, formulas: Sequence[Formula]) -> Floats:
        # One party cannot know what the joined source would show.
        return np.full(1 + len(formulas), np.nan)

    def _keys(self, cuts: Cuts, but: Iterable[int] = ()) -> tuple[list[str], Params]:
        return ["leaf AS group0"], {}


class LeafMeasure(Measure):
    """Measures the present state, and those after one candidate, over the records of one party."""

    ahead = False  # the partner has a say in what follows
    lists = False  # what the parties share of a leaf are counts

    def table(self, attributes: Sequence[int], values: Sequence[CountedValue]) -> LeafTable:
        return LeafTable(self._engine, self._atoms, attributes, values)

    def split(self, attribute: int, child: Codes, children: int) -> None:
        for table in self._leaf_tables():
            if attribute in table.attributes:
                table.split(child, children)

    def digest(self) -> str:
        tables = dict[tuple[int, ...], LeafTable]()
        for table in self._leaf_tables():
            tables.setdefault(tuple(table.attributes), table)
        return sha256(",".join(table.sizes() for table in tables.values()).encode()).hexdigest()

    def _leaf_tables(self) -> list[LeafTable]:
        return [entry.table for entry in self._tables if isinstance(entry.table, LeafTable)]
