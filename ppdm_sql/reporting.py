"""Where a release finds what writes its page: the report is a layer above it, which it may not import."""

from __future__ import annotations

from collections.abc import Callable

Writer = Callable[..., None]
"""Writes the page of a release: it is given engine, release, file and progress, and the options by name."""
_registered: list[Writer] = []


def register_writer(writer: Writer) -> None:
    """Take what writes the page of a release; the package does so when it is imported."""
    _registered[:] = [writer]


def registered_writer() -> Writer:
    """Give what writes the page of a release.

    Example:
        >>> import ppdm_sql
        >>> registered_writer().__module__
        'ppdm_sql'
    """
    (writer,) = _registered
    return writer
