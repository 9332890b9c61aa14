"""What a masked column must show of a value: the most specific true label that the release shows anywhere.

It is worked out from the value, the owner's taxonomy or the bounds in the labels, and the labels that are
shown: never from codes and cuts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ppdm_sql.audit.comparing import counting, fingerprint, refuse_defect, text
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Sql, Statement, bind, joined, literal, sql
from ppdm_sql.engine.statements import text as step_text
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.taxonomy.model import Taxonomy

Shows = Literal["top", "values", "labels"]


@dataclass(frozen=True)
class MaskedColumn:
    """A column of which values or labels are shown."""

    column: Column  # the column, as the source has it
    top: str  # what it shows in the most general state
    suppressed: bool  # whether it shows values or the symbol; else values are shown as intervals or nodes
    # whose nodes it shows; None for values and for intervals grown in the run
    taxonomy: Taxonomy | None = None
    by_interval: bool = False  # whether the leaves of the taxonomy are intervals
    # what the method says of it: the top everywhere, values as they are, or other labels. It spares the audit
    # what need not be looked up, and where it is not so the rows are not those expected
    shows: Shows = "labels"
    # texts of the greatest value of its lower tail, and of the smallest of its upper one, within which no
    # label may tell values apart; None where there is none
    tails: tuple[str | None, str | None] = (None, None)

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def nodes(self) -> Sequence[str]:
        """The labels of its tree that are known without the data, the most general first."""
        return (self.top,) if self.taxonomy is None else self.taxonomy.labels

    @property
    def grown(self) -> bool:
        return self.taxonomy is None and not self.suppressed

    @property
    def is_text(self) -> bool:  # whose values are leaves as they stand
        return kind_of(self.column.type) in (Kind.TEXT, Kind.ENUM)


@dataclass
class ShownColumn:
    """A masked column with what a release shows of it."""

    masked: MaskedColumn  # the column
    # the nodes of its tree that are shown among other labels, 0 being the top
    nodes: set[int] = field(default_factory=set)
    null: bool = False  # whether NULL is shown
    # ``value, label, code`` in which values are looked up; None where a value's own text tells
    labels: Statement | None = None
    # the table ``attribute, text, label`` they were taken from; None where values are not texts
    texts: Table | None = None

    @property
    def name(self) -> str:
        return self.masked.name

    @property
    def own(self) -> Sql:
        """The value of a row of the source ``s`` as it is looked up."""
        masked, value = self.masked, column(self.name, "s")
        typed = masked.shows == "labels" and not (masked.suppressed or masked.is_text)
        return value if typed or masked.column.type == "VARCHAR" else text(value)

    def join(self, value: Sql, name: str) -> Statement:
        """Join what a value, as in :attr:`own`, is looked up in, under a name; nothing where it is not."""
        if self.labels is None:
            return sql("")
        lookup = "LEFT JOIN ({labels}) AS {name} ON {key} = {value}"
        return sql(lookup, labels=self.labels, name=column(name), key=column("value", name), value=value)

    def label(self, value: Sql, name: str) -> Sql:
        """Give what must be shown of a value, from what was joined under a name."""
        return self._looked_up(value, name, "label", lambda label: label)

    def code(self, value: Sql, name: str) -> Sql:
        """Give the fingerprint of what must be shown of a value: quicker to look up than the text."""
        return self._looked_up(value, name, "code", lambda label: fingerprint([label]))

    def _looked_up(self, value: Sql, name: str, what: str, code: Callable[[Sql], Sql]) -> Sql:
        top = code(literal(self.masked.top))
        if self.masked.shows != "labels":
            return top if self.masked.shows == "top" else code(value)
        # what has no label of its own is shown as the top, which is true of all
        known = sql("coalesce({own}, {top})", own=column(what, name), top=top)
        if not self.null:
            return known
        missing = code(sql("NULL::VARCHAR"))
        return sql("CASE WHEN {v} IS NULL THEN {none} ELSE {known} END", v=value, none=missing, known=known)


def shown_columns(
    engine: Engine, source: Table, released: Statement, masked: Sequence[MaskedColumn], count: str | None
) -> list[ShownColumn]:
    """Find out which labels a release shows, and make what values of the source are looked up in."""
    distinct = "SELECT DISTINCT {c} AS label FROM {released} AS s WHERE {counts}"
    queries = [
        sql(
            "SELECT {name} AS attribute, {label} AS text, {label} AS label FROM ({distinct}) AS v",
            name=literal(item.name),
            label=text(column("label", "v")),
            distinct=sql(distinct, c=column(item.name, "s"), released=released, counts=counting(count)[1]),
        )
        for item in masked
        if item.shows == "labels"
    ]
    if not queries:
        return [ShownColumn(item) for item in masked]
    labels = engine.materialize("shown_labels", joined(queries, " UNION ALL "))
    return labelled_columns(engine, source, labels, masked)


def labelled_columns(
    engine: Engine, source: Table, labels: Table, masked: Sequence[MaskedColumn]
) -> list[ShownColumn]:
    """Make what values of masked columns are looked up in, for known labels ``attribute, text, label``."""
    columns = {item.name: ShownColumn(item) for item in masked}
    mapped = [item for item in columns.values() if item.masked.shows == "labels"]
    if mapped:
        _find_nodes(engine, labels, columns)
        rows = [(item.name, *pair) for item in mapped for pair in _leaves(item)]
        leaves = _known_labels(engine, rows)
        for item in mapped:
            _give_labels(engine, source, item, labels if item.masked.taxonomy is None else leaves)
    return list(columns.values())


def _find_nodes(engine: Engine, labels: Table, columns: Mapping[str, ShownColumn]) -> None:
    known = [(n, i, label) for n, item in columns.items() for i, label in enumerate(item.masked.nodes)]
    query = bind("audit/shown_nodes", tables={"shown_labels": labels})
    params = _listed(("attributes", "nodes", "labels"), known)
    for name, node in engine.query(query, params, step="shown_nodes"):
        if node is None:
            columns[name].null = True
        else:
            columns[name].nodes.add(node)


def _known_labels(engine: Engine, rows: Sequence[tuple[object, ...]]) -> Table:
    params = _listed(("attributes", "texts", "labels"), rows)
    return engine.materialize("known_labels", step_text("audit/known_labels"), params)


def _listed(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> dict[str, object]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _leaves(item: ShownColumn) -> Iterator[tuple[str, str | None]]:
    """Give each leaf of the taxonomy with the most specific label above it that is shown."""
    taxonomy = item.masked.taxonomy
    if taxonomy is None:
        return
    labels: list[str | None] = []
    for node, (label, parent) in enumerate(zip(taxonomy.labels, taxonomy.parents, strict=True)):
        labels.append(label if node in item.nodes else labels[parent] if node else None)
    yield from ((taxonomy.labels[leaf], labels[leaf]) for leaf in taxonomy.leaves)


def _give_labels(engine: Engine, source: Table, item: ShownColumn, known: Table) -> None:
    """Give a column what its values are looked up in."""
    masked, key, where = item.masked, "value", sql("TRUE")
    if masked.suppressed or (masked.taxonomy is not None and masked.is_text):
        key, where = "text", sql("t.attribute = {name}", name=literal(item.name))
        item.texts = known
    else:
        values = distinct_values(engine, source, column(item.name, "s"))
        if masked.taxonomy is None or masked.by_interval:
            known = binned_values(engine, values, known, item.name, masked.tails)
        else:
            tables = {"known_labels": known, "values_to_label": values}
            leaves = bind("audit/leaf_values", tables=tables, values={"name": item.name})
            known = engine.materialize("leaf_values", leaves)
    item.labels = sql(
        "SELECT {key} AS value, t.label, CASE WHEN t.label IS NOT NULL THEN hash(t.label) END AS code "
        "FROM {known} AS t WHERE {where}",
        key=column(key, "t"),
        known=known,
        where=where,
    )


# -- intervals: which one a value lies in, by the bounds in the labels, as `[0, 10)` or `[10, 20]` -------

_WHOLE = re.compile(r"\[-?\d+, -?\d+[\])]")


def comparable(value: Sql, type_text: str, labels: Sequence[str]) -> Sql:
    """Give a value in a type that also holds the bounds: dates meet times, whole numbers may meet 37.5."""
    kind = kind_of(type_text)
    if kind is Kind.DATE:
        return sql("{v}::TIMESTAMP", v=value)
    if kind in (Kind.WHOLE, Kind.DECIMAL) and not all(_WHOLE.fullmatch(label) for label in labels):
        return sql("{v}::DOUBLE", v=value)
    return value


def own_labels(engine: Engine, labels: Mapping[str, Sequence[str]]) -> Table:
    """Write ``attribute, text, label`` for labels of columns that are their own texts."""
    return _known_labels(engine, [(n, label, label) for n, listed in labels.items() for label in listed])


def distinct_values(engine: Engine, source: Table, value: Sql) -> Table:
    """Make the working table ``value`` of what a source ``s`` holds beside NULL; one GROUP BY."""
    distinct = sql("SELECT DISTINCT {v} AS value FROM {source} AS s", v=value, source=source)
    known = "SELECT v.value FROM ({distinct}) AS v WHERE v.value IS NOT NULL"
    return engine.materialize("values", sql(known, distinct=distinct))


def binned_values(
    engine: Engine,
    values: Table,
    known: Table,
    name: str,
    tails: tuple[str | None, str | None] = (None, None),
) -> Table:
    """Give values with what their intervals are shown as: ``value, label``."""
    tables = {"values_to_label": values, "known_labels": known}
    bins = engine.materialize("bins", bind("audit/bins", tables=tables, values={"name": name}))
    if tails != (None, None):
        query = bind("audit/split_tails", tables={"bins": bins, "values_to_label": values})
        bounds = dict(zip(("bottom", "top"), tails, strict=True))
        ((split,),) = engine.query(query, bounds, step="split_tails")
        if split:
            refuse_defect(f"{split} labels of column {name!r} tell values of its tails apart")
    return engine.materialize("binned", bind("audit/binned_values", tables={**tables, "bins": bins}))


# -- the trees that a release would record ---------------------------------------------------------------


def misdrawn_nodes(engine: Engine, trees: Table, columns: Sequence[ShownColumn]) -> int:
    """Count the nodes that are not as the owner's taxonomies have them, or are shown and not marked so."""
    # Of intervals, those with bounds other than their labels name are counted too. One scan of the trees.
    owned = {item.name: item for item in columns if item.masked.taxonomy is not None}
    query = bind("audit/recorded_trees", tables={"trees": trees})
    rows = engine.query(query, {"attributes": list(owned)}, step="recorded_trees")
    false = sum(bool(is_false) for *_, is_false in rows)
    labels = {(name, node): label for name, label, node, *_ in rows}
    recorded = {
        (name, label, labels.get((name, parent))): marked
        for name, label, _, parent, marked, _ in rows
        if label is not None
    }
    nodes = {node for item in owned.values() for node in _nodes(item)}
    marks = {node for item in owned.values() for node in _nodes(item, item.nodes)}
    unmarked = [node for node in marks if not recorded.get(node, False)]
    return false + len(nodes ^ recorded.keys()) + len(unmarked)


def _nodes(item: ShownColumn, only: set[int] | None = None) -> list[tuple[str, str, str | None]]:
    """Give the nodes of a taxonomy by their labels and those of their parents."""
    taxonomy = item.masked.taxonomy
    if taxonomy is None:
        return []
    above = (None, *(taxonomy.labels[parent] for parent in taxonomy.parents[1:]))
    named = enumerate(zip(taxonomy.labels, above, strict=True))
    return [(item.name, *pair) for node, pair in named if only is None or node in only]
