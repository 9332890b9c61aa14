"""What the source says of the columns that get noise: the domain of each, and whether noise suits it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.names import Table, alias, column, option_for
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.statements import render
from ppdm_sql.engine.types import double, is_number
from ppdm_sql.errors import InvalidOption, InvalidSource, no_records
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Domain,
    Noise,
    NoiseSpec,
    Retain,
    categories,
    is_whole,
    resolve_noise,
    rounding_of,
)
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release import Moments

MOST_EXACT = 2.0**53
"""Whole numbers above this are not exact as numbers with a floating point."""
_DECIMALS = re.compile(r"DECIMAL\(\d+,(\d+)\)")
_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "[")


@dataclass(frozen=True)
class NoisyColumn:
    """A column that gets noise."""

    column: Column
    noise: Noise
    decimals: int | None = None  # to how many decimals noisy values are rounded; None where they are not

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers that noise is added to, or that are cut into cells."""
        return not isinstance(self.noise, Retain)

    @property
    def added(self) -> AdditiveNoise | None:
        """Give the noise that is added to numbers; None for cells and categories."""
        return self.noise if isinstance(self.noise, AdditiveNoise) else None


def noisy_columns(
    engine: Engine,
    table: Table,
    asked: Sequence[tuple[NoiseSpec, Column]],
    ranges: Mapping[str, Domain],
    progress: Progress,
    source: str,
) -> tuple[int, list[NoisyColumn]]:
    """Count the records, and give each column the noise that is asked for, on its domain.

    Args:
        engine: Where the table is.
        table: What is read of the source.
        asked: The noise, with the column that gets it.
        ranges: Given domains, by column.
        progress: Told of what the user should know.
        source: Name of the source, for messages.

    Raises:
        InvalidSource: A column holds no numbers or categories, numbers that are not finite, or values outside
            of its domain.
        InvalidOption: The noise does not suit the column.

    Cost: one scan of the source, and one of each column with categories or cells of equal frequency.
    """
    numeric = [item for noise, item in asked if noise.kind != "retain"]
    for item in numeric:
        _refuse_no_numbers(item)
    for name in ranges:
        if name not in {item.name for item in numeric}:
            raise InvalidOption(
                f"A range is given for {name!r}, which gets no noise that has one.",
                f"Leave it out of --range, or give {option_for('--noise', name, '...')} for numbers.",
            )
    records, statistics = statistics_of(engine, table, [item.name for item in numeric])
    if not records:
        raise no_records(source)
    choice = _NoiseChoice(engine, table, ranges, statistics, progress)
    noisy = [choice.noisy(noise, item) for noise, item in asked]
    choice.notice()
    return records, noisy


def _refuse_no_numbers(item: Column) -> None:
    if not is_number(item.type):
        raise InvalidSource(
            f"Column {item.name!r} holds {type_title(item.type)}, not numbers.",
            f"For categories give {option_for('--noise', item.name, 'retain 0.7')}; "
            "cast dates to a number, such as days, in a view.",
        )


def _refuse_lost(item: Column, noise: AdditiveNoise, statistics: ColumnStatistics) -> None:
    """Refuse noise whose grid is finer than that of floating-point numbers as large as the values."""
    largest = max(abs(statistics.lower or 0.0), abs(statistics.upper or 0.0))
    if not noise.rounded and math.ulp(largest) > rounding_of(noise):
        raise InvalidSource(
            f"Values of {item.name!r} are so large that their noise is lost in the last digits of a "
            "floating-point number.",
            "In a view subtract a number near to them, such as the start of the year, or give more noise.",
        )


@dataclass
class _NoiseChoice:
    """Gives one column after the other its noise, once it is known to suit it."""

    engine: Engine
    table: Table
    ranges: Mapping[str, Domain]
    statistics: Mapping[str, ColumnStatistics]
    progress: Progress
    observed: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)

    def noisy(self, asked: NoiseSpec, item: Column) -> NoisyColumn:
        """Give a column its noise, once it is known to suit it."""
        if asked.kind == "retain":
            return NoisyColumn(item, self._retain(asked, item))
        statistics = self.statistics[item.name]
        if statistics.infinite:
            raise InvalidSource(
                f"Column {item.name!r} is NaN or infinite in {statistics.infinite} records.",
                "Leave these records out, or make them NULL, in a view.",
            )
        if asked.kind == "cells":
            return NoisyColumn(item, self._cells(asked, item, statistics))
        noise = resolve_noise(replace(asked, domain=self._domain(asked, item, statistics)))
        assert isinstance(noise, AdditiveNoise)
        self._refuse_outside(item, noise.domain.lower, noise.domain.upper, statistics)
        _refuse_lost(item, noise, statistics)
        return NoisyColumn(item, noise, self._decimals(item, noise, statistics))

    def notice(self) -> None:
        """Tell what of the data a release with this noise tells everybody."""
        if self.observed:
            self.progress.notice(
                f"Ranges are taken from the data and released with the noise: {', '.join(self.observed)}. "
                "The least and largest values belong to somebody; give --range to avoid that."
            )
        if self.listed:
            self.progress.notice(
                f"Values are taken from the data and released with the noise: {', '.join(self.listed)}. List "
                "all possible ones, such as 'job=retain 0.7 of clerk,cook,nurse', to avoid that."
            )

    def _domain(self, asked: NoiseSpec, item: Column, statistics: ColumnStatistics) -> Domain:
        """Give the domain that the owner says, else the one that the data show."""
        if asked.domain is not None:
            if item.name in self.ranges:
                raise InvalidOption(
                    f"The range of {item.name!r} is given twice.", "Give it with --noise or with --range."
                )
            domain = replace(asked.domain, whole=asked.domain.whole or is_whole(item))
        elif item.name in self.ranges:
            domain = self.ranges[item.name]
        elif statistics.lower is None or statistics.upper is None:
            raise InvalidSource(
                f"Column {item.name!r} holds no values to take its range from.",
                f"Give {option_for('--range', item.name, '0,100')}, for instance.",
            )
        else:
            domain = Domain(statistics.lower, statistics.upper, is_whole(item))
            self.observed.append(item.name)
        if domain.whole and statistics.fractions:
            raise InvalidSource(
                f"Column {item.name!r} holds {statistics.fractions} numbers that are not whole.",
                "Leave out 'whole', or round them in a view.",
            )
        return domain

    def _refuse_outside(self, item: Column, lower: float, upper: float, statistics: ColumnStatistics) -> None:
        least, largest = statistics.lower, statistics.upper
        if least is None or largest is None or lower <= least and largest <= upper:
            return
        records = outside_range(self.engine, self.table, item.name, lower, upper)
        raise InvalidSource(
            f"{records} records of {item.name!r} lie outside its range.",
            f"Give {option_for('--range', item.name, 'LOWER,UPPER')} that holds all values, "
            "or leave these out in a view.",
        )

    def _decimals(self, item: Column, noise: AdditiveNoise, statistics: ColumnStatistics) -> int | None:
        """Give the grid of the original, and refuse or tell of noise that is finer than it."""
        kept = _DECIMALS.fullmatch(item.type)
        decimals = 0 if noise.domain.whole else int(kept[1]) if kept else None
        if decimals is not None and noise.scale < 10.0**-decimals:
            if noise.rounded:
                raise InvalidOption(
                    f"Rounded noise of scale {noise.scale:g} would leave most of {item.name!r} as it is.",
                    f"Give a scale of at least {10.0**-decimals:g}.",
                )
            warn(
                self.progress,
                f"The noise of {item.name} is finer than its values are: rounding takes much of it away.",
            )
        if not noise.rounded:
            return None
        if decimals is None:
            raise InvalidOption(
                f"Column {item.name!r} holds {type_title(item.type)}, which has no grid to round to.",
                "Leave out 'rounded', or say that values are whole: 'gaussian 100% on 0,100 whole rounded'.",
            )
        domain = noise.domain
        if (max(-domain.lower, domain.upper) + 9 * noise.scale) * 10.0**decimals >= MOST_EXACT:
            raise InvalidOption(
                f"Values of {item.name!r} are too large to be rounded exactly.", "Leave out 'rounded'."
            )
        return decimals

    def _cells(self, asked: NoiseSpec, item: Column, statistics: ColumnStatistics) -> Cells:
        domain = None if asked.edges else self._domain(asked, item, statistics)
        if domain is not None and asked.way == "equal-frequency":
            noise: Noise = Cells(self._quantiles(item, int(asked.amount), domain, statistics))
        else:
            noise = resolve_noise(asked, domain)
        assert isinstance(noise, Cells)
        self._refuse_outside(item, noise.edges[0], noise.edges[-1], statistics)
        return noise

    def _quantiles(
        self, item: Column, cells: int, domain: Domain, statistics: ColumnStatistics
    ) -> tuple[float, ...]:
        """Cut the values into cells of about equal numbers of records; a value is never split."""
        self.progress.notice(
            f"The edges of the cells of {item.name} are taken from the data: values that belong to somebody."
        )
        shares = [cell / cells for cell in range(1, cells)]
        found = quantiles(self.engine, self.table, item.name, shares, statistics.values)
        inner = sorted({edge for edge in found if domain.lower < edge < domain.upper})
        if not inner:
            raise InvalidSource(
                f"Almost all values of {item.name!r} are equal, so no cells have equal frequencies.",
                f"Give {option_for('--noise', item.name, 'cells 0,10,20')}, for instance.",
            )
        return (domain.lower, *inner, domain.upper)

    def _retain(self, asked: NoiseSpec, item: Column) -> Noise:
        if any(word in item.type.upper() for word in _NESTED) and "ENUM(" not in item.type:
            raise InvalidSource(
                f"Column {item.name!r} holds {type_title(item.type)}, not categories.",
                "Cast it to text in a view.",
            )
        found = categories(self.engine, self.table, item)
        if asked.values:
            self._refuse_unlisted(asked, item, found)
        else:
            self.listed.append(item.name)
        return resolve_noise(asked, None, found)

    def _refuse_unlisted(self, asked: NoiseSpec, item: Column, found: Sequence[str]) -> None:
        if all(value in asked.values for value in found):
            return
        records = unlisted_values(self.engine, self.table, item.name, asked.values)
        raise InvalidSource(
            f"Column {item.name!r} has values that are not listed, in {records:,} records.",
            f"List all values in {option_for('--noise', item.name, 'retain ... of A,B,C')}.",
        )


@dataclass(frozen=True)
class ColumnStatistics:
    """What a column of numbers holds."""

    values: int  # records that have a value
    infinite: int  # of them, those with NaN or an infinite number
    fractions: int  # of them, those with a number that is not whole
    lower: float | None  # the least value, None where there is none
    upper: float | None  # the largest value


def statistics_of(
    engine: Engine, table: Table, names: Sequence[str]
) -> tuple[int, dict[str, ColumnStatistics]]:
    """Count the records, and measure columns of numbers, in one scan."""
    source = source_of(engine, table)
    query = partial(statistics_query, names=names)
    ((records, *found),) = source.aggregate(query, step="column_statistics")
    places = range(0, len(found), 5)
    measured = (ColumnStatistics(*found[place : place + 5]) for place in places)
    return int(records), dict(zip(names, measured, strict=True))


def statistics_query(rows: exp.Expression, names: Sequence[str]) -> exp.Select:
    """Write the SELECT that measures columns of numbers of rows under the alias ``s``.

    Example:
        >>> from ppdm_sql.engine.names import aliased
        >>> from ppdm_sql.engine.statements import formatted, render
        >>> print(formatted(render(statistics_query(aliased(Table("people"), "s"), ["salary"]))))
        SELECT
          COUNT(*),
          COUNT("s"."salary"),
          COUNT(*) FILTER(WHERE
            NOT ISFINITE(CAST("s"."salary" AS DOUBLE))),
          COUNT(*) FILTER(WHERE
            ISFINITE(CAST("s"."salary" AS DOUBLE))
            AND CAST("s"."salary" AS DOUBLE) <> FLOOR(CAST("s"."salary" AS DOUBLE))),
          MIN(CAST("s"."salary" AS DOUBLE)) FILTER(WHERE
            ISFINITE(CAST("s"."salary" AS DOUBLE))),
          MAX(CAST("s"."salary" AS DOUBLE)) FILTER(WHERE
            ISFINITE(CAST("s"."salary" AS DOUBLE)))
        FROM "people" AS s
    """
    measures: list[exp.Expression] = [exp.Count(this=exp.Star())]
    for name in names:
        value = as_double(name)
        finite = exp.Anonymous(this="isfinite", expressions=[value])
        fraction = exp.NEQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
        measures += [
            exp.Count(this=column(name, "s")),
            filtered(exp.Count(this=exp.Star()), exp.Not(this=finite)),
            filtered(exp.Count(this=exp.Star()), exp.And(this=finite.copy(), expression=fraction)),
            filtered(exp.Min(this=value.copy()), finite.copy()),
            filtered(exp.Max(this=value.copy()), finite.copy()),
        ]
    return exp.select(*measures).from_(rows)


def filtered(aggregate: exp.Expression, condition: exp.Expression | exp.Condition) -> exp.Expression:
    """Aggregate those rows only that meet a condition."""
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition))


def moments_of(engine: Engine, table: Table, names: Sequence[str]) -> dict[str, Moments]:
    """Measure columns of finite numbers, NULL aside; two scans of the table, where it lives.

    Deviations are taken from the mean: of large numbers close to each other they would be lost in rounding.
    """
    if not names:
        return {}
    source, values = source_of(engine, table), [as_double(name) for name in names]
    means: list[exp.Expression] = [exp.Anonymous(this="favg", expressions=[value]) for value in values]
    counts = [exp.Count(this=value.copy()) for value in values]
    (first,) = source.aggregate(lambda rows: exp.select(*counts, *means).from_(rows), step="means")
    numbers, middles = first[: len(names)], [mean or 0.0 for mean in first[len(names) :]]
    deviations = [
        exp.StddevPop(this=value.copy() - double(mean)) for value, mean in zip(values, middles, strict=True)
    ]
    (second,) = source.aggregate(lambda rows: exp.select(*deviations).from_(rows), step="deviations")
    parts = zip(names, numbers, middles, second, strict=True)
    return {name: Moments(number, mean, deviation or 0.0) for name, number, mean, deviation in parts}


def as_double(name: str) -> exp.Expression:
    """Give a column of ``s`` as a number with a floating point."""
    return exp.cast(column(name, "s"), "DOUBLE")


def value_counts(engine: Engine, table: Table, name: str) -> dict[str, int]:
    """Count the records of each value of a column, as text and NULL aside; one GROUP BY where it lives."""
    with engine.workspace():
        read = source_of(engine, table).counted(engine, [name], None)
        number = exp.Count(this=exp.Star()) if read.count is None else exp.Sum(this=column(read.count))
        value = exp.cast(column(name), "TEXT")
        query = exp.select(value, exp.cast(number, "BIGINT")).from_(read.table.expression())
        query = query.where(column(name).is_(exp.null()).not_()).group_by(value.copy()).order_by(value.copy())
        return dict(engine.query(render(query), step="marginal"))


def outside_range(engine: Engine, table: Table, name: str, lower: float, upper: float) -> int:
    """Count the records whose value lies outside of a range; one scan."""
    low = exp.LT(this=as_double(name), expression=double(lower))
    high = exp.GT(this=as_double(name), expression=double(upper))
    counted = exp.select(exp.Count(this=exp.Star())).where(exp.or_(low, high))
    ((records,),) = source_of(engine, table).aggregate(lambda rows: counted.from_(rows), step="outside")
    return int(records)


def unlisted_values(engine: Engine, table: Table, name: str, listed: Collection[str]) -> int:
    """Count the records whose value is none of those listed; one GROUP BY."""
    found = value_counts(engine, table, name)
    return sum(records for value, records in found.items() if value not in listed)


def quantiles(engine: Engine, table: Table, name: str, shares: Sequence[float], values: int) -> list[float]:
    """Give the values at which shares of all values are reached, as DuckDB's ``quantile_disc`` does.

    Args:
        engine: Where the table is, or what stands in for it.
        table: The table.
        name: A column of finite numbers.
        shares: From 0 to 1, ascending.
        values: Its records that have a value.

    Cost: a GROUP BY of the column and a sort of its distinct values.
    """
    if not values:
        return []
    places = [max(1, values - math.floor(values - values * share)) for share in shares]
    number = alias(exp.Count(this=exp.Star()), "n")
    grouped = exp.select(alias(as_double(name), "v"), number).group_by(as_double(name))
    given = column(name, "s").is_(exp.null()).not_()
    ascending = exp.Order(expressions=[exp.Ordered(this=column("v", "g"))])
    running = exp.Window(this=exp.Sum(this=column("n", "g")), order=ascending)
    least = [
        filtered(
            exp.Min(this=column("v", "c")),
            exp.GTE(this=column("reached", "c"), expression=exp.convert(place)),
        )
        for place in places
    ]

    def query(rows: exp.Expression) -> exp.Expression:
        counts = grouped.copy().from_(rows).where(given).subquery("g")
        reached = exp.select(column("v", "g"), alias(exp.cast(running, "BIGINT"), "reached")).from_(counts)
        return exp.select(*least).from_(reached.subquery("c"))

    (found,) = source_of(engine, table).aggregate(query, step="quantiles")
    return [float(edge) for edge in found]
