"""TDS2P: one party's run over its own columns and the partner's unknown ones, from HELLO to the release.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI (slide 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Statement, bind, sql
from ppdm_sql.errors import PeerError, PpdmError, ProtocolError
from ppdm_sql.methods.base.arrays import registered
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, coded_columns, read_source
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.generalize import GeneralizationRun
from ppdm_sql.methods.top_down.loop import RefinementStep, State
from ppdm_sql.methods.top_down.maskings import Masking, Suppression
from ppdm_sql.methods.top_down.outcome import Move, Outcome, as_lists, outcome_of
from ppdm_sql.methods.two_party import messages, records
from ppdm_sql.methods.two_party.connection import AGREED, BYE, FAREWELL, Line, garbage, word_for
from ppdm_sql.methods.two_party.messages import Link, Message, impossible
from ppdm_sql.methods.two_party.partner import LeafMeasure, Partner, learn
from ppdm_sql.methods.two_party.request import IntegrateRequest, Ownership
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release import Draft, Release

TIED = SLACK = 1e-9
"""Scores this near the better one, as a share of it, are tied with it, as in a run by one party; by so much
may one that a party names miss what the records say, as it is floating point."""
LOWEST, HIGHEST = -64.0, 8.0
"""Logarithms to base 2 of the scores between which levels lie; a gain has at most a few bits."""
LEFT = "The release is published here, but {}drop it here with ppdm drop and run both again."
UNCONFIRMED = LEFT.format("the partner has not confirmed that it is there; if it is not, ")
NOT_THERE = LEFT.format("not on the partner's side, whose run failed; ")
NOT_HERE = "othing is published here, but the partner may have published the release."
AFTER_THE_LAST_WORD = "If the partner has the release, let it drop it with ppdm drop; then run both again."


def integrate(
    engine: Engine,
    table: str,
    request: IntegrateRequest,
    connect: Callable[[], AbstractContextManager[Line]],
    progress: Progress,
    transcript: Path | None = None,
) -> Release:
    """Publish the release that both end with; on a fault tell the partner, and say who may have published."""
    engine.require_autocommit()
    count = engine.number(sql("SELECT count(*) FROM {t}", t=engine.find(table)), step="count records")
    with closing(Link(count, transcript)) as link:
        run = IntegrationRun(engine, table, request, link, progress)
        with connect() as link.line:
            engine.committed = False
            try:
                release = run.publish()
            except BaseException as error:
                if engine.committed:  # such as Ctrl-C, which was heard after the commit
                    link.line.timeout = min(link.line.timeout, FAREWELL)
                    _part(link, progress)
                    raise
                link.line.stop(word_for(error))
                if not link.agreed or link.line.stopped:
                    raise
                if isinstance(error, PeerError):
                    problem = f"{error.problem[:-1]} at the last word: n{NOT_HERE}"
                    raise PeerError(problem, AFTER_THE_LAST_WORD) from None
                progress.notice(f"N{NOT_HERE} {AFTER_THE_LAST_WORD}")
                raise
            _part(link, progress)
            return release


def _part(link: Link, progress: Progress) -> None:
    try:
        link.agree(BYE)
    except PpdmError:
        warn(progress, NOT_THERE if link.line.stopped else UNCONFIRMED)


# -- what a candidate is worth to both ------------------------------------------------------------

Offer = tuple[float, int]
"""The best candidate of one party: its score, or the level of it, and its attribute."""


def level(score: float, bits: int) -> int:
    """Quantise a score: its logarithm in equal steps, 0 for a score of 0."""
    if score <= 0:
        return 0
    top = (1 << bits) - 1
    share = (math.log2(score) - LOWEST) / (HIGHEST - LOWEST)
    return min(max(1 + math.floor(share * (top - 1)), 1), top)


def step_factor(bits: int) -> float:
    return float(2 ** ((HIGHEST - LOWEST) / ((1 << bits) - 2)))


def beats(mine: Offer | None, theirs: Offer | None) -> bool:
    """Tell which offer wins: the larger score, on a tie the attribute that comes first."""
    if mine is None or theirs is None:
        return theirs is None
    if abs(mine[0] - theirs[0]) <= TIED * max(mine[0], theirs[0]):
        return mine[1] < theirs[1]
    return mine[0] > theirs[0]


class IntegrationRun(GeneralizationRun):
    counts_rows = None
    advises = False

    def __init__(
        self, engine: Engine, source: str, request: IntegrateRequest, link: Link, progress: Progress
    ) -> None:
        self.integration, self.link = request, link
        super().__init__(engine, source, request.refinement(), progress)
        self.method = "TDS2P"

    def described(self) -> dict[str, Column]:
        own = list(super().described().values())
        self._ownership = Ownership.of(self.integration, own, self.source)
        return dict(self._ownership.described)

    def asked_again(self) -> dict[str, object]:
        return {}  # a policy asks one party alone

    @cached_property
    def _own(self) -> list[int]:
        return [place for place, name in enumerate(self.attributes) if name in self._ownership.own]

    @cached_property
    def _theirs(self) -> list[int]:
        return [place for place in range(len(self.attributes)) if place not in self._own]

    @property
    def classes(self) -> int:
        return self.atoms.position(str(self.roles.class_column))

    def shows_symbol(self, name: str) -> bool:
        """The partner looks after its own columns."""
        return name in self._ownership.own and super().shows_symbol(name)

    def reading(self) -> AbstractContextManager[None]:
        """Keep no transaction open while the partner works."""
        return nullcontext()

    def read(self) -> Atoms:
        """Agree with the partner on terms and records, and code the records in their common order."""
        here = {place: item for place, item in enumerate(self.coded) if place not in self._theirs}
        names = {item.name for item in (*self._ownership.key, *here.values())}
        columns = [item for item in self.engine.columns(self.table) if item.name in names]
        # no transaction is kept open while the partner works, so what is read twice is read from a copy
        self.rows = read_source(self.engine, self.table, columns, copy=True)
        key = records.key_text(self.engine, self._ownership.key, self.integration.secret)
        table, dictionaries, mine, theirs = self._exchange_terms(here, key)
        records.check_terms(mine, theirs, self.attributes)
        if (mine["records"], mine["order"]) != (theirs["records"], theirs["order"]):
            records.check_narrowing(mine, theirs)
            query = bind("two_party/key_digests", tables={"records": table})
            key_digests = self.engine.arrays(query, step="key_digests")["digest"]
            digests = np.frombuffer(b"".join(map(bytes, key_digests)), f"V{messages.KEY_BYTES}")
            keys = self.link.exchange(Message("KEYS", 0, {"records": len(digests)}, digests))
            if keys.column is None or not len(keys.column) == theirs["records"] == keys.fields["records"]:
                raise garbage("another number of keys than it has records")
            needs = [item.name for item in columns]
            self.rows = records.common_records(self.engine, self.rows, key, needs, keys.column)
            common = self.engine.size(self.rows)
            if not common:
                raise records.others(mine, theirs, "No key is known to both.")
            if not mine["intersect"]:
                raise records.others(mine, theirs, f"{common} keys are known to both.")
            table, dictionaries, mine, theirs = self._exchange_terms(here, key)
        records.check_shared(mine, theirs)
        unknown = {place: Dictionary(self.coded[place], table, 0, False) for place in self._theirs}
        coded = unknown | dict(dictionaries)
        return Atoms(table, tuple(coded[place] for place in sorted(coded)), (), mine["records"])

    def _exchange_terms(
        self, items: Mapping[int, Column], key: Statement
    ) -> tuple[Table, Mapping[int, Dictionary], records.Terms, records.Terms]:
        """Put the records in order, and exchange with the partner what each must know of the other."""
        request, symbol = self.integration, self.integration.symbol
        columns = list(items.values())
        coded = coded_columns(self.engine, self.rows, columns, None, masked=self.beside_symbol, symbol=symbol)
        dictionaries = dict(zip(items, coded, strict=True))
        table, count, order = records.ordered_records(
            self.engine, self.rows, key, dictionaries, shown=self.source
        )
        shared = {place: item for place, item in dictionaries.items() if place not in self._own}
        rules = (request.boundary, request.max_steps, request.score_bits)
        ties = f"ties within {TIED} go to the first attribute"
        mine = {
            "requirements": messages.digest_of([str(requirement) for requirement in self.requirements]),
            "settings": messages.digest_of([str(self.roles.class_column), symbol, *rules, ties]),
            "owns": self._own,
            "match": request.match,
            "intersect": request.intersect,
            "records": count,
            "order": order,
            "shared": records.shared_digest(self.engine, table, shared),
            "version": messages.VERSION,
        }
        return table, dictionaries, mine, self.link.exchange(Message("HELLO", 0, mine)).fields

    def masking(self, position: int, name: str) -> Masking:
        if position in self._own:
            mask = super().masking(position, name)
            if isinstance(mask, Suppression):
                return InText(mask.dictionary, mask.counts, mask.symbol)
            return mask
        classes, coded = records.codes_of(self.engine, self.atoms.table, self.classes), self.atoms.coded
        root = np.bincount(classes, minlength=coded[self.classes].size)
        return Partner(coded[position], [root], np.zeros_like(classes), classes, self.request.symbol)

    @cached_property
    def _partners(self) -> Mapping[int, Partner]:
        return {place: cast(Partner, self.maskings[place]) for place in self._theirs}

    def make_measure(self) -> LeafMeasure:
        self._measure = LeafMeasure(self.engine, self.atoms, self.constraints)
        return self._measure

    def descend(self, interrupted: Callable[[], bool]) -> State:
        """Refine in turns with the partner, until neither has a valid and beneficial candidate."""
        for name in self._ownership.idle:
            self.progress.warn(f"Column {name!r} is in no requirement, so it is not released.")
        self._numbers = {place: {self.maskings[place].root: 0} for place in self._own}
        self._loop = loop = self.loop()
        passed_over = list[float | None]()
        loop.begin()
        self._compare_leaves(0)
        while loop.state.stopped is None:
            number = len(loop.state.steps) + 1
            step = loop.best(interrupted)
            mine, theirs, stop = self._exchange_offers(number, step, stop=step is None and interrupted())
            if stop:
                loop.stop("interrupted")
            elif mine is None and theirs is None:
                loop.stop("complete")
            elif number - 1 == self.request.max_steps:
                loop.stop("max-steps")
            else:
                won = step is not None and beats(mine, theirs)
                passed_over.append(None if step is None or won else step.score)
                if step is not None and won:
                    self._perform(number, step)
                else:
                    self._follow(number, cast(Offer, theirs))
                self._compare_leaves(number)
                loop.report(self.progress)
        self._round, self._stopped = len(loop.state.steps) + 1, loop.state.stopped
        self.atoms = self._join_partners()
        self._tell_deviations(passed_over, loop.state)
        return loop.state

    def _exchange_offers(
        self, number: int, step: RefinementStep | None, *, stop: bool
    ) -> tuple[Offer | None, Offer | None, bool]:
        """Exchange with the partner what the best candidate of each is worth, and whether one stops."""
        bits, mine = self.integration.score_bits, None
        measure, other = ("score", "level") if bits is None else ("level", "score")
        fields: dict[str, Any] = {"candidate": step is not None, "stop": stop}
        fields |= dict.fromkeys(("score", "level", "attribute"))
        if step is not None:
            score = step.score if bits is None else level(step.score, bits)
            mine = float(score), step.candidate[0]
            fields |= {measure: score, "attribute": step.candidate[0]}
        answer = self.link.exchange(Message("SCORE", number, fields)).fields
        stop = stop or answer["stop"]
        if not answer["candidate"]:
            return mine, None, stop
        if answer["attribute"] not in self._partners or answer[other] is not None:
            raise impossible("The partner sent a score for what it does not own, or in another measure.")
        return mine, (float(answer[measure]), answer["attribute"]), stop

    def _perform(self, number: int, step: RefinementStep) -> None:
        """Specialize an own value, and tell the partner each record's child, from 1; 0 where it stays."""
        attribute, candidate = step.candidate
        cut, numbers = self._loop.state.cuts[attribute], self._numbers[attribute]
        (node, _), parts, after = cut.specialization(candidate), cut.split(candidate), cut.refine(candidate)
        child_of_code = np.where(cut.nodes == node, 0, -1)
        for place, codes in enumerate(parts, start=1):
            child_of_code[codes] = place
            numbers[int(after.nodes[codes[0]])] = len(numbers)
        child, params = recoded(f"c{attribute}", child_of_code, "child", "INTEGER")
        query = f"SELECT {child} AS child FROM {self.atoms.table}"
        column = self.engine.arrays(query, params, step="children")["child"]
        fields = {"attribute": attribute, "value": numbers[node], "children": len(parts)}
        children = column[column >= 0].astype(np.min_scalar_type(len(parts)))
        self.link.send(Message("WIN", number, fields, children))
        self._measure.split(attribute, np.maximum(column, 0), len(parts))
        self._loop.perform(step)

    def _follow(self, number: int, theirs: Offer) -> None:
        """Specialize a value of the partner's, as it says, and hold it against what it offered."""
        (offer, place), bits = theirs, self.integration.score_bits
        win = self.link.receive("WIN", number)
        attribute, value, children = (win.fields[name] for name in ("attribute", "value", "children"))
        if attribute != place or win.column is None:
            raise impossible("The partner sent a specialization of another column than it had offered.")
        partner, before = self._partners[attribute], self._loop.state.numbers
        child, gain = partner.specialize(value, children, win.column)
        self._measure.split(attribute, child, children)
        numbers = self._measure.state(self._loop.state.cuts)
        if not bool(self.constraints.valid(numbers)):
            raise impossible("The partner sent a specialization that breaks a requirement.")
        loss = float(self._loop.loss.of(attribute, before, numbers[None, :])[0])
        score = gain / (loss + 1)
        fair = abs(offer - score) <= SLACK * max(1.0, score)
        if bits is not None:
            fair = offer in [level(score * (1 + slack), bits) for slack in (-SLACK, SLACK)]
        if not fair:
            raise impossible("The partner sent a score that the records do not bear out.")
        step = attribute, len(partner.specializations) - 1
        self._loop.follow(RefinementStep(step, offer if bits is None else score, gain, loss), numbers)

    def _compare_leaves(self, number: int) -> None:
        remedy = "Check that both tables hold the same people, and let both run the same version."
        problem = f"After step {number} the classes of both parties are not of the same sizes."
        self._compare(number, self._measure.digest(), problem, remedy)

    def _compare(self, number: int, digest: str, problem: str, remedy: str) -> None:
        if self.link.exchange(Message("DIGEST", number, {"leaves": digest})).fields["leaves"] != digest:
            raise ProtocolError(problem, remedy, reason="digest")

    def _join_partners(self) -> Atoms:
        if not self._partners:
            return self.atoms
        partners, atoms = self._partners, self.atoms
        with registered(self.engine, {f"c{i}": partners[i].values for i in partners}) as view:
            query = f"SELECT * EXCLUDE (key) FROM {atoms.table} POSITIONAL JOIN {view}"
            table = self.engine.materialize("joined", query)
        coded = enumerate(atoms.coded)
        sizes = (replace(of, size=len(partners[i].rows)) if i in partners else of for i, of in coded)
        return replace(atoms, table=table, coded=tuple(sizes))

    def _tell_deviations(self, passed_over: Sequence[float | None], state: State) -> None:
        """Measure what comparing by few bits has changed, as far as this party can see it."""
        bits = self.integration.score_bits
        self._deviations: list[information.Row] = []
        if bits is None:
            return
        pairs = zip(passed_over, state.steps, strict=True)
        better = [(mine, step.score) for mine, step in pairs if mine is not None]
        factors = [mine / best if best else math.inf for mine, best in better if mine > best * (1 + SLACK)]
        worst = max(factors, default=1.0)
        self._deviations = [
            ("steps in which a better candidate was passed over", 0.0, float(len(factors))),
            ("largest factor by which it was better", 1.0, worst),
        ]
        self.progress.notice(
            f"Scores were compared by {bits} bits: in {len(factors)} steps a better candidate of this party "
            f"was passed over, by a factor of {worst:.4g} at most; {step_factor(bits):.4g} is possible."
        )

    def outcome(self, cuts: Sequence[Cut], moves: Sequence[Move]) -> Outcome:
        """Name the values that are shown, hear the partner's names, and gather it all."""
        outcome = outcome_of(self.engine, self.atoms, self.maskings, cuts, moves)
        values = [
            (place, numbers[node], node)
            for place, numbers in self._numbers.items()
            for node in sorted(set(cuts[place].nodes.tolist()), key=numbers.__getitem__)
        ]
        query = bind("two_party/names", tables={"labels": outcome.labels})
        rows = self.engine.query(query, as_lists(("attribute", "number", "node"), values), step="names")
        recodings = [self._masking_name(self.attributes[place]) for place in self._own]
        names = as_lists(("attribute", "value", "label"), rows) | {"owned": self._own, "recoding": recodings}
        learn(self._partners, self.link.exchange(Message("LABELS", self._round, names)).fields)
        return outcome_of(self.engine, self.atoms, self.maskings, cuts, moves)

    def draft(self, transformed: State) -> Draft:
        draft = super().draft(transformed)
        measures = tuple(
            (name, None if before is None or math.isnan(before) else before, after)
            for name, before, after in draft.measures
            if after is not None and not math.isnan(after)
        )
        agree = partial(self.link.agree, AGREED)
        return replace(draft, measures=measures, accept=partial(self._agree, draft), settle=agree)

    @property
    def audited_columns(self) -> Sequence[str]:
        """Own columns: what is true of the partner's, the partner's audit says."""
        return self._ownership.own

    def _agree(self, draft: Draft, rows: exp.Select) -> Sequence[information.Row]:
        """Hold the rows against the own table, and make sure that the partner is to publish the same ones."""
        measures = draft.accept(rows) if draft.accept is not None else ()
        digest = messages.release_digest(self.engine, rows, str(self._stopped))
        remedy = "Let both run the same version of ppdm-sql; report this if it happens twice."
        problem = "The partner's release is another one, so nothing was published."
        self._compare(self._round, digest, problem, remedy)
        messages.record(self.engine, self.integration.into, self.link.entries)
        return measures

    def parameters(self) -> dict[str, object]:
        kinds = {self.attributes[place]: partner.recoding for place, partner in self._partners.items()}
        kinds |= {name: self._masking_name(name) for name in self._ownership.own}
        parties = ([self.attributes[place] for place in places] for places in (self._own, self._theirs))
        return {
            "recoding": {name: kinds[name] for name in self.attributes},
            "parties": sorted(parties, key=lambda names: [*map(self.attributes.index, names)]),
            "boundary": self.integration.boundary,
            "match": self.integration.match,
            "intersect": self.integration.intersect,
            "score_bits": self.integration.score_bits,
        }

    def release_measures(self, outcome: Outcome) -> Sequence[information.Row]:
        """Give the measures that one party can take: before, those of its own columns, and no more."""
        whats = ("class information", "values disclosed", "generalized information loss")
        own = {f"{what}: {name}" for what in whats for name in self._ownership.own}
        theirs = {f"values disclosed: {self.attributes[place]}" for place in self._theirs}
        rows = [row for row in super().release_measures(outcome) if row[0] not in theirs]
        return [*self._deviations, *((name, before if name in own else None, n) for name, before, n in rows)]


class InText(Suppression):
    """Suppression that shows values as text even where all are disclosed, as the partner must."""

    def is_whole(self, cut: Cut) -> bool:
        return False
