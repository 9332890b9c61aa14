"""Judges the pseudonyms of a release whose records live elsewhere, in aggregates that are made there.

It asks what :mod:`~ppdm_sql.audit.pseudonyms` asks. No identifier, digest or pseudonym is handed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from ppdm_sql.audit.fingerprints import TEXT, fingerprint, total
from ppdm_sql.audit.pseudonyms import SHAPE, refuse_pseudonyms, worded
from ppdm_sql.audit.randomized_elsewhere import WIDE, known_values
from ppdm_sql.engine import Column
from ppdm_sql.engine.names import alias, column
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.statements import literal

DIGITS = 64
"""Of a pseudonym, and of the digest that anybody can compute of a value."""


class People(NamedTuple):
    """What one side has of the people of a column.

    Args:
        number: How many there are.
        records: The sum over what the records of each show unchanged.
        odd: How many have a value that does not look like a pseudonym.
        known: How many have a value.
        shown: The sum over the digests of their values, or over their pseudonyms.
    """

    number: int
    records: int
    odd: int
    known: int
    shown: int


def accept_pseudonyms_elsewhere(
    source: Source, released: Source, names: Sequence[str], unchanged: Sequence[Column]
) -> None:
    """Judge the pseudonyms of a release by the columns that it shows unchanged beside them.

    Args:
        source: The source.
        released: The rows as they were written.
        names: The columns with pseudonyms; with none there is nothing to do.
        unchanged: Columns that are released as they are.

    Raises:
        GuaranteeNotMet: They are not one for each value and its records, or are the values' own digests.

    Cost: a GROUP BY of both tables by each of the columns.
    """
    faults: list[str] = []
    for name in names:
        before, after = (_people(rows, name, unchanged, rows is source) for rows in (source, released))
        faults += worded(
            name,
            differ=before[:2] != after[:2],
            odd=after.odd,
            computable=bool(after.known and before.shown == after.shown),
        )
    refuse_pseudonyms(faults)


def _people(rows: Source, name: str, unchanged: Sequence[Column], is_source: bool) -> People:
    """Look at the people of one side in one statement."""
    own = exp.cast(column("p", "r"), TEXT)
    digest = exp.SHA2(this=own.copy(), length=literal(256))
    looks = exp.RegexpLike(this=own.copy(), expression=literal(f"^{SHAPE}$"))
    long = exp.EQ(this=exp.Length(this=own.copy()), expression=literal(DIGITS))
    odd = exp.Not(this=exp.paren(exp.and_(looks, long)))
    measures = [
        exp.Count(this=exp.Star()),
        _total([column("n", "r"), column("f", "r")]),
        exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=odd)),
        exp.Count(this=column("p", "r")),
        _total([digest if is_source else own]),
    ]

    def query(table: exp.Expression) -> exp.Expression:
        person = column(name, "s")
        number = alias(exp.Count(this=exp.Star()), "n")
        shows = alias(_total(known_values(unchanged)), "f")
        each = exp.select(alias(person, "p"), number, shows).from_(table).group_by(person.copy())
        return exp.select(*(item.copy() for item in measures)).from_(each.subquery("r"))

    (found,) = rows.aggregate(query, step="pseudonyms")
    return People(*map(int, found))


def _total(values: Sequence[exp.Expression]) -> exp.Expression:
    return total(exp.cast(fingerprint(values), WIDE))
