"""What a masked column must show of a value: the most specific true label that the release shows anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from ppdm_sql.audit.bins import binned_values, distinct_values, join_label
from ppdm_sql.audit.fingerprints import TEXT, counted, fingerprint, text_column
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, literal, text, union_all
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.taxonomy.model import Taxonomy

Shows = Literal["top", "values", "labels"]


@dataclass(frozen=True)
class MaskedColumn:
    """A column of which values or labels are shown.

    Args:
        column: The column, as the source has it.
        top: What it shows in the most general state.
        suppressed: Whether it shows values or the symbol; else values are shown as intervals or nodes.
        taxonomy: Whose nodes it shows; None for values and for intervals grown in the run.
        by_interval: Whether the leaves of the taxonomy are intervals.
        shows: What the method says of it: the top everywhere, values as they are, or other labels. It spares
            the audit what need not be looked up, and where it is not so the rows are not those expected.
        tails: Texts of the greatest value of its lower tail, and of the smallest of its upper one, within
            which no label may tell values apart; None where there is none.
    """

    column: Column
    top: str
    suppressed: bool
    taxonomy: Taxonomy | None = None
    by_interval: bool = False
    shows: Shows = "labels"
    tails: tuple[str | None, str | None] = (None, None)

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def nodes(self) -> Sequence[str]:
        """The labels of its tree that are known without the data, the most general first."""
        return (self.top,) if self.taxonomy is None else self.taxonomy.labels

    @property
    def grown(self) -> bool:
        """Whether it shows intervals grown in the run."""
        return self.taxonomy is None and not self.suppressed

    @property
    def is_text(self) -> bool:
        """Whether its values are texts, which are leaves as they stand."""
        return kind_of(self.column.type) in (Kind.TEXT, Kind.ENUM)


@dataclass
class ShownColumn:
    """A masked column with what a release shows of it.

    Args:
        masked: The column.
        nodes: The nodes of its tree that are shown among other labels, 0 being the top.
        null: Whether NULL is shown.
        labels: ``value, label, code`` in which values are looked up; None where a value's own text tells.
        texts: The table ``attribute, text, label`` they were taken from; None where values are no texts.
    """

    masked: MaskedColumn
    nodes: set[int] = field(default_factory=set)
    null: bool = False
    labels: exp.Expression | None = None
    texts: Table | None = None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.masked.name

    @property
    def own(self) -> exp.Expression:
        """The value of a row of the source ``s`` as it is looked up."""
        return column(self.name, "s") if self._is_typed else text_column(self.masked.column)

    @property
    def _is_typed(self) -> bool:
        masked = self.masked
        return masked.shows == "labels" and not (masked.suppressed or masked.is_text)

    def join(self, value: exp.Expression, name: str) -> exp.Join | None:
        """Give the table to join where a value, as in :attr:`own`, is looked up, under a name."""
        return None if self.labels is None else join_label(value, self.labels, name)

    def label(self, value: exp.Expression, name: str) -> exp.Expression:
        """Give what must be shown of a value, from what was joined under a name."""
        return self._found(value, name, "label", lambda text: text)

    def code(self, value: exp.Expression, name: str) -> exp.Expression:
        """Give the fingerprint of what must be shown of a value: quicker to look up than the text."""
        return self._found(value, name, "code", lambda text: fingerprint([text]))

    def _found(
        self, value: exp.Expression, name: str, what: str, made: Callable[[exp.Expression], exp.Expression]
    ) -> exp.Expression:
        top = made(literal(self.masked.top))
        if self.masked.shows != "labels":
            return top if self.masked.shows == "top" else made(value)
        # what has no label of its own is shown as the top, which is true of all
        found: exp.Expression = exp.Coalesce(this=column(what, name), expressions=[top])
        if self.null:
            there = exp.Not(this=value.is_(exp.null()))
            found = exp.case().when(there, found, copy=False).else_(made(exp.cast(exp.null(), TEXT)))
        return found


def shown_columns(
    engine: Engine, source: Table, released: Table, masked: Sequence[MaskedColumn], count: str | None
) -> list[ShownColumn]:
    """Find out which labels a release shows, and make what values are looked up in.

    Args:
        engine: Where all is.
        source: The source.
        released: The rows as the release shows them.
        masked: The masked columns.
        count: Column with the number of records of a row, or None.

    Cost: of the release a GROUP BY of each column that shows labels, and of the source of each of them that
    holds no texts.
    """
    mapped = [item.name for item in masked if item.shows == "labels"]
    labels = released
    if mapped:
        labels = engine.materialize("shown_labels", _shown_labels(released, mapped, count))
    return labelled_columns(engine, source, labels, masked)


def labelled_columns(
    engine: Engine, source: Table, labels: Table, masked: Sequence[MaskedColumn]
) -> list[ShownColumn]:
    """Make what the values of masked columns are looked up in, for labels that are known.

    Args:
        engine: Where all is.
        source: The source.
        labels: Working table ``attribute, text, label``: the labels shown, each its own text.
        masked: The masked columns.
    """
    columns = {item.name: ShownColumn(item) for item in masked}
    mapped = [item for item in columns.values() if item.masked.shows == "labels"]
    if mapped:
        _look_up(engine, labels, columns)
        leaves = _leaf_labels(engine, mapped)
        for item in mapped:
            _give_labels(engine, source, item, labels if item.masked.taxonomy is None else leaves)
    return list(columns.values())


def _shown_labels(released: Table, names: Sequence[str], count: str | None) -> exp.Expression:
    """Select ``attribute, text, label``: the labels of columns, each its own text."""
    parts = []
    for name in names:
        rows = exp.select(alias(column(name, "s"), "label")).distinct()
        rows = counted(rows.from_(aliased(released, "s"), copy=False), count)
        label = exp.cast(column("label", "v"), TEXT)
        named = [alias(literal(name), "attribute"), alias(label, "text"), alias(label.copy(), "label")]
        parts.append(exp.select(*named, copy=False).from_(rows.subquery("v", copy=False), copy=False))
    return union_all(parts)


def _look_up(engine: Engine, labels: Table, columns: Mapping[str, ShownColumn]) -> None:
    """Find the nodes and NULL among the labels."""
    known = [(n, i, label) for n, item in columns.items() for i, label in enumerate(item.masked.nodes)]
    params: dict[str, object] = {
        name: [row[i] for row in known] for i, name in enumerate(("attributes", "nodes", "labels"))
    }
    query = bind("audit/shown_nodes", tables={"shown_labels": labels})
    for name, node in engine.query(query, params, step="shown_nodes"):
        if node is None:
            columns[name].null = True
        else:
            columns[name].nodes.add(node)


def _leaf_labels(engine: Engine, columns: Iterable[ShownColumn]) -> Table:
    """Give each leaf of the taxonomies the most specific label above it that is shown."""
    rows = [(item.name, *pair) for item in columns for pair in _leaves(item)]
    params: Mapping[str, object] = {
        name: [row[i] for row in rows] for i, name in enumerate(("attributes", "texts", "labels"))
    }
    return engine.materialize("known_labels", text("audit/known_labels"), params)


def _leaves(item: ShownColumn) -> Iterator[tuple[str, str | None]]:
    taxonomy = item.masked.taxonomy
    if taxonomy is None:
        return
    labels: list[str | None] = []
    for node, (label, parent) in enumerate(zip(taxonomy.labels, taxonomy.parents, strict=True)):
        labels.append(label if node in item.nodes else labels[parent] if node else None)
    yield from ((taxonomy.labels[leaf], labels[leaf]) for leaf in taxonomy.leaves)


def _give_labels(engine: Engine, source: Table, item: ShownColumn, known: Table) -> None:
    """Give a column what its values are looked up in."""
    masked, key = item.masked, "value"
    where: exp.Expression = exp.true()
    if masked.suppressed or (masked.taxonomy is not None and masked.is_text):
        key, where = "text", exp.EQ(this=column("attribute", "t"), expression=literal(item.name))
        item.texts = known
    else:
        values = distinct_values(engine, source, column(item.name, "s"))
        known = _typed_labels(engine, values, known, masked)
    there = exp.Not(this=column("label", "t").is_(exp.null()))
    code = exp.case().when(there, fingerprint([column("label", "t")]), copy=False)
    columns = alias(column(key, "t"), "value"), column("label", "t"), alias(code, "code")
    rows = exp.select(*columns, copy=False).from_(aliased(known, "t"), copy=False)
    item.labels = rows.where(where, copy=False).subquery(copy=False)


def _typed_labels(engine: Engine, values: Table, known: Table, masked: MaskedColumn) -> Table:
    """Make ``value, label`` of a column that holds no texts, by intervals or by leaves."""
    if masked.taxonomy is None or masked.by_interval:
        return binned_values(engine, values, known, masked.name, masked.tails)
    tables = {"known_labels": known, "values_to_label": values}
    query = bind("audit/leaf_values", tables=tables, values={"name": masked.name})
    return engine.materialize("leaf_values", query)
