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
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sides import (
    AT_THE_LAST_WORD,
    CELLS,
    HOST,
    REQUIRE,
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
from ppdm_sql.methods.two_party.messages import Message, decode, encode
from ppdm_sql.methods.two_party.transcripts import Link

MESSAGES = 30
"""That the joining side sends in a run that nothing disturbs."""


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


def refused(
    pair: tuple[Side, Side],
    kinds: tuple[type[PpdmError], type[PpdmError]],
    problems: tuple[str, str],
    **options: Any,
) -> tuple[Outcome, Outcome]:
    """Run both and see both fail, with both files as they were."""
    before = tuple(side.snapshot() for side in pair)
    outcomes = run(*pair, **options)
    for outcome, kind, problem in zip(outcomes, kinds, problems, strict=True):
        assert_explained(outcome, kind, problem)
    assert_untouched(before, *pair)  # type: ignore[arg-type]
    return outcomes


# -- a run that nothing disturbs ----------------------------------------------------------------------


def test_both_files_end_with_the_release_that_one_party_would_make(
    pair: tuple[Side, Side], whole: Whole, tmp_path: Path
) -> None:
    assert_both_end(run(*pair), whole)
    a, b = pair
    joined = "CREATE TABLE people AS SELECT Sex, Job, Salary, Class FROM a.ta JOIN b.tb USING (SSN, Class)"
    with ppdm_sql.open(":memory:") as db:
        for side in pair:
            db.engine.connection.execute(f"ATTACH '{side.file}' AS {side.file.stem} (READ_ONLY)")
        db.engine.connection.execute(joined)
        alone = db.generalize(
            "people",
            REQUIRE,
            class_column="Class",
            taxonomies=b.options["taxonomies"],
            ranges=b.options["ranges"],
            into="alone",
            score="paper",
        )
        assert sorted(alone.relation().fetchall()) == sorted(whole.rows)
        assert len(alone.steps()) == whole.steps


def test_what_one_side_sent_is_what_the_other_received(pair: tuple[Side, Side]) -> None:
    run(*pair)
    told = []
    for side in pair:
        with ppdm_sql.open(side.file, read_only=True) as db:
            told.append(ppdm_sql.integrate.transcript_of("both", db))
    for mine, theirs in (told, told[::-1]):
        sent, received = (
            [entry[1:2] + entry[3:6] for entry in entries if entry.direction == direction]
            for entries, direction in ((mine, "sent"), (theirs, "received"))
        )
        assert sent == received
        assert [entry.number for entry in mine] == list(range(1, len(mine) + 1))
    assert all((entry.payload is None) == (entry.kind == "WIN") for entry in told[0])


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


@pytest.mark.skipif(os.name != "posix", reason="stops a process by signal")
@pytest.mark.parametrize("stopped", ["serve", "join"])
def test_a_process_that_stands_still_does_not_hold_the_other(
    pair: tuple[Side, Side], stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDE_TIMEOUT", "4")
    deeds = {stopped: (9, "stop")}
    with _both(pair, deeds) as found:
        still = found.pop(stopped)
        (other,) = found.values()
        _read_until(still, "stopped")
        began = time.monotonic()
        printed, _ = other.communicate(timeout=30)
        assert time.monotonic() - began < 15
        assert "The partner has said nothing for 4 seconds." in printed
        still.send_signal(signal.SIGCONT)
        printed, _ = still.communicate(timeout=30)
        assert "error" in printed


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


def test_other_requirements_are_refused_by_both(pair: tuple[Side, Side]) -> None:
    a, b = pair
    other = replace(b, options=b.options | {"require": ["k >= 5 on Sex, Job", REQUIRE[1]]})
    refused((a, other), (ProtocolError,) * 2, ("requirements",) * 2)


@pytest.mark.parametrize("option", [{"max_steps": 3}, {"score_bits": 8}, {"symbol": "?"}])
def test_other_options_are_refused_by_both(pair: tuple[Side, Side], option: dict[str, Any]) -> None:
    a, b = pair
    refused((a, replace(b, options=b.options | option)), (ProtocolError,) * 2, ("settings",) * 2)


def test_a_column_that_both_own_is_refused_by_both(pair: tuple[Side, Side]) -> None:
    a, b = pair
    edit(a, "ALTER TABLE ta ADD COLUMN Job VARCHAR")
    other = replace(a, options={"owns": ["Sex", "Job"]})
    refused((other, b), (ProtocolError,) * 2, ("Both parties own column 'Job'",) * 2)


def test_another_version_is_refused_by_both(pair: tuple[Side, Side]) -> None:
    faults = (None, (1, rewritten(version=99)))
    refused(pair, (ProtocolError,) * 2, ("version 99 of the protocol", "another version"), faults=faults)


def test_another_version_of_the_line_is_refused(pair: tuple[Side, Side], whole: Whole) -> None:
    """A partner with the right certificate that is of another time."""
    with waiting(pair) as (port, ended):
        with called(pair[1].credentials(), port, "ppdm-integrate/9") as caller:
            assert b"".join(iter(lambda: caller.recv(100), b"")) == HEAD.pack(STOP, 7) + b"version"
        assert any("speaks another version" in text for text in ended.notices)  # type: ignore[attr-defined]
        assert_joins(pair, port, ended, whole)


def test_records_that_differ_are_refused_with_counts_by_both(pair: tuple[Side, Side]) -> None:
    edit(pair[1], "DELETE FROM tb WHERE SSN = 'person-7'")
    outcomes = refused(pair, (ProtocolError,) * 2, ("34 records.* 33", "33 records.* 34"))
    assert not any("person" in outcome.text for outcome in outcomes)


@pytest.mark.parametrize("value", ["NULL", "'person-3'"], ids=["no key", "a key twice"])
def test_keys_that_name_nobody_or_two_are_refused_with_counts(pair: tuple[Side, Side], value: str) -> None:
    edit(pair[1], f"UPDATE tb SET SSN = {value} WHERE SSN = 'person-7'")
    before = tuple(side.snapshot() for side in pair)
    first, second = run(*pair)
    assert isinstance(second.error, PpdmError)
    assert re.search(r"\d", second.error.problem)
    assert_explained(first, PeerError, "The run failed on the partner's side")
    assert not any("person" in outcome.text for outcome in (first, second))
    assert_untouched(before, *pair)  # type: ignore[arg-type]


def test_a_record_order_that_differs_is_refused_by_both(pair: tuple[Side, Side]) -> None:
    faults = (None, (1, rewritten(order="0" * 64)))
    refused(pair, (ProtocolError,) * 2, ("34 records", "not the same|differ|others"), faults=faults)


def test_a_class_that_differs_is_refused_by_both(pair: tuple[Side, Side]) -> None:
    edit(pair[1], "UPDATE tb SET Class = if(Class = 'Y', 'N', 'Y') WHERE SSN = 'person-7'")
    refused(pair, (ProtocolError,) * 2, ("The class or a sensitive column is not the same",) * 2)


@pytest.mark.parametrize("at", [2, 5, MESSAGES])
def test_a_digest_that_differs_is_refused_by_both(pair: tuple[Side, Side], at: int) -> None:
    """Before the first step, after one, and of the release itself."""
    faults = (None, (at, rewritten(leaves="0" * 64)))
    refused(pair, (ProtocolError,) * 2, ("other|state|leaves|sizes", "state"), faults=faults)


def rewritten(**fields: Any) -> Any:
    """Send the message with other fields."""

    def fault(_: Any, payload: bytes) -> bytes:
        message = decode(payload)
        assert set(fields) <= set(message.fields), f"the message is a {message.kind}"
        return encode(replace(message, fields={**message.fields, **fields}))

    return fault


def edit(side: Side, sql: str) -> None:
    with ppdm_sql.open(side.file) as db:
        db.engine.connection.execute(sql)


# -- garbage ---------------------------------------------------------------------------------------------

SCORE = encode(
    Message("SCORE", 1, {"candidate": True, "stop": False, "score": 1.0, "level": None, "attribute": 1})
)
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
    "the wrong kind": b'["DIGEST",1,"{\\"leaves\\":\\"' + b"0" * 64 + b'\\"}",""]\n',
    "half a character": SCORE.replace(b"1.0", b'\\"\\\\ud800\\"'),
    "no UTF-8": b'["SCORE",1,"\xff",""]\n',
    "deep nesting": b"[" * 60_000,
    "too much": b" " * (64 * 1024 + 1),
    "far too much": b"x" * (3 * 1024 * 1024),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_is_refused_by_both(pair: tuple[Side, Side], what: str) -> None:
    """In the place of the first score."""
    faults = (None, (3, sends(GARBAGE[what])))
    problems = ("The partner sent ", "The partner refuses (a message of|what) this side")
    refused(pair, (ProtocolError,) * 2, problems, faults=faults)


@pytest.mark.parametrize(
    "bad", ["a child too many", "too few numbers", "a number that is no child", "a wrong type"]
)
def test_an_instruction_that_cannot_be_is_refused_by_both(pair: tuple[Side, Side], bad: str) -> None:
    def changed(_: Any, payload: bytes) -> bytes:
        message = decode(payload)
        assert message.kind == "WIN"
        assert message.column is not None
        numbers = message.column.tolist()
        if bad == "a child too many":
            return encode(replace(message, fields={**message.fields, "children": 9}))
        if bad == "too few numbers":
            return encode(replace(message, column=np.array(numbers[1:], "u1")))
        if bad == "a number that is no child":
            return encode(replace(message, column=np.array([200, *numbers[1:]], "u1")))
        return encode(replace(message, column=np.array(numbers, "u4")))

    before = tuple(side.snapshot() for side in pair)
    first, second = run(*pair, faults=(None, (4, changed)))
    if bad in (
        "a child too many",
        "a wrong type",
    ):  # may be taken: a child that no record has, a wider number
        assert first.error is None or isinstance(first.error, ProtocolError), first.text
        return
    assert_explained(first, ProtocolError, ".")
    assert_explained(second, ProtocolError, "The partner refuses|state")
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


def _expired(folder: Path, keys: Path) -> Credentials:
    """A certificate of an authority, which both believe, that was valid until yesterday."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    now = datetime.datetime.now(datetime.UTC)
    root_key = ec.generate_private_key(ec.SECP256R1())
    root = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority")])
    for name, days, key in (("authority", 5, root_key), ("bank-a", 5, None), ("bank-b", -1, None)):
        own = key or ec.generate_private_key(ec.SECP256R1())
        subject = root if key else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(root)
            .public_key(own.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=9))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(key is not None, None), True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        )
        certificate = builder.sign(root_key, hashes.SHA256())
        (folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        text = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / f"{name}.key").write_bytes(text)
    texts = [(folder / name).read_bytes() for name in ("bank-b.pem", "bank-b.key", "authority.pem")]
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
    expired = _expired(folder, pair[0].keys)
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


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    heavy = ("cryptography", "pyarrow")
    listed = "import sys, ppdm_sql, ppdm_sql.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    printed = subprocess.run(
        [sys.executable, "-c", listed], capture_output=True, text=True, check=True
    ).stdout
    assert "ppdm_sql" in printed.split()
    assert not set(heavy) & set(printed.split())


def test_the_last_digest_is_the_last_message(whole: Whole) -> None:
    assert whole.sent[1] == MESSAGES
