"""The audit macros: files ``sql/macros/*.sql``, with a contract, an example and a sentence on top.

What several of them do is a piece, ``sql/pieces/*.sql``, which is a macro itself and is called by them there.
Installed macros call no other: the query of a piece is written in the place of its call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import literal, render, text
from ppdm_sql.privacy.models import models
from ppdm_sql.version import __version__

GENERAL = ("risk", "identifiable", "separation", "minimal_uniques", "version")
"""The macros that belong to no privacy model, without the prefix ``ppdm_``; models bring theirs."""

PIECES = ("compared_classes", "counted_cells", "counted_classes", "checked_rows")
"""The pieces; each calls only those behind it."""

_PIECE = re.compile(r"MACRO \w+\((?P<parameters>[^)]*)\) AS TABLE\n(?P<query>.*);\n", re.DOTALL)
_HEAD = re.compile(
    r"-- (?P<step>\w+) \|[^\n]*\| out: (?P<name>\w+) \| grain: (?P<grain>[^|\n]+) \|[^\n]*\n"
    r"-- (?P<example>[^\n]+)\n-- (?P<title>[^\n]+)\n(?:-- Source: (?P<source>[^\n]+)\n)?"
    r"CREATE OR REPLACE MACRO (?P=name)(?P<body>\((?P<parameters>[^)]*)\) AS (?P<table>TABLE\b)?.*);\n",
    re.DOTALL,
)


@dataclass(frozen=True)
class Macro:
    """A macro as its file describes it."""

    name: str
    kind: Literal["MACRO", "MACRO TABLE"]
    parameters: str  # as in the call, such as `tbl, qi`
    example: str  # a statement that runs on the example tables
    title: str  # one sentence on what it gives
    grain: str  # what a row is
    source: str | None  # where the definition is from, if it is from a paper
    body: str  # the statement after the name

    def creation(self, place: Table) -> str:
        """Write the statement that creates it, or puts it in the place of what is there."""
        return f"CREATE OR REPLACE MACRO {place}{self.body}"


@cache
def macros() -> tuple[Macro, ...]:
    """Read all macros, by their names: the general ones and those of the privacy models."""
    steps = {model.macro for model in models() if model.macro is not None}
    return tuple(_read_macro(step) for step in sorted(steps.union(GENERAL)))


def _read_macro(step: str) -> Macro:
    head = _HEAD.fullmatch(text(f"macros/{step}"))
    if head is None:
        raise ValueError(f"the head of sql/macros/{step}.sql is not that of a macro")
    parts = head.groupdict()
    return Macro(
        **{name: parts[name] for name in ("name", "example", "title", "grain", "source")},
        kind="MACRO TABLE" if parts["table"] else "MACRO",
        parameters=parts["parameters"].replace('"', ""),
        body=_compose(parts["body"]).replace("param('version')", render(literal(__version__))),
    )


def _compose(body: str) -> str:
    """Write the queries of pieces in the place of their calls."""
    for piece in PIECES:
        body = re.sub(rf"\b{piece}\(([^()]*)\)", partial(_query, piece), body)
    return body


def _query(piece: str, call: re.Match[str]) -> str:
    """Write the query of a piece with the arguments of a call."""
    macro = _PIECE.search(text(f"pieces/{piece}"))
    assert macro is not None
    arguments = dict(zip(macro["parameters"].split(", "), call[1].split(", "), strict=True))
    plain = re.compile(rf"'(?:[^']|'')*'|\b(?:{'|'.join(arguments)})\b")
    query = plain.sub(lambda name: arguments.get(name[0], name[0]), macro["query"])
    return f"({query})".replace("' || '", "")  # so that what an error says stands there as one text
