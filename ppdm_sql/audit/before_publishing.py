"""What a data steward looks at before a release goes out: who is named in it, or alone.

Kept columns are looked at before the run, and refused where they say who a person is. The rest is told of the
rows as they would be released; no sentence holds a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from ppdm_sql.audit.column_kinds import FEWEST_RECORDS, NEARLY_ALL, Look, ValueShape, looks_like
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, names_option
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import ColumnRoleError
from ppdm_sql.taxonomy.building import counted as number_of

if TYPE_CHECKING:
    from ppdm_sql.audit.profiling import ColumnProfile

MASKED = ("suppressed", "generalized", "discretized")
CLEAR = ("sensitive", "class", "kept")
"""Treatments of columns that show labels, and of those that are released as they are."""
CONSIDERABLE, FEWEST_ALONE = 0.05, 5
"""Share and number of the records alone from which it is told: rare values single some out anywhere."""


def refuse_identifiers(
    engine: Engine, table: Table, kept: Collection[str], allowed: Collection[str], count: str | None
) -> None:
    """Refuse kept columns that look like direct identifiers, or in which nearly every record is alone.

    Unique numbers that do not look like identifiers, as exact amounts, are not refused: if they single people
    out, :func:`singled_out` tells so of the released rows.

    Args:
        engine: Where the table is; inside a workspace.
        table: The source.
        kept: The columns that would be released as they are.
        allowed: Those of them that are to be released whatever they look like.
        count: Column with the number of records of a row, or None.

    Raises:
        ColumnRoleError: There are such columns; the message says why of each.

    Cost: one GROUP BY of each kept column that is not allowed; of a table elsewhere one scan for all.
    """
    from ppdm_sql.audit.profiling import column_profiles

    asked = [name for name in kept if name not in allowed]
    look = _looked_elsewhere if is_stand_in(engine, table) else column_profiles
    records, profiles = look(engine, table, asked, count) if asked else (0, [])
    why = {item.column: said for item in profiles if (said := _identifies(item, records))}
    if why:
        each = "; ".join(f"{name!r} {said}" for name, said in why.items())
        they, them = ("it", "it") if len(why) == 1 else ("they", "them")
        raise ColumnRoleError(
            f"--keep names what tells who a person is: {each}.",
            f"Leave {them} out of --keep, give --identifier NAME=pseudonym instead, or add "
            f"{names_option('--allow-identifier', why)} if {they} may be published.",
        )


def _looked_elsewhere(
    engine: Engine, table: Table, names: Collection[str], count: str | None
) -> tuple[int, list[ColumnProfile]]:
    """Guess by names, types and approximate counts, so that no values are handed over."""
    from ppdm_sql.audit.profiling import ColumnProfile

    wanted: list[exp.Expression] = [exp.Count(this=exp.Star())]
    for name in names:
        value = column(name, "s")
        wanted += [exp.ApproxDistinct(this=value), exp.Count(this=value.copy())]
    source = source_of(engine, table)
    (found,) = source.aggregate(lambda rows: exp.select(*wanted).from_(rows), step="kept_columns")
    records, *sizes = map(int, found)
    types = {item.name: item.type for item in engine.columns(table)}
    profiles = []
    for name, values, known in zip(names, sizes[::2], sizes[1::2], strict=True):
        alone = known if values >= NEARLY_ALL**2 * known else 0  # the counts are a few in a hundred off
        seen = {"records": records, "values": min(values, known), "nulls": records - known, "alone": alone}
        look = looks_like(name, types[name], shape=ValueShape(), **seen).value
        share = alone / max(records, 1)
        profiles.append(ColumnProfile(name, "", seen["values"], seen["nulls"], alone, share, look))
    return records, profiles


def _identifies(item: ColumnProfile, records: int) -> str:
    """Say why a column tells who a person is; nothing where it does not."""
    known = records - item.nulls
    unique = known >= FEWEST_RECORDS and item.alone >= NEARLY_ALL * known
    differ = f"{item.values:,} of {known:,} values differ"
    if item.looks_like == Look.identifier:
        return "looks like a direct identifier" + (f" ({differ})" if unique else "")
    return f"is nearly unique ({differ})" if unique and item.looks_like != Look.number else ""


# -- what is told of the released rows ------------------------------------------------------------


@dataclass(frozen=True)
class SingledOut:
    """Records that nobody shares what is released with.

    Args:
        share: Of all records, in (0, 1].
        columns: Those released as they are that it takes, and those that others are taken to know.
        beside: Whether labels of masked columns are part of it, too.
        counted: ``record`` or ``person``: who no other one is like.
    """

    share: float
    columns: tuple[str, ...]
    beside: bool
    counted: str

    def __str__(self) -> str:
        *most, last = map(repr, self.columns)
        named = f"{', '.join(most)} and {last}" if most else last
        labels = "labels and the same " if self.beside else ""
        return (
            f"{_per_cent(self.share)} of the records can be singled out: no other {self.counted} "
            f"has the same {labels}{'value' if not most else 'values'} of {named}."
        )


class ReleasedRows:
    """The rows of a release, to be looked at by what became of their columns.

    Args:
        engine: Inside a workspace.
        rows: The rows.
        treatments: What became of each column.
        known: Columns that are in a combination anyway, since the method takes others to know them.
        count: The column of counts, or None.
        person: The column that numbers persons, or None.
    """

    def __init__(
        self,
        engine: Engine,
        rows: exp.Select,
        treatments: Mapping[str, str],
        *,
        known: Sequence[str] = (),
        count: str | None = None,
        person: str | None = None,
    ) -> None:
        self._engine, self._known, self._count, self._person = engine, known, count, person
        self._masked = [name for name, how in treatments.items() if how in MASKED]
        self._clear = [name for name, how in treatments.items() if how in CLEAR and name not in known]
        self._rows = engine.overlay(rows)

    def singled_out(self) -> SingledOut | None:
        """Say who is alone by what is released as it is, where they are many.

        Columns that single out many one by one, beside the masked ones, are named; else all are.

        Cost: one GROUP BY of the rows; where many are alone, one more for each column.
        """
        if not self._clear:
            return None
        rows = self._hashed()
        alone, records = self._alone(rows, self._clear)
        least = max(CONSIDERABLE * records, FEWEST_ALONE)
        if alone < least:
            return None
        least += self._alone(rows, ())[0]
        if alone < least:
            return None
        each = [name for name in self._clear if self._alone(rows, [name])[0] >= least]
        named = each if 0 < len(each) < len(self._clear) else self._clear
        alone = alone if named is self._clear else self._alone(rows, named)[0]
        counted = "record" if self._person is None else "person"
        return SingledOut(alone / records, (*self._known, *named), bool(self._masked), counted)

    def _hashed(self) -> Table:
        """Write a number for what stands beside the clear columns, and one for each of their values."""
        beside: list[exp.Expression] = [column(name, "r") for name in (*self._masked, *self._known)]
        beside = beside or [exp.Literal.number(0)]
        wanted = [alias(exp.Anonymous(this="hash", expressions=beside), "beside")]
        for place, name in enumerate(self._clear):
            value = exp.Anonymous(this="hash", expressions=[column(name, "r")])
            wanted.append(alias(value, f"c{place}"))
        wanted.append(
            alias(exp.Literal.number(1) if self._count is None else column(self._count, "r"), "records")
        )
        wanted.append(alias(exp.null() if self._person is None else column(self._person, "r"), "person"))
        return self._engine.materialize("hashed", exp.select(*wanted).from_(aliased(self._rows, "r")))

    def _alone(self, rows: Table, names: Collection[str]) -> tuple[int, int]:
        """Count the records that are alone by what is beside and some clear columns, and all."""
        columns = {"shown": ["beside", *(f"c{self._clear.index(name)}" for name in names)]}
        values = {"persons": self._person is not None}
        text = bind("audit/records_alone", tables={"hashed": rows}, columns=columns, values=values)
        ((alone, records),) = self._engine.query(text, step="records_alone")
        return int(alone), int(records)


def too_small(number: int, of: str, k: int, columns: int) -> str | None:
    """Say so where a table has fewer classes of k than there are combinations of two labels a column.

    Example:
        >>> print(too_small(63, "records", 5, 5))
        63 records make at most 12 classes of 5, fewer than the 32 combinations of two labels in 5 columns.
        >>> too_small(1_000, "records", 5, 5)
    """
    classes, combinations = number // k, 2**columns
    if not 0 < classes < combinations:  # none at all is an error
        return None
    return (
        f"{number:,} {of} make at most {classes:,} class{'es' * (classes != 1)} of {k}, fewer than the "
        f"{combinations:,} combinations of two labels in {number_of(columns, 'column')}."
    )


def left_out_of(records: int, of: int) -> str:
    """Say how many records are missing; which values they held is for the owner's page alone.

    Example:
        >>> left_out_of(124, 7_200)
        '124 of 7,200 records (1.72 %) are left out.'
    """
    are = "is" if records == 1 else "are"
    return f"{records:,} of {of:,} records ({_per_cent(records / of)}) {are} left out."


def _per_cent(share: float) -> str:
    return f"{100 * share:.3g} %"
