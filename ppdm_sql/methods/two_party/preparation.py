"""The beginning of a run: both parties make sure that they want the same, and bring records in one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.base.collapse import Dictionary, coded_columns
from ppdm_sql.methods.two_party import agreement
from ppdm_sql.methods.two_party.agreement import Terms
from ppdm_sql.methods.two_party.messages import Message, Transport
from ppdm_sql.methods.two_party.record_matching import (
    OrderedRecords,
    common_records,
    digest_of,
    key_digests,
    key_text,
    ordered_records,
    shared_digest,
)
from ppdm_sql.methods.two_party.request import IntegrateRequest


@dataclass(frozen=True)
class Preparation:
    """What is agreed on before the first round.

    Args:
        engine: This party's database.
        shown: Name of this party's table, for messages.
        transport: The line to the partner.
        request: What this party asks.
        requirements: As they are written out, with names resolved.
        key: The columns of the key.
        attributes: Names of all attributes, in the order on which both agree.
        class_column: The class.
        held: The columns that this party holds, by position: own attributes, then what both hold.
        masked: Names of own columns in which the suppressed symbol can stand beside values.
    """

    engine: Engine
    shown: str
    transport: Transport
    request: IntegrateRequest
    requirements: Sequence[str]
    key: Sequence[Column]
    attributes: Sequence[str]
    class_column: str
    held: Mapping[int, Column]
    masked: Sequence[str]

    def gather(self, source: Table) -> tuple[Table, OrderedRecords, Mapping[int, Dictionary]]:
        """Agree with the partner, and code the records of a table in the order on which both agree.

        Returns:
            The rows of the table whose records both hold, then these records, then their values.
        """
        text = key_text(self.key, self.request.secret)
        records, dictionaries, mine = self._read(source, text)
        theirs = self._exchange(mine)
        agreement.check_terms(mine, theirs, self.attributes)
        if not agreement.same_records(mine, theirs):
            agreement.check_narrowing(mine, theirs)
            source = self._common(source, text, records, mine, theirs)
            records, dictionaries, mine = self._read(source, text)
            theirs = self._exchange(mine)
        agreement.check_shared(mine, theirs)
        return source, records, dictionaries

    def _read(
        self, source: Table, text: exp.Expression
    ) -> tuple[OrderedRecords, Mapping[int, Dictionary], Terms]:
        """Read the records, and say of them and of this party what the partner must know."""
        engine, request, held = self.engine, self.request, self.held
        columns, symbol = list(held.values()), request.symbol
        found = coded_columns(engine, source, columns, None, masked=self.masked, symbol=symbol)
        dictionaries = dict(zip(held, found, strict=True))
        records = ordered_records(engine, source, text, dictionaries, shown=self.shown)
        shared = {place: found for place, found in dictionaries.items() if place >= len(self.attributes)}
        rules = (request.boundary, request.max_steps, request.score_bits)
        asked = agreement.settings(self.class_column, symbol, *rules)
        terms = Terms(
            requirements=digest_of(list(self.requirements)),
            settings=digest_of(asked),
            owns=tuple(place for place in held if place < len(self.attributes)),
            match=request.match,
            intersect=request.intersect,
            records=records.count,
            order=records.order,
            shared=shared_digest(engine, records, shared),
        )
        return records, dictionaries, terms

    def _exchange(self, mine: Terms) -> Terms:
        self.transport.send(mine.message())
        return Terms.of(self.transport.receive("HELLO"))

    def _common(
        self, source: Table, text: exp.Expression, records: OrderedRecords, mine: Terms, theirs: Terms
    ) -> Table:
        """Compare keys, and keep the records that both hold if both want that."""
        digests = key_digests(self.engine, records)
        self.transport.send(Message("KEYS", 0, {"records": len(digests)}, digests))
        keys = self.transport.receive("KEYS").column
        needed = [item.name for item in (*self.key, *self.held.values())]
        common = common_records(self.engine, source, text, needed, keys)
        query = bind("two_party/record_count", tables={"source": common})
        ((found,),) = self.engine.query(query, step="common")
        agreement.check_common(mine, theirs, found)
        return common
