"""What the source says of the columns that get noise: the domain of each, and whether noise suits it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.names import Table, option_for
from ppdm_sql.engine.types import is_number
from ppdm_sql.errors import InvalidOption, InvalidSource, no_records
from ppdm_sql.methods.perturbation.column_statistics import ColumnStatistics, statistics_of
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Domain,
    Noise,
    NoiseSpec,
    Retain,
    resolve_noise,
    rounding_of,
)
from ppdm_sql.methods.perturbation.noise_lookup import categories, is_whole
from ppdm_sql.methods.perturbation.source_counts import outside_range, quantiles, unlisted_values
from ppdm_sql.progress import Progress, warn

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
