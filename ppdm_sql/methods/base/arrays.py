"""The arrays in which methods hold codes, counts of records, scores and probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
"""Small whole numbers that stand for values, parts or nodes."""
Counts = NDArray[np.int64]
"""Numbers of records."""
Floats = NDArray[np.float64]
"""Scores, shares, entropies, probabilities and covariances."""
