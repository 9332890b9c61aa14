"""Suppression against its floor, by the scalability protocol of Wang, Fung, Yu 2005, section 5.3.

The 45,222 complete records of Adult are expanded: of each record there are further variations in which three
random attributes of the channel take random values. The template protects the 50 % least frequent
values of marital_status through the other seven categorical attributes, h = 90 %, class income.

The floor is what nobody can avoid: one GROUP BY over the columns read, and one CREATE TABLE AS of them into
the same file. Floor and run take turns in one process; the ratio is run / floor, of CPU and of wall time.
Peak memory is measured in processes of their own, one that only makes the floor and one that only runs.

    python benchmarks/suppress.py                     45 thousand, 1 and 10 million records, 1 and 2 threads
    python benchmarks/suppress.py --records 45222 --repeat 9
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

import ppdm_sql as ppdm

CATEGORICAL = (
    "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country",
)  # fmt: skip
CHANNEL = tuple(name for name in CATEGORICAL if name != "marital_status")
READ = (*CATEGORICAL, "income")
VARIED = 3
SHARED = Path(os.environ.get("PPDM_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def expand(file: Path, records: int) -> None:
    """Write Adult, expanded to about this many records, into a new database file."""
    sources = [str(SHARED / "adult" / f"adult_{part}.csv") for part in ("train", "test")]
    con = duckdb.connect(str(file))
    con.execute(
        f"CREATE TEMP TABLE original AS SELECT row_number() OVER () AS id, {', '.join(READ)} "
        f"FROM read_csv($files, all_varchar = true) WHERE '?' NOT IN ({', '.join(CATEGORICAL)})",
        {"files": sources},
    )
    (found,) = con.execute("SELECT count(*) FROM original").fetchone()
    columns = []
    for name in READ:
        if name in CHANNEL:
            position = CHANNEL.index(name)
            con.execute(
                f"SET VARIABLE values_{name} = (SELECT list(DISTINCT {name} ORDER BY {name}) FROM original)"
            )
            values = f"getvariable('values_{name}')"
            pick = f"{values}[1 + (hash(id, copy, {position}, 7) % len({values}))::INTEGER]"
            columns.append(
                f"CASE WHEN copy > 0 AND list_contains(varied, {position}) THEN {pick} "
                f"ELSE {name} END AS {name}"
            )
        else:
            columns.append(name)
    con.execute(
        f"CREATE TABLE adult AS SELECT {', '.join(columns)} FROM (SELECT *, list_transform(list_sort("
        f"list_transform(range({len(CHANNEL)}), lambda a: {{'h': hash(id, copy, a, 3), 'a': a}}))"
        f"[1:{VARIED}], "
        f"lambda s: s.a) AS varied FROM original, range({max(1, round(records / found))}) AS r(copy))"
    )
    con.close()


def rarer_half(con: duckdb.DuckDBPyConnection, name: str) -> tuple[str, ...]:
    """Give the 50 % least frequent values of an attribute."""
    rows = con.execute(f"SELECT {name} FROM adult GROUP BY 1 ORDER BY count(*), 1").fetchall()
    return tuple(value for (value,) in rows[: len(rows) // 2])


def template(con: duckdb.DuckDBPyConnection) -> ppdm.Template:
    """Protect the 50 % least frequent values of marital_status."""
    return ppdm.Template(CHANNEL, "marital_status", rarer_half(con, "marital_status"), Fraction(9, 10))


def floor(con: duckdb.DuckDBPyConnection) -> None:
    """Collapse the columns read, and write them out once."""
    con.execute(
        f"CREATE TEMP TABLE collapsed AS SELECT {', '.join(READ)}, count(*) AS n FROM adult GROUP BY ALL"
    )
    con.execute(f"CREATE TABLE written AS SELECT {', '.join(READ)} FROM adult")


def drop_floor(con: duckdb.DuckDBPyConnection) -> None:
    """Remove what the floor wrote, outside the timing."""
    con.execute("DROP TABLE collapsed")
    con.execute("DROP TABLE written")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Give CPU and wall seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(file: str, threads: int, repeat: int) -> dict[str, float]:
    """Let floor and run take turns on one file and give medians."""
    con = duckdb.connect(file, config={"threads": threads})
    db, asked = ppdm.open(con), template(con)
    floors, runs, steps = [], [], 0
    for turn in range(repeat + 1):
        floors.append(timed(lambda: floor(con)))
        drop_floor(con)
        runs.append(timed(lambda: db.suppress("adult", [asked], class_column="income", into="bench")))
        steps = len(db.release("bench").steps())
        db.release("bench").drop()
        if turn == 0 and repeat > 1:
            floors.clear(), runs.clear()
    ratio = [[run[i] / base[i] for run, base in zip(runs, floors, strict=True)] for i in (0, 1)]
    return {
        "floor_cpu": statistics.median(base[0] for base in floors),
        "run_cpu": statistics.median(run[0] for run in runs),
        "run_wall": statistics.median(run[1] for run in runs),
        "ratio_cpu": statistics.median(ratio[0]),
        "ratio_wall": statistics.median(ratio[1]),
        "steps": steps,
    }


def peak(file: str, threads: int, what: str) -> dict[str, float]:
    """Do one thing once and give the process's peak memory, and what it held before it began, in MB."""
    con = duckdb.connect(file, config={"threads": threads})
    db, asked = ppdm.open(con), template(con)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if what == "floor":
        floor(con)
        drop_floor(con)
    else:
        db.suppress("adult", [asked], class_column="income", into="bench").drop()
    return {"before": before / 1024, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def in_process(*arguments: str) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, "--worker", *arguments]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    """Print one line for each size and number of threads."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="*", default=[45_222, 1_000_000, 10_000_000])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--repeat", type=int, default=5, help="turns after a warm-up; 1 leaves the warm-up in"
    )
    parser.add_argument("--worker", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        what, file, threads, repeat = options.worker
        work = measure(file, int(threads), int(repeat)) if what == "time" else peak(file, int(threads), what)
        print(json.dumps(work))
        return
    heads = ("records", "threads", "floor s", "run s", "ratio CPU", "ratio wall", "steps")
    print(row(*heads, "base MB", "floor MB", "run MB", "ratio MB"))
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "adult.duckdb"
            expand(file, records)
            for threads in options.threads:
                t = in_process("time", str(file), str(threads), str(options.repeat))
                low, high = (in_process(what, str(file), str(threads), "1") for what in ("floor", "run"))
                times = [f"{t[name]:.3f}" for name in ("floor_cpu", "run_cpu")]
                ratios = [f"{t[name]:.2f}" for name in ("ratio_cpu", "ratio_wall")]
                memory = [f"{megabytes:.0f}" for megabytes in (low["before"], low["mb"], high["mb"])]
                shared = f"{high['mb'] / low['mb']:.2f}"
                print(row(records, threads, *times, *ratios, int(t["steps"]), *memory, shared), flush=True)


def row(*cells: object) -> str:
    """Write the cells of a line, aligned."""
    return "  ".join(f"{cell!s:>10}" for cell in cells)


if __name__ == "__main__":
    main()
