"""The one top-down loop: refine the most general state, best score first, while every limit holds.

PDA (Wang, Fung, Yu 2005, Algorithm 1) and TDS (Fung, Wang, Yu 2005) are this loop with other cuts.

Every open candidate is measured in each state, all that the last step can have changed in one statement; the
others keep their numbers. What breaks a limit once breaks it ever after (PDA, Corollary 3.1), so it is
dropped; of an interval another boundary takes the place of one that falls. Disclosures of one attribute are
decided many at a time: along the path that the present numbers foretell, as far as they come out as foretold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.constraints import AllowedConstraints, Constraints
from ppdm_sql.methods.top_down.cuts import (
    Candidate,
    ClosedCut,
    Cut,
    Cuts,
    Disclosure,
    SuppressionCut,
    disclosures,
)
from ppdm_sql.methods.top_down.interval_cuts import NO_SPLIT, IntervalCut, first_best
from ppdm_sql.methods.top_down.left_out_measure import AllowedMeasure, ShownDetail
from ppdm_sql.methods.top_down.measuring import ConditionalEntropy, Measure
from ppdm_sql.methods.top_down.request import ColumnWishes
from ppdm_sql.methods.top_down.score import LEAST_GAIN, LITERAL, PrivacyLoss, Rounding, Worth, nine_digits
from ppdm_sql.progress import Progress

logger = logging.getLogger("ppdm_sql")
Stopped = Literal["complete", "max-steps", "interrupted"]
SHORTEST, LONGEST = 16, 1 << 16
"""Disclosures on the first path, and on the longest; where all came true, the next is four times as long."""
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
    measured: Floats
    steps: list[RefinementStep] = field(default_factory=list)
    """Appended to as the run goes on, so that a step costs the same however many there were."""
    stopped: Stopped | None = None
    kept_from: int = 0
    """Steps from which on all states hold all limits; one more than there are where this one does not."""


@dataclass(frozen=True)
class Scored:
    """The open candidates of one attribute, in value order, with their scores or bounds of them."""

    ids: Codes
    gains: Floats
    losses: Floats
    scores: Floats


Decided = list[tuple[RefinementStep, Floats]]
"""Steps of one attribute that follow each other, with the numbers of their states."""


class Refinement:
    """A run of the loop from the most general state; the order of attributes settles ties.

    ``sizes`` are the numbers of candidate ids; ``gains`` are given where they are measured, too, else each
    cut knows its own; scores are less where more privacy is lost if it ``loses``; what labels have ``shown``
    is given where records that are left out are weighed.
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
        shown: ShownDetail | None = None,
    ) -> None:
        self._constraints, self._measure, self._gains = constraints, measure, gains
        self._rounding, self._wishes = rounding, wishes or ColumnWishes.none(len(cuts))
        self.loss = PrivacyLoss(constraints.all, len(cuts), counts=loses)
        self._literal, self._loses = worth.literal, loses
        self._alive = [np.ones(size, dtype=bool) for size in sizes]
        self._refused = [~alive for alive in self._alive]  # not valid in this state, and yet not dead
        self._shown = shown
        if shown is not None:
            cast(AllowedMeasure, measure).show(shown.by_code, shown.more)
        self._weighs_boundaries = shown is not None and gains is None and measure.weighs_boundaries
        root = measure.state(cuts)
        self.state = State(cuts, root, kept_from=self._kept_from(root, 0, 0))
        self._numbers = [np.tile(root, (size, 1)) for size in sizes]  # of the states after candidates
        self._fresh = [np.zeros(size, dtype=bool) for size in sizes]  # measured in this state
        self._decided: Decided = []
        self._candidates, self._at_first, self._length = 0, 0, SHORTEST
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
                self.perform(room)
                self.report(progress)
        self._constraints.require_reached(self.state.measured, len(self.state.steps))
        return self.state

    def begin(self) -> None:
        self._constraints.require_solution(self.state.measured)

    def best(self, interrupted: Callable[[], bool]) -> RefinementStep | None:
        """Find the best valid candidate of the present state, measured in it; None if there is none."""
        self._reopen()
        self._measure_all()
        if self._constraints.repairable:
            self._refuse_broken()
        while True:
            self._candidates, best = self._rank()
            if best is None or self._fresh[best.candidate[0]][best.candidate[1]]:
                break
            self._weigh_boundaries(best.candidate[0])
        self._at_first = self._at_first or self._candidates
        if best is None or interrupted():
            return None
        attribute, candidate = best.candidate
        path = self._follow_path(attribute) if self._goes_on(attribute) else []
        self._decided = path or [(best, self._numbers[attribute][candidate].copy())]
        return self._decided[0][0]

    def perform(self, most: int | None = None) -> None:
        """Perform the best step, and those after it that are decided, too: ``most`` at most."""
        decided = self._decided[:most]
        self._perform([step for step, _ in decided], decided[-1][1])
        self._candidates -= len(decided) - 1

    def _perform(self, steps: list[RefinementStep], measured: Floats) -> None:
        """Perform steps of one attribute, of which the last leads to a state of these numbers."""
        state, attribute = self.state, steps[0].candidate[0]
        cut, candidates = state.cuts[attribute], [step.candidate[1] for step in steps]
        after = cut.disclose(candidates) if isinstance(cut, SuppressionCut) else cut.refine(candidates[0])
        cuts = (*state.cuts[:attribute], after, *state.cuts[attribute + 1 :])
        if self._shown is not None:
            gains = np.array([step.gain for step in steps]) / self._wishes.weights[attribute]
            self._shown.perform(attribute, cut, candidates, gains)
            cast(AllowedMeasure, self._measure).show(self._shown.by_code, self._shown.more)
        if self._shown is not None or not self._measure.exact:
            measured = self._measure.state(cuts)
        if self._shown is not None and len(steps) == 1:
            loss = float(self.loss.of(attribute, state.measured, measured[None])[0])
            steps = [replace(steps[0], loss=loss)]
        state.steps.extend(steps)
        kept_from = self._kept_from(measured, len(state.steps), state.kept_from)
        self.state = State(cuts, measured, state.steps, kept_from=kept_from)
        self._carry(attribute)

    def _kept_from(self, measured: Floats, steps: int, before: int) -> int:
        return before if self._constraints.valid(measured) else steps + 1

    def follow(self, step: RefinementStep, measured: Floats) -> None:
        """Take over a step of another party, and the numbers of its state."""
        self.state.steps.append(step)
        self.state = replace(self.state, measured=measured)
        self._carry(step.candidate[0])

    def stop(self, why: Stopped) -> State:
        self.state = replace(self.state, stopped=why)
        return self.state

    def report(self, progress: Progress) -> None:
        """Say where the run stands."""
        state = self.state
        position = self._constraints.worst(state.measured)
        worst = self._constraints.describe(position, float(state.measured[position]))
        left = max(self._candidates - 1, 0)
        number, of = len(state.steps), f" of {self._at_first}" if self._only_disclosures else ""
        logger.info("round %d: %d%s candidates left, nearest to its limit: %s", number, left, of, worst)
        progress.update(step=number, candidates=f"{left}{of}", worst=worst)

    # -- scores -----------------------------------------------------------------------------------

    def _rank(self) -> tuple[int, RefinementStep | None]:
        """Count the candidates, and give the best one; the first on ties."""
        cuts, before = self.state.cuts, self.state.measured
        if self._gains is not None:  # in one statement
            opened = [(a, c) for a, cut in enumerate(cuts) for c in self._open(a, cut)[0].tolist()]
            self._gains.of(cuts, opened)
        scored = [self._scored(a, cut, before) for a, cut in enumerate(cuts)]
        scores = self._rounding(np.concatenate([of.scores for of in scored]))
        row = int(scores.argmax()) if len(scores) else 0
        for attribute, of in enumerate(scored):
            if row < len(of.ids):
                numbers = (float(each[row]) for each in (of.scores, of.gains, of.losses))
                return len(scores), RefinementStep((attribute, int(of.ids[row])), *numbers)
            row -= len(of.ids)
        return 0, None

    def _scored(self, attribute: int, cut: Cut, before: Floats) -> Scored:
        ids, gains = self._open(attribute, cut)
        if self._gains is not None:
            gains = self._own_gains(attribute, ids)
            told = gains > self._gains.least
            ids, gains = ids[told], gains[told]
        gains, numbers = self._weigh(attribute, gains), self._numbers[attribute][ids]
        if self._shown is not None:
            # no step shows more than what it gains where it leaves nobody out
            scores = np.where(self._fresh[attribute][ids], numbers[:, -1], gains)
            told = scores >= LEAST_GAIN
            return Scored(ids[told], gains[told], np.zeros(told.sum()), scores[told])
        losses = self.loss.of(attribute, before, numbers)
        return Scored(ids, gains, losses, self.loss.score(gains, losses))

    def _open(self, attribute: int, cut: Cut) -> tuple[Codes, Floats]:
        """List the candidates that may be valid and gain something, as :meth:`_possible` gives them."""
        ids, gains = self._possible(attribute, cut)
        if self._loses or self._gains is not None:
            return ids, gains
        told = gains >= LEAST_GAIN
        return ids[told], gains[told]

    def _possible(self, attribute: int, cut: Cut) -> tuple[Codes, Floats]:
        """List the candidates that may be valid, each with its gain."""
        # No class is larger than a part of it, so a part below k needs no measurement to be refused.
        ids, least = cut.candidates, self._constraints.least[attribute]
        possible = self._open_now(attribute)[ids] & (cut.smallest >= least)
        room = self._wishes.have_room(attribute, cut)
        possible = possible if room is None else possible & room
        return ids[possible], cut.gains[possible]

    def _weigh(self, attribute: int, gains: Floats) -> Floats:
        return self._wishes.weigh(attribute, np.where(gains < LEAST_GAIN, 0.0, gains))

    def _gained_at_most(self, attribute: int, ids: Codes, gains: Floats) -> Floats:
        """Bound what candidates gain, of which it is known what they would if no record were left out."""
        cut, limits = self.state.cuts[attribute], cast(AllowedConstraints, self._constraints)
        if not isinstance(cut, SuppressionCut) or self._gains is not None or not limits.monotone:
            return gains
        kept = cut.counts[ids].sum(axis=1) >= limits.kept_from[attribute]
        return np.where(kept, gains, 0.0) * (1 + 1e-12)  # what is measured may be added up in another order

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
        told = self._gains.of(cuts, [(attribute, candidate) for candidate in ids.tolist()])
        return told if self._literal else told + cut.certain[_places(cut, ids)]

    # -- what is known ----------------------------------------------------------------------------

    def _learn(self, candidates: Sequence[Candidate], numbers: Floats) -> None:
        """Take fresh numbers; a candidate that breaks a limit falls, for good where nothing mends it."""
        attributes, ids = np.array(candidates, dtype=np.int64).T
        possible = self._constraints.possible(numbers)
        for attribute in np.unique(attributes).tolist():
            here = attributes == attribute
            self._numbers[attribute][ids[here]] = numbers[here]
            self._fresh[attribute][ids[here]] = True
            if len(fallen := ids[here & ~possible]):
                self._fell(attribute, fallen)
                self._offer_others(attribute)

    def _fell(self, attribute: int, candidates: Codes) -> None:
        """Drop candidates that break a limit: for good, or where refinement can mend them, in this state."""
        # Dead, as requirements are monotone: what is refined further breaks the limit too (Corollary 3.1).
        if self._constraints.monotone:
            self._alive[attribute][candidates] = False
        else:
            self._refused[attribute][candidates] = True

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
            known = self.state.measured
            self._fell(attribute, self._measure.invalid_boundaries(cuts, known, attribute, part, boundaries))
        cuts = (*cuts[:attribute], cut.without(self._open_now(attribute)), *cuts[attribute + 1 :])
        self.state = replace(self.state, cuts=cuts)

    def _carry(self, performed: int) -> None:
        """Keep the numbers that a step cannot change."""
        now, limits = self.state.measured, self._constraints
        lasts = limits.only_worse and not (limits.repairable or limits.adds_up)
        for attribute, (numbers, fresh) in enumerate(zip(self._numbers, self._fresh, strict=True)):
            numbers[:, limits.apart[attribute]] = now[limits.apart[attribute]]
            if lasts and attribute == performed and self.state.cuts[attribute].disjoint:
                numbers[:] = limits.worse(numbers, now)  # their groups are others than were split
            elif not lasts or self._measure.shares_groups(performed, attribute):
                fresh[:] = False

    def _reopen(self) -> None:
        """Let go of what the last state alone refused."""
        for attribute, refused in enumerate(self._refused):
            if refused.any():
                refused[:] = False
                cuts = list(self.state.cuts)
                cut = cuts[attribute]
                if not self._constraints.monotone and isinstance(cut, IntervalCut):
                    cuts[attribute] = cut.reopened(self._alive[attribute])  # others may stand for those
                    self.state = replace(self.state, cuts=tuple(cuts))

    def _refuse_broken(self) -> None:
        """Refuse for now what breaks a limit; where all do, and the state too, what nothing mends."""
        pairs = list(zip(self._numbers, self._fresh, strict=True))
        valid = [self._constraints.valid(numbers) & fresh for numbers, fresh in pairs]
        if not any(some.any() for some in valid) and not self._constraints.valid(self.state.measured):
            valid = [self._constraints.possible(numbers) & fresh for numbers, fresh in pairs]
        for refused, some in zip(self._refused, valid, strict=True):
            refused[:] = ~some

    # -- what is measured next --------------------------------------------------------------------

    def _unknown(self, attribute: int) -> Codes:
        """List the candidates of an attribute that are not measured in this state."""
        cut = self.state.cuts[attribute]
        # what a disclosure does not gain yet, it may further along a path
        ids, _ = (self._open if cut.disjoint else self._possible)(attribute, cut)
        return ids[~self._fresh[attribute][ids]]

    def _measure_all(self) -> None:
        """Measure what is open, and then what took the place of boundaries that fell."""
        attributes = [a for a in range(len(self.state.cuts)) if not self._weighs(a)]
        while candidates := [(a, c) for a in attributes for c in self._unknown(a).tolist()]:
            of = self.state.cuts, self.state.measured, candidates
            if self._shown is None:
                numbers = self._measure.after(*of)
            else:
                numbers = cast(AllowedMeasure, self._measure).weighed_after(*of, self._values(candidates))
            self._learn(candidates, numbers)

    def _weighs(self, attribute: int) -> bool:
        """Whether all boundaries of an attribute's intervals are weighed together, which costs more."""
        return self._weighs_boundaries and self._tries_others(attribute)

    def _values(self, candidates: Sequence[Candidate]) -> list[Floats]:
        """Give what candidates show the records of their parts."""
        values, cuts = dict[Candidate, Floats](), self.state.cuts
        for attribute in dict.fromkeys(a for a, _ in candidates):
            ids = np.array([candidate for a, candidate in candidates if a == attribute])
            assert self._shown is not None
            own = self._shown.values(attribute, cuts[attribute], ids, self._own_gains(attribute, ids))
            values |= zip(((attribute, candidate) for candidate in ids.tolist()), own, strict=True)
        return [values[candidate] for candidate in candidates]

    def _weigh_boundaries(self, attribute: int) -> None:
        """Let the boundary of the best score stand for each interval of which none is measured."""
        ids, cut = self._unknown(attribute), cast(IntervalCut, self.state.cuts[attribute])
        measure, limits = cast(AllowedMeasure, self._measure), cast(AllowedConstraints, self._constraints)
        state, alive = self.state, self._open_now(attribute)
        part = np.where(np.isin(cut.parts, cut.parts[ids]), cut.parts, -1)
        worth = measure.boundaries(state.cuts, attribute, part)
        left_out = state.measured[limits.left_out] + worth.newly
        weight = self._wishes.weights[attribute]
        for place in ids.tolist():
            found, gains, (left, right) = cut.choices(place, alive)
            good = left_out[found] <= limits.most
            self._fell(attribute, found[~good])
            found, gains, left, right = found[good], gains[good], left[good], right[good]
            split = NO_SPLIT
            if len(found):
                shown = weight * (left * worth.left[found] + right * worth.right[found])
                scores = (shown - worth.lost[found] * measure.unit) / limits.records
                row = state.measured.copy()
                row[-1] = scores.max()
                # in a later state another one may be worth something, if any
                best = first_best(scores if row[-1] >= LEAST_GAIN else gains)
                boundary = int(found[best])
                split = float(boundary), float(gains[best]), 0.0
                self._numbers[attribute][boundary], self._fresh[attribute][boundary] = row, True
            cut = cut.with_split(place, split, self._open_now(attribute))
        self.state = replace(state, cuts=(*state.cuts[:attribute], cut, *state.cuts[attribute + 1 :]))

    # -- paths of disclosures ---------------------------------------------------------------------

    def _goes_on(self, attribute: int) -> bool:
        """Whether more disclosures of an attribute may follow each other, and be measured together."""
        state, measure = self.state, self._measure
        if not isinstance(state.cuts[attribute], SuppressionCut) or self._gains is not None:
            return False
        again = not state.steps or state.steps[-1].candidate[0] == attribute
        return measure.ahead and again and not self._constraints.adds_up  # no order foretells a sum

    def _follow_path(self, attribute: int) -> Decided:
        """Decide the disclosures that are next as far as they come out as foretold."""
        cut = cast(SuppressionCut, self.state.cuts[attribute])
        if self._shown is not None:
            return self._follow_weighed(attribute, cut)
        state, rivals = self.state, self._rivals_beside(attribute)
        most = max(SHORTEST, LONGEST * SHORTEST // max(len(rivals), SHORTEST))
        way = list(islice(self._way(attribute, cut), min(self._length, most)))
        if not way:
            return []
        codes = [disclosure.code for disclosure in way]
        numbers, beside = self._measure.path(state.cuts, state.measured, attribute, codes, rivals)
        foretold = (numbers == np.array([disclosure.after for disclosure in way])).all(axis=1)
        sure = _first(~(self._constraints.valid(numbers) & foretold))
        sure = min(sure, self._beaten(way, numbers, rivals, beside))
        self._length = min(4 * self._length, LONGEST) if sure == len(way) else max(2 * sure, SHORTEST)
        steps = [RefinementStep((attribute, code), *won) for code, *won, _ in way[:sure]]
        return list(zip(steps, numbers[:sure], strict=True))

    def _follow_weighed(self, attribute: int, cut: SuppressionCut) -> Decided:
        """Decide the disclosures that are next, up to one that leaves records out."""
        assert self._shown is not None
        state, limits = self.state, cast(AllowedConstraints, self._constraints)
        way = list(islice(self._weighed_way(attribute, cut), WEIGHED))
        codes, gains = [code for code, *_ in way], np.array([gain for *_, gain in way])
        if not codes:
            return []
        weight = self._wishes.weights[attribute]
        values = self._shown.values(attribute, cut, np.array(codes), gains / weight)
        measure = cast(AllowedMeasure, self._measure)
        numbers = measure.weighed_path(state.cuts, state.measured, attribute, codes, values)
        scores, bounds = numbers[:, -1], np.array([bound for _, bound, _ in way])
        as_foretold = self._constraints.valid(numbers) & (scores >= bounds * (1 - SAME))
        leaves = numbers[:, limits.left_out] > state.measured[limits.left_out]
        sure = min(_first(~as_foretold), 1 + _first(leaves), len(way))
        before, decided = state.measured, Decided()
        for code, gain, now in zip(codes[:sure], gains[:sure].tolist(), numbers[:sure], strict=True):
            loss = float(self.loss.of(attribute, before, now[None])[0])
            decided.append((RefinementStep((attribute, code), float(now[-1]), gain, loss), now))
            before = now
        return decided

    def _weighed_way(self, attribute: int, cut: SuppressionCut) -> Iterable[tuple[int, float, float]]:
        """Give the disclosures of an attribute in the order of their bounds, with these and their gains.

        It ends where another attribute is next.
        """
        ids, gains = self._possible(attribute, cut)  # what gains nothing yet may gain later on
        gains, left = self._weigh(attribute, gains), cut.left
        bounds = self._numbers[attribute][ids, -1]
        before, after = self._best_beside(attribute, self.state.measured)
        counts = cut.counts[ids]
        for _ in ids[: self._wishes.room(attribute, cut)]:
            order = self._rounding(np.concatenate(([before], bounds, [after])))
            chosen = int(order.argmax()) - 1
            if not 0 <= chosen < len(ids) or bounds[chosen] < LEAST_GAIN:
                return
            yield int(ids[chosen]), float(bounds[chosen]), float(gains[chosen])
            left = left - counts[chosen]
            now = self._weigh(attribute, cut.gains_beside(left, counts))
            bounds = bounds + np.maximum(now - gains, 0.0)
            bounds, gains = np.minimum(bounds, self._gained_at_most(attribute, ids, now)), now
            bounds[chosen] = -1.0

    def _way(self, attribute: int, cut: SuppressionCut) -> Iterable[Disclosure]:
        """Give the disclosures of an attribute in the order of what is known of them."""
        before = self.state.measured
        ids, _ = self._possible(attribute, cut)
        order = disclosures(
            cut,
            ids,
            self._numbers[attribute][ids],
            before,
            attribute=attribute,
            loss=self.loss,
            worse=self._constraints.worse,
            weight=self._wishes.weights[attribute],
            rounding=self._rounding,
            rivals=partial(self._best_beside, attribute),
            rest=self._constraints.least_rest(attribute, before),
        )
        return islice(order, self._wishes.room(attribute, cut))

    def _best_beside(self, attribute: int, before: Floats) -> tuple[float, float]:
        """Give the best score of the attributes before one and of those after it; -1 for none."""
        best = [-1.0] * len(self.state.cuts)
        for a, cut in enumerate(self.state.cuts):
            if a != attribute:
                best[a] = float(self._scored(a, cut, before).scores.max(initial=-1.0))
        return max(best[:attribute], default=-1.0), max(best[attribute + 1 :], default=-1.0)

    def _rivals_beside(self, attribute: int) -> list[tuple[Candidate, Floats]]:
        """List the numbers of the intervals of other attributes, which a path can change."""
        found = list[tuple[Candidate, Floats]]()
        for a, cut in enumerate(self.state.cuts):
            if a != attribute and self._tries_others(a):
                found += [((a, c), self._numbers[a][c]) for c in self._open(a, cut)[0].tolist()]
        return found

    def _beaten(
        self,
        way: Sequence[Disclosure],
        numbers: Floats,
        rivals: Sequence[tuple[Candidate, Floats]],
        beside: Floats,
    ) -> int:
        """Give the first step of a path before which a rival has fallen or scores more."""
        first, wins = len(way), np.array([disclosure.score for disclosure in way])
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
