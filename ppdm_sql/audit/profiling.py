"""A first look at a table: what its columns look like, and which pairs of them single out most records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations

from ppdm_sql.audit.column_kinds import Look, ValueShape, looks_like
from ppdm_sql.audit.comparing import counted, counting
from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.engine.source import aggregated, check_counts, count_column, is_stand_in, source_of
from ppdm_sql.engine.statements import Statement, bind, sql, subquery
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
    """What there is to know of a column before anything is decided; it holds no cell."""

    column: str  # its name
    type: str  # its type, without the values of an ENUM
    values: int  # different values, NULL aside
    nulls: int  # records with NULL
    alone: int  # records whose value, or NULL, no other record has
    share_alone: float  # those as a share of all records, in [0, 1]
    # ``direct identifier``, ``code``, ``date``, ``number``, ``category``, ``free text``, ``constant``,
    # ``empty`` or ``other``
    looks_like: str


@dataclass(frozen=True)
class ColumnPair:
    """How far two columns together single records out."""

    columns: tuple[str, str]  # both
    classes: int  # combinations of their values
    alone: int  # records whose combination no other record has
    share_alone: float  # those as a share of all records, in [0, 1]


@dataclass(frozen=True)
class Profile:
    """A first look at a table."""

    records: int  # of the table
    columns: tuple[ColumnProfile, ...]  # one for each column, in the order of the table
    # the pairs of columns that single out most records, at most ten, most first. Columns that look like
    # direct identifiers or free text, constants, and columns that single out more than half of the records by
    # themselves are in none
    pairs: tuple[ColumnPair, ...]

    @property
    def alone(self) -> list[ColumnProfile]:
        """The columns that single out more than half of the records by themselves, most first."""
        alone = [item for item in self.columns if item.share_alone > MOST_ALONE]
        return sorted(alone, key=lambda item: -item.alone)

    def tables(self) -> list[ResultTable]:
        """Give the tables."""
        heading = ("column", "type", "values", "NULLs", "unique records", "share", "looks like")
        share, whole = {"share": SHARE}, [(self.records, len(self.columns))]
        alone = [(item.column, item.alone, item.share_alone) for item in self.alone]
        pairs = [(*item.columns, item.classes, item.alone, item.share_alone) for item in self.pairs]
        by_one, by_two = ("column", "unique records", "share"), ("column", "and", "classes")
        singled, together = "Pairs of columns that single out most records", (*by_two, *by_one[1:])
        return [
            ResultTable("Table", ("records", "columns"), whole),
            ResultTable("Columns", heading, [astuple(item) for item in self.columns], share),
            *([ResultTable("Columns that identify alone", by_one, alone, share)] if alone else []),
            ResultTable(singled, together, pairs, share),
        ]


def profile(
    engine: Engine, table: Table, count: str | None = None, categories: Sequence[str] = ()
) -> Profile:
    """Look at a table for the first time; estimates are by HyperLogLog (Heule, Nunkesser, Hall 2013)."""
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
        self._engine, self._table, self._source = engine, table, table
        unreadable = source_of(engine, table).unreadable()
        everything = [item for item in engine.columns(table) if item.name not in unreadable]
        self._count = count_column(count, everything, table=table.name)
        if self._count is not None:
            check_counts(engine, table, self._count)
        every = [item.name for item in everything]
        self._categories = resolve_all(categories, every, table=table.name)
        wanted = [item for item in everything if names is None or item.name in names]
        self._columns = [item for item in wanted if item.name != self._count]
        self._values = exact_values(engine, table, self._columns)
        if not is_stand_in(engine, table) and not table.stable:
            self._copy()

    def _copy(self) -> None:
        """Read a source once that may be slow, or different, the next time."""
        codes = {name: f"c{place}" for place, name in enumerate(self._values)}
        read = [sql("{v} AS {c}", v=value, c=column(codes[name])) for name, value in self._values.items()]
        if self._count is not None:
            read.append(sql("{n} AS records", n=column(self._count, "s")))
            self._count = "records"
        rows = sql("SELECT {read} FROM {t} AS s", read=read, t=self._table)
        self._source = self._engine.materialize("rows", rows)
        self._values = {name: column(code, "s") for name, code in codes.items()}

    def profile(self) -> Profile:
        records, columns = self.looked()
        if not records:
            raise no_records(self._table.name)
        return Profile(records, tuple(columns), tuple(self._pairs(_paired(columns), records)))

    def looked(self) -> tuple[int, list[ColumnProfile]]:
        """Look at the columns; give the number of records too."""
        looks = [self._column(item) for item in self._columns]
        return max((records for records, _ in looks), default=0), [item for _, item in looks]

    def _column(self, item: Column) -> tuple[int, ColumnProfile]:
        """Look at one column; give the number of records too."""
        tables = {"column_values": self._values_of(item)}
        text = bind("audit/column_profile", tables=tables, values={"sample": SAMPLE})
        ((records, count, nulls, alone, *shape),) = self._engine.query(text, step="column_profile")
        known = {"records": int(records), "values": count, "nulls": int(nulls), "alone": alone}
        look = looks_like(item.name, item.type, shape=ValueShape(*(part or 0.0 for part in shape)), **known)
        if item.name in self._categories:
            look = Look.category
        share = alone / int(records) if records else 0.0
        seen = ColumnProfile(item.name, type_title(item.type), count, int(nulls), alone, share, look.value)
        return int(records), seen

    def _values_of(self, item: Column) -> Statement:
        """Select the values of a column with their numbers of records."""
        table, value, count = self._source, self._values[item.name], self._count
        if is_stand_in(self._engine, self._table):
            counts_there = source_of(self._engine, self._table).counted(self._engine, [item.name], count)
            table, count = counts_there.table, counts_there.count
            value = exact_values(self._engine, table, [item])[item.name]
        values = "SELECT {v} AS value, {n} AS records FROM {t} AS s WHERE {counts} GROUP BY 1"
        counts = counting(count)[1]
        return subquery(sql(values, v=value, n=counted(count), t=table, counts=counts))

    def _pairs(self, names: Sequence[str], records: int) -> list[ColumnPair]:
        """Count the pairs that have most classes, and give those that single out most."""
        pairs = list(combinations(names, 2))
        if len(pairs) > COUNTED_PAIRS:
            hashes = "approx_count_distinct(hash({a}, {b})) AS p{n}"
            known = enumerate((self._values[a], self._values[b]) for a, b in pairs)
            (estimates,) = aggregated(
                self._engine,
                self._source,
                "SELECT {estimates} FROM {rows} WHERE {counts}",
                step="pair_estimates",
                estimates=[sql(hashes, a=a, b=b, n=place) for place, (a, b) in known],
                counts=counting(self._count)[1],
            )
            classes = dict(zip(pairs, estimates, strict=True))
            pairs = sorted(pairs, key=lambda pair: -classes[pair])[:COUNTED_PAIRS]
        each = [self._pair(pair, records) for pair in pairs]
        return sorted(each, key=lambda item: (-item.alone, -item.classes))[:PAIRS]

    def _pair(self, pair: tuple[str, str], records: int) -> ColumnPair:
        """Count the classes of a pair, and those of one record."""
        ((classes, alone),) = aggregated(
            self._engine,
            self._source,
            "SELECT count(*), count(*) FILTER (WHERE g.records = 1) FROM ("
            "SELECT {a} AS a, {b} AS b, {n} AS records FROM {rows} WHERE {counts} GROUP BY 1, 2) AS g",
            step="column_pair",
            a=self._values[pair[0]],
            b=self._values[pair[1]],
            n=counted(self._count),
            counts=counting(self._count)[1],
        )
        return ColumnPair(pair, classes, alone, alone / records)


def _paired(columns: Sequence[ColumnProfile]) -> list[str]:
    """Name the columns to pair, in their order."""
    apt = [c for c in columns if c.looks_like not in _UNPAIRED and c.share_alone <= MOST_ALONE]
    most = sorted(apt, key=lambda item: -item.values)[:PAIRED_COLUMNS]
    return [item.column for item in apt if item in most]
