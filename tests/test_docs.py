"""The pages of docs/ run: every method has one, and its commands print what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import ppdm
from pages import ROOT, blocks, matches, play

PAGES = sorted((ROOT / "docs").glob("*.md"))
ON_SPARK = ROOT / "docs" / "spark.md"
"""Played by the test that has a Connect server."""
PLAYED = [page for page in PAGES if page != ON_SPARK and blocks(page.read_text(encoding="utf-8"), "console")]
FILES = re.compile(r"^`([a-z]+\.(csv|toml))`:\n\n```\2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
METHODS = {"suppression", "generalization", "two-parties", "swapping", "perturbation", "decision-trees"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert ppdm("demo", str(folder)).exit_code == 0
    return folder / "demo.duckdb"


@pytest.mark.parametrize("page", PLAYED, ids=lambda page: page.stem)
def test_a_page_prints_what_it_says(page: Path, demo: Path, tmp_path: Path) -> None:
    for name in ("demo.duckdb", "visits.csv"):
        (tmp_path / name).write_bytes(demo.with_name(name).read_bytes())
    text = page.read_text(encoding="utf-8")
    for name, _, content in FILES.findall(text):
        (tmp_path / name).write_text(content)
    for command, expected, printed in play(text, tmp_path):
        assert matches(printed, expected), f"$ {command}{printed}"


@pytest.mark.spark
def test_the_page_on_spark_prints_what_it_says(spark_url: str, tmp_path: Path) -> None:
    text = ON_SPARK.read_text(encoding="utf-8")
    assert "sc://localhost:15002" in text
    for command, expected, printed in play(text.replace("sc://localhost:15002", spark_url), tmp_path):
        assert matches(printed, expected), f"$ {command}{printed}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page.read_text(encoding="utf-8"), "python")],
    ids=lambda page: page.stem,
)
def test_python_on_a_page_runs(
    page: Path, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("demo.duckdb", "visits.csv"):
        (tmp_path / name).write_bytes(demo.with_name(name).read_bytes())
    monkeypatch.chdir(tmp_path)
    for name, _, content in FILES.findall(page.read_text(encoding="utf-8")):
        Path(name).write_text(content)
    for block in blocks(page.read_text(encoding="utf-8"), "python"):
        if "bank.duckdb" not in block:
            exec(compile(block, page.name, "exec"), {})


def test_every_method_has_a_page_with_an_example_that_runs() -> None:
    assert {page.stem for page in PLAYED} >= METHODS


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
