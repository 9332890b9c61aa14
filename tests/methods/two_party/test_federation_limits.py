"""A partner with the right certificate cannot fill the other's memory, nor a rogue its owner's screen."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from sides import (
    AT_THE_LAST_WORD,
    HOST,
    Outcome,
    Side,
    credentials,
    make_keys,
    peak,
    run,
    sides,
    spawn,
    vanish,
)

import ppdm_sql
from ppdm_sql.errors import PeerError, PpdmError, ProtocolError
from ppdm_sql.methods.two_party.agreement import FEW_KEYS, Terms, check_narrowing
from ppdm_sql.methods.two_party.messages import Message, decode, encode
from ppdm_sql.methods.two_party.pump import AGREED, HEAD, LAST, MORE, OPEN, PART
from ppdm_sql.methods.two_party.refusals import MOST_REPORTED
from ppdm_sql.methods.two_party.server import listen_on
from ppdm_sql.methods.two_party.stream import MessageStream
from ppdm_sql.methods.two_party.tls import Address, context
from ppdm_sql.methods.two_party.transport import Opening

MEGABYTE = 1024 * 1024
ROOM = 100 * MEGABYTE
"""What an attacked side may take beside what it takes when it listens; an honest run takes half of it."""


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def pair(tmp_path: Path, keys: Path) -> tuple[Side, Side]:
    return sides(tmp_path, keys)


# -- memory ---------------------------------------------------------------------------------------------


def _part(kind: int, payload: bytes) -> bytes:
    return HEAD.pack(kind, len(payload)) + payload


def _hello(records: int) -> bytes:
    fields = {"version": 1, "owns": [1, 2], "records": records, "match": "plain", "intersect": True}
    fields |= dict.fromkeys(("requirements", "settings", "order", "shared"), "0" * 64)
    order = (
        "version",
        "requirements",
        "settings",
        "owns",
        "records",
        "order",
        "shared",
        "match",
        "intersect",
    )
    return encode(Message("HELLO", 0, {name: fields[name] for name in order}))


ATTACKS: dict[str, Callable[[], bytes]] = {
    "a part of 400 MB": lambda: HEAD.pack(LAST, 400_000_000),
    "a message without an end": lambda: b"",
    "a message of many lists": lambda: _part(LAST, b'["HELLO",0,"' + b"[]," * 20_000 + b'",""]\n'),
    "records beyond all": lambda: _part(LAST, _hello(2**52)),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("what", ATTACKS)
def test_a_hostile_partner_cannot_fill_the_memory(pair: tuple[Side, Side], what: str) -> None:
    """A process that listens, called by one with the right certificate that sends up to 600 MB."""
    a, b = pair
    before = a.snapshot()
    child = spawn(a, "serve", 0, 0, "nothing", "--peak")
    try:
        assert child.stdout is not None
        listens = next(line for line in child.stdout if line.startswith("notice Listening on"))
        idle = peak(child.pid)
        _attack(b, int(listens.split()[3].rpartition(":")[2]), ATTACKS[what]())
        error, most = child.communicate(timeout=60)[0].splitlines()
    finally:
        child.kill()
        child.wait()
    assert error.startswith("error The partner ")
    assert int(most) - idle < ROOM
    assert a.snapshot() == before


def _attack(side: Side, port: int, begins: bytes) -> None:
    """Say the opening word, begin, and go on with full parts as long as they are taken."""
    opening = Opening(resume=False, received=0, chain="0" * 64).encode()
    full = _part(MORE, bytes(PART))
    with socket.create_connection((HOST, port), timeout=30) as plain:
        found = context(credentials(side.keys, side.name), listens=False)
        caller = found.wrap_socket(plain, server_hostname=side.partner)
        with contextlib.suppress(OSError), caller:
            caller.sendall(_part(OPEN, opening) + begins)
            for _ in range(600):
                caller.sendall(full)


def test_more_records_than_can_be_compared_are_refused_before_keys_are_sent() -> None:
    digest = "0" * 64
    mine = Terms(digest, digest, (0,), "plain", True, 34, digest, digest)
    theirs = Terms(digest, digest, (1,), "plain", True, FEW_KEYS + 1, digest, digest)
    with pytest.raises(ProtocolError, match=f"the partner holds {FEW_KEYS + 1}, of which"):
        check_narrowing(mine, theirs)
    check_narrowing(mine, Terms(digest, digest, (1,), "plain", True, FEW_KEYS, digest, digest))


def test_a_partner_cannot_specialize_into_nothing(pair: tuple[Side, Side]) -> None:
    """A specialization into no child changes nothing, so it could go on for ever."""

    def empty(_: object, payload: bytes) -> bytes:
        message = decode(payload)
        assert message.column is not None
        zeros = pa.array([0] * len(message.column), message.column.type)
        return encode(Message("WIN", message.round, {**message.fields, "children": 0}, zeros))

    first, _ = run(*pair, faults=(None, (4, empty)))
    assert isinstance(first.error, ProtocolError), first.text
    assert "others than those here" in first.error.problem


# -- refused callers ------------------------------------------------------------------------------------


def test_a_rogue_caller_cannot_flood_what_the_owner_is_told(pair: tuple[Side, Side]) -> None:
    """Calls without a word of TLS, by the hundred; then the door is closed, and nothing is open any more."""
    a, told = pair[0], list[str]()
    hears, place = _calls(told, 150), Address(HOST, 0)
    listening = listen_on(
        place, a.credentials(), a.partner, b"", timeout=1, wait=8, listens=hears, notice=hears
    )
    with contextlib.suppress(PeerError), listening:
        pass
    refusals = [text for text in told[1:] if "refused" in text]
    assert refusals[0] == f"A caller from {HOST} was refused: it speaks no TLS 1.3."
    assert len(refusals) <= MOST_REPORTED + 1
    assert any(text.startswith("100 callers were refused so far") for text in refusals)


def _calls(told: list[str], times: int) -> Callable[[str], None]:
    """Note what the owner is told; call as soon as somebody listens."""

    def notice(text: str) -> None:
        told.append(text)
        if text.startswith("Listening on "):
            threading.Thread(target=_knock, args=(int(text.split()[2].rpartition(":")[2]), times)).start()

    return notice


def _knock(port: int, times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=5) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
            caller.recv(100)


# -- the last word --------------------------------------------------------------------------------------


def deaf(line: MessageStream, _: bytes) -> None:
    """Say that this side is about to publish, and break before the partner's word is heard."""
    line.put(b"", AGREED)
    time.sleep(0.5)
    vanish(line, b"")


def assert_both_end(outcomes: tuple[Outcome, Outcome]) -> None:
    for outcome in outcomes:
        assert outcome.error is None, outcome.text
    assert outcomes[0].rows == outcomes[1].rows != []


@pytest.mark.parametrize("who", [0, 1], ids=["the listening side", "the joining side"])
def test_both_know_what_they_know_if_the_last_word_is_lost(pair: tuple[Side, Side], who: int) -> None:
    """Where keys were exchanged, too: the one has published, the other says that it may have."""
    with ppdm_sql.open(pair[0].file) as db:
        db.engine.connection.execute("DELETE FROM ta WHERE SSN = 'person-7'")
    faults = [None, None]
    faults[who] = (AT_THE_LAST_WORD, lost_word)  # type: ignore[call-overload]
    outcomes = run(*pair, faults=tuple(faults), intersect=True)  # type: ignore[arg-type]
    assert outcomes[1 - who].error is None, outcomes[1 - who].text
    assert any("has not confirmed" in text for text in outcomes[1 - who].notices)
    error = outcomes[who].error
    assert isinstance(error, PeerError), outcomes[who].text
    assert "nothing is published here, but the partner may have published the release" in error.problem
    assert "--resume" in error.remedy
    with ppdm_sql.open(pair[1 - who].file) as db:  # what has published needs its table no more
        db.engine.connection.execute(f"DELETE FROM {pair[1 - who].table}")
    again = run(*pair, resume=(True, True), intersect=True)
    assert_both_end(again)
    assert len(again[who].rows) == 33
    assert any("Now it is there too." in text for text in again[1 - who].notices)


@pytest.mark.parametrize("who", [0, 1], ids=["the listening side", "the joining side"])
@pytest.mark.parametrize(
    "change", ["DELETE FROM t WHERE SSN = 'person-1'", "DELETE FROM t"], ids=["one", "all"]
)
def test_a_table_that_changed_before_the_last_resume_is_named_with_the_way_out(
    pair: tuple[Side, Side], who: int, change: str
) -> None:
    """The partner has published: only the old table, or dropping the release there, leads on."""
    mine, table = pair[who], pair[who].table
    faults = [None, None]
    faults[who] = (AT_THE_LAST_WORD, lost_word)  # type: ignore[call-overload]
    run(*pair, faults=tuple(faults))  # type: ignore[arg-type]
    with ppdm_sql.open(mine.file) as db:
        db.engine.connection.execute(f"CREATE TABLE old AS FROM {table}")
        db.engine.connection.execute(change.replace("FROM t", f"FROM {table}"))
    outcomes = run(*pair, resume=(True, True))
    left, published = outcomes[who].error, outcomes[1 - who].error
    assert isinstance(left, PpdmError), outcomes[who].text
    assert isinstance(published, PpdmError), outcomes[1 - who].text
    if "WHERE" in change:
        assert "The partner has published the release, and the table or the options here" in left.problem
        assert "The release 'both' is published here, and the partner's table" in published.problem
        assert all("--resume, or" in e.remedy and "ppdm drop" in e.remedy for e in (left, published))
    else:
        assert "no records" in left.problem
        assert any("run both again with --resume" in text for text in outcomes[who].notices)
    assert not any("person-" in outcome.text for outcome in outcomes)
    with ppdm_sql.open(mine.file) as db:
        db.engine.connection.execute(f"DELETE FROM {table}; INSERT INTO {table} FROM old")
    assert_both_end(run(*pair, resume=(True, True)))


def lost_word(line: MessageStream, _: bytes) -> None:
    """The line breaks once this side has said that it is about to publish, before it hears the partner."""
    line.take = _never(line)  # type: ignore[method-assign]


def _never(line: MessageStream) -> Callable[..., bytes]:
    def take(limit: int, kind: int = LAST) -> bytes:
        time.sleep(0.5)
        line.cut()
        raise PeerError("The line to the partner broke.", "Run both again.")

    return take


def test_a_run_that_was_stopped_is_resumed_after_the_last_word(
    pair: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One side was interrupted, both were about to publish that state, and the word was lost."""
    from ppdm_sql.methods.two_party.rounds import Rounds

    stops = Rounds._stops

    def third(self: Rounds, number: int, interrupted: Callable[[], bool]) -> Callable[[], bool]:
        mine = 1 in self._partners  # the side that owns the first column
        return stops(self, number, lambda: (mine and number == 3) or interrupted())

    monkeypatch.setattr(Rounds, "_stops", third)
    first, second = run(*pair, faults=((AT_THE_LAST_WORD, deaf), None))
    monkeypatch.undo()
    assert second.error is None, second.text
    assert first.error is not None
    again = run(*pair, resume=(True, True))
    assert_both_end(again)
    assert pair[0].query("SELECT stopped FROM ppdm.releases") == [("interrupted",)]
    assert len(again[0].steps) == 2
