"""How wide is the interval in which an original value lies: Table 1 of the paper, both ways.

If it can be estimated with confidence c that a value lies in an interval, the width of the interval is the
amount of privacy at confidence c. A privacy level is that width as a share of the range of the column.

Source: Agrawal, Srikant 2000, section 2.1, Table 1.
"""

from __future__ import annotations

from typing import Literal

from ppdm_sql.errors import InvalidOption

CONFIDENCE = 0.95
"""At which levels are stated unless another one is given."""
CONFIDENCES = (0.5, 0.95, 0.999)
"""Those of Table 1."""
Metric = Literal["gaussian", "uniform", "cells"]
METRICS: tuple[Metric, ...] = ("cells", "uniform", "gaussian")
"""The methods of Table 1, in its order."""


def width_factor(kind: Metric, confidence: float = CONFIDENCE) -> float:
    """Give the width of the confidence interval in the unit of Table 1: widths of a cell, 2a, or sigma."""
    if not 0 < confidence < 1:
        raise InvalidOption(
            f"A confidence of {confidence:g} is not between 0 and 1.", "Give --confidence 95%, for instance."
        )
    if kind != "gaussian":
        return confidence
    from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

    return float(2 * ndtri((1 + confidence) / 2))


def interval_width(kind: Metric, scale: float, confidence: float = CONFIDENCE) -> float:
    return width_factor(kind, confidence) * scale * (2 if kind == "uniform" else 1)


def level_of(kind: Metric, scale: float, width: float, confidence: float = CONFIDENCE) -> float:
    """Give the privacy level of a scale, for a column whose range has a width above 0; 1.0 is 100 %."""
    return interval_width(kind, scale, confidence) / width


def scale_for(kind: Metric, level: float, width: float, confidence: float = CONFIDENCE) -> float:
    return level * width / interval_width(kind, 1.0, confidence)
