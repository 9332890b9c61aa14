"""The statements by which a channel is measured. Their text depends on the shape of the question only.

States and candidates travel as parameters, lists of part numbers: ``$b<i>`` for the present parts of
attribute ``i``, ``$m<i>`` for its labels in several states, ``$q<i>`` for the parts that candidates make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ppdm_sql.methods.top_down.count_tables import CountTable
from ppdm_sql.privacy import Formula


def _sum(terms: Iterable[str]) -> str:
    """Add terms as BIGINT; lists of small numbers arrive as INTEGER, whose sum could overflow."""
    return "0::BIGINT + " + " + ".join(terms)


def needed(readings: Sequence[Formula]) -> list[str]:
    """List the counted columns that some readings need, each once."""
    return list(dict.fromkeys(name for reading in readings for name in reading.columns))


def path_sql(grid: CountTable, keys: Sequence[Sequence[int]], readings: Sequence[Formula]) -> str:
    """Read several states: number of groups and readings, a row each.

    Args:
        grid: The counts.
        keys: The attributes that make up each key of a group.
        readings: What to read.
    """
    used = [i for key in keys for i in key]
    sums = grid.sums(needed(readings))
    fine = "".join(f"$b{i}[c{i} + 1] AS b{i}, " for i in used)
    parts = [_sum(f"$m{i}[b{i} * $states + e + 1]" for i in key) for key in keys]
    coarse = "".join(f"{part} AS g{number}, " for number, part in enumerate(parts))
    by_part = "GROUP BY " + ", ".join(f"b{i}" for i in used) if used else ""
    by_group = ", ".join(["e", *(f"g{number}" for number in range(len(keys)))])
    names = {name: name for name in grid.counted}
    numbers = "".join(f", {reading.total}({reading.of(names)})" for reading in readings)
    return (
        f"SELECT count(*){numbers} FROM ("
        f"SELECT e, {coarse}{sums} FROM (SELECT {fine}{sums} FROM {grid.table} {by_part}) AS fine, "
        f"range($states) AS r(e) GROUP BY {by_group}) AS groups GROUP BY e ORDER BY e"
    )


def _group_columns(keys: Sequence[Sequence[int]]) -> tuple[str, str]:
    """Give the keys of the present groups as a select list, and their names."""
    groups = [_sum(f"$b{i}[c{i} + 1]" for i in key) for key in keys] or ["0"]
    numbered = ", ".join(f"{group} AS g{number}" for number, group in enumerate(groups))
    return numbered, ", ".join(f"g{number}" for number in range(len(groups)))


def beside_sql(
    grid: CountTable, keys: Sequence[Sequence[int]], asked: Sequence[int], readings: Sequence[Formula]
) -> str:
    """Read the states after candidates that each take one part out of a group, a row each.

    Args:
        grid: The counts.
        keys: The attributes that make up each key of a group.
        asked: Attributes of the candidates; ``$q<i>`` numbers the candidates.
        readings: What to read.
    """
    counted = needed(readings)
    sums = grid.sums(counted)
    numbered, g = _group_columns(keys)
    split = ", ".join(f"$q{i}[c{i} + 1] AS q{i}" for i in asked)
    q = ", ".join(f"q{i}" for i in asked)
    totals = ", ".join(f"sum({c})::BIGINT AS total_{c}" for c in counted)
    numbers = ", ".join(taken_out(counted, reading) for reading in readings)
    listed = f"SELECT {g}, unnest([{q}]) AS k, {', '.join(counted)} FROM fine"
    return (
        f"WITH fine AS MATERIALIZED (SELECT {numbered}, {split}, {sums} FROM {grid.table} "
        f"GROUP BY {g}, {q}), "
        f"parts AS (SELECT {g}, k, {sums} FROM ({listed}) WHERE k >= 0 GROUP BY {g}, k), "
        f"groups AS (SELECT {g}, {totals} FROM fine GROUP BY {g}) "
        f"SELECT k, {numbers} FROM parts JOIN groups USING ({g}){_unsettled(counted, readings, 'total_{}')} "
        "GROUP BY k"
    )


def taken_out(counted: Sequence[str], reading: Formula) -> str:
    """Give what a reading becomes when a part, ``n``, leaves a rest of its group, ``total_n``."""
    whole, part = ({c: name.format(c) for c in counted} for name in ("total_{}", "{}"))
    rest = {c: f"(total_{c} - {c})" for c in counted}
    return _after(reading, whole, [part, rest])


def _after(reading: Formula, whole: Mapping[str, str], parts: Sequence[Mapping[str, str]]) -> str:
    """Give what a reading becomes when groups fall into parts; for a sum, what it falls by."""
    each = [reading.of(part) for part in parts]
    if reading.total == "sum":
        split = f"greatest({', '.join(part['n'] for part in parts)}) < {whole['n']}"
        return f"sum(CASE WHEN {split} THEN {reading.of(whole)} - ({' + '.join(each)}) ELSE 0 END)"
    worst = "least" if reading.total == "min" else "greatest"
    return f"{reading.total}({worst}({', '.join(each)}))"


def within_sql(
    grid: CountTable, keys: Sequence[Sequence[int]], attribute: int, readings: Sequence[Formula]
) -> str:
    """Read the states after candidates of one attribute that split groups of their own, a row each.

    Args:
        grid: The counts.
        keys: The attributes that make up each key of a group, the candidates' own left out.
        attribute: Of the candidates; ``$q`` numbers their parts, ``$owner`` says whose a part is.
        readings: What to read.
    """
    counted = needed(readings)
    sums = grid.sums(counted)
    numbered, g = _group_columns(keys)
    names = {c: c for c in counted}
    parts = (
        f"SELECT {g}, $owner[q + 1] AS o, {sums} FROM (SELECT {numbered}, $q[c{attribute} + 1] AS q, "
        f"{', '.join(counted)} FROM {grid.table}) WHERE q >= 0 GROUP BY {g}, q"
    )
    if any(reading.total == "sum" for reading in readings):
        after = ", ".join(f"sum({reading.of(names)}) AS after_{j}" for j, reading in enumerate(readings))
        falls = ", ".join(f"sum({reading.of(names)} - after_{j})" for j, reading in enumerate(readings))
        whole = f"SELECT o, {sums}, {after} FROM ({parts}) AS parts GROUP BY {g}, o"
        return f"SELECT o, {falls} FROM ({whole}) AS groups{_unsettled(counted, readings)} GROUP BY o"
    numbers = ", ".join(f"{reading.total}({reading.of(names)})" for reading in readings)
    return f"SELECT o, {numbers} FROM ({parts}) AS parts GROUP BY o"


def sweep_sql(
    grid: CountTable,
    keys: Sequence[Sequence[int]],
    asked: Sequence[tuple[int, range]],
    readings: Sequence[Formula],
) -> str:
    """Read the states after candidates of several attributes, all in one row.

    Args:
        grid: The counts.
        keys: The attributes that make up each key of a group.
        asked: For each candidate its attribute and the numbers of its parts, as ``$q<i>`` has them.
        readings: What to read.
    """
    counted = needed(readings)
    numbered, g = _group_columns(keys)
    split = ", ".join(f"$q{i}[c{i} + 1] AS q{i}" for i in dict.fromkeys(i for i, _ in asked))
    sums = [grid.sums(counted)]
    sums += [
        f"sum(CASE WHEN q{i} = {part} THEN {c} ELSE 0 END)::BIGINT AS {c}_{part}"
        for i, parts in asked
        for part in parts[:-1]
        for c in counted
    ]
    numbers = [_parted(parts[:-1], counted, reading) for _, parts in asked for reading in readings]
    coded = f"SELECT {numbered}, {split}, {', '.join(counted)} FROM {grid.table}"
    groups = f"SELECT {', '.join(sums)} FROM ({coded}) GROUP BY {g}"
    return f"SELECT {', '.join(numbers)} FROM ({groups}) AS groups{_unsettled(counted, readings)}"


def _unsettled(counted: Sequence[str], readings: Sequence[Formula], name: str = "{}") -> str:
    """Leave out groups that no reading can learn more about."""
    if any(reading.settled is None for reading in readings):
        return ""
    names = {c: name.format(c) for c in counted}
    return " WHERE NOT (" + " AND ".join(r.settled(names) for r in readings if r.settled) + ")"


def _parted(parts: range, counted: Sequence[str], reading: Formula) -> str:
    """Give what a reading becomes when parts leave a rest of their groups.

    A group that the candidate does not split is all rest, and reads as it does now.
    """
    made = [{c: f"{c}_{part}" for c in counted} for part in parts]
    rest = {c: f"({' - '.join([c, *(part[c] for part in made)])})" for c in counted}
    return _after(reading, {c: c for c in counted}, [*made, rest])
