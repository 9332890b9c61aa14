"""From a file to a file on the command line, and what leads a newcomer there."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import execute, ppdm, spawn

VISITS = "\n".join(
    ["id,name,sex,zip,disease"]
    + [
        f'{n},"Meier, ""{n}""",{"fm"[n % 2]},{"0" if n % 2 else ""}{4000 + n % 3},{"ab"[n // 30]}'
        for n in range(60)
    ]
)
GENERALIZE = ["--class", "disease", "--require", "k >= 5 on sex, zip", "--into", "visits_safe"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path


def test_one_command_makes_the_file_keeps_the_release_and_exports_it(folder: Path) -> None:
    done = ppdm("generalize", "bank.duckdb", "visits.csv", *GENERALIZE, "--export", "safe.csv")
    assert done.exit_code == 0, done.stderr
    assert "Column 'zip' of visits.csv is read as text" in done.stderr
    assert done.stderr.splitlines()[-2:] == ["Wrote safe.csv.", "Made bank.duckdb."]
    head, *rows = (folder / "safe.csv").read_text().splitlines()
    assert (head, len(rows)) == ("sex,zip,disease", 60)
    assert all(row.split(",")[1] in ("04000", "04001", "04002", "4000", "4001", "4002", "*") for row in rows)
    assert execute(folder / "bank.duckdb", "SELECT source FROM ppdm.releases") == [("visits.csv",)]
    assert "Meier" not in done.output
    assert "Column 'zip' of visits.csv is read as text" in ppdm("show", "bank.duckdb", "visits_safe").stdout


def test_without_a_database_nothing_is_left_but_the_export(folder: Path) -> None:
    for words in (["visits.csv"], [":memory:", "visits.csv"]):
        done = ppdm("generalize", *words, *GENERALIZE, "--export", "safe.parquet", "--force")
        assert done.exit_code == 0, done.stderr
        assert sorted(os.listdir()) == ["safe.parquet", "visits.csv"]
        assert "Next:" not in done.stderr


def test_an_address_stands_alone_and_is_told_as_it_was_typed() -> None:
    address = "https://127.0.0.1:1/visits.csv"
    done = ppdm("audit", address, "--by", "sex")
    assert done.exit_code != 0 and f"{address} " in done.stderr and "no file" not in done.stderr


def test_a_file_alone_is_audited(folder: Path) -> None:
    done = ppdm("audit", "visits.csv", "--types", "zip=VARCHAR", "--require", "k on sex, zip")
    assert (done.exit_code, done.stderr) == (0, "")
    assert os.listdir() == ["visits.csv"]
    drafted = ppdm("taxonomy", "suggest", "visits.csv", "zip", "--types", "zip=VARCHAR")
    assert drafted.stdout.startswith("0")


def test_sql_shows_what_would_be_run_and_makes_nothing(folder: Path) -> None:
    done = ppdm("generalize", "bank.duckdb", "visits.csv", *GENERALIZE, "--sql")
    assert done.exit_code == 0, done.stderr
    assert 'CREATE TEMP TABLE "temp"."main"."visits.csv" AS' in done.stdout
    assert os.listdir() == ["visits.csv"]


def test_a_failed_run_leaves_no_new_file(folder: Path) -> None:
    execute(folder / "other.duckdb", "CREATE TABLE v AS FROM 'visits.csv'")
    for source, more in (("visits.csv", []), ("o.v", ["--attach", "other.duckdb AS o"])):
        done = ppdm("generalize", "bank.duckdb", source, *GENERALIZE[2:], "--class", "illness", *more)
        assert done.exit_code == 2
        assert "Made bank.duckdb." not in done.stderr
        assert sorted(os.listdir()) == ["other.duckdb", "visits.csv"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["visits.csv", *GENERALIZE], "With :memory: nothing is kept"),
        (["bank.duckdb", "visits.csv", *GENERALIZE, "--export", "visits.csv", "--force"], "made from"),
        (["bank.duckdb", "vis*.csv", *GENERALIZE, "--export", "visits.csv", "--force"], "made from"),
        (["bank.duckdb", "visits.csv", *GENERALIZE, "--export", "safe.xyz"], "does not tell the format"),
        (["bank.duckdb", "visits.csv", *GENERALIZE, "--export", "no/safe.csv"], "cannot be written to"),
        (["bank.duckdb", "visits.csv", *GENERALIZE, "--types", "zip"], "names no column"),
        (["bank.duckdb", "visits.csv", *GENERALIZE, "--attach", "x.duckdb"], "under which name"),
        (["bank.duckdb", "visit", *GENERALIZE], "There is no database file bank.duckdb"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_made(
    folder: Path, words: list[str], problem: str
) -> None:
    done = ppdm("generalize", *words)
    assert done.exit_code in (2, 3)
    assert problem in done.stderr
    assert "Made" not in done.stderr
    assert os.listdir() == ["visits.csv"]


def test_a_failed_export_says_that_the_release_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "full")

    monkeypatch.setattr("ppdm_sql.release.exporting._finish", fail)
    done = ppdm("generalize", "bank.duckdb", "visits.csv", *GENERALIZE, "--export", "safe.csv")
    assert done.exit_code != 0
    again = "ppdm export bank.duckdb visits_safe safe.csv"
    assert f"The release visits_safe is kept; export it with: {again}" in done.stderr
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert ppdm(*shlex.split(again)[1:]).exit_code == 0


def test_a_missing_database_leads_on(folder: Path) -> None:
    done = ppdm("audit", "new.duckdb", "visits", "--require", "k on sex")
    assert done.exit_code == 3
    assert "There is no database file new.duckdb." in done.stderr
    said = done.stderr.split("of yours: ", 1)[1].split("; where TABLE", 1)[0]
    assert ppdm(*shlex.split(said)[1:]).exit_code == 0
    assert ppdm("audit", "new.duckdb", "visits", "--require", "k on sex").exit_code == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_killed_run_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 7},{n % 1000:04},{n % 2}\n" for n in range(400_000))
    (folder / "big.csv").write_text("id,sex,zip,disease\n" + rows)
    spill = folder / "spill"
    spill.mkdir()
    words = ["generalize", "big.csv", *GENERALIZE, "--export", "safe.csv", "--memory-limit", "200MB"]
    run = spawn(*words, env={**os.environ, "TMPDIR": str(spill)}, cwd=folder)
    deadline = time.monotonic() + 60
    while not os.listdir(spill) and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    while os.listdir(spill) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert os.listdir(spill) == []
    assert sorted(os.listdir()) == ["big.csv", "spill", "visits.csv"]


AUDIT, RELEASE = ["audit", "--require", "k on sex, zip"], ["generalize", *GENERALIZE, "--export", "safe.csv"]


def shell(line: str, words: list[str], place: str = "", **options: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell in which ``run SOURCE`` is a command over that source."""
    command, *more = words
    program = f'run() {{ "{sys.executable}" -m ppdm_sql {command} {place} "$1" {shlex.join(more)}; }}; {line}'
    environment = {**os.environ, **options}
    return subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=60, env=environment, check=False
    )


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
@pytest.mark.parametrize(
    ("line", "words", "place"),
    [
        ("mkfifo pipe; cat visits.csv > pipe & run pipe", AUDIT, ":memory:"),
        ("run /dev/stdin < visits.csv", AUDIT, ""),
        ("run <(cat visits.csv)", RELEASE, ":memory:"),
    ],
)
def test_what_is_read_only_once_is_read_as_a_csv_file(
    folder: Path, line: str, words: list[str], place: str
) -> None:
    spill = folder / "spill"
    spill.mkdir()
    done = shell(line, words, place, TMPDIR=str(spill))
    assert done.returncode == 0, done.stderr
    assert "can be read only once: it was copied into a private temporary file" in done.stderr
    assert os.listdir(spill) == []
    if words is AUDIT:
        of_file = ppdm("audit", "visits.csv", *AUDIT[1:]).stdout
        assert done.stdout.splitlines()[2:] == of_file.splitlines()[2:]
    else:
        assert len((folder / "safe.csv").read_text().splitlines()) == 61


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("printf 'a,b\\n1,Meier,3\\n' | run /dev/stdin", "Line 2 of /dev/stdin holds 3 value(s)"),
        ("printf '' | run /dev/stdin", "/dev/stdin is empty"),
        ("run /dev/stdin < /dev/null", "'/dev/stdin' is a device"),
        ("run /dev/stdin <&-", "'/dev/stdin' cannot be read: standard input is closed"),
    ],
)
def test_what_is_read_only_once_is_named_in_errors_and_leaves_nothing(
    folder: Path, line: str, problem: str
) -> None:
    spill = folder / "spill"
    spill.mkdir()
    done = shell(line, AUDIT, ":memory:", TMPDIR=str(spill))
    assert done.returncode == 2, done.stderr
    assert problem in done.stderr
    assert str(spill) not in done.stderr
    assert os.listdir(spill) == []


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_run_that_waits_for_a_fifo_ends_at_ctrl_c(folder: Path) -> None:
    os.mkfifo("pipe")
    spill = folder / "spill"
    spill.mkdir()
    run = spawn("audit", "pipe", *AUDIT[1:], env={**os.environ, "TMPDIR": str(spill)}, cwd=folder)
    with open(os.open("pipe", os.O_RDWR), "w") as writer:  # it waits for no reader
        writer.write(VISITS)
        writer.flush()
        deadline = time.monotonic() + 30
        while not list(spill.glob("*/0 pipe.csv")) and time.monotonic() < deadline:
            time.sleep(0.05)
        (copy,) = spill.glob("*/0 pipe.csv")
        assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
    assert run.returncode == 130, said
    assert os.listdir(spill) == []
