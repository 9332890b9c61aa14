"""One draw a person: the mean of many noisy rows of one person would be close to the truth.

A value that is the same in all rows of a person gets one draw for the person, so that more rows tell no more.
Where the rows of a person differ each gets its own draw: then their mean is better known than each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.correlations import deviation
from ppdm_sql.methods.perturbation.noise import Cells
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn

WHO = "who"
"""The column of noisy rows that says whose each is."""
MEASURE = "noise that averaging a person's rows can remove"
PERSON_DRAWS = "person"
"""Part of what the keys of persons' draws are derived from."""
AVERAGED = 0.25
"""A notice tells how much of the noise the mean of a person's rows removes, from this share on."""


@dataclass(frozen=True)
class DrawnPersons:
    """The persons of a source.

    Args:
        table: Working table ``person`` (text) and, for the randomized columns by their places, ``same0,
            same1, ...``: whether all rows of the person that have a value have the same.
        who: The text that says whose a row of the source ``s`` is.
        number: How many there are.
        varying: For each column that gets draws, the persons in whose rows it varies, where there are any.
    """

    table: Table
    who: exp.Expression
    number: int
    varying: Mapping[str, int]

    def draw(self, position: int, noisy: NoisyColumn, place: int) -> str:
        """Choose between the draw of a row and that of its person, for a column that gets draws.

        Args:
            position: Of the column among the noisy ones.
            noisy: The column.
            place: Of its draw among those of a row or person.
        """
        of_person = f"p.d{place}"
        if noisy.column.name not in self.varying:
            return of_person
        return f"CASE WHEN p.same{position} THEN {of_person} ELSE drawn.d{place} END"


def who_text(person: Sequence[str]) -> exp.Expression:
    """Write the text that says whose a row of ``s`` is; texts of several columns are told apart by lengths.

    Example:
        >>> who_text(["patient"]).sql("duckdb")
        'CAST("s"."patient" AS TEXT)'
        >>> who_text(["a", "b"]).sql("duckdb").split(" || ")[2]
        'CAST("s"."a" AS TEXT)'
    """
    texts: list[exp.Expression] = [exp.cast(column(name, "s"), "TEXT") for name in person]
    if len(texts) == 1:
        return texts[0]
    parts = [part for text in texts for part in (exp.Length(this=text.copy()), literal(":"), text)]
    whole: exp.Expression = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part, safe=True)
    return whole


def find_persons(
    engine: Engine,
    rows: Table,
    person: Sequence[str],
    noisy: Sequence[NoisyColumn],
    originals: Sequence[exp.Expression],
) -> DrawnPersons:
    """List the persons, and tell which values are the same in all of their rows.

    Args:
        engine: Where the source is.
        rows: The source.
        person: The columns that say whose a row is, NULL nowhere.
        noisy: The randomized columns.
        originals: Their values, with aliases ``x0, x1, ...``.

    Cost: one GROUP BY of the source, one scan of the persons.
    """
    who = who_text(person)
    each = exp.select(*originals, alias(who.copy(), WHO)).from_(aliased(rows, "s"))
    drawn = [place for place, it in enumerate(noisy) if not isinstance(it.noise, Cells)]
    same = ", ".join(f"min(x{place}) IS NOT DISTINCT FROM max(x{place}) AS same{place}" for place in drawn)
    table = engine.materialize(
        "persons",
        f"SELECT {WHO} AS person, {same or 'TRUE AS same'} FROM ({render(each)}) AS rows GROUP BY {WHO}",
    )
    counts = ", ".join(f"count(*) FILTER (WHERE NOT same{place})" for place in drawn)
    ((number, *found),) = engine.query(f"SELECT count(*), {counts or 0} FROM {table}", step="persons")
    names = [noisy[place].column.name for place in drawn]
    varying = {name: int(n) for name, n in zip(names, found, strict=False) if n}
    return DrawnPersons(table, who, int(number), varying)


def refuse_correlated(persons: DrawnPersons, noisy: Sequence[NoisyColumn]) -> None:
    """Refuse correlated noise where a column gets draws for rows and others, in the same row, for persons.

    Raises:
        InvalidOption: A column of numbers varies in the rows of a person.
    """
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
    """Say what the rows of a person tell together.

    Args:
        persons: The persons.
        noisy: The randomized columns.
        removed: From :func:`averaging_attack`.
    """
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

    Args:
        engine: Where the noisy rows are.
        table: The noisy rows, with whose each is.
        noisy: The randomized columns; only noise that is added counts.

    Cost: one GROUP BY of the noisy rows.
    """
    places = {it.column.name: (place, it.added) for place, it in enumerate(noisy) if it.added is not None}
    if not places:
        return {}
    means = ", ".join(f"avg(r{place} - x{place}) AS e{place}" for place, _ in places.values())
    errors = ", ".join(f"sqrt(avg(e{place} * e{place}))" for place, _ in places.values())
    of_persons = f"SELECT {means} FROM {table} GROUP BY {WHO}"
    (found,) = engine.query(f"SELECT {errors} FROM ({of_persons}) AS p", step="averaging")
    return {
        name: round(min(1.0, max(0.0, 1 - error / deviation(noise))), 6)
        for (name, (_, noise)), error in zip(places.items(), found, strict=True)
        if error is not None
    }
