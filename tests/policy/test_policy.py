"""A policy makes what is missing or out of date and says why; it is checked, recorded, written and read."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import assert_explained, execute, ppdm
from hypothesis import given
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql import policy
from ppdm_sql.policy.drafting import _toml

POLICY = """
database = "clinic.duckdb"
null = ["N/A"]
types = { zip = "VARCHAR" }
identifier = "patient"   # never released
[why]
age = "neighbours know it"
[release.safe]
command = "generalize"
table = "visits.csv"
require = ["k >= 4 on sex, age, zip"]
keep = "ill"
export = "safe.parquet"
[release.safe.taxonomy]
sex = "sex.csv"
[release.safe.signoff]
purpose = "a study of 7 wards"
until = 2099-12-31
"""
VISITS = "patient,sex,age,zip,ill\n" + "".join(
    f"P{n:03},{'mf'[n % 2]},{20 + n * 7 % 50},0{2100 + n % 3},{'yes' if n % 5 else 'no'}\n" for n in range(80)
)


FINE = ("up to date", "it verifies; the same 80 records, policy and version")


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ppdm.toml").write_text(POLICY)
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "sex.csv").write_text("m;anybody\nf;anybody\n")
    return tmp_path


def told(*words: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Run a command on a policy; give the exit code, and the state and the reasons of each release."""
    done = ppdm(*words, "--format", "json", "--quiet")
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    return done.exit_code, {one["release"]: (one["state"], "; ".join(one["why"])) for one in found}


def change(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def made_at() -> Any:
    return execute(Path("clinic.duckdb"), "SELECT created_at FROM ppdm.releases WHERE release = 'safe'")


def test_a_run_makes_what_is_missing_and_then_nothing(clinic: Path) -> None:
    assert told("check") == (1, {"safe": ("missing", "there is no such release")})
    assert not (clinic / "clinic.duckdb").exists()
    assert told("run", "--dry-run") == (0, {"safe": ("missing", "there is no such release")})
    assert not (clinic / "clinic.duckdb").exists()
    assert told("run") == (0, {"safe": ("made", "there is no such release")})
    before = made_at()
    assert told("run") == told("check") == (0, {"safe": FINE})
    assert made_at() == before
    assert duckdb.sql("SELECT count(*) FROM 'safe.parquet'").fetchall() == [(80,)]


CHANGES: dict[str, tuple[Callable[[], object], str, str]] = {
    "source": (
        lambda: change("visits.csv", "P001,f,27", "P001,f,28"),
        "out of date",
        "visits.csv changed: 80",
    ),
    "option": (lambda: change("ppdm.toml", "k >= 4", "k >= 5"), "out of date", "the policy changed: require"),
    "shared option": (lambda: change("ppdm.toml", '"N/A"', '"0"'), "out of date", "the policy changed: null"),
    "taxonomy": (lambda: change("sex.csv", "anybody", "*any*"), "out of date", "sex.csv changed"),
    "version": (
        lambda: execute(Path("clinic.duckdb"), "UPDATE ppdm.releases SET version = '0.0.1'"),
        "out of date",
        "made by ppdm-sql 0.0.1",
    ),
    "stopped": (
        lambda: execute(Path("clinic.duckdb"), "UPDATE ppdm.releases SET stopped = 'interrupted'"),
        "out of date",
        "stopped early",
    ),
    "tampered": (
        lambda: execute(Path("clinic.duckdb"), "DELETE FROM ppdm.release_safe WHERE ill = 'no'"),
        "refuted",
        "the records are as many as published",
    ),
    "dropped": (
        lambda: (ppdm("drop", "clinic.duckdb", "safe"), Path("safe.parquet").unlink()),
        "missing",
        "there is no such release",
    ),
    "file gone": (lambda: Path("safe.parquet").unlink(), "not exported", "safe.parquet is missing"),
    "file changed": (
        lambda: Path("safe.parquet").write_bytes(b"x"),
        "not exported",
        "safe.parquet is not what was exported",
    ),
    "sign-off": (lambda: change("ppdm.toml", "7 wards", "8 wards"), "not recorded", "to be signed changed"),
    "reason": (lambda: change("ppdm.toml", "neighbours", "colleagues"), "not recorded", "to be signed"),
}


def test_whatever_changes_is_told_and_mended(clinic: Path) -> None:
    assert told("run")[0] == 0
    for what, (happen, state, why) in CHANGES.items():
        happen()
        code, found = told("check")
        assert (code, found["safe"][0]) == (1, state), what
        assert why in found["safe"][1]
        done = {"not exported": "exported", "not recorded": "recorded"}.get(state, "made")
        code, found = told("run")
        assert (code, found["safe"][0]) == (0, done), what
    assert told("check") == (0, {"safe": FINE})


def test_releases_beside_the_policy_are_told_and_do_no_harm(clinic: Path) -> None:
    told("run")
    assert (
        ppdm("suppress", "clinic.duckdb", "visits.csv", "--require", "k >= 4 on sex", "--into", "b").exit_code
        == 0
    )
    assert told("check") == (0, {"safe": FINE, "b": ("not in the policy", "")})


def test_what_cannot_be_made_leaves_what_was_and_does_not_stop_the_others(clinic: Path) -> None:
    told("run")
    change("ppdm.toml", "k >= 4", "k >= 81")
    with Path("ppdm.toml").open("a") as file:
        file.write('[release.other]\ncommand = "suppress"\ntable = "visits.csv"\nrequire = "k >= 4 on sex"\n')
    before = made_at()
    code, found = told("run")
    assert (code, found["safe"][0], found["other"][0]) == (1, "failed", "made")
    assert made_at() == before
    with ppdm_sql.open("clinic.duckdb") as db:
        assert db.release("safe").verify().holds


def test_a_file_that_no_run_exported_is_not_replaced(clinic: Path) -> None:
    (clinic / "safe.parquet").write_text("mine")
    code, found = told("run")
    assert (code, found["safe"][0]) == (1, "failed")
    assert (clinic / "safe.parquet").read_text() == "mine"
    assert not (clinic / "clinic.duckdb").exists()


def test_a_release_that_is_updatable_follows_its_source_and_is_never_made_anew(clinic: Path) -> None:
    change("ppdm.toml", 'keep = "ill"', 'keep = "ill"\nperson = "patient"\nupdatable = true')
    assert told("run")[1]["safe"][0] == "made"
    before = Path("safe.parquet").read_bytes()
    more = [f"Q{n:03},{'mf'[n % 2]},{20 + n * 7 % 50},0{2100 + n % 3},yes\n" for n in range(80)]
    Path("visits.csv").write_text(VISITS + "".join(more))
    why = "visits.csv changed: 80 records then, 160 now"
    assert told("check") == (1, {"safe": ("grown", why)})
    assert told("run") == (0, {"safe": ("updated", why)})
    assert Path("safe.parquet").read_bytes() != before
    assert told("check")[0] == 0
    assert len(execute(clinic / "clinic.duckdb", "FROM safe_version(1)")) == 80
    change("ppdm.toml", "k >= 4", "k >= 5")
    code, found = told("run")
    assert (code, found["safe"][0]) == (1, "failed")
    assert "the policy changed: require; but safe is updatable" in found["safe"][1]
    assert ppdm("drop", "clinic.duckdb", "safe").exit_code == 0
    Path("safe.parquet").unlink()
    assert told("run")[1]["safe"][0] == "made"


def test_after_its_sign_off_a_release_is_not_made_and_does_not_pass(clinic: Path) -> None:
    told("run")
    change("ppdm.toml", "2099-12-31", "2020-12-31")
    assert told("check")[1]["safe"][0] == "not recorded"
    assert told("run")[1]["safe"][0] == "sign-off ended"
    assert told("check") == (1, {"safe": ("sign-off ended", "the sign-off ended on 2020-12-31")})
    (clinic / "safe.parquet").unlink()
    assert told("run")[1]["safe"][0] == "failed"
    assert not (clinic / "safe.parquet").exists()
    change("visits.csv", "P001,f,27", "P001,f,28")
    code, found = told("run")
    assert (code, found["safe"][0]) == (1, "failed")
    assert "Decide anew" in found["safe"][1]


def test_a_release_made_by_hand_gives_way_to_the_one_of_the_policy(clinic: Path) -> None:
    words = ("suppress", "clinic.duckdb", "visits.csv", "--require", "k >= 4 on sex", "--into", "Safe")
    assert ppdm(*words).exit_code == 0
    assert "the policy changed: command" in told("check")[1]["safe"][1]
    assert told("run")[1]["safe"][0] == "made"
    assert told("check")[0] == 0


# -- what is wrong with a policy ---------------------------------------------------------------------

WRONG = {
    "unknown option": ("keep =", "kep =", "release.safe.kep is not known. Did you mean keep?"),
    "underscores": ("keep =", "max_steps = 3\nkeep =", "max_steps is not known. Did you mean max-steps?"),
    "unknown at the top": ("null =", "nul =", "nul is not known. Did you mean null?"),
    "option of another method": ("keep =", "noise = []\nkeep =", "release.safe.noise is not known"),
    "type": ("require = [", "keep-none = 1\nrequire = [", "keep-none is not known"),
    "number for names": ('keep = "ill"', "keep = 3", "release.safe.keep must be list of names. Write"),
    "text for flag": ("keep =", 'allow-absent = "no"\nkeep =', "allow-absent must be true or false. Write"),
    "flag for number": ("keep =", "max-steps = true\nkeep =", "max-steps must be whole number. Write"),
    "word": ("keep =", 'method = "pda"\nkeep =', "release.safe.method must be one of tds, hce-tdr. Write"),
    "bounds": (
        "keep =",
        "range = { age = [1] }\nkeep =",
        "release.safe.range must be table of a list of two by column",
    ),
    "command": ('"generalize"', '"generalise"', "release.safe.command must be one of generalize"),
    "requirement": ("k >= 4 on", "k >= 4 of", "release.safe.require:"),
    "no table": ('table = "visits.csv"', "", "release.safe.table is missing"),
    "no requirement": (
        'require = ["k >= 4 on sex, age, zip"]',
        "",
        "release.safe.require is missing. Write it",
    ),
    "no database": ('database = "clinic.duckdb"', "", "database is missing."),
    "memory": ('"clinic.duckdb"', '":memory:"', "database must be the path of a file"),
    "sign-off": ("purpose", "purpse", "release.safe.signoff.purpse is not known. Did you mean purpose?"),
    "day": ("2099-12-31", '"soon"', "release.safe.signoff.until must be a day. Write until"),
    "no TOML": ("[why]", "[why", "is not TOML"),
    "twice": (
        "[why]",
        '[release.SAFE]\ncommand = "suppress"\ntable = "t"\nrequire = "k >= 2 on a"\n[why]',
        "twice",
    ),
    "password": (
        "[why]",
        '[attach]\nx = "postgres:host=h password=p4ss"\n[why]',
        "attach.x must be the path",
    ),
    "address": (
        '"visits.csv"',
        '"https://me:p4ss@h/visits.csv"',
        "release.safe.table is missing, or holds a secret",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_place(clinic: Path, what: str) -> None:
    old, new, problem = WRONG[what]
    change("ppdm.toml", old, new)
    for command in ("check", "run"):
        done = ppdm(command)
        assert done.exit_code == 2
        assert problem in done.stderr.replace("\n", " ")
        assert done.stderr.startswith("Error: ppdm.toml")
        assert "p4ss" not in done.stderr
    assert not (clinic / "clinic.duckdb").exists()


def test_a_misspelt_column_is_named(clinic: Path) -> None:
    changes = [("age =", "aeg ="), ("on sex, age", "on sex, aeg"), ("\nsex =", "\naeg =")]
    changes += [('keep = "ill"', 'keep = "aeg"'), ("{ zip", "{ aeg"), ('"patient"', '"aeg"')]
    for words in (["run"], ["run", "--dry-run"], ["check"]):
        for old, new in changes:
            (clinic / "ppdm.toml").write_text(POLICY)
            change("ppdm.toml", old, new)
            code, found = told(*words)
            assert (code, found["safe"][0]) == (1, "failed")
            assert "no column 'aeg'" in found["safe"][1]
    for noise in ('["aeg=gaussian 50%"]', '{ aeg = "gaussian 50%" }'):
        (clinic / "ppdm.toml").write_text(f"{RANDOMIZE}noise = {noise}\n")
        code, found = told("run", "--dry-run")
        assert (code, found["noisy"][0]) == (1, "failed")
        assert "no column 'aeg'" in found["noisy"][1]


def test_a_database_that_another_process_holds_is_an_error(clinic: Path) -> None:
    told("run")
    held = "import duckdb; c = duckdb.connect('clinic.duckdb'); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        done = [ppdm("run"), ppdm("check")]
        other.communicate(b"\n")
    assert [one.exit_code for one in done] == [3, 3]
    assert "is open in another process" in done[0].stderr


def test_no_policy_and_no_such_release_are_errors(clinic: Path) -> None:
    assert_explained(ppdm("run", "--policy", "none.toml"), code=2, problem="There is no policy none.toml")
    assert_explained(ppdm("check", "sfe"), code=2, problem="describes no release 'sfe'")


RANDOMIZE = """
database = "clinic.duckdb"
[release.noisy]
command = "randomize"
table = "visits.csv"
"""
SWAP = """
database = "clinic.duckdb"
[release.swapped]
command = "swap"
table = "visits.csv"
confidential = "ill"
by = "age"
proportion = 0.5
"""


def test_a_secret_that_is_none_is_not_printed(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEED", "hunter2")
    (clinic / "ppdm.toml").write_text(f'{SWAP}seed = {{ env = "SEED" }}\n')
    done = ppdm("run")
    assert done.exit_code == 1
    assert "release.swapped.seed" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_an_address_is_no_database_and_is_not_printed(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "https://me:p4ss@localhost/clinic.duckdb")
    change("ppdm.toml", '"clinic.duckdb"', '{ env = "WHERE" }')
    done = ppdm("run")
    assert_explained(done, code=2, problem="database must be the path of a file, not an address")
    assert "p4ss" not in done.stderr


def test_secrets_stand_elsewhere(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, problem in (
        ("1", "since no secret stands in a policy"),
        ('{ env = "NO_SUCH" }', "no environment"),
    ):
        (clinic / "ppdm.toml").write_text(f"{SWAP}seed = {seed}\n")
        done = ppdm("run")
        assert done.exit_code != 0
        assert problem in done.stderr + done.stdout
    monkeypatch.setenv("SEED", "7")
    (clinic / "ppdm.toml").write_text(f'{SWAP}seed = {{ env = "SEED" }}\n')
    assert told("run")[0] == 0
    (clinic / "seed.txt").write_text("8\n")
    change("ppdm.toml", '{ env = "SEED" }', '{ file = "seed.txt" }')
    assert told("run") == (0, {"swapped": ("made", "the policy changed: seed")})
    noisy = '[release.noisy]\ncommand = "randomize"\ntable = "visits.csv"\nnoise = { age = "uniform 5" }\n'
    (clinic / "ppdm.toml").write_text(f'database = "c.duckdb"\n{noisy}key-file = "{"ab" * 32}"\n')
    assert_explained(ppdm("run"), code=2, problem="key-file is a secret, which stands in no policy")


# -- written and read --------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.text()
    | st.integers(-(2**62), 2**62)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN)
def test_what_is_written_as_toml_reads_the_same(value: Any) -> None:
    assert tomllib.loads(f"x = {_toml(value)}\n")["x"] == value


def test_a_policy_of_a_release_asks_what_it_was_asked(clinic: Path) -> None:
    told("run")
    (clinic / "below").mkdir()
    for file in ("again.toml", "below/ppdm.toml"):
        done = ppdm("init", "clinic.duckdb", "safe", "--policy", file)
        assert done.exit_code == 0, done.stderr
        assert told("check", "--policy", file) == (0, {"safe": FINE})
        again = ppdm("init", "clinic.duckdb", "safe", "--policy", file)
        assert_explained(again, code=2, problem=f"There is a file {file}")


def test_a_taxonomy_may_be_of_a_column_that_is_called_file(clinic: Path) -> None:
    change("visits.csv", "patient,sex", "patient,file")
    change("ppdm.toml", "on sex", "on file")
    change("ppdm.toml", "sex = ", "file = ")
    assert told("run")[1]["safe"][0] == "made"


def test_the_examples_of_the_schema_are_read(tmp_path: Path) -> None:
    lines = ['database = "bank.duckdb"']
    for method in policy.schema()["properties"]["release"]["additionalProperties"]["oneOf"]:
        known = method["properties"]
        name = known["command"]["enum"][0]
        lines += [f"[release.{name}]", f"command = '{name}'"]
        lines += [line for key, one in known.items() if key != "seed" for line in one.get("examples", ())]
    (tmp_path / "ppdm.toml").write_text("\n".join(lines))
    found = policy.load(tmp_path / "ppdm.toml").releases
    assert list(found) == ["generalize", "swap", "randomize", "suppress"]
    assert found["generalize"].options()["tops"] == {"age": 90}
    assert found["swap"].options()["confidential"] == ("Amount",)


def test_a_policy_of_a_release_of_the_command_line_makes_the_same(clinic: Path) -> None:
    (clinic / "below").mkdir()
    words = ["--require", "k >= 4 on sex, age", "--taxonomy", "sex=sex.csv", "--range", "age=0,100"]
    words += ["--keep", "ill", "--suppress-records", "2%", "--identifier", "patient=pseudonym"]
    assert ppdm("generalize", "clinic.duckdb", "visits.csv", *words, "--into", "byhand").exit_code == 0
    assert ppdm("init", "clinic.duckdb", "byhand", "--policy", "below/ppdm.toml").exit_code == 0
    why = "it was not made by ppdm run, so its source may have changed"
    assert told("check", "--policy", "below/ppdm.toml") == (1, {"byhand": ("out of date", why)})
    shown = "SELECT sex, age, ill, count(*) FROM byhand GROUP BY ALL ORDER BY ALL"
    before = execute(clinic / "clinic.duckdb", shown)
    assert told("run", "--policy", "below/ppdm.toml")[0] == 0
    assert execute(clinic / "clinic.duckdb", shown) == before


def test_a_policy_of_a_table_proposes_what_a_first_look_finds(clinic: Path) -> None:
    assert ppdm("init", "visits.csv", "--policy", "first.toml", "--types", "zip=VARCHAR").exit_code == 0
    found = policy.load("first.toml").releases["visits_safe"].asked
    assert (found["identifier"], found["types"]) == (["patient"], {"zip": "VARCHAR"})
    assert found["require"] == ["k >= 5 on sex, age, zip, ill"]
    assert told("run", "--policy", "first.toml")[1]["visits_safe"][0] == "made"


def test_a_policy_is_drafted_of_a_table_with_many_columns_without_trying_their_sets(clinic: Path) -> None:
    columns = [f"c{n}" for n in range(51)]  # of which there are more than 20,000 sets of up to three
    lines = [",".join(str(record % (2 + n % 3)) for n in range(51)) for record in range(30)]
    Path("wide.csv").write_text("\n".join([",".join(columns), *lines]))
    done = ppdm("init", "wide.csv", "--policy", "wide.toml")
    assert done.exit_code == 0, done.stderr
    assert "k >= 5 on c0, c1, c2" in Path("wide.toml").read_text()


def test_hostile_names_pass_through(clinic: Path) -> None:
    name, column = "a \"safe\"; DROP\n'x' [y].z = #", 'co"l\n=#.x'
    with duckdb.connect("clinic.duckdb") as connection:
        quoted = '"' + column.replace('"', '""') + '"'
        connection.execute(
            f'CREATE TABLE "t ""1" AS SELECT i % 2 AS {quoted}, i % 3 AS s FROM range(30) r (i)'
        )
    with ppdm_sql.open("clinic.duckdb") as db:
        db.suppress('t "1', ["k >= 4 on s"], keep=[column], into=name)
    assert ppdm("init", "clinic.duckdb", name, "--policy", "odd.toml").exit_code == 0
    assert told("run", "--policy", "odd.toml")[1][name][0] == "made"
    assert told("check", "--policy", "odd.toml")[0] == 0


# -- stopped in the middle ---------------------------------------------------------------------------

CHILD = """
import os, signal, sys
number, moment = getattr(signal, sys.argv[1]), sys.argv[2]
from ppdm_sql.cli import main
from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.loop import Refinement
import ppdm_sql.policy.running as running

def hooked(owner, name, when):
    method = getattr(owner, name)
    def wrapper(*args, **kwargs):
        if when(*args, **kwargs):
            os.kill(os.getpid(), number)
        return method(*args, **kwargs)
    setattr(owner, name, wrapper)

step = lambda word: lambda *args, step="", **kwargs: step == word
if moment == "search":
    hooked(Refinement, "best", lambda *args: True)
elif moment == "export":
    hooked(running, "_export", lambda *args: True)
elif moment == "hash":
    hooked(running, "keep_record", lambda *args, **kwargs: True)
else:
    hooked(Engine, "write", step(moment))
sys.argv[:] = ["ppdm", "run", "--quiet"]
main()
"""


def stopped(by: str, moment: str) -> int:
    words = [sys.executable, "-c", CHILD, by, moment]
    return subprocess.run(words, capture_output=True, timeout=120, check=False).returncode


@pytest.mark.parametrize("moment", ["search", "freeze", "insert release", "export", "hash"])
def test_a_run_that_is_killed_leaves_nothing_half_done_and_the_next_one_finishes(
    clinic: Path, moment: str
) -> None:
    told("run")
    change("visits.csv", "P001,f,27", "P001,f,28")
    assert stopped("SIGKILL", moment) == -signal.SIGKILL
    with ppdm_sql.open("clinic.duckdb") as db:
        assert [row.release for row in db.releases()] == ["safe"]
        assert db.release("safe").verify().holds
    assert told("check")[0] == 1
    assert told("run")[0] == 0
    assert told("check") == (0, {"safe": FINE})
    assert sorted(path.name for path in clinic.iterdir() if path.name.startswith("safe")) == ["safe.parquet"]


@pytest.mark.parametrize(("by", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_ctrl_c_ends_a_run_with_what_was_there(clinic: Path, by: str, code: int) -> None:
    told("run")
    before = made_at()
    change("visits.csv", "P001,f,27", "P001,f,28")
    assert stopped(by, "search") == code
    assert made_at() == before
    assert told("run")[1]["safe"][0] == "made"


# -- the record --------------------------------------------------------------------------------------


def record() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in json.loads(ppdm("show", "clinic.duckdb", "safe", "--format", "json").stdout)["record"]:
        found.setdefault(row["about"], {})[row["what"]] = row["said"]
    return found


def test_the_record_holds_what_is_signed_and_none_of_it_leaves(clinic: Path) -> None:
    change("ppdm.toml", '"safe.parquet"', '["safe.parquet", "safe.csv", "safe.duckdb"]')
    assert told("run")[0] == 0
    assert ppdm("attack", "clinic.duckdb", "safe", "--record").exit_code == 0
    found = record()
    assert found["sign-off"] == {"purpose": "a study of 7 wards", "until": "2099-12-31"}
    assert found["column"]["age"] == "generalized: neighbours know it"
    assert found["column"]["patient"] == "not released"
    assert found["requirement"]["k >= 4 on sex, age, zip"] >= 4
    assert any(name.startswith("linkage") for name in found["attack"])
    assert sorted(found["export"]) == ["safe.csv", "safe.duckdb", "safe.parquet"]
    assert all(said.startswith("SHA-256 ") for said in found["export"].values())
    assert ppdm("report", "clinic.duckdb", "safe", "owner.html").exit_code == 0
    assert ppdm("report", "clinic.duckdb", "safe", "public.html", "--public").exit_code == 0
    assert "a study of 7 wards" in (clinic / "owner.html").read_text()
    for name in ("safe.parquet", "safe.csv", "safe.duckdb", "public.html"):
        content = (clinic / name).read_bytes()
        assert not any(text in content for text in (b"7 wards", b"neighbours", b"visits.csv")), name


def test_settings_that_were_not_chosen_are_kept_with_the_one_that_was(clinic: Path) -> None:
    words = ["--qi", "sex,age", "--k", "4,8", "--keep-best", "loss", "--into", "safe"]
    assert ppdm("compare", "clinic.duckdb", "visits.csv", *words).exit_code == 0
    (tried,) = record()["tried, not chosen"].items()
    assert tried[0].startswith("k = 8")
    assert "highest risk" in tried[1]
