"""What both parties agree on before the first round: the terms, and their records in one order, by their key.

Keys never cross the line. Equal digests of all keys in order show that both hold the same records. Where they
differ, digests of the single keys are compared, if both parties allow it: plain ones, which somebody who can
list all keys can undo, or keyed ones (HMAC-SHA-256), which nobody can without the secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, literal
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import InvalidSource, ProtocolError, no_records
from ppdm_sql.methods.base.collapse import Dictionary, coded_rows
from ppdm_sql.methods.base.pseudonyms import BLOCK_BYTES, pseudonym
from ppdm_sql.methods.base.source import count_coded_records
from ppdm_sql.methods.two_party.messages import KEY_BYTES, VERSION, Message

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

TIED = 1e-9
"""Scores this near the better one, as a share of it, are tied with it, as in a run by one party."""
TIES = f"ties within {TIED} go to the first attribute"
"""As it is agreed."""
FEW_KEYS, TIMES = 4_000_000, 16
"""So many keys are compared in any case; beyond that, so many times the records that there are here."""


@dataclass(frozen=True)
class Terms:
    """What one party says of itself in HELLO, in digests and numbers."""

    requirements: str
    settings: str
    owns: tuple[int, ...]
    match: str
    intersect: bool
    records: int
    order: str
    shared: str
    version: int = VERSION

    def message(self) -> Message:
        return Message("HELLO", 0, {**vars(self), "owns": list(self.owns)})

    @classmethod
    def of(cls, message: Message) -> Terms:
        fields = dict(message.fields)
        return cls(**fields | {"owns": tuple(fields["owns"])})  # type: ignore[arg-type]


def check_terms(mine: Terms, theirs: Terms, attributes: Sequence[str]) -> None:
    """Refuse a partner that is asked for something else."""
    if theirs.version != mine.version:
        raise ProtocolError(
            f"The partner speaks version {theirs.version} of the protocol, this is version {mine.version}.",
            "Install the same version of ppdm-sql on both sides.",
            reason="version",
        )
    remedies = {
        "requirements": "Give the same --require on both sides, in the same order, with the same spelling.",
        "settings": "Give the same --class, --symbol, --boundary, --max-steps and --score-bits "
        "on both sides.",
        "match": "Give the same --match on both sides.",
    }
    for name, remedy in remedies.items():
        if getattr(mine, name) != getattr(theirs, name):
            what = {"match": "way to match keys"}.get(name, name)
            raise ProtocolError(f"The partner has another {what}.", remedy, reason="parameters")
    for place, attribute in enumerate(attributes):
        owners = (place in mine.owns) + (place in theirs.owns)
        if owners != 1:
            who = "Both parties own" if owners else "Neither party owns"
            raise ProtocolError(
                f"{who} column {attribute!r}.",
                "Name each column of the requirements with --owns on one side, spelled as its table has it.",
                reason="parameters",
            )


def check_narrowing(mine: Terms, theirs: Terms) -> None:
    """Refuse records that differ where the parties have not agreed to compare their keys."""
    if mine.intersect != theirs.intersect:
        raise _others(mine, theirs, "Only one party takes the records that both hold.")
    if not mine.intersect and mine.match == "plain":
        raise _others(mine, theirs, "Their keys are not the same.")
    most = max(FEW_KEYS, TIMES * mine.records)
    if theirs.records > most:
        raise ProtocolError(
            f"Here are {mine.records} records, and the partner holds {theirs.records}, of which this side "
            f"would compare {most} at most.",
            "Let the partner give a view of fewer people, such as those of the same region.",
            reason="records",
        )


def check_common(mine: Terms, theirs: Terms, common: int) -> None:
    """Refuse records that differ, once it is known how many are common."""
    if not common:
        raise _others(mine, theirs, "No key is known to both.")
    if not mine.intersect:
        raise _others(mine, theirs, f"{common} keys are known to both.")


def check_shared(mine: Terms, theirs: Terms) -> None:
    """Refuse tables that do not agree on what both must hold."""
    if mine.order != theirs.order:
        raise ProtocolError(
            "The records that both hold do not stand in the same order.",
            "Let both run the same version of ppdm-sql, with the same secret.",
            reason="order",
        )
    if mine.shared != theirs.shared:
        raise ProtocolError(
            "The class or a sensitive column is not the same in both tables.",
            "Let both hold the same values, in columns of the same name and type, for every key.",
            reason="records",
        )


def _others(mine: Terms, theirs: Terms, why: str) -> ProtocolError:
    return ProtocolError(
        f"Here are {mine.records} records, and the partner holds {theirs.records}. {why}",
        "Give both tables the same people (and both sides the same secret), or --intersect on both sides.",
        reason="records",
    )


# -- the records in their common order ------------------------------------------------------------


@dataclass(frozen=True)
class OrderedRecords:
    """The records of one party in the agreed order: ``c<i>, ..., key, n``, how many, a digest of the keys."""

    table: Table
    count: int
    order: str


def key_text(key: Sequence[Column], secret: bytes | None) -> exp.Expression:
    """Give the key of a record of ``s`` as text, by which records are sorted; NULL where a part is NULL.

    Example:
        >>> key_text([Column("SSN", "BIGINT")], None).sql("duckdb")
        'CAST("s"."SSN" AS TEXT)'
    """
    texts = [exp.cast(without_enum(column(item.name, "s"), item.type), "TEXT") for item in key]
    text = texts[0] if len(texts) == 1 else _joined([_measured(part) for part in texts])
    if secret is None:
        return text
    return pseudonym(text, secret if len(secret) <= BLOCK_BYTES else sha256(secret).digest())


def _measured(text: exp.Expression) -> exp.Expression:
    """Put a text's length before it, so that parts of a key cannot run into each other."""
    length = exp.cast(exp.Length(this=text.copy()), "TEXT")
    return _joined([length, literal(":"), text])


def _joined(parts: Sequence[exp.Expression]) -> exp.Expression:
    whole, *rest = parts
    for part in rest:
        whole = exp.DPipe(this=whole, expression=part)
    return exp.Paren(this=whole)


def ordered_records(
    engine: Engine,
    source: Table,
    key: exp.Expression,
    dictionaries: Mapping[int, Dictionary],
    *,
    shown: str,
) -> OrderedRecords:
    """Code the records and put them in the order of their keys; without a key each, they are refused."""
    rows = coded_rows(source, dictionaries).select(alias(key.copy(), "key"), copy=False)
    rows.select(alias(exp.cast(literal(1), "UTINYINT", dialect="duckdb"), "n"), copy=False)
    rows.set("order", exp.Order(expressions=[exp.Literal.number(len(dictionaries) + 1)]))
    table = engine.materialize("records", rows)
    codes = [f"c{position}" for position in dictionaries]
    if not count_coded_records(engine, table, codes, "n", source=shown):
        raise no_records(shown)
    found = engine.query(bind("two_party/key_faults", tables={"records": table}), step="key_faults")
    ((count, missing, repeated),) = found
    if missing or repeated:
        raise InvalidSource(
            f"Of {count} records of {shown!r}, {missing} have no key, and {repeated} have the key of another "
            "one.",
            "Give a view in which every record has a key of its own.",
        )
    query = bind("two_party/key_order", tables={"records": table})
    ((order,),) = engine.query(query, step="key_order")
    return OrderedRecords(table, count, str(order))


def shared_digest(engine: Engine, records: OrderedRecords, shared: Mapping[int, Dictionary]) -> str:
    """Give a digest of the columns that both parties hold, record by record; one scan of the codes."""
    described: list[object] = []
    for position, dictionary in shared.items():
        values = bind("two_party/shared_values", tables={"dictionary": dictionary.table})
        ((digest,),) = engine.query(values, step="shared_values")
        codes = sha256(codes_of(engine, records.table, position).tobytes()).hexdigest()
        described.append([dictionary.column.name, dictionary.column.type, digest, codes])
    return digest_of(described)


def codes_of(engine: Engine, records: Table, position: int) -> NDArray[np.uint32]:
    """Give the codes of one column, in the order of the records; one scan of the column."""
    query = f"SELECT c{position} AS code FROM {records}"
    return engine.arrays(query, step="codes")["code"].astype(np.uint32)


def digest_of(content: object) -> str:
    """Give the SHA-256 of what JSON can hold, as 64 hexadecimal digits."""
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def key_digests(engine: Engine, records: OrderedRecords) -> pa.Array:
    """Give a digest of each key, sorted."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    query = bind("two_party/key_digests", tables={"records": records.table})
    digests = engine.arrays(query, step="key_digests")["digest"]
    return pa.array([bytes(digest) for digest in digests], pa.binary(KEY_BYTES))


def common_records(
    engine: Engine, source: Table, key: exp.Expression, columns: Sequence[str], digests: pa.Array
) -> Table:
    """Write down the records whose keys are among the partner's, with the columns that are needed."""
    text = exp.Anonymous(this="sha256", expressions=[key.copy()])
    digest = exp.Anonymous(this="unhex", expressions=[exp.Left(this=text, expression=literal(2 * KEY_BYTES))])
    with registered(engine, {"digest": digests}) as known:
        there = exp.select(column("digest")).from_(known.expression())
        query = exp.select(*(column(name, "s") for name in dict.fromkeys(columns)))
        query = query.from_(aliased(source, "s"))
        return engine.materialize("common", query.where(exp.In(this=digest, query=there.subquery())))


@contextmanager
def registered(engine: Engine, columns: Mapping[str, pa.Array]) -> Iterator[Table]:
    """Let statements read Arrow arrays as a table, while the context lasts."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    view = f"ppdm_arrived_{id(columns):x}"
    engine.connection.register(view, pa.table(dict(columns)))
    try:
        yield Table(view)
    finally:
        engine.connection.unregister(view)
