"""The arrays in which methods hold codes, counts of records, scores and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table

Codes = NDArray[np.int64]
"""Small whole numbers that stand for values, parts or nodes."""
Counts = NDArray[np.int64]
"""Numbers of records."""
Floats = NDArray[np.float64]
"""Scores, shares, entropies, probabilities and covariances."""


@contextmanager
def registered(engine: Engine, columns: Mapping[str, NDArray[Any]]) -> Iterator[Table]:
    """Let statements read arrays as a table, while the context lasts; bytes are a binary column."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    view, arrived = f"ppdm_arrived_{id(columns):x}", {}
    for name, found in columns.items():
        if found.dtype.kind == "V":
            buffers = [None, pa.py_buffer(found)]
            arrived[name] = pa.Array.from_buffers(pa.binary(found.dtype.itemsize), len(found), buffers)
        else:
            arrived[name] = pa.array(found)
    engine.connection.register(view, pa.table(arrived))
    try:
        yield Table(view)
    finally:
        engine.connection.unregister(view)
