"""What a page is made from: the rows of source and release, and what the audit's steps say of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from sqlglot import exp

from ppdm_sql.audit.auditing import AuditRun
from ppdm_sql.audit.collapsing import Collapsed, RecordedCut
from ppdm_sql.audit.exposure import class_sizes
from ppdm_sql.audit.judging import Judged, judge, questions, worst_groups
from ppdm_sql.audit.model import ClassSizes, Counted, Finding, Group
from ppdm_sql.engine import Engine, Rows
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import Scalar, bind, literal, sql
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of
from ppdm_sql.privacy import Counts, KAnonymity, Requirement
from ppdm_sql.release import ReleasedColumn
from ppdm_sql.release.labels import bin_label
from ppdm_sql.release.layout import Shape

MOST_LISTED = 50
"""Values of a column that a table lists at most, the most frequent ones."""
UNCOUNTED = ("lower bound", "upper bound", "pseudonym", "count")
"""Treatments of columns that tell nothing which another column does not, or nobody should look at."""
BARS = 20
"""Bars of what groups reach; the last takes all that is beyond."""
MOST_BARS = 12
"""Values that a picture shows at most."""


class ValueCount(NamedTuple):
    value: str | None
    records: int


class FrequentValues(NamedTuple):
    listed: tuple[ValueCount, ...]  # at most `MOST_LISTED` of them
    values: int  # how many there are in all
    records: int  # of all values


class Bar(NamedTuple):
    """A bar over an interval of numbers, or of moments in milliseconds since 1970."""

    lower: float
    upper: float
    records: float


@dataclass(frozen=True)
class CountedSide:
    """The source or the release, to be counted."""

    engine: Engine  # inside a workspace
    rows: Table  # distinct combinations: `c0` ... for columns, `x0` ... for places on a line, and `records`
    codes: Mapping[str, int]  # the number of each column that is counted
    types: Mapping[str, str]  # its type
    _frequent: dict[str, FrequentValues] = field(default_factory=dict, compare=False, repr=False)

    def has_places(self, name: str) -> bool:
        """Tell whether the values of a column have places on a line: numbers, dates and time stamps."""
        return name in self.types and _has_places(self.types[name])

    @property
    def records(self) -> int:
        """All records; 0 where no column is counted."""
        name = next(iter(self.codes), None)
        return 0 if name is None else self.counts(name).records

    def counts(self, name: str) -> FrequentValues:
        """Count the most frequent values of a column; one scan of it, the first time."""
        if name not in self._frequent:
            rows = self._query("value_counts", {"value": self._value(name)}, {"most": MOST_LISTED})
            listed = tuple(ValueCount(value, records) for value, records, *_ in rows)
            self._frequent[name] = FrequentValues(listed, *(rows[0][2:] if rows else (0, 0)))
        return self._frequent[name]

    def records_of(self, name: str, values: Sequence[str | None]) -> dict[str | None, int]:
        """Count the records of some values of a column, and of NULL; one scan of it."""
        text = bind("report/value_records", tables={"side": self.rows}, columns={"value": self._value(name)})
        texts = [value for value in values if value is not None]
        return dict(self.engine.query(text, {"wanted": texts}, step="value_records"))

    def bars(self, name: str, most: int, within: tuple[float, float] | None = None) -> list[Bar]:
        place = {"place": self._place(name)}
        ((least, largest, _),) = self._query("extent", place)
        least, largest = within or (least, largest)
        if least is None or largest is None:
            return []
        kind = kind_of(self.types[name])
        unit = 1.0 if kind is Kind.WHOLE else 86_400_000.0 if kind is Kind.DATE else 0.0
        lower, width, bars = _cut(least, largest, most, unit)
        cut: dict[str, Scalar] = {"least": lower, "width": width, "bars": bars}
        records: dict[int, int] = dict(self._query("bar_counts", place, cut))
        edges = [lower + number * width for number in range(bars + 1)]
        return [Bar(*ends, records.get(bar, 0)) for bar, ends in enumerate(pairwise(edges))]

    def different_places(self, name: str) -> int:
        ((_, _, different),) = self._query("extent", {"place": self._place(name)})
        return int(different)

    def _value(self, name: str) -> list[str]:
        return [f"c{self.codes[name]}"]

    def _place(self, name: str) -> list[str]:
        return [f"x{self.codes[name]}"]

    def _query(
        self, step: str, columns: Mapping[str, Sequence[str]], values: Mapping[str, Scalar] | None = None
    ) -> Rows:
        text = bind(f"report/{step}", tables={"side": self.rows}, columns=columns, values=values)
        return self.engine.query(text, step=step)


def _has_places(type_text: str) -> bool:
    return is_number(type_text) or kind_of(type_text) in MOMENTS


def _cut(least: float, largest: float, most: int, unit: float) -> tuple[float, float, int]:
    """Cut a range into bars; give the first edge, the width and how many there are."""
    narrowest = max(least_width(least), least_width(largest))
    if unit:
        steps = round((largest - least) / unit) + 1
        width = max(unit * math.ceil(steps / most), narrowest)
        return least, width, max(1, math.ceil(steps * unit / width))
    if largest <= least:
        return least, max(1.0, narrowest), 1
    width = max((largest - least) / most, narrowest)
    return least, width, min(most, math.ceil((largest - least) / width))


def least_width(place: float) -> float:
    """Give the least width of a bar at a place, so that floating-point numbers tell its ends apart."""
    return 2 * math.ulp(place)


# -- rows -------------------------------------------------------------------------------------


def release_side(engine: Engine, shape: Shape) -> CountedSide:
    """Give the released rows; nothing but the frozen table is read."""
    items = [item for item in shape.columns if item.treatment not in UNCOUNTED]
    packed_names = {item.name for item in items if item.packed}
    values = {
        item.name: exp.cast(column(item.name, "f"), "TEXT") if item.packed else column(item.name, "f")
        for item in items
    }
    types = dict(engine.columns(shape.frozen)) | dict.fromkeys(packed_names, "VARCHAR")
    count = None if shape.count is None else column(shape.count, "f")
    return _side(engine, shape.stored(), values, types, count)


def source_side(
    engine: Engine, source: Table, shape: Shape, cells: Mapping[str, Sequence[str]]
) -> CountedSide:
    """Give the rows of the source, with those columns of the release that it has; in cells where it is so."""
    types, values = dict(engine.columns(source)), dict[str, exp.Expression]()
    count = column(shape.count, "s") if shape.count is not None and shape.count in types else None
    for item in shape.columns:
        if item.treatment not in UNCOUNTED and item.name in types:
            values[item.name] = column(item.name, "s")
            if labels := cells.get(item.name) or item.bins:
                values[item.name] = bin_label(values[item.name], labels, types[item.name])
                types[item.name] = "VARCHAR"
    return _side(engine, aliased(source, "s"), values, types, count)


def _side(
    engine: Engine,
    rows: exp.Expression,
    values: Mapping[str, exp.Expression],
    types: Mapping[str, str],
    count: exp.Expression | None,
) -> CountedSide:
    """Collapse the rows over the columns, each under a code; everything after counts the combinations."""
    codes_of_values = [alias(value, f"c{place}") for place, value in enumerate(values.values())]
    one = literal(1) if count is None else count
    query = "SELECT {columns} FROM {rows} WHERE {one} > 0"
    columns = [*codes_of_values, sql("{one}::BIGINT AS records", one=one)]
    view = engine.overlay(sql(query, columns=columns, rows=rows, one=one))
    codes = [item for item in engine.columns(view) if item.name != "records"]
    exact = [alias(value, name) for name, value in exact_values(engine, view, codes).items()]
    query = "SELECT {columns} FROM {view} AS s GROUP BY ALL"
    total = sql("sum(s.records)::BIGINT AS records")
    grid = engine.materialize("side", sql(query, columns=[*exact, total], view=view))
    places = [
        sql(
            "{place}::DOUBLE AS {name}",
            place=sql(
                "{c}" if is_number(types[name]) else "epoch_ms({c}::TIMESTAMP)", c=column(f"c{place}", "s")
            ),
            name=column(f"x{place}"),
        )
        for place, name in enumerate(values)
        if _has_places(types[name])
    ]
    side = engine.overlay(sql("SELECT {columns} FROM {t} AS s", columns=[sql("*"), *places], t=grid))
    of_columns = {name: types[name] for name in values}
    return CountedSide(engine, side, {name: place for place, name in enumerate(values)}, of_columns)


# -- measurements --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupBars:
    """What the groups of one requirement reach, in bars of one width from 0."""

    width: float  # of a bar; the last of `BARS` takes all that is beyond
    bars: tuple[tuple[int, int, int], ...]  # `(bar, groups, records)`, those that are not empty


@dataclass(frozen=True)
class Measurements:
    findings: tuple[Finding, ...]  # one for each requirement
    group_bars: tuple[GroupBars | None, ...]  # one for each requirement; None where it is about class sizes
    sizes: tuple[ClassSizes, ...]  # one for each quasi-identifier or channel, each set of columns once
    smallest: tuple[tuple[Group, ...], ...] = ()  # the smallest of each, where asked for; they hold cells


def measure_table(
    engine: Engine,
    table: Table,
    requirements: Sequence[Requirement],
    count: str | None,
    cut: RecordedCut | None = None,
    person: Sequence[str] = (),
    *,
    smallest: int = 0,
) -> Measurements:
    """Measure a table; nothing is measured where nothing is asked.

    Cost: one scan of the table, then scans of its distinct combinations.
    """
    if not requirements:
        return Measurements((), (), ())
    run = AuditRun(engine, table, requirements, count=count, person=person, cut=cut)
    return Measurements(
        tuple(run.findings),
        tuple(_group_bars(run.collapsed, one) for one in run.judged),
        tuple(class_sizes(run.collapsed, names) for names in run.groupings),
        tuple(_smallest(run, names, smallest) for names in run.groupings) if smallest else (),
    )


def _smallest(run: AuditRun, names: tuple[str, ...], most: int) -> tuple[Group, ...]:
    asked = questions([KAnonymity(2, names)], list(run.types), table=run.collapsed.source.name)
    (judged,) = judge(run.collapsed, asked, run.types)
    return tuple(worst_groups(run.collapsed, judged, most))


def _group_bars(collapsed: Collapsed, judgement: Judged) -> GroupBars | None:
    requirement = judgement.question.requirement
    if requirement.counts in (Counts.RECORDS, Counts.POPULATION):
        return None
    width = bar_width(requirement)
    values: dict[str, Scalar] = {"width": width, "bars": BARS}
    text = bind("report/reached_counts", tables={"judgements": judgement.judgements}, values=values)
    rows = collapsed.engine.query(text, step="reached_counts")
    bars = {bar: (groups, records) for bar, groups, records in rows}
    # a group without a protected value is not judged by its template: its confidence is 0
    unjudged = collapsed.class_count(requirement.attributes) - sum(groups for groups, _ in bars.values())
    if unjudged > 0:
        groups, records = bars.get(0, (0, 0))
        bars[0] = groups + unjudged, records + collapsed.size[1] - sum(n for _, n in bars.values())
    return GroupBars(width, tuple((bar, *bars[bar]) for bar in sorted(bars)))


def bar_width(requirement: Requirement) -> float:
    if requirement.counts is Counts.PROTECTED:
        return 0.05
    limit = float(requirement.limit)
    if requirement.worst == "min":
        return 1.0
    return limit / 5 if limit > 0 else 0.05


# -- the subject -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """A release, as both editions of its page may look at it.

    The public edition has no ``before``, so that nothing of the source can come into it.
    """

    engine: Engine  # inside a workspace
    name: str  # the release
    method: str  # how it was made
    shape: Shape  # its columns
    requirements: tuple[Requirement, ...]  # what it keeps
    after: CountedSide  # its rows
    measurements: Measurements  # what the audit's steps say of these
    before: CountedSide | None = None  # the rows of the source, for the owner, where it is still there
    measurements_before: Measurements | None = None  # what the audit's steps say of the source
    left_out: int = 0  # records of the source that the release does not have

    @property
    def counted(self) -> Counted:
        """What the requirements count, and with them classes and risks: records, or persons."""
        return self.measurements.findings[0].counted if self.measurements.findings else "records"

    @property
    def share_left_out(self) -> float:
        return self.left_out / (self.left_out + self.after.records)

    def columns(self, *treatments: str) -> list[ReleasedColumn]:
        """List the released columns of some treatments; of all that are counted where none is given."""
        every = [item for item in self.shape.columns if item.treatment not in UNCOUNTED]
        return [item for item in every if not treatments or item.treatment in treatments]
