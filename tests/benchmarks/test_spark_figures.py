from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
spark_figures = pytest.importorskip("spark_figures")
figures = pytest.importorskip("figures")


def measured(records: int, **seconds: float) -> Any:
    cells = {"collapse, s": 4.0, "search, s": 1.0, "write, s": 2.0, "read back, s": 1.0, "whole, s": 8.0}
    cells |= {f"{phase}, s": took for phase, took in seconds.items()}
    return figures.Row("spark", {"columns": 8, "records": records, "threads": 2}, cells)


SMALL, LARGE = measured(1_000_000), measured(10_000_000, collapse=13.0, write=20.0, search=3.0)
SMALL = replace(SMALL, cells={**SMALL.cells, "combinations": 100_000})
LARGE = replace(LARGE, cells={**LARGE.cells, "combinations": 400_000})


def test_the_tables_of_the_page_are_those_of_the_measured_figures() -> None:
    text = spark_figures.DOCS.read_text(encoding="utf-8")
    assert spark_figures.with_tables(text, figures.rows("spark")) == text


def test_a_billion_continues_the_line_of_the_smallest_and_the_largest() -> None:
    (growth,) = spark_figures.growths([LARGE, SMALL])
    assert growth.core_seconds("collapse") == pytest.approx(2e-6)  # 9 s more on 2 cores for 9 million more
    assert growth.core_seconds("write") == pytest.approx(4e-6)
    assert growth.growth_cells()[-1] == "4.0 times as many"
    # 400 thousand four times for each of two tenfolds; 2 and 4 thousand core seconds on 64 cores that work
    assert growth.paper_cells() == ["8", "6 million", "31 s", "48 s", "62 s", "0 s", "2 min"]


def test_one_size_alone_tells_no_growth() -> None:
    assert spark_figures.growths([LARGE]) == []
