"""Swapping against its floor, with confidential attributes of 2, 7 and 15 values.

What floor and ratio are: see harness.py. The other attributes of Adult are the non-confidential ones (fnlwgt
left out), and a quarter of the uniquely identifiable records change. The greedy method takes a limited number
of records only.

    python benchmarks/swap.py                         45 thousand, 1 and 10 million records, 1 and 2 threads
    python benchmarks/swap.py --settings occupation --records 45222 --repeat 9
    python benchmarks/swap.py --settings income-greedy marital_status-greedy --records 45222 90444 180888
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from harness import CATEGORICAL, CLASS, CONTINUOUS, Setting, main

import ppdm_sql as ppdm

CONFIDENTIAL = (CLASS, "marital_status", "occupation")
READ = (*(name for name in (*CATEGORICAL, *CONTINUOUS) if name != "fnlwgt"), CLASS)
VARIED = tuple(name for name in READ if name not in CONFIDENTIAL)


def swapped(
    confidential: str, method: str, share: tuple[int, int] | None
) -> Callable[[ppdm.Database], ppdm.Release]:
    """Make a run that changes a quarter of the uniquely identifiable records."""

    def run(db: ppdm.Database) -> ppdm.Release:
        return db.swap(
            "adult",
            confidential=confidential,
            by=[name for name in READ if name != confidential],
            proportion=Fraction(1, 4),
            method=method,
            share=share,
            seed=1,
            into="bench",
        )

    return run


def settings() -> list[Setting]:
    """List the settings: the default, without bounds on the shares, and greedy."""
    found = []
    for name in CONFIDENTIAL:
        for suffix, method, share in (
            ("", "exact", None),
            ("-unbounded", "exact", (0, 1)),
            ("-greedy", "greedy", None),
        ):
            found.append(Setting(name + suffix, READ, VARIED, swapped(name, method, share)))
    return found


if __name__ == "__main__":
    main("swap", __file__, __doc__, settings())
