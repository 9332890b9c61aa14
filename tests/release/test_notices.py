"""What a run says: warnings in Python, lines on stderr, and kept with the release."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import pytest
from commands import ppdm

import ppdm_sql
from ppdm_sql import PpdmWarning
from ppdm_sql.progress import SilentProgress

TEXT = "No record is identifiable, so every ill is released as it is."
SEED = "Whoever knows the seed can find out which records were changed."


def people(path: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
    """Nobody is identifiable: each age goes with both values."""
    connection = duckdb.connect(str(path))
    connection.execute(
        "CREATE TABLE t AS SELECT i % 3 AS age, i % 2 = 0 AS ill, 'x' AS job FROM range(60) r(i)"
    )
    return connection


def swapped(connection: duckdb.DuckDBPyConnection, **more: object) -> ppdm_sql.Release:
    options = {"confidential": "ill", "by": ["age"], "proportion": 0.5, "into": "safe", "seed": 1} | more
    return ppdm_sql.open(connection).swap("t", **options)  # type: ignore[arg-type]


def test_a_notice_is_a_warning_at_the_line_that_called() -> None:
    with pytest.warns(PpdmWarning) as caught:
        ppdm_sql.open(people()).swap("t", confidential="ill", by=["age"], proportion=0.5, into="safe", seed=1)
    assert [str(item.message) for item in caught] == [SEED, TEXT]
    assert {item.filename for item in caught} == {__file__}
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert all("swap(" in lines[item.lineno - 1] for item in caught)


def test_a_progress_hears_notices_in_the_place_of_warnings() -> None:
    class Heard(SilentProgress):
        def __init__(self) -> None:
            self.told: list[tuple[str, str]] = []

        def notice(self, text: str) -> None:
            self.told.append(("notice", text))

        def warn(self, text: str) -> None:
            self.told.append(("warn", text))

    heard = Heard()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = swapped(people(), progress=heard)
    assert heard.told == [("notice", SEED), ("warn", TEXT)]
    assert release.notices == (SEED, TEXT)


def test_a_warning_that_is_an_error_publishes_nothing() -> None:
    connection = people()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PpdmWarning)
        with pytest.raises(PpdmWarning):
            swapped(connection)
    assert ppdm_sql.open(connection).releases() == []
    assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (1,)


@pytest.mark.filterwarnings("ignore::ppdm_sql.PpdmWarning")
def test_notices_stand_in_the_release(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with people(path) as connection:
        assert swapped(connection).notices == (SEED, TEXT)
    with ppdm_sql.open(path) as db:
        assert db.release("safe").notices == (SEED, TEXT)
        assert db.release("safe").verify().holds
    shown = ppdm("show", path, "safe")
    told = [line.split(maxsplit=1)[1] for line in shown.stdout.splitlines() if line.startswith("notice ")]
    assert told == [SEED, TEXT]


@pytest.mark.filterwarnings("ignore::ppdm_sql.PpdmWarning")
def test_what_the_audit_says_while_it_publishes_stands_in_the_release() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS pay FROM range(60) r(i)")
    release = ppdm_sql.open(connection).randomize(
        "t", noise={"pay": "gaussian 5 on 0,60"}, into="safe", seed=1
    )
    assert any(text.startswith("Fewer than") for text in release.notices)


def test_a_release_made_before_notices_were_kept_has_none() -> None:
    connection = people()
    with pytest.warns(PpdmWarning):
        release = swapped(connection)
    connection.execute("""
        UPDATE ppdm.releases SET parameters = json_merge_patch(parameters, '{"notices": null}')
    """)
    assert release.notices == ()
    assert "notices" not in release.row().parameters and release.verify().holds


def test_quiet_hides_information_but_not_what_is_not_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    people(path).close()
    options = ("--confidential", "ill", "--by", "age", "--proportion", "0.5", "--seed", "1")
    loud = ppdm("swap", path, "t", *options, "--into", "a")
    quiet = ppdm("swap", path, "t", *options, "--into", "b", "--quiet")
    assert loud.stderr.splitlines()[:2] == [f"Note: {SEED}", f"Warning: {TEXT}"]
    assert quiet.stderr == f"Warning: {TEXT}\n"


SWAP = "CALL ppdm_swap('t', 'safe', confidential := ['ill'], by := ['age'], proportion := 0.5, seed := 1)"


def test_a_call_in_sql_warns_too_and_publishes_nothing_where_warnings_are_errors() -> None:
    connection = people()
    ppdm_sql.register(connection)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PpdmWarning)
        with pytest.raises(duckdb.Error, match="Whoever knows the seed"):
            connection.execute(SWAP).fetchall()
    assert ppdm_sql.open(connection).releases() == []
    with pytest.warns(PpdmWarning, match="identifiable"):
        connection.execute(SWAP).fetchall()
    (row,) = connection.execute("SELECT parameters ->> '$.notices[1]' FROM ppdm.releases").fetchall()
    assert row == (TEXT,)
