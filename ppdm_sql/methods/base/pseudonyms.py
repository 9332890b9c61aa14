"""Keyed pseudonyms for direct identifiers, as one SQL expression.

HMAC-SHA-256 over the value's text, with a key drawn from the operating system for this run alone and
thrown away with it: within a release the same person has the same pseudonym, and nobody, the owner
included, can compute it again.
"""

from __future__ import annotations

import secrets

from sqlglot import exp

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
