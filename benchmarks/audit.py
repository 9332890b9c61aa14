"""Each audit macro against the one GROUP BY that it cannot avoid, on Adult expanded (see harness.py).

The macro's floor is the GROUP BY over the same columns, with the sensitive one where the macro takes one, and
the number of records of each group; for ppdm_identifiable it has the least and greatest confidential value in
its place. Both write their rows into a temporary table and take turns in one process; the ratio is macro /
floor, of CPU and of wall time. The quasi-identifiers: four columns, with some 80 records a class at a
million, and eight, by which most records are alone.

    python benchmarks/audit.py                        1 and 10 million records, 1 and 2 threads
    python benchmarks/audit.py --records 1000000 --threads 2 --settings risk closeness --repeat 9
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
from harness import CATEGORICAL, expand, row, timed

import ppdm_sql as ppdm

NARROW = ("age", "education", "sex", "race")
WIDE = ("age", *(name for name in CATEGORICAL if name != "occupation"))
SENSITIVE = ("occupation", "hours_per_week")
READ = (*WIDE, *SENSITIVE)


@dataclass(frozen=True)
class Measured:
    """A macro, what it is asked, and what its floor groups by and counts."""

    macro: str
    sensitive: str | None = None
    grouped: bool = True

    @property
    def name(self) -> str:
        return self.macro if self.sensitive is None else f"{self.macro} {self.sensitive}"

    def call(self, columns: tuple[str, ...]) -> str:
        """Write the call of the macro."""
        more = "" if self.sensitive is None else f", '{self.sensitive}'"
        return f"FROM ppdm_{self.macro}('adult', {list(columns)}{more})"

    def floor(self, columns: tuple[str, ...]) -> str:
        """Write the GROUP BY that no answer can do without."""
        by = [*columns, *([self.sensitive] if self.sensitive and self.grouped else [])]
        counted = ["count(*) AS records"]
        if not self.grouped:
            counted += [f"{function}({self.sensitive})" for function in ("min", "max", "count")]
        return f"SELECT {', '.join(by + counted)} FROM adult GROUP BY ALL"


MACROS = (
    Measured("equivalence_classes"),
    Measured("risk"),
    Measured("identifiable", "occupation", grouped=False),
    *(Measured(macro, name) for macro in ("confidence", "diversity", "closeness") for name in SENSITIVE),
)


def main() -> None:
    """Print one line for each macro, quasi-identifier, size and number of threads."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    macros = sorted({measured.macro for measured in MACROS})
    parser.add_argument("--settings", nargs="*", default=macros, choices=macros, metavar="MACRO")
    parser.add_argument("--records", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5, help="turns after a warm-up")
    options = parser.parse_args()
    heads = ("records", "threads", "groups", "floor s", "macro s", "ratio CPU", "ratio wall")
    print(f"{'':38}" + row(*heads))
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "adult.duckdb"
            expand(file, records, READ, WIDE)
            with ppdm.open(file) as db:
                db.install()
            for threads in options.threads:
                with duckdb.connect(str(file), config={"threads": threads}) as con:
                    for columns in (NARROW, WIDE):
                        for measured in MACROS:
                            if measured.macro in options.settings:
                                line(con, measured, columns, records, threads, options.repeat)


def line(
    con: duckdb.DuckDBPyConnection,
    measured: Measured,
    columns: tuple[str, ...],
    records: int,
    threads: int,
    repeat: int,
) -> None:
    """Let floor and macro take turns, and print medians."""
    turns = []
    for turn in range(repeat + 1):
        pair = [written(con, query) for query in (measured.floor(columns), measured.call(columns))]
        if turn:
            turns.append(pair)
    (groups,) = con.execute(f"SELECT count(*) FROM ({measured.floor(columns)})").fetchone()
    floor, macro = (statistics.median(turn[i][0] for turn in turns) for i in (0, 1))
    ratios = [statistics.median(turn[1][i] / turn[0][i] for turn in turns) for i in (0, 1)]
    cells = (records, threads, groups, f"{floor:.3f}", f"{macro:.3f}", *(f"{ratio:.2f}" for ratio in ratios))
    print(f"{measured.name + f', {len(columns)} columns':38}" + row(*cells), flush=True)


def written(con: duckdb.DuckDBPyConnection, query: str) -> tuple[float, float]:
    """Write the rows of a query into a temporary table; give CPU and wall seconds."""
    taken = timed(lambda: con.execute(f"CREATE TEMP TABLE answer AS {query}"))
    con.execute("DROP TABLE answer")
    return taken


if __name__ == "__main__":
    main()
