"""What the boundary of a grown interval must meet, beside the requirements: a criterion, or a least width.

Source of the criterion: Fayyad, Irani 1993, "Multi-Interval Discretization of Continuous-Valued Attributes
for Classification Learning", IJCAI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, option_for
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.errors import InvalidOption, said
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.interval_cuts import ClassHistogram
from ppdm_sql.methods.top_down.score import entropy, gain_of_halves

NUMBER = re.compile(r"\d+(\.\d+)?")


def described_shorter(histogram: ClassHistogram, low: int, high: int, boundaries: Codes) -> NDArray[np.bool_]:
    """Tell which boundaries pass the criterion of minimum description length.

    One passes if Gain > (log2(N - 1) + log2(3^k - 2) - k E + k1 E1 + k2 E2) / N, for N records of k classes
    and entropy E, and those of its halves: if the classes take fewer bits with the boundary than without it.

    Example: ten records of one class before ten of another, and the same mixed.
        >>> def passed(classes):
        ...     counts = np.eye(2, dtype=np.int64)[classes]
        ...     return described_shorter(ClassHistogram(counts, False), 0, 20, np.array([10])).tolist()
        >>> passed([0] * 10 + [1] * 10), passed([0, 1] * 10)
        ([True], [False])
    """
    whole = histogram.classes(low, high)
    left = histogram.classes(low, boundaries)
    records = int(whole.sum())
    kinds = np.count_nonzero(whole)
    # log2(3^k - 2), of any number of classes
    names = kinds * np.log2(3.0) + np.log2(1 - 2 * 3.0**-kinds) if kinds else 0.0
    halves = sum((_described(part) for part in (left, whole - left)), np.zeros(len(boundaries)))
    least = (np.log2(max(records - 1, 1)) + names - _described(whole) + halves) / max(records, 1)
    return np.asarray(gain_of_halves(whole, left) > least)


def _described(counts: Codes) -> Floats:
    """Give k E of class counts along the last axis."""
    return np.asarray(np.count_nonzero(counts, axis=-1) * entropy(counts))


@dataclass(frozen=True, eq=False)
class WideEnough:
    """Lets no interval become narrower than a width.

    Args:
        reach: For each value the first one, as its code, that lies the width above it, or at the end of the
            range; more than their number where none does.
    """

    reach: Codes

    def __call__(
        self, histogram: ClassHistogram, low: int, high: int, boundaries: Codes
    ) -> NDArray[np.bool_]:
        """Tell which boundaries leave two halves that are wide enough."""
        return np.asarray((boundaries >= self.reach[low]) & (high >= self.reach[boundaries]))


def wide_enough(
    engine: Engine, dictionary: Dictionary, bounds: tuple[str, str] | None, width: object
) -> WideEnough:
    """Make the rule of a column.

    Args:
        engine: Where its values are.
        dictionary: Its values.
        bounds: Texts of the lower and upper bound of its range; None for the observed ones.
        width: A number, for moments one of days; or a text such as ``1 month``.

    Raises:
        InvalidOption: The width is none.

    Cost: one sort of the column's values.
    """
    column, text = dictionary.column, _width(engine, dictionary.column, width)
    lower, upper = bounds or (None, None)
    values = dictionary.size - dictionary.has_null
    params = {"lower": lower, "upper": upper, "width": text, "values": values}
    found = engine.arrays(reach_sql(dictionary.table, column.type), params, step="reach")["reach"]
    reach, following = found.astype(np.int64), np.arange(1, len(found) + 1)
    following[-1:] = values + 1  # behind the last there is none
    # a width may be lost in a large floating-point number
    return WideEnough(np.maximum(reach, following))


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


def reach_sql(dictionary: Table, type_text: str) -> str:
    """Write the SELECT of the first value that lies a width above each; in exact numbers where it can be.

    Example: the papers' bank customers by Salary.
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(reach_sql(Table("salaries"), "INTEGER")))
        WITH edges AS (
          SELECT
            code,
            CASE WHEN code = 0 THEN COALESCE(CAST($lower AS INT), value) ELSE value END AS value
          FROM "salaries"
          WHERE
            NOT value IS NULL
          UNION ALL
          SELECT
            $values,
            CAST($upper AS INT)
          WHERE
            NOT $upper IS NULL
        ), places AS (
          SELECT
            MIN(code) AS code,
            CAST(value AS INT128) AS place
          FROM edges
          GROUP BY ALL
        )
        SELECT
          CAST(COALESCE(r.code, $values + 1) AS BIGINT) AS reach
        FROM (
          SELECT
            code,
            CAST(value AS INT128) + CAST(CEIL(CAST($width AS DECIMAL(38, 10))) AS INT128) AS place
          FROM edges
        ) AS l
        ASOF LEFT JOIN places AS r
          ON l.place <= r.place
        ORDER BY
          l.code
    """
    kind = kind_of(type_text)
    place, wide = {
        Kind.WHOLE: ("value::HUGEINT", "ceil($width::DECIMAL(38, 10))::HUGEINT"),
        Kind.DECIMAL: ("value::DECIMAL(38, 10)", "$width::DECIMAL(38, 10)"),
        Kind.REAL: ("value::DOUBLE", "$width::DOUBLE"),
        Kind.TIME: ("epoch(value)", "epoch($width::INTERVAL)"),
    }.get(kind, ("value::TIMESTAMP", "$width::INTERVAL"))
    return (
        "WITH edges AS ("
        f"SELECT code, CASE WHEN code = 0 THEN coalesce($lower::{type_text}, value) ELSE value END AS value "
        f"FROM {dictionary} WHERE value IS NOT NULL UNION ALL "
        f"SELECT $values, $upper::{type_text} WHERE $upper IS NOT NULL"
        f"), places AS (SELECT min(code) AS code, {place} AS place FROM edges GROUP BY ALL) "
        "SELECT coalesce(r.code, $values + 1)::BIGINT AS reach "
        f"FROM (SELECT code, {place} + {wide} AS place FROM edges) AS l "
        "ASOF LEFT JOIN places AS r ON l.place <= r.place ORDER BY l.code"
    )
