"""Holds a masked table against its source: every label shown must be true of so many records as show it.

What a column must show of a value is worked out here a second time, from the value, the taxonomy that the
owner gave or the bounds in the labels, and from the labels that the release shows: never from codes and cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.audit.fingerprints import TEXT, fingerprint, plain_column, total
from ppdm_sql.audit.labels import MaskedColumn, ShownColumn, shown_columns
from ppdm_sql.audit.pseudonyms import RECORDS, pseudonym_faults
from ppdm_sql.audit.trees import misdrawn_nodes
from ppdm_sql.engine import Column, Engine, Rows
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import GuaranteeNotMet

_CARRIED = "carried"


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
        person: Where persons are counted, the column with their numbers.
    """

    masked: Sequence[MaskedColumn]
    carried: Sequence[Column]
    pseudonyms: Sequence[str]
    count: str | None
    cuts: Table
    trees: Table
    person: PersonCode | None = None

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

    The release is collapsed once; of the source only what its labels cannot tell is looked up row by row: a
    column that shows nothing but its top, or all values as they are, needs no look.

    Raises:
        GuaranteeNotMet: A record shows what is not true of it, or the cut or the trees recorded are others.

    Cost: a GROUP BY of the release, one scan of the source, and a GROUP BY of each column of it that is no
    text and shows labels; with pseudonyms a GROUP BY of both by each.
    """
    with engine.workspace():
        shown = engine.materialize("shown", _collapsed(released, promise))
        columns = shown_columns(engine, source, shown, promise.masked)
        before, after = _rows_of_source(source, promise, columns), _rows_of_release(shown, promise, columns)
        sums = _sums(engine, before, after, counted=promise.count is not None)
        recorded = _misrecorded(engine, promise.cuts, columns)
        drawn = misdrawn_nodes(engine, promise.trees, columns)
        numbered = [] if promise.person is None else [promise.person.name]
        strangers = pseudonym_faults(engine, before, after, [*promise.pseudonyms, *numbered], numbered)
    found = [
        (sums[0] != sums[1], "records show what the source does not say of them"),
        (recorded, f"the cut of {recorded} values is recorded otherwise"),
        (drawn, f"{drawn} nodes of the taxonomies are recorded otherwise"),
    ]
    faults = [words for wrong, words in found if wrong] + strangers
    if faults:
        raise GuaranteeNotMet(
            f"The masked rows are not what was promised: {'; '.join(faults)}; nothing was published.",
            "Report this as a defect.",
        )


def _collapsed(released: exp.Select, promise: MaskingPromise) -> exp.Select:
    """Collapse the release: the labels of each combination as text, what is carried, pseudonyms, records."""
    labels = [alias(column(item.name, "s"), f"l{place}") for place, item in enumerate(promise.masked)]
    carried = [column(item.name, "s") for item in promise.carried]
    people = [alias(column(name, "s"), f"p{place}") for place, (_, name) in enumerate(promise.people)]
    records: exp.Expression = exp.Count(this=exp.Star())
    rows = exp.select().from_(released.subquery("s", copy=False), copy=False)
    if promise.count is not None:
        records = exp.Sum(this=column(promise.count, "s"))
        rows.where(_counted(promise.count), copy=False)
    rows.select(*labels, alias(fingerprint(carried), _CARRIED), *people, alias(records, RECORDS), copy=False)
    rows.set("group", exp.Group(all=True))
    texts = [alias(exp.cast(column(f"l{place}", "g"), TEXT), f"l{place}") for place in range(len(labels))]
    rest = (_CARRIED, *(f"p{place}" for place in range(len(people))), RECORDS)
    return exp.select(*texts, *(column(name, "g") for name in rest)).from_(
        rows.subquery("g", copy=False), copy=False
    )


def _counted(count: str) -> exp.Expression:
    return exp.GT(this=column(count, "s"), expression=literal(0))


def _rows_of_source(source: Table, promise: MaskingPromise, columns: Sequence[ShownColumn]) -> exp.Select:
    """Select ``f``, the fingerprint of what each row of the source must show, its identifiers and records."""
    query = exp.select().from_(exp.alias_(source.expression(), "s", table=True), copy=False)
    values = []
    for place, item in enumerate(columns):
        join, label = item.code(item.own, f"j{place}")
        if join is not None:
            query.append("joins", join)
        values.append(label)
    values.append(fingerprint([plain_column(item) for item in promise.carried]))
    people = [alias(value, f"p{place}") for place, (value, _) in enumerate(promise.people)]
    records = literal(1) if promise.count is None else column(promise.count, "s")
    if promise.count is not None:
        query.where(_counted(promise.count), copy=False)
    return query.select(alias(fingerprint(values), "f"), *people, alias(records, RECORDS), copy=False)


def _rows_of_release(shown: Table, promise: MaskingPromise, columns: Sequence[ShownColumn]) -> exp.Select:
    """Select the same of the collapsed release."""
    values = [fingerprint([column(f"l{place}", "s")]) for place in range(len(columns))]
    people = [column(f"p{place}", "s") for place in range(len(promise.people))]
    whole = alias(fingerprint([*values, column(_CARRIED, "s")]), "f")
    query = exp.select(whole, *people, column(RECORDS, "s"))
    return query.from_(exp.alias_(shown.expression(), "s", table=True), copy=False)


def _sums(engine: Engine, before: exp.Select, after: exp.Select, *, counted: bool) -> Rows:
    """Give records and sum of fingerprints of either side, as one row each."""
    sides = []
    for side, weighed in ((before, counted), (after, True)):
        records = column(RECORDS, "r")
        measures = [exp.Sum(this=records), total(column("f", "r"), records if weighed else None)]
        sides.append(exp.select(*measures).from_(side.subquery("r"), copy=False))
    return engine.query(render(exp.union(*sides, distinct=False, copy=False)), step="masked fingerprints")


def _misrecorded(engine: Engine, cuts: Table, columns: Sequence[ShownColumn]) -> int:
    """Count the values of which the recorded cut says another label than the column must show."""
    query = exp.select(exp.Count(this=exp.Star()))
    query.from_(exp.alias_(cuts.expression(), "c", table=True), copy=False)
    truth: exp.Case = exp.case(column("attribute", "c"))
    for place, item in enumerate(columns):
        join, label = item.label(item.recorded(column("value", "c")), f"j{place}")
        if join is not None:
            query.append("joins", join)
        truth = truth.when(literal(item.name), label, copy=False)
    if columns:
        other = exp.NullSafeNEQ(this=column("generalized", "c"), expression=truth)
        query.where(other, copy=False)
    ((values,),) = engine.query(render(query), step="recorded cut")
    return int(values)
