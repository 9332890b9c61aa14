"""The run of ``ppdm reconstruct``: histograms in the database, the iteration here, a table of the result.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import cast

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, column, option_for, resolve, resolve_all
from ppdm_sql.engine.statements import Statement, joined, literal, rows_of_lists, sql
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.histograms import Bins, Histogram, Histograms, count_values, histograms
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Noise,
    Retain,
    as_text,
    noise_kind,
    noise_of,
    released_values,
)
from ppdm_sql.methods.perturbation.privacy_measures import ConditionalPrivacy, conditional_privacy
from ppdm_sql.methods.perturbation.reconstruction import (
    Estimates,
    Form,
    Grid,
    category_kernel,
    grid_for,
    invert_randomization,
    kernel,
    observed_grid,
    reconstruct_distributions,
)
from ppdm_sql.options import ReconstructRequest
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release import check_free
from ppdm_sql.release.publishing import create_table
from ppdm_sql.results import SHARE, Result, ResultTable
from ppdm_sql.version import __version__

KERNELS, CATEGORICAL = ("cell", "midpoint"), ("bayes", "inversion")
MOST_OUTSIDE = 0.5
"""Share of the records beyond which values that the noise cannot give are taken for a wrong noise model."""


def reconstruct(
    engine: Engine, source: str, options: ReconstructRequest, progress: Progress
) -> Reconstruction:
    return ReconstructRun(engine, source, options, progress).make()


class ReconstructRun:
    """One run: options are checked when it is made, then it counts, iterates and writes."""

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
        columns = resolve_all(self.options.columns, names, table=self.source)
        if self.by in columns:
            raise ColumnRoleError(
                f"Column {self.by!r} is to be reconstructed and is the class, too.",
                "Name it with --column or with --by-class.",
            )
        all_noise = noise_of(self.engine, self.source, self.options.noise, self.options.ranges)
        for name in columns:
            if name not in all_noise:
                raise InvalidOption(
                    f"The noise of column {name!r} is not known.",
                    f"Give it, such as {option_for('--noise', name, 'gaussian 2500')} "
                    f"{option_for('--range', name, '20000,150000')}.",
                )
        noises = {name: all_noise[name] for name in columns or all_noise if name != self.by}
        if not noises:
            raise InvalidOption(
                f"No noise is known but that of the class column {self.by!r}.",
                "Name a column with --column, and give its noise with --noise.",
            )
        return noises

    def make(self) -> Reconstruction:
        place = check_free(self.engine, self.options.into)
        target = Table(self.options.into, place.schema, place.catalog)
        try:
            with self.engine.workspace():
                result, classes = self.estimate()
                write_table(self.engine, target, result, classes)
                for text in result.notices():
                    self.progress.notice(text)
                for text in result.unconverged():
                    warn(self.progress, text)
                return result
        finally:
            self.progress.stop()

    def estimate(self) -> tuple[Reconstruction, Table | None]:
        """Count and iterate, but write nothing; inside a workspace. Give the classes, too, if any."""
        self.progress.start(f"counting {self.source}")
        names, columns = {*self.noise, self.by}, self.engine.columns(self.table)
        # GROUP BY would merge texts that differ but are equal by a collation
        texts = [item for item in columns if item.name in names and item.type == "VARCHAR"]
        rows, grids = exact_table(self.engine, self.table, texts), self._grids()
        bins: dict[str, Bins] = {
            name: observed_grid(noise, grids[name])
            if isinstance(noise, AdditiveNoise)
            else released_values(noise)
            for name, noise in self.noise.items()
        }
        counts = histograms(self.engine, rows, bins, self.by)
        self.progress.start("reconstructing")
        distributions = [each for n in self.noise for each in self._distributions(n, grids.get(n), counts)]
        return Reconstruction(self.options.into, tuple(distributions), self.by), counts.codes

    def _grids(self) -> dict[str, Grid]:
        """Give the intervals of each column of numbers, as many for every class."""
        additive = {name: n for name, n in self.noise.items() if isinstance(n, AdditiveNoise)}
        intervals = self.options.intervals
        records = 0 if intervals or not additive else count_values(self.engine, self.table, list(additive))
        return {name: grid_for(noise, records, intervals) for name, noise in additive.items()}

    def _distributions(self, name: str, grid: Grid | None, counts: Histograms) -> list[Distribution]:
        """Reconstruct one column, class by class; classes without a value are left out."""
        by_class, noise = counts.by_column[name], self.noise[name]
        self._check_counts(name, by_class)
        live = [code for code, histogram in enumerate(by_class) if histogram.counts.any()]
        if missing := len(by_class) - len(live):
            self.progress.notice(
                f"{name}: {missing} of {len(by_class)} classes have no values and no distribution."
            )
        estimates, negative = self._estimate(noise, grid, np.stack([by_class[code].counts for code in live]))
        return [
            Distribution(
                attribute=name,
                class_value=counts.classes[code],
                class_code=code,
                noise=noise,
                edges=_edges(noise, grid),
                values=noise.values if isinstance(noise, Retain) else (),
                probabilities=estimates.probabilities[place],
                records=int(by_class[code].counts.sum()),
                outside=by_class[code].outside,
                nulls=by_class[code].nulls,
                iterations=int(estimates.iterations[place]),
                converged=bool(estimates.converged[place]),
                negative=int(negative[place]),
                remaining=conditional_privacy(noise, grid, estimates.probabilities[place]),
            )
            for place, code in enumerate(live)
        ]

    def _check_counts(self, name: str, counts: Sequence[Histogram]) -> None:
        values = sum(int(histogram.counts.sum()) for histogram in counts)
        outside = sum(histogram.outside for histogram in counts)
        if outside > MOST_OUTSIDE * max(values, outside):
            kind = noise_kind(self.noise[name])
            raise InvalidSource(
                f"More than half of the values of {name!r} cannot come from {kind} noise.",
                f"Check the noise and the range with {option_for('--noise', name, '...')} and "
                f"{option_for('--range', name, '...')}.",
            )
        if not values:
            raise InvalidSource(f"Column {name!r} of {self.source} has no values.", "Name another column.")

    def _estimate(self, noise: Noise, grid: Grid | None, counts: Floats) -> tuple[Estimates, Floats]:
        """Estimate the distributions, a row each, and count the categories estimated below 0."""
        options = self.options
        none = np.zeros(len(counts))
        if isinstance(noise, Cells):
            return _exact(counts / counts.sum(axis=1, keepdims=True)), none
        if isinstance(noise, Retain) and options.categorical == "inversion":
            shares, below = invert_randomization(counts, noise)
            return _exact(shares), below.sum(axis=1)
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


def _exact(probabilities: Floats) -> Estimates:
    size = len(probabilities)
    return Estimates(probabilities, np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.bool_))


Row = tuple[str | float | None, ...]
CRITERION, CAP_REACHED, EXACT = "chi-square criterion", "cap", "none needed"
"""What stopped an iteration; cells and inverted matrices need none."""
_COUNTS = ("nulls", "outside", "negative")
_ROWS = {
    "position": "BIGINT",
    "attribute": "VARCHAR",
    "class_code": "BIGINT",
    "lower": "DOUBLE",
    "upper": "DOUBLE",
    "value": "VARCHAR",
    "probability": "DOUBLE",
    "records": "DOUBLE",
}
_COLUMN_COMMENTS = {
    "attribute": "Column whose distribution this is.",
    "lower": "Lower bound, included, of the interval of the original value.",
    "upper": "Upper bound of the interval; whole numbers lie half a unit inside the bounds.",
    "value": "Category.",
    "probability": "Estimated share of the records that have a value; sums to 1.",
    "records": "Estimated number of records.",
    "class": "Class to which the distribution belongs.",
}


@dataclass(frozen=True)
class Distribution:
    """The distribution of one column, among the records of one class."""

    attribute: str  # the column
    class_value: str | None  # the class as text, None for NULL and where there are no classes
    class_code: int  # its position among the classes
    noise: Noise  # through which the values were seen
    edges: Floats | None  # of the intervals, one more than there are; None for categories
    values: tuple[str, ...]  # the categories; empty where there are intervals
    probabilities: Floats  # of each interval or category
    records: int  # that have a value which the noise can give, or for a number any value
    # records whose value the noise could not give. Numbers count to the end intervals, unknown categories are
    # left out.
    outside: int
    nulls: int  # records without a value, left out
    iterations: int  # steps that were made; 0 where none was needed
    converged: bool  # whether the chi-square criterion stopped them, not the cap
    negative: int  # categories that the inversion estimated below 0 and that were set to 0
    remaining: ConditionalPrivacy  # what is left of the privacy

    @property
    def stopped(self) -> str:
        """What stopped the iteration."""
        if self.iterations == 0:
            return EXACT
        return CRITERION if self.converged else CAP_REACHED

    def rows(self) -> list[Row]:
        """Give lower, upper, value, probability and records of each interval or category."""
        size = len(self.probabilities)
        none: list[None] = [None] * size
        ends = [none, none] if self.edges is None else [self.edges[:-1].tolist(), self.edges[1:].tolist()]
        shares = self.probabilities.tolist()
        records = (self.records * self.probabilities).tolist()
        return list(zip(*ends, self.values or none, shares, records, strict=True))


@dataclass(frozen=True, repr=False)
class Reconstruction(Result):
    """What a run reconstructed.

    Args:
        into: The table that was made.
        distributions: One for each column and class, in this order.
        by_class: The class column; None without one.
    """

    into: str
    distributions: tuple[Distribution, ...]
    by_class: str | None = None

    def __repr__(self) -> str:
        columns = ", ".join(self._attributes())
        by_class = "" if self.by_class is None else f" by {self.by_class}"
        return f"Reconstruction({self.into!r}: {columns}{by_class})"

    @property
    def converged(self) -> bool:
        """Whether the chi-square criterion was met everywhere."""
        return all(item.converged for item in self.distributions)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns of the table: those of all that are needed for what was reconstructed."""
        numbers = any(item.edges is not None for item in self.distributions)
        categories = any(item.edges is None for item in self.distributions)
        several = len({item.attribute for item in self.distributions}) > 1
        columns = {
            "attribute": several,
            "lower": numbers,
            "upper": numbers,
            "value": categories,
            "probability": True,
            "records": True,
            "class": self.by_class is not None,
        }
        return tuple(name for name, there in columns.items() if there)

    def rows(self) -> list[Row]:
        """Give the rows of the table, the class as text."""
        names = ("attribute", "lower", "upper", "value", "probability", "records", "class")
        places = [names.index(name) for name in self.shown]
        rows = [(f.attribute, *row, f.class_value) for f in self.distributions for row in f.rows()]
        return [tuple(row[place] for place in places) for row in rows]

    def tables(self) -> list[ResultTable]:
        """Give the distributions, how each was found, and the privacy that remains."""
        runs: list[Row] = []
        privacy: list[Row] = []
        for f in self.distributions:
            how = (f.iterations, f.stopped, f.negative, as_text(f.noise))
            runs.append((f.records, f.nulls, f.outside, len(f.probabilities), *how))
            privacy.append(astuple(f.remaining))
        details = ("records", "nulls", "outside", "cells", "iterations", "stopped by", "negative", "noise")
        measures = ("before", "after", "loss", "mean 95% width", "share below half of nominal")
        return [
            ResultTable("Distribution", self.shown, self.rows(), {"probability": SHARE}),
            self._full_table("Reconstruction", details, runs),
            self._full_table("Privacy by entropy", measures, privacy),
        ]

    def _full_table(self, title: str, names: tuple[str, ...], rows: Sequence[Row]) -> ResultTable:
        classes = ("class",) if self.by_class is not None else ()
        full_rows = [
            (f.attribute, *((f.class_value,) if classes else ()), *row)
            for f, row in zip(self.distributions, rows, strict=True)
        ]
        return ResultTable(title, ("column", *classes, *names), list(full_rows))

    def notices(self) -> list[str]:
        return [text for name in self._attributes() for text in self._notices(name)]

    def unconverged(self) -> list[str]:
        """Say where the cap stopped iterations."""
        texts = []
        for name in self._attributes():
            of = [item for item in self.distributions if item.attribute == name]
            if late := sum(not item.converged for item in of):
                texts.append(
                    f"{name}: the cap stopped {late} of {len(of)} iterations before the chi-square criterion "
                    "was met; see --max-iterations and --fraction."
                )
        return texts

    def _attributes(self) -> list[str]:
        return list(dict.fromkeys(item.attribute for item in self.distributions))

    def _notices(self, name: str) -> list[str]:
        of = [item for item in self.distributions if item.attribute == name]
        nulls, outside, negative = (sum(getattr(f, kind) for f in of) for kind in _COUNTS)
        beyond = (
            "lie farther out than the noise takes any value of the range; they count to the end intervals"
            if isinstance(of[0].noise, AdditiveNoise)
            else "are none of those that the noise gives; they were left out"
        )
        texts = {
            f"{name}: {nulls} records have no value; they were left out.": nulls,
            f"{name}: {outside} values {beyond}.": outside,
            f"{name}: {negative} categories were estimated below 0 and set to 0.": negative,
        }
        return [text for text, number in texts.items() if number]


def write_table(engine: Engine, target: Table, result: Reconstruction, classes: Table | None) -> None:
    """Make the table of a reconstruction, with comments, all of it or nothing; ``classes`` has the codes."""
    distributions = [(f.attribute, f.class_code, *row) for f in result.distributions for row in f.rows()]
    rows = [(position, *row) for position, row in enumerate(distributions)]
    lists = {name: [row[place] for row in rows] for place, name in enumerate(_ROWS)}
    table = engine.materialize("distribution", rows_of_lists(**_ROWS), lists)
    columns = ", ".join(f'c."{name}"' if name == "class" else f'd."{name}"' for name in result.shown)
    join = "" if classes is None else f" JOIN {classes} AS c ON c.class_code = d.class_code"
    select = f"SELECT {columns} FROM {table} AS d{join} ORDER BY d.position"
    with engine.transaction():
        engine.write(create_table(target, select), step="reconstruct")
        engine.write(joined(_comments(target, result), ";\n"), step="comment")


def _comments(target: Table, result: Reconstruction) -> list[Statement]:
    noise = {f.attribute: f"{f.attribute}: {as_text(f.noise)}" for f in result.distributions}
    text = f"Distribution behind noise, reconstructed by ppdm-sql {__version__}; {'; '.join(noise.values())}"
    comments = [sql("COMMENT ON TABLE {t} IS {text}", t=target, text=literal(text))]
    for name in result.shown:
        comment = "COMMENT ON COLUMN {t}.{c} IS {text}"
        comments.append(sql(comment, t=target, c=column(name), text=literal(_COLUMN_COMMENTS[name])))
    return comments
