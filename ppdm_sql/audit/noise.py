"""Noise as a release records it, read by the audit itself, and what the released values say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ppdm_sql.audit.comparing import counted, text
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import Source, over
from ppdm_sql.engine.statements import Sql, Statement, bind, joined, sql
from ppdm_sql.engine.statements import text as step_text
from ppdm_sql.taxonomy.model import Interval

TOLERANCE = 1e-9
"""Of means and deviations, which differ in their last digits from one order of addition to another."""


@dataclass(frozen=True)
class NoiseModel:
    """The noise of one column.

    Example:
        >>> import duckdb
        >>> found = noise_models(Engine(duckdb.connect()), {"age": "cells 0,20,40.5"})
        >>> found["age"].labels
        ('[0, 20)', '[20, 40.5]')
    """

    kind: str | None  # ``gaussian``, ``uniform``, ``cells`` or ``retain``; None where the text cannot be read
    amount: float  # the scale, or the probability with which a category is kept
    lower: float  # the least original number
    upper: float  # the largest original number
    whole: bool  # whether original numbers are whole
    rounded: bool  # whether noisy numbers are rounded to the grid of the originals
    unit: float  # what noisy numbers are rounded to, or its upper bound
    labels: tuple[str, ...]  # of the cells, in order, or the categories

    @property
    def added(self) -> bool:
        return self.kind in ("gaussian", "uniform")

    def is_recorded(self, record: Mapping[str, Any]) -> bool:
        """Whether the parameters of a release say the same of the noise as its text."""
        return bool({"kind": self.kind, **self._fields()} == record)

    def _fields(self) -> dict[str, object]:
        if self.kind == "cells":
            cells = [interval for label in self.labels if (interval := Interval.of_label(label))]
            edges = [*(cell.lower for cell in cells), cells[-1].upper]
            return {"edges": [float(edge) for edge in edges if edge is not None]}
        if self.kind == "retain":
            return {"probability": self.amount, "values": list(self.labels)}
        domain = {"lower": self.lower, "upper": self.upper, "whole": self.whole}
        return {"scale": self.amount, "domain": domain, "rounded": self.rounded}

    def moments(self) -> tuple[float, float]:
        """Give variance and fourth central moment of added noise, that of rounding included."""
        # Rounded noise is at least as wide as the grid.
        unit = self.unit if self.rounded else 0.0
        if self.kind == "gaussian":
            variance = self.amount**2 + unit**2 / 12
            return variance, 3 * variance**2
        if not unit:
            return self.amount**2 / 3, self.amount**4 / 5
        # a number on the grid moves by k units as often as noise falls within half a unit of k
        reach = self.amount / unit
        last = math.floor(reach + 0.5)
        squares = (last - 1) * last * (2 * last - 1) / 6 + last**2 * (reach - last + 0.5)
        return unit**2 * squares / reach, (self.amount + unit / 2) ** 4 / 5


def noise_models(
    engine: Engine, noises: Mapping[str, str], types: Mapping[str, str] | None = None
) -> dict[str, NoiseModel]:
    """Read the noise of columns from the texts that a release keeps, as ``gaussian 5 on 0,99 rounded``."""
    known = [(types or {}).get(name, "") for name in noises]
    params = {"columns": list(noises), "noises": list(noises.values()), "types": known}
    rows = engine.query(step_text("audit/noise_models"), params, step="noise_models")
    models = {}
    for name, kind, amount, lower, upper, whole, rounded, unit, labels in rows:
        models[name] = NoiseModel(kind, amount, lower, upper, whole, rounded, unit, tuple(labels))
    return models


def impossible_values(engine: Engine, rows: Source, models: Mapping[str, NoiseModel]) -> dict[str, int]:
    """Count, for each column, the records with a value that its noise cannot give; NULL is none."""
    strays = {}
    for name, model in models.items():
        if model.added:
            strays[name] = _impossible_numbers(rows, name, model)
        else:
            known = model.labels if model.kind else ()  # noise that cannot be read gives nothing
            counts = frequencies(engine, rows, name)
            strays[name] = sum(n for label, n in counts.items() if label not in known)
    return strays


def frequencies(engine: Engine, rows: Source, name: str) -> dict[str, int]:
    """Count the records of each value, as text and NULL aside."""
    counts = rows.counted(engine, [name], None)
    query = sql(
        "SELECT {value} AS value, {n} FROM {rows} AS s GROUP BY ALL",
        value=text(column(name, "s")),
        n=counted(counts.count),
        rows=counts.table,
    )
    rows_of_values = engine.query(query, step="audit frequencies")
    return {value: int(n) for value, n in rows_of_values if value is not None}


def _impossible_numbers(rows: Source, name: str, model: NoiseModel) -> int:
    """Count the records with a number that its noise cannot give."""
    # Uniform noise ends at its scale, rounding goes half a unit further (and binary fractions a
    # little); what is not rounded to the grid of the originals is a multiple of a power of two.
    number = double(name)
    faults = [sql("NOT isfinite({v})", v=number)]
    if model.kind == "uniform":
        reach = model.amount + model.unit / 2 + 1e-12 * (abs(model.lower) + abs(model.upper))
        faults.append(sql("{v} < {low}", v=number, low=model.lower - reach))
        faults.append(sql("{v} > {high}", v=number, high=model.upper + reach))
    if not model.rounded:
        faults.append(sql("{v} / {unit} <> floor({v} / {unit})", v=number, unit=model.unit))
    elif model.whole:
        faults.append(sql("{v} <> floor({v})", v=number))
    wrong = joined(faults, " OR ")

    def query(table: Table) -> Statement:
        return sql("SELECT count(*) FROM {rows} AS s WHERE {wrong}", rows=table, wrong=wrong)

    ((records,),) = rows.aggregate(over(query), step="impossible_numbers")
    return int(records)


def double(name: str) -> Sql:
    return sql("{c}::DOUBLE", c=column(name, "s"))


# -- moments ---------------------------------------------------------------------------------------


class Moments(NamedTuple):
    """Of the values of a column that are not NULL."""

    values: int  # how many there are
    mean: float  # their mean, 0 where there is none
    deviation: float  # their standard deviation (of the population), 0 where there is none


def moments(engine: Engine, released: Table, names: Sequence[str]) -> dict[str, Moments]:
    """Measure the finite numbers of columns; two scans of each."""
    measured = {}
    for name in names:
        query = bind("audit/moments", tables={"released": released}, columns={"value": [name]})
        (row,) = engine.query(query, step="moments")
        measured[name] = Moments(*row)
    return measured


def same_moments(moments: Mapping[str, Moments], published: Mapping[str, Moments]) -> bool:
    """Tell whether moments are those that were published, but for their last digits."""
    return moments.keys() == published.keys() and all(_same(moments[n], published[n]) for n in moments)


def _same(one: Moments, other: Moments) -> bool:
    unit = max(one.deviation, other.deviation)
    mean = math.isclose(one.mean, other.mean, rel_tol=TOLERANCE, abs_tol=TOLERANCE * unit)
    deviation = math.isclose(one.deviation, other.deviation, rel_tol=TOLERANCE)
    return one.values == other.values and mean and deviation
