"""Finds out by itself which records a release may lack: those in classes that break a requirement.

Every record of the source is labelled as the final cut shows it, whether the release has it or not. The
classes that break a requirement go, the others are judged again without their records, until none breaks
one. What is left is what the release must show, no more and no less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.audit.auditing import judged_classes
from ppdm_sql.audit.fingerprints import fingerprint
from ppdm_sql.audit.labels import MaskedColumn, ShownColumn, labelled_columns
from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.privacy import Counts, Requirement
from ppdm_sql.privacy.level import labelled, over_labels, sources

RECORDS = "records"


@dataclass(frozen=True)
class LeftOut:
    """What a release may leave out.

    Args:
        share: Of the records of the source, in [0, 1).
        requirements: Those that a class must break to be left out.
        masked: The masked columns by the cut as it was before anything was left out.
        trees: Working table ``attribute, label, shown, ...`` of that cut, which is not recorded.
    """

    share: Fraction
    requirements: Sequence[Requirement]
    masked: Sequence[MaskedColumn]
    trees: Table


@dataclass(frozen=True)
class KeptRows:
    """The rows of a source that a release must show, and those that it must lack.

    Args:
        source: The source.
        lacking: Working table of the rows left out, with the columns wanted; None for none.
        rows: Gives the query of the rows that are kept.
    """

    source: Table
    lacking: Table | None
    rows: Callable[[], exp.Select]

    def table(self, engine: Engine) -> Table:
        """Give a table of the rows that are kept: the source itself where nothing is left out."""
        return self.source if self.lacking is None else engine.materialize("kept_source", self.rows())


def kept_rows(
    engine: Engine, source: Table, promise: LeftOut, needed: Sequence[str], count: str | None
) -> KeptRows:
    """Tell the rows of the source that the release must show from those that it must lack.

    Args:
        engine: Where all is.
        source: The source.
        promise: What may be left out.
        needed: The columns wanted.
        count: Column with the number of records of a row, or None.

    Raises:
        GuaranteeNotMet: More records are in classes that break a requirement than may be left out.

    Cost: two scans of the source, and the audit of its labelled combinations for each round.
    """
    # no class breaks by itself what counts classes; who is left out is told by the columns of all others
    named = [item.name for item in engine.columns(source)]
    asked = [over_labels(item, named) for item in promise.requirements if item.counts is not Counts.GROUPS]
    columns = list(dict.fromkeys(n for r in asked for n in (*r.attributes, *r.sensitive_columns)))
    labelled, values = _labelled(engine, source, promise, columns)
    rows = labelled.select(*(column(name, "s") for name in dict.fromkeys(needed)))
    if not columns:
        return KeptRows(source, None, lambda: rows)
    every = engine.materialize("labelled", _collapsed(labelled, values, count))
    kept = _settled(engine, every, asked, columns)
    whole, left = _records(engine, every), _records(engine, kept)
    names = [column(_name(place), "k") for place in range(len(columns))]
    codes = exp.select(fingerprint(names)).from_(exp.alias_(kept.expression(), "k", table=True))
    there = exp.In(this=fingerprint(values), query=codes.subquery())
    if whole == left:
        return KeptRows(source, None, lambda: rows)
    if (whole - left) * promise.share.denominator > promise.share.numerator * whole:
        raise GuaranteeNotMet(
            f"{whole - left} of {whole} records are in classes that break a requirement, which is more than "
            "may be left out; nothing was published.",
            "Report this as a defect.",
        )
    lacking = engine.materialize("lacking_source", rows.where(exp.Not(this=there.copy())))
    return KeptRows(source, lacking, lambda: rows.where(there.copy()))


def _name(place: int) -> str:
    return f"a{place}"


def _labelled(
    engine: Engine, source: Table, promise: LeftOut, columns: Sequence[str]
) -> tuple[exp.Select, list[exp.Expression]]:
    """Give the source ``s`` with the labels joined, and what each column shows in every record."""
    attributes = [column("attribute", "t"), alias(column("label", "t"), "text"), column("label", "t")]
    trees = exp.select(*attributes).from_(exp.alias_(promise.trees.expression(), "t", table=True))
    labels = engine.materialize("cut_labels", trees.where(column("shown", "t")))
    found = {item.name: item for item in labelled_columns(engine, source, labels, promise.masked)}
    types = {item.name: item for item in engine.columns(source)}
    names = [name for name in columns if name not in found]
    exact = exact_values(engine, source, [types[name] for name in sources(names)])
    kinds = {name: item.type for name, item in types.items()}
    plain = labelled(engine, source, exact, names, kinds)
    query = exp.select().from_(exp.alias_(source.expression(), "s", table=True))
    values = []
    for place, name in enumerate(columns):
        values.append(_shown(query, found[name], place) if name in found else plain[name])
    return query, values


def _shown(query: exp.Select, item: ShownColumn, place: int) -> exp.Expression:
    join = item.join(item.own, f"j{place}")
    if join is not None:
        query.append("joins", join)
    return item.label(item.own, f"j{place}")


def _collapsed(labelled: exp.Select, values: Sequence[exp.Expression], count: str | None) -> exp.Select:
    """Collapse the labelled source: ``a0, a1, ...`` and ``records``."""
    records: exp.Expression = exp.Count(this=exp.Star())
    query = labelled.select(*(alias(value.copy(), _name(place)) for place, value in enumerate(values)))
    if count is not None:
        records = exp.Sum(this=column(count, "s"))
        query = query.where(exp.GT(this=column(count, "s"), expression=literal(0)))
    query = query.select(alias(exp.cast(records, "BIGINT"), RECORDS))
    query.set("group", exp.Group(all=True))
    return query


def _settled(
    engine: Engine, every: Table, requirements: Sequence[Requirement], columns: Sequence[str]
) -> Table:
    """Take away the classes that break a requirement, again and again, until none does."""
    place = {name: _name(number) for number, name in enumerate(columns)}
    asked = [
        requirement.over(
            tuple(place[name] for name in requirement.attributes),
            tuple(place[name] for name in requirement.sensitive_columns),
        )
        for requirement in requirements
    ]
    kept = every
    while True:
        before = _records(engine, kept)
        kept = _without_bad(engine, kept, asked, list(place.values())) if before else kept
        if _records(engine, kept) == before:
            break
    return kept


def _without_bad(engine: Engine, rows: Table, asked: Sequence[Requirement], columns: Sequence[str]) -> Table:
    """Judge the classes of some rows, and give the rows that are in none that breaks a requirement."""
    collapsed, judged = judged_classes(engine, rows, asked, RECORDS)
    codes = dict(zip(columns, collapsed.codes(columns), strict=True))
    inner = exp.select("*").from_(collapsed.atoms.expression())
    good = []
    for number, item in enumerate(judged):
        keys = [column(code) for code in collapsed.codes(item.question.requirement.attributes)]
        called = exp.Window(this=exp.Min(this=column("atom")), partition_by=keys)
        inner = inner.select(alias(called, f"class{number}"))
        bad = exp.select(column("class", "j")).from_(
            exp.alias_(item.judgements.expression(), "j", table=True)
        )
        number_of = exp.EQ(this=column("requirement", "j"), expression=literal(item.question.number))
        bad = bad.where(exp.and_(number_of, column("violates", "j")))
        good.append(exp.Not(this=exp.In(this=column(f"class{number}", "r"), query=bad.subquery())))
    shown = [alias(column(code, "r"), name) for name, code in codes.items()]
    kept = exp.select(*shown, column(RECORDS, "r")).from_(inner.subquery("r")).where(*good)
    return engine.materialize("kept_classes", kept)


def _records(engine: Engine, table: Table) -> int:
    query = exp.select(exp.cast(exp.Sum(this=column(RECORDS)), "HUGEINT")).from_(table.expression())
    ((records,),) = engine.query(render(query), step="records")
    return int(records or 0)
