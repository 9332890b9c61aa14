"""TDS of a table in Spark, by phase, beside the same run inside DuckDB.

Adult is expanded to any size (see harness.py) and written as Parquet, which Spark reads, and as a table of
DuckDB. The release is made by ``generalize`` with k = 10 and its rows are written by Spark. Phases:

- *collapse*: GROUP BY in Spark, and the hand-over to DuckDB (over Connect as Arrow, which is not compressed);
- *search*: all that DuckDB does, the audit among it;
- *write*: Spark writes the rows;
- *read back*: GROUP BY of what was written.

Reaching Spark, or starting it, is left out.

    python benchmarks/spark.py                            1 million records, 8 and 14 columns, local[2]
    python benchmarks/spark.py --records 1000000 10000000 50000000
    python benchmarks/spark.py --spark sc://localhost:15002 --data /shared/disk
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
from generalize import EVERY, hierarchies
from harness import CATEGORICAL, CLASS, expand, peak_memory
from sqlglot import exp

import ppdm_sql as ppdm
from ppdm_sql.engine.spark import handover
from ppdm_sql.engine.spark.source import SparkSource
from ppdm_sql.engine.spark.staging import FolderOfRows

K = 10
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
            (SparkSource, "collapse", "collapse"),
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
            if phase == "collapse":
                engine = args[1]
                ((self.combinations,),) = engine.query(f"SELECT count(*) FROM {found}", step="count")
            return found

        return timed

    def _weighed_files(self, rows: Callable[..., Any]) -> Callable[..., Any]:
        @contextlib.contextmanager
        def weighed(*args: Any) -> Iterator[Any]:
            with rows(*args) as read:
                if not self.handed:  # the first hand-over is that of the combinations
                    self.handed = sum(os.path.getsize(item.name) for item in read.find_all(exp.Literal))
                yield read

        return weighed

    def _weighed_batches(self, tables: Callable[..., Any]) -> Callable[..., Any]:
        def weighed(frame: Any) -> Iterator[Any]:
            first = not self.handed
            for table in tables(frame):
                self.handed += table.nbytes if first else 0
                yield table

        return weighed


def run(db: ppdm.Database, table: str, width: int, to: str | None) -> float:
    """Make the release once and give the seconds."""
    names = COLUMNS[width]
    began = time.perf_counter()
    db.generalize(
        table,
        [ppdm.KAnonymity(K, tuple(names))],
        class_column=CLASS,
        into="bench",
        taxonomies=hierarchies(names),
        to=to,
    )
    return time.perf_counter() - began


def measured(spark: str, folder: Path, records: int, width: int, threads: int) -> dict[str, object]:
    """Measure one size and width on both engines."""
    names = COLUMNS[width]
    file, parquet = folder / "adult.duckdb", folder / "parquet"
    expand(file, records, (*names, CLASS), names)
    parquet.mkdir()
    with duckdb.connect(str(file)) as con:
        ((found,),) = con.execute("SELECT count(*) FROM adult").fetchall()
        con.execute(
            f"COPY adult TO '{parquet}' (FORMAT parquet, PER_THREAD_OUTPUT true, OVERWRITE_OR_IGNORE true)"
        )
    with ppdm.open(file, threads=threads) as db:
        embedded = run(db, "adult", width, None)
    watch = Watch()
    with (
        ppdm.open(folder / "ledger.duckdb", create=True, threads=threads, spark=spark) as db,
        watch.watching(),
    ):
        whole = run(db, str(parquet), width, str(folder / "released"))
    phases = {name: round(seconds, 1) for name, seconds in watch.seconds.items()}
    phases["search"] = round(whole - sum(watch.seconds.values()), 1)
    return {
        "records": found,
        "columns": width,
        "combinations": watch.combinations,
        "MB handed over": round(watch.handed / 1e6, 1),
        **phases,
        "whole": round(whole, 1),
        "embedded": round(embedded, 1),
        "client's peak MB": round(peak_memory()),
    }


def main() -> None:
    """Print a line for each size and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", choices=list(COLUMNS), default=list(COLUMNS))
    parser.add_argument("--spark", help="URL of Spark; by default local[THREADS]")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of DuckDB, and of a Spark started here"
    )
    parser.add_argument("--data", help="where tables are written; a disk that Spark sees as well")
    options = parser.parse_args()
    for records in options.records:
        for width in options.columns:
            with tempfile.TemporaryDirectory(dir=options.data, prefix="ppdm-bench-") as folder:
                spark = options.spark or f"local[{options.threads}]"
                found = measured(spark, Path(folder), records, width, options.threads)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
