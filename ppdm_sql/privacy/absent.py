"""What is said of protected values that their column does not hold; they protect nobody."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.errors import UnknownValue, some
from ppdm_sql.privacy.quoting import Value

_MOST = 5
"""Values that a message names."""


def said_absent(column: str, values: Sequence[Value]) -> str:
    """Say which protected values a column does not hold, as the user wrote them.

    Example:
        >>> said_absent("Bankruptcy", ["discharged", None])
        "Column 'Bankruptcy' does not hold the protected values 'discharged', NULL."
    """
    named = some(["NULL" if value is None else repr(value) for value in values], _MOST)
    plural = "s" if len(values) > 1 else ""
    return f"Column {column!r} does not hold the protected value{plural} {named}."


def unknown_value(column: str, values: Sequence[Value]) -> UnknownValue:
    """Refuse protected values that a column does not hold: a misspelling would disclose everything."""
    return UnknownValue(
        said_absent(column, values),
        "Write each as the column holds it, capitals too, or give --allow-absent where that is meant.",
    )
