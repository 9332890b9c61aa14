"""Holds a randomized table against its source: the owner's audit, which shares nothing with the method.

Records are not followed. What is released as it is must be there as often as before, together with the cells
of the originals; noisy numbers must have the mean and the variance that the noise gives them, and randomized
categories the frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.audit.bins import binned_values, distinct_values, join_label, own_labels
from ppdm_sql.audit.fingerprints import fingerprint, plain_column, total
from ppdm_sql.audit.moments import Moments
from ppdm_sql.audit.noise import NoiseModel, impossible_values, noise_models
from ppdm_sql.audit.randomized_persons import (
    Chance,
    OwnedRows,
    chance_of_categories,
    chance_of_numbers,
    draw_faults,
)
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import render
from ppdm_sql.errors import GuaranteeNotMet

ERRORS = 6.0
"""Standard errors that a mean, a variance or a frequency may be off."""
RARE = 14.0
"""Records that a frequency may be off besides, for the tail of small numbers (Bernstein's inequality)."""
MANY_FOR_VARIANCE = 200
"""Values below which the spread of a variance is not known well enough to judge one."""
MANY_FOR_ROUNDED = 50
"""Values above which rounded noise cannot have left all of them as they were."""


@dataclass(frozen=True)
class RandomizedPromise:
    """What a randomized release promises.

    Args:
        noises: The noise of each randomized column, as the release will record it.
        parameters: The same as the parameters of the release will record it.
        columns: The columns of the source, by name.
        carried: Columns that are released as they are.
        owned: The noisy rows with whose they are, where a person gets one draw; else None.
    """

    noises: Mapping[str, str]
    parameters: Mapping[str, Mapping[str, Any]]
    columns: Mapping[str, Column]
    carried: Sequence[str]
    owned: OwnedRows | None = None


@dataclass(frozen=True)
class Side:
    """What source or release hold.

    Args:
        records: How many there are.
        carried: Sum of the fingerprints of all that is released as it is, with the cells of the originals and
            which of the randomized values are NULL.
        moments: Of the columns to which noise is added.
        fingerprints: Sum of the fingerprints of their values.
    """

    records: int
    carried: int
    moments: dict[str, Moments]
    fingerprints: dict[str, int]


@dataclass(frozen=True)
class RandomizedAudit:
    """What an audit of a randomized release found.

    Args:
        models: The noise of each randomized column, as its record is read.
        before: What the source holds.
        after: What the release holds.
        impossible: By column, the records with a value that its noise cannot give.
        frequencies: By column of categories, for each value the records before and after.
        unjudged: Columns with too few values to judge their variance.
        chances: By column, how far sums over the rows may be off by chance.
        of_values: By column of categories, the same for each value.
        of_persons: What is wrong with the draws of persons, in words.
    """

    models: Mapping[str, NoiseModel]
    before: Side
    after: Side
    impossible: dict[str, int]
    frequencies: dict[str, list[tuple[str, int, int]]]
    unjudged: tuple[str, ...]
    chances: Mapping[str, Chance]
    of_values: Mapping[str, Mapping[str, Chance]]
    of_persons: Sequence[str] = ()

    def faults(self, promise: RandomizedPromise) -> list[str]:
        """Say in words what is not as promised; nothing if all is."""
        found: list[tuple[object, str]] = [
            (
                self.before.records != self.after.records,
                f"{self.after.records} records are released, not {self.before.records}",
            ),
            (
                self.before.carried != self.after.carried,
                "columns that are released as they are, or the cells of others, have changed",
            ),
        ]
        found += [
            (n, f"{n} values of {name!r} cannot come of its noise") for name, n in self.impossible.items()
        ]
        for name, model in self.models.items():
            recorded = model.is_recorded(promise.parameters[name])
            found.append((not recorded, f"the noise of {name!r} is recorded in two ways"))
            if model.added:
                found += self._noise_faults(name, model)
        found += [self._frequency_fault(name, self.models[name]) for name in self.frequencies]
        return [*(words for wrong, words in found if wrong), *self.of_persons]

    def _frequency_fault(self, name: str, noise: NoiseModel) -> tuple[object, str]:
        values = sum(before for _, before, _ in self.frequencies[name])
        chances = self.of_values.get(name)
        if chances is None:
            chances = {value: _alone(before) for value, before, _ in self.frequencies[name]}
        whole = sum(chance.squares for chance in chances.values())
        largest = max((chance.largest for chance in chances.values()), default=1)
        off = 0
        for value, before, after in self.frequencies[name]:
            squares = chances[value].squares if value in chances else 0.0
            off += not _plausible(before, after, noise, values, (squares, whole - squares), largest)
        return off, f"{off} values of {name!r} are not as frequent as their noise makes them"

    def _noise_faults(self, name: str, noise: NoiseModel) -> list[tuple[object, str]]:
        before, after = self.before.moments[name], self.after.moments[name]
        if not before.values:
            return []
        variance, fourth = noise.moments()
        chance = self.chances.get(name) or _alone(before.values, before.deviation)
        error = math.sqrt(variance * chance.squares) / before.values
        many = not noise.rounded or chance.draws(before.values) >= MANY_FOR_ROUNDED
        same = many and self.before.fingerprints[name] == self.after.fingerprints[name]
        found: list[tuple[object, str]] = [
            (same, f"the values of {name!r} are those of the source"),
            (
                abs(after.mean - before.mean) > ERRORS * error + _last_digits(before),
                f"the mean of {name!r} is not the one that the noise gives",
            ),
        ]
        if name not in self.unjudged:
            spread = (fourth - variance**2) * chance.squares + 4 * variance * chance.swings
            spread /= before.values**2
            off = abs(after.deviation**2 - before.deviation**2 - variance)
            wrong = off > ERRORS * math.sqrt(spread) + _last_digits(before) * before.deviation
            found.append((wrong, f"the variance of {name!r} is not the one that the noise gives"))
        return found


def accept_randomized(
    engine: Engine, source: Table, released: exp.Select, promise: RandomizedPromise
) -> RandomizedAudit:
    """Audit a randomized release, and refuse it if anything is not as promised.

    Raises:
        GuaranteeNotMet: The released rows are not what this noise makes of the source.
    """
    found = audit_randomized(engine, source, released, promise)
    refuse_faults(found, promise)
    return found


def refuse_faults(found: RandomizedAudit, promise: RandomizedPromise) -> None:
    """Refuse a release of which an audit found anything that is not as promised.

    Raises:
        GuaranteeNotMet: It did.
    """
    faults = found.faults(promise)
    if faults:
        raise GuaranteeNotMet(
            f"The randomized rows are not what was promised: {'; '.join(faults)}; nothing was published.",
            "Run it again if the source was being changed; else report this as a defect.",
        )


def audit_randomized(
    engine: Engine, source: Table, released: exp.Select, promise: RandomizedPromise
) -> RandomizedAudit:
    """Compare the released rows with the source.

    Args:
        engine: Where both are.
        source: The source.
        released: The rows as the release shows them.
        promise: What they promise.

    Combinations are told apart by sums of fingerprints.

    Cost: one scan of both tables, and a GROUP BY of both for each column of categories; with persons, four
    GROUP BYs besides.
    """
    with engine.workspace():
        types = {name: promise.columns[name].type for name in promise.noises}
        models = noise_models(engine, promise.noises, types)
        shown = engine.overlay(released)
        before = _side(engine, source, promise, models, _cells_of_source(engine, source, models))
        after = _side(engine, shown, promise, models, {})
        frequencies = {
            name: _frequencies(engine, source, shown, name)
            for name, model in models.items()
            if model.kind == "retain"
        }
        strays = impossible_values(engine, shown, models)
        owned, chances, of_values, of_persons = promise.owned, dict[str, Chance](), {}, list[str]()
        if owned is not None:
            means = {name: found.mean for name, found in before.moments.items()}
            chances = chance_of_numbers(engine, source, owned, means)
            of_values = {name: chance_of_categories(engine, source, owned, name) for name in frequencies}
            drawn = [name for name, model in models.items() if model.kind != "cells"]
            carried = [promise.columns[name] for name in promise.carried]
            of_persons = draw_faults(engine, source, shown, owned, drawn, carried)
    few = [
        name
        for name, found in before.moments.items()
        if (chances.get(name) or _alone(found.values)).draws(found.values) < MANY_FOR_VARIANCE
    ]
    return RandomizedAudit(
        models, before, after, strays, frequencies, tuple(few), chances, of_values, of_persons
    )


def _alone(values: int, deviation: float = 0.0) -> Chance:
    """Give the chance of values that each have their own draw."""
    return Chance(values, values * deviation**2, 1)


def _plausible(
    before: int, after: int, noise: NoiseModel, records: int, squares: tuple[float, float], largest: int
) -> bool:
    """Tell whether so many records may show a value that so many have.

    The squares are those of the numbers of records with one draw: with the value, and with another one.
    """
    other = (1 - noise.amount) / len(noise.labels)
    own = noise.amount + other
    expected = before * own + (records - before) * other
    variance = squares[0] * own * (1 - own) + squares[1] * other * (1 - other)
    return abs(after - expected) <= ERRORS * math.sqrt(variance) + RARE * largest


def _last_digits(found: Moments) -> float:
    """Bound what an order of addition changes in a mean."""
    return 1e-9 * (abs(found.mean) + found.deviation)


# -- statements -------------------------------------------------------------------------------


def _cells_of_source(engine: Engine, source: Table, models: Mapping[str, NoiseModel]) -> dict[str, Table]:
    """Work out the cells in which the originals lie, by both bounds of each."""
    labels = {name: model.labels for name, model in models.items() if model.kind == "cells"}
    known = own_labels(engine, labels)
    return {
        name: binned_values(engine, distinct_values(engine, source, _double(name)), known, name)
        for name in labels
    }


def _side(
    engine: Engine,
    rows: Table,
    promise: RandomizedPromise,
    models: Mapping[str, NoiseModel],
    cells: Mapping[str, Table],
) -> Side:
    """Measure source or release in one scan; where cells are not given, the rows show them."""
    query = exp.select().from_(aliased(rows, "s"))
    labels: list[exp.Expression] = []
    for place, name in enumerate(name for name, model in models.items() if model.kind == "cells"):
        labels.append(column("label", f"b{place}") if name in cells else column(name, "s"))
        if name in cells:
            query.append("joins", join_label(_double(name), cells[name].expression(), f"b{place}"))
    missing = [column(name, "s").is_(exp.null()) for name in promise.noises]
    carried = [plain_column(promise.columns[name]) for name in promise.carried]
    whole = total(fingerprint([*missing, *carried, *labels]))
    added = [name for name, model in models.items() if model.added]
    measures = [measure for name in added for measure in _measures(name)]
    named = [
        alias(measure, f"m{place}")
        for place, measure in enumerate((exp.Count(this=exp.Star()), whole, *measures))
    ]
    (found,) = engine.query(render(query.select(*named)), step="audit sums")
    records, shared, *rest = found
    parts = {name: rest[4 * place : 4 * place + 4] for place, name in enumerate(added)}
    return Side(
        records,
        shared,
        {name: Moments(*part[:3]) for name, part in parts.items()},
        {name: part[3] for name, part in parts.items()},
    )


def _measures(name: str) -> list[exp.Expression]:
    zero = exp.Literal.number(0)
    mean, deviation = (
        exp.Anonymous(this="favg", expressions=[_double(name)]),
        exp.StddevPop(this=_double(name)),
    )
    return [
        exp.Count(this=column(name, "s")),
        exp.Coalesce(this=mean, expressions=[zero]),
        exp.Coalesce(this=deviation, expressions=[zero.copy()]),
        total(fingerprint([_double(name)])),
    ]


def _double(name: str) -> exp.Expression:
    return exp.cast(column(name, "s"), "DOUBLE")


def _frequencies(engine: Engine, source: Table, released: Table, name: str) -> list[tuple[str, int, int]]:
    """Count the records of each value, NULL aside, before and after."""
    sides = [_counted(rows, name, side) for side, rows in enumerate((source, released))]
    both = exp.union(*sides, distinct=False).subquery("b")
    sums = [exp.cast(exp.Sum(this=column(side, "b")), "BIGINT") for side in ("before", "after")]
    query: Any = exp.select(column("value", "b"), *sums).from_(both)
    rows = engine.query(render(query.group_by(column("value", "b"))), step="audit frequencies")
    return [(value, before, after) for value, before, after in rows if value is not None]


def _counted(rows: Table, name: str, side: int) -> exp.Select:
    counts = [exp.Literal.number(0), exp.Literal.number(0)]
    numbers: list[exp.Expression] = [*counts]
    numbers[side] = exp.Count(this=exp.Star())
    named = [alias(count, label) for count, label in zip(numbers, ("before", "after"), strict=True)]
    value = exp.cast(column(name, "s"), "TEXT")
    read = aliased(rows, "s")
    return exp.select(alias(value, "value"), *named).from_(read).group_by(value.copy())
