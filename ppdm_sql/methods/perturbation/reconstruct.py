"""The run of ``ppdm reconstruct``: histograms in the database, the iteration here, a table of the result.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, option_for, resolve, resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.conditional_privacy import conditional_privacy
from ppdm_sql.methods.perturbation.distributions import Distribution, Reconstruction, write_table
from ppdm_sql.methods.perturbation.histograms import Bins, Histogram, Histograms, count_values, histograms
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Noise,
    Retain,
    noise_kind,
    shown_values,
)
from ppdm_sql.methods.perturbation.noise_lookup import noise_of
from ppdm_sql.methods.perturbation.reconstruction import (
    Reconstructed,
    category_kernel,
    invert_randomization,
    reconstruct_distributions,
)
from ppdm_sql.methods.perturbation.transition_matrices import Form, Grid, grid_for, kernel, observed_grid
from ppdm_sql.options import ReconstructRequest
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release import check_free

KERNELS, CATEGORICAL = ("cell", "midpoint"), ("bayes", "inversion")
MOST_OUTSIDE = 0.5
"""Share of the records beyond which values that the noise cannot give are taken for a wrong noise model."""


def reconstruct(
    engine: Engine, source: str, options: ReconstructRequest, progress: Progress
) -> Reconstruction:
    """Estimate the distributions of the original values, and write them into a table.

    Raises:
        PpdmError: A name, an option or a column cannot be used, or the noise is not known. Nothing is made.

    Cost: one GROUP BY a column; the iteration costs O(m^2) a step, whatever the number of records.
    """
    return ReconstructRun(engine, source, options, progress).make()


class ReconstructRun:
    """One run: checked when made, then counted, iterated and written."""

    def __init__(self, engine: Engine, source: str, options: ReconstructRequest, progress: Progress) -> None:
        engine.require_autocommit()
        self.engine, self.source, self.options, self.progress = engine, source, options, progress
        check_choice("--kernel", options.kernel, KERNELS)
        check_choice("--categorical", options.categorical, CATEGORICAL)
        self.table = engine.find(source)
        names = [item.name for item in engine.columns(self.table)]
        self.by = None if options.by_class is None else resolve(options.by_class, names, table=source)
        self.noise = self._noise(names)

    def _noise(self, names: Sequence[str]) -> dict[str, Noise]:
        """Give the noise of each wanted column."""
        wanted = resolve_all(self.options.columns, names, table=self.source)
        if self.by in wanted:
            raise ColumnRoleError(
                f"Column {self.by!r} is to be reconstructed and is the class, too.",
                "Name it with --column or with --by-class.",
            )
        known = noise_of(self.engine, self.source, self.options.noise, self.options.ranges)
        for name in wanted:
            if name not in known:
                raise InvalidOption(
                    f"The noise of column {name!r} is not known.",
                    f"Give it, such as {option_for('--noise', name, 'gaussian 2500')} "
                    f"{option_for('--range', name, '20000,150000')}.",
                )
        found = {name: known[name] for name in wanted or known if name != self.by}
        if not found:
            raise InvalidOption(
                f"No noise is known but that of the class column {self.by!r}.",
                "Name a column with --column, and give its noise with --noise.",
            )
        return found

    def make(self) -> Reconstruction:
        """Do all of it."""
        place = check_free(self.engine, self.options.into)
        target = Table(self.options.into, place.schema, place.catalog)
        try:
            with self.engine.workspace():
                done, classes = self.estimate()
                write_table(self.engine, target, done, classes)
                for text in done.notices():
                    self.progress.notice(text)
                for text in done.unconverged():
                    warn(self.progress, text)
                return done
        finally:
            self.progress.stop()

    def estimate(self) -> tuple[Reconstruction, Table | None]:
        """Count and iterate, but write nothing; inside a workspace. Give the classes, too, if any."""
        self.progress.start(f"counting {self.source}")
        grids = self._grids()
        counted = histograms(self.engine, self._rows(), self._bins(grids), self.by)
        self.progress.start("reconstructing")
        found = [each for n in self.noise for each in self._distributions(n, grids.get(n), counted)]
        return Reconstruction(self.options.into, tuple(found), self.by), counted.codes

    # -- counting -------------------------------------------------------------------------------

    def _rows(self) -> Table:
        """Give the table to count, without collations, by which GROUP BY would merge texts that differ."""
        counted = {*self.noise, self.by}
        columns = self.engine.columns(self.table)
        texts = [item for item in columns if item.name in counted and item.type == "VARCHAR"]
        return exact_table(self.engine, self.table, texts)

    def _grids(self) -> dict[str, Grid]:
        """Give the intervals of each column of numbers, as many for every class."""
        added = {name: n for name, n in self.noise.items() if isinstance(n, AdditiveNoise)}
        given = self.options.intervals
        records = 0 if given or not added else count_values(self.engine, self.table, list(added))
        return {name: grid_for(noise, records, given) for name, noise in added.items()}

    def _bins(self, grids: Mapping[str, Grid]) -> dict[str, Bins]:
        """Give what is counted of each column; a grid is extended by the reach of its noise."""
        return {
            name: observed_grid(noise, grids[name])
            if isinstance(noise, AdditiveNoise)
            else shown_values(noise)
            for name, noise in self.noise.items()
        }

    # -- reconstructing -------------------------------------------------------------------------

    def _distributions(self, name: str, grid: Grid | None, counted: Histograms) -> list[Distribution]:
        """Reconstruct one column, class by class; classes without a value are left out."""
        found, noise = counted.found[name], self.noise[name]
        self._check_counts(name, found)
        live = [code for code, histogram in enumerate(found) if histogram.counts.any()]
        if missing := len(found) - len(live):
            self.progress.notice(
                f"{name}: {missing} of {len(found)} classes have no values and no distribution."
            )
        estimated, negative = self._estimated(noise, grid, np.stack([found[code].counts for code in live]))
        return [
            Distribution(
                attribute=name,
                class_value=counted.classes[code],
                class_code=code,
                noise=noise,
                edges=_edges(noise, grid),
                values=noise.values if isinstance(noise, Retain) else (),
                probabilities=estimated.probabilities[place],
                records=int(found[code].counts.sum()),
                outside=found[code].outside,
                nulls=found[code].nulls,
                iterations=int(estimated.iterations[place]),
                converged=bool(estimated.converged[place]),
                negative=int(negative[place]),
                remaining=conditional_privacy(noise, grid, estimated.probabilities[place]),
            )
            for place, code in enumerate(live)
        ]

    def _check_counts(self, name: str, found: Sequence[Histogram]) -> None:
        """Refuse a column without values, and one that the noise does not fit."""
        values = sum(int(histogram.counts.sum()) for histogram in found)
        outside = sum(histogram.outside for histogram in found)
        if outside > MOST_OUTSIDE * max(values, outside):
            kind = noise_kind(self.noise[name])
            raise InvalidSource(
                f"More than half of the values of {name!r} cannot come from {kind} noise.",
                f"Check the noise and the range with {option_for('--noise', name, '...')} and "
                f"{option_for('--range', name, '...')}.",
            )
        if not values:
            raise InvalidSource(f"Column {name!r} of {self.source} has no values.", "Name another column.")

    def _estimated(self, noise: Noise, grid: Grid | None, counts: Floats) -> tuple[Reconstructed, Floats]:
        """Estimate the distributions, a row each, and count the categories estimated below 0."""
        options = self.options
        none = np.zeros(len(counts))
        if isinstance(noise, Cells):
            return _exact(counts / counts.sum(axis=1, keepdims=True)), none
        if isinstance(noise, Retain) and options.categorical == "inversion":
            pairs = [invert_randomization(row, noise) for row in counts]
            return _exact(np.stack([found for found, _ in pairs])), np.array([n.sum() for _, n in pairs])
        if isinstance(noise, Retain):
            matrix = category_kernel(noise)
        else:
            assert grid is not None
            matrix = kernel(noise, grid, observed_grid(noise, grid), cast(Form, options.kernel))
        return reconstruct_distributions(
            counts, matrix, fraction=options.fraction, cap=options.max_iterations
        ), none


def _edges(noise: Noise, grid: Grid | None) -> Floats | None:
    """Give the edges of the intervals; around whole numbers the last one ends where the domain does."""
    if isinstance(noise, Cells):
        return np.array(noise.edges)
    if isinstance(noise, Retain):
        return None
    assert grid is not None
    edges = grid.edges()
    edges[-1] = math.ceil(noise.domain.upper) + 0.5 if noise.domain.whole else noise.domain.upper
    return edges


def _exact(probabilities: Floats) -> Reconstructed:
    """Give distributions that no iteration was needed for."""
    size = len(probabilities)
    return Reconstructed(probabilities, np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.bool_))
