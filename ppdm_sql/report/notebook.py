"""HTML for notebooks: tables, and the small pictures of a page where the libraries that draw are there.

It carries no style of its own but what pictures need, so that a notebook's own look holds, and no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ppdm_sql.report.page import Numbers, Picture
from ppdm_sql.report.words import Number

STYLE = (
    "--ink:currentColor;--quiet:#7b8691;--line:#a9b3bc66;--accent:#2a86ad;--before:#8b949e;"
    "--paper:transparent;"
)
"""The colours of pictures, which are seen on light and on dark."""


def fragment(sentences: Sequence[str], tables: Sequence[Numbers], pictures: Sequence[Picture] = ()) -> str:
    """Write sentences, tables and pictures as HTML.

    Example:
        >>> fragment(["1 < 2"], [])
        '<div><p>1 &lt; 2</p></div>'
    """
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    drawn = "".join(map(_figure, pictures))
    if drawn:
        drawn = f'<div style="{STYLE}display:flex;flex-wrap:wrap;gap:1.5rem">{drawn}</div>'
    return f"<div>{said}{''.join(map(_table, tables))}{drawn}</div>"


def _table(numbers: Numbers) -> str:
    heads = "".join(f"<th>{escape(name)}</th>" for name in numbers.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in numbers.rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: str | None) -> str:
    if cell is None:
        return "<td><em>NULL</em></td>"
    side = ' style="text-align:right"' if isinstance(cell, Number) else ""
    return f"<td{side}>{escape(cell)}</td>"


def _figure(picture: Picture) -> str:
    title, says = escape(picture.title), escape(picture.says)
    return (
        f'<figure style="margin:0" role="img" aria-label="{says}">'
        f"<figcaption>{title}</figcaption>{picture.svg}</figure>"
    )
