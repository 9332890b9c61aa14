"""``ppdm privacy``: scales of noise and privacy levels, both ways."""

from fractions import Fraction
from typing import Annotated, cast

from ppdm_sql.cli.output import Debug, Format, OutputFormat, Titled, print_tables
from ppdm_sql.cli.parameters import range_of, takes
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
from ppdm_sql.options import Option, Options
from ppdm_sql.privacy.quoting import read_share

EXAMPLE = "ppdm privacy gaussian --scale 2500 --range 20000,150000"
UNITS = {"cells": "width of a cell", "uniform": "2a, the width of the noise", "gaussian": "sigma"}
"""The unit of each row of Table 1."""


class NoiseAsked(Options):
    kind: Annotated[
        str | None,
        "Kind of noise; without it, Table 1 is printed.",
        Option(metavar="[gaussian|uniform|cells]", flag=""),
    ] = None
    scale: Annotated[
        float | None, "Sigma, half the width of uniform noise, or the width of a cell.", Option(metavar="X")
    ] = None
    level: Annotated[str | None, "A privacy level, such as 100%.", Option(metavar="P")] = None
    range: Annotated[str | None, "All possible values of the column.", Option(metavar="LOW,HIGH")] = None
    confidence: Annotated[str, "Confidence at which levels are stated.", Option(metavar="P")] = "95%"


@takes()
def privacy(request: NoiseAsked, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """If one can say with some confidence that a value lies in an interval, the width of that interval is the
    privacy at that confidence; the level is its share of the range.

    Examples:
    ppdm privacy
    ppdm privacy gaussian --scale 2500 --range 20000,150000
    ppdm privacy uniform --level 100% --range 20000,150000 --confidence 99.9%
    """
    if request.kind is None:
        if (request.scale, request.level, request.range) != (None, None, None):
            raise InvalidOption("There is no noise to compute with.", f"Write {EXAMPLE}.")
        print_tables([table_1()], form)
        return
    check_choice("noise", request.kind, METRICS)
    print_tables([_computed(cast(Metric, request.kind), request)], form)


def table_1() -> Titled:
    """Give Table 1: the width of the interval at three confidences, by noise."""
    rows = [
        (metric, *(width_factor(metric, confidence) for confidence in CONFIDENCES), UNITS[metric])
        for metric in METRICS
    ]
    return "", ("noise", *(f"{100 * confidence:g} %" for confidence in CONFIDENCES), "in units of"), rows


def _computed(kind: Metric, request: NoiseAsked) -> Titled:
    if (request.scale is None) == (request.level is None) or request.range is None:
        raise InvalidOption(
            "Give either the scale of the noise or a level, and the range of the column.",
            f"Write {EXAMPLE}, or --level 100% instead of --scale.",
        )
    _, (lower, upper) = range_of(f"column={request.range}")
    width, confidence = _width(lower, upper), float(read_share(request.confidence, "--confidence"))
    if request.level:
        scale = scale_for(kind, _positive(read_share(request.level, "--level")), width, confidence)
    else:
        scale = request.scale or 0
    scale = _positive(scale)
    level, interval = level_of(kind, scale, width, confidence), interval_width(kind, scale, confidence)
    heads = ("noise", "scale", "level", "confidence", "width of the interval")
    return "", heads, [(kind, scale, level, confidence, interval)]


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
