"""What crossed the line: every message by number, round, direction, kind, size and digest, on both sides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import InvalidOption, NameTaken, UnknownRelease
from ppdm_sql.release.catalogue import find

TRANSCRIPTS = Table("transcripts", "ppdm")
WITHHELD = ("KEYS", "WIN")
"""Kinds that hold something of every record; a transcript keeps their size and digest only."""
Payload = bytes


class Entry(NamedTuple):
    """One message.

    Args:
        number: From 1, in the order of this side.
        round: Of the protocol.
        direction: ``sent`` or ``received``.
        kind: Of the message.
        bytes: Its size.
        digest: Its SHA-256, in hexadecimal digits.
        crossed_at: When, in UTC.
        payload: The message itself, where it is kept.
    """

    number: int
    round: int
    direction: str
    kind: str
    bytes: int
    digest: str
    crossed_at: datetime
    payload: Payload | None = None


def now() -> datetime:
    """Give the time, in UTC, as DuckDB stores it."""
    return datetime.now(UTC).replace(tzinfo=None)


def without_records(entry: Entry) -> Entry:
    """Give an entry as a transcript keeps it, without what it says of each record."""
    return entry._replace(payload=None) if entry.kind in WITHHELD else entry


def columns(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    """Turn entries into one list a column, for a statement that takes them all at once."""
    return {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}


def tables(engine: Engine) -> set[str]:
    """Name the tables of messages that the current database has: ``unfinished``, ``transcripts``."""
    found = engine.look_up(statements.text("two_party/kept_tables"), step="kept_tables")
    return {name for (name,) in found}


def record(engine: Engine, release: str, entries: Iterable[Entry]) -> None:
    """Store the transcript of a run beside its release, inside the caller's transaction."""
    run = {"release": release}
    kept = columns([without_records(entry) for entry in entries])
    for step, params in (("create", {}), ("forget", run), ("insert", run | kept)):
        query = statements.bind(f"two_party/{step}_messages", tables={"messages": TRANSCRIPTS})
        engine.write(query, params, step=f"{step}_transcripts")


def transcript(engine: Engine, release: str) -> list[Entry]:
    """List the messages of the run that made a release.

    Returns:
        One entry a message, in the order of this side. Messages that were sent again in a run that was
        resumed stand there once.

    Raises:
        UnknownRelease: There is no such release, or it was not made by two parties.

    Cost: one small query.
    """
    name = find(engine, release).release
    found = stored(engine, name)
    if not found:
        raise UnknownRelease(
            f"The release {name!r} was not made by two parties, so it has no transcript.",
            "Name one that ppdm integrate made; ppdm releases lists them.",
        )
    return found


def stored(engine: Engine, release: str) -> list[Entry]:
    """List the messages that are stored under the name of a release, if any."""
    if "transcripts" not in tables(engine):
        return []
    query = statements.text("two_party/transcript")
    return [Entry(*row) for row in engine.query(query, {"release": release}, step="transcript")]


@dataclass
class Log:
    """What has crossed in this run so far, and the file that follows it."""

    entries: list[Entry] = field(default_factory=list)
    file: IO[str] | None = None

    def add(self, entry: Entry) -> None:
        """Note a message."""
        self.entries.append(entry)

    def tell(self, entry: Entry) -> None:
        """Write a message that has just crossed into the file, if there is one, as a line of JSON."""
        if self.file is not None:
            row = entry._asdict() | {"crossed_at": entry.crossed_at.isoformat(" ", "milliseconds")}
            del row["payload"]
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()


def open_log(path: Path | str | None, *, resume: bool) -> Log:
    """Begin a log; a run that is resumed goes on in the same file.

    Raises:
        NameTaken: The file exists, and the run is a new one.
        InvalidOption: It cannot be written.
    """
    if path is None:
        return Log()
    try:
        return Log(file=open(path, "a" if resume else "x", encoding="utf-8"))
    except FileExistsError:
        raise NameTaken(f"{path} exists already.", "Give --transcript another file.") from None
    except OSError:
        raise InvalidOption(f"{path} cannot be written.", "Give --transcript another file.") from None
