"""What a data steward looks at before a release goes out: who is named in it, or alone.

Kept columns are looked at before the run, and refused where they say who a person is. The rest is told of the
rows as they would be released; no sentence holds a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from ppdm_sql.audit.column_kinds import (
    FEWEST_RECORDS,
    NEARLY_ALL,
    Look,
    ValueShape,
    is_named_for_persons,
    looks_like,
    without_contacts,
)
from ppdm_sql.audit.comparing import fingerprint
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, names_option
from ppdm_sql.engine.source import aggregated, is_stand_in, source_of
from ppdm_sql.engine.statements import bind, sql, subquery
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.errors import ColumnRoleError

if TYPE_CHECKING:
    from ppdm_sql.audit.profiling import ColumnProfile

MASKED = ("suppressed", "generalized", "discretized")
CLEAR = ("sensitive", "class", "kept")
"""Treatments of columns that show labels, and of those that are released as they are."""
CONSIDERABLE, FEWEST_ALONE = 0.05, 5
"""Share and number of the records alone from which it is told: rare values single some out anywhere."""
FEWER, FEWER_NAMED = 2, 1.2
"""A notice is given where there are at least so many rows for each value, on average: of names some are alike
by chance, of what is called as a person's number few are."""
LEAST_VALUES = 10
"""Columns with fewer values single nobody out, whatever they are called."""


def refuse_identifiers(
    engine: Engine, table: Table, kept: Collection[str], allowed: Collection[str], count: str | None
) -> None:
    """Refuse kept columns that look like direct identifiers, or in which nearly every record is alone."""
    # Unique numbers that do not look like identifiers, as exact amounts, are not refused: if they
    # single people out, :func:`singled_out` tells so of the released rows.
    from ppdm_sql.audit.profiling import column_profiles

    names = [name for name in kept if name not in allowed]
    look = _looked_elsewhere if is_stand_in(engine, table) else column_profiles
    records, profiles = look(engine, table, names, count) if names else (0, [])
    why = {item.column: reason for item in profiles if (reason := _identifies(item, records))}
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

    records, sizes = _sizes(engine, table, names, step="kept_columns")
    types = {item.name: item.type for item in engine.columns(table)}
    profiles = []
    for name, (values, known) in sizes.items():
        alone = known if values >= NEARLY_ALL**2 * known else 0  # the counts are a few in a hundred off
        seen = {"records": records, "values": min(values, known), "nulls": records - known, "alone": alone}
        look = looks_like(name, types[name], shape=ValueShape(), **seen).value
        share = alone / max(records, 1)
        profiles.append(ColumnProfile(name, "", seen["values"], seen["nulls"], alone, share, look))
    return records, profiles


def _sizes(
    engine: Engine, table: Table, names: Collection[str], *, step: str
) -> tuple[int, dict[str, tuple[int, int]]]:
    """Count the records, and of each column the values, about, and the records that have one; one scan."""
    counts = [sql("approx_count_distinct({c}), count({c})", c=column(name, "s")) for name in names]
    query = "SELECT {counts} FROM {rows}"
    ((records, *sizes),) = aggregated(engine, table, query, step=step, counts=[sql("count(*)"), *counts])
    both = zip(map(int, sizes[::2]), map(int, sizes[1::2]), strict=True)
    return int(records), dict(zip(names, both, strict=True))


def _identifies(item: ColumnProfile, records: int) -> str:
    """Say why a column tells who a person is; nothing where it does not."""
    known = records - item.nulls
    unique = known >= FEWEST_RECORDS and item.alone >= NEARLY_ALL * known
    differ = f"{item.values:,} of {known:,} values differ"
    if item.looks_like == Look.identifier:
        return "looks like a direct identifier" + (f" ({differ})" if unique else "")
    return f"is nearly unique ({differ})" if unique and item.looks_like != Look.number else ""


# -- rows that are taken for persons and seem not to be -----------------------------------------------
#
# A column that is to single persons out, since it is a direct identifier or is called like one, should have
# about as many values as there are rows. Where it has far fewer, rows share their person with others, and a
# count of rows promises less than it seems to.


def repeated_persons(
    engine: Engine,
    table: Table,
    columns: Iterable[Column],
    identifiers: Sequence[str] = (),
    *,
    otherwise: str = "requirements count rows",
    beside: str = "",
) -> list[str]:
    """Say which columns seem to say whose a row is, and have far fewer values than there are rows."""
    unreadable = source_of(engine, table).unreadable()
    types = {item.name: kind_of(item.type) for item in columns if item.name not in unreadable}
    telling = [
        name
        for name, kind in types.items()
        if name in identifiers
        or (is_named_for_persons(name) and kind not in (Kind.BOOLEAN, Kind.REAL, Kind.OTHER))
    ]
    telling = without_contacts(telling, types)
    if not telling:
        return []
    _, sizes = _sizes(engine, table, telling, step="repeated_persons")
    fewer = {name: FEWER_NAMED if is_named_for_persons(name) else FEWER for name in telling}
    few = {name: size for name, size in sizes.items() if LEAST_VALUES <= size[0] <= size[1] / fewer[name]}
    if not few:
        return []
    name = max(few, key=lambda one: few[one][0])
    values, rows = few[name]
    return [
        f"{name} has about {_rounded(values)} values in {rows:,} rows, and {otherwise}. If it says whose "
        f"record a row is, give {names_option('--person', [name])}{beside}."
    ]


def _rounded(number: int) -> str:
    """Write an estimate with two digits."""
    power = max(0, len(str(number)) - 2)
    return f"{round(number, -power):,}"


# -- what is told of the released rows ------------------------------------------------------------


def singled_out(
    engine: Engine,
    released: exp.Select,
    treatments: Mapping[str, str],
    *,
    known: Sequence[str] = (),
    count: str | None = None,
    person: str | None = None,
) -> str | None:
    """Say how many are alone by what is released as it is, and by what others know, where they are many."""
    masked = [name for name, how in treatments.items() if how in MASKED]
    clear = [name for name, how in treatments.items() if how in CLEAR and name not in known]
    if not clear:
        return None
    # a number for what stands beside the clear columns, and one for each of their values
    codes = {name: f"c{place}" for place, name in enumerate(clear)}
    hashed = sql(
        "SELECT {beside} AS beside, {clear}, {records} AS records, {person} AS person FROM {rows} AS s",
        beside=fingerprint([column(name, "s") for name in (*masked, *known)]),
        clear=[sql("hash({v}) AS {c}", v=column(name, "s"), c=column(code)) for name, code in codes.items()],
        records=1 if count is None else column(count, "s"),
        person=sql("NULL") if person is None else column(person, "s"),
        rows=subquery(released),
    )
    rows, values = engine.materialize("hashed", hashed), {"persons": person is not None}

    def alone(names: Collection[str]) -> tuple[int, int]:
        """Count the records that are alone by what is beside and some clear columns, and all."""
        columns = {"shown": ["beside", *(codes[name] for name in names)]}
        text = bind("audit/records_alone", tables={"hashed": rows}, columns=columns, values=values)
        ((number, records),) = engine.query(text, step="records_alone")
        return int(number), int(records)

    number, records = alone(clear)
    least = max(CONSIDERABLE * records, FEWEST_ALONE)
    if number < least:
        return None
    least += alone(())[0]
    if number < least:
        return None
    # columns that single out many one by one, beside the masked ones, are named; else all are
    each = [name for name in clear if len(clear) > 1 and alone([name])[0] >= least]
    if 0 < len(each) < len(clear):
        clear, number = each, alone(each)[0]
    *most, last = map(repr, (*known, *clear))
    named = f"values of {', '.join(most)} and {last}" if most else f"value of {last}"
    counted, labels = "record" if person is None else "person", "labels and the same " if masked else ""
    share = _per_cent(number / records)
    return f"{share} of the records can be singled out: no other {counted} has the same {labels}{named}."


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
        f"{combinations:,} combinations of two labels in {columns} column{'s' * (columns != 1)}."
    )


def left_out_of(records: int, of: int) -> str:
    """Say how many records are missing; which values they held is for the owner's page alone."""
    are = "is" if records == 1 else "are"
    return f"{records:,} of {of:,} records ({_per_cent(records / of)}) {are} left out."


def _per_cent(share: float) -> str:
    return f"{100 * share:.3g} %"
