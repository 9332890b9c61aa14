"""Randomization through the Python interface: what is drawn, promised, refused, told, and kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pytest
from filling import quote
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in
from scipy import stats
from swap_releases import Heard

import ppdm_sql
import ppdm_sql.methods.perturbation.randomize as run_module
from ppdm_sql.engine import Engine
from ppdm_sql.errors import (
    ColumnRoleError,
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PpdmError,
    UnknownColumn,
    UnknownTable,
)
from ppdm_sql.methods.perturbation.noise import Cells, Domain, Gaussian, Retain, Uniform, noise_of
from ppdm_sql.methods.perturbation.noise_draws import Draws

HOSTILE = ['a "b"', "it's", '"; DROP TABLE t; --', "select", "Größe ✓", "a.b", "a=b", "z", "x0", "rowid", " "]
PEOPLE = 6000


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(
            f"""
            CREATE TABLE t AS SELECT
                i AS id, 'person ' || i AS name, 20000 + (i * 7919) % 130001 AS salary,
                17 + (i * 31) % 74 AS age, ['clerk', 'nurse', 'cook'][1 + (i % 7)::INTEGER % 3] AS job,
                ((i * 17) % 10000 / 100)::DECIMAL(8, 2) AS share, (i % 101) / 101::DOUBLE AS unit,
                if(i % 10 = 0, NULL, i % 30) AS gap, i % 3 = 0 AS ill, i % 2 AS class
            FROM range({PEOPLE}) AS r (i)
            """
        )
        yield opened


def randomize(
    con: duckdb.DuckDBPyConnection, noise: Any, table: str = "t", **options: Any
) -> ppdm_sql.Release:
    """Publish ``safe``, from a fixed seed unless told otherwise."""
    chosen = {"into": "safe", "allow_identifiers": options.get("keep", ())} | options
    if "key_file" not in chosen:
        chosen.setdefault("seed", 1)
    return ppdm_sql.open(con).randomize(table, noise=noise, **chosen)


def pairs(con: duckdb.DuckDBPyConnection, name: str, release: str = "safe") -> Any:
    """The original and the released value of each record, by the key that the release keeps."""
    query = (
        f"SELECT t.{quote(name)}, s.{quote(name)} FROM t JOIN {quote(release)} AS s USING (id) ORDER BY id"
    )
    return con.execute(query).fetchall()


def noise_in(con: duckdb.DuckDBPyConnection, name: str, release: str = "safe") -> Any:
    """What was added to each record."""
    return np.array([float(y) - float(x) for x, y in pairs(con, name, release) if x is not None])


# -- what is drawn ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_is_of_its_distribution_whose_last_bits_tell_nothing_of_the_original(
    con: duckdb.DuckDBPyConnection, seed: int
) -> None:
    ranges = {"salary": (0, 150001), "unit": (0, 1)}
    randomize(con, ["salary=gaussian 2500", "unit=uniform 0.5"], ranges=ranges, keep=["id"], seed=seed)
    assert stats.kstest(noise_in(con, "salary"), "norm", args=(0, 2500)).pvalue > 0.01
    found = noise_in(con, "unit")
    assert abs(found).max() <= 0.5 + 2**-21
    assert stats.kstest(found, "uniform", args=(-0.5, 1)).pvalue > 0.01
    assert all(y * 2**21 == int(y * 2**21) for _, y in pairs(con, "unit"))


def test_categories_are_retained_as_often_as_asked(con: duckdb.DuckDBPyConnection) -> None:
    randomize(con, ["job=retain 0.4"], keep=["id"])
    changed = [y for x, y in pairs(con, "job") if x == "clerk"]
    found = Counter(changed)
    assert found["clerk"] / len(changed) == pytest.approx(0.6, abs=0.06)
    assert found["nurse"] / len(changed) == pytest.approx(0.2, abs=0.06)
    assert set(found) == {"clerk", "nurse", "cook"}


def test_noise_of_one_column_says_nothing_of_another(con: duckdb.DuckDBPyConnection) -> None:
    noise = ["salary=gaussian 2500", "age=gaussian 25", "unit=gaussian 25"]
    randomize(con, noise, keep=["id"])
    found = np.corrcoef([noise_in(con, name) for name in ("salary", "age", "unit")])
    assert np.abs(found - np.eye(3)).max() < 6 / math.sqrt(PEOPLE)


@pytest.mark.parametrize("cells", ["cells 5", "cells 5 equal-frequency", "cells 0,20,17.5e1"])
def test_cells_hold_the_originals(con: duckdb.DuckDBPyConnection, cells: str) -> None:
    release = randomize(con, {"age": cells}, keep=["id"])
    noise = noise_of(ppdm_sql.open(con).engine, "safe")["age"]
    assert isinstance(noise, Cells)
    for age, label in pairs(con, "age"):
        cell = noise.labels.index(label)
        last = cell == len(noise.labels) - 1
        assert noise.edges[cell] <= age < noise.edges[cell + 1] or (last and age == noise.edges[-1])
    assert release.verify().holds


def test_cells_of_equal_frequency_are_about_equally_frequent(con: duckdb.DuckDBPyConnection) -> None:
    randomize(con, {"salary": "cells 4 equal-frequency"})
    counts = [n for (n,) in con.execute("SELECT count(*) FROM safe GROUP BY salary").fetchall()]
    assert len(counts) == 4
    assert max(counts) - min(counts) <= 2


def test_whole_numbers_get_fractions_unless_they_are_to_stay_whole(con: duckdb.DuckDBPyConnection) -> None:
    noise = ["age=gaussian 25 rounded", "share=uniform 5 rounded", "class=gaussian 25"]
    randomize(con, noise, keep=["id"])
    types = dict(row[:2] for row in con.execute("DESCRIBE safe").fetchall())
    assert types["age"] == "BIGINT"
    assert all(round(share, 2) == share for _, share in pairs(con, "share"))
    assert len({y - x for x, y in pairs(con, "age")}) > 50
    assert all(y != int(y) for _, y in pairs(con, "class"))


def test_correlated_noise_of_their_own_strength_is_correlated_as_the_columns_are(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("ALTER TABLE t ADD twin DOUBLE; UPDATE t SET twin = 3 * salary + 4000 * age")
    options: dict[str, Any] = {"keep": ["id"], "correlated": True}
    query = "SELECT stddev(salary), stddev(twin), corr(salary, twin) FROM t"
    ((salary, twin, wanted),) = con.execute(query).fetchall()
    randomize(con, [f"salary=gaussian {salary}", "age=cells 5", f"twin=gaussian {twin}"], **options)
    found = np.corrcoef(noise_in(con, "salary"), noise_in(con, "twin"))[0, 1]
    assert found == pytest.approx(wanted, abs=0.02)
    assert ppdm_sql.open(con).release("safe").verify().holds


# -- the same record, the same noise ----------------------------------------------------------------

NOISE = ["salary=gaussian 100%", "age=uniform 50% rounded", "job=retain 0.5"]
RANGES = {"salary": (20_000, 150_001), "age": (0, 100)}
SHUFFLED = "CREATE TABLE other AS FROM t ORDER BY hash(id)"


def released(con: duckdb.DuckDBPyConnection, table: str, into: str, **options: Any) -> set[Any]:
    randomize(con, NOISE, table, ranges=RANGES, keep=["id"], into=into, **options)
    return set(con.execute(f"FROM {quote(into)}").fetchall())


@pytest.mark.parametrize("record", ["id", "name", None])
def test_the_same_key_repeats_the_noise_whatever_the_threads(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, record: str | None
) -> None:
    options: dict[str, Any] = {"record": record, "key_file": tmp_path / "key"}
    con.execute("SET threads = 1")
    one = released(con, "t", "one", **options)
    con.execute("SET threads = 2")
    assert released(con, "t", "two", **options) == one


@pytest.mark.parametrize(
    ("record", "chosen"),
    [("id", range(5990, PEOPLE)), ("name", range(1, PEOPLE, 3))],
)
def test_the_same_key_repeats_the_noise_whatever_the_order_and_the_other_records(
    con: duckdb.DuckDBPyConnection, record: str, chosen: range
) -> None:
    others = f"id NOT IN (FROM range({chosen.start}, {chosen.stop}, {chosen.step}))"
    con.execute(f"{SHUFFLED}; DELETE FROM other WHERE {others}")
    wanted = {row for row in released(con, "t", "one", record=record) if row[0] in chosen}
    assert released(con, "other", "two", record=record) == wanted


@pytest.mark.parametrize("identifier", ["id * 1000003", "9223372036854775807 - id", "id - 3000"])
def test_any_whole_number_can_tell_records_apart(con: duckdb.DuckDBPyConnection, identifier: str) -> None:
    con.execute(f"CREATE VIEW v AS SELECT *, {identifier} AS number FROM t WHERE id < 300")
    con.execute("CREATE TABLE w AS FROM v ORDER BY hash(id)")
    assert released(con, "v", "one", record="number") == released(con, "w", "two", record="number")
    assert len({y for _, y, *_ in con.execute("FROM one").fetchall()}) == 300


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 2},
        {"noise": ["salary=gaussian 2000"]},
        {"noise": ["salary=uniform 1000"]},
        {"record": "name"},
    ],
    ids=["key", "scale", "kind", "record"],
)
def test_another_key_scale_or_record_gives_unrelated_noise(
    con: duckdb.DuckDBPyConnection, other: dict[str, Any]
) -> None:
    first = {"noise": ["salary=gaussian 1000"], "seed": 1, "record": "id"}
    randomize(con, **first, keep=["id"], into="one")
    randomize(con, **(first | other), keep=["id"], into="two")
    found = np.corrcoef(noise_in(con, "salary", "one"), noise_in(con, "salary", "two"))[0, 1]
    assert abs(found) < 6 / math.sqrt(PEOPLE)


def test_without_a_key_every_run_differs(con: duckdb.DuckDBPyConnection) -> None:
    assert released(con, "t", "one", seed=None) != released(con, "t", "two", seed=None)


# -- what is released -------------------------------------------------------------------------------


def test_only_named_columns_are_released_in_their_order_and_kept_ones_stay_with_their_record(
    con: duckdb.DuckDBPyConnection,
) -> None:
    options: dict[str, Any] = {"class_column": "class", "keep": ["id", "ill"], "record": "name"}
    release = randomize(con, ["salary=gaussian 5%", "age=cells 5"], identifiers={"name": "drop"}, **options)
    assert release.relation().columns == ["id", "salary", "age", "ill", "class"]
    columns = "id, ill, class"
    assert con.execute(f"SELECT {columns} FROM safe EXCEPT ALL SELECT {columns} FROM t").fetchall() == []
    randomize(con, NOISE, identifiers={"name": "pseudonym"}, into="hidden", **options)
    names = {name for (name,) in con.execute("SELECT name FROM hidden").fetchall()}
    assert (len(names), {*map(len, names)}) == (PEOPLE, {32})


def test_null_stays_null_and_this_is_said(con: duckdb.DuckDBPyConnection) -> None:
    heard = Heard()
    con.execute("UPDATE t SET job = NULL WHERE id < 7")
    noise = ["gap=gaussian 50%", "job=retain 0.5"]
    assert randomize(con, noise, keep=["id"], progress=heard).verify().holds
    for name in ("gap", "job"):
        assert all((x is None) == (y is None) for x, y in pairs(con, name))
    assert any(
        "NULL stays NULL" in text and "7 records of job, 600 records of gap" in text for text in heard.notices
    )


def test_rows_are_ordered_by_what_they_show(con: duckdb.DuckDBPyConnection) -> None:
    randomize(con, NOISE, keep=["ill"])
    rows = con.execute("FROM safe").fetchall()
    assert rows == sorted(rows)


def test_categories_keep_their_type_but_for_enums(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TYPE work AS ENUM ('clerk', 'nurse', 'cook', 'Secret-Numbat')")
    con.execute("ALTER TABLE t ALTER job TYPE work; ALTER TABLE t ADD kept work; UPDATE t SET kept = job")
    con.execute("UPDATE t SET share = 0.5 WHERE share > 3")
    names = ["ill", "class", "share", "job"]
    randomize(con, [f"{name}=retain 50%" for name in names], keep=["id", "kept"])
    types = {row[0]: row[1] for row in con.execute("DESCRIBE safe").fetchall()}
    was = {row[0]: row[1] for row in con.execute("DESCRIBE t").fetchall()}
    assert types["job"] == types["kept"] == "VARCHAR"
    assert [types[name] for name in names[:3]] == [was[name] for name in names[:3]]
    assert all(any(x != y for x, y in pairs(con, name)) for name in names)


def test_the_source_and_all_else_stay_as_they_are(con: duckdb.DuckDBPyConnection) -> None:
    objects = "SELECT count(*) FROM duckdb_tables() UNION ALL SELECT count(*) FROM duckdb_functions()"
    before = con.execute("FROM t").fetchall(), con.execute(objects).fetchall()
    randomize(con, NOISE).drop()
    con.execute("DROP SCHEMA ppdm CASCADE")
    assert (con.execute("FROM t").fetchall(), con.execute(objects).fetchall()) == before


def test_the_table_of_keys_is_gone_after_an_error(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Draws, "select", lambda self, hashed: "SELECT error('no')")
    with pytest.raises(PpdmError):
        randomize(con, NOISE)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchall() == [(0,)]


def test_hostile_names_and_values(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    listed = ", ".join(f"salary + {place} AS {quote(name)}" for place, name in enumerate(HOSTILE))
    con.execute(
        f"CREATE TABLE hostile AS SELECT {listed}, job || $v AS {quote(HOSTILE[0] + ' job')}, "
        f"age AS {quote(HOSTILE[1] + ' age')}, id AS {quote(HOSTILE[2] + ' kept')} FROM t",
        {"v": HOSTILE[2]},
    )
    noise = dict.fromkeys(HOSTILE, "gaussian 50%")
    noise |= {f"{HOSTILE[0]} job": "retain 0.5", f"{HOSTILE[1]} age": "cells 5"}
    kept, into = f"{HOSTILE[2]} kept", "r '; \""
    release = randomize(con, noise, "hostile", keep=[kept], record=kept, into=into, correlated=True)
    assert release.verify().holds
    engine = Engine(con)
    found = noise_of(engine, into)
    assert list(found) == list(noise)
    assert f"noise that a column alone can remove: {HOSTILE[0]}" in {m.measure for m in release.measures()}
    release.export(tmp_path / "x.duckdb")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as exported:
        assert noise_of(Engine(exported), into) == found
    release.drop()
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(PEOPLE,)]


numbers = st.one_of(st.none(), st.integers(-50, 50))
rows_drawn = st.lists(
    st.tuples(numbers, numbers, st.sampled_from(["x", "y", "z", None])), min_size=1, max_size=12
)
kinds = st.sampled_from(
    ["gaussian 100%", "uniform 1", "gaussian 3 rounded", "uniform 200% rounded", "cells 3"]
)


@one_in(5)
@given(rows_drawn, kinds, st.integers(0, 9))
def test_any_small_table_is_randomized_and_verified(rows: Sequence[Any], kind: str, seed: int) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (a INTEGER, b DOUBLE, c VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        noise = {"a": kind, "b": "gaussian 100%", "c": "retain 0.5 of x,y,z"}
        release = randomize(con, noise, ranges={"a": (-50, 50), "b": (-50, 50)}, seed=seed)
        assert release.verify().holds
        found = con.execute("SELECT count(*), count(a), count(b), count(c) FROM safe").fetchall()
        assert found == con.execute("SELECT count(*), count(a), count(b), count(c) FROM t").fetchall()


# -- the noise model --------------------------------------------------------------------------------

MODEL = {
    "salary": Gaussian(2500, Domain(20_000, 150_001, whole=True)),
    "age": Cells((0, 20, 40.5, 100)),
    "job": Retain(0.7, ("clerk", "nurse", "cook", "it's")),
    "gap": Uniform(5, Domain(0, 30, whole=True), rounded=True),
}
MODEL_ASKED = {
    "salary": "gaussian 2500", "age": "cells 0,20,40.5,100", "job": "retain 0.7 of clerk,nurse,cook,'it''s'",
    "gap": "uniform 5 rounded",
}  # fmt: skip
MODEL_RANGES = {"salary": (20_000, 150_001), "gap": (0, 30)}


def test_catalogue_and_export_hold_the_model_which_given_noise_comes_before(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    release = randomize(con, MODEL_ASKED, ranges=MODEL_RANGES)
    engine = Engine(con)
    assert noise_of(engine, "safe") == noise_of(engine, "ppdm.release_safe") == MODEL
    found = noise_of(engine, "safe", ["SALARY=gaussian 9"], {"salary": (0, 1)})
    assert found == MODEL | {"salary": Gaussian(9, Domain(0, 1))}
    release.export(tmp_path / "x.duckdb")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as exported:
        assert noise_of(Engine(exported), "safe") == MODEL


def test_noise_of_a_table_must_be_known_or_given(con: duckdb.DuckDBPyConnection) -> None:
    engine = Engine(con)
    with pytest.raises(InvalidOption, match="Nothing is known of the noise"):
        noise_of(engine, "t")
    with pytest.raises(InvalidOption, match="range of the original"):
        noise_of(engine, "t", ["salary=gaussian 5"])
    assert noise_of(engine, "t", {"job": "retain 0.5"}) == {"job": Retain(0.5, ("clerk", "cook", "nurse"))}
    with pytest.raises(UnknownColumn):
        noise_of(engine, "t", ["salry=gaussian 5"])
    with pytest.raises(UnknownTable):
        noise_of(engine, "nothing")


def test_measures_tell_scale_level_and_moments(con: duckdb.DuckDBPyConnection) -> None:
    release = randomize(
        con, {"salary": "gaussian 100%", "job": "retain 0.7"}, ranges={"salary": (0, 150_001)}
    )
    found = {measure.measure: measure for measure in release.measures()}
    assert found["privacy level at 95 % confidence: salary"].after == pytest.approx(1)
    assert found["noise scale: salary"].after == pytest.approx(150_001 / 3.919928, rel=1e-6)
    assert found["expected share of true values: job"].after == pytest.approx(0.8)
    source = con.execute("SELECT avg(salary), stddev_pop(salary) FROM t").fetchall()[0]
    shown = con.execute("SELECT avg(salary), stddev_pop(salary) FROM safe").fetchall()[0]
    for measure, before, after in zip(("mean", "standard deviation"), source, shown, strict=True):
        assert found[f"{measure}: salary"][1:] == pytest.approx((before, after))


# -- verify, and the audit that refuses -------------------------------------------------------------

TAMPERED = {
    "a noisy number beyond the noise": "UPDATE ppdm.release_safe SET gap = 99 WHERE rowid = 7",
    "a noisy number": "UPDATE ppdm.release_safe SET salary = salary + 1 WHERE rowid = 7",
    "a number that is not finite": "UPDATE ppdm.release_safe SET salary = 'nan' WHERE rowid = 7",
    "a cell": "UPDATE ppdm.release_safe SET age = '[0, 20)' WHERE age <> '[0, 20)'",
    "a category": "UPDATE ppdm.release_safe SET job = 'cook' WHERE job = 'nurse'",
    "an unknown category": "UPDATE ppdm.release_safe SET job = 'it' WHERE job = 'nurse'",
    "a value that becomes NULL": "UPDATE ppdm.release_safe SET gap = NULL WHERE rowid = 7",
}


@pytest.mark.parametrize("statement", TAMPERED.values(), ids=TAMPERED)
def test_verify_sees_what_was_changed(con: duckdb.DuckDBPyConnection, statement: str) -> None:
    con.execute("UPDATE t SET gap = 3 WHERE gap IS NULL")
    release = randomize(con, MODEL_ASKED, ranges=MODEL_RANGES)
    assert release.verify().holds
    con.execute(statement)
    assert not release.verify().holds


def faulty(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Let draws come out changed."""
    drawn = Draws._draw
    monkeypatch.setattr(Draws, "_draw", lambda *given: change.format(z=f"({drawn(*given)})"))


FAULTS = {
    "no noise": ("0 * {z}", "are those of the source"),
    "half the noise": ("{z} / 2", "variance"),
    "twice the noise": ("{z} * 2", "variance"),
    "a shift": ("{z} + 0.1", "mean"),
    "one draw for all": ("0 * {z} + 1.3", "variance"),
}


@pytest.mark.parametrize(("change", "problem"), FAULTS.values(), ids=FAULTS)
def test_the_audit_refuses_noise_that_is_not_the_model(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, change: str, problem: str
) -> None:
    faulty(monkeypatch, change)
    with pytest.raises(GuaranteeNotMet, match=problem) as caught:
        randomize(con, ["salary=gaussian 50%"])
    assert "nothing was published" in caught.value.problem
    assert ppdm_sql.open(con).releases() == []


@pytest.mark.parametrize("draw", [0.0, 1.0])
def test_the_audit_refuses_categories_that_are_all_kept_or_all_drawn(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, draw: float
) -> None:
    faulty(monkeypatch, f"0 * {{z}} + {draw}")
    con.execute("UPDATE t SET job = 'clerk' WHERE id > 1000")
    with pytest.raises(GuaranteeNotMet, match="frequent"):
        randomize(con, ["job=retain 0.5"])


@pytest.mark.parametrize(
    ("replaced", "problem"),
    [
        ("class", "released as they are"),
        ("age", "released as they are"),
        ("gap", "cannot come of its noise"),
    ],
)
def test_the_audit_refuses_rows_that_were_changed_on_the_way(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, replaced: str, problem: str
) -> None:
    values = {"class": "1 - class", "age": "'[0, 20)'", "gap": "1000 + gap"}
    rows = run_module.ordered_rows
    monkeypatch.setattr(
        run_module,
        "ordered_rows",
        lambda *given: f"SELECT * REPLACE ({values[replaced]} AS {replaced}) FROM ({rows(*given)})",
    )
    with pytest.raises(GuaranteeNotMet, match=problem):
        randomize(con, MODEL_ASKED, ranges=MODEL_RANGES, class_column="class")


def test_too_few_values_to_judge_a_variance_are_told(con: duckdb.DuckDBPyConnection) -> None:
    heard = Heard()
    con.execute("CREATE TABLE few AS FROM t LIMIT 199")
    randomize(con, ["salary=gaussian 50%"], "few", progress=heard)
    assert any("too few" in text and "salary" in text for text in heard.notices)


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_the_audit_accepts_honest_noise_on_few_records(con: duckdb.DuckDBPyConnection, seed: int) -> None:
    con.execute(f"CREATE TABLE few AS FROM t LIMIT {1 + seed * 15}")
    noise = {"salary": "gaussian 50%", "age": "uniform 2 rounded", "share": "uniform 0.01 rounded"}
    noise |= {"gap": "gaussian 1 rounded on 0,99", "job": "retain 0.9 of clerk,nurse,cook,a,b,c,d,e"}
    randomize(
        con, noise, "few", ranges={"salary": (0, 150_001), "age": (0, 99), "share": (0, 100)}, seed=seed
    )


# -- what is refused --------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], type[PpdmError], str]] = {
    "no noise": ({"noise": []}, InvalidOption, "No column is to be randomized"),
    "noise twice": ({"noise": ["age=cells 5", "AGE=gaussian 5"]}, ColumnRoleError, "named twice"),
    "noise and keep": ({"noise": ["age=cells 5"], "keep": ["age"]}, ColumnRoleError, "both"),
    "noise and class": ({"noise": ["age=cells 5"], "class_column": "age"}, ColumnRoleError, "both"),
    "booleans": ({"noise": ["ill=cells 5"]}, InvalidSource, "not numbers"),
    "dates": ({"noise": ["born=gaussian 5"]}, InvalidSource, "DATE, not numbers"),
    "lists": ({"noise": ["tags=retain 0.5"]}, InvalidSource, "not categories"),
    "too many categories": ({"noise": ["name=retain 0.5"]}, InvalidSource, "more than 1000"),
    "one category": ({"noise": ["same=retain 0.5"]}, InvalidOption, "fewer than two values"),
    "a stranger among categories": (
        {"noise": ["job=retain 0.5 of clerk,nurse"]}, InvalidSource, "'job' .* not listed, in 1,714 records"),
    "a constant column": ({"noise": ["same=gaussian 5%"]}, InvalidOption, "single value"),
    "values outside": (
        {"noise": ["age=gaussian 5"], "ranges": {"age": (0, 80)}}, InvalidSource, r"\d+ records of 'age'"),
    "values outside of cells": ({"noise": ["age=cells 0,20,80"]}, InvalidSource, r"\d+ records of 'age'"),
    "two ranges": (
        {"noise": ["age=gaussian 5 on 0,100"], "ranges": {"age": (0, 100)}}, InvalidOption, "given twice"),
    "a range without noise": (
        {"noise": ["age=gaussian 5"], "ranges": {"salary": (0, 1)}}, InvalidOption, "range is given for"),
    "a range that is none": (
        {"noise": ["age=gaussian 5"], "ranges": {"age": ("a", 1)}}, InvalidOption, "ascending"),
    "not a number": ({"noise": ["wild=gaussian 5"]}, InvalidSource, "NaN or infinite in 3 records"),
    "nothing at all": ({"noise": ["empty=gaussian 5%"]}, InvalidSource, "no values"),
    "rounding without a grid": ({"noise": ["unit=gaussian 5 rounded"]}, InvalidOption, "no grid"),
    "fractions that are to be whole": (
        {"noise": ["unit=gaussian 5 on 0,1 whole"]}, InvalidSource, r"\d+ numbers that are not whole"),
    "rounding that does nothing": ({"noise": ["age=uniform 0.5 rounded"]}, InvalidOption, "as it is"),
    "rounding of what is too large": (
        {"noise": ["age=gaussian 5 on 0,1e16 rounded"]}, InvalidOption, "too large"),
    "values without a variance": (
        {"noise": ["age=gaussian 5 on 0,1e200"]}, InvalidOption, "too large for their variance"),
    "noise without a variance": ({"noise": ["age=gaussian 1e200"]}, InvalidOption, "too large for their"),
    "equal values in cells": (
        {"noise": ["same=cells 5 equal-frequency"], "ranges": {"same": (0, 7)}}, InvalidSource, "Almost all"),
    "key and seed": ({"noise": ["age=gaussian 5"], "key_file": "k", "seed": 1}, InvalidOption, "exclude"),
    "records with equal values": (
        {"noise": ["age=gaussian 5"], "record": "age"}, InvalidSource, "NULL in 0 .* 74 different"),
    "records without a value": (
        {"noise": ["age=gaussian 5"], "record": "gap"}, InvalidSource, "NULL in 600 of them"),
    "an unknown record": ({"noise": ["age=gaussian 5"], "record": "nr"}, UnknownColumn, "nr"),
    "correlated uniform noise": (
        {"noise": ["age=uniform 5", "salary=gaussian 5"], "correlated": True}, InvalidOption, "not uniform"),
    "a taken name": ({"noise": ["age=gaussian 5"], "into": "t"}, NameTaken, "t"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(
        """
        CREATE TABLE odd AS SELECT *, DATE '2000-01-01' + id::INTEGER AS born, [job] AS tags, 7 AS same,
            CASE WHEN id < 2 THEN 'inf' WHEN id = 2 THEN 'nan' ELSE unit END::DOUBLE AS wild,
            NULL::INTEGER AS empty
        FROM t
        """
    )
    options, error, problem = REFUSED[name]
    with pytest.raises(error, match=problem) as caught:
        randomize(con, table="odd", **({"into": "safe"} | options))
    assert caught.value.remedy
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'ppdm'").fetchall() == [(0,)]


def test_a_view_needs_a_record(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW v AS FROM t; CREATE VIEW w AS SELECT *, rowid FROM t; CREATE TABLE x AS FROM w")
    for source in ("v", "w", "x"):
        with pytest.raises(InvalidOption, match="no numbers by which") as caught:
            randomize(con, ["age=gaussian 5"], source)
        assert "--record" in caught.value.remedy
    randomize(con, ["age=gaussian 5"], "v", record="id")


@pytest.mark.parametrize(
    ("kind", "first", "scale"),
    [
        ("gaussian", "4611686018427387904", 1e10),
        ("uniform", "1700000000000000000", 3.6e12),
        ("gaussian", "1700000000::DOUBLE", 1.0),
    ],
)
def test_noise_on_large_numbers_that_lie_close_together_verifies(kind: str, first: str, scale: float) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT {first} + i AS n FROM range(2000) r(i)")
        db = ppdm_sql.open(con)
        made = db.randomize("t", noise=[f"n={kind} {scale!r}"], into="z", progress=False)
        assert all(check.holds for check in made.verify().checks)
        with pytest.raises(InvalidSource, match="'n' are so large that their noise is lost"):
            db.randomize("t", noise=[f"n={kind} {scale / 1e6!r}"], into="lost", progress=False)


def test_no_record_is_refused_and_one_record_or_a_column_of_nulls_is_randomized(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("CREATE TABLE nobody AS FROM t LIMIT 0; CREATE TABLE one AS FROM t LIMIT 1")
    with pytest.raises(InvalidSource, match="no records"):
        randomize(con, ["age=gaussian 5"], "nobody")
    noise = {"salary": "gaussian 5%", "age": "uniform 5 rounded", "job": "retain 0.5 of clerk,cook"}
    assert randomize(con, noise, "one", ranges={"salary": (0, 150_001), "age": (0, 99)}).verify().holds
    con.execute("CREATE TABLE odd AS SELECT id, NULL::INTEGER AS empty, 7 AS same FROM t")
    noise, ranges = {"empty": "gaussian 5%", "same": "gaussian 5%"}, {"empty": (0, 9), "same": (0, 100)}
    assert randomize(con, noise, "odd", ranges=ranges, into="odds").verify().holds
    assert con.execute("SELECT count(empty), count(DISTINCT same) > 5900 FROM odds").fetchall() == [(0, True)]


# -- what is told -----------------------------------------------------------------------------------


def told(con: duckdb.DuckDBPyConnection, *noise: str, **options: Any) -> str:
    heard = Heard()
    randomize(con, list(noise), progress=heard, **options)
    return "\n".join(heard.notices)


def test_ranges_and_values_from_the_data_are_told(con: duckdb.DuckDBPyConnection) -> None:
    noise = ["salary=gaussian 5%", "age=cells 5 equal-frequency", "share=cells 5", "job=retain 0.5"]
    text = told(con, *noise, ranges={"share": (0, 100)})
    assert "Ranges are taken from the data and released with the noise: salary, age." in text
    assert "Values are taken from the data and released with the noise: job." in text
    assert "edges of the cells of age are taken from the data" in text
    given = "age=cells 0,20,100", "job=retain 0.5 of clerk,nurse,cook", "unit=gaussian 1 on 0,1"
    assert "taken from the data" not in told(con, *given, into="given")


def test_noise_finer_than_the_values_is_told(con: duckdb.DuckDBPyConnection) -> None:
    assert "finer than its values" in told(con, "age=uniform 0.4")
    assert "finer" not in told(con, "age=uniform 1", into="other")


def test_it_is_told_what_becomes_of_the_key(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    assert told(con, "age=cells 0,50,100", key_file=tmp_path / "key", into="cells") == ""
    assert "thrown away" in told(con, "age=gaussian 5", seed=None, into="one")
    assert "whoever knows it" in told(con, "age=gaussian 5", seed=5, into="two")
    kept = told(con, "age=gaussian 5", key_file=tmp_path / "key", into="three")
    assert "records are known by their rows" in kept and "thrown away" not in kept
    (tmp_path / "key").chmod(0o644)
    assert "Others can read the key file" in told(
        con, "age=gaussian 5", key_file=tmp_path / "key", record="id", into="four"
    )


def test_an_earlier_release_with_other_noise_is_told(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    first: dict[str, Any] = {"key_file": tmp_path / "key", "record": "id"}
    assert "before" not in told(con, "age=gaussian 5", into="one", **first)
    assert "before" not in told(con, "age=gaussian 5", "share=cells 5", into="same", **first)
    for into, noise, options in [
        ("key", "age=gaussian 5", first | {"key_file": tmp_path / "other"}),
        ("scale", "age=gaussian 6", first),
        ("record", "age=gaussian 5", first | {"record": "name"}),
        ("none", "AGE=uniform 5", {"seed": None}),
    ]:
        text = told(con, noise, into=into, **options)
        assert "age of this table was randomized before" in text, into
        assert "this release and one" in text
    assert "before" not in told(con, "salary=gaussian 5", into="salaries")


# -- text that is carried ---------------------------------------------------------------------------


def test_text_is_carried_as_numbers_in_large_tables_and_reads_the_same(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute(
        'CREATE TABLE w AS SELECT id, age, if(id % 9 = 0, NULL, job) AS "a ""b", NULL::VARCHAR AS none, '
        "if(id % 2 = 0, 'B', 'a') AS \"case\", name FROM t"
    )
    carried = {"keep": ["id", 'a "b', "none", "case", "name"], "class_column": None}
    randomize(con, {"age": "gaussian 5"}, "w", into="plain", **carried)
    with mock.patch.multiple("ppdm_sql.methods.base.released_rows", WORTH_PACKING=0, MOST_PACKED=100):
        release = randomize(con, {"age": "gaussian 5"}, "w", into="packed", **carried)
    types = dict(row[:2] for row in con.execute("DESCRIBE ppdm.release_packed").fetchall())
    assert types['a "b'] == "ENUM('clerk', 'cook', 'nurse')"
    assert types["case"] == "ENUM('B', 'a')"
    assert types["none"] == types["name"] == "VARCHAR"  # no values, and too many
    assert con.execute("FROM packed").fetchall() == con.execute("FROM plain").fetchall()
    assert con.execute("DESCRIBE packed").fetchall() == con.execute("DESCRIBE plain").fetchall()
    assert release.verify().holds
