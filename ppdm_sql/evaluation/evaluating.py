"""Measures what a release is worth for classification, as the papers do.

Trees are scikit-learn's, with settings that are the same for every table.

Source: Wang, Fung, Yu 2005, "Template Based Privacy Preservation in Classification Problems", section 5,
where removal means the sensitive attributes; with k-anonymity it means those of the quasi-identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption, PpdmError
from ppdm_sql.evaluation.compared_tables import compared_rows
from ppdm_sql.evaluation.encoding import (
    Counts,
    EncodedTables,
    Feature,
    Numbers,
    Sample,
    TrainTest,
    count_records,
)
from ppdm_sql.options import EvaluateRequest
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow, Release
from ppdm_sql.release.layout import Shape
from ppdm_sql.results import PER_CENT, Result, ResultTable

BE, SE, RE, RE_SENSITIVE, MAJORITY = "BE", "SE", "RE", "RE (sensitive)", "majority"
BASELINES = (BE, MAJORITY)
"""The errors that a release does not change: on the source, and without any column."""
Trial = tuple[Sample, Sample, int]
"""What a tree is grown from, what it is asked, and the fold kept from the one for the other; -1 for none."""
COLUMNS = ("error", "of", "per_cent", "deviation", "lowest", "highest")
LEAF_RECORDS = 5
"""A leaf holds at least so many records."""

LEAF_BITS = 8.0
"""A leaf that does not save so many bits of class information is pruned: a cost that knows no table size."""

MOST_DENSE = 2**27
"""A matrix with more cells is kept sparse."""


# -- what is found ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorRate:
    """One kind of error, or the difference of two, with its spread over the seeds.

    Args:
        error: ``BE``, ``SE``, ``RE``, ``RE (sensitive)``, ``majority``, or a difference such as ``SE - BE``.
        of: What was classified, in words.
        per_cent: One number a seed: per cent of the tested records, or percentage points of difference.

    Example:
        >>> rate = ErrorRate("BE", "original columns", (14.0, 15.0))
        >>> rate.mean, round(rate.deviation, 2), rate.lowest, rate.highest
        (14.5, 0.71, 14.0, 15.0)
    """

    error: str
    of: str
    per_cent: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return fmean(self.per_cent)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over the seeds; None for a single seed."""
        return stdev(self.per_cent) if len(self.per_cent) > 1 else None

    @property
    def lowest(self) -> float:
        """The lowest over the seeds."""
        return min(self.per_cent)

    @property
    def highest(self) -> float:
        """The highest over the seeds."""
        return max(self.per_cent)

    def minus(self, other: ErrorRate, of: str) -> ErrorRate:
        """Give the difference to another error, seed by seed."""
        both = zip(self.per_cent, other.per_cent, strict=True)
        return ErrorRate(f"{self.error} - {other.error}", of, tuple(a - b for a, b in both))


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """How well a decision tree predicts the class from a release, beside what it does without.

    Args:
        release: Name of the release.
        test: The test table, or None where folds of the release were tested.
        records: Records of the release.
        drawn: Records of them that each seed drew.
        rates: The errors, then the differences that the papers report.
    """

    release: str
    test: str | None
    records: int
    drawn: int
    rates: tuple[ErrorRate, ...]

    def __repr__(self) -> str:
        errors = ", ".join(
            f"{rate.error} {rate.mean:.1f} %" for rate in self.rates if " - " not in rate.error
        )
        return f"Evaluation({self.release!r}: {errors})"

    def rate(self, error: str) -> ErrorRate:
        """Give one error by its name, such as ``SE`` or ``SE - BE``."""
        return {rate.error: rate for rate in self.rates}[error]

    def tables(self) -> list[ResultTable]:
        """Give the errors, to a thousandth of a per cent."""
        rows = [(r.error, r.of, *map(_round, (r.mean, r.deviation, r.lowest, r.highest))) for r in self.rates]
        return [ResultTable("", COLUMNS, rows, dict.fromkeys(COLUMNS[2:], PER_CENT))]


def _round(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


# -- the evaluation -----------------------------------------------------------------------------


def evaluate(engine: Engine, release: Release, options: EvaluateRequest, progress: Progress) -> Evaluation:
    """Measure the classification error on a release and on what it stands beside.

    Cost: one scan of the source, the frozen table, and the test table twice; then, for each seed, one sort of
    at most all records of each, and the trees.
    """
    tree_class()
    _check(options)
    try:
        with engine.workspace():
            progress.start(f"reading {release.name} and its source")
            row = release.row()
            if number := row.left_out:
                progress.notice(
                    f"{number} records are left out of {release.name}: its trees have not seen them, and are "
                    "asked of them only by --test."
                )
            shape = row.shape(engine.current()[0])
            tables = compared_rows(engine, row, shape, options.test, options.class_column)
            run = _EvaluationRun(engine, tables, options, progress)
            return run.evaluation(release.name)
    finally:
        progress.stop()


def errors_of(
    engine: Engine,
    row: CatalogueRow,
    shape: Shape,
    options: EvaluateRequest,
    errors: Collection[str],
    progress: Progress,
) -> dict[str, float]:
    """Measure some of the errors only, in per cent, on rows that need not be published."""
    tree_class()
    _check(options)
    with engine.workspace():
        tables = compared_rows(engine, row, shape, options.test)
        run = _EvaluationRun(engine, tables, options, progress)
        return {rate.error: rate.mean for rate in run.rates(errors).values()}


def _check(options: EvaluateRequest) -> None:
    if options.seeds < 1:
        raise InvalidOption(f"{options.seeds} seeds measure nothing.", "Give --seeds 1 or more.")
    if options.folds < 2:
        raise InvalidOption(f"{options.folds} folds leave nothing to test on.", "Give --folds 2 or more.")
    if options.sample < options.folds:
        raise InvalidOption(
            f"A sample of {options.sample} cannot fill {options.folds} folds.", "Give a larger --sample."
        )


class _EvaluationRun:
    """One evaluation: the tables in numbers, and the trees that are grown from draws of them."""

    def __init__(
        self,
        engine: Engine,
        tables: tuple[TrainTest, TrainTest],
        options: EvaluateRequest,
        progress: Progress,
    ) -> None:
        self._options, self._progress = options, progress
        self._features = tables[0].features
        self._removable = not tables[0].swapped_label or any(f.masked for f in self._features)
        self._original, self._released = (EncodedTables(engine, table) for table in tables)
        self._records = count_records(engine, self._original.train)
        if self._original.test is not None:
            self._notice_sample(count_records(engine, self._original.test), f"of {options.test}")
        elif self._records < options.folds:
            raise InvalidOption(
                f"{self._records} records cannot fill {options.folds} folds.", "Give fewer --folds."
            )
        self._notice_sample(self._records, "of the release")
        ((self._threads,),) = engine.look_up("SELECT current_setting('threads')", step="threads")

    def _notice_sample(self, records: int, of: str) -> None:
        most = self._options.sample
        if records > most:
            self._progress.notice(f"Each seed draws {most:,} of the {records:,} records {of}; see --sample.")

    def _notice_worse_than_removal(self, release: str, rates: dict[str, ErrorRate]) -> None:
        """Say so where the masked columns do more harm than good, as far as the printed errors tell."""
        if RE not in rates or not any(feature.masked for feature in self._features):
            return
        without, as_released = round(rates[RE].mean, 3), round(rates[SE].mean, 3)
        if without < as_released:
            self._progress.notice(
                f"Dropping the {rates[RE].of.removesuffix(' columns removed')} columns would predict better "
                f"than {release} does: without them {without:g} % of the tested records are mistaken, with "
                f"them as released {as_released:g} %."
            )

    def evaluation(self, release: str) -> Evaluation:
        self._progress.start(f"growing trees from {release}")
        rates = self.rates()
        number = min(self._records, self._options.sample)
        every = (*rates.values(), *_differences(rates))
        self._notice_worse_than_removal(release, rates)
        return Evaluation(release, self._options.test, self._records, number, every)

    def rates(self, errors: Collection[str] = ()) -> dict[str, ErrorRate]:
        """Grow the trees of all seeds, for some errors or for all."""
        comparisons = [one for one in self._comparisons() if not errors or one[0] in errors]
        per_seed: dict[str, list[float]] = {error: [] for error, *_ in comparisons}
        with ThreadPoolExecutor(self._threads) as pool:
            for seed in range(1, self._options.seeds + 1):
                trials = {side: self._trials(side, seed) for side in (self._original, self._released)}
                for error, _, side, columns in comparisons:
                    self._progress.update(seed=seed, error=error)
                    per_seed[error].append(_per_cent(trials[side], columns, seed, pool))
        return {error: ErrorRate(error, of, tuple(per_seed[error])) for error, of, *_ in comparisons}

    def _comparisons(self) -> Iterator[tuple[str, str, EncodedTables, list[int]]]:
        """List what is measured: name, words, table, and the positions of the features to see."""

        def where(holds: Callable[[Feature], bool]) -> list[int]:
            return [position for position, feature in enumerate(self._features) if holds(feature)]

        yield BE, "original columns", self._original, where(lambda f: True)
        yield SE, "released columns", self._released, where(lambda f: True)
        if self._removable:
            treatment = "swapped" if any(f.treatment == "swapped" for f in self._features) else "masked"
            yield RE, f"{treatment} columns removed", self._original, where(lambda f: not f.masked)
        others = where(lambda f: f.treatment != "sensitive")
        if len(others) < len(self._features):
            yield RE_SENSITIVE, "sensitive columns removed", self._original, others
        yield MAJORITY, "no column", self._original, []

    def _trials(self, side: EncodedTables, seed: int) -> list[Trial]:
        most, folds = self._options.sample, self._options.folds
        if side.test is None:
            sample = side.sample(side.train, seed=seed, most=most, folds=folds)
            return [(sample, sample, fold) for fold in range(folds)]
        train, test = (side.sample(t, seed=seed, most=most, folds=1) for t in (side.train, side.test))
        return [(train, test, -1)]


def _per_cent(trials: Sequence[Trial], columns: Sequence[int], seed: int, pool: ThreadPoolExecutor) -> float:
    """Give the share of tested records whose class is mistaken, over all trials."""

    def mistakes(trial: Trial) -> tuple[int, int]:
        train, test, fold = trial
        train = train.part(train.folds != fold, columns)
        test = test.part(test.folds == fold if fold >= 0 else test.folds >= 0, columns)
        return misclassified(train, test, seed), int(test.records.sum())

    counts = list(pool.map(mistakes, trials))
    return 100 * sum(mistaken for mistaken, _ in counts) / sum(records for _, records in counts)


def _differences(rates: dict[str, ErrorRate]) -> Iterator[ErrorRate]:
    """Give the differences that the papers report."""
    yield rates[SE].minus(rates[BE], "cost of the release")
    if RE in rates:
        yield rates[RE].minus(rates[SE], "benefit over removal")
    if RE_SENSITIVE in rates:
        yield rates[RE_SENSITIVE].minus(rates[SE], "benefit over removal")


# -- trees --------------------------------------------------------------------------------------


def tree_class() -> Any:
    """Give scikit-learn's class of decision trees, or refuse if it is not installed."""
    try:
        from sklearn.tree import DecisionTreeClassifier  # type: ignore[import, unused-ignore]
    except ImportError:
        raise PpdmError(
            "An evaluation grows decision trees with scikit-learn, which is not installed.",
            "Run: pip install 'ppdm-sql[eval]'.",
        ) from None
    return DecisionTreeClassifier


def misclassified(train: Sample, test: Sample, seed: int) -> int:
    """Count the tested records whose class a tree mistakes; with no feature, the majority class is predicted.

    The seed decides between splits that are equally good.
    """
    design = DesignMatrix.of(train)
    if not design.width:
        predictions = np.full(len(test.labels), np.bincount(train.labels, train.records).argmax())
    else:
        total = train.records.sum()
        tree = tree_class()(
            criterion="entropy",
            min_weight_fraction_leaf=min((LEAF_RECORDS - 0.5) / total, 0.5),
            ccp_alpha=LEAF_BITS / total,
            random_state=seed,
        )
        tree.fit(design.matrix(train.numbers), train.labels, sample_weight=train.records)
        predictions = tree.predict(design.matrix(test.numbers))
    return int(test.records[predictions != test.labels].sum())


@dataclass(frozen=True)
class DesignMatrix:
    """Which columns a tree sees: one of places for each ordered feature, one for each category.

    A category of fewer records than a leaf needs has none, since no tree could split it off.
    """

    places: tuple[int, ...]  # for each feature its column of places, or -1
    categories: tuple[Counts, ...]  # for each feature the columns of its categories, by category; -1 for none
    width: int

    @classmethod
    def of(cls, train: Sample) -> DesignMatrix:
        """Choose the columns by what there is to learn from."""
        places, categories, width = [], [], 0
        for numbers in train.numbers.T:
            is_ordered = bool((numbers > 0).any())
            places.append(width if is_ordered else -1)
            width += is_ordered
            often = np.bincount(_category(numbers), train.records) >= LEAF_RECORDS
            often[0] = False
            categories.append(np.where(often, width + often.cumsum() - 1, -1))
            width += int(often.sum())
        return cls(tuple(places), tuple(categories), width)

    def matrix(self, numbers: Numbers) -> Any:
        """Lay numbers out as the matrix that scikit-learn takes, sparse where it would be too large."""
        from scipy import sparse  # type: ignore[import, unused-ignore]

        rows, columns, cells = [], [], []
        for feature, place, categories in zip(numbers.T, self.places, self.categories, strict=True):
            category = _category(feature)
            own = categories[np.where(category < len(categories), category, 0)]
            column = np.where(feature > 0, place, own)
            row = np.flatnonzero(column >= 0)
            rows.append(row)
            columns.append(column[row])
            cells.append(np.where(feature > 0, feature, 1)[row])
        places = np.concatenate(rows), np.concatenate(columns)
        shape = (len(numbers), self.width)
        matrix = sparse.csr_matrix((np.concatenate(cells), places), shape=shape, dtype=np.float32)
        return matrix if len(numbers) * self.width > MOST_DENSE else matrix.toarray()


def _category(numbers: Numbers) -> NDArray[np.int64]:
    """Give the category of each number, from 1; 0 for what is none."""
    return np.maximum(-numbers, 0).astype(np.int64)
