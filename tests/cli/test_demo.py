"""The demo: the papers' tables, and the methods run on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from commands import assert_explained, execute, ppdm

Demo = tuple[Path, Any]


def test_demo_writes_the_tables_of_the_papers_over_those_of_an_earlier_one(demo: Demo) -> None:
    folder, made = demo
    assert (made.exit_code, made.stderr.splitlines()) == (
        0,
        ["For a trial only: whoever made these keys can speak for both parties."],
    )
    sums = "SELECT (SELECT sum(n) FROM customers), (SELECT sum(n) FROM employees), count(*) FROM policies"
    assert execute(folder / "demo.duckdb", sums) == [(24, 34, 16)]
    assert (folder / "two-parties" / "mine.txt").read_text() == "kept"
    assert [file for file in folder.rglob("*.*") if file.read_bytes() == b"stale"] == []


def test_demo_writes_a_page_and_ends_with_its_path(demo: Demo) -> None:
    file, printed = demo[0] / "demo.duckdb", demo[1].stdout
    assert "<h1>customers_safe</h1>" in file.with_name("customers_safe.html").read_text(encoding="utf-8")
    assert printed.splitlines()[-1] == "ppdm-demo/customers_safe.html"


def test_demo_fills_a_screen_a_method(demo: Demo) -> None:
    methods = demo[1].stdout.split("\n\n# ")
    assert len(methods) == 9
    assert max(len(method.splitlines()) for method in methods) <= 46


def test_demo_ends_at_table_2_of_the_paper(demo: Demo) -> None:
    file = demo[0] / "demo.duckdb"
    rows = execute(file, "SELECT Job, Country, sum(n)::INT FROM customers_safe GROUP BY ALL ORDER BY ALL")
    assert rows == [("*", "*", 10), ("Artist", "France", 4), ("Cook", "US", 4), ("Doctor", "US", 6)]


def test_demo_classifies_true_people_by_a_tree_from_noisy_ones(demo: Demo) -> None:
    file, printed = demo[0] / "demo.duckdb", demo[1].stdout
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


def test_demo_integrates_the_employees_in_two_processes(demo: Demo) -> None:
    file, printed = demo[0] / "demo.duckdb", demo[1].stdout
    assert "false" not in printed
    bank, card = (file.parent / "two-parties" / f"{name}.duckdb" for name in ("bank", "card-company"))
    assert execute(bank, "FROM integrated") == execute(card, "FROM integrated")
    assert execute(bank, "SELECT DISTINCT Job FROM integrated ORDER BY Job") == [
        ("Carpenter",), ("Non-Technical",), ("Technician",), ("White-collar",),
    ]  # fmt: skip
    columns = "SELECT column_name FROM duckdb_columns() WHERE table_name = 'people' ORDER BY column_index"
    assert execute(bank, columns) == [("SSN",), ("Sex",), ("Class",)]
    assert execute(card, columns) == [("SSN",), ("Job",), ("Salary",), ("Class",)]


def test_demo_prints_sql_that_runs(demo: Demo) -> None:
    file, printed = demo[0] / "demo.duckdb", demo[1].stdout
    (block,) = re.findall(r"^# In any DuckDB client .*\n\n((?:.+\n)+)", printed, re.MULTILINE)
    assert block.count(";") >= 4
    for statement in block.removesuffix("\n").removesuffix(";").split(";\n"):
        assert execute(file, statement)


def test_demo_file_opens_in_old_clients(demo: Demo) -> None:
    file = demo[0] / "demo.duckdb"
    ((tags,),) = execute(file, "SELECT tags FROM duckdb_databases() WHERE database_name = 'demo'")
    assert "v1.0.0" in str(tags)


def test_demo_replaces_a_file_only_with_force(demo: Demo) -> None:
    file = demo[0] / "demo.duckdb"
    before = file.read_bytes()
    assert_explained(ppdm("demo", file.parent), code=2, problem="--force")
    assert file.read_bytes() == before
