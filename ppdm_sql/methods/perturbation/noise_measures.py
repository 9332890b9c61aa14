"""What a randomization does to each column, as measures: scale, level, and what is left of privacy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.conditional_privacy import conditional_privacy
from ppdm_sql.methods.perturbation.histograms import Bins, histograms
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Noise,
    Retain,
    noise_kind,
    shown_values,
)
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn
from ppdm_sql.methods.perturbation.privacy_level import Metric, level_of
from ppdm_sql.methods.perturbation.transition_matrices import Grid, grid_for
from ppdm_sql.release import Moments
from ppdm_sql.release.draft import MeasureRow


def noise_measures(name: str, noise: Noise) -> list[MeasureRow]:
    """Give what follows from the noise alone.

    Example:
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Uniform
        >>> for measure in noise_measures("pay", Uniform(10.0, Domain(0, 20))):
        ...     print(measure)
        ('noise scale: pay', None, 10.0)
        ('privacy level at 95 % confidence: pay', None, 0.95)
    """
    if isinstance(noise, Retain):
        kept = noise.probability + (1 - noise.probability) / len(noise.values)
        return [(f"expected share of true values: {name}", 1.0, kept)]
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
    """Give means and standard deviations of noisy columns, in the source and in the release."""
    for name in after:
        yield f"mean: {name}", before[name].mean, after[name].mean
        yield f"standard deviation: {name}", before[name].deviation, after[name].deviation


def column_measures(
    engine: Engine, table: Table, noisy: Sequence[NoisyColumn], records: int
) -> list[MeasureRow]:
    """Give, column by column, the noise, and what privacy is left for who knows it and the distribution.

    ``table`` is from :func:`~ppdm_sql.methods.perturbation.noisy_rows.noisy_rows`.

    Cost: one GROUP BY a column.
    Source: Agrawal, Aggarwal 2001, section 2.
    """
    bins = {
        f"{'r' if isinstance(it.noise, Cells) else 'x'}{i}": _bins(it.noise, records)
        for i, it in enumerate(noisy)
    }
    found = histograms(engine, table, bins).found
    measures: list[MeasureRow] = []
    for it, (working, grid) in zip(noisy, bins.items(), strict=True):
        measures += noise_measures(it.column.name, it.noise)
        counts: Floats = found[working][0].counts
        if counts.sum() > 0:
            measures += _remaining(it, grid if isinstance(grid, Grid) else None, counts)
    return measures


def _bins(noise: Noise, records: int) -> Bins:
    return grid_for(noise, records) if isinstance(noise, AdditiveNoise) else shown_values(noise)


def _remaining(it: NoisyColumn, grid: Grid | None, counts: Floats) -> list[MeasureRow]:
    left, name = conditional_privacy(it.noise, grid, counts), it.column.name
    measures: list[MeasureRow] = [
        (f"entropy-based privacy: {name}", left.before, left.after),
        (f"entropy-based privacy loss: {name}", None, left.loss),
    ]
    if left.width is not None:
        measures.append((f"mean width of 95 % posterior intervals: {name}", None, left.width))
    if left.short is not None:
        measures.append((f"share of records below half the nominal width: {name}", None, left.short))
    return measures
