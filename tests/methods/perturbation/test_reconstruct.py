"""Reconstruction through the Python interface: what is counted, written, told, and refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle_perturbation as oracle
import pytest
from filling import quote
from hypothesis import given
from hypothesis import strategies as st
from swap_releases import Heard

import ppdm_sql
import ppdm_sql.methods.perturbation.reconstruct as distributions
from ppdm_sql.engine import Engine
from ppdm_sql.errors import (
    ColumnRoleError,
    InvalidOption,
    InvalidSource,
    PpdmError,
    UnknownColumn,
    UnknownTable,
)
from ppdm_sql.methods.perturbation.histograms import histograms
from ppdm_sql.methods.perturbation.noise import Domain, Gaussian, Uniform
from ppdm_sql.methods.perturbation.reconstruct import Reconstruction
from ppdm_sql.methods.perturbation.reconstruction import Grid, grid_for, observed_grid

HOSTILE = ['a "ß✓"', "it's", '"; DROP TABLE t; --', "select", "a.b", "value", "records", "class", "c0"]
PAY = {"noise": {"pay": "uniform 30"}, "ranges": {"pay": (0, 100)}}
COUNT = 4000


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """4,000 people: pay is 0 to 100 and noisy by 30, age 20 to 49 and noisy by 6, job is kept at 70 %."""
    with duckdb.connect() as opened:
        draws = np.random.default_rng(7)
        pay = 100 * draws.beta(2, 4, COUNT) + draws.uniform(-30, 30, COUNT)
        age = np.rint(20 + 29 * draws.beta(2, 2, COUNT) + draws.normal(0, 6, COUNT)).astype(int)
        job = np.where(
            draws.random(COUNT) < 0.7,
            draws.choice(4, COUNT, p=[0.6, 0.3, 0.1, 0]),
            draws.integers(0, 4, COUNT),
        )
        good = pay + draws.normal(0, 20, COUNT) > 35
        answers = {"pay": pay, "age": age, "job": job, "good": good}
        opened.register("answers", {name: np.ascontiguousarray(found) for name, found in answers.items()})
        opened.execute(
            "CREATE TABLE t AS SELECT pay, age::INTEGER AS age, 'job ' || job AS job, good FROM answers"
        )
        opened.unregister("answers")
        yield opened


def reconstruct(con: duckdb.DuckDBPyConnection, table: str = "t", **options: Any) -> Reconstruction:
    chosen = {"into": "d", "columns": "pay"} | PAY | options
    return ppdm_sql.open(con).reconstruct(table, **chosen)


def rows(con: duckdb.DuckDBPyConnection, what: str = "* FROM d") -> list[Any]:
    return con.execute(f"SELECT {what}").fetchall()


def objects(con: duckdb.DuckDBPyConnection) -> list[Any]:
    query = "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() "
    return con.execute(query + "WHERE NOT internal ORDER BY 1").fetchall()


# -- what is found and written ------------------------------------------------------------------


def test_the_table_holds_what_the_oracle_finds(con: duckdb.DuckDBPyConnection) -> None:
    found = reconstruct(con, intervals=20)
    values = np.array([pay for (pay,) in rows(con, "pay FROM t")])
    counts = oracle.histogram(values, -35.0, 5.0, 34)
    edges, noisy = np.linspace(0, 100, 21), np.linspace(-35, 135, 35)
    steps = oracle.reconstructed(counts.tolist(), oracle.transition("uniform", 30.0, edges, noisy, "cell"))
    lower, upper, probability, records = zip(*rows(con), strict=True)
    assert list(lower) == edges[:-1].tolist() and list(upper) == edges[1:].tolist()
    assert np.abs(np.array(probability) - steps[-1]).max() < 1e-9
    assert np.allclose(records, COUNT * np.array(steps[-1]))
    (each,) = found.distributions
    assert (each.iterations, each.converged, each.stopped) == (len(steps), True, "chi-square criterion")
    assert con.execute("DESCRIBE d").fetchnumpy()["column_type"].tolist() == ["DOUBLE"] * 4


@pytest.mark.parametrize("noise", [Uniform(30.0, Domain(0, 100)), Gaussian(20.0, Domain(0, 100))])
def test_counts_in_sql_are_those_of_numpy(con: duckdb.DuckDBPyConnection, noise: Any) -> None:
    engine, grid = Engine(con), observed_grid(noise, grid_for(noise, COUNT))
    with engine.workspace():
        found = histograms(engine, engine.find("t"), {"pay": grid}, "good")
    for place, good in enumerate((False, True)):
        values = np.array([pay for (pay,) in rows(con, f"pay FROM t WHERE good = {good}")])
        expected = oracle.histogram(values, grid.lower, grid.width, grid.cells)
        assert found.by_column["pay"][place].counts.tolist() == expected.tolist()
    assert found.classes == ("false", "true")


@given(
    st.lists(
        st.none() | st.floats(width=64) | st.sampled_from([0.0, 0.1, 0.2, 0.3, 1e308, -1e308]), max_size=30
    ),
    st.sampled_from([Grid(0.0, 0.1, 3), Grid(-1.0, 1 / 3, 7), Grid(0.0, 1e-5, 100)]),
)
def test_any_numbers_are_counted_once(values: list[float | None], grid: Grid) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (x DOUBLE)")
        con.execute("INSERT INTO t SELECT unnest($x::DOUBLE[])", {"x": values})
        engine = Engine(con)
        with engine.workspace():
            (found,) = histograms(engine, engine.find("t"), {"x": grid}).by_column["x"]
    numbers = np.array([x for x in values if x is not None and not np.isnan(x)], dtype=float)
    with np.errstate(over="ignore"):
        steps = np.floor((numbers - grid.lower) / grid.width)
    assert found.nulls == len(values) - len(numbers)
    assert found.outside == int(((steps < 0) | (steps >= grid.cells)).sum())
    expected = np.bincount(np.clip(steps, 0, grid.cells - 1).astype(int), minlength=grid.cells)
    assert found.counts.tolist() == expected.tolist()


def test_whole_numbers_get_a_cell_each_of_which_the_last_ends_with_the_domain(
    con: duckdb.DuckDBPyConnection,
) -> None:
    known: dict[str, Any] = {"noise": {"age": "gaussian 6 rounded"}, "ranges": {"age": (20, 49)}}
    reconstruct(con, columns="age", **known)
    found = rows(con)
    assert [(lower, upper) for lower, upper, *_ in found] == [(x - 0.5, x + 0.5) for x in range(20, 50)]
    assert sum(probability for *_, probability, _ in found) == pytest.approx(1)
    reconstruct(con, columns="age", intervals=4, into="e", **known)
    edges = [(19.5, 27.5), (27.5, 35.5), (35.5, 43.5), (43.5, 49.5)]
    assert rows(con, "lower, upper FROM e") == edges


def test_categories_come_back_by_bayes_and_by_inversion(con: duckdb.DuckDBPyConnection) -> None:
    job = {
        "columns": "job",
        "noise": {"job": "retain 0.7 of 'job 0','job 1','job 2','job 3'"},
        "ranges": None,
    }
    heard = Heard()
    bayes = reconstruct(con, fraction=1e-9, **job)
    inversion = reconstruct(con, into="e", categorical="inversion", progress=heard, **job)
    assert con.execute("DESCRIBE d").fetchnumpy()["column_name"].tolist() == [
        "value",
        "probability",
        "records",
    ]
    for name in ("d", "e"):
        found = dict(rows(con, f"value, probability FROM {name}"))
        for value, share in {"job 0": 0.6, "job 1": 0.3, "job 2": 0.1, "job 3": 0}.items():
            assert found[value] == pytest.approx(share, abs=0.04)
    assert bayes.distributions[0].stopped == "chi-square criterion"
    (each,) = inversion.distributions
    assert (each.stopped, each.iterations) == ("none needed", 0)
    below = [text for text in heard.notices if "estimated below 0" in text]
    assert len(below) == (each.negative > 0)


def test_a_histogram_of_cells_needs_no_reconstruction(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE c AS SELECT CASE WHEN pay < 20 THEN '[0, 20)' ELSE '[20, 100]' END AS pay FROM t"
    )
    found = reconstruct(con, "c", noise=["pay=cells 0,20,100"], ranges=None)
    ((below,),) = rows(con, "count(*) FROM t WHERE pay < 20")
    assert rows(con) == [(0, 20, below / COUNT, below), (20, 100, (COUNT - below) / COUNT, COUNT - below)]
    assert found.distributions[0].stopped == "none needed"


def test_several_columns_are_each_found_as_if_alone(con: duckdb.DuckDBPyConnection) -> None:
    known = {
        "noise": {"pay": "uniform 30", "age": "gaussian 6 rounded", "job": "retain 0.7"},
        "ranges": {"pay": (0, 100), "age": (20, 49)},
    }
    assert {each.attribute for each in reconstruct(con, columns=(), **known).distributions} == {
        *known["noise"]
    }
    together = reconstruct(con, columns=["job", "pay", "age"], into="all", **known)
    assert together.shown == ("attribute", "lower", "upper", "value", "probability", "records")
    assert list(dict.fromkeys(name for (name,) in rows(con, 'attribute FROM "all"'))) == ["job", "pay", "age"]
    for name in ("job", "pay", "age"):
        alone = reconstruct(con, columns=name, into=f"d_{name}", **known).distributions[0]
        (each,) = (found for found in together.distributions if found.attribute == name)
        assert np.array_equal(each.probabilities, alone.probabilities)
        assert rows(con, f"probability, records FROM d_{name}") == rows(
            con, f"probability, records FROM \"all\" WHERE attribute = '{name}'"
        )


def test_each_class_is_found_as_if_its_records_were_alone(con: duckdb.DuckDBPyConnection) -> None:
    found = reconstruct(con, by_class="good", intervals=15)
    assert found.shown == ("lower", "upper", "probability", "records", "class")
    assert con.execute("DESCRIBE d").fetchnumpy()["column_type"].tolist() == ["DOUBLE"] * 4 + ["BOOLEAN"]
    for good in (False, True):
        con.execute(f"CREATE TABLE t_{good} AS FROM t WHERE good = {good}")
        reconstruct(con, f"t_{good}", intervals=15, into=f"d_{good}")
        alone = np.array(rows(con, f"* FROM d_{good}"))
        assert np.allclose(alone, np.array(rows(con, f"* EXCLUDE (class) FROM d WHERE class = {good}")))


def test_null_is_a_class_and_enums_become_text(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE n AS SELECT pay, "
        "(CASE WHEN good THEN 'y' WHEN pay < 30 THEN 'n' END)::ENUM('y', 'secret', 'n') AS class FROM t"
    )
    reconstruct(con, "n", by_class="class", intervals=4)
    assert rows(con, "DISTINCT class FROM d ORDER BY class") == [("n",), ("y",), (None,)]
    assert rows(con, "column_type FROM (DESCRIBE d) WHERE column_name = 'class'") == [("VARCHAR",)]
    sums = rows(con, "class, round(sum(records)) FROM d GROUP BY class ORDER BY class")
    assert sums == rows(con, "class::VARCHAR, count(*) FROM n GROUP BY 1 ORDER BY 1")


def test_a_view_an_integer_and_a_decimal_serve_as_well(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW v AS SELECT pay::DECIMAL(9, 3) AS pay FROM t")
    con.execute("CREATE TABLE f AS SELECT pay::DECIMAL(9, 3)::DOUBLE AS pay FROM t")
    reconstruct(con, "v")
    reconstruct(con, "f", into="e")
    assert rows(con) == rows(con, "* FROM e")
    con.execute("CREATE VIEW i AS SELECT pay::BIGINT AS pay FROM t")
    assert reconstruct(con, "i", into="g").distributions[0].converged


def test_comments_tell_what_the_table_is(con: duckdb.DuckDBPyConnection) -> None:
    reconstruct(con)
    ((said,),) = rows(con, "comment FROM duckdb_tables() WHERE table_name = 'd'")
    assert "reconstructed by ppdm-sql" in said and "pay: uniform 30 on 0,100" in said
    assert all(text for (text,) in rows(con, "comment FROM duckdb_columns() WHERE table_name = 'd'"))


def test_a_release_and_its_exported_file_know_noise_of_every_kind(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT i % 100 + 0.5 AS pay, 20 + i % 40 AS age, "
        "['a', 'b', 'b'][i % 3 + 1] AS job, i % 50 AS hours FROM range(6000) r (i)"
    )
    noise = {
        "pay": "gaussian 25%",
        "age": "uniform 25% rounded",
        "job": "retain 0.6",
        "hours": "cells 0,10,49",
    }
    ranges = {"pay": (0, 100), "age": (20, 59)}
    with ppdm_sql.open(con) as db:
        release = db.randomize("people", noise=noise, ranges=ranges, into="safe", seed=1)
        release.export(tmp_path / "safe.duckdb")
        found = {each.attribute: each for each in db.reconstruct("safe", into="d").distributions}
    assert set(found) == set(noise)
    assert not any(each.outside or each.nulls for each in found.values())
    for name, even in (("pay", 60), ("age", 40)):
        assert np.abs(found[name].probabilities - 1 / even).sum() / 2 < 0.12
    assert dict(zip(found["job"].values, found["job"].probabilities, strict=True))["b"] == pytest.approx(
        2 / 3, abs=0.04
    )
    assert found["hours"].probabilities.tolist() == [0.2, 0.8]
    with ppdm_sql.open(tmp_path / "safe.duckdb") as file:
        for again in file.reconstruct("safe", into="d").distributions:
            assert again.noise == found[again.attribute].noise
            assert np.array_equal(again.probabilities, found[again.attribute].probabilities)


# -- what is odd about the values ---------------------------------------------------------------


def test_nulls_and_nan_are_left_out_and_counted(con: duckdb.DuckDBPyConnection) -> None:
    reconstruct(con, into="before", intervals=10)
    con.execute(
        "INSERT INTO t SELECT CASE WHEN i = 0 THEN 'nan'::DOUBLE END, 30, 'job 0', true FROM range(5) r (i)"
    )
    heard = Heard()
    found = reconstruct(con, intervals=10, progress=heard)
    assert rows(con) == rows(con, "* FROM before")
    assert (found.distributions[0].nulls, found.distributions[0].records) == (5, COUNT)
    assert "pay: 5 records have no value; they were left out." in heard.notices


def test_values_outside_count_to_the_end_cells_and_are_told(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "INSERT INTO t SELECT x::DOUBLE, 30, 'job 9', true FROM (VALUES (-999), (1e300), ('inf')) v (x)"
    )
    heard = Heard()
    found = reconstruct(
        con,
        columns=["pay", "job"],
        progress=heard,
        noise=["pay=uniform 30", "job=retain 0.7 of 'job 0','job 1','job 2','job 3'"],
        intervals=10,
    )
    pay, job = found.distributions
    assert (pay.outside, pay.records, job.outside, job.records) == (3, COUNT + 3, 3, COUNT)
    assert any(text.startswith("pay: 3 values lie farther out") for text in heard.notices)
    assert any(text.startswith("job: 3 values are none of those") for text in heard.notices)


def test_values_that_mostly_lie_outside_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InvalidSource, match="cannot come from uniform noise"):
        reconstruct(con, ranges={"pay": (5000, 6000)})
    with pytest.raises(InvalidSource, match="cannot come from retain noise"):
        reconstruct(con, columns="job", noise={"job": "retain 0.5 of a,b"})
    assert objects(con) == [("t",)]


@pytest.mark.parametrize("size", [1, 2])
def test_tiny_tables_are_reconstructed(con: duckdb.DuckDBPyConnection, size: int) -> None:
    con.execute(f"CREATE TABLE small AS SELECT pay, good FROM t LIMIT {size}")
    found = reconstruct(con, "small", by_class="good")
    assert sum(each.records for each in found.distributions) == size
    for each in found.distributions:
        assert each.probabilities.sum() == pytest.approx(1)
        assert len(each.probabilities) == 10


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
@pytest.mark.parametrize("level", ["0.1%", "500%"])
def test_tiny_and_extreme_noise_give_distributions(
    con: duckdb.DuckDBPyConnection, kind: str, level: str
) -> None:
    draws, size = np.random.default_rng(2), 5000
    scale = float(level[:-1]) / (3.919928 if kind == "gaussian" else 1.9)
    original = 100 * draws.beta(2, 2, size)
    noise = draws.normal(0, scale, size) if kind == "gaussian" else draws.uniform(-scale, scale, size)
    con.execute("CREATE TABLE x AS SELECT unnest($x::DOUBLE[]) AS pay", {"x": (original + noise).tolist()})
    found = reconstruct(con, "x", noise={"pay": f"{kind} {level}"}, intervals=10).distributions[0]
    assert found.probabilities.sum() == pytest.approx(1)
    assert found.converged
    if level == "0.1%":
        true = oracle.histogram(original, 0.0, 10.0, 10) / size
        assert np.abs(found.probabilities - true).sum() / 2 < 0.01
        assert found.remaining.loss > 0.99
    else:
        assert found.remaining.loss < 0.15


def test_a_constant_column_piles_up_where_it_is(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET pay = 42.5 + 30 * (2 * random() - 1)")
    reconstruct(con, intervals=20, fraction=1e-4)
    assert rows(con, "lower FROM d ORDER BY probability DESC LIMIT 1") == [(40.0,)]
    con.execute("UPDATE t SET pay = 42.5")
    found = reconstruct(con, intervals=20, into="e").distributions[0]
    assert found.probabilities.sum() == pytest.approx(1)


def test_a_class_without_values_has_no_distribution(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET pay = NULL WHERE good")
    heard = Heard()
    found = reconstruct(con, by_class="good", progress=heard)
    assert [each.class_value for each in found.distributions] == ["false"]
    assert "pay: 1 of 2 classes have no values and no distribution." in heard.notices


def test_any_name_will_do(con: duckdb.DuckDBPyConnection) -> None:
    listed = ", ".join(f"pay AS {quote(name)}" for name in HOSTILE)
    con.execute(
        f"CREATE TABLE {quote(HOSTILE[2])} AS SELECT {listed}, good AS {quote('in ' + HOSTILE[0])} FROM t"
    )
    known = {"noise": dict.fromkeys(HOSTILE, "uniform 30"), "ranges": dict.fromkeys(HOSTILE, (0, 100))}
    odd = {"columns": HOSTILE, "by_class": "in " + HOSTILE[0], "into": HOSTILE[1]}
    reconstruct(con, HOSTILE[2], **odd, **known)
    reconstruct(con, by_class="good")
    plain = rows(con, "DISTINCT lower, probability, class FROM d ORDER BY ALL")
    assert rows(con, 'DISTINCT lower, probability, class FROM "it\'s" ORDER BY ALL') == plain
    assert {name for (name,) in rows(con, 'attribute FROM "it\'s"')} == {*HOSTILE}


def test_classes_and_categories_may_hold_anything(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE odd (class VARCHAR, value VARCHAR)")
    con.executemany("INSERT INTO odd VALUES (?, ?)", [(name, name) for name in HOSTILE for _ in range(9)])
    found = reconstruct(
        con, "odd", columns="value", by_class="class", noise={"value": "retain 0.5"}, ranges=None
    )
    assert {each.class_value for each in found.distributions} == set(HOSTILE)
    best = rows(con, "class, arg_max(value, probability) FROM d GROUP BY class")
    assert all(name == value for name, value in best) and len(best) == len(HOSTILE)


# -- what is promised ---------------------------------------------------------------------------


def test_only_counts_leave_the_database_and_the_table_is_not_changed(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    query = Engine.query

    def counted(self: Engine, sql: str, *more: Any, step: str) -> Any:
        found = query(self, sql, *more, step=step)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(Engine, "query", counted)
    con.execute("INSERT INTO t SELECT pay + 0.001 * i, age, job, good FROM t, range(4) r (i)")
    before = rows(con, "* FROM t")
    reconstruct(con, by_class="good", intervals=10)
    assert max(fetched) < 100
    assert rows(con, "* FROM t") == before
    assert objects(con) == [("d",), ("t",)]


def test_a_failure_on_the_way_leaves_nothing(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(distributions, "_comments", broken)
    with pytest.raises(RuntimeError):
        reconstruct(con, by_class="good")
    assert objects(con) == [("t",)]


def test_the_same_table_gives_the_same_distribution(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("SET threads = 1")
    reconstruct(con, by_class="good")
    con.execute("SET threads = 4")
    con.execute("CREATE TABLE shuffled AS FROM t ORDER BY random()")
    reconstruct(con, "shuffled", by_class="good", into="e")
    assert rows(con) == rows(con, "* FROM e")


def test_the_privacy_that_remains_is_that_of_the_result(con: duckdb.DuckDBPyConnection) -> None:
    found = reconstruct(con, intervals=20).distributions[0]
    expected = oracle.information(
        "uniform", 30.0, np.linspace(0, 100, 21).tolist(), found.probabilities.tolist()
    )
    assert found.remaining.loss == pytest.approx(1 - 2**-expected, abs=2e-3)


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"columns": ["pay", "PAY"]}, ColumnRoleError, "named twice"),
        ({"by_class": "pay"}, ColumnRoleError, "'pay'"),
        ({"columns": (), "by_class": "pay"}, InvalidOption, "but that of the class column 'pay'"),
        ({"categorical": "matrix"}, InvalidOption, "--categorical"),
        ({"max_iterations": 0}, InvalidOption, "iterations"),
        ({"fraction": -1.0}, InvalidOption, "fraction"),
        ({"fraction": float("nan")}, InvalidOption, "fraction"),
        ({"table": "nobody"}, UnknownTable, "nobody"),
        ({"into": ""}, InvalidOption, "name"),
        ({"by_class": "age_of_all"}, UnknownColumn, "'age_of_all'"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_nothing_is_made(
    con: duckdb.DuckDBPyConnection, options: dict[str, Any], error: type[PpdmError], says: str
) -> None:
    with pytest.raises(error, match=says) as raised:
        reconstruct(con, **options)
    assert raised.value.remedy
    assert not any(cell in str(raised.value) for cell in ("job 0", "job 1", "true"))
    assert objects(con) == [("t",)]


def test_too_many_classes_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE many AS SELECT pay, rowid AS id FROM t")
    with pytest.raises(InvalidOption, match="4000 values"):
        reconstruct(con, "many", by_class="id")


@pytest.mark.parametrize("condition", ["false", "true"])
def test_a_column_without_values_is_refused(con: duckdb.DuckDBPyConnection, condition: str) -> None:
    con.execute(f"CREATE TABLE empty AS SELECT NULL::DOUBLE AS pay FROM t WHERE {condition}")
    with pytest.raises(InvalidSource, match="has no values"):
        reconstruct(con, "empty")


def test_a_collation_merges_neither_categories_nor_classes() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t (job VARCHAR COLLATE NOCASE, x DOUBLE, class VARCHAR COLLATE NOCASE); "
            "INSERT INTO t SELECT if(i % 4 = 0, 'cook', 'COOK'), i % 7, if(i % 2 = 0, 'Y', 'y') "
            "FROM range(400) AS r (i)"
        )
        con.execute("SET default_collation = 'NOCASE'")
        db = ppdm_sql.open(con)
        db.reconstruct("t", into="jobs", noise=["job=retain 0.9"])
        assert con.execute('SELECT "value"::BLOB, round(records) FROM jobs').fetchall() == [
            (b"COOK", 311.0),
            (b"cook", 89.0),
        ]
        db.reconstruct("t", into="xs", noise=["x=gaussian 1 on 0,7"], by_class="class")
        by_class = 'SELECT "class"::BLOB AS c, round(sum(records)) FROM xs GROUP BY c ORDER BY c'
        assert con.execute(by_class).fetchall() == [(b"Y", 200.0), (b"y", 200.0)]
