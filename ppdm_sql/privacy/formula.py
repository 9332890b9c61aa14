"""What a search reads off the groups of a state: one number for each group, and the worst or the sum of them.

A formula is SQL over the counts of one group: ``n`` records, and ``p0, p1, ...`` of them that hold certain
values, or ``held``, a list of the counts of the values in it. The same formula serves whole states and the
parts that a candidate would make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Columns = Mapping[str, str]
"""The SQL that stands for each counted column, ``n`` among them; NULL or 0 records make no group."""
Term = Callable[[str, str], str]
"""Gives the SQL of a number of one value, from its records in the group and in the whole table."""

MOST_COLUMNS = 200
"""Sensitive values that can be counted in a column each."""


@dataclass(frozen=True)
class Formula:
    """One number of a state."""

    # how the groups' numbers become the state's: ``min``, ``max`` or ``sum``
    total: Literal["min", "max", "sum"]
    columns: tuple[str, ...]  # the counted columns that the formula needs
    of: Callable[[Columns], str]  # gives the SQL of a group's number; NULL where there is no group
    # gives the SQL of whether a group's number is 0 and stays so whatever it is split into
    settled: Callable[[Columns], str] | None = None


@dataclass(frozen=True)
class ValueCounts:
    """The sensitive values that are counted in each group, and the table that the groups are of.

    Example:
        >>> squares, counts = (lambda n, q: f"{n} * {n}"), ValueCounts(["p0", "p1"])
        >>> counts.sum({"p0": "a", "p1": "b"}, squares)
        'a * a + b * b'
        >>> ValueCounts(["held"], listed=True).sum({"held": "h"}, squares)
        'coalesce(list_sum(list_sort(list_transform(h, lambda x: x.n * x.n))), 0)'
    """

    # the counted column of each value, in the order of the values, NULL last; for a template the one of its
    # protected value. The one column ``held``, where the values are too many for that
    columns: Sequence[str] = ()
    # gives the records of each value in the whole table; one scan, so only at need
    totals: Callable[[], Sequence[int]] = tuple
    type: str = ""  # of the sensitive column
    records: int = 0  # in the whole table
    # the counted column of a group's records of the population, which are among its ``n`` then; empty where
    # no population is counted
    population: str = ""
    # whether a group's values are a list, of which each that it holds has ``n``, its records, and ``q``,
    # those in the whole table
    listed: bool = False

    def sum(self, names: Columns, term: Term, totals: Sequence[int] | None = None) -> str:
        """Give the SQL of a sum over the values of a group, in an order that does not change.

        A value that the group lacks must add nothing.
        """
        if self.listed:
            return f"coalesce(list_sum(list_sort({self._transform_list(names, term)})), 0)"
        return sum_of(self._terms(names, term, totals))

    def most(self, names: Columns, term: Term, totals: Sequence[int] | None = None) -> str:
        """Give the SQL of the largest term of a value that the group holds; NULL where it holds none.

        A value that it lacks must have no larger one.
        """
        if self.listed:
            return f"list_max({self._transform_list(names, term)})"
        terms = self._terms(names, term, totals)
        return f"greatest({', '.join(terms)})" if terms else "NULL::DOUBLE"

    def different(self, names: Columns) -> str:
        """Give the SQL of how many values a group holds."""
        if self.listed:
            return f"coalesce(len({names[self.columns[0]]}), 0)"
        return self.sum(names, lambda n, _: f"({n} > 0)::INTEGER")

    def frequent(self, names: Columns, number: int) -> str:
        """Give the SQL of the records of the values that are most frequent in a group, so many of them."""
        counts = f"[{', '.join(names[v] for v in self.columns)}]"
        if self.listed:
            counts = self._transform_list(names, lambda n, _: n)
        return f"list_sum(list_reverse_sort({counts})[1:{number}])"

    def _transform_list(self, names: Columns, term: Term) -> str:
        return f"list_transform({names[self.columns[0]]}, lambda x: {term('x.n', 'x.q')})"

    def _terms(self, names: Columns, term: Term, totals: Sequence[int] | None) -> list[str]:
        beside = [1] * len(self.columns) if totals is None else totals
        pairs = zip(self.columns, beside, strict=True)
        return [term(names[v], str(total)) for v, total in pairs if total]


def sum_of(terms: Iterable[str]) -> str:
    return " + ".join(terms) or "0"
