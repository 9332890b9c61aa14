"""Numbers the persons of a source, so that nothing after it knows who they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.person_columns import check_persons


@dataclass(frozen=True)
class NumberedPersons:
    """The persons of a source.

    Args:
        table: Working table ``p0, p1, ...`` (who it is) and ``person``, a number from 0 in their order.
        same: Whether a row of the source ``s`` is that of a person ``p``.
        number: How many there are.
    """

    table: Table
    same: exp.Condition
    number: int


def numbered_persons(engine: Engine, source: Table, person: Sequence[str]) -> NumberedPersons:
    """Number the persons of a source."""
    check_persons(engine, source, person)
    who = {f"p{place}": name for place, name in enumerate(person)}
    read = (alias(column(name, "s"), key) for key, name in who.items())
    everybody = exp.select(*read).distinct().from_(exp.alias_(source.expression(), "s", table=True))
    order = exp.Order(expressions=[exp.Ordered(this=column(key)) for key in who])
    number = exp.Sub(this=exp.Window(this=exp.RowNumber(), order=order), expression=exp.convert(1))
    numbered = alias(exp.cast(number, "UINTEGER", dialect="duckdb"), "person")
    table = engine.materialize("persons", exp.select(exp.Star(), numbered).from_(everybody.subquery("e")))
    same = [exp.EQ(this=column(name, "s"), expression=column(key, "p")) for key, name in who.items()]
    return NumberedPersons(table, exp.and_(*same), engine.size(table))
