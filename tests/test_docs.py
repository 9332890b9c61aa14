"""The README and the pages of docs/ run: what they show is what their commands print."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pages import ROOT, Played, blocks, matches, play

README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES_ALLOWED, FIRST_OUTPUT_WITHIN = 120, 30
PAGES = {file.stem: file.read_text(encoding="utf-8") for file in sorted((ROOT / "docs").glob("*.md"))}
PLAYED = [name for name, page in PAGES.items() if name != "spark" and blocks(page, "console")]
"""All pages with commands but the one that needs a Connect server."""
FILES = re.compile(r"^`([a-z]+\.(csv|toml))`:\n\n```\2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
METHODS = {"suppression", "generalization", "two-parties", "swapping", "perturbation", "decision-trees"}


def assert_printed(played: list[Played]) -> None:
    for command, expected, printed in played:
        assert matches(printed, expected), f"$ {command}{printed}"


@pytest.fixture
def folder(demo: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's tables."""
    for name in ("demo.duckdb", "visits.csv"):
        shutil.copy(demo[0] / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PLAYED)
def test_a_page_prints_what_it_says(name: str, folder: Path) -> None:
    for file, _, content in FILES.findall(PAGES[name]):
        (folder / file).write_text(content)
    assert_printed(play(PAGES[name], folder))


@pytest.mark.spark
def test_the_page_on_spark_prints_what_it_says(spark_url: str, tmp_path: Path) -> None:
    assert "sc://localhost:15002" in PAGES["spark"]
    assert_printed(play(PAGES["spark"].replace("sc://localhost:15002", spark_url), tmp_path))


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if blocks(page, "python")])
def test_python_on_a_page_runs(name: str, folder: Path) -> None:
    for file, _, content in FILES.findall(PAGES[name]):
        (folder / file).write_text(content)
    for block in blocks(PAGES[name], "python"):
        if "bank.duckdb" not in block:
            exec(compile(block, name, "exec"), {})


def test_every_method_has_a_page_with_an_example_that_runs() -> None:
    assert set(PLAYED) >= METHODS


@pytest.mark.parametrize("page", [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"], ids=lambda p: p.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


# -- the README --------------------------------------------------------------------------------


def test_the_commands_sql_and_python_of_the_readme_run(
    demo: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(demo[0], tmp_path / demo[0].name)
    (command, expected, _), *played = play(README, tmp_path, {"make demo\n": demo[1].output})
    assert command == "make demo\n"
    assert_printed([Played(command, expected, demo[1].output), *played])
    assert len(played) >= 3
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(tmp_path / "ppdm-demo" / "demo.duckdb"), read_only=True) as connection:
        for block in blocks(README, "sql"):
            for statement in connection.extract_statements(block):
                assert connection.execute(statement).fetchall()
    assert blocks(README, "python")
    for block in blocks(README, "python"):
        exec(compile(block, "README.md", "exec"), {})


def test_the_readme_is_short_and_shows_output_early() -> None:
    assert len(README.splitlines()) <= LINES_ALLOWED
    before, _, _ = README.partition(blocks(README, "console")[0])
    assert before.count("\n") + 5 <= FIRST_OUTPUT_WITHIN
