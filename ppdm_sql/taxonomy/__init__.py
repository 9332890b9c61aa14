"""Taxonomies of values: read from files, tables and mappings, drafted, stored, matched with a column."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ppdm_sql.taxonomy.model import Interval, Taxonomy
    from ppdm_sql.taxonomy.suggesting import suggest
    from ppdm_sql.taxonomy.tables import (
        check_intervals,
        leaf_codes,
        read_taxonomy,
        uncovered_values,
        write_taxonomy,
    )

__all__ = [
    "Interval",
    "Taxonomy",
    "check_intervals",
    "leaf_codes",
    "read_taxonomy",
    "suggest",
    "uncovered_values",
    "write_taxonomy",
]

_PLACES = {
    "Interval": "model",
    "Taxonomy": "model",
    "check_intervals": "tables",
    "leaf_codes": "tables",
    "read_taxonomy": "tables",
    "suggest": "suggesting",
    "uncovered_values": "tables",
    "write_taxonomy": "tables",
}
"""Where a name is: its module is imported when the name is first used, as suppression needs few of them."""


def __getattr__(name: str) -> object:
    """Import what a name stands for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
