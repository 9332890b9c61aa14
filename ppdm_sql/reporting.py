"""Where a result finds what shows it: the report is a layer above what it shows, which may not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppdm_sql.errors import PpdmError

_importing: list[Callable[[], Any]] = []


def register_report(importing: Callable[[], Any]) -> None:
    """Take what imports :mod:`ppdm_sql.report`; the package does so when it is imported."""
    _importing[:] = [importing]


def report() -> Any:
    """Give :mod:`ppdm_sql.report`, which few runs need.

    Example:
        >>> import ppdm_sql
        >>> report().__name__
        'ppdm_sql.report'
    """
    return _importing[0]()


def in_html(result: object) -> str | None:
    """Give what a notebook shows of a result; None where it cannot be read any more: its text stands.

    Example:
        >>> in_html("no result of ours") is None
        True
    """
    try:
        shown: str | None = report().html_of(result)
    except PpdmError:
        return None
    return shown
