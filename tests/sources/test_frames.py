"""Frames where a table's name may stand, and back: pandas, polars, Arrow, DuckDB relations."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql import Database, InvalidSource, PpdmError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

CELL = "Leutheusser"
ROWS = {"sex": ["f", "m"] * 10, "age": [20 + number % 4 for number in range(20)], "ill": ["a", "b"] * 10}
FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": lambda rows: pd.DataFrame(rows),
    "polars": lambda rows: pl.DataFrame(rows),
    "lazy polars": lambda rows: pl.LazyFrame(rows),
    "Arrow table": lambda rows: pa.table(rows),
    "record batch": lambda rows: pa.record_batch(rows),
    "reader": lambda rows: pa.table(rows).to_reader(),
    "relation": lambda rows: duckdb.connect().from_arrow(pa.table(rows)),
}


@pytest.fixture
def db() -> Database:
    return ppdm_sql.open(duckdb.connect())


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """The rows of a frame of any kind, sorted."""
    if hasattr(frame, "collect"):
        frame = frame.collect()
    found = (
        frame if isinstance(frame, duckdb.DuckDBPyRelation) else duckdb.connect().from_arrow(as_arrow(frame))
    )
    return sorted(found.fetchall())


def as_arrow(frame: Any) -> Any:
    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pl.DataFrame):
        return frame.to_arrow()
    return frame.read_all() if hasattr(frame, "read_all") else pa.table(frame)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_same_kind_of_frame_comes_back(form: Callable[..., Any]) -> None:
    given = form(ROWS)
    back = ppdm_sql.anonymize(given, ["k >= 10 on sex"], class_column="ill", keep="age")
    assert type(back) is type(given)
    assert sorted(row[1:] for row in rows_of(back)) == sorted(zip(ROWS["age"], ROWS["ill"], strict=True))


@pytest.mark.parametrize("form", ["pandas", "reader", "file"])
def test_every_method_takes_what_is_no_table(db: Database, tmp_path: Path, form: str) -> None:
    file = str(tmp_path / "rows.csv")
    pd.DataFrame(ROWS).to_csv(file, index=False)

    def made() -> Any:
        return file if form == "file" else FORMS[form](ROWS)

    assert db.audit(made(), ["k on sex"], population=made(), quasi_identifier="sex").risks
    types, noise = {"sex": "VARCHAR"}, {"age": "uniform 5"}
    assert db.suppress(made(), ["k >= 2 on sex"], class_column="ill", into="s", types=types).row().rows == 20
    assert db.generalize(made(), ["k >= 2 on age"], class_column="ill", into="g").row().rows == 20
    assert db.swap(made(), confidential="ill", by=["age"], proportion=0.5, into="w").row().rows == 20
    assert db.randomize(made(), noise=noise, into="r").row().rows == 20
    db.reconstruct(made(), noise=noise, ranges={"age": (0, 40)}, into="d")
    model = db.train(made(), class_column="ill", mode="original", test=made(), into="m")
    assert sum(db.predict(model, made(), into="p").classes.values()) == 20
    assert db.apply("s", made(), into="a").rows == 20
    kept = db.engine.connection.execute("SELECT count(*) FROM duckdb_views() WHERE view_name LIKE 'ppdm_%'")
    assert kept.fetchall() == [(0,)]
    assert [table.name for table in db.engine.tables() if table.catalog == "temp"] == []


def test_the_catalogue_says_that_a_frame_is_not_kept(db: Database) -> None:
    release = db.suppress(pd.DataFrame(ROWS), ["k >= 2 on sex"], class_column="ill", into="s")
    assert release.row().source == "pandas data frame"
    with pytest.raises(InvalidSource, match=r"a frame in memory \(pandas data frame\), is not kept"):
        db.evaluate("s")


def test_a_frame_is_evaluated() -> None:
    found = ppdm_sql.evaluate(
        pl.DataFrame(ROWS), ["k >= 15 on sex"], class_column="ill", method="pda", test=pa.table(ROWS), seeds=1
    )
    assert [found.rate(error).mean for error in ("BE", "SE")] == [0.0, 50.0]


def test_a_table_called_as_a_frame_is_left_alone(db: Database) -> None:
    con = db.engine.connection
    con.execute('CREATE TABLE "pandas data frame" AS SELECT 1 AS a')
    release = db.suppress(pd.DataFrame(ROWS), ["k >= 2 on sex"], class_column="ill", into="s")
    assert release.row().source == "pandas data frame 2"
    assert con.execute('FROM "pandas data frame"').fetchall() == [(1,)]


ODD = {
    "a number for a name": (lambda: pd.DataFrame([[CELL]]), "named by an int, not by a text"),
    "none for a name": (lambda: pd.DataFrame([[CELL]], columns=[None]), "not by a text"),
    "two levels": (
        lambda: pd.DataFrame([[CELL]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        "a tuple, not by a text",
    ),
    "an empty name": (lambda: pd.DataFrame([[CELL]], columns=[""]), "no usable name"),
    "the same name": (lambda: pd.DataFrame([[CELL, 1]], columns=["a", "a"]), "two columns called 'a'"),
    "case": (lambda: pa.table([[CELL], [1]], names=["a", "A"]), "two columns called 'a'"),
    "no columns": (lambda: pd.DataFrame(), "has no columns"),
    "no frame": (lambda: [CELL], "not as a list"),
    "numpy": (lambda: pd.DataFrame({"a": [CELL]}).to_numpy(), "not as an? ndarray"),
    "no rows": (lambda: pa.table({"sex": pa.array([], pa.string())}), "no records"),
}


@pytest.mark.parametrize(("made", "problem"), ODD.values(), ids=ODD)
def test_an_odd_frame_is_an_error_without_a_cell(db: Database, made: Callable[[], Any], problem: str) -> None:
    for call in (
        lambda: db.audit(made(), ["k on sex"]),
        lambda: ppdm_sql.anonymize(made(), [], class_column="a"),
    ):
        with pytest.raises(PpdmError) as caught:
            call()
        assert CELL not in str(caught.value)
    with pytest.raises(PpdmError, match=problem):
        db.audit(made(), ["k on sex"])


def test_cells_that_cannot_be_read_are_not_in_the_error(db: Database) -> None:
    class Odd:
        def __repr__(self) -> str:
            return CELL

    broken = pd.DataFrame({"sex": pd.array(["1", CELL], dtype="string")})
    for frame, types in ((broken, {"sex": "BIGINT"}), (pd.DataFrame({"sex": [Odd(), 1j]}), {"sex": "DATE"})):
        with pytest.raises(PpdmError) as caught:
            db.audit(frame, ["k on sex"], types=types)
        assert CELL not in str(caught.value)


def test_what_could_not_be_read_can_be_read_the_next_time(db: Database, tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 4})
    frame.to_csv(tmp_path / "t.csv", index=False)
    db.engine.connection.execute("CREATE TABLE t AS FROM read_csv(?)", [str(tmp_path / "t.csv")])
    for source in ("t", str(tmp_path / "t.csv"), frame):
        with pytest.raises(ppdm_sql.InvalidSource):
            db.audit(source, ["k on sex"], types={"sex": "BIGINT"})
        assert db.audit(source, ["k >= 4 on sex"]).holds
        assert not db.engine.given


def test_a_relation_with_types_that_arrow_lacks_is_read_on_its_own_connection(db: Database) -> None:
    con = db.engine.connection
    con.execute("CREATE TEMP TABLE t AS SELECT (i % 2)::HUGEINT AS h, uuid() AS u FROM range(8) r (i)")
    release = db.suppress(con.table("t"), ["k >= 2 on h"], class_column="u", into="s")
    assert [str(kind) for kind in release.relation().types] == ["HUGEINT", "UUID"]


def test_nothing_is_needed_that_the_user_does_not_have() -> None:
    code = (
        "import sys, pyarrow as pa\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pandas', 'polars'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import ppdm_sql\n"
        "t = pa.table({'a': [1, 2], 'b': ['x', 'y']})\n"
        "print(ppdm_sql.anonymize(t, ['k >= 2 on a'], class_column='b').num_rows)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (run.stdout, run.returncode) == ("2\n", 0), run.stderr
