"""What a search reads off the groups of a state: one number for each group, and the worst or the sum of them.

A formula is SQL over the counts of one group: ``n`` records, and ``p0, p1, ...`` of them that hold certain
values. The same formula serves whole states and the parts that a candidate would make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Columns = Mapping[str, str]
"""The SQL that stands for each counted column, ``n`` among them; NULL or 0 records make no group."""


@dataclass(frozen=True)
class Formula:
    """One number of a state.

    Args:
        total: How the groups' numbers become the state's: ``min``, ``max`` or ``sum``.
        columns: The counted columns that the formula needs.
        formula: Gives the SQL of a group's number; NULL where there is no group.
        settled: Gives the SQL of whether a group's number is 0 and stays so whatever it is split into.
    """

    total: Literal["min", "max", "sum"]
    columns: tuple[str, ...]
    formula: Callable[[Columns], str]
    settled: Callable[[Columns], str] | None = None

    def of(self, names: Columns) -> str:
        """Give the SQL of one group's number."""
        return self.formula(names)


@dataclass(frozen=True)
class ValueCounts:
    """The sensitive values that are counted in each group, and the table that the groups are of.

    Args:
        columns: The counted column of each value, in the order of the values, NULL last; for a template the
            one of its protected value.
        totals: Gives the records of each value in the whole table; one scan, so only at need.
        type: Of the sensitive column.
        records: In the whole table.
        population: The counted column of a group's records of the population, which are among its ``n`` then;
            empty where no population is counted.
    """

    columns: Sequence[str] = ()
    totals: Callable[[], Sequence[int]] = tuple
    type: str = ""
    records: int = 0
    population: str = ""


def sum_of(terms: Iterable[str], nothing: str = "0") -> str:
    """Give the SQL of a sum."""
    return " + ".join(terms) or nothing
