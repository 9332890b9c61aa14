"""The rounds of TDS2P: both parties say what their best candidate is worth, the better one is performed.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI (slide 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.loop import Refinement, RefinementStep, State
from ppdm_sql.methods.two_party.failures import impossible
from ppdm_sql.methods.two_party.leaf_partition import LeafMeasure, unsigned
from ppdm_sql.methods.two_party.messages import Message
from ppdm_sql.methods.two_party.partner import Numbering, Numbers, Partner
from ppdm_sql.methods.two_party.records import TIED, registered
from ppdm_sql.methods.two_party.transcripts import Link
from ppdm_sql.progress import Progress

UNKNOWN = float("nan")
"""Gain and loss of the partner's specializations until the run is over."""
SLACK = 1e-9
"""By how much a score that a party names may miss what the records say: it is floating point."""


LOWEST, HIGHEST = -64.0, 8.0
"""Logarithms to base 2 of the scores between which levels lie; a gain has at most a few bits."""


def level(score: float, bits: int) -> int:
    """Quantise a score: its logarithm in equal steps, 0 for a score of 0.

    Example:
        >>> level(0.0, 8), level(0.02, 8), level(0.021, 8), level(0.03, 8)
        (0, 206, 207, 208)
    """
    if score <= 0:
        return 0
    top = (1 << bits) - 1
    share = (math.log2(score) - LOWEST) / (HIGHEST - LOWEST)
    return min(max(1 + math.floor(share * (top - 1)), 1), top)


def step_factor(bits: int) -> float:
    """Give by what factor two scores of one level can differ, at most."""
    return float(2 ** ((HIGHEST - LOWEST) / ((1 << bits) - 2)))


@dataclass(frozen=True)
class Offer:
    """The best candidate of one party, as it says in a SCORE message."""

    attribute: int
    score: float

    @classmethod
    def of(cls, message: Message) -> Offer | None:
        """Read a message; None where there is no candidate."""
        fields = message.fields
        if not fields["candidate"]:
            return None
        found = fields["level"] if fields["score"] is None else fields["score"]
        return cls(int(fields["attribute"]), float(found))  # type: ignore[arg-type]

    def beats(self, other: Offer | None) -> bool:
        """Tell whether it wins: by the larger score, on a tie by the attribute that comes first.

        Example:
            >>> Offer(2, 0.5).beats(Offer(1, 0.4)), Offer(2, 0.5).beats(Offer(1, 0.5))
            (True, False)
        """
        if other is None:
            return True
        if abs(self.score - other.score) <= TIED * max(self.score, other.score):
            return self.attribute < other.attribute
        return self.score > other.score


class Rounds:
    """One party's side of the descent."""

    def __init__(
        self,
        engine: Engine,
        records: Table,
        loop: Refinement,
        measure: LeafMeasure,
        constraints: Constraints,
        own: Mapping[int, Numbering],
        partners: Mapping[int, Partner],
        link: Link,
        bits: int | None,
    ) -> None:
        self._engine, self._records, self._loop, self._measure = engine, records, loop, measure
        self._constraints, self._own, self._partners = constraints, own, partners
        self._link, self._bits = link, bits
        self._states: list[Floats] = [loop.state.measured]
        self._passed_over: list[float | None] = []

    def descend(self, *, max_steps: int | None, interrupted: Callable[[], bool], progress: Progress) -> State:
        """Refine until neither party has a valid and beneficial candidate."""
        loop = self._loop
        loop.begin()
        self._compare_leaves(0)
        while loop.state.stopped is None:
            number = len(loop.state.steps) + 1
            step = loop.best(interrupted)
            mine = self._offer(step)
            theirs, stop = self._exchange_scores(number, mine, stop=step is None and interrupted())
            if stop:
                loop.stop("interrupted")
            elif mine is None and theirs is None:
                loop.stop("complete")
            elif number - 1 == max_steps:
                loop.stop("max-steps")
            else:
                if step is not None and mine is not None and mine.beats(theirs):
                    self._passed_over.append(None)
                    self._perform(number, step)
                else:
                    self._passed_over.append(None if step is None else step.score)
                    self._follow(number, cast(Offer, theirs))
                self._states.append(loop.state.measured)
                self._compare_leaves(number)
                loop.report(progress)
        return loop.state

    # -- one round ----------------------------------------------------------------------------------

    def _offer(self, step: RefinementStep | None) -> Offer | None:
        if step is None:
            return None
        score = step.score if self._bits is None else float(level(step.score, self._bits))
        return Offer(step.candidate[0], score)

    def _exchange_scores(self, number: int, mine: Offer | None, *, stop: bool) -> tuple[Offer | None, bool]:
        """Say what the best candidate here is worth, and hear it of the partner's; and whether one stops."""
        fields: dict[str, int | float | bool | None] = {"candidate": mine is not None, "stop": stop}
        fields |= dict.fromkeys(("score", "level", "attribute"))
        if mine is not None:
            fields["attribute"] = mine.attribute
            exact = self._bits is None
            fields["score" if exact else "level"] = mine.score if exact else int(mine.score)
        received = self._of_round(number, self._link.exchange(Message("SCORE", number, fields)))
        theirs = Offer.of(received)
        quantised = received.fields["level"] is not None
        if theirs is not None and (
            theirs.attribute not in self._partners or quantised != (self._bits is not None)
        ):
            raise impossible("The partner sent a score for what it does not own, or in another measure.")
        return theirs, stop or bool(received.fields["stop"])

    def _perform(self, number: int, step: RefinementStep) -> None:
        """Specialize an own value, and tell the partner which records fall where."""
        attribute, candidate = step.candidate
        cut = self._loop.state.cuts[attribute]
        value, children, child_of_code = self._own[attribute].specialize(cut, candidate)
        column = self._children(attribute, child_of_code, children)
        fields = {"attribute": attribute, "value": value, "children": children}
        self._link.send(Message("WIN", number, fields, column))
        child, params = recoded(f"c{attribute}", child_of_code, "child", "INTEGER")
        self._measure.split(attribute, child, children, self._records, params)
        self._loop.perform(step)
        self._measure.state(self._loop.state.cuts)

    def _children(self, attribute: int, child_of_code: Codes, children: int) -> object:
        """Give the child of each record of the value, in the order of the records."""
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        number, params = recoded(f"c{attribute}", child_of_code, "child", "INTEGER")
        inside = f"SELECT {number} AS child FROM {self._records}"
        query = f"SELECT child::{unsigned(children)} AS child FROM ({inside}) WHERE child >= 0"
        return pa.array(self._engine.arrays(query, params, step="children")["child"])

    def _follow(self, number: int, theirs: Offer) -> None:
        """Specialize a value of the partner's, as it says."""
        win = self._of_round(number, self._link.receive("WIN"))
        attribute, value, children = (cast(int, win.fields[n]) for n in ("attribute", "value", "children"))
        if attribute != theirs.attribute or win.column is None:
            raise impossible("The partner sent a specialization of another column than it had offered.")
        partner = self._partners[attribute]
        numbers = cast(Numbers, win.column.to_numpy())
        self._split(attribute, partner.specialize(value, children, numbers), children)
        measured = self._measure.state(self._loop.state.cuts)
        if not bool(self._constraints.valid(measured)):
            raise impossible("The partner sent a specialization that breaks a requirement.")
        candidate = attribute, len(partner.specializations) - 1
        self._loop.follow(RefinementStep(candidate, theirs.score, UNKNOWN, UNKNOWN), measured)

    def _split(self, attribute: int, child: object, children: int) -> None:
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        with registered(self._engine, {"child": pa.array(child)}) as arrived:
            self._measure.split(attribute, "child", children, arrived, {})

    def _compare_leaves(self, number: int) -> None:
        """Make sure that both parties see leaves of the same sizes."""
        digest = self._measure.digest()
        received = self._link.exchange(Message("DIGEST", number, {"leaves": digest}))
        if self._of_round(number, received).fields["leaves"] != digest:
            raise ProtocolError(
                f"After step {number} the classes of both parties are not of the same sizes.",
                "Check that both tables hold the same people, and let both run the same version.",
                reason="digest",
            )

    def _of_round(self, number: int, message: Message) -> Message:
        if message.round != number:
            raise impossible("The partner sent a message of another round.")
        return message

    # -- the end ------------------------------------------------------------------------------------

    def settled(self, state: State) -> State:
        """Fill in what the partner's specializations gained and lost, once its counts are known."""
        gains = {attribute: partner.gains() for attribute, partner in self._partners.items()}
        steps = []
        for place, step in enumerate(state.steps):
            attribute, place_there = step.candidate
            if attribute not in self._partners:
                steps.append(step)
                continue
            after = self._states[place + 1][None, :]
            loss = float(self._loop.loss.of(attribute, self._states[place], after)[0])
            gain = gains[attribute][place_there]
            score = gain / (loss + 1)
            if not self._is_fair(step.score, score):
                raise impossible("The partner sent a score that the records do not bear out.")
            shown = score if self._bits is not None else step.score
            steps.append(replace(step, score=shown, gain=gain, loss=loss))
        return replace(state, steps=steps)

    def _is_fair(self, offered: float, score: float) -> bool:
        if self._bits is None:
            return abs(offered - score) <= SLACK * max(1.0, score)
        return offered in [level(score * (1 + slack), self._bits) for slack in (-SLACK, SLACK)]

    def deviations(self, state: State) -> list[float]:
        """Give by what factor each candidate here that quantised scores passed over was better."""
        pairs = zip(self._passed_over, state.steps, strict=True)
        better = ((mine, step.score) for mine, step in pairs if mine is not None)
        return [mine / done if done else float("inf") for mine, done in better if mine > done * (1 + SLACK)]
