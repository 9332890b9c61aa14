from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
spark_figures = pytest.importorskip("spark_figures")

SMALL = spark_figures.SparkFigure(
    columns=8,
    asked=1_000_000,
    vary=1,
    threads=2,
    records=1_000_000,
    combinations=100_000,
    handed_mb=0.5,
    collapse=4.0,
    search=1.0,
    write=2.0,
    read_back=1.0,
    whole=8.0,
    peak_mb=300.0,
    embedded=1.0,
    embedded_mb=200.0,
)
LARGE = dataclasses.replace(
    SMALL, asked=10_000_000, records=10_000_000, combinations=400_000, collapse=13.0, write=20.0, search=3.0
)


def test_the_tables_of_the_page_are_those_of_the_measured_figures() -> None:
    text = spark_figures.DOCS.read_text(encoding="utf-8")
    assert spark_figures.with_tables(text, spark_figures.kept()) == text


def test_a_billion_continues_the_line_of_the_smallest_and_the_largest() -> None:
    (growth,) = spark_figures.growths([LARGE, SMALL])
    assert growth.core_seconds("collapse") == pytest.approx(2e-6)  # 9 s more on 2 cores for 9 million more
    assert growth.core_seconds("write") == pytest.approx(4e-6)
    assert growth.growth_cells()[-1] == "4.0 times as many"
    # 400 thousand four times for each of two tenfolds; 2 and 4 thousand core seconds on 64 cores that work
    assert growth.paper_cells() == ["8 columns", "6 million", "31 s", "48 s", "62 s", "0 s", "2 min"]


def test_one_size_alone_tells_no_growth() -> None:
    assert spark_figures.growths([LARGE]) == []


def test_a_new_figure_takes_the_place_of_the_one_that_measured_the_same(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    for figure in (LARGE, SMALL, dataclasses.replace(SMALL, collapse=3.0)):
        spark_figures.keep(figure, file)
    assert spark_figures.kept(file) == [dataclasses.replace(SMALL, collapse=3.0), LARGE]
