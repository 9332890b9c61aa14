"""What a table that is a sample tells of its population: population uniques, risks by weights, households."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import check_persons
from ppdm_sql.engine.statements import Statement, bind, sql
from ppdm_sql.errors import InvalidSource

LARGE_SAMPLE = 0.1
"""Sampling fraction above which the rule of Dankar et al. does not take Pitman's model."""
SMALLEST = 1e-9
Vector = NDArray[np.float64]


class Estimate(NamedTuple):
    """How many persons of a population nobody is like, estimated from a sample of it.

    Args:
        model: ``Zayatz``, ``Pitman`` or ``Dankar``, the rule that chooses between the two.
        population_uniques: The estimate; None where the model has no solution.
        share: Of the population, in [0, 1].
        in_sample: How many of them are to be expected in the table.
        converged: Whether the model was solved; one in closed form always is.
        chosen: For the rule, the model that it took.
    """

    model: str
    population_uniques: float | None
    share: float | None
    in_sample: float | None
    converged: bool
    chosen: str = ""


def estimates(sizes: Mapping[int, int], population: int) -> tuple[Estimate, ...]:
    """Estimate the population uniques by each model.

    Args:
        sizes: How many classes of the sample have each size.
        population: Persons of the population.

    Source: Zayatz 1991; Pitman's model as Hoshino 2001 has it; Dankar, El Emam, Neisa, Roffey 2012,
    doi:10.1186/1472-6947-12-66, without the SNB model, which is fragile: Zayatz's stands in its place.

    Example:
        >>> [one.population_uniques for one in estimates({2: 3}, 60)]
        [0.0, None, 0.0]
    """
    fraction = sum(size * classes for size, classes in sizes.items()) / population
    uniques = {"Zayatz": zayatz(sizes, population), "Pitman": pitman(sizes, population)}
    choice = "Pitman" if fraction <= LARGE_SAMPLE and uniques["Pitman"] is not None else "Zayatz"
    uniques["Dankar"] = uniques[choice] if 1 in sizes else 0.0
    took = {"Dankar": choice if 1 in sizes else "no sample unique"}
    return tuple(
        Estimate(model, None, None, None, converged=False)
        if number is None
        else Estimate(model, number, number / population, number * fraction, True, took.get(model, ""))
        for model, number in uniques.items()
    )


def zayatz(sizes: Mapping[int, int], population: int) -> float:
    """Estimate the population uniques by Zayatz's model: population classes are as large as those found."""
    size, classes, records = _counts(sizes)
    # h: of a class of each size exactly one record is in the sample
    rest = np.maximum(population - size - records + 1, 0)
    log = np.log(size) + _log_binomial(population - size, rest) - _log_binomial(population, records)
    once = np.where(population - size >= records - 1, np.exp(log), 0.0)
    alone, expected = sizes.get(1, 0), float(classes @ once)
    return alone * alone * float(once[0]) / expected * population / records if alone and expected else 0.0


def _counts(sizes: Mapping[int, int]) -> tuple[Vector, Vector, float]:
    """Give the class sizes in order, the number of classes of each, and all records."""
    size, classes = (np.array(part, dtype=float) for part in zip(*sorted(sizes.items()), strict=True))
    return size, classes, float(size @ classes)


def _log_binomial(of: Vector | int, part: Vector | float) -> Any:
    from scipy.special import gammaln  # type: ignore[import-untyped, unused-ignore]

    return gammaln(of + 1) - gammaln(part + 1) - gammaln(of - part + 1)


def pitman(sizes: Mapping[int, int], population: int) -> float | None:
    """Estimate the population uniques by Pitman's model; None where it has no solution in its range."""
    from scipy.optimize import root  # type: ignore[import-untyped, unused-ignore]
    from scipy.special import digamma, expit, gammaln, logit

    once, twice = sizes.get(1, 0), sizes.get(2, 0)
    size, classes, records = _counts(sizes)
    number = float(classes.sum())
    start = _start(once, twice, records, number)
    if start is None:
        return None

    def parameters(pair: Vector) -> Any:
        """Give theta and alpha of any two numbers: alpha is in (0, 1), and theta + alpha above 0."""
        alpha = expit(pair[0])
        return np.exp(pair[1]) - alpha, alpha

    def equations(pair: Vector) -> Vector:
        """Give the derivatives of the log-likelihood; sums of 1 / (a + i) are differences of digammas."""
        theta, alpha = parameters(pair)
        sums = (digamma(number + theta / alpha) - digamma(1 + theta / alpha)) / alpha
        by_theta = sums - digamma(records + theta) + digamma(1 + theta)
        within = classes @ (digamma(size - alpha) - digamma(1 - alpha))
        return np.array([by_theta, (number - 1 - theta * sums) / alpha - within])

    with np.errstate(all="ignore"):
        solution = root(equations, [logit(start[1]), np.log(sum(start))])
        theta, alpha = parameters(solution.x)
    if not solution.success or not SMALLEST < alpha < 1 - SMALLEST:
        return None
    uniques = float(np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(population)))
    return uniques if uniques <= population else None


def _start(once: int, twice: int, records: float, number: float) -> tuple[float, float] | None:
    """Give theta and alpha to start with, by the classes of one and of two records."""
    c = once * (once - 1) / twice if twice else 0.0
    below = 2 * once * number + once * c - records * c
    if not c or not below:
        return None
    theta = (records * number * c - once * (records - 1) * (2 * number + c)) / below
    alpha = (theta * (once - records) + (records - 1) * once) / (records * number)
    return max(theta, 0.1), min(max(alpha, 0.01), 0.99)


# -- risks of single records, and of households ------------------------------------------------------


class SummedRisk(NamedTuple):
    """The risks of records, or of households, summed up.

    Args:
        of: ``records``, ``persons`` or ``households``.
        number: How many.
        expected: How many re-identifications are to be expected: the sum of the risks.
        average: The mean risk.
        highest: The highest one.
        share_above: Share of them with a risk above the threshold, in [0, 1].
    """

    of: str
    number: int
    expected: float
    average: float
    highest: float
    share_above: float


def summed_risks(
    engine: Engine,
    table: Table,
    by: Sequence[str],
    weights: str | None,
    household: Sequence[str],
    person: Sequence[str],
    threshold: float,
) -> list[SummedRisk]:
    """Sum up the risks of records by their sampling weights, without which it is 1 / f, and of households."""
    if household:
        check_persons(engine, table, household, "household")
    weight = sql("1::DOUBLE")
    if weights is not None:
        _check(engine, table, weights)
        weight = sql("{w}::DOUBLE", w=column(weights, "s"))
    types = dict(engine.columns(table))
    values = exact_values(engine, table, [Column(name, types[name]) for name in (*by, *household, *person)])
    codes = [f"c{place}" for place in range(len(by))]
    rows = sql(
        "SELECT {read}, {household} AS household, {person} AS person, {weight} AS weight FROM {t} AS s",
        read=[sql("{v} AS {c}", v=values[name], c=column(c)) for name, c in zip(by, codes, strict=True)],
        household=_together(household, values),
        person=_together(person, values),
        weight=weight,
        t=table,
    )
    if person:  # each of whom is in a class once
        rows = sql("SELECT * REPLACE (max(weight) AS weight) FROM ({rows}) GROUP BY ALL", rows=rows)
    counting = "SELECT {c}, household, count(*) AS records, sum(weight) AS weight FROM ({rows}) GROUP BY ALL"
    text = sql(counting, c=[column(code) for code in codes], rows=rows)
    tables = {"weighted_records": engine.materialize("weighted_records", text)}
    text = bind("risk/individual_risks", tables=tables, columns={"columns": codes})
    risky = engine.materialize("individual_risks", text)
    of = "persons" if person else "records"
    totals = [] if weights is None else [_sum_up(engine, risky, of, threshold)]
    if household:
        text = bind("risk/household_risks", tables={"individual_risks": risky})
        homes = engine.materialize("household_risks", text)
        totals.append(_sum_up(engine, homes, "households", threshold))
    return totals


def _together(names: Sequence[str], values: Mapping[str, exp.Expression]) -> Statement:
    """Take several columns for one; none are the same in every row."""
    if not names:
        return sql("NULL::INTEGER")
    fields = [sql("{c} := {v}", c=column(f"c{place}"), v=values[name]) for place, name in enumerate(names)]
    return sql("struct_pack({fields})", fields=fields)  # a table holds no row without names


def _sum_up(engine: Engine, risky: Table, of: str, threshold: float) -> SummedRisk:
    text = bind("risk/risk_totals", tables={"individual_risks": risky}, values={"threshold": threshold})
    ((number, expected, highest, above),) = engine.query(text, step="risk_totals")
    return SummedRisk(of, number, expected, expected / number, highest, above / number)


def _check(engine: Engine, table: Table, weights: str) -> None:
    text = sql(
        "SELECT count(*) FROM {t} AS s WHERE ({w} > 0 AND isfinite({w})) IS NOT TRUE",
        w=sql("TRY_CAST({w} AS DOUBLE)", w=column(weights, "s")),
        t=table,
    )
    ((faulty,),) = engine.query(text, step="weight_faults")
    if faulty:
        raise InvalidSource(
            f"The weights {weights!r} are not numbers above 0 in {faulty} row{'s' * (faulty != 1)}.",
            "Say in every row how many persons of the population it stands for.",
        )
