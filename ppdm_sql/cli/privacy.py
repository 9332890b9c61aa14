"""``ppdm privacy``: scales of noise and privacy levels, both ways."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, cast

import typer

from ppdm_sql.cli.output import Debug, Format, OutputFormat, Titled, print_tables
from ppdm_sql.cli.parameters import range_of
from ppdm_sql.errors import InvalidOption, check_choice
from ppdm_sql.methods.perturbation.privacy_level import (
    CONFIDENCES,
    METRICS,
    Metric,
    interval_width,
    level_of,
    scale_for,
    width_factor,
)
from ppdm_sql.privacy.quoting import read_share

EXAMPLE = "ppdm privacy gaussian --scale 2500 --range 20000,150000"
UNITS = {"cells": "width of a cell", "uniform": "2a, the width of the noise", "gaussian": "sigma"}
"""The unit of each row of Table 1."""


def privacy(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[gaussian|uniform|cells]", help="Kind of noise; without it, Table 1 is printed."
        ),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale", metavar="X", help="Sigma, half the width of uniform noise, or the width of a cell."
        ),
    ] = None,
    level: Annotated[
        str | None, typer.Option("--level", metavar="P", help="A privacy level, such as 100%.")
    ] = None,
    range_: Annotated[
        str | None, typer.Option("--range", metavar="LOW,HIGH", help="All possible values of the column.")
    ] = None,
    confidence: Annotated[
        str, typer.Option("--confidence", metavar="P", help="Confidence at which levels are stated.")
    ] = "95%",
    form: OutputFormat = Format.table,
    debug: Debug = False,
) -> None:
    """If one can say with some confidence that a value lies in an interval, the width of that interval is the
    privacy at that confidence; the level is its share of the range.

    Examples:
    ppdm privacy
    ppdm privacy gaussian --scale 2500 --range 20000,150000
    ppdm privacy uniform --level 100% --range 20000,150000 --confidence 99.9%
    """
    if kind is None:
        if scale is not None or level is not None or range_ is not None:
            raise InvalidOption("There is no noise to compute with.", f"Write {EXAMPLE}.")
        print_tables([table_1()], form)
        return
    check_choice("noise", kind, METRICS)
    print_tables([_computed(cast(Metric, kind), scale, level, range_, confidence)], form)


def table_1() -> Titled:
    """Give Table 1: the width of the interval at three confidences, by noise."""
    rows = [
        (metric, *(width_factor(metric, confidence) for confidence in CONFIDENCES), UNITS[metric])
        for metric in METRICS
    ]
    return "", ("noise", *(f"{100 * confidence:g} %" for confidence in CONFIDENCES), "in units of"), rows


def _computed(kind: Metric, scale: float | None, level: str | None, range_: str | None, at: str) -> Titled:
    """Give scale, level and the width of the interval."""
    if (scale is None) == (level is None) or range_ is None:
        raise InvalidOption(
            "Give either the scale of the noise or a level, and the range of the column.",
            f"Write {EXAMPLE}, or --level 100% instead of --scale.",
        )
    _, (lower, upper) = range_of(f"column={range_}")
    width, confidence = _width(lower, upper), float(read_share(at, "--confidence"))
    found = scale_for(kind, _positive(read_share(level, "--level")), width, confidence) if level else scale
    assert found is not None
    _positive(found)
    row = (
        kind,
        found,
        level_of(kind, found, width, confidence),
        confidence,
        interval_width(kind, found, confidence),
    )
    return "", ("noise", "scale", "level", "confidence", "width of the interval"), [row]


def _width(lower: str, upper: str) -> float:
    try:
        width = float(upper) - float(lower)
    except ValueError:
        width = 0.0
    if not 0 < width < float("inf"):
        raise InvalidOption("The range is not two ascending numbers.", "Write it as --range 20000,150000.")
    return width


def _positive(number: float | Fraction) -> float:
    if not 0 < number < float("inf"):
        raise InvalidOption("There is no noise of that size.", "Give a --scale or --level above 0.")
    return float(number)
