"""Lays an audit out as tables; how they are printed is the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ppdm_sql.audit.model import Audit, ClassSizes, Finding, Group, Identifiable, Inferences, Risk, Titled
from ppdm_sql.privacy.model import Asked, Measure, Template, attributes, requirement_of

_FINDING = ("requirement", "holds", "limit", "reached", "classes", "violating classes", "violating records")
LONG = 80
"""Characters of a requirement or a list of columns that a title can hold."""
_SIZES = ("class size", "classes", "records")


def tables(audit: Audit) -> list[Titled]:
    """Give an audit as (title, column names, rows), empty tables left out."""
    heads = Heads(audit.findings)
    found = [_findings(audit.findings, heads), *_worst(audit.worst, heads)]
    for sizes in audit.class_sizes:
        on = heads.columns(sizes.quasi_identifier)
        found += [_class_sizes(sizes, on), _risks([r for r in audit.risks if _same(r, sizes)], on)]
    found += [_inferences(item, heads.columns(item.channel)) for item in audit.inferences]
    found += [table for item in audit.identifiable for table in _identifiable(item)]
    return [table for table in found if table[2]]


class Heads:
    """What titles call requirements and columns: by a number where one of them is long.

    Args:
        findings: Of the audit, which list each requirement once.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._asked = [finding.requirement for finding in findings]
        self.numbered = any(len(str(asked)) > LONG for asked in self._asked)

    def requirement(self, asked: Asked) -> str:
        """Name a requirement."""
        return f"requirement {self._asked.index(asked) + 1}" if self.numbered else str(asked)

    def columns(self, names: Sequence[str]) -> str:
        """Name the columns of a class or channel."""
        text = ", ".join(names)
        same = (a for a in self._asked if {*attributes(requirement_of(a))} == {*names})
        asked = next(same, None) if len(text) > LONG else None
        return text if asked is None else f"the columns of {self.requirement(asked)}"


def _findings(findings: Iterable[Finding], heads: Heads) -> Titled:
    rows = [_finding(found) for found in findings]
    if not heads.numbered:
        return "Requirements", _FINDING, rows
    return "Requirements", ("number", *_FINDING), [(n, *row) for n, row in enumerate(rows, 1)]


def _finding(found: Finding) -> tuple[Any, ...]:
    """Give a row; what was only measured neither holds nor fails."""
    text = str(found.requirement)
    if isinstance(found.requirement, Measure):
        return text, None, None, found.reached, found.classes, None, None
    violating = found.violating_classes, found.violating_records
    return text, found.holds, found.limit, found.reached, found.classes, *violating


def _worst(worst: Iterable[Group], heads: Heads) -> list[Titled]:
    found: dict[str, Titled] = {}
    for group in worst:
        title = f"Worst groups of {heads.requirement(group.requirement)}"
        template = isinstance(requirement_of(group.requirement), Template)
        heading = (*group.columns, *(["inferred"] if template else []), "records", "reached", "violates")
        inferred = (group.inferred,) if template else ()
        row = (*group.values, *inferred, group.records, group.reached, group.violates)
        found.setdefault(title, (title, heading, []))[2].append(row)
    return list(found.values())


def _class_sizes(sizes: ClassSizes, on: str) -> Titled:
    rows = [
        (str(low) if low == high else f"{low}-{high}", classes, records)
        for low, high, classes, records in sizes.ranges
    ]
    return f"Class sizes on {on}", _SIZES, rows


def _risks(risks: list[Risk], on: str) -> Titled:
    above = f"share above {risks[0].threshold:g}"
    heading = ("attacker", "population", "average", "highest", "records at highest", above)
    rows = [
        (r.attacker, r.population, r.average, r.highest, r.records_at_highest, r.share_above) for r in risks
    ]
    return f"Re-identification risk on {on}", heading, rows


def _inferences(inferences: Inferences, on: str) -> Titled:
    title = f"Inferences from {on} to {', '.join(inferences.sensitive)}"
    return title, ("confidence above", "inferences"), list(inferences.above)


def _identifiable(item: Identifiable) -> list[Titled]:
    totals = [
        ("uniquely", item.unique, item.unique),
        ("collectively", item.groups, item.grouped),
        ("not", item.other_patterns, item.others),
    ]
    rows = [(status, patterns, records, records / item.records) for status, patterns, records in totals]
    title = f"{item.confidential} identifiable by {', '.join(item.by)}"
    values = [(v.value, v.unique, v.groups, v.grouped, v.others) for v in item.by_value]
    more = f", {len(values)} of {item.values} values" if len(values) < item.values else ""
    heading = (item.confidential, "uniquely", "groups", "collectively", "not")
    return [
        (title, ("identifiable", "patterns", "records", "share"), rows),
        (f"{title}, by value{more}", heading, list(values)),
    ]


def _same(risk: Risk, sizes: ClassSizes) -> bool:
    return risk.quasi_identifier == sizes.quasi_identifier


def requirement_tables(findings: Sequence[Finding]) -> list[Titled]:
    """Give what was found of each requirement as a table; none where none was measured."""
    return [_findings(findings, Heads(findings))] if findings else []
