"""Records whose confidential value their other columns give away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.model import Identifiable, IdentifiableValue
from ppdm_sql.engine.names import resolve_all
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import ColumnRoleError, InvalidOption

MOST_VALUES = 100
"""Confidential values that are listed at most, those with the most identifiable records first."""


class KnownColumns(NamedTuple):
    """Columns that others may know, and those that they may give away.

    Args:
        confidential: Columns whose values the known ones may give away record by record.
        sensitive: Columns of which the classes of the known ones may tell too much.
        by: The known ones.
    """

    confidential: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    by: Sequence[str] = ()


NOTHING_KNOWN = KnownColumns()


def known_columns(asked: KnownColumns, columns: Sequence[str], *, table: str) -> KnownColumns:
    """Find the columns, spelled as in the table.

    Raises:
        UnknownColumn: The table has no such column.
        ColumnRoleError: A column is named twice, or is known and shall not be.
        InvalidOption: Nothing says what others may know.
    """
    if not asked.by and (asked.confidential or asked.sensitive):
        given = "--confidential" if asked.confidential else "--sensitive"
        raise InvalidOption(
            f"{given} is given without --by.", "Name what others may know: --by Age,Gender,Location."
        )
    known = resolve_all(asked.by, columns, table=table)
    confidential = resolve_all(asked.confidential, columns, table=table)
    sensitive = resolve_all(asked.sensitive, columns, table=table)
    for role, names in (("confidential", confidential), ("sensitive", sensitive)):
        for name in names:
            if name in known:
                raise ColumnRoleError(
                    f"Column {name!r} cannot be both {role} and known to others.", "Name it in one role only."
                )
    return KnownColumns(confidential, sensitive, known)


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
