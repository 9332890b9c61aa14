"""Every method on up to 100 million records under a memory limit, each command as a process of its own.

The table is generated: seven columns that others may know, two of them numbers, and a class of two values; as
skewed as Adult's, so the distinct combinations grow more slowly than the records, but do not end. It is read
from a folder of Parquet files into a new database each time, or from a table in the file that the release
goes to. The floor reads the same: one GROUP BY over all columns and one CREATE TABLE AS of them, in a process
of its own under the same limit. The ratio is command / floor, start of the process included. Peak memory is
that of the process, spilled what stood in its temporary folder at most.

A command that takes longer than --minutes is stopped and recorded as such, and the others go on.

    python benchmarks/scale.py                            45 thousand and 1 million records, every command
    python benchmarks/scale.py --records 10000000 --only audit suppress --from table
    python benchmarks/scale.py --records 100000000 --quick --minutes 8 --record
    python benchmarks/scale.py --figure                   draw docs/scale.svg from what was recorded
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
from figures import DOCS, Figure, keep, kept, revision, stamped
from harness import interpreter, row

SIZES = (45_222, 1_000_000)
SOURCES = ("parquet", "table")
PICTURE = DOCS.with_name("scale.svg")
KNOWN = "age, hours, education, marital_status, occupation, race, sex"
NUMBERS = ("age", "hours")
CATEGORIES = {"education": 16, "marital_status": 7, "occupation": 14, "race": 5, "sex": 2}
SECONDS_BETWEEN_LOOKS = 0.1
TABLE, LIMIT = "scale", "4GB"


@dataclass(frozen=True)
class Command:
    """A command of ``ppdm``.

    Args:
        words: Of it; ``{source}`` is what it reads, ``{folder}`` where the taxonomies are.
        makes: Name of the release, the model or the table that it makes.
        quick: From where it is read with --quick.
    """

    words: str
    makes: str = "bench"
    quick: Sequence[str] = ("parquet",)


COMMANDS = {
    "audit": Command(
        f"audit FILE SOURCE --require 'k on {KNOWN}' --sensitive income --by '{KNOWN}'", "", SOURCES
    ),
    "suppress": Command(
        "suppress FILE SOURCE --class income --into bench "
        f"--require '{KNOWN.replace('marital_status, ', '')} -> marital_status = marital_status_5 <= 50%'"
    ),
    "generalize": Command(
        f"generalize FILE SOURCE --class income --into bench --require 'k >= 50 on {KNOWN}' "
        "--taxonomy education=FOLDER/education.csv --taxonomy occupation=FOLDER/occupation.csv",
        quick=SOURCES,
    ),
    "generalize-hce": Command(
        "generalize FILE SOURCE --method hce-tdr --class income --into bench --condition hours,race "
        "--require 'k >= 50 on age, education, marital_status, occupation, sex' "
        "--taxonomy education=FOLDER/education.csv --taxonomy occupation=FOLDER/occupation.csv"
    ),
    "swap": Command(f"swap FILE SOURCE --confidential income --by '{KNOWN}' --proportion 0.25 --into bench"),
    "randomize": Command(
        "randomize FILE SOURCE --noise 'age=gaussian 50%' --range age=17,91 --noise 'hours=gaussian 50%' "
        "--range hours=1,100 --class income --keep education,marital_status,occupation,race,sex --into noisy",
        "noisy",
    ),
    "reconstruct": Command("reconstruct FILE noisy --by-class income --into distributions", "distributions"),
    "train": Command(
        "train FILE noisy --class income --columns age,hours,education,occupation --into tree", "tree"
    ),
}
OF_NOISY = ("reconstruct", "train")
"""What reads the release of ``randomize``, which is made before if it was not asked for."""


def generate(folder: Path, records: int) -> None:
    """Write the Parquet files and the taxonomies into a folder; the same every time."""
    (folder / "parquet").mkdir()
    con = duckdb.connect(config={"memory_limit": "2GB", "preserve_insertion_order": False})
    con.execute("CREATE MACRO drawn(i, j) AS (hash(i * 16 + j) >> 11) / 9007199254740992.0")
    drawn = [
        f"'{name}_' || floor({values} * power(drawn(i, {place}), 2.5))::INTEGER AS {name}"
        for place, (name, values) in enumerate(CATEGORIES.items(), start=3)
    ]
    rows = (
        "SELECT 17 + floor(74 * power(drawn(i, 0), 1.5))::INTEGER AS age, "
        "CASE WHEN drawn(i, 1) < 0.5 THEN 40 "
        "ELSE 1 + floor(99 * (drawn(i, 2) + drawn(i, 1)) / 2)::INTEGER END AS hours, "
        f"{', '.join(drawn)}, i FROM range($records) AS r(i)"
    )
    higher = "education IN ('education_3', 'education_5')"
    chance = f"0.02 + age / 300 + 0.2 * (hours > 45)::INTEGER + 0.35 * ({higher})::INTEGER"
    con.execute(
        f"COPY (SELECT * EXCLUDE i, CASE WHEN drawn(i, 9) < {chance} THEN '>50K' ELSE '<=50K' END AS income "
        f"FROM ({rows})) TO '{folder / 'parquet'}' "
        "(FORMAT parquet, PER_THREAD_OUTPUT true, OVERWRITE_OR_IGNORE true)",
        {"records": records},
    )
    con.close()
    for name in ("education", "occupation"):
        lines = [f"{name}_{i};{name}_group_{i // 4};*" for i in range(CATEGORIES[name])]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def load(folder: Path, memory: str) -> None:
    """Write the table ``records`` into a database file of its own."""
    with duckdb.connect(str(folder / "table.duckdb"), config={"memory_limit": memory}) as con:
        con.execute(f"CREATE TABLE records AS FROM '{folder / 'parquet'}/*.parquet'")


def floor(file: str, source: str, memory: str, threads: str) -> None:
    """Do what no command can do without, in this process."""
    config: dict[str, str | int] = {"memory_limit": memory, "threads": int(threads)}
    config["temp_directory"] = tempfile.mkdtemp(prefix="ppdm-spill-")
    con = duckdb.connect(file, config=config)
    read = f"'{source}'" if source.endswith(".parquet") else source
    con.execute(f"CREATE TEMP TABLE collapsed AS SELECT *, count(*) AS n FROM {read} GROUP BY ALL")
    con.execute(f"CREATE TABLE written AS FROM {read}")
    con.execute("DROP TABLE written")
    con.close()


@dataclass(frozen=True)
class Spent:
    """What a process took.

    Args:
        cpu: Seconds, user and system.
        wall: Seconds.
        peak: Memory in MB.
        spilled: Most MB in its temporary folder.
        ended: Why it did not end by itself; "" where it did.
    """

    cpu: float
    wall: float
    peak: float
    spilled: float
    ended: str = ""


def spend(words: Sequence[str], scratch: Path, minutes: float) -> Spent:
    """Run a process with a temporary folder of its own, and stop it when it takes too long."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="tmp-") as folder, _log(scratch) as log:
        started = time.perf_counter()
        process = subprocess.Popen(
            words,
            stdout=log,
            stderr=log,
            env=os.environ | {"TMPDIR": folder},
            cwd=folder,  # so that -m finds the version that belongs to the interpreter
            start_new_session=True,
        )
        too_long = threading.Event()
        timer = threading.Timer(60 * minutes, lambda: (too_long.set(), process.send_signal(signal.SIGKILL)))
        timer.start()
        try:
            with _watched(Path(folder)) as most:
                _, status, used = os.wait4(process.pid, 0)
        except BaseException:  # Ctrl-C reaches this process only
            process.kill()
            raise
        finally:
            timer.cancel()
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        ended = ""
        if too_long.is_set():
            ended = f"stopped after {minutes:g} minutes"
        elif process.returncode not in (0, 1):  # an audit that finds a violation ends with 1
            log.seek(0)
            told = [line for line in log.read().decode().splitlines() if line.strip()]
            print(f"exit code {process.returncode} of {shlex.join(words)}", *told[-5:], sep="\n  ")
            out_of_memory = any("memory" in line for line in told[-5:])
            ended = "out of memory" if out_of_memory else f"exit code {process.returncode}"
        cpu = used.ru_utime + used.ru_stime
        return Spent(cpu, wall, used.ru_maxrss / 1024, most[0] / 1e6, ended)


@contextmanager
def _log(scratch: Path) -> Iterator[object]:
    with (scratch / "log.txt").open("w+b") as log:
        yield log


@contextmanager
def _watched(folder: Path) -> Iterator[list[int]]:
    """Look at the size of a folder until the context ends; the list holds the largest."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            size = 0
            for path in folder.rglob("*"):
                try:
                    size += path.stat().st_blocks * 512
                except OSError:  # it has just gone
                    continue
            most[0] = max(most[0], size)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


@dataclass
class Series:
    """All commands on one size from one source.

    Args:
        folder: Where the data are.
        records: How many.
        source: ``parquet`` or ``table``.
        options: Of the command line.
        python: That runs the version which is measured.
    """

    folder: Path
    records: int
    source: str
    options: argparse.Namespace
    python: str = sys.executable

    @property
    def file(self) -> Path:
        """The database file that commands are given."""
        return self.folder / ("table.duckdb" if self.source == "table" else "made.duckdb")

    @property
    def read(self) -> str:
        """What commands read."""
        return "records" if self.source == "table" else str(self.folder / "parquet" / "*.parquet")

    def floor(self) -> Spent:
        """Measure the floor."""
        self._fresh()
        given = [str(self.file), self.read, self.options.memory_limit, str(self.options.threads)]
        return spend([sys.executable, __file__, "--worker", *given], self.folder, 10 * self.options.minutes)

    def run(self, name: str) -> Spent:
        """Measure a command."""
        command = COMMANDS[name]
        if name in OF_NOISY:
            self._noisy()
        elif self.source == "parquet":
            self._fresh()
        self._remove(command.makes)
        return spend(self.words(command.words), self.folder, self.options.minutes)

    def words(self, text: str) -> list[str]:
        """Write a command of ``ppdm``."""
        given = {"FILE": str(self.file), "SOURCE": self.read}
        words = [given.get(word, word).replace("FOLDER", str(self.folder)) for word in shlex.split(text)]
        more = [
            "--memory-limit",
            self.options.memory_limit,
            "--threads",
            str(self.options.threads),
            "--quiet",
        ]
        return [self.python, "-m", "ppdm_sql", *words, *more]

    def end(self) -> None:
        """Remove what was made."""
        if self.source == "parquet":
            self.file.unlink()

    def _noisy(self) -> None:
        with duckdb.connect(str(self.file)) as con:
            there = con.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'noisy'").fetchone()
        if there == (0,):
            self._fresh()
            spend(self.words(COMMANDS["randomize"].words), self.folder, 10 * self.options.minutes)

    def _remove(self, made: str) -> None:
        """Remove what was made by that name before; nothing where it is not there."""
        if made == "distributions":
            with duckdb.connect(str(self.file)) as con:
                con.execute(f"DROP TABLE IF EXISTS {made}")
        elif made:
            drop = ["-m", "ppdm_sql", "drop", str(self.file), made]
            subprocess.run([self.python, *drop], check=False, capture_output=True, cwd=self.folder)

    def _fresh(self) -> None:
        """Begin with a new database file, where the source is not in it."""
        if self.source == "parquet":
            for file in self.folder.glob("made.duckdb*"):
                file.unlink()
            duckdb.connect(str(self.file)).close()


def figure(series: Series, name: str, low: Spent, found: Spent) -> Figure:
    """Put together what was measured of a command; let the other version run it, where one was given."""
    done, against, limit = not found.ended, series.options.against, series.options.memory_limit
    compared: dict[str, Any] = {}
    if done and against is not None:
        other = replace(series, python=str(interpreter(against))).run(name)
        if not other.ended:
            compared = {"against_cpu": found.cpu / other.cpu, "against_wall": found.wall / other.wall}
            compared["against"] = revision(against)
    return Figure(
        table=TABLE,
        setting=f"{name}, {series.source}" + ("" if limit == LIMIT else f", {limit}"),
        records=series.records,
        threads=series.options.threads,
        floor_cpu=low.cpu,
        run_cpu=found.cpu,
        run_wall=found.wall,
        ratio_cpu=found.cpu / low.cpu if done else None,
        ratio_wall=found.wall / low.wall if done else None,
        peak_mb=found.peak,
        peak_ratio=found.peak / low.peak,
        spilled_mb=found.spilled,
        ended=found.ended or None,
        **compared,
    )


def measure(options: argparse.Namespace, folder: Path, records: int) -> None:
    """Print a line for each command on one size."""
    generate(folder, records)
    for source in options.source:
        names = [name for name in COMMANDS if name in options.only]
        if options.quick:
            names = [name for name in names if source in COMMANDS[name].quick]
        if not names:
            continue
        if source == "table":
            load(folder, options.memory_limit)
        series = Series(folder, records, source, options)
        low = series.floor()
        shown(records, f"floor, {source}", low, low)
        for name in names:
            found = series.run(name)
            told = figure(series, name, low, found)
            shown(records, f"{name}, {source}", low, found, told.against_cpu)
            if options.record:
                keep([stamped(told)])
        series.end()


def shown(records: int, name: str, low: Spent, found: Spent, against: float | None = None) -> None:
    """Print a line."""
    cells = [
        f"{found.cpu:.2f}",
        f"{found.wall:.2f}",
        f"{found.cpu / low.cpu:.2f}",
        f"{found.wall / low.wall:.2f}",
    ]
    cells += [f"{found.peak:.0f}", f"{found.spilled:.0f}"]
    cells.append("" if against is None else f"{against:.2f}")
    print(f"{name:26}" + row(records, *cells), found.ended, flush=True)


def draw(figures: Sequence[Figure], file: Path) -> None:
    """Draw seconds of CPU time by records, both on logarithmic axes, as an SVG picture."""
    import vl_convert

    points = [
        {"records": one.records, "seconds": one.run_cpu, "command": one.setting.partition(",")[0]}
        for one in figures
        if not one.ended and one.setting.endswith("parquet")
    ]
    floors = {one.records: one.floor_cpu for one in figures if one.setting.endswith("parquet")}
    points += [{"records": n, "seconds": cpu, "command": "floor"} for n, cpu in floors.items()]
    log = {"type": "quantitative", "scale": {"type": "log"}}
    axes = {
        "x": {"field": "records", "title": "records", **log},
        "y": {"field": "seconds", "title": "seconds of CPU time", **log},
        "color": {"field": "command", "type": "nominal", "title": None},
    }
    chart = {
        "data": {"values": points},
        "mark": {"type": "line", "point": True},
        "encoding": axes,
        "width": 460,
        "height": 300,
    }
    file.write_text(vl_convert.vegalite_to_svg(chart), encoding="utf-8")


def main() -> None:
    """Print one line for each command, source and size, and keep what was measured if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--only", nargs="*", default=list(COMMANDS), choices=list(COMMANDS), metavar="NAME")
    parser.add_argument("--from", dest="source", nargs="*", default=list(SOURCES), choices=SOURCES)
    parser.add_argument(
        "--quick", action="store_true", help="each command from Parquet; from a table audit and generalize"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default=LIMIT, help=f"of commands and floor (default {LIMIT})")
    parser.add_argument("--minutes", type=float, default=10, help="most that a command may take (default 10)")
    parser.add_argument("--folder", type=Path, help="where data are made and removed: 150 bytes a record")
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/figures.json")
    parser.add_argument("--figure", action="store_true", help=f"only draw {PICTURE.name} from them")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="a checkout of another version with its own .venv: each command is run by it, too",
    )
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        floor(*options.worker)
        return
    if options.figure:
        draw([one for one in kept() if isinstance(one, Figure) and one.table == TABLE], PICTURE)
        return
    print(
        f"{'':26}"
        + row("records", "CPU s", "wall s", "ratio CPU", "ratio wall", "peak MB", "spilled", "to other")
    )
    for records in options.records:
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="ppdm-scale-") as folder:
            measure(options, Path(folder), records)


if __name__ == "__main__":
    main()
