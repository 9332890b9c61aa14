"""Settings of the connection on which statements rely."""

from __future__ import annotations

from ppdm_sql.engine import statements

ORDINARY = {
    "integer_division": False,
    "default_order": "ASCENDING",
    "default_null_order": "NULLS_LAST",
    "default_collation": "",
    "preserve_insertion_order": True,
}
"""Settings that change what a statement means, with the values under which ours are written."""


def setting(name: str, value: object) -> str:
    """Write the statement that changes a setting."""
    literal = statements.render(statements.literal(value))  # type: ignore[arg-type]
    return f"SET {name} = {literal}"
