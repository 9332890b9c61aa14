"""What several releases of one source give away together: the classes of all of them intersected.

Source: Ganta, Kasiviswanathan, Smith 2008, doi:10.1145/1401890.1401926.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, alias, column, free_name
from ppdm_sql.engine.source import count_column
from ppdm_sql.engine.statements import Sql, Statement, bind, joined, sql
from ppdm_sql.errors import (
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    PpdmError,
    UnknownColumn,
    UnknownTable,
)
from ppdm_sql.release.catalogue import READ, CatalogueRow, catalogue_row, parts, releases
from ppdm_sql.release.control import CONTROL, changed, control_of, made_from
from ppdm_sql.release.labels import bound_of
from ppdm_sql.release.layout import SCHEMA, Draft, Shape
from ppdm_sql.release.recoding import Recoding, in_known_classes


@dataclass(frozen=True)
class Intersection:
    """Classes of records that are alike in some labels."""

    records: int  # or persons once for each class, that all releases hold
    classes: int
    smallest: int  # records of the smallest class; 0 where there is none


@dataclass(frozen=True)
class Composed:
    """The records of a source with what each release shows of them."""

    engine: Engine
    source: Table  # working table, with a number for each row
    table: Table  # working table ``record``, ``person``, ``weight`` and a column for each label
    labels: tuple[tuple[str, ...], ...]  # the columns of each release's labels
    record: str  # the column with the number
    first: Composed | None = None  # of the first release alone, where others lack some of its records

    def with_values(self, target: str) -> Table:
        """Put a column beside the classes: ``release, class, whole, value, weight`` by record and release."""
        whole = [column(name, "c") for names in self.labels for name in names]
        query = sql(
            "SELECT unnest(range({releases})) AS release, unnest([{classes}]) AS class, "
            "row({whole})::VARCHAR AS whole, n.{target} AS value, c.weight "
            "FROM {c} AS c JOIN {n} AS n ON c.record = n.{record}",
            releases=len(self.labels),
            classes=[
                sql("row({own})::VARCHAR", own=[column(name, "c") for name in names]) for names in self.labels
            ],
            whole=whole,
            target=column(target),
            c=self.table,
            n=self.source,
            record=column(self.record),
        )
        return self.engine.materialize("composed_values", query)

    def alone(self) -> Intersection:
        """Give the classes of the first release, with all of its records."""
        return self._intersection(self.labels[:1]) if self.first is None else self.first.intersection()

    def intersection(self) -> Intersection:
        return self._intersection(self.labels)

    def _intersection(self, chosen: Sequence[tuple[str, ...]]) -> Intersection:
        columns = {"labels": [name for names in chosen for name in names]}
        query = bind("release/intersection", tables={"composed": self.table}, columns=columns)
        ((records, classes, smallest),) = self.engine.query(query, step="intersection")
        return Intersection(records, classes, smallest)


def others_of(engine: Engine, source: Table, name: str) -> Iterator[CatalogueRow]:
    """Give the other releases of a source that the database holds; a file is known by its path."""
    path = _path(next((read.how for read in engine.given.values() if read.table == source), {}))
    named: dict[str, bool] = {}  # many releases have one source, and each look lists all tables
    for row in releases(engine):
        other = _path(row.parameters.get(READ, {}))
        same = path == other
        if path is None and other is None:
            if row.source not in named:
                named[row.source] = _is_called(engine, row.source, source)
            same = named[row.source]
        if same and row.release != name:
            yield row


def _path(how: Mapping[str, Any]) -> str | None:
    path = how.get("path")
    return None if path is None else os.path.realpath(path)


def _is_called(engine: Engine, name: str, table: Table) -> bool:
    try:
        return engine.find(name) == table
    except UnknownTable:
        return False


def quasi_identifier(row: CatalogueRow, shape: Shape) -> tuple[str, ...]:
    """Name the columns by which a release is searched: masked, in requirements, or those of a swap."""
    named = {name.lower() for asked in row.asked for name in asked.attributes}
    named |= {name.lower() for name in (*shape.masked, *(row.parameters.get("by") or ()))}
    return tuple(name for name in shape.names if name.lower() in named)


def composed(
    engine: Engine,
    source: Table,
    found: Sequence[tuple[CatalogueRow, Shape]],
    exported: Sequence[Table] = (),
    *,
    collapses: bool = False,
) -> Composed:
    """Put what each release shows of a record side by side; records that one lacks are in none.

    The first release says who a person is and what is counted; of ``exported`` ones no more than the rows is
    known. Cost: a copy of the source; then for each release a scan of each masked column, and a join.
    """
    lacking = bool(exported) or any(row.left_out or row.parameters.get(CONTROL) for row, _ in found[1:])
    alone = composed(engine, source, found[:1], collapses=collapses) if lacking else None
    first = found[0][0].parameters
    source, count = _held_by_all(engine, source, [row for row, _ in found]), first.get("count")
    if collapses:
        source, count = _collapsed(engine, source, found)
    names = [item.name for item in engine.columns(source)]
    record = free_name("record", names)
    numbering = sql("SELECT *, row_number() OVER () AS {r} FROM {s}", r=column(record), s=source)
    numbered = engine.materialize("numbered", numbering)
    who = list(first.get("person") or ())
    person = (
        sql("row({who})::VARCHAR", who=[column(name, "n") for name in who]) if who else sql("NULL::VARCHAR")
    )
    weight = sql("1") if count is None else column(count, "n")
    tables = list[tuple[Table, list[str]]]()
    for row, shape in found:
        recoding = Recoding.of(engine, row, shape, numbered)
        if any(item.unseen > (row.left_out or 0) for item in recoding.maps):
            raise changed(row)
        recoded = recoding.rows().select(alias(column(record, "t"), record))
        rows: Sql = recoded
        if row.left_out:
            rows = in_known_classes(recoded, shape, row.asked, set(recoding.found))
        here = [name for name in quasi_identifier(row, shape) if name in recoding.found]
        tables.append((engine.materialize("recoded", rows), here))
    known = {name.lower() for _, names_of in tables for name in names_of}
    tables += [_fitted(engine, numbered, record, one, known, found[0][1].symbol) for one in exported]
    labels = [tuple(f"l{n}_{place}" for place in range(len(here))) for n, (_, here) in enumerate(tables)]
    query = sql(
        "SELECT {person} AS person, ({weight})::BIGINT AS weight, n.{r} AS record, {shown} "
        "FROM {n} AS n {joins}",
        person=person,
        weight=weight,
        r=column(record),
        shown=[
            alias(exp.cast(column(name, f"r{n}"), "TEXT"), label)
            for n, (_, here) in enumerate(tables)
            for name, label in zip(here, labels[n], strict=True)
        ],
        n=numbered,
        joins=joined(
            (
                sql("JOIN {t} AS {of} ON n.{r} = {of}.{r}", t=table, of=column(f"r{n}"), r=column(record))
                for n, (table, _) in enumerate(tables)
            ),
            " ",
        ),
    )
    return Composed(engine, numbered, engine.materialize("composed", query), tuple(labels), record, alone)


def _held_by_all(engine: Engine, source: Table, rows: Sequence[CatalogueRow]) -> Table:
    """Take from the records of the first release those that others split off.

    Of records that are alike in every column, each release is taken to have split off others.
    """
    first, *others = rows
    whole = engine.find(first.source)
    columns = engine.columns(whole)
    for row in others:
        count = row.parameters.get("count")
        if row.parameters.get(CONTROL) and count != first.parameters.get("count"):
            raise InvalidSource(
                f"{row.release!r} has a control group, and counts records by another column.",
                "Count the records of both releases in the same way.",
            )
        if not _has_columns(engine, columns, row):
            raise changed(row)
        made = made_from(engine, row, whole)
        number = sql("count(*)") if count is None else sql("coalesce(sum({n}), 0)", n=column(count))
        counted = sql("SELECT {number} FROM {t}", number=number, t=made)
        if engine.number(counted, step="records") != row.rows + (row.left_out or 0):
            raise changed(row)
        source = made if source == whole else made_from(engine, row, source)
    return source


def _has_columns(engine: Engine, columns: Sequence[Column], row: CatalogueRow) -> bool:
    """Look whether the records of a release can be counted; a statement that fails ends the transaction."""
    count, control = row.parameters.get("count"), control_of(engine, row)
    if count is not None:
        try:
            count_column(count, columns, table=row.source)
        except PpdmError:
            return False
    split_off = [] if control is None else engine.columns(control)
    return {item for item in split_off if item.name != count} <= set(columns)


def _fitted(
    engine: Engine, numbered: Table, record: str, exported: Table, known: Collection[str], symbol: str
) -> tuple[Table, list[str]]:
    """Give the labels of an exported release that fit each record of a class that it has."""
    columns = {item.name.lower(): item for item in engine.columns(numbered)}
    here = [item.name for item in engine.columns(exported) if item.name.lower() in known & columns.keys()]
    if not here:
        raise InvalidSource(
            f"{exported.name} shows no column by which the release is searched.", "Leave it out of --beside."
        )
    trees = Table("taxonomies", SCHEMA)
    if "taxonomies" not in parts(engine):
        empty = "SELECT '' AS release, '' AS attribute, 0 AS node, 0 AS parent, '' AS label WHERE false"
        trees = engine.materialize("trees", empty)
    joins, shown = list[Statement](), list[exp.Expression]()
    for place, name in enumerate(here):
        item = columns[name.lower()]
        value, label, of = column(item.name, "n"), exp.cast(column(name, "e"), "TEXT"), f"m{place}"
        bounds = [bound_of(label, bound, item.type) for bound in ("lower bound", "upper bound")]
        values = sql("SELECT DISTINCT {v} AS value, {v}::TEXT AS text FROM {n} AS n", v=value, n=numbered)
        labels = sql(
            "SELECT DISTINCT {l} AS label, {lower} AS lower, {upper} AS upper, "
            "right({l}, 1) = ']' OR {l} LIKE '% or less' AS closed FROM {e} AS e",
            l=label,
            lower=bounds[0],
            upper=bounds[1],
            e=exported,
        )
        given = {
            "source_values": engine.materialize("source_values", values),
            "shown_labels": engine.materialize("shown_labels", labels),
            "trees": trees,
        }
        fitting = bind("release/exported_labels", tables=given, values={"name": item.name, "symbol": symbol})
        fits = engine.materialize("exported_labels", fitting)
        unmatched = sql("SELECT count(*) FROM {t} AS t WHERE t.matched = 0", t=fits)
        if unfit := engine.number(unmatched, step="unfit"):
            raise InvalidSource(
                f"{unfit} values of {item.name!r} fit no label that {exported.name} shows.",
                "Give a release of the same table, whose trees a release in this file has, too.",
            )
        join = "JOIN {t} AS {of} ON {v} IS NOT DISTINCT FROM {of}.value"
        joins.append(sql(join, t=fits, of=column(of), v=value))
        shown.append(alias(column("label", of), name))
    rows = sql(
        "SELECT * FROM (SELECT n.{r} AS {r}, {shown} FROM {n} AS n {joins}) AS f "
        "WHERE row({f})::TEXT IN (SELECT row({e})::TEXT FROM {exported} AS e)",
        r=column(record),
        shown=shown,
        n=numbered,
        joins=joined(joins, " "),
        exported=exported,
        f=[column(name, "f") for name in here],
        e=[exp.cast(column(name, "e"), "TEXT") for name in here],
    )
    return engine.materialize("fitted", rows), here


def _collapsed(
    engine: Engine, source: Table, found: Sequence[tuple[CatalogueRow, Shape]]
) -> tuple[Table, str]:
    """Count the records that no release tells apart, by the columns by which any of them is searched."""
    columns = engine.columns(source)
    first = found[0][0].parameters
    needed = {name.lower() for row, shape in found for name in quasi_identifier(row, shape)}
    needed |= {name.lower() for name in first.get("person") or ()}
    read = [item for item in columns if item.name.lower() in needed]
    count, records = first.get("count"), free_name("records", [item.name for item in columns])
    query = sql(
        "SELECT {c}, {number} AS {records} FROM {t} GROUP BY ALL HAVING {number} > 0",
        c=[column(item.name) for item in read],
        number=sql("count(*)") if count is None else sql("CAST(sum({n}) AS BIGINT)", n=column(count)),
        records=column(records),
        t=exact_table(engine, source, read),
    )
    return engine.materialize("collapsed", query), records


def refused_or_told(
    engine: Engine, source: Table, draft: Draft, others: Sequence[CatalogueRow], *, refuses: bool
) -> str:
    """Say what a draft, whose cut is recorded, gives away together with other releases of its source."""
    drafted, (catalog, _) = catalogue_row(draft), engine.current()
    found: list[tuple[CatalogueRow, Shape]] = [
        (drafted, draft),
        *((row, row.shape(catalog)) for row in others),
    ]
    found = [(row, shape) for row, shape in found if quasi_identifier(row, shape)]
    names = ", ".join(repr(row.release) for row in others)
    told = f"{draft.source!r} has other releases in this file: {names}."
    if len(found) < 2 or found[0][0] is not drafted:
        return told
    try:
        both = composed(engine, source, found, collapses=True)
    except (InvalidOption, InvalidSource, UnknownColumn) as cause:
        if refuses:
            raise GuaranteeNotMet(
                f"{told} They cannot be compared: {cause.problem}", "Leave --refuse-composition out."
            ) from cause
        return f"{told} What they give away together cannot be told: {cause.problem}"
    every, alone = both.intersection(), both.alone()
    unit = ("record" if draft.person is None else "person") + ("" if every.smallest == 1 else "s")
    classes = f"{every.classes} class{'es' * (every.classes != 1)}"
    told += (
        f" Anyone who has all of them can tell {classes} apart, of which the smallest holds "
        f"{every.smallest} {unit}; in {draft.name!r} alone the smallest holds {alone.smallest}."
    )
    if refuses and every.smallest < alone.smallest:
        raise GuaranteeNotMet(
            f"{told} Nothing was published.", "Drop the others, or leave --refuse-composition out."
        )
    return f"{told} ppdm attack says more; --refuse-composition refuses such a release."
