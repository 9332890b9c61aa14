"""Top-down refinement that counts persons, by brute force over sets of persons, written from the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from oracle import (
    TDS,
    Candidate,
    History,
    NoSolution,
    Number,
    Rule,
    Source,
    Template,
    Values,
    grouping,
    holds,
    measure,
    secret,
)


class PersonTDS(TDS):
    """A brute-force run in which whoever has several records in a class is there once.

    A split that breaks a rule which refinement can repair is not made now, but may be later; from a state
    that breaks one itself, a split that keeps all rules is preferred, and else any may be made.
    """

    def __init__(
        self,
        source: Source,
        rules: Sequence[Rule],
        class_column: str,
        treatments: Mapping[str, Any],
        person: str,
    ) -> None:
        super().__init__(source, rules, class_column, treatments, keep=(person,))
        self.who = self.columns.index(person)
        self.kept_from = 0

    def measures(self, state: Counter[Values]) -> list[Number]:
        return [self._reached(state, rule) for rule in self.rules]

    def _reached(self, state: Counter[Values], rule: Rule) -> Number:
        """Measure the rule of the values that persons have, each once; a template, of the persons."""
        held = [] if (sensitive := secret(rule)) is None else [sensitive]
        names = (*grouping(rule), *held, self.columns[self.who])
        places = [self.columns.index(name) for name in names]
        once = Counter({tuple(row[place] for place in places): 1 for row in state})
        if not isinstance(rule, Template):
            return measure(once, names, rule)
        everybody = Counter({(*row[:-2], row[-1]): 1 for row in once})
        sizes = Counter(row[:-1] for row in everybody)
        (protected,) = rule.values or ()
        having = Counter(row[:-2] for row in once if row[-2] == protected)
        return max(Fraction(having[group], size) for group, size in sizes.items())

    def _lasting(self, measures: Sequence[Number]) -> bool:
        """Whether the rules hold that no refinement repairs."""
        pairs = zip(self.rules, measures, strict=True)
        return all(holds(rule, reached) for rule, reached in pairs if not isinstance(rule, Template))

    def candidates(self) -> list[Candidate]:
        now = self.state()
        reached = self.measures(now)
        keeping, possible = [], []
        for attribute, operator in self.operators.items():
            for ways in operator.splits(self.cuts[attribute]):
                if not self.beneficial(attribute, ways[0]):
                    continue
                lasting = [way for way in ways if self._lasting(self.measures(self.state(attribute, way)))]
                if not lasting:
                    continue
                split = operator.choose(lasting)
                then = self.state(attribute, split)
                after = self.measures(then)
                gain = self.gain(attribute, split, now, then)
                candidate = Candidate(attribute, split, gain, self.loss(attribute, reached, after))
                keeping += [candidate] * self.valid(after)
                possible.append(candidate)
        return keeping if keeping or self.valid(reached) else possible

    def _perform(self, history: History, winner: Candidate) -> None:
        super()._perform(history, winner)
        if not self.valid(self.measures(history.states[-1])):
            self.kept_from = len(history.steps) + 1

    def valid(self, measures: Sequence[Number]) -> bool:
        return all(holds(rule, reached) for rule, reached in zip(self.rules, measures, strict=True))

    def run(self, max_steps: int | None = None) -> History:
        """Refine as far as there are candidates; the last state must keep every rule."""
        if not self._lasting(self.measures(self.state())):
            raise NoSolution
        self.kept_from = 0 if self.valid(self.measures(self.state())) else 1
        roots = {name: operator.root.label for name, operator in self.operators.items()}
        history = History(self.columns, self.masked, roots, states=[self.state()])
        while candidates := self.candidates():
            self._perform(history, self.best(candidates))
        if not self.valid(self.measures(history.states[-1])):
            raise NoSolution
        history.ambiguous = self.ambiguous or any(o.ambiguous for o in self.operators.values())
        return history
