"""What a state tells, beside what its requirements reach: read off the groups by the same kind of formula."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.privacy.formula import Columns, Formula, sum_of


def squared_size() -> Formula:
    """The discernibility of a table: the sum of squared class sizes (Bayardo, Agrawal 2005)."""
    return Formula("sum", ("n",), lambda c: f"{c['n']}::DOUBLE * {c['n']}")


def class_entropy(classes: Sequence[str]) -> Formula:
    """The entropy of the classes left in the groups, n I(R) summed up, in bits; one class is the rest.

    Divided by the records it is H(D | attributes), the conditional entropy of the decision.
    """

    def formula(c: Columns) -> str:
        rest = " - ".join([c["n"], *(c[v] for v in classes)])
        each = sum_of(_times_log(f"({part})") for part in (rest, *(c[v] for v in classes)))
        return f"greatest({_times_log(c['n'])} - ({each}), 0)"

    def pure(c: Columns) -> str:
        rest = " - ".join([c["n"], *(c[v] for v in classes)])
        return f"greatest({', '.join([rest, *(c[v] for v in classes)])}) = {c['n']}"

    return Formula("sum", ("n", *classes), formula, pure)


def _times_log(number: str) -> str:
    return f"{number} * log2(greatest({number}, 1))"
