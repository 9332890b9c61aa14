"""Round numbers between two others."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal, InvalidOperation, localcontext

_EXACT = 80
"""Digits that every exact number type has room for."""

SAFE_DIGITS = {"FLOAT": 6, "DOUBLE": 15}
"""Digits that a number type keeps in every number; other types are exact."""


def roundest(above: str, upto: str, type_text: str) -> str:
    """Give the number with the fewest digits that is larger than one and at most the other."""
    try:
        low, high = Decimal(above), Decimal(upto)
    except InvalidOperation:
        return upto
    if not (low.is_finite() and high.is_finite()) or abs(high.adjusted()) > _EXACT // 2:
        return upto
    with localcontext(prec=2 * _EXACT):
        for exponent in range(high.adjusted() + 1, _exponent(high), -1):
            found = high.quantize(Decimal((0, (1,), exponent)), ROUND_FLOOR)
            if found > low:
                fits = len(found.as_tuple().digits) <= SAFE_DIGITS.get(type_text, _EXACT)
                return f"{found:f}" if fits else upto
    return upto


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
