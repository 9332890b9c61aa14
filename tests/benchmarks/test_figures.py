from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
figures = pytest.importorskip("figures")

ONE = figures.Figure(
    "swap", "income", 45_222, 1, 0.1, 0.6, 0.65, 6.01, 6.5, peak_mb=1234.4, date="2026-01-01"
)
OTHER = dataclasses.replace(ONE, threads=2, steps=7)


def test_the_tables_of_the_docs_are_those_of_the_measured_figures() -> None:
    text = figures.DOCS.read_text(encoding="utf-8")
    assert figures.with_tables(text, figures.kept()) == text


def test_every_measured_table_stands_in_the_docs() -> None:
    pages = [figures.DOCS, figures.DOCS.with_name("spark.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    named = {found["table"] for text in texts for found in figures.TABLE.finditer(text)}
    derived = {"spark-growth", "spark-billion", "limits"}
    assert {figure.table for figure in figures.kept()} == named - derived


def test_a_new_figure_takes_the_place_of_the_one_that_measured_the_same(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    figures.keep([OTHER, ONE], file)
    again = dataclasses.replace(ONE, run_cpu=0.5)
    figures.keep([again], file)
    assert figures.kept(file) == [again, OTHER]


def test_a_table_shows_its_own_figures_and_no_column_of_which_nothing_is_known() -> None:
    elsewhere = dataclasses.replace(ONE, table="audit", setting="risk")
    written = figures.table("swap", [ONE, OTHER, elsewhere])
    assert "| 45,222 | 1 | 0.100 | 0.600 | 6.01 | 6.50 |  | 1,234 |" in written
    assert "steps" in written
    assert "risk" not in written
    assert "release before" not in written


def test_a_row_has_columns_of_its_own_and_stands_where_it_was_first(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    rows = [figures.Row("startup", {"command": name}, {"CPU, s": 0.5, "steps": 1200}) for name in "ba"]
    figures.keep([ONE, *rows], file)
    again = dataclasses.replace(rows[0], cells={"CPU, s": 1.25, "note": "none"}, before={"CPU, s": 2.0})
    figures.keep([again], file)
    assert figures.kept(file) == [ONE, again, rows[1]]
    assert figures.rows("startup", file) == [again, rows[1]]
    assert figures.table("startup", figures.kept(file)).splitlines()[:4] == [
        "| command | CPU, s, before | CPU, s | note | steps |",
        "| --- | --- | --- | --- | --- |",
        "| b | 2.0 | 1.25 | none |  |",
        "| a |  | 0.50 |  | 1,200 |",
    ]


def test_rows_measured_on_one_day_say_it_once_and_others_each(tmp_path: Path) -> None:
    one = figures.Row("startup", {"command": "help"}, {"steps": 1}, date="2026-01-01", revision="abc")
    other = dataclasses.replace(one, of={"command": "audit"}, date="2026-01-02")
    assert figures.table("startup", [one]).endswith("| help | 1 |\n\nMeasured 2026-01-01, abc.\n")
    assert "| audit | 1 | 2026-01-02, abc |\n" in figures.table("startup", [one, other])


def test_limits_stand_beside_what_one_thread_took() -> None:
    parties = figures.Row("integrate", {"records": 1_000_000, "k": 10}, {"ratio, wall": 1.75})
    written = figures.limits([ONE, dataclasses.replace(OTHER, ratio_cpu=9.9), parties])
    assert "| swap: income | 6.01 | 4 |  | 1.8 |  | 1.5 |\n" in written
    assert "| integrate: two parties k=10, wall time |  | 1.6 | 1.75 | 1.4 |  |  |\n" in written
    assert "9.9" not in written


def test_a_run_that_did_not_end_has_no_ratios_and_says_why(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    stopped = dataclasses.replace(ONE, ratio_cpu=None, ratio_wall=None, ended="stopped after 8 minutes")
    figures.keep([stopped], file)
    assert figures.kept(file) == [stopped]
    assert "| 1,234 | stopped after 8 minutes |" in figures.table("swap", [stopped])


def test_only_what_stands_between_the_comments_is_replaced() -> None:
    text = "before\n<!-- figures: swap -->\nold\n<!-- end of figures -->\nbehind\n"
    written = figures.with_tables(text, [ONE])
    assert written.startswith("before\n<!-- figures: swap -->\n| setting |")
    assert written.endswith("|\n<!-- end of figures -->\nbehind\n")
    assert "old" not in written


def test_a_revision_is_empty_where_there_is_no_checkout(tmp_path: Path) -> None:
    assert figures.revision(tmp_path) == ""
