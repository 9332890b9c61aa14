"""One run with a partner, from the open line to the release: begun or resumed, kept or forgotten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import EngineError, InvalidOption, PeerError, PpdmError, ProtocolError
from ppdm_sql.methods.two_party.failures import changed_here, changed_there, error_for, word_for
from ppdm_sql.methods.two_party.journal import Journal, chain
from ppdm_sql.methods.two_party.party import IntegrationRun
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.methods.two_party.stream import MessageStream
from ppdm_sql.methods.two_party.transcripts import Entry, Log, open_log, record, stored
from ppdm_sql.methods.two_party.transport import Opening, RecordedTransport
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release import Release, get, releases

Opened = Callable[[bytes], AbstractContextManager[tuple[MessageStream, bytes]]]
"""Opens the line, given this side's opening word; gives it with the partner's."""
UNCONFIRMED = (
    "The release is published here, but the partner has not confirmed that it is there; if its run broke "
    "off, run both again with --resume."
)
NOT_HERE = (
    "The release is not published here, but the partner may have published it; run both again with --resume, "
    "so that both have it."
)


@dataclass(frozen=True)
class Session:
    """One run."""

    engine: Engine
    table: str
    request: IntegrateRequest
    progress: Progress
    transcript: Path | str | None = None

    def run(self, opened: Opened, *, resume: bool) -> Release:
        """Run the protocol and publish the release, or finish a run that broke off."""
        self.engine.require_autocommit()
        if resume and self._published():
            return self._finish(opened)
        journal = Journal(self.engine, self.request.into)
        log = open_log(self.transcript, resume=resume)
        try:
            return self._exchange(opened, journal, log, resume=resume)
        finally:
            log.close()
            journal.close()

    def _published(self) -> bool:
        return any(row.release == self.request.into for row in releases(self.engine))

    def _exchange(self, opened: Opened, journal: Journal, log: Log, *, resume: bool) -> Release:
        """Check what can be checked alone, open the line and run."""
        kept = journal.kept()
        used = kept if resume else []
        link = RecordedTransport(journal, log, self._records(), used)

        def recorded() -> None:
            link.agree()
            record(self.engine, self.request.into, log.entries)

        run = IntegrationRun(self.engine, self.table, self.request, link, recorded, self.progress)
        if resume and not kept:
            self.progress.notice("Nothing is kept here of a run that broke off; the partner may have more.")
        with opened(_opening(used, resume=resume).encode()) as (line, answer):
            try:
                link.connect(line, _agreed(Opening.decode(answer), resume=resume))
            except BaseException as error:
                line.stop(word_for(error))
                raise
            if kept and not resume:
                journal.drop()
                self.progress.notice("The run that broke off is forgotten, as --resume is not given.")
            return self._publish(run, link, line, journal)

    def _records(self) -> int:
        count = bind("two_party/record_count", tables={"source": self.engine.find(self.table)})
        ((records,),) = self.engine.query(count, step="count records")
        return int(records)

    def _publish(
        self, run: IntegrationRun, link: RecordedTransport, line: MessageStream, journal: Journal
    ) -> Release:
        """Let the protocol run; on a fault tell the partner, and keep or forget the run."""
        try:
            release = run.publish()
        except BaseException as error:
            line.stop(word_for(error))
            if link.partner_published and _is_another_run(error):
                raise changed_here() from None
            unsure = link.agreed and not line.stopped
            if not _can_go_on(error) and not unsure:
                if link.partner_published:  # only what is kept here leads to the partner's release
                    self.progress.notice(NOT_HERE)
                else:
                    journal.drop()
                raise
            if link.reached:
                link.keep()
            if unsure and not isinstance(error, PeerError):
                self.progress.notice(NOT_HERE)
            elif link.reached and isinstance(error, KeyboardInterrupt):
                self.progress.notice(f"Run both again with --resume to go on after round {link.reached}.")
            raise _with_remedy(error, link.reached, unsure=unsure) from None
        journal.drop()
        if not line.farewell():
            warn(self.progress, UNCONFIRMED)
        return release

    def _finish(self, opened: Opened) -> Release:
        """Send the partner what it lacks of a run that has ended here."""
        entries = stored(self.engine, self.request.into)
        if not entries:
            raise InvalidOption(
                f"The release {self.request.into!r} was not made by two parties.",
                "Choose another name with --into.",
            )
        with opened(_opening(entries, resume=True, published=True).encode()) as (line, answer):
            try:
                for payload in _lacking(entries, _agreed(Opening.decode(answer), resume=True)):
                    line.put(payload)
                line.say_agreed()
                line.hear_agreed()
            except BaseException as error:
                line.stop(word_for(error))
                if _is_another_run(error):
                    raise changed_there(self.request.into) from None
                raise
            confirmed = line.farewell()
        Journal(self.engine, self.request.into).drop()
        self.progress.notice(
            f"The release {self.request.into!r} was published here before."
            + (" Now it is there too." if confirmed else f" {UNCONFIRMED}")
        )
        return get(self.engine, self.request.into)


def _opening(entries: list[Entry], *, resume: bool, published: bool = False) -> Opening:
    received = sum(entry.direction == "received" for entry in entries)
    return Opening(resume, received, chain(entries, "received"), published)


def _agreed(partner: Opening, *, resume: bool) -> Opening:
    """Make sure that both resume, or neither."""
    if partner.resume != resume:
        raise error_for("resume")
    return partner


def _lacking(entries: list[Entry], partner: Opening) -> list[bytes]:
    """Give the messages that the partner has not received; it must be in the same run."""
    sent = [entry for entry in entries if entry.direction == "sent"]
    known, missing = sent[: partner.received], sent[partner.received :]
    if chain(known, "sent") != partner.chain:
        raise error_for("journal")
    payloads = [entry.payload for entry in missing]
    if None in payloads:
        raise ProtocolError(
            "The release is published here, and too much of the run is forgotten to publish it there too.",
            "Drop it here with ppdm drop, and run both again without --resume.",
            reason="resume",
        )
    return [payload for payload in payloads if payload is not None]


def _is_another_run(error: BaseException) -> bool:
    return isinstance(error, ProtocolError) and error.reason == "journal"


def _can_go_on(error: BaseException) -> bool:
    """Tell whether a run that ended so may go on later."""
    if isinstance(error, ProtocolError):
        return error.reason in ("resume", "journal")
    return isinstance(error, (PeerError, EngineError)) or not isinstance(error, PpdmError)


def _with_remedy(error: BaseException, reached: int, *, unsure: bool) -> BaseException:
    """Say with what to go on, where the partner or the line ended the run."""
    if not reached or not isinstance(error, PeerError):
        return error
    if unsure:
        known = "nothing is published here, but the partner may have published the release."
        return PeerError(
            f"{error.problem[:-1]} at the last word: {known}",
            "Run both again with --resume, so that both have it.",
        )
    slower = " and a longer --timeout" if "--timeout" in error.remedy else ""
    again = f"Run both again with --resume{slower} to go on after round {reached}, or without to begin anew."
    return PeerError(error.problem, again)
