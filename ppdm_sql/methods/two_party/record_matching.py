"""Puts the records of both parties in one order, by their key, and finds out whether they are the same.

Keys never cross the line. Equal digests of all keys in order show that both hold the same records. Where they
differ, digests of the single keys are compared, if both parties allow it: plain ones, which somebody who can
list all keys can undo, or keyed ones (HMAC-SHA-256), which nobody can without the secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from ppdm_sql.errors import InvalidSource, no_records
from ppdm_sql.methods.base.collapse import Dictionary, coded_rows
from ppdm_sql.methods.base.pseudonyms import BLOCK_BYTES, pseudonym
from ppdm_sql.methods.base.source import count_coded_records
from ppdm_sql.methods.two_party.messages import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]


@dataclass(frozen=True)
class OrderedRecords:
    """The records of one party in the agreed order.

    Args:
        table: Working table ``c<i>, ..., key, n``: codes by position, the key as text, and 1.
        count: How many they are.
        order: Digest of the keys in order.
    """

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
    """Code the records and put them in the order of their keys; the source is called as it is shown.

    Raises:
        InvalidSource: No records, or records without a key or with another's; how many is said.

    Cost: one scan of the source, one sort, two scans of the keys.
    """
    query = coded_rows(source, dictionaries).select(alias(key.copy(), "key"), copy=False)
    query.select(alias(exp.cast(literal(1), "UTINYINT", dialect="duckdb"), "n"), copy=False)
    query.set("order", exp.Order(expressions=[exp.Literal.number(len(dictionaries) + 1)]))
    table = engine.materialize("records", query)
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
    return OrderedRecords(table, count, _digest(engine, "key_order", table))


def _digest(engine: Engine, step: str, table: Table) -> str:
    query = bind(f"two_party/{step}", tables={"records": table})
    ((digest,),) = engine.query(query, step=step)
    return str(digest)


def shared_digest(engine: Engine, records: OrderedRecords, shared: Mapping[int, Dictionary]) -> str:
    """Give a digest of the columns that both parties hold, record by record.

    Cost: one scan of the codes.
    """
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
