"""A partner with the right certificate cannot fill the other's memory."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sides import (
    HOST,
    Side,
    credentials,
    make_keys,
    peak,
    sides,
    spawn,
)

from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.two_party.certificates import context
from ppdm_sql.methods.two_party.connection import HEAD, MESSAGE
from ppdm_sql.methods.two_party.messages import Message, encode
from ppdm_sql.methods.two_party.records import FEW_KEYS, check_narrowing

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


def _frame(payload: bytes) -> bytes:
    return HEAD.pack(MESSAGE, len(payload)) + payload


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
    "a message of 400 MB": lambda: HEAD.pack(MESSAGE, 400_000_000),
    "a message of many lists": lambda: _frame(b'["HELLO",0,"' + b"[]," * 20_000 + b'",""]\n'),
    "records beyond all": lambda: _frame(_hello(2**52)),
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
    """Begin, and go on as long as anything is taken."""
    with socket.create_connection((HOST, port), timeout=30) as plain:
        found = context(credentials(side.keys, side.name), listens=False)
        caller = found.wrap_socket(plain, server_hostname=side.partner)
        with contextlib.suppress(OSError), caller:
            caller.sendall(begins)
            for _ in range(600):
                caller.sendall(bytes(MEGABYTE))


def test_more_records_than_can_be_compared_are_refused_before_keys_are_sent() -> None:
    mine = {"match": "plain", "intersect": True, "records": 34}
    with pytest.raises(ProtocolError, match=f"the partner holds {FEW_KEYS + 1}, of which"):
        check_narrowing(mine, mine | {"records": FEW_KEYS + 1})
    check_narrowing(mine, mine | {"records": FEW_KEYS})
