"""What masked columns show: states of a release, bounds of intervals, bins, and words for the cut.

Every state of a top-down run keeps the promise, and follows from the frozen table and ``ppdm.steps`` alone. A
label that a step brought shows, before that step, what the step refined: for a disclosure the symbol, for a
specialization the parent node, for a split the whole interval. Whatever the steps do not know shows the top.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, free_name
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql, text
from ppdm_sql.engine.types import read, type_tree, wide_type
from ppdm_sql.privacy import Value
from ppdm_sql.release.catalogue import parts
from ppdm_sql.release.layout import Bound, Measured, ReleasedColumn, Shape, Treatment

# -- states -----------------------------------------------------------------------------------------


def state(shape: Shape, step: exp.Expression) -> Statement:
    """Select the release as it stood after a step, ordered by the values it shows."""
    sources = {name: f"shown_{i}" for i, name in enumerate(shape.masked)}
    labels = {
        name: sql(
            "CASE WHEN {of}.attribute IS NULL THEN {top} ELSE {of}.label END",
            of=column(source),
            top=literal(shape.top(name)),
        )
        for name, source in sources.items()
    }
    joins = [
        sql(
            "LEFT JOIN shown AS {of} ON {of}.attribute = {name} AND {of}.value IS NOT DISTINCT FROM {stored}",
            of=column(source),
            name=literal(name),
            stored=stored_text(name),
        )
        for name, source in sources.items()
    ]
    at = bind("release/labels_at", tables={}, values={"release": shape.name, "step": step})
    return sql(
        "{shown} SELECT {values} FROM {rows} {joins} WHERE {is_kept} {grouped} ORDER BY ALL ASC",
        shown=sql("WITH shown AS ({at})", at=at) if sources else sql(""),
        values=[
            sql("{v} AS {name}", v=_at_step(shape, item, labels), name=column(item.name))
            for item in shape.columns
        ],
        rows=shape.stored(),
        joins=joined(joins, " "),
        is_kept=_from_first(step, shape.first),
        grouped=sql("") if shape.count is None else sql("GROUP BY ALL"),
    )


def _at_step(shape: Shape, item: ReleasedColumn, labels: dict[str, Statement]) -> Statement | exp.Expression:
    if item.name == shape.count:
        return shape.records("f")
    if item.name in labels:
        return labels[item.name]
    bound = bound_beside(item, labels[item.of]) if item.of in labels else None
    return bound or shape.shown(item)


def _from_first(step: exp.Expression, first: int) -> Statement:
    """Refuse a step whose state keeps no promise, a negative or a missing one with an error, whoever asks."""
    words = "Steps count from 0, the most general state. Give 0 or more."
    if first:
        words = f"The states before step {first} do not keep the requirements. Give {first} or more."
    refused = "CASE WHEN coalesce({step}, -1) < {first} THEN error({words}) ELSE TRUE END"
    return sql(refused, step=step, first=first, words=literal(words))


def partitions(
    shape: Shape, step: exp.Expression | None, protected: Iterable[tuple[str, Value]]
) -> Statement:
    """Select one row for each existing combination of the masked columns: the VIP as a relation."""
    counted = {"records": shape.records("p")}
    for number, (sensitive, value) in enumerate(protected, start=1):
        held = sql("{c} IS NOT DISTINCT FROM {v}", c=column(sensitive, "p"), v=literal(value))
        counted[f"protected_{number}"] = shape.records("p", where=held)
    return sql(
        "SELECT {shown} FROM ({rows}) AS p GROUP BY ALL ORDER BY ALL ASC",
        shown=[
            *(column(name, "p") for name in shape.masked),
            *(
                sql("{n} AS {name}", n=n, name=column(free_name(name, shape.masked)))
                for name, n in counted.items()
            ),
        ],
        rows=shape.rows() if step is None else state(shape, step),
    )


def stored_text(name: str) -> Statement:
    return sql("CAST({c} AS TEXT)", c=column(name, "f"))


# -- bounds -----------------------------------------------------------------------------------------

INTERVAL = "^[[]([^,]+), ([^,]+)[])]$"
"""``[37, 52)``, or ``[52, 98]`` where the upper bound is included; no number, date or time holds a comma."""

_PATTERNS: dict[Bound, Sequence[tuple[str, int]]] = {
    "lower bound": ((INTERVAL, 1), ("^([^,]+) or more$", 1)),
    "upper bound": ((INTERVAL, 2), ("^([^,]+) or less$", 1), ("^less than ([^,]+)$", 1)),
}
"""Patterns and their groups; labels of intervals that are open on one side have the other bound alone."""


def bound_of(label: Statement | exp.Expression, bound: Bound, type_text: str) -> exp.Expression:
    """Give a bound of the interval that a label names; NULL for every other label."""
    label = exp.var(label) if isinstance(label, Statement) else label
    found = [
        exp.Anonymous(this="regexp_extract", expressions=[label.copy(), literal(pattern), literal(group)])
        for pattern, group in _PATTERNS[bound]
    ]
    # at most one of them is there
    first = exp.Nullif(this=exp.Anonymous(this="concat", expressions=found), expression=literal(""))
    return exp.TryCast(this=first, to=type_tree(type_text))


def bound_beside(item: ReleasedColumn, label: Statement | exp.Expression) -> exp.Expression | None:
    """Give the value of a bound column from the label beside it; None if the column is not a bound."""
    if item.treatment == "lower bound" or item.treatment == "upper bound":
        return bound_of(label, item.treatment, item.type or "VARCHAR")
    return None


# -- bins -------------------------------------------------------------------------------------------

_LABEL = re.compile(r"\[(?P<lower>[^,]+), (?P<upper>[^,]+)(?P<end>[])])")
_WHOLE = re.compile(r"-?\d+")


def bin_label(value: exp.Expression, labels: Sequence[str], type_text: str) -> exp.Expression:
    """Give the label of the bin that holds a value; NULL where none does."""
    cases = exp.Case()
    for label in labels:
        found = _LABEL.fullmatch(label)
        if found is None:
            raise ValueError("a bin is labelled by its bounds")
        lower, upper = (_bound(found[name], type_text) for name in ("lower", "upper"))
        below = value <= upper if found["end"] == "]" else value < upper
        cases = cases.when(exp.and_(value >= lower, below), literal(label))
    return cases


def in_bins(
    table: Table, columns: Sequence[Column], released: Sequence[ReleasedColumn], name: str
) -> exp.Expression:
    """Give a table under an alias, with labels in the columns that the release shows in bins."""
    labels = _bins(released)
    shown = [
        alias(bin_label(column(item, "t"), labels[item.lower()], kind), item)
        for item, kind in columns
        if item.lower() in labels
    ]
    if not shown:
        return aliased(table, name)
    return exp.select(exp.Star(replace=shown)).from_(aliased(table, "t")).subquery(name)


def binned_types(columns: Sequence[Column], released: Sequence[ReleasedColumn]) -> list[Column]:
    """Give the columns of a source with text for those that the release shows in bins."""
    bins = _bins(released)
    return [Column(name, "VARCHAR" if name.lower() in bins else kind) for name, kind in columns]


def _bins(released: Sequence[ReleasedColumn]) -> dict[str, Sequence[str]]:
    return {item.name.lower(): item.bins for item in released if item.bins}


def _bound(bound: str, type_text: str) -> exp.Expression:
    """Read a bound in the type of the values, or in one that also holds what lies between them."""
    wide = wide_type(type_text) or type_text
    return read(literal(bound), type_text if _WHOLE.fullmatch(bound) else wide)


# -- the cut, and words for it ----------------------------------------------------------------------

SHOWN: dict[Treatment, str] = {
    "lower bound": "the lower bounds of intervals",
    "upper bound": "the upper bounds of intervals",
    "swapped": "some values are swapped",
    "randomized": "values with noise",
    "discretized": "cells in place of values",
    "sensitive": "as it is (sensitive)",
    "class": "as it is (the class)",
    "kept": "as it is",
    "pseudonym": "pseudonym",
    "count": "the number of records",
}
"""What a column shows that is not masked, by its treatment."""
_BOUNDED = re.compile(r"[\[(].*, .*[\])]")


@dataclass(frozen=True)
class Node:
    """One node of the tree of a masked column, a row of ``ppdm.taxonomies``."""

    attribute: str
    node: int  # parents have smaller numbers than their children
    parent: int | None  # None for the root
    label: str | None  # what the release shows for it; None is NULL
    lower: str | None  # for an interval the text of the lower bound, which it includes
    upper: str | None
    closed: bool | None  # for an interval whether the upper bound is included
    shown: bool  # whether it is in the cut


def nodes_of(engine: Engine, release: str, attribute: str | None = None) -> list[Node]:
    """List the nodes of one column's tree, or of all columns those of the cut and above, parents first."""
    if "taxonomies" not in parts(engine):
        return []
    params = {"release": release, "attribute": attribute}
    return [Node(*row) for row in engine.query(text("release/taxonomy"), params, step="taxonomy")]


def told(
    columns: Sequence[ReleasedColumn],
    symbol: str,
    nodes: Sequence[Node] = (),
    measures: Sequence[Measured] = (),
    counted: Callable[[ReleasedColumn], tuple[Collection[str | None], int]] | None = None,
) -> Iterator[tuple[str, str]]:
    found, trees = {one.measure: one for one in measures}, defaultdict[str, list[Node]](list)
    for node in nodes:
        trees[node.attribute].append(node)
    for item in columns:
        tree = trees[item.name]
        labels: Collection[str | None] = [node.label for node in tree if node.shown]
        number = len(labels)
        moved = "" if item.moved is None else f", moved by up to {item.moved} days, all of a person alike"
        if item.treatment in SHOWN or not (labels or counted):
            yield item.name, SHOWN.get(item.treatment, item.treatment) + moved
            continue
        if counted is not None and (of_rows := counted(item))[1]:  # an empty release shows no label
            labels, number = of_rows
        of = found.get(f"values disclosed: {item.name}")
        loss = found.get(f"generalized information loss: {item.name}")
        lossless = loss is not None and loss.after == 0
        if item.treatment == "suppressed" and (lossless or symbol not in labels) and number > 1:
            yield item.name, f"as it is{moved}"
        elif lossless and number > 1 and not _are_intervals(labels):  # leaves may stand for several values
            yield item.name, f"{number:,} labels, the finest of its hierarchy{moved}"
        else:
            words = _words(item, symbol, labels, number, of and of.before, _levels(tree))
            yield item.name, words + moved


def _levels(nodes: Sequence[Node]) -> set[int]:
    """Give how far below the top of its tree a column's labels stand; NULL, which no tree has, aside."""
    depths: dict[int | None, int] = {None: -1}
    for node in nodes:
        depths[node.node] = depths[node.parent] + 1
    return {depths[node.node] for node in nodes if node.shown and node.label is not None}


def _are_intervals(labels: Collection[str | None]) -> bool:
    return sum(_BOUNDED.fullmatch(label or "") is not None for label in labels) * 2 > len(labels)


def _words(
    item: ReleasedColumn,
    symbol: str,
    labels: Collection[str | None],
    number: int,
    of: float | None,
    at: Collection[int],
) -> str:
    """Say what a masked column shows.

    Example:
        >>> sex, job = ReleasedColumn("sex", "suppressed"), ReleasedColumn("job", "generalized")
        >>> _words(sex, "*", ["*"], 1, None, ()), _words(sex, "*", ["f", "*"], 2, 3, ())
        ('* in every record', '1 of 3 values, * for the others')
        >>> _words(job, "*", ["Cook", "Any"], 2, None, {0, 1})
        '2 labels, 0 to 1 levels below the top of its hierarchy'
    """
    if number == 1:
        (label,) = labels
        return f"{'NULL' if label is None else label} in every record"
    if item.treatment == "suppressed":
        shown = f"{number - 1:,}" + (f" of {of:,.0f}" if of else "")
        return f"{shown} value{'s' * ((of or number - 1) != 1)}, {symbol} for the others"
    if _are_intervals(labels):
        return f"{number:,} intervals"
    if not at:
        return f"{number:,} labels"
    below = " to ".join(dict.fromkeys(map(str, (min(at), max(at)))))
    return f"{number:,} labels, {below} level{'s' * ({*at} != {1})} below the top of its hierarchy"
