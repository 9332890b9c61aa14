"""Holds a masked table against its source: every label shown must be true of so many records as show it.

What a column must show of a value is worked out here a second time, from the value, the taxonomy that the
owner gave or the bounds in the labels, and from the labels that the release shows: never from codes and cuts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.taxonomy.model import Taxonomy


@dataclass(frozen=True)
class MaskedColumn:
    """A column of which values or labels are shown.

    Args:
        name: The column.
        top: What it shows in the most general state.
        suppressed: Whether it shows values or the symbol; else values are shown as intervals or nodes.
        taxonomy: Whose nodes it shows; None for values and for intervals grown in the run.
        by_interval: Whether the leaves of the taxonomy are intervals.
    """

    name: str
    top: str
    suppressed: bool
    taxonomy: Taxonomy | None = None
    by_interval: bool = False


@dataclass(frozen=True)
class MaskingPromise:
    """What a masked release promises.

    Args:
        masked: The masked columns.
        carried: Columns that are released as they are.
        pseudonyms: Columns that show one pseudonym for each value.
        count: Column with the number of records of a row, or None.
        cuts: Working table ``attribute, value, generalized``, which the release will record.
    """

    masked: Sequence[MaskedColumn]
    carried: Sequence[Column]
    pseudonyms: Sequence[str]
    count: str | None
    cuts: Table


def accept_masked(engine: Engine, source: Table, released: exp.Select, promise: MaskingPromise) -> None:
    """Compare the released rows with the source, and refuse them if anything is not as promised.

    Combinations are told apart by sums of fingerprints of 64 bits.

    Raises:
        GuaranteeNotMet: A record shows what is not true of it, or the cut recorded is another one.

    Cost: two GROUP BYs of one column for each masked column, and one scan of both tables.
    """
    with engine.workspace():
        shown = engine.overlay(released)
        labels = {item.name: _labels(engine, source, shown, item) for item in promise.masked}
        before = _fingerprint(engine, source, promise, labels)
        after = _fingerprint(engine, shown, promise, {})
        recorded = _misrecorded(engine, promise.cuts, labels)
    found = [
        (before != after, "records show what the source does not say of them"),
        (recorded, f"the cut of {recorded} values is recorded otherwise"),
    ]
    faults = [words for wrong, words in found if wrong]
    if faults:
        raise GuaranteeNotMet(
            f"The masked rows are not what was promised: {'; '.join(faults)}; nothing was published.",
            "Report this as a defect.",
        )


def _labels(engine: Engine, source: Table, released: Table, item: MaskedColumn) -> Table:
    """Work out what a column must show of each value: ``value, label``."""
    params: dict[str, object] | None = None
    if item.suppressed:
        step = "suppressed_values"
    elif item.taxonomy is None:
        step = "interval_values"
    else:
        step = "interval_taxonomy_values" if item.by_interval else "taxonomy_values"
        params = _paths(item.taxonomy)
    tables = {"source": source, "released": released}
    query = bind(f"audit/{step}", tables=tables, columns={"attribute": [item.name]}, values={"top": item.top})
    return engine.materialize(step, query, params)


def _paths(taxonomy: Taxonomy) -> dict[str, object]:
    """List each leaf with itself and every label above it, the root at depth 1."""
    above = [(path[0], label, len(path) - i) for path in taxonomy.paths() for i, label in enumerate(path)]
    leaves, labels, depths = (list(part) for part in zip(*above, strict=True))
    return {"leaves": leaves, "labels": labels, "depths": depths}


def _fingerprint(
    engine: Engine, rows: Table, promise: MaskingPromise, labels: Mapping[str, Table]
) -> tuple[object, ...]:
    """Count the records and add up their fingerprints; columns without ``labels`` show their own."""
    query = exp.select().from_(exp.alias_(rows.expression(), "s", table=True))
    values: list[exp.Expression] = []
    for place, item in enumerate(promise.masked):
        own: exp.Expression = column(item.name, "s")
        if item.name in labels:
            name = f"l{place}"
            same = exp.NullSafeEQ(this=column("value", name), expression=own)
            table = exp.alias_(labels[item.name].expression(), name, table=True)
            query.append("joins", exp.Join(this=table, side="LEFT", on=same))
            own = column("label", name)
        values.append(exp.cast(own, "TEXT"))
    values += [without_enum(column(item.name, "s"), item.type) for item in promise.carried]
    whole: exp.Expression = exp.Anonymous(this="hash", expressions=values or [literal(0)])
    records: exp.Expression = exp.Count(this=exp.Star())
    if promise.count is not None:
        number = column(promise.count, "s")
        whole = exp.Mul(this=exp.cast(whole, "HUGEINT"), expression=number)
        records = exp.Sum(this=number.copy())
        query = query.where(exp.GT(this=number.copy(), expression=literal(0)))
    people = [exp.Count(this=exp.Distinct(expressions=[column(name, "s")])) for name in promise.pseudonyms]
    measures = [records, exp.Sum(this=whole), *people]
    named = [alias(exp.cast(measure, "HUGEINT"), f"m{place}") for place, measure in enumerate(measures)]
    (found,) = engine.query(render(query.select(*named)), step="masked fingerprints")
    return found


def _misrecorded(engine: Engine, cuts: Table, labels: Mapping[str, Table]) -> int:
    """Count the values of which the recorded cut says another label than the column must show."""
    parts = [
        exp.select(
            alias(literal(name), "attribute"),
            alias(exp.cast(column("value", "l"), "TEXT"), "value"),
            alias(column("label", "l"), "generalized"),
        ).from_(exp.alias_(table.expression(), "l", table=True))
        for name, table in labels.items()
    ]
    if not parts:
        return 0
    names = ("attribute", "value", "generalized")
    recorded = exp.select(*(column(name, "c") for name in names))
    recorded = recorded.from_(exp.alias_(cuts.expression(), "c", table=True))
    true = exp.select(*names).from_(
        (exp.union(*parts, distinct=False) if parts[1:] else parts[0]).subquery("t")
    )
    others = exp.except_(recorded, true)
    query = exp.select(exp.Count(this=exp.Star())).from_(others.subquery("o"))
    ((values,),) = engine.query(render(query), step="recorded cut")
    return int(values)
