"""TDS of a table in Spark, by phase, beside the same run inside DuckDB.

Adult is expanded to any size (see harness.py) and written as Parquet, which Spark reads, and as a table of
DuckDB. In each variation of a record one attribute takes a random value, so that combinations repeat as they
do in large tables; ``--vary 3`` is the protocol of the other benchmarks, in which hardly any do. The release
is made by ``generalize`` with k = 10 and its rows are written by Spark. Phases:

- *collapse*: finding the table, GROUP BY in Spark, and the hand-over to DuckDB as Parquet;
- *search*: all that DuckDB does, the audit among it;
- *write*: Spark writes the rows;
- *read back*: GROUP BY of what was written.

Reaching Spark, or starting it, is left out, and so is what Java takes to get warm: two releases of some
records are made before, as on a server that has run for a while. Both runs have a process of their own, whose
peak memory is told; Java has another one.

    python benchmarks/spark.py                            1 million records, 8 and 14 columns, local[2]
    python benchmarks/spark.py --records 1000000 10000000 50000000 --record
    python benchmarks/spark.py --spark sc://localhost:15002 --data /shared/disk

``--record`` keeps the rows in figures.json, of which spark_figures.py makes the tables of docs/spark.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
from figures import Cell
from generalize import EVERY, hierarchies
from harness import CATEGORICAL, CLASS, expand, peak_memory
from rows import Measured, options_of, present
from spark_figures import TABLE
from sqlglot import exp

import ppdm_sql as ppdm
from ppdm_sql.engine.places import FolderOfRows
from ppdm_sql.engine.spark import handover
from ppdm_sql.engine.spark.session import SparkPlace
from ppdm_sql.engine.spark.source import SparkSource

K = 10
WARM_UP = 50_000
"""Records of the releases that are made before."""
COLUMNS = {8: CATEGORICAL, 14: EVERY}


class Watch:
    """Seconds by phase, and what was handed over, of the runs inside :meth:`watching`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.handed, self.combinations = 0, 0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Take the time of what Spark does, until the context ends."""
        places = [
            (SparkPlace, "find", "collapse"),
            (SparkSource, "collapse", "collapse"),
            (SparkSource, "check_unchanged", "collapse"),
            (FolderOfRows, "write", "write"),
            (FolderOfRows, "read", "read back"),
        ]
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
        before += [(handover, name, getattr(handover, name)) for name in ("_by_parquet", "_tables")]
        for owner, name, phase in places:
            setattr(owner, name, self._timed(getattr(owner, name), phase))
        handover._by_parquet = self._weighed_files(handover._by_parquet)
        handover._tables = self._weighed_batches(handover._tables)
        try:
            yield
        finally:
            for owner, name, original in before:
                setattr(owner, name, original)

    def _timed(self, work: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            found = work(*args, **kwargs)
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - began
            if work.__name__ == "collapse":
                engine = args[1]
                ((self.combinations,),) = engine.query(f"SELECT count(*) FROM {found}", step="count")
            return found

        return timed

    def _weighed_files(self, rows: Callable[..., Any]) -> Callable[..., Any]:
        @contextlib.contextmanager
        def weighed(*args: Any) -> Iterator[Any]:
            with rows(*args) as (read, number):
                if not self.handed:  # the first hand-over is that of the combinations
                    self.handed = sum(os.path.getsize(item.name) for item in read.find_all(exp.Literal))
                yield read, number

        return weighed

    def _weighed_batches(self, tables: Callable[..., Any]) -> Callable[..., Any]:
        def weighed(frame: Any) -> Iterator[Any]:
            first = not self.handed
            for table in tables(frame):
                self.handed += table.nbytes if first else 0
                yield table

        return weighed


def run(db: ppdm.Database, table: str, width: int, to: str | None, into: str = "bench") -> float:
    """Make the release once and give the seconds."""
    names = COLUMNS[width]
    began = time.perf_counter()
    db.generalize(
        table,
        [ppdm.KAnonymity(K, tuple(names))],
        class_column=CLASS,
        into=into,
        taxonomies=hierarchies(names),
        to=to,
    )
    return time.perf_counter() - began


def written(folder: Path, records: int, width: int, vary: int) -> int:
    """Write the data as a table of DuckDB and as Parquet; give the number of records."""
    names = COLUMNS[width]
    file, parquet, some = folder / "adult.duckdb", folder / "parquet", folder / "some.parquet"
    expand(file, records, (*names, CLASS), names, vary)
    parquet.mkdir()
    with duckdb.connect(str(file)) as con:
        ((found,),) = con.execute("SELECT count(*) FROM adult").fetchall()
        con.execute(
            f"COPY adult TO '{parquet}' (FORMAT parquet, PER_THREAD_OUTPUT true, OVERWRITE_OR_IGNORE true)"
        )
        con.execute(f"COPY (FROM adult LIMIT {WARM_UP}) TO '{some}'")
    return int(found)


def embedded(folder: Path, width: int, options: argparse.Namespace) -> dict[str, Cell]:
    """Measure the run inside DuckDB."""
    with ppdm.open(folder / "adult.duckdb", threads=options.threads, memory_limit=options.memory_limit) as db:
        seconds = run(db, "adult", width, None)
        return {"DuckDB alone, s": round(seconds, 2), "DuckDB alone, MB": round(peak_memory())}


def there(folder: Path, width: int, options: argparse.Namespace) -> dict[str, Cell]:
    """Measure the run over Spark, by phase."""
    watch, spark = Watch(), options.spark or f"local[{options.threads}]"
    if options.spark is None:  # of Java; by itself it takes a gigabyte
        more = f"--driver-memory {options.spark_memory} --conf spark.local.dir={folder}"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{more} pyspark-shell"
    limits = {"threads": options.threads, "memory_limit": options.memory_limit}
    with contextlib.ExitStack() as stack:
        db = stack.enter_context(ppdm.open(folder / "ledger.duckdb", create=True, spark=spark, **limits))
        for turn in range(2):
            run(db, str(folder / "some.parquet"), width, str(folder / f"warm_{turn}"), f"warm_{turn}")
        stack.enter_context(watch.watching())
        whole = run(db, str(folder / "parquet"), width, str(folder / "released"))
    seconds = {phase: watch.seconds[phase] for phase in ("collapse", "write", "read back")}
    seconds["search"] = whole - sum(seconds.values())
    return {
        "combinations": watch.combinations,
        "handed over, MB": round(watch.handed / 1e6, 2),
        **{f"{phase}, s": round(seconds[phase], 2) for phase in ("collapse", "search", "write", "read back")},
        "whole, s": round(whole, 2),
        "client's peak memory, MB": round(peak_memory()),
    }


def measured(options: argparse.Namespace) -> Measured:
    """Measure each size and width on both engines."""
    for records in options.records:
        for width in options.columns:
            with tempfile.TemporaryDirectory(dir=options.data, prefix="ppdm-bench-") as made:
                found = written(Path(made), records, width, options.vary)
                cells: dict[str, Cell] = {}
                for what in ("there", "embedded"):
                    words = [*sys.argv[1:], "--worker", what, made, str(width)]
                    done = subprocess.run(
                        [sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True
                    )
                    cells |= json.loads(done.stdout.splitlines()[-1])
            of = {"columns": width, "records": found, "varied": options.vary, "threads": options.threads}
            yield of, cells


def arguments() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", choices=list(COLUMNS), default=list(COLUMNS))
    parser.add_argument("--vary", type=int, default=1, help="attributes that vary at random in each record")
    parser.add_argument("--spark", help="URL of Spark; by default local[THREADS]")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of DuckDB, and of a Spark started here"
    )
    parser.add_argument("--memory-limit", default="1GB", help="of DuckDB, in both runs; default 1GB")
    parser.add_argument("--spark-memory", default="4g", help="of a Spark started here; default 4g")
    parser.add_argument("--data", help="where tables are written; a disk that Spark sees as well")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return options_of(parser).parse_args()


def main() -> None:
    """Print a line for each size and width."""
    options = arguments()
    if options.worker:
        what, folder, width = options.worker
        work = there if what == "there" else embedded
        print(json.dumps(work(Path(folder), int(width), options)))
        return
    present(TABLE, options, measured(options))


if __name__ == "__main__":
    main()
