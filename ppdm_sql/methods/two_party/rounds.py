"""The rounds of TDS2P: both parties say what their best candidate is worth, the better one is performed.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI (slide 12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.loop import Refinement, RefinementStep, State
from ppdm_sql.methods.two_party.failures import impossible
from ppdm_sql.methods.two_party.label_exchange import Numbering
from ppdm_sql.methods.two_party.leaf_partition import LeafMeasure, unsigned
from ppdm_sql.methods.two_party.messages import Message, Transport, stopping
from ppdm_sql.methods.two_party.partner import Numbers, Partner
from ppdm_sql.methods.two_party.record_matching import registered
from ppdm_sql.methods.two_party.scores import Offer, level
from ppdm_sql.progress import Progress

UNKNOWN = float("nan")
"""Gain and loss of the partner's specializations until the run is over."""
SLACK = 1e-9
"""By how much a score that a party names may miss what the records say: it is floating point."""


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
        transport: Transport,
        bits: int | None,
    ) -> None:
        self._engine, self._records, self._loop, self._measure = engine, records, loop, measure
        self._constraints, self._own, self._partners = constraints, own, partners
        self._transport, self._bits = transport, bits
        self._states: list[Floats] = [loop.state.measured]
        self._passed_over: list[float | None] = []

    def descend(self, *, max_steps: int | None, interrupted: Callable[[], bool], progress: Progress) -> State:
        """Refine until neither party has a valid and beneficial candidate."""
        loop = self._loop
        loop.begin()
        self._compare_leaves(0)
        while loop.state.stopped is None:
            number = len(loop.state.steps) + 1
            stops = self._stops(number, interrupted)
            step = loop.best(stops)
            theirs, stop = self._exchange_scores(number, step, stop=step is None and stops())
            mine = self._offer(step)
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

    def _stops(self, number: int, interrupted: Callable[[], bool]) -> Callable[[], bool]:
        """Give what tells whether this side stops here; a round that is repeated ends as it did."""
        past = self._transport.stopped(number)
        return interrupted if past is None else lambda: bool(past)

    def _offer(self, step: RefinementStep | None) -> Offer | None:
        if step is None:
            return None
        score = step.score if self._bits is None else float(level(step.score, self._bits))
        return Offer(step.candidate[0], score)

    def _exchange_scores(
        self, number: int, step: RefinementStep | None, *, stop: bool
    ) -> tuple[Offer | None, bool]:
        """Say what the best candidate here is worth, and hear it of the partner's; and whether one stops."""
        fields: dict[str, int | float | bool | None] = dict.fromkeys(("score", "level", "attribute"))
        if step is not None:
            fields["attribute"] = step.candidate[0]
            offered = step.score if self._bits is None else level(step.score, self._bits)
            fields["score" if self._bits is None else "level"] = offered
        mine = Message("SCORE", number, {"candidate": step is not None, "stop": False, **fields})
        self._transport.send(stopping(number) if stop else mine)
        received = self._received("SCORE", number)
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
        self._transport.send(Message("WIN", number, fields, column))
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
        win = self._received("WIN", number)
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
        self._transport.send(Message("DIGEST", number, {"leaves": digest}))
        if self._received("DIGEST", number).fields["leaves"] != digest:
            raise ProtocolError(
                f"After step {number} the classes of both parties are not of the same sizes.",
                "Check that both tables hold the same people, and let both run the same version.",
                reason="digest",
            )

    def _received(self, kind: str, number: int) -> Message:
        message = self._transport.receive(kind)  # type: ignore[arg-type]
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
