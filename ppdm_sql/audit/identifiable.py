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


def known_columns(
    confidential: Sequence[str],
    sensitive: Sequence[str],
    by: Sequence[str],
    columns: Sequence[str],
    *,
    table: str,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Find the columns that others may know, and before them those of which they may tell too much.

    Raises:
        UnknownColumn: The table has no such column.
        ColumnRoleError: A column is named twice, or is known and shall not be.
        InvalidOption: Nothing says what others may know.
    """
    if not by and (confidential or sensitive):
        given = "--confidential" if confidential else "--sensitive"
        raise InvalidOption(
            f"{given} is given without --by.", "Name what others may know: --by Age,Gender,Location."
        )
    known = resolve_all(by, columns, table=table)
    found = []
    for role, names in (("confidential", confidential), ("sensitive", sensitive)):
        found.append(resolve_all(names, columns, table=table))
        for name in found[-1]:
            if name in known:
                raise ColumnRoleError(
                    f"Column {name!r} cannot be both {role} and known to others.", "Name it in one role only."
                )
    return found[0], found[1], known


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
