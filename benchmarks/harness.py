"""What the benchmarks share: Adult expanded to any size, the floor of a run, and the two measured in turns.

The 45,222 complete records of Adult are expanded: of each record there are further variations in which three
random attributes take random values, the scalability protocol of Wang, Fung, Yu 2005, section 5.3.

The floor is what nobody can avoid: one GROUP BY over the columns read, and one CREATE TABLE AS of them into
the same file. Floor and run take turns in one process; the ratio is run / floor, of CPU and of wall time.
Peak memory is measured in processes of their own, one that only makes the floor and one that only runs.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

import ppdm_sql as ppdm

CATEGORICAL = (
    "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country",
)  # fmt: skip
CONTINUOUS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
CLASS = "income"
VARIED = 3
SHARED = Path(os.environ.get("PPDM_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SIZES = (45_222, 1_000_000, 10_000_000)


@dataclass(frozen=True)
class Setting:
    """One thing to measure.

    Args:
        name: Of the setting.
        read: Columns that the run reads, the class among them.
        varied: Columns that take random values in the expanded data.
        run: Makes the release ``bench`` of the table ``adult``.
    """

    name: str
    read: Sequence[str]
    varied: Sequence[str]
    run: Callable[[ppdm.Database], ppdm.Release]


def expand(file: Path, records: int, read: Sequence[str], varied: Sequence[str]) -> None:
    """Write Adult, expanded to about this many records, into a new database file."""
    sources = [str(SHARED / "adult" / f"adult_{part}.csv") for part in ("train", "test")]
    con = duckdb.connect(str(file))
    typed = [f"{name}::INTEGER AS {name}" if name in CONTINUOUS else name for name in read]
    con.execute(
        f"CREATE TEMP TABLE original AS SELECT row_number() OVER () AS id, {', '.join(typed)} "
        f"FROM read_csv($files, all_varchar = true) WHERE '?' NOT IN ({', '.join(CATEGORICAL)})",
        {"files": sources},
    )
    (found,) = con.execute("SELECT count(*) FROM original").fetchone()
    columns = []
    for name in read:
        if name in varied:
            position = list(varied).index(name)
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
        f"list_transform(range({len(varied)}), lambda a: {{'h': hash(id, copy, a, 3), 'a': a}}))"
        f"[1:{VARIED}], "
        f"lambda s: s.a) AS varied FROM original, range({max(1, round(records / found))}) AS r(copy))"
    )
    con.close()


def floor(con: duckdb.DuckDBPyConnection, read: Sequence[str]) -> None:
    """Collapse the columns read, and write them out once."""
    columns = ", ".join(read)
    con.execute(f"CREATE TEMP TABLE collapsed AS SELECT {columns}, count(*) AS n FROM adult GROUP BY ALL")
    con.execute(f"CREATE TABLE written AS SELECT {columns} FROM adult")


def drop_floor(con: duckdb.DuckDBPyConnection) -> None:
    """Remove what the floor wrote, outside the timing."""
    con.execute("DROP TABLE collapsed")
    con.execute("DROP TABLE written")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Give CPU and wall seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(file: str, setting: Setting, threads: int, repeat: int, memory: str | None) -> dict[str, float]:
    """Let floor and run take turns on one file and give medians."""
    con = connected(file, threads, memory)
    db = ppdm.open(con)
    floors, runs, steps = [], [], 0
    for turn in range(repeat + 1):
        floors.append(timed(lambda: floor(con, setting.read)))
        drop_floor(con)
        runs.append(timed(lambda: setting.run(db)))
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


def connected(file: str, threads: int, memory: str | None) -> duckdb.DuckDBPyConnection:
    """Open a file with so many threads and so much memory."""
    config: dict[str, str | int] = {"threads": threads}
    return duckdb.connect(file, config=config | ({} if memory is None else {"memory_limit": memory}))


def peak(file: str, setting: Setting, threads: int, what: str, memory: str | None) -> dict[str, float]:
    """Do one thing once and give the process's peak memory, and what it held before it began, in MB."""
    con = connected(file, threads, memory)
    db = ppdm.open(con)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if what == "floor":
        floor(con, setting.read)
        drop_floor(con)
    else:
        setting.run(db).drop()
    return {"before": before / 1024, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main(script: str, description: str | None, settings: Sequence[Setting]) -> None:
    """Print one line for each setting, size and number of threads."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [setting.name for setting in settings]
    parser.add_argument(
        "--settings", nargs="*", default=names, choices=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--records", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--memory-limit", help="such as 1GB, for floor and run")
    parser.add_argument(
        "--repeat", type=int, default=5, help="turns after a warm-up; 1 leaves the warm-up in"
    )
    parser.add_argument("--worker", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    by_name = {setting.name: setting for setting in settings}
    if options.worker:
        what, file, name, threads, repeat, memory = options.worker
        given = file, by_name[name], int(threads)
        work = (
            measure(*given, int(repeat), memory or None)
            if what == "time"
            else peak(*given, what, memory or None)
        )
        print(json.dumps(work))
        return
    heads = ("records", "threads", "floor s", "run s", "ratio CPU", "ratio wall", "steps")
    print(f"{'':28}" + row(*heads, "base MB", "floor MB", "run MB", "ratio MB"))
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            files: dict[tuple[Sequence[str], Sequence[str]], Path] = {}
            for name in options.settings:
                data = by_name[name].read, by_name[name].varied
                if data not in files:
                    files[data] = Path(folder) / f"adult_{len(files)}.duckdb"
                    expand(files[data], records, *data)
                for threads in options.threads:
                    print(
                        f"{name:28}" + line(script, files[data], name, records, threads, options), flush=True
                    )


def line(script: str, file: Path, name: str, records: int, threads: int, options: argparse.Namespace) -> str:
    """Measure one setting and write its line."""

    def in_process(what: str) -> dict[str, float]:
        more = [str(file), name, str(threads), str(options.repeat), options.memory_limit or ""]
        command = [sys.executable, script, "--worker", what, *more]
        return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))

    t, low, high = in_process("time"), in_process("floor"), in_process("run")
    times = [f"{t[key]:.3f}" for key in ("floor_cpu", "run_cpu")]
    ratios = [f"{t[key]:.2f}" for key in ("ratio_cpu", "ratio_wall")]
    memory = [f"{megabytes:.0f}" for megabytes in (low["before"], low["mb"], high["mb"])]
    shared = f"{high['mb'] / low['mb']:.2f}"
    return row(records, threads, *times, *ratios, int(t["steps"]), *memory, shared)


def row(*cells: object) -> str:
    """Write the cells of a line, aligned."""
    return "  ".join(f"{cell!s:>10}" for cell in cells)
