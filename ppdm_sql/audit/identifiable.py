"""Records whose confidential value their other columns give away."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.model import Identifiable, IdentifiableValue
from ppdm_sql.engine.names import resolve_all
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import ColumnRoleError, InvalidOption

MOST_VALUES = 100
"""Confidential values that are listed at most, those with the most identifiable records first."""


def confidential_columns(
    confidential: Sequence[str], by: Sequence[str], columns: Sequence[str], *, table: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find confidential columns and those by which records can be singled out.

    Raises:
        UnknownColumn: The table has no such column.
        ColumnRoleError: A column is named twice.
        InvalidOption: Only one of the two is given.
    """
    if bool(confidential) != bool(by):
        given, missing = ("--confidential", "--by") if confidential else ("--by", "--confidential")
        raise InvalidOption(
            f"{given} is given without {missing}.", "Give --confidential Amount --by Age,Gender,Location."
        )
    found = resolve_all(confidential, columns, table=table), resolve_all(by, columns, table=table)
    for name in found[0]:
        if name in found[1]:
            raise ColumnRoleError(
                f"Column {name!r} cannot be both confidential and known to others.",
                "Name it in one role only.",
            )
    return found


def identifiable(collapsed: Collapsed, confidential: str, by: Sequence[str]) -> Identifiable:
    """Count the identifiable records of a table.

    Args:
        collapsed: The audited table, with all these columns.
        confidential: The confidential column.
        by: The columns that others may know.

    Raises:
        InvalidSource: The table has no records.

    Cost: one scan of the atoms for the cells, two of the cells.
    Source: Li, Sarkar 2004, Definition 2.
    """
    collapsed.class_count(by)
    tables, engine = {"cells": collapsed.cells(by, confidential)}, collapsed.engine
    text = bind("audit/identifiable_records", tables=tables)
    ((unique, groups, grouped, other_patterns, others, values),) = engine.query(text, step="identifiable")
    listed = bind("audit/identifiable_values", tables=tables, values={"most": MOST_VALUES})
    return Identifiable(
        confidential=confidential,
        by=tuple(by),
        unique=unique,
        groups=groups,
        grouped=grouped,
        other_patterns=other_patterns,
        others=others,
        values=values,
        by_value=tuple(IdentifiableValue(*row) for row in engine.query(listed, step="identifiable_values")),
    )
