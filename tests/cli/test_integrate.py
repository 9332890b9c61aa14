"""``ppdm integrate``: what its commands print, read, refuse and leave."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import assert_explained, execute, ppdm, spawn
from sides import CELLS, HOST, JOBS, REQUIRE, Side, make_keys, sides

import ppdm_sql
from ppdm_sql.taxonomy import Taxonomy
from ppdm_sql.taxonomy.tables import write_taxonomy

SAME = ["--key", "SSN", "--class", "Class", "--into", "safe", "--timeout", "20"]


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_keys(tmp_path_factory.mktemp("keys"))


def prepared(folder: Path, keys: Path) -> tuple[Side, Side]:
    """Both files, the second with the taxonomy of jobs as a table."""
    first, second = sides(folder, keys)
    with ppdm_sql.open(second.file) as db:
        write_taxonomy(db.engine, Taxonomy.from_dict(JOBS), "jobs")
    return first, second


@pytest.fixture
def pair(tmp_path: Path, keys: Path) -> tuple[Side, Side]:
    return prepared(tmp_path, keys)


def words(role: str, side: Side, *more: str | Path, require: tuple[str, ...] = REQUIRE) -> list[str]:
    """The command of one party."""
    files = (side.keys / name for name in (f"{side.name}.pem", f"{side.name}.key", "authority.pem"))
    shown = zip(("--cert", "--private-key", "--authority"), files, strict=True)
    own = ["--owns", ",".join(side.options["owns"])]
    own += ["--taxonomy", "Job=jobs", "--range", "Salary=1,99"] if role == "join" else []
    demanded = [word for text in require for word in ("--require", text)]
    credentials = [word for pair in shown for word in pair]
    begin = ["integrate", role, side.file, side.table, *SAME, *own, *demanded]
    return list(map(str, [*begin, *credentials, "--peer-name", side.partner, *more]))


class Serving:
    """The listening party, in a process of its own."""

    def __init__(self, side: Side, *more: str | Path) -> None:
        self.child = spawn(*words("serve", side, "--listen", f"{HOST}:0", "--wait", "30", *more))
        assert self.child.stderr is not None
        self.heard = ""
        while not self.heard.startswith("Note: Listening on "):
            self.heard = self.child.stderr.readline()
            assert self.heard, "the listening side ended"
        self.address = self.heard.split()[3]

    def end(self) -> tuple[int, str, str]:
        printed, said = self.child.communicate(timeout=60)
        return self.child.returncode, printed, said


def integrated(pair: tuple[Side, Side], *more: str | Path) -> tuple[Any, tuple[int, str, str]]:
    """Let both parties run with the same further options; give what each ended with."""
    first, second = (side.file.with_suffix(".jsonl") for side in pair)
    serving = Serving(pair[0], *more, "--transcript", first)
    try:
        joined = ppdm(*words("join", pair[1], "--peer", serving.address, *more, "--transcript", second))
        return joined, serving.end()
    finally:
        serving.child.kill()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> tuple[tuple[Side, Side], Any]:
    """Two files with a release, which no test changes, and what both parties said."""
    pair = prepared(tmp_path_factory.mktemp("published"), keys)
    return pair, integrated(pair)


@pytest.fixture
def copies(published: tuple[tuple[Side, Side], Any], tmp_path: Path) -> list[Side]:
    """Copies of these files, which a test may change."""
    return [replace(side, file=Path(shutil.copy(side.file, tmp_path))) for side in published[0]]


def test_both_sides_print_their_measures_and_hold_the_same_release(
    published: tuple[tuple[Side, Side], Any],
) -> None:
    pair, (joined, (code, printed, said)) = published
    assert (joined.exit_code, code) == (0, 0), joined.stderr + said
    for out, err in ((joined.stdout, joined.stderr), (printed, said)):
        assert "smallest class: k >= 4 on Sex, Job" in out
        assert "Published safe: 34 records, 9 steps, complete." in err
        assert "ppdm show" in err
    first, second = ([*execute(side.file, "FROM safe")] for side in pair)
    assert first == second
    assert len(first) == 34
    assert execute(pair[0].file, "SELECT method, verified FROM ppdm.releases") == [("TDS2P", True)]
    for side in pair:
        assert ppdm("verify", side.file, "safe").exit_code == 0


def test_all_options_are_read_and_recorded(pair: tuple[Side, Side], tmp_path: Path) -> None:
    execute(pair[0].file, "INSERT INTO ta SELECT 'another', Sex, Class FROM ta LIMIT 1")
    secret = tmp_path / "secret"
    secret.write_text("a secret of more than sixteen bytes\n")
    more = ["--match", "hashed", "--secret", secret, "--intersect", "--score-bits", "8", "--max-steps", "5"]
    joined, (code, _, said) = integrated(pair, *more, "--symbol", "?", "--format", "json")
    assert (joined.exit_code, code) == (0, 0), joined.stderr + said
    assert {row["measure"].partition(":")[0] for row in json.loads(joined.stdout)["measures"]} >= {
        "smallest class"
    }
    ((recorded, rows),) = execute(pair[0].file, "SELECT parameters::VARCHAR, rows FROM ppdm.releases")
    expected = {"match": "hashed", "intersect": True, "score_bits": 8, "max_steps": 5, "symbol": "?"}
    assert {name: json.loads(recorded)[name] for name in expected} == expected
    assert rows == 34
    assert "a secret" not in recorded
    listed = json.loads(ppdm("integrate", "transcript", pair[0].file, "safe", "--format", "json").stdout)
    assert [row["kind"] for row in listed][:6] == ["HELLO", "HELLO", "KEYS", "KEYS", "HELLO", "HELLO"]


def test_a_transcript_lists_every_message(published: tuple[tuple[Side, Side], Any]) -> None:
    listed = [
        json.loads(ppdm("integrate", "transcript", side.file, "safe", "--format", "json").stdout)
        for side in published[0]
    ]
    assert set(listed[0][0]) == {"message", "round", "direction", "kind", "bytes", "sha256"}
    directions = {"sent": "received", "received": "sent"}
    mirrored = [
        sorted((row["direction"], row["round"], row["kind"], row["bytes"], row["sha256"]) for row in rows)
        for rows in (listed[0], [row | {"direction": directions[row["direction"]]} for row in listed[1]])
    ]
    assert mirrored[0] == mirrored[1]
    assert {row["kind"] for row in listed[0]} == {"HELLO", "SCORE", "WIN", "DIGEST", "LABELS"}


def test_two_transcripts_are_held_against_each_other(copies: list[Side]) -> None:
    first, second = copies
    check = ("integrate", "transcript", first.file, "safe", "--check", second.file)
    result = ppdm(*check, "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert all(row["holds"] for row in found["Transcripts"])
    assert found["Told"]
    execute(second.file, "DELETE FROM ppdm.transcripts WHERE number = 9")
    result = ppdm(*check)
    assert result.exit_code == 1
    assert "false" in result.stdout


def test_a_dropped_release_leaves_no_transcript(copies: list[Side]) -> None:
    file = copies[0].file
    ((kept,),) = execute(file, "SELECT count(*) FROM ppdm.transcripts")
    assert kept > 10
    assert ppdm("drop", file, "safe").exit_code == 0
    assert execute(file, "FROM ppdm.transcripts") == []


def test_a_release_of_one_party_has_no_transcript(pair: tuple[Side, Side]) -> None:
    file = pair[0].file
    demanded = ["--require", "k >= 2 on Sex", "--class", "Class", "--into", "alone", "--quiet"]
    assert ppdm("suppress", file, "ta", *demanded).exit_code == 0
    result = ppdm("integrate", "transcript", file, "alone")
    assert_explained(result, code=2, problem="was not made by two parties")
    assert_explained(ppdm("integrate", "transcript", file, "none"), code=2, problem="There is no release")


def test_messages_are_written_to_a_file_as_they_cross(published: tuple[tuple[Side, Side], Any]) -> None:
    pair, _ = published
    files = [side.file.with_suffix(".jsonl") for side in pair]
    first, second = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
    assert [row["digest"] for row in first if row["direction"] == "sent"] == [
        row["digest"] for row in second if row["direction"] == "received"
    ]
    assert "payload" not in first[0]
    again = words("join", pair[1], "--peer", f"{HOST}:1", "--transcript", files[1], "--into", "other")
    assert_explained(ppdm(*again), code=2, problem="exists already")


def test_other_requirements_are_refused_on_both_sides(pair: tuple[Side, Side]) -> None:
    serving = Serving(pair[0])
    joined = ppdm(
        *words("join", pair[1], "--peer", serving.address, require=("k >= 5 on Sex, Job", REQUIRE[1]))
    )
    code, printed, said = serving.end()
    assert_explained(joined, code=1, problem="requirements")
    assert (code, printed) == (1, "")
    assert "Error: The partner has " in said
    assert not any(cell in said + joined.stderr for cell in CELLS)
    for side in pair:
        assert execute(side.file, "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'ppdm'") == [(0,)]


@pytest.mark.parametrize(
    ("option", "value", "code", "problem"),
    [
        ("--peer", "nowhere", 2, "is not a host and port"),
        ("--peer", f"{HOST}:1", 3, "Nobody can be reached"),
        ("--cert", "missing.pem", 2, "cannot be read"),
        ("--match", "guess", 2, "match keys"),
        ("--secret", "missing", 2, "cannot be read"),
        ("--timeout", "0", 2, "not a time limit"),
        ("--owns", "Jop", 2, "has no column 'Jop'"),
        ("--key", "SNN", 2, "has no column 'SNN'"),
    ],
)
def test_options_that_cannot_be_used_are_explained(
    pair: tuple[Side, Side], option: str, value: str, code: int, problem: str
) -> None:
    result = ppdm(*words("join", pair[1], "--peer", f"{HOST}:1", "--timeout", "0.3"), option, value)
    assert_explained(result, code=code, problem=problem)


def test_a_port_that_is_taken_is_explained(pair: tuple[Side, Side]) -> None:
    serving = Serving(pair[0])
    result = ppdm(*words("serve", pair[1], "--listen", serving.address))
    serving.child.kill()
    serving.child.wait()
    assert_explained(result, code=2, problem="cannot listen")


def test_keys_for_a_trial_are_made_and_said_to_be_for_one(tmp_path: Path) -> None:
    result = ppdm("integrate", "keygen", tmp_path / "new", "--name", "bank-a", "--name", "bank-b")
    assert result.exit_code == 0
    made = {Path(line).name for line in result.stdout.splitlines()}
    assert made == {"authority.pem", "bank-a.pem", "bank-a.key", "bank-b.pem", "bank-b.key"}
    assert "trial" in result.stderr
    assert (tmp_path / "new" / "bank-a.key").stat().st_mode & 0o777 == 0o600
    again = ppdm("integrate", "keygen", tmp_path / "new", "--name", "bank-a", "--name", "bank-b")
    assert_explained(again, code=2, problem="exists already")
