"""Taxonomies beside tables: read from them and written into them, and held against the values of a column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column, resolve, table_name
from ppdm_sql.engine.statements import bind, literal, sql
from ppdm_sql.errors import InvalidOption, NameTaken, PpdmError, UnknownTable, said
from ppdm_sql.taxonomy.derived import EXAMPLES, DerivedTaxonomy
from ppdm_sql.taxonomy.model import Taxonomy

POSITION = "position"
"""Column of a parent-child table that orders its rows; it may be absent."""
COMMENT = "Taxonomy: a row for each label and its parent, NULL for the root; position orders the children."
Arrays = dict[str, NDArray[Any]]

NO_LEAF = -1
"""Node of a value that no leaf covers, NULL among them."""

_FAULTS = (
    ("has bounds that are not values of the column's type", "Write them as the column holds them."),
    ("is empty", "Write [lower, upper)."),
    ("overlaps another one of the leaves", "Let each interval end where the next begins."),
    ("reaches out of the interval above it", "Widen the interval above it."),
)
"""What may be wrong with an interval, in the order of ``taxonomy/interval_faults.sql``, and the remedy."""


def read_taxonomy(engine: Engine, source: Taxonomy | Mapping[str, Any] | str | Path) -> Taxonomy:
    """Make a taxonomy of what the user gives."""
    if isinstance(source, Taxonomy):
        return source
    if isinstance(source, Mapping):
        return Taxonomy.from_dict(source)
    if isinstance(source, Path) or os.path.isfile(table_name(source)):
        return Taxonomy.from_csv(source)
    try:
        table = engine.find(source)
    except UnknownTable as error:
        raise UnknownTable(
            f"There is neither a file nor a table {said(source)}.",
            f"{error.remedy} Or name a rule: {EXAMPLES}.",
        ) from None
    return _read_table(engine, table, source)


def read_taxonomy_or_rule(
    engine: Engine, source: Taxonomy | Mapping[str, Any] | str | Path
) -> Taxonomy | DerivedTaxonomy:
    """Read a taxonomy, or the rule that makes one of a column's values, such as ``ranges 5,10,20``.

    A file or a table of that name comes first.
    """
    if isinstance(source, str) and not os.path.isfile(source) and not _is_table(engine, source):
        rule = DerivedTaxonomy.of_text(source)
        if rule is not None:
            return rule
    return read_taxonomy(engine, source)


def _is_table(engine: Engine, name: str) -> bool:
    try:
        engine.find(name)
    except PpdmError:
        return False
    return True


def _read_table(engine: Engine, table: Table, name: str) -> Taxonomy:
    names = [item.name for item in engine.columns(table)]
    cells = [sql("CAST({c} AS TEXT)", c=column(resolve(n, names, table=name))) for n in ("child", "parent")]
    query = sql("SELECT {cells} FROM {table}", cells=cells, table=table)
    if POSITION in map(str.lower, names):
        query = sql("{q} ORDER BY {p}", q=query, p=column(resolve(POSITION, names, table=name)))
    with engine.workspace():
        rows = engine.query(query, step="taxonomy")
    return Taxonomy.from_edges((child, parent) for child, parent in rows)


def write_taxonomy(engine: Engine, taxonomy: Taxonomy, into: str) -> None:
    """Create the table ``into(child VARCHAR, parent VARCHAR, position INTEGER)``, one row per node."""
    engine.require_autocommit()
    table = _free(engine, into)
    parents = [None if parent < 0 else taxonomy.labels[parent] for parent in taxonomy.parents]
    values = {"children": list(taxonomy.labels), "parents": parents}
    create = sql("CREATE TABLE {t} AS {nodes}", t=table, nodes=bind("taxonomy/nodes", tables={}))
    with engine.transaction():
        engine.write(create, values, step="create taxonomy")
        engine.write(sql("COMMENT ON TABLE {t} IS {c}", t=table, c=literal(COMMENT)), step="comment")


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


# -- which leaf covers each value of a column ------------------------------------------------------------


def leaf_codes(
    engine: Engine, dictionary: Table, taxonomy: Taxonomy, *, column: str, text: bool = False
) -> NDArray[np.int64]:
    """Find the leaf that covers each value of a column.

    A value taxonomy matches by text, or in the column's type: the label ``30.0`` is the number 30. A taxonomy
    of intervals matches by containment in the column's type; a leaf ``90 or more`` holds all from 90 up.
    """
    if taxonomy.is_interval and not text:
        check_intervals(engine, dictionary, taxonomy, column=column)
        rows = _containing_leaves(engine, dictionary, taxonomy)
    else:
        rows = _same_leaves(engine, dictionary, taxonomy, column, text=text)
    nodes = np.full(len(rows["code"]), NO_LEAF, dtype=np.int64)
    nodes[rows["code"].astype(np.int64)] = rows["node"]
    return nodes


def _containing_leaves(engine: Engine, dictionary: Table, taxonomy: Taxonomy) -> Arrays:
    leaves = [taxonomy.intervals[leaf] for leaf in taxonomy.leaves]
    lowers, uppers, closed = zip(*(interval for interval in leaves if interval is not None), strict=True)
    lists = {"lowers": lowers, "uppers": uppers, "closed": closed, "nodes": taxonomy.leaves}
    query = bind("taxonomy/interval_nodes", tables={"dictionary": dictionary})
    return engine.arrays(query, {name: list(part) for name, part in lists.items()}, step="interval_nodes")


def _same_leaves(engine: Engine, dictionary: Table, taxonomy: Taxonomy, column: str, *, text: bool) -> Arrays:
    lists = {"labels": [taxonomy.labels[leaf] for leaf in taxonomy.leaves], "nodes": list(taxonomy.leaves)}
    step = "text_nodes" if text else "value_nodes"
    rows = engine.arrays(bind(f"taxonomy/{step}", tables={"dictionary": dictionary}), lists, step=step)
    if not text and (rows["leaves"] > 1).any():
        raise InvalidOption(
            f"The taxonomy of {column!r} has leaves that are the same value in the column's type.",
            "Write each value once, as the column holds it.",
        )
    return rows


def check_intervals(engine: Engine, dictionary: Table, taxonomy: Taxonomy, *, column: str) -> None:
    """Make sure that the intervals of a taxonomy are intervals of the column's type that nest."""
    intervals = {n: interval for n, interval in enumerate(taxonomy.intervals) if interval is not None}
    place = {node: position for position, node in enumerate(intervals)}
    above = _intervals_above(taxonomy)
    lists = {
        "bounds": [bound for interval in intervals.values() for bound in interval[:2]],
        "closed": [interval.closed for interval in intervals.values()],
        "leaf": [not taxonomy.children[node] for node in intervals],
        "above": [place.get(above[node], -1) for node in intervals],
    }
    query = bind("taxonomy/interval_faults", tables={"dictionary": dictionary})
    (counts,) = engine.query(query, lists, step="interval_faults")
    for count, (fault, remedy) in zip(counts, _FAULTS, strict=True):
        if count:
            which = "1 interval" if count == 1 else f"Each of {count} intervals"
            raise InvalidOption(f"{which} of the taxonomy of {column!r} {fault}.", remedy)


def uncovered_values(engine: Engine, dictionary: Table, codes: NDArray[np.int64]) -> list[str]:
    """Name the values that no leaf covers, for an owner who asked to see values; NULL is left out."""
    query = bind("taxonomy/uncovered_values", tables={"dictionary": dictionary})
    missing = np.flatnonzero(codes == NO_LEAF).tolist()
    return [value for (value,) in engine.query(query, {"codes": missing}, step="uncovered_values")]


def _intervals_above(taxonomy: Taxonomy) -> list[int]:
    """For each node, the nearest ancestor that is an interval, -1 where there is none."""
    above = [-1] * len(taxonomy.labels)
    for node, parent in enumerate(taxonomy.parents[1:], 1):
        above[node] = above[parent] if taxonomy.intervals[parent] is None else parent
    return above
