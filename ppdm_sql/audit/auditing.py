"""Measures any table or view, whatever made it; shares nothing with the methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ppdm_sql.audit.collapsing import Collapsed, RecordedCut
from ppdm_sql.audit.judging import count_inferences, finding, judge, questions, worst_groups
from ppdm_sql.audit.model import Audit, Finding
from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_columns
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.engine.source import count_column, person_columns, source_of
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import ColumnRoleError, InvalidOption
from ppdm_sql.privacy import Asked, Requirement, requirement_of, resolve_measure
from ppdm_sql.privacy.level import with_labels
from ppdm_sql.privacy.quoting import Number, read_share
from ppdm_sql.privacy.requirement import unknown_value

if TYPE_CHECKING:
    from ppdm_sql.audit.exposure import Population

THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Confidences above which inferences are counted unless others are given."""


def findings(
    engine: Engine,
    table: Table,
    requirements: Sequence[Requirement],
    *,
    count: str | None = None,
    person: Sequence[str] = (),
    cut: RecordedCut | None = None,
) -> list[Finding]:
    """Say for each requirement whether it holds on a table, and what was reached; one finding for each.

    For rows as a release shows them, ``cut`` is what it records of its cut, by which populations are mapped.
    Cost: one scan of the table, which collapses it; then one scan of the collapsed rows per channel or
    quasi-identifier and one per pair of it with a sensitive column. A count column is read once more.
    """
    if not requirements:
        return []
    with engine.workspace():
        return AuditRun(engine, table, requirements, count=count, person=person, cut=cut).findings


def broken_classes(
    engine: Engine,
    table: Table,
    requirements: Sequence[Requirement],
    person: Sequence[str] = (),
    count: str | None = None,
) -> list[tuple[tuple[str, ...], Table]]:
    """Give the classes of a table, of at least one row, that break a requirement.

    For each requirement that some class breaks its columns, and a working table of those classes, whose
    columns ``a0, a1, ...`` hold their values.
    """
    run, found = AuditRun(engine, table, requirements, count=count, person=person), []
    for item in run.judged:
        names = item.question.requirement.attributes
        keys = [column(code) for code in run.collapsed.codes(names)]
        query = sql(
            "SELECT DISTINCT {values} FROM "
            "(SELECT *, min(atom) OVER (PARTITION BY {keys}) AS class FROM {atoms}) AS r "
            "WHERE r.class IN (SELECT j.class FROM {t} AS j WHERE j.violates)",
            values=[sql("{k} AS a{place}", k=key, place=place) for place, key in enumerate(keys)],
            keys=keys,
            atoms=run.collapsed.atoms,
            t=item.judgements,
        )
        made = engine.materialize("broken_classes", query)
        found += [(names, made)] if engine.size(made) else []
    return found


def audit(
    engine: Engine,
    table: Table,
    requirements: Sequence[Asked] = (),
    *,
    count: str | None = None,
    quasi_identifier: Sequence[str] | None = None,
    thresholds: Sequence[Number] | None = None,
    population: tuple[Table, str | None] | None = None,
    groups: int = 0,
    confidential: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    by: Sequence[str] = (),
    allow_absent: bool = False,
    person: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> Audit:
    """Measure a table: requirements, class sizes, risk, inferences, what columns give away of others.

    Alone, it is a first look at the columns. Cost: as :func:`findings`, one scan of the population, and
    scans of the classes; for a first look as :func:`~ppdm_sql.audit.profiling.profile`. A population that
    has a column of the name of ``count``, and no count column of its own, is counted by it too.
    """
    confidences = THRESHOLDS if thresholds is None else thresholds
    limits = [read_share(item, "--threshold", "[0, 1]") for item in confidences]
    if not (requirements or quasi_identifier or confidential or sensitive or by):
        if population is not None:
            raise InvalidOption(
                "A population is given, and no columns to find persons by.", "Give --by Age,Gender."
            )
        if person:
            raise InvalidOption(
                "Persons are to be counted, and no columns are given to find them by.",
                "Give --by Age,Gender, or --require 'k >= 5 on Age, Gender'.",
            )
        return _first_look(engine, table, count, categories)
    if categories:
        raise InvalidOption(
            "--category tells the first look at a table what a column is, and this is none.",
            "Leave --category out, or all that asks for a measure.",
        )
    with engine.workspace():
        names = [item.name for item in engine.columns(table)]
        measures = [resolve_measure(item, names, table=table.name) for item in requirements]
        known = KnownColumns(by, confidential, sensitive)
        run = AuditRun(engine, table, measures, quasi_identifier or (), known, count=count, person=person)
        for finding in () if allow_absent else run.findings:
            if finding.absent_values:
                (column,) = requirement_of(finding.requirement).sensitive_columns
                raise unknown_value(column, finding.absent_values)
        everybody = None
        if population is not None:
            from ppdm_sql.audit.exposure import population_of

            together = list(chain(*run.groupings))
            everybody = population_of(engine, *population, run.collapsed, together, run.person, count)
        report = run.report(everybody, limits, groups)
        return replace(report, notices=_noticed(engine, table, count, person))


def _first_look(engine: Engine, table: Table, count: str | None, categories: Sequence[str]) -> Audit:
    """Measure what a table looks like of which nothing is asked."""
    from ppdm_sql.audit.profiling import profile

    notices = _noticed(engine, table, count, (), beside=" beside --by or --require")
    look = profile(engine, table, count, categories)
    if names := ", ".join(source_of(engine, table).unreadable()):
        notices += (f"Not looked at, as their values cannot be read from where they live: {names}.",)
    return Audit(profile=look, notices=notices)


def _noticed(
    engine: Engine, table: Table, count: str | None, person: Sequence[str], beside: str = ""
) -> tuple[str, ...]:
    """Tell of a column that seems to say whose a row is, where rows are counted."""
    if person or count is not None:
        return ()
    from ppdm_sql.audit.before_publishing import repeated_persons

    columns, otherwise = engine.columns(table), "rows are counted here"
    return tuple(repeated_persons(engine, table, columns, otherwise=otherwise, beside=beside))


class KnownColumns(NamedTuple):
    """Columns that others may know, and those that they may give away."""

    by: Sequence[str] = ()  # the known ones
    confidential: Sequence[str] = ()  # columns whose values the known ones may give away record by record
    sensitive: Sequence[str] = ()  # columns of which the classes of the known ones may tell too much


def _known_columns(asked: KnownColumns, columns: Sequence[str], *, table: str) -> KnownColumns:
    """Find the columns, spelled as in the table."""
    if not asked.by and (asked.confidential or asked.sensitive):
        option = "--confidential" if asked.confidential else "--sensitive"
        raise InvalidOption(
            f"{option} is given without --by.", "Name what others may know: --by Age,Gender,Location."
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
    return KnownColumns(known, confidential, sensitive)


class AuditRun:
    """One audit: the table, collapsed, and the requirements with every class judged by them."""

    def __init__(
        self,
        engine: Engine,
        table: Table,
        requirements: Sequence[Asked],
        quasi_identifier: Sequence[str] = (),
        known: KnownColumns | None = None,
        *,
        count: str | None = None,
        person: Sequence[str] = (),
        cut: RecordedCut | None = None,
    ) -> None:
        columns = exact_columns(engine.columns(table))
        names = [item.name for item in columns]
        questioned = questions(requirements, names, table=table.name)
        explicit = resolve_all(quasi_identifier, names, table=table.name)
        self.known = known = _known_columns(known or KnownColumns(), names, table=table.name)
        self._exposes = bool(known.by) and not (known.confidential and not known.sensitive)
        groupings = [explicit] if explicit else [item.requirement.attributes for item in questioned]
        once: dict[frozenset[str], tuple[str, ...]] = {}  # whatever the order of the columns
        for together in (*groupings, *([tuple(known.by)] if self._exposes else [])):
            once.setdefault(frozenset(together), together)
        self.groupings = list(once.values())
        used = [*(item.columns for item in questioned), *self.groupings, *known]
        counted = count_column(count, columns, table=table.name)
        self.person = person_columns(person, columns, count=count, table=table.name)
        every = list(dict.fromkeys(chain(*used)))
        self.collapsed = Collapsed(engine, table, every, counted, self.person, cut)
        for together in self.groupings:
            self.collapsed.class_count(together)
        self.types = dict(with_labels(every, columns))
        self.judged = judge(self.collapsed, questioned, self.types)

    @cached_property
    def findings(self) -> list[Finding]:
        """The judgements summed up, one finding per requirement."""
        return [finding(self.collapsed, item) for item in self.judged]

    def report(self, everybody: Population | None, thresholds: Sequence[Fraction], groups: int) -> Audit:
        from ppdm_sql.audit.exposure import class_sizes, exposure, identifiable, risks

        if groups < 0:
            raise InvalidOption(f"{groups} groups cannot be named.", "Give 0 or more.")
        collapsed, known, judged = self.collapsed, self.known, self.judged if groups else []
        return Audit(
            findings=tuple(self.findings),
            worst=tuple(group for item in judged for group in worst_groups(collapsed, item, groups)),
            class_sizes=tuple(class_sizes(collapsed, qi) for qi in self.groupings),
            risks=tuple(risk for qi in self.groupings for risk in risks(collapsed, qi, everybody)),
            inferences=count_inferences(collapsed, self.judged, thresholds),
            identifiable=tuple(identifiable(collapsed, name, known.by) for name in known.confidential),
            exposure=exposure(collapsed, known.by, known.sensitive, self.types) if self._exposes else None,
            counted=collapsed.unit,
        )
