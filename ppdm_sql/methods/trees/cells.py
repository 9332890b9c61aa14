"""Every attribute as cells, and the records as codes of them: what trees are grown from.

The working table ``coded`` holds a row for each record that has a class, in the order of the source:

- ``g``: the position of its class;
- ``k0``, ``k1``, ...: for an attribute that is taken as it is, the position of its cell; NULL is one more
  than the last;
- ``f0``, ``w0``, ...: for an attribute whose noise is known, its fine bin, and the noisy value itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.methods.perturbation.noise import Cells, Gaussian, Uniform, as_text
from ppdm_sql.methods.perturbation.transition_matrices import Array, Grid, kernel, observed_grid
from ppdm_sql.methods.trees.model import Attribute

MOST_BINS = 60_000
"""Fine bins of an attribute, which a code of 16 bits can tell."""
FINE = 64
"""Fine bins in a cell of noisy values, at most; the more, the fewer records a sorted assignment sorts."""


@dataclass(frozen=True)
class TreeFeature:
    """An attribute and how its cells are told from a value.

    Args:
        attribute: What the tree keeps of it.
        grid: The cells of a number, of the original one where there is noise; None otherwise.
        noise: The noise to reconstruct behind; None where values are taken as they are.
        labels: What a value-class column shows for each cell.
    """

    attribute: Attribute
    grid: Grid | None = None
    noise: Gaussian | Uniform | None = None
    labels: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """Number of cells, NULL aside."""
        return self.attribute.cells

    @property
    def code(self) -> str:
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
    def kernel(self) -> Array:
        """The probability of each cell of the noisy value under each of the original one."""
        assert self.grid is not None and self.noise is not None
        return kernel(self.noise, self.grid, self.observed)

    @property
    def fine(self) -> int:
        """Fine bins in a cell of the noisy value: a power of two, so that no rounding sets them apart."""
        room = max(MOST_BINS // self.observed.cells, 1)
        return min(FINE, 1 << (room.bit_length() - 1))

    @property
    def bins(self) -> int:
        """Number of fine bins; NULL is one more than the last."""
        return self.observed.cells * self.fine


def number(name: str, grid: Grid, noise: Gaussian | Uniform | None = None) -> TreeFeature:
    """Make the feature of a column of numbers.

    Example:
        >>> number("age", Grid(0.0, 20.0, 3)).attribute.cuts
        (20.0, 40.0)
    """
    cuts = tuple(float(cut) for cut in grid.edges()[1:-1])
    said = None if noise is None else as_text(noise)
    return TreeFeature(Attribute(name, "DOUBLE", cuts, noise=said), grid, noise)


def discretized(name: str, noise: Cells) -> TreeFeature:
    """Make the feature of a column that shows the cell instead of the value."""
    attribute = Attribute(name, "DOUBLE", noise.edges[1:-1], noise=as_text(noise))
    return TreeFeature(attribute, labels=noise.labels)


def categories(name: str, values: Sequence[str]) -> TreeFeature:
    """Make the feature of a column of categories."""
    return TreeFeature(Attribute(name, "VARCHAR", values=tuple(values)))


def coded(
    engine: Engine, source: Table, class_column: str, classes: Sequence[str], features: Sequence[TreeFeature]
) -> Table:
    """Write the working table ``coded``; records without a class are left out.

    Cost: one scan of the source.
    """
    shown = [alias(_as_text(class_column), "class")]
    codes = [f"{_position('class', _texts(engine, classes))}::UTINYINT AS g"]
    for place, feature in enumerate(features):
        name, value = feature.attribute.name, f"v{place}"
        if feature.nominal or feature.labels:
            shown.append(alias(_as_text(name), value))
            values = feature.labels or feature.attribute.values
            code = f"coalesce({_position(value, _texts(engine, values))}, {feature.cells})"
            codes.append(f"({code})::{feature.code} AS k{place}")
            continue
        shown.append(alias(exp.cast(column(name, "s"), "DOUBLE"), value))
        codes += _number_codes(feature, place)
    rows = exp.select(*shown).from_(exp.alias_(source.expression(), "s", table=True))
    text = f'SELECT {", ".join(codes)} FROM ({render(rows)}) WHERE "class" IS NOT NULL'
    return engine.materialize("coded", text)


def _as_text(name: str) -> exp.Expression:
    return exp.cast(column(name, "s"), "TEXT")


def _texts(engine: Engine, values: Sequence[str]) -> Table:
    listed = exp.Array(expressions=[literal(value) for value in values])
    return engine.enumerate_values(exp.select(exp.func("unnest", listed)))


def _position(value: str, values: Table) -> str:
    return f'enum_code(TRY_CAST("{value}" AS {values}))'


def _number_codes(feature: TreeFeature, place: int) -> list[str]:
    value = f"v{place}"
    if feature.noise is None:
        assert feature.grid is not None
        return [f"{_cell(value, feature.grid)}::{feature.code} AS k{place}"]
    grid, fine = feature.observed, feature.fine
    step = f"floor(({value} - {grid.lower!r}::DOUBLE) * {fine} / {grid.width!r}::DOUBLE)"
    return [f"{_held(value, step, feature.bins)}::USMALLINT AS f{place}", f"{value} AS w{place}"]


def _cell(value: str, grid: Grid) -> str:
    """Give SQL for the cell of a value: the one whose edges, computed as the grid does, hold it.

    The quotient may be rounded across an edge, so its neighbours are tried; NaN counts to the last cell.
    """
    lower, width = f"{grid.lower!r}::DOUBLE", f"{grid.width!r}::DOUBLE"
    step, share = (
        f"floor(({value} - {lower}) / {width})",
        f"{grid.width * grid.cells!r}::DOUBLE / {grid.cells}",
    )
    above, below = f"{value} >= {lower} + ({step} + 1) * {share}", f"{value} < {lower} + {step} * {share}"
    moved = f"{step} + ({above})::TINYINT - ({below})::TINYINT"
    return _held(value, moved, grid.cells)


def _held(value: str, code: str, codes: int) -> str:
    """Give SQL for a code held within bounds, and the one after the last for NULL."""
    held = f"least(greatest({code}, 0), {codes - 1})"
    return f"(CASE WHEN {value} IS NULL THEN {codes} ELSE {held} END)"
