"""What utility.py measures, on tables that are counted by hand, and its reference search."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppdm_sql as ppdm

pytest.importorskip("sklearn")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import reference_search  # noqa: E402
import utility  # noqa: E402

TABLE = utility.Table("small", "", ("a", "b"), "class")
QUARTERS = "(i % 40 < 20)::VARCHAR"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Two columns, of which ``a`` tells the class; one value of ``b`` is rare."""
    with duckdb.connect() as made:
        made.execute(
            "CREATE TABLE records AS SELECT i % 40 AS a, if(i = 7, 'rare', 'often') AS b, "
            f"{QUARTERS} AS class FROM range(200) AS r(i)"
        )
        made.execute("CREATE TABLE train AS FROM records")
        made.execute("CREATE TABLE test AS FROM records WHERE a % 3 = 0")
        yield made


def published(con: duckdb.DuckDBPyConnection, k: int, share: float = 0, **options: object) -> ppdm.Database:
    db = ppdm.open(con)
    require = [ppdm.KAnonymity(k, ("a", "b"))]
    more = {"suppress_records": share} if share else {}
    db.generalize("train", require, class_column="class", into="r", **more, **options)
    return db


def test_what_shows_nothing_keeps_no_detail_and_is_told_the_frequent_class(
    con: duckdb.DuckDBPyConnection,
) -> None:
    worth = utility.released(con, published(con, 200), TABLE.columns, 1.5)
    half = 100 * con.execute("SELECT avg((class = 'true')::INTEGER) FROM test").fetchall()[0][0]
    assert worth.error in (pytest.approx(half), pytest.approx(100 - half))
    assert worth[1:] == (0.5, 0, 0, 0, 1.5)


def test_a_release_that_tells_the_class_predicts_as_the_source_does(con: duckdb.DuckDBPyConnection) -> None:
    source = utility.tree(*utility.samples(con, TABLE.columns, "train", "test"))
    worth = utility.released(con, published(con, 50), TABLE.columns, 0)
    assert source == (worth.error, worth.auc) == (0, 1)
    (loss,) = con.execute(
        "SELECT after FROM ppdm.measures WHERE measure = 'generalized information loss'"
    ).fetchall()[0]
    assert worth.detail == pytest.approx(1 - loss)
    assert (worth.shows, worth.left_out) == (0.5, 0)


def test_records_that_are_left_out_keep_no_detail(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE train SET b = 'odd', class = 'true' WHERE a < 2")
    worth = utility.released(con, published(con, 5, share=0.05, suppress=["a", "b"]), TABLE.columns, 0)
    (kept,) = con.execute("SELECT count(*) FROM r").fetchall()[0]
    shown = "avg((a::VARCHAR <> '*')::INTEGER + (b <> '*')::INTEGER) / 2"
    ((cells,),) = con.execute(f"SELECT {shown} FROM r").fetchall()
    assert kept < 200
    assert worth.left_out == pytest.approx(100 * (1 - kept / 200))
    assert worth.detail == pytest.approx(cells * kept / 200)


def test_labels_of_numbers_and_intervals_are_places_in_their_order() -> None:
    labels = ["[10, 20)", "[9, 10)", "*", None, "[1e+20, 2e+20]", "9", "-3.5", "man"]
    assert utility.encoded(labels) == [3, 2, -1, 0, 4, 2, 1, -2]


def test_wider_intervals_contain_whole_narrower_ones() -> None:
    values = [(number / 10, str(number / 10)) for number in range(-70, 131)]
    rows = list(utility.paths(values))
    for level in (1, 2):
        above = {
            row[level]: {other[level + 1] for other in rows if other[level] == row[level]} for row in rows
        }
        assert all(len(found) == 1 for found in above.values())
    assert {len(row) for row in rows} == {5}
    assert 8 <= len({row[1] for row in rows}) <= utility.WIDTHS + 1
    assert all(
        float(row[1][1:].split(",")[0]) <= float(row[0]) < float(row[1][:-1].split(",")[1]) for row in rows
    )


@pytest.mark.parametrize("kind", ["grown", "taxonomies"])
@pytest.mark.parametrize("share", [0, 0.05])
def test_the_search_measures_a_release_as_it_measures_itself_and_ends_no_worse(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str, share: float
) -> None:
    files = utility.hierarchies(con, TABLE, tmp_path, kind)
    db = published(con, 6, share, taxonomies=files)
    own = utility.released(con, db, TABLE.columns, 0)
    starts = [utility.labels(con)]
    recoding = db.release("r").row().parameters["recoding"]
    problem = reference_search.Problem.read(con, files, recoding)
    cuts = zip(problem.columns, problem.started(starts[0]), strict=True)
    same = [column.parts(cut) for column, cut in cuts]
    worth, valid = problem.worth(same, 6, share)
    assert valid
    assert problem.measured(same, 6) == pytest.approx((own.detail, own.shows, own.left_out))
    assert utility.tree(*problem.samples(same, 6)) == pytest.approx((own.error, own.auc))
    found, best = reference_search.search(problem, 6, share, 0.3, 0, starts)
    assert found == problem.worth(best, 6, share)[0] >= worth
    assert problem.measured(best, 6)[2] <= 100 * share


@pytest.mark.parametrize("table", utility.TABLES, ids=lambda table: table.name)
def test_every_table_has_its_columns_and_two_classes(table: utility.Table) -> None:
    try:
        with utility.opened(table, 0) as con:
            listed = ", ".join(table.columns)
            sizes = con.execute(
                f"SELECT class, count({listed.split(', ')[0]}) FROM test GROUP BY 1"
            ).fetchall()
            con.execute(f"SELECT {listed} FROM train LIMIT 1")
    except utility.Absent as missing:
        pytest.skip(str(missing))
    assert len(sizes) == 2
    assert sum(size for _, size in sizes) > 100
