"""What columns have in common, before and after.

Source: Bergsma 2013, "A bias-correction for Cramér's V and Tschuprow's T", doi:10.1016/j.jkss.2012.10.002.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from sqlglot import exp

from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind
from ppdm_sql.report.page import Block, Numbers, Picture
from ppdm_sql.report.sides import MOST_LISTED, CountedSide
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import NONE, Cell, Number, listed

MOST_PAIRED = 8
"""Columns that are held against each other at most."""
GROUPS = 20
Strengths = Mapping[tuple[str, str], float | None]


def associations(subject: Subject) -> Block:
    """Draw how strongly columns go together, before and after."""
    wanted, left_out = _columns(subject)
    if len(wanted) < 2:
        return Block()
    after = _strengths(subject.after, wanted)
    pictures = [_heat(subject, "After" if subject.before else "In the release", wanted, after)]
    if subject.before is not None:
        pictures = [_heat(subject, "Before", wanted, _strengths(subject.before, wanted)), *pictures]
    said = (
        "Cramér's V, corrected for chance: 0 where columns have nothing in common, "
        "1 where one gives the other."
    )
    more = [f"Left out: {listed(left_out)}."] if left_out else []
    return Block("What columns tell of each other", sentences=[said, *more], pictures=pictures)


def _columns(subject: Subject) -> tuple[list[str], list[str]]:
    """Choose the columns: those with few values or with places, changed ones and the class first."""
    order = {"class": 0, "sensitive": 1, "kept": 3}
    sides = [side for side in (subject.before, subject.after) if side is not None]
    named = sorted(subject.columns(), key=lambda item: order.get(item.treatment, 2))
    there = [item.name for item in named if all(item.name in side.codes for side in sides)]
    few = [name for name in there[: 2 * MOST_PAIRED] if all(_is_few(side, name) for side in sides)]
    few = few[:MOST_PAIRED]
    place = {item.name: number for number, item in enumerate(subject.shape.columns)}
    return sorted(few, key=place.__getitem__), [name for name in there if name not in few]


def _is_few(side: CountedSide, name: str) -> bool:
    """Tell whether a column can be held against others: few values, or places to group, and no key."""
    found = side.counts(name)
    return found.values < max(2, found.records) and (side.has_places(name) or found.values <= MOST_LISTED)


def _strengths(side: CountedSide, names: Sequence[str]) -> Strengths:
    """Measure every pair; one scan of the rows to group them, then one of the groups for each pair."""
    grouped = _grouped(side, names)
    pairs = list(combinations(names, 2))
    cells = side.engine.materialize("pair_cells", _pair_cells(grouped, len(names)))
    rows = side.engine.query(bind("report/association", tables={"cells": cells}), step="association")
    found = {pair: (chi_square, *sizes) for pair, chi_square, *sizes in rows}
    for table in (cells, grouped):
        side.engine.discard(table)
    return {pair: corrected_v(*found[number]) for number, pair in enumerate(pairs)}


def _pair_cells(grouped: Table, width: int) -> exp.Select:
    """Count the combinations of each pair of columns: ``pair, row_value, column_value, records``."""
    codes = [column(f"v{place}", "g") for place in range(width)]
    which = exp.Anonymous(this="grouping", expressions=[code.copy() for code in codes])
    numbers: list[exp.If] = []
    values: tuple[list[exp.If], list[exp.If]] = ([], [])
    sets: list[exp.Expression] = []
    for number, chosen in enumerate(combinations(range(width), 2)):
        sets.append(exp.Tuple(expressions=[codes[place].copy() for place in chosen]))
        # the bits of GROUPING, the first column's the highest, are those of the columns that a set leaves out
        left_out = sum(1 << (width - 1 - place) for place in range(width) if place not in chosen)
        here = exp.EQ(this=which.copy(), expression=exp.convert(left_out))
        numbers.append(exp.If(this=here, true=exp.convert(number)))
        for ifs, place in zip(values, chosen, strict=True):
            ifs.append(exp.If(this=here.copy(), true=exp.cast(codes[place].copy(), "TEXT")))
    pair, *ends = (exp.Case(ifs=ifs) for ifs in (numbers, *values))
    named = alias(pair, "pair"), alias(ends[0], "row_value"), alias(ends[1], "column_value")
    total = alias(exp.cast(exp.Sum(this=column("records", "g")), "DOUBLE"), "records")
    query = exp.select(*named, total).from_(aliased(grouped, "g"))
    query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    return query


def corrected_v(chi_square: float | None, rows: int, columns: int, records: float) -> float | None:
    """Give Cramér's V with Bergsma's correction; None where a column has one value only.

    Example:
        >>> corrected_v(100.0, 2, 2, 100.0), corrected_v(1.0, 2, 3, 100.0), corrected_v(5.0, 1, 2, 10.0)
        (1.0, 0.0, None)
    """
    if chi_square is None or records <= 1 or min(rows, columns) < 2:
        return None
    phi = max(0.0, chi_square / records - (rows - 1) * (columns - 1) / (records - 1))
    least = min(n - (n - 1) ** 2 / (records - 1) for n in (rows, columns))
    return min(1.0, math.sqrt(phi / (least - 1))) if least > 1 else None


def _grouped(side: CountedSide, names: Sequence[str]) -> Table:
    """Collapse the rows over the columns, many numbers in groups that are about as frequent as each other."""
    query = exp.select().from_(aliased(side.rows, "s"))
    keys: list[exp.Expression] = []
    for place, name in enumerate(names):
        code = f"{'x' if side.has_places(name) else 'c'}{side.codes[name]}"
        value: exp.Expression = column(code, "s")
        if side.has_places(name) and side.different_places(name) > GROUPS:
            text = bind(
                "report/grouped_values",
                tables={"side": side.rows},
                columns={"value": [code]},
                values={"groups": GROUPS},
            )
            groups = side.engine.materialize("grouped_values", text)
            same = exp.NullSafeEQ(this=column("value", f"g{place}"), expression=value)
            source = aliased(groups, f"g{place}")
            query.append("joins", exp.Join(this=source, side="LEFT", on=same))
            value = column("group", f"g{place}")
        keys.append(alias(value, f"v{place}"))
    total = alias(exp.cast(exp.Sum(this=column("records", "s")), "BIGINT"), "records")
    query = query.select(*keys, total).group_by(*(exp.Literal.number(n) for n in range(1, len(keys) + 1)))
    return side.engine.materialize("paired", query)


def _heat(subject: Subject, title: str, names: Sequence[str], found: Strengths) -> Picture:
    """Draw one matrix: the lower triangle, a cell a pair."""
    rows = [
        {"across": first, "down": second, "text": _two_digits(strength), "size": strength or 0.0}
        for (first, second), strength in found.items()
    ]
    cells: list[list[Cell]] = [
        [first, second, NONE if value is None else Number(f"{value:.3f}")]
        for (first, second), value in found.items()
    ]
    known = {pair: value for pair, value in found.items() if value is not None}
    most = max(known, key=known.__getitem__, default=None)
    says = f"{title}: the association of each pair of {listed(list(names))}."
    if most is not None:
        says += f" The largest is that of {most[0]} and {most[1]}, {found[most]:.2f}."
    return Picture(title, subject.drawing.draw("heat", rows), says, Numbers(["column", "column", "V"], cells))


def _two_digits(strength: float | None) -> str:
    return NONE if strength is None else f"{strength:.2f}"
