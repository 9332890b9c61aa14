"""A model predicts for a table of Spark as for its twin in DuckDB, and its records stay there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import ppdm
from spark_tables import ODD

from ppdm_sql import Database
from ppdm_sql import open as ppdm_open
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource, NameTaken
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.release.placing import Placing

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]

QUOTED = ODD.replace('"', '""')
PEOPLE = f"""
SELECT
    i AS id,
    CASE WHEN i % 50 = 0 THEN NULL ELSE 20 + i * 7919 % 60 END::INTEGER AS age,
    CASE WHEN i % 90 = 0 THEN 'NaN' WHEN i % 91 = 0 THEN '-0.0' ELSE i * 104729 % 9973 / 7 END::DOUBLE AS pay,
    ['cl\\erk', 'Clerk', 'it''s {{0}} "`', 'é', NULL][1 + i * 31 % 5] AS "{QUOTED}",
    DATE '2020-01-01' + (i % 40)::INTEGER AS day,
    (i % 7)::DECIMAL(9, 2) AS amount,
    (20 + i * 7919 % 60 > 40)::INT + (i * 104729 % 9973 > 4000)::INT + (i * 31 % 5 = 2)::INT > 1 AS risk
FROM range(800) r(i)
"""


@pytest.fixture
def people(ledger: Database, parquet: Parquet) -> str:
    """The same records in Spark and, as the table ``here``, in DuckDB."""
    folder = parquet("people", PEOPLE)
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    return folder


@pytest.fixture
def model(ledger: Database, people: str) -> Model:
    asked: dict[str, Any] = {"class_column": "risk", "mode": "original", "columns": ["age", "pay", ODD]}
    return ledger.train("here", into="m", min_split=5, **asked)


def test_rows_and_types_are_those_of_a_table_in_duckdb(
    ledger: Database, people: str, model: Model, tmp_path: Path
) -> None:
    there = ledger.predict(model, people, into="there", to=str(tmp_path / "it's out"))
    twin = ledger.predict(model, "here", into="twin")
    assert there.classes == twin.classes and len(there.classes) == 2
    assert (there.to, there.is_view, twin.is_view) == (str(tmp_path / "it's out"), True, False)
    con = ledger.engine.connection
    assert con.sql("DESCRIBE there").fetchall() == con.sql("DESCRIBE twin").fetchall()
    assert con.sql("FROM there EXCEPT ALL FROM twin").fetchall() == []
    assert con.sql("SELECT count(*) FROM there").fetchall() == [(800,)]
    tables = con.sql("SELECT table_name FROM duckdb_tables() WHERE table_name IN ('there', 'pending')")
    assert tables.fetchall() == []


def test_chosen_columns_and_a_name_of_the_users(
    ledger: Database, people: str, model: Model, tmp_path: Path
) -> None:
    ledger.predict(model, people, into="few", keep=["ID", ODD], column='said "so"', to=str(tmp_path / "o"))
    assert ledger.engine.connection.sql("FROM few").columns == ["id", ODD, 'said "so"']


def test_a_table_of_duckdb_can_be_written_too(ledger: Database, model: Model, tmp_path: Path) -> None:
    made = ledger.predict(model, "here", into="twice", keep=["id"], to=str(tmp_path / "twice"))
    assert (made.to, made.is_view) == (str(tmp_path / "twice"), False)
    written = f"FROM read_parquet('{tmp_path}/twice/*.parquet')"
    assert ledger.engine.connection.sql(f"FROM twice EXCEPT ALL {written}").fetchall() == []


def left(ledger: Database, folder: Path) -> list[str]:
    views = ledger.engine.connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    notes = ledger.engine.connection.sql(
        "SELECT table_name FROM duckdb_tables() WHERE table_name = 'pending'"
    ).fetchall()
    return [*(name for (name,) in [*views, *notes]), *(item.name for item in folder.iterdir())]


def test_a_place_is_needed_in_which_the_ledger_can_read(
    ledger: Database, people: str, model: Model, tmp_path: Path
) -> None:
    folder = tmp_path / "places"
    folder.mkdir()
    with pytest.raises(InvalidOption, match="nothing says where their classes go"):
        ledger.predict(model, people, into="p")
    with pytest.raises(InvalidOption, match="not the plain path of a folder"):
        ledger.predict(model, people, into="p", to=str(folder / "[a]"))
    with pytest.raises(InvalidOption, match="not the plain path of a folder"):
        ledger.predict(model, people, into="p", to="some_table")
    assert left(ledger, folder) == []
    (folder / "there").mkdir()
    with pytest.raises(NameTaken):
        ledger.predict(model, people, into="p", to=str(folder / "there"))


def test_what_fails_leaves_nothing(
    ledger: Database, people: str, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "places"
    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(Placing, "files", (), raising=False)
        patch.setattr(Placing, "_written", lambda self: [])
        with pytest.raises(GuaranteeNotMet, match="not as many rows"):
            ledger.predict(model, people, into="p", to=str(folder / "out"))
    assert left(ledger, folder) == []
    give_name = Placing.give_name

    def cut_short(self: Placing) -> None:
        give_name(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Placing, "give_name", cut_short)
        with pytest.raises(KeyboardInterrupt):
            ledger.predict(model, people, into="p", to=str(folder / "out"))
    ledger.predict(model, people, into="p", to=str(folder / "out"))
    assert [item.name for item in folder.iterdir()] == ["out"]


def test_a_number_where_the_model_takes_texts_is_refused(
    ledger: Database, model: Model, parquet: Parquet, tmp_path: Path
) -> None:
    numbers = parquet("numbers", f'SELECT 30 AS age, 5.0::DOUBLE AS pay, 7 AS "{QUOTED}"')
    with pytest.raises(InvalidSource, match="something else"):
        ledger.predict(model, numbers, into="p", to=str(tmp_path / "out"))


def test_the_command_says_where_the_rows_are(people: str, spark_url: str, tmp_path: Path) -> None:
    file = tmp_path / "models.duckdb"
    with ppdm_open(file, create=True) as db:
        db.train(f"{people}/*.parquet", class_column="risk", mode="original", columns=["age"], into="m")
    words = ["predict", str(file), "m", people, "--spark", spark_url, "--keep", "id", "--into", "classes"]
    done = ppdm(*words, "--to", str(tmp_path / "classes"))
    assert done.exit_code == 0, done.output
    assert f"Made view classes: 800 rows.\nWrote {tmp_path / 'classes'}: 800 rows." in done.output
    refused = ppdm(*words[:-1], "others")
    assert refused.exit_code == 2 and "nothing says where their classes go" in refused.output
