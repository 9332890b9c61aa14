"""The audit macros: files ``sql/macros/*.sql``, with a contract, an example and a sentence on top."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import literal, render, text
from ppdm_sql.privacy.models import models
from ppdm_sql.version import __version__

GENERAL = ("risk", "identifiable", "version")
"""The macros that belong to no privacy model, without the prefix ``ppdm_``; models bring theirs."""

_HEAD = re.compile(
    r"-- (?P<step>\w+) \|[^\n]*\| out: (?P<name>\w+) \| grain: (?P<grain>[^|\n]+) \|[^\n]*\n"
    r"-- (?P<example>[^\n]+)\n-- (?P<title>[^\n]+)\n(?:-- Source: (?P<source>[^\n]+)\n)?"
    r"CREATE OR REPLACE MACRO (?P=name)(?P<body>\((?P<parameters>[^)]*)\) AS (?P<table>TABLE\b)?.*);\n",
    re.DOTALL,
)


@dataclass(frozen=True)
class Macro:
    """A macro as its file describes it.

    Args:
        name: What it is called by.
        kind: Whether it gives a table or a value.
        parameters: As in the call, such as ``tbl, qi``.
        example: A statement that runs on the example tables.
        title: One sentence on what it gives.
        grain: What a row is.
        source: Where the definition is from, if it is from a paper.
        body: The statement after the name.
    """

    name: str
    kind: Literal["MACRO", "MACRO TABLE"]
    parameters: str
    example: str
    title: str
    grain: str
    source: str | None
    body: str

    def creation(self, place: Table) -> str:
        """Write the statement that creates it, or puts it in the place of what is there."""
        return f"CREATE OR REPLACE MACRO {place}{self.body}"


@cache
def macros() -> tuple[Macro, ...]:
    """Read all macros, by their names: the general ones and those of the privacy models.

    Example:
        >>> [macro.name for macro in macros()][:2]
        ['ppdm_closeness', 'ppdm_confidence']
    """
    steps = {model.macro for model in models() if model.macro is not None}
    return tuple(_read(step) for step in sorted(steps.union(GENERAL)))


def _read(step: str) -> Macro:
    found = _HEAD.fullmatch(text(f"macros/{step}"))
    if found is None:
        raise ValueError(f"the head of sql/macros/{step}.sql is not that of a macro")
    return Macro(
        name=found["name"],
        kind="MACRO TABLE" if found["table"] else "MACRO",
        parameters=found["parameters"].replace('"', ""),
        example=found["example"],
        title=found["title"],
        grain=found["grain"],
        source=found["source"],
        body=found["body"].replace("param('version')", render(literal(__version__))),
    )
