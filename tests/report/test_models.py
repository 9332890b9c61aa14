"""The page of a trained model: its tree drawn and listed, what it gets right, and nothing for others."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import ppdm
from report_pages import QUIET

import ppdm_sql


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("models") / "people.duckdb"
    with ppdm_sql.open(found, create=True) as db:
        db.generate_agrawal("people", function=2, rows=3000, seed=1)
        db.train("people", class_column="class", mode="original", into="ages", test="people", **QUIET)
    return found


def test_a_page_shows_every_branch_and_what_is_right(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "ages.html"
    done = ppdm("report", str(file), "ages", str(page))
    assert done.exit_code == 0, done.output
    assert "for the owner only" in done.stderr
    text = page.read_text(encoding="utf-8")
    with ppdm_sql.open(file) as db:
        tree, row = db.model("ages").tree(), db.model("ages").row()
    branches = text.partition('id="branches"')[2].partition("</section>")[0]
    assert branches.count("<li>") == len(tree.nodes)
    assert branches.count('class="shown"') == len(tree.leaves)
    assert row.confusion is not None
    right = text.partition('id="right"')[2]
    assert all(f"{number:,}</td>" in right for counts in row.confusion for number in counts)
    assert text.count("<svg") == 2


@pytest.mark.parametrize("option", ["--public", "--evaluate"])
def test_what_only_a_release_can_be_asked_is_refused(file: Path, tmp_path: Path, option: str) -> None:
    done = ppdm("report", str(file), "ages", str(tmp_path / "x.html"), option)
    assert done.exit_code == 2
    assert f"Leave {option} out" in " ".join(done.stderr.split())
    assert not (tmp_path / "x.html").exists()


def test_a_tree_of_one_leaf_has_a_page(tmp_path: Path) -> None:
    db = ppdm_sql.open(":memory:")
    db.engine.connection.execute("CREATE TABLE t AS SELECT i % 7 AS a, true AS good FROM range(50) r (i)")
    model = db.train("t", class_column="good", mode="original", into="sure", **QUIET)
    model.report(tmp_path / "sure.html")
    assert "always the same class" in (tmp_path / "sure.html").read_text(encoding="utf-8")
