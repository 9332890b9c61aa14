"""How much privacy is left once the distribution is known: the measure by entropy.

The privacy level of Table 1 tells only of the noise. Who reconstructs the distribution knows more: near the
end of the range, or where values are rare, the noisy value narrows the original one down further.

Source: Agrawal, Aggarwal 2001, "On the Design and Quantification of Privacy Preserving Data Mining
Algorithms", PODS, sections 2 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.histograms import Bins, histograms
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Noise,
    Retain,
    Uniform,
    noise_kind,
    released_values,
)
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn
from ppdm_sql.methods.perturbation.privacy_level import CONFIDENCE, Metric, interval_width, level_of
from ppdm_sql.methods.perturbation.reconstruction import (
    REACH,
    Grid,
    category_kernel,
    grid_for,
    holds_one_value,
    kernel,
    observed_grid,
    shift_probabilities,
)
from ppdm_sql.release import Moments
from ppdm_sql.release.layout import MeasureRow

FINER = 9
"""Cells of the noisy value to one of the original value, while that makes no more than a million."""
FUTILE = 100.0
"""Noise so many times wider than the grid tells nothing, to five digits."""


@dataclass(frozen=True)
class ConditionalPrivacy:
    # Pi(X), 2 to the entropy of the original value: the width of the even distribution that is as uncertain;
    # for whole numbers and categories the number of values
    before: float
    after: float  # Pi(X|Y), the same once the noisy value is known
    loss: float  # the share of `before` that is lost, in [0, 1]: 1 - after / before
    # mean width of the shortest interval that holds the original value with 95 % probability; None for
    # categories
    width: float | None = None
    # share of the records where it is below half of the nominal width; None for cells and categories
    short: float | None = None


def conditional_privacy(noise: Noise, grid: Grid | None, probabilities: ArrayLike) -> ConditionalPrivacy:
    """Measure what is left of a column's privacy for who knows noise and distribution.

    Source: Agrawal, Aggarwal 2001, section 2.
    """
    shares = np.asarray(probabilities, dtype=np.float64)
    shares = shares / shares.sum()
    if isinstance(noise, Cells):
        widths = np.diff(noise.edges)
        inside = float(shares @ np.log2(widths))
        return _privacy(entropy(shares) + inside, entropy(shares), CONFIDENCE * float(shares @ widths))
    if isinstance(noise, Retain):
        matrix = category_kernel(noise)
        information = entropy(matrix @ shares) - entropy(matrix[:, 0])
        return _privacy(entropy(shares), information)
    assert grid is not None
    before = entropy(shares) + math.log2(grid.width)
    widths, weights = _posterior_widths(noise, grid, shares)
    nominal = interval_width(cast(Metric, noise_kind(noise)), noise.scale)
    short = float(weights[widths < nominal / 2].sum())
    return _privacy(before, _information(noise, grid, shares), float(weights @ widths), short)


def entropy(shares: Floats) -> float:
    live = shares[shares > 0]
    return float(-(live @ np.log2(live))) + 0.0


def _privacy(
    before: float, information: float, width: float | None = None, short: float | None = None
) -> ConditionalPrivacy:
    information = max(information, 0.0)
    return ConditionalPrivacy(
        2.0**before, 2.0 ** (before - information), -math.expm1(-information * math.log(2)), width, short
    )


def _information(noise: AdditiveNoise, grid: Grid, shares: Floats) -> float:
    """Give the mutual information of original and noisy value, in bits."""
    reach = noise.scale if isinstance(noise, Uniform) else REACH * noise.scale
    if noise.scale > FUTILE * grid.width * grid.cells:
        return 0.0
    middle = holds_one_value(noise, grid)
    fine = 1 if middle and noise.rounded or reach / grid.width > 50_000 else FINER
    width, beyond = grid.width / fine, int(reach / grid.width * fine) + fine
    shifts = shift_probabilities(noise, width, np.arange(-beyond, beyond + 1), spread=not middle)[1]
    fine_shares = np.zeros((grid.cells, fine))
    if middle:
        fine_shares[:, fine // 2] = shares
        return entropy(np.convolve(fine_shares.ravel(), shifts)) - entropy(shifts)
    fine_shares[:] = shares[:, None] / fine
    # the entropy of the noise itself is the logarithm of this width
    own = noise.scale * (2 if isinstance(noise, Uniform) else math.sqrt(2 * math.pi * math.e))
    return entropy(np.convolve(fine_shares.ravel(), shifts)) + math.log2(width) - math.log2(own)


def _posterior_widths(noise: AdditiveNoise, grid: Grid, shares: Floats) -> tuple[Floats, Floats]:
    """Give the width of the shortest 95 % interval for each noisy cell, and the cell's probability."""
    joint = kernel(noise, grid, observed_grid(noise, grid)) * shares
    weights = joint.sum(axis=1)
    joint, weights = joint[weights > 0], weights[weights > 0]
    below = np.cumsum(np.pad(joint, ((0, 0), (1, 0))), axis=1) / weights[:, None]
    return _shortest(below, grid.edges()), weights / weights.sum()


def _shortest(below: Floats, edges: Floats) -> Floats:
    """Give the width of the shortest interval with 95 % for each row; one of its ends is an edge.

    All rows are read off one ascending curve, on which each row begins 2 above the one before.
    """
    curve = below + 2.0 * np.arange(len(below))[:, None]
    at = np.tile(edges, len(below))
    ends = np.interp((curve + CONFIDENCE).ravel(), curve.ravel(), at).reshape(curve.shape)
    starts = np.interp((curve - CONFIDENCE).ravel(), curve.ravel(), at).reshape(curve.shape)
    up = np.where(below <= below[:, -1:] - CONFIDENCE, ends - edges, np.inf)
    down = np.where(below >= CONFIDENCE, edges - starts, np.inf)
    return np.asarray(np.minimum(up.min(axis=1), down.min(axis=1)))


def noise_measures(name: str, noise: Noise) -> list[MeasureRow]:
    if isinstance(noise, Retain):
        true_share = noise.probability + (1 - noise.probability) / len(noise.values)
        return [(f"expected share of true values: {name}", 1.0, true_share)]
    if isinstance(noise, Cells):
        narrowest = min(b - a for a, b in pairwise(noise.edges))
        level = level_of("cells", narrowest, noise.edges[-1] - noise.edges[0])
        return [
            (f"cells: {name}", None, float(len(noise.edges) - 1)),
            (f"privacy level at 95 % confidence, in the narrowest cell: {name}", None, level),
        ]
    level = level_of(cast(Metric, noise_kind(noise)), noise.scale, noise.domain.width)
    return [
        (f"noise scale: {name}", None, noise.scale),
        (f"privacy level at 95 % confidence: {name}", None, level),
    ]


def moment_measures(before: Mapping[str, Moments], after: Mapping[str, Moments]) -> Iterator[MeasureRow]:
    for name in after:
        yield f"mean: {name}", before[name].mean, after[name].mean
        yield f"standard deviation: {name}", before[name].deviation, after[name].deviation


def column_measures(
    engine: Engine, table: Table, noisy: Sequence[NoisyColumn], records: int
) -> list[MeasureRow]:
    """Give, column by column, the noise, and what privacy is left for who knows it and the distribution.

    ``table`` holds what :meth:`~ppdm_sql.methods.perturbation.noisy_rows.NoisyRows.select` gives.

    Source: Agrawal, Aggarwal 2001, section 2.
    """
    bins = {
        f"{'r' if isinstance(it.noise, Cells) else 'x'}{i}": _bins(it.noise, records)
        for i, it in enumerate(noisy)
    }
    by_column = histograms(engine, table, bins).by_column
    measures: list[MeasureRow] = []
    for it, (working, grid) in zip(noisy, bins.items(), strict=True):
        measures += noise_measures(it.column.name, it.noise)
        counts: Floats = by_column[working][0].counts
        if counts.sum() > 0:
            measures += _remaining(it, grid if isinstance(grid, Grid) else None, counts)
    return measures


def _bins(noise: Noise, records: int) -> Bins:
    return grid_for(noise, records) if isinstance(noise, AdditiveNoise) else released_values(noise)


def _remaining(it: NoisyColumn, grid: Grid | None, counts: Floats) -> list[MeasureRow]:
    privacy, name = conditional_privacy(it.noise, grid, counts), it.column.name
    measures: list[MeasureRow] = [
        (f"entropy-based privacy: {name}", privacy.before, privacy.after),
        (f"entropy-based privacy loss: {name}", None, privacy.loss),
    ]
    if privacy.width is not None:
        measures.append((f"mean width of 95 % posterior intervals: {name}", None, privacy.width))
    if privacy.short is not None:
        measures.append((f"share of records below half the nominal width: {name}", None, privacy.short))
    return measures
