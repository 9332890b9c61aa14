"""Holds a swapped table against its source: the owner's audit, which shares nothing with the method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.audit.bins import binned_values, comparable, distinct_values, join_label, own_labels
from ppdm_sql.audit.fingerprints import fingerprint, plain_column
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import Scalar, bind, literal
from ppdm_sql.errors import GuaranteeNotMet

_SIDES = ("before", "after")
PATTERN, CARRIED = "pattern", "carried"
_TOTALS = (
    *("other_patterns", "changed_unidentifiable", "mixed", "wrong_groups"),
    *("unique", "changed_unique", "groups", "grouped", "changed_grouped", "grouped_after"),
    *("shown_values", "always_true", "largest_share"),
)


@dataclass(frozen=True)
class SwapPromise:
    """What the swap of one confidential attribute promises.

    Args:
        confidential: The column, as the source has it.
        by: The non-confidential columns.
        carried: Further columns that are released unchanged.
        count: Column with the number of records of a row, or None.
        proportion: Share of the uniquely identifiable records that are changed, in (0, 1].
        per_group: Records of each collectively identifiable group that are changed, or their share.
        deviation: Sum over the values of what their frequencies change by, in records.
        bins: The labels that the release shows for numbers, or none.
        unit: What is identified and changed, in words.
    """

    confidential: Column
    by: Sequence[Column]
    carried: Sequence[Column]
    count: str | None
    proportion: Fraction
    per_group: int | Fraction
    deviation: int
    bins: Sequence[str] | None = None
    unit: str = "record"


@dataclass(frozen=True)
class SwapAudit:
    """What an audit of a swap found; every number is of records but where it says otherwise.

    Args:
        other_patterns: Non-confidential patterns whose number of records is another.
        strangers: Combinations of all unchanged columns whose number of records is another.
        changed_unidentifiable: Patterns that are not identifiable, in which a value was changed.
        mixed: Identifiable patterns in which values went from one record to another without need.
        wrong_groups: Groups of which another number than asked was changed.
        unique: Uniquely identifiable records.
        asked_unique: Those of them that were to be changed.
        changed_unique: Those of them that were changed.
        groups: Collectively identifiable groups.
        grouped: Records in them.
        changed_grouped: Records of them that were changed.
        grouped_after: Records of the release that are collectively identifiable.
        deviation: Sum over the values of what their frequencies changed by.
        shown_values: Values that uniquely identifiable records of the release show.
        always_true: Those of them that are true wherever they are shown.
        largest_share: The largest share of such a value that is true, in [0, 1]; None without such records.
        values: Values that occur in the source or in the release.
    """

    other_patterns: int
    strangers: int
    changed_unidentifiable: int
    mixed: int
    wrong_groups: int
    unique: int
    asked_unique: int
    changed_unique: int
    groups: int
    grouped: int
    changed_grouped: int
    grouped_after: int
    deviation: int
    shown_values: int
    always_true: int
    largest_share: float | None
    values: int

    @property
    def all_believable(self) -> bool:
        """Whether all uniquely identifiable records are true, or all of two values are false."""
        sure_reverse = self.values <= 2 and self.changed_unique == self.unique
        return self.unique > 0 and (self.changed_unique == 0 or sure_reverse)

    def faults(self, promise: SwapPromise) -> list[str]:
        """Say in words what is not as promised; nothing if all is."""
        moved = self.other_patterns or self.strangers
        asked, unique, unit = self.asked_unique, self.unique, promise.unit
        found = [
            (moved, f"columns that are released unchanged have changed in {moved} combinations"),
            (self.changed_unidentifiable, f"{self.changed_unidentifiable} other patterns have changed"),
            (self.mixed, f"{unit}s of {self.mixed} identifiable patterns have exchanged values"),
            (self.wrong_groups, f"another number than asked has changed in {self.wrong_groups} groups"),
            (
                self.changed_unique != asked,
                f"{self.changed_unique} of {unique} uniquely identifiable {unit}s have changed, not {asked}",
            ),
            (
                self.deviation != promise.deviation,
                f"frequencies differ by {self.deviation} {unit}s, not by {promise.deviation}",
            ),
            (self.all_believable, f"the values of uniquely identifiable {unit}s can be believed"),
            (self.grouped_after, f"{self.grouped_after} {unit}s are still collectively identifiable"),
        ]
        return [words for wrong, words in found if wrong]


def accept_swap(engine: Engine, source: Table, released: exp.Select, promise: SwapPromise) -> SwapAudit:
    """Audit a swap, and refuse it if anything is not as promised.

    Raises:
        GuaranteeNotMet: The released rows are not what the swap of this attribute promises.
    """
    found = audit_swap(engine, source, released, promise)
    faults = found.faults(promise)
    if faults:
        raise GuaranteeNotMet(
            f"The swap of {promise.confidential.name!r} is not what was promised: {'; '.join(faults)}; "
            "nothing was published.",
            "Run it again if the source was being changed; else report this as a defect.",
        )
    return found


def audit_swap(engine: Engine, source: Table, released: exp.Select, promise: SwapPromise) -> SwapAudit:
    """Compare the released rows with the source, column by column, for one confidential attribute.

    Records are not followed: what is compared is how many records each combination has. A non-confidential
    pattern with a single value in the source is identifiable, so each record that it lost of that value was
    changed; all other patterns must have lost none.

    Args:
        engine: Where both are.
        source: The source.
        released: The rows as the release shows them.
        promise: What they promise.

    Combinations and values are told apart by fingerprints.

    Cost: one GROUP BY over the rows of both tables, another one of its groups, and a scan of the confidential
    column in both; where columns are carried, two scans of the groups besides.
    """
    with engine.workspace():
        sides = engine.overlay(_sides(engine, source, released, promise))
        values, strangers = _values(engine, sides, carried=bool(promise.carried))
        totals = _totals(engine, values, promise)
        ((found, deviation),) = engine.query(
            bind("audit/swap_margins", tables={"swap_sides": sides}), step="swap_margins"
        )
    whole, parts = promise.proportion.numerator, promise.proportion.denominator
    return SwapAudit(
        **totals,
        strangers=strangers,
        asked_unique=(2 * whole * totals["unique"] + parts) // (2 * parts),
        deviation=deviation,
        values=found,
    )


def _totals(engine: Engine, values: Table, promise: SwapPromise) -> dict[str, Any]:
    """Count what became of the patterns, by the names that :class:`SwapAudit` has for it."""
    share = Fraction(promise.per_group)
    asked: dict[str, Scalar] = {"whole": isinstance(promise.per_group, int)}
    asked |= {"numerator": share.numerator, "denominator": share.denominator}
    text = bind(
        "audit/swap_totals", tables={"swapped_values": values}, columns={"by": [PATTERN]}, values=asked
    )
    (found,) = engine.query(text, step="swap_totals")
    return dict(zip(_TOTALS, found, strict=True))


def _values(engine: Engine, sides: Table, *, carried: bool) -> tuple[Table, int]:
    """Give the values of each pattern, and the number of finer combinations that are not as they were."""
    fine = [PATTERN, CARRIED] if carried else [PATTERN]
    cells = bind("audit/swap_cells", tables={"swap_sides": sides}, columns={"by": fine})
    if not carried:
        return engine.overlay(cells), 0
    tables = {"swap_cells": engine.materialize("swap_cells", cells)}
    values = bind("audit/swapped_values", tables=tables, columns={"by": [PATTERN]})
    unchanged = bind("audit/swap_strangers", tables=tables, columns={"unchanged": fine})
    ((strangers,),) = engine.query(unchanged, step="swap_strangers")
    return engine.overlay(values), strangers


def _sides(engine: Engine, source: Table, released: exp.Select, promise: SwapPromise) -> exp.Expression:
    """Put the rows of source and release one below the other, with their records on either side."""
    name, type_text = promise.confidential
    value: exp.Expression = column(name, "s")
    before = _counted(promise, value if promise.bins is None else column("label", "b0"), 0)
    before = before.from_(aliased(source, "s"))
    if promise.bins is not None:
        number = comparable(value, type_text, promise.bins)
        known, values = own_labels(engine, {name: promise.bins}), distinct_values(engine, source, number)
        binned = binned_values(engine, values, known, name)
        before.append("joins", join_label(number, binned.expression(), "b0"))
    after = _counted(promise, value, 1).from_(released.subquery("s"))
    if promise.count is not None:
        counted = exp.GT(this=column(promise.count, "s"), expression=literal(0))
        before, after = before.where(counted), after.where(counted.copy())
    return exp.union(before, after, distinct=False)


def _counted(promise: SwapPromise, value: exp.Expression, side: int) -> exp.Select:
    """Select the rows of one side: the pattern, what is carried, the value, and the records on this side."""
    keys = [alias(_pattern(promise.by), PATTERN)]
    if promise.carried:
        keys.append(alias(_pattern(promise.carried), CARRIED))
    counts = [literal(0), literal(0)]
    counts[side] = literal(1) if promise.count is None else column(promise.count, "s")
    numbers = [alias(exp.cast(n, "BIGINT"), name) for n, name in zip(counts, _SIDES, strict=True)]
    return exp.select(*keys, alias(fingerprint([exp.cast(value, "TEXT")]), "value"), *numbers)


def _pattern(columns: Sequence[Column]) -> exp.Expression:
    """Give the number of a combination: grouping by it is several times faster."""
    return fingerprint([plain_column(item) for item in columns])
