"""The measured figures: kept in figures.json, from which the tables of docs/benchmarks.md are made.

A benchmark that is given ``--record`` puts what it measured in the file, in the place of what was measured
before of the same setting, size and number of threads.

    python benchmarks/figures.py                      write the tables of docs/benchmarks.md anew
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILE = HERE / "figures.json"
DOCS = HERE.parent / "docs" / "benchmarks.md"
TABLE = re.compile(
    r"(?P<begin><!-- figures: (?P<table>[\w-]+) -->\n).*?(?P<end><!-- end of figures -->)", re.S
)
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
    run_wall: float
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


def revision(folder: Path) -> str:
    """Give the revision of a checkout, with ``+`` where something in it was changed; "" for none."""

    def git(*words: str) -> str:
        asked = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
        return asked.stdout.strip()

    changed = git("status", "--porcelain", "--", "ppdm_sql", "sql")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def stamped(figure: Figure) -> Figure:
    """Say when, of which revision and on how many cores a figure was measured."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return dataclasses.replace(figure, date=today, revision=revision(HERE), cores=os.cpu_count() or 1)


def kept(file: Path = FILE) -> list[Figure]:
    """Read the figures, in the order of the tables."""
    listed = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return sorted((Figure(**one) for one in listed), key=lambda figure: figure.key)


def keep(figures: Sequence[Figure], file: Path = FILE) -> None:
    """Put figures in the file, in the place of those that were measured of the same before."""
    every = {figure.key: figure for figure in (*kept(file), *figures)}
    lines = [json.dumps(_rounded(every[key])) for key in sorted(every)]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _rounded(figure: Figure) -> dict[str, object]:
    """Give what is known of a figure, times to a millisecond."""
    known = {name: value for name, value in dataclasses.asdict(figure).items() if value is not None}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in known.items()}


def table(name: str, figures: Sequence[Figure]) -> str:
    """Write one table in Markdown; columns of which nothing is known are left out."""
    rows = [figure for figure in figures if figure.table == name]
    shown = {field: head for field, head in HEADS.items() if any(_cell(row, field) for row in rows)}
    lines = [list(shown.values()), ["---"] * len(shown)]
    lines += [[_cell(row, field) for field in shown] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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


def with_tables(text: str, figures: Sequence[Figure]) -> str:
    """Replace the tables of a text: what stands between the two comments that name and end each."""
    return TABLE.sub(lambda found: found["begin"] + table(found["table"], figures) + found["end"], text)


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8"), kept()), encoding="utf-8")
