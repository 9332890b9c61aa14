"""Keys that last: their files, pseudonyms that are the same again, dates that are moved."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from hypothesis import given, settings
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.engine.keys import hmac_sha256, keyed_text, private
from ppdm_sql.engine.names import Table, column, quoted
from ppdm_sql.engine.statements import sql
from ppdm_sql.methods.base import run

VECTORS = {
    "1": (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    "2": (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    "3": (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    "4": (
        bytes(range(1, 26)),
        b"\xcd" * 50,
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    ),
    "5, of 128 bits": (b"\x0c" * 20, b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
    "6": (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
    "7": (
        b"\xaa" * 131,
        b"This is a test using a larger than block-size key and a larger than block-size data. The key needs "
        b"to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    ),
}
PERSON = 'WHEN it\'s "x"; --'
Rows = list[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ppdm_sql.PpdmWarning)
        yield


@pytest.fixture
def key(tmp_path: Path) -> Path:
    ppdm_sql.new_key(tmp_path / "clinic.key")
    return tmp_path / "clinic.key"


def released(query: str, shown: str = "*", **options: Any) -> Rows:
    """Publish what a query gives in a database of its own, and give what is shown of it."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS {query}")
        db = ppdm_sql.open(con)
        assert db.suppress("t", ["k >= 1 on job"], into="safe", **options).verify().holds
        return con.execute(f"SELECT {shown} FROM safe").fetchall()


def pseudonyms(values: str, key: Path | None, name: str = "id") -> dict[Any, str]:
    """Give the pseudonym of each value of a table of one column."""
    query = f"SELECT v AS {quoted(name)}, v AS shown, 'x' AS job FROM ({values}) AS t (v)"
    asked: dict[str, Any] = {"identifiers": {name: "pseudonym"}, "keep": ["shown"]}
    asked |= {"allow_identifiers": ["shown"]}
    return dict(released(query, f"shown, {quoted(name)}", key_file=key, **asked))


# -- HMAC in SQL --------------------------------------------------------------------------------------


def in_sql(key: bytes, data: object, kind: str) -> str:
    with duckdb.connect() as con:
        engine = Engine(con)
        con.execute(f"CREATE TABLE t (x {kind})")
        con.execute("INSERT INTO t VALUES (?)", [data])
        made = {"BLOB": hmac_sha256, "VARCHAR": keyed_text}[kind]
        with engine.workspace():
            value = made(column("x", "s"), *private(engine, key))
            ((found,),) = engine.query(sql("SELECT {v} FROM {t} AS s", v=value, t=Table("t")), step="test")
    return str(found)


@pytest.mark.parametrize("vector", VECTORS)
def test_rfc_4231_holds_in_sql(vector: str) -> None:
    key, data, expected = VECTORS[vector]
    assert in_sql(key, data, "BLOB")[: len(expected)] == expected


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=150), st.text(max_size=200))
def test_sql_gives_what_python_gives(key: bytes, text: str) -> None:
    assert in_sql(key, text, "VARCHAR") == hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


# -- pseudonyms ---------------------------------------------------------------------------------------


def expected(key: Path, kind: str, text: str) -> str:
    """Work a pseudonym out as the documentation says."""
    parts = b"".join(len(part).to_bytes(8, "little") + part for part in (b"ppdm pseudonym", kind.encode()))
    derived = hmac.new(bytes.fromhex(key.read_text()), parts, hashlib.sha256).digest()
    return hmac.new(derived, text.encode(), hashlib.sha256).hexdigest()[:32]


def test_a_person_has_one_pseudonym_in_all_tables_and_databases(key: Path) -> None:
    whole = {"INTEGER", "BIGINT", "UTINYINT", "HUGEINT"}
    found = {kind: pseudonyms(f"SELECT 7::{kind}", key, name)[7] for kind in whole for name in ("id", PERSON)}
    assert set(found.values()) == {expected(key, "whole number", "7")}
    texts = [pseudonyms(f"SELECT '7'{kind}", key)["7"] for kind in ("", "::ENUM('7', '8')")]
    assert set(texts) == {expected(key, "text", "7")}


def test_other_keys_and_runs_without_one_give_other_pseudonyms(key: Path, tmp_path: Path) -> None:
    ppdm_sql.new_key(tmp_path / "other.key")
    found = [pseudonyms("SELECT 7", one)[7] for one in (key, tmp_path / "other.key", None, None)]
    assert len(set(found)) == 4


def test_thirty_thousand_values_have_as_many_pseudonyms_and_null_stays(key: Path) -> None:
    found = pseudonyms("SELECT nullif(i, 0) FROM range(30_001) AS r (i)", key)
    assert len(set(found.values())) == 30_001 and found[None] is None
    assert found[29_999] == expected(key, "whole number", "29999")


def test_two_columns_of_a_run_without_a_key_file_have_nothing_in_common(key: Path) -> None:
    asked: dict[str, Any] = {"identifiers": {"a": "pseudonym", "b": "pseudonym"}}
    for file, same in ((key, True), (None, False)):
        ((a, b),) = released("SELECT 7 AS a, 7 AS b, 'x' AS job", "a, b", key_file=file, **asked)
        assert (a == b) is same


def test_every_method_makes_the_same_pseudonyms(key: Path) -> None:
    wanted = pseudonyms("SELECT i::INTEGER FROM range(200) AS r (i)", key)
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, i AS shown, i % 7 AS a, i % 50 AS b, 'c' || i % 5 AS c, "
            "i * 1.5::DOUBLE AS x FROM range(200) AS r (i)"
        )
        db = ppdm_sql.open(con)
        asked: dict[str, Any] = {"identifiers": {"id": "pseudonym"}, "keep": ["shown"], "key_file": key}
        asked |= {"allow_identifiers": ["shown"]}
        db.generalize("t", ["k >= 2 on a"], into="g", **asked)
        db.swap("t", confidential=["c"], by=["a", "b"], proportion=0.5, into="s", **asked)
        db.randomize("t", noise=["x=uniform 5"], record="id", into="r", **asked)
        for name in ("g", "s", "r"):
            assert dict(con.execute(f"SELECT shown, id FROM {name}").fetchall()) == wanted


def test_a_run_says_what_pseudonyms_that_last_link(key: Path) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, 'x' AS job FROM range(9) AS r (i)")
        db = ppdm_sql.open(con)
        for name in ("first", "second"):
            asked: dict[str, Any] = {"identifiers": {"id": "pseudonym"}, "key_file": key}
            row = db.suppress("t", ["k >= 1 on job"], into=name, **asked).row()
    (told,) = [text for text in row.notices if "link the records of a person" in text]
    assert "In this file these are 'first'." in told
    assert len(str(row.parameters["key fingerprint"])) == 16


def test_no_statement_log_or_file_has_the_key(
    key: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    statements: list[str] = []
    with ppdm_sql.open(tmp_path / "x.duckdb", create=True) as db:
        db.engine.connection.execute("CREATE TABLE t AS SELECT 7 AS id, DATE '2024-01-01' AS d, 'x' AS job")
        db.engine.tracer = statements.append
        asked: dict[str, Any] = {"identifiers": {"id": "pseudonym"}, "key_file": key, "shift_dates": ["d"]}
        db.suppress("t", ["k >= 1 on job"], into="safe", shift_by=["id"], keep=["d"], **asked)
    secret = bytes.fromhex(key.read_text())
    parts = b"".join(len(part).to_bytes(8, "little") + part for part in (b"ppdm pseudonym", b"whole number"))
    derived = hmac.new(secret, parts, hashlib.sha256).digest()
    padded = bytes(byte ^ 0x36 for byte in derived)
    said = "\n".join([caplog.text, *statements]).lower().replace("\\x", "").encode()
    said += (tmp_path / "x.duckdb").read_bytes()
    for data in (secret, derived, padded):
        assert data not in said and data.hex().encode() not in said


# -- key files ----------------------------------------------------------------------------------------


def test_a_new_key_is_for_its_owner_alone_and_replaces_nothing(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        ppdm_sql.new_key(tmp_path / "key")
    finally:
        os.umask(old)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    before = (tmp_path / "key").read_text()
    assert len(bytes.fromhex(before)) == 32
    with pytest.raises(ppdm_sql.NameTaken, match="exists already"):
        ppdm_sql.new_key(tmp_path / "key")
    assert (tmp_path / "key").read_text() == before
    with pytest.raises(ppdm_sql.InvalidOption, match="cannot be read or written"):
        ppdm_sql.new_key(tmp_path / "nowhere" / "key")


def test_the_commands_make_a_key_and_use_it(tmp_path: Path) -> None:
    key, file = str(tmp_path / "clinic.key"), str(tmp_path / "x.duckdb")
    assert "Wrote " in ppdm("key", "new", key).stderr
    again = ppdm("key", "new", key)
    assert again.exit_code == 2 and "exists already" in again.stderr
    (tmp_path / "v.csv").write_text("id,job,d\n7,x,2024-01-01\n8,x,2024-01-02\n")
    words = ["suppress", file, str(tmp_path / "v.csv"), "--require", "k >= 2 on job", "--into", "safe"]
    words += ["--identifier", "id=pseudonym", "--shift-dates", "d", "--shift-by", "id", "--shift-days", "3"]
    assert ppdm(*words, "--keep", "d", "--allow-identifier", "d", "--key-file", key).exit_code == 0
    assert ppdm("verify", file, "safe").exit_code == 0


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (None, 0o600, "There is no key file .* `ppdm key new"),
        (b"ab" * 31, 0o600, "does not hold a key"),
        (b"", 0o600, "does not hold a key"),
        (bytes(range(256)), 0o600, "does not hold a key"),
        (b"ab" * 32, 0o640, "Others can read .*`chmod 600"),
    ],
)
@pytest.mark.parametrize("method", ["suppress", "randomize"])
def test_a_key_file_that_is_missing_short_or_open_to_others_is_refused(
    tmp_path: Path, content: bytes | None, mode: int, words: str, method: str
) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
        (tmp_path / "key").chmod(mode)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 7 AS id, 'x' AS job, 1.5::DOUBLE AS x")
        db, how = ppdm_sql.open(con), {"noise": ["x=uniform 5"], "record": "id"}
        asked: Any = ([["k >= 1 on job"]], {}) if method == "suppress" else ([], how)
        asked[1].update(into="safe", identifiers={"id": "pseudonym"}, key_file=tmp_path / "key")
        with pytest.raises(ppdm_sql.InvalidOption, match=words):
            getattr(db, method)("t", *asked[0], **asked[1])
        assert db.releases() == []
    assert (tmp_path / "key").exists() is (content is not None)


def test_a_key_for_nothing_is_refused(key: Path) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match="nothing is made by a key"):
        released("SELECT 'x' AS job", key_file=key)


# -- dates --------------------------------------------------------------------------------------------

VISITS = (
    "SELECT p AS patient, p // 10 AS site, v AS visit, 'x' AS job, "
    "if(v = 2, NULL, DATE '2024-01-01' + (p * 13 + v * 7)::INTEGER) AS came, "
    "TIMESTAMP '2024-01-01 08:30:00.123456' + to_days((p + v * 9)::INTEGER) AS seen "
    "FROM range(40) AS p (p), range(4) AS v (v)"
)
DATES = ["came", "seen"]


def moved(key: Path | None, query: str = VISITS, **options: Any) -> Rows:
    """Publish visits with moved dates; give each with the dates that it had."""
    keep = ["patient", "site", "visit", *DATES]
    asked: dict[str, Any] = {"shift_dates": DATES, "shift_by": ["patient"], "shift_days": 20}
    asked |= {"keep": keep, "allow_identifiers": keep, "key_file": key} | options
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS {query}")
        db = ppdm_sql.open(con)
        assert db.suppress("t", ["k >= 1 on job"], into="safe", **asked).verify().holds
        joined = "FROM t JOIN safe AS s USING (patient, site, visit) ORDER BY patient, site, visit"
        shown = (
            "patient, site, date_diff('day', t.came, s.came), s.seen - t.seen, t.came IS NULL, s.came IS NULL"
        )
        return con.execute(f"SELECT {shown} {joined}").fetchall()


def shifts(rows: Rows, of: Any = lambda row: row[0]) -> dict[Any, set[int]]:
    found: dict[Any, set[int]] = {}
    for row in rows:
        found.setdefault(of(row), set()).update({row[3].days} | ({row[2]} - {None}))
        assert row[3].seconds == row[3].microseconds == 0 and row[4] == row[5]
    return found


def test_all_dates_of_a_person_move_alike_so_that_intervals_stay(key: Path) -> None:
    found = shifts(moved(key))
    assert all(len(days) == 1 for days in found.values())
    days = {day for one in found.values() for day in one}
    assert days <= {*range(-20, 0), *range(1, 21)} and len(days) > 15


def test_dates_move_alike_in_every_table_by_one_key_and_else_do_not(key: Path, tmp_path: Path) -> None:
    ppdm_sql.new_key(tmp_path / "other.key")
    wider = VISITS.replace("p AS patient", "p::HUGEINT AS patient")
    assert shifts(moved(key)) == shifts(moved(key, wider))
    others = [shifts(moved(one)) for one in (tmp_path / "other.key", None, None)]
    assert len({str(sorted(one.items())) for one in (shifts(moved(key)), *others)}) == 4


def test_persons_of_several_columns_are_told_apart(key: Path) -> None:
    query = (
        "SELECT * REPLACE (['1', '11'][1 + patient % 2] AS patient, ['1', '11', ''][1 + site % 3] AS site, "
        f"patient * 4 + visit AS visit) FROM ({VISITS})"
    )
    found = shifts(moved(key, query, shift_by=["patient", "site"]), of=lambda row: row[:2])
    assert len(found) == 6 and all(len(days) == 1 for days in found.values())
    assert found[("1", "11")] != found[("11", "1")]


def test_every_shift_is_about_as_likely() -> None:
    query = (
        "SELECT i AS patient, 0 AS site, 0 AS visit, 'x' AS job, DATE '2024-01-01' AS came, "
        "TIMESTAMP '2024-01-01' AS seen FROM range(30_000) AS r (i)"
    )
    days = [row[2] for row in moved(None, query, shift_days=2)]
    assert all(7_150 < days.count(day) < 7_850 for day in (-2, -1, 1, 2)) and 0 not in days


def test_a_date_that_is_masked_is_masked_as_it_was_moved(key: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS {VISITS}")
        db = ppdm_sql.open(con)
        asked: dict[str, Any] = {"person": ["patient"], "shift_dates": ["seen"], "key_file": key}
        release = db.generalize("t", ["k >= 5 on seen"], into="safe", **asked)
        assert release.verify().holds
        comment = "SELECT comment FROM duckdb_columns() WHERE table_name = 'safe' AND column_name = 'seen'"
        assert "Moved by up to 30 days" in con.execute(comment).fetchall()[0][0]
        for use in (lambda: db.attack("safe"), lambda: db.apply("safe", "t", into="more")):
            with pytest.raises(ppdm_sql.PpdmError, match="dates of 'safe' were moved"):
                use()
        told = db.suppress("t", ["k >= 2 on job"], into="other", person=["patient"]).row().notices
        assert any("cannot be told: The dates of 'safe' were moved" in text for text in told)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nobody": ({"shift_by": []}, "whose dates are moved alike"),
    "a number": ({"shift_dates": ["visit"]}, "'visit' is BIGINT and cannot be moved"),
    "no column": ({"shift_dates": ["vist"]}, "vist"),
    "the person": ({"shift_by": ["came"]}, "says who a person is"),
    "no dates": ({"shift_dates": []}, "no dates to move"),
    "no days": ({"shift_days": 0}, "not a whole number from 1 to 36,500"),
    "too many days": ({"shift_days": 36_501}, "not a whole number from 1 to 36,500"),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_dates_that_cannot_be_moved_are_refused(asked: str) -> None:
    options, words = REFUSED[asked]
    with pytest.raises(ppdm_sql.PpdmError, match=words):
        moved(None, **options)


def test_a_date_that_many_records_have_is_told() -> None:
    date = "if(i % 5 = 0, '9999-12-31', '2024-01-01')::DATE"
    query = f"SELECT i AS id, 'x' AS job, {date} + (i % {{n}})::INTEGER AS d"
    told = []
    for n, where in ((1, 40), (80, 400)):
        with duckdb.connect() as con:
            con.execute(f"CREATE TABLE t AS {query.format(n=n)} FROM range({where}) AS r (i)")
            asked: dict[str, Any] = {"shift_dates": ["d"], "shift_by": ["id"], "keep": ["d"]}
            asked |= {"allow_identifiers": ["d"]}
            row = ppdm_sql.open(con).suppress("t", ["k >= 1 on job"], into="safe", **asked).row()
            told.append([text for text in row.notices if "one and the same" in text])
    assert [len(texts) for texts in told] == [1, 0] and "80 % of the dates of 'd'" in told[0][0]


def test_a_person_who_is_null_is_refused_and_an_endless_date_stays(key: Path) -> None:
    with pytest.raises(ppdm_sql.InvalidSource, match="'patient' is NULL in 4 rows"):
        moved(key, VISITS.replace("p AS patient", "nullif(p, 3) AS patient"))
    endless = "SELECT 1 AS id, 'x' AS job, 'infinity'::DATE AS d"
    found = released(endless, "d::VARCHAR", shift_dates=["d"], shift_by=["id"], keep=["d"])
    assert found == [("infinity",)]


@pytest.mark.parametrize("fault", ["row", "range", "nothing", "hours"])
def test_dates_that_are_not_moved_alike_are_not_published(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {
        "row": "came + (visit % 2)::INTEGER AS came",
        "range": "came + 21 AS came, seen + to_days(21) AS seen",
        "nothing": "came AS came",
        "hours": "seen + to_hours(5) AS seen",
    }[fault]

    def moving(engine: Engine, source: Table, *_: Any) -> Table:
        return engine.overlay(f"SELECT * REPLACE ({wrong}) FROM {source}")

    monkeypatch.setattr(run, "moved_dates", moving)
    with pytest.raises(ppdm_sql.GuaranteeNotMet, match="not moved by one number of days"):
        moved(None)
