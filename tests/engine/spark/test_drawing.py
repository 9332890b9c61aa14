"""Noise that is drawn on the executors is the noise that DuckDB draws, and no record comes back for it."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from spark_tables import ODD

from ppdm_sql import Database
from ppdm_sql.engine.keys import new_key
from ppdm_sql.engine.places import FolderOfRows
from ppdm_sql.engine.source import stand_in
from ppdm_sql.engine.spark import source
from ppdm_sql.engine.spark.dialect import to_spark
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, PpdmError
from ppdm_sql.methods.perturbation import noisy_rows
from ppdm_sql.methods.perturbation.noisy_columns import quantiles

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]

NAME = ODD.replace('"', '""')
PEOPLE = f"""
SELECT
    i AS id,
    'n' || i AS code,
    NULL::VARCHAR AS void,
    CASE WHEN i % 50 = 0 THEN NULL ELSE 20 + i * 7919 % 60 END::INTEGER AS age,
    (1000.0 * (i * 104729 % 90) + i % 7)::DECIMAL(12, 2) AS pay,
    CASE WHEN i % 9 = 0 THEN -0.0::DOUBLE ELSE i * 31 % 100 END::DOUBLE AS "{NAME}",
    ['clerk', 'Clerk', 'nurse ', 'é', NULL][1 + i * 31 % 5] AS job,
    i % 3 = 0 AS member,
    (i * 17 % 40)::DOUBLE AS debts,
    CASE WHEN i % 11 > 0 THEN i * 37 % 210 END::SMALLINT AS years,
    CASE WHEN i % 4 = 0 THEN -0.0::DOUBLE WHEN i % 4 = 1 THEN 'nan'::DOUBLE ELSE i % 5 END AS kept,
    TIMESTAMPTZ '2020-01-01 00:00:00+00' + INTERVAL (i % 100) HOUR AS seen
FROM range(1200) r(i)
"""
NOISE = {
    "pay": "gaussian 5000 rounded",
    "age": "uniform 20 rounded",
    ODD: "gaussian 30",
    "job": "retain 0.7",
    "member": "retain 0.6",
    "debts": "cells 0,10,25,40",
    "years": "cells 7 equal-frequency",
}
RANGES: dict[str, tuple[object, object]] = {"pay": (0, 90_000), "age": (20, 80), ODD: (0, 100)}
ASKED: dict[str, Any] = {"noise": NOISE, "ranges": RANGES, "class_column": "seen", "keep": ["kept"]}


@pytest.fixture
def folder(ledger: Database, parquet: Parquet) -> str:
    made = parquet("people", PEOPLE)
    ledger.engine.write(f"CREATE TABLE here AS FROM '{made}/*.parquet'", step="test")
    return made


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each look at Spark hands over to DuckDB."""
    numbers: list[int] = []
    hand = source.handed_over

    def watched(engine: Any, *given: Any) -> Any:
        made = hand(engine, *given)
        ((number,),) = engine.query(f"SELECT count(*) FROM {made}", step="test")
        numbers.append(number)
        return made

    monkeypatch.setattr(source, "handed_over", watched)
    return numbers


def rows(ledger: Database, table: str) -> list[tuple[Any, ...]]:
    return ledger.engine.query(f"SELECT * FROM {table} ORDER BY ALL", step="test")


def measured(ledger: Database, name: str) -> dict[str, list[float | None]]:
    return {it.measure: [it.before, it.after] for it in ledger.release(name).measures()}


SMALL: dict[str, Any] = {
    "noise": {name: NOISE[name] for name in ("pay", "job")},
    "ranges": {"pay": (0, 90_000)},
}
"""A number and a category, where it does not matter what the noise is."""


@pytest.mark.parametrize(("record", "asked"), [("id", ASKED), ("code", SMALL)], ids=["id", "code"])
def test_the_noise_is_that_of_duckdb_and_no_record_comes_for_it(
    ledger: Database, folder: str, tmp_path: Path, handed: list[int], record: str, asked: dict[str, Any]
) -> None:
    key, to = tmp_path / "key", str(tmp_path / "noisy")
    key.write_text("0f" * 32)
    key.chmod(0o600)
    asked = {**asked, "identifiers": {"id": "pseudonym", "code": "pseudonym"}}
    made = ledger.randomize(folder, into="r2", record=record, key_file=key, to=to, **asked)
    assert handed and max(handed) < 200
    assert not stored(ledger)
    ledger.randomize("here", into="r1", record=record, key_file=key, **asked)
    assert repr(rows(ledger, "r1")) == repr(rows(ledger, "r2"))
    assert len(rows(ledger, "r2")) == 1200
    found, wanted = measured(ledger, "r2"), measured(ledger, "r1")
    assert found.keys() == wanted.keys()
    for name, numbers in wanted.items():
        for one, other in zip(found[name], numbers, strict=True):
            assert one == other or math.isclose(one or 0, other or 0, rel_tol=1e-6), name
    assert made.verify().holds


def test_a_release_reads_its_files_in_place(ledger: Database, folder: str, tmp_path: Path) -> None:
    to = tmp_path / "noisy"
    made = ledger.randomize(folder, into="r", record="id", seed=1, to=str(to), **SMALL)
    ledger.reconstruct("r", into="d", columns=["pay"])
    files = sorted(to.glob("*.parquet"))
    assert len(files) > 1
    for file in files:
        whole = file.read_bytes()
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
        for changed in (b"", flipped):
            file.write_bytes(changed)
            assert not made.verify().holds
        file.write_bytes(whole)
    assert made.verify().holds
    made.drop()
    assert not to.exists() and ledger.releases() == []


def stored(ledger: Database) -> list[tuple[Any, ...]]:
    """Give the tables of the ledger that hold rows of releases."""
    query = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'release\\_%' ESCAPE '\\'"
    return ledger.engine.query(query, step="test")


def test_a_release_that_is_not_what_was_drawn_is_refused(
    ledger: Database, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = FolderOfRows.write_drawn

    def other_rows(self: FolderOfRows, rows: Any, columns: Any) -> None:
        frame = rows.frame
        rows.frame = frame.withColumn("k0", frame["k0"] + 1)
        write(self, rows, columns)
        rows.frame = frame

    monkeypatch.setattr(FolderOfRows, "write_drawn", other_rows)
    asked: dict[str, Any] = {"noise": {"pay": "gaussian 5000"}, "ranges": {"pay": (0, 90_000)}, "seed": 1}
    with pytest.raises(GuaranteeNotMet, match="released as they are"):
        ledger.randomize(folder, into="r", record="id", keep=["kept"], to=str(tmp_path / "noisy"), **asked)
    assert not (tmp_path / "noisy").exists() and not list(tmp_path.glob(".ppdm*"))


def test_keys_stand_in_no_statement_and_no_plan(
    ledger: Database, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    frame, keep, derived = source.SparkSource._frame, source.kept, dict[str, Any]()
    key_of = noisy_rows.NoisyRows.keys

    def watched(self: Any, query: Any, step: str, *given: Any) -> Any:
        found = frame(self, query, step, *given)
        plans.append(to_spark(query) + found._explain_string(mode="extended"))
        return found

    def kept(place: Any, frame: Any) -> Any:
        plans.append(frame._explain_string(mode="formatted") + frame._explain_string(mode="codegen"))
        return keep(place, frame)

    def keys(self: Any) -> Any:
        derived.update(found := key_of(self))
        return found

    monkeypatch.setattr(source.SparkSource, "_frame", watched)
    monkeypatch.setattr(source, "kept", kept)
    monkeypatch.setattr(noisy_rows.NoisyRows, "keys", keys)
    ledger.engine.tracer = plans.append
    key = tmp_path / "key"
    new_key(key)
    noise, ranges = {"pay": "gaussian 5000"}, {"pay": (0, 90_000)}
    asked: dict[str, Any] = {"noise": noise, "ranges": ranges, "record": "id", "key_file": key}
    asked["identifiers"] = {"code": "pseudonym"}
    ledger.randomize(folder, into="r", to=str(tmp_path / "noisy"), **asked)
    assert set(derived) == {"k0", "inner0", "outer0"} and any("sha2(" in plan for plan in plans)
    words = [key.read_text().strip(), derived["k0"]]
    for secret in (b64decode(derived["k0"] + "="), derived["inner0"], derived["outer0"]):
        words += [secret.hex(), secret.hex().upper(), repr(secret)]
    for plan in plans:
        assert not any(word in plan for word in words)


def test_a_kept_key_is_refused_without_handing_its_values_over(
    ledger: Database, folder: str, tmp_path: Path, handed: list[int]
) -> None:
    asked: dict[str, Any] = {"noise": {"pay": "gaussian 5000"}, "ranges": {"pay": (0, 90_000)}, "into": "r"}
    with pytest.raises(ColumnRoleError, match="'id' looks like a direct identifier"):
        ledger.randomize(folder, keep=["id", "kept"], to=str(tmp_path / "noisy"), **asked)
    assert max(handed, default=0) < 200


def test_pseudonyms_are_worked_out_where_the_records_are(
    ledger: Database, folder: str, tmp_path: Path, handed: list[int]
) -> None:
    """Neither they, nor identifiers, nor a kept column that is another in each record come to the ledger."""
    noise, ranges = {"pay": "gaussian 5000"}, {"pay": (0, 90_000)}
    asked: dict[str, Any] = {"noise": noise, "ranges": ranges, "record": "code", "seed": 1, "keep": ["id"]}
    asked["allow_identifiers"] = ["id"]
    identifiers = dict.fromkeys(("code", "seen", "job", ODD, "void"), "pseudonym")
    made = ledger.randomize(folder, into="r", identifiers=identifiers, to=str(tmp_path / "noisy"), **asked)
    assert max(handed) < 200 and not stored(ledger)
    assert not any("copied into the ledger" in text for text in made.notices)
    joined = ledger.engine.query(
        f'SELECT h.code, h.seen, h.job, h."{NAME}", h.void, r.code, r.seen, r.job, r."{NAME}", r.void '
        "FROM here h JOIN r USING (id)",
        step="test",
    )
    assert len(joined) == 1200
    for place in range(5):
        pairs = {(row[place], row[place + 5]) for row in joined}
        values, pseudonyms = ({pair[side] for pair in pairs} for side in (0, 1))
        assert len(pairs) == len(values) == len(pseudonyms)
        assert all(given is None or re.fullmatch("[0-9a-f]{32}", given) for given in pseudonyms)
        assert not {sha256(str(value).encode()).hexdigest()[:32] for value in values} & pseudonyms
        assert (None in values) == (None in pseudonyms)
    assert made.verify().holds


WRONG = {
    "'code' are not one for each value": "CASE WHEN k0 < 2 THEN repeat('a', 32) ELSE k1 END",
    "1 values of 'code' are not pseudonyms": "CASE WHEN k0 = 7 THEN k1 || '\n' ELSE k1 END",
    "can be computed": "substr(sha2('n' || k0, 256), 1, 32)",
    "'job' are not one for each value and its records": "CASE WHEN k0 = 1 THEN '{another}' ELSE k1 END",
}
"""What may be wrong with pseudonyms, by what is said of it; a record moves from one job to another."""


@pytest.mark.parametrize("words", WRONG)
def test_pseudonyms_that_are_not_what_was_promised_are_refused(
    ledger: Database, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    write = FolderOfRows.write_drawn

    def other_rows(self: FolderOfRows, rows: Any, columns: Any) -> None:
        frame = rows.frame
        wrong = WRONG[words].format(another=frame.where("k0 = 2").first()["k1"])
        rows.frame = frame.selectExpr(*(c for c in frame.columns if c != "k1"), f"{wrong} AS k1")
        write(self, rows, columns)
        rows.frame = frame

    monkeypatch.setattr(FolderOfRows, "write_drawn", other_rows)
    asked: dict[str, Any] = {"noise": {"pay": "gaussian 5000"}, "ranges": {"pay": (0, 90_000)}, "seed": 1}
    who = "job" if "job" in words else "code"
    asked |= {"record": "id", "keep": ["id"], "allow_identifiers": ["id"], "identifiers": {who: "pseudonym"}}
    with pytest.raises(GuaranteeNotMet, match=words):
        ledger.randomize(folder, into="r", to=str(tmp_path / "noisy"), **asked)
    assert not (tmp_path / "noisy").exists() and not list(tmp_path.glob(".ppdm*"))


NEEDS_RECORDS: dict[str, dict[str, Any]] = {
    "--person": {"person": "id"},
    "--correlated": {"correlated": True, "noise": {"pay": "gaussian 5000", "debts": "gaussian 5"}},
}
"""What makes the records pass through the ledger, by how the notice calls it."""


@pytest.mark.parametrize("words", NEEDS_RECORDS)
def test_what_needs_more_than_aggregates_goes_through_the_ledger(
    ledger: Database, folder: str, tmp_path: Path, words: str
) -> None:
    ranges = {"pay": (0, 90_000), "debts": (0, 40)}
    asked: dict[str, Any] = {"noise": {"pay": "gaussian 5000"}, "ranges": ranges, "record": "id", "seed": 1}
    asked |= NEEDS_RECORDS[words]
    asked["ranges"] = {name: of for name, of in asked["ranges"].items() if name in asked["noise"]}
    made = ledger.randomize(folder, into="r", to=str(tmp_path / "noisy"), **asked)
    assert any(f"copied into the ledger, which {words} makes" in text for text in made.notices)
    assert stored(ledger) == [("release_r",)]


@pytest.mark.parametrize("values", ["range(0)", "range(1)", "range(2)", "range(30)", "range(0, 210, 7)"])
def test_quantiles_are_those_of_duckdb(ledger: Database, parquet: Parquet, values: str) -> None:
    query = f"SELECT i // 3 * 0.1 AS v FROM {values} r(i) UNION ALL SELECT NULL"
    shares = [cell / cells for cells in (2, 3, 5, 7, 10) for cell in range(1, cells)]
    engine, folder = ledger.engine, parquet("values", query)
    ((edges,),) = engine.query(f"SELECT quantile_disc(v::DOUBLE, {shares}) FROM ({query})", step="test")
    ((number,),) = engine.query(f"SELECT count(v) FROM ({query})", step="test")
    with engine.workspace():
        assert engine.spark is not None
        table = stand_in(engine, engine.spark.find(folder))
        assert quantiles(engine, table, "v", shares, number) == (edges or [])


def test_what_is_wrong_with_the_source_is_said_as_in_duckdb(
    ledger: Database, folder: str, tmp_path: Path
) -> None:
    to = str(tmp_path / "noisy")
    for asked in (
        {"noise": {"pay": "gaussian 5000"}, "ranges": {"pay": (0, 100)}},
        {"noise": {"job": "retain 0.5 of clerk,Clerk"}},
        {"noise": {"kept": "gaussian 1"}},
        {"noise": {"id": "retain 0.5"}},
        {"noise": {"pay": "gaussian 5"}, "record": "job"},
    ):
        said = []
        for table, place in (("here", {}), (folder, {"to": to})):
            with pytest.raises(PpdmError) as caught:
                ledger.randomize(table, into="r", seed=1, **({"record": "id"} | asked), **place)
            said.append(str(caught.value))
        assert said[0] == said[1]
