"""What stops a command: in time it ends cleanly, too late it says so, early it does not pass for done."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.cli.failures import Stopping
from ppdm_sql.engine.signals import watched_signals
from ppdm_sql.methods.top_down.run import Interrupt
from ppdm_sql.progress import SilentProgress

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stops a process by signal")

RECORDS = 20_000
PEOPLE = """
CREATE TABLE people AS
SELECT
    'job ' || (hash(i, 1) % 12) AS job, 'town ' || (hash(i, 2) % (5 + hash(i, 1) % 5)) AS town,
    'age ' || (hash(i, 3) % 8) AS age, if(hash(i, 4) % 100 < 5 + 5 * (hash(i, 1) % 12), 'yes', 'no') AS ill,
    if(hash(i, 5) % 40 < hash(i, 1) % 12 + hash(i, 2) % 5 + hash(i, 3) % 8, 'a', 'b') AS class
FROM range($records) AS r (i)
"""
WORDS = ["suppress", "FILE", "people", "--require", "job, town, age -> ill = yes <= 62%"]
WORDS += ["--class", "class", "--into", "safe"]

CHILD = """
import os, signal, sys, threading, time
number, moment = getattr(signal, sys.argv[1]), sys.argv[2]
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from ppdm_sql.cli import main
from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.loop import Refinement

def again(times):
    for _ in range(times):
        os.kill(os.getpid(), number)

def hooked(owner, name, before):
    method = getattr(owner, name)
    def wrapper(self, *args, **kwargs):
        before(*args, **kwargs)
        return method(self, *args, **kwargs)
    setattr(owner, name, wrapper)

def at(word, times=1):
    return lambda sql, *args, **kwargs: sql == word and again(times)

if moment == "step, heard late":
    read = os.read
    os.read = lambda *args: (read(*args), time.sleep(0.05))[0]
if moment.startswith("step"):
    steps = []
    hooked(Refinement, "best", lambda *args: (steps.append(1), len(steps) == 4 and again(1)))
elif moment == "collapse":
    hooked(Engine, "materialize", lambda *args: again(1))
elif moment == "before commit":
    hooked(Engine, "write", lambda sql, *a, **k: sql.startswith("CREATE VIEW") and again(1))
elif moment == "commit":
    hooked(Engine, "query", at("COMMIT"))
elif moment == "tidy":
    tidy, sent = Engine._tidy, []
    Engine._tidy = lambda self, *args: (
        self.committed and not sent and (sent.append(1), again(1)), tidy(self, *args)
    )
elif moment == "close twice":
    hooked(Engine, "close", lambda *args: again(2))
sys.argv[:] = ["ppdm", *sys.argv[3:]]
main()
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("people") / "people.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(PEOPLE, {"records": RECORDS})
    return file


@pytest.fixture
def file(people: Path, tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return Path(shutil.copy(people, tmp_path / "work.duckdb"))


def stopped(file: Path, moment: str, *more: str, by: str = "SIGINT") -> subprocess.CompletedProcess[str]:
    """Run a command that sends itself a signal at a moment."""
    words = [str(file) if word == "FILE" else word for word in more or WORDS]
    return subprocess.run(
        [sys.executable, "-c", CHILD, by, moment, *words],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"TMPDIR": str(file.parent / "tmp")},
    )


def published(file: Path) -> bool:
    """Tell whether the release is there, whole; and that nothing is left behind."""
    patience = time.monotonic() + 3
    while list((file.parent / "tmp").iterdir()) and time.monotonic() < patience:
        time.sleep(0.05)
    assert list((file.parent / "tmp").iterdir()) == []
    assert sorted(path.name for path in file.parent.iterdir()) == ["tmp", file.name]
    with ppdm_sql.open(file) as db:
        found = [row.release for row in db.releases()]
        assert all(db.release(name).verify().holds for name in found)
        return found == ["safe"]


@pytest.mark.parametrize(
    ("moment", "by", "code", "word"),
    [
        ("before commit", "SIGINT", 130, "Interrupted."),
        ("collapse", "SIGTERM", 143, "Terminated."),
        ("collapse", "SIGHUP", 129, "Hung up."),
    ],
)
def test_in_time_nothing_is_published(file: Path, moment: str, by: str, code: int, word: str) -> None:
    done = stopped(file, moment, by=by)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (code, word)
    assert "Traceback" not in done.stderr
    assert not published(file)


@pytest.mark.parametrize(
    ("moment", "by"),
    [
        ("commit", "SIGTERM"),
        ("tidy", "SIGINT"),
        ("close twice", "SIGINT"),
    ],
)
def test_once_committed_it_is_done(file: Path, moment: str, by: str) -> None:
    done = stopped(file, moment, by=by)
    assert done.returncode == 0, done.stderr
    assert "Too late to stop: all is committed." in done.stderr
    assert "Interrupted" not in done.stderr
    assert "Published safe" in done.stderr
    assert published(file)


def test_what_is_dropped_is_dropped(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        db.suppress("people", ["k >= 40 on job"], class_column="class", into="safe")
    done = stopped(file, "commit", "drop", "FILE", "safe")
    assert done.returncode == 0, done.stderr
    assert "Dropped safe." in done.stderr
    assert not published(file)


@pytest.mark.parametrize("moment", ["step", "step, heard late"])
def test_an_early_state_is_not_taken_for_done(file: Path, moment: str) -> None:
    done = stopped(file, moment)
    assert done.returncode == 130
    assert "Stopped early, after " in done.stderr
    assert "% of the masked cells are suppressed" in done.stderr
    assert "--accept-partial" in done.stderr
    assert published(file)
    with ppdm_sql.open(file) as db:
        assert db.release("safe").row().stopped == "interrupted"


def test_an_early_state_may_be_accepted(file: Path) -> None:
    done = stopped(file, "step", *WORDS, "--accept-partial", "--quiet")
    assert done.returncode == 0
    assert "Stopped early, after " in done.stderr
    assert published(file)


def test_a_generalization_stopped_early(file: Path) -> None:
    words = ["generalize", "FILE", "people", "-r", "k >= 40 on job, town, age", "--class", "class"]
    done = stopped(file, "step", *words, "--into", "safe")
    assert done.returncode == 130
    assert "Stopped early, after " in done.stderr
    assert published(file)


def test_at_any_moment_the_exit_code_tells_what_is_there(file: Path, people: Path) -> None:
    command = [sys.executable, "-m", "ppdm_sql", *(str(file) if w == "FILE" else w for w in WORDS)]
    begun = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.monotonic() - begun
    for moment in range(2):
        shutil.copy(people, file)
        child = subprocess.Popen(
            [*command, "--accept-partial"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(file.parent / "tmp")},
        )
        time.sleep(seconds * (0.4 + 0.6 * (moment + random.random()) / 2))
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
        assert child.returncode in (0, 130), told
        assert "Traceback" not in told
        assert published(file) == (child.returncode == 0), told


def test_ctrl_c_during_the_imports_is_one_word() -> None:
    script = """if True:
        import os, signal, sys, threading
        sys.argv[:] = ["/usr/bin/ppdm", "--version"]
        class Press:
            def find_spec(self, name, path=None, target=None):
                if name == "typer":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Press())
        from ppdm_sql.cli import main
        main()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_ctrl_c_while_a_class_is_made_gives_the_exit_code_that_is_said(
    file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hook = """if True:
        import os, signal, sys
        class Press:
            def find_spec(self, name, path=None, target=None):
                if name == "ppdm_sql.methods.top_down.suppress":
                    exec("os.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(1000): pass")
        sys.meta_path.insert(0, Press())
    """
    folder = tmp_path_factory.mktemp("hook")
    (folder / "sitecustomize.py").write_text(hook, encoding="utf-8")
    command = [sys.executable, "-m", "ppdm_sql", *(str(file) if w == "FILE" else w for w in WORDS)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(folder)}
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
    assert not published(file)


def test_a_program_that_imports_the_package_keeps_its_ctrl_c() -> None:
    script = """if True:
        import signal, ppdm_sql
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_is_ignored_stays_ignored(file: Path) -> None:
    script = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" + CHILD
    words = [str(file) if word == "FILE" else word for word in WORDS]
    done = subprocess.run(
        [sys.executable, "-c", script, "SIGINT", "step", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with ppdm_sql.open(file) as db:
        assert db.release("safe").row().stopped == "complete"


# -- statements during which the main thread hears nothing --------------------------------------------

SORT = "SELECT hash(i) AS h, row_number() OVER (ORDER BY hash(i), i) AS r FROM range(60000000) AS a (i)"
"""Much of it is one step of the engine, for whose end all else waits."""


def test_a_long_statement_is_not_waited_for() -> None:
    """Without the watching thread the command ends with the statement, most of a minute later."""
    words = ["sql", ":memory:", f"SELECT count(*) FROM ({SORT}) WHERE h = r", "--threads", "2"]
    command = [sys.executable, "-m", "ppdm_sql", *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(4)
        if child.poll() is None:  # a faster machine may be done
            child.send_signal(signal.SIGINT)
            _, told = child.communicate(timeout=20)
            assert (child.returncode, told.splitlines()[-1]) == (130, "Interrupted."), told
    finally:
        child.kill()
        child.wait()


def test_the_first_signal_of_a_descent_and_one_after_the_commit_stop_no_statement() -> None:
    first, stopping = Interrupt(SilentProgress()), Stopping()
    assert [first.stops(), first.stops(), first.stops()] == [False, True, True]
    assert stopping.stops()
    stopping.settle()
    assert not stopping.stops()


def test_somebody_elses_watching_of_signals_is_left_as_it_is() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    try:
        with watched_signals():
            assert signal.set_wakeup_fd(writer) == writer
    finally:
        assert signal.set_wakeup_fd(before) == writer
        os.close(reader)
        os.close(writer)
    with watched_signals():
        found = signal.set_wakeup_fd(-1)
        assert found != -1
        signal.set_wakeup_fd(found)
    assert signal.set_wakeup_fd(-1) == -1
