"""Finds what the catalogue lists by its name: a release, or a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ppdm_sql.engine.names import plain_name
from ppdm_sql.errors import PpdmError, unknown

Listed = TypeVar("Listed")


def find_listed(
    rows: Mapping[str, Listed], name: str, *, what: str, error: type[PpdmError], none: str
) -> Listed:
    """Find a row by its name as it stands, else without regard to case."""
    name = plain_name(name, f"A {what}")
    found = rows.get(name) or {known.lower(): row for known, row in rows.items()}.get(name.lower())
    if found is None:
        here = f"{what.capitalize()}s here"
        raise unknown(error, f"There is no {what}", name, rows, here=here, none=none)
    return found
