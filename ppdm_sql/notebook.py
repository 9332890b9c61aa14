"""What a notebook shows of results: HTML, made by the report, which stands above what it shows.

So it is looked up by its name when a notebook asks: nothing below relies on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ppdm_sql.errors import PpdmError

PLACE = "ppdm_sql.report.notebook"


def in_html(result: object) -> str | None:
    """Give a result as HTML; None where it cannot be read any more, so that its plain text stands.

    Example:
        >>> in_html("no result of ours") is None
        True
    """
    try:
        return cast("str | None", import_module(PLACE).html_of(result))
    except PpdmError:
        return None
