"""How strongly two confidential attributes hang together, which swapping them one by one does not keep."""

from __future__ import annotations

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.collapse import Atoms, counts_by_class


def cramers_v(engine: Engine, atoms: Atoms, first: int, second: int) -> float:
    """Measure the correlation of two coded columns by Cramér's V, in [0, 1].

    V is the square root of chi-squared over its largest possible value, n (min(rows, columns) - 1): 0 for
    columns that are independent, 1 where one follows from the other. It is not corrected for small tables, in
    which chance alone gives some correlation.

    Cost: one scan of the atoms; the two-way table comes to Python.
    Source: Cramér 1946, Mathematical Methods of Statistics, 21.9.
    """
    counts = counts_by_class(engine, atoms, [first], second)[first].astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    smaller = min(counts.shape) - 1
    if smaller < 1:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_squared / (counts.sum() * smaller)))
