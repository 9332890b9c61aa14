"""Taxonomies of values: read from files, tables and mappings, drafted, stored, matched with a column."""

from ppdm_sql.taxonomy.model import Taxonomy

__all__ = ["Taxonomy"]
