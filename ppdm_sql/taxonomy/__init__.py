"""Taxonomies of values: read from files, tables and mappings, drafted, stored, matched with a column."""

from ppdm_sql.taxonomy.matching import check_intervals, leaf_codes, uncovered_values
from ppdm_sql.taxonomy.model import Interval, Taxonomy
from ppdm_sql.taxonomy.reading import read_taxonomy
from ppdm_sql.taxonomy.storing import write_taxonomy
from ppdm_sql.taxonomy.suggesting import suggest

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
