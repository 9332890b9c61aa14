"""TDS2P: one of two parties that integrate their tables into one release, without showing them to each other.

Source: Wang, Fung, Dong 2005, "Integrating Private Databases for Data Analysis", ISI.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from ppdm_sql.database import Database
from ppdm_sql.engine.names import table_name
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.two_party.certificates import Credentials, keygen
from ppdm_sql.methods.two_party.connection import Address, Line, connect_to, listen_on
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.methods.two_party.transcripts import Checked, Entry, check_files, transcript
from ppdm_sql.privacy import Requirement
from ppdm_sql.progress import Progress, SilentProgress, WarningProgress
from ppdm_sql.release import Release
from ppdm_sql.sources import given
from ppdm_sql.taxonomy.model import Taxonomy

__all__ = ["Checked", "Credentials", "Entry", "Party", "check", "keygen", "transcript_of"]
LONGEST = 2_000_000
"""Seconds that a socket can wait: it counts milliseconds in 32 bits."""
TIMEOUT = 120.0
"""Seconds that a partner may take for a message."""

PathLike = str | os.PathLike[str]


class Party:
    """One of two parties; each has its own file, and its own columns of the same people.

    Both give the same requirements, class and options, and each the columns that it owns.

    Args:
        database: The party's database, opened to write.
        table: Its table, view or file: the key, the class, and the columns of ``owns``; one row a person.
        require: What must hold on the integrated release, about the columns of both.
        class_column: The column that a classifier is to predict; both tables have it, with the same values.
        key: Columns that name a person in both tables; they are not released.
        owns: Columns of this table that the release may show, masked.
        into: Name of the release in this file.
        taxonomies: A taxonomy for some of the own columns, as for :meth:`ppdm_sql.Database.generalize`.
        ranges: Bounds for own columns that are shown in grown intervals; the upper one is outside.
        suppress: Own columns to suppress, not to grow.
        symbol: What stands for a suppressed value.
        match: ``plain``, or ``hashed``, where keys are compared by keyed hashes.
        secret: For ``hashed``: what both parties hold and nobody else, at least 16 bytes.
        intersect: Whether to take the common records if the tables have others too; both must say so.
        score_bits: Bits to which scores are rounded before they are told, 2 to 16; None for all.
        boundary: ``valid`` or ``best``, as for :meth:`ppdm_sql.Database.generalize`; the same on both sides.
        max_steps: Stop after this many steps, at least 0.
        show_values: List own values that a taxonomy lacks in the error that says how many there are.
        allow_absent: Whether a template may protect values that its column does not hold; both say so.
        person: Always refused: a key stands for one record on each side.
        types: Types of columns of this side's file or table, by their names, such as ``{"ssn": "VARCHAR"}``.
        nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
        progress: Told what the run is doing.

    Example:
        >>> import duckdb, ppdm_sql
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE ta (ssn INTEGER, sex VARCHAR, c BOOLEAN)")
        >>> party = Party(ppdm_sql.open(con), "ta", ["k >= 2 on sex, job"], class_column="c",
        ...               key=["ssn"], owns=["sex"], into="both")
        >>> party.table
        'ta'
    """

    def __init__(
        self,
        database: Database,
        table: str,
        require: Sequence[str | Requirement],
        *,
        class_column: str,
        key: str | Sequence[str],
        owns: Sequence[str],
        into: str,
        taxonomies: Mapping[str, Taxonomy | Mapping[str, object] | str | Path] | None = None,
        ranges: Mapping[str, tuple[object, object]] | None = None,
        suppress: Sequence[str] = (),
        symbol: str = "*",
        match: str = "plain",
        secret: bytes | None = None,
        intersect: bool = False,
        score_bits: int | None = None,
        boundary: str = "valid",
        max_steps: int | None = None,
        show_values: bool = False,
        allow_absent: bool = False,
        person: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        progress: Progress | None = None,
    ) -> None:
        self.database, self.table, self.types = database, table_name(table), types
        self.nulls = nulls
        self._progress = progress or WarningProgress()
        self._listens = (progress or SilentProgress()).notice
        self._request = IntegrateRequest(
            require=require,
            class_column=class_column,
            key=key,
            owns=owns,
            into=into,
            taxonomies=taxonomies,
            ranges=ranges,
            suppress=suppress,
            symbol=symbol,
            match=match,
            secret=secret,
            intersect=intersect,
            score_bits=score_bits,
            boundary=boundary,
            max_steps=max_steps,
            show_values=show_values,
            allow_absent=allow_absent,
            person=person,
        )

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
        opened = partial(
            listen_on,
            place,
            credentials,
            peer_name,
            timeout=_positive("--timeout", timeout),
            wait=None if wait is None else _positive("--wait", wait),
            listens=self._listens,
            notice=self._progress.notice,
        )
        return self._run(opened, transcript)

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
        opened = partial(connect_to, place, credentials, peer_name, timeout=_positive("--timeout", timeout))
        return self._run(opened, transcript)

    def _run(
        self, opened: Callable[[], AbstractContextManager[Line]], transcript: PathLike | None
    ) -> Release:
        from ppdm_sql.methods.two_party.party import integrate

        file = None if transcript is None else Path(transcript)
        engine = self.database.engine
        with given(engine, self.table, self.types, self.nulls, progress=self._progress) as table:
            return integrate(engine, table, self._request, opened, self._progress, file)


def transcript_of(release: Release | str, database: Database) -> list[Entry]:
    """List the messages of the run that made a release."""
    return transcript(database.engine, release.name if isinstance(release, Release) else release)


def check(release: str, mine: Database, other: Database, other_release: str | None = None) -> Checked:
    """Prove from the transcripts of both files what crossed the line."""
    return check_files(mine.engine, release, other.engine, other_release or release)


def _positive(option: str, seconds: float) -> float:
    if not 0 < seconds <= LONGEST:
        raise InvalidOption(
            f"{seconds} seconds are no time limit.", f"Give {option} a number above 0, at most {LONGEST:,}."
        )
    return seconds
