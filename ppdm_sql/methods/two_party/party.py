"""TDS2P: one party's run over its own columns and the partner's unknown ones, from HELLO to the release.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import bind, literal
from ppdm_sql.errors import PeerError, ProtocolError
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, coded_columns
from ppdm_sql.methods.base.source import read_source
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.generalize import GeneralizationRun
from ppdm_sql.methods.top_down.loop import State
from ppdm_sql.methods.top_down.maskings import Masking, Suppression
from ppdm_sql.methods.top_down.outcome import Move, Outcome, outcome_of
from ppdm_sql.methods.two_party.connection import FAREWELL, Line
from ppdm_sql.methods.two_party.failures import garbage, word_for
from ppdm_sql.methods.two_party.leaf_partition import LeafMeasure
from ppdm_sql.methods.two_party.messages import Message
from ppdm_sql.methods.two_party.partner import Numbering, Partner, learn, names
from ppdm_sql.methods.two_party.records import (
    TIES,
    OrderedRecords,
    Terms,
    check_common,
    check_narrowing,
    check_shared,
    check_terms,
    codes_of,
    common_records,
    digest_of,
    key_digests,
    key_text,
    ordered_records,
    registered,
    shared_digest,
)
from ppdm_sql.methods.two_party.request import IntegrateRequest, Ownership
from ppdm_sql.methods.two_party.rounds import Rounds, step_factor
from ppdm_sql.methods.two_party.transcripts import Link, record, release_digest
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release import Draft, Release, ReleasedColumn

UNCONFIRMED = (
    "The release is published here, but the partner has not confirmed that it is there; if it is not, drop it"
    " here with ppdm drop and run both again."
)
NOT_THERE = (
    "The release is published here, but not on the partner's side, whose run failed; drop it here with ppdm "
    "drop and run both again."
)
NOT_HERE = "nothing is published here, but the partner may have published the release."
AFTER_THE_LAST_WORD = "If the partner has the release, let it drop it with ppdm drop; then run both again."


def integrate(
    engine: Engine,
    table: str,
    request: IntegrateRequest,
    opened: Callable[[], AbstractContextManager[Line]],
    progress: Progress,
    transcript: Path | None = None,
) -> Release:
    """Integrate this party's table with the partner's, and publish the release that both end with.

    Args:
        engine: This party's database.
        table: Its table or view.
        request: What it asks; the partner must ask for the same.
        opened: Opens the line to the partner, once what can be checked alone is checked.
        progress: Told what the run is doing.
        transcript: A file to write each message to as it crosses.

    Raises:
        GuaranteeNotMet: No generalization meets the requirements.
        PeerError: The partner is gone, or says nothing for too long.
        ProtocolError: The partner asks for something else, holds other records, or says what cannot be.
        PpdmError: An option, a column or the table cannot be used. On any error nothing is published here.

    Cost: two scans of the table and one sort; a scan of two columns for each column and round; the audit of
    the own columns.
    """
    engine.require_autocommit()
    count = bind("two_party/record_count", tables={"source": engine.find(table)})
    ((records,),) = engine.query(count, step="count records")
    with closing(Link(int(records), transcript)) as link:
        run = IntegrationRun(engine, table, request, link, progress)
        with opened() as link.line:
            return _publish(run, link, progress)


def _publish(run: IntegrationRun, link: Link, progress: Progress) -> Release:
    """Run; on a fault tell the partner, and say which side has published where only one may have."""
    run.engine.committed = False
    try:
        release = run.publish()
    except BaseException as error:
        if run.engine.committed:  # such as Ctrl-C, which was heard after the commit
            link.line.timeout = min(link.line.timeout, FAREWELL)
            _part(link, progress)
            raise
        link.line.stop(word_for(error))
        if not link.agreed or link.line.stopped:
            raise
        if not isinstance(error, PeerError):
            progress.notice(f"{NOT_HERE[0].upper()}{NOT_HERE[1:]} {AFTER_THE_LAST_WORD}")
            raise
        problem = f"{error.problem[:-1]} at the last word: {NOT_HERE}"
        raise PeerError(problem, AFTER_THE_LAST_WORD) from None
    _part(link, progress)
    return release


def _part(link: Link, progress: Progress) -> None:
    """Hear whether the partner has published, too."""
    if not link.farewell():
        warn(progress, NOT_THERE if link.line.stopped else UNCONFIRMED)


class IntegrationRun(GeneralizationRun):
    """A run that masks own columns, and follows what the partner does with its own."""

    counts_rows = None
    advises = False

    def __init__(
        self,
        engine: Engine,
        source: str,
        request: IntegrateRequest,
        link: Link,
        progress: Progress,
    ) -> None:
        self.asked, self.link = request, link
        super().__init__(engine, source, request.refinement(), progress)
        self.method = "TDS2P"

    # -- whose columns they are ---------------------------------------------------------------------

    def described(self) -> dict[str, Column]:
        """Describe the columns of the release: those of the requirements, then those that both hold."""
        own = list(super().described().values())
        self._ownership = Ownership.of(self.asked, own, self.source)
        return dict(self._ownership.described)

    @cached_property
    def _own(self) -> list[int]:
        return [place for place, name in enumerate(self.attributes) if name in self._ownership.own]

    @cached_property
    def _theirs(self) -> list[int]:
        return [place for place in range(len(self.attributes)) if place not in self._own]

    @property
    def classes(self) -> int:
        """Position of the class attribute, which an integration always has."""
        return self.atoms.position(str(self.roles.class_column))

    def codes(self) -> Sequence[str]:
        """A guess could differ from the partner's, who sees other columns."""
        return ()

    def shows_symbol(self, name: str) -> bool:
        """The partner looks after its own columns."""
        return name in self._ownership.own and super().shows_symbol(name)

    def reading(self) -> AbstractContextManager[None]:
        """Keep no transaction open while the partner works."""
        return nullcontext()

    def read(self) -> Atoms:
        """Agree with the partner on terms and records, and code the records in their common order."""
        held = {place: item for place, item in enumerate(self.coded) if place not in self._theirs}
        needed = {item.name for item in (*self._ownership.key, *held.values())}
        columns = [item for item in self.engine.columns(self.table) if item.name in needed]
        # no transaction is kept open while the partner works, so what is read twice is read from a copy
        self.rows = read_source(self.engine, self.table, columns, copy=True)
        key = key_text(self._ownership.key, self.asked.secret)
        records, found, mine = self._said(held, key)
        theirs = Terms.of(self.link.exchange(mine.message()))
        check_terms(mine, theirs, self.attributes)
        if (mine.records, mine.order) != (theirs.records, theirs.order):
            check_narrowing(mine, theirs)
            self.rows = self._common([item.name for item in columns], key, records, mine, theirs)
            records, found, mine = self._said(held, key)
            theirs = Terms.of(self.link.exchange(mine.message()))
        check_shared(mine, theirs)
        unknown = {place: Dictionary(self.coded[place], records.table, 0, False) for place in self._theirs}
        coded = unknown | dict(found)
        return Atoms(records.table, tuple(coded[place] for place in sorted(coded)), (), records.count)

    def _said(
        self, held: Mapping[int, Column], key: exp.Expression
    ) -> tuple[OrderedRecords, Mapping[int, Dictionary], Terms]:
        """Put the records in order, and say of them and of this party what the partner must know."""
        asked, symbol = self.asked, self.asked.symbol
        columns = list(held.values())
        found = coded_columns(self.engine, self.rows, columns, None, masked=self.beside_symbol, symbol=symbol)
        dictionaries = dict(zip(held, found, strict=True))
        records = ordered_records(self.engine, self.rows, key, dictionaries, shown=self.source)
        shared = {place: found for place, found in dictionaries.items() if place not in self._own}
        rules = (asked.boundary, asked.max_steps, asked.score_bits)
        terms = Terms(
            requirements=digest_of([str(requirement) for requirement in self.requirements]),
            settings=digest_of([str(self.roles.class_column), symbol, *rules, TIES]),
            owns=tuple(self._own),
            match=asked.match,
            intersect=asked.intersect,
            records=records.count,
            order=records.order,
            shared=shared_digest(self.engine, records, shared),
        )
        return records, dictionaries, terms

    def _common(
        self, needed: Sequence[str], key: exp.Expression, records: OrderedRecords, mine: Terms, theirs: Terms
    ) -> Table:
        """Compare keys, and keep the records that both hold if both want that."""
        digests = key_digests(self.engine, records)
        keys = self.link.exchange(Message("KEYS", 0, {"records": len(digests)}, digests))
        if keys.column is None or not len(keys.column) == theirs.records == keys.fields["records"]:
            raise garbage("another number of keys than it has records")
        common = common_records(self.engine, self.rows, key, needed, keys.column)
        query = bind("two_party/record_count", tables={"source": common})
        ((found,),) = self.engine.query(query, step="common")
        check_common(mine, theirs, found)
        return common

    # -- the descent --------------------------------------------------------------------------------

    def masking(self, position: int, name: str) -> Masking:
        """Mask own columns; of the partner's only the name is known."""
        if position in self._own:
            found = super().masking(position, name)
            if isinstance(found, Suppression):
                return InText(found.dictionary, found.counts, found.symbol)
            return found
        shown = np.zeros(self.atoms.records, dtype=np.uint32)
        no_counts = np.zeros((1, self.atoms.coded[self.classes].size), dtype=np.int64)
        return Partner(self.atoms.coded[position], shown, self.request.symbol, no_counts)

    @cached_property
    def _partners(self) -> Mapping[int, Partner]:
        found = {place: self.maskings[place] for place in self._theirs}
        return {place: masking for place, masking in found.items() if isinstance(masking, Partner)}

    def make_measure(self) -> LeafMeasure:
        self._measure = LeafMeasure(self.engine, self.atoms, self.constraints, self.classes)
        self._before = self._measure.information(None)
        return self._measure

    def descend(self, interrupted: Callable[[], bool]) -> State:
        """Refine in turns with the partner, then hear what became of its columns."""
        progress = self.progress
        for name in self._ownership.idle:
            progress.warn(f"Column {name!r} is in no requirement, so it is not released.")
        own = {place: Numbering(self.maskings[place].root) for place in self._own}
        rounds = Rounds(
            self.engine,
            self.atoms.table,
            self.loop(),
            self._measure,
            self.constraints,
            own,
            self._partners,
            self.link,
            self.asked.score_bits,
        )
        state = rounds.descend(max_steps=self.request.max_steps, interrupted=interrupted, progress=progress)
        self._numberings, self._round = own, len(state.steps) + 1
        self._stopped = state.stopped or "complete"
        self.atoms = self._joined()
        classes = codes_of(self.engine, self.atoms.table, self.classes)
        for partner in self._partners.values():
            partner.count(classes)
        state = rounds.settled(state)
        self._tell_deviations(rounds.deviations(state), progress)
        return state

    def _joined(self) -> Atoms:
        """Put the numbers of the partner's values beside the own codes."""
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        if not self._partners:
            return self.atoms
        columns = {f"c{place}": pa.array(partner.shown) for place, partner in self._partners.items()}
        own = ", ".join([*(f"c{i}" for i in range(len(self.coded)) if i not in self._theirs), "n"])
        with registered(self.engine, columns) as arrived:
            query = f"SELECT {own}, {', '.join(columns)} FROM {self.atoms.table} POSITIONAL JOIN {arrived}"
            table = self.engine.materialize("joined", query)
        coded = list(self.atoms.coded)
        for place, partner in self._partners.items():
            coded[place] = replace(coded[place], size=partner.made)
        return replace(self.atoms, table=table, coded=tuple(coded))

    def _tell_deviations(self, factors: Sequence[float], progress: Progress) -> None:
        """Measure what comparing by few bits has changed, as far as this party can see it."""
        bits = self.asked.score_bits
        self._deviations: list[information.Row] = []
        if bits is None:
            return
        worst = max(factors, default=1.0)
        self._deviations = [
            ("steps in which a better candidate was passed over", 0.0, float(len(factors))),
            ("largest factor by which it was better", 1.0, worst),
        ]
        progress.notice(
            f"Scores were compared by {bits} bits: in {len(factors)} steps a better candidate of this party "
            f"was passed over, by a factor of {worst:.4g} at most; {step_factor(bits):.4g} is possible."
        )

    # -- the release --------------------------------------------------------------------------------

    def outcome(self, cuts: Sequence[Cut], moves: Sequence[Move]) -> Outcome:
        """Name the values that are shown, hear the partner's names, and gather it all."""
        outcome = outcome_of(self.engine, self.atoms, self.maskings, cuts, moves)
        sent = names(self.engine, self._round, outcome.labels, self._numberings, self.maskings, cuts)
        learn(self._partners, self.link.exchange(sent))
        return outcome_of(self.engine, self.atoms, self.maskings, cuts, moves)

    def draft(self, transformed: State) -> Draft:
        """Write down the release, which is committed once the partner has the same rows."""
        draft = super().draft(transformed)
        known = [(name, _known(before), _known(after)) for name, before, after in draft.measures]
        measured = [row for row in known if row[2] is not None]
        accept = partial(self._agree, draft)
        return replace(draft, measures=tuple(measured), accept=accept, settle=self.link.agree)

    @property
    def audited(self) -> Sequence[str]:
        """Own columns: what is true of the partner's, the partner's audit says."""
        return self._ownership.own

    def _accepted(
        self,
        rows: exp.Select,
        released: Sequence[ReleasedColumn],
        outcomes: tuple[Outcome, Outcome],
        cuts: Table,
        trees: Table,
        person: str | None,
    ) -> Sequence[information.Row]:
        """Let the audit compare the own columns, and the class, with the own table."""
        cuts, trees = self._of_own(cuts), self._of_own(trees)
        return super()._accepted(rows, released, outcomes, cuts, trees, person)

    def _of_own(self, recorded: Table) -> Table:
        query = exp.select("*").from_(recorded.expression())
        names = [literal(name) for name in self.audited]
        return self.engine.overlay(query.where(exp.In(this=column("attribute"), expressions=names)))

    def _agree(self, draft: Draft, rows: exp.Select) -> Sequence[information.Row]:
        """Hold the rows against the own table, and make sure that the partner is to publish the same ones."""
        measured = draft.accept(rows) if draft.accept is not None else ()
        digest = release_digest(self.engine, rows, self._stopped)
        received = self.link.exchange(Message("DIGEST", self._round, {"leaves": digest}))
        if received.fields["leaves"] != digest:
            raise ProtocolError(
                "The partner's release is another one, so nothing was published.",
                "Let both run the same version of ppdm-sql; report this if it happens twice.",
                reason="digest",
            )
        record(self.engine, self.asked.into, self.link.entries)
        return measured

    def parameters(self) -> dict[str, object]:
        """Give how each attribute is masked, whose it is, and how the parties compared keys and scores."""
        kinds = {self.attributes[place]: partner.recoding for place, partner in self._partners.items()}
        kinds |= {name: self._masking_name(name) for name in self._ownership.own}
        parties = ([self.attributes[place] for place in places] for places in (self._own, self._theirs))
        return {
            "recoding": {name: kinds[name] for name in self.attributes},
            "parties": sorted(parties, key=lambda owned: [*map(self.attributes.index, owned)]),
            "boundary": self.asked.boundary,
            "match": self.asked.match,
            "intersect": self.asked.intersect,
            "score_bits": self.asked.score_bits,
        }

    def release_measures(self, outcome: Outcome) -> Sequence[information.Row]:
        """Give the measures that one party can take: before, those of its own columns, and no more."""
        whats = ("class information", "values disclosed", "generalized information loss")
        seen = {f"{what}: {name}" for what in whats for name in self._ownership.own}
        theirs = {f"values disclosed: {self.attributes[place]}" for place in self._theirs}
        rows = [row for row in super().release_measures(outcome) if row[0] not in theirs]
        return [*self._deviations, *((name, before if name in seen else None, n) for name, before, n in rows)]


class InText(Suppression):
    """Suppression that shows values as text even where all are disclosed, as the partner must."""

    def is_whole(self, cut: Cut) -> bool:
        return False


def _known(number: float | None) -> float | None:
    return None if number is None or np.isnan(number) else number
