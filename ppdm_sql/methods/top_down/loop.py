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
from typing import Literal, Protocol

import numpy as np

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.cuts import Cut, Cuts
from ppdm_sql.progress import Progress

logger = logging.getLogger("ppdm_sql")
Candidate = tuple[int, int]
"""Position of the attribute, and the candidate's id within it."""
Stopped = Literal["complete", "max-steps", "interrupted"]
NOTHING = 1e-12
"""A gain below it is none."""
SHORTEST, LONGEST = 4, 16
"""How many states are measured ahead in one batch; where fewer are worth it, one attribute is."""
NARROWEST, WIDEST = 16, 32
"""How many candidates are measured beside in one batch; the more fall, the more are tried next."""
SWEPT = 8
"""How many candidates of different attributes are measured beside in one batch."""
AHEAD = 20_000
"""Groups, over all states, that looking ahead may cost; a wrong guess must stay cheap on large tables."""


Rounding = Callable[[Floats], Floats]
"""Makes scores that count as equal equal, so that ties are settled by attribute, then value."""


def twelve_decimals(scores: Floats) -> Floats:
    """Compare scores to 12 decimals."""
    return np.round(scores, 12)


def nine_digits(scores: Floats) -> Floats:
    """Take scores within a share of 1e-9 of the best for equal to it."""
    best = scores.max(initial=0.0)
    return np.asarray(np.where(scores >= best * (1 - 1e-9), best, scores))


class Gains(Protocol):
    """What candidates gain."""

    @property
    def local(self) -> bool:
        """Whether a gain depends on the cut of its own attribute only, not on the rest of the state."""

    def of(self, cuts: Cuts, candidates: Sequence[Codes]) -> Sequence[Floats]:
        """Give the gains of some candidates of each attribute."""

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Learn the parts of the finest state still reachable, to measure less data."""


class InformationGain:
    """InfoGain(v) = I(R_v) less the weighted I(R_c) of its parts, which each cut knows (slides 13, 14)."""

    local = True

    def of(self, cuts: Cuts, candidates: Sequence[Codes]) -> Sequence[Floats]:
        """Pick the gains of the candidates out of each cut's."""
        pairs = zip(cuts, candidates, strict=True)
        return [cut.gains[np.isin(cut.candidates, chosen)] for cut, chosen in pairs]

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Nothing is measured."""


class Measure(Protocol):
    """Measures states: one row of gauge numbers for each."""

    @property
    def groups(self) -> int:
        """Groups of the first state measured last: what one more state costs."""

    @property
    def sweeps(self) -> bool:
        """Whether measuring candidates of all attributes costs about as much as those of one."""

    @property
    def foresees(self) -> bool:
        """Whether states further on can be measured, not only those beside the present one."""

    def path(self, states: Sequence[Cuts]) -> Floats:
        """Measure states that follow each other."""

    def beside(self, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]) -> Floats:
        """Measure the state after each of many candidates; ``known`` are the present state's numbers."""

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Learn, for each attribute, the parts of the finest state still reachable, to measure less data."""


@dataclass(frozen=True)
class RefinementStep:
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
    steps: tuple[RefinementStep, ...] = ()
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


@dataclass(frozen=True)
class _Ranking:
    """Open candidates of a state, by attribute, with the rule by which scores are equal."""

    blocks: tuple[_Block, ...]
    rounding: Rounding

    @cached_property
    def _scores(self) -> Floats:
        """Scores of all candidates, in the order of attributes and values."""
        return self.rounding(np.concatenate([block.scores for block in self.blocks]))

    def __len__(self) -> int:
        return len(self._scores)

    def _at(self, row: int) -> tuple[_Block, int]:
        for block in self.blocks:
            if row < len(block.ids):
                return block, row
            row -= len(block.ids)
        raise IndexError(row)

    @cached_property
    def best(self) -> tuple[_Block, int]:
        """The block that holds the best candidate, and its row; the first on ties."""
        return self._at(int(self._scores.argmax()))

    @property
    def winner(self) -> Candidate:
        block, row = self.best
        return block.attribute, int(block.ids[row])

    @property
    def step(self) -> RefinementStep:
        """The winner, with its numbers."""
        block, row = self.best
        return RefinementStep(
            self.winner, *(float(column[row]) for column in (block.scores, block.gains, block.losses))
        )

    def ordered(self) -> Iterator[Candidate]:
        """Give all open candidates, best first."""
        attributes = np.concatenate([np.full(len(b.ids), b.attribute) for b in self.blocks])
        ids = np.concatenate([block.ids for block in self.blocks])
        order = np.argsort(-self._scores, kind="stable")
        return ((int(attributes[row]), int(ids[row])) for row in order)

    def replaced(self, block: _Block) -> _Ranking:
        """Give the ranking with another block for one attribute."""
        blocks = (*self.blocks[: block.attribute], block, *self.blocks[block.attribute + 1 :])
        return _Ranking(blocks, self.rounding)


class Refinement:
    """A run of the loop.

    Args:
        cuts: The most general state, one cut an attribute; order of attributes settles ties.
        sizes: Number of candidate ids of each attribute.
        gauges: The requirements, as numbers with limits.
        measure: Measures states in the database.
        gains: What candidates gain.
        rounding: When scores are equal.
    """

    def __init__(
        self,
        cuts: Cuts,
        sizes: Sequence[int],
        gauges: Constraints,
        measure: Measure,
        gains: Gains | None = None,
        rounding: Rounding = twelve_decimals,
    ) -> None:
        self._gauges = gauges
        self._measure = measure
        self._gains = gains or InformationGain()
        self._rounding = rounding
        self._alive = [np.ones(size, dtype=bool) for size in sizes]
        self._bounds = [np.empty((size, len(gauges.all))) for size in sizes]
        self._chain, self._width, self._broken = SHORTEST, NARROWEST, False
        self._length, self._used = 1, 1
        (root,) = measure.path([cuts])
        self.state = State(cuts, root)
        self._known, self._candidates = _Known(), 0
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
        self.begin()
        while self.state.stopped is None:
            step = self.best(interrupted)
            if step is None:
                return self.stop("interrupted" if self._candidates else "complete")
            if len(self.state.steps) == max_steps:
                return self.stop("max-steps")
            self.perform(step)
            self.tell(progress)
        return self.state

    def begin(self) -> None:
        """Make ready for the first step.

        Raises:
            GuaranteeNotMet: The most general state breaks a requirement.
        """
        self._gauges.require_solution(self.state.measured)
        if not self._gains.local:
            self._survey(self.state, self._known)

    def best(self, interrupted: Callable[[], bool] = lambda: False) -> RefinementStep | None:
        """Find the best valid candidate of the present state, measured in it; None if there is none.

        Args:
            interrupted: Asked before every measurement; true ends the search with None.
        """
        while True:
            ranking = self._rank(self.state.cuts, self.state.measured)
            self._candidates = len(ranking)
            if not len(ranking) or interrupted():
                return None
            if ranking.winner in self._known.measured:
                return ranking.step
            self._explore(self.state, ranking, self._known)
            self._learn(self._known)

    def perform(self, step: RefinementStep) -> None:
        """Perform the candidate that :meth:`best` has found."""
        measured = self._known.measured[step.candidate]
        self.state = State(_refined(self.state.cuts, step.candidate), measured, (*self.state.steps, step))
        self._known = self._known.behind.get(step.candidate, _Known())
        self._used += 1
        self._learn(self._known)

    def follow(self, step: RefinementStep, measured: Floats) -> None:
        """Take over a step on which others decided; what was measured before it bounds what would be now.

        Args:
            step: Its candidate is of an attribute that has none of its own here.
            measured: The numbers of the state that it led to.
        """
        self.state = replace(self.state, measured=measured, steps=(*self.state.steps, step))
        self._known = _Known()

    def stop(self, why: Stopped) -> State:
        """End the run with the state reached."""
        self.state = replace(self.state, stopped=why)
        return self.state

    def _rank(self, cuts: Cuts, measured: Floats) -> _Ranking:
        """Score the open candidates; numbers not measured in this state are bounds."""
        opened = [self._open(attribute, cut) for attribute, cut in enumerate(cuts)]
        gains = self._gains.of(cuts, [ids for ids, _ in opened])
        blocks = [self._block(a, *opened[a], gains[a], measured) for a in range(len(cuts))]
        return _Ranking(tuple(blocks), self._rounding)

    def _open(self, attribute: int, cut: Cut) -> tuple[Codes, Codes]:
        """List the candidates that may still be valid, with the records of the smallest part of each.

        A part with too few records for any class needs no measurement to be refused.
        """
        smallest = cut.smallest
        possible = self._alive[attribute][cut.candidates] & (smallest >= self._gauges.least[attribute])
        return np.asarray(cut.candidates[possible]), np.asarray(smallest[possible])

    def _block(self, attribute: int, ids: Codes, smallest: Codes, gains: Floats, measured: Floats) -> _Block:
        gains = np.where(gains < NOTHING, 0.0, gains)
        after = self._gauges.bounded(attribute, self._bounds[attribute][ids], smallest)
        losses = self._gauges.loss(attribute, measured, after)
        return _Block(attribute, ids, gains, losses, gains / (losses + 1))

    def _survey(self, state: State, known: _Known) -> None:
        """Measure every candidate: where gains cost a measurement too, only valid ones are worth it."""
        ids = [self._open(attribute, cut)[0] for attribute, cut in enumerate(state.cuts)]
        every = [(a, int(candidate)) for a, candidates in enumerate(ids) for candidate in candidates]
        if every:
            numbers = self._measure.beside(state.cuts, state.measured, every)
            known.measured.update(zip(every, numbers, strict=True))
            self._learn(known)

    def _explore(self, state: State, ranking: _Ranking, known: _Known) -> None:
        """Measure ahead along the present order, as far as looking ahead paid last time; else beside."""
        used, self._used = self._used, 0
        if used >= self._length:
            self._chain = min(2 * self._chain, LONGEST)
        elif 2 * used < self._length or not used:
            self._chain = max(self._chain // 2, 1)
        disjoint = state.cuts[ranking.winner[0]].disjoint
        near = self._broken or not self._gains.local or not self._measure.foresees
        if near or (disjoint and self._chain < SHORTEST):
            self._look_beside(state, ranking, known)
        else:
            self._look_ahead(state, ranking, known)

    def _look_beside(self, state: State, ranking: _Ranking, known: _Known) -> None:
        beside = self._next_candidates(state.cuts, ranking, known)
        numbers = self._measure.beside(state.cuts, state.measured, beside)
        known.measured.update(zip(beside, numbers, strict=True))
        self._broken, self._length = False, 1
        many_fell = 3 * np.count_nonzero(~self._gauges.valid(numbers)) > len(beside)
        self._width = min(2 * self._width, WIDEST) if many_fell else max(self._width // 2, NARROWEST)

    def _look_ahead(self, state: State, ranking: _Ranking, known: _Known) -> None:
        path = list(self._speculate(state, ranking))
        numbers = self._measure.path([cuts for _, cuts in path])
        node = known
        for (candidate, _), row in zip(path, numbers, strict=True):
            node.measured[candidate] = row
            node = node.behind.setdefault(candidate, _Known())
        held = bool(self._gauges.valid(numbers).all())
        self._broken = not held and not state.cuts[path[0][0][0]].disjoint
        self._length = len(path)

    def _speculate(self, state: State, ranking: _Ranking) -> Iterator[tuple[Candidate, Cuts]]:
        """Follow the present order as if every candidate held, for the length of the chain."""
        cuts = state.cuts
        for _ in range(max(SHORTEST, min(self._chain, AHEAD // self._measure.groups))):
            if not len(ranking):
                return
            attribute, _ = winner = ranking.winner
            cuts = _refined(cuts, winner)
            yield winner, cuts
            ids, smallest = self._open(attribute, cuts[attribute])
            (gains,) = self._gains.of((cuts[attribute],), (ids,))
            ranking = ranking.replaced(self._block(attribute, ids, smallest, gains, state.measured))

    def _next_candidates(self, cuts: Cuts, ranking: _Ranking, known: _Known) -> list[Candidate]:
        """Pick candidates of the present state that were not measured in it: those that cost one statement.

        They are all those of the best one's attribute, or the best of all attributes where that costs no
        more; where candidates share a part, the best of them.
        """
        unknown = [c for c in ranking.ordered() if c not in known.measured]
        attribute, _ = ranking.winner
        if not cuts[attribute].disjoint:
            return [c for c in unknown if not cuts[c[0]].disjoint][: self._width]
        if self._measure.sweeps:
            return [c for c in unknown if cuts[c[0]].disjoint][:SWEPT]
        return [c for c in unknown if c[0] == attribute]

    def _learn(self, known: _Known) -> None:
        """Take fresh numbers as bounds; a candidate that breaks a limit is dead for good."""
        for (attribute, candidate), row in known.measured.items():
            self._bounds[attribute][candidate] = row
            self._alive[attribute][candidate] = bool(self._gauges.valid(row))

    def tell(self, progress: Progress) -> None:
        """Say where the run stands, and let go of what no reachable state tells apart."""
        state = self.state
        pairs = zip(state.cuts, self._alive, strict=True)
        reachable = [cut.reachable(alive) for cut, alive in pairs]
        self._measure.forget(reachable)
        self._gains.forget(reachable)
        position = self._gauges.worst(state.measured)
        worst = self._gauges.describe(position, float(state.measured[position]))
        left = max(self._candidates - 1, 0)
        logger.info("round %d: %d candidates left, nearest to its limit: %s", len(state.steps), left, worst)
        progress.update(step=len(state.steps), candidates=left, worst=worst)


def _refined(cuts: Cuts, candidate: Candidate) -> Cuts:
    attribute, chosen = candidate
    return (*cuts[:attribute], cuts[attribute].refine(chosen), *cuts[attribute + 1 :])
