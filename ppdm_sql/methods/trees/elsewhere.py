"""Grows a tree from a table that lives elsewhere: each level is counted there, and only counts come here.

The codes of the records are kept there (see :mod:`~ppdm_sql.methods.trees.coded_records`). The position of a
record's node in the level, a column in DuckDB, is an expression here: the splits above it decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlglot
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import Query, Source
from ppdm_sql.engine.statements import literal
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.trees.coded_records import TreeFeature, bin_of, cell_of
from ppdm_sql.methods.trees.level_records import CodeCounts
from ppdm_sql.methods.trees.model import TreeNode
from ppdm_sql.methods.trees.partitioning import Partition
from ppdm_sql.methods.trees.sorted_assignment import CellAssignment
from ppdm_sql.methods.trees.values_elsewhere import RECORDS, VALUE

MOST_NODES = 256
"""Nodes whose place one statement tells; each level is read once for so many."""


def check_mode(mode: str, source: str) -> None:
    """Refuse Local, which sorts the records of each node by themselves.

    Raises:
        InvalidOption: It is asked for.
    """
    if mode == "local":
        raise InvalidOption(
            "The mode local sorts the records of each node, for which one machine needs all of them, "
            f"and {source} lives elsewhere.",
            "Give --mode byclass, or copy the columns that the tree reads into the DuckDB file first.",
        )


def check_class(item: Column, source: str) -> None:
    """Refuse a class of bytes, which have no text that is the same everywhere.

    Raises:
        InvalidSource: It is one.
    """
    if item.type == "BLOB":
        raise InvalidSource(
            f"Class column {item.name!r} of {source} holds bytes.", "Make it a text in a view there."
        )


def class_counts(engine: Engine, listed: Table, classes: Sequence[str]) -> list[int]:
    """Give the records of each class out of the values that were listed."""
    text = exp.cast(column(VALUE), "TEXT")
    rows = exp.select(text, column(RECORDS)).from_(listed.expression())
    found = dict.fromkeys(classes, 0)
    for name, records in engine.query(rows.sql("duckdb"), step="class_counts"):
        found[name] += int(records)
    return list(found.values())


# -- codes ------------------------------------------------------------------------------------------


def coded(label: Column, classes: Sequence[str], features: Sequence[TreeFeature]) -> Query:
    """Write what gives ``class`` and ``code0, ...`` of each record, or ``bin0, value0`` where there is noise.

    Records without a class are left out.

    Example: of an age and a job.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.methods.perturbation.transition_matrices import Grid
        >>> from ppdm_sql.methods.trees.coded_records import categorical_feature
        >>> jobs = [categorical_feature("Job", ["nurse", "clerk"])]
        >>> query = coded(Column("Risk", "INTEGER"), ["0", "1"], jobs)
        >>> print(formatted(query(exp.table_("people", alias="s")).sql("duckdb")))
        SELECT
          class,
          CASE v0 WHEN 'nurse' THEN 0 WHEN 'clerk' THEN 1 ELSE 2 END AS "code0"
        FROM (
          SELECT
            CASE "s"."Risk" WHEN CAST('0' AS INT) THEN 0 WHEN CAST('1' AS INT) THEN 1 END AS "class",
            CAST("s"."Job" AS TEXT) AS "v0"
          FROM people AS s
          WHERE
            NOT "s"."Risk" IS NULL
        ) AS v
    """
    codes = [_sql("class")]
    for place, feature in enumerate(features):
        codes += _codes(feature, place)

    def query(rows: exp.Expression) -> exp.Select:
        value = column(label.name, "s")
        shown: list[exp.Expression] = [alias(_class_code(value, label.type, classes), "class")]
        for place, feature in enumerate(features):
            texts = feature.nominal or feature.labels
            read = exp.cast(column(feature.attribute.name, "s"), "TEXT" if texts else "DOUBLE")
            shown.append(alias(read, f"v{place}"))
        known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
        read_rows = exp.select(*shown).from_(rows).where(known)
        return exp.select(*(code.copy() for code in codes)).from_(read_rows.subquery("v"))

    return query


def _class_code(value: exp.Expression, type_text: str, classes: Sequence[str]) -> exp.Expression:
    as_type = exp.DataType.build(type_text, dialect="duckdb")
    return _position(
        value,
        [literal(name) if type_text == "VARCHAR" else exp.cast(literal(name), as_type) for name in classes],
    )


def _position(value: exp.Expression, listed: Sequence[exp.Expression], other: int | None = None) -> exp.Case:
    ifs = [exp.If(this=item, true=literal(place)) for place, item in enumerate(listed)]
    return exp.Case(this=value, ifs=ifs, default=None if other is None else literal(other))


def _codes(feature: TreeFeature, place: int) -> list[exp.Expression]:
    value = f"v{place}"
    if feature.noise is not None:
        return [
            _sql(f"CAST({bin_of(value, feature)} AS INTEGER) AS bin{place}"),
            _sql(f"{value} AS value{place}"),
        ]
    if feature.grid is not None:
        return [_sql(f"CAST({cell_of(value, feature.grid)} AS INTEGER) AS code{place}")]
    texts = [literal(text) for text in feature.labels or feature.attribute.values]
    return [alias(_position(_sql(value), texts, feature.cells), f"code{place}")]


def _sql(text: str) -> exp.Expression:
    """Read SQL of our own; no name or value of a user is in it."""
    return cast(exp.Expression, sqlglot.parse_one(text, dialect="duckdb"))


# -- counts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordsElsewhere:
    """The records of a tree where they live: nothing is written for a level, each is counted from the root.

    Args:
        engine: Where counts arrive.
        kept: Has ``class, code0, ...`` of each record.
        features: The attributes.
    """

    engine: Engine
    kept: Source
    features: Sequence[TreeFeature]

    @property
    def most_nodes(self) -> int:
        """How many nodes one statement tells apart."""
        return MOST_NODES

    def counted(self, nodes: Sequence[TreeNode], some: Mapping[int, int], *, whole: bool) -> CodeCounts:
        """Count the records of some nodes in one statement there.

        Raises:
            InvalidSource: The records are not those that were counted before.
        """
        node = node_of(nodes, some, self.features)
        found = grouped_counts(
            self.engine,
            self.kept,
            lambda rows: counting(rows, node, len(self.features)),
            ("attribute", "node", "code", "class", "records"),
            step="level counts",
        )
        self._check(found, nodes, some)
        return found

    def _check(self, found: CodeCounts, nodes: Sequence[TreeNode], some: Mapping[int, int]) -> None:
        """Compare the records of each attribute and node with what is known of the node."""
        expected = sum(nodes[id].records for id in some)
        for place in range(len(self.features)):
            if int(found["records"][found["attribute"] == place].sum()) != expected:
                raise InvalidSource(
                    f"{self.kept.shown} does not have the same records at each look.",
                    "Run it again when nobody writes, or read a version that stays.",
                )

    def partition(self, partition: Partition, cells: CellAssignment) -> None:
        """Do nothing: where records go is told by the tree."""


def grouped_counts(
    engine: Engine, source: Source, query: Query, names: Sequence[str], *, step: str
) -> CodeCounts:
    """Run a query there that gives codes and counts, and read its few rows here."""
    table = source.grouped(engine, query, [Column(name, "BIGINT") for name in names], step=step)
    rows = exp.select(*map(column, names)).from_(table.expression())
    found = engine.arrays(rows.sql("duckdb"), step=step)
    engine.discard(table)
    return found


def counting(rows: exp.Expression, node: exp.Expression, attributes: int) -> exp.Expression:
    """Count coded records by attribute, node, code and class; those without a node are left out.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> kept = exp.table_("kept", alias="s")
        >>> print(formatted(counting(kept, exp.convert(0), 2).sql("duckdb")))
        SELECT
          CASE WHEN NOT code0 IS NULL THEN 0 WHEN NOT code1 IS NULL THEN 1 END AS attribute,
          node,
          COALESCE(code0, code1) AS code,
          class,
          COUNT(*) AS records
        FROM (
          SELECT
            "s"."class" AS "class",
            "s"."code0" AS "code0",
            "s"."code1" AS "code1",
            0 AS "node"
          FROM kept AS s
        ) AS r
        WHERE
          NOT node IS NULL
        GROUP BY
          GROUPING SETS (
            (node, class, code0),
            (node, class, code1)
          )
    """
    codes = [f"code{place}" for place in range(attributes)]
    which = " ".join(f"WHEN {code} IS NOT NULL THEN {place}" for place, code in enumerate(codes))
    sets = ", ".join(f"(node, class, {code})" for code in codes)
    query = _sql(
        f"SELECT CASE {which} END AS attribute, node, coalesce({', '.join(codes)}) AS code, class, "
        f"count(*) AS records FROM r WHERE node IS NOT NULL GROUP BY GROUPING SETS ({sets})"
    )
    shown = [alias(column(name, "s"), name) for name in ("class", *codes)]
    placed = exp.select(*shown, alias(node.copy(), "node")).from_(rows)
    query.find(exp.Table).replace(placed.subquery("r"))  # type: ignore[union-attr]
    return query


# -- the node of a record ---------------------------------------------------------------------------


def node_of(
    nodes: Sequence[TreeNode], some: Mapping[int, int], features: Sequence[TreeFeature]
) -> exp.Expression:
    """Write which of some nodes a record is in, as their position, from its codes; NULL if in none.

    A CASE follows the larger subtree and nests the smaller ones, as that of a prediction does.

    Example: the right child of a root that is split by age, where NULL goes left.
        >>> from ppdm_sql.methods.perturbation.transition_matrices import Grid
        >>> from ppdm_sql.methods.trees.coded_records import numeric_feature
        >>> root = TreeNode(0, None, None, 0, (2, 3), "age", 40.0, null_left=True)
        >>> nodes = root, TreeNode(1, 0, "left", 1, (2, 0)), TreeNode(2, 0, "right", 1, (0, 3))
        >>> node_of(nodes, {2: 0}, [numeric_feature("age", Grid(0.0, 20.0, 4))]).sql("duckdb")
        'CASE WHEN s.code0 < 2 OR s.code0 = 4 THEN NULL ELSE 0 END'
    """
    places = {feature.attribute.name: place for place, feature in enumerate(features)}
    below: dict[int, list[TreeNode]] = {}
    sizes = dict.fromkeys(some, 1)
    for node in reversed(nodes):
        if node.id in sizes and node.parent is not None:
            below.setdefault(node.parent, []).append(node)
            sizes[node.parent] = sizes.get(node.parent, 1) + sizes[node.id]

    def written(node: TreeNode) -> exp.Expression:
        whens = []
        while node.id not in some:
            place = places[node.column or ""]
            smaller, *larger = sorted(below[node.id], key=lambda child: sizes[child.id])
            if larger:
                whens.append(
                    exp.If(
                        this=_goes(node, smaller.side == "left", features[place], place),
                        true=written(smaller),
                    )
                )
                (node,) = larger
            else:
                away = _goes(node, smaller.side != "left", features[place], place)
                whens.append(exp.If(this=away, true=exp.null()))
                node = smaller
        last = literal(some[node.id])
        return exp.Case(ifs=whens, default=last) if whens else last

    return written(nodes[0])


def _goes(node: TreeNode, left: bool, feature: TreeFeature, place: int) -> exp.Expression:
    """Write when a record goes to one side of a split, by the code of the attribute."""
    attribute, code = feature.attribute, f"s.code{place}"
    if node.cut is None:
        positions = {value: position for position, value in enumerate(attribute.values)}
        listed = ", ".join(str(positions[value]) for value in node.values)
        return _sql(f"{code} {'' if left else 'NOT '}IN ({listed})")
    cell, null = attribute.cuts.index(node.cut) + 1, feature.cells
    if left:
        return _sql(f"{code} < {cell}" + (f" OR {code} = {null}" if node.null_left else ""))
    return _sql(f"{code} >= {cell}" + (f" AND {code} < {null}" if node.null_left else ""))
