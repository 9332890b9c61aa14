"""The one top-down loop: refine the most general state, best score first, while every limit holds.

PDA (Wang, Fung, Yu 2005, Algorithm 1) and TDS (Fung, Wang, Yu 2005) are this loop with other cuts.

Measuring a state is the expensive part, so the loop is lazy. A number measured for a candidate in an earlier
state can only have become worse (PDA, Corollary 3.1), so it bounds the candidate's score, equation (1), from
above; only a candidate that tops this order needs a fresh measurement. States are measured in batches: those
that a run would pass through if the present order held (a chain), or those after the next candidates of the
present state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.column_wishes import ColumnWishes
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.cuts import Candidate, ClosedCut, Cut, Cuts, SuppressionCut, refined
from ppdm_sql.methods.top_down.disclosure_order import Disclosure, DisclosureOrder
from ppdm_sql.methods.top_down.measuring import GroupingMeasure
from ppdm_sql.methods.top_down.ranking import MeasuredAhead, Ranking, RefinementStep, ScoredBlock
from ppdm_sql.methods.top_down.score import LEAST_GAIN, Gains, PrivacyLoss, Rounding, score
from ppdm_sql.methods.top_down.shortlist import FIRST, MANY, MORE, Shortlist
from ppdm_sql.progress import Progress

logger = logging.getLogger("ppdm_sql")
Stopped = Literal["complete", "max-steps", "interrupted"]
SHORTEST, LONGEST = 4, 16
"""How many states a chain has; where fewer are worth it, the candidates of one attribute are measured."""
NARROWEST, WIDEST = 1024, 1 << 14
"""How many candidates of one state are measured in one batch; the more fall, the more are tried next."""
FEW = 16
"""How many at first where a candidate more costs more than a row of the answer."""
PATH, BEHIND = 1 << 16, 64
"""How many disclosures of one attribute are measured in one statement, where the last guess came true, and
how many of them count that come after one that changes a number: they were ordered as if none did."""
AHEAD = 20_000
"""Groups, over all states, that a chain may cost; a wrong guess must stay cheap on large tables."""


@dataclass(frozen=True)
class State:
    """Where a run stands: the cuts, the numbers of the constraints, and the steps that led here."""

    cuts: Cuts
    measured: Floats
    steps: list[RefinementStep] = field(default_factory=list)
    """Appended to as the run goes on, so that a step costs the same however many there were."""
    stopped: Stopped | None = None
    kept_from: int = 0
    """Steps from which on all states hold all limits; one more than there are where this one does not."""


class Refinement:
    """A run of the loop.

    Args:
        cuts: The most general state, one cut an attribute; order of attributes settles ties.
        sizes: Number of candidate ids of each attribute.
        constraints: The requirements, as numbers with limits.
        measure: Measures states in the database.
        gains: What candidates gain.
        rounding: When scores are equal.
        wishes: What is wished of single attributes.
    """

    def __init__(
        self,
        cuts: Cuts,
        sizes: Sequence[int],
        constraints: Constraints,
        measure: GroupingMeasure,
        gains: Gains,
        rounding: Rounding,
        wishes: ColumnWishes | None = None,
    ) -> None:
        self._constraints, self._measure, self._gains = constraints, measure, gains
        self._rounding, self._wishes = rounding, wishes or ColumnWishes.none(len(cuts))
        self.loss = PrivacyLoss(constraints.lost, len(cuts))
        self._alive = [np.ones(size, dtype=bool) for size in sizes]
        self._refused = [~alive for alive in self._alive]  # not valid in this state, and yet not dead
        (root,) = measure.chain([cuts])
        self.state = State(cuts, root, kept_from=self._kept_from(root, 0, 0))
        # Of what is not measured yet only this is known: no state is better than the most general one.
        self._bounds = [np.tile(root, (size, 1)) for size in sizes]
        self._measured, self._candidates, self._at_first = MeasuredAhead(), 0, 0
        # Others make new candidates as they go, so that it would say nothing of how many some are left.
        self._only_disclosures = all(isinstance(cut, (SuppressionCut, ClosedCut)) for cut in cuts)
        self._decided: list[tuple[RefinementStep, Floats]] = []
        self._behind = MeasuredAhead()  # of the state that the decided steps lead to
        self._shortlists: dict[int, Shortlist] = {}
        self._narrowest = NARROWEST if measure.measures_ahead else FEW
        self._length, self._batch, self._broke = SHORTEST, self._narrowest, False
        self._expected, self._used = 1, 1  # states that the last chain promised, and that came true

    def run(self, *, max_steps: int | None, interrupted: Callable[[], bool], progress: Progress) -> State:
        """Refine until no valid and beneficial candidate is left."""
        self.begin()
        while self.state.stopped is None:
            step = self.best(interrupted)
            room = None if max_steps is None else max_steps - len(self.state.steps)
            if step is None:
                self.stop("interrupted" if self._candidates else "complete")
            elif room == 0:
                self.stop("max-steps")
            else:
                if self._decided:
                    self._perform_decided(room)
                else:
                    self.perform(step)
                self.report(progress)
        self._constraints.require_reached(self.state.measured, len(self.state.steps))
        return self.state

    def begin(self) -> None:
        """Make ready for the first step."""
        self._constraints.require_solution(self.state.measured)
        if not self._gains.local:
            self._measure_all()

    def best(self, interrupted: Callable[[], bool]) -> RefinementStep | None:
        """Find the best valid candidate of the present state, measured in it; None if there is none."""
        if self._constraints.repairable:
            self._reopen()
        if self._constraints.repairable or not self._gains.local:
            while self._measure_all():  # a boundary that fell may have others in its place
                pass
        if self._constraints.repairable:
            self._refuse_broken()
        while True:
            if self._decided and not interrupted():
                return self._decided[0][0]
            ranking = self._rank()
            self._candidates = len(ranking)
            self._at_first = self._at_first or self._candidates
            if not len(ranking) or interrupted():
                return None
            # Bounds are too good, so all others are worse than they stand: the first is the winner as soon as
            # its own score is no bound any more.
            if ranking.winner in self._measured.numbers:
                return ranking.step
            self._explore(ranking)
            self._learn()

    def perform(self, step: RefinementStep) -> None:
        """Perform the candidate that :meth:`best` has found."""
        measured, state = self._measured.numbers[step.candidate], self.state
        state.steps.append(step)
        kept_from = self._kept_from(measured, len(state.steps), state.kept_from)
        self.state = State(refined(state.cuts, step.candidate), measured, state.steps, kept_from=kept_from)
        self._measured = self._measured.after.get(step.candidate, MeasuredAhead())
        self._constraints.forget(self._bounds, measured)
        self._reopen()
        self._used += 1
        self._learn()

    def _perform_decided(self, most: int | None) -> None:
        """Perform disclosures that are decided; all their states keep all limits."""
        decided = self._decided[:most]
        del self._decided[:most]
        steps, measured = [step for step, _ in decided], decided[-1][1]
        attribute, _ = steps[0].candidate
        cut = cast(SuppressionCut, self.state.cuts[attribute])
        after = cut.disclose([step.candidate[1] for step in steps])
        cuts = (*self.state.cuts[:attribute], after, *self.state.cuts[attribute + 1 :])
        self.state.steps.extend(steps)
        self.state = replace(self.state, cuts=cuts, measured=measured)
        self._candidates -= len(steps) - 1
        self._used += len(steps)
        if not self._decided:
            self._measured, self._behind = self._behind, MeasuredAhead()
            self._learn()

    def _kept_from(self, measured: Floats, steps: int, before: int) -> int:
        return before if self._constraints.valid(measured) else steps + 1

    def follow(self, step: RefinementStep, measured: Floats) -> None:
        """Take over a step of another party, and the numbers of its state; older ones bound what is now."""
        self.state.steps.append(step)
        self.state = replace(self.state, measured=measured)
        self._measured = MeasuredAhead()

    def stop(self, why: Stopped) -> State:
        """End the run with the state reached."""
        self.state = replace(self.state, stopped=why)
        return self.state

    def report(self, progress: Progress) -> None:
        """Say where the run stands, and let go of what no reachable state tells apart."""
        state = self.state
        # As long as states are known that were measured ahead, nothing is read that could be smaller.
        if not (self._gains.local and self._measured.numbers):
            reachable = [cut.reachable(alive) for cut, alive in zip(state.cuts, self._alive, strict=True)]
            self._measure.shrink(reachable)
            self._gains.shrink(reachable)
        position = self._constraints.worst(state.measured)
        worst = self._constraints.describe(position, float(state.measured[position]))
        left = max(self._candidates - 1, 0)
        number, of = len(state.steps), f" of {self._at_first}" if self._only_disclosures else ""
        logger.info("round %d: %d%s candidates left, nearest to its limit: %s", number, left, of, worst)
        progress.update(step=number, candidates=f"{left}{of}", worst=worst)

    # -- scores, and bounds of them ---------------------------------------------------------------

    def _rank(self) -> Ranking:
        """Score the open candidates; numbers not measured in this state are bounds."""
        cuts, before = self.state.cuts, self.state.measured
        if self._gains.local:
            ranked = [self._best_block(a, cut, before, self._shortlists) for a, cut in enumerate(cuts)]
            return Ranking(tuple(ranked), self._rounding)
        opened = [self._open(attribute, cut) for attribute, cut in enumerate(cuts)]
        gains = self._gains.of(cuts, [ids for ids, _ in opened])
        opened, gains = self._gains.beneficial(opened, gains)
        blocks = [self._block(a, *opened[a], gains[a], before) for a in range(len(cuts))]
        return Ranking(tuple(blocks), self._rounding)

    def _best_block(
        self, attribute: int, cut: Cut, before: Floats, shortlists: dict[int, Shortlist]
    ) -> ScoredBlock:
        """Score the open candidates of an attribute, or those of very many among which the best must be."""
        if attribute in shortlists and isinstance(cut, SuppressionCut) and not self._constraints.repairable:
            shortlist = shortlists[attribute]
            block = self._shortened(attribute, cut, before, shortlist)
            if block is not None:
                return block
        ids, smallest = self._open(attribute, cut)
        (gains,) = self._gains.of((cut,), (ids,))
        block = self._block(attribute, ids, smallest, gains, before)
        limited = self._wishes.most[attribute] is not None or not self._constraints.only_worse
        if isinstance(cut, SuppressionCut) and cut.drifts and len(ids) >= MANY and not limited:
            weight = self._wishes.weights[attribute]
            shortlists[attribute] = Shortlist(cut, ids, gains, block.losses, before, weight)
        else:
            shortlists.pop(attribute, None)
        return block

    def _shortened(
        self, attribute: int, cut: SuppressionCut, before: Floats, shortlist: Shortlist
    ) -> ScoredBlock | None:
        """Score as few candidates as tell the best one; None where nearly all would be needed."""
        number = FIRST
        while cut.is_beneficial and 2 * number < shortlist.open(cut) and shortlist.serves(cut, before):
            ids = shortlist.first(number, cut)
            smallest = cut.smallest_of(ids)
            possible = self._open_now(attribute)[ids] & (smallest >= self._constraints.least[attribute])
            ids, smallest = ids[possible], smallest[possible]
            block = self._block(attribute, ids, smallest, cut.gains_of(ids), before)
            if len(ids) and shortlist.decides(number, cut, float(block.scores.max())):
                return replace(block, open=shortlist.open(cut))
            number *= MORE
        return None

    def _open(self, attribute: int, cut: Cut) -> tuple[Codes, Codes]:
        """List the candidates that may be valid, with the records of the smallest part of each."""
        smallest = cut.smallest
        # No class is larger than a part of it, so a part below k needs no measurement to be refused.
        possible = self._open_now(attribute)[cut.candidates] & (
            smallest >= self._constraints.least[attribute]
        )
        room = self._wishes.have_room(attribute, cut)
        possible = possible if room is None else possible & room
        return np.asarray(cut.candidates[possible]), np.asarray(smallest[possible])

    def _block(
        self, attribute: int, ids: Codes, smallest: Codes, gains: Floats, before: Floats
    ) -> ScoredBlock:
        gains = self._wishes.weigh(attribute, np.where(gains < LEAST_GAIN, 0.0, gains))
        losses = self.loss.of(attribute, before, self._known_after(attribute, ids, smallest))
        return ScoredBlock(attribute, ids, gains, losses, score(gains, losses), len(ids))

    def _known_after(self, attribute: int, ids: Codes, smallest: Codes) -> Floats:
        # An earlier number is too good, which makes the loss too small and the score too high: a bound.
        return self._constraints.bounded(attribute, self._bounds[attribute][ids], smallest)

    def _learn(self) -> None:
        """Take fresh numbers as bounds; a candidate that breaks a limit is dead for good."""
        # Dead, as requirements are monotone: what is refined further breaks the limit too (Corollary 3.1).
        if not self._measured.numbers:
            return
        fallen = set[int]()
        valid = self._constraints.possible(np.array(list(self._measured.numbers.values())))
        for ((attribute, candidate), numbers), holds in zip(
            self._measured.numbers.items(), valid, strict=True
        ):
            self._bounds[attribute][candidate] = numbers
            if holds or not self._alive[attribute][candidate] or self._refused[attribute][candidate]:
                continue
            self._fell(attribute, [candidate])
            fallen.add(attribute)
        for attribute in fallen:
            self._shortlists.pop(attribute, None)
            self._offer_others(attribute)

    def _fell(self, attribute: int, candidates: Iterable[int]) -> None:
        """Drop candidates that break a limit: for good, or where refinement can mend them, in this state."""
        chosen = list(candidates)
        if self._constraints.monotone:
            self._alive[attribute][chosen] = False
        else:
            self._refused[attribute][chosen] = True

    def _open_now(self, attribute: int) -> NDArray[np.bool_]:
        """For each candidate id of an attribute, whether it may be performed in the present state."""
        return np.asarray(self._alive[attribute] & ~self._refused[attribute])

    def _offer_others(self, attribute: int) -> None:
        """Offer the best boundary that is valid in the place of one that fell, in each interval."""
        cuts, alive = self.state.cuts, self._open_now(attribute)
        cut = cuts[attribute]
        part = cut.contested(alive)
        if part is None:
            return
        inside = (part[1:] >= 0) & (part[1:] == part[:-1])
        boundaries = 1 + np.flatnonzero(inside & alive[1:])
        if len(boundaries):
            known = self.state.measured
            self._fell(attribute, self._measure.invalid_boundaries(cuts, known, attribute, part, boundaries))
        cuts = (*cuts[:attribute], cut.without(self._open_now(attribute)), *cuts[attribute + 1 :])
        self.state = replace(self.state, cuts=cuts)

    def _reopen(self) -> None:
        """Let go of what the last state alone refused."""
        for attribute, refused in enumerate(self._refused):
            if refused.any():
                refused[:] = False
                if not self._constraints.monotone:  # others may stand in the place of those
                    cuts = list(self.state.cuts)
                    cuts[attribute] = cuts[attribute].reopened(self._alive[attribute])
                    self.state = replace(self.state, cuts=tuple(cuts))

    def _refuse_broken(self) -> None:
        """Refuse for now what breaks a limit; where all do, and the state too, what nothing mends."""
        numbers = self._measured.numbers
        valid = {c for c, after in numbers.items() if self._constraints.valid(after)}
        if not valid and not self._constraints.valid(self.state.measured):
            valid = {c for c, after in numbers.items() if self._constraints.possible(after)}
        for refused in self._refused:
            refused[:] = True
        for attribute, candidate in valid:
            self._refused[attribute][candidate] = False

    # -- what is measured next --------------------------------------------------------------------

    def _measure_all(self) -> bool:
        """Measure every candidate: where gains cost a measurement too, only valid ones are worth it.

        Returns:
            Whether there were any to measure.
        """
        cuts = self.state.cuts
        ids = [self._open(attribute, cut)[0] for attribute, cut in enumerate(cuts)]
        every = [(a, int(candidate)) for a, candidates in enumerate(ids) for candidate in candidates]
        every = [candidate for candidate in every if candidate not in self._measured.numbers]
        if every:
            numbers = self._measure.after(cuts, self.state.measured, every)
            self._measured.numbers.update(zip(every, numbers, strict=True))
            self._learn()
        return bool(every)

    def _explore(self, ranking: Ranking) -> None:
        """Measure a chain along the present order, as far as that paid last time; else the candidates."""
        used, self._used = self._used, 0
        if used >= self._expected:
            self._length = min(2 * self._length, PATH)
        elif 2 * used < self._expected or not used:
            self._length = max(min(self._length, self._expected) // 2, 1)
        disjoint = self.state.cuts[ranking.winner[0]].disjoint
        # A chain needs gains that do not change on the way. All specializations of an attribute cost one
        # scan, so a chain must be long to be cheaper. For disclosures it is cheaper at any length, but what
        # is measured behind a candidate that falls, or that is worse than its bound, is in vain.
        near = not self._gains.local or not self._measure.measures_ahead
        if near or (self._length < SHORTEST if disjoint else self._broke or not used):
            self._measure_batch(ranking, in_vain=not used)
        elif not self._measure_path(ranking):
            self._measure_chain(ranking)

    def _measure_batch(self, ranking: Ranking, *, in_vain: bool) -> None:
        batch = self._next_candidates(ranking)
        numbers = self._measure.after(self.state.cuts, self.state.measured, batch)
        self._measured.numbers.update(zip(batch, numbers, strict=True))
        self._broke, self._expected = False, 1
        many_fell = 3 * np.count_nonzero(~self._constraints.valid(numbers)) > len(batch)
        wider = many_fell or in_vain
        self._batch = min(2 * self._batch, WIDEST) if wider else max(self._batch // 2, self._narrowest)

    def _next_candidates(self, ranking: Ranking) -> list[Candidate]:
        """Pick candidates of the present state that were not measured in it: those that cost one statement.

        They are all those of the best one's attribute; where candidates share a part, the best of them.
        """
        cuts = self.state.cuts
        unknown = (c for c in ranking.ordered() if c not in self._measured.numbers)
        attribute, _ = ranking.winner
        if not cuts[attribute].disjoint:
            return list(islice((c for c in unknown if not cuts[c[0]].disjoint), self._batch))
        return [c for c in unknown if c[0] == attribute]

    def _measure_path(self, ranking: Ranking) -> bool:
        """Measure the disclosures of one attribute that are next; whether there is a way of them that pays.

        As long as the numbers come out as foretold, they are the steps of the run, and decided together.
        """
        attribute, _ = ranking.winner
        way = list(islice(self._disclosures(ranking), self._length))
        if len(way) < min(self._short, self._length):
            return False
        cuts, codes = self.state.cuts, [disclosure.code for disclosure in way]
        numbers = self._measure.path(cuts, self.state.measured, attribute, codes)
        valid = self._constraints.valid(numbers)
        foretold = (numbers == np.array([disclosure.after for disclosure in way])).all(axis=1)
        sure = _first(~(valid & foretold))
        self._broke = not bool(valid[: sure + BEHIND].all())
        end = min(_first(~valid) + 1, sure + BEHIND, len(way))
        steps = [RefinementStep((attribute, code), *won) for code, *won, _ in way[:sure]]
        self._decided = list(zip(steps, numbers[:sure], strict=True))
        behind = self._behind if sure else self._measured
        for code, row in zip(codes[sure:end], numbers[sure:end], strict=True):
            behind.numbers[attribute, code] = row
            behind = behind.after.setdefault((attribute, code), MeasuredAhead())
        self._expected = end
        if end < len(way):
            self._length = max(end, SHORTEST)
        return True

    def _disclosures(self, ranking: Ranking) -> Iterable[Disclosure]:
        """Give the disclosures of the best candidate's attribute, in the order of what is known of them."""
        attribute, _ = ranking.winner
        cut, before = self.state.cuts[attribute], self.state.measured
        if not isinstance(cut, SuppressionCut):
            return ()
        ids, smallest = self._open(attribute, cut)
        order = DisclosureOrder(
            cut,
            ids,
            self._known_after(attribute, ids, smallest),
            before,
            losses=partial(self.loss.of, attribute),
            worse=self._constraints.worse,
            weight=self._wishes.weights[attribute],
            rounding=self._rounding,
            rivals=partial(self._rivals, attribute),
            rest=self._constraints.least_rest(attribute, before),
        )
        return islice(order, self._wishes.room(attribute, cut))

    def _rivals(self, attribute: int, before: Floats) -> tuple[float, float]:
        """Give the best score of the attributes before one and of those after it; -1 for none."""
        best = [-1.0] * len(self.state.cuts)
        for a, cut in enumerate(self.state.cuts):
            if a != attribute:
                best[a] = float(self._best_block(a, cut, before, {}).scores.max(initial=-1.0))
        return max(best[:attribute], default=-1.0), max(best[attribute + 1 :], default=-1.0)

    @property
    def _short(self) -> int:
        """How many states are worth a statement where each is grouped anew."""
        return max(SHORTEST, min(self._length, LONGEST, AHEAD // self._measure.groups))

    def _measure_chain(self, ranking: Ranking) -> None:
        chain = list(self._speculate(ranking))
        numbers = self._measure.chain([cuts for _, cuts in chain])
        measured = self._measured
        for (candidate, _), row in zip(chain, numbers, strict=True):
            measured.numbers[candidate] = row
            measured = measured.after.setdefault(candidate, MeasuredAhead())
        disclosures = not self.state.cuts[chain[0][0][0]].disjoint
        self._broke = disclosures and not bool(self._constraints.valid(numbers).all())
        self._expected = len(chain)

    def _speculate(self, ranking: Ranking) -> Iterator[tuple[Candidate, Cuts]]:
        """Follow the present order as if every candidate held, for the length of a chain."""
        cuts, before, shortlists = self.state.cuts, self.state.measured, dict[int, Shortlist]()
        for _ in range(self._short):
            if not len(ranking):
                return
            attribute, _ = winner = ranking.winner
            cuts = refined(cuts, winner)
            yield winner, cuts
            ranking = ranking.replaced(self._best_block(attribute, cuts[attribute], before, shortlists))


def _first(which: NDArray[np.bool_]) -> int:
    """Give the place of the first that is true; behind the last where none is."""
    return int(which.argmax()) if which.any() else len(which)
