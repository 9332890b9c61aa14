"""Judges classes by templates, and counts inferences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.judging import judgements
from ppdm_sql.audit.model import Inferences
from ppdm_sql.audit.questions import Judged, Question
from ppdm_sql.engine import type_title
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import bind, render
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import Template, Value
from ppdm_sql.privacy.limits import SHARES, at_most

_REQUESTED = {
    "requirement": "INTEGER",
    "position": "INTEGER",
    "text": "VARCHAR",
    "every_value": "BOOLEAN",
    "numerator": "BIGINT",
    "denominator": "BIGINT",
}
_THRESHOLDS = {"position": "INTEGER", "numerator": "BIGINT", "denominator": "BIGINT"}


class TemplateGroup:
    """Templates over one channel and one sensitive column; they share their statements.

    Args:
        collapsed: The audited table.
        group: The templates, at least one.
        types: The type of each column, for messages.

    Raises:
        InvalidOption: A protected value is not of its column's type, or a template names none.

    Cost: one scan of the atoms for the cells, then scans of the cells.
    """

    def __init__(self, collapsed: Collapsed, group: Sequence[Question], types: Mapping[str, str]) -> None:
        first = _template(group[0])
        self.channel = first.channel
        self.sensitive = first.sensitive
        self._collapsed, self._group, self._types = collapsed, group, types
        self._cells = collapsed.cells(first.channel, first.sensitive)
        requested = _rows("requested_values", collapsed, _REQUESTED, _requested(group))
        tables = {"requested_values": requested, "cells": self._cells}
        self._protected = collapsed.make("protected_values", tables)
        self._texts = self._read_texts(types[first.sensitive])

    def judge(self) -> list[Judged]:
        """Judge every class by every template of the group."""
        tables = {"cells": self._cells, "protected_values": self._protected}
        table = judgements(self._collapsed, self._group[0].requirement, self._types, {}, tables)
        return [Judged(question, table, self._texts[question.number]) for question in self._group]

    def inferences(self, thresholds: Table) -> dict[int, int]:
        """Count inferences above each threshold, by the threshold's position."""
        tables = {"cells": self._cells, "protected_values": self._protected, "thresholds": thresholds}
        rows = self._collapsed.engine.query(bind("audit/inferences", tables=tables), step="inferences")
        return dict(rows)

    def _read_texts(self, type_text: str) -> dict[int, dict[int, Value]]:
        query = exp.select(*map(column, ("requirement", "position", "text", "usable")))
        query = query.from_(self._protected.expression()).order_by(column("requirement"), column("position"))
        rows = self._collapsed.engine.query(render(query), step="protected_texts")
        texts: dict[int, dict[int, Value]] = {question.number: {} for question in self._group}
        for number, position, text, usable in rows:
            if not usable:
                raise InvalidOption(
                    f"The protected value {text!r} is not a value of column {self.sensitive!r}, "
                    f"whose type is {type_title(type_text)}.",
                    "Write it as the column holds it.",
                )
            texts[number][position] = text
        return texts


def template_groups(
    collapsed: Collapsed, asked: Sequence[Question], types: Mapping[str, str]
) -> list[TemplateGroup]:
    """Group the templates among requirements by channel (as a set) and sensitive column, in their order."""
    groups: dict[tuple[frozenset[str], str], list[Question]] = defaultdict(list)
    for question in asked:
        if isinstance(question.requirement, Template):
            template = question.requirement
            groups[frozenset(template.channel), template.sensitive].append(question)
    return [TemplateGroup(collapsed, group, types) for group in groups.values()]


def count_inferences(
    collapsed: Collapsed, groups: Sequence[TemplateGroup], thresholds: Sequence[Fraction]
) -> tuple[Inferences, ...]:
    """Count, for each channel, the inferences above thresholds, over all its sensitive columns together.

    Args:
        collapsed: The audited table.
        groups: The templates.
        thresholds: Confidences in [0, 1].

    Cost: one scan of the cells per group.
    Source: Wang, Fung, Yu 2005, Table 3.
    """
    if not groups or not thresholds:
        return ()
    table = _rows("thresholds", collapsed, _THRESHOLDS, [_threshold(i, t) for i, t in enumerate(thresholds)])
    channels: dict[frozenset[str], list[TemplateGroup]] = defaultdict(list)
    for group in groups:
        channels[frozenset(group.channel)].append(group)
    found = []
    for same in channels.values():
        counts = [group.inferences(table) for group in same]
        above = tuple((float(t), sum(c.get(i, 0) for c in counts)) for i, t in enumerate(thresholds))
        found.append(Inferences(same[0].channel, tuple(group.sensitive for group in same), above))
    return tuple(found)


def _template(question: Question) -> Template:
    assert isinstance(question.requirement, Template)
    return question.requirement


def _requested(group: Sequence[Question]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for question in group:
        template = _template(question)
        if template.values == ():
            raise InvalidOption("A template protects no value.", "Name one, or none for every value.")
        threshold = at_most(template.threshold, SHARES)
        limit = (threshold.numerator, threshold.denominator)
        if template.values is None:
            rows.append((question.number, 0, None, True, *limit))
        else:
            rows += [(question.number, i, text, False, *limit) for i, text in enumerate(template.values, 1)]
    return rows


def _threshold(position: int, threshold: Fraction) -> tuple[int, int, int]:
    exact = at_most(threshold, SHARES)
    return position, exact.numerator, exact.denominator


def _rows(step: str, collapsed: Collapsed, types: Mapping[str, str], rows: list[tuple[Any, ...]]) -> Table:
    """Write typed rows of our own making into a working table; every value becomes a literal of the tree."""
    values = exp.values(rows, "v", list(types))
    cast = (alias(exp.cast(column(name, "v"), kind, dialect="duckdb"), name) for name, kind in types.items())
    return collapsed.engine.materialize(step, exp.select(*cast).from_(values))
