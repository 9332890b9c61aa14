"""Neither key, nor seed, nor draw, nor original must follow from what a randomization leaves behind."""

from __future__ import annotations

import logging
import os
import stat
import struct
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import ppdm_sql
import ppdm_sql.methods.perturbation.drawing as drawing
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.noise_draws import NoiseDrawer, Stream, in_unit
from ppdm_sql.methods.perturbation.noise_key import Key, run_key
from ppdm_sql.options import RandomizeRequest

CELL = "Cellmarker-Axolotl-4242"
UNNAMED = "Secret-Salary-9917"
SEED = 987654321987654321
NOISE = {"pay": "gaussian 100%", "job": "retain 0.5 of a,b,c", "age": "uniform 10 rounded"}
RANGES = {"pay": (0, 100_000), "age": (0, 200)}


def people(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, (i * 7919) % 99991 + 0.123456789 AS pay, "
        f"chr(97 + i::INTEGER % 3) AS job, i % 90 AS age, '{UNNAMED}' || i AS name FROM range(3000) AS r (i)"
    )


def written(file: Path) -> bytes:
    """Every byte of a database, a log of writes included."""
    log = file.with_name(file.name + ".wal")
    return file.read_bytes() + (log.read_bytes() if log.exists() else b"")


def texts_of(secret: bytes) -> list[bytes]:
    """A secret as it may be written down."""
    return [secret, secret.hex().encode(), secret.hex().upper().encode()]


def _new(folder: Path) -> Any:
    with duckdb.connect(str(folder / "x.duckdb")) as con:
        people(con)
    return ppdm_sql.open(folder / "x.duckdb")


def test_the_key_is_in_no_file_catalogue_log_or_statement(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    statements: list[str] = []
    derived: list[bytes] = []
    streams = drawing.Stream
    monkeypatch.setattr(drawing, "Stream", lambda key, normal: (derived.append(key), streams(key, normal))[1])
    with _new(tmp_path) as db:
        db.engine.tracer = statements.append
        release = db.randomize(
            "t", noise=NOISE, ranges=RANGES, record="id", key_file=tmp_path / "key", into="safe"
        )
        release.export(tmp_path / "safe.duckdb")
        release.export(tmp_path / "safe.csv")
        release.export(tmp_path / "safe.parquet")
        shown = repr([release.row(), release.measures(), release.verify()])
    secret = bytes.fromhex((tmp_path / "key").read_text())
    assert len(derived) == 3
    found = [written(tmp_path / name) for name in ("x.duckdb", "safe.duckdb", "safe.csv", "safe.parquet")]
    found += [caplog.text.encode(), "\n".join(statements).encode(), shown.encode()]
    for key in [secret, *derived]:
        assert not any(text in part for text in texts_of(key) for part in found)


def test_the_seed_is_written_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    statements: list[str] = []
    with _new(tmp_path) as db:
        db.engine.tracer = statements.append
        db.randomize("t", noise=NOISE, ranges=RANGES, seed=SEED, into="safe")
        parameters = db.release("safe").row().parameters
    assert parameters["seeded"] is True and parameters["key fingerprint"] is None
    packed = [str(SEED).encode(), struct.pack("<q", SEED), *texts_of(run_key(None, SEED).secret)]
    parts = [written(tmp_path / "x.duckdb"), caplog.text.encode(), "\n".join(statements).encode()]
    assert not any(text in part for text in packed for part in parts)


def test_no_draw_and_no_original_is_in_an_export(tmp_path: Path) -> None:
    with _new(tmp_path) as db:
        release = db.randomize("t", noise=NOISE, ranges=RANGES, record="id", seed=1, into="safe")
        release.export(tmp_path / "safe.duckdb")
        originals = [pay for (pay,) in db.engine.query("SELECT pay::DOUBLE FROM t", step="test")]
        columns = db.release("safe").relation().columns
    assert columns == ["pay", "job", "age"]
    data = written(tmp_path / "safe.duckdb")
    assert UNNAMED.encode() not in data
    assert not any(struct.pack("<d", pay) in data for pay in originals)


def test_the_draws_of_the_noise_are_no_column_of_the_database(tmp_path: Path) -> None:
    with _new(tmp_path) as db:
        db.randomize("t", noise=NOISE, ranges=RANGES, record="id", seed=1, into="safe")
        left = db.engine.query(
            "SELECT column_name FROM duckdb_columns() "
            "WHERE schema_name = 'ppdm' AND table_name = 'release_safe'",
            step="test",
        )
        temporary = db.engine.query("SELECT count(*) FROM duckdb_tables() WHERE temporary", step="test")
    assert sorted(left) == [("age",), ("job",), ("pay",)]
    assert temporary == [(0,)]


def test_a_request_does_not_show_its_seed() -> None:
    assert str(SEED) not in repr(RandomizeRequest(noise=["a=cells 5"], into="x", seed=SEED))


# -- the key file -----------------------------------------------------------------------------------


def test_a_key_file_is_for_the_owner_alone_and_read_again(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        key = run_key(tmp_path / "key", None)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert run_key(tmp_path / "key", None) == key
    assert len(key.secret) == 32
    assert run_key(tmp_path / "other", None) != key


def test_a_key_shows_nothing_of_itself() -> None:
    key = run_key(None, None)
    assert key.secret.hex() not in repr(key) and repr(key.secret) not in repr(key)
    assert key.fingerprint is None
    assert Key(key.secret, "file").fingerprint not in (None, key.secret.hex()[:16])


@pytest.mark.parametrize("content", ["", "secret", "0" * 63, "0" * 66, "g" * 64, "ü"])
def test_a_file_without_a_key_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidOption) as caught:
        run_key(file, None)
    assert file.read_text(encoding="utf-8") == content
    assert not content or content not in str(caught.value)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="cannot be read or written"):
        run_key(tmp_path / "nowhere" / "key", None)
    with pytest.raises(InvalidOption, match="cannot be read or written"):
        run_key(tmp_path, None)


def test_a_dry_run_makes_no_key_file(tmp_path: Path) -> None:
    assert run_key(tmp_path / "key", None, dry=True).kept == "no"
    assert not (tmp_path / "key").exists()


# -- draws ------------------------------------------------------------------------------------------


def drawn(identity: Any, records: Any, key: bytes = b"key") -> Any:
    return NoiseDrawer([Stream(key, normal=False)], identity).draws(pa.array(records))[0]


@pytest.mark.parametrize("identity", ["row", "number", "text"])
def test_draws_depend_on_the_record_and_the_key_alone(identity: Any) -> None:
    records: list[Any] = [*range(5000), -1, -(2**63), 2**63 - 1, 10**12, 10**12 + 1]
    records = list(map(str, records)) if identity == "text" else records
    whole = dict(zip(records, drawn(identity, records), strict=True))
    assert len(set(whole.values())) == len(records)
    order = np.random.default_rng(1).permutation(len(records))
    for chunk in (order[:1], order[1:9], order[9:2057], order[2057:]):
        part = [records[place] for place in chunk]
        assert [whole[record] for record in part] == drawn(identity, part).tolist()
    assert not set(whole.values()) & set(drawn(identity, records, b"other"))


def test_draws_lie_between_0_and_1_without_either() -> None:
    low, high = in_unit(bytes(6) + b"\xff" * 6)
    assert low == 2.0**-49
    assert high == 1 - 2.0**-49


# -- messages and logs ------------------------------------------------------------------------------


def call(noise: dict[str, str], table: str = "marked", **options: Any) -> Callable[[Any], object]:
    return lambda db: db.randomize(table, noise=noise, into="safe", **options)


FAILING = {
    "text as a number": call({"word": "gaussian 5"}),
    "a text that does not cast": call({"bad": "gaussian 5"}, "broken", record="id"),
    "an unlisted category": call({"word": "retain 0.5 of a,b"}),
    "values outside": call({"n": "gaussian 5"}, ranges={"n": (0, 1)}),
    "records that are not told apart": call({"n": "gaussian 5"}, record="same"),
    "too many categories": call({"many": "retain 0.5"}),
    "one category": call({"same": "retain 0.5"}),
    "not a number": call({"wild": "gaussian 5"}),
}


@pytest.mark.parametrize("name", FAILING)
def test_no_message_traceback_or_log_of_a_failure_holds_a_cell(
    caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with duckdb.connect() as con:
        con.execute(
            f"""
            CREATE TABLE marked AS SELECT
                i AS id, '{CELL}-' || i % 3 AS word, '{CELL}-' || i AS many, '{CELL}' AS same,
                424242 + i AS n, if(i = 7, 'nan', '424242')::DOUBLE AS wild
            FROM range(1200) AS r (i);
            CREATE VIEW broken AS SELECT id, word::INTEGER AS bad FROM marked;
            """
        )
        with pytest.raises(ppdm_sql.PpdmError) as caught:
            FAILING[name](ppdm_sql.open(con))
    told = [str(caught.value), repr(caught.value), *traceback.format_exception(caught.value), caplog.text]
    assert not any(CELL in text or "424242" in text for text in told)
