"""A run that counts persons against the same run that counts records, on Adult expanded (see harness.py).

Each person has about five records, drawn at random, so that hardly anybody's are all in one class: the worst
case. The two runs take turns in one process; the ratio is persons / records, of CPU and of wall time.

    python benchmarks/persons.py                       1 million records of 200 thousand persons
    python benchmarks/persons.py --records 100000 --settings tds-8 --repeat 3
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
from generalize import CATEGORICAL, EVERY, hierarchies
from harness import CLASS, expand, row, timed

import ppdm_sql as ppdm

OF_A_PERSON = 5


def runs() -> dict[str, Callable[[ppdm.Database, tuple[str, ...]], ppdm.Release]]:
    """Name the settings; each is a run with the columns of persons, or with none."""

    def generalized(*names: str) -> Callable[[ppdm.Database, tuple[str, ...]], ppdm.Release]:
        asked = [ppdm.KAnonymity(10, names)]
        shared = {"class_column": CLASS, "into": "bench", "taxonomies": hierarchies(names)}
        return lambda db, person: db.generalize("adult", asked, person=person, **shared)

    def suppressed(db: ppdm.Database, person: tuple[str, ...]) -> ppdm.Release:
        asked = [ppdm.KAnonymity(10, ("sex", "race", "education", "occupation"))]
        return db.suppress("adult", asked, class_column=CLASS, into="bench", person=person)

    return {"tds-14": generalized(*EVERY), "tds-8": generalized(*CATEGORICAL), "pda-4": suppressed}


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--settings", nargs="+", default=list(runs()))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(row("setting", "records", "cpu", "persons", "cpu", "ratio", "ratio cpu", "steps"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "adult.duckdb"
        expand(file, options.records, (*EVERY, CLASS), EVERY)
        con = duckdb.connect(str(file), config={"threads": options.threads})
        persons = options.records // OF_A_PERSON
        con.execute("ALTER TABLE adult ADD COLUMN person INTEGER")
        con.execute("UPDATE adult SET person = hash(rowid) % $persons", {"persons": persons})
        db = ppdm.open(con)
        for name in options.settings:
            taken: dict[tuple[str, ...], list[tuple[float, float]]] = {(): [], ("person",): []}
            steps = 0
            for _ in range(options.repeat):
                for person, times in taken.items():
                    times.append(timed(lambda person=person, name=name: runs()[name](db, person)))  # type: ignore[misc]
                    release = db.release("bench")
                    steps = len(release.steps())
                    release.drop()
            medians = [
                [statistics.median(part) for part in zip(*times, strict=True)] for times in taken.values()
            ]
            (cpu, wall), (cpu_p, wall_p) = medians
            print(
                row(
                    name, *(f"{n:.2f}" for n in (wall, cpu, wall_p, cpu_p, wall_p / wall, cpu_p / cpu)), steps
                )
            )


if __name__ == "__main__":
    main()
