"""What the audit's steps say of a table: requirements, the distribution behind each, class sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.findings import summed_up, worst_groups
from ppdm_sql.audit.judging import judge_classes
from ppdm_sql.audit.model import ClassSizes, Finding, Group
from ppdm_sql.audit.questions import Judged, questions
from ppdm_sql.audit.recorded_cut import RecordedCut
from ppdm_sql.audit.risks import class_sizes
from ppdm_sql.audit.templates import template_groups
from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_columns
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Scalar, bind
from ppdm_sql.privacy import Counts, KAnonymity, Requirement
from ppdm_sql.privacy.level import with_labels

BARS = 20


@dataclass(frozen=True)
class Reached:
    """What the groups of one requirement reach, in bars of one width from 0.

    Args:
        width: Of a bar; the last of :data:`BARS` takes all that is beyond.
        bars: ``(bar, groups, records)``, those that are not empty.
    """

    width: float
    bars: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Measurements:
    """What was measured on a table.

    Args:
        findings: One for each requirement.
        reached: One for each requirement that is not about class sizes; None for the others.
        sizes: One for each quasi-identifier or channel, each set of columns once.
        smallest: The smallest classes of each of those, where they are asked for; they hold cells.
    """

    findings: tuple[Finding, ...]
    reached: tuple[Reached | None, ...]
    sizes: tuple[ClassSizes, ...]
    smallest: tuple[tuple[Group, ...], ...] = ()


def measured(
    engine: Engine,
    table: Table,
    asked: Sequence[Requirement],
    count: str | None,
    cut: RecordedCut | None = None,
    person: Sequence[str] = (),
    *,
    smallest: int = 0,
) -> Measurements:
    """Measure a table; nothing is measured where nothing is asked.

    Args:
        engine: Inside a workspace.
        table: What to measure.
        asked: The requirements.
        count: Its column of counts.
        cut: Of a release, by which populations are mapped.
        person: Columns that say whose record a row is; empty where records are counted.
        smallest: How many of the smallest classes of each set of columns to name by their values.

    Cost: one scan of the table, then scans of its distinct combinations.
    """
    if not asked:
        return Measurements((), (), ())
    columns = exact_columns(engine.columns(table))
    found = questions(asked, [item.name for item in columns], table=table.name)
    used = list(dict.fromkeys(chain(*(item.columns for item in found))))
    types = dict(with_labels(used, columns))
    collapsed = Collapsed(engine, table, used, count, person, cut=cut)
    for item in found:
        collapsed.class_count(item.requirement.attributes)
    judged = [one for group in template_groups(collapsed, found, types) for one in group.judge()]
    judged += [
        judge_classes(collapsed, item, types)
        for item in found
        if item.requirement.counts is not Counts.PROTECTED
    ]
    judged.sort(key=lambda one: one.question.number)
    groupings = {frozenset(item.requirement.attributes): item.requirement.attributes for item in found}
    sets = list(groupings.values())
    return Measurements(
        tuple(summed_up(collapsed, judged)),
        tuple(_reached(collapsed, one) for one in judged),
        tuple(class_sizes(collapsed, names) for names in sets),
        tuple(_smallest(collapsed, names, types, smallest) for names in sets) if smallest else (),
    )


def _smallest(
    collapsed: Collapsed, names: tuple[str, ...], types: Mapping[str, str], most: int
) -> tuple[Group, ...]:
    (question,) = questions([KAnonymity(2, names)], list(types), table=collapsed.source.name)
    return tuple(worst_groups(collapsed, judge_classes(collapsed, question, types), most))


def _reached(collapsed: Collapsed, judged: Judged) -> Reached | None:
    requirement = judged.question.requirement
    if requirement.counts in (Counts.RECORDS, Counts.POPULATION):
        return None
    width = bar_width(requirement)
    values: dict[str, Scalar] = {"requirement": judged.question.number, "width": width, "bars": BARS}
    text = bind("report/reached_counts", tables={"judgements": judged.judgements}, values=values)
    found = {
        bar: (groups, records) for bar, groups, records in collapsed.engine.query(text, step="reached_counts")
    }
    # a group without a protected value is not judged by its template: its confidence is 0
    unjudged = collapsed.class_count(requirement.attributes) - sum(groups for groups, _ in found.values())
    if unjudged > 0:
        groups, records = found.get(0, (0, 0))
        found[0] = groups + unjudged, records + collapsed.size[1] - sum(n for _, n in found.values())
    return Reached(width, tuple((bar, *found[bar]) for bar in sorted(found)))


def bar_width(requirement: Requirement) -> float:
    """Choose the width of the bars: 5 % for shares, 1 for a diversity, else a fifth of the limit."""
    if requirement.counts is Counts.PROTECTED:
        return 0.05
    limit = float(requirement.limit)
    if requirement.worst == "min":
        return 1.0
    return limit / 5 if limit > 0 else 0.05
