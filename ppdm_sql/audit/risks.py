"""Class sizes and re-identification risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.model import ITSELF, ClassSizes, Risk
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind, render
from ppdm_sql.errors import InvalidSource

HIGH = 0.2
"""Risk above which the share of the records is measured."""


@dataclass(frozen=True)
class Population:
    """The population that a table is a sample of.

    Args:
        name: Its name, for printing.
        collapsed: The population, collapsed over the columns of the quasi-identifiers.
        columns: What the population calls each of those columns.
    """

    name: str
    collapsed: Collapsed
    columns: Mapping[str, str]


def class_sizes(collapsed: Collapsed, quasi_identifier: Sequence[str]) -> ClassSizes:
    """Count the classes of each size, exactly and in ranges.

    Cost: one scan of the classes.
    """
    engine = collapsed.engine
    tables = {"classes": collapsed.classes(quasi_identifier)}
    sizes = collapsed.make("class_sizes", tables)
    text = bind("audit/class_size_ranges", tables={"class_sizes": sizes})
    ranges = engine.query(text, step="class_size_ranges")
    exact = exp.select("class_size", "classes", "records").from_(sizes.expression()).order_by("class_size")
    rows = engine.query(render(exact), step="class_sizes")
    return ClassSizes(
        tuple(quasi_identifier),
        tuple((size, classes, records) for size, classes, records in rows),
        tuple((low, high, classes, records) for low, high, classes, records in ranges),
    )


def risks(
    collapsed: Collapsed, quasi_identifier: Sequence[str], population: Population | None
) -> tuple[Risk, Risk, Risk]:
    """Measure the risk of re-identification from prosecutor, journalist and marketer.

    Args:
        collapsed: The audited table.
        quasi_identifier: Columns that an attacker knows.
        population: What the table is a sample of; None takes the table itself.

    Raises:
        InvalidSource: The population lacks classes of the table.

    Cost: one scan of the classes; with a population one of its atoms and one of the table's.
    Source: El Emam, Dankar 2008; Dankar, El Emam 2010.
    """
    classes = _classes(collapsed, quasi_identifier, population)
    text = bind("audit/risks", tables={"classes": classes}, values={"risk_threshold": HIGH})
    ((_, _, uncovered, *measures),) = collapsed.engine.query(text, step="risks")
    if uncovered and population is not None:
        raise InvalidSource(
            f"The population {population.name} lacks {uncovered} classes of the table.",
            "Give a population that every record of the table belongs to, with its columns coded alike.",
        )
    name, qi = ITSELF if population is None else population.name, tuple(quasi_identifier)
    highest, average, at_highest, above, *journalist = measures
    return (
        Risk(qi, "prosecutor", ITSELF, average, highest, at_highest, above, HIGH),
        Risk(qi, "journalist", name, journalist[1], journalist[0], journalist[2], journalist[3], HIGH),
        Risk(qi, "marketer", name, journalist[1], None, None, None, HIGH),
    )


def _classes(collapsed: Collapsed, quasi_identifier: Sequence[str], population: Population | None) -> Table:
    if population is None:
        return collapsed.classes(quasi_identifier)
    named_there = [population.columns[name] for name in quasi_identifier]
    return collapsed.make(
        "population_classes",
        {
            "classes": collapsed.classes(quasi_identifier),
            "atoms": collapsed.atoms,
            "classes_of_population": population.collapsed.classes(named_there),
            "atoms_of_population": population.collapsed.atoms,
        },
        columns={
            "qi": collapsed.codes(quasi_identifier),
            "population_qi": population.collapsed.codes(named_there),
        },
    )
