"""What a release records of its cut, as the audit reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import literal


@dataclass(frozen=True)
class RecordedCut:
    """What a release records of how it masks its columns.

    Args:
        cuts: Table ``attribute, value, generalized``: what became of each value of the source.
        trees: Table ``attribute, node, parent, label, lower, upper, closed, shown``; None if there is none.
        release: The release, where the tables hold several; they have a column of that name then.
        suppressed: The columns that show values or the symbol.
        generalized: The columns that show nodes or intervals.
        symbol: What stands for a suppressed value.
    """

    cuts: Table
    trees: Table | None
    release: str | None
    suppressed: Sequence[str]
    generalized: Sequence[str]
    symbol: str

    def rows(self, table: Table, names: Sequence[str]) -> exp.Select:
        """Select columns of one of the tables, of this release."""
        query = exp.select(*(column(name, "r") for name in names))
        query = query.from_(exp.alias_(table.expression(), "r", table=True))
        if self.release is None:
            return query
        return query.where(exp.EQ(this=column("release", "r"), expression=literal(self.release)))
