"""Holds a swapped table against its source: the owner's audit, which shares nothing with the method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ppdm_sql.audit.comparing import (
    CHANGED,
    OwnedRows,
    counting,
    fingerprint,
    moved_rows,
    ownership_faults,
    plain_column,
    refuse,
    stacked,
    text,
)
from ppdm_sql.audit.labels import binned_values, comparable, distinct_values, own_labels
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Scalar, Sql, Statement, bind, sql, subquery

PATTERN, CARRIED = "pattern", "carried"
_TOTALS = (
    *("other_patterns", "changed_unidentifiable", "mixed", "wrong_groups"),
    *("unique", "changed_unique", "groups", "grouped", "changed_grouped", "grouped_after"),
    *("shown_values", "always_true", "largest_share"),
)


@dataclass(frozen=True)
class SwapPromise:
    """What the swap of one confidential attribute promises."""

    confidential: Column  # the column, as the source has it
    by: Sequence[Column]  # the non-confidential columns
    carried: Sequence[Column]  # further columns that are released unchanged
    count: str | None  # column with the number of records of a row, or None
    proportion: Fraction  # share of the uniquely identifiable records that are changed, in (0, 1]
    # records of each collectively identifiable group that are changed, or their share
    per_group: int | Fraction
    deviation: int  # sum over the values of what their frequencies change by, in records
    bins: Sequence[str] | None = None  # the labels that the release shows for numbers, or none
    unit: str = "record"  # what is identified and changed, in words


@dataclass(frozen=True)
class SwapAudit:
    """What an audit of a swap found; every number is of records but where it says otherwise."""

    other_patterns: int  # non-confidential patterns whose number of records is another
    strangers: int  # combinations of all unchanged columns whose number of records is another
    changed_unidentifiable: int  # patterns that are not identifiable, in which a value was changed
    mixed: int  # identifiable patterns in which values went from one record to another without need
    wrong_groups: int  # groups of which another number than asked was changed
    unique: int  # uniquely identifiable records
    asked_unique: int  # those of them that were to be changed
    changed_unique: int  # those of them that were changed
    groups: int  # collectively identifiable groups
    grouped: int  # records in them
    changed_grouped: int  # records of them that were changed
    grouped_after: int  # records of the release that are collectively identifiable
    deviation: int  # sum over the values of what their frequencies changed by
    shown_values: int  # values that uniquely identifiable records of the release show
    always_true: int  # those of them that are true wherever they are shown
    # the largest share of such a value that is true, in [0, 1]; None without such records
    largest_share: float | None
    values: int  # values that occur in the source or in the release

    @property
    def all_believable(self) -> bool:
        """Whether all uniquely identifiable records are true, or all of two values are false."""
        sure_reverse = self.values <= 2 and self.changed_unique == self.unique
        return self.unique > 0 and (self.changed_unique == 0 or sure_reverse)

    def faults(self, promise: SwapPromise) -> list[str]:
        """Say in words what is not as promised; nothing if all is."""
        moved = self.other_patterns or self.strangers
        wanted, unique, unit = self.asked_unique, self.unique, promise.unit
        faults = [
            (moved, f"columns that are released unchanged have changed in {moved} combinations"),
            (self.changed_unidentifiable, f"{self.changed_unidentifiable} other patterns have changed"),
            (self.mixed, f"{unit}s of {self.mixed} identifiable patterns have exchanged values"),
            (self.wrong_groups, f"another number than asked has changed in {self.wrong_groups} groups"),
            (
                self.changed_unique != wanted,
                f"{self.changed_unique} of {unique} uniquely identifiable {unit}s have changed, not {wanted}",
            ),
            (
                self.deviation != promise.deviation,
                f"frequencies differ by {self.deviation} {unit}s, not by {promise.deviation}",
            ),
            (self.all_believable, f"the values of uniquely identifiable {unit}s can be believed"),
            (self.grouped_after, f"{self.grouped_after} {unit}s are still collectively identifiable"),
        ]
        return [words for wrong, words in faults if wrong]


def accept_swap(engine: Engine, source: Table, released: Table, promise: SwapPromise) -> SwapAudit:
    """Audit a swap, and refuse it if anything is not as promised."""
    audit = audit_swap(engine, source, released, promise)
    refuse(audit.faults(promise), f"The swap of {promise.confidential.name!r} is", CHANGED)
    return audit


def audit_swap(engine: Engine, source: Table, released: Table, promise: SwapPromise) -> SwapAudit:
    """Compare the released rows with the source, column by column, for one confidential attribute."""
    # Records are not followed: what is compared is how many records each combination has. A non-
    # confidential pattern with a single value in the source is identifiable, so each record that it
    # lost of that value was changed; all other patterns must have lost none. Combinations and values
    # are told apart by fingerprints.
    with engine.workspace():
        sides = subquery(_sides(engine, source, released, promise))
        values, strangers = _values(engine, sides)
        totals = _totals(engine, values, promise)
        margins = bind("audit/swap_margins", tables={"swap_sides": sides})
        ((shown_values, deviation),) = engine.query(margins, step="swap_margins")
    whole, parts = promise.proportion.numerator, promise.proportion.denominator
    return SwapAudit(
        **totals,
        strangers=strangers,
        asked_unique=(2 * whole * totals["unique"] + parts) // (2 * parts),
        deviation=deviation,
        values=shown_values,
    )


def _sides(engine: Engine, source: Table, released: Table, promise: SwapPromise) -> Statement:
    """Put the rows of source and release one below the other, with their records on either side."""
    value: Sql = column(promise.confidential.name, "s")
    records, counts = counting(promise.count)
    rows = "FROM {t} AS s {labels} WHERE {counts}"
    labels, true = sql(""), value
    if promise.bins is not None:
        number = comparable(value, promise.confidential.type, promise.bins)
        labels, true = _binned(engine, source, promise, number), column("label", "b")
    pattern = fingerprint([*map(plain_column, promise.by)])
    carried = fingerprint([*map(plain_column, promise.carried)])
    return stacked(
        (sql(rows, t=source, labels=labels, counts=counts), records),
        (sql(rows, t=released, labels=sql(""), counts=counts), records),
        (PATTERN, pattern, pattern),  # grouping by a number is several times faster
        (CARRIED, carried, carried),
        ("value", fingerprint([text(true)]), fingerprint([text(value)])),
    )


def _binned(engine: Engine, source: Table, promise: SwapPromise, number: Sql) -> Statement:
    """Join the intervals in which the confidential numbers of the source lie."""
    name = promise.confidential.name
    known = own_labels(engine, {name: promise.bins or ()})
    values = distinct_values(engine, source, number)
    binned = binned_values(engine, values, known, name)
    return sql("LEFT JOIN {binned} AS b ON b.value = {number}", binned=binned, number=number)


def _values(engine: Engine, sides: Statement) -> tuple[Statement, int]:
    """Give the values of each pattern, and the number of finer combinations that are not as they were."""
    fine = [PATTERN, CARRIED]
    cells = bind("audit/swap_cells", tables={"swap_sides": sides}, columns={"by": fine})
    tables = {"swap_cells": engine.materialize("swap_cells", cells)}
    values = bind("audit/swapped_values", tables=tables, columns={"by": [PATTERN]})
    return subquery(values), moved_rows(engine, tables["swap_cells"], fine, sql("count(*)"))


def _totals(engine: Engine, values: Statement, promise: SwapPromise) -> dict[str, Any]:
    """Count what became of the patterns, by the names that :class:`SwapAudit` has for it."""
    share = Fraction(promise.per_group)
    share_of_groups: dict[str, Scalar] = {"whole": isinstance(promise.per_group, int)}
    share_of_groups |= {"numerator": share.numerator, "denominator": share.denominator}
    tables, by = {"swapped_values": values}, {"by": [PATTERN]}
    (totals,) = engine.query(
        bind("audit/swap_totals", tables=tables, columns=by, values=share_of_groups), step="swap_totals"
    )
    return dict(zip(_TOTALS, totals, strict=True))


# -- persons: all rows of a person alike, and what became of persons is counted as of records ---------


def accept_swapped_persons(
    engine: Engine, source: Table, released: Table, promises: Sequence[SwapPromise], owned: OwnedRows
) -> list[SwapAudit]:
    """Audit a swap of persons, and refuse it if anything is not as promised."""
    unchanged = [*promises[0].by, *promises[0].carried]
    changed = [promise.confidential.name for promise in promises]
    what = "The swap of persons is"
    refuse(ownership_faults(engine, source, released, owned, unchanged, changed), what, CHANGED)
    audits = []
    for promise in promises:
        with engine.workspace():
            audit, faults = _audited_persons(engine, source, promise, owned)
        refuse([f"in {promise.confidential.name!r}, {words}" for words in faults], what, CHANGED)
        audits.append(audit)
    return audits


def _audited_persons(
    engine: Engine, source: Table, promise: SwapPromise, owned: OwnedRows
) -> tuple[SwapAudit, list[str]]:
    """Count what became of the persons by one attribute, and say what is not as promised."""
    value, by = promise.confidential, promise.by
    patterns = [owned.column(item.name) for item in by]
    sides = {
        "source": (source, owned.of_source, [*map(plain_column, by)], plain_column(value)),
        "release": (owned.table, owned.person, patterns, owned.column(value.name)),
    }
    persons = {side: _persons(engine, *rows) for side, rows in sides.items()}
    several = """SELECT count(*) FILTER (p."values" > 1) FROM {persons} AS p"""
    split = {
        side: engine.query(sql(several, persons=table), step="several values")[0][0]
        for side, table in persons.items()
    }
    # the names of our own tables, in the place of the source's
    counted = replace(
        promise,
        confidential=Column("value", "VARCHAR" if value.type.startswith("ENUM") else value.type),
        by=[Column(PATTERN, "UBIGINT")],
        carried=[Column("person", "UBIGINT")],
        count=None,
    )
    audit = audit_swap(engine, persons["source"], persons["release"], counted)
    faults = [f"{n} persons have several values in the {side}" for side, n in split.items() if n]
    return audit, [*faults, *audit.faults(counted)]


def _persons(engine: Engine, rows: Table, person: Sql, by: Sequence[Sql], value: Sql) -> Table:
    """Give the persons of one side: ``person, pattern, value, values``."""
    read = "SELECT {person} AS person, {pattern} AS pattern, {value} AS value FROM {rows} AS s"
    each = subquery(sql(read, person=person, pattern=fingerprint(by), value=value, rows=rows))
    return engine.materialize("swap_persons", bind("audit/swap_persons", tables={"swap_rows": each}))
