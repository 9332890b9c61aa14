"""Which columns a tree may split, and into which cells; and which classes there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, column, option_for, resolve, resolve_all
from ppdm_sql.engine.source import aggregated, is_stand_in
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.engine.types import Kind, is_number, kind_of
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import (
    LARGEST,
    AdditiveNoise,
    Cells,
    Domain,
    Noise,
    Uniform,
    as_text,
    domains_of,
    is_whole,
    noise_of,
    value_counts,
)
from ppdm_sql.methods.perturbation.noisy_columns import as_double
from ppdm_sql.methods.perturbation.reconstruction import Grid, grid_for, kernel, observed_grid
from ppdm_sql.methods.trees.model import RECONSTRUCTED, Attribute
from ppdm_sql.options import TrainRequest
from ppdm_sql.progress import Progress

MOST_VALUES = 256
"""Different values of a column of categories, and of the class, at most."""
MOST_BINS = 60_000
"""Fine bins of an attribute, which a code of 16 bits can tell."""
FINE = 64
"""Fine bins in a cell of noisy values, at most; the more, the fewer records a sorted assignment sorts."""


@dataclass(frozen=True)
class TreeFeature:
    """An attribute and how its cells are told from a value."""

    attribute: Attribute  # what the tree keeps of it
    # the cells of a number, of the original one where there is noise; None otherwise
    grid: Grid | None = None
    # the noise, if the original distribution is reconstructed; None to take values as they are
    noise: AdditiveNoise | None = None
    labels: tuple[str, ...] = ()  # what a value-class column shows for each cell

    @property
    def cells(self) -> int:
        return self.attribute.cells

    @property
    def value_type(self) -> Statement:
        return Statement("VARCHAR" if self.grid is None else "DOUBLE")

    @property
    def nominal(self) -> bool:
        return self.attribute.type == "VARCHAR"

    @cached_property
    def observed(self) -> Grid:
        assert self.grid is not None and self.noise is not None
        return observed_grid(self.noise, self.grid)

    @cached_property
    def kernel(self) -> Floats:
        assert self.grid is not None and self.noise is not None
        return kernel(self.noise, self.grid, self.observed)

    @property
    def fine(self) -> int:
        """Fine bins in a cell of the noisy value: a power of two, so that rounding never divides them."""
        room = max(MOST_BINS // self.observed.cells, 1)
        return min(FINE, 1 << (room.bit_length() - 1))

    @property
    def bins(self) -> int:
        """Number of fine bins; NULL is one more than the last."""
        return self.observed.cells * self.fine


def numeric_feature(name: str, grid: Grid, noise: AdditiveNoise | None = None) -> TreeFeature:
    """Make the feature of a column of numbers; the tree can split it at the inner edges of the grid."""
    cuts = tuple(float(cut) for cut in grid.edges()[1:-1])
    noise_text = None if noise is None else as_text(noise)
    return TreeFeature(Attribute(name, "DOUBLE", cuts, noise=noise_text), grid, noise)


# -- which columns ----------------------------------------------------------------------------------


def features(
    engine: Engine, source: str, table: Table, request: TrainRequest, progress: Progress
) -> tuple[Table, str, list[TreeFeature]]:
    """Give the table as it is read, the class column as it spells it, and what a tree may split.

    Texts are told apart by their letters, whatever collation the table gives them.
    """
    columns = {item.name: item for item in engine.columns(table)}
    label = resolve(request.class_column, list(columns), table=source)
    selection = resolve_all(request.columns, list(columns), table=source)
    if label in selection:
        raise ColumnRoleError(
            f"Column {label!r} is the class and cannot be split too.", "Leave it out of --columns."
        )
    texts = [item for item in columns.values() if item.name == label or item.type == "VARCHAR"]
    # elsewhere, equal values have equal texts once they are grouped, and other collations are refused
    rows = table if is_stand_in(engine, table) else exact_table(engine, table, texts)
    noise = _noise(engine, source, request)
    domains = domains_of(request.ranges, list(columns.values()), table=source)
    names = [name for name in columns if name in selection or (not selection and name != label)]
    numbers = [name for name in names if is_number(columns[name].type)]
    every, records, bounds = _statistics(engine, rows, label, numbers)
    if not records:
        raise InvalidSource(
            f"Table {source} has no record with a class in {label!r}.", "Name a table that has some."
        )
    if every > records:
        progress.notice(f"{every - records} records without a class are left out.")
    choice = _FeatureChoice(engine, rows, request, records, bounds, domains)
    usable = []
    for name in names:
        try:
            usable.append(choice.feature(columns[name], noise.get(name)))
        except InvalidSource as error:
            if selection:
                raise
            progress.notice(f"Left out: {error.problem}")
    if request.mode in RECONSTRUCTED and all(feature.noise is None for feature in usable):
        raise InvalidOption(
            f"No column of {source} that the tree may split has noise, so there is nothing to reconstruct.",
            "Give --mode randomized, which takes values as they are, or name other --columns.",
        )
    return rows, label, usable


def classes_of(engine: Engine, table: Table, item: Column) -> tuple[tuple[str, ...], list[int]]:
    """Give the classes as text, in the order of the column's values, and the records of each."""
    counts = value_counts(engine, table, item, MOST_VALUES + 1, by_value=True)
    if len(counts) > MOST_VALUES:
        raise InvalidSource(
            f"Class column {item.name!r} has more than {MOST_VALUES} values.",
            "Name a column of classes, or put its values in groups in a view.",
        )
    return tuple(counts), list(counts.values())


Bounds = tuple[float | None, float | None]


def _statistics(
    engine: Engine, table: Table, label: str, numbers: Sequence[str]
) -> tuple[int, int, dict[str, Bounds]]:
    """Count records and those with a class, of which it gives the bounds of the finite numbers."""
    bounds = "min({v}) FILTER (WHERE {usable}), max({v}) FILTER (WHERE {usable})"
    condition = "isfinite({v}) AND {label} IS NOT NULL"
    of, values = column(label, "s"), [as_double(name) for name in numbers]
    items = [Statement("count(*)"), sql("count({label})", label=of)]
    items += [sql(bounds, v=value, usable=sql(condition, v=value, label=of)) for value in values]
    ((every, records, *row),) = aggregated(
        engine, table, "SELECT {items} FROM {rows}", step="training_statistics", items=items
    )
    return every, records, dict(zip(numbers, zip(row[::2], row[1::2], strict=True), strict=True))


# -- one column -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FeatureChoice:
    engine: Engine
    table: Table
    request: TrainRequest
    records: int  # with a class
    bounds: Mapping[str, Bounds]  # of their finite numbers
    domains: Mapping[str, Domain]

    def feature(self, item: Column, noise: Noise | None) -> TreeFeature:
        """Give the feature of a column; InvalidSource if there is none."""
        numeric, intervals = is_number(item.type), self.request.intervals
        if isinstance(noise, Cells):
            attribute = Attribute(item.name, "DOUBLE", noise.edges[1:-1], noise=as_text(noise))
            return TreeFeature(attribute, labels=noise.labels)
        if isinstance(noise, AdditiveNoise) and self.request.mode in RECONSTRUCTED:
            if not numeric:
                raise _unusable(item, "Give its noise to a column of numbers.")
            return numeric_feature(item.name, grid_for(noise, self.records, intervals), noise)
        if numeric:
            return numeric_feature(item.name, self._grid(item))
        if kind_of(item.type) not in (Kind.TEXT, Kind.BOOLEAN, Kind.ENUM):
            raise _unusable(item, "Make it a number or a text in a view, or leave it out of --columns.")
        values = tuple(value_counts(self.engine, self.table, item, MOST_VALUES + 1))
        if not values:
            raise _empty(item)
        if len(values) > MOST_VALUES:
            raise InvalidSource(
                f"Column {item.name!r} has more than {MOST_VALUES} different texts.",
                "Put them in groups in a view, or leave it out of --columns.",
            )
        return TreeFeature(Attribute(item.name, "VARCHAR", values=values))

    def _grid(self, item: Column) -> Grid:
        domain = self.domains.get(item.name)
        bounds = self.bounds[item.name] if domain is None else (domain.lower, domain.upper)
        lower, upper = bounds
        if lower is None or upper is None:
            raise _empty(item)
        if not (lower >= -LARGEST and upper <= LARGEST):
            raise InvalidSource(
                f"Values of {item.name!r} are too large to be divided into cells.",
                f"Give {option_for('--range', item.name, 'LOWER,UPPER')}, "
                f"both between -{LARGEST:g} and {LARGEST:g}.",
            )
        any_noise = Uniform(1.0, Domain(lower, upper, whole=is_whole(item)))
        return grid_for(any_noise, self.records, self.request.intervals)


def _empty(item: Column) -> InvalidSource:
    return InvalidSource(f"Column {item.name!r} has no values.", "Leave it out of --columns.")


def _unusable(item: Column, remedy: str) -> InvalidSource:
    return InvalidSource(
        f"A tree cannot split column {item.name!r}, which holds {type_title(item.type)}.", remedy
    )


def _noise(engine: Engine, source: str, request: TrainRequest) -> dict[str, Noise]:
    """Find the noise; the modes that take values as they are only need to know of released cells."""
    if request.mode in RECONSTRUCTED or request.noise:
        return noise_of(engine, source, request.noise, request.ranges)
    if request.mode == "original":
        return {}
    try:
        return noise_of(engine, source)
    except InvalidOption:
        return {}
