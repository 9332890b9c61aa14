"""What the classes of a table give away: their sizes, who can be found in them, what can be inferred."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import starmap

from ppdm_sql.audit.collapsing import Collapsed, stacked_classes
from ppdm_sql.audit.judging import Question, judge
from ppdm_sql.audit.model import (
    ITSELF,
    SMALL,
    ClassSizes,
    Exposure,
    Identifiable,
    IdentifiableValue,
    Risk,
    SensitiveExposure,
    ValueConfidence,
)
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, resolve_all
from ppdm_sql.engine.source import count_column
from ppdm_sql.engine.statements import bind, sql
from ppdm_sql.engine.types import is_ordered
from ppdm_sql.errors import InvalidSource
from ppdm_sql.privacy import LDiversity, Requirement, TCloseness
from ppdm_sql.privacy.models.recursive_diversity import RecursiveDiversity

HIGH = 0.2
"""Risk above which the share of the records is measured."""
MOST_VALUES = 100
"""Sensitive or confidential values that are listed at most, those most at risk first."""


# -- class sizes and risk ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """The population that a table is a sample of."""

    name: str  # its name, for printing
    collapsed: Collapsed  # the population, collapsed over the columns of the quasi-identifiers
    columns: Mapping[str, str]  # what the population calls each of those columns


def population_of(
    engine: Engine,
    table: Table,
    weights: str | None,
    collapsed: Collapsed,
    together: Sequence[str],
    person: Sequence[str],
    count: str | None = None,
) -> Population:
    """Collapse the population over columns of an audited table, in the order of the table's."""
    columns = engine.columns(table)
    names = [item.name for item in columns]
    wanted = collapsed.in_order(together)
    own = resolve_all(wanted, names, table=table.name)
    counted = count_column(weights or (count if count in names else None), columns, table=table.name)
    # where the population has no column of persons, a row is one
    persons = person if weights is None and set(person) <= set(names) else ()
    everybody = Collapsed(engine, table, own, counted, persons)
    return Population(table.name, everybody, dict(zip(wanted, own, strict=True)))


def class_sizes(collapsed: Collapsed, quasi_identifier: Sequence[str]) -> ClassSizes:
    """Count the classes of each size, exactly and in ranges."""
    text = bind("audit/class_sizes", tables={"classes": collapsed.classes(quasi_identifier)})
    rows = collapsed.engine.query(text, step="class_sizes")
    ranges = dict[tuple[int, int], tuple[int, int]]()
    for size, classes, records in rows:
        before = ranges.get(_range(size), (0, 0))
        ranges[_range(size)] = before[0] + classes, before[1] + records
    return ClassSizes(
        tuple(quasi_identifier),
        tuple((size, classes, records) for size, classes, records in rows),
        tuple((*bounds, *counts) for bounds, counts in ranges.items()),
    )


def _range(size: int) -> tuple[int, int]:
    """Give the range to read a class size in: single sizes up to 10, then 11-20, 21-50, 51-100 ..."""
    if size <= 10:
        return size, size
    decade = 10 ** (len(str(size - 1)) - 1)
    low, high = next(bounds for bounds in ((1, 2), (2, 5), (5, 10)) if size <= bounds[1] * decade)
    return low * decade + 1, high * decade


def risks(
    collapsed: Collapsed,
    quasi_identifier: Sequence[str],
    population: Population | None,
    threshold: float = HIGH,
) -> tuple[Risk, Risk, Risk]:
    """Measure the risk of re-identification from prosecutor, journalist and marketer."""
    # Source: El Emam, Dankar 2008; Dankar, El Emam 2010.
    classes = _classes(collapsed, quasi_identifier, population)
    text = bind("audit/risks", tables={"classes": classes}, values={"risk_threshold": threshold})
    ((_, _, uncovered, *measures),) = collapsed.engine.query(text, step="risks")
    if uncovered and population is not None:
        raise InvalidSource(
            f"The population {population.name} lacks {uncovered} classes of the table.",
            "Give a population that every record of the table belongs to, with its columns coded alike.",
        )
    name, qi = ITSELF if population is None else population.name, tuple(quasi_identifier)
    highest, average, at_highest, above, *journalist = measures
    return (
        Risk(qi, "prosecutor", ITSELF, average, highest, at_highest, above, threshold),
        Risk(qi, "journalist", name, journalist[1], journalist[0], journalist[2], journalist[3], threshold),
        Risk(qi, "marketer", name, journalist[1], None, None, None, threshold),
    )


def _classes(collapsed: Collapsed, quasi_identifier: Sequence[str], population: Population | None) -> Table:
    if population is None:
        return collapsed.classes(quasi_identifier)
    there = population.collapsed
    codes = there.codes([population.columns[name] for name in quasi_identifier])
    known = sql("SELECT *, FALSE AS outside FROM {atoms}", atoms=there.atoms_of(codes))
    of_all = stacked_classes(collapsed, quasi_identifier, collapsed.engine.overlay(known), codes, ["outside"])
    present = sql("SELECT class_records, population_records FROM {c} WHERE class_records > 0", c=of_all)
    return collapsed.engine.overlay(present)


# -- who can be identified ----------------------------------------------------------------------------


def identifiable(collapsed: Collapsed, confidential: str, by: Sequence[str]) -> Identifiable:
    """Count the identifiable records of a table."""
    # Source: Li, Sarkar 2004, Definition 2.
    collapsed.class_count(by)
    tables, engine = {"cells": collapsed.cells(by, confidential)}, collapsed.engine
    text = bind("audit/identifiable_records", tables=tables)
    (found,) = engine.query(text, step="identifiable")
    listed = bind("audit/identifiable_values", tables=tables, values={"most": MOST_VALUES})
    by_value = starmap(IdentifiableValue, engine.query(listed, step="identifiable_values"))
    numbers = [*found, tuple(by_value)]
    return Identifiable(confidential, tuple(by), *numbers)


def smallest_linked(
    engine: Engine, table: Table, quasi_identifier: Sequence[str], person: Sequence[str]
) -> int:
    """Give the fewest persons who have the same set of classes: k, where records can be linked."""
    with engine.workspace():
        collapsed = Collapsed(engine, table, list(quasi_identifier), None, person)
        columns = {"qi": collapsed.codes(quasi_identifier)}
        query = bind("audit/linked_persons", tables={"atoms": collapsed.atoms}, columns=columns)
        ((smallest,),) = engine.query(query, step="linked_persons")
    return int(smallest)


# -- what can be inferred -----------------------------------------------------------------------------


def exposure(
    collapsed: Collapsed, by: Sequence[str], sensitive: Sequence[str], types: Mapping[str, str]
) -> Exposure:
    """Measure what columns that others may know give away."""
    # Source: Sweeney 2002; Machanavajjhala et al. 2006; Li, Li, Venkatasubramanian 2007; Wang, Fung, Yu 2005.
    collapsed.class_count(by)
    text = bind("audit/class_summary", tables={"classes": collapsed.classes(by)}, values={"small": SMALL})
    (found,) = collapsed.engine.query(text, step="class_summary")
    numbers = [*found, tuple(_sensitive(collapsed, by, name, types) for name in sensitive)]
    return Exposure(tuple(by), *numbers)


def _sensitive(
    collapsed: Collapsed, by: Sequence[str], sensitive: str, types: Mapping[str, str]
) -> SensitiveExposure:
    engine, qi = collapsed.engine, tuple(by)
    cells = {"cells": collapsed.cells(by, sensitive)}
    recursive_c = _worst(collapsed, RecursiveDiversity(Fraction(1), 2, sensitive, qi), types)
    totals = {"value_totals": collapsed.value_totals(sensitive)}
    listed = bind("audit/value_confidences", tables={**cells, **totals}, values={"most": MOST_VALUES})
    rows = engine.query(listed, step="value_confidences")
    closeness = TCloseness(Fraction(1), sensitive, qi)
    return SensitiveExposure(
        sensitive=sensitive,
        values=int(rows[0][-1]),
        distinct_l=int(_worst(collapsed, LDiversity("distinct", Fraction(1), sensitive, qi), types)),
        entropy_l=_worst(collapsed, LDiversity("entropy", Fraction(1), sensitive, qi), types),
        recursive_c=None if math.isinf(recursive_c) else recursive_c,
        equal_t=_worst(collapsed, closeness, {sensitive: "VARCHAR"}),
        ordered_t=_worst(collapsed, closeness, types) if is_ordered(types[sensitive]) else None,
        by_value=tuple(ValueConfidence(*row[:-1]) for row in rows),
    )


def _worst(collapsed: Collapsed, asked: Requirement, types: Mapping[str, str]) -> float:
    """Measure every class by a requirement, and give the worst."""
    (judged,) = judge(collapsed, [Question(asked, asked)], types)
    ((_, least, most, *_),) = judged.verdicts
    return float(least if asked.worst == "min" else most)
