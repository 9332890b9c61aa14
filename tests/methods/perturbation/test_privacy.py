"""The privacy calculator: Table 1 of the paper, and levels and scales both ways."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.privacy_level import (
    CONFIDENCES,
    METRICS,
    Metric,
    level_of,
    scale_for,
    width_factor,
)

PRINTED = {
    "cells": ("0.5", "0.95", "0.999"),
    "uniform": ("0.5", "0.95", "0.999"),
    "gaussian": ("1.34", "3.92", "6.8"),
}
"""Table 1 as printed: in widths of a cell, in 2a, in sigma."""


def one_of_the_digits(exact: float, printed: str) -> bool:
    """Whether a printed number is the exact one, rounded or cut off."""
    decimals = len(printed.partition(".")[2])
    unit = 10.0**-decimals
    return printed in (f"{exact:.{decimals}f}", f"{math.floor(exact / unit) * unit:.{decimals}f}")


@pytest.mark.parametrize("metric", METRICS)
def test_table_1_comes_out_to_its_printed_digits(metric: Metric) -> None:
    """But for one cell: 6.8 sigma for Gaussian noise at 99.9 %.

    An interval of 6.8 sigma holds a normal value with 99.933 %, of 6.58 sigma with 99.900 %: the print has
    lost a digit. 1.349 is cut off to 1.34 there, 3.9199 rounded to 3.92.
    """
    for confidence, printed in zip(CONFIDENCES, PRINTED[metric], strict=True):
        read = "6.58" if printed == "6.8" else printed
        assert one_of_the_digits(width_factor(metric, confidence), read), (metric, confidence)


def test_the_misprint_of_table_1_is_one() -> None:
    assert 2 * norm.cdf(6.8 / 2) - 1 == pytest.approx(0.99933, abs=1e-5)
    assert 2 * norm.cdf(6.58 / 2) - 1 == pytest.approx(0.999, abs=1e-5)


@given(
    st.sampled_from(METRICS),
    st.floats(1e-6, 1e9),
    st.floats(1e-3, 1e9),
    st.floats(0.01, 0.999),
)
def test_levels_and_scales_are_each_others_reverse(
    metric: Metric, scale: float, width: float, confidence: float
) -> None:
    level = level_of(metric, scale, width, confidence)
    assert scale_for(metric, level, width, confidence) == pytest.approx(scale, rel=1e-12)


@pytest.mark.parametrize("confidence", [0, 1, -1, 95, math.nan])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    with pytest.raises(InvalidOption, match="not between 0 and 1"):
        width_factor("uniform", confidence)
