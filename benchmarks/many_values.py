"""Suppression of a column with many values: visits and orders by sex and zip, and what a value more costs.

Zips are skewed: of records drawn uniformly from [0, 1), the zip is the share of values that the number to
the power of 1.5 gives, so the most frequent of 30,000 zips has some 5,200 of 5 million orders. Each run is a
process of its own, from opening the file to the committed, audited release; CPU time is user and system.

    python benchmarks/many_values.py                        100 to 100,000 values, five records each
    python benchmarks/many_values.py --settings visits orders --memory-limit 2GB
    python benchmarks/many_values.py --settings diversity   1,500 values under l, t and beta
    python benchmarks/many_values.py --record --against ../released
    python benchmarks/many_values.py --figure docs/many_values.svg
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from figures import rows
from harness import peak_memory
from rows import Measured, options_of, present

import ppdm_sql as ppdm

SKEW = 1.5
RECORDS_EACH = 5
VALUES = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Case:
    """One run: so many records of so many zips, and what is asked of them."""

    records: int
    values: int
    require: str = "k >= 5 on sex, zip"
    skew: float = SKEW


CASES: dict[str, Case] = {
    **{f"{values:,} values": Case(values * RECORDS_EACH, values) for values in VALUES},
    "visits": Case(44_566, 9_100),
    "orders": Case(5_000_000, 30_000, skew=4.0),
    **{
        f"diversity, {text}": Case(60_000, 1_500, f"{text} of diagnosis on sex, zip", skew=1.2)
        for text in ("entropy l >= 3.7", "t <= 0.2", "t <= 0.3", "beta <= 1")
    },
}


def make(file: Path, case: Case) -> None:
    """Write the table ``visits`` into a new database file; the same one every time."""
    con = duckdb.connect(str(file))
    con.execute("CREATE MACRO drawn(i, j) AS hash(i * 8 + j) / 18446744073709551616.0")
    con.execute(
        "CREATE TABLE visits AS SELECT "
        "CASE WHEN drawn(i, 1) < 0.5 THEN 'f' ELSE 'm' END AS sex, "
        "printf('%06d', floor(drawn(z, 7) * 1000000)::INTEGER) AS zip, "
        "CASE WHEN drawn(i, 4) < 0.1 + 0.6 * drawn(z, 5) THEN 'urgent' ELSE 'planned' END AS kind, "
        "['flu', 'cold', 'burn', 'fall', 'none'][1 + floor(5 * power(drawn(i, 6), 1.3))::INTEGER] "
        "AS diagnosis "
        "FROM (SELECT i, floor($values * power(drawn(i, 2), $skew))::BIGINT AS z "
        "FROM range($records) AS r(i))",
        {"records": case.records, "values": case.values, "skew": case.skew},
    )
    con.close()


def measure(file: str, name: str, threads: int, memory: str | None) -> dict[str, float]:
    """Run once, and give seconds, steps and the peak memory of the process in MB."""
    config: dict[str, str | int] = {"threads": threads}
    con = duckdb.connect(file, config=config | ({} if memory is None else {"memory_limit": memory}))
    wall, cpu = time.perf_counter(), time.process_time()
    with ppdm.open(con) as db:
        release = db.suppress("visits", [CASES[name].require], class_column="kind", into="bench")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        steps = len(release.steps())
    return {
        "cpu": cpu,
        "wall": wall,
        "steps": steps,
        "mb": peak_memory(),
    }


def draw(file: str) -> None:
    """Draw what was recorded as an SVG picture: CPU seconds by values, both on logarithmic axes."""
    import vl_convert

    points = [{"values": row.of["values"], "seconds": row.cells["CPU, s"]} for row in rows("many-values")]
    axes = {
        axis: {"field": field, "type": "quantitative", "scale": {"type": "log"}, "title": title}
        for axis, field, title in (
            ("x", "values", "zips, of five records each"),
            ("y", "seconds", "seconds of CPU time"),
        )
    }
    line = {"type": "line", "point": True}
    chart = {"data": {"values": points}, "mark": line, "encoding": axes, "width": 420, "height": 220}
    Path(file).write_text(vl_convert.vegalite_to_svg(chart), encoding="utf-8")


def measured(options: argparse.Namespace, *, of_values: bool) -> Measured:
    """Measure the cases that are asked for: those of more and more values, or the others."""
    for name, case in CASES.items():
        asked = any(setting in name for setting in options.settings)
        if not asked or name.endswith(" values") != of_values:
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "visits.duckdb"
            make(file, case)
            given = [str(file), name, str(options.threads), options.memory_limit or ""]
            command = [sys.executable, __file__, "--worker", *given]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        limit = f", memory limit {options.memory_limit}" if options.memory_limit else ""
        of = {"values": case.values, "records": case.records, "asked": case.require + limit}
        yield (
            of,
            {
                "steps": int(found["steps"]),
                "CPU, s": round(found["cpu"], 2),
                "wall, s": round(found["wall"], 2),
                "peak memory, MB": round(found["mb"]),
            },
        )


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", nargs="*", default=["values"], help="values, visits, orders, diversity")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", help="such as 2GB")
    parser.add_argument("--figure", help="only draw the recorded cost by values, in this SVG file")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = options_of(parser).parse_args()
    if options.worker:
        file, name, threads, memory = options.worker
        print(json.dumps(measure(file, name, int(threads), memory or None)))
        return
    if options.figure:
        draw(options.figure)
        return
    for table, of_values in (("many-values", True), ("many-values-other", False)):
        present(table, options, measured(options, of_values=of_values))


if __name__ == "__main__":
    main()
