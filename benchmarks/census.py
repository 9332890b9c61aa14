"""The Census experiment of Li and Sarkar 2004, Table 4: what swapping costs a decision tree.

All records of Adult with an income above 50K and as many of the others as make 25,049; numbers in six bins of
about equal frequency, fnlwgt left out; income is confidential and the class, p = 0.5. Which records the paper
deleted, and its bins, are not known. Errors are those of ten-fold cross-validation; the paper's are C4.5's.

    python benchmarks/census.py
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from figures import Cell
from harness import CATEGORICAL, CLASS, CONTINUOUS, SHARED
from rows import Measured, options_of, present

import ppdm_sql as ppdm

RECORDS, BINS = 25_049, 6
NUMBERS = tuple(name for name in CONTINUOUS if name != "fnlwgt")
PRINTED = {
    "identifiable": 18_278,
    "uniquely identifiable": 11_470,
    "error on the original, %": 19.01,
    "error on the swapped records, %": 30.44,
    "seconds": 38.67,
}


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


def measured() -> Measured:
    """Give what is identifiable, and the errors, beside what the paper printed."""
    with tempfile.TemporaryDirectory() as folder, ppdm.open(Path(folder) / "db.duckdb", create=True) as db:
        load(db)
        by = (*CATEGORICAL, *NUMBERS)
        started = time.perf_counter()
        release = db.swap("census", confidential=CLASS, by=by, proportion=0.5, into="swapped", seed=1)
        seconds = time.perf_counter() - started
        found = {item.measure: item.before for item in release.measures()}
        rates = db.evaluate("swapped", folds=10, seeds=1)
        unique, others = (
            int(found[f"{kind} identifiable records: {CLASS}"] or 0) for kind in ("uniquely", "collectively")
        )
        measured: dict[str, Cell] = {
            "identifiable": unique + others,
            "uniquely identifiable": unique,
            "error on the original, %": round(rates.rate("BE").mean, 2),
            "error on the swapped records, %": round(rates.rate("SE").mean, 2),
            "seconds": round(seconds, 2),
        }
        for name, cell in measured.items():
            yield {"": name}, {"measured here": cell, "printed": PRINTED[name]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    present("census", options_of(parser).parse_args(), measured())
