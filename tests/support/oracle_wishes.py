"""Runs without a class, and wishes of columns, by brute force; it shares nothing with ``ppdm_sql``.

The penalty of a cell is counted from its label's part, exactly, for every record anew. Sources: Xu et al.,
"Utility-based anonymization using local recoding", KDD 2006.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from oracle import TDS, Candidate, Cell, Growth, Node, Part, Split, Suppression, Values, without_noise


@dataclass(frozen=True)
class Wishes:
    """What is wished of columns, by name."""

    weights: Mapping[str, Fraction] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    widths: Mapping[str, Fraction] = field(default_factory=dict)


def place(cell: Cell) -> Fraction:
    """Where a value lies on a line: a number, or the seconds of a moment."""
    if isinstance(cell, datetime.datetime):
        return Fraction((cell - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1))
    if isinstance(cell, datetime.date):
        return Fraction(cell.toordinal() * 86_400)
    if isinstance(cell, datetime.time):
        return Fraction(cell.hour * 3600 + cell.minute * 60 + cell.second)
    return Fraction(cell)  # type: ignore[arg-type]


def like(cell: Cell, written: str) -> Any:
    """Read a text as a value of the kind of another one."""
    kind = type(cell)
    return kind.fromisoformat(written) if hasattr(kind, "fromisoformat") else kind(written)  # type: ignore[attr-defined, call-arg]


class WishedGrowth(Growth):
    """Intervals that are split where the gain is largest among the boundaries that the wishes allow."""

    def __init__(self, own: Growth, classless: bool, width: Fraction | None) -> None:
        self.__dict__.update(own.__dict__)
        self.classless, self.width = classless, width

    def edges(self, part: Part) -> tuple[Fraction, Fraction]:
        """The bounds of an interval, as its label has them."""
        inner = [value for value in part.values if value is not None]
        start, stop = self.values.index(min(inner)), self.values.index(max(inner)) + 1
        lower, upper = self.values[start], self.values[min(stop, len(self.values) - 1)]
        if self.range is not None:
            lower = like(lower, self.range[0]) if start == 0 else lower
            upper = like(upper, self.range[1]) if stop == len(self.values) else upper
        return place(lower), place(upper)

    def penalty(self, part: Part) -> Fraction:
        """Width over range; of all values with NULL 1, of NULL 0."""
        if None in part.values:
            return Fraction(len(part.values) > 1)
        whole = self.edges(Part(None, frozenset(self.values)))
        lower, upper = self.edges(part)
        return (upper - lower) / (whole[1] - whole[0]) if whole[0] != whole[1] else Fraction(0)

    def splits(self, cut: Sequence[Part]) -> list[list[Split]]:
        found = []
        for ways in super().splits(cut):
            allowed = [way for way in ways if None in way.part.values or self._allowed(way)]
            if allowed:
                found.append(allowed)
        return found

    def gain(self, split: Split) -> float:
        if not self.classless:
            return super().gain(split)
        return float(fall(split, self.class_records, self.penalty))

    def _allowed(self, split: Split) -> bool:
        if self.width is None:
            return True
        edges = [self.edges(part) for part in split.parts]
        return all(upper - lower >= self.width for lower, upper in edges)


def fall(split: Split, records: Counter[Values], penalty: Any) -> Fraction:
    """By how much the penalty of a column falls, a record of the table."""
    counts: Counter[Cell] = Counter()
    for (value, *_), number in records.items():
        counts[value] += number
    fallen = Fraction(0)
    for part in split.parts:
        held = sum(counts[value] for value in part.values)
        fallen += held * (penalty(split.part) - penalty(part))
    return fallen / counts.total()


class WishedTDS(TDS):
    """Top-down specialization that heeds wishes; without a class column it gains certainty."""

    def __init__(self, *asked: Any, boundary: Any = "valid", wishes: Wishes) -> None:
        super().__init__(*asked, boundary=boundary)
        class_column, treatments = asked[2:4]
        self.wishes, self.classless = wishes, class_column is None
        for name, operator in list(self.operators.items()):
            if isinstance(operator, Growth):
                width = wishes.widths.get(name)
                self.operators[name] = WishedGrowth(operator, self.classless, width)
        self.trees = {name: tree for name, tree in treatments.items() if isinstance(tree, Node)}

    def penalty(self, name: str, part: Part) -> Fraction:
        """What a part leaves open: 1 for the symbol, (leaves - 1) / (all leaves - 1), width / range."""
        operator = self.operators[name]
        if isinstance(operator, WishedGrowth):
            return operator.penalty(part)
        if isinstance(operator, Suppression):
            return Fraction(part.label == operator.symbol)
        nodes = operator.nodes  # type: ignore[attr-defined]
        (root,) = (node for node in nodes.values() if node.label == operator.root.label)
        return Fraction(_leaves(nodes[part.label]) - 1, max(_leaves(root) - 1, 1))

    def _fall(self, attribute: str, split: Split) -> Fraction:
        records = self.class_records[attribute]
        return fall(split, records, lambda part: self.penalty(attribute, part))

    def certainty_penalty(self) -> float:
        """The mean of the present penalties of all records, and of columns by their weights."""
        found = weighed = Fraction(0)
        for name in self.masked:
            weight = self.wishes.weights.get(name, Fraction(1))
            shown = {value: self.penalty(name, part) for part in self.cuts[name] for value in part.values}
            records = self.class_records[name]
            found += weight * sum(n * shown[value] for (value, *_), n in records.items()) / records.total()
            weighed += weight
        return float(found / weighed)

    def beneficial(self, attribute: str, split: Split) -> bool:
        if self.classless:
            return self._fall(attribute, split) > 0
        return super().beneficial(attribute, split)

    def gain(self, attribute: str, split: Split, now: Counter[Values], then: Counter[Values]) -> float:
        weight = self.wishes.weights.get(attribute, Fraction(1))
        if not self.classless:
            return float(weight) * super().gain(attribute, split, now, then)
        every = sum(self.wishes.weights.get(name, Fraction(1)) for name in self.masked)
        return without_noise(float(self._fall(attribute, split))) * float(weight / every)

    def candidates(self) -> list[Candidate]:
        return [found for found in super().candidates() if self._has_room(found)]

    def _has_room(self, candidate: Candidate) -> bool:
        most = self.wishes.limits.get(candidate.attribute)
        cut = self.cut(candidate.attribute, candidate.split)
        return most is None or len(_shown(cut)) <= most


def _shown(cut: Iterable[Part]) -> list[Part]:
    return [part for part in cut if part.values]


def _leaves(node: Node) -> int:
    return sum(map(_leaves, node.children)) if node.children else 1
