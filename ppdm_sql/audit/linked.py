"""What all records of a person give away together, where something shows whose they are."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind


def smallest_linked(
    engine: Engine, table: Table, quasi_identifier: Sequence[str], person: Sequence[str]
) -> int:
    """Give the fewest persons who have the same set of equivalence classes: k, where records can be linked.

    Args:
        engine: Where the table is.
        table: Any table or view; it is only read.
        quasi_identifier: The columns that others may know of each record.
        person: Columns that say whose record a row is.

    Raises:
        InvalidSource: A row is nobody's.

    Cost: one scan of the table, three of the columns of persons, one sort of its combinations.

    Example:
        >>> import duckdb
        >>> con = duckdb.connect()
        >>> rows = "(1, 'a'), (1, 'b'), (2, 'a'), (3, 'a')"
        >>> _ = con.execute(f"CREATE TABLE v AS FROM (VALUES {rows}) v(who, zip)")
        >>> engine = Engine(con)
        >>> smallest_linked(engine, engine.find("v"), ["zip"], ["who"])
        1
    """
    with engine.workspace():
        collapsed = Collapsed(engine, table, list(quasi_identifier), None, person)
        columns = {"qi": collapsed.codes(quasi_identifier)}
        text = bind("audit/linked_persons", tables={"atoms": collapsed.atoms}, columns=columns)
        ((smallest,),) = engine.query(text, step="linked_persons")
    return int(smallest)
