"""Taxonomies in tables: of children and parents, and as a release keeps its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column, resolve, table_name
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.errors import InvalidOption, NameTaken, PpdmError, UnknownTable, said
from ppdm_sql.taxonomy.derived import EXAMPLES, DerivedTaxonomy
from ppdm_sql.taxonomy.model import Taxonomy

POSITION = "position"
"""Column of a parent-child table that orders its rows; it may be absent."""


def read_taxonomy(engine: Engine, given: Taxonomy | Mapping[str, Any] | str | Path) -> Taxonomy:
    """Make a taxonomy of what the user gives."""
    if isinstance(given, Taxonomy):
        return given
    if isinstance(given, Mapping):
        return Taxonomy.from_dict(given)
    if isinstance(given, Path) or os.path.isfile(table_name(given)):
        return Taxonomy.from_csv(given)
    try:
        table = engine.find(given)
    except UnknownTable as error:
        raise UnknownTable(
            f"There is neither a file nor a table {said(given)}.",
            f"{error.remedy} Or name a rule: {EXAMPLES}.",
        ) from None
    return _read_table(engine, table, given)


def read_taxonomy_or_rule(
    engine: Engine, given: Taxonomy | Mapping[str, Any] | str | Path
) -> Taxonomy | DerivedTaxonomy:
    """Read a taxonomy, or the rule that makes one of a column's values, such as ``ranges 5,10,20``.

    A file or a table of that name comes first.

    Example:
        >>> import duckdb
        >>> read_taxonomy_or_rule(Engine(duckdb.connect()), "dates month,year")
        DerivedTaxonomy(name='dates', levels=('month', 'year'))
    """
    if isinstance(given, str) and not os.path.isfile(given) and not _is_table(engine, given):
        rule = DerivedTaxonomy.of_text(given)
        if rule is not None:
            return rule
    return read_taxonomy(engine, given)


def _is_table(engine: Engine, name: str) -> bool:
    try:
        engine.find(name)
    except PpdmError:
        return False
    return True


def _read_table(engine: Engine, table: Table, name: str) -> Taxonomy:
    names = [item.name for item in engine.columns(table)]
    cells = [exp.cast(column(resolve(n, names, table=name)), "TEXT") for n in ("child", "parent")]
    query = exp.select(*map(alias, cells, ("child", "parent"))).from_(table.expression())
    if POSITION in map(str.lower, names):
        query = query.order_by(column(resolve(POSITION, names, table=name)))
    with engine.workspace():
        rows = engine.query(render(query), step="taxonomy")
    return Taxonomy.from_edges((child, parent) for child, parent in rows)


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
