"""Suppression against its floor, by the scalability protocol of Wang, Fung, Yu 2005, section 5.3.

The template protects the 50 % least frequent values of marital_status through the other seven categorical
attributes, h = 90 %, class income. What floor and ratio are: see harness.py.

    python benchmarks/suppress.py                     45 thousand, 1 and 10 million records, 1 and 2 threads
    python benchmarks/suppress.py --records 45222 --repeat 9
"""

from __future__ import annotations

from fractions import Fraction

import duckdb
from harness import CATEGORICAL, CLASS, Setting, main

import ppdm_sql as ppdm

CHANNEL = tuple(name for name in CATEGORICAL if name != "marital_status")


def rarer_half(con: duckdb.DuckDBPyConnection, name: str) -> tuple[str, ...]:
    """Give the 50 % least frequent values of an attribute."""
    rows = con.execute(f"SELECT {name} FROM adult GROUP BY 1 ORDER BY count(*), 1").fetchall()
    return tuple(value for (value,) in rows[: len(rows) // 2])


def suppress(db: ppdm.Database) -> ppdm.Release:
    """Protect the 50 % least frequent values of marital_status."""
    values = rarer_half(db.engine.connection, "marital_status")
    template = ppdm.Template(CHANNEL, "marital_status", values, Fraction(9, 10))
    return db.suppress("adult", [template], class_column=CLASS, into="bench")


SETTINGS = [Setting("PDA", (*CATEGORICAL, CLASS), CHANNEL, suppress)]

if __name__ == "__main__":
    main("suppress", __file__, __doc__, SETTINGS)
