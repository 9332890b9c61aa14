"""Publishing, earlier states, verification, export and removal of releases, on drafts made by hand."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from drafts import make_draft, quote

from ppdm_sql.engine import Engine
from ppdm_sql.errors import EngineError, GuaranteeNotMet, InvalidOption, NameTaken, UnknownRelease
from ppdm_sql.privacy import KAnonymity, Template
from ppdm_sql.release import Draft, Release, ReleasedColumn, check_free, get, publish, releases

SECRET = "Secret-Numbat-8813"
HOSTILE = ['a "b"', "it's", '"; DROP TABLE people; --', "select", "Größe ✓", "a.b", "step", "with space"]
HOSTILE += ["release", "f"]
RESERVED = (
    "select from current_date case values left interval date table order group all end unnest struct map"
)
RESERVED += (
    " row cast not null true default position lateral qualify offset limit window is in COLUMNS array tb_l"
)


CUSTOMERS = """
CREATE TABLE IF NOT EXISTS people AS SELECT * FROM (VALUES
    ('Cook', 'US', 'Current', 'Bad', 4), ('Artist', 'France', 'Current', 'Good', 1),
    ('Artist', 'France', 'Current', 'Bad', 3), ('Doctor', 'US', 'Never', 'Good', 4),
    ('Doctor', 'US', 'Never', 'Bad', 2), ('Trader', 'UK', 'Discharged', 'Good', 4),
    ('Trader', 'UK', 'Never', 'Good', 1), ('Trader', 'Canada', 'Never', 'Good', 1),
    ('Clerk', 'Canada', 'Never', 'Good', 3), ('Clerk', 'Canada', 'Discharged', 'Good', 1)
) AS t(Job, Country, Bankruptcy, Rating, n)
"""
AFTER_CLERK_AND_CANADA = """
SELECT CASE Job WHEN 'Clerk' THEN Job ELSE '*' END AS Job,
    CASE Country WHEN 'Canada' THEN Country ELSE '*' END AS Country,
    Bankruptcy, Rating, sum(n)::BIGINT AS n
FROM people GROUP BY ALL ORDER BY ALL
"""
CUSTOMER_COLUMNS = [
    ("Job", "suppressed"),
    ("Country", "suppressed"),
    ("Bankruptcy", "sensitive"),
    ("Rating", "class"),
    ("n", "count"),
]
HALF = Template(("Job", "Country"), "Bankruptcy", ("Discharged",), Fraction(1, 2))


def customers(engine: Engine, **changes: Any) -> Draft:
    """The bank customers of the PDA paper after disclosing Clerk and Canada (its Figure 2)."""
    engine.connection.execute(CUSTOMERS)
    draft = make_draft(
        engine,
        AFTER_CLERK_AND_CANADA,
        CUSTOMER_COLUMNS,
        24,
        requirements=(HALF,),
        steps=[(1, "Job", ["Clerk"]), (2, "Country", ["Canada"])],
        cuts=[("Job", "Clerk", "Clerk"), ("Job", "Cook", "*"), ("Country", "Canada", "Canada")],
        count="n",
    )
    return replace(draft, **changes)


@pytest.fixture
def engine() -> Engine:
    return Engine(duckdb.connect())


def everything(engine: Engine) -> list[Any]:
    """All objects of the database, comments and catalogue rows included, working tables left out."""
    parts = [
        "SELECT schema_name, table_name, comment, sql FROM duckdb_tables() WHERE NOT temporary ORDER BY ALL",
        "SELECT schema_name, view_name, comment, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
        "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
        "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal ORDER BY ALL",
    ]
    found = [engine.connection.execute(part).fetchall() for part in parts]
    tables = engine.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ppdm' ORDER BY 1"
    ).fetchall()
    return found + [engine.connection.execute(f"FROM ppdm.{quote(t)}").fetchall() for (t,) in tables]


# -- publishing -----------------------------------------------------------------------------------


def test_a_release_is_a_view_over_a_frozen_table_with_its_row_in_the_catalogue(engine: Engine) -> None:
    release = publish(engine, customers(engine))
    rows = engine.connection.execute("FROM safe").fetchall()
    assert rows == engine.connection.execute('FROM ppdm."release_safe"').fetchall()
    assert rows == release.relation().fetchall()
    assert rows == engine.connection.execute(AFTER_CLERK_AND_CANADA).fetchall()
    row = release.row()
    assert (row.release, row.method, row.source, row.rows) == ("safe", "PDA", "people", 24)
    assert (row.verified, row.stopped) == (True, "complete")
    assert row.requirements == (str(HALF),)
    assert row.parameters["class"] == "Rating"
    assert releases(engine) == [row]
    first, second = release.steps()
    assert (first.step, first.attribute, first.parent, first.children) == (1, "Job", "*", ("Clerk",))
    assert (second.score, second.gain, second.loss) == (0.5, 0.25, 0.125)
    assert release.measures() == [("confidence", 0.8, 0.25), ("rows changed", None, 19.0)]
    assert engine.connection.execute("SELECT count(*) FROM ppdm.cuts").fetchall() == [(3,)]


def test_the_catalogue_has_the_columns_of_the_design(engine: Engine) -> None:
    publish(engine, customers(engine))
    found = {
        name: [row[0] for row in engine.connection.execute(f"DESCRIBE ppdm.{name}").fetchall()]
        for name in ("releases", "steps", "cuts", "measures")
    }
    releases_columns = ["release", "method", "source", "requirements", "parameters", "rows", "verified"]
    assert found == {
        "releases": [*releases_columns, "stopped", "created_at", "version"],
        "steps": ["release", "step", "attribute", "parent", "children", "score", "gain", "loss"],
        "cuts": ["release", "attribute", "value", "generalized"],
        "measures": ["release", "measure", "before", "after"],
    }


def test_a_release_that_breaks_its_requirement_leaves_all_as_it_was(engine: Engine) -> None:
    draft = customers(engine, requirements=(replace(HALF, threshold=Fraction(1, 5)),))
    before = everything(engine)
    with pytest.raises(GuaranteeNotMet, match=r"25 %.*20 %.*nothing was published"):
        publish(engine, draft)
    assert everything(engine) == before
    assert releases(engine) == []
    publish(engine, customers(engine))
    before = everything(engine)
    with pytest.raises(GuaranteeNotMet, match="class of 1 records where a class of 2"):
        publish(engine, customers(engine, name="other", requirements=(KAnonymity(2, ("Job", "Country")),)))
    assert everything(engine) == before


@pytest.mark.parametrize(
    "change",
    [
        {"number": 25},
        {"columns": tuple(ReleasedColumn(*column) for column in CUSTOMER_COLUMNS[:-1]), "count": None},
        {"select": "SELECT Job, Country, Bankruptcy, Rating, n, 'x' AS extra FROM people ORDER BY ALL"},
    ],
)
def test_rows_that_are_not_what_the_method_promised_are_refused(
    engine: Engine, change: dict[str, Any]
) -> None:
    draft = customers(engine, **change)
    before = everything(engine)
    with pytest.raises(GuaranteeNotMet, match="nothing was published"):
        publish(engine, draft)
    assert everything(engine) == before


def test_an_interrupt_in_the_middle_publishes_nothing(engine: Engine) -> None:
    draft = customers(engine)
    before = everything(engine)
    seen: list[str] = []

    def interrupt(sql: str) -> None:
        seen.append(sql)
        if sql.startswith("CREATE MACRO"):
            raise KeyboardInterrupt

    engine.tracer = interrupt
    with pytest.raises(KeyboardInterrupt):
        publish(engine, draft)
    engine.tracer = None
    assert any(sql.startswith("CREATE VIEW") for sql in seen)
    assert everything(engine) == before


def test_a_dry_engine_shows_every_statement_and_changes_nothing(engine: Engine) -> None:
    draft = customers(engine)
    before, shown = everything(engine), []
    engine.dry, engine.tracer = True, shown.append
    publish(engine, draft)
    engine.dry, engine.tracer = False, None
    assert everything(engine) == before
    starts = ["BEGIN", "CREATE TABLE", "CREATE VIEW", "CREATE MACRO", "COMMENT", "COMMIT"]
    assert all(any(sql.startswith(start) for sql in shown) for start in starts)
    assert sum("INSERT INTO ppdm." in sql for sql in shown) == 4


def test_an_enum_is_published_as_text_without_its_dictionary(engine: Engine, tmp_path: Path) -> None:
    engine.connection.execute(f"CREATE TYPE mood AS ENUM ('calm', '{SECRET}')")
    select = (
        "SELECT 'calm'::mood AS mood, ['calm'::mood] AS moods, "
        "{'m': 'calm'::mood, 'odd \"x\"': 1} AS pair FROM range(3)"
    )
    columns = [("mood", "kept"), ("moods", "kept"), ("pair", "kept")]
    release = publish(engine, make_draft(engine, select, columns, 3))
    assert [str(kind) for kind in release.relation().types][:2] == ["VARCHAR", "VARCHAR[]"]
    assert release.relation().fetchall() == [("calm", ["calm"], {"m": "calm", 'odd "x"': 1})] * 3
    for form in ("parquet", "csv", "duckdb"):
        release.export(tmp_path / f"x.{form}")
        assert SECRET.encode() not in (tmp_path / f"x.{form}").read_bytes()


def test_comments_tell_the_method_and_the_treatment_and_nothing_of_the_source(engine: Engine) -> None:
    publish(engine, customers(engine))
    found = engine.connection.execute(
        "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'safe' ORDER BY column_index"
    ).fetchall()
    assert [name for name, comment in found if comment] == ["Job", "Country", "Bankruptcy", "Rating", "n"]
    queries = [
        "SELECT comment FROM duckdb_tables() WHERE table_name = 'release_safe'",
        "SELECT concat(comment, sql) FROM duckdb_views() WHERE view_name = 'safe'",
        "SELECT concat(comment, macro_definition) FROM duckdb_functions() WHERE function_name = 'safe_at'",
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'safe'",
    ]
    texts = " ".join(str(row) for query in queries for row in engine.connection.execute(query).fetchall())
    assert texts.count("PDA release") == 3
    for word in ("people", "Clerk", "Canada", "Discharged", "Cook", "Child"):
        assert word not in texts


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "taken",
    [
        "CREATE TABLE SAFE (a INTEGER)",
        "CREATE VIEW Safe AS SELECT 1 AS a",
        "CREATE TEMP TABLE safe (a INTEGER)",
        "CREATE MACRO SAFE_at(x) AS TABLE SELECT 1 AS a",
        "CREATE SCHEMA ppdm; CREATE TABLE ppdm.release_Safe (a INTEGER)",
    ],
)
def test_a_name_that_is_taken_is_refused_in_any_spelling(engine: Engine, taken: str) -> None:
    draft = customers(engine)
    engine.connection.execute(taken)
    before = everything(engine)
    with pytest.raises(NameTaken):
        check_free(engine, "safe")
    with pytest.raises(NameTaken):
        publish(engine, draft)
    assert everything(engine) == before


def test_a_release_is_never_replaced_even_from_another_schema(engine: Engine) -> None:
    publish(engine, customers(engine))
    engine.connection.execute("CREATE SCHEMA shop; USE shop")
    with pytest.raises(NameTaken, match="release 'safe'"):
        check_free(engine, "SAFE")


def test_a_release_whose_table_somebody_dropped_still_has_its_name(engine: Engine) -> None:
    publish(engine, customers(engine))
    engine.connection.execute("DROP VIEW safe; DROP TABLE ppdm.release_safe; DROP MACRO TABLE safe_at")
    with pytest.raises(NameTaken):
        check_free(engine, "Safe")
    assert not get(engine, "safe").verify().holds
    get(engine, "safe").drop()
    check_free(engine, "safe")


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_is_none_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidOption):
        check_free(engine, name)


def test_names_of_the_catalogue_are_free_for_releases(engine: Engine) -> None:
    for name in ("releases", "steps", "cuts", "measures", "ppdm"):
        assert publish(engine, customers(engine, name=name)).verify().holds
    assert len(releases(engine)) == 5


def test_a_database_called_like_the_schema_is_refused(tmp_path: Path) -> None:
    engine = Engine(duckdb.connect(tmp_path / "ppdm.duckdb"))
    with pytest.raises(InvalidOption, match="Rename the file"):
        publish(engine, customers(engine))


def test_an_unknown_release_is_named_with_those_that_exist(engine: Engine) -> None:
    with pytest.raises(UnknownRelease, match="Nothing is published"):
        get(engine, "safe")
    publish(engine, customers(engine))
    assert get(engine, "SAFE").name == "safe"
    with pytest.raises(UnknownRelease, match="safe"):
        get(engine, "safer")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_release_and_columns(engine: Engine, tmp_path: Path, name: str) -> None:
    engine.connection.execute("CREATE TABLE people AS SELECT 1 AS a")
    masked, kept = f"{name} masked", name
    select = (
        f"SELECT * FROM (VALUES ('*', 1), ('{SECRET}', 2), (NULL, 3)) AS v({quote(masked)}, {quote(kept)}) "
        "ORDER BY ALL"
    )
    draft = make_draft(
        engine,
        select,
        [(masked, "suppressed"), (kept, "kept")],
        3,
        name=name,
        requirements=(KAnonymity(1, (masked, kept)),),
        steps=[(1, masked, [SECRET]), (2, masked, [None])],
    )
    release = publish(engine, draft)
    assert release.verify().holds
    at = engine.connection.execute(f"FROM {quote(name + '_at')}(1)")
    assert [column[0] for column in at.description] == [masked, kept]
    assert at.fetchall() == [("*", 1), ("*", 3), (SECRET, 2)]
    assert release.at(0).fetchall() == [("*", 1), ("*", 2), ("*", 3)]
    assert sorted(release.partitions().fetchall(), key=str) == [("*", 1), (SECRET, 1), (None, 1)]
    file = tmp_path / "x.duckdb"
    release.export(file)
    with duckdb.connect(file) as reader:
        rows = reader.execute(f"FROM {quote(name)}").fetchall()
    assert rows == release.relation().fetchall()
    release.drop()
    assert releases(engine) == []
    assert engine.connection.execute("FROM people").fetchall() == [(1,)]


def test_columns_called_like_keywords_are_verified(engine: Engine) -> None:
    select = "SELECT " + ", ".join(f"'*' AS {quote(name)}" for name in RESERVED.split())
    draft = make_draft(engine, select, [(name, "suppressed") for name in RESERVED.split()], 1, name="order")
    release = publish(engine, draft)
    assert release.verify().holds
    assert release.at(0).fetchall() == [("*",) * len(RESERVED.split())]


def test_a_partition_column_gives_way_to_a_column_of_the_release(engine: Engine) -> None:
    select = "SELECT '*' AS records, '*' AS protected_1, 'yes' AS ill FROM range(3)"
    columns = [("records", "suppressed"), ("protected_1", "suppressed"), ("ill", "sensitive")]
    template = Template(("records", "protected_1"), "ill", ("yes",), Fraction(1))
    release = publish(engine, make_draft(engine, select, columns, 3, requirements=(template,)))
    found = release.partitions()
    assert found.columns == ["records", "protected_1", "records_", "protected_1_"]
    assert found.fetchall() == [("*", "*", 3, 3)]


# -- states and partitions ------------------------------------------------------------------------


def test_partitions_are_those_of_the_paper(engine: Engine) -> None:
    release = publish(engine, customers(engine))
    assert release.protected() == (("Bankruptcy", "Discharged"),)
    assert release.partitions(0).fetchall() == [("*", "*", 24, 5)]
    assert release.partitions(1).fetchall() == [("*", "*", 20, 4), ("Clerk", "*", 4, 1)]
    figure_2 = [("*", "*", 19, 4), ("*", "Canada", 1, 0), ("Clerk", "Canada", 4, 1)]
    assert release.partitions(2).fetchall() == figure_2
    assert release.partitions().fetchall() == figure_2
    assert release.partitions().columns == ["Job", "Country", "records", "protected_1"]


def test_the_macro_gives_every_state_regrouped_by_its_counts(engine: Engine) -> None:
    release = publish(engine, customers(engine))
    for step in range(4):
        rows = engine.connection.execute(f"FROM safe_at({step})").fetchall()
        assert rows == release.at(step).fetchall()
        assert sum(row[-1] for row in rows) == 24
        assert len({row[:-1] for row in rows}) == len(rows)
    last = engine.connection.execute("FROM safe_at(99)").fetchall()
    assert sorted(last) == sorted(release.relation().fetchall())
    assert ("*", "*", "Discharged", "Good", 5) in engine.connection.execute("FROM safe_at(0)").fetchall()


@pytest.mark.parametrize("step", ["-1", "NULL", "step := -1"])
def test_a_state_before_the_first_is_an_error(engine: Engine, step: str) -> None:
    release = publish(engine, customers(engine))
    with pytest.raises(duckdb.Error, match="Steps count from 0"):
        engine.connection.execute(f"FROM safe_at({step})").fetchall()
    with pytest.raises(InvalidOption):
        release.at(-1)


def numbers(engine: Engine) -> Release:
    """A whole column of numbers, disclosed 7 first, then 8 and NULL at once; another column never masked."""
    select = "SELECT * FROM (VALUES (7, 'a'), (8, 'b'), (8, 'a'), (NULL, 'a')) AS v(x, y) ORDER BY ALL"
    columns = [("x", "suppressed"), ("y", "kept")]
    return publish(
        engine, make_draft(engine, select, columns, 4, steps=[(1, "x", ["7"]), (2, "x", ["8", None])])
    )


def test_several_children_null_and_numbers_come_back_step_by_step(engine: Engine) -> None:
    release = numbers(engine)
    assert [str(kind) for kind in release.relation().types] == ["INTEGER", "VARCHAR"]
    assert release.at(0).fetchall() == [("*", "a"), ("*", "a"), ("*", "a"), ("*", "b")]
    assert release.at(1).fetchall() == [("*", "a"), ("*", "a"), ("*", "b"), ("7", "a")]
    assert release.at(2).fetchall() == [("7", "a"), ("8", "a"), ("8", "b"), (None, "a")]
    assert release.steps()[1].children == ("8", None)
    assert release.partitions(1).fetchall() == [("*", 3), ("7", 1)]
    assert release.partitions().fetchall() == [(7, 1), (8, 2), (None, 1)]


def test_a_release_without_masked_columns_is_one_partition_and_one_state(engine: Engine) -> None:
    release = publish(engine, make_draft(engine, "SELECT 1 AS a FROM range(3)", [("a", "kept")], 3))
    assert release.partitions().fetchall() == [(3,)]
    assert release.at(0).fetchall() == [(1,)] * 3
    assert release.verify().holds


# -- files ----------------------------------------------------------------------------------------


def on_file(path: Path, work: Callable[[Engine], Any], **options: Any) -> Any:
    with duckdb.connect(path, **options) as connection:
        return work(Engine(connection))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file made for DuckDB 1.0, with a release published in it."""
    path = tmp_path / "bank.duckdb"
    old = {"storage_compatibility_version": "v1.0.0"}
    on_file(path, lambda engine: publish(engine, customers(engine)), config=old)
    return path


def test_view_macro_and_handle_work_after_reopening_read_only(file: Path) -> None:
    def read(engine: Engine) -> None:
        assert len(engine.connection.execute("FROM safe").fetchall()) == len(
            get(engine, "safe").at(9).fetchall()
        )
        assert engine.connection.execute("SELECT sum(n) FROM safe_at(1)").fetchall() == [(24,)]
        assert get(engine, "safe").verify().holds

    on_file(file, read, read_only=True)


def test_view_and_macro_work_after_the_file_was_renamed(file: Path) -> None:
    moved = file.rename(file.with_name("main.duckdb"))

    def read(engine: Engine) -> None:
        assert engine.connection.execute("SELECT sum(n) FROM safe").fetchall() == [(24,)]
        assert engine.connection.execute("SELECT sum(n) FROM safe_at(0)").fetchall() == [(24,)]
        assert get(engine, "safe").verify().holds
        publish(engine, customers(engine, name="second")).drop()
        get(engine, "safe").drop()
        assert releases(engine) == []

    on_file(moved, read)


def test_the_view_can_be_read_where_the_file_is_attached(file: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("ATTACH '" + str(file).replace("'", "''") + "' AS bank_ro (READ_ONLY)")
        assert connection.execute("SELECT sum(n) FROM bank_ro.safe").fetchall() == [(24,)]


def test_publishing_keeps_the_storage_version_of_the_file(file: Path) -> None:
    def version(engine: Engine) -> Any:
        query = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 'bank'"
        return engine.connection.execute(query).fetchall()

    before = on_file(file, version)
    on_file(file, lambda engine: publish(engine, customers(engine, name="second")))
    assert on_file(file, version) == before
    assert before[0][0].startswith("v1.0.0")


def test_the_catalogue_is_that_of_the_current_database_and_the_view_of_the_current_schema(
    file: Path, tmp_path: Path
) -> None:
    def use(engine: Engine) -> None:
        engine.connection.execute(f"ATTACH '{tmp_path}/other.duckdb' AS other; CREATE SCHEMA other.shop")
        engine.connection.execute("USE other.shop")
        assert releases(engine) == []
        release = publish(engine, customers(engine))
        assert release.verify().holds
        assert engine.connection.execute("SELECT sum(n) FROM other.shop.safe").fetchall() == [(24,)]
        assert engine.connection.execute("SELECT sum(n) FROM safe_at(1)").fetchall() == [(24,)]
        engine.connection.execute("USE other.main")
        assert get(engine, "safe").verify().holds
        get(engine, "safe").drop()
        assert engine.connection.execute("FROM bank.ppdm.releases").fetchall()

    on_file(file, use)


# -- verification ---------------------------------------------------------------------------------

TAMPERING = [
    "UPDATE ppdm.release_safe SET Bankruptcy = 'Discharged' WHERE Job = 'Clerk'",
    "UPDATE ppdm.release_safe SET Job = 'Cook' WHERE Job = '*'",
    "UPDATE ppdm.release_safe SET Job = NULL WHERE Job = '*'",
    "ALTER TABLE ppdm.release_safe ADD COLUMN name VARCHAR",
    "ALTER TABLE ppdm.release_safe RENAME COLUMN Job TO Work",
    "DELETE FROM ppdm.release_safe WHERE Job = 'Clerk'",
    "DELETE FROM ppdm.release_safe",
    "INSERT INTO ppdm.release_safe SELECT * FROM ppdm.release_safe LIMIT 1",
    "CREATE OR REPLACE VIEW safe AS SELECT Job, Country, Bankruptcy, Rating, n FROM people",
    "CREATE OR REPLACE VIEW safe AS SELECT f.* FROM ppdm.release_safe AS f WHERE f.n > 1",
    "DROP VIEW safe",
    "DROP VIEW safe; DROP TABLE ppdm.release_safe",
]


@pytest.mark.parametrize("change", TAMPERING)
def test_tampering_is_found_and_what_is_left_is_not_exported(
    engine: Engine, tmp_path: Path, change: str
) -> None:
    release = publish(engine, customers(engine))
    assert release.verify().holds
    engine.connection.execute(change)
    assert not release.verify().holds
    assert any(False in row for table in release.verify().tables() for row in table.rows)
    with pytest.raises(GuaranteeNotMet):
        release.export(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_cannot_be_read_are_an_error_in_words(engine: Engine) -> None:
    release = publish(engine, customers(engine))
    engine.connection.execute("DROP VIEW safe; DROP TABLE ppdm.release_safe")
    with pytest.raises(EngineError, match="Run ppdm verify"):
        release.relation()


# -- removal --------------------------------------------------------------------------------------


def test_a_dropped_release_leaves_the_others_alone(engine: Engine) -> None:
    publish(engine, customers(engine, name="first"))
    before = everything(engine)
    publish(engine, customers(engine)).drop()
    assert everything(engine) == before
    assert [row.release for row in releases(engine)] == ["first"]
    with pytest.raises(UnknownRelease):
        get(engine, "safe")


@pytest.mark.parametrize("listed", [Release.steps, Release.measures])
@pytest.mark.parametrize("catalogue", [True, False])
def test_a_release_that_is_gone_lists_nothing(
    engine: Engine, listed: Callable[[Release], object], catalogue: bool
) -> None:
    release = publish(engine, customers(engine))
    assert listed(release)
    release.drop()
    if not catalogue:
        engine.connection.execute("DROP SCHEMA ppdm CASCADE")
    with pytest.raises(UnknownRelease):
        listed(release)


def test_a_view_or_table_put_in_the_place_of_a_release_survives_the_drop(engine: Engine) -> None:
    release = publish(engine, customers(engine))
    engine.connection.execute("DROP VIEW safe; CREATE TABLE safe AS SELECT 42 AS a")
    release.drop()
    assert engine.connection.execute("FROM safe").fetchall() == [(42,)]
    assert releases(engine) == []


def test_a_drop_on_a_dry_engine_shows_what_it_would_do(engine: Engine) -> None:
    release = publish(engine, customers(engine))
    before, shown = everything(engine), []
    engine.dry, engine.tracer = True, shown.append
    release.drop()
    assert everything(engine) == before
    assert sum(sql.startswith(("DROP", "DELETE")) for sql in shown) == 8


# -- export ---------------------------------------------------------------------------------------

ODD_CELLS = [
    ("=1+1", "", 1.5),
    ("+x", None, -1.0),
    ("-x", 'quo"te', None),
    ("@x", "comma, line\nbreak", 0.0),
    ("\tx", "Größe ✓", 2.0),
    ("plain", "*", 3.0),
]


def odd(engine: Engine) -> Release:
    """A release in a deliberate order, with text that CSV and spreadsheets find hard."""
    engine.connection.execute(
        "CREATE TABLE odd_cells (a VARCHAR, b VARCHAR, c DOUBLE, hidden_column VARCHAR)"
    )
    engine.connection.executemany(f"INSERT INTO odd_cells VALUES (?, ?, ?, '{SECRET}')", ODD_CELLS)
    columns = [("a", "kept"), ("b", "kept"), ("c", "kept")]
    return publish(engine, make_draft(engine, "SELECT a, b, c FROM odd_cells ORDER BY c DESC", columns, 6))


READERS = {
    "csv": "SELECT * FROM read_csv('{}', allow_quoted_nulls = false)",
    "parquet": "SELECT * FROM read_parquet('{}')",
}


def read_back(path: Path, form: str) -> list[Any]:
    with duckdb.connect() as reader:
        if form == "duckdb":
            reader.execute("ATTACH '" + str(path).replace("'", "''") + "' AS found (READ_ONLY)")
            return reader.execute("FROM found.safe").fetchall()
        return reader.execute(READERS[form].format(str(path).replace("'", "''"))).fetchall()


@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb"])
def test_an_export_reads_back_equal_and_in_order_and_holds_nothing_else(
    engine: Engine, tmp_path: Path, form: str
) -> None:
    release = odd(engine)
    path = tmp_path / f'it\'s "odd".{form}'
    release.export(path)
    assert read_back(path, form) == release.relation().fetchall()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    content = path.read_bytes()
    for word in (SECRET, "hidden_one", "odd_cells", "release_safe", "people"):
        assert word.encode() not in content


@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb"])
def test_an_export_works_from_a_read_only_file(file: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / f"out.{form}"
    on_file(file, lambda engine: get(engine, "safe").export(target), read_only=True)
    assert sum(row[-1] for row in read_back(target, form)) == 24
    assert sorted(found.name for found in tmp_path.iterdir()) == ["bank.duckdb", target.name]


def test_csv_tells_null_from_empty_text(engine: Engine, tmp_path: Path) -> None:
    odd(engine).export(tmp_path / "x.txt", format="CSV")
    lines = (tmp_path / "x.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "a,b,c"
    assert '=1+1,"",1.5' in lines
    assert "+x,,-1.0" in lines


def test_formula_safe_csv_quotes_text_that_looks_like_a_formula(engine: Engine, tmp_path: Path) -> None:
    select = """SELECT a AS "=a", a::BLOB AS b, c FROM odd_cells ORDER BY c"""
    odd(engine)
    columns = [("=a", "kept"), ("b", "kept"), ("c", "kept")]
    publish(engine, make_draft(engine, select, columns, 6, name="risky")).export(
        tmp_path / "x.csv", formula_safe=True
    )
    with duckdb.connect() as reader:
        found = reader.execute(f"FROM read_csv('{tmp_path}/x.csv', all_varchar = true)")
        assert [column[0] for column in found.description] == ["'=a", "b", "c"]
        rows = {row[0]: row[1:] for row in found.fetchall()}
    assert set(rows) == {"'=1+1", "'+x", "'-x", "'@x", "'\tx", "plain"}
    assert rows["'=1+1"] == ("'=1+1", "1.5")
    assert rows["'+x"][1] == "-1.0"


def test_an_export_overwrites_only_when_forced(engine: Engine, tmp_path: Path) -> None:
    release, path = odd(engine), tmp_path / "x.csv"
    path.write_text("mine")
    with pytest.raises(NameTaken, match="--force"):
        release.export(path)
    assert path.read_text() == "mine"
    release.export(path, force=True)
    assert read_back(path, "csv") == release.relation().fetchall()


def test_a_database_that_is_open_is_never_overwritten(file: Path) -> None:
    before = file.read_bytes()

    def overwrite(engine: Engine) -> None:
        with pytest.raises(NameTaken, match="open here"):
            get(engine, "safe").export(file, force=True)

    on_file(file, overwrite, read_only=True)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("x.txt", {}),
        ("x", {}),
        ("x.csv", {"format": "xlsx"}),
        ("missing/x.csv", {}),
        ("folder.csv", {}),
        ("x.parquet", {"formula_safe": True}),
    ],
)
def test_an_export_that_cannot_be_is_refused_in_words(
    engine: Engine, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidOption):
        odd(engine).export(tmp_path / name, force=True, **options)
    assert [found.name for found in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb"])
def test_an_export_that_fails_at_the_last_moment_leaves_no_file(
    engine: Engine, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        assert [found.suffix for found in tmp_path.iterdir()] == [".part"]
        raise OSError(errno.ENOSPC, "no space left")

    release = odd(engine)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EngineError, match=r"The disk is full.*, where [0-9.]+ [kMG]?B"):
        release.export(tmp_path / f"x.{form}")
    assert list(tmp_path.iterdir()) == []
    databases = engine.connection.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal")
    assert databases.fetchall() == [(1,)]


def test_an_export_that_the_engine_refuses_leaves_no_file(engine: Engine, tmp_path: Path) -> None:
    release = odd(engine)
    engine.connection.execute("SET enable_external_access = false")
    for form in ("csv", "parquet", "duckdb"):
        with pytest.raises(EngineError):
            release.export(tmp_path / f"x.{form}")
    assert list(tmp_path.iterdir()) == []


# -- another DuckDB -------------------------------------------------------------------------------

OTHER_PYTHON = os.environ.get("PPDM_OLDEST_PYTHON", "")


@pytest.mark.skipif(not OTHER_PYTHON, reason="PPDM_OLDEST_PYTHON names no Python with the oldest DuckDB")
def test_view_and_macro_work_in_the_oldest_duckdb_without_this_package(file: Path) -> None:
    read = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True);"
        "print(c.execute('SELECT sum(n) FROM safe').fetchall(), c.execute('FROM safe_at(0)').fetchall())"
    )
    done = subprocess.run([OTHER_PYTHON, "-c", read, str(file)], capture_output=True, text=True, check=True)
    with duckdb.connect(file, read_only=True) as connection:
        here = connection.execute("FROM safe_at(0)").fetchall()
    assert done.stdout.strip() == f"[(24,)] {here}"
    assert sys.executable != OTHER_PYTHON
