"""Every attribute as cells, and the training records as codes of them.

The working table ``coded`` holds a row for each record that has a class, in the order of the source:

- ``class``: the position of its class;
- ``code0``, ``code1``, ...: for an attribute that is taken as it is, the position of its cell; NULL is one
  more than the last;
- ``bin0``, ``value0``, ...: for an attribute that is reconstructed, its fine bin and the noisy value itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Cells, as_text
from ppdm_sql.methods.perturbation.reconstruction import Grid, kernel, observed_grid
from ppdm_sql.methods.trees.model import Attribute

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
        """Number of cells, NULL aside."""
        return self.attribute.cells

    @property
    def code_type(self) -> str:
        """The narrowest type that tells the cells and NULL apart."""
        return "UTINYINT" if self.cells < 256 else "USMALLINT"

    @property
    def nominal(self) -> bool:
        """Whether its cells have no order."""
        return self.attribute.type == "VARCHAR"

    @cached_property
    def observed(self) -> Grid:
        """The cells of the noisy value."""
        assert self.grid is not None and self.noise is not None
        return observed_grid(self.noise, self.grid)

    @cached_property
    def kernel(self) -> Floats:
        """The probability of each cell of the noisy value under each of the original one."""
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
    """Make the feature of a column of numbers; the tree can split it at the inner edges of the grid.

    Example:
        >>> numeric_feature("age", Grid(0.0, 20.0, 3)).attribute.cuts
        (20.0, 40.0)
    """
    cuts = tuple(float(cut) for cut in grid.edges()[1:-1])
    noise_text = None if noise is None else as_text(noise)
    return TreeFeature(Attribute(name, "DOUBLE", cuts, noise=noise_text), grid, noise)


def value_class_feature(name: str, noise: Cells) -> TreeFeature:
    """Make the feature of a column that shows the cell instead of the value."""
    attribute = Attribute(name, "DOUBLE", noise.edges[1:-1], noise=as_text(noise))
    return TreeFeature(attribute, labels=noise.labels)


def categorical_feature(name: str, values: Sequence[str]) -> TreeFeature:
    """Make the feature of a column of categories."""
    return TreeFeature(Attribute(name, "VARCHAR", values=tuple(values)))


def coded_records(
    engine: Engine, source: Table, class_column: str, classes: Sequence[str], features: Sequence[TreeFeature]
) -> Table:
    """Write the working table ``coded``, in one scan; records without a class are left out."""
    listed = {
        place: feature.labels or feature.attribute.values
        for place, feature in enumerate(features)
        if feature.nominal or feature.labels
    }
    types = {place: _enumerated(engine, values) for place, values in listed.items()}
    coding = coding_query(source, class_column, _enumerated(engine, classes), features, types)
    return engine.materialize("coded", coding)


def _enumerated(engine: Engine, values: Sequence[str]) -> Table:
    listed = exp.Array(expressions=[literal(value) for value in values])
    return engine.enumerate_values(exp.select(exp.func("unnest", listed)))


def coding_query(
    source: Table, class_column: str, classes: Table, features: Sequence[TreeFeature], types: dict[int, Table]
) -> str:
    """Write the SELECT of the coded records; an ENUM of its values codes each column of texts.

    Example: an age with noise, in fine bins, and a job.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Uniform
        >>> noise = Uniform(25.0, Domain(0, 100))
        >>> features = [numeric_feature("Age", Grid(0, 25, 4), noise), categorical_feature("Job", "ab")]
        >>> types = {1: Table("jobs")}
        >>> print(formatted(coding_query(Table("people"), "Risk", Table("risks"), features, types)))
        SELECT
          CAST(ENUM_CODE(TRY_CAST(class_text AS risks)) AS UTINYINT) AS class,
          CAST((
            CASE
              WHEN v0 IS NULL
              THEN 512
              ELSE LEAST(GREATEST(FLOOR((
                v0 - -CAST(50 AS DOUBLE)
              ) * 64 / CAST(25 AS DOUBLE)), 0), 511)
            END
          ) AS USMALLINT) AS bin0,
          v0 AS value0,
          CAST((
            COALESCE(ENUM_CODE(TRY_CAST(v1 AS jobs)), 2)
          ) AS UTINYINT) AS code1
        FROM (
          SELECT
            CAST("s"."Risk" AS TEXT) AS "class_text",
            CAST("s"."Age" AS DOUBLE) AS "v0",
            CAST("s"."Job" AS TEXT) AS "v1"
          FROM "people" AS s
        ) AS v
        WHERE
          NOT class_text IS NULL
    """
    shown = [alias(exp.cast(column(class_column, "s"), "TEXT"), "class_text")]
    codes = [f"{_position('class_text', classes)}::UTINYINT AS class"]
    for place, feature in enumerate(features):
        name, value = column(feature.attribute.name, "s"), f"v{place}"
        if place in types:
            shown.append(alias(exp.cast(name, "TEXT"), value))
            code = f"coalesce({_position(value, types[place])}, {feature.cells})"
            codes.append(f"({code})::{feature.code_type} AS code{place}")
        else:
            shown.append(alias(exp.cast(name, "DOUBLE"), value))
            codes += _number_codes(feature, place)
    rows = render(exp.select(*shown).from_(aliased(source, "s")))
    return f"SELECT {', '.join(codes)} FROM ({rows}) AS v WHERE class_text IS NOT NULL"


def _position(value: str, values: Table) -> str:
    return f"enum_code(TRY_CAST({value} AS {values}))"


def _number_codes(feature: TreeFeature, place: int) -> list[str]:
    value = f"v{place}"
    if feature.noise is None:
        assert feature.grid is not None
        return [f"{cell_of(value, feature.grid)}::{feature.code_type} AS code{place}"]
    return [f"{bin_of(value, feature)}::USMALLINT AS bin{place}", f"{value} AS value{place}"]


def bin_of(value: str, feature: TreeFeature) -> str:
    """Give SQL for the fine bin of a noisy value."""
    lower, width = f"{feature.observed.lower!r}::DOUBLE", f"{feature.observed.width!r}::DOUBLE"
    step = f"floor(({value} - {lower}) * {feature.fine} / {width})"
    return _within(value, step, feature.bins)


def cell_of(value: str, grid: Grid) -> str:
    """Give SQL for the cell of a value: the one whose edges, computed as the grid does, hold it."""
    lower, width = f"{grid.lower!r}::DOUBLE", f"{grid.width!r}::DOUBLE"
    step = f"floor(({value} - {lower}) / {width})"
    share = f"{grid.width * grid.cells!r}::DOUBLE / {grid.cells}"
    # the quotient may be rounded across an edge, so its neighbours are tried; NaN counts to the last cell
    above, below = f"{value} >= {lower} + ({step} + 1) * {share}", f"{value} < {lower} + {step} * {share}"
    return _within(value, f"{step} + ({above})::TINYINT - ({below})::TINYINT", grid.cells)


def _within(value: str, code: str, codes: int) -> str:
    """Give SQL for a code held within bounds, and the one after the last for NULL."""
    held = f"least(greatest({code}, 0), {codes - 1})"
    return f"(CASE WHEN {value} IS NULL THEN {codes} ELSE {held} END)"
