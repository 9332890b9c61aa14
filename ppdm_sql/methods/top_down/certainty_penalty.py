"""The gain of a run without a class: by how much a step lowers the normalized certainty penalty.

The penalty of a cell is the share of its column's domain that its label leaves open: (leaves below the node -
1) / (all leaves - 1) in a taxonomy, width / range for an interval, 1 for the suppressed symbol. That of a
table is the mean over its records and masked columns, each column by its weight. What a step gains is what it
takes from the penalty of the table, so the gains of a run add up to all that it took; a step is beneficial if
it gains anything.

Sources: Xu, Wang, Pei, Wang, Shi, Fu 2006, "Utility-Based Anonymization Using Local Recoding", KDD, for the
penalty; Ghinita, Karras, Kalnis, Mamoulis 2007, "Fast Data Anonymization with Low Information Loss", VLDB,
for its mean over a table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.types import is_number
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.cuts import SuppressionCut
from ppdm_sql.methods.top_down.interval_cuts import ClassHistogram
from ppdm_sql.methods.top_down.taxonomy_cuts import TaxonomyTree

CERTAINTY = "certainty"
"""What a run without a class gains, in one word."""


@dataclass(frozen=True, eq=False)
class CertaintySuppression(SuppressionCut):
    """A cut in which every disclosure is beneficial: it takes the whole penalty off the value's records."""

    drifts = False

    def is_mixed(self, left: Counts) -> bool:
        """Every value that is still suppressed is worth disclosing."""
        return True

    @cached_property
    def _records(self) -> int:
        return int(self.counts.sum())

    def gains_beside(self, left: Counts, parts: Counts) -> Floats:
        """Give the share of the records that each of some parts has."""
        return np.asarray(parts.sum(axis=1) / max(self._records, 1))


@dataclass(frozen=True, eq=False)
class CertaintyTree(TaxonomyTree):
    """A taxonomy of which every inner node is worth specializing, as far as it has records."""

    @cached_property
    def beneficial(self) -> NDArray[np.bool_]:
        """Nodes whose records are shown as something narrower afterwards."""
        return np.asarray(self.gains > 0)

    @cached_property
    def gains(self) -> Floats:
        """By how much the penalty of the column falls where each node is specialized."""
        hidden = self.records * self.penalties
        kept = np.array([hidden[list(children)].sum() for children in self.children])
        inner = np.array([bool(children) for children in self.children])
        return np.asarray(np.where(inner, hidden - kept, 0.0) / max(self.records[0], 1))


@dataclass(eq=False)
class CertaintyHistogram(ClassHistogram):
    """Records of each value of an ordered column, whose intervals are split where the penalty falls most.

    Args:
        places: Where each value but NULL lies in the range, from 0 to 1; behind them the end of the last one.
    """

    places: Floats = field(default_factory=lambda: np.zeros(1))

    def is_beneficial(self, low: int, high: int) -> bool:
        """Every split tells more."""
        return True

    def gains(self, low: int, high: int, boundaries: Codes) -> Floats:
        """Give by how much the penalty of the column falls, a record of the table."""
        left = self.classes(low, boundaries).sum(axis=1)
        right = self.classes(boundaries, high).sum(axis=1)
        places, total = self.places, max(int(self.classes(0, self.size).sum()), 1)
        if high == len(places):  # NULL, behind all values, is taken out of the symbol
            return np.asarray((right + left * (1 - (places[boundaries] - places[low]))) / total)
        fallen = left * (places[high] - places[boundaries]) + right * (places[boundaries] - places[low])
        return np.asarray(fallen / total)


def penalties(histogram: ClassHistogram, places: Floats, nodes: Codes) -> Floats:
    """Give the share of the range that each node spans; 1 for the symbol, 0 for NULL."""

    def penalty(low: int, high: int) -> float:
        if high == len(places):
            return 1.0 if low == 0 and high > 1 else 0.0
        return float(places[high] - places[low])

    return np.array([penalty(*histogram.bounds(int(node))) for node in nodes], dtype=np.float64)


def value_places(engine: Engine, dictionary: Dictionary, bounds: tuple[str, str] | None) -> Floats:
    """Give where the values of a column lie in its range, for :class:`CertaintyHistogram`.

    Args:
        engine: Where the values are.
        dictionary: The column's values.
        bounds: Texts of the lower and upper bound of the range; None for the observed ones.

    Cost: two scans of the dictionary.
    """
    text = places_sql(dictionary.table, dictionary.column.type)
    lower, upper = bounds or (None, None)
    found = engine.arrays(text, {"lower": lower, "upper": upper}, step="places")["place"]
    places = np.maximum.accumulate(np.append(found, 1.0 if len(found) > 1 or bounds else 0.0))
    places[0] = 0.0
    return np.asarray(places, dtype=np.float64)


def places_sql(dictionary: Table, type_text: str) -> str:
    """Write the SELECT of the places of a column's values; what is infinite or NaN lies at an end.

    Example: the papers' bank customers by Salary.
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(places_sql(Table("salaries"), "INTEGER")))
        WITH numbers AS (
          SELECT
            code,
            CAST(value AS DOUBLE) AS number
          FROM "salaries"
          WHERE
            NOT value IS NULL
        ), range AS (
          SELECT
            COALESCE(CAST(CAST($lower AS INT) AS DOUBLE), MIN(number) FILTER(WHERE
              ISFINITE(number))) / 2 AS low,
            COALESCE(CAST(CAST($upper AS INT) AS DOUBLE), MAX(number) FILTER(WHERE
              ISFINITE(number))) / 2 AS high
          FROM numbers
        )
        SELECT
          CASE
            WHEN ISFINITE(number)
            THEN COALESCE((
              number / 2 - low
            ) / NULLIF(high - low, 0), 0)
            WHEN number < 0
            THEN 0
            ELSE 1
          END AS place
        FROM numbers, range
        ORDER BY
          code
    """
    number = "CAST({} AS DOUBLE)" if is_number(type_text) else "epoch({})"
    own, lower, upper = (number.format(text) for text in ("value", *_bounds(type_text)))
    return (
        f"WITH numbers AS (SELECT code, {own} AS number FROM {dictionary} WHERE value IS NOT NULL), "
        "range AS (SELECT "
        f"coalesce({lower}, min(number) FILTER (isfinite(number))) / 2 AS low, "
        f"coalesce({upper}, max(number) FILTER (isfinite(number))) / 2 AS high FROM numbers) "
        "SELECT CASE WHEN isfinite(number) THEN coalesce((number / 2 - low) / nullif(high - low, 0), 0) "
        "WHEN number < 0 THEN 0 ELSE 1 END AS place FROM numbers, range ORDER BY code"
    )


def _bounds(type_text: str) -> tuple[str, str]:
    return f"CAST($lower AS {type_text})", f"CAST($upper AS {type_text})"
