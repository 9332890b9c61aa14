"""From rows to numbers: a table is collapsed, each value becomes one number, and records are drawn.

Numbers, dates, times and booleans have places in their order. So has what a method made of them: an interval
the place of its lower bound, a value that is shown the place of that value. All else, text, the suppressed
symbol, NULL and names of groups, is a category.

Working tables made here, all temporary:

- ``collapsed``: ``v0, v1, ...`` (the features), ``label`` (the class, as text), ``person`` (as text; NULL
  where persons are not told apart), ``records``;
- ``ordinals`` of each column: ``value, ordinal``, see ``sql/evaluation/ordinals.sql``;
- ``coded``: ``number`` (of the row), ``x0, x1, ...``, ``label`` (class from 0; -1 where training does not
  know it), ``person``, ``records``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, column, resolve
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of, type_tree
from ppdm_sql.errors import InvalidSource
from ppdm_sql.release import Treatment
from ppdm_sql.release.labels import bound_of
from ppdm_sql.release.layout import Shape

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]
MASKED: tuple[Treatment, ...] = ("suppressed", "generalized", "swapped")
FEATURES: tuple[Treatment, ...] = (*MASKED, "sensitive", "kept")
TEXT = "text"


@dataclass(frozen=True)
class Feature:
    """A released column that helps to predict the class."""

    name: str
    type: str  # its type in the source
    treatment: Treatment  # what the release did to it
    released: bool = False  # whether it is read as released, rather than as the source has it

    @property
    def masked(self) -> bool:
        """Whether a method may have masked or swapped its values."""
        return self.treatment in MASKED

    def value(self, name: str) -> exp.Expression:
        """Give the value to read from the column ``name`` of ``s``: text where no order is known."""
        value = column(name, "s")
        is_label = self.released and self.masked
        return exp.cast(value, "TEXT") if is_label or family(self.type) == TEXT else value

    def place(self, value: exp.Expression) -> exp.Expression:
        """Give what a value is ordered by; NULL where it is a category."""
        if family(self.type) == TEXT:
            return exp.null()
        if not (self.released and self.masked):
            return value
        as_it_is = exp.TryCast(this=value.copy(), to=type_tree(self.type))
        if self.treatment != "generalized":
            return as_it_is
        return exp.Coalesce(this=bound_of(value, "lower bound", self.type), expressions=[as_it_is])


def features(
    shape: Shape, source: Sequence[Column], *, table: str, label: str | None = None
) -> tuple[Feature, ...]:
    """List the features of a release, as the source has them.

    Pseudonyms, counts, bounds beside an interval, and the class itself, ``label``, are none.
    """
    types = dict(source)
    treatments = [
        (resolve(item.name, list(types), table=table), item.treatment)
        for item in shape.columns
        if item.treatment in FEATURES and item.name != label
    ]
    return tuple(Feature(name, types[name], treatment) for name, treatment in treatments)


def check_families(features: Sequence[Feature], columns: Sequence[Column], *, table: str) -> None:
    """Refuse a test table that lacks a column, or has one of another kind than the source's."""
    types = dict(columns)
    for feature in features:
        name = resolve(feature.name, list(types), table=table)
        here, there = family(types[name]), family(feature.type)
        if here != there:
            raise InvalidSource(
                f"Column {name!r} of table {table} holds values of the kind {here}, the source {there}.",
                "Cast it in a view, and test on that.",
            )


def family(type_text: str) -> str:
    """Tell which values can be put in one order with those of a type."""
    if is_number(type_text):
        return "number"
    kind = kind_of(type_text)
    if kind in MOMENTS:
        return "date"
    return kind.value if kind in (Kind.TIME, Kind.INTERVAL, Kind.BOOLEAN) else TEXT


# -- rows in numbers ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Records drawn from a coded table; rows that are alike, in the same fold, stand together."""

    numbers: Numbers  # shape (rows, features): above 0 a place in an order, below 0 a category, 0 neither
    labels: Counts  # the class of each row, from 0; -1 is one that training does not know
    records: Counts  # how many records each row stands for, at least 1
    folds: Counts  # the fold of each row, from 0

    def part(self, rows: NDArray[np.bool_], features: Sequence[int]) -> Sample:
        """Give some of the rows, with some of the features."""
        numbers = self.numbers[rows][:, list(features)]
        return Sample(numbers, self.labels[rows], self.records[rows], self.folds[rows])


@dataclass(frozen=True)
class Rows:
    """Rows of a table or subquery ``s``, with its columns of features, class, count and persons if any."""

    source: exp.Expression
    columns: tuple[str, ...]
    label: str
    count: str | None
    person: tuple[str, ...] = ()


def collapse_rows(engine: Engine, rows: Rows, features: Sequence[Feature]) -> Table:
    """Count the records of each combination of features and class, in one scan of the rows."""
    who = [column(name, "s") for name in rows.person]  # as a text that two persons never share
    values = {f"v{place}": f.value(rows.columns[place]) for place, f in enumerate(features)}
    values["label"] = exp.cast(column(rows.label, "s"), "TEXT")
    records = sql("1") if rows.count is None else column(rows.count, "s")
    select = sql(
        "SELECT {items}, {person} AS person, {records} AS counted FROM {source} WHERE {records} > 0",
        items=[alias(value, name) for name, value in values.items()],
        person=sql("row({who})::TEXT", who=who) if who else sql("NULL::TEXT"),
        records=records,
        source=rows.source,
    )
    view = engine.overlay(select)
    # GROUP BY follows collations, which would merge texts that differ
    texts = [item for item in engine.columns(view) if item.type == "VARCHAR"]
    exact = {name: column(name, "s") for name in (*values, "person")} | exact_values(engine, view, texts)
    counting = sql(
        "SELECT {values}, sum(s.counted)::BIGINT AS records FROM {view} AS s GROUP BY ALL",
        values=[alias(value, name) for name, value in exact.items()],
        view=view,
    )
    return engine.materialize("collapsed", counting)


def count_records(engine: Engine, table: Table) -> int:
    """Count the records of a collapsed or coded table."""
    ((records,),) = engine.query(bind("evaluation/records", tables={"collapsed": table}), step="records")
    return int(records)


@dataclass(frozen=True)
class TrainTest:
    """A training and a test table, collapsed."""

    features: tuple[Feature, ...]  # what their columns ``v0, v1, ...`` are
    train: Table  # the source or the release
    test: Table | None  # the test table, as it is or recoded; None where folds of `train` are tested
    swapped_label: bool  # whether the class is a column whose values were swapped


class EncodedTables:
    """A training table in numbers, and a test table in the same numbers if there is one.

    Cost: one scan of the collapsed rows for each feature, and one for all.
    """

    def __init__(self, engine: Engine, tables: TrainTest) -> None:
        self._engine, self._width = engine, len(tables.features)
        both = [tables.train] if tables.test is None else [tables.train, tables.test]
        ordinals = [self._ordinals(f"v{i}", feature, both) for i, feature in enumerate(tables.features)]
        ordinals.append(self._ordinals("label", None, both))
        encoded = [engine.materialize("coded", coded_query(rows, ordinals)) for rows in both]
        self.train, self.test = encoded[0], None if tables.test is None else encoded[1]

    def _ordinals(self, name: str, feature: Feature | None, tables: Sequence[Table]) -> Table:
        """Number the values of a column, those that training does not know too, by their order if any."""
        part = "SELECT {v} AS value, {known} AS known FROM {t}"
        both = [
            sql(part, v=column(name), known=literal(not place), t=table) for place, table in enumerate(tables)
        ]
        values = sql(
            """
            SELECT v.value, v.known, {place} AS place
            FROM (SELECT u.value, bool_or(u.known) AS known FROM ({both}) AS u GROUP BY u.value) AS v
            """,
            place=exp.null() if feature is None else feature.place(column("value", "v")),
            both=joined(both, " UNION ALL "),
        )
        table = self._engine.materialize("feature_values", values)
        return self._engine.materialize(
            "ordinals", bind("evaluation/ordinals", tables={"feature_values": table})
        )

    def sample(self, table: Table, *, seed: int, most: int, folds: int) -> Sample:
        """Draw records by lot, so many at most, and deal every class, or all persons, out to the folds.

        The same seed draws the same records, whatever the order of the rows.
        """
        features = [f"x{i}" for i in range(self._width)]
        values = {"seed": seed, "most": most, "folds": folds}
        columns = {"features": features}
        drawing = bind("evaluation/sample", tables={"coded": table}, columns=columns, values=values)
        arrays = self._engine.arrays(drawing, step="sample")
        rows = len(arrays["label"])
        numbers = np.column_stack([np.empty((rows, 0)), *(arrays[name] for name in features)])
        labels, records, fold = (arrays[name].astype(np.int64) for name in ("label", "records", "fold"))
        return Sample(numbers, labels, records, fold)


def coded_query(rows: Table, ordinals: Sequence[Table]) -> Statement:
    """Select rows with ordinals for values, the last for the class, numbered by what they hold."""
    names = [*(f"v{place}" for place in range(len(ordinals) - 1)), "label"]
    joins = [
        sql(
            "JOIN {table} AS {o} ON {value} IS NOT DISTINCT FROM {known}",
            table=table,
            o=column(f"o{place}"),
            value=column(name, "r"),
            known=column("value", f"o{place}"),
        )
        for place, (name, table) in enumerate(zip(names, ordinals, strict=True))
    ]
    *codes, label = (column("ordinal", f"o{place}") for place in range(len(ordinals)))
    values = {f"x{place}": code for place, code in enumerate(codes)}
    return sql(
        """
        SELECT row_number() OVER (ORDER BY {order}) AS number, *
        FROM (
            SELECT {values}, sum(r.records)::BIGINT AS records FROM {rows} AS r {joins} GROUP BY ALL
        ) AS c
        """,
        order=[*map(column, values), column("label"), column("person")],
        values=[
            *(alias(value, name) for name, value in values.items()),
            sql("(-{label} - 1)::INT AS label", label=label),
            sql("r.person"),
        ],
        rows=rows,
        joins=joined(joins, " "),
    )
