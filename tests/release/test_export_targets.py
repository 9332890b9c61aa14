"""What an export replaces, what it leaves behind, and what it says when it cannot go on."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm, spawn

import ppdm_sql
from ppdm_sql.engine.space import machine, out_of_space
from ppdm_sql.release import exporting

POSIX = pytest.mark.skipif(os.name != "posix", reason="locks and limits are those of POSIX systems")
ROWS = 500_000


def bank(folder: Path, select: str = "SELECT i % 3 AS a, i % 2 AS c FROM range(12) r(i)", *keep: str) -> Path:
    """Make a file with one release of all columns."""
    path = folder / "bank.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE t AS {select}")
        asked = {"class_column": "c", "into": "safe", "keep": keep, "allow_identifiers": keep}
        ppdm_sql.open(connection).suppress("t", ["k >= 1 on a"], **asked)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that takes long enough to write to be killed meanwhile."""
    select = f"SELECT i % 3 AS a, i % 2 AS c, md5(i::VARCHAR) AS note FROM range({ROWS}) r(i)"
    return bank(tmp_path_factory.mktemp("large"), select, "note")


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def begun(large: Path, target: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start an export and stop it while it is writing."""
    child = spawn("export", large, "safe", target, "--threads", "1")
    before = set(target.parent.glob(".ppdm-*.part"))
    while child.poll() is None:
        for part in set(target.parent.glob(".ppdm-*.part")) - before:
            files = [file for file in part.iterdir() if file.name.startswith("rows")]
            if any(file.stat().st_size > 0 for file in files):
                child.send_signal(signal.SIGSTOP)
                return child, part
        time.sleep(0.01)
    raise AssertionError(f"the export was not seen at work: {child.communicate()}")


def kill(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


# -- what is left ---------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb"])
def test_what_a_killed_export_leaves_is_removed_by_the_next(
    large: Path, exports: Path, tmp_path: Path, form: str
) -> None:
    child, part = begun(large, exports / f"big.{form}")
    small = bank(tmp_path)
    assert ppdm("export", small, "safe", exports / "one.csv").exit_code == 0
    assert part.exists(), "the process lives, so its folder stays"
    kill(child)
    assert part.exists()
    assert ppdm("export", small, "safe", exports / "two.csv").exit_code == 0
    assert sorted(found.name for found in exports.iterdir()) == ["one.csv", "two.csv"]


@POSIX
def test_an_export_beside_another_that_is_at_work_lets_it_finish(large: Path, exports: Path) -> None:
    child, _ = begun(large, exports / "one.csv")
    other = spawn("export", large, "safe", exports / "two.parquet")
    assert other.wait(120) == 0
    child.send_signal(signal.SIGCONT)
    assert child.wait(120) == 0
    assert sorted(found.name for found in exports.iterdir()) == ["one.csv", "two.parquet"]
    with duckdb.connect() as reader:
        assert reader.execute(f"SELECT count(*) FROM '{exports}/one.csv'").fetchone() == (ROWS,)


def left_behind(folder: Path, digits: str = "0123456789ab") -> Path:
    """Make what a killed export leaves."""
    left = folder / f".ppdm-{digits}.part"
    left.mkdir()
    (left / "owner").write_bytes(machine())
    (left / "rows").write_text("released")
    (left / "rows.wal").write_text("released")
    return left


@POSIX
def test_only_what_is_certainly_of_a_killed_export_is_removed(tmp_path: Path, exports: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    linked = left_behind(mine)
    (exports / ".ppdm-00000000000a.part").symlink_to(linked)
    (left_behind(exports, "00000000000b") / "owner").write_text("elsewhere 1")
    (left_behind(exports, "00000000000c") / "diary").write_text("mine")
    inside = left_behind(exports, "00000000000d") / "rows.wal"
    inside.unlink()
    inside.symlink_to(linked / "rows")
    (exports / ".ppdm-00000000000e.part").write_text("a file, not a folder")
    (left_behind(exports, "00000000000f") / "owner").unlink()
    left_behind(exports).rename(exports / ".ppdm-mine.part")
    before = sorted(exports.rglob("*"))
    gone = left_behind(exports)
    exporting._sweep(exports)
    assert not gone.exists()
    assert sorted(exports.rglob("*")) == before
    assert len(list(linked.iterdir())) == 3


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
def test_what_another_user_left_stays(exports: Path) -> None:
    left = left_behind(exports)
    os.chown(left, 12345, -1)
    exporting._sweep(exports)
    assert len(list(left.iterdir())) == 3


def test_an_export_in_a_folder_without_locks_is_never_swept(
    tmp_path: Path, exports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: Any) -> None:
        raise OSError("No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    with exporting._part_beside(exports / "x.csv") as part:
        part.write_text("released")
        monkeypatch.undo()
        exporting._sweep(exports)
        assert part.exists()
    assert list(exports.iterdir()) == []


# -- what is replaced -----------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("options", [(), ("--force",)])
@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder", "link", "dangling"])
def test_only_regular_files_are_replaced(
    tmp_path: Path, exports: Path, monkeypatch: pytest.MonkeyPatch, kind: str, options: tuple[str, ...]
) -> None:
    target, aim = exports / "x.csv", tmp_path / "aim.csv"
    aim.write_text("mine")
    if kind == "device":
        try:
            os.mknod(target, 0o666 | 0o020000, os.makedev(1, 7))
        except PermissionError:
            pytest.skip("only root makes devices")
    elif kind == "socket":
        monkeypatch.chdir(exports)  # the path of a socket is short
        socket.socket(socket.AF_UNIX).bind(target.name)
    else:
        {
            "pipe": os.mkfifo,
            "folder": Path.mkdir,
            "link": lambda path: path.symlink_to(aim),
            "dangling": lambda path: path.symlink_to(tmp_path / "nothing"),
        }[kind](target)  # type: ignore[operator]
    before = os.lstat(target)[:3]
    found = ppdm("export", bank(tmp_path), "safe", target, *options)
    assert found.exit_code == 2
    assert ("regular file" in found.stderr) == (kind != "folder")
    assert os.lstat(target)[:3] == before and aim.read_text() == "mine"
    assert not (tmp_path / "nothing").exists()
    assert list(exports.iterdir()) == [target]


def test_a_target_that_becomes_a_link_meanwhile_is_not_replaced(
    tmp_path: Path, exports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = exports / "x.csv"
    monkeypatch.setattr("os.fsync", lambda _: target.symlink_to(tmp_path / "elsewhere"))
    found = ppdm("export", bank(tmp_path), "safe", target, "--force")
    assert found.exit_code == 2 and "symbolic link" in found.stderr
    assert list(exports.iterdir()) == [target] and target.is_symlink()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x" * 300 + ".csv", "has 304 bytes"),
        ("ä" * 150 + ".csv", "has 304 bytes"),
        ("x" * 5000 + "/x.csv", "cannot be written to"),
        ("a\0b.csv", "NUL"),
        ("a\0b/x.csv", "NUL"),
    ],
)
def test_a_name_that_no_file_can_have_is_refused_in_words(
    tmp_path: Path, exports: Path, name: str, said: str
) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match=said), ppdm_sql.open(bank(tmp_path)) as db:
        db.release("safe").export(exports / name)
    assert list(exports.iterdir()) == []


# -- what it says ---------------------------------------------------------------------------------


LIMITED = """
import resource, sys
from ppdm_sql.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv[1:2] = []
main()
"""


def limited(size: int, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that may write no file larger than this."""
    command = [sys.executable, "-c", LIMITED, str(size), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@POSIX
@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb"])
def test_an_export_that_may_not_grow_says_so_and_leaves_nothing(
    large: Path, exports: Path, form: str
) -> None:
    found = limited(2_000_000, "export", large, "safe", exports / f"x.{form}")
    assert found.returncode == 3
    assert f"Error: A file in {exports} grew beyond what is allowed" in found.stderr
    assert list(exports.iterdir()) == []


@POSIX
def test_a_full_disk_is_told_with_its_free_space_when_publishing(tmp_path: Path) -> None:
    path = tmp_path / "bank.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 3 AS a, i % 2 AS c, md5(i::VARCHAR) AS note FROM range(300000) r(i)"
        )
    before = path.stat().st_size
    options = ["--require", "k >= 1 on a", "--class", "c", "--into", "safe"]
    options += ["--keep", "note", "--allow-identifier", "note"]
    found = limited(before + 300_000, "suppress", path, "t", *options)
    assert found.returncode == 3
    assert f"A file in {tmp_path} grew beyond what is allowed" in found.stderr
    with ppdm_sql.open(path) as db:
        assert db.releases() == []


VARIANT = "SELECT i % 3 AS a, i % 2 AS c, {} AS v FROM range(12) r(i)"


@pytest.mark.parametrize("form", ["duckdb", "parquet", "csv"])
@pytest.mark.parametrize("value", ["i::VARIANT", "{'x': [i::VARIANT]}"])
def test_variants_leave_as_text_in_every_format(tmp_path: Path, exports: Path, value: str, form: str) -> None:
    path = bank_of_variants(tmp_path, value)
    found = ppdm("export", path, "safe", exports / f"x.{form}")
    assert found.exit_code == 0, found.stderr
    assert [item.name for item in exports.iterdir()] == [f"x.{form}"]


def bank_of_variants(folder: Path, value: str) -> Path:
    """Make a release with a VARIANT in a file that can hold it."""
    path = folder / "bank.duckdb"
    with duckdb.connect(path, config={"storage_compatibility_version": "latest"}) as connection:
        try:
            connection.execute(f"CREATE TABLE t AS {VARIANT.format(value)}")
        except duckdb.Error:
            pytest.skip("this DuckDB has no VARIANT")
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="(?!.*can be singled out)")
            ppdm_sql.open(connection).suppress(
                "t", ["k >= 1 on a"], class_column="c", into="safe", keep=["v"]
            )
    return path


def test_a_full_disk_is_told_with_its_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'Async: {{"exception_message":"Could not write file \\\\"{tmp_path}/.ppdm-1.part/rows\\\\": '
    free = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        "shutil.disk_usage", lambda folder: free._replace(free=123_456) if folder == tmp_path else free
    )
    error = out_of_space("export csv", text + 'No space left on device","errno":"28"}')
    assert error is not None
    assert (
        error.problem
        == f"The disk is full: the step 'export csv' needs more room in {tmp_path}, where 123.5 kB are free."
    )
