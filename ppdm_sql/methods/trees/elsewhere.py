"""Grows a tree from a table that lives elsewhere: each level is counted there, and only counts come here.

The codes of the records are kept there (see :mod:`~ppdm_sql.methods.trees.coded_records`), with the position
of each record's node in the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import sqlglot
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.drawing import kept_elsewhere
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import Query, Source
from ppdm_sql.engine.statements import literal
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.trees.coded_records import TreeFeature, bin_of, cell_of
from ppdm_sql.methods.trees.level_records import CodeCounts
from ppdm_sql.methods.trees.partitioning import Partition
from ppdm_sql.methods.trees.sorted_assignment import CellAssignment
from ppdm_sql.methods.trees.values_elsewhere import RECORDS, VALUE


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


def check_class(type_text: str, label: str, source: str) -> None:
    """Refuse a class of bytes, which have no text that is the same everywhere.

    Raises:
        InvalidSource: It is one.
    """
    if type_text == "BLOB":
        raise InvalidSource(
            f"Class column {label!r} of {source} holds bytes.", "Make it a text in a view there."
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
    """Write what gives ``node``, ``class`` and ``code0, ...`` of each record, at the root.

    Where there is noise, ``bin0`` and ``value0`` stand for a code. Records without a class are left out.

    Example: of an age and a job.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.methods.perturbation.reconstruction import Grid
        >>> from ppdm_sql.methods.trees.coded_records import categorical_feature
        >>> jobs = [categorical_feature("Job", ["nurse", "clerk"])]
        >>> query = coded(Column("Risk", "INTEGER"), ["0", "1"], jobs)
        >>> print(formatted(query(exp.table_("people", alias="s")).sql("duckdb")))
        SELECT
          0 AS "node",
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
    codes = [alias(literal(0), "node"), _sql("class")]
    for place, feature in enumerate(features):
        codes += _codes(feature, place)

    def query(rows: exp.Expression) -> exp.Select:
        value = column(label.name, "s")
        shown: list[exp.Expression] = [alias(_class_code(value, label.type, classes), "class")]
        for place, feature in enumerate(features):
            texts = feature.nominal or feature.labels
            read = exp.cast(column(feature.attribute.name, "s"), "TEXT" if texts else "DOUBLE")
            shown.append(alias(read, f"v{place}"))
        read_rows = exp.select(*shown).from_(rows).where(value.is_(exp.null()).not_())
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


class RecordsElsewhere:
    """The records of the level where they live: those of the next level are kept there in their place.

    Args:
        engine: Where counts arrive.
        kept: Has ``node`` (0), ``class, code0, ...`` of each record of the root.
        features: The attributes.
    """

    def __init__(self, engine: Engine, kept: Source, features: Sequence[TreeFeature]) -> None:
        self.engine, self.kept, self.features = engine, kept, features

    def counted(self, nodes: range | None, records: int) -> CodeCounts:
        """Count the records of some nodes in one statement there.

        Raises:
            InvalidSource: The records are not those that were counted before.
        """
        found = grouped_counts(
            self.engine,
            self.kept,
            lambda rows: counting(rows, len(self.features), nodes),
            ("attribute", "node", "code", "class", "records"),
            step="level counts",
        )
        for place in range(len(self.features)):
            if int(found["records"][found["attribute"] == place].sum()) != records:
                raise InvalidSource(
                    f"{self.kept.shown} does not have the same records at each look.",
                    "Run it again when nobody writes, or read a version that stays.",
                )
        return found

    def partition(self, partition: Partition, cells: CellAssignment) -> None:
        """Keep the records of the next level, and let those of this one go."""
        self.kept = kept_elsewhere(
            self.kept, lambda rows: moved(rows, partition, len(self.features)), step="level records"
        )


def grouped_counts(
    engine: Engine, source: Source, query: Query, names: Sequence[str], *, step: str
) -> CodeCounts:
    """Run a query there that gives codes and counts, and read its few rows here."""
    table = source.grouped(engine, query, [Column(name, "BIGINT") for name in names], step=step)
    rows = exp.select(*map(column, names)).from_(table.expression())
    found = engine.arrays(rows.sql("duckdb"), step=step)
    engine.discard(table)
    return found


def counting(rows: exp.Expression, attributes: int, nodes: range | None = None) -> exp.Expression:
    """Count the records of a level, or of some nodes of it, by attribute, node, code and class.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> kept = exp.table_("kept", alias="s")
        >>> print(formatted(counting(kept, 2, range(5)).sql("duckdb")))
        SELECT
          CASE WHEN NOT code0 IS NULL THEN 0 WHEN NOT code1 IS NULL THEN 1 END AS attribute,
          node,
          COALESCE(code0, code1) AS code,
          class,
          COUNT(*) AS records
        FROM (
          SELECT
            "s"."node" AS "node",
            "s"."class" AS "class",
            "s"."code0" AS "code0",
            "s"."code1" AS "code1"
          FROM kept AS s
        ) AS r
        WHERE
          node >= 0 AND node < 5
        GROUP BY
          GROUPING SETS (
            (node, class, code0),
            (node, class, code1)
          )
    """
    codes = [f"code{place}" for place in range(attributes)]
    which = " ".join(f"WHEN {code} IS NOT NULL THEN {place}" for place, code in enumerate(codes))
    sets = ", ".join(f"(node, class, {code})" for code in codes)
    some = "" if nodes is None else f"WHERE node >= {nodes.start} AND node < {nodes.stop} "
    query = _sql(
        f"SELECT CASE {which} END AS attribute, node, coalesce({', '.join(codes)}) AS code, class, "
        f"count(*) AS records FROM r {some}GROUP BY GROUPING SETS ({sets})"
    )
    shown = [alias(column(name, "s"), name) for name in ("node", "class", *codes)]
    query.find(exp.Table).replace(exp.select(*shown).from_(rows).subquery("r"))  # type: ignore[union-attr]
    return query


def moved(rows: exp.Expression, partition: Partition, attributes: int) -> exp.Expression:
    """Send each record to a child by the cell of the attribute that splits its node; those of leaves go.

    Example: a node that is split by its second attribute; cell 1 and NULL go to a leaf.
        >>> from ppdm_sql.engine.statements import formatted
        >>> level = Partition([0], [1], [0], [0], [(0, 1, 0, True)], 3)
        >>> print(formatted(moved(exp.table_("kept", alias="s"), level, 2).sql("duckdb")))
        SELECT
          c.node,
          p.class,
          p.code0,
          p.code1
        FROM (
          SELECT
            "s"."class" AS "class",
            "s"."code0" AS "code0",
            "s"."code1" AS "code1",
            k.first_place + CASE k.attribute WHEN 0 THEN "s"."code0" WHEN 1 THEN "s"."code1" END AS "place"
          FROM kept AS s
          JOIN (VALUES
            (0, 1, 0)) AS k(node, attribute, first_place)
            ON k.node = "s"."node"
        ) AS p
        JOIN (
          SELECT
            UNNEST(GENERATE_SERIES(low, high - 1)) AS place,
            node
          FROM (VALUES
            (0, 1, 0)) AS v(low, high, node)
        ) AS c
          ON c.place = p.place
    """
    codes = [f"code{place}" for place in range(attributes)]
    splits = list(zip(partition.nodes, partition.attributes, partition.first_places, strict=True))
    runs = [(first, last, node) for first, last, node, _ in partition.children]
    whens = [exp.If(this=literal(place), true=column(code, "s")) for place, code in enumerate(codes)]
    cell = exp.Case(this=exp.column("attribute", "k"), ifs=whens)
    place = alias(exp.Add(this=exp.column("first_place", "k"), expression=cell), "place")
    shown = [alias(column(name, "s"), name) for name in ("class", *codes)]
    of_node = exp.EQ(this=exp.column("node", "k"), expression=column("node", "s"))
    placed = exp.select(*shown, place).from_(rows)
    placed = placed.join(listed(splits, ["node", "attribute", "first_place"], "k"), on=of_node)
    query = exp.select("c.node", "p.class", *(f"p.{code}" for code in codes)).from_(placed.subquery("p"))
    return query.join(unfolded_runs(runs, "place", "node").subquery("c"), on="c.place = p.place")


def unfolded_runs(runs: Sequence[tuple[int, ...]], number: str, value: str) -> exp.Query:
    """Write a row for each number of runs: each has the first, the one behind the last, and their value."""
    query = _sql(f"SELECT unnest(generate_series(low, high - 1)) AS {number}, {value} FROM runs")
    query.find(exp.Table).replace(listed(runs, ["low", "high", value], "v"))  # type: ignore[union-attr]
    return cast(exp.Query, query)


def listed(rows: Sequence[tuple[int, ...]], names: Sequence[str], called: str) -> exp.Values:
    """Write rows of numbers as a table."""
    return exp.values(list(rows), alias=called, columns=list(names))
