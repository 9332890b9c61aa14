"""Round numbers between two others."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal, InvalidOperation, localcontext

_EXACT = 80
"""Digits that every exact number type has room for."""

SAFE_DIGITS = {"FLOAT": 6, "DOUBLE": 15}
"""Digits that a number type keeps in every number; other types are exact."""


def roundest(above: str, upto: str, type_text: str) -> str:
    """Give the number with the fewest digits that is larger than one and at most the other.

    Args:
        above: A number as text.
        upto: A larger number as text; what is no finite number comes back as it is.
        type_text: The type of both.

    Example:
        >>> roundest("3103", "3137", "INTEGER"), roundest("0.2471", "0.2539", "DOUBLE")
        ('3130', '0.25')
    """
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
