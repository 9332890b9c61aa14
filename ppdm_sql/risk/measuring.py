"""Who can be found in a table: by which columns, how surely, and in what population."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from ppdm_sql.audit.before_publishing import repeated_persons
from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.column_kinds import Look
from ppdm_sql.audit.exposure import class_sizes, population_of, risks
from ppdm_sql.audit.model import LONG, ClassSizes, Counted, Risk, risk_table
from ppdm_sql.audit.profiling import ColumnProfile, column_profiles
from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, column, free_name, resolve, resolve_all
from ppdm_sql.engine.source import person_columns
from ppdm_sql.engine.statements import joined, literal, sql
from ppdm_sql.errors import ColumnRoleError, InvalidOption, no_records
from ppdm_sql.options import RiskRequest
from ppdm_sql.privacy.quoting import quote_name, read_share
from ppdm_sql.progress import Progress
from ppdm_sql.release.catalogue import check_free
from ppdm_sql.results import SHARE, Result, ResultTable
from ppdm_sql.risk.column_sets import MOST_COLUMNS_OF_DIS, ColumnSet, SetCounting, Suda
from ppdm_sql.risk.population import Estimate, SummedRisk, estimates, summed_risks

MOST_ALONE = 0.5
"""A column that singles out more than this share of the records identifies alone."""
ADDS = 1.05
"""A set of columns is shown if it singles out so many times as many records as each of its subsets."""
SHOWN, OFTEN = 5, 2
"""Sets of each size that are shown; a column is in so many of them, so that one does not hide the others."""
FIRST_K = 5
USUAL_FRACTION = 0.01
"""Sampling fraction where none is known; what sdcMicro takes, too."""
OWNERS = "Records with scores of their risk, made by ppdm-sql: for the owner alone, not to be released."
_PERSONAL = (Look.identifier.value, Look.text.value)


@dataclass(frozen=True, repr=False)
class TableRisk(Result):
    """Who can be found in a table.

    Args:
        table: Its name.
        counted: Whether records or persons were counted.
        number: How many there are.
        by: The columns that were measured.
        set_aside: Direct identifiers and free text, which were not, since ``by`` was not given.
        sizes: The classes of all measured columns together.
        risks: Three attackers who know all of them.
        sets: Each set of columns that was counted, most records alone first. A superset of a key is not.
        keys: The sets by which every record is alone, none of them a superset of another.
        suda: Minimal sample uniques and SUDA scores.
        estimates: Population uniques, where the size of the population was given.
        summed: Individual risks by weights, and those of households, where asked for.
        into: The table of scores that was made, if any.
        notices: What to know of these numbers.
    """

    table: str
    counted: Counted
    number: int
    by: tuple[str, ...]
    set_aside: tuple[ColumnProfile, ...]
    sizes: ClassSizes
    risks: tuple[Risk, ...]
    sets: tuple[ColumnSet, ...]
    keys: tuple[tuple[str, ...], ...]
    suda: Suda
    estimates: tuple[Estimate, ...] = ()
    summed: tuple[SummedRisk, ...] = ()
    into: str | None = None
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TableRisk({self.table}, {len(self.sets)} sets of columns, {len(self.keys)} keys)"

    @property
    def columns(self) -> tuple[ColumnSet, ...]:
        """The sets of one column."""
        return tuple(one for one in self.sets if len(one.columns) == 1)

    @property
    def requirement(self) -> str | None:
        """A requirement to start with: k-anonymity on the measured columns that tell anything apart."""
        apart = {one.columns[0] for one in self.columns if one.classes > 1}
        names = ", ".join(quote_name(name) for name in self.by if name in apart)
        k = FIRST_K if self.number >= 2 * FIRST_K else 2
        return f"k >= {k} on {names}" if names and self.number >= k else None

    @property
    def ranked(self) -> tuple[ColumnSet, ...]:
        """The sets of several columns, keys aside, that single out most: five of a size, two by a column."""
        alone = {frozenset(one.columns): one.alone for one in self.sets}
        by_size: dict[int, list[ColumnSet]] = {}
        for one in self.sets:
            smaller = [alone.get(frozenset(one.columns) - {name}, 0) for name in one.columns]
            apart = len(one.columns) > 1 and one.columns not in self.keys
            first = by_size.setdefault(len(one.columns), [])
            often = max(sum(name in other.columns for other in first) for name in one.columns)
            adds = one.alone > 0 and one.alone >= ADDS * max(smaller)
            if apart and adds and often < OFTEN and len(first) < SHOWN:
                first.append(one)
        return tuple(one for size in sorted(by_size) for one in by_size[size])

    def tables(self) -> list[ResultTable]:
        """Give everything as tables; empty ones are left out."""
        on = ", ".join(self.by)
        on = on if len(on) <= LONG else f"all {len(self.by)} columns"
        above = f"share above {self.risks[0].threshold:g}"
        heading = ("of", "number", "expected re-identifications", "average", "highest", above)
        tables = [
            self._identifying(),
            self._of_columns(),
            *self._of_sets(),
            self.sizes.table(on, self.counted),
            risk_table(self.risks, on, self.counted),
            *self._of_uniques(),
            ResultTable(
                "Population uniques, estimated",
                ("model", "population uniques", "share", f"{self.counted} among them", "converged", "took"),
                self.estimates,
                {"share": SHARE},
            ),
            ResultTable("Individual risk", heading, self.summed, dict.fromkeys(heading[3:], SHARE)),
        ]
        return [table for table in tables if table.rows]

    def _identifying(self) -> ResultTable:
        aside = [
            (p.column, p.values, p.alone, p.share_alone, f"not measured: {p.looks_like}")
            for p in self.set_aside
        ]
        rows = [
            (one.columns[0], one.classes, one.alone, one.share_alone, "measured")
            for one in self.columns
            if one.share_alone > MOST_ALONE
        ]
        heading = ("column", "values", f"unique {self.counted}", "share", "below")
        return ResultTable("Columns that identify alone", heading, [*aside, *rows], {"share": SHARE})

    def _of_columns(self) -> ResultTable:
        part = self.suda.by_column
        rows = [
            (one.columns[0], one.classes, one.alone, one.distinction, one.separation, part[one.columns[0]])
            for one in sorted(self.columns, key=lambda one: -part[one.columns[0]])
        ]
        shares = ("distinction", "separation", "part of SUDA")
        heading = ("column", "values", f"unique {self.counted}", *shares)
        return ResultTable("Columns", heading, rows, dict.fromkeys(shares, SHARE))

    def _of_sets(self) -> Iterator[ResultTable]:
        shares = ("share", "distinction", "separation")
        heading = ("columns", "classes", f"unique {self.counted}", *shares)
        rows = [
            (", ".join(one.columns), one.classes, one.alone, one.share_alone, one.distinction, one.separation)
            for one in self.ranked
        ]
        title, of = "Sets of columns that single out most", len(self.sets) - len(self.columns)
        yield ResultTable("Keys", ("columns", "size"), [(", ".join(key), len(key)) for key in self.keys])
        notes = [f"{len(rows)} of {of} sets of two columns or more are shown."]
        yield ResultTable(title, heading, rows, dict.fromkeys(shares, SHARE), notes)

    def _of_uniques(self) -> Iterator[ResultTable]:
        suda = self.suda
        heading = ("columns in the set", "minimal sample uniques", "records that need so many")
        yield ResultTable("Minimal sample uniques", heading, suda.by_size)
        values = ("column", "value", "part of SUDA")
        yield ResultTable("Values that single out most", values, suda.by_value, {values[2]: SHARE})
        measures = [
            ("records with a minimal sample unique", suda.records, ""),
            ("sampling fraction", suda.fraction, "of the population that is in the table, as assumed"),
            ("DIS", suda.disclosive, "of matches with a record that is alone, those that are right"),
            ("highest DIS-SUDA", suda.highest, "the same for the record most at risk"),
            ("average DIS-SUDA", suda.average, "of the records with a minimal sample unique"),
        ]
        yield ResultTable("SUDA", ("measure", "value", "what it says"), measures if suda.records else [])


def table_risk(engine: Engine, request: RiskRequest, progress: Progress) -> TableRisk:
    """Measure who can be found in a table; see :meth:`ppdm_sql.Database.risk`."""
    if request.max_size < 1:
        raise InvalidOption(
            f"Sets of {request.max_size} columns cannot be counted.", "Give --max-size 1 or more."
        )
    threshold = float(read_share(request.threshold, "--threshold", "[0, 1]"))
    place = None
    if request.into is not None:
        engine.require_autocommit()
        place = check_free(engine, request.into)
    name = request.table.name if isinstance(request.table, Table) else request.table
    progress.start(f"counting sets of columns of {name}")
    try:
        with engine.workspace(), nullcontext() if place is None else engine.transaction():
            run = _Measuring(engine, request)
            risk = run.measure(threshold, progress)
            if place is not None:
                run.write(Table(str(request.into), place.schema, place.catalog))
            return risk
    finally:
        progress.stop()


class _Measuring:
    """One look at a table: its columns in their roles, collapsed, and its sets of columns counted."""

    def __init__(self, engine: Engine, request: RiskRequest) -> None:
        self.engine, self.request = engine, request
        table = request.table if isinstance(request.table, Table) else engine.find(request.table)
        self.name, self.table = table.name, table
        if not table.stable:  # it may be slow, or different, the next time
            self.table = engine.materialize("rows", sql("SELECT * FROM {t}", t=table))
        columns = engine.columns(table)
        names = [item.name for item in columns]
        self.person = person_columns(request.person, columns, count=None, table=table.name)
        self.household = resolve_all(request.household, names, table=table.name)
        self.weights = request.weights and resolve(request.weights, names, table=table.name)
        roles = [*self.person, *self.household, *([] if self.weights is None else [self.weights])]
        by = resolve_all(request.by, names, table=table.name)
        for name in roles:
            if name in by or roles.count(name) > 1:
                raise ColumnRoleError(f"Column {name!r} is named in two roles.", "Name it in one role only.")
        self.set_aside: tuple[ColumnProfile, ...] = ()
        if not by:  # others know no value of a direct identifier, or of a free text
            _, profiles = column_profiles(engine, self.table, [name for name in names if name not in roles])
            self.set_aside = tuple(item for item in profiles if item.looks_like in _PERSONAL)
        aside = {item.column for item in self.set_aside}
        self.by = by or tuple(name for name in names if name not in {*roles, *aside})
        if not self.by:
            raise InvalidOption(
                f"Table {table.name} has no columns but direct identifiers and free text.",
                "Name those that others may know with --by A,B.",
            )
        self.collapsed = Collapsed(engine, self.table, self.by, None, self.person)
        if not self.collapsed.size[1]:
            raise no_records(table.name)
        self.sets = SetCounting(self.collapsed, self.by, request.max_size)

    def measure(self, threshold: float, progress: Progress) -> TableRisk:
        collapsed, population = self.collapsed, self.request.population
        individual_risks = list[SummedRisk]()
        if self.weights is not None or self.household:
            roles = self.weights, self.household, self.person
            individual_risks = summed_risks(self.engine, self.table, self.by, *roles, threshold)
        self.sets.count(progress)
        sizes = class_sizes(collapsed, self.by)
        number = sum(records for _, _, records in sizes.sizes)
        everybody = size = None
        if population is not None and population[0] is None:
            size = _size(population[1], number)
        elif population is not None:
            table = self.engine.find(population[0])
            everybody = population_of(self.engine, table, population[1], collapsed, self.by, self.person)
            size = everybody.collapsed.counted
            if not size:
                raise no_records(table.name)
        fraction = self._fraction(size)
        by_size = {of: classes for of, classes, _ in sizes.sizes}
        alone = by_size.get(1, 0)
        disclosive = self.sets.disclosive(alone, 2 * by_size.get(2, 0), fraction)
        self.scores = self.sets.scores(alone, disclosive)
        sets = sorted(self.sets.counts.values(), key=lambda one: (-one.alone, -one.separation))
        return TableRisk(
            table=self.name,
            counted=collapsed.unit,
            number=collapsed.counted,
            by=self.by,
            set_aside=self.set_aside,
            sizes=sizes,
            risks=risks(collapsed, self.by, everybody, threshold),
            sets=tuple(sets),
            keys=tuple(one.columns for one in sets if frozenset(one.columns) in self.sets.keys),
            suda=self.sets.suda(self.scores, disclosive, fraction),
            estimates=estimates(by_size, size) if size is not None and everybody is None else (),
            summed=tuple(individual_risks),
            into=self.request.into,
            notices=tuple(self._notices()),
        )

    def _fraction(self, population: int | None) -> float:
        """Give the sampling fraction: as the population or the weights have it, else the usual one."""
        if population is not None:
            return min(1.0, self.collapsed.counted / population)
        if self.weights is None:
            return USUAL_FRACTION
        text = sql(
            "SELECT count(*) / sum({w}::DOUBLE) FROM {t} AS s", w=column(self.weights, "s"), t=self.table
        )
        ((fraction,),) = self.engine.query(text, step="weights")
        return min(1.0, float(fraction))

    def _notices(self) -> Iterator[str]:
        columns = self.engine.columns(self.table)
        if self.set_aside:
            names = ", ".join(item.column for item in self.set_aside)
            yield f"Not measured, as direct identifiers or free text: {names}. --by measures what it names."
        if not self.person:
            otherwise = "rows are counted here"
            yield from repeated_persons(self.engine, self.table, columns, otherwise=otherwise)
        if len(self.by) > MOST_COLUMNS_OF_DIS:
            yield f"DIS-SUDA is defined for up to {MOST_COLUMNS_OF_DIS} columns, not for {len(self.by)}."

    def write(self, target: Table) -> None:
        """Write the records with their scores into a table of the owner."""
        columns = self.engine.columns(self.table)
        values = exact_values(self.engine, self.table, [one for one in columns if one.name in self.by])
        codes = dict(zip(self.by, self.collapsed.codes(self.by), strict=True))
        names = [one.name for one in columns]
        scores = {
            "suda_score": sql("coalesce(k.score, 0)"),
            "minimal_uniques": sql("coalesce(k.minimal_uniques, 0)"),
            "smallest_unique": sql("k.smallest"),
            "dis_suda": sql("k.dis_suda"),
        }
        same = [
            sql("{v} IS NOT DISTINCT FROM {c}", v=values[name], c=column(code, "a"))
            for name, code in codes.items()
        ]
        create = sql(
            "CREATE TABLE {target} AS SELECT s.*, {scores} FROM {source} AS s "
            "LEFT JOIN ({atoms} AS a JOIN {found} AS k ON a.atom = k.atom) ON {same}",
            target=target,
            scores=[sql("{v} AS {n}", v=v, n=column(free_name(n, names))) for n, v in scores.items()],
            source=self.table,
            atoms=self.collapsed.atoms,
            found=self.scores,
            same=joined(same, " AND "),
        )
        self.engine.write(create, step="scores")
        self.engine.write(sql("COMMENT ON TABLE {t} IS {c}", t=target, c=literal(OWNERS)), step="comment")


def _size(persons: int, records: int) -> int:
    """Check the number of persons of a population."""
    if persons < records:
        raise InvalidOption(
            f"The population has {persons:,} persons, and the table {records:,}.",
            "Give the number of those whom the table is a sample of, such as --population 48000.",
        )
    return persons
