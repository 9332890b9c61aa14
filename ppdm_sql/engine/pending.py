"""What killed runs may have left outside of the database: asked whenever one is opened."""

from __future__ import annotations

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.statements import text


def has_pending(engine: Engine) -> bool:
    """Tell whether a run may have left something outside of the database: the table is there only then."""
    ((is_pending,),) = engine.look_up(text("release/is_pending"), step="is_pending")
    return bool(is_pending)
