"""What goes wrong between two parties is a clear error on both sides, and leaves both files as they were."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import logging
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from sides import (
    AT_THE_LAST_WORD,
    CELLS,
    HOST,
    Noted,
    Outcome,
    Side,
    Vanished,
    credentials,
    make_keys,
    peak,
    raises,
    run,
    sends,
    sides,
    sleeps,
    spawn,
    vanish,
)

import ppdm_sql
from ppdm_sql.errors import InvalidOption, NameTaken, PeerError, PpdmError, PpdmWarning, ProtocolError
from ppdm_sql.methods.two_party import certificates
from ppdm_sql.methods.two_party.certificates import PROTOCOL, Credentials, context, keygen
from ppdm_sql.methods.two_party.connection import (
    AGREED,
    HEAD,
    MESSAGE,
    MOST_NOTICES,
    STOP,
    Address,
    Line,
    connect_to,
    listen_on,
)
from ppdm_sql.methods.two_party.messages import Link, Message, decode, encode
from ppdm_sql.methods.two_party.records import FEW_KEYS, check_narrowing

BOTH = pytest.mark.parametrize("who", [0, 1], ids=["the listening side", "the joining side"])
POSIX = pytest.mark.skipif(os.name != "posix", reason="ends a process by signal")


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def pair(tmp_path: Path, keys: Path) -> tuple[Side, Side]:
    return sides(tmp_path, keys)


@dataclass(frozen=True)
class Whole:
    """What a run ends with that nothing disturbs."""

    rows: list[tuple[Any, ...]]
    steps: int


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Whole:
    first, second = run(*sides(tmp_path_factory.mktemp("whole"), keys))
    assert first.rows
    assert first.rows == second.rows
    return Whole(first.rows, len(first.steps))


def assert_explained(outcome: Outcome, kind: type[PpdmError], problem: str) -> None:
    """Two sentences: what is wrong, what to type; no cell, no key."""
    assert isinstance(outcome.error, kind), outcome.text
    assert re.search(problem, outcome.error.problem), outcome.text
    assert outcome.error.problem.endswith(".")
    assert outcome.error.remedy.endswith(".")
    assert not any(cell in str(outcome.error) for cell in CELLS)


def snapshots(pair: tuple[Side, Side]) -> list[Any]:
    return [side.snapshot() for side in pair]


def assert_both_end(outcomes: tuple[Outcome, Outcome], whole: Whole) -> None:
    for outcome in outcomes:
        assert outcome.error is None, outcome.text
        assert outcome.rows == whole.rows
        assert len(outcome.steps) == whole.steps


# -- one party in a thread, one in a process ----------------------------------------------------------


def take_part(side: Side, port: int, outcome: Outcome, progress: Any = None, **more: Any) -> Outcome:
    """Serve or join, whichever the side does, and keep what it ends with."""
    shown = more.pop("shown", None) or side.credentials(), more.pop("name", side.partner)
    limits = {"timeout": 10.0, "wait": 60.0} | more
    try:
        with ppdm_sql.open(side.file) as db:
            party = side.party(db, progress)
            if side.table == "ta":
                outcome.release = party.serve(f"{HOST}:{port}", *shown, **limits)
            else:
                outcome.release = party.join(f"{HOST}:{port}", *shown, timeout=limits["timeout"])
            outcome.rows, outcome.steps = outcome.release.relation().fetchall(), outcome.release.steps()
    except BaseException as error:
        outcome.error = error
    return outcome


@contextlib.contextmanager
def beside(*words: Any, **more: Any) -> Iterator[None]:
    thread = threading.Thread(target=take_part, args=words, kwargs=more, daemon=True)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


@contextlib.contextmanager
def waiting(side: Side, **more: Any) -> Iterator[tuple[int, Outcome]]:
    """Let the first party wait for the second; give its port, and what it ends with."""
    progress = Noted()
    ended = Outcome(notices=progress.notices)
    with beside(side, 0, ended, progress, **more):
        assert progress.listens.wait(10)
        yield progress.port, ended


@contextlib.contextmanager
def spawned(*words: Any) -> Iterator[subprocess.Popen[str]]:
    child = spawn(*words)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def apart(
    pair: tuple[Side, Side], role: str, at: int, deed: str
) -> Iterator[tuple[subprocess.Popen[str], Outcome]]:
    """Start one party in a process of its own, the other in a thread; give both."""
    if role == "join":
        with waiting(pair[0]) as (port, ended), spawned(pair[1], role, port, at, deed) as child:
            yield child, ended
    else:
        ended = Outcome()
        with spawned(pair[0], role, 0, at, deed) as child, beside(pair[1], port_of(child), ended):
            yield child, ended


def port_of(child: subprocess.Popen[str]) -> int:
    return int(read_until(child, "notice Listening on").split()[3].rpartition(":")[2])


def read_until(child: subprocess.Popen[str], word: str) -> str:
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        if line.startswith(word):
            return line
    pytest.fail(f"the party ended without {word!r}: {child.stderr.read()[-2000:]}")


# -- a partner that disappears --------------------------------------------------------------------------


@BOTH
def test_a_partner_that_disappears_at_any_message_leaves_no_trace(pair: tuple[Side, Side], who: int) -> None:
    """A short run, disturbed at every other message, those of the other side beside, and at last at none."""
    before = snapshots(pair)
    for at in itertools.count(1 + who, 2):
        faults = (None, (at, vanish)) if who else ((at, vanish), None)
        outcomes = run(*pair, faults=faults, max_steps=2)
        if outcomes[who].error is None:
            break
        assert_explained(outcomes[1 - who], PeerError, "The line to the partner broke")
        assert snapshots(pair) == before
    assert at > 9
    assert outcomes[0].rows == outcomes[1].rows != []


@POSIX
@pytest.mark.parametrize(("role", "at"), [("serve", 9), ("join", 24)])
def test_a_process_that_is_killed_leaves_no_trace_and_both_can_run_again(
    pair: tuple[Side, Side], whole: Whole, role: str, at: int
) -> None:
    before = snapshots(pair)
    with apart(pair, role, at, "kill") as (child, ended):
        assert "release" not in child.communicate(timeout=60)[0]
    assert_explained(ended, PeerError, "The line to the partner broke.")
    assert snapshots(pair) == before
    assert_both_end(run(*pair), whole)


# -- a partner that stalls ------------------------------------------------------------------------------


@BOTH
def test_a_partner_that_stalls_is_given_up(pair: tuple[Side, Side], who: int) -> None:
    faults = (None, (9, sleeps(8))) if who else ((9, sleeps(8)), None)
    before = snapshots(pair)
    outcomes = run(*pair, faults=faults, timeout=4.0)
    assert_explained(outcomes[1 - who], PeerError, "The partner has said nothing for 4 seconds")
    assert "--timeout" in str(outcomes[1 - who].error)
    assert_explained(outcomes[who], PeerError, "waited too long for this side|The line to the partner broke")
    assert snapshots(pair) == before


def test_a_partner_that_drips_is_given_up_in_time(pair: tuple[Side, Side]) -> None:
    """One byte now and then: the time limit is one for the whole message."""

    def drips(line: Line, _: bytes) -> None:
        for byte in HEAD.pack(MESSAGE, 1000) + b"x" * 1000:
            try:
                line.connection.send(bytes([byte]))
            except OSError:
                return
            time.sleep(0.3)

    first, _ = run(*pair, faults=(None, (3, drips)), timeout=1.5)
    assert_explained(first, PeerError, "The partner has said nothing for 1.5 seconds")
    assert first.seconds < 20


def test_nobody_who_joins_or_listens_in_time_is_an_error(pair: tuple[Side, Side]) -> None:
    alone = take_part(pair[0], 0, Outcome(), wait=0.2)
    assert_explained(alone, PeerError, "Nobody called 'bank-b' has joined")
    began = time.monotonic()
    alone = take_part(pair[1], _free_port(), Outcome(), timeout=0.5)
    assert_explained(alone, PeerError, "Nobody can be reached")
    assert alone.error.exit_code == 3  # type: ignore[union-attr]
    assert time.monotonic() - began < 5


def test_the_joining_side_may_come_first(pair: tuple[Side, Side], whole: Whole) -> None:
    port, joined = _free_port(), Outcome()
    with beside(pair[1], port, joined):
        time.sleep(0.6)
        served = take_part(pair[0], port, Outcome())
    assert_both_end((served, joined), whole)


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        return int(bound.getsockname()[1])


# -- garbage ---------------------------------------------------------------------------------------------

SCORE = encode(
    Message("SCORE", 1, {"candidate": True, "stop": False, "score": 1.0, "level": None, "attribute": 1})
)
WIN = encode(Message("WIN", 1, {"attribute": 1, "value": 0, "children": 2}, np.array([1, 2], "u2")))
DIGEST = encode(Message("DIGEST", 1, {"leaves": "0" * 64}))
NAMES = {"attribute": [0], "value": [0], "label": ["x"], "owned": [0], "recoding": ["intervals"]}
LABELS = encode(Message("LABELS", 1, NAMES))
GARBAGE = {
    "a line of lists": b'["SCORE",1,' + b"[]," * 9000 + b'""]\n',
    "nothing": b"",
    "noise": os.urandom(500),
    "no message": b'{"kind": "SCORE"}\n',
    "an unknown kind": b'["PEEK",1,"{}",""]\n',
    "an unknown field": SCORE.replace(b'\\"stop', b'\\"counts\\":[1],\\"stop'),
    "a missing field": SCORE.replace(b'\\"stop\\":false,', b""),
    "a number that is none": SCORE.replace(b"1.0", b"NaN"),
    "an offer of no column": SCORE.replace(b'attribute\\":1', b'attribute\\":null'),
    "an offer without a score": SCORE.replace(b"1.0", b"null"),
    "an offer with two": SCORE.replace(b'level\\":null', b'level\\":1'),
    "a number beyond all": SCORE.replace(b'SCORE",1', b'SCORE",99999999999999999999'),
    "a column where none may be": SCORE + b"\x01\x02",
    "other spacing": SCORE.replace(b'["SCORE",1', b'["SCORE", 1'),
    "the wrong kind": DIGEST,
    "half a character": SCORE.replace(b"1.0", b'\\"\\\\ud800\\"'),
    "no UTF-8": b'["SCORE",1,"\xff",""]\n',
    "deep nesting": b"[" * 60_000,
    "fields of deep nesting": b'["SCORE",1,"' + b"[" * 100_000 + b'",""]\n',
    "part of a column": WIN[:-1],
    "part of a key": b'["KEYS",0,"{\\"records\\":1}","key"]\nabc',
    "a column of no known type": WIN.replace(b"uint16", b"uint64"),
    "a round below 0": SCORE.replace(b'SCORE",1', b'SCORE",-1'),
    "a score below 0": SCORE.replace(b"1.0", b"-1.0"),
    "a score that is a whole number": SCORE.replace(b"1.0", b"1"),
    "a level that is none": SCORE.replace(b"1.0", b"null").replace(b'level\\":null', b'level\\":true'),
    "a truth that is a number": SCORE.replace(b'candidate\\":true', b'candidate\\":1'),
    "a digest that is none": DIGEST.replace(b"00", b"0G"),
    "a digest with a column": DIGEST.replace(b'""]', b'"uint8"]') + b"\x01",
    "no column": b'["WIN",1,"{\\"attribute\\":0,\\"value\\":0,\\"children\\":2}",""]\n',
    "a recoding that is none": LABELS.replace(b"intervals", b"secret"),
    "labels without values": LABELS.replace(b'value\\":[0]', b'value\\":[]'),
    "too much": b" " * (64 * 1024 + 1),
    "far too much": b"x" * (3 * 1024 * 1024),
}


@pytest.mark.parametrize("what", [what for what in GARBAGE if what != "the wrong kind"])
def test_garbage_is_refused_without_a_word_of_what_it_holds(what: str) -> None:
    with pytest.raises(ProtocolError, match="The partner sent (a |something)") as caught:
        decode(GARBAGE[what])
    assert not any(word in str(caught.value) for word in ("PEEK", "counts", "abc"))


@pytest.mark.parametrize("what", ["the wrong kind", "far too much"])
def test_garbage_in_the_place_of_the_first_score_is_refused_by_both(
    pair: tuple[Side, Side], what: str
) -> None:
    before = snapshots(pair)
    first, second = run(*pair, faults=(None, (3, sends(GARBAGE[what]))))
    assert_explained(first, ProtocolError, "The partner sent ")
    assert_explained(second, ProtocolError, "The partner refuses (a message of|what) this side")
    assert snapshots(pair) == before


NO_FRAMES = {
    "an unknown kind": HEAD.pack(77, 0),
    "a message that is too large": HEAD.pack(MESSAGE, 64 * 1024 + 1),
    "a message of 16 EiB": HEAD.pack(MESSAGE, 2**64 - 1),
    "a word that may not come now": HEAD.pack(AGREED, 0),
    "a long last word": HEAD.pack(STOP, 21) + b"x" * 21,
    "noise": b"\x09" + os.urandom(500) + b"person-1",
}


@pytest.mark.parametrize("what", NO_FRAMES)
def test_what_is_no_frame_is_refused_before_it_is_read(pair: tuple[Side, Side], what: str) -> None:
    before = snapshots(pair)
    with waiting(pair[0]) as (port, ended), called(pair[1].credentials(), port) as caller:
        caller.sendall(NO_FRAMES[what])
        heard = everything(caller)
    assert_explained(ended, ProtocolError, "something that is not a message|more than the 65536 bytes")
    assert heard.endswith(HEAD.pack(STOP, 7) + b"message")
    assert snapshots(pair) == before


@contextlib.contextmanager
def called(shown: Credentials, port: int, protocol: str = PROTOCOL) -> Iterator[ssl.SSLSocket]:
    """Call as the partner would, to say whatever."""
    found = context(shown, listens=False)
    found.set_alpn_protocols([protocol])
    found.check_hostname = False
    with socket.create_connection((HOST, port), timeout=10) as plain, found.wrap_socket(plain) as caller:
        yield caller


def everything(caller: ssl.SSLSocket) -> bytes:
    return b"".join(iter(lambda: caller.recv(4096), b""))


# -- a partner that would fill the memory ------------------------------------------------------------------

MEGABYTE = 1024 * 1024
ROOM = 100 * MEGABYTE
"""What an attacked side may take beside what it takes when it listens; an honest run takes half of it."""
HELLO = {"version": 1, "requirements": "0" * 64, "settings": "0" * 64, "owns": [1, 2], "records": 2**52}
HELLO |= {"order": "0" * 64, "shared": "0" * 64, "match": "plain", "intersect": True}
LISTS = b'["HELLO",0,"' + b"[]," * 20_000 + b'",""]\n'


def _frame(payload: bytes) -> bytes:
    return HEAD.pack(MESSAGE, len(payload)) + payload


ATTACKS: dict[str, Callable[[], bytes]] = {
    "a message of 400 MB": lambda: HEAD.pack(MESSAGE, 400_000_000),
    "a message of many lists": lambda: _frame(LISTS),
    "records beyond all": lambda: _frame(encode(Message("HELLO", 0, HELLO))),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("what", ATTACKS)
def test_a_hostile_partner_cannot_fill_the_memory(pair: tuple[Side, Side], what: str) -> None:
    """A process that listens, called by one with the right certificate that sends up to 600 MB."""
    before = snapshots(pair)
    with spawned(pair[0], "serve", 0, 0, "nothing", "--peak") as child:
        port, idle = port_of(child), peak(child.pid)
        with contextlib.suppress(OSError), called(pair[1].credentials(), port) as caller:
            caller.sendall(ATTACKS[what]())
            for _ in range(600):
                caller.sendall(bytes(MEGABYTE))
        error, most = child.communicate(timeout=60)[0].splitlines()
    assert error.startswith("error The partner ")
    assert int(most) - idle < ROOM
    assert snapshots(pair) == before


def test_more_records_than_can_be_compared_are_refused_before_keys_are_sent() -> None:
    mine = {"match": "plain", "intersect": True, "records": 34}
    with pytest.raises(ProtocolError, match=f"the partner holds {FEW_KEYS + 1}, of which"):
        check_narrowing(mine, mine | {"records": FEW_KEYS + 1})
    check_narrowing(mine, mine | {"records": FEW_KEYS})


# -- strangers ----------------------------------------------------------------------------------------------


def test_strangers_are_turned_away_each_with_a_notice_and_the_right_partner_can_still_join(
    pair: tuple[Side, Side], whole: Whole, keys: Path, tmp_path: Path
) -> None:
    keygen(tmp_path / "rogue", ["bank-a", "bank-b"])
    own, rogue = pair[1].credentials(), credentials(tmp_path / "rogue", "bank-b")
    told = [
        "its certificate is not of the given authority",
        "its certificate is for another name, 'bank-c'",
        "it does not take this side's certificate",
        "it does not take this side's certificate",
        "it speaks another version of the protocol",
        "it shows no certificate",
        "it speaks no TLS 1.3",
        "it took too long to show a certificate",
    ]
    with waiting(pair[0]) as (port, ended):
        for shown, name, problem in (
            (replace(rogue, authority=own.authority), "bank-a", "does not take this side's certificate"),
            (credentials(keys, "bank-c"), "bank-a", "a certificate for another name than 'bank-c'"),
            (replace(own, authority=rogue.authority), "bank-a", "not of the given authority"),
            (own, "bank-x", "is not for 'bank-x'"),
        ):
            found = take_part(pair[1], port, Outcome(), shown=shown, name=name)
            assert_explained(found, ProtocolError, problem)
        with called(own, port, "ppdm-integrate/9") as caller:
            assert everything(caller) == HEAD.pack(STOP, 7) + b"version"
        bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        bare.check_hostname, bare.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection((HOST, port), timeout=5)
        with bare.wrap_socket(plain) as caller, pytest.raises(ssl.SSLError, match="certificate required"):
            caller.recv(100)
        with socket.create_connection((HOST, port), timeout=5) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: bank-a\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert b"SSN" not in plain.recv(1000)
        with socket.create_connection((HOST, port), timeout=5):
            joined = take_part(pair[1], port, Outcome(), timeout=15.0)
    assert_both_end((joined, ended), whole)
    assert ended.notices[1:] == [f"A caller from {HOST} was refused: {why}." for why in told]


def test_an_expired_certificate_is_refused_by_its_owner_and_by_the_partner(
    pair: tuple[Side, Side], tmp_path: Path
) -> None:
    long_ago = mock.Mock(now=lambda zone: datetime.datetime.now(zone) - datetime.timedelta(days=40))
    with mock.patch.object(certificates, "datetime", long_ago):
        keygen(tmp_path / "old", ["bank-a", "bank-b"])
    with pytest.raises(InvalidOption, match=r"valid from .* to .* only"):
        credentials(tmp_path / "old", "bank-b")
    own, partners = (side.credentials() for side in pair)
    files = (tmp_path / "old" / name for name in ("bank-b.pem", "bank-b.key", "authority.pem"))
    certificate, key, authority = (file.read_bytes() for file in files)
    expired = Credentials(certificate, key, partners.authority, "bank-b")
    with waiting(pair[0], shown=replace(own, authority=authority), wait=3.0) as (port, ended):
        found = take_part(pair[1], port, Outcome(), shown=expired)
    assert_explained(found, ProtocolError, "does not take this side's certificate")
    assert any("its certificate has expired" in text for text in ended.notices)


def test_of_many_strangers_the_first_are_told_and_no_warning_ends_the_wait(pair: tuple[Side, Side]) -> None:
    told: list[str] = []

    def notice(text: str) -> None:
        told.append(text)
        raise PpdmWarning(text)

    def calls(listening: str) -> None:
        port = int(listening.split(":")[1].split()[0])
        for _ in range(MOST_NOTICES + 3):
            socket.create_connection((HOST, port), timeout=5).close()

    place, side = Address(HOST, 0), pair[0]
    with (
        pytest.raises(PeerError, match="has joined within"),
        listen_on(place, side.credentials(), side.partner, timeout=1, wait=3, listens=calls, notice=notice),
    ):
        pass
    refused = f"A caller from {HOST} was refused: it hung up before it had shown a certificate."
    assert told == [refused] * MOST_NOTICES + ["3 more callers were refused."]


def test_a_second_caller_is_not_answered(pair: tuple[Side, Side]) -> None:
    """Once the partner has come, nobody listens any more."""
    shown = pair[1].credentials()
    with (
        waiting(pair[0], timeout=3.0) as (port, ended),
        connect_to(Address(HOST, port), shown, "bank-a", timeout=5),
    ):
        again = take_part(pair[1], port, Outcome(), timeout=0.5)
    assert_explained(again, PeerError, "Nobody can be reached")
    assert isinstance(ended.error, PeerError)


# -- files of certificates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (("bank-a.pem", "bank-b.key", "authority.pem"), "is not that of --cert"),
        (("bank-a.pem", "bank-a.key", "bank-b.pem"), "is not signed by that of --authority"),
        (("authority.pem", "bank-a.key", "authority.pem"), "is not that of --cert"),
        (("bank-a.key", "bank-a.key", "authority.pem"), "--cert holds no certificate"),
        (("bank-a.pem", "bank-a.pem", "authority.pem"), "--private-key holds no key"),
        (("nowhere.pem", "bank-a.key", "authority.pem"), "cannot be read"),
    ],
)
def test_certificates_that_do_not_fit_are_refused_before_anybody_is_called(
    keys: Path, files: tuple[str, str, str], problem: str
) -> None:
    with pytest.raises(InvalidOption, match=problem) as caught:
        Credentials.read(*(keys / file for file in files))
    assert "BEGIN" not in str(caught.value)


def test_keys_for_a_trial_are_for_their_owner_alone_and_replaced_only_by_force(tmp_path: Path) -> None:
    names = ["bank-a", "bank-b"]
    for wrong in (names[:1], ["bank-a", "Bank-A"], ["bank-a", "../b"], ["bank-a", "authority"]):
        with pytest.raises(InvalidOption):
            keygen(tmp_path / "new", wrong)
    assert not (tmp_path / "new").exists()
    (first, *_) = keygen(tmp_path, names)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("*.key")} == {0o600}
    assert {file.stem for file in tmp_path.glob("*.key")} == {*names}
    text = first.read_bytes()
    with pytest.raises(NameTaken):
        keygen(tmp_path, names)
    assert first.read_bytes() == text
    keygen(tmp_path, names, force=True)
    assert first.read_bytes() != text
    assert (tmp_path / "bank-a.key").read_text().splitlines()[1] not in repr(credentials(tmp_path, "bank-a"))


# -- Ctrl-C -----------------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("role", ["serve", "join"])
def test_ctrl_c_on_one_side_publishes_the_state_reached_on_both(
    pair: tuple[Side, Side], whole: Whole, role: str
) -> None:
    told, ended = interrupted(pair, role, 1)
    word, steps, stopped = told.splitlines()[-1].split()
    assert (word, int(steps), stopped) == ("release", len(ended.steps), "interrupted")
    assert ended.release is not None and 0 < int(steps) < whole.steps
    assert pair[0].query('FROM "both"') == pair[1].query('FROM "both"') == ended.rows


@POSIX
@pytest.mark.parametrize("role", ["serve", "join"])
def test_ctrl_c_twice_aborts_and_tells_the_partner(pair: tuple[Side, Side], role: str) -> None:
    before = snapshots(pair)
    told, ended = interrupted(pair, role, 2)
    assert told.splitlines()[-1] == "interrupted"
    assert_explained(ended, PeerError, "The partner interrupted the run.")
    assert snapshots(pair) == before


def interrupted(pair: tuple[Side, Side], role: str, times: int) -> tuple[str, Outcome]:
    """Press Ctrl-C on one side while it is about to send its ninth message."""
    with apart(pair, role, 9, "pause") as (child, ended):
        read_until(child, "paused")
        for _ in range(times):
            child.send_signal(signal.SIGINT)
            time.sleep(0.3)
        told, _ = child.communicate("\n" if times == 1 else None, timeout=60)
    return told, ended


# -- the last word ----------------------------------------------------------------------------------------


@BOTH
def test_where_one_side_fails_after_the_last_word_both_know_who_has_published(
    pair: tuple[Side, Side], who: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have verified and said so; one publishes, the other cannot write the last bit."""
    late, agree = pair[who], Link.agree

    def failing(link: Link, word: int = AGREED) -> None:
        agree(link, word)
        if word == AGREED and link.line.listens == (who == 0):
            raise ppdm_sql.EngineError("The disk is full.", "Make room.")

    monkeypatch.setattr(Link, "agree", failing)
    before = late.snapshot()
    outcomes = run(*pair)
    assert outcomes[1 - who].error is None, outcomes[1 - who].text
    assert any("published here, but not on the partner's side" in t for t in outcomes[1 - who].notices)
    assert isinstance(outcomes[who].error, ppdm_sql.EngineError)
    assert any("the partner may have published" in text for text in outcomes[who].notices)
    assert late.snapshot() == before


def loses_the_answer(line: Line, _: bytes) -> bytes:
    """Say that this side is about to publish; the line breaks before the partner's word is heard."""

    def take(limit: int, kind: int = MESSAGE) -> bytes:
        time.sleep(0.5)
        line.connection.close()
        raise PeerError("The line to the partner broke.", "Run both again.")

    line.take = take  # type: ignore[method-assign]
    return b""


def test_the_listening_side_that_loses_the_last_word_says_that_the_partner_may_have_published(
    pair: tuple[Side, Side], whole: Whole
) -> None:
    """It speaks first, so the other one publishes first."""
    before = pair[0].snapshot()
    first, second = run(*pair, faults=((AT_THE_LAST_WORD, loses_the_answer), None))
    assert second.error is None, second.text
    assert second.rows == whole.rows
    assert any("the partner has not confirmed that it is there" in text for text in second.notices)
    assert_explained(first, PeerError, "nothing is published here, but the partner may have published")
    assert "ppdm drop" in str(first.error)
    assert pair[0].snapshot() == before
    with ppdm_sql.open(pair[1].file) as db:
        db.release("both").drop()
    assert_both_end(run(*pair), whole)


@BOTH
def test_a_side_that_breaks_off_at_its_last_word_publishes_nothing_and_neither_does_the_other(
    pair: tuple[Side, Side], who: int
) -> None:
    """The listening side has said its own before it waits for the joining one's, so it is left unsure."""
    before = snapshots(pair)
    fault = AT_THE_LAST_WORD, vanish
    outcomes = run(*pair, faults=(None, fault) if who else (fault, None))
    assert isinstance(outcomes[who].error, Vanished)
    problem = r"at the last word: nothing is published here, but the partner may" if who else r"broke\.$"
    assert_explained(outcomes[1 - who], PeerError, problem)
    assert snapshots(pair) == before


# -- what is said --------------------------------------------------------------------------------------------


def test_no_log_and_no_word_to_the_partner_holds_a_cell_or_a_key(
    pair: tuple[Side, Side], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="ppdm_sql"):
        first, _ = run(*pair, faults=(None, (9, raises(ppdm_sql.EngineError("No.", "Yes.")))))
    assert_explained(first, PeerError, "The run failed on the partner's side")
    assert caplog.records
    assert not any(cell in caplog.text for cell in CELLS)
