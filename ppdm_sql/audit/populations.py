"""Counts a population in the classes of a table, which may be the rows of a release.

A population holds values as they are, and a release labels: so the population's values are mapped here by the
cut that the release records, in SQL of the audit's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.comparing import text
from ppdm_sql.engine import Engine
from ppdm_sql.engine.count_column import check_counts, count_column
from ppdm_sql.engine.exact import exact_columns, exact_values
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.engine.statements import Sql, Statement, bind, joined, literal, sql
from ppdm_sql.engine.types import Kind, has_enum, kind_of
from ppdm_sql.errors import InvalidSource
from ppdm_sql.privacy import PopulationTable, Requirement


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


def classes_in_population(collapsed: Collapsed, asked: Requirement) -> Table:
    """Give the classes of a requirement with the records of its population in them."""
    population = asked.population
    assert population is not None
    names, codes = collapsed.in_order(asked.attributes), collapsed.codes
    found = _collapsed(collapsed.engine, population, names, collapsed.cut)
    qi = codes(names)
    return collapsed.make(
        "classes_in_population",
        {"atoms": collapsed.atoms_of(qi), "population_atoms": found.atoms},
        columns={
            "qi": qi,
            "population_qi": found.codes([f"v{place}" for place in range(len(names))]),
            "outside": found.codes(["outside"]),
        },
    )


def _collapsed(
    engine: Engine, population: PopulationTable, names: Sequence[str], cut: RecordedCut | None
) -> Collapsed:
    """Collapse a population as the release would show it: ``v0, v1, ...``, and whether a label is missing."""
    table = engine.find(population.name)
    columns = engine.columns(table)
    exact = exact_columns(columns)
    found = resolve_all(names, [item.name for item in columns], table=population.name)
    weights = count_column(population.weights, exact, table=population.name)
    if weights is not None:
        check_counts(engine, table, weights)
    values = exact_values(engine, table, [item for item in columns if item.name in found])
    types = dict(exact)
    shown, joins, outside = list[Statement](), list[Statement](), [sql("FALSE")]
    for place, (name, own) in enumerate(zip(names, found, strict=True)):
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
    read = Collapsed(engine, engine.overlay(as_released), wanted, "n")
    if not read.size[1]:
        raise InvalidSource(
            f"The population {population.name} holds no records.", "Give a table with everybody in it."
        )
    return read


def _labels(
    engine: Engine, table: Table, value: Sql, type_text: str, name: str, cut: RecordedCut
) -> tuple[Table, Sql]:
    """Make ``value, label, is_outside`` of a masked column, and give what to look up in it."""
    read = value if name in cut.suppressed else _placed(engine, value, type_text, name, cut)
    distinct = sql("SELECT DISTINCT {v} AS value FROM {t} AS s", v=read, t=table)
    values = engine.materialize("values_to_label", distinct)
    if name in cut.suppressed:
        recorded = engine.overlay(cut.rows(cut.cuts, ("attribute", "value", "generalized")))
        tables = {"values_to_label": values, "recorded_cuts": recorded}
        given = {"name": name, "symbol": cut.symbol}
        labels = bind("audit/disclosed_labels", tables=tables, values=given)
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
