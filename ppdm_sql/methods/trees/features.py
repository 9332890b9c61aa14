"""Which columns a tree may split, and into which cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, alias, column, resolve, resolve_all
from ppdm_sql.engine.statements import render
from ppdm_sql.engine.types import Kind, is_number, kind_of, plain_type
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource
from ppdm_sql.methods.perturbation.noise import Cells, Domain, Gaussian, Noise, Uniform
from ppdm_sql.methods.perturbation.noise_lookup import domains_given, is_whole, noise_of
from ppdm_sql.methods.perturbation.transition_matrices import Grid, grid_for
from ppdm_sql.methods.trees.cells import TreeFeature, categories, discretized, number
from ppdm_sql.methods.trees.model import RECONSTRUCTED, Mode
from ppdm_sql.progress import Progress

MOST_VALUES = 256
"""Different values of a column of categories, and of the class, at most."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of the columns.

    Args:
        class_column: What is predicted.
        columns: What the tree may split; none for all that can be.
        mode: How the tree is grown.
        intervals: Cells of every attribute; None for the paper's rule.
        noise: On which columns, where the catalogue does not know it.
        ranges: Least and largest original value of columns.
    """

    class_column: str
    columns: Sequence[str]
    mode: Mode
    intervals: int | None
    noise: Mapping[str, str] | Sequence[str]
    ranges: Mapping[str, tuple[object, object]]


def features(
    engine: Engine, source: str, table: Table, wanted: Wanted, progress: Progress
) -> tuple[Table, str, list[TreeFeature]]:
    """Give the table as it is read, the class column as it spells it, and what a tree may split.

    Texts are told apart by their letters, whatever collation the table gives them.

    Raises:
        UnknownColumn: The table has no such column.
        ColumnRoleError: The class is also to be split.
        InvalidSource: A column cannot be split, or the table has no record with a class.
        InvalidOption: Values are to be reconstructed, and no column is known to have noise.

    Cost: one scan of the numbers, and one GROUP BY a column of categories.
    """
    columns = {item.name: item for item in engine.columns(table)}
    label = resolve(wanted.class_column, list(columns), table=source)
    chosen = resolve_all(wanted.columns, list(columns), table=source)
    if label in chosen:
        raise ColumnRoleError(
            f"Column {label!r} is the class and cannot be split too.", "Leave it out of --columns."
        )
    texts = [item for item in columns.values() if item.name == label or item.type == "VARCHAR"]
    rows = exact_table(engine, table, texts)
    noise = _noise(engine, source, wanted)
    domains = domains_given(wanted.ranges, list(columns.values()), table=source)
    names = [name for name in columns if name in chosen or (not chosen and name != label)]
    facts = _facts(engine, rows, label, [columns[name] for name in names if _is_number(columns[name])])
    if not facts.records:
        raise InvalidSource(
            f"Table {source} has no record with a class in {label!r}.", "Name a table that has some."
        )
    if facts.unclassed:
        progress.notice(f"{facts.unclassed} records without a class are left out.")
    found = []
    for name in names:
        try:
            feature = _feature(engine, rows, columns[name], noise.get(name), facts, domains, wanted)
        except InvalidSource as error:
            if chosen:
                raise
            progress.notice(f"Left out: {error.problem}")
            continue
        found.append(feature)
    _check_noise(found, source, wanted)
    return rows, label, found


def classes_of(engine: Engine, table: Table, label: str) -> tuple[str, ...]:
    """Give the classes as text, in the order of the column's values.

    Raises:
        InvalidSource: There are too many.

    Cost: one GROUP BY of the column.
    """
    values = _values(engine, table, label, by_text=False)
    if len(values) > MOST_VALUES:
        raise InvalidSource(
            f"Class column {label!r} has more than {MOST_VALUES} values.",
            "Name a column of classes, or put its values in groups in a view.",
        )
    return values


def class_type(engine: Engine, table: Table, label: str) -> str:
    """Give the type of the class column, that of its values for an ENUM."""
    return plain_type(dict(engine.columns(table))[label]).sql("duckdb")


@dataclass(frozen=True)
class _Facts:
    """What a scan tells: records with and without a class, and the bounds of the numbers."""

    records: int
    unclassed: int
    bounds: dict[str, tuple[float | None, float | None]]


def _facts(engine: Engine, table: Table, label: str, numbers: Sequence[Column]) -> _Facts:
    """Read the bounds of finite numbers among the records that have a class."""
    items: list[exp.Expression] = [exp.Count(this=exp.Star()), exp.Count(this=column(label, "s"))]
    for item in numbers:
        value = exp.cast(column(item.name, "s"), "DOUBLE")
        usable = exp.and_(exp.func("isfinite", value), column(label, "s").is_(exp.null()).not_())
        for bound in (exp.Min, exp.Max):
            items.append(exp.Filter(this=bound(this=value.copy()), expression=exp.Where(this=usable.copy())))
    query = exp.select(*items).from_(exp.alias_(table.expression(), "s", table=True))
    (row,) = engine.query(render(query), step="facts")
    bounds = zip(row[2::2], row[3::2], strict=True)
    return _Facts(row[1], row[0] - row[1], dict(zip((item.name for item in numbers), bounds, strict=True)))


def _is_number(item: Column) -> bool:
    return is_number(item.type)


def _values(engine: Engine, table: Table, name: str, *, by_text: bool) -> tuple[str, ...]:
    """List different values as text, one more than may be; in the order of the text or of the values."""
    value = column(name, "s")
    text = exp.cast(value, "TEXT")
    query = (
        exp.select(alias(text.copy(), "text"))
        .from_(exp.alias_(table.expression(), "s", table=True))
        .where(value.copy().is_(exp.null()).not_())
        .group_by(text.copy() if by_text else value.copy())
        .order_by(text.copy() if by_text else value.copy())
        .limit(MOST_VALUES + 1)
    )
    return tuple(dict.fromkeys(found for (found,) in engine.query(render(query), step="values")))


# -- one column -------------------------------------------------------------------------------------


def _feature(
    engine: Engine,
    table: Table,
    item: Column,
    noise: Noise | None,
    facts: _Facts,
    domains: Mapping[str, Domain],
    wanted: Wanted,
) -> TreeFeature:
    if isinstance(noise, Cells):
        return discretized(item.name, noise)
    if isinstance(noise, Gaussian | Uniform) and wanted.mode in RECONSTRUCTED:
        if not _is_number(item):
            raise _unusable(item, "Give its noise to a column of numbers.")
        return number(item.name, grid_for(noise, facts.records, wanted.intervals), noise)
    if _is_number(item):
        return number(item.name, _grid(item, facts, domains.get(item.name), wanted.intervals))
    if not _is_category(item):
        raise _unusable(item, "Make it a number or a text in a view, or leave it out of --columns.")
    values = _values(engine, table, item.name, by_text=True)
    if not values:
        raise InvalidSource(f"Column {item.name!r} has no values.", "Leave it out of --columns.")
    if len(values) > MOST_VALUES:
        raise InvalidSource(
            f"Column {item.name!r} has more than {MOST_VALUES} different texts.",
            "Put them in groups in a view, or leave it out of --columns.",
        )
    return categories(item.name, values)


def _is_category(item: Column) -> bool:
    return kind_of(item.type) in (Kind.TEXT, Kind.BOOLEAN, Kind.ENUM)


def _unusable(item: Column, remedy: str) -> InvalidSource:
    return InvalidSource(f"A tree cannot split column {item.name!r}, a {type_title(item.type)}.", remedy)


def _grid(item: Column, facts: _Facts, domain: Domain | None, intervals: int | None) -> Grid:
    """Divide the given or the observed range of a number into cells."""
    lower, upper = (domain.lower, domain.upper) if domain is not None else facts.bounds[item.name]
    if lower is None or upper is None:
        raise InvalidSource(f"Column {item.name!r} has no values.", "Leave it out of --columns.")
    if not math.isfinite(upper - lower):
        raise InvalidSource(
            f"The values of {item.name!r} lie too far apart.", f"Give --range {item.name}=LOWER,UPPER."
        )
    any_noise = Uniform(1.0, Domain(lower, upper, whole=is_whole(item)))
    return grid_for(any_noise, facts.records, intervals)


def _noise(engine: Engine, source: str, wanted: Wanted) -> dict[str, Noise]:
    """Find the noise; the modes that take values as they are only need to know of released cells."""
    if wanted.mode in RECONSTRUCTED or wanted.noise:
        return noise_of(engine, source, wanted.noise, wanted.ranges)
    if wanted.mode == "original":
        return {}
    try:
        return noise_of(engine, source)
    except InvalidOption:
        return {}


def _check_noise(found: Sequence[TreeFeature], source: str, wanted: Wanted) -> None:
    if wanted.mode in RECONSTRUCTED and all(feature.noise is None for feature in found):
        raise InvalidOption(
            f"No column of {source} that the tree may split has noise, so there is nothing to reconstruct.",
            "Give --mode randomized, which takes values as they are, or name other --columns.",
        )
