"""A run that is killed leaves the file as it was, or with a whole release; Ctrl-C publishes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from commands import FUSE

import ppdm_sql

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")

RECORDS = 200_000
MOMENTS = 5
PEOPLE = """
CREATE TABLE people AS
SELECT
    'job ' || (hash(i, 1) % 12) AS job,
    'town ' || (hash(i, 2) % (5 + hash(i, 1) % 5)) AS town,
    'age ' || (hash(i, 3) % 8) AS age,
    CASE WHEN hash(i, 4) % 100 < 5 + 5 * (hash(i, 1) % 12) THEN 'yes' ELSE 'no' END AS ill,
    if(hash(i, 5) % 40 < hash(i, 1) % 12 + hash(i, 2) % 5 + hash(i, 3) % 8, 'a', 'b') AS class
FROM range($records) AS r (i)
"""
CONTENT = "SELECT count(*), sum(hash(job, town, age, ill, class)::HUGEINT) FROM people"

CHILD = f"""{FUSE}
class Pause(ppdm_sql.progress.SilentProgress):
    paused = False
    def update(self, **measures):
        if 0 < int(sys.argv[3]) <= measures["step"] and not Pause.paused:
            Pause.paused = True
            print("paused", flush=True)
            sys.stdin.readline()

with ppdm_sql.open(sys.argv[1]) as db:
    print("started", flush=True)
    release = db.suppress(
        "people",
        require=["job, town, age -> ill = yes <= 62%"],
        class_column="class",
        into="safe",
        control=sys.argv[4],
        progress=Pause(),
    )
    print("finished", Fuse.burnt, len(release.steps()), flush=True)
"""


@dataclass(frozen=True)
class Whole:
    """What a run does that nobody disturbs: its length in seconds and in log lines, its number of steps."""

    seconds: float
    lines: int
    steps: int


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the source table, to be copied by each test."""
    file = tmp_path_factory.mktemp("people") / "people.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute(PEOPLE, {"records": RECORDS})
    return file


@pytest.fixture(scope="module")
def content(people: Path) -> tuple[object, ...] | None:
    with duckdb.connect(people, read_only=True) as connection:
        return connection.execute(CONTENT).fetchone()


@pytest.fixture(scope="module")
def whole(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Measure one undisturbed run."""
    file = _copy(people, tmp_path_factory.mktemp("whole"))
    with running(file, control="0") as child:
        _read_until(child, "started")
        begun = time.monotonic()
        words = _read_until(child, "finished").split()
        return Whole(time.monotonic() - begun, int(words[1]), int(words[2]))


def _copy(people: Path, folder: Path) -> Path:
    (folder / "tmp").mkdir()
    return Path(shutil.copy(people, folder / "work.duckdb"))


@contextmanager
def running(
    file: Path, *, last_line: int = 0, pause_at: int = 0, control: str = "1%"
) -> Iterator[subprocess.Popen[str]]:
    """Start the run in a process of its own, which kills itself at a log line or pauses after a step.

    With a control, which is drawn at random, no two runs have the same lines.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(file), str(last_line), str(pause_at), control],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(file.parent / "tmp")},
        start_new_session=True,
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def _read_until(child: subprocess.Popen[str], word: str) -> str:
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        if line.startswith(word):
            return line
    pytest.fail(f"the run ended without {word!r}: {child.stderr.read()[-2000:]}")


def assert_nothing_left_behind(file: Path) -> None:
    """No spill folder, no side file of the engine, a second or so after the end of the process."""
    patience = time.monotonic() + 3
    while list((file.parent / "tmp").iterdir()) and time.monotonic() < patience:
        time.sleep(0.05)
    assert list((file.parent / "tmp").iterdir()) == []
    assert sorted(path.name for path in file.parent.iterdir()) == ["tmp", file.name]


def assert_whole_release_or_none(file: Path, content: object, split_off: int = RECORDS // 100) -> bool:
    """Open the file as anyone would, and say whether it holds a release."""
    with duckdb.connect(file) as connection:
        assert connection.execute(CONTENT).fetchone() == content
        tables = "SELECT table_name FROM duckdb_tables() WHERE schema_name <> 'ppdm'"
        assert connection.execute(tables).fetchall() == [("people",)]
        published = _published(connection)
        if published:
            assert ppdm_sql.open(connection).release("safe").verify().holds
            assert connection.execute("SELECT count(*) FROM safe").fetchall() == [(RECORDS - split_off,)]
            if split_off:
                control = connection.execute("SELECT count(*) FROM ppdm.control_safe").fetchall()
                assert control == [(split_off,)]
    assert_nothing_left_behind(file)
    return published


def _published(connection: duckdb.DuckDBPyConnection) -> bool:
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    filled = [
        name
        for (name,) in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ppdm'"
        ).fetchall()
        if connection.table(f'ppdm."{name}"').limit(1).fetchall()
    ]
    assert bool(views) == bool(filled)
    return bool(views)


def test_a_run_that_nobody_disturbs_publishes(
    people: Path, whole: Whole, content: object, tmp_path: Path
) -> None:
    file = _copy(people, tmp_path)
    with running(file) as child:
        _read_until(child, "finished")
        assert child.wait() == 0
    assert assert_whole_release_or_none(file, content)
    assert whole.steps >= 10


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_run_killed_at_a_random_moment(
    people: Path, whole: Whole, content: object, tmp_path: Path, moment: int
) -> None:
    file = _copy(people, tmp_path)
    with running(file) as child:
        _read_until(child, "started")
        time.sleep(whole.seconds * (moment + random.random()) / MOMENTS)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert_whole_release_or_none(file, content)


@pytest.mark.parametrize("back", [0, 2, 3, 4, 8, 20])
def test_a_run_killed_between_its_last_statements(
    people: Path, whole: Whole, content: object, tmp_path: Path, back: int
) -> None:
    file = _copy(people, tmp_path)
    with running(file, last_line=whole.lines - back, control="0") as child:
        assert child.wait() == -signal.SIGKILL
    assert_whole_release_or_none(file, content, split_off=0)


def test_ctrl_c_publishes_the_state_reached(
    people: Path, whole: Whole, content: object, tmp_path: Path
) -> None:
    file = _copy(people, tmp_path)
    with running(file, pause_at=4) as child:
        _read_until(child, "paused")
        child.send_signal(signal.SIGINT)
        assert child.stdin is not None
        print(file=child.stdin, flush=True)
        steps = int(_read_until(child, "finished").split()[2])
        assert child.wait() == 0
    assert 4 <= steps < whole.steps
    assert assert_whole_release_or_none(file, content)
    with duckdb.connect(file, read_only=True) as connection:
        query = "SELECT release, stopped, verified FROM ppdm.releases"
        assert connection.execute(query).fetchall() == [("safe", "interrupted", True)]


def test_ctrl_c_twice_aborts_and_publishes_nothing(people: Path, content: object, tmp_path: Path) -> None:
    file = _copy(people, tmp_path)
    with running(file, pause_at=4) as child:
        _read_until(child, "paused")
        assert len(list((file.parent / "tmp").glob("ppdm-spill-*"))) == 1
        child.send_signal(signal.SIGINT)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=20) != 0
    assert not assert_whole_release_or_none(file, content)


def test_an_open_transaction_is_refused_and_left_alone() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 3 AS a, i % 2 AS b, i % 5 AS c FROM range(30) AS r (i)"
        )
        connection.begin()
        connection.execute("INSERT INTO t VALUES (7, 7, 7)")
        with pytest.raises(ppdm_sql.PpdmError, match="transaction"):
            ppdm_sql.open(connection).suppress("t", ["k >= 2 on a"], class_column="b", into="safe")
        connection.commit()
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(31,)]
