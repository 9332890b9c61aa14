"""Where a result finds what shows it: the report is a layer above what it shows, which may not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Writer = Callable[..., None]
"""Writes the page of a result into a file: it is given the engine, the result, the file and options."""


class Reports(NamedTuple):
    """What the report offers to the layers below it.

    Args:
        release: Writes the page of a release; it is given the progress, too.
        model: Writes the page of a trained model.
        notebook: Gives what a notebook shows of a result, as HTML; None for what is none of ours.
    """

    release: Writer
    model: Writer
    notebook: Callable[[object], str | None]


_registered: list[Reports] = []


def register_reports(reports: Reports) -> None:
    """Take what shows results; the package does so when it is imported."""
    _registered[:] = [reports]


def registered_reports() -> Reports:
    """Give what shows results.

    Example:
        >>> import ppdm_sql
        >>> registered_reports().release.__module__
        'ppdm_sql'
    """
    (reports,) = _registered
    return reports
