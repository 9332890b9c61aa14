"""Texts that stand for missing values, and dates as texts: told of with what to type, and read as said."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import ppdm_sql
from tests.support.commands import ppdm

ROWS = {
    'pay "x"': [f"{n}" if n % 4 else "N/A" for n in range(40)],
    "born": [f"{1 + n % 28:02}-{1 + n % 12:02}-19{50 + n}" if n % 4 else "N/A" for n in range(40)],
    "sex": ["f", "(null)", "m", "f"] * 10,
}


def csv(folder: Path) -> Any:
    pd.DataFrame(ROWS).to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def parquet(folder: Path) -> Any:
    pd.DataFrame(ROWS).to_parquet(folder / "t.parquet")
    return str(folder / "t.parquet")


def frame(_: Path) -> Any:
    return pd.DataFrame(ROWS)


def dictionary(_: Path) -> Any:
    return pd.DataFrame(ROWS).astype({"sex": "category"})


def table(_: Path) -> Any:
    return "t"


FORMS = (csv, parquet, frame, dictionary, table)


def audited(form: Callable[[Path], Any], folder: Path, **options: Any) -> tuple[list[Any], list[str]]:
    con = duckdb.connect()
    con.register("rows", pd.DataFrame(ROWS))
    con.execute("CREATE TABLE t AS FROM rows")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = ppdm_sql.open(con).audit(form(folder), **options).profile
    assert found is not None
    return [(c.type, c.values, c.nulls) for c in found.columns], [str(item.message) for item in told]


@pytest.mark.parametrize("form", FORMS)
def test_markers_are_read_as_null(form: Callable[[Path], Any], tmp_path: Path) -> None:
    columns, _ = audited(form, tmp_path)
    assert [nulls for _, _, nulls in columns] == [0, 0, 0]
    columns, _ = audited(form, tmp_path, nulls=["N/A", "(null)"], types={"born": "DATE %d-%m-%Y"})
    assert [values for _, values, _ in columns] == [30, 30, 2]
    assert [nulls for _, _, nulls in columns] == [10, 10, 10]
    assert [kind for kind, _, _ in columns][:2] == ["BIGINT" if form is csv else "VARCHAR", "DATE"]


def test_a_marker_that_looks_like_the_other_values_is_one(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age\n" + "30\n40\n" * 2_000 + "999\n")
    (column,) = ppdm_sql.open().audit(str(file), nulls="999").profile.columns
    assert (column.type, column.values, column.nulls) == ("BIGINT", 2, 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_marker_and_dates_are_told_with_the_option(form: Callable[[Path], Any], tmp_path: Path) -> None:
    _, told = audited(form, tmp_path)
    asks = [text for text in told if "in 10 records the text 'N/A'" in text]
    assert len(asks) == 2
    assert all("give --null N/A." in text for text in asks)
    assert sum("--types 'born=DATE %d-%m-%Y' reads them" in text for text in told) == 1
    _, told = audited(form, tmp_path, nulls="N/A", types={"born": "DATE %d-%m-%Y", 'pay "x"': "BIGINT"})
    assert told == []


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["17-08-1984", "01-02-1990"], ["'d=DATE %d-%m-%Y' reads them"]),
        (["17/08/1984", "1/2/1990"], ["'d=DATE %d/%m/%Y' reads them"]),
        (["08/17/1984", "02/01/1990"], ["'d=DATE %m/%d/%Y' reads them"]),
        (["17.08.1984", None], ["'d=DATE %d.%m.%Y' reads them"]),
        (["1984/08/17"], ["'d=DATE %Y/%m/%d' reads them"]),
        (["07-08-1984", "01-02-1990"], ["which do not show what comes first"]),
        (["17-08-1984", "08/17/1984"], []),  # no one form reads both
        (["17-08-1984", "08-17-1984"], []),
        (["31-02-1984"], []),
        (["1", "2", "3"], []),  # they may be codes
        ([*map(str, range(30))], ["Unless they are codes, give --types d=BIGINT to read them as numbers"]),
        ([*map(str, range(30)), "1.5", None], ["give --types d=DOUBLE to read them"]),
        ([*map(str, range(30)), "01"], []),
        ([*map(str, range(3_000)), "01"], []),  # far behind what is looked at first
        (
            ["1", "2", *[""] * 5],
            ["in 5 records the text ''. If it stands for a missing value, give --null ''."],
        ),
        (["1", "2", "Leutheusser"], ["in 1 record one text"]),  # one record's, so it is not shown
        (["1", "2", *["a,b"] * 5], ["in 5 records one text"]),
        (["1", "2", *["it's"] * 5], ["--null 'it'\"'\"'s'"]),
        (["1", "x", "y"], []),
        (["1", "x", "y", *["2"] * 9], []),  # of one record each
        (
            [*["n/a"] * 6, *["."] * 5, *["7"] * 20],
            ["in 11 records the texts '.' and 'n/a'. If they stand for missing values, give --null .,n/a."],
        ),
        (["1", "2", *["k.A."] * 5], ["give --null 'k.A.'."]),  # whose stop is not that of the sentence
        (["02139", "02140", *["02139-1234"] * 5], []),  # a longer code
        (["x", "y"], []),
    ],
)
def test_what_texts_show_is_told(texts: list[str | None], told: list[str]) -> None:
    con = duckdb.connect()
    con.register("rows", pd.DataFrame({"d": pd.Series(texts, dtype="string")}))
    con.execute("CREATE TABLE t AS FROM rows")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ppdm_sql.open(con).audit("t")
    messages = [str(item.message) for item in found]
    assert con.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(1,)]  # rows
    assert len(messages) == len(told), messages
    for text, wanted in zip(messages, told, strict=True):
        assert wanted in text
        assert "Leutheusser" not in text


def test_a_release_reads_its_source_again_with_the_same_markers(tmp_path: Path) -> None:
    file, db = csv(tmp_path), tmp_path / "o.duckdb"
    asked = ("--null", "N/A,(null)", "--class", "sex", "--require", 'k >= 5 on "pay ""x"""')
    made = ppdm("generalize", db, file, *asked, "--into", "safe")
    assert made.exit_code == 0, made.stderr
    with ppdm_sql.open(db) as opened:
        release = opened.release("safe")
        assert release.row().parameters["read"]["nulls"] == ["N/A", "(null)"]
        assert (None,) in release.relation().select("sex").fetchall()
    assert ppdm("evaluate", db, "safe", "--seeds", "1", "--folds", "2").exit_code == 0


def test_the_empty_text_is_a_marker_on_the_command_line(tmp_path: Path) -> None:
    with ppdm_sql.open(tmp_path / "o.duckdb", create=True) as db:
        db.engine.query(
            "CREATE TABLE t AS SELECT if(i % 4 = 0, '', i::VARCHAR) AS pay FROM range(40) r(i)", step=""
        )
    found = ppdm(
        "audit", tmp_path / "o.duckdb", "t", "--null", "", "--types", "pay=BIGINT", "--format", "json"
    )
    (column,) = json.loads(found.stdout)["Columns"]
    assert (column["type"], column["NULLs"]) == ("BIGINT", 10)


def test_a_call_in_sql_names_markers() -> None:
    con = duckdb.connect()
    ppdm_sql.register(con)
    con.register("rows", pd.DataFrame(ROWS))
    con.execute("CREATE TABLE t AS FROM rows")
    con.execute("CALL ppdm_suppress('t', 'safe', require := ['k >= 2 on sex'], nulls := ['(null)'])")
    assert sorted(con.execute("SELECT DISTINCT sex FROM safe").fetchall(), key=str) == [
        ("f",),
        ("m",),
        (None,),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_marker_that_occurs_nowhere_is_told(form: Callable[[Path], Any], tmp_path: Path) -> None:
    types = {"born": "DATE %d-%m-%Y", 'pay "x"': "BIGINT"}
    _, (notice,) = audited(form, tmp_path, nulls=["N/A", "n/a", "?"], types=types)
    assert "holds 'n/a' or '?', which was to stand for a missing value" in notice


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("%d-%m-%y", "--types 'seen=DATE %d-%m-%y' reads them. Years up to 68"),
        ("%m/%d/%y %H:%M:%S", "--types 'seen=TIMESTAMP %m/%d/%y %H:%M:%S' reads them. Years up to 68"),
        ("%d.%m.%Y %H:%M", "--types 'seen=TIMESTAMP %d.%m.%Y %H:%M' reads them."),
        ("%Y/%m/%d %H:%M", "--types 'seen=TIMESTAMP %Y/%m/%d %H:%M' reads them."),
    ],
)
def test_dates_with_short_years_and_times_are_told_with_what_reads_them(written: str, told: str) -> None:
    con = duckdb.connect()
    moments = "TIMESTAMP '1984-01-01 13:45:00' + to_days(11 * i::INTEGER)"
    con.execute(f"CREATE TABLE t AS SELECT strftime({moments}, '{written}') AS seen FROM range(60) AS r (i)")
    db = ppdm_sql.open(con)
    with pytest.warns(ppdm_sql.PpdmWarning) as heard:
        db.audit("t")
    (text,) = [str(item.message) for item in heard]
    assert told in text
    types = {"seen": text.partition("seen=")[2].partition("'")[0]}
    (column,) = db.audit("t", types=types).profile.columns
    assert (column.type, column.nulls, column.values) == (types["seen"].partition(" ")[0], 0, 60)


def test_dates_of_several_forms_are_told_of_none() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT ['17.08.84', '17.08.1984', '18.08.1984 13:45'][1 + i % 3] AS seen "
                "FROM range(60) AS r (i)")  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ppdm_sql.open(con).audit("t")
