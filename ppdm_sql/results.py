"""What every result gives: tables, which a terminal, a file, a call in SQL, a notebook and a page write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from ppdm_sql.errors import PpdmError

SHARE, PER_CENT = "share", "per cent"
"""Units: of a share in [0, 1], and of a number that is in per cent already."""


class ResultTable(NamedTuple):
    """A table of a result, as values.

    Args:
        title: What it is called; empty where it is the only one.
        columns: The names of its columns.
        rows: Their values.
        units: The units of columns of numbers, for readers: ``share``, ``per cent`` or ``""`` for a
            plain one.
        notes: Sentences about it, for readers.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    units: Mapping[str, str] = MappingProxyType({})
    notes: Sequence[str] = ()


class Result:
    """What gives tables; a notebook shows it."""

    def tables(self) -> list[ResultTable]:
        """Give everything as tables."""
        raise NotImplementedError

    def _repr_html_(self) -> str | None:
        """Give it as HTML; None where it cannot be read any more, so that its plain text stands."""
        import duckdb  # the package is imported without

        try:
            shown: str = report().html_of(self)
        except (PpdmError, duckdb.Error):
            return None
        return shown


# -- what stands above the results: imported by name, when a result is shown ------------------------


def report() -> Any:
    """Give :mod:`ppdm_sql.report`, which few runs need."""
    return import_module("ppdm_sql.report")


def attacking() -> Any:
    """Give :mod:`ppdm_sql.risk.attacking`, which few runs need."""
    return import_module("ppdm_sql.risk.attacking")
