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
    """Give the moves at the prices, ties decided by a keyed hash, with their flows and cost."""
    moving_ties, size = _moving_ties(engine, candidates, solution, seed), candidates.categories
    moves = engine.materialize("moves", _changes(candidates, solution, moving_ties))
    engine.discard(moving_ties)
    rows = engine.query(statements.bind("swapping/flows", tables={"moves": moves}), step="flows")
    flows = np.zeros((2 * size, size), dtype=np.int64)
    for kind, category, records, _ in rows:
        flows[kind, category] = records
    objective = sum(int(row[3]) for row in rows) / SCALE
    return moves, Flows(flows[:size], flows[size:]), objective


def _changes(candidates: Candidates, solution: Solution, moving_ties: Table) -> str:
    """Give SQL for the moves: of records without ties, by the prices, and of those chosen from the ties."""
    size, keys, pattern = candidates.categories, ", ".join(candidates.keys), ", ".join(candidates.pattern)
    posteriors = [f"{'unblurred_' if candidates.blurred else 'p'}{h}" for h in range(size)]
    columns = [*candidates.keys, "true_posterior", *posteriors]
    # without a tie one choice costs nothing
    no_boxes = np.zeros((2, size), dtype=np.int64)
    choices = reduced_costs(candidates.table, solution.prices, no_boxes, columns)
    best = " ".join(f"WHEN reduced_cost_{h} = 0 THEN {h}" for h in range(size))
    select_list = ", ".join([*columns, "kind"])
    untied_rows = (
        f"SELECT {select_list}, CASE {best} END AS category FROM ({choices}) AS f "
        f"ANTI JOIN {solution.ties} USING ({keys}) WHERE reduced_cost_stay < 0"
    )
    tied_rows = f"SELECT {select_list}, category FROM {candidates.table} JOIN {moving_ties} USING ({keys})"
    rows = (
        f"SELECT {pattern}, kind, category::USMALLINT AS category, "
        f"(true_posterior - {by_code('category', posteriors)})::BIGINT AS cost "
        f"FROM ({untied_rows} UNION ALL {tied_rows})"
    )
    return (
        f"SELECT {pattern}, kind, category, count(*) AS records, sum(cost)::BIGINT AS cost FROM ({rows}) "
        f"GROUP BY {pattern}, kind, category"
    )


def _moving_ties(engine: Engine, candidates: Candidates, solution: Solution, seed: bytes) -> Table:
    """Give the records of the ties that move; those left over stay."""
    classes, categories = np.nonzero(solution.by_choice[:, : candidates.categories])
    records = solution.by_choice[classes, categories]
    # of a class, the first records enter one category, the next ones another
    sums, begins = np.cumsum(records), np.searchsorted(classes, classes)
    last = sums - (sums - records)[begins]
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


def apply_moves(
    engine: Engine, atoms: Atoms, identifiable: IdentifiableRecords, moves: Table, key: bytes
) -> Atoms:
    """Give the atoms after the moves, combinations perhaps in several rows; others may be swapped already."""
    value_column, keys = f"c{identifiable.confidential}", ", ".join(identifiable.keys)
    columns = [f"c{i}" for i in range(len(atoms.coded))] + [f"k{i}" for i in range(len(atoms.kept))]
    of_atoms, words = ", ".join(f"a.{name}" for name in columns), identifiable.words_of("a")
    own_keys = ", ".join(f"{word} AS {name}" for word, name in zip(words, identifiable.keys, strict=True))
    moving = " AND ".join(f"m.{name} = {word}" for word, name in zip(words, identifiable.keys, strict=True))
    affected = engine.materialize(
        "affected",
        f"SELECT {of_atoms}, a.n, {own_keys}, count(*) OVER (PARTITION BY {', '.join(words)}) AS rows_alike "
        f"FROM {atoms.table} AS a SEMI JOIN {moves} AS m ON {moving}",
    )
    # the records of each pattern end to end, in random order where there are several
    columns_and_keys = ", ".join((*columns, keys))
    random_order = f"md5($key || CAST(row({', '.join(columns)}) AS VARCHAR) || '/' || copy)"
    place = f"row_number() OVER (PARTITION BY {keys} ORDER BY {random_order}) AS place"
    copies = f"SELECT *, unnest(range(n)) AS copy FROM {affected} WHERE rows_alike > 1"
    pieces = engine.materialize(
        "pieces",
        f"SELECT {columns_and_keys}, 0 AS first, n AS beyond FROM {affected} WHERE rows_alike = 1 UNION ALL "
        f"SELECT {columns_and_keys}, place - 1, place FROM (SELECT *, {place} FROM ({copies}) AS c) AS p",
        {"key": key.hex()},
    )
    # the new values of each pattern end to end, and what stays as it is behind them
    window = f"OVER (PARTITION BY {keys} ORDER BY category)"
    targets = (
        f"(SELECT {keys}, category, sum(records) {window} - records AS first, "
        f"sum(records) {window} AS beyond FROM {moves} UNION ALL "
        f"SELECT {keys}, NULL, sum(records), {2**62} FROM {moves} GROUP BY {keys})"
    )
    new = f"coalesce(t.category, r.{value_column}) AS {value_column}"
    select_list = ", ".join(new if name == value_column else f"r.{name}" for name in columns)
    same = " AND ".join(f"t.{name} = r.{name}" for name in identifiable.keys)
    rows = (
        f"SELECT {of_atoms}, a.n FROM {atoms.table} AS a ANTI JOIN {moves} AS m ON {moving} UNION ALL "
        f"SELECT {select_list}, (least(r.beyond, t.beyond) - greatest(r.first, t.first))::BIGINT AS n "
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
    prefix = "unblurred_" if candidates.blurred else "p"
    posteriors = ", ".join(
        f"CASE WHEN kind = {h} THEN true_posterior ELSE {prefix}{h} END AS posterior_{h}" for h in range(size)
    )
    shown_posterior = by_code("shown", [f"posterior_{h}" for h in range(size)])
    others = ", ".join(f"CASE WHEN shown = {h} THEN -1 ELSE posterior_{h} END" for h in range(size))
    rival = f"list_position([{others}], greatest({others}))"
    ahead = f"(({shown_posterior} - greatest({others})) * {steps}::BIGINT // {2 * SCALE})"
    keys = ", ".join(candidates.pattern)
    sample = (
        f"SELECT {posteriors}, coalesce(m.category, u.kind) AS shown, m.category IS NOT NULL AS changed "
        f"FROM {candidates.table} AS u LEFT JOIN (SELECT {keys}, category FROM {moves}) AS m USING ({keys}) "
        f"WHERE u.kind < {size} AND hash({keys}) % {part} = 0"
    )
    return (
        f"SELECT count(*) AS records, count(*) FILTER (changed) AS changed FROM ({sample}) "
        f"GROUP BY shown, {rival}, {ahead}"
    )


# -- persons, who have several rows ---------------------------------------------------------------


@dataclass(frozen=True)
class SwappedPersons:
    """The records, and a row for each person: what others know of them, confidential values, who they are."""

    rows: Atoms
    person: Sequence[int]  # positions in the rows
    atoms: Atoms
    by: Sequence[int]  # positions in the atoms


def persons_of(
    engine: Engine, rows: Atoms, by: Sequence[int], confidential: Sequence[int], person: Sequence[int]
) -> SwappedPersons:
    """Give each person a row; refuse persons with several values of a confidential column."""
    codes = [f"c{position}" for position in person]
    positions = list(dict.fromkeys((*by, *confidential)))
    differ = ", ".join(f"min(c{position}) <> max(c{position}) AS d{position}" for position in positions)
    counts = ", ".join(f"count(*) FILTER (WHERE d{position})" for position in positions)
    query = f"SELECT {counts} FROM (SELECT {differ} FROM {rows.table} GROUP BY {', '.join(codes)})"
    (varying_counts,) = engine.query(query, step="varying")
    varying = dict(zip(positions, varying_counts, strict=True))
    for position in confidential:
        if number := varying[position]:
            name, have = rows.coded[position].column.name, "persons have" if number > 1 else "person has"
            raise InvalidSource(
                f"{number} {have} several values of the confidential column {name!r}, and all rows of a "
                "person are to change alike.",
                f"Give each person one value of {name} in a view, such as the last one.",
            )
    constant = [position for position in by if not varying[position]]
    several = [position for position in by if varying[position]]
    dictionaries, join = [rows.coded[position] for position in constant], ""
    columns = [f"min(a.c{position}) AS c{place}" for place, position in enumerate(constant)]
    if several:
        join, dictionary = _sets(engine, rows, several, codes)
        columns.append(f"any_value(s.code) AS c{len(dictionaries)}")
        dictionaries.append(dictionary)
    by_count = len(dictionaries)
    columns += [f"min(a.c{position}) AS c{by_count + place}" for place, position in enumerate(confidential)]
    dictionaries += [rows.coded[position] for position in confidential]
    columns += [f"a.{code} AS k{place}" for place, code in enumerate(codes)]
    owners = ", ".join(f"a.{code}" for code in codes)
    table = engine.materialize(
        "persons",
        f"SELECT {', '.join(columns)}, 1::BIGINT AS n FROM {rows.table} AS a {join} GROUP BY {owners}",
    )
    person_codes = tuple(Kept(f"person {place}", column(f"k{place}")) for place in range(len(codes)))
    atoms = Atoms(table, tuple(dictionaries), person_codes, engine.size(table))
    return SwappedPersons(rows, person, atoms, range(by_count))


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
    coded_sets = engine.materialize(
        "coded_sets", f"SELECT {who}, v.code FROM {sets} AS s JOIN {values} AS v ON v.value = s.value"
    )
    same = " AND ".join(f"s.{code} = a.{code}" for code in codes)
    # no column can have an empty name, so nobody takes the sets for one
    dictionary = Dictionary(Column("", "VARCHAR"), values, engine.size(values), False)
    return f"JOIN {coded_sets} AS s ON {same}", dictionary


def rows_after(engine: Engine, persons: SwappedPersons, after: Atoms) -> tuple[Atoms, Atoms]:
    """Give the rows of the persons their new values: as released, and with the person of each."""
    rows, by_count = persons.rows, len(persons.by)
    new = {item.column.name: by_count + place for place, item in enumerate(after.coded[by_count:])}
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
    owned = replace(rows, table=table, coded=tuple(coded))
    return replace(owned, coded=owned.coded[: len(coded) - len(persons.person)]), owned


def owned_rows(engine: Engine, owned: Atoms, persons: SwappedPersons) -> OwnedRows:
    """Say whose each released row is, in a working table for the audit alone."""
    columns, joins, names = list[str](), list[str](), dict[str, str]()
    for position, item in enumerate(owned.coded):
        plain = without_enum(column("value", f"d{position}"), item.column.type)
        columns.append(f"{plain.sql('duckdb')} AS c{position}")
        joins.append(f"LEFT JOIN {item.table} AS d{position} ON d{position}.code = a.c{position}")
        if position not in persons.person:
            names[item.column.name] = f"c{position}"
    for place, plain_column in enumerate(owned.kept):
        columns.append(f"a.k{place}")
        names[plain_column.name] = f"k{place}"
    table = engine.materialize(
        "linked", f"SELECT {', '.join(columns)}, a.n FROM {owned.table} AS a {' '.join(joins)}"
    )
    of_source = fingerprint([text(column(owned.coded[p].column.name, "s")) for p in persons.person])
    who = fingerprint([text(column(f"c{position}", "s")) for position in persons.person])
    return OwnedRows(table, who, of_source, names, "n")
