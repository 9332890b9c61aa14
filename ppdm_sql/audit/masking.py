"""Holds a masked table against its source: every label shown must be true of so many records as show it.

What a column must show of a value is worked out here a second time, from the value, the taxonomy that the
owner gave or the bounds in the labels, and from the labels that the release shows: never from codes and cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from ppdm_sql.audit.fingerprints import TEXT, counted, fingerprint, plain_column, total
from ppdm_sql.audit.labels import MaskedColumn, ShownColumn, shown_columns
from ppdm_sql.audit.pseudonyms import RECORDS, pseudonym_faults
from ppdm_sql.audit.trees import misdrawn_nodes
from ppdm_sql.engine import Column, Engine, Rows
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import literal, render, union_all
from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.taxonomy.building import counted as number_of

if TYPE_CHECKING:
    from ppdm_sql.audit.left_out import LeftOut


@dataclass(frozen=True)
class PersonCode:
    """The column of the frozen rows that says whose each is.

    Args:
        name: The column, which nobody but the owner sees.
        person: The columns of the source that say it.
    """

    name: str
    person: Sequence[str]


@dataclass(frozen=True)
class MaskingPromise:
    """What a masked release promises.

    Args:
        masked: The masked columns.
        carried: Columns that are released as they are.
        pseudonyms: Columns that show one pseudonym for each value.
        count: Column with the number of records of a row, or None.
        cuts: Working table ``attribute, value, generalized``, which the release will record.
        trees: Working table ``attribute, node, parent, label, lower, upper, closed, shown``, likewise.
        left_out: What may be missing of the source; None for nothing.
        person: Where persons are counted, the column with their numbers.
    """

    masked: Sequence[MaskedColumn]
    carried: Sequence[Column]
    pseudonyms: Sequence[str]
    count: str | None
    cuts: Table
    trees: Table
    left_out: LeftOut | None = None
    person: PersonCode | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of the source that the release is held against."""
        named = [*(item.name for item in self.masked), *(item.name for item in self.carried)]
        return [*named, *self.pseudonyms, *([] if self.count is None else [self.count])]

    @property
    def people(self) -> list[tuple[exp.Expression, str]]:
        """What follows a person through the release: a value of the source, and the column for it."""
        found: list[tuple[exp.Expression, str]] = [(column(name, "s"), name) for name in self.pseudonyms]
        if self.person is not None:
            who = [column(name, "s") for name in self.person.person]
            whole = who[0] if len(who) == 1 else exp.Anonymous(this="row", expressions=who)
            found.append((whole, self.person.name))
        return found


def accept_masked(engine: Engine, source: Table, released: exp.Select, promise: MaskingPromise) -> None:
    """Compare the released rows with the source, and refuse them if anything is not as promised.

    Of the source only what its labels cannot tell is looked up row by row: a column that shows nothing but
    its top, or all values as they are, needs no look.

    Raises:
        GuaranteeNotMet: A record shows what is not true of it, the cut recorded lacks a value of the source,
            has one that is not there or says another label than must be shown, or the trees are others;
            or records are missing that should not be, or more than may be.

    Cost: one scan of either side, and a GROUP BY of each masked column: of the release if it shows labels, of
    the source once, or twice if it shows labels and is no text; with pseudonyms a GROUP BY of both by each.
    """
    with engine.workspace():
        source, lacking = _to_show(engine, source, promise)
        shown = engine.overlay(released)
        columns = shown_columns(engine, source, shown, promise.masked, promise.count)
        before, after = _rows_of_source(source, promise, columns), _rows_of_release(shown, promise)
        without = [] if lacking is None else [_rows_of_source(lacking, promise, columns)]
        sums = _sums(engine, [before, after, *without], weighed=promise.count is not None)
        recorded = _misrecorded(engine, (source, lacking), promise, columns)
        drawn = misdrawn_nodes(engine, promise.trees, columns)
        numbered = [] if promise.person is None else [promise.person.name]
        strangers = pseudonym_faults(engine, before, after, [*promise.pseudonyms, *numbered], numbered)
    nodes, are = number_of(drawn, "node"), "is" if drawn == 1 else "are"
    found = [
        (sums[0] != sums[1], "records show what the source does not say of them"),
        (recorded, f"the cut of {number_of(recorded, 'value')} is recorded otherwise"),
        (drawn, f"{nodes} of the taxonomies {are} recorded otherwise"),
    ]
    faults = [words for wrong, words in found if wrong] + strangers
    if faults:
        raise GuaranteeNotMet(
            f"The masked rows are not what was promised: {'; '.join(faults)}; nothing was published.",
            "Report this as a defect.",
        )


def _to_show(engine: Engine, source: Table, promise: MaskingPromise) -> tuple[Table, Table | None]:
    """Give rows among which are those that the release must show, and the others of them, if any.

    The others are few, so what is true of the rows to show is told by sums over all less those over the
    others, which costs no copy of the rows. Persons and pseudonyms are told by single rows.
    """
    if promise.left_out is None:
        return source, None
    from ppdm_sql.audit.left_out import kept_rows

    kept = kept_rows(engine, source, promise.left_out, promise.columns, promise.count)
    return (kept.table(engine), None) if promise.people else (source, kept.lacking)


def _rows_of_source(source: Table, promise: MaskingPromise, columns: Sequence[ShownColumn]) -> exp.Select:
    """Select ``f``, the fingerprint of what each row of the source must show, its identifiers and records."""
    query = exp.select().from_(aliased(source, "s"), copy=False)
    values = []
    for place, item in enumerate(columns):
        join = item.join(item.own, f"j{place}")
        if join is not None:
            query.append("joins", join)
        values.append(item.code(item.own, f"j{place}"))
    return _fingerprints(query, values, promise, [value for value, _ in promise.people])


def _rows_of_release(released: Table, promise: MaskingPromise) -> exp.Select:
    """Select the same of the release."""
    texts = [exp.cast(column(item.name, "s"), TEXT) for item in promise.masked]
    values = [fingerprint([label]) for label in texts]
    people: list[exp.Expression] = [column(name, "s") for _, name in promise.people]
    return _fingerprints(exp.select().from_(aliased(released, "s"), copy=False), values, promise, people)


def _fingerprints(
    query: exp.Select,
    values: Sequence[exp.Expression],
    promise: MaskingPromise,
    identifiers: Sequence[exp.Expression],
) -> exp.Select:
    """Select ``f``, identifiers and records of rows ``s``, by the fingerprints of their labels."""
    carried = fingerprint([plain_column(item) for item in promise.carried])
    people = [alias(value, f"p{place}") for place, value in enumerate(identifiers)]
    records = literal(1) if promise.count is None else column(promise.count, "s")
    whole = alias(fingerprint([*values, carried]), "f")
    return counted(query.select(whole, *people, alias(records, RECORDS), copy=False), promise.count)


def _sums(engine: Engine, sides: Sequence[exp.Select], *, weighed: bool) -> Rows:
    """Give records and sum of fingerprints of source and release; a third side is taken off the first.

    The sides are used up.
    """
    queries = []
    for number, side in enumerate(sides):
        records = column(RECORDS, "r")
        measures = [exp.Sum(this=records), total(column("f", "r"), records if weighed else None)]
        queries.append(
            exp.select(literal(number), *measures).from_(side.subquery("r", copy=False), copy=False)
        )
    query = exp.union(*queries, distinct=False, copy=False)
    found = {n: sums for n, *sums in engine.query(render(query), step="masked fingerprints")}
    without = found.get(2, [0, 0])
    before = [int(whole or 0) - int(off or 0) for whole, off in zip(found[0], without, strict=True)]
    return [tuple(before), tuple(int(number or 0) for number in found[1])]


def _misrecorded(
    engine: Engine,
    source: tuple[Table, Table | None],
    promise: MaskingPromise,
    columns: Sequence[ShownColumn],
) -> int:
    """Count the values that the recorded cut lacks or adds, and those of which it says another label."""
    query = exp.select(exp.Count(this=exp.Star()))
    cuts = aliased(promise.cuts, "c")
    if not columns:
        ((recorded,),) = engine.query(render(query.from_(cuts, copy=False)), step="recorded cut")
        return int(recorded)
    values = union_all([_recorded_values(source, item, promise) for item in columns])
    query.from_(exp.Subquery(this=values, alias=exp.TableAlias(this=exp.to_identifier("v"))), copy=False)
    query.append("joins", exp.Join(this=cuts, side="FULL", on=_same_value("c", "value", by=exp.NullSafeEQ)))
    label: exp.Case = exp.case(column("attribute", "v"))
    tables: dict[Table, str] = {}
    for item in columns:
        if item.texts is not None:
            name = tables.setdefault(item.texts, f"t{len(tables)}")
            label.when(literal(item.name), item.label(column("value", "v"), name), copy=False)
    for table, name in tables.items():
        query.append("joins", exp.Join(this=aliased(table, name), side="LEFT", on=_same_value(name, "text")))
    truth = label.else_(column("label", "v"), copy=False) if tables else column("label", "v")
    missing = [column("attribute", side).is_(exp.null()) for side in ("c", "v")]
    other = exp.NullSafeNEQ(this=column("generalized", "c"), expression=truth)
    query.where(exp.or_(*missing, other, copy=False), copy=False)
    ((misrecorded,),) = engine.query(render(query), step="recorded cut")
    return int(misrecorded)


def _same_value(table: str, name: str, by: type[exp.Binary] = exp.EQ) -> exp.Expression:
    """Tell whether a row of a table is of the value ``v``."""
    same = by(this=column(name, table), expression=column("value", "v"))
    return exp.And(
        this=exp.EQ(this=column("attribute", table), expression=column("attribute", "v")), expression=same
    )


def _recorded_values(
    source: tuple[Table, Table | None], item: ShownColumn, promise: MaskingPromise
) -> exp.Select:
    """Select the values whose cut must be on record: none of a column that its intervals say all of."""
    values = _values(source, item, promise.count)
    if not item.masked.grown:
        return values
    here = exp.EQ(this=column("attribute", "c"), expression=literal(item.name))
    rows = exp.select(exp.convert(1)).from_(aliased(promise.cuts, "c"), copy=False).where(here, copy=False)
    return values.where(exp.Exists(this=rows), copy=False)


def _values(source: tuple[Table, Table | None], item: ShownColumn, count: str | None) -> exp.Select:
    """Select ``attribute, value, label``: each value of a masked column, as text, and what is shown of it.

    Values that are looked up by their texts have no label yet.
    """
    rows = _values_to_show(*source, item, count)
    value = column("value", "v")
    label: exp.Expression = exp.cast(exp.null(), TEXT)
    join = item.join(value, "j") if item.texts is None else None
    if item.texts is None:
        label = item.label(value, "j")
    parts = literal(item.name), exp.cast(value.copy(), TEXT), label
    named = [alias(part, name) for part, name in zip(parts, ("attribute", "value", "label"), strict=True)]
    query = exp.select(*named, copy=False).from_(rows.subquery("v", copy=False), copy=False)
    if join is not None:
        query.append("joins", join)
    return query


def _values_to_show(source: Table, lacking: Table | None, item: ShownColumn, count: str | None) -> exp.Select:
    """Select each ``value`` of the rows of the source that are not among those that must be lacking."""
    if lacking is None:
        rows = exp.select(alias(item.own, "value")).distinct().from_(aliased(source, "s"), copy=False)
        return counted(rows, count)
    number = exp.Count(this=exp.Star())
    whole, left = (
        counted(
            exp.select(alias(item.own, "value"), alias(number.copy(), "n")).from_(aliased(of, "s")), count
        )
        for of in (source, lacking)
    )
    for query in (whole, left):
        query.set("group", exp.Group(all=True))
    same = exp.NullSafeEQ(this=column("value", "w"), expression=column("value", "l"))
    query = exp.select(column("value", "w")).from_(whole.subquery("w"))
    query.append("joins", exp.Join(this=left.subquery("l"), side="LEFT", on=same))
    others = exp.Coalesce(this=column("n", "l"), expressions=[literal(0)])
    return query.where(exp.GT(this=column("n", "w"), expression=others))
