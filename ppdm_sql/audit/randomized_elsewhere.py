"""The owner's audit of a randomized table whose records live elsewhere, in aggregates that are made there.

It asks what :mod:`~ppdm_sql.audit.randomized` asks. Sums of fingerprints are compared within the engine that
holds both tables, since no two engines have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ppdm_sql.audit.fingerprints import fingerprint, plain_column, total
from ppdm_sql.audit.moments import Moments
from ppdm_sql.audit.noise import NoiseModel, noise_models
from ppdm_sql.audit.randomized import (
    MANY_FOR_VARIANCE,
    RandomizedAudit,
    RandomizedPromise,
    Side,
    refuse_faults,
)
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import alias, column
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.engine.types import Kind, double, kind_of
from ppdm_sql.taxonomy.model import Interval

WIDE = exp.DataType.Type.INT128


def accept_elsewhere(
    engine: Engine, source: Source, released: Source, promise: RandomizedPromise
) -> RandomizedAudit:
    """Audit a randomized release where it lives, and refuse it if anything is not as promised.

    Args:
        engine: Where aggregates are handed over.
        source: The source.
        released: The rows as they were written.
        promise: What they promise; no person gets one draw.

    Raises:
        GuaranteeNotMet: The released rows are not what this noise makes of the source.

    Cost: one scan of both tables, one of the release for each column of numbers, and a GROUP BY of both for
    each column of categories.
    """
    types = {name: promise.columns[name].type for name in promise.noises}
    with engine.workspace():
        models = noise_models(engine, promise.noises, types)
        before, after = (_side(rows, promise, models, rows is source) for rows in (source, released))
        shown = {name: _values(engine, released, name) for name, it in models.items() if not it.added}
        true = {name: _values(engine, source, name) for name, it in models.items() if it.kind == "retain"}
        strays = {
            name: _impossible_numbers(released, name, model)
            if model.added
            else sum(n for value, n in shown[name].items() if value not in model.labels)
            for name, model in models.items()
        }
    frequencies = {name: _both(found, shown[name]) for name, found in true.items()}
    few = tuple(name for name, found in before.moments.items() if found.values < MANY_FOR_VARIANCE)
    audit = RandomizedAudit(models, before, after, strays, frequencies, few, {}, {})
    refuse_faults(audit, promise)
    return audit


def _side(
    rows: Source, promise: RandomizedPromise, models: Mapping[str, NoiseModel], is_source: bool
) -> Side:
    """Measure source or release in one scan; cells are worked out of the originals of the source."""
    labels = [
        _cell(name, model) if is_source else column(name, "s")
        for name, model in models.items()
        if model.kind == "cells"
    ]
    carried = known_values([promise.columns[name] for name in promise.carried])
    missing = [column(name, "s").is_(exp.null()) for name in promise.noises]
    added = [name for name, model in models.items() if model.added]
    measures = [exp.Count(this=exp.Star()), _total([*missing, *carried, *labels])]
    measures += [measure for name in added for measure in _measures(name)]
    (found,) = rows.aggregate(lambda table: exp.select(*measures).from_(table), step="audit sums")
    records, shared, *rest = found
    parts = {name: rest[4 * place : 4 * place + 4] for place, name in enumerate(added)}
    return Side(
        int(records),
        int(shared),
        {name: Moments(int(n), float(mean), float(spread)) for name, (n, mean, spread, _) in parts.items()},
        {name: int(part[3]) for name, part in parts.items()},
    )


def _measures(name: str) -> list[exp.Expression]:
    mean = exp.Anonymous(this="favg", expressions=[_double(name)])
    numbers = (mean, exp.StddevPop(this=_double(name)))
    known: list[exp.Expression] = [exp.Coalesce(this=number, expressions=[literal(0)]) for number in numbers]
    return [exp.Count(this=column(name, "s")), *known, _total([_double(name)])]


def _total(values: list[exp.Expression]) -> exp.Expression:
    return total(exp.cast(fingerprint(values), WIDE))


def known_values(columns: Sequence[Column]) -> list[exp.Expression]:
    """Give what a fingerprint is made of where columns are released as they are.

    A hash may pass over NULL, so that the same values in other columns would have the same.
    """
    missing = [column(item.name, "s").is_(exp.null()) for item in columns]
    return [*missing, *map(_known, columns)]


def _known(item: Column) -> exp.Expression:
    """Give a column that is released as it is; zero without its sign, as the release has it."""
    value = plain_column(item)
    return (
        exp.Add(this=value, expression=exp.cast(literal(0), item.type))
        if kind_of(item.type) is Kind.REAL
        else value
    )


def _double(name: str) -> exp.Expression:
    return exp.cast(column(name, "s"), "DOUBLE")


def _cell(name: str, model: NoiseModel) -> exp.Expression:
    """Work out the cell in which an original lies by the bounds in the labels; NULL for one in none."""
    case = exp.case()
    for label in model.labels:
        bounds = Interval.of_label(label)
        if bounds is None or bounds.lower is None or bounds.upper is None:
            continue
        low = exp.GTE(this=_double(name), expression=double(float(bounds.lower)))
        ends = exp.LTE if bounds.closed else exp.LT
        high = ends(this=_double(name), expression=double(float(bounds.upper)))
        case = case.when(exp.and_(low, high), literal(label))
    return case


def _values(engine: Engine, rows: Source, name: str) -> dict[str, int]:
    """Count the records of each value, as text and NULL aside."""
    read = rows.counted(engine, [name], None)
    records = exp.cast(exp.Sum(this=column(read.count or "")), "BIGINT")
    value = exp.cast(column(name), "TEXT")
    query: Any = exp.select(alias(value, "value"), records).from_(read.table.expression())
    found = engine.query(render(query.group_by(value.copy())), step="audit frequencies")
    return {value: int(n) for value, n in found if value is not None}


def _both(before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[str, int, int]]:
    return [(value, before.get(value, 0), after.get(value, 0)) for value in {**before, **after}]


def _impossible_numbers(rows: Source, name: str, model: NoiseModel) -> int:
    """Count the records with a number that its noise cannot give, as ``audit/impossible_numbers`` does."""
    faults: list[exp.Expression] = [exp.Not(this=exp.Anonymous(this="isfinite", expressions=[_double(name)]))]
    if model.kind == "uniform":
        reach = model.amount + model.unit / 2 + 1e-12 * (abs(model.lower) + abs(model.upper))
        faults.append(exp.LT(this=_double(name), expression=double(model.lower - reach)))
        faults.append(exp.GT(this=_double(name), expression=double(model.upper + reach)))
    if not model.rounded:
        steps = exp.Div(this=_double(name), expression=double(model.unit), typed=False, safe=False)
        faults.append(exp.NEQ(this=steps, expression=exp.Floor(this=steps.copy())))
    elif model.whole:
        faults.append(exp.NEQ(this=_double(name), expression=exp.Floor(this=_double(name))))
    counted = exp.select(exp.Count(this=exp.Star()))
    wrong = exp.or_(*faults)
    ((records,),) = rows.aggregate(lambda table: counted.from_(table).where(wrong), step="impossible_numbers")
    return int(records)
