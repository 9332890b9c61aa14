"""The demo: the papers' tables, and the methods run on them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm
from report_pages import open_examples, release

from ppdm_sql.cli.demo import write_pages


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "papers"
    result = ppdm("demo", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    return folder / "demo.duckdb", result.stdout


def test_demo_writes_the_tables_of_the_papers(demo: tuple[Path, str]) -> None:
    file, _ = demo
    assert execute(file, "SELECT sum(n) FROM customers") == [(24,)]
    assert execute(file, "SELECT sum(n) FROM employees") == [(34,)]
    assert execute(file, "SELECT count(*) FROM policies") == [(16,)]


def test_demo_writes_a_page_of_each_release_and_says_where(demo: tuple[Path, str]) -> None:
    pytest.importorskip("vl_convert")
    file, printed = demo
    releases = [name for (name,) in execute(file, "SELECT release FROM ppdm.releases")]
    assert len(releases) >= 5
    for name in releases:
        page = file.with_name("pages") / f"{name}.html"
        assert f"<h1>{name}</h1>" in page.read_text(encoding="utf-8")
        assert f"ppdm report {file} {name} {page}" in printed


def test_demo_without_the_extra_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with open_examples() as db:
        release(db, "PDA")
        write_pages(db, tmp_path / "demo.duckdb", force=False)
    assert "pip install 'ppdm-sql[report]'" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_demo_ends_at_table_2_of_the_paper(demo: tuple[Path, str]) -> None:
    file, printed = demo
    rows = execute(file, "SELECT Job, Country, sum(n)::INT FROM customers_safe GROUP BY ALL ORDER BY ALL")
    assert rows == [("*", "*", 10), ("Artist", "France", 4), ("Cook", "US", 4), ("Doctor", "US", 6)]
    for title in ("customers", "customers_safe", "steps", "measures"):
        assert f"\n{title}\n" in printed


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


def test_demo_prints_sql_that_runs(demo: tuple[Path, str]) -> None:
    file, printed = demo
    _, *statements = printed.split("\n  D ")
    assert len(statements) >= 4
    for statement in statements:
        assert execute(file, statement)


def test_demo_file_opens_in_old_clients(demo: tuple[Path, str]) -> None:
    file, _ = demo
    ((tags,),) = execute(file, "SELECT tags FROM duckdb_databases() WHERE database_name = 'demo'")
    assert "v1.0.0" in str(tags)


def test_demo_replaces_a_file_only_with_force(demo: tuple[Path, str]) -> None:
    file, _ = demo
    refused = ppdm("demo", file.parent)
    assert_explained(refused, code=2, problem="--force")
    assert ppdm("demo", file.parent, "--force").exit_code == 0


@pytest.mark.filterwarnings("error::ppdm_sql.PpdmWarning")
def test_demo_prints_no_warning_of_python(tmp_path: Path) -> None:
    assert ppdm("demo", tmp_path / "papers").exit_code == 0
