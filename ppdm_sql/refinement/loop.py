"""The one top-down loop: refine the most general state, best score first, while every limit holds.

PDA (Wang, Fung, Yu 2005, Algorithm 1) and TDS (Fung, Wang, Yu 2005) are this loop with other cuts.

Measuring a state is the expensive part, so the loop is lazy. A number measured for a candidate in an
earlier state can only have become worse, so it bounds the candidate's score from above; only a candidate
that tops this order needs a fresh measurement. States are measured in batches: those that a run would
pass through if the present order held (a chain), and the next candidates of the present state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Literal, Protocol

import numpy as np

from ppdm_sql.progress import Progress
from ppdm_sql.refinement.cuts import Codes, Cut, Cuts, Floats
from ppdm_sql.refinement.gauges import Gauges

logger = logging.getLogger("ppdm_sql")
Candidate = tuple[int, int]
"""Position of the attribute, and the candidate's id within it."""
Stopped = Literal["complete", "max-steps", "interrupted"]
DECIMALS = 12
"""Scores are compared rounded to this many decimals, so that ties are settled by attribute, then value."""
SHORTEST, LONGEST = 4, 16
"""How many states are measured ahead in one batch."""
NARROWEST, WIDEST = 16, 32
"""How many candidates are measured beside in one batch; the more fall, the more are tried next."""
AHEAD = 20_000
"""Groups, over all states, that looking ahead may cost; a wrong guess must stay cheap on large tables."""


class Measure(Protocol):
    """Measures states: one row of gauge numbers for each."""

    @property
    def groups(self) -> int:
        """Groups of the first state measured last: what one more state costs."""

    def path(self, states: Sequence[Cuts]) -> Floats:
        """Measure states that follow each other."""

    def beside(self, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]) -> Floats:
        """Measure the state after each of many candidates; ``known`` are the present state's numbers."""

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Learn, for each attribute, the parts of the finest state still reachable, to measure less data."""


@dataclass(frozen=True)
class Step:
    """One move of the method: which candidate was performed, and why it won."""

    candidate: Candidate
    score: float
    gain: float
    loss: float


@dataclass(frozen=True)
class State:
    """Where a run stands: the cuts, their gauge numbers, and the steps that led here."""

    cuts: Cuts
    measured: Floats
    steps: tuple[Step, ...] = ()
    stopped: Stopped | None = None


@dataclass
class _Known:
    """Fresh numbers of candidates in one state, and what is known of the states behind them."""

    measured: dict[Candidate, Floats] = field(default_factory=dict)
    behind: dict[Candidate, _Known] = field(default_factory=dict)


@dataclass(frozen=True)
class _Block:
    """Open candidates of one attribute, in value order, with their scores or bounds of them."""

    attribute: int
    ids: Codes
    gains: Floats
    losses: Floats
    scores: Floats

    @cached_property
    def rounded(self) -> Floats:
        return np.round(self.scores, DECIMALS)

    @cached_property
    def best(self) -> int:
        """Row of the best score; the first in value order on ties."""
        return int(self.rounded.argmax())


@dataclass(frozen=True)
class _Ranking:
    """Open candidates of a state, by attribute."""

    blocks: tuple[_Block, ...]

    def __len__(self) -> int:
        return sum(len(block.ids) for block in self.blocks)

    @cached_property
    def best(self) -> _Block:
        """The block that holds the best candidate; the first attribute on ties."""
        filled = [block for block in self.blocks if len(block.ids)]
        return max(filled, key=lambda block: (block.rounded[block.best], -block.attribute))

    @property
    def winner(self) -> Candidate:
        return self.best.attribute, int(self.best.ids[self.best.best])

    def ordered(self) -> Iterator[Candidate]:
        """Give all open candidates, best first."""
        attributes = np.concatenate([np.full(len(b.ids), b.attribute) for b in self.blocks])
        ids = np.concatenate([block.ids for block in self.blocks])
        order = np.argsort(-np.concatenate([block.rounded for block in self.blocks]), kind="stable")
        return ((int(attributes[row]), int(ids[row])) for row in order)

    def replaced(self, block: _Block) -> _Ranking:
        """Give the ranking with another block for one attribute."""
        return _Ranking((*self.blocks[: block.attribute], block, *self.blocks[block.attribute + 1 :]))


class Refinement:
    """A run of the loop.

    Args:
        cuts: The most general state, one cut an attribute; order of attributes settles ties.
        sizes: Number of candidate ids of each attribute.
        gauges: The requirements, as numbers with limits.
        measure: Measures states in the database.
    """

    def __init__(self, cuts: Cuts, sizes: Sequence[int], gauges: Gauges, measure: Measure) -> None:
        self._gauges = gauges
        self._measure = measure
        self._alive = [np.ones(size, dtype=bool) for size in sizes]
        self._bounds = [np.empty((size, len(gauges.gauges))) for size in sizes]
        self._chain, self._width, self._broken = SHORTEST, NARROWEST, False
        (root,) = measure.path([cuts])
        self._start = State(cuts, root)
        for bounds in self._bounds:
            bounds[:] = root

    def run(
        self,
        *,
        max_steps: int | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        progress: Progress,
    ) -> State:
        """Refine until no valid and beneficial candidate is left.

        Args:
            max_steps: Stop after this many steps, at least 0; None for no limit.
            interrupted: Asked before every step; true stops the run with the state reached.
            progress: Told after every step what is being optimised.

        Raises:
            GuaranteeNotMet: The most general state breaks a requirement.
        """
        self._gauges.require_solution(self._start.measured)
        state, known = self._start, _Known()
        while state.stopped is None:
            ranking = self._rank(state.cuts, state.measured)
            if not len(ranking):
                return replace(state, stopped="complete")
            if interrupted():
                return replace(state, stopped="interrupted")
            best = ranking.winner
            if best in known.measured:
                if len(state.steps) == max_steps:
                    return replace(state, stopped="max-steps")
                state = self._perform(state, ranking, known.measured[best])
                known = known.behind.get(best, _Known())
                self._tell(progress, state, ranking)
            else:
                self._explore(state, ranking, known)
            self._learn(known)
        return state

    def _rank(self, cuts: Cuts, measured: Floats) -> _Ranking:
        """Score the open candidates; numbers not measured in this state are bounds."""
        return _Ranking(tuple(self._block(a, cut, measured) for a, cut in enumerate(cuts)))

    def _block(self, attribute: int, cut: Cut, measured: Floats) -> _Block:
        alive = self._alive[attribute][cut.candidates]
        ids, gains = cut.candidates[alive], cut.gains[alive]
        losses = self._gauges.loss(attribute, measured, self._bounds[attribute][ids])
        return _Block(attribute, ids, gains, losses, gains / (losses + 1))

    def _perform(self, state: State, ranking: _Ranking, measured: Floats) -> State:
        block, row = ranking.best, ranking.best.best
        numbers = (float(column[row]) for column in (block.scores, block.gains, block.losses))
        step = Step(ranking.winner, *numbers)
        return State(_refined(state.cuts, ranking.winner), measured, (*state.steps, step))

    def _explore(self, state: State, ranking: _Ranking, known: _Known) -> None:
        """Measure ahead along the present order; where it broke last time, first what stands beside."""
        if self._broken:
            beside = self._next_candidates(ranking, known)
            numbers = self._measure.beside(state.cuts, state.measured, beside)
            known.measured.update(zip(beside, numbers, strict=True))
            many_fell = 3 * np.count_nonzero(~self._gauges.valid(numbers)) > len(beside)
            self._width = min(2 * self._width, WIDEST) if many_fell else max(self._width // 2, NARROWEST)
            self._broken = False
            return
        path = list(self._speculate(state, ranking))
        numbers = self._measure.path([cuts for _, cuts in path])
        node = known
        for (candidate, _), row in zip(path, numbers, strict=True):
            node.measured[candidate] = row
            node = node.behind.setdefault(candidate, _Known())
        self._broken = not bool(self._gauges.valid(numbers).all())
        self._chain = max(self._chain // 2, SHORTEST) if self._broken else min(2 * self._chain, LONGEST)

    def _speculate(self, state: State, ranking: _Ranking) -> Iterator[tuple[Candidate, Cuts]]:
        """Follow the present order as if every candidate held, for the length of the chain."""
        cuts = state.cuts
        for _ in range(max(SHORTEST, min(self._chain, AHEAD // self._measure.groups))):
            if not len(ranking):
                return
            attribute, _ = winner = ranking.winner
            cuts = _refined(cuts, winner)
            yield winner, cuts
            ranking = ranking.replaced(self._block(attribute, cuts[attribute], state.measured))

    def _next_candidates(self, ranking: _Ranking, known: _Known) -> list[Candidate]:
        """Pick the best candidates of the present state that were not measured in it."""
        return list(islice((c for c in ranking.ordered() if c not in known.measured), self._width))

    def _learn(self, known: _Known) -> None:
        """Take fresh numbers as bounds; a candidate that breaks a limit is dead for good."""
        for (attribute, candidate), row in known.measured.items():
            self._bounds[attribute][candidate] = row
            self._alive[attribute][candidate] = bool(self._gauges.valid(row))

    def _tell(self, progress: Progress, state: State, ranking: _Ranking) -> None:
        pairs = zip(state.cuts, self._alive, strict=True)
        self._measure.forget([cut.reachable(alive) for cut, alive in pairs])
        worst = self._gauges.worst(state.measured)
        progress.update(
            step=len(state.steps),
            candidates=len(ranking) - 1,
            worst=self._gauges.describe(worst, float(state.measured[worst])),
        )


def _refined(cuts: Cuts, candidate: Candidate) -> Cuts:
    attribute, chosen = candidate
    return (*cuts[:attribute], cuts[attribute].refine(chosen), *cuts[attribute + 1 :])
