"""What crossed the line between two parties, from the transcript; for the owner."""

from __future__ import annotations

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import text
from ppdm_sql.release.catalogue import parts
from ppdm_sql.report.page import Block, Chapter, Numbers
from ppdm_sql.report.words import Cell, count

KINDS = {
    "HELLO": "versions, requirements, options, who owns which column",
    "KEYS": "which records both sides have",
    "SCORE": "the best candidate of a side",
    "WIN": "the specialization that is performed, and the side of each record",
    "DIGEST": "digests of the states, to be compared",
    "LABELS": "the labels of the release",
}
"""What each kind of message is about."""


def crossed(engine: Engine, release: str) -> Chapter:
    """Sum up the messages of a run by their kind and direction."""
    rows: list[list[Cell]] = []
    if "transcripts" in parts(engine):
        found = engine.query(text("report/messages"), {"release": release}, step="messages")
        rows = [
            [kind, KINDS.get(kind, ""), direction, count(messages), count(size), count(first), count(last)]
            for kind, direction, messages, size, first, last in found
        ]
    named = ["message", "about", "direction", "messages", "bytes", "first round", "last round"]
    said = (
        "Every message of the protocol is in the transcript beside the release; "
        "ppdm integrate transcript lists them one by one."
    )
    block = Block(sentences=[said], tables=[Numbers(named, rows)]) if rows else Block()
    return Chapter("crossed", "What crossed the line", [block])
