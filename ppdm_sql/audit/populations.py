"""Counts a population in the classes of a table, which may be the rows of a release.

A population holds values as they are, and a release labels: so the population's values are mapped here by the
cut that the release records, in SQL of the audit's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.recorded_cut import RecordedCut
from ppdm_sql.engine import Engine
from ppdm_sql.engine.count_column import check_counts, count_column
from ppdm_sql.engine.exact import exact_columns, exact_values
from ppdm_sql.engine.names import Table, alias, column, resolve_all
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.engine.types import Kind, has_enum, kind_of
from ppdm_sql.errors import InvalidSource
from ppdm_sql.privacy import PopulationTable, Requirement

_OUTSIDE = "outside"


def classes_in_population(collapsed: Collapsed, asked: Requirement) -> Table:
    """Give the classes of a requirement with the records of its population in them.

    Args:
        collapsed: The audited table, with the cut by which a population is mapped, if it shows labels.
        asked: The requirement, its columns as the table spells them.

    Raises:
        UnknownTable: There is no such population.
        UnknownColumn: The population lacks a column.
        InvalidSource: It has no records, or no usable weights.

    Cost: one scan of the population, and of each of its masked columns; one scan of the atoms.
    """
    population = asked.population
    assert population is not None
    names, codes = collapsed.in_order(asked.attributes), collapsed.codes
    found = _collapsed(collapsed.engine, population, names, collapsed.cut)
    return collapsed.make(
        "classes_in_population",
        {"atoms": _counted(collapsed, codes(names)), "population_atoms": found.atoms},
        columns={
            "qi": codes(names),
            "population_qi": found.codes([f"v{place}" for place in range(len(names))]),
            "outside": found.codes([_OUTSIDE]),
        },
    )


def _counted(collapsed: Collapsed, codes: Sequence[str]) -> Table:
    """Give the atoms, or where persons are counted one row for each of them in a class."""
    if collapsed.unit == "records":
        return collapsed.atoms
    by = [*codes, "person"]
    atom = alias(exp.Min(this=column("atom")), "atom")
    query = exp.select(*map(column, by), atom, alias(literal(1), "records"))
    query = query.from_(collapsed.atoms.expression()).group_by(*map(column, by))
    return collapsed.engine.materialize("person_atoms", query)


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
    query = exp.select().from_(exp.alias_(table.expression(), "s", table=True))
    outside: list[exp.Expression] = []
    for place, (name, own) in enumerate(zip(names, found, strict=True)):
        value = values[own]
        if cut is not None and name in (*cut.suppressed, *cut.generalized):
            labels, value = _labels(engine, table, value, types[own], name, cut)
            same = exp.NullSafeEQ(this=column("value", f"m{place}"), expression=value)
            joined = exp.alias_(labels.expression(), f"m{place}", table=True)
            query.append("joins", exp.Join(this=joined, side="LEFT", on=same))
            value = column("label", f"m{place}")
            outside.append(column("is_outside", f"m{place}"))
        elif has_enum(types[own]):
            value = exp.cast(value, "TEXT")
        query = query.select(alias(value.copy(), f"v{place}"))
    nowhere = exp.Paren(this=exp.or_(exp.false(), *outside))
    weight = literal(1) if weights is None else column(weights, "s")
    view = engine.overlay(query.select(alias(nowhere, _OUTSIDE), alias(weight, "n")))
    read = Collapsed(engine, view, [*(f"v{place}" for place in range(len(names))), _OUTSIDE], "n")
    if not read.size[1]:
        raise InvalidSource(
            f"The population {population.name} holds no records.", "Give a table with everybody in it."
        )
    return read


def _labels(
    engine: Engine, table: Table, value: exp.Expression, type_text: str, name: str, cut: RecordedCut
) -> tuple[Table, exp.Expression]:
    """Make ``value, label, is_outside`` of a masked column, and give what to look up in it.

    Cost: one GROUP BY of the column.
    """
    read = value if name in cut.suppressed else _placed(engine, value, type_text, name, cut)
    source = exp.alias_(table.expression(), "s", table=True)
    distinct = engine.materialize(
        "values_to_label", exp.select(alias(read.copy(), "value")).distinct().from_(source)
    )
    if name in cut.suppressed:
        recorded = engine.materialize(
            "recorded_cuts", cut.rows(cut.cuts, ("attribute", "value", "generalized"))
        )
        text = bind(
            "audit/disclosed_labels",
            tables={"values_to_label": distinct, "recorded_cuts": recorded},
            values={"name": name, "symbol": cut.symbol},
        )
        return engine.materialize("disclosed_labels", text), read
    leaves = engine.materialize(
        "shown_leaves",
        bind("audit/shown_leaves", tables={"recorded_trees": _trees(engine, cut)}, values={"name": name}),
    )
    text = bind("audit/population_labels", tables={"values_to_label": distinct, "shown_leaves": leaves})
    return engine.materialize("population_labels", text), read


_NODES = ("attribute", "node", "parent", "label", "lower", "upper", "closed", "shown")


def _trees(engine: Engine, cut: RecordedCut) -> Table:
    assert cut.trees is not None
    return engine.materialize("recorded_trees", cut.rows(cut.trees, _NODES))


def _placed(
    engine: Engine, value: exp.Expression, type_text: str, name: str, cut: RecordedCut
) -> exp.Expression:
    """Read a value in a type that holds the bounds of intervals too, as 37.5 for whole numbers."""
    kind = kind_of(type_text)
    if kind is Kind.DATE:
        return exp.cast(value.copy(), "TIMESTAMP")
    if kind not in (Kind.WHOLE, Kind.DECIMAL):
        return value
    assert cut.trees is not None
    own = exp.EQ(this=column("attribute", "r"), expression=literal(name))
    ends = [
        exp.Coalesce(this=column(end, "r"), expressions=[column("label", "r")]) for end in ("lower", "upper")
    ]
    fraction = exp.or_(*(exp.Not(this=_is_whole(end)) for end in ends))
    counted = cut.rows(cut.trees, ()).select(exp.Count(this=exp.Star())).where(own, fraction)
    ((fractions,),) = engine.query(render(counted), step="bounds")
    return exp.cast(value.copy(), "DOUBLE") if fractions else value


def _is_whole(text: exp.Expression) -> exp.Expression:
    return exp.RegexpLike(this=text, expression=literal(r"^-?[0-9]+$"))
