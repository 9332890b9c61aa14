"""Checks the transcripts of both parties against each other: what crossed, and what it could tell.

Only payloads that name nothing of single records are kept, and those are read again, strictly. Of the others
(WIN, KEYS) the size is known, and the digest, which must be the same on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from sqlglot import exp

from ppdm_sql.audit.model import Titled
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import column
from ppdm_sql.engine.statements import render
from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.two_party.messages import KINDS, Message, decode
from ppdm_sql.methods.two_party.release_digest import release_digest
from ppdm_sql.methods.two_party.transcripts import WITHHELD, Entry, transcript
from ppdm_sql.release import get

HEAD, WIDEST = 256, 4
"""Bytes of a WIN beside its numbers, and of the widest number, of which there is one a record."""
Labels = Mapping[str, Collection[str | None]]
Disclosure = tuple[str, Any]


@dataclass(frozen=True)
class Rule:
    """Something that must be true of two transcripts.

    Args:
        rule: What it is.
        holds: Whether it is so.
    """

    rule: str
    holds: bool


@dataclass(frozen=True)
class Checked:
    """What a check found.

    Args:
        rules: What must be true.
        told: What even an honest run has told the partner, each with how much of it.
    """

    rules: tuple[Rule, ...]
    told: tuple[Disclosure, ...]

    @property
    def holds(self) -> bool:
        """Whether everything is as it must be."""
        return all(rule.holds for rule in self.rules)

    @property
    def faults(self) -> list[str]:
        """The rules that were broken."""
        return [rule.rule for rule in self.rules if not rule.holds]

    def tables(self) -> list[Titled]:
        """Give title, column names and rows of the tables to print."""
        rules: list[tuple[Any, ...]] = [(rule.rule, rule.holds) for rule in self.rules]
        told: list[tuple[Any, ...]] = list(self.told)
        return [("Transcripts", ("check", "holds"), rules), ("Told", ("what", "found"), told)]


def check(mine: Sequence[Entry], theirs: Sequence[Entry], shown: Labels) -> Checked:
    """Check two transcripts of one run."""
    whole = [_read(entry) for entry in (*mine, *theirs)]
    readable = all(message is not None or entry.kind in WITHHELD for entry, message in whole)
    sides = [_sent(mine), _sent(theirs)]
    messages = [[message for message in map(_message, side) if message is not None] for side in sides]
    records = max((cast(int, m.fields["records"]) for m in _of(messages, "HELLO")), default=0)
    wins = (entry for side in sides for entry in side if entry.kind == "WIN")
    rules = (
        Rule("only kinds that are allowed crossed", all(e.kind in KINDS for e in (*mine, *theirs))),
        Rule("what one side sent is what the other received", _mirrored(mine, theirs)),
        Rule("each message kept is what its digest says", all(map(_is_whole, (*mine, *theirs)))),
        Rule("each message kept can be read, and holds nothing but its fields", readable),
        Rule("they came in the order of the protocol", _in_order(*sides)),
        Rule(
            "a WIN held at most one number a record",
            all(win.bytes <= HEAD + WIDEST * records for win in wins),
        ),
        Rule("nothing was named but labels that the release shows", _named(_of(messages, "LABELS"), shown)),
    )
    return Checked(rules, tuple(_disclosures(sides, messages, list(shown))))


def check_files(engine: Engine, name: str, other_engine: Engine, other_name: str) -> Checked:
    """Check the transcripts in the files of both parties, and that both hold the same release.

    Raises:
        UnknownRelease: A file has no such release, or it was not made by two parties.

    Cost: a scan of both releases for each masked column.
    """
    pairs = ((engine, name), (other_engine, other_name))
    mine, theirs = (transcript(*pair) for pair in pairs)
    checked = check(mine, theirs, _shown(engine, name))
    agreed = {_last_digest(mine), _last_digest(theirs), *(_release_digest(*pair) for pair in pairs)}
    same = Rule("both files hold the release on which the parties agreed", len(agreed) == 1)
    return Checked((*checked.rules, same), checked.told)


# -- reading --------------------------------------------------------------------------------------


def _read(entry: Entry) -> tuple[Entry, Message | None]:
    return entry, _message(entry)


def _message(entry: Entry) -> Message | None:
    """Read what is kept of a message; None where it is nothing, or not what the transcript says."""
    if entry.payload is None:
        return None
    try:
        message = decode(entry.payload)
    except ProtocolError:
        return None
    return message if (message.kind, message.round) == (entry.kind, entry.round) else None


def _of(messages: Sequence[Sequence[Message]], kind: str) -> list[Message]:
    return [message for side in messages for message in side if message.kind == kind]


def _sent(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.direction == "sent"]


# -- the rules ------------------------------------------------------------------------------------


def _mirrored(mine: Sequence[Entry], theirs: Sequence[Entry]) -> bool:
    def crossed(entries: Sequence[Entry], direction: str) -> list[tuple[Any, ...]]:
        return [(e.round, e.kind, e.bytes, e.digest) for e in entries if e.direction == direction]

    pairs = (("sent", "received"), ("received", "sent"))
    return all(crossed(mine, one) == crossed(theirs, other) for one, other in pairs)


def _is_whole(entry: Entry) -> bool:
    if entry.payload is None:
        return entry.kind in WITHHELD
    return (sha256(entry.payload).hexdigest(), len(entry.payload)) == (entry.digest, entry.bytes)


def _in_order(one: Sequence[Entry], other: Sequence[Entry]) -> bool:
    """Tell whether each side sent what the protocol asks of it, and one side a WIN in each round."""
    wins = [{entry.round for entry in side if entry.kind == "WIN"} for side in (one, other)]
    steps = max((entry.round for entry in (*one, *other)), default=1) - 1
    if wins[0] & wins[1] or wins[0] | wins[1] != set(range(1, steps + 1)):
        return False
    keys = any(entry.kind == "KEYS" for entry in one)
    return all(
        [(entry.kind, entry.round) for entry in side] == list(_expected(steps, won, keys=keys))
        for side, won in zip((one, other), wins, strict=True)
    )


def _expected(steps: int, won: Collection[int], *, keys: bool) -> Iterator[tuple[str, int]]:
    yield "HELLO", 0
    if keys:
        yield from (("KEYS", 0), ("HELLO", 0))
    yield "DIGEST", 0
    for number in range(1, steps + 1):
        yield "SCORE", number
        if number in won:
            yield "WIN", number
        yield "DIGEST", number
    yield from ((kind, steps + 1) for kind in ("SCORE", "LABELS", "DIGEST"))


def _named(labels: Sequence[Message], shown: Labels) -> bool:
    """Tell whether every label named is one that its column shows."""
    names = list(shown)
    for message in labels:
        fields = cast(Mapping[str, list[Any]], message.fields)
        for attribute, label in zip(fields["attribute"], fields["label"], strict=True):
            if attribute >= len(names) or label not in shown[names[attribute]]:
                return False
    return True


# -- what an honest run discloses ------------------------------------------------------------------


def _disclosures(
    sides: Sequence[Sequence[Entry]], messages: Sequence[Sequence[Message]], attributes: Sequence[str]
) -> Iterator[Disclosure]:
    """List what each side learns of the other beside the release."""
    for who, side, sent in zip(("this side", "the other side"), sides, messages, strict=True):
        wins = {entry.round for entry in side if entry.kind == "WIN"}
        scores = [message for message in sent if message.kind == "SCORE"]
        offers = [message for message in scores if message.fields["candidate"]]
        lost = [message for message in offers if message.round not in wins]
        ran_out = [message.round for message in scores if not message.fields["candidate"]]
        records = [message.fields["records"] for message in sent if message.kind == "HELLO"]
        yield f"{who}: records", records[-1] if records else None
        yield f"{who}: specializations, in their order", len(wins)
        yield f"{who}: scores of candidates that lost their round", len(lost)
        levels = sum(message.fields["level"] is not None for message in offers)
        yield f"{who}: scores told as a level of few bits, not in full", levels
        offered = Counter(attributes[cast(int, message.fields["attribute"])] for message in lost)
        yield f"{who}: columns of the candidates that lost", ", ".join(sorted(offered)) or "none"
        yield f"{who}: first round without a candidate", min(ran_out, default=None)
        yield f"{who}: bytes sent", sum(entry.bytes for entry in side)


# -- the release ----------------------------------------------------------------------------------


def _shown(engine: Engine, name: str) -> dict[str, set[str | None]]:
    """List the labels that a release shows, by masked column, in the order of the attributes."""
    release = get(engine, name)
    row = release.row()
    rows = row.shape(engine.current()[0]).rows()
    found: dict[str, set[str | None]] = {}
    for masked in row.parameters["masking"]:
        label = exp.cast(column(masked, "r"), "TEXT")
        query = exp.select(label).distinct().from_(rows.copy().subquery("r"))
        found[masked] = {cell for (cell,) in engine.query(render(query), step="labels shown")}
    return found


def _last_digest(entries: Sequence[Entry]) -> object:
    digests = [message for entry in _sent(entries) if entry.kind == "DIGEST" and (message := _message(entry))]
    return digests[-1].fields["leaves"] if digests else None


def _release_digest(engine: Engine, name: str) -> str:
    row = get(engine, name).row()
    return release_digest(engine, row.shape(engine.current()[0]).rows(), row.stopped)
