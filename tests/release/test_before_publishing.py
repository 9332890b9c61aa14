"""What a steward looks at: kept columns that tell who a person is, who is alone, what stays whole."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm

import ppdm_sql
from ppdm_sql import Database
from ppdm_sql.audit import before_publishing
from ppdm_sql.errors import ColumnRoleError, UnknownColumn

K5 = "k >= 5 on age, zip"
ASKED: dict[str, dict[str, Any]] = {
    "suppress": {"require": [K5]},
    "generalize": {"require": [K5]},
    "swap": {"confidential": ["ill"], "by": ["age"], "proportion": 0.5, "seed": 1},
    "randomize": {"noise": {"age": "gaussian 10"}, "seed": 1},
}
SECRET = "Mr Nobody"
VISITS = f"""
    SELECT if(i = 0, '{SECRET}', 'person ' || i) AS "first ""name", 5000 + i AS "case no", 20 + i % 50 AS age,
        'z' || i % 6 AS zip, if(i % 3 = 0, 'yes', 'no') AS ill, i % 4 AS ward,
        (i * 7919) % 100003 / 100.0::DOUBLE AS charge, TIMESTAMP '2026-01-01' + to_minutes(i * 7) AS arrived,
        CASE WHEN i % 5 > 0 THEN i % 5 END AS stay, i // 2 AS patient
    FROM range(400) r (i)
"""


@pytest.fixture
def db() -> Database:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits AS {VISITS}")
    return ppdm_sql.open(connection)


def made(db: Database, method: str, **more: Any) -> ppdm_sql.Release:
    found: ppdm_sql.Release = getattr(db, method)("visits", into="safe", **ASKED[method], **more)
    return found


@pytest.mark.parametrize("method", ASKED)
def test_what_tells_who_a_person_is_is_kept_only_where_it_is_allowed(db: Database, method: str) -> None:
    kept = ['first "name', "case no", "arrived", "charge", "ward"]
    with pytest.raises(ColumnRoleError) as refused:
        made(db, method, keep=kept)
    said = str(refused.value)
    assert "'first \"name' looks like a direct identifier (400 of 400 values differ)" in said
    assert "'case no' looks like a direct identifier" in said
    assert "'arrived' is nearly unique (400 of 400 values differ)" in said
    assert "'charge'" not in said and "'ward'" not in said and SECRET not in said
    assert """--allow-identifier '"first ""name","case no",arrived'""" in said
    assert db.releases() == []
    release = made(db, method, keep=kept, allow_identifiers=kept[:3])
    assert release.row().parameters["allow_identifiers"] == kept[:3]
    assert set(kept) <= set(release.relation().columns)


def test_a_name_that_is_not_kept_or_not_there_cannot_be_allowed(db: Database) -> None:
    with pytest.raises(UnknownColumn, match="wrad"):
        made(db, "suppress", keep=["ward"], allow_identifiers=["wrad"])
    with pytest.raises(ColumnRoleError, match="'zip' is named by --allow-identifier, but is not to be kept"):
        made(db, "suppress", keep=["ward"], allow_identifiers=["zip"])


def test_few_records_are_refused_for_names_alone(db: Database) -> None:
    db.engine.connection.execute("CREATE TABLE few AS FROM visits LIMIT 19")
    with pytest.raises(ColumnRoleError, match="who a person is: 'first .name' looks like [^;]*$"):
        db.suppress("few", ["k >= 2 on zip"], keep=['first "name', "arrived"], into="safe")
    assert db.suppress("few", ["k >= 2 on zip"], keep=["arrived"], into="safe").verify().holds


def test_every_way_in_refuses(db: Database, tmp_path: Path) -> None:
    db.engine.connection.execute(f"COPY visits TO '{tmp_path}/v.csv'")
    words = ("--require", K5, "--keep", '"case no"', "--into", "safe")
    of = tmp_path / "x.duckdb", tmp_path / "v.csv"
    found = ppdm("generalize", *of, *words)
    assert found.exit_code == 2 and "'case no' looks like a direct identifier" in found.stderr
    assert ppdm("generalize", *of, *words, "--allow-identifier", '"case no"').exit_code == 0
    frame = db.engine.connection.sql("FROM visits").to_arrow_table()
    for run in (
        lambda: ppdm_sql.anonymize(frame, [K5], keep=["case no"]),
        lambda: db.compare("visits", quasi_identifier=["age"], k=[2, 5], keep=["case no"]),
    ):
        with pytest.raises(ColumnRoleError, match="'case no' looks"):
            run()
    ppdm_sql.register(db.engine.connection)
    call = "CALL ppdm_suppress('visits', 'safe', require := ['k >= 5 on age'], keep := ['case no'] {});"
    with pytest.raises(duckdb.Error, match="'case no' looks like a direct identifier"):
        db.engine.connection.execute(call.format(""))
    db.engine.connection.execute(call.format(", allow_identifier := ['case no']"))
    assert db.release("safe").verify().holds


def alone(release: ppdm_sql.Release, *columns: str) -> int:
    """Records whose values in some columns no other record has."""
    rows = release.relation().project(", ".join(f'"{name}"' for name in columns)).fetchall()
    return sum(records == 1 for records in Counter(rows).values())


def test_columns_that_single_people_out_beside_the_labels_are_named_with_the_share(db: Database) -> None:
    release = made(db, "generalize", keep=["charge", "ward"], class_column="ill")
    (said,) = [text for text in release.notices if "singled out" in text]
    assert alone(release, "age", "zip", "charge") == 400 > alone(release, "age", "zip", "ward", "ill")
    assert said.startswith("100 % of the records can be singled out: no other record has the same labels")
    assert "value of 'charge'. " in said
    db.release("safe").drop()
    release = made(db, "suppress", keep=["ward", "stay"], class_column="ill", max_steps=3)
    share = alone(release, "age", "zip", "ward", "stay", "ill")
    said = [text for text in release.notices if "singled out" in text]
    assert len(said) == (share >= 20)


@pytest.mark.parametrize(("records", "told"), [(76, False), (74, True)])
def test_who_is_alone_is_told_from_a_share_on(db: Database, records: int, told: bool) -> None:
    """Of 1,500 - n records five in a hundred are alone, or not quite; NULL is a value like others."""
    db.engine.connection.execute(
        "CREATE TABLE t AS SELECT 1 AS q, if(i < $n, CAST(i AS VARCHAR) || '.5', NULL)::DECIMAL(9, 1) AS pay "
        "FROM range(1500) r (i)",
        {"n": 150 - records},
    )
    release = db.suppress("t", ["k >= 2 on q"], keep=["pay"], into="safe")
    assert any("'pay'" in text for text in release.notices) == told


def test_a_person_is_alone_with_all_rows_and_a_count_is_of_records(db: Database) -> None:
    asked: dict[str, Any] = {"require": ["k >= 2 on q"], "keep": ["ward"]}
    db.engine.connection.execute(
        "CREATE TABLE p AS SELECT 1 AS q, i // 2 AS patient, i // 2 AS ward FROM range(400) r (i);"
        "CREATE TABLE c AS SELECT 1 AS q, i AS ward, if(i < 10, 1, 2) AS n FROM range(100) r (i)"
    )
    assert not any("singled" in text for text in db.suppress("p", into="rows", **asked).notices)
    said = db.suppress("p", into="persons", person="patient", **asked).notices
    assert any("no other person has the same labels and the same value of 'ward'" in text for text in said)
    said = db.suppress("c", into="counted", count_column="n", **asked).notices
    assert any(text.startswith("5.26 % of the records can be singled out") for text in said)


def test_masked_columns_that_stay_whole_are_named(db: Database) -> None:
    release = made(db, "suppress", max_steps=0)
    said = [text for text in release.notices if "the same in every row" in text]
    assert said == [
        "Columns 'age', 'zip' show the same in every row; of each, the run ended before its first step. "
        "To show more, let it go on."
    ]
    db.release("safe").drop()
    db.engine.connection.execute("CREATE TABLE n AS SELECT if(i < 9, NULL, 'x') AS q FROM range(20) r (i)")
    assert db.suppress("n", ["k >= 5 on q"], into="safe").notices == ()


def test_a_table_that_is_too_small_is_told_before_the_search(db: Database) -> None:
    db.engine.connection.execute("CREATE TABLE s AS FROM visits LIMIT 63")
    asked = "k >= 5 on age, zip, ward, stay, ill"
    said = next(text for text in db.suppress("s", [asked], into="safe").notices if "records make" in text)
    assert said.startswith("63 records make at most 12 classes of 5, fewer than the 32 combinations of two ")
    assert not any("at most" in text for text in db.suppress("visits", [asked], into="large").notices)


def test_the_run_and_show_give_the_notices_as_data(tmp_path: Path) -> None:
    file = tmp_path / "x.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE visits AS {VISITS}")
    words = ("--require", K5, "--keep", "charge", "--into", "safe", "--format", "json")
    ran = ppdm("suppress", file, "visits", *words)
    told = [row["notice"] for row in json.loads(ran.stdout)["notices"]]
    assert told and all(f"Note: {text}" in ran.stderr for text in told)
    shown = json.loads(ppdm("show", file, "safe", "--format", "json").stdout)["release"]
    assert [row["value"] for row in shown if row["what"] == "notice"] == told


def test_whom_left_out_records_are_is_for_the_owner_alone(db: Database, tmp_path: Path) -> None:
    """Of the town of few all are left out; of the others none, and their labels stay."""
    pytest.importorskip("vl_convert")
    connection = db.engine.connection
    connection.execute(
        "CREATE TABLE towns AS SELECT if(i < 4, 'Hidden <b>', 'Town ' || i % 3) AS town, i % 2 AS ill, "
        "(i * 7919) % 100003 / 100.0::DOUBLE AS pay FROM range(200) r (i)"
    )
    release = db.suppress(
        "towns", ["k >= 5 on town"], class_column="ill", keep=["pay"], suppress_records="2%", into="safe"
    )
    said = next(text for text in release.notices if "left out" in text)
    assert said.startswith("4 of 200 records (2 %) are left out.") and "Hidden" not in said
    for public in (False, True):
        release.report(tmp_path / f"{public}.html", public=public)
        page = (tmp_path / f"{public}.html").read_text("utf-8")
        assert "of the records can be singled out" in page and "value of &#39;pay&#39;" in page
        assert ("Hidden &lt;b&gt;" in page) == (not public)
        assert ("Records left out, by value" in page) == (not public)
    release.export(tmp_path / "safe.csv")
    assert "Hidden" not in (tmp_path / "safe.csv").read_text("utf-8")


def test_the_owner_reads_where_the_masked_columns_do_more_harm_than_good(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    from ppdm_sql.report import writing

    made(db, "suppress", keep=["ward"], class_column="ill")
    for removed, told in ((20.0, True), (30.0, False)):
        errors = {"BE": 10.0, "SE": 25.0, "RE": removed, "majority": 33.0}
        monkeypatch.setattr(writing, "errors_of", lambda *_, found=errors: found)
        for public in (False, True):
            db.release("safe").report(tmp_path / "page.html", public=public, force=True)
            page = (tmp_path / "page.html").read_text("utf-8")
            assert ("do more harm than good" in page) == (told and not public)


def test_lists_structs_and_columns_of_nothing_are_looked_at(db: Database) -> None:
    db.engine.connection.execute(
        "CREATE TABLE odd AS SELECT i % 3 AS q, [i, i + 1] AS pair, {'x': i % 2} AS inner, NULL AS void, "
        "if(i % 2 = 0, 'nan'::DOUBLE, i) AS real FROM range(60) r (i)"
    )
    with pytest.raises(ColumnRoleError, match="'pair' is nearly unique"):
        db.suppress("odd", ["k >= 2 on q"], keep=["pair", "inner", "void", "real"], into="safe")
    asked: dict[str, Any] = {"keep": ["pair", "inner", "void", "real"], "allow_identifiers": ["pair"]}
    assert db.suppress("odd", ["k >= 2 on q"], into="safe", **asked).verify().holds


def test_a_table_elsewhere_is_judged_by_counts_and_hands_no_values_over(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(kept: list[str]) -> str:
        with pytest.raises(ColumnRoleError) as error:
            made(db, "suppress", keep=kept)
        return str(error.value).split("(")[0]

    monkeypatch.setattr(before_publishing, "is_stand_in", lambda *_: True)
    monkeypatch.setattr("ppdm_sql.audit.profiling.column_profiles", None)
    assert refused(["ward", 'first "name', "charge"]).endswith(
        "'first \"name' looks like a direct identifier "
    )
    assert refused(["arrived"]).endswith("'arrived' is nearly unique ")
    assert made(db, "suppress", keep=["ward", "stay", "charge"]).verify().holds
