"""The Census experiment of Li and Sarkar 2004, Table 4: what swapping costs a decision tree.

All records of Adult with an income above 50K and as many of the others as make 25,049; numbers in six bins of
about equal frequency, fnlwgt left out; income is confidential and the class, p = 0.5. Which records the paper
deleted, and its bins, are not known. Errors are those of ten-fold cross-validation; the paper's are C4.5's.

    python benchmarks/census.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from harness import CATEGORICAL, CLASS, CONTINUOUS, SHARED

import ppdm_sql as ppdm

RECORDS, BINS = 25_049, 6
NUMBERS = tuple(name for name in CONTINUOUS if name != "fnlwgt")
PRINTED = {"identifiable": 18_278, "unique": 11_470, "original": 19.01, "proposed": 30.44, "random": 50.10}


def load(db: ppdm.Database) -> None:
    """Write the table ``census``."""
    files = [str(SHARED / "adult" / f"adult_{part}.csv") for part in ("train", "test")]
    con = db.engine.connection
    con.execute(
        "CREATE TABLE adult AS SELECT * FROM (SELECT *, row_number() OVER () AS id FROM "
        "read_csv($files, all_varchar = true)) ORDER BY income DESC, md5(id::VARCHAR) LIMIT $records",
        {"files": files, "records": RECORDS},
    )
    for name in NUMBERS:
        shares = [number / BINS for number in range(1, BINS)]
        edges = f"SELECT list_distinct(quantile_disc({name}::INTEGER, {shares})) FROM adult"
        con.execute(f"SET VARIABLE {name} = ({edges})")
    binned = ", ".join(
        f"len(list_filter(getvariable('{name}'), lambda b: b <= {name}::INTEGER))::VARCHAR AS {name}"
        for name in NUMBERS
    )
    con.execute(f"CREATE TABLE census AS SELECT {', '.join(CATEGORICAL)}, {binned}, {CLASS} FROM adult")


def main() -> None:
    """Print what is identifiable, and the errors, beside what the paper printed."""
    with tempfile.TemporaryDirectory() as folder, ppdm.open(Path(folder) / "db.duckdb", create=True) as db:
        load(db)
        by = (*CATEGORICAL, *NUMBERS)
        started = time.perf_counter()
        release = db.swap("census", confidential=CLASS, by=by, proportion=0.5, into="swapped", seed=1)
        seconds = time.perf_counter() - started
        for measure in release.measures():
            print(*measure, sep="  ")
        rates = db.evaluate("swapped", folds=10, seeds=1)
        print("printed:", PRINTED)
        print(f"original {rates.rate('BE').mean:.2f}  proposed {rates.rate('SE').mean:.2f}  {seconds:.2f} s")


if __name__ == "__main__":
    main()
