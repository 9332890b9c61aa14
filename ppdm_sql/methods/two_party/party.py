"""TDS2P: one party's run over its own columns and the partner's unknown ones, from HELLO to the release.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import literal
from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.methods.base.source import read_source
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.generalize import GeneralizationRun
from ppdm_sql.methods.top_down.loop import State
from ppdm_sql.methods.top_down.maskings import Masking, Suppression
from ppdm_sql.methods.top_down.outcome import Move, Outcome, outcome_of
from ppdm_sql.methods.two_party import record_matching as matching
from ppdm_sql.methods.two_party.label_exchange import Numbering, learn, names
from ppdm_sql.methods.two_party.leaf_partition import LeafMeasure
from ppdm_sql.methods.two_party.messages import Message, Transport
from ppdm_sql.methods.two_party.ownership import Ownership
from ppdm_sql.methods.two_party.partner import Partner
from ppdm_sql.methods.two_party.preparation import Preparation
from ppdm_sql.methods.two_party.release_digest import release_digest
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.methods.two_party.rounds import Rounds
from ppdm_sql.methods.two_party.scores import step_factor
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Release, ReleasedColumn


def nothing() -> None:
    """Do nothing."""


def integrate(
    engine: Engine,
    table: str,
    request: IntegrateRequest,
    transport: Transport,
    progress: Progress,
    *,
    recorded: Callable[[], None] = nothing,
) -> Release:
    """Integrate this party's table with the partner's, and publish the release that both end with.

    Args:
        engine: This party's database.
        table: Its table or view.
        request: What it asks; the partner must ask for the same.
        transport: The connection to the partner, over which nothing was sent yet.
        progress: Told what the run is doing.
        recorded: Called in the transaction that publishes, once the partner has the same rows.

    Raises:
        GuaranteeNotMet: No generalization meets the requirements.
        PeerError: The partner is gone, or says nothing for too long.
        ProtocolError: The partner asks for something else, holds other records, or says what cannot be.
        PpdmError: An option, a column or the table cannot be used. On any error nothing is published.

    Cost: two scans of the table and one sort; a scan of two columns for each column and round; the audit of
    the own columns.
    """
    return IntegrationRun(engine, table, request, transport, recorded, progress).publish()


class IntegrationRun(GeneralizationRun):
    """A run that masks own columns, and follows what the partner does with its own."""

    counts_rows = None
    advises = False

    def __init__(
        self,
        engine: Engine,
        source: str,
        request: IntegrateRequest,
        transport: Transport,
        recorded: Callable[[], None],
        progress: Progress,
    ) -> None:
        self.asked, self.transport, self._recorded = request, transport, recorded
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
        """Positions of the attributes that this party brings in."""
        return [place for place, name in enumerate(self.attributes) if name in self._ownership.own]

    @cached_property
    def _theirs(self) -> list[int]:
        """Positions of the partner's attributes."""
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
        preparation = Preparation(
            engine=self.engine,
            shown=self.source,
            transport=self.transport,
            request=self.asked,
            requirements=[str(requirement) for requirement in self.requirements],
            key=self._ownership.key,
            attributes=self.attributes,
            class_column=str(self.roles.class_column),
            held={place: item for place, item in enumerate(self.coded) if place not in self._theirs},
            masked=self.beside_symbol,
        )
        needed = {item.name for item in (*preparation.key, *preparation.held.values())}
        columns = [item for item in self.engine.columns(self.table) if item.name in needed]
        # no transaction is kept open while the partner works, so what is read twice is read from a copy
        copied = read_source(self.engine, self.table, columns, copy=True)
        self.rows, records, found = preparation.gather(copied)
        unknown = {place: Dictionary(self.coded[place], records.table, 0, False) for place in self._theirs}
        coded = unknown | dict(found)
        return Atoms(records.table, tuple(coded[place] for place in sorted(coded)), (), records.count)

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
        """Measure the leaves of both parties' columns."""
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
            self.transport,
            self.asked.score_bits,
        )
        state = rounds.descend(max_steps=self.request.max_steps, interrupted=interrupted, progress=progress)
        self._numberings, self._round = own, len(state.steps) + 1
        self._stopped = state.stopped or "complete"
        self.atoms = self._joined()
        classes = matching.codes_of(self.engine, self.atoms.table, self.classes)
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
        with matching.registered(self.engine, columns) as arrived:
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
        self.transport.send(sent)
        learn(self._partners, self.transport.receive("LABELS"))
        return outcome_of(self.engine, self.atoms, self.maskings, cuts, moves)

    def draft(self, transformed: State) -> Draft:
        """Write down the release, which is committed once the partner has the same rows."""
        draft = super().draft(transformed)
        known = [(name, _known(before), _known(after)) for name, before, after in draft.measures]
        measured = [row for row in known if row[2] is not None]
        return replace(draft, measures=tuple(measured), accept=partial(self._agree, draft))

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
        """Give what is to be recorded of own columns."""
        query = exp.select("*").from_(recorded.expression())
        names = [literal(name) for name in self.audited]
        return self.engine.overlay(query.where(exp.In(this=column("attribute"), expressions=names)))

    def _agree(self, draft: Draft, rows: exp.Select) -> Sequence[information.Row]:
        """Hold the rows against the own table, and make sure that the partner is to publish the same ones."""
        measured = draft.accept(rows) if draft.accept is not None else ()
        digest = release_digest(self.engine, rows, self._stopped)
        self.transport.send(Message("DIGEST", self._round, {"leaves": digest}))
        if self.transport.receive("DIGEST").fields["leaves"] != digest:
            raise ProtocolError(
                "The partner's release is another one, so nothing was published.",
                "Let both run the same version of ppdm-sql; report this if it happens twice.",
                reason="digest",
            )
        self._recorded()
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
        """Whatever is disclosed, it is shown by its label."""
        return False


def _known(number: float | None) -> float | None:
    return None if number is None or np.isnan(number) else number
