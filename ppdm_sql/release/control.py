"""Records that were split off before a release was made: people who are not in it, to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ppdm_sql.engine import Engine
from ppdm_sql.engine.keys import drawn_key, keyed_text, private
from ppdm_sql.engine.names import Table, column, free_name
from ppdm_sql.engine.source import check_counts, check_persons
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource, UnknownTable
from ppdm_sql.release.catalogue import MOVED, UPDATABLE, CatalogueRow
from ppdm_sql.release.layout import SCHEMA
from ppdm_sql.release.versions import entered_records

CONTROL = "control"
"""Key under which the parameters of a release say what share of the source was split off, if any was."""


def split_off(
    engine: Engine,
    source: Table,
    person: Sequence[str],
    count: str | None,
    share: Fraction,
    *,
    source_name: str,
) -> tuple[Table, Table]:
    """Split a share of the persons, or of the records, off a source; nobody can compute again which.

    They come first by HMAC-SHA-256, with a key that is drawn for this run and thrown away. Both
    tables have the columns of the source, and last as long as the workspace. Cost: two copies of the source,
    and a sort of a digest for each record.
    """
    names = [item.name for item in engine.columns(source)]
    row, copy, place = (column(free_name(name, names)) for name in ("row", "copy", "place"))
    copies = sql("[1]")
    if count is not None:
        check_counts(engine, source, count)
        copies = sql("range({n})", n=column(count))
    if person:
        check_persons(engine, source, person)
    who = sql("row({c})", c=[column(name) for name in person] or [row, copy])
    numbered = sql(
        "SELECT *, unnest({copies}) AS {copy} FROM (SELECT *, row_number() OVER () AS {row} FROM {source})",
        copies=copies,
        copy=copy,
        row=row,
        source=source,
    )
    placed = engine.materialize(
        "placed",
        sql(
            "SELECT *, dense_rank() OVER (ORDER BY {digest}) AS {place} FROM ({numbered})",
            digest=keyed_text(who, *private(engine, drawn_key().secret)),
            place=place,
            numbered=numbered,
        ),
    )
    ((persons,),) = engine.query(sql("SELECT max({p}) FROM {t}", p=place, t=placed), step="persons") or [(0,)]
    number = round(share * (persons or 0))
    if not 0 < number < (persons or 0):
        of = "persons" if person else "records"
        raise InvalidOption(
            f"--control {float(share):.6g} splits {number} of the {persons or 0} {of} of {source_name!r}.",
            "Give a share that leaves some on both sides.",
        )
    shown = [column(name) for name in names if name != count]
    counted = [] if count is None else [sql("count(*) AS {n}", n=column(count))]
    order = [column(name) for name in names]

    def part(condition: Statement) -> Table:
        query = sql(
            "SELECT {columns} FROM (SELECT {shown} FROM {t} WHERE {p} {condition} {number} {grouped})",
            condition=condition,
            columns=order,
            shown=[*shown, *counted],
            t=placed,
            p=place,
            number=number,
            grouped=sql("") if count is None else sql("GROUP BY {row}, {shown}", row=row, shown=shown),
        )
        return engine.materialize("split", query)

    return part(sql(">")), part(sql("<="))


def control_table(release: str) -> Table:
    """Name the table that keeps them; it is the owner's, and nothing exports it."""
    return Table(f"control_{release}", SCHEMA)


def control_of(engine: Engine, row: CatalogueRow) -> Table | None:
    """Give the records that were split off for a release; None where none were."""
    if row.parameters.get(CONTROL) is None:
        return None
    table = control_table(row.release)
    try:
        return engine.find(str(table))
    except UnknownTable as cause:
        raise InvalidSource(
            f"The table {table}, with the records split off for {row.release!r}, is not in this database.",
            "Make the release anew.",
        ) from cause


def made_from(engine: Engine, row: CatalogueRow, source: Table | None = None) -> Table:
    """Find the records that a release was made from: its source, without those that were split off or wait.

    A source, or some records of it, may be given where it is not found by the name in the catalogue. Costs a
    copy of the source where some were split off, or the release is updatable.
    """
    refuse_moved(row)
    try:
        source = source or engine.find(row.source)
    except UnknownTable as cause:
        raise InvalidSource(
            f"The table {row.source!r}, from which {row.release!r} was made, is not in this database.",
            "A table that lives elsewhere is first copied here; release and evaluate the copy.",
        ) from cause
    if (kept := row.parameters.get(UPDATABLE)) is not None:
        shape, (person,) = row.shape(engine.current()[0]), row.parameters["person"]
        if not {person, *kept["digested"]} <= {item.name for item in engine.columns(source)}:
            raise changed(row)
        return entered_records(engine, source, shape, person, kept["digested"])
    control = control_of(engine, row)
    if control is None:
        return source
    names = [item.name for item in engine.columns(control)]
    count = row.parameters.get("count")
    columns = [column(name) for name in names if name != count]
    query = sql("SELECT {c} FROM {s} EXCEPT ALL SELECT {c} FROM {t}", c=columns, s=source, t=control)
    if count is not None:
        query = sql(
            "SELECT {c}, sum({n}) AS {n} FROM (SELECT {c}, {n} FROM {s} "
            "UNION ALL SELECT {c}, -CAST({n} AS HUGEINT) FROM {t}) GROUP BY ALL HAVING sum({n}) > 0",
            c=columns,
            n=column(count),
            s=source,
            t=control,
        )
    try:
        return engine.materialize("rest", query)
    except EngineError as cause:
        raise changed(row) from cause


def changed(row: CatalogueRow) -> InvalidSource:
    again = "Run ppdm update" if UPDATABLE in row.parameters else "Make the release anew"
    return InvalidSource(
        f"The table {row.source!r} is not what it was when {row.release!r} was made from it.",
        f"{again}, then evaluate that.",
    )


def refuse_moved(row: CatalogueRow) -> None:
    """Refuse to lay records beside a release whose dates were moved: theirs are as they are."""
    if MOVED in row.parameters:
        raise InvalidSource(
            f"The dates of {row.release!r} were moved before it was made, and no records fit beside it.",
            "`ppdm verify` audits the release by itself; for the rest, make one without --shift-dates.",
        )
