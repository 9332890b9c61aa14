"""PDA by brute force, written from the paper; it shares nothing with ``ppdm_sql``.

Every quantity is counted afresh from the whole suppressed table, one candidate at a time. Source: Wang, Fung,
Yu, "Template-based privacy preservation in classification problems", ICDM 2005, sections 3 and 4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

Cell = object
Values = tuple[Cell, ...]


class Bottom:
    """The suppressed symbol; one object, equal to nothing else."""

    def __repr__(self) -> str:
        return "BOTTOM"


BOTTOM = Bottom()


class NoSolution(Exception):
    """The most suppressed table breaks a requirement (Lemma 3.3)."""


@dataclass(frozen=True)
class Template:
    """``<channel -> value, threshold>`` for each of the values; None stands for every value of the column."""

    channel: tuple[str, ...]
    sensitive: str
    values: Values | None
    threshold: Fraction


@dataclass(frozen=True)
class Crowd:
    """k-anonymity: no existing combination of the attributes has fewer than ``k`` records."""

    k: int
    attributes: tuple[str, ...]


Rule = Template | Crowd


@dataclass(frozen=True)
class Source:
    """A table: rows with their numbers of records, and the order of values that are not in natural order."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    counts: tuple[int, ...]
    order: Mapping[str, Sequence[Cell]] = field(default_factory=dict)

    def records(self, columns: Sequence[str]) -> Counter[Values]:
        """Count the records of each combination of some columns."""
        places = [self.columns.index(name) for name in columns]
        found: Counter[Values] = Counter()
        for row, count in zip(self.rows, self.counts, strict=True):
            if count:
                found[tuple(row[place] for place in places)] += count
        return found

    def domain(self, column: str) -> list[Cell]:
        """List the values of a column in the column's order, NULL last."""
        values = [value for (value,) in self.records([column]) if value is not None]
        known = list(self.order.get(column, ()))
        ordered = sorted(values, key=known.index) if known else sorted(values)  # type: ignore[type-var]
        return ordered + ([None] if (None,) in self.records([column]) else [])


@dataclass(frozen=True)
class Candidate:
    """A suppressed value, with what its disclosure would bring."""

    attribute: str
    value: Cell
    gain: float
    loss: float

    @property
    def score(self) -> float:
        return self.gain / (self.loss + 1)


@dataclass(frozen=True)
class Step:
    """One line of the history; the last lines of a table released whole disclose several values."""

    attribute: str
    values: Values
    score: float
    gain: float
    loss: float


@dataclass
class Run:
    """The whole history: states[i] is the released table after step i, as records per combination."""

    columns: tuple[str, ...]
    masked: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    states: list[Counter[Values]] = field(default_factory=list)
    stopped: str = "complete"
    fits_already: bool = False
    ambiguous: bool = False
    disclosures: int = 0


def rules_in_force(rules: Iterable[Rule], source: Source) -> list[Rule]:
    """One template per protected value; of rules that differ in their number only, the hardest to meet."""
    kept: list[Rule] = []
    for rule in rules:
        if isinstance(rule, Crowd):
            _keep_hardest(kept, rule)
            continue
        values = source.domain(rule.sensitive) if rule.values is None else rule.values
        for value in values:
            _keep_hardest(kept, replace(rule, values=(value,)))
    return kept


def _keep_hardest(kept: list[Rule], rule: Rule) -> None:
    for place, other in enumerate(kept):
        if _scope(other) == _scope(rule):
            kept[place] = min(other, rule, key=_limit)
            return
    kept.append(rule)


def _scope(rule: Rule) -> tuple[object, ...]:
    if isinstance(rule, Template):
        return "template", frozenset(rule.channel), rule.sensitive, rule.values
    return "crowd", frozenset(rule.attributes)


def _limit(rule: Rule) -> Fraction:
    return rule.threshold if isinstance(rule, Template) else Fraction(-rule.k)


def grouping(rule: Rule) -> tuple[str, ...]:
    """The columns by which a rule groups the records."""
    return rule.channel if isinstance(rule, Template) else rule.attributes


def masked_attributes(rules: Sequence[Rule], keep: Iterable[str] = ()) -> tuple[str, ...]:
    """The union of the channels, in the order of first appearance, without those that stay in the clear."""
    named = dict.fromkeys(name for rule in rules for name in grouping(rule))
    return tuple(name for name in named if name not in set(keep))


def measure(table: Counter[Values], columns: Sequence[str], rule: Rule) -> Fraction:
    """Conf(IC -> pi) of a template with one value, or the size of the smallest class."""
    groups: Counter[Values] = Counter()
    hits: Counter[Values] = Counter()
    places = [columns.index(name) for name in grouping(rule)]
    pi = columns.index(rule.sensitive) if isinstance(rule, Template) else None
    for row, count in table.items():
        key = tuple(row[place] for place in places)
        groups[key] += count
        if pi is not None and isinstance(rule, Template) and (row[pi],) == rule.values:
            hits[key] += count
    if pi is None:
        return Fraction(min(groups.values()))
    return max(Fraction(hits[key], size) for key, size in groups.items())


def holds(table: Counter[Values], columns: Sequence[str], rule: Rule) -> bool:
    """Whether a table satisfies a rule (a template with one value, or k-anonymity)."""
    reached = measure(table, columns, rule)
    return reached <= rule.threshold if isinstance(rule, Template) else reached >= rule.k


def entropy(classes: Mapping[Cell, int]) -> float:
    """Shannon entropy of a class distribution, in bits."""
    total = sum(classes.values())
    return -math.fsum(n / total * math.log2(n / total) for n in classes.values() if n)


def information_gain(suppressed: Mapping[Values, int], value: Cell) -> float:
    """What splitting T[bottom] into T[v] and the rest tells of the class, in bits."""
    disclosed, rest, both = Counter[Cell](), Counter[Cell](), Counter[Cell]()
    for (cell, label), count in suppressed.items():
        (disclosed if cell == value else rest)[label] += count
        both[label] += count
    total = both.total()
    return entropy(both) - sum(part.total() / total * entropy(part) for part in (disclosed, rest) if part)


class PDA:
    """Algorithm 1 over one source; :meth:`run` gives its whole history."""

    def __init__(
        self, source: Source, rules: Sequence[Rule], class_column: str, keep: Sequence[str] = ()
    ) -> None:
        self.source = source
        self.class_column = class_column
        self.masked = masked_attributes(rules, keep)
        self.rules = rules_in_force(rules, source)
        sensitive = [rule.sensitive for rule in rules if isinstance(rule, Template)]
        self.columns = tuple(dict.fromkeys([*self.masked, *keep, *sensitive, class_column]))
        self.table = source.records(self.columns)
        self.domains = {name: source.domain(name) for name in self.masked}
        self.class_records = {name: source.records([name, class_column]) for name in self.masked}
        self.disclosed: dict[str, list[Cell]] = {name: [] for name in self.masked}

    def suppressed_values(self, attribute: str) -> list[Cell]:
        """Sup_j, in value order."""
        return [value for value in self.domains[attribute] if value not in self.disclosed[attribute]]

    def state(self, extra: tuple[str, Cell] | None = None) -> Counter[Values]:
        """The suppressed table, as if one more value were disclosed where ``extra`` names one."""
        shown = {name: set(values) for name, values in self.disclosed.items()}
        if extra is not None:
            shown[extra[0]].add(extra[1])
        found: Counter[Values] = Counter()
        for row, count in self.table.items():
            found[self._suppress(row, shown)] += count
        return found

    def _suppress(self, row: Values, shown: Mapping[str, set[Cell]]) -> Values:
        return tuple(
            cell if name not in shown or cell in shown[name] else BOTTOM
            for name, cell in zip(self.columns, row, strict=True)
        )

    def measures(self, extra: tuple[str, Cell] | None = None) -> list[Fraction]:
        """What each rule measures now, or after one more disclosure."""
        return self.measures_of(self.state(extra))

    def measures_of(self, table: Counter[Values]) -> list[Fraction]:
        """What each rule measures of a table of these columns."""
        return [measure(table, self.columns, rule) for rule in self.rules]

    def valid(self, measures: Sequence[Fraction]) -> bool:
        """Whether every rule holds."""
        return all(
            reached <= rule.threshold if isinstance(rule, Template) else reached >= rule.k
            for rule, reached in zip(self.rules, measures, strict=True)
        )

    def loss(self, attribute: str, now: Sequence[Fraction], then: Sequence[Fraction]) -> float:
        """PrivLoss, averaged over the affected templates, plus AnonyLoss over the affected classes.

        Classes fall by records; where any template is asked too, by their share.
        """
        mixed = any(isinstance(rule, Template) for rule in self.rules)
        templates, crowds = [], []
        for rule, before, after in zip(self.rules, now, then, strict=True):
            if attribute in grouping(rule) and isinstance(rule, Template):
                templates.append(after - before)
            elif attribute in grouping(rule):
                crowds.append((before - after) / (before if mixed else Fraction(1)))
        return float(sum(sum(part) / Fraction(len(part)) for part in (templates, crowds) if part))

    def candidates(self) -> list[Candidate]:
        """The valid and beneficial candidates, in attribute order, then value order."""
        now, found = self.measures(), []
        for attribute in self.masked:
            suppressed = self._records_at_bottom(attribute)
            if len({label for _, label in suppressed}) < 2:
                continue
            for value in self.suppressed_values(attribute):
                then = self.measures((attribute, value))
                if self.valid(then):
                    gain = information_gain(suppressed, value)
                    found.append(Candidate(attribute, value, gain, self.loss(attribute, now, then)))
        return found

    def _records_at_bottom(self, attribute: str) -> Counter[Values]:
        records = self.class_records[attribute].items()
        return Counter({key: n for key, n in records if key[0] not in self.disclosed[attribute]})

    def run(self, max_steps: int | None = None) -> Run:
        """Disclose until no valid and beneficial candidate is left.

        Raises:
            NoSolution: The most suppressed table breaks a requirement.
        """
        if not self.valid(self.measures()):
            raise NoSolution
        run = Run(self.columns, self.masked, states=[self.state()])
        run.fits_already = self.valid(self.measures_of(self.table))
        while candidates := self.candidates():
            if max_steps is not None and len(run.steps) >= max_steps:
                run.stopped = "max-steps"
                break
            self._disclose_winner(run, candidates)
        run.disclosures = len(run.steps)
        if run.fits_already and run.stopped == "complete":
            self._disclose_rest(run)
        return run

    def _disclose_winner(self, run: Run, candidates: Sequence[Candidate]) -> None:
        winner = max(candidates, key=lambda candidate: round(candidate.score, 12))
        run.ambiguous |= _ambiguous(winner, candidates)
        self.disclosed[winner.attribute].append(winner.value)
        run.steps.append(Step(winner.attribute, (winner.value,), winner.score, winner.gain, winner.loss))
        run.states.append(self.state())

    def _disclose_rest(self, run: Run) -> None:
        for attribute in self.masked:
            if rest := self.suppressed_values(attribute):
                self.disclosed[attribute].extend(rest)
                run.steps.append(Step(attribute, tuple(rest), 0.0, 0.0, 0.0))
                run.states.append(self.state())


def _ambiguous(winner: Candidate, candidates: Sequence[Candidate]) -> bool:
    """Whether a tie at the top hangs on the last bits of a score, at the edge between two roundings."""
    tied = [other for other in candidates if abs(other.score - winner.score) < 2e-12]
    return len(tied) > 1 and any(abs(other.score * 1e12 % 1 - 0.5) < 0.002 for other in tied)
