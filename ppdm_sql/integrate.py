"""TDS2P: one of two parties that integrate their tables into one release, without showing them to each other.

Source: Wang, Fung, Dong 2005, "Integrating Private Databases for Data Analysis", ISI.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from ppdm_sql.database import Database
from ppdm_sql.engine.names import table_name
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.two_party.certificates import Credentials, keygen
from ppdm_sql.methods.two_party.connection import Address, Line, connect_to, listen_on
from ppdm_sql.methods.two_party.messages import Checked, Entry, check_files, transcript
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.options import Integrate, asks
from ppdm_sql.options.option import PathLike
from ppdm_sql.progress import SilentProgress, WarningProgress
from ppdm_sql.release import Release
from ppdm_sql.sources import given

__all__ = ["Checked", "Credentials", "Entry", "Party", "check", "keygen", "transcript_of"]
LONGEST = 2_000_000
"""Seconds that a socket can wait: it counts milliseconds in 32 bits."""
TIMEOUT = 120.0
"""Seconds that a partner may take for a message."""


class Party:
    """One of two parties; each has its own file, and its own columns of the same people.

    Both give the same requirements, class and options, and each the columns that it owns. Each table has one
    row a person: the key, the class, which a classifier is to predict, and the own columns. A secret has at
    least 16 bytes, and a score 2 to 16 bits. Persons are never counted by a column: ``person`` is refused.

    Example:
        >>> import duckdb, ppdm_sql
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE ta (ssn INTEGER, sex VARCHAR, c BOOLEAN)")
        >>> party = Party(ppdm_sql.open(con), "ta", ["k >= 2 on sex, job"], class_column="c",
        ...               key=["ssn"], owns=["sex"], into="both")
        >>> party.table
        'ta'
    """

    @asks(Integrate)
    def __init__(self, asked: Integrate) -> None:
        """Say what this side asks.

        Raises:
            InvalidOption: An option cannot be used.
        """
        self.database: Database = asked.database
        self.table, self.types, self.nulls = table_name(asked.table), asked.types, asked.nulls
        self._progress = asked.progress or WarningProgress()
        self._listens = (asked.progress or SilentProgress()).notice
        self._request = asked.of(IntegrateRequest)

    def serve(
        self,
        listen: str,
        credentials: Credentials,
        peer_name: str,
        *,
        timeout: float = TIMEOUT,
        wait: float | None = None,
        transcript: PathLike | None = None,
    ) -> Release:
        """Wait for the partner, run the protocol with it, and publish the release in both files.

        Args:
            listen: ``HOST:PORT``; port 0 takes a free one, which the progress is told.
            credentials: What this side shows and believes.
            peer_name: The name that the partner's certificate must have.
            timeout: Seconds that the partner may take for a message.
            wait: Seconds to wait for the partner to join; None for as long as it takes.
            transcript: A file to write every message's number, kind, size and digest to, as it crosses.

        Returns:
            The release, which the partner has too, with equal rows.

        Raises:
            PeerError: The partner did not come, has gone, is silent, or has stopped the run.
            ProtocolError: The partner's parameters, records or messages are refused, or it refuses this
                side's.
            PpdmError: The table or an option cannot be used.
            Nothing is published on any error.

        Cost: as :meth:`ppdm_sql.Database.generalize` on both sides at once, and for each step a message with
        one number, mostly one byte, for each record of the specialized value.
        Source: Wang, Fung, Dong 2005, slide 12.
        """
        place = Address.parse("--listen", listen)
        connect = partial(
            listen_on,
            place,
            credentials,
            peer_name,
            timeout=_positive("--timeout", timeout),
            wait=None if wait is None else _positive("--wait", wait),
            listens=self._listens,
            notice=self._progress.notice,
        )
        return self._run(connect, transcript)

    def join(
        self,
        peer: str,
        credentials: Credentials,
        peer_name: str,
        *,
        timeout: float = TIMEOUT,
        transcript: PathLike | None = None,
    ) -> Release:
        """Call the partner, run the protocol with it, and publish the release in both files.

        Args:
            peer: ``HOST:PORT`` where the partner listens, or soon will.
            credentials: What this side shows and believes.
            peer_name: The name that the partner's certificate must have.
            timeout: Seconds that the partner may take to listen, and for a message.
            transcript: A file to write every message's number, kind, size and digest to, as it crosses.

        Returns:
            The release, which the partner has too, with equal rows.

        Raises:
            PeerError: The partner cannot be reached, has gone, is silent, or has stopped the run.
            ProtocolError: The partner's certificate, parameters, records or messages are refused, or it
                refuses this side's.
            PpdmError: The table or an option cannot be used.
            Nothing is published on any error.

        Cost: that of :meth:`serve`.
        """
        place = Address.parse("--peer", peer)
        connect = partial(connect_to, place, credentials, peer_name, timeout=_positive("--timeout", timeout))
        return self._run(connect, transcript)

    def _run(
        self, connect: Callable[[], AbstractContextManager[Line]], transcript: PathLike | None
    ) -> Release:
        from ppdm_sql.methods.two_party.party import integrate

        file = None if transcript is None else Path(transcript)
        engine = self.database.engine
        with given(engine, self.table, self.types, self.nulls, progress=self._progress) as table:
            return integrate(engine, table, self._request, connect, self._progress, file)


def transcript_of(release: Release | str, database: Database) -> list[Entry]:
    """List the messages of the run that made a release."""
    return transcript(database.engine, release.name if isinstance(release, Release) else release)


def check(release: str, mine: Database, other: Database, other_release: str | None = None) -> Checked:
    """Prove from the transcripts of both files what crossed the line."""
    return check_files(mine.engine, release, other.engine, other_release or release)


def _positive(option: str, seconds: float) -> float:
    if not 0 < seconds <= LONGEST:
        raise InvalidOption(
            f"{seconds} seconds are not a time limit.",
            f"Give {option} a number above 0, at most {LONGEST:,}.",
        )
    return seconds
