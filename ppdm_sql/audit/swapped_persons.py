"""Holds a table in which persons were swapped against its source: all rows of a person alike, and no others.

Released rows do not say whose they are. The method says it, for the audit alone, and its word is checked: the
rows that it shows must be those of the release, and each person must have the rows that they have in the
source, by all columns that are released unchanged. What became of the persons is then counted as for records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.audit.fingerprints import TEXT, fingerprint, plain_column, total
from ppdm_sql.audit.swaps import SwapAudit, SwapPromise, audit_swap
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.errors import GuaranteeNotMet

PATTERN, PERSON, VALUE = "pattern", "person", "value"


@dataclass(frozen=True)
class LinkedRows:
    """Released rows with the persons whose they are.

    Args:
        table: The rows, perhaps collapsed.
        person: Its columns that say whose a row is, in the order of the source's.
        names: For each released column its column in the table, but for pseudonyms.
        records: Its column with the number of released rows.
    """

    table: Table
    person: Sequence[str]
    names: Mapping[str, str]
    records: str

    def column(self, name: str) -> exp.Expression:
        """Give what a released column shows."""
        return column(self.names[name], "s")


def accept_swapped_persons(
    engine: Engine,
    source: Table,
    released: exp.Select,
    promises: Sequence[SwapPromise],
    person: Sequence[Column],
    linked: LinkedRows,
) -> list[SwapAudit]:
    """Audit a swap of persons, and refuse it if anything is not as promised.

    Args:
        engine: Where all is.
        source: The source.
        released: The rows as the release shows them.
        promises: What the swap of each confidential attribute promises, in numbers of persons.
        person: The columns of the source that say whose a row is.
        linked: The rows, with whose they are.

    Raises:
        GuaranteeNotMet: The released rows are not what the swap of these attributes promises.

    Cost: a scan and three GROUP BYs of source and release; for each attribute a GROUP BY of both.
    """
    with engine.workspace():
        _refuse(_strange_rows(engine, source, released, promises, person, linked))
    found = []
    for promise in promises:
        with engine.workspace():
            audit, faults = _audited(engine, source, promise, person, linked)
        _refuse([f"in {promise.confidential.name!r}, {words}" for words in faults])
        found.append(audit)
    return found


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise GuaranteeNotMet(
            f"The swap of persons is not what was promised: {'; '.join(faults)}; nothing was published.",
            "Run it again if the source was being changed; else report this as a defect.",
        )


# -- the rows of persons ----------------------------------------------------------------------


def _strange_rows(
    engine: Engine,
    source: Table,
    released: exp.Select,
    promises: Sequence[SwapPromise],
    person: Sequence[Column],
    linked: LinkedRows,
) -> list[str]:
    """Say in words what rows are not those of the release, or not their persons'; nothing if all are."""
    first = promises[0]
    unchanged = [*first.by, *first.carried]
    values = [promise.confidential.name for promise in promises]
    shown = [*(plain_column(item) for item in unchanged), *(_text(column(name, "s")) for name in values)]
    own = [
        *(linked.column(item.name) for item in unchanged),
        *(_text(linked.column(name)) for name in values),
    ]
    records = column(linked.records, "s")
    released_sum = _whole(released.subquery("s"), shown, literal(1))
    linked_sum = _whole(_from(linked.table), own, records)
    one, other = engine.query(render(exp.union(released_sum, linked_sum, distinct=False)), step="linked")
    before = _owned(
        [column(item.name, "s") for item in person], [plain_column(item) for item in unchanged], 0, literal(1)
    )
    after = _owned([column(name, "s") for name in linked.person], own[: len(unchanged)], 1, records)
    sides = exp.union(before.from_(_from(source)), after.from_(_from(linked.table)), distinct=False)
    owned = engine.materialize("owned_rows", sides)
    ((moved,),) = engine.query(bind("audit/moved_rows", tables={"owned_rows": owned}), step="moved_rows")
    found = [
        (one != other, "the released rows are not those of which it is known whose they are"),
        (moved, f"{moved} persons have other rows than in the source"),
    ]
    return [words for wrong, words in found if wrong]


def _whole(rows: exp.Expression, values: Sequence[exp.Expression], records: exp.Expression) -> exp.Select:
    """Give the number of rows of a side and a sum over what they show."""
    number = exp.cast(exp.Sum(this=records.copy()), exp.DataType.Type.INT128)
    return exp.select(alias(number, "n"), alias(total(fingerprint(values), records), "f")).from_(rows)


def _owned(
    person: Sequence[exp.Expression],
    unchanged: Sequence[exp.Expression],
    side: int,
    records: exp.Expression,
) -> exp.Select:
    """Select whose each row of a side is, what it shows unchanged, and the records on this side."""
    counts: list[exp.Expression] = [literal(0), literal(0)]
    counts[side] = records.copy()
    named = [alias(exp.cast(n, "BIGINT"), name) for n, name in zip(counts, ("before", "after"), strict=True)]
    keys = alias(_who(person), PERSON), alias(fingerprint(unchanged), "unchanged")
    return exp.select(*keys, *named)


def _from(table: Table) -> exp.Expression:
    return aliased(table, "s")


def _text(value: exp.Expression) -> exp.Expression:
    return exp.cast(value, TEXT)


def _who(person: Sequence[exp.Expression]) -> exp.Expression:
    """Give the number of a person, the same by whichever type a column is read."""
    return fingerprint([_text(value) for value in person])


# -- what became of the persons ---------------------------------------------------------------


def _audited(
    engine: Engine, source: Table, promise: SwapPromise, person: Sequence[Column], linked: LinkedRows
) -> tuple[SwapAudit, list[str]]:
    """Count what became of the persons by one attribute, and say what is not as promised."""
    value = promise.confidential
    before = _persons(
        engine,
        _from(source),
        [column(item.name, "s") for item in person],
        [plain_column(item) for item in promise.by],
        plain_column(value),
    )
    after = _persons(
        engine,
        _from(linked.table),
        [column(name, "s") for name in linked.person],
        [linked.column(item.name) for item in promise.by],
        linked.column(value.name),
    )
    split = [_several(engine, persons) for persons in (before, after)]
    # the names of our own tables, in the place of the source's
    number = "UBIGINT"
    counted = replace(
        promise,
        confidential=Column(VALUE, "VARCHAR" if value.type.startswith("ENUM") else value.type),
        by=[Column(PATTERN, number)],
        carried=[Column(PERSON, number)],
        count=None,
    )
    rows = exp.select(*(column(name, "p") for name in (PATTERN, PERSON, VALUE))).from_(
        exp.alias_(after.expression(), "p", table=True)
    )
    found = audit_swap(engine, before, rows, counted)
    faults = [
        f"{persons} persons have several values in the {side}"
        for persons, side in zip(split, ("source", "release"), strict=True)
        if persons
    ]
    return found, [*faults, *found.faults(counted)]


def _persons(
    engine: Engine,
    rows: exp.Expression,
    person: Sequence[exp.Expression],
    by: Sequence[exp.Expression],
    value: exp.Expression,
) -> Table:
    """Give the persons of one side: ``person, pattern, value, values``."""
    keys = alias(_who(person), PERSON), alias(fingerprint(by), PATTERN), alias(value.copy(), VALUE)
    each = engine.materialize("swap_rows", exp.select(*keys).from_(rows))
    return engine.materialize("swap_persons", bind("audit/swap_persons", tables={"swap_rows": each}))


def _several(engine: Engine, persons: Table) -> int:
    """Count the persons with several values."""
    several = exp.GT(this=column("values", "p"), expression=literal(1))
    query = exp.select(exp.Count(this=exp.Star())).from_(exp.alias_(persons.expression(), "p", table=True))
    ((number,),) = engine.query(render(query.where(several)), step="several values")
    return int(number)
