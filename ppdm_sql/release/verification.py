"""Audits a published release afresh and checks that nobody has touched it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from ppdm_sql.audit import Finding, findings
from ppdm_sql.audit.model import requirement_tables
from ppdm_sql.audit.noise import impossible_values, moments, noise_models, same_moments
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql, text
from ppdm_sql.errors import EngineError
from ppdm_sql.release.catalogue import LOCATION, CatalogueRow
from ppdm_sql.release.labels import bound_beside, stored_text
from ppdm_sql.release.layout import SCHEMA, Shape, record_count
from ppdm_sql.release.versions import version_checks, versions_of
from ppdm_sql.results import Result, ResultTable


@dataclass(frozen=True)
class Check:
    """Something that must be as it was when the release was published."""

    check: str
    holds: bool


@dataclass(frozen=True)
class Verification(Result):
    """What a fresh look at a release found.

    Args:
        findings: One for each requirement; empty where the frozen table is so changed that none can be
            measured.
        checks: Columns, records, labels and bounds, marginals of swapped columns, and the view.
    """

    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every requirement holds and nothing was changed."""
        return all(found.holds for found in self.findings) and all(check.holds for check in self.checks)

    def tables(self) -> list[ResultTable]:
        """Give the requirements, each with what was reached, and the checks."""
        checks: list[tuple[Any, ...]] = [(check.check, check.holds) for check in self.checks]
        return [*requirement_tables(self.findings), ResultTable("Release", ("check", "holds"), checks)]


def verify(engine: Engine, row: CatalogueRow, shape: Shape, *, everywhere: bool = False) -> Verification:
    """Audit the frozen table of a release; writes nothing, so a read-only file will do."""
    columns = _columns(engine, shape)
    records = _records(engine, shape) if set(shape.stored_names) <= set(columns) else 0
    checks = [
        Check("the columns are those published", columns == shape.stored_names),
        Check("the records are as many as published", records == row.rows),
        view_check(engine, shape),
    ]
    if everywhere and (record := row.parameters.get(LOCATION)) is not None:
        from ppdm_sql.release.placing import placed_as_published

        files, rows = placed_as_published(engine, shape, record)
        checks += [
            Check(f"the files of {record['target']} are those published", files),
            Check(f"the rows of {record['target']} are those of the release", rows),
        ]
    changed = not all(check.holds for check in checks)
    if not records or shape.outside and changed:  # files that were changed may be none that can be read
        return Verification((), tuple(checks))
    checks += value_checks(engine, shape)
    checks += [Check(*one) for one in version_checks(engine, versions_of(engine, shape), row.asked)]
    of = engine, shape.frozen, row.asked
    found = findings(*of, count=shape.count, person=shape.people, cut=shape.recorded)
    return Verification(tuple(found), tuple(checks))


def view_check(engine: Engine, shape: Shape) -> Check:
    return Check("the view reads the release and nothing else", reads_release(engine, shape))


def value_checks(engine: Engine, shape: Shape, *, unseen: bool = False) -> list[Check]:
    """Check that masked columns show what the steps say, and the bounds beside them what the labels say.

    New records may hold ``unseen`` values, for which the most general label stands.
    """
    checks = []
    if shape.masked:
        none = engine.number(_integrity_faults(shape, unseen=unseen), step="verify") == 0
        checks.append(Check("masked columns show labels of the cut only", none))
    if (bounds := _false_bounds(shape)) is not None:
        none = engine.number(bounds, step="verify") == 0
        checks.append(Check("bounds are those of the intervals shown", none))
    for name, published in shape.marginals.items():
        same = marginal(engine, shape, name) == published
        checks.append(Check(f"the values of {name} are as frequent as published", same))
    noises = {item.name: item.noise for item in shape.columns if item.noise is not None}
    if not (noises or shape.moments):
        return checks
    with engine.workspace():
        released = engine.overlay(shape.rows())
        if noises:
            rows = source_of(engine, released)
            impossible = impossible_values(engine, rows, noise_models(engine, noises))
            checks.append(Check("the noise can give all values shown", not any(impossible.values())))
        if shape.moments:
            found = moments(engine, released, list(shape.moments))
            checks.append(Check("means and deviations are as published", same_moments(found, shape.moments)))
    return checks


def marginal(engine: Engine, shape: Shape, name: str) -> dict[str, int]:
    """Count the records of each value of a column, as text and NULL aside; one scan of the frozen table."""
    query = sql(
        "SELECT CAST({v} AS TEXT), {records} FROM {rows} WHERE {v} IS NOT NULL GROUP BY ALL",
        v=column(name, "f"),
        records=shape.records("f"),
        rows=shape.stored(),
    )
    return dict(engine.query(query, step="marginal"))


def reads_release(engine: Engine, shape: Shape) -> bool:
    """Tell whether the view is still the one that was published: these columns of the frozen table."""
    where = {"catalog": shape.catalog, "schema": shape.schema, "name": shape.name}
    found = engine.query(text("release/view_text"), where, step="view text")
    try:
        stored = [sqlglot.parse_one(sql, dialect="duckdb").expression for (sql,) in found]
    except sqlglot.errors.SqlglotError:
        return False
    return [_plain(query) for query in stored if query is not None] == [_plain(shape.rows())]


def _plain(query: exp.Expression) -> exp.Expression:
    """Quote every name of a query, since the engine stores a view with as few quotes as will do."""
    for name in query.find_all(exp.Identifier):
        name.set("quoted", True)
    return query


def _columns(engine: Engine, shape: Shape) -> tuple[str, ...]:
    try:
        return tuple(name for name, *_ in engine.query(f"DESCRIBE {shape.frozen}", step="describe"))
    except EngineError:
        return ()


def _records(engine: Engine, shape: Shape) -> int:
    """Count the records; none where the release reads files of which one is no longer what it was."""
    try:
        return engine.number(record_count(shape), step="verify")
    except EngineError:
        if not shape.outside:
            raise
        return 0


def _integrity_faults(shape: Shape, *, unseen: bool) -> Statement:
    """Count the labels that masked columns show and that are not in the final cut.

    In a suppressed column that is any value which no step disclosed, except the symbol; in a generalized one
    any label which no step brought or a later one refined, but the most general one of ``unseen`` values.
    """
    labels = [
        sql(
            "SELECT {name} AS attribute, CAST(v.value AS TEXT) AS value, {top} AS top, {open} AS specializes "
            "FROM (SELECT DISTINCT {value} AS value FROM {rows}) AS v",
            name=literal(item.name),
            value=column(item.name, "f"),
            top=literal(shape.top(item.name)),
            open=item.treatment == "generalized",
            rows=shape.stored(),
        )
        for item in shape.columns
        if item.name in shape.masked
    ]
    # a column that some step specialized shows its top no more
    refined = (
        "s.specializes AND s.attribute IN (SELECT t.attribute FROM {steps} AS t WHERE t.release = {name})"
    )
    return sql(
        """
WITH shown AS ({shown})
SELECT count(*)
FROM ({labels}) AS s
LEFT JOIN shown AS l ON l.attribute = s.attribute AND l.value IS NOT DISTINCT FROM s.value
WHERE l.attribute IS NULL
    AND (s.value IS DISTINCT FROM s.top OR ({refined}))""",
        shown=bind("release/final_labels", tables={}, values={"release": shape.name}),
        labels=joined(labels, " UNION ALL "),
        refined=False if unseen else sql(refined, steps=Table("steps", SCHEMA), name=literal(shape.name)),
    )


def _false_bounds(shape: Shape) -> Statement | None:
    """Count rows with a bound that is not the shown interval's; None where no bounds are released."""
    false = [
        sql("{stored} IS DISTINCT FROM CAST({bound} AS TEXT)", stored=stored_text(item.name), bound=bound)
        for item in shape.columns
        if (bound := bound_beside(item, stored_text(item.of or ""))) is not None
    ]
    query = "SELECT count(*) FROM {rows} WHERE {false}"
    return sql(query, rows=shape.stored(), false=joined(false, " OR ")) if false else None
