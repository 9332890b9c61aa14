"""``ppdm risk`` against the one GROUP BY that it cannot avoid, on Adult expanded (see harness.py).

All sets of up to two, or three, of ten columns are counted, with minimal sample uniques and SUDA scores. The
floor is one GROUP BY over all ten, written into a temporary table; floor and run take turns in one process.

    python benchmarks/risk.py                          45 thousand and 1 million records, 1 and 2 threads
    python benchmarks/risk.py --records 1000000 --settings '10 columns, up to 3' --repeat 3
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import CATEGORICAL, Setting, main

import ppdm_sql as ppdm

COLUMNS = ("age", "fnlwgt", "hours_per_week", *(name for name in CATEGORICAL if name != "relationship"))


@dataclass(frozen=True)
class Looked(Setting):
    """A look at all sets of columns, which leaves nothing behind."""

    def floor(self, db: ppdm.Database) -> None:
        query = f"SELECT {', '.join(self.read)}, count(*) AS n FROM adult GROUP BY ALL"
        db.engine.connection.execute(f"CREATE TEMP TABLE collapsed AS {query}")

    def drop_floor(self, db: ppdm.Database) -> None:
        db.engine.connection.execute("DROP TABLE collapsed")

    def drop(self, db: ppdm.Database) -> None:
        """There is nothing."""


def settings() -> list[Setting]:
    """List the sizes of sets."""
    return [
        Looked(
            f"10 columns, up to {size}",
            COLUMNS,
            COLUMNS,
            lambda db, size=size: db.risk("adult", by=COLUMNS, max_size=size),
        )
        for size in (2, 3)
    ]


if __name__ == "__main__":
    main("risk", __file__, __doc__, settings(), sizes=(45_222, 1_000_000))
