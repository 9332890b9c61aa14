"""Tables of docs/spark.md, made of the rows of figures.json, and what they say of a billion records.

What a billion records would take is worked out of the smallest and the largest size that was measured of each
number of columns: seconds of Spark grow with the records, combinations by a power of them, and the search
with the combinations.

    python benchmarks/spark_figures.py                write the tables of docs/spark.md anew
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from figures import HERE, Cell, Row, markdown, replaced, rows, table

TABLE = "spark"
DOCS = HERE.parent / "docs" / "spark.md"
BILLION, CORES, LOST = 10**9, 128, 0.5
PHASES = ("collapse", "write", "read back")
GROWTH = ("columns", *PHASES, "combinations, for ten times the records")
PAPER = ("columns", "combinations", "collapse", "search, in DuckDB", "write", "read back", "together")


def number(row: Row, head: str) -> float:
    """Give a number of a row by the head of its column."""
    cell: Cell = {**row.of, **row.cells}[head]
    return float(cell or 0)


@dataclass(frozen=True)
class Growth:
    """How a run of so many columns grows, from the smallest to the largest size that was measured.

    Args:
        small: The smallest.
        large: The largest.
    """

    small: Row
    large: Row

    @property
    def columns(self) -> str:
        """The number of columns, for a table."""
        return str(self.large.of["columns"])

    def core_seconds(self, phase: str) -> float:
        """Give the seconds of one core that a further record costs in a phase of Spark."""
        seconds = self._more(f"{phase}, s")
        return seconds * number(self.large, "threads") / self._more("records")

    def _more(self, head: str) -> float:
        return number(self.large, head) - number(self.small, head)

    def _times(self, head: str) -> float:
        return number(self.large, head) / number(self.small, head)

    @property
    def power(self) -> float:
        """By which power of the records combinations grow."""
        return math.log(self._times("combinations")) / math.log(self._times("records"))

    def growth_cells(self) -> list[str]:
        """Write what a record costs, in microseconds of a core."""
        costs = (f"{self.core_seconds(phase) * 1e6:.2f} µs" for phase in PHASES)
        return [self.columns, *costs, f"{10**self.power:.1f} times as many"]

    def paper_cells(self) -> list[str]:
        """Write what a billion records take on many cores, a part of whose time is lost."""
        grown = (BILLION / number(self.large, "records")) ** self.power
        search = number(self.large, "search, s") * grown
        spark = [self.core_seconds(phase) * BILLION / (CORES * (1 - LOST)) for phase in PHASES]
        seconds = (spark[0], search, *spark[1:], search + sum(spark))
        millions = number(self.large, "combinations") * grown / 1e6
        return [self.columns, f"{millions:,.0f} million", *map(_duration, seconds)]


def growths(measured: Sequence[Row]) -> list[Growth]:
    """Give how runs grow, for each number of columns of which two sizes were measured."""
    found = []
    for width in sorted({number(row, "columns") for row in measured}):
        same = [row for row in measured if number(row, "columns") == width]
        sizes = sorted(same, key=lambda row: number(row, "records"))
        if number(sizes[0], "records") < number(sizes[-1], "records"):
            found.append(Growth(sizes[0], sizes[-1]))
    return found


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def with_tables(text: str, measured: Sequence[Row]) -> str:
    """Replace the tables of a text by those of the rows."""
    grown = growths(measured)
    tables = {
        TABLE: table(TABLE, measured),
        "spark-growth": markdown(GROWTH, [each.growth_cells() for each in grown]),
        "spark-billion": markdown(PAPER, [each.paper_cells() for each in grown]),
    }
    return replaced(text, tables.__getitem__)


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8"), rows(TABLE)), encoding="utf-8")
