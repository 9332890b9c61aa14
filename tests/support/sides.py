"""Two parties with a file each, joined by real sockets on loopback, and what can go wrong between them.

Run as a program it is one party, in a process of its own, that a test can stop or kill at a message.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

import ppdm_sql
from ppdm_sql.cli.demo import JOBS
from ppdm_sql.errors import PpdmError
from ppdm_sql.examples import creation
from ppdm_sql.integrate import Party
from ppdm_sql.methods.two_party.certificates import Credentials, keygen
from ppdm_sql.methods.two_party.connection import AGREED, MESSAGE, Address, Line, connect_to, listen_on
from ppdm_sql.methods.two_party.party import integrate
from ppdm_sql.progress import SilentProgress
from ppdm_sql.release import Release

REQUIRE = ("k >= 4 on Sex, Job", "k >= 4 on Job, Salary")
CELLS = ("Janitor", "Lawyer", "Carpenter", "Accountant", "person-")
"""Texts of cells and keys, which no error may hold."""
HOST = "127.0.0.1"
TIMEOUT = 10.0


@dataclass(frozen=True)
class Side:
    """One party: its file, its table, its options."""

    file: Path
    table: str
    name: str
    partner: str
    keys: Path
    options: dict[str, Any] = field(default_factory=dict)

    def credentials(self) -> Credentials:
        return credentials(self.keys, self.name)

    def party(self, database: ppdm_sql.Database, progress: Any = None, **more: Any) -> Party:
        options = {"require": REQUIRE, "class_column": "Class", "key": "SSN", "into": "both"}
        options |= self.options | more
        return Party(database, self.table, progress=progress, **options)

    def snapshot(self) -> tuple[object, ...]:
        """What anybody can see in the file."""
        with duckdb.connect(str(self.file), read_only=True) as connection:
            objects = connection.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() "
                "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
            ).fetchall()
            rows = connection.execute(f"FROM {self.table} ORDER BY ALL").fetchall()
        return objects, rows

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.file), read_only=True) as connection:
            return connection.execute(sql).fetchall()


def credentials(folder: Path, name: str) -> Credentials:
    return Credentials.read(folder / f"{name}.pem", folder / f"{name}.key", folder / "authority.pem")


def sides(folder: Path, keys: Path) -> tuple[Side, Side]:
    """The employees of the slides, a record a row: Sex on one side, Job and Salary on the other."""
    own = {"owns": ["Job", "Salary"], "taxonomies": {"Job": JOBS}, "ranges": {"Salary": (1, 99)}}
    first = Side(folder / "a.duckdb", "ta", "bank-a", "bank-b", keys, {"owns": ["Sex"]})
    second = Side(folder / "b.duckdb", "tb", "bank-b", "bank-a", keys, own)
    for side, columns, order in ((first, "Sex", "ALL"), (second, "Job, Salary", "hash(SSN)")):
        if not side.file.exists():
            with duckdb.connect(str(side.file)) as connection:
                connection.execute(split_employees(side.table, columns, order))
    return first, second


def split_employees(table: str, columns: str, order: str, key: str = "'person-' ||") -> str:
    """SQL for a table of some columns of the slides' 34 employees, with a key and the class."""
    number = "row_number() OVER (ORDER BY Class, Sex, Job, Salary)"
    return (
        f"{creation('employees')}; CREATE TABLE {table} AS SELECT {key} {number} AS SSN, {columns}, Class "
        f"FROM employees, range(n) ORDER BY {order}; DROP TABLE employees"
    )


class Noted(SilentProgress):
    """Keeps notices, and knows the port as soon as there is one."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.port = 0
        self.listens = threading.Event()

    def notice(self, text: str) -> None:
        self.notices.append(text)
        if text.startswith("Listening on "):
            self.port = int(text.split()[2].rpartition(":")[2])
            self.listens.set()


# -- faults -------------------------------------------------------------------------------------------


class Vanished(BaseException):
    """The party is gone; nothing is told to the partner."""


Fault = Callable[[Line, bytes], bytes | None]
"""Done in the place of a message that is about to be sent; gives what is sent instead, if anything."""


AT_THE_LAST_WORD = -1
Opened = Callable[[], AbstractContextManager[Line]]


class Faulty:
    """A line on which a fault happens at a message; counted from 1, the messages that this side sends."""

    def __init__(self, line: Line, at: int, fault: Fault) -> None:
        self._line, self._at, self._fault = line, at, fault
        self.sent = 0

    def put(self, payload: bytes, kind: int = MESSAGE) -> None:
        self.sent += kind == MESSAGE
        place = {MESSAGE: self.sent, AGREED: AT_THE_LAST_WORD}.get(kind)
        changed = self._fault(self._line, payload) if place == self._at else payload
        if changed is not None:
            self._line.put(changed, kind)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)


def vanish(line: Line, payload: bytes) -> None:
    """Break the line at once, as a process that is killed does."""
    line.connection.close()
    raise Vanished


def sends(payload: bytes, kind: int = MESSAGE) -> Fault:
    """Send something else."""

    def fault(line: Line, _: bytes) -> None:
        line.put(payload, kind)

    return fault


def sleeps(seconds: float) -> Fault:
    """Say nothing for a while."""

    def fault(_: Line, payload: bytes) -> bytes:
        time.sleep(seconds)
        return payload

    return fault


def raises(error: BaseException) -> Fault:
    """Fail in the place of sending."""

    def fault(_: Line, __: bytes) -> None:
        raise error

    return fault


@dataclass
class Outcome:
    """What one party ended with: a release or an error."""

    release: Release | None = None
    error: BaseException | None = None
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    sent: int = 0
    seconds: float = 0.0
    notices: list[str] = field(default_factory=list)
    link: Any = None  # what it spoke through, where that is kept

    @property
    def text(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def run(
    first: Side,
    second: Side,
    *,
    faults: tuple[tuple[int, Fault] | None, tuple[int, Fault] | None] = (None, None),
    timeout: float = TIMEOUT,
    **more: Any,
) -> tuple[Outcome, Outcome]:
    """Run both parties, a thread each; the first listens."""
    progress = Noted()
    listens = lambda: listen_on(  # noqa: E731
        Address(HOST, 0), first.credentials(), first.partner, timeout=timeout, wait=timeout,
        listens=progress.notice, notice=progress.notice,
    )  # fmt: skip

    def joins() -> AbstractContextManager[Line]:
        assert progress.listens.wait(timeout), "the first party never listened"
        place = Address(HOST, progress.port)
        return connect_to(place, second.credentials(), second.partner, timeout=timeout)

    outcomes = Outcome(), Outcome()
    outcomes[0].notices = progress.notices
    parts = zip(outcomes, (first, second), (listens, joins), faults, (progress, Noted()), strict=True)
    at_once(*(partial(_run, *part, more) for part in parts))
    return outcomes


def at_once(*parties: Callable[[], None], seconds: float = 60) -> None:
    """Let parties run beside each other, each in a thread of its own."""
    threads = [threading.Thread(target=party, daemon=True) for party in parties]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a party never came back"


def _run(
    outcome: Outcome,
    side: Side,
    opened: Opened,
    fault: tuple[int, Fault] | None,
    progress: Noted,
    more: dict[str, Any],
) -> None:
    outcome.notices, began = progress.notices, time.monotonic()
    try:
        with ppdm_sql.open(side.file) as database:
            request = side.party(database, **more)._request
            watched = _watched(opened, fault, outcome)
            outcome.release = integrate(database.engine, side.table, request, watched, progress)
            outcome.rows = outcome.release.relation().fetchall()
            outcome.steps = outcome.release.steps()
            assert outcome.release.verify().holds
    except BaseException as error:
        outcome.error = error
    finally:
        outcome.seconds = time.monotonic() - began


def _watched(opened: Opened, fault: tuple[int, Fault] | None, outcome: Outcome) -> Any:
    """Open the line so that what is sent is counted, and the fault happens."""

    @contextlib.contextmanager
    def watched() -> Iterator[Any]:
        with opened() as line:
            faulty = Faulty(line, *(fault or (0, sends(b""))))
            try:
                yield faulty
            finally:
                outcome.sent = faulty.sent

    return watched


# -- a party in a process of its own ---------------------------------------------------------------


def spawn(side: Side, role: str, port: int, at: int, deed: str, *more: str) -> subprocess.Popen[str]:
    """Start one party in a process; at its message ``at`` it does a deed: kill, pause or nothing."""
    folder = Path(__file__).resolve().parent
    command = [sys.executable, str(folder / "sides.py"), role, str(side.file.parent), str(side.keys)]
    return subprocess.Popen(
        [*command, str(port), str(at), deed, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder.parents[1]), str(folder)])},
        start_new_session=True,
    )


def _deed(deed: str) -> Fault:
    def fault(_: Line, payload: bytes) -> bytes:
        if deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if deed == "pause":
            _say("paused")
            sys.stdin.readline()
        return payload

    return fault


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class _Printed(Noted):
    def notice(self, text: str) -> None:
        super().notice(text)
        _say("notice", text)


def main(role: str, folder: str, keys: str, port: str, at: str, deed: str, *more: str) -> None:
    """Be one party; print what it ended with."""
    side = sides(Path(folder), Path(keys))[role == "join"]
    timeout, place = 20.0, Address(HOST, int(port))
    progress = _Printed()
    shown = (place, side.credentials(), side.partner)

    def opened() -> AbstractContextManager[Line]:
        if role == "serve":
            return listen_on(
                *shown, timeout=timeout, wait=20, listens=progress.notice, notice=progress.notice
            )
        return connect_to(*shown, timeout=timeout)

    outcome = Outcome()
    with ppdm_sql.open(side.file) as database:
        request, watched = side.party(database)._request, _watched(opened, (int(at), _deed(deed)), outcome)
        try:
            release = integrate(database.engine, side.table, request, watched, progress)
            _say("release", len(release.steps()), release.row().stopped)
        except PpdmError as error:
            _say("error", error)
        except KeyboardInterrupt:
            _say("interrupted")
    if "--peak" in more:
        _say(peak("self"))


def peak(process: int | str) -> int:
    """Give the most bytes of memory that a process has had so far, on Linux."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def make_keys(folder: Path) -> Path:
    keygen(folder, ["bank-a", "bank-b", "bank-c"])
    return folder


if __name__ == "__main__":
    main(*sys.argv[1:])
