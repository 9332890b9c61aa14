"""Holds a masked table against its source: every label shown must be true of so many records as show it.

What a column must show of a value is worked out here a second time, in :mod:`~ppdm_sql.audit.labels`; which
records may be missing, too: of the whole source, labelled as the final cut shows it, classes that break a
requirement go, the others are judged again, until none breaks one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.audit.auditing import broken_classes
from ppdm_sql.audit.comparing import (
    counted,
    counting,
    fingerprint,
    named_people,
    plain_column,
    pseudonym_faults,
    refuse,
    refuse_defect,
    sums,
    text,
)
from ppdm_sql.audit.labels import MaskedColumn, ShownColumn, labelled_columns, misdrawn_nodes, shown_columns
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Sql, Statement, joined, literal, sql, subquery
from ppdm_sql.privacy import Counts, Requirement
from ppdm_sql.privacy.level import label_expressions, over_labels, sources
from ppdm_sql.taxonomy.building import several


@dataclass(frozen=True)
class PersonCode:
    """The column of the frozen rows that says whose each is."""

    name: str  # the column, which nobody but the owner sees
    person: Sequence[str]  # the columns of the source that say it


@dataclass(frozen=True)
class LeftOut:
    """What a release may leave out."""

    share: Fraction  # of the records of the source, in [0, 1)
    requirements: Sequence[Requirement]  # those that a class must break to be left out
    masked: Sequence[MaskedColumn]  # the masked columns by the cut as it was before anything was left out
    trees: Table  # working table ``attribute, label, shown, ...`` of that cut, which is not recorded


@dataclass(frozen=True)
class MaskingPromise:
    """What a masked release promises."""

    masked: Sequence[MaskedColumn]  # the masked columns
    carried: Sequence[Column]  # columns that are released as they are
    pseudonyms: Sequence[str]  # columns that show one pseudonym for each value
    count: str | None  # column with the number of records of a row, or None
    cuts: Table  # working table ``attribute, value, generalized``, which the release will record
    trees: Table  # working table ``attribute, node, parent, label, lower, upper, closed, shown``, likewise
    left_out: LeftOut | None = None  # what may be missing of the source; None for nothing
    person: PersonCode | None = None  # where persons are counted, the column with their numbers

    @property
    def columns(self) -> list[str]:
        """The columns of the source that the release is held against."""
        named = [*(item.name for item in self.masked), *(item.name for item in self.carried)]
        return [*named, *self.pseudonyms, *([] if self.count is None else [self.count])]

    @property
    def people(self) -> list[tuple[Sql, str]]:
        """What follows a person through the release: a value of the source, and the column for it."""
        people: list[tuple[Sql, str]] = [(column(name, "s"), name) for name in self.pseudonyms]
        if self.person is not None:
            who = [column(name, "s") for name in self.person.person]
            people.append((who[0] if len(who) == 1 else sql("row({who})", who=who), self.person.name))
        return people


def accept_masked(engine: Engine, source: Table, released: exp.Select, promise: MaskingPromise) -> None:
    """Compare the released rows with the source, and refuse them if anything is not as promised."""
    # Of the source only what its labels cannot tell is looked up row by row: a column that shows
    # nothing but its top, or all values as they are, needs no look.
    with engine.workspace():
        source, lacking = _to_show(engine, source, promise)
        rows = subquery(released)
        columns = shown_columns(engine, source, rows, promise.masked, promise.count)
        before, after = _rows_of_source(source, promise, columns), _rows_of_release(rows, promise)
        without = [] if lacking is None else [_rows_of_source(lacking, promise, columns)]
        whole, of_release, *off = sums(engine, [before, after, *without], step="masked fingerprints")
        to_show = (whole[0] - off[0][0], whole[1] - off[0][1]) if off else whole
        recorded = _misrecorded(engine, (source, lacking), promise, columns)
        drawn = misdrawn_nodes(engine, promise.trees, columns)
        numbered = [] if promise.person is None else [promise.person.name]
        strangers = pseudonym_faults(engine, before, after, [*promise.pseudonyms, *numbered], numbered)
    nodes, are = several(drawn, "node"), "is" if drawn == 1 else "are"
    faults = [
        (to_show != of_release, "records show what the source does not say of them"),
        (recorded, f"the cut of {several(recorded, 'value')} is recorded otherwise"),
        (drawn, f"{nodes} of the taxonomies {are} recorded otherwise"),
    ]
    refuse([words for wrong, words in faults if wrong] + strangers, "The masked rows are")


def _rows_of_source(source: Table, promise: MaskingPromise, columns: Sequence[ShownColumn]) -> Statement:
    """Select ``f``, the fingerprint of what each row of the source must show, its identifiers and records."""
    joins = [item.join(item.own, f"j{place}") for place, item in enumerate(columns)]
    values = [item.code(item.own, f"j{place}") for place, item in enumerate(columns)]
    rows = sql("{source} AS s {joins}", source=source, joins=joined(joins, " "))
    return _fingerprints(rows, values, promise, [value for value, _ in promise.people])


def _rows_of_release(released: Statement, promise: MaskingPromise) -> Statement:
    """Select the same of the release."""
    values = [fingerprint([text(column(item.name, "s"))]) for item in promise.masked]
    people = [column(name, "s") for _, name in promise.people]
    return _fingerprints(sql("{released} AS s", released=released), values, promise, people)


def _fingerprints(
    rows: Statement, values: Sequence[Sql], promise: MaskingPromise, identifiers: Sequence[Sql]
) -> Statement:
    carried = fingerprint([*map(plain_column, promise.carried)])
    records, counts = counting(promise.count)
    wanted = [
        sql("{f} AS f", f=fingerprint([*values, carried])),
        *named_people(identifiers),
        sql("{n} AS records", n=records),
    ]
    return sql("SELECT {wanted} FROM {rows} WHERE {counts}", wanted=wanted, rows=rows, counts=counts)


# -- what is recorded of the cut -------------------------------------------------------------------


def _misrecorded(
    engine: Engine,
    source: tuple[Table, Table | None],
    promise: MaskingPromise,
    columns: Sequence[ShownColumn],
) -> int:
    """Count the values that the recorded cut lacks or adds, and those of which it says another label."""
    if not columns:
        ((recorded,),) = engine.query(
            sql("SELECT count(*) FROM {cuts}", cuts=promise.cuts), step="recorded cut"
        )
        return int(recorded)
    values = joined((_recorded_values(source, item, promise) for item in columns), " UNION ALL ")
    tables: dict[Table, str] = {}
    whens = list[Statement]()
    for item in columns:
        if item.texts is not None:
            name = tables.setdefault(item.texts, f"t{len(tables)}")
            label = item.label(column("value", "v"), name)
            whens.append(sql("WHEN {name} THEN {label}", name=literal(item.name), label=label))
    looked_up = "CASE v.attribute {whens} ELSE v.label END"
    truth = sql(looked_up, whens=joined(whens, " ")) if whens else sql("v.label")
    join = "LEFT JOIN {t} AS {n} ON {n}.attribute = v.attribute AND {n}.text = v.value"
    joins = [sql(join, t=table, n=column(name)) for table, name in tables.items()]
    query = sql(
        "SELECT count(*) FROM ({values}) AS v FULL JOIN {cuts} AS c "
        "ON c.attribute = v.attribute AND c.value IS NOT DISTINCT FROM v.value {joins} "
        "WHERE c.attribute IS NULL OR v.attribute IS NULL "
        "OR c.generalized IS DISTINCT FROM {truth}",
        values=values,
        cuts=promise.cuts,
        joins=joined(joins, " "),
        truth=truth,
    )
    ((misrecorded,),) = engine.query(query, step="recorded cut")
    return int(misrecorded)


def _recorded_values(
    source: tuple[Table, Table | None], item: ShownColumn, promise: MaskingPromise
) -> Statement:
    """Select ``attribute, value, label`` of the values whose cut must be on record."""
    # Values that are looked up by their texts have no label yet. Of a column that its intervals say all
    # of nothing need be recorded.
    value, name = column("value", "v"), literal(item.name)
    by_text = item.texts is not None
    here = "EXISTS (SELECT 1 FROM {cuts} AS c WHERE c.attribute = {name})"
    return sql(
        "SELECT {name} AS attribute, {shown} AS value, {label} AS label "
        "FROM ({rows}) AS v {join} WHERE {where}",
        name=name,
        shown=text(value),
        label=sql("NULL::VARCHAR") if by_text else item.label(value, "j"),
        rows=_values_to_show(*source, item, promise.count),
        join=sql("") if by_text else item.join(value, "j"),
        where=sql(here, cuts=promise.cuts, name=name) if item.masked.grown else sql("TRUE"),
    )


def _values_to_show(source: Table, lacking: Table | None, item: ShownColumn, count: str | None) -> Statement:
    """Select each ``value`` of the rows of the source that are not among those that must be lacking."""
    read = "SELECT {own} AS value, count(*) AS n FROM {rows} AS s WHERE {counts} GROUP BY ALL"
    own, (_, counts) = item.own, counting(count)
    whole = sql(read, own=own, rows=source, counts=counts)
    if lacking is None:
        return whole
    return sql(
        "SELECT w.value FROM ({whole}) AS w LEFT JOIN ({left}) AS l "
        "ON w.value IS NOT DISTINCT FROM l.value WHERE w.n > coalesce(l.n, 0)",
        whole=whole,
        left=sql(read, own=own, rows=lacking, counts=counts),
    )


# -- the records that a release lacks ----------------------------------------------------------------


def _to_show(engine: Engine, source: Table, promise: MaskingPromise) -> tuple[Table, Table | None]:
    """Give rows among which are those that the release must show, and the others of them, if any."""
    # The others are few, so what is true of the rows to show is told by sums over all less those over
    # the others, which costs no copy of the rows. Persons and pseudonyms are told by single rows.
    if promise.left_out is None:
        return source, None
    lacking, kept = _lacking_rows(engine, source, promise.left_out, promise.columns, promise.count)
    if lacking is None or not promise.people:
        return source, lacking
    return engine.materialize("kept_source", kept), None


def _lacking_rows(
    engine: Engine, source: Table, promise: LeftOut, needed: Sequence[str], count: str | None
) -> tuple[Table | None, Statement]:
    """Tell the rows of the source that the release must lack, if any, and write what reads all others."""
    # no class breaks by itself what counts classes; who is left out is told by the columns of all others
    named = [item.name for item in engine.columns(source)]
    of_classes = (item for item in promise.requirements if item.counts is not Counts.GROUPS)
    requirements = [over_labels(item, named) for item in of_classes]
    columns = list(dict.fromkeys(n for r in requirements for n in (*r.attributes, *r.sensitive_columns)))
    rows, values = _labelled(engine, source, promise, columns)
    wanted = [column(name, "s") for name in dict.fromkeys(needed)]
    selected = "SELECT {wanted} FROM {rows} WHERE {there}"
    if not columns:
        return None, sql(selected, wanted=wanted, rows=rows, there=sql("TRUE"))
    every = _collapsed(engine, rows, values, count)
    kept = _settled(engine, every, requirements, columns)
    there = sql(
        "{row} IN (SELECT {kept_row} FROM {kept} AS k)",
        row=fingerprint(values),
        kept_row=fingerprint([column(f"a{place}", "k") for place in range(len(columns))]),
        kept=kept,
    )
    to_keep = sql(selected, wanted=wanted, rows=rows, there=there)
    whole, left = _records(engine, every), _records(engine, kept)
    if whole == left:
        return None, to_keep
    if (whole - left) * promise.share.denominator > promise.share.numerator * whole:
        words = f"{whole - left} of {whole} records are in classes that break a requirement"
        refuse_defect(f"{words}, which is more than may be left out")
    others = sql(selected, wanted=wanted, rows=rows, there=sql("NOT {there}", there=there))
    return engine.materialize("lacking_source", others), to_keep


def _labelled(
    engine: Engine, source: Table, promise: LeftOut, columns: Sequence[str]
) -> tuple[Statement, list[Sql]]:
    """Give the source ``s`` with the labels joined, and what each column shows in every record."""
    nodes = "SELECT t.attribute, t.label AS text, t.label FROM {trees} AS t WHERE t.shown"
    labels = engine.materialize("cut_labels", sql(nodes, trees=promise.trees))
    masked = {item.name: item for item in labelled_columns(engine, source, labels, promise.masked)}
    types = dict(engine.columns(source))
    names = [name for name in columns if name not in masked]
    exact = exact_values(engine, source, [Column(name, types[name]) for name in sources(names)])
    plain = label_expressions(engine, source, exact, names, types)
    joins, values = list[Statement](), list[Sql]()
    for place, name in enumerate(columns):
        if (item := masked.get(name)) is not None:
            joins.append(item.join(item.own, f"j{place}"))
            values.append(item.label(item.own, f"j{place}"))
        else:
            values.append(plain[name])
    return sql("{source} AS s {joins}", source=source, joins=joined(joins, " ")), values


def _collapsed(engine: Engine, rows: Statement, values: Sequence[Sql], count: str | None) -> Table:
    """Collapse the labelled source: ``a0, a1, ...`` and ``records``."""
    collapsed = sql(
        "SELECT {values}, {records} AS records FROM {rows} WHERE {counts} GROUP BY ALL",
        values=[sql("{v} AS a{place}", v=value, place=place) for place, value in enumerate(values)],
        records=counted(count),
        rows=rows,
        counts=counting(count)[1],
    )
    return engine.materialize("labelled", collapsed)


def _settled(
    engine: Engine, every: Table, requirements: Sequence[Requirement], columns: Sequence[str]
) -> Table:
    """Take away the classes that break a requirement, again and again, until none does."""
    place = {name: f"a{number}" for number, name in enumerate(columns)}
    renamed = [
        requirement.over(
            tuple(place[name] for name in requirement.attributes),
            tuple(place[name] for name in requirement.sensitive_columns),
        )
        for requirement in requirements
    ]
    remaining = every
    while _records(engine, remaining):
        broken = broken_classes(engine, remaining, renamed, count="records")
        if not broken:
            break
        good = [_in_none(names, classes) for names, classes in broken]
        others = sql("SELECT r.* FROM {rows} AS r WHERE {good}", rows=remaining, good=joined(good, " AND "))
        remaining = engine.materialize("kept_classes", others)
    return remaining


def _in_none(names: Sequence[str], classes: Table) -> Statement:
    """Tell that a row ``r`` is in none of some classes, by their values ``a0, a1, ...``."""
    same = [
        sql("r.{name} IS NOT DISTINCT FROM b.a{place}", name=column(name), place=place)
        for place, name in enumerate(names)
    ]
    in_one = "NOT EXISTS (SELECT 1 FROM {classes} AS b WHERE {same})"
    return sql(in_one, classes=classes, same=joined(same, " AND "))


def _records(engine: Engine, table: Table) -> int:
    ((records,),) = engine.query(sql("SELECT sum(records)::HUGEINT FROM {t}", t=table), step="records")
    return int(records or 0)
