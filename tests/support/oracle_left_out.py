"""Records left out, by brute force: a run of ``oracle`` that may give up the records of bad classes.

Written from the definition: in every state the classes that break a rule go, all is counted again without
their records, until no class breaks one. What is published is labelled as if the others had never been there.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import oracle
from cases import Case
from oracle import (
    TDS,
    Boundary,
    Candidate,
    Cell,
    Closeness,
    Crowd,
    Diversity,
    Growth,
    History,
    Label,
    Number,
    Part,
    Rule,
    Source,
    Split,
    Step,
    Suppression,
    Values,
    grouping,
    holds,
)


@dataclass
class Released:
    """What a run publishes.

    Args:
        records: Records per combination of the released table.
        steps: Those that told kept records apart.
        left_out: How many records are missing.
        domains: Of each masked column, the values that are still there.
    """

    records: Counter[Values]
    steps: list[Step]
    left_out: int
    domains: dict[str, list[Cell]]


class LeavingOut(TDS):
    """A run that may leave out up to a number of records."""

    def __init__(self, *asked: Any, most: int, boundary: Boundary) -> None:
        super().__init__(*asked, boundary=boundary)
        self.most = most
        self.splits: list[tuple[str, Split]] = []
        *_, condition = asked
        self.plain = bool(condition) or any(isinstance(rule, Closeness) for rule in self.rules)
        self.exact = not most or all(
            isinstance(rule, Crowd) or (isinstance(rule, Diversity) and rule.kind == "distinct")
            for rule in self.rules
        )

    def kept(self, state: Counter[Values]) -> Counter[Values]:
        """The records that no bad class takes along; all of them count at first."""
        if not self.most:
            return state
        while bad := self._bad(state):
            state = Counter({row: n for row, n in state.items() if row not in bad})
        return state

    def _bad(self, state: Counter[Values]) -> set[Values]:
        return {row for rule in self.rules for group in self._broken(state, rule) for row in group}

    def _broken(self, state: Counter[Values], rule: Rule) -> list[list[Values]]:
        places = [self.columns.index(name) for name in grouping(rule)]
        classes: defaultdict[Values, list[Values]] = defaultdict(list)
        for row in state:
            classes[tuple(row[place] for place in places)].append(row)
        reached = self._reached(state, list(classes.values()), rule)
        self.ambiguous |= any(oracle.on_the_edge(rule, number) for number in reached)
        return [
            rows for rows, number in zip(classes.values(), reached, strict=True) if not holds(rule, number)
        ]

    def _reached(
        self, state: Counter[Values], classes: Sequence[Sequence[Values]], rule: Rule
    ) -> list[Number]:
        if isinstance(rule, Closeness):
            place = self.columns.index(rule.sensitive)
            groups: list[Counter[Cell]] = []
            for rows in classes:
                groups.append(Counter())
                for row in rows:
                    groups[-1][row[place]] += state[row]
            return list(oracle.distances(groups, ordered=rule.ordered))
        return [
            oracle.measure(Counter({row: state[row] for row in rows}), self.columns, rule) for rows in classes
        ]

    def measures(self, state: Counter[Values]) -> list[Number]:
        """What each rule measures of the kept records, then how many are in bad classes."""
        kept = self.kept(state)
        bad = self._bad(state) if not self.most else set()
        left = Fraction(state.total() - kept.total() + sum(state[row] for row in bad))
        if left > self.most or not kept:
            return [Fraction(0)] * len(self.rules) + [left]
        return [oracle.measure(kept, self.columns, rule) for rule in self.rules] + [left]

    def valid(self, measures: Sequence[Number]) -> bool:
        """Whether few enough records are in bad classes."""
        return measures[-1] <= self.most

    def gain(self, attribute: str, split: Split, now: Counter[Values], then: Counter[Values]) -> float:
        """HCE-TDR's: what is told of the class, all that is left out being one class; it may be below 0."""
        if self.method != "hce-tdr" or not self.most or self.plain:
            return super().gain(attribute, split, now, then)
        return self._unknown(now) - self._unknown(then)

    def _unknown(self, state: Counter[Values]) -> float:
        assert self.class_column is not None
        decision = self.columns.index(self.class_column)
        kept, classes = self.kept(state), defaultdict[Values, Counter[Cell]](Counter)
        for row, n in state.items():
            key = tuple(row[place] for place in self.conditions) if row in kept else ("left out", "", "")
            classes[key][row[decision]] += n
        bits = [group.total() * oracle.entropy(group) for group in classes.values()]
        return math.fsum(bits) / state.total()

    def candidates(self) -> list[Candidate]:
        """Those that cost no more than they tell."""
        found = [one for one in super().candidates() if one.gain > -oracle.SMALLEST]
        return [replace(one, gain=oracle.without_noise(one.gain)) for one in found]

    def _stays_valid(self, attribute: str, split: Split, measures: Sequence[Number]) -> bool:
        if self.exact:
            return super()._stays_valid(attribute, split, measures)
        return self.valid(measures)

    # -- what is published ------------------------------------------------------------------------

    def released(self, history: History, source: Source) -> Released:
        """The last state as if what is left out had never been in the source."""
        labels = {
            name: {v: part.label for part in cut for v in part.values} for name, cut in self.cuts.items()
        }
        rows: defaultdict[Values, Counter[Values]] = defaultdict(Counter)
        for row, n in self.table.items():
            if n:
                cells = zip(self.columns, row, strict=True)
                rows[tuple(labels[c][v] if c in labels else v for c, v in cells)][row] += n
        kept = self.kept(self.state())
        left = self.state().total() - kept.total()
        full = sum((rows[shown] for shown in kept), Counter[Values]())
        held = {name: {row[self.columns.index(name)] for row in full} for name in self.masked}
        domains = {name: [v for v in source.domain(name) if v in held[name]] for name in self.masked}
        named = {name: _Names(self.operators[name], domains[name]) for name in self.masked}
        cuts = {
            name: {v: named[name].label(part) for part in cut for v in part.values}
            for name, cut in self.cuts.items()
        }
        records: Counter[Values] = Counter()
        for row, n in full.items():
            cells = zip(self.columns, row, strict=True)
            records[tuple(cuts[c][v] if c in cuts else v for c, v in cells)] += n
        steps = []
        for step, (name, split) in zip(history.steps, self.splits, strict=True):
            told = named[name].told(split, step)
            if told is not None:
                steps.append(replace(step, parent=told[0], children=told[1]))
        return Released(records, steps, left, domains)

    def _perform(self, history: History, winner: Candidate) -> None:
        self.splits.append((winner.attribute, winner.split))
        super()._perform(history, winner)


class _Names:
    """What the parts of one attribute are called once some of its values are gone."""

    def __init__(self, operator: Any, domain: list[Cell]) -> None:
        self.operator, self.domain = operator, domain
        self.grown = (
            Growth(domain, {}, operator.range, operator.root.label) if isinstance(operator, Growth) else None
        )
        if self.grown is not None and None in operator.root.values and None not in domain:
            self.grown.root = self.grown._interval(0, len(domain))

    def label(self, part: Part) -> Label:
        if self.grown is None:
            return part.label
        held = [value for value in self.domain if value in part.values]
        if None in held:
            return self.grown.root.label if len(held) > 1 else None
        if not held:
            return "nothing"
        start = self.domain.index(held[0])
        return self.grown._interval(start, start + len(held)).label

    def told(self, split: Split, step: Step) -> tuple[Label, tuple[Label, ...]] | None:
        """Parent and children as they are published; None for a step that told no kept records apart."""
        if isinstance(self.operator, Suppression):
            children = tuple(label for label, part in _disclosed(split) if part.values & set(self.domain))
            return (step.parent, children) if children else None
        if self.grown is None:
            gone = None not in self.domain
            children = tuple(label for label in step.children if not (label is None and gone))
            return step.parent, children
        parts = [part for part in split.parts if part.values & set(self.domain)]
        if not parts or {v for v in split.part.values if v in self.domain} == {
            v for v in parts[0].values if v in self.domain
        }:
            return None
        return self.label(split.part), tuple(self.label(part) for part in parts)


def _disclosed(split: Split) -> list[tuple[Label, Part]]:
    """The disclosed value of a split: the parts that it names among its children."""
    return [(part.label, part) for part in split.parts if part.label in split.children]


def leaving_out(case: Case, most: int) -> LeavingOut:
    """The brute-force run over a case."""
    return LeavingOut(*case.asked, most=most, boundary=case.boundary)
