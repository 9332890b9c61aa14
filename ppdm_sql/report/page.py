"""What a page is made of, and the template that makes HTML of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from ppdm_sql.errors import InvalidOption
from ppdm_sql.report.words import Cell, Number

if TYPE_CHECKING:
    from jinja2 import Environment

INSTALL = "Install it with pip install 'ppdm-sql[report]'."

_DIRECTIONS = {
    code: f"\\u{code:04x}"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""How characters that turn the direction of writing are shown."""


@dataclass(frozen=True)
class Numbers:
    """A table for readers.

    Args:
        columns: What its columns are called.
        rows: The cells, written out; None is NULL.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Picture:
    """A chart with the numbers that it shows.

    Args:
        title: What it shows, in a few words.
        svg: The chart, safe to be put into a page.
        says: What the picture says, for those who cannot see it.
        numbers: The same as a table.
        note: What else is to be said, such as what was left out.
        wide: Whether it takes the whole width of the page.
        starts: Whether it starts a line, as the first of two that belong together does.
    """

    title: str
    svg: str
    says: str
    numbers: Numbers
    note: str = ""
    wide: bool = False
    starts: bool = False


@dataclass(frozen=True)
class Branch:
    """A node of a tree that opens and closes.

    Args:
        label: What it is called; None is NULL.
        note: What is said beside it.
        shown: Whether it is one of those that the release shows.
        children: The nodes below it.
        is_open: Whether it is open at first.
    """

    label: Cell
    note: str = ""
    shown: bool = False
    children: Sequence[Branch] = ()
    is_open: bool = True


@dataclass(frozen=True)
class Block:
    """A part of a chapter: sentences, tables, pictures side by side, or trees, in this order.

    Args:
        title: Its heading; none is left out.
        sentences: Paragraphs.
        tables: Tables that are always open.
        pictures: Pictures, side by side where there is room.
        trees: A tree for each of several titles.
        items: A list of points: what each is about, and the rest of it.
    """

    title: str = ""
    sentences: Sequence[str] = ()
    tables: Sequence[Numbers] = ()
    pictures: Sequence[Picture] = ()
    trees: Sequence[tuple[str, Branch]] = ()
    items: Sequence[tuple[str, str]] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.sentences or self.tables or self.pictures or self.trees or self.items)


@dataclass(frozen=True)
class Chapter:
    """A chapter of a page.

    Args:
        anchor: Its name in links.
        title: Its heading.
        blocks: Its parts; empty ones are left out.
    """

    anchor: str
    title: str
    blocks: Sequence[Block]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return all(block.is_empty for block in self.blocks)


@dataclass(frozen=True)
class Page:
    """A page.

    Args:
        title: Its heading.
        edition: Whom it is for, in a sentence.
        lead: What it is about, in sentences.
        verdict: The outcome in a few words, and whether it is good; None where there is none.
        worth: What it is worth, in a sentence or two; empty where that is not known.
        facts: What is known of its subject, each with a name.
        chapters: Its chapters; empty ones are left out.
        made: When and by what it was made.
    """

    title: str
    edition: str
    lead: Sequence[str]
    verdict: tuple[str, bool] | None
    facts: Sequence[tuple[str, str]]
    chapters: Sequence[Chapter] = field(default_factory=tuple)
    worth: str = ""
    made: str = ""


def html(page: Page) -> str:
    """Write a page as HTML that needs nothing else, and that may do nothing but show itself.

    Raises:
        InvalidOption: The library that fills templates is missing.
    """
    style = _file("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    written = _templates().get_template("page.html.jinja").render(page=page, style=style, digest=digest)
    return with_directions_shown(written)


def with_directions_shown(written: str) -> str:
    r"""Show the characters that turn the direction of writing, which would reorder what stands around them.

    Example:
        >>> print(with_directions_shown("<p>a\u202eb</p>"))
        <p>a\u202eb</p>
    """
    return written.translate(_DIRECTIONS)


def _templates() -> Environment:
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as cause:
        raise InvalidOption("Reports are written with Jinja2, which is missing.", INSTALL) from cause
    templates = Environment(
        loader=DictLoader({"page.html.jinja": _file("page.html.jinja")}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.tests["right"] = lambda cell: isinstance(cell, Number)
    return templates


def _file(name: str) -> str:
    return (files("ppdm_sql.report") / name).read_text(encoding="utf-8")
