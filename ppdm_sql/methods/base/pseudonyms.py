"""Keyed pseudonyms for direct identifiers, as one SQL expression, and records split off by such digests.

HMAC-SHA-256 over the value's text, with a key drawn from the operating system for this run alone and
thrown away with it: within a release the same person has the same pseudonym, and nobody, the owner
included, can compute it again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column, free_name
from ppdm_sql.engine.source import check_counts, check_persons
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import InvalidOption

BLOCK_BYTES = 64


def pseudonym(value: exp.Expression, key: bytes | None = None) -> exp.Expression:
    """Give the expression of a value's pseudonym, 64 hexadecimal digits; NULL stays NULL.

    Source: RFC 2104, with SHA-256.
    """
    return keyed_pseudonym(value, *map(_bytes, padded(key)))


def padded(key: bytes | None = None) -> tuple[bytes, bytes]:
    """Give the inner and the outer padded key, of at most 64 bytes; None draws a fresh one."""
    filled = (key or secrets.token_bytes(32)).ljust(BLOCK_BYTES, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in filled) for pad in (0x36, 0x5C))
    return inner, outer


def keyed_pseudonym(value: exp.Expression, inner: exp.Expression, outer: exp.Expression) -> exp.Expression:
    """Give the expression of a value's pseudonym by the two padded keys."""
    text = exp.Anonymous(this="encode", expressions=[exp.cast(value, "TEXT")])
    return _sha256(_joined(outer, exp.Anonymous(this="unhex", expressions=[_sha256(_joined(inner, text))])))


def _bytes(data: bytes) -> exp.Expression:
    return exp.Anonymous(this="unhex", expressions=[exp.convert(data.hex())])


def _joined(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Paren(this=exp.DPipe(this=left, expression=right))


def _sha256(data: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="sha256", expressions=[data])


# -- records that are split off before a run looks at the source: people who are not in the release --------


def split_off(
    engine: Engine,
    source: Table,
    person: Sequence[str],
    count: str | None,
    share: Fraction,
    *,
    source_name: str,
) -> tuple[Table, Table]:
    """Split a share of the persons, or of the records, off a source; nobody can compute again which.

    They come first by HMAC-SHA-256, with a key that is drawn for this run and thrown away. Both
    tables have the columns of the source, and last as long as the workspace. Cost: two copies of the source,
    and a sort of a digest for each record.
    """
    names = [item.name for item in engine.columns(source)]
    row, copy, place = (column(free_name(name, names)) for name in ("row", "copy", "place"))
    copies = sql("[1]")
    if count is not None:
        check_counts(engine, source, count)
        copies = sql("range({n})", n=column(count))
    if person:
        check_persons(engine, source, person)
    who: exp.Expression = exp.cast(
        exp.Anonymous(this="row", expressions=[column(name) for name in person] or [row, copy]), "TEXT"
    )
    numbered = sql(
        "SELECT *, unnest({copies}) AS {copy} FROM (SELECT *, row_number() OVER () AS {row} FROM {source})",
        copies=copies,
        copy=copy,
        row=row,
        source=source,
    )
    placed = engine.materialize(
        "placed",
        sql(
            "SELECT *, dense_rank() OVER (ORDER BY {digest}) AS {place} FROM ({numbered})",
            digest=pseudonym(who),
            place=place,
            numbered=numbered,
        ),
    )
    ((persons,),) = engine.query(sql("SELECT max({p}) FROM {t}", p=place, t=placed), step="persons") or [(0,)]
    number = round(share * (persons or 0))
    if not 0 < number < (persons or 0):
        of = "persons" if person else "records"
        raise InvalidOption(
            f"--control {float(share):.6g} splits {number} of the {persons or 0} {of} of {source_name!r}.",
            "Give a share that leaves some on both sides.",
        )
    shown = [column(name) for name in names if name != count]
    counted = [] if count is None else [sql("count(*) AS {n}", n=column(count))]
    order = [column(name) for name in names]

    def part(condition: str) -> Table:
        query = sql(
            "SELECT {columns} FROM (SELECT {shown} FROM {t} WHERE {p} " + condition + " {number} {grouped})",
            columns=order,
            shown=[*shown, *counted],
            t=placed,
            p=place,
            number=number,
            grouped=sql("") if count is None else sql("GROUP BY {row}, {shown}", row=row, shown=shown),
        )
        return engine.materialize("split", query)

    return part(">"), part("<=")
