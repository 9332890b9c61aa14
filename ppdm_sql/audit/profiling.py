"""A first look at a table: what its columns look like, and which pairs of them single out most records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from sqlglot import exp

from ppdm_sql.audit.column_kinds import Look, ValueShape, looks_like
from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.count_column import check_counts, count_column
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, aliased, column, resolve_all
from ppdm_sql.engine.source import is_stable, is_stand_in, source_of
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import no_records
from ppdm_sql.results import SHARE, ResultTable

SAMPLE = 1000
"""Values of a column whose shape is looked at."""
PAIRS = 10
"""Pairs that are shown."""
COUNTED_PAIRS = 20
"""Pairs that are counted exactly, those with the most classes."""
PAIRED_COLUMNS = 30
"""Columns that are paired at most, those with the most values."""
MOST_ALONE = 0.5
"""A column that singles out more than this share of the records by itself needs no second one."""
_UNPAIRED = (Look.identifier, Look.text, Look.constant, Look.empty)


@dataclass(frozen=True)
class ColumnProfile:
    """What there is to know of a column before anything is decided; it holds no cell.

    Args:
        column: Its name.
        type: Its type, without the values of an ENUM.
        values: Different values, NULL aside.
        nulls: Records with NULL.
        alone: Records whose value, or NULL, no other record has.
        share_alone: Those as a share of all records, in [0, 1].
        looks_like: ``direct identifier``, ``code``, ``date``, ``number``, ``category``, ``free text``,
            ``constant``, ``empty`` or ``other``.
    """

    column: str
    type: str
    values: int
    nulls: int
    alone: int
    share_alone: float
    looks_like: str


@dataclass(frozen=True)
class ColumnPair:
    """How far two columns together single records out.

    Args:
        columns: Both.
        classes: Combinations of their values.
        alone: Records whose combination no other record has.
        share_alone: Those as a share of all records, in [0, 1].
    """

    columns: tuple[str, str]
    classes: int
    alone: int
    share_alone: float


@dataclass(frozen=True)
class Profile:
    """A first look at a table.

    Args:
        records: Of the table.
        columns: One for each column, in the order of the table.
        pairs: The pairs of columns that single out most records, at most ten, most first. Columns that look
            like direct identifiers or free text, constants, and columns that single out more than half of
            the records by themselves are in none.
    """

    records: int
    columns: tuple[ColumnProfile, ...]
    pairs: tuple[ColumnPair, ...]

    @property
    def alone(self) -> list[ColumnProfile]:
        """The columns that single out more than half of the records by themselves, most first."""
        found = [item for item in self.columns if item.share_alone > MOST_ALONE]
        return sorted(found, key=lambda item: -item.alone)

    def tables(self) -> list[ResultTable]:
        """Give the tables."""
        heading = ("column", "type", "values", "NULLs", "unique records", "share", "looks like")
        rows: list[tuple[object, ...]] = [
            (c.column, c.type, c.values, c.nulls, c.alone, c.share_alone, c.looks_like) for c in self.columns
        ]
        alone: list[tuple[object, ...]] = [(c.column, c.alone, c.share_alone) for c in self.alone]
        pairs: list[tuple[object, ...]] = [
            (*p.columns, p.classes, p.alone, p.share_alone) for p in self.pairs
        ]
        together = ("column", "and", "classes", "unique records", "share")
        share, singled = {"share": SHARE}, "Pairs of columns that single out most records"
        whole = [(self.records, len(self.columns))]
        identifying = ResultTable(
            "Columns that identify alone", ("column", "unique records", "share"), alone, share
        )
        return [
            ResultTable("Table", ("records", "columns"), whole),
            ResultTable("Columns", heading, rows, share),
            *([identifying] if alone else []),
            ResultTable(singled, together, pairs, share),
        ]


def profile(
    engine: Engine, table: Table, count: str | None = None, categories: Sequence[str] = ()
) -> Profile:
    """Look at a table for the first time.

    Source: for the estimates Heule, Nunkesser, Hall 2013 (HyperLogLog).
    """
    with engine.workspace():
        return _Profiling(engine, table, count, categories=categories).profile()


def column_profiles(
    engine: Engine, table: Table, names: Collection[str], count: str | None = None
) -> tuple[int, list[ColumnProfile]]:
    """Look at some columns as :func:`profile` does; give the number of records too."""
    with engine.workspace():
        return _Profiling(engine, table, count, names).looked()


class _Profiling:
    """One first look: the rows to read, and what to read of each column, or of some."""

    def __init__(
        self,
        engine: Engine,
        table: Table,
        count: str | None,
        names: Collection[str] | None = None,
        categories: Sequence[str] = (),
    ) -> None:
        self._engine, self._table = engine, table
        self._source, self._rows = table, source_of(engine, table)
        unreadable = self._rows.unreadable()
        everything = [item for item in engine.columns(table) if item.name not in unreadable]
        self._count = count_column(count, everything, table=table.name)
        if self._count is not None:
            check_counts(engine, table, self._count)
        every = [item.name for item in everything]
        self._categories = resolve_all(categories, every, table=table.name)
        wanted = [item for item in everything if names is None or item.name in names]
        self._columns = [item for item in wanted if item.name != self._count]
        self._values = exact_values(engine, table, self._columns)
        if not is_stand_in(engine, table) and not is_stable(engine, table):
            self._copy()

    def _copy(self) -> None:
        """Read a source once that may be slow, or different, the next time."""
        codes = {name: f"c{place}" for place, name in enumerate(self._values)}
        rows = exp.select(*(alias(value, codes[name]) for name, value in self._values.items()))
        if self._count is not None:
            rows = rows.select(alias(column(self._count, "s"), "records"))
            self._count = "records"
        rows = rows.from_(aliased(self._table, "s"))
        self._source = self._engine.materialize("rows", rows)
        self._rows = source_of(self._engine, self._source)
        self._values = {name: column(code, "s") for name, code in codes.items()}

    def profile(self) -> Profile:
        """Look at the columns, then at the pairs of those that matter."""
        records, columns = self.looked()
        if not records:
            raise no_records(self._table.name)
        return Profile(records, tuple(columns), tuple(self._pairs(_paired(columns), records)))

    def looked(self) -> tuple[int, list[ColumnProfile]]:
        """Look at the columns; give the number of records too."""
        found = [self._column(item) for item in self._columns]
        return max((records for records, _ in found), default=0), [item for _, item in found]

    def _column(self, item: Column) -> tuple[int, ColumnProfile]:
        """Look at one column; give the number of records too."""
        values = self._values_of(item)
        text = bind(
            "audit/column_profile",
            tables={"column_values": self._engine.overlay(values)},
            values={"sample": SAMPLE},
        )
        ((records, count, nulls, alone, *shape),) = self._engine.query(text, step="column_profile")
        known = {"records": int(records), "values": count, "nulls": int(nulls), "alone": alone}
        look = looks_like(item.name, item.type, shape=ValueShape(*(part or 0.0 for part in shape)), **known)
        if item.name in self._categories:
            look = Look.category
        share = alone / int(records) if records else 0.0
        seen = ColumnProfile(item.name, type_title(item.type), count, int(nulls), alone, share, look.value)
        return int(records), seen

    def _pairs(self, names: Sequence[str], records: int) -> list[ColumnPair]:
        """Count the pairs that have most classes, and give those that single out most."""
        pairs = list(combinations(names, 2))
        if len(pairs) > COUNTED_PAIRS:
            classes = self._estimated(pairs)
            pairs = sorted(pairs, key=lambda pair: -classes[pair])[:COUNTED_PAIRS]
        found = []
        for pair in pairs:
            ((classes, single),) = self._rows.aggregate(partial(self._pair, pair), step="column_pair")
            found.append(ColumnPair(pair, classes, single, single / records))
        return sorted(found, key=lambda item: (-item.alone, -item.classes))[:PAIRS]

    def _pair(self, pair: Sequence[str], rows: exp.Expression) -> exp.Select:
        """Count the classes of a pair, and those of one record."""
        alone = exp.Filter(this=_count(), expression=exp.Where(this=exp.column("records").eq(1)))
        return exp.select(_count(), alone).from_(self._grouped(rows, pair, ["a", "b"]).subquery("g"))

    def _estimated(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        """Estimate the classes of pairs, all in one scan."""
        hashes = [
            exp.ApproxDistinct(
                this=exp.Anonymous(this="hash", expressions=[self._values[name].copy() for name in pair])
            )
            for pair in pairs
        ]
        wanted = [alias(item, f"p{place}") for place, item in enumerate(hashes)]
        (row,) = self._rows.aggregate(lambda rows: self._read(rows, wanted), step="pair_estimates")
        return dict(zip(pairs, row, strict=True))

    def _values_of(self, item: Column) -> exp.Select:
        """Write the values of a column with their numbers of records, as DuckDB reads them."""
        if not is_stand_in(self._engine, self._table):
            return self._grouped(aliased(self._source, "s"), [item.name], ["value"])
        read = self._rows.counted(self._engine, [item.name], self._count)
        value = exact_values(self._engine, read.table, [item])[item.name]
        records = exp.cast(exp.Sum(this=column(str(read.count), "s")), "BIGINT")
        query = exp.select(alias(value, "value"), alias(records, "records"))
        return query.from_(aliased(read.table, "s")).group_by(exp.convert(1))

    def _grouped(self, rows: exp.Expression, names: Sequence[str], called: Sequence[str]) -> exp.Select:
        """Write the combinations of columns with their numbers of records."""
        keys = [alias(self._values[name].copy(), new) for name, new in zip(names, called, strict=True)]
        records = _count()
        if self._count is not None:
            records = exp.cast(exp.Sum(this=column(self._count, "s")), "BIGINT")
        query = self._read(rows, [*keys, alias(records, "records")])
        return query.group_by(*(exp.convert(place) for place in range(1, len(keys) + 1)))

    def _read(self, rows: exp.Expression, wanted: Iterable[exp.Expression]) -> exp.Select:
        """Read the rows that stand for records."""
        query = exp.select(*wanted).from_(rows)
        if self._count is None:
            return query
        return query.where(exp.GT(this=column(self._count, "s"), expression=exp.convert(0)))


def _count() -> exp.Expression:
    return exp.Count(this=exp.Star())


def _paired(columns: Sequence[ColumnProfile]) -> list[str]:
    """Name the columns to pair, in their order."""
    apt = [c for c in columns if c.looks_like not in _UNPAIRED and c.share_alone <= MOST_ALONE]
    most = sorted(apt, key=lambda item: -item.values)[:PAIRED_COLUMNS]
    return [item.column for item in apt if item in most]
