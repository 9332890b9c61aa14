"""Stores a taxonomy as an ordinary parent-child table."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.errors import InvalidOption, NameTaken
from ppdm_sql.taxonomy.model import Taxonomy

NODES = "taxonomy/nodes"
COMMENT = "Taxonomy: a row for each label and its parent, NULL for the root; position orders the children."


def write_taxonomy(engine: Engine, taxonomy: Taxonomy, into: str) -> None:
    """Create the table ``into(child VARCHAR, parent VARCHAR, position INTEGER)``, one row per node.

    The table is an ordinary one of the owner's: it holds labels, which may be values of a column.
    """
    engine.require_autocommit()
    table = _free(engine, into)
    parents = [None if parent < 0 else taxonomy.labels[parent] for parent in taxonomy.parents]
    values = {"children": list(taxonomy.labels), "parents": parents}
    said = exp.Comment(this=table.expression(), kind="TABLE", expression=literal(COMMENT))
    with engine.transaction():
        engine.write(f"CREATE TABLE {table} AS {bind(NODES, tables={})}", values, step="create taxonomy")
        engine.write(render(said), step="comment")


def _free(engine: Engine, name: str) -> Table:
    """Give the table that is to be made, if nothing of that name is there."""
    if not name or "\0" in name:
        raise InvalidOption("A taxonomy needs a name.", "Give the name of a table that does not exist yet.")
    catalog, schema = engine.current()
    for table in engine.tables():
        here = table.catalog == "temp" or (table.catalog, table.schema) == (catalog, schema)
        if here and table.name.lower() == name.lower():
            raise NameTaken(f"There is a table or view {table.name!r} already.", "Choose another name.")
    return Table(name, schema, catalog)
