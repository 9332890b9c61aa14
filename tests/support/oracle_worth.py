"""The score of what a step shows, by brute force: a greedy descent that measures every candidate afresh.

Written from the definition. With N records, Q masked columns, H(D) the entropy of the class, and for a part v
of a column with n_v records, of J classes, that falls into m children which hold records:

    IG(v)   = information gain of the children about the class
    corr(v) = (m - 1)(J - 1) / (2 n_v ln 2)     what chance alone tells (Miller 1955), and for an interval
            + log2(B) / n_v                     of B boundaries between values that occur in v; for a
                                                disclosure of B values of the column
    g(v)    = max(0, IG(v) - corr(v))
    val     = g(v) / H(D) + LAMBDA / Q (pen(v) - pen(child)), what a record of v is shown more by a step
    V       = the sum of val along the labels of a record; left out, it shows 0
    score   = 1/N (sum of val over the records of v that stay - sum of V over those newly left out)

Penalties are those of ``oracle_wishes``: 1 for the symbol and 0 for a value; (leaves - 1) / (all leaves -
1) in a taxonomy; width / range of an interval as its label reads. A disclosure has two children, the value
and the rest of the symbol, to whose records it tells nothing: all that it tells is told to those of the
value. NULL leaves an interval in one way. Gains are of all records of v, those left out as well. A step
needs a score above 0. Without a class val is the fall of the penalty alone, with LAMBDA 1; where nothing
may be left out either, steps are compared by score / (loss + 1), boundaries by the score alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import oracle
from cases import Case
from oracle import Candidate, History, Part, Split, Values, class_distribution, information_gain
from oracle_left_out import LeavingOut
from oracle_wishes import WishedTDS, Wishes

DETAIL = 0.3
"""Lambda, where there is a class."""
SMALLEST = 1e-12
"""Scores below count as 0."""


def by_chance(classes: int, children: int, records: int, choices: int = 1) -> float:
    """What children tell of a class that has nothing to do with them, in bits a record of the node."""
    miller = (children - 1) * (classes - 1) / (2 * max(records, 1) * math.log(2))
    return miller + math.log2(max(choices, 1)) / max(records, 1)


@dataclass(frozen=True)
class Weighed(Candidate):
    """A split with its score, and what each record of it would be shown more."""

    worth: float
    more: dict[Values, float]
    newly: int

    @property
    def score(self) -> float:
        return self.worth / (self.loss + 1)


class Worth(LeavingOut, WishedTDS):
    """A descent by the score above; ``run`` gives its history, ``released`` what is published of it.

    Args:
        asked: As of ``TDS``.
        most: Records that may be left out.
        detail: Lambda; None for what the definition has.
    """

    def __init__(self, *asked: Any, most: int = 0, detail: float | None = None) -> None:
        WishedTDS.__init__(self, *asked, wishes=Wishes())
        self.most, self.exact = most, all(isinstance(rule, oracle.Crowd) for rule in self.rules)
        self.plain, self.splits = True, []
        usual = DETAIL if self.class_column is not None else 1.0
        self.detail = usual if detail is None else detail
        self.divided = self.class_column is None and not most
        self.worth = dict.fromkeys(self.table, 0.0)
        """V of each record, by its row; those that are left out keep theirs here."""
        self.newly: list[int] = []
        """By step, how many records it leaves out."""

    # -- the formulas ------------------------------------------------------------------------------

    def gain_of(self, attribute: str, split: Split) -> float:
        """g(v), in bits a record of v."""
        if self.class_column is None:
            return 0.0
        records = self.class_records[attribute]
        whole = class_distribution(split.part.values, records)
        if not whole:
            return 0.0
        children = [part for part in split.parts if class_distribution(part.values, records)]
        chance = by_chance(len(whole), len(children), whole.total(), self._choices(attribute, split))
        return max(0.0, information_gain(split, records) - chance)

    def _choices(self, attribute: str, split: Split) -> int:
        operator = self.operators[attribute]
        if isinstance(operator, oracle.Suppression):
            return len(operator.domain)
        grown = isinstance(operator, oracle.Growth)
        return len(split.part.values) - 1 if grown and None not in split.part.values else 1

    def value(self, attribute: str, split: Split, child: Part) -> float:
        """What a record is shown more when the split takes it to a child."""
        fall = float(self.penalty(attribute, split.part) - self.penalty(attribute, child))
        gain = self.gain_of(attribute, split)
        told = gain / self._class_entropy() if gain > SMALLEST else 0.0
        if told and any(part.label == split.part.label for part in split.parts):  # a disclosure
            records = self.class_records[attribute]
            whole, own = (class_distribution(p.values, records).total() for p in (split.part, child))
            told = 0.0 if child.label == split.part.label else told * whole / max(own, 1)
        return told + self.detail / len(self.masked) * fall

    def _class_entropy(self) -> float:
        place = self.columns.index(self.class_column or "")
        whole: Counter[Any] = Counter()
        for row, records in self.table.items():
            whole[row[place]] += records
        return oracle.entropy(whole)

    def gone(self, attribute: str | None = None, split: Split | None = None) -> set[Values]:
        """The rows whose records are in bad classes, as if one more split were made."""
        if not self.most:
            return set()
        cuts = {name: self.cut(name, split if name == attribute else None) for name in self.masked}
        labels = {name: {v: part.label for part in cut for v in part.values} for name, cut in cuts.items()}
        kept = self.kept(self.state(attribute, split))
        return {
            row
            for row in self.table
            if tuple(labels[c][v] if c in labels else v for c, v in zip(self.columns, row, strict=True))
            not in kept
        }

    def weighed(self, attribute: str, split: Split, loss: float) -> Weighed:
        """Count what a split is worth."""
        before, after = self.gone(), self.gone(attribute, split)
        place = self.columns.index(attribute)
        values = {part.label: self.value(attribute, split, part) for part in split.parts}
        more = {
            row: values[part.label] for part in split.parts for row in self.table if row[place] in part.values
        }
        newly = after - before
        shown = math.fsum(self.table[row] * more[row] for row in more if row not in before | after)
        lost = math.fsum(self.table[row] * self.worth[row] for row in newly)
        worth = (shown - lost) / self.table.total()
        left = sum(self.table[row] for row in newly)
        return Weighed(attribute, split, self.gain_of(attribute, split), loss, worth, more, left)

    # -- the descent -------------------------------------------------------------------------------

    def candidates(self) -> list[Weighed]:  # type: ignore[override]
        """The valid candidates that are worth something, in attribute order, then value order."""
        reached, found = self.measures(self.state()), []
        for attribute, operator in self.operators.items():
            for ways in operator.splits(self.cuts[attribute]):
                valid = []
                for split in ways:
                    after = self.measures(self.state(attribute, split))
                    if self._stays_valid(attribute, split, after):
                        loss = self.loss(attribute, reached, after) if self.divided else 0.0
                        valid.append(self.weighed(attribute, split, loss))
                if valid:
                    found.append(self._first([way.worth for way in valid], valid))
        self.ambiguous |= any(SMALLEST / 100 < abs(one.worth) < SMALLEST * 100 for one in found)
        return [one for one in found if one.worth > SMALLEST]

    def _first(self, numbers: Sequence[float], valid: Sequence[Weighed]) -> Weighed:
        if max(numbers) <= SMALLEST:
            return valid[numbers.index(max(numbers))]
        self.ambiguous |= oracle.hangs_on_last_bits(numbers)
        return valid[oracle.first_best(numbers)]

    def _perform(self, history: History, winner: Any) -> None:
        self.newly.append(winner.newly)
        super()._perform(history, winner)
        for row, more in winner.more.items():
            self.worth[row] += more


def of_k(case: Case, k: int) -> Case:
    """The case with one demand, k-anonymity on all the columns that its rules name."""
    named = dict.fromkeys(name for rule in case.rules for name in oracle.grouping(rule))
    return replace(case, rules=(oracle.Crowd(k, tuple(named)),))


def worth(case: Case, most: int = 0, detail: float | None = None) -> Worth:
    """The brute-force run over a case."""
    return Worth(*case.asked[:5], most=most, detail=detail)
