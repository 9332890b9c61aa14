"""Neither key, nor seed, nor draw, nor original must follow from what a randomization leaves behind."""

from __future__ import annotations

import logging
import os
import stat
import struct
import traceback
from base64 import b64decode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.special import ndtri

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.engine.source import key_table
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.noise_draws import (
    Draw,
    Draws,
    Key,
    centred,
    normal_root,
    normal_value,
    run_key,
)
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
    sent: list[bytes] = []
    keys = Draws.keys

    def watched(self: Draws, name: str) -> dict[str, Any]:
        found = keys(self, name)
        sent.extend(str(key).encode() for key in found.values())
        return found

    monkeypatch.setattr(Draws, "keys", watched)
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
    assert len(set(sent)) == 3
    found = [written(tmp_path / name) for name in ("x.duckdb", "safe.duckdb", "safe.csv", "safe.parquet")]
    found += [caplog.text.encode(), "\n".join(statements).encode(), shown.encode()]
    for text in [*texts_of(secret), *sent, *(b64decode(key + b"=") for key in sent)]:
        assert not any(text in part for part in found)


def test_the_seed_is_written_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    statements: list[str] = []
    with _new(tmp_path) as db:
        db.engine.tracer = statements.append
        db.randomize("t", noise=NOISE, ranges=RANGES, seed=SEED, into="safe")
        parameters = db.release("safe").row().parameters
    assert str(SEED) not in repr(RandomizeRequest("t", noise=["a=cells 5"], into="x", seed=SEED))
    assert parameters["seeded"] is True and parameters["key fingerprint"] is None
    packed = [str(SEED).encode(), struct.pack("<q", SEED), *texts_of(run_key(None, SEED).secret)]
    parts = [written(tmp_path / "x.duckdb"), caplog.text.encode(), "\n".join(statements).encode()]
    assert not any(text in part for text in packed for part in parts)


def test_no_draw_and_no_original_is_in_an_export(tmp_path: Path) -> None:
    with _new(tmp_path) as db:
        release = db.randomize("t", noise=NOISE, ranges=RANGES, record="id", seed=1, into="safe")
        release.export(tmp_path / "safe.duckdb")
        originals = [pay for (pay,) in db.engine.query("SELECT pay::DOUBLE FROM t", step="test")]
        left = db.engine.query("SELECT count(*) FROM duckdb_tables() WHERE temporary", step="test")
        columns = db.engine.query("DESCRIBE ppdm.release_safe", step="test")
    assert left == [(0,)]
    assert [row[0] for row in columns] == ["pay", "job", "age"]
    data = written(tmp_path / "safe.duckdb")
    assert UNNAMED.encode() not in data
    assert not any(struct.pack("<d", pay) in data for pay in originals)


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
    assert run_key(tmp_path / "dry", None, dry=True).kept == "no"
    assert not (tmp_path / "dry").exists()
    assert key.secret.hex() not in repr(key) and repr(key.secret) not in repr(key)
    assert key.fingerprint not in (None, key.secret.hex()[:16])
    assert run_key(None, None).fingerprint is None


@pytest.mark.parametrize("content", ["", "0" * 63, "0" * 66, "g" * 64, "ü"])
def test_a_file_without_a_key_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidOption) as caught:
        run_key(file, None)
    assert file.read_text(encoding="utf-8") == content
    assert not content or content not in str(caught.value)
    for folder in (tmp_path / "nowhere" / "key", tmp_path):
        with pytest.raises(InvalidOption, match="cannot be read or written"):
            run_key(folder, None)


# -- draws ------------------------------------------------------------------------------------------


COLUMNS = [Draw(f"c{place}", "1", normal=place % 2 == 1) for place in range(6)]


def drawn(
    records: Sequence[Any], key: Key, columns: Sequence[Draw] = COLUMNS, mixing: Any = None
) -> dict[str, Any]:
    """Draw for records by their texts, in the order in which they are given."""
    draws = Draws(key, columns, ["test"], mixing)
    with duckdb.connect() as con:
        keys = key_table(Engine(con), draws.keys("k"))
        con.execute("CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS id", [list(map(str, records))])
        hashed = f"SELECT t.id, {', '.join(draws.hashes('t.id', 'k'))} FROM t CROSS JOIN {keys} AS k"
        return con.execute(f"SELECT COLUMNS('^d[0-9]$') FROM ({draws.select(hashed)})").fetchnumpy()


@pytest.mark.parametrize("kept", ["no", "file"])
def test_draws_depend_on_the_record_and_the_key_alone(kept: str) -> None:
    records: list[Any] = [*range(5000), -1, -(2**63), 2**63 - 1, "clerk", "Clerk", "clerk ", ""]
    found = drawn(records, Key(b"k" * 32, kept))
    everything = [value for draws in found.values() for value in draws.tolist()]
    assert len(set(everything)) == len(records) * len(COLUMNS)  # no column and no record shares a draw
    order = np.random.default_rng(1).permutation(len(records))
    part = drawn([records[place] for place in order[:2100]], Key(b"k" * 32, kept))
    assert all((found[name][order[:2100]] == draws).all() for name, draws in part.items())
    other = drawn(records, Key(b"o" * 32, kept))
    assert not set(everything) & {value for draws in other.values() for value in draws.tolist()}


def test_a_column_draws_the_same_beside_others_where_its_key_is_kept() -> None:
    """Two releases by one key would else show two draws of one value."""
    alone = drawn(range(100), Key(b"k" * 32, "file"), COLUMNS[1:2])["d0"]
    assert (drawn(range(100), Key(b"k" * 32, "file"), COLUMNS[:2])["d1"] == alone).all()


def test_draws_are_independent_and_of_their_distribution() -> None:
    found = np.array(list(drawn(range(40_000), Key(b"k" * 32, "no")).values()))
    assert np.abs(np.corrcoef(found) - np.eye(len(found))).max() < 0.02
    assert np.abs(found[::2].mean(axis=1) - 0.5).max() < 0.01
    assert np.abs(found[::2].var(axis=1) * 12 - 1).max() < 0.03
    assert np.abs(found[1::2].mean(axis=1)).max() < 0.02
    assert np.abs(found[1::2].std(axis=1) - 1).max() < 0.02


def test_correlated_draws_are_those_that_the_matrix_makes_of_independent_ones() -> None:
    mixing, columns = np.array([[1.0, 0.0], [0.6, 0.8]]), COLUMNS[1:2] * 2
    independent = np.array(list(drawn(range(50), Key(b"k" * 32, "no"), columns).values()))
    found = np.array(list(drawn(range(50), Key(b"k" * 32, "no"), columns, mixing).values()))
    assert found == pytest.approx(mixing @ independent)


def test_draws_lie_between_0_and_1_without_either() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT repeat(x, 64) AS h FROM (VALUES ('0'), ('f')) AS r (x)")
        (low,), (high,) = con.execute(f"SELECT {centred('h')} FROM t").fetchall()
    assert (low, high) == (2.0**-53 - 0.5, 0.5 - 2.0**-53)


def test_the_normal_distribution_is_that_of_scipy_tails_included() -> None:
    tails = 2.0 ** -np.arange(2, 54)
    shares = np.concatenate([np.random.default_rng(1).random(10_000), tails, 1 - tails, [0.075, 0.925]])
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest($q) - 0.5e0 AS q", {"q": shares.tolist()})
        query = f"SELECT {normal_value('q', 'r')} AS z FROM (SELECT q, {normal_root('q')} AS r FROM t)"
        found = con.execute(query).fetchnumpy()["z"]
    assert found == pytest.approx(ndtri(shares), rel=1e-14, abs=1e-15)


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
