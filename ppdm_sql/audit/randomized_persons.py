"""Judges noise where rows are persons': one draw a person, and what that leaves of chance.

Rows of one person that share a draw are off together, so sums over rows vary more than with as many draws.
Released rows do not say whose they are. The method says it, for the audit alone, and its word is checked: the
rows that it shows must be those of the release, and each person must have the rows that they have in the
source, by all that is released as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.audit.fingerprints import TEXT, fingerprint, plain_column, total
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.engine.types import double

WHO = "person"


@dataclass(frozen=True)
class OwnedRows:
    """Noisy rows with the persons whose they are.

    Args:
        table: The rows.
        person: Its column with a text of the person, another one for each.
        text: The same text over a row of the source under the alias ``s``.
        names: For each released column its column in the table, but for pseudonyms.
    """

    table: Table
    person: str
    text: exp.Expression
    names: Mapping[str, str]


@dataclass(frozen=True)
class Chance:
    """How far sums over rows may be off by chance; draws are at least one for each person.

    Args:
        squares: Sum over the persons of the squared number of their values.
        swings: Sum over the persons of their values' squared distances from the mean, each as often as the
            person has values.
        largest: The most values that a person has.
    """

    squares: float
    swings: float
    largest: int

    def draws(self, values: int) -> float:
        """Give as how many draws of their own so many values count.

        Example:
            >>> Chance(squares=100 * 5**2, swings=0.0, largest=5).draws(500)
            100.0
        """
        return values**2 / self.squares if self.squares else 0.0


def chance_of_numbers(
    engine: Engine, source: Table, owned: OwnedRows, means: Mapping[str, float]
) -> dict[str, Chance]:
    """Measure, for columns of numbers with their means, how persons hold the values.

    Cost: one GROUP BY of the source.
    """
    names = list(means)
    if not names:
        return {}
    numbers: list[exp.Expression] = []
    for place, name in enumerate(names):
        value = exp.cast(column(name, "s"), "DOUBLE")
        away = exp.Pow(this=exp.paren(value - double(means[name])), expression=literal(2))
        numbers += [
            alias(exp.Count(this=value.copy()), f"n{place}"),
            alias(exp.Coalesce(this=exp.Sum(this=away), expressions=[literal(0)]), f"a{place}"),
        ]
    each = (
        exp.select(alias(owned.text.copy(), WHO), *numbers).from_(_rows(source)).group_by(owned.text.copy())
    )
    sums: list[exp.Expression] = []
    for place in range(len(names)):
        n = exp.cast(column(f"n{place}", "e"), "DOUBLE")
        swings = exp.Sum(this=n.copy() * column(f"a{place}", "e"))
        sums += [exp.Sum(this=n * n.copy()), swings, exp.Max(this=n.copy())]
    (found,) = engine.query(render(exp.select(*sums).from_(each.subquery("e"))), step="chance")
    parts = [found[3 * place : 3 * place + 3] for place in range(len(names))]
    return {name: Chance(part[0], part[1], int(part[2])) for name, part in zip(names, parts, strict=True)}


def chance_of_categories(engine: Engine, source: Table, owned: OwnedRows, name: str) -> dict[str, Chance]:
    """Measure how persons hold the values of a column of categories; a GROUP BY of the source."""
    value = exp.cast(column(name, "s"), TEXT)
    each = exp.select(
        alias(owned.text.copy(), WHO), alias(value, "value"), alias(exp.Count(this=exp.Star()), "n")
    )
    each = each.from_(_rows(source)).group_by(owned.text.copy(), value.copy())
    n = exp.cast(column("n", "e"), "DOUBLE")
    query = exp.select(column("value", "e"), exp.Sum(this=n * n.copy()), exp.Max(this=n.copy()))
    query = query.from_(each.subquery("e")).group_by(column("value", "e"))
    rows = engine.query(render(query), step="chance")
    return {text: Chance(squares, 0.0, int(most)) for text, squares, most in rows if text is not None}


def draw_faults(
    engine: Engine,
    source: Table,
    released: Table,
    owned: OwnedRows,
    noisy: Sequence[str],
    carried: Sequence[Column],
) -> list[str]:
    """Say in words where a person did not get one draw for what is the same in all of their rows.

    Args:
        engine: Where all is.
        source: The source.
        released: The rows as the release shows them.
        owned: The same, with whose they are.
        noisy: The columns with draws.
        carried: Columns that are released as they are.

    Cost: a scan of the released rows and three of those with whose they are, a GROUP BY of the source and of
    both together.
    """
    names = [*noisy, *(item.name for item in carried)]
    sides = (
        _whole(released, [column(name, "s") for name in names]),
        _whole(owned.table, [column(owned.names[name], "s") for name in names]),
    )
    one, other = engine.query(render(exp.union(*sides, distinct=False)), step="owned")
    strangers = _strangers(engine, source, owned, carried)
    found = [
        (one != other, "the released rows are not those of which it is known whose they are"),
        (strangers, f"{strangers} persons have other rows than in the source"),
        *(
            (n, f"{n} persons have several draws of {name!r}")
            for name, n in _split(engine, source, owned, noisy)
        ),
    ]
    return [words for wrong, words in found if wrong]


def _rows(table: Table) -> exp.Expression:
    return aliased(table, "s")


def _whole(rows: Table, values: Sequence[exp.Expression]) -> exp.Select:
    """Give the number of rows of a side and a sum over what they show."""
    texts = [exp.cast(value, TEXT) for value in values]
    return exp.select(exp.Count(this=exp.Star()), total(fingerprint(texts))).from_(_rows(rows))


def _strangers(engine: Engine, source: Table, owned: OwnedRows, carried: Sequence[Column]) -> int:
    """Count the persons who have other rows than in the source."""
    before = [plain_column(item) for item in carried]
    after: list[exp.Expression] = [column(owned.names[item.name], "s") for item in carried]
    sides = (
        _owned(source, owned.text, before, 0),
        _owned(owned.table, column(owned.person, "s"), after, 1),
    )
    rows = engine.materialize("owned_rows", exp.union(*sides, distinct=False))
    ((strangers,),) = engine.query(bind("audit/moved_rows", tables={"owned_rows": rows}), step="moved_rows")
    return int(strangers)


def _owned(rows: Table, person: exp.Expression, unchanged: Sequence[exp.Expression], side: int) -> exp.Select:
    counts = [literal(1 - side), literal(side)]
    named = [alias(exp.cast(n, "BIGINT"), name) for n, name in zip(counts, ("before", "after"), strict=True)]
    keys = alias(person.copy(), WHO), alias(fingerprint(unchanged), "unchanged")
    return exp.select(*keys, *named).from_(_rows(rows))


def _split(engine: Engine, source: Table, owned: OwnedRows, noisy: Sequence[str]) -> list[tuple[str, int]]:
    """Count, for each column, the persons with one value in the source and several in the release."""
    true = _different(source, owned.text, [column(name, "s") for name in noisy])
    shown = _different(
        owned.table, column(owned.person, "s"), [column(owned.names[name], "s") for name in noisy]
    )
    split: list[exp.Expression] = []
    for place in range(len(noisy)):
        one = exp.LTE(this=column(f"v{place}", "t"), expression=literal(1))
        several = exp.GT(this=column(f"v{place}", "r"), expression=literal(1))
        where = exp.Where(this=exp.and_(one, several))
        split.append(exp.Filter(this=exp.Count(this=exp.Star()), expression=where))
    query = exp.select(*split).from_(true.subquery("t"))
    query = query.join(shown.subquery("r"), on=exp.EQ(this=column(WHO, "t"), expression=column(WHO, "r")))
    (found,) = engine.query(render(query), step="several draws")
    return list(zip(noisy, map(int, found), strict=True))


def _different(rows: Table, person: exp.Expression, values: Sequence[exp.Expression]) -> exp.Select:
    """Count the different values of each column that a person has, NULL aside."""
    counts = [
        alias(exp.Count(this=exp.Distinct(expressions=[value])), f"v{place}")
        for place, value in enumerate(values)
    ]
    return exp.select(alias(person.copy(), WHO), *counts).from_(_rows(rows)).group_by(person.copy())
