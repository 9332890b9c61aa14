"""What a table that is a sample tells of its population: population uniques, risks by weights, households."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Statement, bind, sql
from ppdm_sql.engine.types import is_number
from ppdm_sql.errors import InvalidSource

LARGE_SAMPLE = 0.1
"""Sampling fraction above which the rule of Dankar et al. does not take Pitman's model."""
SMALLEST = 1e-9
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
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
    records = sum(size * classes for size, classes in sizes.items())
    fraction = records / population
    by_model = {"Zayatz": zayatz(sizes, population), "Pitman": pitman(sizes, population)}
    alone = sizes.get(1, 0)
    chosen = "Pitman" if fraction <= LARGE_SAMPLE and by_model["Pitman"] is not None else "Zayatz"
    by_model["Dankar"] = by_model[chosen] if alone else 0.0
    return tuple(
        Estimate(
            model,
            uniques,
            None if uniques is None else uniques / population,
            None if uniques is None else uniques * fraction,
            uniques is not None,
            (chosen if alone else "no sample unique") if model == "Dankar" else "",
        )
        for model, uniques in by_model.items()
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


def _log_binomial(of: Vector | int, chosen: Vector | float) -> Any:
    from scipy.special import gammaln  # type: ignore[import-untyped, unused-ignore]

    return gammaln(of + 1) - gammaln(chosen + 1) - gammaln(of - chosen + 1)


def pitman(sizes: Mapping[int, int], population: int) -> float | None:
    """Estimate the population uniques by Pitman's model; None where it has no solution in its range."""
    from scipy.optimize import root  # type: ignore[import-untyped, unused-ignore]
    from scipy.special import digamma, gammaln

    once, twice = sizes.get(1, 0), sizes.get(2, 0)
    size, classes, records = _counts(sizes)
    number = float(classes.sum())
    start = _start(once, twice, records, number)
    if start is None:
        return None

    def equations(given: Vector) -> Vector:
        """Give the derivatives of the log-likelihood; sums of 1 / (a + i) are differences of digammas."""
        theta, alpha = map(float, given)
        if not (SMALLEST < alpha < 1 and theta > -alpha):
            return np.array([np.inf, np.inf])
        sums = (digamma(number + theta / alpha) - digamma(1 + theta / alpha)) / alpha
        by_theta = sums - digamma(records + theta) + digamma(1 + theta)
        within = classes @ (digamma(size - alpha) - digamma(1 - alpha))
        return np.array([by_theta, (number - 1 - theta * sums) / alpha - within])

    with np.errstate(all="ignore"):
        solved = root(equations, start)
    theta, alpha = map(float, solved.x)
    if not solved.success or not (SMALLEST < alpha < 1 and theta > -alpha):
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
    return theta, (theta * (once - records) + (records - 1) * once) / (records * number)


# -- risks of single records, and of households ------------------------------------------------------


@dataclass(frozen=True)
class SummedRisk:
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
    *,
    weights: str | None,
    household: Sequence[str],
    person: Sequence[str],
    threshold: float,
) -> list[SummedRisk]:
    """Sum up the risks of records by their sampling weights, without which it is 1 / f, and of households.

    Raises:
        InvalidSource: A weight is no positive number, or a household is NULL somewhere.

    Cost: a scan of the columns with a GROUP BY, and a window over what it gives.
    """
    if weights is None and not household:
        return []
    _check(engine, table, weights, household)
    types = dict(engine.columns(table))
    names = [*by, *household, *person]
    values = exact_values(engine, table, [Column(name, types[name]) for name in names])
    codes = [f"c{place}" for place in range(len(by))]
    read = [sql("{v} AS {c}", v=values[name], c=column(c)) for name, c in zip(by, codes, strict=True)]
    rows = sql(
        "SELECT {read}, {household} AS household, {person} AS person, {weight}::DOUBLE AS weight "
        "FROM {t} AS s",
        read=read,
        household=_together(household, values),
        person=_together(person, values),
        weight=sql("1") if weights is None else column(weights, "s"),
        t=table,
    )
    if person:
        once = "SELECT {c}, household, max(weight) AS weight FROM ({rows}) GROUP BY {c}, household, person"
        rows = sql(once, c=[column(code) for code in codes], rows=rows)
    counted = "SELECT {c}, household, count(*) AS records, sum(weight) AS weight FROM ({rows}) GROUP BY ALL"
    text = sql(counted, c=[column(code) for code in codes], rows=rows)
    weighted = engine.materialize("weighted_records", text)
    risky = engine.materialize(
        "individual_risks",
        bind("risk/individual_risks", tables={"weighted_records": weighted}, columns={"columns": codes}),
    )
    found = [] if weights is None else [_summed(engine, risky, "persons" if person else "records", threshold)]
    if household:
        text = bind("risk/household_risks", tables={"individual_risks": risky})
        homes_at_risk = engine.materialize("household_risks", text)
        found.append(_summed(engine, homes_at_risk, "households", threshold))
    return found


def _together(names: Sequence[str], values: Mapping[str, exp.Expression]) -> Statement:
    """Take several columns for one; none are the same in every row."""
    return sql("ROW({all})", all=[values[name] for name in names]) if names else sql("NULL::INTEGER")


def _summed(engine: Engine, risky: Table, of: str, threshold: float) -> SummedRisk:
    text = bind("risk/risk_totals", tables={"individual_risks": risky}, values={"threshold": threshold})
    ((number, expected, highest, above),) = engine.query(text, step="risk_totals")
    return SummedRisk(of, number, expected, expected / number, highest, above / number)


def _check(engine: Engine, table: Table, weights: str | None, household: Sequence[str]) -> None:
    """Refuse weights that stand for nobody, and rows without a household."""
    if weights is not None and not is_number(dict(engine.columns(table))[weights]):
        raise InvalidSource(
            f"The weights {weights!r} of table {table.name} are no numbers.",
            "Name a column of numbers, or cast it in a view.",
        )
    stands = sql("TRUE")
    if weights is not None:
        stands = sql("{w} > 0 AND isfinite({w}::DOUBLE)", w=column(weights, "s"))
    nobody = [sql("{c} IS NULL", c=column(name, "s")) for name in household]
    text = sql(
        "SELECT count(*) FILTER (({stands}) IS NOT TRUE), count(*) FILTER ({nobody}) FROM {t} AS s",
        stands=stands,
        nobody=Statement(" OR ".join(nobody) or "FALSE"),
        t=table,
    )
    ((faulty, homeless),) = engine.query(text, step="weight_faults")
    if faulty:
        raise InvalidSource(
            f"The weights {weights!r} are NULL, not above 0 or not finite in {faulty} "
            f"row{'s' * (faulty != 1)}.",
            "Say in every row how many persons of the population it stands for.",
        )
    if homeless:
        raise InvalidSource(
            f"The household column {' or '.join(map(repr, household))} is NULL in {homeless} "
            f"row{'s' * (homeless != 1)}.",
            "Say of every row which household it belongs to, or leave such rows out in a view.",
        )
