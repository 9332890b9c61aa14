"""The README runs: its commands print what it says, its SQL and Python work."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pages import ROOT, Played, blocks, matches, play

README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES_ALLOWED, FIRST_OUTPUT_WITHIN = 120, 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def played(folder: Path) -> list[Played]:
    return play(README, folder)


def test_console_blocks_print_what_the_readme_says(played: list[Played]) -> None:
    assert len(played) >= 4
    for command, expected, printed in played:
        assert matches(printed, expected), f"$ {command}{printed}"


@pytest.mark.usefixtures("played")
def test_sql_blocks_run_on_the_demo(folder: Path) -> None:
    with duckdb.connect(str(folder / "ppdm-demo" / "demo.duckdb"), read_only=True) as connection:
        for block in blocks(README, "sql"):
            for statement in connection.extract_statements(block):
                assert connection.execute(statement).fetchall()


@pytest.mark.usefixtures("played")
def test_python_blocks_run_on_the_demo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for block in blocks(README, "python"):
        exec(compile(block, "README.md", "exec"), {})
    assert blocks(README, "python")


def test_the_readme_is_short_and_shows_output_early() -> None:
    assert len(README.splitlines()) <= LINES_ALLOWED
    before, _, _ = README.partition(blocks(README, "console")[0])
    assert before.count("\n") + 5 <= FIRST_OUTPUT_WITHIN
