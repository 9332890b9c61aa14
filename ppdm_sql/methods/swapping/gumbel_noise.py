"""Noise on the costs, so that which records were cheap to change does not tell which were changed."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine.statements import literal, render

HEX_DIGITS = 13
"""Hexadecimal digits of a hash that one draw uses: 52 bits, as many as a DOUBLE holds."""


def keyed_hash(seed: bytes, columns: Sequence[str], purpose: str) -> str:
    """Give SQL for a text hash of a row's key that nobody can compute without the seed.

    The purpose makes two uses independent.

    Example:
        >>> keyed_hash(b"s", ["w0"], "tie")
        "md5(concat_ws(',', '73tie', w0))"
    """
    start = render(literal(seed.hex() + purpose))
    return f"md5(concat_ws(',', {', '.join([start, *columns])}))"


def gumbel_noise(scale: float, seed: bytes, keys: Sequence[str], category: int) -> str:
    """Give SQL that adds a draw of the standard Gumbel distribution, times the scale, to a posterior.

    Choosing the best of values with Gumbel noise is choosing at random with probabilities proportional to
    ``exp(value / scale)``. The scale is in units of probability; 0 gives no noise.

    Example:
        >>> gumbel_noise(0.25, b"s", ["w0"], 1)[:70]
        " - round(0.25::DOUBLE * 1e9 * ln(-ln(((('0x' || substr(md5(concat_ws('"
    """
    if not scale:
        return ""
    digits = f"substr({keyed_hash(seed, keys, f'blur{category}')}, 1, {HEX_DIGITS})"
    uniform = f"((('0x' || {digits})::BIGINT + 0.5::DOUBLE) / {2.0 ** (4 * HEX_DIGITS)!r}::DOUBLE)"
    return f" - round({scale!r}::DOUBLE * 1e9 * ln(-ln({uniform})))"
