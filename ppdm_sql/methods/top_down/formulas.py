"""What is read off the groups of a state: one number for each group, and the worst or the sum of them.

A reading is a formula over the counts of one group: ``n`` records, and ``p0, p1, ...`` of them that hold
certain values. The same formula serves whole states and the parts that a candidate would make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np

from ppdm_sql.methods.base.arrays import Codes

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


def class_size() -> Formula:
    """The records of the smallest class, for k-anonymity."""
    return Formula("min", ("n",), lambda c: f"nullif({c['n']}, 0)")


def squared_size() -> Formula:
    """The discernibility of a table: the sum of squared class sizes (Bayardo, Agrawal 2005)."""
    return Formula("sum", ("n",), lambda c: f"{c['n']}::DOUBLE * {c['n']}")


def confidence(protected: str) -> Formula:
    """The highest share of a protected value in a group (Wang, Fung, Yu 2005, Definition 3.1)."""
    return Formula("max", ("n", protected), lambda c: f"{c[protected]} / nullif({c['n']}, 0)")


def distinct_values(values: Sequence[str]) -> Formula:
    """The fewest different sensitive values in a class (Machanavajjhala et al. 2006)."""

    def formula(c: Columns) -> str:
        return f"nullif({_sum(f'({c[v]} > 0)::INTEGER' for v in values)}, 0)"

    return Formula("min", ("n", *values), formula)


def entropy_diversity(values: Sequence[str]) -> Formula:
    """The smallest exp(entropy) of the sensitive values of a class (Machanavajjhala et al. 2006)."""

    def formula(c: Columns) -> str:
        weighted = _sum(f"{c[v]} * ln(greatest({c[v]}, 1))" for v in values)
        return f"exp(ln(nullif({c['n']}, 0)) - ({weighted}) / nullif({c['n']}, 0))"

    return Formula("min", ("n", *values), formula)


def equal_distance(values: Sequence[str], totals: Codes) -> Formula:
    """The largest distance of a class's sensitive values from the table's, all values equally far apart.

    Source: Li, Li, Venkatasubramanian 2007, section 4.2.
    """
    records = int(totals.sum())

    def formula(c: Columns) -> str:
        pairs = zip(values, totals.tolist(), strict=True)
        moved = _sum(f"abs({c[v]} * {records} - {total} * {c['n']})" for v, total in pairs)
        return f"({moved}) / nullif({c['n']} * {2 * records}, 0)"

    return Formula("max", ("n", *values), formula)


def ordered_distance(values: Sequence[str], totals: Codes) -> Formula:
    """The same with distances by the order of the values.

    Source: Li, Li, Venkatasubramanian 2007, section 4.1.
    """
    records, steps = int(totals.sum()), max(len(values) - 1, 1)

    def formula(c: Columns) -> str:
        up_to = accumulate((c[v] for v in values[:-1]), lambda before, after: f"{before} + {after}")
        pairs = zip(up_to, np.cumsum(totals).tolist(), strict=False)
        moved = _sum((f"abs(({some}) * {records} - {total} * {c['n']})" for some, total in pairs), "0")
        return f"({moved}) / nullif({c['n']} * {records * steps}, 0)"

    return Formula("max", ("n", *values), formula)


def class_entropy(classes: Sequence[str]) -> Formula:
    """The entropy of the classes left in the groups, n I(R) summed up, in bits; one class is the rest.

    Divided by the records it is H(D | attributes), the conditional entropy of the decision.
    """

    def formula(c: Columns) -> str:
        rest = " - ".join([c["n"], *(c[v] for v in classes)])
        each = _sum((_times_log(f"({part})") for part in (rest, *(c[v] for v in classes))), "0")
        return f"greatest({_times_log(c['n'])} - ({each}), 0)"

    def pure(c: Columns) -> str:
        rest = " - ".join([c["n"], *(c[v] for v in classes)])
        return f"greatest({', '.join([rest, *(c[v] for v in classes)])}) = {c['n']}"

    return Formula("sum", ("n", *classes), formula, pure)


def _times_log(number: str) -> str:
    return f"{number} * log2(greatest({number}, 1))"


def _sum(terms: Iterable[str], nothing: str = "") -> str:
    return " + ".join(terms) or nothing
