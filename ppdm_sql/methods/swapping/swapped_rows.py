"""Carries a plan out: the records that change, what an attacker could tell of them, and the rows after.

Of records that are alike to the method, which may differ in columns that are only carried along, a keyed hash
of what they hold decides which of them change: neither the order of rows nor the number of threads does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.audit.comparing import OwnedRows, fingerprint, text
from ppdm_sql.engine import Column, Engine, statements
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import rows_of_lists
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import InvalidSource
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, Kept
from ppdm_sql.methods.swapping.candidates import SCALE, Candidates, IdentifiableRecords, by_code, keyed_hash
from ppdm_sql.methods.swapping.exact import Solution, reduced_costs
from ppdm_sql.methods.swapping.marginals import Flows

# -- the records that change ----------------------------------------------------------------------


def assign(
    engine: Engine, candidates: Candidates, solution: Solution, seed: bytes
) -> tuple[Table, Flows, float]:
    """Let records do what is best at the prices, and share ties out by a keyed hash; say what it costs."""
    chosen, size = _chosen(engine, candidates, solution, seed), candidates.categories
    moves = engine.materialize("moves", _changes(candidates, solution, chosen))
    engine.discard(chosen)
    rows = engine.query(statements.bind("swapping/flows", tables={"moves": moves}), step="flows")
    flows = np.zeros((2 * size, size), dtype=np.int64)
    for kind, category, records, _ in rows:
        flows[kind, category] = records
    objective = sum(int(row[3]) for row in rows) / SCALE
    return moves, Flows(flows[:size], flows[size:]), objective


def _changes(candidates: Candidates, solution: Solution, chosen: Table) -> str:
    """Give SQL for the records that move: those that no tie holds, by the prices, and the chosen ones."""
    size, keys, pattern = candidates.categories, ", ".join(candidates.keys), ", ".join(candidates.pattern)
    posteriors = [f"{'unblurred_' if candidates.blurred else 'p'}{h}" for h in range(size)]
    carried = [*candidates.keys, "true_posterior", *posteriors]
    # without a tie one choice costs nothing
    no_boxes = np.zeros((2, size), dtype=np.int64)
    choices = reduced_costs(candidates.table, solution.prices, no_boxes, carried)
    best = " ".join(f"WHEN reduced_cost_{h} = 0 THEN {h}" for h in range(size))
    listed = ", ".join([*carried, "kind"])
    untied = (
        f"SELECT {listed}, CASE {best} END AS category FROM ({choices}) AS f "
        f"ANTI JOIN {solution.ties} USING ({keys}) WHERE reduced_cost_stay < 0"
    )
    tied = f"SELECT {listed}, category FROM {candidates.table} JOIN {chosen} USING ({keys})"
    rows = (
        f"SELECT {pattern}, kind, category::USMALLINT AS category, "
        f"(true_posterior - {by_code('category', posteriors)})::BIGINT AS cost "
        f"FROM ({untied} UNION ALL {tied})"
    )
    return (
        f"SELECT {pattern}, kind, category, count(*) AS records, sum(cost)::BIGINT AS cost FROM ({rows}) "
        f"GROUP BY {pattern}, kind, category"
    )


def _chosen(engine: Engine, candidates: Candidates, solution: Solution, seed: bytes) -> Table:
    """Give the records of the ties that move; those left over stay."""
    classes, categories = np.nonzero(solution.moved[:, : candidates.categories])
    records = solution.moved[classes, categories]
    # of a class, the first records enter one category, the next ones another
    summed, begins = np.cumsum(records), np.searchsorted(classes, classes)
    last = summed - (summed - records)[begins]
    quotas = {"class": classes, "category": categories, "last": last, "records": records}
    keys = ", ".join(candidates.keys)
    order = f"{keyed_hash(seed, candidates.keys, 'tie')}, {keys}"
    return engine.materialize(
        "chosen",
        f"SELECT {keys}, q.category FROM (SELECT {keys}, class, "
        f"row_number() OVER (PARTITION BY class ORDER BY {order}) AS place FROM {solution.ties}) AS t "
        f"JOIN ({rows_of_lists(**dict.fromkeys(quotas, 'BIGINT'))}) AS q "
        "ON q.class = t.class AND t.place <= q.last AND t.place > q.last - q.records",
        {name: values.tolist() for name, values in quotas.items()},
    )


def swapped(engine: Engine, atoms: Atoms, identified: IdentifiableRecords, moves: Table, key: bytes) -> Atoms:
    """Give the atoms after the moves, combinations perhaps in several rows; others may be swapped already."""
    changed, keys = f"c{identified.confidential}", ", ".join(identified.keys)
    columns = [f"c{i}" for i in range(len(atoms.coded))] + [f"k{i}" for i in range(len(atoms.kept))]
    of_atoms, words = ", ".join(f"a.{name}" for name in columns), identified.words_of("a")
    keyed = ", ".join(f"{word} AS {name}" for word, name in zip(words, identified.keys, strict=True))
    moving = " AND ".join(f"m.{name} = {word}" for word, name in zip(words, identified.keys, strict=True))
    touched = engine.materialize(
        "touched",
        f"SELECT {of_atoms}, a.n, {keyed}, count(*) OVER (PARTITION BY {', '.join(words)}) AS rows_alike "
        f"FROM {atoms.table} AS a SEMI JOIN {moves} AS m ON {moving}",
    )
    # the records of each pattern end to end: as they stand, or in an order that chance decides
    listed = ", ".join((*columns, keys))
    drawn = f"md5($key || CAST(row({', '.join(columns)}) AS VARCHAR) || '/' || copy)"
    place = f"row_number() OVER (PARTITION BY {keys} ORDER BY {drawn}) AS place"
    copies = f"SELECT *, unnest(range(n)) AS copy FROM {touched} WHERE rows_alike > 1"
    pieces = engine.materialize(
        "pieces",
        f"SELECT {listed}, 0 AS first, n AS beyond FROM {touched} WHERE rows_alike = 1 UNION ALL "
        f"SELECT {listed}, place - 1, place FROM (SELECT *, {place} FROM ({copies}) AS c) AS p",
        {"key": key.hex()},
    )
    # the new values of each pattern end to end, and what stays as it is behind them
    window = f"OVER (PARTITION BY {keys} ORDER BY category)"
    targets = (
        f"(SELECT {keys}, category, sum(records) {window} - records AS first, "
        f"sum(records) {window} AS beyond FROM {moves} UNION ALL "
        f"SELECT {keys}, NULL, sum(records), {2**62} FROM {moves} GROUP BY {keys})"
    )
    new = f"coalesce(t.category, r.{changed}) AS {changed}"
    listed = ", ".join(new if name == changed else f"r.{name}" for name in columns)
    same = " AND ".join(f"t.{name} = r.{name}" for name in identified.keys)
    rows = (
        f"SELECT {of_atoms}, a.n FROM {atoms.table} AS a ANTI JOIN {moves} AS m ON {moving} UNION ALL "
        f"SELECT {listed}, (least(r.beyond, t.beyond) - greatest(r.first, t.first))::BIGINT AS n "
        f"FROM {pieces} AS r JOIN {targets} AS t ON {same} AND r.first < t.beyond AND t.first < r.beyond"
    )
    return replace(atoms, table=engine.materialize("swapped", rows))


# -- what an attacker could tell -------------------------------------------------------------------

SURE = 0.98
SAMPLE = 100_000
CELL = 200
"""Records that a cell should hold, which decides how finely differences are told apart."""


def attacker_share(engine: Engine, candidates: Candidates, moves: Table) -> float | None:
    """Measure which share of the changed unique records an attacker settles; None where none changed."""
    if not candidates.unique.sum():
        return None
    ((settled, changed),) = engine.query(
        f"SELECT coalesce(sum(changed) FILTER (changed + 1 >= {SURE!r}::DOUBLE * (records + 2)), 0)::BIGINT, "
        f"sum(changed)::BIGINT FROM ({_cells(candidates, moves)})",
        step="settled_share",
    )
    return settled / changed if changed else None


def _cells(candidates: Candidates, moves: Table) -> str:
    size, records = candidates.categories, int(candidates.unique.sum())
    part = -(-records // SAMPLE)
    steps = max(8, min(256, min(records, SAMPLE) // (CELL * size)))
    posterior = "unblurred_" if candidates.blurred else "p"
    listed = ", ".join(
        f"CASE WHEN kind = {h} THEN true_posterior ELSE {posterior}{h} END AS posterior_{h}"
        for h in range(size)
    )
    shown = by_code("shown", [f"posterior_{h}" for h in range(size)])
    others = ", ".join(f"CASE WHEN shown = {h} THEN -1 ELSE posterior_{h} END" for h in range(size))
    rival = f"list_position([{others}], greatest({others}))"
    ahead = f"(({shown} - greatest({others})) * {steps}::BIGINT // {2 * SCALE})"
    keys = ", ".join(candidates.pattern)
    sampled = (
        f"SELECT {listed}, coalesce(m.category, u.kind) AS shown, m.category IS NOT NULL AS changed "
        f"FROM {candidates.table} AS u LEFT JOIN (SELECT {keys}, category FROM {moves}) AS m USING ({keys}) "
        f"WHERE u.kind < {size} AND hash({keys}) % {part} = 0"
    )
    return (
        f"SELECT count(*) AS records, count(*) FILTER (changed) AS changed FROM ({sampled}) "
        f"GROUP BY shown, {rival}, {ahead}"
    )


# -- persons, who have several rows ---------------------------------------------------------------


@dataclass(frozen=True)
class SwappedPersons:
    """The records, and a row for each person: what they are known by, confidential values, who they are."""

    rows: Atoms
    person: Sequence[int]  # positions in the rows
    atoms: Atoms
    by: Sequence[int]  # positions in the atoms


def persons_of(
    engine: Engine, rows: Atoms, by: Sequence[int], confidential: Sequence[int], person: Sequence[int]
) -> SwappedPersons:
    """Give each person a row; who has several confidential values, has none to exchange, and is refused."""
    codes = [f"c{position}" for position in person]
    wanted = list(dict.fromkeys((*by, *confidential)))
    differ = ", ".join(f"min(c{position}) <> max(c{position}) AS d{position}" for position in wanted)
    counts = ", ".join(f"count(*) FILTER (WHERE d{position})" for position in wanted)
    query = f"SELECT {counts} FROM (SELECT {differ} FROM {rows.table} GROUP BY {', '.join(codes)})"
    (found,) = engine.query(query, step="varying")
    varying = dict(zip(wanted, found, strict=True))
    for position in confidential:
        if several := varying[position]:
            name, have = rows.coded[position].column.name, "persons have" if several > 1 else "person has"
            raise InvalidSource(
                f"{several} {have} several values of the confidential column {name!r}, and all rows of a "
                "person are to change alike.",
                f"Give each person one value of {name} in a view, such as the last one.",
            )
    constant = [position for position in by if not varying[position]]
    several = [position for position in by if varying[position]]
    coded, joined = [rows.coded[position] for position in constant], ""
    columns = [f"min(a.c{position}) AS c{place}" for place, position in enumerate(constant)]
    if several:
        joined, dictionary = _sets(engine, rows, several, codes)
        columns.append(f"any_value(s.code) AS c{len(coded)}")
        coded.append(dictionary)
    known = len(coded)
    columns += [f"min(a.c{position}) AS c{known + place}" for place, position in enumerate(confidential)]
    coded += [rows.coded[position] for position in confidential]
    columns += [f"a.{code} AS k{place}" for place, code in enumerate(codes)]
    grouped = ", ".join(f"a.{code}" for code in codes)
    table = engine.materialize(
        "persons",
        f"SELECT {', '.join(columns)}, 1::BIGINT AS n FROM {rows.table} AS a {joined} GROUP BY {grouped}",
    )
    carried = tuple(Kept(f"person {place}", column(f"k{place}")) for place in range(len(codes)))
    return SwappedPersons(rows, person, Atoms(table, tuple(coded), carried, engine.size(table)), range(known))


def _sets(
    engine: Engine, rows: Atoms, several: Sequence[int], codes: Sequence[str]
) -> tuple[str, Dictionary]:
    """Number the sets of the combinations that varying columns have in a person's rows, and join them."""
    who, combination = ", ".join(codes), ", ".join(f"c{position}" for position in several)
    sets = engine.materialize(
        "person_sets",
        f"SELECT {who}, list_sort(list(DISTINCT row({combination})), 'ASC') AS value "
        f"FROM {rows.table} GROUP BY {who}",
    )
    values = engine.materialize(
        "sets",
        "SELECT value, (row_number() OVER (ORDER BY value ASC) - 1)::UINTEGER AS code "
        f"FROM (SELECT DISTINCT value FROM {sets})",
    )
    coded = engine.materialize(
        "coded_sets", f"SELECT {who}, v.code FROM {sets} AS s JOIN {values} AS v ON v.value = s.value"
    )
    same = " AND ".join(f"s.{code} = a.{code}" for code in codes)
    # no column can have an empty name, so nobody takes the sets for one
    dictionary = Dictionary(Column("", "VARCHAR"), values, engine.size(values), False)
    return f"JOIN {coded} AS s ON {same}", dictionary


def rows_after(engine: Engine, persons: SwappedPersons, after: Atoms) -> tuple[Atoms, Atoms]:
    """Give the rows of the persons their new values: as they are released, and with whose they are."""
    rows, known = persons.rows, len(persons.by)
    new = {item.column.name: known + place for place, item in enumerate(after.coded[known:])}
    columns, coded = list[str](), list[Dictionary]()
    for position, item in enumerate(rows.coded):
        place = new.get(item.column.name) if position not in persons.person else None
        columns.append(f"r.c{position}" if place is None else f"p.c{place} AS c{position}")
        coded.append(item if place is None else after.coded[place])
    columns += [f"r.k{place}" for place in range(len(rows.kept))]
    same = " AND ".join(f"p.k{place} = r.c{position}" for place, position in enumerate(persons.person))
    table = engine.materialize(
        "swapped_rows",
        f"SELECT {', '.join(columns)}, r.n FROM {rows.table} AS r JOIN {after.table} AS p ON {same}",
    )
    linked = replace(rows, table=table, coded=tuple(coded))
    return replace(linked, coded=linked.coded[: len(coded) - len(persons.person)]), linked


def linked_rows(engine: Engine, linked: Atoms, persons: SwappedPersons) -> OwnedRows:
    """Write down whose each released row is, for the audit alone: a working table that nobody keeps."""
    columns, joins, names = list[str](), list[str](), dict[str, str]()
    for position, item in enumerate(linked.coded):
        plain = without_enum(column("value", f"d{position}"), item.column.type)
        columns.append(f"{plain.sql('duckdb')} AS c{position}")
        joins.append(f"LEFT JOIN {item.table} AS d{position} ON d{position}.code = a.c{position}")
        if position not in persons.person:
            names[item.column.name] = f"c{position}"
    for place, kept in enumerate(linked.kept):
        columns.append(f"a.k{place}")
        names[kept.name] = f"k{place}"
    table = engine.materialize(
        "linked", f"SELECT {', '.join(columns)}, a.n FROM {linked.table} AS a {' '.join(joins)}"
    )
    of_source = fingerprint([text(column(linked.coded[p].column.name, "s")) for p in persons.person])
    who = fingerprint([text(column(f"c{position}", "s")) for position in persons.person])
    return OwnedRows(table, who, of_source, names, "n")
