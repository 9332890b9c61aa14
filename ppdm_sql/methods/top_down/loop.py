"""The one top-down loop: refine the most general state, best score first, while every limit holds.

PDA (Wang, Fung, Yu 2005, Algorithm 1) and TDS (Fung, Wang, Yu 2005) are this loop with other cuts.

Measuring a state is the expensive part, so the loop is lazy. A number measured for a candidate in an earlier
state can only have become worse (PDA, Corollary 3.1), so it bounds the candidate's score, equation (1), from
above; only a candidate that tops this order is measured in the present state. An interval is another matter:
where its best boundary falls, one takes its place that may lose nothing, so only its gain bounds its score in
a later state. Disclosures of one attribute are decided many at a time: along the
path that the present order foretells, as far as the numbers come out as foretold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.constraints import AllowedConstraints, Constraints
from ppdm_sql.methods.top_down.cuts import (
    Candidate,
    ClosedCut,
    Cut,
    Cuts,
    ShownDetail,
    SuppressionCut,
    with_cut,
)
from ppdm_sql.methods.top_down.interval_cuts import NO_SPLIT, IntervalCut, first_best
from ppdm_sql.methods.top_down.measuring import ConditionalEntropy, Measure
from ppdm_sql.methods.top_down.request import ColumnWishes
from ppdm_sql.methods.top_down.score import LEAST_GAIN, LITERAL, PrivacyLoss, Rounding, Worth, nine_digits
from ppdm_sql.progress import Progress

if TYPE_CHECKING:
    from ppdm_sql.methods.top_down.left_out_measure import AllowedMeasure

logger = logging.getLogger("ppdm_sql")
StopReason = Literal["complete", "max-steps", "interrupted"]
SHORTEST, LONGEST = 16, 1 << 16
"""Disclosures on the first path, and on the longest; a path is twice as long as the last if all came true."""
WEIGHED = 64
"""Disclosures on a path where records left out are weighed."""
TIED, SAME = 2e-9, 1e-11
"""Shares by which a score may differ from another and still count as equal to it, or be it."""


@dataclass(frozen=True)
class RefinementStep:
    """One move of the method: which candidate was performed, and why it won."""

    candidate: Candidate
    score: float
    gain: float
    loss: float


@dataclass(frozen=True)
class State:
    """Where a run stands: the cuts, the numbers of the constraints, and the steps that led here."""

    cuts: Cuts
    numbers: Floats
    steps: list[RefinementStep] = field(default_factory=list)
    """Appended to as the run goes on, so that a step costs the same however many there were."""
    stopped: StopReason | None = None
    kept_from: int = 0
    """Steps from which on all states hold all limits; one more than there are where this one does not."""


class ScoredCandidates(NamedTuple):
    """Open candidates, by attribute and then in value order, with their scores or bounds of them."""

    attributes: Codes
    ids: Codes
    gains: Floats
    losses: Floats
    scores: Floats


class Refinement:
    """A run of the loop from the most general state; the order of attributes settles ties.

    ``sizes`` are the numbers of candidate ids; ``gains`` are given where they are measured, too, else each
    cut knows its own; scores are less where more privacy is lost if it ``loses``; ``detail``, what labels
    have shown, is given where records that are left out are weighed.
    """

    def __init__(
        self,
        cuts: Cuts,
        sizes: Sequence[int],
        constraints: Constraints,
        measure: Measure,
        gains: ConditionalEntropy | None,
        wishes: ColumnWishes | None = None,
        *,
        rounding: Rounding = nine_digits,
        worth: Worth = LITERAL,
        loses: bool = True,
        detail: ShownDetail | None = None,
    ) -> None:
        self._constraints, self._measure, self._gains = constraints, measure, gains
        self._rounding, self._wishes = rounding, wishes or ColumnWishes.none(len(cuts))
        self.loss = PrivacyLoss(constraints.all, len(cuts), counts=loses)
        self._literal, self._loses = worth.literal, loses
        self._alive = [np.ones(size, dtype=bool) for size in sizes]
        self._refused = [~alive for alive in self._alive]  # not valid in this state, and yet not dead
        self._detail = detail
        if detail is not None:
            cast("AllowedMeasure", measure).show(detail.by_code, detail.more)
        self._weighs_boundaries = detail is not None and gains is None and measure.weighs_boundaries
        self._bounds = [np.full(size, np.inf) for size in sizes]  # bounds of scores, less what is hidden
        self._free = [~alive for alive in self._alive]  # left nothing more out, so these scores never rise
        self._hidden_detail = 0.0  # what records that are left out would show, as a mean over all
        root = measure.state(cuts)
        self.state = State(cuts, root, kept_from=self._kept_from(root, 0, 0))
        # Of what is not measured yet only this is known: no state is better than the most general one.
        self._numbers = [np.tile(root, (size, 1)) for size in sizes]
        self._fresh = [np.zeros(size, dtype=bool) for size in sizes]  # measured in this state
        self._decisions: list[tuple[RefinementStep, Floats]] = []
        self._beyond: list[tuple[Candidate, Floats]] = []  # measured in the state that these steps lead to
        self._candidates, self._at_first, self._length, self._broke = 0, 0, SHORTEST, False
        # Others make new candidates as they go, so that it would say nothing of how many some are left.
        self._only_disclosures = all(isinstance(cut, (SuppressionCut, ClosedCut)) for cut in cuts)

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
                if self._decisions:
                    self._perform_decided(room)
                else:
                    self.perform(step)
                self.report(progress)
        self._constraints.require_reached(self.state.numbers, len(self.state.steps))
        return self.state

    def begin(self) -> None:
        self._constraints.require_solution(self.state.numbers)

    def best(self, interrupted: Callable[[], bool]) -> RefinementStep | None:
        """Find the best valid candidate of the present state, measured in it; None if there is none."""
        if self._constraints.repairable:
            self._reopen()
        eager = self._constraints.repairable or self._gains is not None
        if eager or (self._detail is not None and not self._constraints.monotone):
            while self._measure_all():  # a boundary that fell may have others in its place
                pass
        if self._constraints.repairable:
            self._refuse_broken()
        while True:
            attributes, ids, gains, losses, scores = self._score_all()
            self._candidates = len(ids)
            self._at_first = self._at_first or self._candidates
            if not len(ids) or interrupted():
                return None
            # Bounds are too good, so all others are worse than they stand: the first is the winner as soon as
            # its own score is not a bound any more.
            order = self._rounding(scores)
            best = int(order.argmax())
            attribute, candidate = int(attributes[best]), int(ids[best])
            if self._fresh[attribute][candidate]:
                worth = float(scores[best]), float(gains[best]), float(losses[best])
                return RefinementStep((attribute, candidate), *worth)
            places = np.argsort(-order, kind="stable")
            self._ask(zip(attributes[places].tolist(), ids[places].tolist(), strict=True), attribute)
            if self._decisions:
                return self._decisions[0][0]

    def perform(self, step: RefinementStep) -> None:
        attribute, candidate = step.candidate
        self._broke &= self.state.cuts[attribute].disjoint
        self._perform([step], self._numbers[attribute][candidate].copy())
        self._reopen()

    def _perform(self, steps: list[RefinementStep], numbers: Floats) -> None:
        """Perform steps of one attribute, of which the last leads to a state of these numbers."""
        state, attribute = self.state, steps[0].candidate[0]
        cut, candidates = state.cuts[attribute], [step.candidate[1] for step in steps]
        after = cut.disclose(candidates) if isinstance(cut, SuppressionCut) else cut.refine(candidates[0])
        cuts = with_cut(state.cuts, attribute, after)
        if self._detail is not None:
            gains = np.array([step.gain for step in steps]) / self._wishes.weights[attribute]
            self._show(attribute, after, candidates, gains)
        if self._detail is not None or not self._measure.exact:
            numbers = self._measure_state(cuts)
        if self._detail is not None and len(steps) == 1:
            loss = float(self.loss.of(attribute, state.numbers, numbers[None])[0])
            steps = [replace(steps[0], loss=loss)]
        state.steps.extend(steps)
        kept_from = self._kept_from(numbers, len(state.steps), state.kept_from)
        self.state = State(cuts, numbers, state.steps, kept_from=kept_from)
        self._carry(attribute)

    def _measure_state(self, cuts: Cuts) -> Floats:
        """Measure the state after a step; where more is hidden then, nothing foretells the next steps."""
        numbers = self._measure.state(cuts)
        if self._detail is not None:
            before, self._hidden_detail = self._hidden_detail, self._detail.total - float(numbers[-1])
            self._broke |= self._hidden_detail > before
        return numbers

    def _show(self, attribute: int, after: Cut, candidates: Sequence[int], gains: Floats) -> None:
        """Let the labels of the parts that candidates of one attribute make show more."""
        cut, measure = self.state.cuts[attribute], cast("AllowedMeasure", self._measure)
        assert self._detail is not None
        self._detail.perform(attribute, cut, candidates, gains)
        measure.show(self._detail.by_code, self._detail.more)
        if isinstance(cut, IntervalCut):
            (candidate,) = candidates
            self._bounds[attribute][np.concatenate(cut.split(candidate))] = np.inf
        elif not cut.disjoint:  # what others gain changes with what is left
            ids = after.candidates
            more = self._wishes.weigh(attribute, after.gains - cut.gains[_places(cut, ids)])
            self._bounds[attribute][ids] += np.maximum(more, 0.0)

    def _perform_decided(self, most: int | None) -> None:
        """Perform disclosures that are decided; all their states keep all limits."""
        steps = self._decisions[:most]
        del self._decisions[:most]
        self._perform([step for step, _ in steps], steps[-1][1])
        self._candidates -= len(steps) - 1
        if self._beyond and not self._decisions:
            candidates, numbers = zip(*self._beyond, strict=True)
            self._learn(candidates, np.array(numbers))

    def _kept_from(self, numbers: Floats, steps: int, before: int) -> int:
        return before if self._constraints.valid(numbers) else steps + 1

    def follow(self, step: RefinementStep, numbers: Floats) -> None:
        """Take over a step of another party, and the numbers of its state."""
        self.state.steps.append(step)
        self.state = replace(self.state, numbers=numbers)
        self._carry(step.candidate[0])

    def stop(self, why: StopReason) -> State:
        self.state = replace(self.state, stopped=why)
        return self.state

    def report(self, progress: Progress) -> None:
        """Say where the run stands."""
        state = self.state
        position = self._constraints.worst(state.numbers)
        worst = self._constraints.describe(position, float(state.numbers[position]))
        remaining = max(self._candidates - 1, 0)
        number, of = len(state.steps), f" of {self._at_first}" if self._only_disclosures else ""
        logger.info("round %d: %d%s candidates left, nearest to its limit: %s", number, remaining, of, worst)
        progress.update(step=number, candidates=f"{remaining}{of}", worst=worst)

    # -- scores, and bounds of them ---------------------------------------------------------------

    def _score_all(self) -> ScoredCandidates:
        """Score the open candidates; numbers not measured in this state are bounds."""
        cuts, before = self.state.cuts, self.state.numbers
        if self._gains is not None:  # in one statement
            candidates = [(a, c) for a, cut in enumerate(cuts) for c in self._open(a, cut)[0].tolist()]
            self._gains.of(cuts, candidates)
        each = (self._score_attribute(a, cut, before) for a, cut in enumerate(cuts))
        return ScoredCandidates(*map(np.concatenate, zip(*each, strict=True)))

    def _score_attribute(self, attribute: int, cut: Cut, before: Floats) -> ScoredCandidates:
        ids, smallest, gains = self._open(attribute, cut)
        if self._gains is not None:
            gains = self._own_gains(attribute, ids)
            pays = gains > self._gains.least
            ids, smallest, gains = ids[pays], smallest[pays], gains[pays]
        gains = self._weigh(attribute, gains)
        if self._detail is not None:
            scores = self._scores_at_most(attribute, ids, gains)
            pays = scores >= LEAST_GAIN
            ids, gains, scores, losses = ids[pays], gains[pays], scores[pays], np.zeros(pays.sum())
        else:
            losses = self.loss.of(attribute, before, self._numbers_after(attribute, ids, smallest, before))
            scores = self.loss.score(gains, losses)
        return ScoredCandidates(np.full(len(ids), attribute), ids, gains, losses, scores)

    def _open(self, attribute: int, cut: Cut) -> tuple[Codes, Codes, Floats]:
        """List the candidates that may be valid and gain something, as :meth:`_possible` gives them."""
        ids, smallest, gains = self._possible(attribute, cut)
        if self._loses or self._gains is not None:
            return ids, smallest, gains
        pays = gains >= LEAST_GAIN
        return ids[pays], smallest[pays], gains[pays]

    def _possible(self, attribute: int, cut: Cut) -> tuple[Codes, Codes, Floats]:
        """List the candidates that may be valid, each with the records of its smallest part and its gain."""
        # No class is larger than a part of it, so a part below k needs no measurement to be refused.
        smallest, ids = cut.smallest, cut.candidates
        possible = self._open_now(attribute)[ids] & (smallest >= self._constraints.least[attribute])
        room = self._wishes.have_room(attribute, cut)
        possible = possible if room is None else possible & room
        return ids[possible], smallest[possible], cut.gains[possible]

    def _weigh(self, attribute: int, gains: Floats) -> Floats:
        return self._wishes.weigh(attribute, np.where(gains < LEAST_GAIN, 0.0, gains))

    def _scores_at_most(self, attribute: int, ids: Codes, gains: Floats) -> Floats:
        """Give what scores are, or at most can be, where records left out are weighed."""
        bounds = self._bounds[attribute][ids] + np.where(self._free[attribute][ids], 0.0, self._hidden_detail)
        bounds = np.minimum(bounds, self._gains_at_most(attribute, ids, gains))
        return np.asarray(np.where(self._fresh[attribute][ids], self._numbers[attribute][ids, -1], bounds))

    def _gains_at_most(self, attribute: int, ids: Codes, gains: Floats) -> Floats:
        """Bound what candidates gain, of which it is known what they would if no record were left out."""
        cut, limits = self.state.cuts[attribute], cast(AllowedConstraints, self._constraints)
        if not isinstance(cut, SuppressionCut) or self._gains is not None or not limits.monotone:
            return gains
        is_kept = cut.counts[ids].sum(axis=1) >= limits.kept_from[attribute]
        return np.where(is_kept, gains, 0.0) * (1 + 1e-12)  # sums may be measured in another order

    def _numbers_after(self, attribute: int, ids: Codes, smallest: Codes, before: Floats) -> Floats:
        """Give the numbers after candidates, or bounds: what is too good makes the loss too small."""
        numbers = self._constraints.bounded(attribute, self._numbers[attribute][ids], smallest)
        if self._tries_others(attribute):  # of which a smaller gain may come without any loss
            numbers = np.where(self._fresh[attribute][ids, None], numbers, before)
        return numbers

    def _tries_others(self, attribute: int) -> bool:
        """Whether another candidate takes the place of one that falls."""
        cut = self.state.cuts[attribute]
        return isinstance(cut, IntervalCut) and cut.histogram.least is not None

    def _open_now(self, attribute: int) -> NDArray[np.bool_]:
        """For each candidate id of an attribute, whether it may be performed in the present state."""
        return np.asarray(self._alive[attribute] & ~self._refused[attribute])

    def _own_gains(self, attribute: int, ids: Codes) -> Floats:
        """Give what candidates gain, before weights."""
        cuts, cut = self.state.cuts, self.state.cuts[attribute]
        if self._gains is None:
            return cut.gains[_places(cut, ids)]
        gains = self._gains.of(cuts, [(attribute, candidate) for candidate in ids.tolist()])
        return gains if self._literal else gains + cut.certainties[_places(cut, ids)]

    # -- what is known ----------------------------------------------------------------------------

    def _learn(self, candidates: Sequence[Candidate], numbers: Floats) -> None:
        """Take fresh numbers; a candidate that breaks a limit falls, for good where nothing mends it."""
        failures = dict[int, list[int]]()
        possible = self._constraints.possible(numbers)
        for (attribute, candidate), row, holds in zip(candidates, numbers, possible, strict=True):
            self._numbers[attribute][candidate] = row
            self._fresh[attribute][candidate] = True
            if self._detail is not None and self._constraints.monotone and self._gains is None:
                left_out = cast(AllowedConstraints, self._constraints).left_out
                free = bool(row[left_out] == self.state.numbers[left_out])
                self._free[attribute][candidate] = free
                self._bounds[attribute][candidate] = row[-1] - (0.0 if free else self._hidden_detail)
            if not holds:
                failures.setdefault(attribute, []).append(candidate)
        for attribute, ids in failures.items():
            self._drop(attribute, ids)
            self._offer_others(attribute)

    def _drop(self, attribute: int, candidates: Iterable[int]) -> None:
        """Drop candidates that break a limit: for good, or where refinement can mend them, in this state."""
        # Dead, as requirements are monotone: what is refined further breaks the limit too (Corollary 3.1).
        if self._constraints.monotone:
            self._alive[attribute][list(candidates)] = False
        else:
            self._refused[attribute][list(candidates)] = True

    def _offer_others(self, attribute: int) -> None:
        """Offer the best boundary that is valid in the place of one that fell, in each interval."""
        cuts, alive = self.state.cuts, self._open_now(attribute)
        cut = cuts[attribute]
        if not (isinstance(cut, IntervalCut) and self._tries_others(attribute)):
            return
        part = cut.contested(alive)
        inside = (part[1:] >= 0) & (part[1:] == part[:-1])
        boundaries = 1 + np.flatnonzero(inside & alive[1:])
        if len(boundaries):
            now = self.state.numbers
            self._drop(attribute, self._measure.invalid_boundaries(cuts, now, attribute, part, boundaries))
        self._replace(attribute, cut.without(self._open_now(attribute)))

    def _replace(self, attribute: int, cut: Cut) -> None:
        """Let other candidates stand for the same parts of an attribute."""
        self.state = replace(self.state, cuts=with_cut(self.state.cuts, attribute, cut))

    def _carry(self, refined: int) -> None:
        """Keep what is known after a step: what it cannot change stays fresh, the rest becomes a bound."""
        now, limits = self.state.numbers, self._constraints
        for attribute, (numbers, fresh) in enumerate(zip(self._numbers, self._fresh, strict=True)):
            if not limits.only_worse:  # without its outliers a state can be better
                numbers[:] = now
                fresh[:] = False
                continue
            apart = limits.apart[attribute]
            numbers[:, apart] = now[apart]
            if limits.repairable or limits.adds_up:
                fresh[:] = False
            elif attribute == refined and self.state.cuts[attribute].disjoint:
                numbers[:] = limits.worse(numbers, now)  # their groups are others than were split
            elif self._measure.shares_groups(refined, attribute):
                fresh[:] = False

    def _reopen(self) -> None:
        """Let go of what the last state alone refused."""
        for attribute, refusals in enumerate(self._refused):
            if refusals.any():
                refusals[:] = False
                cut = self.state.cuts[attribute]
                if not self._constraints.monotone and isinstance(cut, IntervalCut):
                    self._replace(attribute, cut.reopen(self._alive[attribute]))

    def _refuse_broken(self) -> None:
        """Refuse for now what breaks a limit; where all do, and the state too, what nothing mends."""
        valid = [
            self._constraints.valid(numbers) & fresh
            for numbers, fresh in zip(self._numbers, self._fresh, strict=True)
        ]
        if not any(good.any() for good in valid) and not self._constraints.valid(self.state.numbers):
            pairs = zip(self._numbers, self._fresh, strict=True)
            valid = [self._constraints.possible(numbers) & fresh for numbers, fresh in pairs]
        for refusals, good in zip(self._refused, valid, strict=True):
            refusals[:] = ~good

    # -- what is measured next --------------------------------------------------------------------

    def _unknown(self, attributes: Iterable[int]) -> list[Candidate]:
        """List the open candidates of attributes that are not measured in this state."""
        open_ids = ((a, self._open(a, self.state.cuts[a])[0]) for a in attributes)
        return [(a, c) for a, ids in open_ids for c in ids[~self._fresh[a][ids]].tolist()]

    def _measure_candidates(self, candidates: Sequence[Candidate]) -> None:
        of = self.state.cuts, self.state.numbers, candidates
        if self._detail is None:
            numbers = self._measure.after(*of)
        else:
            numbers = cast("AllowedMeasure", self._measure).weighed_after(*of, self._values(candidates))
        self._learn(candidates, numbers)

    def _values(self, candidates: Sequence[Candidate]) -> list[Floats]:
        """Give what candidates show the records of their parts."""
        values, cuts = dict[Candidate, Floats](), self.state.cuts
        for attribute in dict.fromkeys(a for a, _ in candidates):
            ids = np.array([candidate for a, candidate in candidates if a == attribute])
            assert self._detail is not None
            own = self._detail.values(attribute, cuts[attribute], ids, self._own_gains(attribute, ids))
            values |= zip(((attribute, candidate) for candidate in ids.tolist()), own, strict=True)
        return [values[candidate] for candidate in candidates]

    def _weigh_boundaries(self, attribute: int, cut: IntervalCut, ids: Codes) -> None:
        """Let the boundary of the best score stand for each interval that some boundaries stand for now."""
        assert self._detail is not None
        measure, limits = cast("AllowedMeasure", self._measure), cast(AllowedConstraints, self._constraints)
        state, alive = self.state, self._open_now(attribute)
        part = np.where(np.isin(cut.parts, cut.parts[ids]), cut.parts, -1)
        worth = measure.boundaries(state.cuts, attribute, part)
        left_out = state.numbers[limits.left_out] + worth.left_out
        weight = self._wishes.weights[attribute]
        for place in ids.tolist():
            boundaries, gains, (left, right) = cut.choices(place, alive)
            good = left_out[boundaries] <= limits.most
            self._drop(attribute, boundaries[~good].tolist())
            boundaries, gains, left, right = boundaries[good], gains[good], left[good], right[good]
            split = NO_SPLIT
            if len(boundaries):
                detail = weight * (left * worth.left[boundaries] + right * worth.right[boundaries])
                scores = (detail - worth.lost[boundaries] * measure.unit) / limits.records
                row = state.numbers.copy()
                row[-1] = scores.max()
                # in a later state another one may be worth something, if any
                best = first_best(scores if row[-1] >= LEAST_GAIN else gains)
                boundary = int(boundaries[best])
                split = float(boundary), float(gains[best]), 0.0
                self._numbers[attribute][boundary], self._fresh[attribute][boundary] = row, True
                self._bounds[attribute][boundary] = row[-1] - self._hidden_detail
            cut = cut.with_split(place, split, self._open_now(attribute))
        self._replace(attribute, cut)

    def _measure_all(self) -> bool:
        every = self._unknown(range(len(self.state.cuts)))
        if every:
            self._measure_candidates(every)
        return bool(every)

    def _ask(self, ordered: Iterable[Candidate], attribute: int) -> None:
        """Measure a path of disclosures from the best candidate, or all candidates that cost one statement.

        They are all those of its attribute, or where values are disclosed, of all such attributes.
        """
        cuts = self.state.cuts
        cut = cuts[attribute]
        if (
            isinstance(cut, SuppressionCut)
            and self._gains is None
            and self._measure.ahead
            and not self._broke
        ):
            follow = self._follow_path if self._detail is None else self._follow_weighed
            if follow(attribute, cut):
                return
        alike = [attribute] if cut.disjoint else [a for a, other in enumerate(cuts) if not other.disjoint]
        candidates = self._unknown(alike)
        if self._weighs_boundaries and isinstance(cut, IntervalCut) and self._tries_others(attribute):
            self._weigh_boundaries(attribute, cut, np.array([candidate for _, candidate in candidates]))
            return
        open_candidates, most = set(candidates), self._measure.most
        if not self._measure.exact:  # where a statement sees them all, asking often is what costs
            most = max(most, sum(int(fresh.sum()) for fresh in self._fresh))
        self._measure_candidates(list(islice((c for c in ordered if c in open_candidates), most)))

    def _follow_path(self, attribute: int, cut: SuppressionCut) -> bool:
        """Decide the disclosures that are next as far as they come out as foretold; tell whether any can."""
        state = self.state
        rivals = self._rivals_beside(attribute)
        most = max(SHORTEST, LONGEST * SHORTEST // max(len(rivals), SHORTEST))
        path = list(islice(self._path(attribute, cut), min(self._length, most)))
        if not path:
            self._broke = True
            return False
        codes = [step.candidate[1] for step, _ in path]
        numbers, beside = self._measure.path(state.cuts, state.numbers, attribute, codes, rivals)
        foretold = (numbers == np.array([after for _, after in path])).all(axis=1)
        sure = _first(~(self._constraints.valid(numbers) & foretold))
        wins = np.array([step.score for step, _ in path])
        sure = min(sure, self._first_beaten(wins, numbers, rivals, beside))
        self._length = min(2 * self._length, LONGEST) if sure == len(path) else max(2 * sure, SHORTEST)
        self._decisions = [(step, now) for (step, _), now in zip(path[:sure], numbers[:sure], strict=True)]
        if not sure:
            self._broke = True
            self._learn([(attribute, codes[0])], numbers[:1])
            return True
        self._beyond = [(rival, own[sure - 1]) for (rival, _), own in zip(rivals, beside, strict=True)]
        if sure < len(path):
            self._beyond.append(((attribute, codes[sure]), numbers[sure]))
        return True

    def _follow_weighed(self, attribute: int, cut: SuppressionCut) -> bool:
        """Decide the disclosures that are next, up to one that leaves records out; tell whether any can."""
        assert self._detail is not None
        state, limits = self.state, cast(AllowedConstraints, self._constraints)
        path = list(islice(self._weighed_path(attribute, cut), WEIGHED))
        if not path:
            return False
        codes, gains = [code for code, *_ in path], np.array([gain for *_, gain in path])
        weight = self._wishes.weights[attribute]
        values = self._detail.values(attribute, cut, np.array(codes), gains / weight)
        measure = cast("AllowedMeasure", self._measure)
        numbers = measure.weighed_path(state.cuts, state.numbers, attribute, codes, values)
        scores, bounds = numbers[:, -1], np.array([bound for _, bound, _ in path])
        as_foretold = self._constraints.valid(numbers) & (scores >= bounds * (1 - SAME))
        leaves = numbers[:, limits.left_out] > state.numbers[limits.left_out]
        sure = min(_first(~as_foretold), 1 + _first(leaves), len(path))
        before = state.numbers
        for code, gain, now in zip(codes[:sure], gains[:sure].tolist(), numbers[:sure], strict=True):
            loss = float(self.loss.of(attribute, before, now[None])[0])
            self._decisions.append((RefinementStep((attribute, code), float(now[-1]), gain, loss), now))
            before = now
        if not sure:
            self._broke = True
            self._learn([(attribute, codes[0])], numbers[:1])
        return True

    def _weighed_path(self, attribute: int, cut: SuppressionCut) -> Iterable[tuple[int, float, float]]:
        """Give the disclosures of an attribute in the order of their bounds, with these and their gains.

        It ends where another attribute is next, or a value of which a bound is all that was ever known.
        """
        ids, _, gains = self._possible(attribute, cut)  # what gains nothing yet may gain later on
        gains, rest = self._weigh(attribute, gains), cut.suppressed_counts
        bounds = self._scores_at_most(attribute, ids, gains)
        before, after = self._best_beside(attribute, self.state.numbers)
        counts = cut.counts[ids]
        for _ in ids[: self._wishes.room(attribute, cut)]:
            order = self._rounding(np.concatenate(([before], bounds, [after])))
            best = int(order.argmax()) - 1
            if not 0 <= best < len(ids) or bounds[best] < LEAST_GAIN:
                return
            if np.isinf(self._bounds[attribute][ids[best]]):
                return
            yield int(ids[best]), float(bounds[best]), float(gains[best])
            rest = rest - counts[best]
            now = self._weigh(attribute, cut.gains_beside(rest, counts))
            bounds = bounds + np.maximum(now - gains, 0.0)
            bounds, gains = np.minimum(bounds, self._gains_at_most(attribute, ids, now)), now
            bounds[best] = -1.0

    def _path(self, attribute: int, cut: SuppressionCut) -> Iterable[tuple[RefinementStep, Floats]]:
        """Give the disclosures of an attribute as they follow each other, with the numbers foretold then.

        It ends where another attribute is next, or where what stays suppressed could change a loss. What a
        value gains depends on its records by class alone, what it loses on the numbers known of it; values
        that agree in all of these are of one kind and are scored together. So a path of many disclosures
        costs little more than one look at every value. Where the numbers that it foretells come true, it is
        the one that scoring all values at every step would find.
        """
        before = self.state.numbers
        least = self._constraints.least_rest(attribute, before)
        ids, smallest, _ = self._possible(attribute, cut)
        numbers = self._numbers_after(attribute, ids, smallest, before)
        of_value = np.hstack([cut.counts[ids], numbers])
        varied = of_value[:, (of_value != of_value[:1]).any(axis=0)]
        order = np.lexsort((ids, *varied.T))
        differs = np.ones(len(ids), dtype=bool)
        differs[1:] = (varied[order[1:]] != varied[order[:-1]]).any(axis=1)
        following, codes = np.flatnonzero(differs), ids[order]
        end = np.append(following[1:], len(ids))
        counts, numbers = cut.counts[ids[order[following]]], numbers[order[following]]
        first, rest = following.copy(), cut.suppressed_counts
        loss, beside = self.loss.of(attribute, before, numbers), self._best_beside(attribute, before)
        for _ in ids[: self._wishes.room(attribute, cut)]:
            if not cut.is_beneficial(rest) or rest.sum() - counts.sum(axis=1).max() < least:
                return
            gains = self._weigh(attribute, cut.gains_beside(rest, counts))
            scores = self.loss.score(gains, loss)
            if not cut.worth.literal and not scores.any():
                return
            rounded = self._rounding(np.concatenate(([beside[0]], scores, [beside[1]])))
            ties = np.flatnonzero(rounded[:-1] == rounded.max())
            if not len(ties) or ties[0] == 0:
                return
            kind = int((ties - 1)[codes[first[ties - 1]].argmin()])
            previous, before = before, self._constraints.worse(before, numbers[kind])
            worth = float(scores[kind]), float(gains[kind]), float(loss[kind])
            yield RefinementStep((attribute, int(codes[first[kind]])), *worth), before
            rest = rest - counts[kind]
            first[kind] += 1
            if not np.array_equal(previous, before):
                loss, beside = self.loss.of(attribute, before, numbers), self._best_beside(attribute, before)
            if first[kind] == end[kind]:
                others = np.arange(len(first)) != kind
                first, end, counts = first[others], end[others], counts[others]
                numbers, loss = numbers[others], loss[others]

    def _best_beside(self, attribute: int, before: Floats) -> tuple[float, float]:
        """Give the best score of the attributes before one and of those after it; -1 for none."""
        best = [-1.0] * len(self.state.cuts)
        for a, cut in enumerate(self.state.cuts):
            if a != attribute:
                best[a] = float(self._score_attribute(a, cut, before).scores.max(initial=-1.0))
        return max(best[:attribute], default=-1.0), max(best[attribute + 1 :], default=-1.0)

    def _rivals_beside(self, attribute: int) -> list[tuple[Candidate, Floats]]:
        """List what is known for sure of the intervals of other attributes, which a path can change."""
        rivals = list[tuple[Candidate, Floats]]()
        for a, cut in enumerate(self.state.cuts):
            if a != attribute and self._tries_others(a) and not self._constraints.adds_up:
                ids = self._open(a, cut)[0]
                rivals += [((a, int(c)), self._numbers[a][c]) for c in ids[self._fresh[a][ids]]]
        return rivals

    def _first_beaten(
        self,
        wins: Floats,
        numbers: Floats,
        rivals: Sequence[tuple[Candidate, Floats]],
        beside: Floats,
    ) -> int:
        """Give the first step of a path before which a rival has fallen or scores more."""
        first = len(wins)
        for ((attribute, candidate), _), after in zip(rivals, beside, strict=True):
            cut = self.state.cuts[attribute]
            gain = self._wishes.weigh(attribute, cut.gains[cut.candidates == candidate])
            scores = self.loss.score(gain, self.loss.of(attribute, numbers, after))[:-1]
            better = (scores >= wins[1:] * (1 - TIED)) | ~self._constraints.valid(after[:-1])
            first = min(first, 1 + _first(better))
        return first


def _places(cut: Cut, ids: Codes) -> Codes:
    """Find candidates among those of a cut."""
    order = np.argsort(cut.candidates)
    return order[np.searchsorted(cut.candidates, ids, sorter=order)]


def _first(which: NDArray[np.bool_]) -> int:
    """Give the place of the first that is true; behind the last where none is."""
    return int(which.argmax()) if which.any() else len(which)
