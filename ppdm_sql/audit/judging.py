"""Judges every class by requirements, each with the step of ``sql/audit/`` that its privacy model names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ppdm_sql.audit.collapsing import Collapsed, classes_in_population
from ppdm_sql.audit.model import Counted, Finding, Group, Inferences
from ppdm_sql.engine import Rows, type_title
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Statement, bind, literal, sql
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import Asked, Audited, Counts, Requirement, Template, Value, requirement_of, resolve
from ppdm_sql.privacy.level import over_labels
from ppdm_sql.privacy.limits import SHARES, at_most


@dataclass(frozen=True)
class Question:
    """A requirement to judge."""

    number: int  # its position among the requirements, from 0
    asked: Asked  # the requirement as it was given, perhaps without a limit
    # the same, with a limit and with names spelled as in the table; over the column of labels where it counts
    # those of a level
    requirement: Requirement

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.requirement.attributes, *self.requirement.sensitive_columns)


@dataclass(frozen=True)
class Judged:
    """A requirement with every class judged by it."""

    question: Question  # the requirement
    # working table ``requirement, position, class, class_records, reached, violates``; templates with the
    # same columns share one. ``position`` numbers protected values from 1
    judgements: Table
    # for a template its protected values as text, by position
    texts: Mapping[int, Value] = field(default_factory=dict)


def questions(requirements: Sequence[Asked], columns: Sequence[str], *, table: str) -> list[Question]:
    """Find the columns of requirements; the table's name is for messages."""
    return [
        Question(number, asked, over_labels(resolve(requirement_of(asked), columns, table=table), columns))
        for number, asked in enumerate(requirements)
    ]


# -- judging -----------------------------------------------------------------------------------------


def judgements(collapsed: Collapsed, asked: Requirement, types: Mapping[str, str], number: int = 0) -> Table:
    """Judge every class by the step of a requirement that protects all values alike."""
    of_sensitive = "".join(types[name] for name in asked.sensitive_columns)
    step = asked.audit_step(Audited(lambda: collapsed.size, lambda: collapsed.counted, of_sensitive))
    known = dict[str, Table]()

    def read(names: tuple[str, ...]) -> dict[str, Table]:
        return {name: known.get(name) or _groups(collapsed, asked, name) for name in names}

    for name, inputs in step.prepared.items():
        known[name] = collapsed.make(name, read(inputs))
    classes = bind(f"audit/{step.name}", tables=read(step.inputs), values=step.values)
    judged = "SELECT {number} AS requirement, 1 AS position, j.* FROM ({classes}) AS j"
    text = Statement(sql(judged, number=number, classes=classes), file=classes.file)
    return collapsed.engine.materialize(step.name, text)


def _groups(collapsed: Collapsed, asked: Requirement, name: str) -> Table:
    """Give the classes of a requirement, or their cells."""
    if name == "classes" and asked.population is not None:
        return classes_in_population(collapsed, asked, asked.population)
    if name == "classes":
        return collapsed.classes(asked.attributes)
    (sensitive,) = asked.sensitive_columns
    if name == "value_totals":
        return collapsed.value_totals(sensitive)
    return collapsed.cells(asked.attributes, sensitive)


# -- templates ---------------------------------------------------------------------------------------


class TemplateGroup:
    """Templates over one channel and one sensitive column; they share their statements."""

    def __init__(self, collapsed: Collapsed, group: Sequence[Question], types: Mapping[str, str]) -> None:
        first = _template(group[0])
        self.channel = first.channel
        self.sensitive = first.sensitive
        self._collapsed, self._group = collapsed, group
        cells = collapsed.cells(first.channel, first.sensitive)
        requested = collapsed.engine.materialize("requested_values", _requested(group))
        protected = collapsed.make("protected_values", {"requested_values": requested, "cells": cells})
        self._tables = {"cells": cells, "protected_values": protected}
        self._texts = self._read_texts(types[first.sensitive])

    def judge(self) -> list[Judged]:
        """Judge every class by every template of the group."""
        table = self._collapsed.make("confidences", self._tables)
        return [Judged(question, table, self._texts[question.number]) for question in self._group]

    def inferences(self, thresholds: Table) -> dict[int, int]:
        """Count inferences above each threshold, by the threshold's position."""
        query = bind("audit/inferences", tables={**self._tables, "thresholds": thresholds})
        return dict(self._collapsed.engine.query(query, step="inferences"))

    def _read_texts(self, type_text: str) -> dict[int, dict[int, Value]]:
        query = sql(
            "SELECT requirement, position, text, usable FROM {protected} ORDER BY requirement, position",
            protected=self._tables["protected_values"],
        )
        texts: dict[int, dict[int, Value]] = {question.number: {} for question in self._group}
        for number, position, text, usable in self._collapsed.engine.query(query, step="protected_texts"):
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
    """Count, for each channel, the inferences above thresholds, over all its sensitive columns together."""
    # Source: Wang, Fung, Yu 2005, Table 3.
    if not groups or not thresholds:
        return ()
    row = "({position}, {numerator}::BIGINT, {denominator}::BIGINT)"
    exact = [at_most(threshold, SHARES) for threshold in thresholds]
    rows = [
        sql(row, position=place, numerator=item.numerator, denominator=item.denominator)
        for place, item in enumerate(exact)
    ]
    limits = sql("SELECT * FROM (VALUES {rows}) AS v(position, numerator, denominator)", rows=rows)
    table = collapsed.engine.materialize("thresholds", limits)
    channels: dict[frozenset[str], list[TemplateGroup]] = defaultdict(list)
    for group in groups:
        channels[frozenset(group.channel)].append(group)
    inferences = []
    for same in channels.values():
        counts = [group.inferences(table) for group in same]
        above = tuple((float(t), sum(c.get(i, 0) for c in counts)) for i, t in enumerate(thresholds))
        inferences.append(Inferences(same[0].channel, tuple(group.sensitive for group in same), above))
    return tuple(inferences)


def _template(question: Question) -> Template:
    assert isinstance(question.requirement, Template)
    return question.requirement


def _requested(group: Sequence[Question]) -> Statement:
    """Write what templates protect: the values of each, or every value."""
    rows = list[Statement]()
    row = "({number}, {position}, {value}::VARCHAR, {every}, {numerator}::BIGINT, {denominator}::BIGINT)"
    for question in group:
        template = _template(question)
        limit = at_most(template.threshold, SHARES)
        values = enumerate(template.values, 1) if template.values is not None else [(0, None)]
        rows += [
            sql(
                row,
                number=question.number,
                position=position,
                value=literal(value),
                every=literal(template.values is None),
                numerator=limit.numerator,
                denominator=limit.denominator,
            )
            for position, value in values
        ]
    names = "requirement, position, text, every_value, numerator, denominator"
    return sql("SELECT * FROM (VALUES {rows}) AS v({names})", rows=rows, names=Statement(names))


# -- summing up --------------------------------------------------------------------------------------


def summed_up(collapsed: Collapsed, judged: Sequence[Judged]) -> list[Finding]:
    """Give a finding per requirement; one scan of each table of judgements."""
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
    requirement = item.question.requirement
    low_is_bad = requirement.worst == "min"
    reached = {row[1]: requirement.reached(row[2], row[3]) for row in rows}
    for number in reached.values():
        if (refused := requirement.undefined(number)) is not None:
            raise refused
    violating = (rows[0][4], rows[0][5]) if rows else (0, 0)
    by_value: tuple[tuple[Value, float], ...] = tuple(
        (text, reached.get(position, 0.0)) for position, text in item.texts.items()
    )
    return Finding(
        requirement=item.question.asked,
        holds=violating[0] == 0,
        limit=float(requirement.limit),
        reached=min(reached.values()) if low_is_bad else max(reached.values(), default=0.0),
        classes=classes,
        violating_classes=violating[0],
        violating_records=violating[1],
        by_value=by_value,
        absent_values=tuple(text for position, text in item.texts.items() if position not in reached),
        counted=counted,
    )


def worst_groups(collapsed: Collapsed, item: Judged, groups: int) -> list[Group]:
    """Name the worst classes of a requirement, worst first; none if it is on the table."""
    # Equals are ordered by their values. One scan of the judgements and one of the atoms.
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
