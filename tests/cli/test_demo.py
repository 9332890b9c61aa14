"""The demo: the papers' tables, and the methods run on them."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm

import ppdm_sql

STALE = (
    *("demo.duckdb", "jobs.csv", "visits.csv", "customers_safe.html"),
    *("two-parties/bank.duckdb", "two-parties/card-company.duckdb", "two-parties/bank.key"),
)
KEYS = "For a trial only: who made these keys can speak for both parties."


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demo over the files of an earlier one, with a file of somebody's own beside them."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "two-parties").mkdir()
    for name in STALE:
        (folder / name).write_text("stale")
    (folder / "two-parties" / "mine.txt").write_text("kept")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ppdm_sql.PpdmWarning)
        result = ppdm("demo", folder, "--force")
    assert (result.exit_code, result.stderr.splitlines()) == (0, [KEYS])
    return folder / "demo.duckdb", result.stdout


def test_demo_writes_the_tables_of_the_papers(demo: tuple[Path, str]) -> None:
    file, _ = demo
    assert execute(file, "SELECT sum(n) FROM customers") == [(24,)]
    assert execute(file, "SELECT sum(n) FROM employees") == [(34,)]
    assert execute(file, "SELECT count(*) FROM policies") == [(16,)]


def test_demo_writes_a_page_and_ends_with_its_path(demo: tuple[Path, str]) -> None:
    file, printed = demo
    page = file.with_name("customers_safe.html")
    assert "<h1>customers_safe</h1>" in page.read_text(encoding="utf-8")
    assert printed.splitlines()[-1] == str(page)


def test_demo_fills_a_screen_a_method(demo: tuple[Path, str]) -> None:
    _, printed = demo
    methods = printed.split("\n\n# ")
    assert len(methods) == 9
    assert max(len(method.splitlines()) for method in methods) <= 46


def test_demo_without_the_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    result = ppdm("demo", tmp_path / "papers")
    assert result.exit_code == 2
    assert "pip install 'ppdm-sql[report]'" in result.stderr


def test_demo_ends_at_table_2_of_the_paper(demo: tuple[Path, str]) -> None:
    file, _ = demo
    rows = execute(file, "SELECT Job, Country, sum(n)::INT FROM customers_safe GROUP BY ALL ORDER BY ALL")
    assert rows == [("*", "*", 10), ("Artist", "France", 4), ("Cook", "US", 4), ("Doctor", "US", 6)]


def test_demo_classifies_true_people_by_a_tree_from_noisy_ones(demo: tuple[Path, str]) -> None:
    file, printed = demo
    found = {}
    for mode in ("original", "randomized", "byclass"):
        ((used,),) = execute(
            file, f"SELECT parameters FROM duckdb_functions() WHERE function_name = 'people_{mode}_predict'"
        )
        call = f"people_{mode}_predict({', '.join(used)})"
        ((found[mode],),) = execute(file, f"SELECT avg(({call} = class)::INTEGER) FROM people_test")
        assert f" {found[mode]:.6g}\n" in printed
    assert found["original"] > 0.98
    assert found["byclass"] > 0.95
    assert found["randomized"] < 0.7
    middle = "class = 'Group A' AND {} >= 40 AND {} <= 60"
    ((noisy,),) = execute(file, f"SELECT count(*) FROM people_noisy WHERE {middle.format('age', 'age')}")
    ((reconstructed,),) = execute(
        file, f"SELECT sum(records) FROM people_ages WHERE {middle.format('lower', 'upper')}"
    )
    assert reconstructed < 0.6 * noisy


def test_demo_integrates_the_employees_in_two_processes(demo: tuple[Path, str]) -> None:
    file, printed = demo
    assert "false" not in printed
    bank, card = (file.parent / "two-parties" / f"{name}.duckdb" for name in ("bank", "card-company"))
    assert execute(bank, "FROM integrated") == execute(card, "FROM integrated")
    assert execute(bank, "SELECT DISTINCT Job FROM integrated ORDER BY Job") == [
        ("Carpenter",), ("Non-Technical",), ("Technician",), ("White-collar",),
    ]  # fmt: skip
    columns = "SELECT column_name FROM duckdb_columns() WHERE table_name = 'people' ORDER BY column_index"
    assert execute(bank, columns) == [("SSN",), ("Sex",), ("Class",)]
    assert execute(card, columns) == [("SSN",), ("Job",), ("Salary",), ("Class",)]


def test_demo_prints_sql_that_runs(demo: tuple[Path, str]) -> None:
    file, printed = demo
    (block,) = re.findall(r"^# In any DuckDB client .*\n\n((?:.+\n)+)", printed, re.MULTILINE)
    assert block.count(";") >= 4
    for statement in block.removesuffix("\n").removesuffix(";").split(";\n"):
        assert execute(file, statement)


def test_demo_file_opens_in_old_clients(demo: tuple[Path, str]) -> None:
    file, _ = demo
    ((tags,),) = execute(file, "SELECT tags FROM duckdb_databases() WHERE database_name = 'demo'")
    assert "v1.0.0" in str(tags)


def test_demo_replaces_a_file_only_with_force(demo: tuple[Path, str]) -> None:
    file, _ = demo
    before = file.read_bytes()
    assert_explained(ppdm("demo", file.parent), code=2, problem="--force")
    assert file.read_bytes() == before
    assert (file.parent / "two-parties" / "mine.txt").read_text() == "kept"
    assert [name for name in STALE if (file.parent / name).read_bytes() == b"stale"] == []
