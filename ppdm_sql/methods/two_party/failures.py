"""What ended a run, as one word on the line and as two sentences on either side.

The word is out of a closed list, so that an error can tell the partner nothing else.
"""

from __future__ import annotations

from ppdm_sql.errors import PeerError, PpdmError, ProtocolError

AGAIN = "Run both again."
_VERSION = "Let both run the same version of ppdm-sql."
_SAME = "Let both name the same key, class, requirements and options, and agree on who owns which column."
_STOPPED: dict[str, tuple[str, str]] = {
    "interrupted": ("The partner interrupted the run.", AGAIN),
    "stalled": ("The partner waited too long for this side.", "Run both again with a longer --timeout."),
    "failed": ("The run failed on the partner's side, where a message says why.", AGAIN),
}
_REFUSED: dict[str, tuple[str, str]] = {
    "name": (
        "The partner expects a certificate for another name.",
        "Show the right one with --cert, or let the partner correct its --peer-name.",
    ),
    "version": ("The partner speaks another version of the protocol.", _VERSION),
    "parameters": ("The partner's parameters are others.", _SAME),
    "records": ("The partner refuses the records: they are not the same on both sides.", "Compare the keys."),
    "order": ("The partner's records are others, or in another order.", "Compare the keys of both tables."),
    "digest": ("The partner reached another state than this side.", "Begin anew, and report it."),
    "message": ("The partner refuses a message of this side.", _VERSION),
    "refused": ("The partner refuses what this side sent.", _VERSION),
}


def word_for(error: BaseException) -> str:
    """Give the word that tells the partner why this side ends the run.

    Example:
        >>> word_for(KeyboardInterrupt()), word_for(ProtocolError("No.", reason="digest"))
        ('interrupted', 'digest')
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, ProtocolError):
        return error.reason if error.reason in _REFUSED else "refused"
    return "stalled" if isinstance(error, Silent) else "failed"


def error_for(word: str) -> PpdmError:
    """Give the error that this side raises when the partner has ended the run with a word.

    Example:
        >>> error_for("interrupted").problem
        'The partner interrupted the run.'
    """
    if word in _STOPPED:
        return PeerError(*_STOPPED[word])
    known = word if word in _REFUSED else "refused"
    return ProtocolError(*_REFUSED[known], reason=known)


class Silent(PeerError):
    """A partner that says nothing for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The partner has said nothing for {seconds:g} seconds.",
            "See whether its run goes on; if it needs longer, run both again with a longer --timeout.",
        )


def lost() -> PeerError:
    """Give the error for a line that broke."""
    return PeerError("The line to the partner broke.", AGAIN)


def impossible(problem: str) -> ProtocolError:
    """Give the error for a message that is well formed, and says what cannot be."""
    remedy = "Start again on both sides; report this if it happens twice."
    return ProtocolError(problem, remedy, reason="message")


def garbage(what: str) -> ProtocolError:
    """Give the error for something that cannot be a message of this protocol."""
    return ProtocolError(
        f"The partner sent {what}.", f"{_VERSION[:-1]}, and check who is there.", reason="message"
    )
