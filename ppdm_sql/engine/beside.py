"""A second connection, for when the owner of the first still reads a result from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import PpdmWarning

if TYPE_CHECKING:
    from ppdm_sql.engine.duckdb_engine import Engine

_SEEN = (
    "A result on this connection is not read to its end, so this ran on a connection beside it, which sees "
    "neither temporary tables nor what an open transaction has changed."
)


@contextmanager
def beside(engine: Engine) -> Iterator[None]:
    """Let an engine use a connection of its own, in the place where the owner's was last seen."""
    warnings.warn(_SEEN, PpdmWarning, stacklevel=2)
    owners, engine.connection = engine.connection, engine.connection.cursor()
    try:
        if engine.place is not None:
            engine.connection.execute(f"USE {'.'.join(map(quoted, engine.place))}").fetchall()
        yield
    finally:
        engine.connection.close()
        engine.connection = owners
