"""What a randomized release shows, held against its noise and against what was published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.engine.types import double
from ppdm_sql.methods.perturbation.noise import Cells, Gaussian, Noise, Retain, Uniform, resolve_noise
from ppdm_sql.methods.perturbation.noise_syntax import parse_noise
from ppdm_sql.release.draft import Moments
from ppdm_sql.release.layout import Shape

TOLERANCE = 1e-9
"""Of means and deviations, which differ in their last digits from one order of addition to another."""


def noise_faults(shape: Shape) -> exp.Select | None:
    """Count rows with a value that the noise of its column cannot give; None where no column has noise."""
    noises = {
        item.name: resolve_noise(parse_noise(item.noise)) for item in shape.columns if item.noise is not None
    }
    if not noises:
        return None
    outside = [impossible(column(name, "f"), noise) for name, noise in noises.items()]
    return exp.select(exp.Count(this=exp.Star())).from_(shape.stored()).where(exp.or_(*outside))


def impossible(value: exp.Expression, noise: Noise) -> exp.Expression:
    """Tell whether a value cannot come out of a noise; never so for NULL.

    Args:
        value: The released value; it is copied.
        noise: Of its column. Uniform noise ends at its scale; rounding goes half a unit further.

    Example:
        >>> import duckdb
        >>> from ppdm_sql.methods.perturbation.noise import Domain
        >>> check = impossible(literal(7), Uniform(1.0, Domain(0, 5)))
        >>> duckdb.sql("SELECT " + check.sql("duckdb")).fetchall()
        [(True,)]
    """
    if isinstance(noise, Cells | Retain):
        known = noise.labels if isinstance(noise, Cells) else noise.values
        return exp.Not(this=exp.In(this=exp.cast(value.copy(), "TEXT"), expressions=[*map(literal, known)]))
    faults: list[exp.Expression] = [exp.Not(this=_is_finite(value))]
    if isinstance(noise, Uniform):
        reach = noise.scale + rounding_of(noise) / 2
        faults.append(exp.LT(this=_double(value), expression=double(noise.domain.lower - reach)))
        faults.append(exp.GT(this=_double(value), expression=double(noise.domain.upper + reach)))
    if noise.rounded and noise.domain.whole:
        faults.append(exp.NEQ(this=exp.Floor(this=_double(value)), expression=_double(value)))
    return exp.Paren(this=exp.or_(*faults))


def rounding_of(noise: Gaussian | Uniform) -> float:
    """Give the unit to which noisy values are rounded, or its upper bound where decimals are kept.

    Without rounding to the grid of the original it is a power of two, about a millionth of the scale: enough
    that the last bits of a sum of floating-point numbers do not tell what was added.

    Source: Mironov 2012, "On Significance of the Least Significant Bits for Differential Privacy".

    Example:
        >>> from ppdm_sql.methods.perturbation.noise import Domain
        >>> rounding_of(Gaussian(1.5, Domain(0, 1))) == 2**-20
        True
    """
    if noise.rounded:
        return 1.0 if noise.domain.whole else min(1.0, noise.scale)
    return float(2.0 ** (math.floor(math.log2(noise.scale)) - 20))


def moments_of(engine: Engine, rows: exp.Select, names: Sequence[str]) -> dict[str, Moments]:
    """Measure the finite values of columns of numbers in a SELECT; one scan of its rows.

    Args:
        engine: Where the rows are.
        rows: What is measured.
        names: The columns.
    """
    if not names:
        return {}
    numbers = [
        alias(measure, f"{place}_{kind}")
        for place, name in enumerate(names)
        for kind, measure in _measures(column(name, "r"))
    ]
    query = exp.select(*numbers).from_(rows.subquery("r"))
    (found,) = engine.query(render(query), step="moments")
    return {name: Moments(*found[3 * place : 3 * place + 3]) for place, name in enumerate(names)}


def _measures(value: exp.Expression) -> list[tuple[str, exp.Expression]]:
    """Measure the finite values: a deviation of others would be an error."""
    finite = exp.case().when(_is_finite(value), _double(value))
    return [
        ("values", exp.Count(this=finite)),
        ("mean", _or_zero(exp.Anonymous(this="favg", expressions=[finite.copy()]))),
        ("deviation", _or_zero(exp.StddevPop(this=finite.copy()))),
    ]


def _or_zero(measure: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=measure, expressions=[exp.Literal.number(0)])


def same_moments(found: Mapping[str, Moments], published: Mapping[str, Moments]) -> bool:
    """Tell whether moments are those that were published, but for their last digits."""
    return found.keys() == published.keys() and all(_same(found[name], published[name]) for name in found)


def _same(one: Moments, other: Moments) -> bool:
    unit = max(one.deviation, other.deviation)
    mean = math.isclose(one.mean, other.mean, rel_tol=TOLERANCE, abs_tol=TOLERANCE * unit)
    deviation = math.isclose(one.deviation, other.deviation, rel_tol=TOLERANCE)
    return one.values == other.values and mean and deviation


def _is_finite(value: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="isfinite", expressions=[_double(value)])


def _double(value: exp.Expression) -> exp.Expression:
    return exp.cast(value.copy(), "DOUBLE")
