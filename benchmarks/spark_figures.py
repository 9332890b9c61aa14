"""The measured figures of runs over Spark, in spark_figures.json, and tables of docs/spark.md made of them.

What a billion records would take is worked out of the smallest and the largest size that was measured of each
number of columns: seconds of Spark grow with the records, combinations by a power of them, and the search
with the combinations.

    python benchmarks/spark_figures.py                write the tables of docs/spark.md anew
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import HERE, markdown, replaced, write

FILE = HERE / "spark_figures.json"
DOCS = HERE.parent / "docs" / "spark.md"
BILLION, CORES, LOST = 10**9, 128, 0.5
PHASES = ("collapse", "write", "read_back")


@dataclass(frozen=True)
class SparkFigure:
    """One run over Spark, beside the same run inside DuckDB; seconds are of the clock.

    Args:
        columns: Quasi-identifiers; the class is read besides.
        asked: Records, as asked for.
        vary: Attributes that take random values in each variation of a record.
        threads: Of Spark, where it was started for the run, and of DuckDB.
        records: Of the data.
        combinations: Distinct ones, which were handed over.
        handed_mb: What was handed over, MB.
        collapse: GROUP BY in Spark and the hand-over, s.
        search: What DuckDB did, s.
        write: Writing the rows by Spark, s.
        read_back: GROUP BY of what was written, s.
        whole: The run, s.
        peak_mb: Peak memory of the client, MB; that of Java is not in it.
        embedded: The run inside DuckDB, s.
        embedded_mb: Its peak memory, MB.
        date: Day of the measurement, in UTC.
        revision: Of this version; ends with ``+`` where the checkout differs from it.
        cores: Of the machine.
    """

    columns: int
    asked: int
    vary: int
    threads: int
    records: int
    combinations: int
    handed_mb: float
    collapse: float
    search: float
    write: float
    read_back: float
    whole: float
    peak_mb: float
    embedded: float
    embedded_mb: float
    date: str = ""
    revision: str = ""
    cores: int = 0

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What tells figures apart, in the order of the tables."""
        return self.columns, self.asked, self.vary, self.threads

    def line(self) -> str:
        """Write all of it as JSON."""
        known = dataclasses.asdict(self)
        return json.dumps({name: round(v, 2) if isinstance(v, float) else v for name, v in known.items()})

    def cells(self) -> list[str]:
        """Write its line of the table."""
        seconds = (self.collapse, self.search, self.write, self.read_back, self.whole, self.embedded)
        return [
            f"{self.columns} columns, {_millions(self.records)}",
            f"{self.combinations:,}",
            f"{self.handed_mb:.1f} MB",
            *(f"{number:.1f} s" for number in seconds),
            f"{self.peak_mb:,.0f} MB",
            f"{self.date}, {self.revision}",
        ]


RUNS = (
    "", "combinations", "handed over", "collapse", "search", "write", "read back", "whole",
    "DuckDB alone", "client's peak memory", "measured",
)  # fmt: skip
GROWTH = ("", "collapse", "write", "read back", "combinations, for ten times the records")
PAPER = ("", "combinations", "collapse", "search, in DuckDB", "write", "read back", "together")


def kept(file: Path = FILE) -> list[SparkFigure]:
    """Read the figures, in the order of the tables."""
    listed = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return sorted((SparkFigure(**one) for one in listed), key=lambda figure: figure.key)


def keep(figure: SparkFigure, file: Path = FILE) -> None:
    """Put a figure in the file, in the place of the one that was measured of the same before."""
    every = {one.key: one for one in (*kept(file), figure)}
    write(file, [every[key].line() for key in sorted(every)])


@dataclass(frozen=True)
class Growth:
    """How a run of so many columns grows, from the smallest to the largest size that was measured.

    Args:
        small: The smallest.
        large: The largest.
    """

    small: SparkFigure
    large: SparkFigure

    def core_seconds(self, phase: str) -> float:
        """Give the seconds of one core that a further record costs in a phase of Spark."""
        more = getattr(self.large, phase) - getattr(self.small, phase)
        return float(more * self.large.threads / (self.large.records - self.small.records))

    @property
    def power(self) -> float:
        """By which power of the records combinations grow."""
        combinations = self.large.combinations / self.small.combinations
        return math.log(combinations) / math.log(self.large.records / self.small.records)

    def growth_cells(self) -> list[str]:
        """Write what a record costs, in microseconds of a core."""
        costs = (f"{self.core_seconds(phase) * 1e6:.2f} µs" for phase in PHASES)
        return [f"{self.large.columns} columns", *costs, f"{10**self.power:.1f} times as many"]

    def paper_cells(self) -> list[str]:
        """Write what a billion records take on many cores, a part of whose time is lost."""
        combinations = self.large.combinations * (BILLION / self.large.records) ** self.power
        search = self.large.search * combinations / self.large.combinations
        spark = [self.core_seconds(phase) * BILLION / (CORES * (1 - LOST)) for phase in PHASES]
        seconds = (spark[0], search, *spark[1:], search + sum(spark))
        return [
            f"{self.large.columns} columns",
            f"{combinations / 1e6:,.0f} million",
            *(_duration(number) for number in seconds),
        ]


def growths(figures: Sequence[SparkFigure]) -> list[Growth]:
    """Give how runs grow, for each number of columns of which two sizes were measured."""
    found = []
    for width in sorted({figure.columns for figure in figures}):
        sizes = sorted((one for one in figures if one.columns == width), key=lambda one: one.records)
        if sizes[0].records < sizes[-1].records:
            found.append(Growth(sizes[0], sizes[-1]))
    return found


def _millions(records: int) -> str:
    return f"{records / 1e6:.0f} million"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def with_tables(text: str, figures: Sequence[SparkFigure]) -> str:
    """Replace the tables of a text by those of the figures."""
    grown = growths(figures)
    tables = {
        "spark": markdown(RUNS, [figure.cells() for figure in figures]),
        "spark-growth": markdown(GROWTH, [each.growth_cells() for each in grown]),
        "spark-billion": markdown(PAPER, [each.paper_cells() for each in grown]),
    }
    return replaced(text, tables.__getitem__)


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8"), kept()), encoding="utf-8")
