"""Lays the numbers of an audit out as tables; how they are printed is the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ppdm_sql.audit.model import ClassSizes, Counted, Finding, Group, Identifiable, Inferences, Risk
from ppdm_sql.privacy import Asked, Counts, Measure, requirement_of
from ppdm_sql.results import SHARE, ResultTable

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


def lay_out_findings(findings: Iterable[Finding], heads: Heads) -> ResultTable:
    """List the requirements, each with what was reached."""
    rows = [_finding(found) for found in findings]
    heading: tuple[str, ...] = (*_FINDING, f"violating {heads.counted}")
    if heads.numbered:
        heading, rows = ("number", *heading), [(n, *row) for n, row in enumerate(rows, 1)]
    return ResultTable("Requirements", heading, rows, {"limit": "", "reached": ""})


def _finding(found: Finding) -> tuple[Any, ...]:
    """Give a row; what was only measured neither holds nor fails."""
    text = str(found.requirement)
    if isinstance(found.requirement, Measure):
        return text, None, None, found.reached, found.classes, None, None
    violating = found.violating_classes, found.violating_records
    return text, found.holds, found.limit, found.reached, found.classes, *violating


def lay_out_worst(worst: Iterable[Group], heads: Heads) -> list[ResultTable]:
    """List the worst groups of each requirement."""
    found: dict[str, tuple[Sequence[str], list[Any]]] = {}
    for group in worst:
        title = f"Worst groups of {heads.requirement(group.requirement)}"
        infers = requirement_of(group.requirement).counts is Counts.PROTECTED
        heading = (*group.columns, *(["inferred"] if infers else []), heads.counted, "reached", "violates")
        inferred = (group.inferred,) if infers else ()
        row = (*group.values, *inferred, group.records, group.reached, group.violates)
        found.setdefault(title, (heading, []))[1].append(row)
    return [ResultTable(title, heading, rows) for title, (heading, rows) in found.items()]


def lay_out_class_sizes(sizes: ClassSizes, on: str, counted: Counted = "records") -> ResultTable:
    """Give the class sizes of a quasi-identifier, in ranges."""
    rows = [
        (str(low) if low == high else f"{low}-{high}", classes, records)
        for low, high, classes, records in sizes.ranges
    ]
    shown = "class size", "classes", counted
    return ResultTable(f"Class sizes on {on}", shown, rows)


def lay_out_risks(risks: list[Risk], on: str, counted: Counted = "records") -> ResultTable:
    """Give the risks under a quasi-identifier, an attacker a row."""
    above = f"share above {risks[0].threshold:g}"
    heading = ("attacker", "population", "average", "highest", f"{counted} at highest", above)
    rows = [
        (r.attacker, r.population, r.average, r.highest, r.records_at_highest, r.share_above) for r in risks
    ]
    shares = dict.fromkeys(("average", "highest", above), SHARE)
    return ResultTable(f"Re-identification risk on {on}", heading, rows, shares)


def lay_out_inferences(inferences: Inferences, on: str) -> ResultTable:
    """Give the number of inferences above each confidence."""
    title = f"Inferences from {on} to {', '.join(inferences.sensitive)}"
    above, shown = list(inferences.above), ("confidence above", "inferences")
    return ResultTable(title, shown, above, {shown[0]: SHARE})


def lay_out_identifiable(item: Identifiable, counted: Counted = "records") -> list[ResultTable]:
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
    shown = "identifiable", "patterns", counted, "share"
    return [
        ResultTable(title, shown, rows, {"share": SHARE}),
        ResultTable(f"{title}, by value{more}", heading, values),
    ]


def requirement_tables(findings: Sequence[Finding]) -> list[ResultTable]:
    """Give what was found of each requirement as a table; none where none was measured."""
    return [lay_out_findings(findings, Heads(findings, findings[0].counted))] if findings else []
