"""Lays an audit out as tables; how they are printed is the caller's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ppdm_sql.audit.model import Audit, ClassSizes, Finding, Group, Identifiable, Inferences, Risk, Titled
from ppdm_sql.privacy.model import Measure, Template, requirement_of

_FINDING = ("requirement", "holds", "limit", "reached", "classes", "violating classes", "violating records")
_SIZES = ("class size", "classes", "records")


def tables(audit: Audit) -> list[Titled]:
    """Give an audit as (title, column names, rows), empty tables left out."""
    found = [_findings(audit.findings), *_worst(audit.worst)]
    for sizes in audit.class_sizes:
        found += [_class_sizes(sizes), _risks([r for r in audit.risks if _same(r, sizes)])]
    found += map(_inferences, audit.inferences)
    found += [table for item in audit.identifiable for table in _identifiable(item)]
    return [table for table in found if table[2]]


def _findings(findings: Iterable[Finding]) -> Titled:
    return "Requirements", _FINDING, [_finding(f) for f in findings]


def _finding(found: Finding) -> tuple[Any, ...]:
    """Give a row; what was only measured neither holds nor fails."""
    text = str(found.requirement)
    if isinstance(found.requirement, Measure):
        return text, None, None, found.reached, found.classes, None, None
    violating = found.violating_classes, found.violating_records
    return text, found.holds, found.limit, found.reached, found.classes, *violating


def _worst(worst: Iterable[Group]) -> list[Titled]:
    found: dict[str, Titled] = {}
    for group in worst:
        title = f"Worst groups of {group.requirement}"
        template = isinstance(requirement_of(group.requirement), Template)
        heading = (*group.columns, *(["inferred"] if template else []), "records", "reached", "violates")
        inferred = (group.inferred,) if template else ()
        row = (*group.values, *inferred, group.records, group.reached, group.violates)
        found.setdefault(title, (title, heading, []))[2].append(row)
    return list(found.values())


def _class_sizes(sizes: ClassSizes) -> Titled:
    rows = [
        (str(low) if low == high else f"{low}-{high}", classes, records)
        for low, high, classes, records in sizes.ranges
    ]
    return f"Class sizes on {', '.join(sizes.quasi_identifier)}", _SIZES, rows


def _risks(risks: list[Risk]) -> Titled:
    above = f"share above {risks[0].threshold:g}"
    heading = ("attacker", "population", "average", "highest", "records at highest", above)
    rows = [
        (r.attacker, r.population, r.average, r.highest, r.records_at_highest, r.share_above) for r in risks
    ]
    return f"Re-identification risk on {', '.join(risks[0].quasi_identifier)}", heading, rows


def _inferences(inferences: Inferences) -> Titled:
    title = f"Inferences from {', '.join(inferences.channel)} to {', '.join(inferences.sensitive)}"
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
