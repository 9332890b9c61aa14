"""Holds a randomized table against its source: the owner's audit, which shares nothing with the method.

Records are not followed. What is released as it is must be there as often as before, together with the cells
of the originals; noisy numbers must have the mean and the variance that the noise gives them, and randomized
categories the frequencies. Where records live elsewhere, only aggregates are handed over.

Where a person gets one draw, rows of one person are off together, so sums over rows vary more than with as
many draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ppdm_sql.audit.comparing import (
    CHANGED,
    OwnedRows,
    fingerprint,
    known_values,
    ownership_faults,
    refuse,
    text,
    total,
)
from ppdm_sql.audit.noise import Moments, NoiseModel, double, frequencies, impossible_values, noise_models
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import Source, over, source_of
from ppdm_sql.engine.statements import Sql, Statement, joined, literal, sql
from ppdm_sql.taxonomy.model import Interval

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
    """What a randomized release promises."""

    noises: Mapping[str, str]  # the noise of each randomized column, as the release will record it
    parameters: Mapping[str, Mapping[str, Any]]  # the same as the parameters of the release will record it
    columns: Mapping[str, Column]  # the columns of the source, by name
    carried: Sequence[str]  # columns that are released as they are
    # the noisy rows with whose they are, where a person gets one draw; else None
    owned: OwnedRows | None = None


@dataclass(frozen=True)
class Side:
    """What source or release hold."""

    records: int  # how many there are
    # sum of the fingerprints of all that is released as it is, with the cells of the originals and which of
    # the randomized values are NULL
    carried: int
    moments: dict[str, Moments]  # of the columns to which noise is added
    fingerprints: dict[str, int]  # sum of the fingerprints of their values


@dataclass(frozen=True)
class Chance:
    """How far sums over rows may be off by chance; draws are at least one for each person."""

    squares: float  # sum over the persons of the squared number of their values
    # sum over the persons of their values' squared distances from the mean, each as often as the person has
    # values
    swings: float
    largest: int  # the most values that a person has

    def draws(self, values: int) -> float:
        """Give as how many draws of their own so many values count."""
        return values**2 / self.squares if self.squares else 0.0


@dataclass(frozen=True)
class RandomizedAudit:
    """What an audit of a randomized release found."""

    models: Mapping[str, NoiseModel]  # the noise of each randomized column, as its record is read
    before: Side  # what the source holds
    after: Side  # what the release holds
    impossible: dict[str, int]  # by column, the records with a value that its noise cannot give
    # by column of categories, for each value the records before and after
    frequencies: dict[str, list[tuple[str, int, int]]]
    unjudged: tuple[str, ...]  # columns with too few values to judge their variance
    chances: Mapping[str, Chance]  # by column, how far sums over the rows may be off by chance
    of_values: Mapping[str, Mapping[str, Chance]]  # by column of categories, the same for each value
    of_persons: Sequence[str] = ()  # what is wrong with the draws of persons, in words

    def faults(self, promise: RandomizedPromise) -> list[str]:
        """Say in words what is not as promised; nothing if all is."""
        faults: list[tuple[object, str]] = [
            (
                self.before.records != self.after.records,
                f"{self.after.records} records are released, not {self.before.records}",
            ),
            (
                self.before.carried != self.after.carried,
                "columns that are released as they are, or the cells of others, have changed",
            ),
        ]
        faults += [
            (n, f"{n} values of {name!r} cannot come of its noise") for name, n in self.impossible.items()
        ]
        for name, model in self.models.items():
            recorded = model.is_recorded(promise.parameters[name])
            faults.append((not recorded, f"the noise of {name!r} is recorded in two ways"))
            if model.added:
                faults += self._noise_faults(name, model)
        faults += [self._frequency_fault(name, self.models[name]) for name in self.frequencies]
        return [*(words for wrong, words in faults if wrong), *self.of_persons]

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
        faults: list[tuple[object, str]] = [
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
            faults.append((wrong, f"the variance of {name!r} is not the one that the noise gives"))
        return faults


def accept_randomized(
    engine: Engine, source: Table, released: Table | Source, promise: RandomizedPromise
) -> RandomizedAudit:
    """Compare the released rows with the source, and refuse them if anything is not as promised."""
    types = {name: promise.columns[name].type for name in promise.noises}
    true = source_of(engine, source)
    release = source_of(engine, released) if isinstance(released, Table) else released
    with engine.workspace():
        models = noise_models(engine, promise.noises, types)
        before = _side(true, promise, models, of_source=True)
        after = _side(release, promise, models, of_source=False)
        categories = [name for name, model in models.items() if model.kind == "retain"]
        both = {name: [frequencies(engine, rows, name) for rows in (true, release)] for name in categories}
        strays = impossible_values(engine, release, models)
        chances, of_values, of_persons = dict[str, Chance](), dict[str, dict[str, Chance]](), list[str]()
        if promise.owned is not None and isinstance(released, Table):
            means = {name: moments.mean for name, moments in before.moments.items()}
            chances = _chance_of_numbers(engine, source, promise.owned, means)
            held = [_chance_of_categories(engine, source, promise.owned, name) for name in categories]
            of_values = dict(zip(categories, held, strict=True))
            of_persons = _draw_faults(engine, source, released, promise, models)
    few = [
        name
        for name, moments in before.moments.items()
        if (chances.get(name) or _alone(moments.values)).draws(moments.values) < MANY_FOR_VARIANCE
    ]
    counted = {
        name: [(value, first.get(value, 0), second.get(value, 0)) for value in {**first, **second}]
        for name, (first, second) in both.items()
    }
    sides = models, before, after, strays, counted
    audit = RandomizedAudit(*sides, tuple(few), chances, of_values, of_persons)
    refuse(audit.faults(promise), "The randomized rows are", CHANGED)
    return audit


def _alone(values: int, deviation: float = 0.0) -> Chance:
    """Give the chance of values that each have their own draw."""
    return Chance(values, values * deviation**2, 1)


def _plausible(
    before: int, after: int, noise: NoiseModel, records: int, squares: tuple[float, float], largest: int
) -> bool:
    """Tell whether so many records may show a value that so many have."""
    # The squares are those of the numbers of records with one draw: with the value, and with another one.
    other = (1 - noise.amount) / len(noise.labels)
    own = noise.amount + other
    expected = before * own + (records - before) * other
    variance = squares[0] * own * (1 - own) + squares[1] * other * (1 - other)
    return abs(after - expected) <= ERRORS * math.sqrt(variance) + RARE * largest


def _last_digits(found: Moments) -> float:
    """Bound what an order of addition changes in a mean."""
    return 1e-9 * (abs(found.mean) + found.deviation)


# -- source and release, each in one scan ------------------------------------------------------------


def _side(
    rows: Source, promise: RandomizedPromise, models: Mapping[str, NoiseModel], *, of_source: bool
) -> Side:
    """Measure source or release; cells are worked out of the originals of the source."""
    cells = {name: model for name, model in models.items() if model.kind == "cells"}
    labels = [_cell(name, model) if of_source else column(name, "s") for name, model in cells.items()]
    carried = known_values([promise.columns[name] for name in promise.carried])
    missing = [sql("{c} IS NULL", c=column(name, "s")) for name in promise.noises]
    added = [name for name, model in models.items() if model.added]
    measures = [sql("count(*)"), total(fingerprint([*missing, *carried, *labels])), *map(_measured, added)]

    def query(table: Table) -> Statement:
        return sql("SELECT {measures} FROM {rows} AS s", measures=measures, rows=table)

    ((records, shared, *rest),) = rows.aggregate(over(query), step="audit sums")
    parts = {name: rest[4 * place : 4 * place + 4] for place, name in enumerate(added)}
    return Side(
        int(records),
        int(shared),
        {name: Moments(int(n), float(mean), float(spread)) for name, (n, mean, spread, _) in parts.items()},
        {name: int(part[3]) for name, part in parts.items()},
    )


def _measured(name: str) -> Statement:
    """Give number, mean, deviation and fingerprints of the values of a column of numbers."""
    return sql(
        "count({c}), coalesce(favg({v}), 0), coalesce(stddev_pop({v}), 0), {whole}",
        c=column(name, "s"),
        v=double(name),
        whole=total(fingerprint([double(name)])),
    )


def _cell(name: str, model: NoiseModel) -> Sql:
    """Work out the cell in which an original lies by the bounds in the labels; NULL for one in none."""
    whens = list[Statement]()
    for label in model.labels:
        bounds = Interval.of_label(label)
        if bounds is None or bounds.lower is None or bounds.upper is None:
            continue
        within = "WHEN {v} >= {low} AND {v} <= {high} THEN {label}"
        if not bounds.closed:
            within = "WHEN {v} >= {low} AND {v} < {high} THEN {label}"
        low, high = float(bounds.lower), float(bounds.upper)
        whens.append(sql(within, v=double(name), low=low, high=high, label=literal(label)))
    return sql("CASE {whens} END", whens=joined(whens, " "))


# -- persons -----------------------------------------------------------------------------------------


def _chance_of_numbers(
    engine: Engine, source: Table, owned: OwnedRows, means: Mapping[str, float]
) -> dict[str, Chance]:
    """Measure, for columns of numbers with their means, how persons hold the values, in one GROUP BY."""
    if not means:
        return {}
    of_person = "count({v}) AS n{place}, coalesce(sum(({v} - {mean}) ** 2), 0) AS a{place}"
    summed = "sum(e.n{place}::DOUBLE ** 2), sum(e.n{place}::DOUBLE * e.a{place}), max(e.n{place})"
    query = sql(
        "SELECT {sums} FROM (SELECT {held} FROM {source} AS s GROUP BY {person}) AS e",
        sums=[sql(summed, place=place) for place in range(len(means))],
        held=[
            sql(of_person, v=double(name), mean=mean, place=place)
            for place, (name, mean) in enumerate(means.items())
        ],
        source=source,
        person=owned.of_source,
    )
    (measured,) = engine.query(query, step="chance")
    parts = zip(measured[::3], measured[1::3], measured[2::3], strict=True)
    return {name: Chance(*part[:2], int(part[2])) for name, part in zip(means, parts, strict=True)}


def _chance_of_categories(engine: Engine, source: Table, owned: OwnedRows, name: str) -> dict[str, Chance]:
    """Measure how persons hold the values of a column of categories; a GROUP BY of the source."""
    query = sql(
        "SELECT e.value, sum(e.n::DOUBLE ** 2), max(e.n) FROM ("
        "SELECT {person} AS person, {value} AS value, count(*) AS n FROM {source} AS s GROUP BY ALL"
        ") AS e GROUP BY e.value",
        person=owned.of_source,
        value=text(column(name, "s")),
        source=source,
    )
    rows = engine.query(query, step="chance")
    return {value: Chance(squares, 0.0, int(most)) for value, squares, most in rows if value is not None}


def _draw_faults(
    engine: Engine,
    source: Table,
    released: Table,
    promise: RandomizedPromise,
    models: Mapping[str, NoiseModel],
) -> list[str]:
    """Say in words where a person did not get one draw for what is the same in all of their rows."""
    owned = promise.owned
    assert owned is not None
    drawn = [name for name, model in models.items() if model.kind != "cells"]
    unchanged = [promise.columns[name] for name in promise.carried]
    faults = ownership_faults(engine, source, released, owned, unchanged, drawn)
    different = "SELECT {person} AS person, {values} FROM {rows} AS s GROUP BY {person}"

    def values(named: Sequence[Sql]) -> list[Statement]:
        return [sql("count(DISTINCT {v}) AS v{place}", v=value, place=n) for n, value in enumerate(named)]

    true = values([column(name, "s") for name in drawn])
    shown = values([owned.column(name) for name in drawn])
    several = "count(*) FILTER (t.v{n} <= 1 AND r.v{n} > 1)"
    query = sql(
        "SELECT {several} FROM ({true}) AS t JOIN ({shown}) AS r ON t.person = r.person",
        several=[sql(several, n=place) for place in range(len(drawn))],
        true=sql(different, person=owned.of_source, values=true, rows=source),
        shown=sql(different, person=owned.person, values=shown, rows=owned.table),
    )
    (several_of,) = engine.query(query, step="several draws")
    split = zip(drawn, map(int, several_of), strict=True)
    return [*faults, *(f"{n} persons have several draws of {name!r}" for name, n in split if n)]
