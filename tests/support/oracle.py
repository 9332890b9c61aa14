"""Top-down refinement by brute force, written from the papers; it shares nothing with ``ppdm_sql``.

Every quantity is counted afresh from the whole masked table, one candidate at a time. Sources: Wang, Fung,
Yu, "Template-based privacy preservation in classification problems", ICDM 2005, sections 3 and 4; Fung,
Wang, Yu, "Top-down specialization for information and privacy preservation", ICDE 2005; Wang, Fung, Dong,
"Integrating private databases for data analysis", ISI 2005; Ye et al., "Anonymizing classification data using
rough set theory", Knowledge-Based Systems 43, 2013.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, Protocol

Cell = object
Values = tuple[Cell, ...]
Label = str | None
"""What a released cell says; None is NULL."""
Method = Literal["pda", "tds", "hce-tdr"]
Boundary = Literal["valid", "best"]
Number = Fraction | float
SMALLEST = 1e-12
"""Gains below count as 0."""
TIED = 1e-9
"""Scores this near the best, as a share of it, are tied with it."""
SLACK = 1e-9
"""By how much entropy l may miss its limit: it is a floating-point number."""


class NoSolution(Exception):
    """The most general table breaks a requirement (PDA, Lemma 3.3)."""


# -- what is asked --------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Diversity:
    """l-diversity: in every class, sensitive values counted, or exp of their entropy in nats."""

    kind: Literal["distinct", "entropy"]
    l: Fraction  # noqa: E741
    sensitive: str
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class Closeness:
    """t-closeness; ``ordered`` where the sensitive values have distances by order (numbers and dates)."""

    t: Fraction
    sensitive: str
    attributes: tuple[str, ...]
    ordered: bool


Rule = Template | Crowd | Diversity | Closeness


def grouping(rule: Rule) -> tuple[str, ...]:
    """The columns by which a rule groups the records."""
    return rule.channel if isinstance(rule, Template) else rule.attributes


def secret(rule: Rule) -> str | None:
    """The sensitive column of a rule that has one."""
    return None if isinstance(rule, Crowd) else rule.sensitive


def kind(rule: Rule) -> str:
    """Rules of one kind are averaged in the loss."""
    return rule.kind if isinstance(rule, Diversity) else type(rule).__name__


def rules_in_force(rules: Iterable[Rule], source: Source) -> list[Rule]:
    """One template per protected value; of rules that differ in their limit only, the hardest to meet."""
    kept: dict[object, Rule] = {}
    for rule in rules:
        for part in _single(rule, source):
            values = part.values if isinstance(part, Template) else None
            scope = (kind(part), frozenset(grouping(part)), secret(part), values)
            kept[scope] = min(kept.get(scope, part), part, key=_leniency)
    return list(kept.values())


def _single(rule: Rule, source: Source) -> list[Rule]:
    if not isinstance(rule, Template):
        return [rule]
    values = source.domain(rule.sensitive) if rule.values is None else rule.values
    return [replace(rule, values=(value,)) for value in values]


def _leniency(rule: Rule) -> Fraction:
    if isinstance(rule, Template):
        return rule.threshold
    if isinstance(rule, Closeness):
        return rule.t
    return Fraction(-(rule.l if isinstance(rule, Diversity) else rule.k))


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


def text(cell: Cell) -> Label:
    """A cell as the engine writes it out as VARCHAR."""
    if cell is None:
        return None
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


# -- what a table reaches -------------------------------------------------------------------------


def measure(table: Counter[Values], columns: Sequence[str], rule: Rule) -> Number:
    """The worst class of a table by a rule (a template protects one value here)."""
    places = [columns.index(name) for name in grouping(rule)]
    sensitive = secret(rule)
    held = None if sensitive is None else columns.index(sensitive)
    classes: defaultdict[Values, Counter[Cell]] = defaultdict(Counter)
    for row, records in table.items():
        classes[tuple(row[place] for place in places)][None if held is None else row[held]] += records
    groups = list(classes.values())
    if isinstance(rule, Crowd):
        return Fraction(min(group.total() for group in groups))
    if isinstance(rule, Template):
        (protected,) = rule.values or ()
        return max(Fraction(group[protected], group.total()) for group in groups)
    if isinstance(rule, Diversity):
        return min(diversity(group, rule.kind) for group in groups)
    return max(distances(groups, ordered=rule.ordered))


def diversity(group: Counter[Cell], kind: str) -> Number:
    """Number of different values, or exp of the entropy in nats."""
    if kind == "distinct":
        return Fraction(len(group))
    shares = [records / group.total() for records in group.values()]
    return math.exp(-math.fsum(share * math.log(share) for share in shares))


def distances(groups: Sequence[Counter[Cell]], *, ordered: bool) -> list[Fraction]:
    """The earth mover's distance between each class and all of them together; NULL is the last value."""
    whole = sum(groups, Counter[Cell]())
    values: list[Cell] = [value for value in whole if value is not None]
    if ordered:
        values.sort()
    values += [None] if None in whole else []
    found = []
    for group in groups:
        gaps = [Fraction(group[v], group.total()) - Fraction(whole[v], whole.total()) for v in values]
        if ordered:
            moved = sum((abs(sum(gaps[:place], Fraction(0))) for place in range(1, len(gaps))), Fraction(0))
            found.append(moved / max(len(gaps) - 1, 1))
        else:
            found.append(sum(map(abs, gaps), Fraction(0)) / 2)
    return found


def holds(rule: Rule, reached: Number) -> bool:
    """Whether a measured number meets a rule's limit."""
    if isinstance(rule, Crowd):
        return reached >= rule.k
    if isinstance(rule, Template):
        return reached <= rule.threshold
    if isinstance(rule, Closeness):
        return reached <= rule.t
    assert isinstance(rule, Diversity)
    return reached >= rule.l if rule.kind == "distinct" else reached >= float(rule.l) - SLACK


def on_the_edge(rule: Rule, reached: Number) -> bool:
    """Whether the last bits of a floating-point number decide if a limit is met."""
    if not isinstance(rule, Diversity) or rule.kind == "distinct":
        return False
    return abs(reached - (float(rule.l) - SLACK)) < 1e-11


def first_best(numbers: Sequence[float]) -> int:
    """The place of the first number that is as large as the largest, but for what floating point adds."""
    least = (1 - TIED) * max(numbers)
    return next(place for place, number in enumerate(numbers) if number >= least)


def hangs_on_last_bits(numbers: Sequence[float]) -> bool:
    """Whether which numbers are tied with the largest is a matter of rounding."""
    best = max(numbers)
    nearly = (best * (1 - 100 * TIED), best * (1 - TIED / 100))
    noise = (SMALLEST / 100, SMALLEST * 100)
    return any(nearly[0] < n < nearly[1] or noise[0] < n < noise[1] for n in numbers)


def without_noise(gain: float) -> float:
    """A gain, 0 where nothing but floating point made it."""
    return gain if gain >= SMALLEST else 0.0


# -- how an attribute is refined ------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A node of a taxonomy. A leaf stands for what reads as its label, or lies in its interval."""

    label: Label
    children: tuple[Node, ...] = ()
    interval: tuple[Cell, Cell, bool] | None = None
    """Lower bound, upper bound, and whether the upper bound lies in it."""

    def values(self, domain: Iterable[Cell]) -> frozenset[Cell]:
        """The values below the node."""
        if self.children:
            return frozenset().union(*(child.values(domain) for child in self.children))
        return frozenset(value for value in domain if self._stands_for(value))

    def _stands_for(self, value: Cell) -> bool:
        if value is None or self.label is None:
            return value is None and self.label is None
        if self.interval is None:
            return text(value) == self.label
        lower, upper, closed = self.interval
        return lower <= value < upper or (closed and value == upper)  # type: ignore[operator]

    def collapsed(self) -> Node:
        """The tree without nodes that have one child: they would be a step that tells nothing apart."""
        children = self.children
        while len(children) == 1 and children[0].children:
            (child,) = children
            children = child.children
        return replace(self, children=tuple(_without_chain(child) for child in children))


def _without_chain(node: Node) -> Node:
    """A chain of nodes that ends in a leaf is the leaf; others keep the label at the top."""
    found = node.collapsed()
    return found.children[0] if len(found.children) == 1 else found


@dataclass(frozen=True)
class Growing:
    """Intervals grown during the run, within a range if it is given (lower bound, then the first above)."""

    range: tuple[str, str] | None = None


Treatment = Node | Growing | None
"""A taxonomy, intervals grown during the run, or (None) suppression."""


@dataclass(frozen=True)
class Part:
    """Values that a cut does not tell apart, and what they are released as."""

    label: Label
    values: frozenset[Cell]


@dataclass(frozen=True)
class Split:
    """One way to refine: a part, the parts that it becomes, and the children that the history names."""

    part: Part
    parts: tuple[Part, ...]
    children: tuple[Label, ...]


class Operator(Protocol):
    """How one attribute is refined."""

    root: Part

    ambiguous: bool
    """Whether the choice among splits hung on the last bits of a number."""

    def splits(self, cut: Sequence[Part]) -> list[list[Split]]:
        """What may be done next, in value order: for each refinement the ways to do it."""

    def choose(self, ways: Sequence[Split]) -> Split:
        """The way to do a refinement, of those given."""


class OneWay:
    """An operator whose refinements can be done in one way each."""

    ambiguous = False

    def choose(self, ways: Sequence[Split]) -> Split:
        (way,) = ways
        return way


class Suppression(OneWay):
    """One value after the other leaves the suppressed symbol."""

    def __init__(self, domain: Sequence[Cell], symbol: str) -> None:
        self.domain, self.symbol = domain, symbol
        self.root = Part(symbol, frozenset(domain))

    def splits(self, cut: Sequence[Part]) -> list[list[Split]]:
        return [
            [self._disclosure(part, value)]
            for part in cut
            if part.label == self.symbol
            for value in self.domain
            if value in part.values
        ]

    def _disclosure(self, part: Part, value: Cell) -> Split:
        shown = Part(text(value), frozenset({value}))
        rest = Part(self.symbol, part.values - {value})
        return Split(part, (shown, rest) if rest.values else (shown,), (shown.label,))


class Specialization(OneWay):
    """A node becomes all of its children; NULL is one more child of the root, the last."""

    def __init__(self, tree: Node, domain: Sequence[Cell]) -> None:
        tree = tree.collapsed()
        if None in domain:
            tree = replace(tree, children=(*tree.children, Node(None)))
        self.domain = domain
        self.nodes = {node.label: node for node in _all_nodes(tree)}
        self.root = self._part(tree)
        assert self.root.values == frozenset(domain), "the taxonomy lacks a value"

    def _part(self, node: Node) -> Part:
        return Part(node.label, node.values(self.domain))

    def splits(self, cut: Sequence[Part]) -> list[list[Split]]:
        found = []
        for part in sorted((p for p in cut if p.label is not None), key=lambda p: p.label or ""):
            if children := self.nodes[part.label].children:
                parts = tuple(map(self._part, children))
                found.append([Split(part, parts, tuple(child.label for child in children))])
        return found


def _all_nodes(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in _all_nodes(child))]


class Growth:
    """An interval is cut in two, in any of the places given where that tells most about the class.

    NULL leaves the root first.
    """

    def __init__(
        self,
        domain: Sequence[Cell],
        class_records: Mapping[Values, int],
        range: tuple[str, str] | None,
        symbol: str,
    ) -> None:
        self.values = [value for value in domain if value is not None]
        self.class_records, self.range = class_records, range
        self.ambiguous = False
        whole = Part(symbol, frozenset(domain))
        self.root = whole if None in domain else self._interval(0, len(self.values))

    def _interval(self, start: int, stop: int) -> Part:
        lower, upper = text(self.values[start]), text(self.values[min(stop, len(self.values) - 1)])
        ends_open = stop < len(self.values)
        if self.range is not None:
            lower = self.range[0] if start == 0 else lower
            upper = upper if ends_open else self.range[1]
            ends_open = True
        closing = ")" if ends_open else "]"
        return Part(f"[{lower}, {upper}{closing}", frozenset(self.values[start:stop]))

    def splits(self, cut: Sequence[Part]) -> list[list[Split]]:
        found = []
        for part in cut:
            if None in part.values and len(part.values) > 1:
                parts = (self._interval(0, len(self.values)), Part(None, frozenset({None})))
                found.append([self._split(part, parts)])
            elif len(part.values) > 1:
                found.append(self._everywhere(part))
        return sorted(found, key=lambda ways: self._lower(ways[0].part))

    def _lower(self, part: Part) -> int:
        return min(self.values.index(value) for value in part.values if value is not None)

    def _everywhere(self, part: Part) -> list[Split]:
        """Cut an interval before each of its values but the first."""
        start, size = self._lower(part), len(part.values)
        splits = []
        for boundary in range(start + 1, start + size):
            parts = (self._interval(start, boundary), self._interval(boundary, start + size))
            splits.append(self._split(part, parts))
        return splits

    def choose(self, ways: Sequence[Split]) -> Split:
        raw = [self.gain(split) for split in ways]
        self.ambiguous |= hangs_on_last_bits(raw)
        return ways[first_best([without_noise(gain) for gain in raw])]

    def gain(self, split: Split) -> float:
        """What a split tells about the class."""
        return information_gain(split, self.class_records)

    def _split(self, part: Part, parts: tuple[Part, ...]) -> Split:
        return Split(part, parts, tuple(p.label for p in parts))


def entropy(classes: Mapping[Cell, int]) -> float:
    """Shannon entropy of a class distribution, in bits."""
    total = sum(classes.values())
    return -math.fsum(n / total * math.log2(n / total) for n in classes.values() if n)


def class_distribution(values: frozenset[Cell], class_records: Mapping[Values, int]) -> Counter[Cell]:
    """Records of each class among those with one of the values."""
    found: Counter[Cell] = Counter()
    for (value, label), records in class_records.items():
        if value in values:
            found[label] += records
    return found


def information_gain(split: Split, class_records: Mapping[Values, int]) -> float:
    """I(R_v) less the weighted I(R_c) of the parts, in bits per record of R_v."""
    whole = class_distribution(split.part.values, class_records)
    parts = [class_distribution(part.values, class_records) for part in split.parts]
    left = math.fsum(part.total() * entropy(part) for part in parts if part.total())
    return entropy(whole) - left / whole.total()


def conditional_entropy(table: Counter[Values], conditions: Sequence[int], decision: int) -> float:
    """H(D | conditions) of a table, in bits per record."""
    classes: defaultdict[Values, Counter[Cell]] = defaultdict(Counter)
    for row, records in table.items():
        classes[tuple(row[place] for place in conditions)][row[decision]] += records
    bits = math.fsum(group.total() * entropy(group) for group in classes.values())
    return bits / table.total()


# -- the run --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A valid and beneficial split, with what it would bring."""

    attribute: str
    split: Split
    gain: float
    loss: float

    @property
    def score(self) -> float:
        return self.gain / (self.loss + 1)


@dataclass(frozen=True)
class Step:
    """One line of the history."""

    attribute: str
    parent: Label
    children: tuple[Label, ...]
    score: float
    gain: float
    loss: float


@dataclass
class History:
    """The whole history: states[i] is the released table after step i, as records per combination."""

    columns: tuple[str, ...]
    masked: tuple[str, ...]
    roots: dict[str, Label]
    steps: list[Step] = field(default_factory=list)
    states: list[Counter[Values]] = field(default_factory=list)
    cut: dict[str, dict[Cell, Label]] = field(default_factory=dict)
    stopped: str = "complete"
    ambiguous: bool = False

    def labels(self, attribute: str) -> set[Label]:
        """Labels of the nodes that the steps lead to, also of those that no record has."""
        shown = {self.roots[attribute]}
        for step in self.steps:
            if step.attribute == attribute:
                shown = shown - {step.parent} | set(step.children)
        return shown | set(self.cut[attribute].values())


class TDS:
    """Top-down specialization of one source; :meth:`run` gives its whole history.

    Args:
        source: The table.
        rules: What is asked; their grouping attributes are refined in the order of first appearance.
        class_column: The class.
        treatments: How each of those attributes is refined; by suppression if it is not named.
        keep: Columns that stay in the clear; those of a rule still group.
        method: Whose gain counts.
        condition: For HCE-TDR, the other condition attributes, at full detail.
        symbol: The suppressed symbol.
        boundary: Whether an interval is cut in the best of the places that keep the rules, or in the best
            place or not at all.
    """

    def __init__(
        self,
        source: Source,
        rules: Sequence[Rule],
        class_column: str | None,
        treatments: Mapping[str, Treatment],
        keep: Sequence[str] = (),
        method: Method = "tds",
        condition: Sequence[str] = (),
        symbol: str = "*",
        boundary: Boundary = "valid",
    ) -> None:
        named = tuple(dict.fromkeys(name for rule in rules for name in grouping(rule)))
        self.source, self.rules = source, rules_in_force(rules, source)
        self.class_column, self.method, self.boundary = class_column, method, boundary
        self.masked = tuple(name for name in named if name not in set(keep))
        secrets = [name for rule in rules if (name := secret(rule)) is not None]
        label = [] if class_column is None else [class_column]
        released = dict.fromkeys([*self.masked, *keep, *secrets, *condition, *label])
        self.columns = tuple(released)
        self.table = source.records(self.columns)
        self.conditions = [self.columns.index(name) for name in dict.fromkeys([*named, *condition])]
        self.class_records = {name: source.records([name, *label]) for name in self.masked}
        self.operators: dict[str, Operator] = {
            name: self._operator(source.domain(name), treatments.get(name), symbol, self.class_records[name])
            for name in self.masked
        }
        self.cuts = {name: [operator.root] for name, operator in self.operators.items()}
        self.dead: set[tuple[str, Label, tuple[Label, ...]]] = set()
        self.ambiguous = False

    @staticmethod
    def _operator(
        domain: Sequence[Cell], treatment: Treatment, symbol: str, class_records: Mapping[Values, int]
    ) -> Operator:
        if isinstance(treatment, Node):
            return Specialization(treatment, domain)
        if isinstance(treatment, Growing):
            return Growth(domain, class_records, treatment.range, symbol)
        return Suppression(domain, symbol)

    def cut(self, attribute: str, split: Split | None = None) -> list[Part]:
        """The parts of an attribute, as if one of them were split where ``split`` names one."""
        parts = self.cuts[attribute]
        if split is None:
            return parts
        return [part for part in parts if part != split.part] + list(split.parts)

    def state(self, attribute: str | None = None, split: Split | None = None) -> Counter[Values]:
        """The generalized table, as if one more split were made."""
        cuts = {name: self.cut(name, split if name == attribute else None) for name in self.masked}
        labels = {name: {v: part.label for part in cut for v in part.values} for name, cut in cuts.items()}
        found: Counter[Values] = Counter()
        for row, records in self.table.items():
            cells = zip(self.columns, row, strict=True)
            found[tuple(labels[name][cell] if name in labels else cell for name, cell in cells)] += records
        return found

    def measures(self, state: Counter[Values]) -> list[Number]:
        """What each rule measures in a state."""
        return [measure(state, self.columns, rule) for rule in self.rules]

    def valid(self, measures: Sequence[Number]) -> bool:
        """Whether every rule holds."""
        pairs = list(zip(self.rules, measures, strict=True))
        self.ambiguous |= any(on_the_edge(rule, reached) for rule, reached in pairs)
        return all(holds(rule, reached) for rule, reached in pairs)

    def loss(self, attribute: str, now: Sequence[Number], then: Sequence[Number]) -> float:
        """The mean fall over the affected rules of each kind, added up; what moves from its limit is none.

        Classes fall by records; where anything else is asked too, by their share.
        """
        in_records = all(isinstance(rule, Crowd) for rule in self.rules)
        worse: defaultdict[str, list[Number]] = defaultdict(list)
        for rule, before, after in zip(self.rules, now, then, strict=False):
            if attribute not in grouping(rule):
                continue
            rises = isinstance(rule, (Template, Closeness))
            fall = after - before if rises else (before - after) / (1 if in_records else before)
            worse[kind(rule)].append(max(fall, Fraction(0)))
        return float(sum(sum(falls) / len(falls) for falls in worse.values()))

    def beneficial(self, attribute: str, split: Split) -> bool:
        """Whether the records that the split concerns are of more than one class."""
        return len(class_distribution(split.part.values, self.class_records[attribute])) > 1

    def gain(self, attribute: str, split: Split, now: Counter[Values], then: Counter[Values]) -> float:
        """What a split tells about the class, in bits: per record of R_v, or (HCE-TDR) of the table."""
        if self.method != "hce-tdr":
            return without_noise(information_gain(split, self.class_records[attribute]))
        assert self.class_column is not None
        decision = self.columns.index(self.class_column)
        unknown = [conditional_entropy(table, self.conditions, decision) for table in (now, then)]
        return without_noise(unknown[0] - unknown[1])

    def candidates(self) -> list[Candidate]:
        """The valid and beneficial candidates, in attribute order, then value order."""
        now = self.state()
        reached, found = self.measures(now), []
        for attribute, operator in self.operators.items():
            for ways in operator.splits(self.cuts[attribute]):
                if not self.beneficial(attribute, ways[0]):
                    continue
                tried = [operator.choose(ways)] if self.boundary == "best" else ways
                states = [self.state(attribute, split) for split in tried]
                numbers = [self.measures(state) for state in states]
                kept = [
                    (split, state, after)
                    for split, state, after in zip(tried, states, numbers, strict=True)
                    if self._stays_valid(attribute, split, after)
                ]
                if not kept:
                    continue
                chosen = operator.choose([split for split, *_ in kept])
                ((then, after),) = ((state, after) for split, state, after in kept if split is chosen)
                gain = self.gain(attribute, chosen, now, then)
                found.append(Candidate(attribute, chosen, gain, self.loss(attribute, reached, after)))
        return found

    def _stays_valid(self, attribute: str, split: Split, measures: Sequence[Number]) -> bool:
        """Whether a split keeps every rule; what broke one once breaks it ever after."""
        valid = self.valid(measures)
        known = (attribute, split.part.label, split.children)
        assert not (valid and known in self.dead), "a split that broke a rule keeps it later on"
        if not valid:
            self.dead.add(known)
        return valid

    def run(self, max_steps: int | None = None) -> History:
        """Refine until no valid and beneficial candidate is left.

        Raises:
            NoSolution: The most general table breaks a rule.
        """
        if not self.valid(self.measures(self.state())):
            raise NoSolution
        roots = {name: operator.root.label for name, operator in self.operators.items()}
        history = History(self.columns, self.masked, roots, states=[self.state()])
        while candidates := self.candidates():
            if max_steps is not None and len(history.steps) >= max_steps:
                history.stopped = "max-steps"
                break
            self._perform(history, self.best(candidates))
        self._finish(history)
        history.ambiguous = self.ambiguous or any(o.ambiguous for o in self.operators.values())
        history.cut = {
            name: {value: part.label for part in cut for value in part.values}
            for name, cut in self.cuts.items()
        }
        return history

    def _finish(self, history: History) -> None:
        """What is done once no candidate is left."""

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The first candidate whose score counts as equal to the largest."""
        scores = [candidate.score for candidate in candidates]
        self.ambiguous |= hangs_on_last_bits(scores)
        return candidates[first_best(scores)]

    def _perform(self, history: History, winner: Candidate) -> None:
        self.cuts[winner.attribute] = self.cut(winner.attribute, winner.split)
        parent, children = winner.split.part.label, winner.split.children
        numbers = (winner.score, winner.gain, winner.loss)
        history.steps.append(Step(winner.attribute, parent, children, *numbers))
        history.states.append(self.state())

    def resume(self, cut: Mapping[str, Mapping[Cell, Label]]) -> None:
        """Take another's cut, of every attribute what each value is released as, for the present one."""
        for name, released in cut.items():
            parts: defaultdict[Label, set[Cell]] = defaultdict(set)
            for value, label in released.items():
                parts[label].add(value)
            self.cuts[name] = [Part(label, frozenset(values)) for label, values in parts.items()]


class PDA(TDS):
    """Suppression by Algorithm 1: a table that keeps every rule as it is ends with nothing suppressed."""

    def __init__(
        self, source: Source, rules: Sequence[Rule], class_column: str, keep: Sequence[str] = ()
    ) -> None:
        super().__init__(source, rules, class_column, {}, keep)
        self.fits_already = self.valid(self.measures(self.table))

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The first of those whose scores are the largest to twelve decimals."""
        winner = max(candidates, key=lambda candidate: round(candidate.score, 12))
        tied = [other.score for other in candidates if abs(other.score - winner.score) < 2e-12]
        self.ambiguous |= len(tied) > 1 and any(abs(score * 1e12 % 1 - 0.5) < 0.002 for score in tied)
        return winner

    def _finish(self, history: History) -> None:
        if not self.fits_already or history.stopped != "complete":
            return
        for name in self.masked:
            for part in [part for part in self.cuts[name] if part.label == "*"]:
                domain = self.source.domain(name)
                rest = [Part(text(value), frozenset({value})) for value in domain if value in part.values]
                self.cuts[name] = [*(other for other in self.cuts[name] if other != part), *rest]
                shown = tuple(other.label for other in rest)
                history.steps.append(Step(name, "*", shown, 0.0, 0.0, 0.0))
                history.states.append(self.state())
