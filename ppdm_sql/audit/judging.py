"""Judges every class by requirements, each with the step of ``sql/audit/`` that its privacy model names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ppdm_sql.audit.collapsing import Collapsed, classes_in_population
from ppdm_sql.audit.model import Finding, Group, Inferences
from ppdm_sql.engine import Rows, type_title
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Statement, bind, literal, sql, subquery
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import Asked, Audited, Counts, Requirement, Value, requirement_of, resolve
from ppdm_sql.privacy.level import over_labels
from ppdm_sql.privacy.limits import SHARES, at_most


@dataclass(frozen=True)
class Question:
    """A requirement to judge."""

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
    # rows ``position, class, class_records, reached, violates``; protected values count from 1
    judgements: Table | Statement
    # the positions of protected values that occur, else 1, each with what its classes reach at least and at
    # most; then the classes that violate the requirement, and their records
    verdicts: Rows
    # for a template the working table of the protected values of all over the same columns
    protected: Table | None = None
    # for a template its protected values as text, by position
    texts: Mapping[int, Value] = field(default_factory=dict)


def questions(requirements: Sequence[Asked], columns: Sequence[str], *, table: str) -> list[Question]:
    """Find the columns of requirements; the table's name is for messages."""
    return [
        Question(asked, over_labels(resolve(requirement_of(asked), columns, table=table), columns))
        for asked in requirements
    ]


# -- judging -----------------------------------------------------------------------------------------


def judge(collapsed: Collapsed, asked: Sequence[Question], types: Mapping[str, str]) -> list[Judged]:
    """Judge every class by requirements; templates over the same columns are judged together."""
    groups: dict[object, dict[int, Question]] = {}
    for number, question in enumerate(asked):
        requirement = question.requirement
        columns = frozenset(requirement.attributes), requirement.sensitive_columns
        alike = columns if requirement.counts is Counts.PROTECTED else number
        groups.setdefault(alike, {})[number] = question
    judged = dict(one for group in groups.values() for one in _judge(collapsed, group, types))
    return [judged[number] for number in range(len(asked))]


def _judge(
    collapsed: Collapsed, asked: Mapping[int, Question], types: Mapping[str, str]
) -> Iterator[tuple[int, Judged]]:
    """Judge every class by one requirement, or by several templates over the same columns."""
    requirement, engine = next(iter(asked.values())).requirement, collapsed.engine
    known: dict[str, Table | Statement] = {}

    def read(names: tuple[str, ...]) -> dict[str, Table | Statement]:
        return {name: known.get(name) or _groups(collapsed, requirement, name) for name in names}

    protected, texts = None, list[tuple[int, int, Value]]()
    if requirement.counts is Counts.PROTECTED:
        known["requested_values"] = _requested(asked)
        protected = collapsed.make("protected_values", read(("requested_values", "cells")))
        known["protected_values"], texts = protected, _texts(collapsed, protected, requirement, types)
    of_sensitive = "".join(types[name] for name in requirement.sensitive_columns)
    step = requirement.audit_step(Audited(lambda: collapsed.size, lambda: collapsed.counted, of_sensitive))
    for name, inputs in step.prepared.items():
        known[name] = collapsed.make(name, read(inputs))
    judged = bind(f"audit/{step.name}", tables=read(step.inputs), values=step.values)
    if requirement.counts is not Counts.PROTECTED:
        of_one = "SELECT {number} AS requirement, 1 AS position, j.* FROM ({judged}) AS j"
        judged = Statement(sql(of_one, number=next(iter(asked)), judged=judged), file=judged.file)
    table = engine.materialize(step.name, judged)
    verdicts = engine.query(bind("audit/verdicts", tables={"judgements": table}), step="verdicts")
    for number, question in asked.items():
        rows = subquery(sql("SELECT * FROM {t} WHERE requirement = {n}", t=table, n=number))
        own = [row[1:] for row in verdicts if row[0] == number]
        named = {position: text for of, position, text in texts if of == number}
        yield number, Judged(question, rows, own, protected, named)


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


def _requested(templates: Mapping[int, Question]) -> Statement:
    """Write what templates protect: the values of each, or every value."""
    rows = list[Statement]()
    for number, question in templates.items():
        protected = question.requirement.protected
        limit = at_most(Fraction(question.requirement.limit), SHARES)
        of_all = protected is None, limit.numerator, limit.denominator
        for position, value in enumerate((None,) if protected is None else protected, 1):
            rows.append(sql("({row})", row=list(map(literal, (number, position, value, *of_all)))))
    query = """
SELECT * REPLACE (text::VARCHAR AS text, numerator::BIGINT AS numerator, denominator::BIGINT AS denominator)
FROM (VALUES {rows}) AS v(requirement, position, text, every_value, numerator, denominator)"""
    return subquery(sql(query, rows=rows))


def _texts(
    collapsed: Collapsed, protected: Table, template: Requirement, types: Mapping[str, str]
) -> list[tuple[int, int, Value]]:
    """Give protected values of templates as text; refuse those that are not of the type of their column."""
    query = "SELECT requirement, position, text, usable FROM {t} ORDER BY requirement, position"
    rows = collapsed.engine.query(sql(query, t=protected), step="protected_texts")
    (sensitive,) = template.sensitive_columns
    if unusable := [text for *_, text, usable in rows if not usable]:
        raise InvalidOption(
            f"The protected value {unusable[0]!r} is not a value of column {sensitive!r}, "
            f"whose type is {type_title(types[sensitive])}.",
            "Write it as the column holds it.",
        )
    return [(number, position, text) for number, position, text, _ in rows]


def count_inferences(
    collapsed: Collapsed, judged: Sequence[Judged], thresholds: Sequence[Fraction]
) -> tuple[Inferences, ...]:
    """Count, for each channel, the inferences above thresholds, over all its sensitive columns together."""
    # Source: Wang, Fung, Yu 2005, Table 3. A value that several templates protect counts once.
    channels: dict[frozenset[str], tuple[tuple[str, ...], dict[str, Table]]] = {}
    for item in judged:
        if item.protected is not None:
            channel = item.question.requirement.attributes
            (sensitive,) = item.question.requirement.sensitive_columns
            _, protected = channels.setdefault(frozenset(channel), (channel, {}))
            protected[sensitive] = item.protected
    if not channels or not thresholds:
        return ()
    row = "({position}, {numerator}::BIGINT, {denominator}::BIGINT)"
    exact = [at_most(threshold, SHARES) for threshold in thresholds]
    rows = [
        sql(row, position=place, numerator=item.numerator, denominator=item.denominator)
        for place, item in enumerate(exact)
    ]
    limits = sql("SELECT * FROM (VALUES {rows}) AS v(position, numerator, denominator)", rows=rows)
    inferences = []
    for channel, protected in channels.values():
        counts = Counter[int]()
        for sensitive, of_templates in protected.items():
            tables = {"cells": collapsed.cells(channel, sensitive), "protected_values": of_templates}
            query = bind("audit/inferences", tables={**tables, "thresholds": subquery(limits)})
            counts.update(dict(collapsed.engine.query(query, step="inferences")))
        above = tuple((float(threshold), counts[place]) for place, threshold in enumerate(thresholds))
        inferences.append(Inferences(channel, tuple(protected), above))
    return tuple(inferences)


# -- summing up --------------------------------------------------------------------------------------


def finding(collapsed: Collapsed, item: Judged) -> Finding:
    """Sum up what was judged of a requirement."""
    requirement, rows = item.question.requirement, item.verdicts
    low_is_bad = requirement.worst == "min"
    reached = {row[0]: requirement.reached(row[1], row[2]) for row in rows}
    for number in reached.values():
        if (refused := requirement.undefined(number)) is not None:
            raise refused
    violating = (rows[0][3], rows[0][4]) if rows else (0, 0)
    by_value: tuple[tuple[Value, float], ...] = tuple(
        (text, reached.get(position, 0.0)) for position, text in item.texts.items()
    )
    return Finding(
        requirement=item.question.asked,
        holds=violating[0] == 0,
        limit=float(requirement.limit),
        reached=min(reached.values()) if low_is_bad else max(reached.values(), default=0.0),
        classes=collapsed.class_count(requirement.attributes),
        violating_classes=violating[0],
        violating_records=violating[1],
        by_value=by_value,
        absent_values=tuple(text for position, text in item.texts.items() if position not in reached),
        counted=collapsed.unit,
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
        values={"sign": 1 if low_is_bad else -1, "groups": groups},
    )
    return [
        Group(asked, columns, tuple(values), item.texts.get(position), records, reached, violates)
        for position, records, reached, violates, *values in collapsed.engine.query(text, step="worst_groups")
    ]
