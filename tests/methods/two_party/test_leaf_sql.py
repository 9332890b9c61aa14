"""The SQL by which a party measures the leaves of its records; see golden.py for how to change it."""

from __future__ import annotations

from pathlib import Path

from golden import check_golden

from ppdm_sql.engine.names import Table
from ppdm_sql.methods.two_party import leaf_partition as leaves

GOLDEN = Path(__file__).parent / "golden" / "leaves.sql"
COUNTS = ["count(*) AS n", "count(*) FILTER (c3 = 1) AS p0"]


def test_the_statements_over_leaves() -> None:
    """Job is c0, and those who were discharged are code 1 of c3."""
    tables = Table("leaves"), Table("records")
    statements = [
        leaves.split_sql(*tables, "$child[c0 + 1]", 2, 80),
        leaves.leaves_sql(*tables, ", ".join(COUNTS), ["max(p0 / nullif(n, 0))"]),
    ]
    check_golden(GOLDEN, statements)
