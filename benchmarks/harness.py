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
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from figures import Figure, keep, revision, stamped

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
        run: What is measured; as a rule it makes the release ``bench`` of the table ``adult``.
    """

    name: str
    read: Sequence[str]
    varied: Sequence[str]
    run: Callable[[ppdm.Database], object]

    @property
    def data(self) -> Hashable:
        """What decides the data: settings with the same read the same file."""
        return type(self), tuple(self.read), tuple(self.varied)

    def write_data(self, file: Path, records: int) -> None:
        """Write the data into a new database file."""
        expand(file, records, self.read, self.varied)

    def prepare(self, db: ppdm.Database) -> None:
        """Do what has to be done once before floor and run, outside the timing."""

    def floor(self, db: ppdm.Database) -> None:
        """Do what no run can do without: collapse the columns read, and write them out once."""
        con, columns = db.engine.connection, ", ".join(self.read)
        con.execute(f"CREATE TEMP TABLE collapsed AS SELECT {columns}, count(*) AS n FROM adult GROUP BY ALL")
        con.execute(f"CREATE TABLE written AS SELECT {columns} FROM adult")

    def drop_floor(self, db: ppdm.Database) -> None:
        """Remove what the floor wrote, outside the timing."""
        con = db.engine.connection
        con.execute("DROP TABLE collapsed")
        con.execute("DROP TABLE written")

    def drop(self, db: ppdm.Database) -> int | None:
        """Remove what the run made, outside the timing; give the number of its steps, where it has some."""
        release = db.release("bench")
        steps = len(release.steps())
        release.drop()
        return steps or None


def expand(file: Path, records: int, read: Sequence[str], varied: Sequence[str], each: int = VARIED) -> None:
    """Write Adult, expanded to about this many records, into a new database file.

    Args:
        file: The new file.
        records: About how many.
        read: The columns.
        varied: Those that take random values.
        each: How many of these do, in each variation of a record.
    """
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
        f"[1:{each}], "
        f"lambda s: s.a) AS varied FROM original, range({max(1, round(records / found))}) AS r(copy))"
    )
    con.close()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Give CPU and wall seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(file: str, setting: Setting, threads: int, repeat: int, memory: str | None) -> dict[str, float]:
    """Let floor and run take turns on one file and give medians."""
    db = opened(file, threads, memory)
    setting.prepare(db)
    floors, runs, steps = [], [], None
    for turn in range(repeat + 1):
        floors.append(timed(lambda: setting.floor(db)))
        setting.drop_floor(db)
        runs.append(timed(lambda: setting.run(db)))
        steps = setting.drop(db)
        if turn == 0 and repeat > 1:
            floors.clear(), runs.clear()
    ratio = [[run[i] / base[i] for run, base in zip(runs, floors, strict=True)] for i in (0, 1)]
    return {
        "floor_cpu": statistics.median(base[0] for base in floors),
        "run_cpu": statistics.median(run[0] for run in runs),
        "run_wall": statistics.median(run[1] for run in runs),
        "ratio_cpu": statistics.median(ratio[0]),
        "ratio_wall": statistics.median(ratio[1]),
    } | ({} if steps is None else {"steps": steps})


def opened(file: str, threads: int, memory: str | None) -> ppdm.Database:
    """Open a file with so many threads and so much memory."""
    config: dict[str, str | int] = {"threads": threads}
    return ppdm.open(
        duckdb.connect(file, config=config | ({} if memory is None else {"memory_limit": memory}))
    )


def peak(file: str, setting: Setting, threads: int, what: str, memory: str | None) -> dict[str, float]:
    """Do one thing once and give the process's peak memory in MB."""
    db = opened(file, threads, memory)
    setting.prepare(db)
    if what == "floor":
        setting.floor(db)
    else:
        setting.run(db)
    return {"mb": peak_memory()}


def peak_memory() -> float:
    """Give the peak memory of this process in MB, without that of the process which started it."""
    status = Path("/proc/self/status")
    if status.exists():
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(found.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(
    table: str,
    script: str,
    description: str | None,
    settings: Sequence[Setting],
    sizes: Sequence[int] = SIZES,
) -> None:
    """Print one line for each setting, size and number of threads, and keep what was measured if asked to."""
    names = [setting.name for setting in settings]
    options = arguments(description, names, sizes)
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
    width = max(map(len, options.settings))
    print(f"{'':{width}}" + row(*COLUMNS))
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            files: dict[Hashable, Path] = {}
            for name in options.settings:
                data = by_name[name].data
                if data not in files:
                    files[data] = Path(folder) / f"data_{len(files)}.duckdb"
                    by_name[name].write_data(files[data], records)
                for threads in options.threads:
                    found = Workers(script, files[data], name, threads, options).figure(table, records)
                    print(f"{name:{width}}" + shown(found), flush=True)
                    if options.record:
                        keep([stamped(found)])


def arguments(description: str | None, names: Sequence[str], sizes: Sequence[int]) -> argparse.Namespace:
    """Read the options that every table has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--settings", nargs="*", default=names, choices=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--records", type=int, nargs="*", default=list(sizes))
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--memory-limit", help="such as 1GB, for floor and run")
    parser.add_argument(
        "--repeat", type=int, default=5, help="turns after a warm-up; 1 leaves the warm-up in"
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="a checkout of another version with its own .venv: its runs and these take turns, each in a "
        "process of its own, and the last columns are this version / the other one",
    )
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/figures.json")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="do not measure peak memory")
    parser.add_argument("--worker", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.against is not None and not interpreter(options.against).exists():
        parser.error(
            f"there is no {interpreter(options.against)}: make it with `make -C {options.against} lint`"
        )
    return options


def interpreter(checkout: Path) -> Path:
    """Give the Python that runs another checkout's version."""
    return checkout.absolute() / ".venv" / "bin" / "python"


@dataclass(frozen=True)
class Workers:
    """Processes that measure one setting on one file.

    Args:
        script: Of the benchmark.
        file: The data.
        name: Of the setting.
        threads: Of the database.
        options: Of the command line.
    """

    script: str
    file: Path
    name: str
    threads: int
    options: argparse.Namespace

    def figure(self, table: str, records: int) -> Figure:
        """Measure the times, the memory and, where one was given, the other version."""
        found = self.measured(sys.executable, "time", self.file, self.options.repeat)
        if self.options.memory:
            low, high = (
                self.measured(sys.executable, what, self.copied(what), 1) for what in ("floor", "run")
            )
            found |= {"peak_mb": high["mb"], "peak_ratio": high["mb"] / low["mb"]}
        if self.options.against is not None:
            found |= self.compared()
        return Figure(table=table, setting=self.name, records=records, threads=self.threads, **found)

    def measured(self, python: str, what: str, file: Path, repeat: int) -> dict[str, Any]:
        """Let a process of a version measure something."""
        more = [str(file), self.name, str(self.threads), str(repeat), self.options.memory_limit or ""]
        command = [python, self.script, "--worker", what, *more]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        return dict(json.loads(told.stdout))

    def copied(self, what: str) -> Path:
        """Copy the data, as floor, run and the other version leave something in the file."""
        copy = self.file.with_name(f"{what}.duckdb")
        shutil.copyfile(self.file, copy)
        return copy

    def compared(self) -> dict[str, Any]:
        """Let this version and the other one take turns; give the medians of the ratios of their runs."""
        mine, other = self.copied("mine"), self.copied("other")
        turns = []
        for _ in range(max(3, self.options.repeat)):
            found = self.measured(sys.executable, "time", mine, 2)
            known = self.measured(str(interpreter(self.options.against)), "time", other, 2)
            turns.append([found[kind] / known[kind] for kind in ("run_cpu", "run_wall")])
        cpu, wall = (statistics.median(ratios) for ratios in zip(*turns, strict=True))
        return {"against_cpu": cpu, "against_wall": wall, "against": revision(self.options.against)}


COLUMNS = ("records", "threads", "floor s", "run s", "ratio CPU", "ratio wall", "steps")
COLUMNS += ("peak MB", "ratio MB", "to other", "wall")


def shown(figure: Figure) -> str:
    """Write the line of a figure."""
    cells = [figure.records, figure.threads, figure.floor_cpu, figure.run_cpu, figure.ratio_cpu]
    cells += [figure.ratio_wall, figure.steps, figure.peak_mb, figure.peak_ratio]
    cells += [figure.against_cpu, figure.against_wall]
    return row(
        *("" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else cell for cell in cells)
    )


def row(*cells: object) -> str:
    """Write the cells of a line, aligned."""
    return "  ".join(f"{cell!s:>10}" for cell in cells)
