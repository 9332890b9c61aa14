"""Lays the numbers of an audit out as tables; how they are printed is the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ppdm_sql.audit.model import ClassSizes, Counted, Finding, Group, Identifiable, Inferences, Risk, Titled
from ppdm_sql.privacy import Asked, Counts, Measure, requirement_of

_FINDING = ("requirement", "holds", "limit", "reached", "classes", "violating classes")
LONG = 80
"""Characters of a requirement or a list of columns that a title can hold."""


class Heads:
    """What titles call requirements and columns: by a number where one of them is long.

    Args:
        findings: Of the audit, which list each requirement once.
        counted: What the audit counted.
    """

    def __init__(self, findings: Iterable[Finding], counted: Counted = "records") -> None:
        self.counted = counted
        self._asked = [finding.requirement for finding in findings]
        self.numbered = any(len(str(asked)) > LONG for asked in self._asked)

    def requirement(self, asked: Asked) -> str:
        """Name a requirement."""
        return f"requirement {self._asked.index(asked) + 1}" if self.numbered else str(asked)

    def columns(self, names: Sequence[str]) -> str:
        """Name the columns of a class or channel."""
        text = ", ".join(names)
        same = (a for a in self._asked if {*requirement_of(a).attributes} == {*names})
        asked = next(same, None) if len(text) > LONG else None
        return text if asked is None else f"the columns of {self.requirement(asked)}"


def lay_out_findings(findings: Iterable[Finding], heads: Heads) -> Titled:
    """List the requirements, each with what was reached."""
    rows = [_finding(found) for found in findings]
    heading = (*_FINDING, f"violating {heads.counted}")
    if not heads.numbered:
        return "Requirements", heading, rows
    return "Requirements", ("number", *heading), [(n, *row) for n, row in enumerate(rows, 1)]


def _finding(found: Finding) -> tuple[Any, ...]:
    """Give a row; what was only measured neither holds nor fails."""
    text = str(found.requirement)
    if isinstance(found.requirement, Measure):
        return text, None, None, found.reached, found.classes, None, None
    violating = found.violating_classes, found.violating_records
    return text, found.holds, found.limit, found.reached, found.classes, *violating


def lay_out_worst(worst: Iterable[Group], heads: Heads) -> list[Titled]:
    """List the worst groups of each requirement."""
    found: dict[str, Titled] = {}
    for group in worst:
        title = f"Worst groups of {heads.requirement(group.requirement)}"
        infers = requirement_of(group.requirement).counts is Counts.PROTECTED
        heading = (*group.columns, *(["inferred"] if infers else []), heads.counted, "reached", "violates")
        inferred = (group.inferred,) if infers else ()
        row = (*group.values, *inferred, group.records, group.reached, group.violates)
        found.setdefault(title, (title, heading, []))[2].append(row)
    return list(found.values())


def lay_out_class_sizes(sizes: ClassSizes, on: str, counted: Counted = "records") -> Titled:
    """Give the class sizes of a quasi-identifier, in ranges."""
    rows = [
        (str(low) if low == high else f"{low}-{high}", classes, records)
        for low, high, classes, records in sizes.ranges
    ]
    return f"Class sizes on {on}", ("class size", "classes", counted), rows


def lay_out_risks(risks: list[Risk], on: str, counted: Counted = "records") -> Titled:
    """Give the risks under a quasi-identifier, an attacker a row."""
    above = f"share above {risks[0].threshold:g}"
    heading = ("attacker", "population", "average", "highest", f"{counted} at highest", above)
    rows = [
        (r.attacker, r.population, r.average, r.highest, r.records_at_highest, r.share_above) for r in risks
    ]
    return f"Re-identification risk on {on}", heading, rows


def lay_out_inferences(inferences: Inferences, on: str) -> Titled:
    """Give the number of inferences above each confidence."""
    title = f"Inferences from {on} to {', '.join(inferences.sensitive)}"
    return title, ("confidence above", "inferences"), list(inferences.above)


def lay_out_identifiable(item: Identifiable, counted: Counted = "records") -> list[Titled]:
    """Give the identifiable records of a confidential column, in total and by value."""
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
        (title, ("identifiable", "patterns", counted, "share"), rows),
        (f"{title}, by value{more}", heading, list(values)),
    ]


def requirement_tables(findings: Sequence[Finding]) -> list[Titled]:
    """Give what was found of each requirement as a table; none where none was measured."""
    return [lay_out_findings(findings, Heads(findings, findings[0].counted))] if findings else []
