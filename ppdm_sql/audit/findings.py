"""Sums judgements up: one finding per requirement, and the worst groups by name."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.model import Counted, Finding, Group
from ppdm_sql.audit.questions import Judged
from ppdm_sql.engine import Rows
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.privacy import Counts, Value


def summed_up(collapsed: Collapsed, judged: Sequence[Judged]) -> list[Finding]:
    """Give a finding per requirement.

    Args:
        collapsed: The audited table.
        judged: The requirements with their judgements.

    Cost: one scan of each table of judgements.
    """
    rows: dict[Table, Rows] = {}
    for item in judged:
        if item.judgements not in rows:
            text = bind("audit/verdicts", tables={"judgements": item.judgements})
            rows[item.judgements] = collapsed.engine.query(text, step="verdicts")
    return [
        _finding(
            item,
            [row for row in rows[item.judgements] if row[0] == item.question.number],
            collapsed.class_count(item.question.requirement.attributes),
            collapsed.unit,
        )
        for item in judged
    ]


def _finding(item: Judged, rows: Rows, classes: int, counted: Counted) -> Finding:
    asked = item.question.requirement
    low_is_bad = asked.worst == "min"
    reached = {row[1]: asked.reached(row[2], row[3]) for row in rows}
    for number in reached.values():
        if (refused := asked.undefined(number)) is not None:
            raise refused
    violating = (rows[0][4], rows[0][5]) if rows else (0, 0)
    by_value: tuple[tuple[Value, float], ...] = tuple(
        (text, reached.get(position, 0.0)) for position, text in item.texts.items()
    )
    return Finding(
        requirement=item.question.asked,
        holds=violating[0] == 0,
        limit=float(asked.limit),
        reached=min(reached.values()) if low_is_bad else max(reached.values(), default=0.0),
        classes=classes,
        violating_classes=violating[0],
        violating_records=violating[1],
        by_value=by_value,
        absent_values=tuple(text for position, text in item.texts.items() if position not in reached),
        counted=counted,
    )


def worst_groups(collapsed: Collapsed, item: Judged, groups: int) -> list[Group]:
    """Name the worst classes of a requirement, worst first; none if it is on the table.

    Equals are ordered by their values.

    Args:
        collapsed: The audited table.
        item: The requirement with its judgements.
        groups: How many at most, at least 1.

    Cost: one scan of the judgements and one of the atoms.
    """
    if item.question.requirement.counts is Counts.GROUPS:
        return []
    asked, columns = item.question.asked, item.question.requirement.attributes
    low_is_bad = item.question.requirement.worst == "min"
    text = bind(
        "audit/worst_groups",
        tables={"judgements": item.judgements, "atoms": collapsed.atoms},
        columns={"qi": collapsed.codes(columns)},
        values={"requirement": item.question.number, "sign": 1 if low_is_bad else -1, "groups": groups},
    )
    return [
        Group(asked, columns, tuple(values), item.texts.get(position), records, reached, violates)
        for position, records, reached, violates, *values in collapsed.engine.query(text, step="worst_groups")
    ]
