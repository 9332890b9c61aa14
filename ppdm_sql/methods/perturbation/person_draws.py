"""One draw a person: the mean of many noisy rows of one person would be close to the truth.

A value that is the same in all rows of a person gets one draw for the person, so that more rows tell no more.
Where the rows of a person differ each gets its own draw: then their mean is better known than each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Statement, literal, sql
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.correlations import deviation
from ppdm_sql.methods.perturbation.noise import Cells
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn, originals

WHO = "who"
"""The column of noisy rows that says whose each is."""
MEASURE = "noise that averaging a person's rows can remove"
PERSON_DRAWS = "person"
"""Part of what the keys of persons' draws are derived from."""
AVERAGED = 0.25
"""A notice tells how much of the noise the mean of a person's rows removes, from this share on."""


@dataclass(frozen=True)
class DrawnPersons:
    # `person` (text), and `same0`, `same1` ...: whether all rows of the person with a value have the same
    table: Table
    who: exp.Expression  # the text that says whose a row of the source is
    varying: Mapping[str, int]  # for each column that gets draws, the persons in whose rows it varies, if any

    def draw(self, position: int, noisy: NoisyColumn, place: int) -> str:
        """Choose between the draw of a row and that of its person, for a column that gets draws."""
        if noisy.column.name not in self.varying:
            return f"p.d{place}"
        return f"CASE WHEN p.same{position} THEN p.d{place} ELSE drawn.d{place} END"


def who_text(person: Sequence[str]) -> exp.Expression:
    """Write the text that says whose a row of ``s`` is; texts of several columns are told apart by lengths.

    Example:
        >>> who_text(["a", "b"]).sql("duckdb").split(" || ")[:3]
        ['LENGTH(CAST("s"."a" AS TEXT))', "':'", 'CAST("s"."a" AS TEXT)']
    """
    texts: list[exp.Expression] = [exp.cast(column(name, "s"), "TEXT") for name in person]
    if len(texts) == 1:
        return texts[0]
    parts = [part for text in texts for part in (exp.Length(this=text.copy()), literal(":"), text)]
    return reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), parts)


def find_persons(
    engine: Engine, rows: Table, person: Sequence[str], noisy: Sequence[NoisyColumn]
) -> DrawnPersons:
    who = who_text(person)
    drawn = [place for place, it in enumerate(noisy) if not isinstance(it.noise, Cells)]
    same = [sql("min(x{i}) IS NOT DISTINCT FROM max(x{i}) AS same{i}", i=place) for place in drawn]
    each = sql("SELECT {x}, {who} AS who FROM {rows} AS s", x=originals(noisy), who=who, rows=rows)
    query = "SELECT who AS person, {same} FROM ({each}) AS rows GROUP BY who"
    table = engine.materialize("persons", sql(query, same=same or [Statement("TRUE AS same")], each=each))
    counts = [Statement("count(*)"), *(sql("count(*) FILTER (WHERE NOT same{i})", i=i) for i in drawn)]
    ((_, *found),) = engine.query(sql("SELECT {n} FROM {t}", n=counts, t=table), step="persons")
    names = [noisy[place].column.name for place in drawn]
    return DrawnPersons(table, who, {name: int(n) for name, n in zip(names, found, strict=True) if n})


def refuse_correlated(persons: DrawnPersons, noisy: Sequence[NoisyColumn]) -> None:
    """Refuse correlated noise where a column gets draws for rows and others, in the same row, for persons."""
    varying = [it.column.name for it in noisy if it.added is not None and it.column.name in persons.varying]
    if varying:
        raise InvalidOption(
            f"Column {varying[0]!r} varies in the rows of {persons.varying[varying[0]]} persons, so its "
            "noise cannot be correlated with that of columns that get one draw for a person.",
            f"Leave out --correlated, or give each person one {varying[0]} in a view.",
        )


def person_notices(
    persons: DrawnPersons, noisy: Sequence[NoisyColumn], removed: Mapping[str, float]
) -> list[str]:
    notices = []
    if persons.varying:
        listed = ", ".join(
            f"{name} ({number} person{'s' * (number > 1)})" for name, number in persons.varying.items()
        )
        notices.append(
            f"These columns vary in the rows of a person, where each row gets its own draw: {listed}. "
            "Who can tell a person's rows averages the noise away."
        )
    worst = max(removed, key=lambda name: removed[name], default=None)
    if worst is not None and removed[worst] >= AVERAGED:
        notices.append(
            f"The mean of a person's rows removes {100 * removed[worst]:.0f} % of the noise of {worst}; "
            "stronger noise, or one row a person, protects better."
        )
    numbers = [it.column.name for it in noisy if it.added is not None and it.decimals is None]
    fine = [name for name in numbers if name not in persons.varying]
    if fine:
        notices.append(
            f"All rows of a person show the same noisy number, so they can be linked by {', '.join(fine)}; "
            "noise that is rounded tells less."
        )
    return notices


def averaging_attack(engine: Engine, table: Table, noisy: Sequence[NoisyColumn]) -> dict[str, float]:
    """Measure how much of the noise is gone from the mean of a person's noisy rows, as a share of it.

    0 leaves all of the noise, 1 none: it is 1 less the root of the mean squared error of these means, a
    person counting once, over the standard deviation of the noise.
    """
    places = {it.column.name: (place, it.added) for place, it in enumerate(noisy) if it.added is not None}
    if not places:
        return {}
    means = [sql("avg(r{i} - x{i}) AS e{i}", i=place) for place, _ in places.values()]
    errors = [sql("sqrt(avg(e{i} * e{i}))", i=place) for place, _ in places.values()]
    query = "SELECT {errors} FROM (SELECT {means} FROM {table} GROUP BY who) AS p"
    (found,) = engine.query(sql(query, errors=errors, means=means, table=table), step="averaging")
    return {
        name: round(min(1.0, max(0.0, 1 - error / deviation(noise))), 6)
        for (name, (_, noise)), error in zip(places.items(), found, strict=True)
        if error is not None
    }
