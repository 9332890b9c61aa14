"""A run that counts persons against the same run that counts records, on Adult expanded (see harness.py).

Each person has about five records, drawn at random, so that hardly anybody's are all in one class: the worst
case. The two runs take turns in one process; the ratio is persons / records, of CPU and of wall time.

    python benchmarks/persons.py                       45 thousand and 1 million records, 1 and 2 threads
    python benchmarks/persons.py --records 100000 --settings tds-8 --threads 1 --repeat 3
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from generalize import CATEGORICAL, EVERY, hierarchies
from harness import CLASS, Setting, main

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


@dataclass(frozen=True)
class OfPersons(Setting):
    """A run that counts persons; its floor is the same run counting records.

    Args:
        plain: The run that counts records.
    """

    plain: Callable[[ppdm.Database], ppdm.Release] = lambda db: db.release("bench")

    def write_data(self, file: Path, records: int) -> None:
        super().write_data(file, records)
        with duckdb.connect(str(file)) as con:
            con.execute("ALTER TABLE adult ADD COLUMN person INTEGER")
            con.execute("UPDATE adult SET person = hash(rowid) % $n", {"n": max(1, records // OF_A_PERSON)})

    def floor(self, db: ppdm.Database) -> None:
        self.plain(db)

    def drop_floor(self, db: ppdm.Database) -> None:
        self.drop(db)


def settings() -> list[Setting]:
    """List the settings."""
    return [
        OfPersons(
            name,
            (*EVERY, CLASS),
            EVERY,
            lambda db, run=run: run(db, ("person",)),
            lambda db, run=run: run(db, ()),
        )
        for name, run in runs().items()
    ]


if __name__ == "__main__":
    main("persons", __file__, __doc__, settings(), sizes=(45_222, 1_000_000))
