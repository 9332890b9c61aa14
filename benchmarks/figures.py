"""The measured figures: kept in figures.json, from which the tables of docs/benchmarks.md are made.

A benchmark that is given ``--record`` puts what it measured in the file, in the place of what was measured
before of the same setting, size and number of threads. What is a run against its floor is a figure; any other
line of a table is a row, with columns of its own.

    python benchmarks/figures.py                      write the tables of docs/benchmarks.md anew
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).resolve().parent
FILE = HERE / "figures.json"
DOCS = HERE.parent / "docs" / "benchmarks.md"
TABLE = re.compile(
    r"(?P<begin><!-- figures: (?P<table>[\w-]+) -->\n).*?(?P<end><!-- end of figures -->)", re.S
)
Cell: TypeAlias = str | int | float | None
SIZES = (45_222, 1_000_000, 10_000_000)
LIMITS: Mapping[str, Mapping[str, tuple[float | None, ...]]] = {
    "suppress": {"PDA": (4, 1.2, 0.6)},
    "generalize": {
        f"{name} k={k}": limits
        for name, limits in {
            "tds-14": (4, 1.8),
            "tds-8": (3, 1.1),
            "tds-3x5": (5, 1.6),
            "hce-9+3": (5, 3),
        }.items()
        for k in (5, 10, 50)
    },
    "swap": {"income": (4, 1.8, 1.5), "marital_status": (6, 2.4, 2), "occupation": (10, 4, 3)},
    "audit": {
        f"{macro} {sensitive}, 8 columns": (None, limit)
        for macro, limit in {"confidence": 1.5, "diversity": 1.5, "closeness": 2}.items()
        for sensitive in ("occupation", "hours_per_week")
    },
    "risk": {"10 columns, up to 3": (None, 60)},
    "reconstruct": {"gaussian, salary": (None, 1.5, 1.2), "gaussian, all by class": (None, 1.5, 1.2)},
    "integrate": {"two parties k=10, wall time": (1.6, 1.4)},
}
"""The ratios that the project set itself, for each of the sizes: CPU time over the floor's, of one thread."""
HEADS = {
    "setting": "setting",
    "records": "records",
    "threads": "threads",
    "floor_cpu": "floor, s",
    "run_cpu": "run, s",
    "ratio_cpu": "ratio, CPU",
    "ratio_wall": "ratio, wall",
    "steps": "steps",
    "peak_mb": "peak memory, MB",
    "peak_ratio": "over the floor's",
    "spilled_mb": "spilled, MB",
    "against_cpu": "to the release before, CPU",
    "against_wall": "wall",
    "ended": "ended",
    "measured": "measured",
}


@dataclass(frozen=True)
class Figure:
    """One measurement: medians, of seconds of CPU and wall time.

    Args:
        table: What was measured, such as ``swap``.
        setting: Of it.
        records: Of the data, as asked for.
        threads: Of the database.
        floor_cpu: CPU seconds of the floor.
        run_cpu: CPU seconds of the run.
        run_wall: Wall seconds of the run.
        ratio_cpu: Run / floor, in turns, of CPU time.
        ratio_wall: The same of wall time.
        steps: That the run took, where it has some.
        peak_mb: Peak memory of a process that only runs, MB.
        peak_ratio: The same over that of a process that only makes the floor.
        spilled_mb: Most that stood in its temporary folder, MB.
        ended: Why the run did not end by itself, such as ``out of memory``; it has no ratios then.
        against_cpu: Run / run of another version, in turns, of CPU time; None where none was given.
        against_wall: The same of wall time.
        against: Revision of the other version.
        date: Day of the measurement, in UTC.
        revision: Of this version; ends with ``+`` where the checkout differs from it.
        cores: Of the machine.
    """

    table: str
    setting: str
    records: int
    threads: int
    floor_cpu: float
    run_cpu: float
    run_wall: float | None
    ratio_cpu: float | None
    ratio_wall: float | None
    steps: int | None = None
    peak_mb: float | None = None
    peak_ratio: float | None = None
    spilled_mb: float | None = None
    ended: str | None = None
    against_cpu: float | None = None
    against_wall: float | None = None
    against: str | None = None
    date: str = ""
    revision: str = ""
    cores: int = 0

    @property
    def key(self) -> tuple[str, int, str, int]:
        """What tells figures apart, in the order of the tables."""
        return self.table, self.records, self.setting, self.threads

    @property
    def measured(self) -> str:
        """The day, the revision and the machine, for a table's last column."""
        return f"{self.date}, {self.revision}, {self.cores} cores"


@dataclass(frozen=True)
class Row:
    """One line of a table that has columns of its own.

    Args:
        table: What was measured, such as ``startup``.
        of: What it was measured of: the first columns, by their heads.
        cells: What was measured, by the heads of the columns.
        before: The same of another version, in turns; empty where none was given.
        against: Revision of the other version.
        date: Day of the measurement, in UTC.
        revision: Of this version.
        cores: Of the machine.
    """

    table: str
    of: Mapping[str, Cell]
    cells: Mapping[str, Cell]
    before: Mapping[str, Cell] = field(default_factory=dict)
    against: str | None = None
    date: str = ""
    revision: str = ""
    cores: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What tells rows apart."""
        return self.table, json.dumps(self.of)

    @property
    def measured(self) -> str:
        """The day, the revision and the machine."""
        cores = f", {self.cores} cores" if self.cores else ""
        return f"{self.date}, {self.revision}{cores}"


Line: TypeAlias = Figure | Row
UNKNOWN = {"run_wall": None, "ratio_cpu": None, "ratio_wall": None}
"""What may be missing in the file: of a run that did not end, or that was measured before it was kept."""


def revision(folder: Path) -> str:
    """Give the revision of a checkout, with ``+`` where something in it was changed; "" for none."""

    def git(*words: str) -> str:
        asked = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
        return asked.stdout.strip()

    changed = git("status", "--porcelain", "--", "ppdm_sql", "sql")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def stamped(line: Line) -> Any:
    """Say when, of which revision and on how many cores a line was measured."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return dataclasses.replace(line, date=today, revision=revision(HERE), cores=os.cpu_count() or 1)


def kept(file: Path = FILE) -> list[Line]:
    """Read what was measured: figures in the order of their tables, rows in that of the file."""
    listed = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return _ordered([Row(**one) if "of" in one else Figure(**UNKNOWN | one) for one in listed])


def rows(name: str, file: Path = FILE) -> list[Row]:
    """Read the rows of a table."""
    return [line for line in kept(file) if isinstance(line, Row) and line.table == name]


def keep(lines: Sequence[Line], file: Path = FILE) -> None:
    """Put lines in the file, in the place of those that were measured of the same before."""
    every = {line.key: line for line in (*kept(file), *lines)}
    written = [json.dumps(_rounded(line)) for line in _ordered(list(every.values()))]
    file.write_text("[\n" + ",\n".join(written) + "\n]\n", encoding="utf-8")


def _ordered(lines: Sequence[Line]) -> list[Line]:
    figures = sorted((line for line in lines if isinstance(line, Figure)), key=lambda figure: figure.key)
    return [*figures, *sorted((line for line in lines if isinstance(line, Row)), key=lambda row: row.table)]


def _rounded(line: Line) -> dict[str, object]:
    """Give what is known of a line, times to a millisecond."""
    known = {name: value for name, value in dataclasses.asdict(line).items() if value not in (None, {}, "")}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in known.items()}


def limits(lines: Sequence[Line]) -> str:
    """Write what was measured of one thread beside the limits, where both or one of them is known."""
    ratios: dict[tuple[str, str, int], float | None] = {}
    for line in lines:
        if isinstance(line, Row):
            if line.table == "integrate":
                records, wall = int(str(line.of["records"])), float(str(line.cells["ratio, wall"]))
                ratios[line.table, f"two parties k={line.of['k']}, wall time", records] = wall
        elif line.threads == 1:
            ratios[line.table, line.setting, line.records] = line.ratio_cpu
    cells = []
    for name, settings in LIMITS.items():
        for setting, wanted in settings.items():
            found = [ratios.get((name, setting, records)) for records in SIZES]
            pairs = zip(found, (*wanted, None, None), strict=False)
            cells.append([f"{name}: {setting}", *(_number(one) for pair in pairs for one in pair)])
    heads = [head for records in SIZES for head in (f"{records:,}", "limit")]
    return markdown(["run", *heads], cells)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def table(name: str, lines: Sequence[Line]) -> str:
    """Write one table in Markdown; columns of which nothing is known are left out."""
    if name == "limits":
        return limits(lines)
    own = [row for row in lines if isinstance(row, Row) and row.table == name]
    if own:
        return _table_of_rows(own)
    figures = [figure for figure in lines if isinstance(figure, Figure) and figure.table == name]
    shown = {field: head for field, head in HEADS.items() if any(_cell(one, field) for one in figures)}
    cells = [[_cell(one, field) for field in shown] for one in figures]
    return markdown(list(shown.values()), cells)


def _table_of_rows(own: Sequence[Row]) -> str:
    """Write rows, and under them the day of each that was measured on the same."""
    earlier = {head for row in own for head in row.before}
    columns: dict[str, list[Cell]] = {}
    for head in dict.fromkeys(head for row in own for head in (*row.of, *row.cells)):
        if head in earlier:
            columns[f"{head}, before"] = [row.before.get(head) for row in own]
        columns[head] = [{**row.of, **row.cells}.get(head) for row in own]
    heads = list(columns)
    texts = {head: texts_of(cells) for head, cells in columns.items()}
    days = list(dict.fromkeys(row.measured for row in own))
    cells = [[texts[head][place] for head in heads] for place in range(len(own))]
    if len(days) == 1:
        return markdown(heads, cells) + f"\nMeasured {days[0]}.\n"
    return markdown(
        [*heads, "measured"], [[*line, row.measured] for line, row in zip(cells, own, strict=True)]
    )


def texts_of(cells: Sequence[Cell]) -> list[str]:
    """Write the cells of a column, its numbers with as many decimals as the one that has most.

    Example:
        >>> texts_of([1200, "none", None]), texts_of([0.5, 1.25])
        (['1,200', 'none', ''], ['0.50', '1.25'])
    """
    decimals = max(
        (len(repr(cell).partition(".")[2]) for cell in cells if isinstance(cell, float)), default=0
    )
    texts = {str: str, int: "{:,}".format, float: f"{{:,.{decimals}f}}".format, type(None): lambda _: ""}
    return [texts[type(cell)](cell) for cell in cells]  # type: ignore[operator]


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    every = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in every)


def _cell(figure: Figure, field: str) -> str:
    value = getattr(figure, field)
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str):
        return value
    if field in ("peak_mb", "spilled_mb"):
        return f"{value:,.0f}"
    return f"{value:.2f}" if "ratio" in field or "against" in field else f"{value:.3f}"


def with_tables(text: str, lines: Sequence[Line]) -> str:
    """Replace the tables of a text by those of figures and rows."""
    return replaced(text, lambda name: table(name, lines))


def replaced(text: str, written: Callable[[str], str]) -> str:
    """Replace the tables of a text: what stands between the two comments that name and end each."""
    return TABLE.sub(lambda found: found["begin"] + written(found["table"]) + found["end"], text)


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8"), kept()), encoding="utf-8")
