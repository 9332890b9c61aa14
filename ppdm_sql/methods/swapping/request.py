"""What is asked of a run of swapping, and how its options are read."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.engine.names import option_for
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.request import Request
from ppdm_sql.privacy.quoting import Number, read_share

Edges = Sequence[object]

METHODS = ("exact", "greedy")
PHASES = ("joint", "separate")


@dataclass(frozen=True, kw_only=True)
class SwapRequest(Request):
    """What the owner asks of a run; see :meth:`ppdm_sql.Database.swap` for each."""

    confidential: Sequence[str]
    by: Sequence[str]
    proportion: Number | Mapping[str, Number]
    method: str = "exact"
    phase1: str = "joint"
    per_group: Number = 1
    share: tuple[Number, Number] | None = None
    blur: float = 0.0
    smoothing: float = 0.0
    bins: int | Mapping[str, int | Edges] | None = None
    seed: int | None = None
    class_column: str | None = None


def proportion_of(request: SwapRequest, name: str) -> Fraction:
    """Give the proportion of the uniquely identifiable records to change for one attribute.

    Raises:
        InvalidOption: None is given for it, or it is not in (0, 1].
    """
    asked = request.proportion
    given = asked.get(name, asked.get("")) if isinstance(asked, Mapping) else asked
    if given is None:
        raise InvalidOption(
            f"No proportion is given for {name!r}.",
            f"Give {option_for('--proportion', name, '0.5')}, or one for all.",
        )
    return read_share(given, "--proportion", "(0, 1]")


def per_group(number: Number) -> int | Fraction:
    """Read how many records of a group are changed: a whole number of them, or a share.

    Raises:
        InvalidOption: It is no positive whole number, and no share in (0, 1].

    Example:
        >>> per_group("2"), per_group("50%"), per_group(0.5)
        (2, Fraction(1, 2), Fraction(1, 2))
    """
    text = str(number).strip()
    found = read_share(number, "--per-group")
    is_share = text.endswith("%") or not isinstance(number, int) and ("." in text or "/" in text)
    if found <= 0 or (is_share and found > 1) or (not is_share and found.denominator != 1):
        raise InvalidOption(
            f"{text!r} records of a group cannot be changed.",
            "Give --per-group 1 or more, or a share such as 50%.",
        )
    return found if is_share else int(found)


def share_of(given: tuple[Number, Number] | None) -> tuple[Fraction, Fraction] | None:
    """Read the least and the largest changed share of a category.

    Raises:
        InvalidOption: They are not two shares in order.
    """
    if given is None:
        return None
    low, high = (read_share(number, "--share", "[0, 1]") for number in given)
    if low > high:
        raise InvalidOption(
            f"--share {float(low):g},{float(high):g} is not a range of shares.",
            "Write it as --share 0.4,0.6.",
        )
    return low, high


def master_key(seed: int | None) -> bytes:
    """Give the key that every random choice of a run is derived from: drawn afresh, or from a given seed."""
    if seed is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(f"ppdm swap {seed}".encode()).digest()


def attribute_key(key: bytes, name: str) -> bytes:
    """Derive the key of one attribute, whatever the order of the attributes.

    Example:
        >>> attribute_key(b"k", "a") == attribute_key(b"k", "b")
        False
    """
    return hmac.new(key, name.encode(), hashlib.sha256).digest()
