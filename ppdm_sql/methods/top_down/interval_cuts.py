"""Cuts into intervals that are grown during the run: the operator splits one at its best boundary.

Where an ordered column has no taxonomy, an interval is split at the boundary of largest gain that keeps the
requirements. Gains follow from one histogram; what a boundary breaks is measured by
:mod:`~ppdm_sql.methods.top_down.counts`. Read literally, the paper tries the boundary of largest gain
alone, and leaves the interval as it is where that one breaks a requirement. An owner may ask more of a
boundary: that intervals have a least width, and that tails stay whole.

Sources: Fung, Wang, Yu 2005, section 3 ("dynamically generated taxonomy tree"); Quinlan 1993. For tails, the
Privacy Rule of HIPAA, 45 CFR 164.514(b)(2)(i)(C): "all ages over 89 ... may be aggregated into a single
category of age 90 or older"; statistical offices call it top and bottom coding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Column, Engine, statements
from ppdm_sql.engine.names import option_for
from ppdm_sql.engine.types import Kind, is_number, kind_of
from ppdm_sql.errors import InvalidOption, said
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.score import LITERAL, Worth, by_chance, explained_by_halves

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Gains that differ by less are equal, and the smallest boundary wins."""
NUMBER = re.compile(r"\d+(\.\d+)?")

Alive = NDArray[np.bool_] | None
"""For each boundary whether it may still be chosen; None where all may."""
BoundaryRule = Callable[[int, int, Codes], NDArray[np.bool_]]
"""Tells at which of some boundaries the interval of the codes from low up to high may be split."""


Split = tuple[float, float, float]
"""How an interval is best cut: the first code of the right half, the gain, the smaller half's records."""
NO_SPLIT = (-1.0, 0.0, 0.0)


@dataclass(eq=False)
class ClassHistogram:
    """Records of each value of an ordered column by class, and the splits that follow from them."""

    counts: Counts  # by value and class, values in order; NULL, if there is one, is the last
    has_null: bool  # then NULL is split from the numbers first
    places: Floats  # from value_places
    least: int | None = None  # records of each half; None where the boundary of largest gain alone is tried
    rules: tuple[BoundaryRule, ...] = ()  # what boundaries must meet, but for the one before NULL
    worth: Worth = LITERAL

    @property
    def size(self) -> int:
        return len(self.counts)

    @cached_property
    def _up_to(self) -> Counts:
        return np.vstack([np.zeros((1, self.counts.shape[1]), dtype=np.int64), self.counts.cumsum(axis=0)])

    def classes(self, low: int | Codes, high: int | Codes) -> Counts:
        return np.asarray(self._up_to[high] - self._up_to[low])

    def records(self, low: int | Codes, high: int | Codes) -> Codes:
        return np.asarray(self.classes(low, high).sum(axis=-1))

    def gains(self, low: int, high: int, boundaries: Codes) -> Floats:
        """Give what is gained where an interval is split at each of some boundaries."""
        whole, explained, chance = self.classes(low, high), np.zeros(len(boundaries)), np.zeros(())
        if self.worth.literal or self.worth.information:
            choices = 1 if self._only_null(high) else high - low - 1
            chance = by_chance(2, np.count_nonzero(whole)) + np.log2(max(choices, 1))
            explained = explained_by_halves(whole, self.classes(low, boundaries))
        records = self.records(low, boundaries), self.records(boundaries, high)
        penalty = sum(n * fall for n, fall in zip(records, self.falls(low, high, boundaries), strict=True))
        return self.worth.gains(explained, chance, whole.sum(), np.asarray(penalty))

    def falls(self, low: int, high: int, boundaries: Codes) -> tuple[Floats, Floats]:
        """Give by how much the certainty penalty of each half is below that of the interval."""
        right = self.places[boundaries] - self.places[low]  # what it loses of its width
        if high == len(self.places):  # NULL, behind all values, is taken out of the symbol
            return 1 - right, np.ones(len(boundaries))
        return self.places[high] - self.places[boundaries], right

    def _only_null(self, high: int) -> bool:
        """Whether an interval holds NULL, which is split from the numbers first."""
        return self.has_null and high == self.size

    def split(self, low: int, high: int, alive: Alive = None) -> Split:
        """Give the best split of the codes from low up to high, NO_SPLIT where none is beneficial."""
        if self.worth.literal and np.count_nonzero(self.classes(low, high)) <= 1:
            return NO_SPLIT
        boundaries = self.boundaries(low, high, alive)
        if not len(boundaries):
            return NO_SPLIT
        gains = self.gains(low, high, boundaries)
        best = first_best(gains)
        boundary = int(boundaries[best])
        smallest = min(self.records(low, boundary), self.records(boundary, high))
        return float(boundary), float(gains[best]), float(smallest)

    def boundaries(self, low: int, high: int, alive: Alive) -> Codes:
        only_null = self._only_null(high)
        boundaries = np.arange(low + 1, high)[-1 if only_null else 0 :]
        if self.least is not None:
            smaller = np.minimum(self.records(low, boundaries), self.records(boundaries, high))
            boundaries = boundaries[smaller >= self.least]
        if alive is not None:
            boundaries = boundaries[alive[boundaries]]
        for meets in () if only_null else self.rules:
            boundaries = boundaries[meets(low, high, boundaries)]
        return boundaries

    def node(self, low: int, high: int) -> int:
        """Number an interval; the root is ``node(0, size)``."""
        return low * (self.size + 1) + high

    def bounds(self, node: int) -> tuple[int, int]:
        """Give back the codes of an interval: the first, and the one after the last."""
        return divmod(node, self.size + 1)


@dataclass(frozen=True, eq=False)
class IntervalCut(Cut):
    """A cut into intervals of codes. A candidate is the boundary at which an interval would be split."""

    histogram: ClassHistogram
    boundaries: Codes  # first codes of the intervals, and at the end the number of codes
    splits: Floats  # of each interval the best split
    alive: Alive = None

    @classmethod
    def of(cls, histogram: ClassHistogram, boundaries: Sequence[int], alive: Alive = None) -> IntervalCut:
        splits = np.array([histogram.split(*ends, alive) for ends in pairwise(boundaries)], np.float64)
        return cls(histogram, np.array(boundaries, dtype=np.int64), splits.reshape(-1, 3), alive)

    @classmethod
    def top(cls, histogram: ClassHistogram) -> IntervalCut:
        return cls.of(histogram, (0, histogram.size))

    @cached_property
    def parts(self) -> Codes:
        return np.repeat(np.arange(len(self.boundaries) - 1), np.diff(self.boundaries))

    @cached_property
    def nodes(self) -> Codes:
        nodes = [self.histogram.node(low, high) for low, high in pairwise(self.boundaries.tolist())]
        return np.array(nodes, dtype=np.int64)[self.parts]

    @cached_property
    def _open(self) -> Floats:
        return self.splits[self.splits[:, 0] >= 0]

    @property
    def candidates(self) -> Codes:
        return self._open[:, 0].astype(np.int64)

    @property
    def gains(self) -> Floats:
        return self._open[:, 1]

    @property
    def smallest(self) -> Codes:
        return self._open[:, 2].astype(np.int64)

    def refine(self, candidate: int) -> IntervalCut:
        place = self._place(candidate)
        low, high = self._around(candidate)
        halves = (low, candidate), (candidate, high)
        rows = np.array([self.histogram.split(*ends, self.alive) for ends in halves], dtype=np.float64)
        splits = np.concatenate([self.splits[:place], rows, self.splits[place + 1 :]])
        return replace(self, boundaries=np.insert(self.boundaries, place + 1, candidate), splits=splits)

    def _place(self, boundaries: int | Codes) -> Any:
        return np.searchsorted(self.boundaries, boundaries) - 1

    def contested(self, alive: NDArray[np.bool_]) -> Codes:
        """Give the part of each value code where another boundary may take the place of one, else -1."""
        places = self._place(self.candidates[~alive[self.candidates]])
        return np.asarray(np.where(np.isin(self.parts, places), self.parts, -1))

    def without(self, alive: NDArray[np.bool_]) -> IntervalCut:
        """Give the same intervals with the boundaries that are best once others have fallen."""
        splits, alive = self.splits.copy(), alive.copy()
        best = splits[:, 0].astype(np.int64)
        for place in np.flatnonzero((best >= 0) & ~alive[best]).tolist():
            low, high = self.boundaries[place : place + 2].tolist()
            splits[place] = self.histogram.split(low, high, alive)
        return replace(self, splits=splits, alive=alive)

    def reopen(self, alive: NDArray[np.bool_]) -> IntervalCut:
        """Give the same intervals with boundaries that had fallen for one state only open again."""
        if self.histogram.least is None:
            return self
        return IntervalCut.of(self.histogram, self.boundaries.tolist(), alive.copy())

    def _around(self, boundary: int) -> tuple[int, int]:
        low, high = self.boundaries[self._place(boundary) :][:2].tolist()
        return low, high

    def split(self, candidate: int) -> Sequence[Codes]:
        low, high = self._around(candidate)
        return np.arange(low, candidate), np.arange(candidate, high)

    @property
    def worth(self) -> Worth:  # type: ignore[override]
        return self.histogram.worth

    def falls(self, candidate: int) -> tuple[Floats, Codes]:
        (low, high), own = self._around(candidate), np.array([candidate])
        falls = self.histogram.falls(low, high, own)
        records = self.histogram.records(low, own), self.histogram.records(own, high)
        return np.concatenate(falls), np.concatenate(records)

    def choices(self, boundary: int, alive: NDArray[np.bool_]) -> tuple[Codes, Floats, Floats]:
        """Give the boundaries at which the interval around one may be split, their gains, and what each half
        of each shows a record more, shape (2, boundaries).
        """  # noqa: D205
        low, high = self._around(boundary)
        places = self.histogram.boundaries(low, high, alive)
        gains = self.histogram.gains(low, high, places)
        certainty = self.worth.certainty * np.stack(self.histogram.falls(low, high, places))
        records = np.stack([self.histogram.records(low, places), self.histogram.records(places, high)])
        information = (gains * self.worth.records - (certainty * records).sum(axis=0)) / max(
            self.histogram.records(low, high), 1
        )
        return places, gains, information + certainty

    def with_split(self, place: int, split: Split, alive: NDArray[np.bool_]) -> IntervalCut:
        """Give the same intervals where another boundary, or none, stands for one of them."""
        splits = self.splits.copy()
        splits[self._place(place)] = split
        return replace(self, splits=splits, alive=alive)

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        low, high = self._around(candidate)
        node = self.histogram.node
        return node(low, high), (node(low, int(candidate)), node(int(candidate), high))


def first_best(gains: Floats) -> int:
    """Give the place of the largest gain; of those that count as equal to it, the first."""
    return int((gains >= gains.max() * (1 - RELATIVE) - ABSOLUTE).argmax())


# -- where values lie in the range of their column ------------------------------------------------


def value_places(engine: Engine, dictionary: Dictionary, bounds: tuple[str, str] | None) -> Floats:
    """Give where each value but NULL lies in the range, from 0 to 1, and behind them the last one's end."""
    kind = dictionary.column.type
    number = "CAST({} AS DOUBLE)" if is_number(kind) else "epoch({})"
    own, low, high = (number.format(t) for t in ("value", f"$lower::{kind}", f"$upper::{kind}"))
    # what is infinite or NaN lies at an end
    query = (
        f"WITH numbers AS (SELECT code, {own} AS number FROM {dictionary.table} WHERE value IS NOT NULL), "
        "range AS (SELECT "
        f"coalesce({low}, min(number) FILTER (isfinite(number))) / 2 AS low, "
        f"coalesce({high}, max(number) FILTER (isfinite(number))) / 2 AS high FROM numbers) "
        "SELECT CASE WHEN isfinite(number) THEN coalesce((number / 2 - low) / nullif(high - low, 0), 0) "
        "WHEN number < 0 THEN 0 ELSE 1 END AS place FROM numbers, range ORDER BY code"
    )
    lower, upper = bounds or (None, None)
    column = engine.arrays(query, {"lower": lower, "upper": upper}, step="places")["place"]
    places = np.maximum.accumulate(np.append(column, 1.0 if len(column) > 1 or bounds else 0.0))
    places[0] = 0.0
    return np.asarray(places, dtype=np.float64)


# -- what a boundary must meet --------------------------------------------------------------------


def wide_enough(
    engine: Engine, dictionary: Dictionary, bounds: tuple[str, str] | None, width: object
) -> BoundaryRule:
    """Let no interval of a column become narrower than a number, of days for moments, or than ``1 month``."""
    kind, text = dictionary.column.type, _width(engine, dictionary.column, width)
    place, wide = {  # in exact numbers where it can be
        Kind.WHOLE: ("value::HUGEINT", "ceil($width::DECIMAL(38, 10))::HUGEINT"),
        Kind.DECIMAL: ("value::DECIMAL(38, 10)", "$width::DECIMAL(38, 10)"),
        Kind.REAL: ("value::DOUBLE", "$width::DOUBLE"),
        Kind.TIME: ("epoch(value)", "epoch($width::INTERVAL)"),
    }.get(kind_of(kind), ("value::TIMESTAMP", "$width::INTERVAL"))
    # for each value the first one that lies the width above it, or at the end of the range
    query = (
        "WITH edges AS ("
        f"SELECT code, CASE WHEN code = 0 THEN coalesce($lower::{kind}, value) ELSE value END AS value "
        f"FROM {dictionary.table} WHERE value IS NOT NULL UNION ALL "
        f"SELECT $values, $upper::{kind} WHERE $upper IS NOT NULL"
        f"), places AS (SELECT min(code) AS code, {place} AS place FROM edges GROUP BY ALL) "
        "SELECT coalesce(r.code, $values + 1)::BIGINT AS reach "
        f"FROM (SELECT code, {place} + {wide} AS place FROM edges) AS l "
        "ASOF LEFT JOIN places AS r ON l.place <= r.place ORDER BY l.code"
    )
    lower, upper = bounds or (None, None)
    values = dictionary.size - dictionary.has_null
    params = {"lower": lower, "upper": upper, "width": text, "values": values}
    reach = engine.arrays(query, params, step="reach")["reach"].astype(np.int64)
    following = np.arange(1, len(reach) + 1)
    following[-1:] = values + 1  # behind the last there is none
    reach = np.maximum(reach, following)  # a width may be lost in a large floating-point number

    def meets(low: int, high: int, boundaries: Codes) -> NDArray[np.bool_]:
        return np.asarray((boundaries >= reach[low]) & (high >= reach[boundaries]))

    return meets


def _width(engine: Engine, column: Column, width: object) -> str:
    """Check a width, and write it as its column's kind takes it."""
    text = str(width).strip()
    plain = NUMBER.fullmatch(text) is not None
    if kind_of(column.type) in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME):
        text = f"{text} days" if plain else text
        query = "SELECT coalesce(TRY_CAST($text AS INTERVAL) > INTERVAL 0 SECONDS, FALSE)"
        ((usable,),) = engine.query(query, {"text": text}, step="width")
    else:
        usable = plain and float(text) > 0
    if usable:
        return text
    raise InvalidOption(
        f"The least width {said(str(width))} of column {column.name!r} is none of {column.type}.",
        f"Write it as {option_for('--min-width', column.name, '5')}; "
        "days or a text such as '1 month' for dates.",
    )


@dataclass(frozen=True)
class Tails:
    """The tails of one column, which no boundary may split."""

    bottom: str | None  # text of the greatest value of the lower tail, if there is one
    top: str | None  # text of the smallest value of the upper tail, if there is one
    above_bottom: int  # the first code above the lower tail
    from_top: int  # the first code of the upper tail

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        return self.bottom, self.top

    def __call__(self, low: int, high: int, boundaries: Codes) -> NDArray[np.bool_]:
        below = (boundaries <= self.from_top) | (self.top is None)
        return np.asarray((boundaries >= self.above_bottom) & below)


def tails_of(engine: Engine, dictionary: Dictionary, bottom: object, top: object) -> Tails:
    """Find the tails of a column among its values, by their bounds; None for no tail."""
    query = statements.bind("top_down/tails", tables={"dictionary": dictionary.table})
    texts = [None if bound is None else str(bound).strip() for bound in (bottom, top)]
    params = dict(zip(("bottom", "top"), texts, strict=True))
    ((usable, *ends),) = engine.query(query, params, step="tails")
    if usable:
        return Tails(*ends)
    name, kind = dictionary.column
    raise InvalidOption(
        f"The tails of column {name!r} do not begin at values of {kind}, the lower one below the upper.",
        f"Write them as {option_for('--bottom', name, '18')} and {option_for('--top', name, '90')}; "
        "both values are in their tails.",
    )
