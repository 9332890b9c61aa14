"""Reads the audited table once: its distinct combinations of the columns in question, with counts.

Working tables made here, all temporary, all from the one that was read:

- ``atoms``: ``c0, c1, ...`` (the columns), ``atom`` (number of the row), ``records``; where persons are
  counted, a row for each, with ``person`` (a number);
- ``classes`` of a quasi-identifier, ``cells`` of a quasi-identifier and a sensitive column: `sql/audit/`.
  Of persons they are those of a view of the atoms, in which each person is in a combination once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ppdm_sql.audit.comparing import counted, counting, text
from ppdm_sql.audit.model import Counted
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_columns, exact_values
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.engine.source import check_counts, check_persons, count_column, source_of
from ppdm_sql.engine.statements import Scalar, Sql, Statement, bind, joined, literal, sql, subquery
from ppdm_sql.engine.types import Kind, has_enum, kind_of
from ppdm_sql.errors import ColumnRoleError, InvalidSource, no_records
from ppdm_sql.privacy import PopulationTable, Requirement
from ppdm_sql.privacy.level import label_expressions, sources


class Collapsed:
    """The audited table, collapsed, with the tables of classes and cells that were asked for so far."""

    def __init__(
        self,
        engine: Engine,
        source: Table,
        columns: Sequence[str],
        count: str | None,
        person: Sequence[str] = (),
        cut: RecordedCut | None = None,
    ) -> None:
        self.engine = engine
        self.source = source
        self.cut = cut
        self.unit: Counted = "persons" if person else "records"
        self._codes = {name: f"c{position}" for position, name in enumerate(columns)}
        self._made: dict[tuple[str, ...], Table] = {}
        if count is not None:
            if count in columns:
                raise ColumnRoleError(
                    f"Column {count!r} is the count column and also part of what is measured.",
                    "Leave it out of the requirements, or give another count column.",
                )
            check_counts(engine, source, count)
        names = sources((*columns, *person))
        rows = source_of(engine, source).counted(engine, names, count)
        table = rows.table
        if person:
            if (twice := next((name for name in person if name in columns), None)) is not None:
                raise ColumnRoleError(
                    f"Column {twice!r} says who the person is and is also part of what is measured.",
                    "Leave it out of the requirements, or give another --person.",
                )
            check_persons(engine, table, person)
        types = dict(engine.columns(table))
        values = exact_values(engine, table, [Column(name, types[name]) for name in names])
        labels = label_expressions(engine, table, values, columns, types)
        coded = {code: labels[name] for name, code in self._codes.items()}
        self.atoms = _atoms(engine, table, coded, rows.count, [values[name] for name in person])

    @cached_property
    def size(self) -> tuple[int, int]:
        """The number of atoms, and of the records in them; one scan of the atoms."""
        query = sql("SELECT count(atom), sum(records)::HUGEINT FROM {atoms}", atoms=self.atoms)
        ((atoms, records),) = self.engine.query(query, step="size")
        return int(atoms), int(records or 0)

    @cached_property
    def counted(self) -> int:
        """What is counted in the whole table: records, or different persons; one scan of the atoms."""
        if self.unit == "records":
            return self.size[1]
        query = sql("SELECT count(DISTINCT person) FROM {atoms}", atoms=self.atoms)
        ((persons,),) = self.engine.query(query, step="persons")
        return int(persons)

    def codes(self, names: Sequence[str]) -> list[str]:
        return [self._codes[name] for name in names]

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Sort names of columns as the atoms have them, each once: COLUMNS reads them in that order."""
        wanted = set(names)
        return [name for name in self._codes if name in wanted]

    def atoms_of(self, codes: Sequence[str], atoms: Table | None = None) -> Table:
        """Give the atoms; where persons are counted, a view with one for each person in a combination."""
        atoms = atoms or self.atoms
        if self.unit == "records":
            return atoms
        once = "SELECT {by}, person, min(atom) AS atom, 1 AS records FROM {atoms} GROUP BY {by}, person"
        return self.engine.overlay(sql(once, by=[column(code) for code in codes], atoms=atoms))

    def classes(self, quasi_identifier: Sequence[str]) -> Table:
        """Give the classes of a quasi-identifier: ``class, class_records, population_records``."""
        return self._once("classes", {"qi": sorted(self.codes(quasi_identifier))})

    def class_count(self, quasi_identifier: Sequence[str]) -> int:
        """Give the number of classes of a quasi-identifier, at least 1."""
        number = self.engine.size(self.classes(quasi_identifier))
        if not number:
            raise no_records(self.source.name)
        return number

    def cells(self, quasi_identifier: Sequence[str], sensitive: str) -> Table:
        """Give the sensitive values of each class: ``class, class_records, value, records, class_values``."""
        # A person may have several values in a class, whose sum is ``class_values``.
        qi = sorted(self.codes(quasi_identifier))
        return self._once("cells", {"qi": qi, "sensitive": self.codes([sensitive])})

    def value_totals(self, sensitive: str) -> Table:
        """Give the sensitive values of the table, each with its records, and those of all."""
        return self._once("value_totals", {"sensitive": self.codes([sensitive])})

    def make(
        self,
        step: str,
        tables: Mapping[str, Table | Statement],
        *,
        columns: Mapping[str, Sequence[str]] | None = None,
        values: Mapping[str, Scalar] | None = None,
    ) -> Table:
        """Write what a step of ``sql/audit/`` gives into a working table."""
        text = bind(f"audit/{step}", tables=tables, columns=columns, values=values)
        return self.engine.materialize(step, text)

    def _once(self, step: str, columns: dict[str, list[str]]) -> Table:
        key = (step, *(name for names in columns.values() for name in ["|", *names]))
        if key not in self._made:
            atoms = self.atoms_of([code for codes in columns.values() for code in codes])
            made = bind(f"audit/{step}", tables={"atoms": atoms}, columns=columns)
            if self.unit == "persons" and step == "cells":
                of_persons = (
                    "SELECT c.* REPLACE (k.class_records AS class_records) "
                    "FROM ({made}) AS c JOIN {classes} AS k ON c.class = k.class"
                )
                classes = self._once("classes", {"qi": columns["qi"]})
                made = sql(of_persons, made=made, classes=classes)
            if self.unit == "persons" and step == "value_totals":
                whole = "SELECT * REPLACE ({persons}::HUGEINT AS table_records) FROM ({made})"
                made = sql(whole, persons=self.counted, made=made)
            self._made[key] = self.engine.materialize(step, made)
        return self._made[key]


def _atoms(
    engine: Engine, source: Table, coded: Mapping[str, Sql], count: str | None, who: Sequence[Sql]
) -> Table:
    """Collapse the source; columns are renamed at once, so that no name of a user meets one of ours."""
    places = [sql("{place}", place=place) for place in range(1, len(coded) + 1)]
    person, people, by = sql(""), sql(""), places
    if who:
        named = [sql("{v} AS p{place}", v=value, place=place) for place, value in enumerate(who)]
        numbered = "SELECT *, row_number() OVER () AS person FROM (SELECT DISTINCT {named} FROM {t} AS s)"
        table = engine.materialize("people", sql(numbered, named=named, t=source))
        same = [sql("{v} = p.p{place}", v=value, place=place) for place, value in enumerate(who)]
        person, by = sql(", p.person"), [*places, sql("p.person")]
        people = sql("JOIN {t} AS p ON ({same})", t=table, same=joined(same, " AND "))
    collapsed = sql(
        "SELECT {read}, {records} AS records{person} FROM {source} AS s {people} WHERE {counts}{groups}",
        read=[
            *(sql("{v} AS {code}", v=value, code=column(code)) for code, value in coded.items()),
            sql("row_number() OVER () AS atom"),
        ],
        records=counted(count),
        person=person,
        source=source,
        people=people,
        counts=counting(count)[1],
        groups=sql(" GROUP BY {by}", by=by) if by else sql(""),
    )
    return engine.materialize("atoms", collapsed)


# -- populations -----------------------------------------------------------------------------------------
#
# A population holds values as they are, and a release labels: so the population's values are mapped here by
# the cut that the release records, in SQL of the audit's own.


@dataclass(frozen=True)
class RecordedCut:
    """What a release records of how it masks its columns."""

    cuts: Table  # table ``attribute, value, generalized``: what became of each value of the source
    # table ``attribute, node, parent, label, lower, upper, closed, shown``; None if there is none
    trees: Table | None
    release: str | None  # the release, where the tables hold several; they have a column of that name then
    suppressed: Sequence[str]  # the columns that show values or the symbol
    generalized: Sequence[str]  # the columns that show nodes or intervals
    symbol: str  # what stands for a suppressed value

    def rows(self, table: Table, names: Sequence[str]) -> Statement:
        """Select columns of one of the tables, of this release."""
        wanted = [column(name, "r") for name in names]
        of_release = sql("TRUE")
        if self.release is not None:
            of_release = sql("r.release = {release}", release=literal(self.release))
        return sql("SELECT {wanted} FROM {t} AS r WHERE {where}", wanted=wanted, t=table, where=of_release)


def classes_in_population(collapsed: Collapsed, asked: Requirement, population: PopulationTable) -> Table:
    """Give the classes of a requirement with the records of its population in them."""
    names = collapsed.in_order(asked.attributes)
    everybody = _population(collapsed.engine, population, names, collapsed.cut)
    codes = everybody.codes([f"v{place}" for place in range(len(names))])
    return stacked_classes(collapsed, names, everybody.atoms, codes, everybody.codes(["outside"]))


def stacked_classes(
    collapsed: Collapsed,
    names: Sequence[str],
    population: Table,
    codes: Sequence[str],
    outside: Sequence[str],
) -> Table:
    """Give the classes of some columns with the records that a collapsed population has in them."""
    qi = collapsed.codes(names)
    tables = {"atoms": collapsed.atoms_of(qi), "population_atoms": population}
    columns = {"qi": qi, "population_qi": codes, "outside": outside}
    return collapsed.make("classes_in_population", tables, columns=columns)


def _population(
    engine: Engine, population: PopulationTable, names: Sequence[str], cut: RecordedCut | None
) -> Collapsed:
    """Collapse a population as the release would show it: ``v0, v1, ...``, and whether a label is missing."""
    table = engine.find(population.name)
    columns = engine.columns(table)
    exact = exact_columns(columns)
    own_names = resolve_all(names, [item.name for item in columns], table=population.name)
    weights = count_column(population.weights, exact, table=population.name)
    if weights is not None:
        check_counts(engine, table, weights)
    values = exact_values(engine, table, [item for item in columns if item.name in own_names])
    types = dict(exact)
    shown, joins, outside = list[Statement](), list[Statement](), [sql("FALSE")]
    for place, (name, own) in enumerate(zip(names, own_names, strict=True)):
        value: Sql = values[own]
        if cut is not None and name in (*cut.suppressed, *cut.generalized):
            labels, value = _labels(engine, table, value, types[own], name, cut)
            same = "LEFT JOIN {labels} AS m{n} ON m{n}.value IS NOT DISTINCT FROM {value}"
            joins.append(sql(same, labels=labels, n=place, value=value))
            value = sql("m{n}.label", n=place)
            outside.append(sql("m{n}.is_outside", n=place))
        elif has_enum(types[own]):
            value = text(value)
        shown.append(sql("{v} AS v{n}", v=value, n=place))
    as_released = sql(
        "SELECT {shown}, ({outside}) AS outside, {weight} AS n FROM {table} AS s {joins}",
        shown=shown,
        outside=joined(outside, " OR "),
        weight=1 if weights is None else column(weights, "s"),
        table=table,
        joins=joined(joins, " "),
    )
    wanted = [*(f"v{place}" for place in range(len(names))), "outside"]
    everybody = Collapsed(engine, engine.overlay(as_released), wanted, "n")
    if not everybody.size[1]:
        raise InvalidSource(
            f"The population {population.name} holds no records.", "Give a table with everybody in it."
        )
    return everybody


def _labels(
    engine: Engine, table: Table, value: Sql, type_text: str, name: str, cut: RecordedCut
) -> tuple[Table, Sql]:
    """Make ``value, label, is_outside`` of a masked column, and give what to look up in it."""
    read = value if name in cut.suppressed else _placed(engine, value, type_text, name, cut)
    distinct = sql("SELECT DISTINCT {v} AS value FROM {t} AS s", v=read, t=table)
    values = engine.materialize("values_to_label", distinct)
    if name in cut.suppressed:
        recorded = subquery(cut.rows(cut.cuts, ("attribute", "value", "generalized")))
        labels = bind(
            "audit/disclosed_labels",
            tables={"values_to_label": values, "recorded_cuts": recorded},
            values={"name": name, "symbol": cut.symbol},
        )
        return engine.materialize("disclosed_labels", labels), read
    assert cut.trees is not None
    nodes = ("attribute", "node", "parent", "label", "lower", "upper", "closed", "shown")
    trees = engine.materialize("recorded_trees", cut.rows(cut.trees, nodes))
    shown = bind("audit/shown_leaves", tables={"recorded_trees": trees}, values={"name": name})
    leaves = engine.materialize("shown_leaves", shown)
    labels = bind("audit/population_labels", tables={"values_to_label": values, "shown_leaves": leaves})
    return engine.materialize("population_labels", labels), read


def _placed(engine: Engine, value: Sql, type_text: str, name: str, cut: RecordedCut) -> Sql:
    """Read a value in a type that holds the bounds of intervals too, as 37.5 for whole numbers."""
    kind = kind_of(type_text)
    if kind is Kind.DATE:
        return sql("{v}::TIMESTAMP", v=value)
    if kind not in (Kind.WHOLE, Kind.DECIMAL):
        return value
    assert cut.trees is not None
    whole = "^-?[0-9]+$"
    query = sql(
        "SELECT count(*) FROM ({trees}) AS t WHERE t.attribute = {name} AND NOT ("
        "regexp_matches(coalesce(t.lower, t.label), {whole}) AND "
        "regexp_matches(coalesce(t.upper, t.label), {whole}))",
        trees=cut.rows(cut.trees, ("attribute", "label", "lower", "upper")),
        name=literal(name),
        whole=literal(whole),
    )
    ((fractions,),) = engine.query(query, step="bounds")
    return sql("{v}::DOUBLE", v=value) if fractions else value
