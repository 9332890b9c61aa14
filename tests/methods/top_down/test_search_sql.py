"""The four statements of a search, for the papers' bank customers; see golden.py for how to change them."""

from __future__ import annotations

from pathlib import Path

import duckdb
from golden import check_golden, recorded

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import Statement
from ppdm_sql.methods.top_down.generalize import generalize
from ppdm_sql.methods.top_down.request import GeneralizeRequest
from ppdm_sql.progress import SilentProgress

GOLDEN = Path(__file__).parent / "golden" / "search.sql"
JOBS = {"ANY_Job": {"Blue-collar": ["Carpenter", "Janitor"], "White-collar": ["Banker", "Doctor"]}}
CUSTOMERS = [
    ("M", "Janitor", 30, "Never", "N", 3),
    ("M", "Carpenter", 32, "Discharged", "Y", 4),
    ("F", "Carpenter", 35, "Never", "N", 3),
    ("F", "Doctor", 40, "Current", "Y", 5),
    ("M", "Banker", 42, "Discharged", "Y", 2),
    ("F", "Banker", 44, "Never", "Y", 6),
]
STATEMENTS = ("state", "after", "path", "boundaries")


def test_a_search_reads_the_table_of_counts_by_four_statements() -> None:
    """Jobs have a taxonomy, salaries grow intervals, and Sex is suppressed."""
    found: dict[str, str] = {}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            "CREATE TABLE bank (Sex VARCHAR, Job VARCHAR, Salary INTEGER, "
            "Bankruptcy VARCHAR, Class VARCHAR, n INTEGER)"
        )
        connection.executemany("INSERT INTO bank VALUES (?, ?, ?, ?, ?, ?)", CUSTOMERS)
        engine = Engine(connection)
        request = GeneralizeRequest(
            into="r",
            require=["Sex, Job, Salary -> Bankruptcy = Discharged <= 50%"],
            class_column="Class",
            count_column="n",
            taxonomies={"Job": JOBS},
        )
        with recorded(engine) as statements:
            generalize(engine, "bank", request, SilentProgress())
    for text in statements:
        if isinstance(text, Statement) and text.step in STATEMENTS:
            found.setdefault(text.step, text)
    assert set(found) == set(STATEMENTS)
    check_golden(GOLDEN, [found[step] for step in STATEMENTS])
