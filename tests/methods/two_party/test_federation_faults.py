"""What goes wrong between two parties is a clear error on both sides, and leaves both files as they were."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import queue
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
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
    raises,
    run,
    sends,
    sides,
    sleeps,
    spawn,
    vanish,
)

import ppdm_sql
import ppdm_sql.integrate
from ppdm_sql.errors import InvalidOption, NameTaken, PeerError, PpdmError, PpdmWarning, ProtocolError
from ppdm_sql.methods.two_party import certificates
from ppdm_sql.methods.two_party.certificates import PROTOCOL, Credentials, context, keygen
from ppdm_sql.methods.two_party.connection import (
    AGREED,
    HEAD,
    MESSAGE,
    MOST_TOLD,
    STOP,
    WELCOME,
    Address,
    Line,
    connect_to,
    listen_on,
)
from ppdm_sql.methods.two_party.messages import Link, Message, decode, encode


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
    sent: tuple[int, int]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Whole:
    first, second = run(*sides(tmp_path_factory.mktemp("whole"), keys))
    assert first.rows
    assert first.rows == second.rows
    return Whole(first.rows, len(first.steps), (first.sent, second.sent))


def assert_explained(outcome: Outcome, kind: type[PpdmError], problem: str) -> None:
    """Two sentences: what is wrong, what to type; no cell, no key."""
    assert isinstance(outcome.error, kind), outcome.text
    assert re.search(problem, outcome.error.problem), outcome.text
    assert outcome.error.problem.endswith(".")
    assert outcome.error.remedy.endswith(".")
    assert not any(cell in str(outcome.error) for cell in CELLS)


def assert_untouched(before: tuple[Any, Any], *pair: Side) -> None:
    assert tuple(side.snapshot() for side in pair) == before


def assert_both_end(outcomes: tuple[Outcome, Outcome], whole: Whole) -> None:
    for outcome in outcomes:
        assert outcome.error is None, outcome.text
        assert outcome.rows == whole.rows
        assert len(outcome.steps) == whole.steps


# -- a run that nothing disturbs ----------------------------------------------------------------------


# -- a partner that disappears --------------------------------------------------------------------------


@pytest.mark.parametrize("who", [0, 1], ids=["the listening side", "the joining side"])
def test_a_partner_that_disappears_at_any_message_leaves_no_trace(
    tmp_path: Path, keys: Path, who: int
) -> None:
    """A shorter run; both are run again after every fifth message."""
    (tmp_path / "whole").mkdir()
    short = {"max_steps": 3}
    first, second = run(*sides(tmp_path / "whole", keys), **short)
    whole = Whole(first.rows, 3, (first.sent, second.sent))
    assert whole.sent[who] >= 10
    for at in (*range(1, whole.sent[who] + 1), AT_THE_LAST_WORD):
        folder = tmp_path / str(at)
        folder.mkdir()
        pair = sides(folder, keys)
        before = tuple(side.snapshot() for side in pair)
        fault = (at, vanish)
        outcomes = run(*pair, faults=(None, fault) if who else (fault, None), **short)
        assert_explained(outcomes[1 - who], PeerError, "The line to the partner broke")
        assert_untouched(before, *pair)  # type: ignore[arg-type]
        if at % 5 == 0:
            assert_both_end(run(*pair, **short), whole)


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
@pytest.mark.parametrize(("role", "at"), [("join", 1), ("serve", 9), ("join", 24)])
def test_a_process_that_is_killed_leaves_no_trace_and_both_can_run_again(
    pair: tuple[Side, Side], whole: Whole, role: str, at: int
) -> None:
    before = tuple(side.snapshot() for side in pair)
    told = processes(pair, **{role: (at, "kill")})
    other = "join" if role == "serve" else "serve"
    assert "The line to the partner broke." in told[other]
    assert "release" not in told["serve"] + told["join"]
    assert_untouched(before, *pair)  # type: ignore[arg-type]
    told = processes(pair)
    assert (
        told["serve"].splitlines()[-1] == told["join"].splitlines()[-1] == f"release {whole.steps} complete"
    )
    assert pair[0].query('FROM "both"') == pair[1].query('FROM "both"') == whole.rows


def processes(pair: tuple[Side, Side], **deeds: tuple[int, str]) -> dict[str, str]:
    """Run each party in a process of its own; give what each printed."""
    with _both(pair, deeds) as found:
        return {role: child.communicate(timeout=60)[0] for role, child in found.items()}


@contextlib.contextmanager
def _both(
    pair: tuple[Side, Side], deeds: dict[str, tuple[int, str]]
) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Start both processes, the second when the first listens."""
    (first, second), nothing = pair, (0, "nothing")
    with contextlib.ExitStack() as stack:
        serve = stack.enter_context(_spawned(first, "serve", 0, *deeds.get("serve", nothing)))
        words = ("join", _port(serve), *deeds.get("join", nothing))
        yield {"serve": serve, "join": stack.enter_context(_spawned(second, *words))}


@contextlib.contextmanager
def _spawned(*words: Any) -> Iterator[subprocess.Popen[str]]:
    child = spawn(*words)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def _port(child: subprocess.Popen[str]) -> int:
    line = _read_until(child, "notice Listening on")
    return int(line.split()[3].rpartition(":")[2])


def _read_until(child: subprocess.Popen[str], word: str) -> str:
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        if line.startswith(word):
            return line
    pytest.fail(f"the party ended without {word!r}: {child.stderr.read()[-2000:]}")


# -- a partner that stalls ------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [0, 1], ids=["the listening side", "the joining side"])
def test_a_partner_that_stalls_is_given_up(pair: tuple[Side, Side], who: int) -> None:
    faults = tuple((9, sleeps(8)) if side == who else None for side in (0, 1))
    before = tuple(side.snapshot() for side in pair)
    outcomes = run(*pair, faults=faults, timeout=4.0)  # type: ignore[arg-type]
    assert_explained(outcomes[1 - who], PeerError, "The partner has said nothing for 4 seconds")
    assert "--timeout" in str(outcomes[1 - who].error)
    assert_explained(outcomes[who], PeerError, "waited too long for this side|The line to the partner broke")
    assert_untouched(before, *pair)  # type: ignore[arg-type]


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


def test_nobody_who_joins_in_time_is_an_error(pair: tuple[Side, Side]) -> None:
    a, _ = pair
    with ppdm_sql.open(a.file) as db, pytest.raises(PeerError, match="Nobody called 'bank-b' has joined"):
        a.party(db).serve(f"{HOST}:0", a.credentials(), a.partner, wait=0.2)


def test_nobody_who_listens_in_time_is_an_error(pair: tuple[Side, Side]) -> None:
    _, b = pair
    began = time.monotonic()
    with ppdm_sql.open(b.file) as db, pytest.raises(PeerError, match="Nobody can be reached") as caught:
        b.party(db).join(f"{HOST}:{_free_port()}", b.credentials(), b.partner, timeout=0.5)
    assert caught.value.exit_code == 3
    assert time.monotonic() - began < 5


def test_the_joining_side_may_come_first(pair: tuple[Side, Side], whole: Whole) -> None:
    (a, b), port, found = pair, _free_port(), {}

    def join() -> None:
        with ppdm_sql.open(b.file) as db:
            release = b.party(db).join(f"{HOST}:{port}", b.credentials(), b.partner, timeout=10)
            found["rows"] = release.relation().fetchall()

    thread = threading.Thread(target=join)
    thread.start()
    time.sleep(0.6)
    with ppdm_sql.open(a.file) as db:
        release = a.party(db).serve(f"{HOST}:{port}", a.credentials(), a.partner, wait=10)
        assert release.relation().fetchall() == whole.rows
    thread.join()
    assert found["rows"] == whole.rows


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        return int(bound.getsockname()[1])


# -- other parameters, other records, other states ----------------------------------------------------


def test_another_version_of_the_line_is_refused(pair: tuple[Side, Side], whole: Whole) -> None:
    """A partner with the right certificate that is of another time."""
    with waiting(pair) as (port, ended):
        with called(pair[1].credentials(), port, "ppdm-integrate/9") as caller:
            assert b"".join(iter(lambda: caller.recv(100), b"")) == HEAD.pack(STOP, 7) + b"version"
        assert any("speaks another version" in text for text in ended.notices)  # type: ignore[attr-defined]
        assert_joins(pair, port, ended, whole)


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


@pytest.mark.parametrize("what", ["noise", "the wrong kind", "too much", "far too much"])
def test_garbage_in_the_place_of_the_first_score_is_refused_by_both(
    pair: tuple[Side, Side], what: str
) -> None:
    before = tuple(side.snapshot() for side in pair)
    first, second = run(*pair, faults=(None, (3, sends(GARBAGE[what]))))
    assert_explained(first, ProtocolError, "The partner sent ")
    assert_explained(second, ProtocolError, "The partner refuses (a message of|what) this side")
    assert_untouched(before, *pair)  # type: ignore[arg-type]


NO_FRAMES = {
    "an unknown kind": HEAD.pack(77, 0),
    "no kind": HEAD.pack(0, 0),
    "a message that is too large": HEAD.pack(MESSAGE, 64 * 1024 + 1),
    "a message of 16 EiB": HEAD.pack(MESSAGE, 2**64 - 1),
    "a word that may not come now": HEAD.pack(AGREED, 0),
    "a long last word": HEAD.pack(STOP, 21) + b"x" * 21,
    "a welcome": HEAD.pack(WELCOME, 0),
    "noise": b"\x09" + os.urandom(500) + b"person-1",
}


@pytest.mark.parametrize("what", NO_FRAMES)
def test_what_is_no_frame_is_refused_before_it_is_read(pair: tuple[Side, Side], what: str) -> None:
    a, b = pair
    before = a.snapshot()
    with waiting(pair) as (port, ended):
        with called(b.credentials(), port) as caller:
            caller.sendall(NO_FRAMES[what])
            found = b"".join(iter(lambda: caller.recv(4096), b""))
        error = ended.get(timeout=10)
    assert isinstance(error, ProtocolError)
    assert "something that is no message" in error.problem or "more than the 65536 bytes" in error.problem
    assert found.endswith(HEAD.pack(STOP, 7) + b"message")
    assert a.snapshot() == before


# -- certificates ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def waiting(pair: tuple[Side, Side]) -> Iterator[tuple[int, queue.Queue[Any]]]:
    """Let the first party wait for the second; give its port, and what it ends with."""
    side, progress, ended = pair[0], Noted(), queue.Queue()

    def serve() -> None:
        try:
            with ppdm_sql.open(side.file) as db:
                party = side.party(db, progress)
                release = party.serve(f"{HOST}:0", side.credentials(), side.partner, timeout=5, wait=20)
                ended.put(release.relation().fetchall())
        except BaseException as error:
            ended.put(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert progress.listens.wait(10)
    ended.notices = progress.notices
    yield progress.port, ended
    thread.join(30)
    assert not thread.is_alive()


def assert_joins(pair: tuple[Side, Side], port: int, ended: queue.Queue[Any], whole: Whole) -> None:
    """The right partner can still join."""
    side = pair[1]
    with ppdm_sql.open(side.file) as db:
        release = side.party(db).join(f"{HOST}:{port}", side.credentials(), side.partner, timeout=10)
        assert release.relation().fetchall() == whole.rows
    assert ended.get(timeout=20) == whole.rows


def join(side: Side, port: int, shown: Credentials, name: str | None = None) -> Outcome:
    with ppdm_sql.open(side.file) as db:
        try:
            return Outcome(side.party(db).join(f"{HOST}:{port}", shown, name or side.partner, timeout=3))
        except PpdmError as error:
            return Outcome(error=error)


def mixed(own: Credentials, believed: Credentials) -> Credentials:
    return replace(own, authority=believed.authority)


def _expired(folder: Path) -> Credentials:
    """The credentials of the second party, whose certificate was valid until a month ago."""
    root = certificates._signed(None, "an authority", 5)
    long_ago = mock.Mock(now=lambda zone: datetime.datetime.now(zone) - datetime.timedelta(days=40))
    first = certificates._signed(root, "bank-a", 5)
    with mock.patch.object(certificates, "datetime", long_ago):
        second = certificates._signed(root, "bank-b", 10)
    for name, (key, certificate) in {"authority": root, "bank-a": first, "bank-b": second}.items():
        form = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        (folder / f"{name}.key").write_bytes(key.private_bytes(*form))
        (folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    texts = [(folder / file).read_bytes() for file in ("bank-b.pem", "bank-b.key", "authority.pem")]
    return Credentials(*texts, "bank-b")


def test_a_rogue_partner_is_refused_and_the_right_one_joins(
    pair: tuple[Side, Side], whole: Whole, tmp_path: Path
) -> None:
    """Its certificate has the right name, and another authority's signature."""
    keygen(tmp_path / "rogue", ["bank-a", "bank-b"])
    rogue = mixed(credentials(tmp_path / "rogue", "bank-b"), pair[1].credentials())
    with waiting(pair) as (port, ended):
        assert_explained(join(pair[1], port, rogue), ProtocolError, "does not take this side's certificate")
        assert_told(ended, "its certificate is not of the given authority")
        assert_joins(pair, port, ended, whole)


def test_a_partner_with_another_name_is_refused_and_the_owner_told(
    pair: tuple[Side, Side], whole: Whole, keys: Path
) -> None:
    with waiting(pair) as (port, ended):
        found = join(pair[1], port, credentials(keys, "bank-c"))
        assert_explained(found, ProtocolError, "expects a certificate for another name than 'bank-c'")
        assert any("its certificate is for another name, 'bank-c'" in text for text in ended.notices)  # type: ignore[attr-defined]
        assert_joins(pair, port, ended, whole)


def test_who_listens_with_another_authority_is_refused(
    pair: tuple[Side, Side], whole: Whole, tmp_path: Path
) -> None:
    keygen(tmp_path / "rogue", ["bank-a", "bank-b"])
    believing = mixed(pair[1].credentials(), credentials(tmp_path / "rogue", "bank-b"))
    with waiting(pair) as (port, ended):
        assert_explained(join(pair[1], port, believing), ProtocolError, "not of the given authority")
        assert_told(ended, "it does not take this side's certificate")
        assert_joins(pair, port, ended, whole)


def test_who_listens_with_another_name_is_refused(pair: tuple[Side, Side], whole: Whole) -> None:
    with waiting(pair) as (port, ended):
        found = join(pair[1], port, pair[1].credentials(), "bank-x")
        assert_explained(found, ProtocolError, "is not for 'bank-x'")
        assert_joins(pair, port, ended, whole)


def test_an_expired_certificate_is_refused_by_its_owner_and_by_the_partner(
    pair: tuple[Side, Side], tmp_path: Path
) -> None:
    folder = tmp_path / "expired"
    folder.mkdir()
    expired = _expired(folder)
    with pytest.raises(InvalidOption, match=r"valid from .* to .* only"):
        credentials(folder, "bank-b")
    listens = replace(pair[0], keys=folder)
    with contextlib.ExitStack() as stack:
        place = Address(HOST, _free_port())
        server = threading.Thread(target=_listen_a_moment, args=(place, listens))
        server.start()
        stack.callback(server.join)
        found = join(pair[1], place.port, expired)
    assert_explained(found, ProtocolError, "does not take this side's certificate")


def _listen_a_moment(place: Address, side: Side) -> None:
    with (
        contextlib.suppress(PeerError),
        listen_on(place, side.credentials(), side.partner, timeout=1, wait=3),
    ):
        pass


def test_a_caller_without_a_certificate_is_refused(pair: tuple[Side, Side], whole: Whole) -> None:
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname, bare.verify_mode = False, ssl.CERT_NONE
    with waiting(pair) as (port, ended):
        plain = socket.create_connection((HOST, port), timeout=5)
        with bare.wrap_socket(plain) as caller, pytest.raises(ssl.SSLError, match="certificate required"):
            caller.recv(100)
        assert_told(ended, "it shows no certificate")
        assert_joins(pair, port, ended, whole)


def assert_told(ended: Any, why: str) -> None:
    """The owner who waits was told once, and no more."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not any(why in text for text in ended.notices):
        time.sleep(0.05)
    assert ended.notices[1:] == [f"A caller from {HOST} was refused: {why}."]


def test_of_many_strangers_the_first_are_told_and_no_warning_ends_the_wait(pair: tuple[Side, Side]) -> None:
    told: list[str] = []

    def notice(text: str) -> None:
        told.append(text)
        raise PpdmWarning(text)

    def calls(listening: str) -> None:
        port = int(listening.split(":")[1].split()[0])
        for _ in range(MOST_TOLD + 3):
            socket.create_connection((HOST, port), timeout=5).close()

    place, side = Address(HOST, 0), pair[0]
    with (
        pytest.raises(PeerError, match="has joined within"),
        listen_on(place, side.credentials(), side.partner, timeout=1, wait=3, listens=calls, notice=notice),
    ):
        pass
    refused = f"A caller from {HOST} was refused: it hung up before it had shown a certificate."
    assert told == [refused] * MOST_TOLD + ["3 more callers were refused."]


def test_a_caller_that_speaks_no_tls_is_refused(pair: tuple[Side, Side], whole: Whole) -> None:
    with waiting(pair) as (port, ended):
        with socket.create_connection((HOST, port), timeout=5) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\nHost: bank-a\r\n\r\n")
            caller.settimeout(5)
            with contextlib.suppress(ConnectionError):
                assert b"SSN" not in caller.recv(1000)
        assert_told(ended, "it speaks no TLS 1.3")
        silent = socket.create_connection((HOST, port), timeout=5)
        assert_joins(pair, port, ended, whole)
        silent.close()


def test_a_second_caller_is_not_answered(pair: tuple[Side, Side]) -> None:
    """Once the partner has come, nobody listens any more."""
    a, b = pair
    place, done = Address(HOST, _free_port()), threading.Event()

    def listen() -> None:
        with listen_on(place, a.credentials(), a.partner, timeout=5, wait=5):
            done.wait(10)

    thread = threading.Thread(target=listen)
    thread.start()
    with connect_to(place, b.credentials(), b.partner, timeout=5):
        assert_explained(join(b, place.port, b.credentials()), PeerError, "Nobody can be reached")
        done.set()
    thread.join()


@contextlib.contextmanager
def called(shown: Credentials, port: int, protocol: str = PROTOCOL) -> Iterator[ssl.SSLSocket]:
    """Call as the partner would, to say whatever."""
    found = context(shown, listens=False)
    found.set_alpn_protocols([protocol])
    found.check_hostname = False
    with socket.create_connection((HOST, port), timeout=10) as plain, found.wrap_socket(plain) as caller:
        yield caller


# -- files of certificates -----------------------------------------------------------------------------


def test_keys_for_a_trial_are_readable_by_their_owner_only(keys: Path) -> None:
    for name in ("bank-a", "bank-b"):
        assert (keys / f"{name}.key").stat().st_mode & 0o777 == 0o600
    assert not list(keys.glob("authority.key"))


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


def test_a_key_is_never_shown(keys: Path) -> None:
    shown = repr(credentials(keys, "bank-a"))
    assert (keys / "bank-a.key").read_text().splitlines()[1] not in shown


@pytest.mark.parametrize(
    "names", [["bank-a"], ["bank-a", "Bank-A"], ["bank-a", "../b"], ["bank-a", "authority"]]
)
def test_names_that_cannot_stand_in_a_trial_are_refused(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(InvalidOption):
        keygen(tmp_path / "new", names)
    assert not (tmp_path / "new").exists()


def test_keys_are_replaced_only_by_force(tmp_path: Path) -> None:
    names = ["bank-a", "bank-b"]
    (first, *_) = keygen(tmp_path, names)
    text = first.read_bytes()
    with pytest.raises(NameTaken):
        keygen(tmp_path, names)
    assert first.read_bytes() == text
    keygen(tmp_path, names, force=True)
    assert first.read_bytes() != text


# -- Ctrl-C -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="interrupts a process by signal")
@pytest.mark.parametrize("role", ["serve", "join"])
def test_ctrl_c_on_one_side_publishes_the_state_reached_on_both(
    pair: tuple[Side, Side], whole: Whole, role: str
) -> None:
    told = interrupted(pair, role, 1)
    ends = {text.splitlines()[-1] for text in told.values()}
    assert len(ends) == 1
    ((word, steps, stopped),) = (end.split() for end in ends)
    assert (word, stopped) == ("release", "interrupted")
    assert 0 < int(steps) < whole.steps
    assert pair[0].query('FROM "both"') == pair[1].query('FROM "both"')


@pytest.mark.skipif(os.name != "posix", reason="interrupts a process by signal")
@pytest.mark.parametrize("role", ["serve", "join"])
def test_ctrl_c_twice_aborts_and_tells_the_partner(pair: tuple[Side, Side], role: str) -> None:
    before = tuple(side.snapshot() for side in pair)
    told = interrupted(pair, role, 2)
    other = "join" if role == "serve" else "serve"
    assert told[role].splitlines()[-1] == "interrupted"
    assert "The partner interrupted the run." in told[other]
    assert_untouched(before, *pair)  # type: ignore[arg-type]


def interrupted(pair: tuple[Side, Side], role: str, times: int) -> dict[str, str]:
    """Press Ctrl-C on one side while it is about to send its ninth message."""
    deeds = {role: (9, "pause")}
    with _both(pair, deeds) as found:
        child = found[role]
        _read_until(child, "paused")
        for _ in range(times):
            child.send_signal(signal.SIGINT)
            time.sleep(0.3)
        if times == 1:
            assert child.stdin is not None
            child.stdin.write("\n")
            child.stdin.flush()
        return {name: each.communicate(timeout=60)[0] for name, each in found.items()}


# -- the last word ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [0, 1], ids=["the listening side", "the joining side"])
def test_where_one_side_fails_after_the_last_word_both_know_who_has_published(
    pair: tuple[Side, Side], whole: Whole, who: int, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.undo()
    assert outcomes[1 - who].error is None, outcomes[1 - who].text
    assert any("published here, but not on the partner's side" in t for t in outcomes[1 - who].notices)
    assert isinstance(outcomes[who].error, ppdm_sql.EngineError)
    assert any("the partner may have published" in text for text in outcomes[who].notices)
    assert late.snapshot() == before
    with ppdm_sql.open(pair[1 - who].file) as db:
        db.release("both").drop()
    assert_both_end(run(*pair), whole)


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


def test_the_joining_side_that_does_not_hear_the_last_word_publishes_nothing(pair: tuple[Side, Side]) -> None:
    """And neither does the listening one, which has not heard it either."""
    before = tuple(side.snapshot() for side in pair)
    first, second = run(*pair, faults=((AT_THE_LAST_WORD, vanish), None))
    assert isinstance(first.error, Vanished)
    assert_explained(second, PeerError, r"^The line to the partner broke\.$")
    assert_untouched(before, *pair)  # type: ignore[arg-type]


def test_the_joining_side_that_breaks_off_at_its_last_word_leaves_the_other_unsure(
    pair: tuple[Side, Side],
) -> None:
    before = tuple(side.snapshot() for side in pair)
    first, second = run(*pair, faults=(None, (AT_THE_LAST_WORD, vanish)))
    assert isinstance(second.error, Vanished)
    assert_explained(first, PeerError, "at the last word: nothing is published here, but the partner may")
    assert_untouched(before, *pair)  # type: ignore[arg-type]


# -- what is said --------------------------------------------------------------------------------------------


def test_no_log_holds_a_cell_or_a_key(pair: tuple[Side, Side], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="ppdm_sql"):
        run(*pair, faults=(None, (9, raises(ProtocolError("No.", "Yes.", reason="digest")))))
    assert caplog.records
    assert not any(cell in caplog.text for cell in CELLS)
