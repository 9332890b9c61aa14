"""Prints what is drawn as lines of text, such as trees: plain into a file, with styles on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple


class Drawn(NamedTuple):
    """One line of a drawing.

    Args:
        guide: The branches of the tree before the label.
        label: The text.
        style: How a terminal shows the label: empty, ``bold`` or ``dim``.
    """

    guide: str
    label: str
    style: str = ""


def print_drawing(title: str, lines: Iterable[Drawn]) -> None:
    """Print a drawing on stdout, under a title and with an empty line before and after."""
    whole = [Drawn("", ""), Drawn("", title, "bold"), *lines, Drawn("", "")]
    if not sys.stdout.isatty():
        sys.stdout.writelines(f"{line.guide}{line.label}\n" for line in whole)
        return
    from rich.console import Console  # imported where it draws: it is not needed without a terminal
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    for line in whole:
        console.print(Text.assemble(line.guide, (line.label, line.style)), soft_wrap=True)
