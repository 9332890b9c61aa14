"""The SQL that a search puts together, for the papers' bank customers; see golden.py for how to change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from golden import check_golden, recorded

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import Statement
from ppdm_sql.methods.top_down.generalize import generalize
from ppdm_sql.methods.top_down.request import GeneralizeRequest, RefinementRequest
from ppdm_sql.methods.top_down.suppress import suppress
from ppdm_sql.progress import SilentProgress

GOLDEN = Path(__file__).parent / "golden"
JOBS = {"ANY_Job": {"Blue-collar": ["Carpenter", "Janitor"], "White-collar": ["Banker", "Doctor"]}}
CUSTOMERS = [
    ("M", "Janitor", 30, "Never", "N", 3),
    ("M", "Carpenter", 32, "Discharged", "Y", 4),
    ("F", "Carpenter", 35, "Never", "N", 3),
    ("F", "Doctor", 40, "Current", "Y", 5),
    ("M", "Banker", 42, "Discharged", "Y", 2),
    ("F", "Banker", 44, "Never", "Y", 6),
]
REQUIREMENTS = [
    "Job, Sex -> Bankruptcy = Discharged <= 70%",
    "k >= 2 on Sex, Salary",
    "entropy l >= 1.2 of Bankruptcy on Sex",
    "t <= 0.6 of Bankruptcy on Job",
]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            "CREATE TABLE bank (Sex VARCHAR, Job VARCHAR, Salary INTEGER, "
            "Bankruptcy VARCHAR, Class VARCHAR, n INTEGER)"
        )
        connection.executemany("INSERT INTO bank VALUES (?, ?, ?, ?, ?, ?)", CUSTOMERS)
        yield Engine(connection)


STEPS = (
    "grid",
    "detail",
    "measure_path",
    "path",
    "beside",
    "specializations",
    "texts",
    "labels",
    "cuts",
    "widths",
)


def searched(statements: Sequence[str]) -> list[str]:
    """The statements of a search whose shape depends on the question, the first of each step."""
    found: dict[str, str] = {}
    for text in statements:
        if isinstance(text, Statement) and text.step in STEPS:
            found.setdefault(text.step, text)
    return list(found.values())


def test_suppression(engine: Engine) -> None:
    request = RefinementRequest(into="r", require=REQUIREMENTS, class_column="Class", count_column="n")
    with recorded(engine) as statements:
        suppress(engine, "bank", request, SilentProgress())
    check_golden(GOLDEN / "suppression.sql", searched(statements))


@pytest.mark.parametrize("method", ["tds", "hce-tdr"])
def test_generalization(engine: Engine, method: str) -> None:
    hce = method == "hce-tdr"
    request = GeneralizeRequest(
        into="r",
        require=["k >= 2 on Sex, Job, Salary"] if hce else REQUIREMENTS,
        class_column="Class",
        count_column="n",
        taxonomies={"Job": JOBS},
        method=method,
        condition=["Bankruptcy"] if hce else [],
    )
    with recorded(engine) as statements:
        generalize(engine, "bank", request, SilentProgress())
    check_golden(GOLDEN / f"{method}.sql", searched(statements))
