"""What a release, its exports, the messages and the logs must not tell."""

from __future__ import annotations

import logging
import random
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppdm_sql

HIDDEN = ["Hidden-Quokka-7731", "Hidden-Wombat-5512"]
SHOWN = ["Shown-Badger-1044", "Shown-Otter-9023", "Shown-Heron-3310"]
UNNAMED = "Unnamed-Column-of-Salaries"
CELL = "Cellmarker-Axolotl-4242"
FORMATS = ["duckdb", "parquet", "csv"]
REQUIRE = ["animal, town -> ill = yes <= 60%"]


def people() -> list[tuple[str | None, ...]]:
    """Records in which two animals, and one town, tell almost surely who is ill, in a fixed order."""
    rows: list[tuple[str | None, ...]] = []
    for number in range(400):
        animal = (HIDDEN + SHOWN)[number % 5]
        town = ["Hidden-Town-Ulm", "Shown-Town-Bern", None][number % 3]
        ill = number % 11 < 10 if animal in HIDDEN else number % (2 if town == "Hidden-Town-Ulm" else 7) == 0
        label = "good" if (number % 4 == 0) == (animal in SHOWN) else "bad"
        rows.append((animal, town, "yes" if ill else "no", label, f"Salary-Secret-{number}"))
    return rows


def load(connection: duckdb.DuckDBPyConnection, rows: list[tuple[str | None, ...]]) -> None:
    """The table ``people``; its animals are an ENUM, whose dictionary must not leave the house."""
    animals = ", ".join(f"'{value}'" for value in HIDDEN + SHOWN)
    connection.execute(f"CREATE TYPE animal AS ENUM ({animals})")
    connection.execute(
        f'CREATE TABLE people (animal animal, town VARCHAR, ill VARCHAR, label VARCHAR, "{UNNAMED}" VARCHAR)'
    )
    connection.execute(f"""COMMENT ON TABLE people IS 'about {HIDDEN[0]}'""")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)


def suppress(connection: duckdb.DuckDBPyConnection, **options: Any) -> Any:
    chosen: dict[str, Any] = {"require": REQUIRE, "class_column": "label", "into": "safe"} | options
    return ppdm_sql.open(connection).suppress("people", **chosen)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        load(opened, people())
        yield opened


def suppressed(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The distinctive values that the release does not show, by the release itself."""
    shown = {cell for row in connection.sql("SELECT animal, town FROM safe").fetchall() for cell in row}
    return sorted({*HIDDEN, *SHOWN, "Hidden-Town-Ulm", "Shown-Town-Bern"} - shown)


def secrets(connection: duckdb.DuckDBPyConnection) -> list[str]:
    hidden = suppressed(connection)
    assert set(HIDDEN) <= set(hidden)
    assert not set(SHOWN) <= set(hidden)
    return [*hidden, UNNAMED, "Salary-Secret"]


def everything_in(file: Path) -> str:
    """All that a reader of the exported file can see: cells, types, names, comments, metadata, texts."""
    with duckdb.connect() as reader:
        if file.suffix == ".duckdb":
            reader.execute(f"ATTACH '{file}' AS found (READ_ONLY)")
            reader.execute("USE found")
        name = str(file)
        queries = {
            ".csv": [f"FROM read_csv('{name}', header = false, all_varchar = true)"],
            ".parquet": [
                f"FROM '{name}'",
                f"DESCRIBE FROM '{name}'",
                f"SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('{name}')",
                f"FROM parquet_metadata('{name}')",
                f"FROM parquet_schema('{name}')",
            ],
            ".duckdb": _catalogue_queries(reader) if file.suffix == ".duckdb" else [],
        }
        return "\n".join(repr(reader.execute(query).fetchall()) for query in queries[file.suffix])


def _catalogue_queries(reader: duckdb.DuckDBPyConnection) -> list[str]:
    tables = reader.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'found'"
    ).fetchall()
    cells = [f'FROM found."{schema}"."{table}"' for schema, table in tables]
    functions = ["tables", "columns", "views", "types", "constraints", "indexes", "schemas", "sequences"]
    mine = [f"FROM duckdb_{name}() WHERE database_name = 'found'" for name in functions]
    storage = [f'FROM pragma_storage_info(\'found."{schema}"."{table}"\')' for schema, table in tables]
    macros = ["FROM duckdb_functions() WHERE database_name = 'found' AND NOT internal"]
    return cells + mine + storage + macros


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_holds_nothing_suppressed_or_unnamed(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, form: str
) -> None:
    release = suppress(connection)
    forbidden = secrets(connection)
    file = tmp_path / f"safe.{form}"
    release.export(str(file))
    content, visible = file.read_bytes(), everything_in(file)
    assert SHOWN[0] in visible or SHOWN[1] in visible or SHOWN[2] in visible
    for secret in forbidden:
        assert secret.encode() not in content
        assert secret not in visible


def test_an_exported_database_holds_one_table_and_no_more_in_the_oldest_storage(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    suppress(connection).export(str(tmp_path / "safe.duckdb"))
    with duckdb.connect(tmp_path / "safe.duckdb", read_only=True) as reader:
        ((schema, name, told),) = reader.execute(
            "SELECT schema_name, table_name, comment FROM duckdb_tables()"
        ).fetchall()
        assert (schema, name) == ("main", "safe") and told.startswith("PDA release")
        tags = reader.execute("SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal")
        assert tags.fetchall()[0][0].startswith("v1.0.0")
        for kind in ("views", "schemas", "types", "functions"):
            own = f"SELECT * FROM duckdb_{kind}() WHERE database_name = 'safe' AND NOT internal"
            assert reader.execute(own).fetchall() == [], kind
        assert reader.execute("FROM duckdb_sequences()").fetchall() == []


@pytest.mark.parametrize("kept", [(), ("town",)])
def test_the_order_of_a_release_is_a_function_of_its_values(tmp_path: Path, kept: tuple[str, ...]) -> None:
    contents = set()
    for seed in range(3):
        rows = people()
        random.Random(seed).shuffle(rows)
        file = tmp_path / f"{seed}.csv"
        with duckdb.connect(config={"threads": 1 + seed}) as opened:
            load(opened, rows)
            suppress(opened, keep=kept, require=["animal, town -> ill = yes <= 70%"]).export(str(file))
        contents.add(file.read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("preserve", ["true", "false"])
def test_the_order_of_a_large_release_is_a_function_of_its_values(tmp_path: Path, preserve: str) -> None:
    contents = set()
    for seed in range(2):
        with duckdb.connect(config={"threads": 4, "preserve_insertion_order": preserve}) as opened:
            opened.execute(
                """
                CREATE TABLE people AS
                SELECT
                    hash(i) % 9 AS animal, hash(i, 1) % 7 AS town, hash(i, 2) % 2 AS label,
                    if(hash(i, 3) % 11 < hash(i) % 9, 'yes', 'no') AS ill
                FROM range(400000) AS r (i) ORDER BY hash(i, 10 + $seed)
                """,
                {"seed": seed},
            )
            suppress(opened).export(str(tmp_path / f"{seed}.csv"))
        contents.add((tmp_path / f"{seed}.csv").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_the_search_for_leaks_finds_what_is_there(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, form: str
) -> None:
    file = tmp_path / f"raw.{form}"
    if form == "duckdb":
        connection.execute(f"ATTACH '{file}' AS raw; CREATE TABLE raw.people AS FROM people; DETACH raw")
    else:
        connection.execute(f"COPY people TO '{file}'")
    for secret in (*HIDDEN, UNNAMED, "Salary-Secret"):
        assert secret in everything_in(file)
        assert form == "parquet" or secret.encode() in file.read_bytes()  # Parquet compresses its pages


# -- messages and logs ----------------------------------------------------------------------------


@pytest.fixture
def marked() -> Iterator[duckdb.DuckDBPyConnection]:
    """Tables whose every text cell carries the marker, one for each way to fail."""
    with duckdb.connect() as opened:
        opened.execute(
            f"""
            CREATE TABLE people AS SELECT
                '{CELL}-animal-' || i % 3 AS animal, '{CELL}-town-' || i % 2 AS town,
                '{CELL}-ill-' || i % 2 AS ill, '{CELL}-label-' || i % 5 // 2 AS label,
                '{CELL}-count' AS words, i % 3 - 1 AS below, if(i % 2 = 0, NULL, 1) AS missing, i % 4 AS n,
                i + 0.5 AS part, if(i = 3, 'nan', '1')::DOUBLE AS odd
            FROM range(40) AS r (i);
            CREATE TABLE nobody AS FROM people LIMIT 0;
            CREATE TABLE starred AS SELECT * REPLACE (if(n = 0, '*', animal) AS animal) FROM people;
            CREATE VIEW broken AS SELECT * REPLACE (animal::INTEGER AS animal) FROM people;
            CREATE VIEW failing AS SELECT * REPLACE (error(animal) AS label) FROM people;
            CREATE TABLE dated AS SELECT *, DATE '2024-01-01' AS day FROM people;
            """
        )
        yield opened


def call(table: str = "people", **options: Any) -> Callable[[Any], object]:
    chosen: dict[str, Any] = {
        "require": ["animal, town -> ill <= 90%"],
        "class_column": "label",
        "into": "safe",
    }
    return lambda db: db.suppress(table, **(chosen | options))


FAILING: dict[str, Callable[[Any], object]] = {
    "unknown table": call("peeple"),
    "unknown column": call(class_column="lable"),
    "unknown column in a channel": call(require=["anymal -> ill <= 90%"]),
    "syntax": call(require=["animal -> -> ill"]),
    "two roles": call(class_column="ill"),
    "empty table": call("nobody"),
    "symbol in the data": call("starred"),
    "counts that are text": call(count_column="words"),
    "counts that are not whole": call(count_column="part"),
    "counts that are not numbers": call(count_column="odd"),
    "negative counts": call(count_column="below"),
    "missing counts": call(count_column="missing"),
    "a view that fails to cast": call("broken"),
    "a view that raises": call("failing"),
    "protected value of another type": call("dated", require=["animal -> day = notadate <= 90%"]),
    "no solution": call(require=["animal, town -> ill <= 1%"]),
    "no solution in k": call(require=["k >= 1000 on animal, town"]),
    "name taken": call(into="nobody"),
    "no such release": lambda db: db.release("saef"),
    "audit of a view that fails": lambda db: db.audit("broken", require=["k >= 2 on animal, town"]),
    "audit with bad counts": lambda db: db.audit("people", require=["k >= 2 on town"], count_column="words"),
    "audit of an unknown column": lambda db: db.audit("people", require=["k >= 2 on twon"]),
}


@pytest.mark.parametrize("name", FAILING)
def test_no_message_traceback_or_log_of_a_failure_holds_a_cell(
    marked: duckdb.DuckDBPyConnection, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ppdm_sql.PpdmError) as caught:
        FAILING[name](ppdm_sql.open(marked))
    told = [str(caught.value), repr(caught.value), *traceback.format_exception(caught.value), caplog.text]
    assert not any(CELL in text for text in told)


def test_no_log_of_a_run_that_succeeds_holds_a_cell(
    marked: duckdb.DuckDBPyConnection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    release = call(count_column="n")(ppdm_sql.open(marked))
    assert release.verify().holds  # type: ignore[attr-defined]
    assert any(record.name.startswith("ppdm_sql") for record in caplog.records)
    assert CELL not in caplog.text
