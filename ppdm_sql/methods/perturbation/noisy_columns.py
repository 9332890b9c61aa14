"""What the source says of the columns that get noise: the domain of each, and whether noise suits it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.names import Table, column, option_for
from ppdm_sql.engine.source import aggregated
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.engine.types import is_number
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
    column: Column
    noise: Noise
    decimals: int | None = None  # to how many decimals noisy values are rounded; None where they are not

    @property
    def numeric(self) -> bool:
        return not isinstance(self.noise, Retain)

    @property
    def additive(self) -> AdditiveNoise | None:
        return self.noise if isinstance(self.noise, AdditiveNoise) else None


def noisy_columns(
    engine: Engine,
    table: Table,
    specs: Sequence[tuple[NoiseSpec, Column]],
    ranges: Mapping[str, Domain],
    progress: Progress,
    source: str,
) -> tuple[int, list[NoisyColumn]]:
    """Count the records, and give each column the noise that is asked for, on its domain."""
    numeric = [item for noise, item in specs if noise.kind != "retain"]
    for item in numeric:
        if not is_number(item.type):
            raise InvalidSource(
                f"Column {item.name!r} holds {type_title(item.type)}, not numbers.",
                f"For categories give {option_for('--noise', item.name, 'retain 0.7')}; "
                "cast dates to a number, such as days, in a view.",
            )
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
    noisy = [choice.noisy_column(noise, item) for noise, item in specs]
    choice.notice()
    return records, noisy


def _refuse_vanishing(item: Column, noise: AdditiveNoise, statistics: ColumnStatistics) -> None:
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
    """Gives one column after the other its noise, once the noise is known to suit it."""

    engine: Engine
    table: Table
    ranges: Mapping[str, Domain]
    statistics: Mapping[str, ColumnStatistics]
    progress: Progress
    data_ranges: list[str] = field(default_factory=list)
    data_values: list[str] = field(default_factory=list)

    def noisy_column(self, spec: NoiseSpec, item: Column) -> NoisyColumn:
        if spec.kind == "retain":
            return NoisyColumn(item, self._retain(spec, item))
        statistics = self.statistics[item.name]
        if statistics.infinite:
            raise InvalidSource(
                f"Column {item.name!r} is NaN or infinite in {statistics.infinite} records.",
                "Leave these records out, or make them NULL, in a view.",
            )
        if spec.kind == "cells":
            return NoisyColumn(item, self._cells(spec, item, statistics))
        noise = resolve_noise(replace(spec, domain=self._domain(spec, item, statistics)))
        assert isinstance(noise, AdditiveNoise)
        self._refuse_outside(item, noise.domain.lower, noise.domain.upper, statistics)
        _refuse_vanishing(item, noise, statistics)
        return NoisyColumn(item, noise, self._decimals(item, noise, statistics))

    def notice(self) -> None:
        """Tell what of the data a release with this noise tells everybody."""
        if self.data_ranges:
            self.progress.notice(
                f"Ranges are taken from the data and released with the noise: {', '.join(self.data_ranges)}. "
                "The least and largest values belong to somebody; give --range to avoid that."
            )
        if self.data_values:
            self.progress.notice(
                f"Values are taken from the data and released with the noise: {', '.join(self.data_values)}. "
                "List all possible ones, such as 'job=retain 0.7 of clerk,cook,nurse', to avoid that."
            )

    def _domain(self, spec: NoiseSpec, item: Column, statistics: ColumnStatistics) -> Domain:
        """Give the domain that the owner says, else the one that the data show."""
        if spec.domain is not None:
            if item.name in self.ranges:
                raise InvalidOption(
                    f"The range of {item.name!r} is given twice.", "Give it with --noise or with --range."
                )
            domain = replace(spec.domain, whole=spec.domain.whole or is_whole(item))
        elif item.name in self.ranges:
            domain = self.ranges[item.name]
        elif statistics.lower is None or statistics.upper is None:
            raise InvalidSource(
                f"Column {item.name!r} holds no values to take its range from.",
                f"Give {option_for('--range', item.name, '0,100')}, for instance.",
            )
        else:
            domain = Domain(statistics.lower, statistics.upper, is_whole(item))
            self.data_ranges.append(item.name)
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
        query = "SELECT count(*) FROM {rows} WHERE {v} < {lower} OR {v} > {upper}"
        holes = {"v": as_double(item.name), "lower": float(lower), "upper": float(upper)}
        ((records,),) = aggregated(self.engine, self.table, query, step="outside", **holes)
        raise InvalidSource(
            f"{records} records of {item.name!r} lie outside its range.",
            f"Give {option_for('--range', item.name, 'LOWER,UPPER')} that holds all values, "
            "or leave these out in a view.",
        )

    def _decimals(self, item: Column, noise: AdditiveNoise, statistics: ColumnStatistics) -> int | None:
        """Give the grid of the original, and refuse or tell of noise that is finer than it."""
        match = _DECIMALS.fullmatch(item.type)
        decimals = 0 if noise.domain.whole else int(match[1]) if match else None
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

    def _cells(self, spec: NoiseSpec, item: Column, statistics: ColumnStatistics) -> Cells:
        domain = None if spec.edges else self._domain(spec, item, statistics)
        if domain is not None and spec.binning == "equal-frequency":
            noise: Noise = Cells(self._quantiles(item, int(spec.amount), domain, statistics))
        else:
            noise = resolve_noise(spec, domain)
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
        cuts = quantiles(self.engine, self.table, item.name, shares, statistics.values)
        inner = sorted({edge for edge in cuts if domain.lower < edge < domain.upper})
        if not inner:
            raise InvalidSource(
                f"Almost all values of {item.name!r} are equal, so no cells have equal frequencies.",
                f"Give {option_for('--noise', item.name, 'cells 0,10,20')}, for instance.",
            )
        return (domain.lower, *inner, domain.upper)

    def _retain(self, spec: NoiseSpec, item: Column) -> Noise:
        if any(word in item.type.upper() for word in _NESTED) and "ENUM(" not in item.type:
            raise InvalidSource(
                f"Column {item.name!r} holds {type_title(item.type)}, not categories.",
                "Cast it to text in a view.",
            )
        counts = categories(self.engine, self.table, item)
        if not spec.values:
            self.data_values.append(item.name)
        elif not set(counts) <= set(spec.values):
            records = sum(number for value, number in counts.items() if value not in spec.values)
            raise InvalidSource(
                f"Column {item.name!r} has values that are not listed, in {records:,} records.",
                f"List all values in {option_for('--noise', item.name, 'retain ... of A,B,C')}.",
            )
        return resolve_noise(spec, None, tuple(counts))


@dataclass(frozen=True)
class ColumnStatistics:
    values: int  # records that have a value
    infinite: int  # of them, those with NaN or an infinite number
    fractions: int  # of them, those with a number that is not whole
    lower: float | None  # the least value, None where there is none
    upper: float | None  # the largest value


_STATISTICS = (
    "count({c}), count(*) FILTER (WHERE NOT isfinite({v})), "
    "count(*) FILTER (WHERE isfinite({v}) AND {v} <> floor({v})), "
    "min({v}) FILTER (WHERE isfinite({v})), max({v}) FILTER (WHERE isfinite({v}))"
)


def statistics_of(
    engine: Engine, table: Table, names: Sequence[str]
) -> tuple[int, dict[str, ColumnStatistics]]:
    measures = [sql(_STATISTICS, c=column(name, "s"), v=as_double(name)) for name in names]
    query = "SELECT {measures} FROM {rows}"
    ((records, *row),) = aggregated(
        engine, table, query, step="column_statistics", measures=[Statement("count(*)"), *measures]
    )
    places = range(0, len(row), 5)
    statistics = (ColumnStatistics(*row[place : place + 5]) for place in places)
    return int(records), dict(zip(names, statistics, strict=True))


def moments_of(engine: Engine, table: Table, names: Sequence[str]) -> dict[str, Moments]:
    """Measure columns of finite numbers, NULL aside; two scans of the table, where it lives.

    Deviations are taken from the mean: of large numbers close to each other they would be lost in rounding.
    """
    if not names:
        return {}
    values, query = [as_double(name) for name in names], "SELECT {measures} FROM {rows}"
    means = [sql("count({v}), favg({v})", v=value) for value in values]
    (first,) = aggregated(engine, table, query, step="means", measures=means)
    middles = [mean or 0.0 for mean in first[1::2]]
    deviations = [sql("stddev_pop({v} - {m})", v=v, m=m) for v, m in zip(values, middles, strict=True)]
    (second,) = aggregated(engine, table, query, step="deviations", measures=deviations)
    parts = zip(names, first[::2], middles, second, strict=True)
    return {name: Moments(number, mean, deviation or 0.0) for name, number, mean, deviation in parts}


def as_double(name: str) -> Statement:
    return sql("CAST({c} AS DOUBLE)", c=column(name, "s"))


def originals(noisy: Sequence[NoisyColumn]) -> list[Statement]:
    """Give the originals of the randomized columns: numbers with a floating point, or text."""
    values = [
        as_double(it.column.name) if it.numeric else sql("{c}::VARCHAR", c=column(it.column.name, "s"))
        for it in noisy
    ]
    return [sql("{v} AS x{place}", v=value, place=place) for place, value in enumerate(values)]


def quantiles(engine: Engine, table: Table, name: str, shares: Sequence[float], values: int) -> list[float]:
    """Give the values at which ascending shares of the values are reached, as ``quantile_disc`` does."""
    if not values:
        return []
    places = [max(1, values - math.floor(values - values * share)) for share in shares]
    (edges,) = aggregated(
        engine,
        table,
        "SELECT {least} FROM (SELECT v, CAST(sum(n) OVER (ORDER BY v) AS BIGINT) AS reached "
        "FROM (SELECT {v} AS v, count(*) AS n FROM {rows} WHERE {v} IS NOT NULL GROUP BY {v}) AS g) AS c",
        step="quantiles",
        least=[sql("min(v) FILTER (WHERE reached >= {place})", place=place) for place in places],
        v=as_double(name),
    )
    return [float(edge) for edge in edges]
