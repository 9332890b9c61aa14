"""What a notebook shows of results: HTML, made by the report, which stands above what it shows."""

from __future__ import annotations

from ppdm_sql.errors import PpdmError
from ppdm_sql.reporting import registered_reports


def in_html(result: object) -> str | None:
    """Give a result as HTML; None where it cannot be read any more, so that its plain text stands.

    Example:
        >>> in_html("no result of ours") is None
        True
    """
    try:
        return registered_reports().notebook(result)
    except PpdmError:
        return None
