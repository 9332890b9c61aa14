"""Each audit macro against the one GROUP BY that it cannot avoid, on Adult expanded (see harness.py).

The macro's floor is the GROUP BY over the same columns, with the sensitive one where the macro takes one, and
the number of records of each group. Both write their rows into a temporary table and take turns in one
process; the ratio is macro / floor, of CPU and of wall time. The quasi-identifiers: four columns, with some
80 records a class at a million, and eight, by which most records are alone.

    python benchmarks/audit.py                        1 and 10 million records, 1 and 2 threads
    python benchmarks/audit.py --records 1000000 --settings 'risk, 8 columns' --repeat 9
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness import CATEGORICAL, Setting, main

import ppdm_sql as ppdm

NARROW = ("age", "education", "sex", "race")
WIDE = ("age", *(name for name in CATEGORICAL if name != "occupation"))
SENSITIVE = ("occupation", "hours_per_week")
READ = (*WIDE, *SENSITIVE)


@dataclass(frozen=True)
class Measured:
    """A macro, and what it is asked beside the columns."""

    macro: str
    sensitive: str | None = None

    @property
    def name(self) -> str:
        return self.macro if self.sensitive is None else f"{self.macro} {self.sensitive}"

    def call(self, columns: tuple[str, ...]) -> str:
        """Write the call of the macro."""
        more = "" if self.sensitive is None else f", '{self.sensitive}'"
        return f"FROM ppdm_{self.macro}('adult', {list(columns)}{more})"

    def floor(self, columns: tuple[str, ...]) -> str:
        """Write the GROUP BY that no answer can do without."""
        by = [*columns, *([] if self.sensitive is None else [self.sensitive])]
        return f"SELECT {', '.join(by)}, count(*) AS records FROM adult GROUP BY ALL"


MACROS = (
    Measured("equivalence_classes"),
    Measured("risk"),
    Measured("identifiable", "occupation"),
    *(Measured(macro, name) for macro in ("confidence", "diversity", "closeness") for name in SENSITIVE),
)


@dataclass(frozen=True)
class Answer(Setting):
    """A macro's answer, and the GROUP BY that is its floor.

    Args:
        lower: The GROUP BY.
    """

    lower: str = ""

    def prepare(self, db: ppdm.Database) -> None:
        db.install()

    def floor(self, db: ppdm.Database) -> None:
        db.engine.connection.execute(f"CREATE TEMP TABLE answer AS {self.lower}")

    def drop_floor(self, db: ppdm.Database) -> None:
        db.engine.connection.execute("DROP TABLE answer")

    def drop(self, db: ppdm.Database) -> None:
        self.drop_floor(db)


def settings() -> list[Setting]:
    """List every macro with each quasi-identifier."""
    found: list[Setting] = []
    for columns in (NARROW, WIDE):
        for measured in MACROS:
            name, lower = f"{measured.name}, {len(columns)} columns", measured.floor(columns)
            found.append(Answer(name, READ, WIDE, answered(measured.call(columns)), lower))
    return found


def answered(query: str) -> Callable[[ppdm.Database], object]:
    """Make a run that writes the rows of a query into a temporary table."""
    return lambda db: db.engine.connection.execute(f"CREATE TEMP TABLE answer AS {query}")


if __name__ == "__main__":
    main("audit", __file__, __doc__, settings(), sizes=(1_000_000, 10_000_000))
