"""Splits records off a source before a run looks at it: people who are not in the release."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.count_column import check_counts
from ppdm_sql.engine.names import Table, column, free_name
from ppdm_sql.engine.person_columns import check_persons
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.pseudonyms import pseudonym


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

    They are those that come first by HMAC-SHA-256, with a key that is drawn for this run and thrown away.

    Args:
        engine: Where the source is; both tables last as long as its workspace.
        source: The source, which is only read.
        person: The columns that say whose record a row is; none where a record is a person.
        count: The column that says how many records a row stands for.
        share: In (0, 1), to the nearest whole number.
        source_name: Name of the source, for messages.

    Returns:
        The rest, and what was split off, each with the columns of the source.

    Raises:
        InvalidOption: Nobody, or everybody, would be split off.

    Cost: two copies of the source, and a sort of a digest for each record.
    """
    names = [item.name for item in engine.columns(source)]
    row, copy, place = (column(free_name(name, names)) for name in ("row", "copy", "place"))
    copies = sql("[1]")
    if count is not None:
        check_counts(engine, source, count)
        copies = sql("range({n})", n=column(count))
    if person:
        check_persons(engine, source, person)
    who: exp.Expression = exp.cast(
        exp.Anonymous(this="row", expressions=[column(name) for name in person] or [row, copy]), "TEXT"
    )
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
            digest=pseudonym(who),
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

    def part(condition: str) -> Table:
        query = sql(
            "SELECT {columns} FROM (SELECT {shown} FROM {t} WHERE {p} " + condition + " {number} {grouped})",
            columns=order,
            shown=[*shown, *counted],
            t=placed,
            p=place,
            number=number,
            grouped=sql("") if count is None else sql("GROUP BY {row}, {shown}", row=row, shown=shown),
        )
        return engine.materialize("split", query)

    return part(">"), part("<=")
