"""What both parties agree on before the first round: the terms, and their records in one order, by their key.

Keys never cross the line. Equal digests of all keys in order show that both hold the same records. Where they
differ, digests of the single keys are compared, if both parties allow it: plain ones, which somebody who can
list all keys can undo, or keyed ones (HMAC-SHA-256), which nobody can without the secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.keys import keyed_text, one_text, private
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Statement, bind, sql
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import InvalidSource, ProtocolError, no_records
from ppdm_sql.methods.base.arrays import registered
from ppdm_sql.methods.base.collapse import Dictionary, coded_rows, count_coded_records
from ppdm_sql.methods.two_party.messages import KEY_BYTES, VERSION, digest_of

FEW_KEYS, TIMES = 4_000_000, 16
"""So many keys are compared in any case; beyond that, so many times the records that there are here."""
Terms = Mapping[str, Any]
"""What one party says of itself in HELLO, in digests and numbers."""


def check_terms(mine: Terms, theirs: Terms, attributes: Sequence[str]) -> None:
    if theirs["version"] != VERSION:
        raise ProtocolError(
            f"The partner speaks version {theirs['version']} of the protocol, this is version {VERSION}.",
            "Install the same version of ppdm-sql on both sides.",
            reason="version",
        )
    same = {
        "requirements": "--require on both sides, in the same order, with the same spelling",
        "settings": "--class, --symbol, --boundary, --max-steps and --score-bits on both sides",
        "match": "--match on both sides",
    }
    for name, options in same.items():
        if mine[name] != theirs[name]:
            problem = f"The partner has another {'way to match keys' if name == 'match' else name}."
            raise ProtocolError(problem, f"Give the same {options}.", reason="parameters")
    for place, attribute in enumerate(attributes):
        if (place in mine["owns"]) == (place in theirs["owns"]):
            who = "Both parties own" if place in mine["owns"] else "Neither party owns"
            raise ProtocolError(
                f"{who} column {attribute!r}.",
                "Name each column of the requirements with --owns on one side, spelled as its table has it.",
                reason="parameters",
            )


def check_narrowing(mine: Terms, theirs: Terms) -> None:
    if mine["intersect"] != theirs["intersect"]:
        raise others(mine, theirs, "Only one party takes the records that both hold.")
    if not mine["intersect"] and mine["match"] == "plain":
        raise others(mine, theirs, "Their keys are not the same.")
    most = max(FEW_KEYS, TIMES * mine["records"])
    if theirs["records"] > most:
        raise ProtocolError(
            f"Here are {mine['records']} records, and the partner holds {theirs['records']}, of which this "
            f"side would compare {most} at most.",
            "Let the partner give a view of fewer people, such as those of the same region.",
            reason="records",
        )


def check_shared(mine: Terms, theirs: Terms) -> None:
    if mine["order"] != theirs["order"]:
        raise ProtocolError(
            "The records that both hold do not stand in the same order.",
            "Let both run the same version of ppdm-sql, with the same secret.",
            reason="order",
        )
    if mine["shared"] != theirs["shared"]:
        raise ProtocolError(
            "The class or a sensitive column is not the same in both tables.",
            "Let both hold the same values, in columns of the same name and type, for every key.",
            reason="records",
        )


def others(mine: Terms, theirs: Terms, why: str) -> ProtocolError:
    return ProtocolError(
        f"Here are {mine['records']} records, and the partner holds {theirs['records']}. {why}",
        "Give both tables the same people (and both sides the same secret), or --intersect on both sides.",
        reason="records",
    )


# -- the records in their common order ------------------------------------------------------------


def key_text(engine: Engine, key: Sequence[Column], secret: bytes | None) -> Statement:
    """Give the key of a record of ``s`` as text, by which records are sorted; NULL where a part is NULL."""
    text = one_text([without_enum(column(item.name, "s"), item.type) for item in key])
    return text if secret is None else keyed_text(text, *private(engine, secret))


def ordered_records(
    engine: Engine,
    source: Table,
    key: Statement,
    dictionaries: Mapping[int, Dictionary],
    *,
    shown: str,
) -> tuple[Table, int, str]:
    """Put the records in the order of their keys, as ``c<i>, ..., key, n``; count them, digest the keys."""
    codes, joins = coded_rows(dictionaries)
    rows = sql(
        "SELECT {columns}, CAST(1 AS UTINYINT) AS n FROM {source} AS s {joins} ORDER BY {place}",
        columns=[*codes, sql("{key} AS key", key=key)],
        source=source,
        joins=joins,
        place=len(dictionaries) + 1,
    )
    table = engine.materialize("records", rows)
    names = [f"c{position}" for position in dictionaries]
    if not count_coded_records(engine, table, names, "n", source=shown):
        raise no_records(shown)
    faults = engine.query(bind("two_party/key_faults", tables={"records": table}), step="key_faults")
    ((count, missing, repeated),) = faults
    if missing or repeated:
        raise InvalidSource(
            f"Of {count} records of {shown!r}, {missing} have no key, and {repeated} have the key of another "
            "one.",
            "Give a view in which every record has a key of its own.",
        )
    query = bind("two_party/key_order", tables={"records": table})
    ((order,),) = engine.query(query, step="key_order")
    return table, count, order


def shared_digest(engine: Engine, records: Table, shared: Mapping[int, Dictionary]) -> str:
    content: list[object] = []
    for position, dictionary in shared.items():
        values = bind("two_party/shared_values", tables={"dictionary": dictionary.table})
        ((digest,),) = engine.query(values, step="shared_values")
        codes = sha256(codes_of(engine, records, position).tobytes()).hexdigest()
        content.append([dictionary.column.name, dictionary.column.type, digest, codes])
    return digest_of(content)


def codes_of(engine: Engine, records: Table, position: int) -> NDArray[np.uint32]:
    query = f"SELECT c{position} AS code FROM {records}"
    return engine.arrays(query, step="codes")["code"].astype(np.uint32)


def common_records(
    engine: Engine, source: Table, key: Statement, columns: Sequence[str], digests: NDArray[Any]
) -> Table:
    with registered(engine, {"digest": digests}) as keys:
        query = sql(
            "SELECT {columns} FROM {source} AS s "
            "WHERE unhex(left(sha256({key}), {digits})) IN (SELECT digest FROM {keys})",
            columns=[column(name, "s") for name in dict.fromkeys(columns)],
            source=source,
            key=key,
            digits=2 * KEY_BYTES,
            keys=keys,
        )
        return engine.materialize("common", query)
