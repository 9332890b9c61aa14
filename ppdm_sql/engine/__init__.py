"""The one place that runs SQL. DuckDB now; another engine would stand beside it."""

from ppdm_sql.engine.duckdb_engine import Column, Engine, Rows, alone
from ppdm_sql.engine.types import type_title

__all__ = ["Column", "Engine", "Rows", "alone", "type_title"]
