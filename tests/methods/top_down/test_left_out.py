"""Records left out: what is refused, what is said, what no file shows, and what the audit finds out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.methods.top_down import outcome, run
from ppdm_sql.methods.top_down.constraints import Allowance

PLANTED = ["Planted-Wolverine", "Planted-Job", "987654321", "Planted-Kept", "2099-12-31"]
"""Values that only records in bad classes hold."""


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE people AS SELECT ['Otter', 'Badger', 'Heron'][1 + i % 3] AS animal, "
            "['cook', 'clerk', 'judge', 'guard'][1 + i % 4] AS job, 20 + (i * 7) % 10 AS age, "
            "DATE '2020-01-01' + (i % 4)::INTEGER AS seen, 'plain' AS note, "
            "CASE WHEN (i % 3 = 0) = (i % 40 > 20) THEN 'good' ELSE 'bad' END AS label FROM range(600) t(i)"
        )
        opened.execute(
            "INSERT INTO people SELECT 'Planted-Wolverine', 'Planted-Job', 987654321, DATE '2099-12-31', "
            "'Planted-Kept', ['good', 'bad'][1 + i % 2] FROM range(2) t(i)"
        )
        yield opened


JOBS = {"any": {"kitchen": ["cook", "Planted-Job"], "office": ["clerk", "judge"], "gate": ["guard"]}}


def generalize(connection: duckdb.DuckDBPyConnection, **options: Any) -> Any:
    chosen: dict[str, Any] = {
        "require": ["k >= 5 on animal, age, seen"],
        "class_column": "label",
        "keep": ["note"],
        "into": "safe",
        "suppress_records": "2%",
    }
    return ppdm_sql.open(connection).generalize("people", **(chosen | options))


def measures(release: Any) -> dict[str, float | None]:
    return {item.measure: item.after for item in release.measures()}


# -- what is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"suppress_records": "100%"}, "not a share in [0, 1)"),
        ({"suppress_records": -0.1}, "not a share in [0, 1)"),
        ({"suppress_records": 5}, "--suppress-records 5 is not a share in [0, 1). Write it as"),
        ({"suppress_records": "5"}, "Write it as --suppress-records 5% for 5 in a hundred."),
        ({"suppress_records": "1e-9999999999"}, "'1e-9999999999' is not a share. Write it as"),
        ({"max_steps": -1}, "--max-steps -1 is not a number of steps"),
        ({"suppress_records": "some"}, "--suppress-records 'some' is not a share. Write it as"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(
    connection: duckdb.DuckDBPyConnection, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidOption) as refused:
        generalize(connection, **options)
    assert words in str(refused.value)


def test_a_share_is_exact_and_of_the_records() -> None:
    assert Allowance.of("1/3").most(10) == 3
    assert Allowance.of(0.29).most(100) == 29
    assert not Allowance.of("0%").share


def test_where_too_many_would_have_to_go_the_error_says_how_many(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(GuaranteeNotMet, match=r"602 records are in classes .* 2% of the records are 12"):
        generalize(connection, require=["k >= 700 on animal, age, seen"])


def test_a_count_column_counts_records(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE counted AS SELECT animal, age, seen, note, label, count(*) n FROM people GROUP BY ALL"
    )
    plain = generalize(connection)
    counted = ppdm_sql.open(connection).generalize(
        "counted",
        ["k >= 5 on animal, age, seen"],
        class_column="label",
        keep=["note"],
        into="safe_counted",
        suppress_records="2%",
        count_column="n",
    )
    assert [step.children for step in counted.steps()] == [step.children for step in plain.steps()]
    assert counted.row().left_out == plain.row().left_out
    assert connection.sql("SELECT sum(n) FROM safe_counted").fetchall() == [(plain.row().rows,)]


# -- what is said ---------------------------------------------------------------------------------


def test_the_release_says_how_many_are_left_out(connection: duckdb.DuckDBPyConnection) -> None:
    release = generalize(connection)
    row = release.row()
    left = row.left_out
    assert left is not None and 2 <= left <= 12
    assert row.rows == 602 - left == len(release.relation().fetchall())
    assert row.parameters["suppress_records"] == "2%"
    found = measures(release)
    assert found["records left out"] == left
    of = "animal, age, seen"
    assert (found[f"smallest class: k >= 5 on {of}"] or 0) >= 5
    assert (found[f"conditional entropy, records left out as one class: {of}"] or 0) > 0
    hidden = found["generalized information loss"] or 0.0
    assert found["detail kept"] == pytest.approx((1 - hidden) * row.rows / 602)
    assert release.verify().holds


def test_without_the_option_nothing_is_said_of_it(connection: duckdb.DuckDBPyConnection) -> None:
    release = generalize(connection, suppress_records=0)
    assert release.row().left_out is None
    assert not {"suppress_records", "records_left_out"} & release.row().parameters.keys()
    assert "records left out" not in measures(release)


def test_a_table_that_is_nearly_good_is_released_whole_but_for_its_outliers(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    release = ppdm_sql.open(connection).suppress(
        "people",
        ["k >= 5 on animal, job"],
        class_column="label",
        into="whole",
        suppress_records="1%",
    )
    rows = connection.sql("SELECT DISTINCT animal, job FROM whole").fetchall()
    assert release.row().left_out == 2
    assert len(rows) == 12
    assert not any("*" in row for row in rows)


# -- what is not told -----------------------------------------------------------------------------


def everything(connection: duckdb.DuckDBPyConnection) -> str:
    """All that the file tells of the release, the owner's schema among it."""
    parts = [connection.sql("FROM safe").fetchall(), connection.sql("FROM safe_at(1)").fetchall()]
    tables = connection.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ppdm'").fetchall()
    parts += [connection.sql(f'FROM ppdm."{name}"').fetchall() for (name,) in tables]
    for catalogue in ("duckdb_functions", "duckdb_views", "duckdb_types", "duckdb_columns"):
        parts.append(connection.sql(f"SELECT t::VARCHAR FROM {catalogue}() AS t").fetchall())
    return repr(parts)


@pytest.mark.parametrize("packed", [False, True])
def test_no_value_of_a_record_left_out_is_anywhere_in_the_release(
    connection: duckdb.DuckDBPyConnection, packed: bool
) -> None:
    """The taxonomy is the owner's own, and says of a value that it could be there, not that it is."""
    worth = 0 if packed else 10**9
    with mock.patch("ppdm_sql.methods.base.released_rows.WORTH_PACKING", worth):
        release = generalize(connection, identifiers={"job": "pseudonym"}, interval_columns=True)
    assert release.row().left_out >= 2
    connection.execute("DROP TABLE people")
    told = everything(connection)
    assert [value for value in PLANTED if value in told] == []
    assert "Otter" in told


@pytest.mark.parametrize("suffix", ["duckdb", "parquet", "csv", "html"])
def test_no_file_that_is_handed_out_holds_such_a_value(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, suffix: str
) -> None:
    release = generalize(connection)
    file = tmp_path / f"out.{suffix}"
    if suffix == "html":
        release.report(file, public=True)
    else:
        release.export(file)
    data = file.read_bytes()
    assert [value for value in PLANTED if value.encode() in data] == []


def test_a_taxonomy_stays_whole_and_no_label_is_shown_for_what_is_left_out(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    release = generalize(connection, require=["k >= 5 on job, age"], taxonomies={"job": JOBS})
    assert {"Planted-Job"} <= {node.label for node in release.taxonomy("job")}
    shown = connection.sql("SELECT DISTINCT job FROM safe").fetchall()
    assert ("Planted-Job",) not in shown
    assert "Planted-Job" not in repr(connection.sql("SELECT value FROM ppdm.cuts").fetchall())


# -- what the audit finds out ---------------------------------------------------------------------


def kept_where(condition: str) -> Any:
    """Let the method keep the atoms of good classes only where a condition holds."""
    honest = outcome._kept_rows

    def dishonest(engine: Any, atoms: Any, *rest: Any) -> Any:
        table, _ = honest(engine, atoms, *rest)
        changed = engine.materialize("changed", f"SELECT * FROM {table} WHERE {condition}")
        ((records,),) = engine.query(f"SELECT sum(n)::BIGINT FROM {changed}", step="records")
        return changed, records

    return mock.patch.object(outcome, "_kept_rows", dishonest)


def with_one_more_value() -> Any:
    """Let the cut record a value that only records left out have."""
    real = run.cut_rows

    def rows(engine: Any, outcome: Any) -> Any:
        more = f"SELECT * FROM {real(engine, outcome)} UNION ALL SELECT 'animal', 'Planted-Wolverine', '*'"
        return engine.materialize("more_cuts", more)

    return mock.patch.object(run, "cut_rows", rows)


@pytest.mark.parametrize(
    ("fault", "words", "share"),
    [
        (lambda: kept_where("NOT (c1 = 0)"), "records show what the source does not say", "2%"),
        (lambda: mock.patch.object(run, "kept_records", lambda _, whole, *__: whole), "", "2%"),
        (with_one_more_value, "the cut of", "2%"),
        (
            lambda: mock.patch.object(Allowance, "most", lambda self, records: records // 4),
            "more than may be left out",
            "0.1%",
        ),
    ],
    ids=["a record lacks", "bad classes are kept", "the cut tells more", "too many are left out"],
)
def test_the_audit_refuses_what_a_faulty_method_keeps(
    connection: duckdb.DuckDBPyConnection, fault: Any, words: str, share: str
) -> None:
    with fault(), pytest.raises(GuaranteeNotMet, match=words):
        generalize(connection, suppress_records=share)


# -- what is made of it ---------------------------------------------------------------------------


def test_numbers_that_are_all_disclosed_are_found_again_beside_the_symbol() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i % 5 AS x, i % 2 AS y, i % 2 AS label FROM range(300) r(i)")
    connection.execute("INSERT INTO t VALUES (99, 0, 0), (99, 1, 1)")
    db = ppdm_sql.open(connection)
    release = db.suppress("t", ["k >= 5 on x, y"], class_column="label", into="r", suppress_records="5%")
    assert str(release.relation().types[0]) == "BIGINT"
    applied = db.apply(release, "t", into="again")
    assert (applied.rows, release.row().rows) == (300, 300)


def test_new_records_of_unknown_classes_are_left_out_and_counted(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    generalize(connection)
    connection.execute("CREATE TABLE newer AS FROM people WHERE animal = 'Otter' LIMIT 7")
    connection.execute("INSERT INTO newer FROM people WHERE animal = 'Planted-Wolverine'")
    kept = connection.sql("SELECT count(*) FROM newer AS n WHERE animal = 'Otter'").fetchall()[0][0]
    applied = ppdm_sql.open(connection).apply("safe", "newer", into="newer_safe")
    assert applied.rows + applied.left_out == kept + 2
    assert applied.left_out >= 2
    assert "987654321" not in repr(connection.sql("FROM newer_safe").fetchall())
    classes = connection.sql("SELECT DISTINCT animal, age, seen FROM newer_safe")
    known = connection.sql("SELECT DISTINCT animal, age, seen FROM safe")
    assert set(classes.fetchall()) <= set(known.fetchall())


def test_earlier_states_keep_the_promise_and_show_the_same_records(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    release = generalize(connection)
    for step in range(len(release.steps()) + 1):
        sizes = connection.sql(f"SELECT count(*) FROM safe_at({step}) GROUP BY animal, age, seen").fetchall()
        assert min(sizes) >= (5,)
        assert sum(size for (size,) in sizes) == release.row().rows


def test_an_evaluation_says_that_records_are_missing(connection: duckdb.DuckDBPyConnection) -> None:
    pytest.importorskip("sklearn")
    generalize(connection)
    with pytest.warns(UserWarning, match="records are left out of safe"):
        found = ppdm_sql.open(connection).evaluate("safe", folds=2, seeds=1)
    assert found.rate("SE").mean < 60


def test_no_record_is_left_out_to_make_the_others_purer() -> None:
    """Names are unique, so a disclosure shows nobody anything: it would only drop a record of a class."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE visits AS SELECT if(i % 2 = 0, 'F', 'M') AS sex, 'n' || i AS name, "
            "if(i % 10 = 0, 'yes', 'no') AS back FROM range(400) r (i)"
        )
        release = ppdm_sql.open(con).suppress(
            "visits", ["k >= 5 on sex, name"], class_column="back", suppress_records="5%", into="safe"
        )
        assert [step.attribute for step in release.steps()] == ["sex", "sex"]
        assert release.row().parameters["records_left_out"] == 0
