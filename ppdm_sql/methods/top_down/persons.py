"""Measures states where requirements count persons, of whom one may have records in several groups.

Persons do not add up: who has records in two parts of a group is in both, and once in the group. So groups
and parts are first made into sets of persons (a row for each group, part and person), which are then counted.
A number that refinement only brings nearer to its limit is read off the groups that a candidate splits, as
where records are counted; one that refinement can repair, as a template's, off the whole of every state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.top_down.constraints import Constraint
from ppdm_sql.methods.top_down.counts import (
    Counted,
    CountTable,
    GroupsByValue,
    Params,
    by_candidate,
    coded,
    group_names,
    needed,
    split_by,
    totals,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts, refined
from ppdm_sql.methods.top_down.measuring import Measure, MeasuredTable, formula_of, worst_after
from ppdm_sql.privacy import Formula


class PersonTable(CountTable):
    """The combinations of each person: ``c<i>, person``, and ``p<j>``, 1 where a record of theirs has it."""

    def _made(self) -> str:
        held = [f"(c{i} = {code})::UTINYINT" for i, code in self.counted]
        columns = [*(f"c{i}" for i in self.attributes), "person"]
        values = [f"max({text}) AS p{j}" for j, text in enumerate(held)]
        text = f"SELECT {', '.join([*columns, *values])} FROM {self.atoms.table} GROUP BY ALL"
        return str(self.engine.materialize("people", text))

    def source(self, formulas: Sequence[Formula]) -> Floats:
        keys = [f"c{i} AS group{place}" for place, i in enumerate(self.attributes)]
        return np.array(self.engine.query(state_sql(self.rows, keys, formulas), step="detail")[0], np.float64)

    def state(self, cuts: Cuts, formulas: Sequence[Formula]) -> Floats:
        keys, params = self._keys(cuts)
        text = state_sql(self.rows, keys, formulas)
        return np.array(self.engine.query(text, params, step="state")[0], np.float64)

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        read = np.full((len(candidates), len(formulas)), np.nan)
        for attribute in dict.fromkeys(attribute for attribute, _ in candidates):
            rows = [row for row, (other, _) in enumerate(candidates) if other == attribute]
            split = split_by(cuts, [candidates[row] for row in rows])
            keys, params = self._keys(cuts, but=split.parts)
            parts, own = coded(split.parts, "part")
            write = disclosed_sql if attribute in split.rests else specialized_sql
            text = write(self.rows, keys, parts[attribute], formulas)
            found = self.engine.query(text, {**params, **own, "candidate": split.owner}, step="after")
            read[rows] = by_candidate(found, len(rows), len(formulas))
        return read

    def _by_value(self, keys: Sequence[str], part: str, value: str, params: Params) -> GroupsByValue:
        text = by_value_sql(self.rows, keys, part, value, self.names)
        return GroupsByValue(text, group_names(keys), params, lasts=True)


class PersonMeasure(Measure):
    """Measures states in persons; what the release tells of classes and information stays in records."""

    ahead = False

    def _add(self, constraints: Sequence[Constraint], positions: list[int]) -> None:
        counted: dict[Counted, str] = {}
        formulas = [formula_of(self._engine, self._atoms, constraint, counted) for constraint in constraints]
        attributes = sorted(constraints[0].attributes)
        table = PersonTable(self._engine, self._atoms, attributes, list(counted))
        self._measured.append(MeasuredTable(table, positions, formulas, []))
        if self._classes is not None:
            self._add_information(attributes)

    def _after(
        self, measured: MeasuredTable, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]
    ) -> Floats:
        table, positions, formulas, _ = measured
        lasting = self._lasting[positions]
        numbers = np.empty((len(candidates), len(positions)))
        if lasting.any():
            asked = [formulas[n] for n in np.flatnonzero(lasting)]
            numbers[:, lasting] = worst_after(known[lasting], table.after(cuts, candidates, asked), asked)
        if not lasting.all():
            asked = [formulas[n] for n in np.flatnonzero(~lasting)]
            states = (refined(cuts, candidate) for candidate in candidates)
            numbers[:, ~lasting] = np.array([table.state(state, asked)[1:] for state in states])
        return numbers


# -- the statements: those of counts.py, with persons in the place of records ---------------------------


def state_sql(people: str, keys: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Measure a state: the number of groups, then the formulas'."""
    names, groups = needed(formulas), ", ".join(group_names(keys))
    sets = f"SELECT {', '.join([*keys, 'person', *_most(names[1:])])} FROM {people} GROUP BY ALL"
    counted = f"SELECT {groups}, {_counts(names)} FROM ({sets}) GROUP BY {groups}"
    return f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM ({counted})"


def specialized_sql(people: str, keys: Sequence[str], part: str, formulas: Sequence[Formula]) -> str:
    """Measure the states after candidates that split groups of their own, a row each."""
    names, groups = needed(formulas), ", ".join(group_names(keys))
    read = ", ".join([*keys, f"{part} AS part", "person", *_most(names[1:])])
    sets = f"SELECT {read} FROM {people} WHERE {part} >= 0 GROUP BY ALL"
    owner = "$candidate[part + 1] AS candidate"
    parts = f"SELECT {groups}, {owner}, {_counts(names)} FROM sets GROUP BY {groups}, part"
    if formulas[0].total != "sum":
        return (
            f"WITH sets AS ({sets}) SELECT candidate, {', '.join(totals(formulas))} FROM ({parts}) "
            "GROUP BY candidate"
        )
    merged = f"SELECT {', '.join([groups, owner, 'person', *_most(names[1:])])} FROM sets GROUP BY ALL"
    whole = f"SELECT {groups}, candidate, {_counts(names)} FROM ({merged}) GROUP BY {groups}, candidate"
    own = {name: name for name in names}
    plus, minus = (
        ", ".join(f"{sign}({f.of(own)}) AS fall{j}" for j, f in enumerate(formulas)) for sign in ("", "-")
    )
    falls = ", ".join(f"sum(fall{j})" for j in range(len(formulas)))
    return (
        f"WITH sets AS MATERIALIZED ({sets}) SELECT candidate, {falls} FROM (SELECT candidate, {plus} "
        f"FROM ({whole}) UNION ALL SELECT candidate, {minus} FROM ({parts})) GROUP BY candidate"
    )


def disclosed_sql(people: str, keys: Sequence[str], part: str, formulas: Sequence[Formula]) -> str:
    """Measure the states after candidates that each take a value out of a group, a row each.

    The rest of a group is not its total less the part: it loses only those persons who have no other value of
    the group's, whom ``lost_n`` counts.
    """
    names, groups = needed(formulas), ", ".join(group_names(keys))
    held = names[1:]
    read = ", ".join([*keys, f"{part} AS part", "person", *_most(held)])
    having = ", ".join(["count(*) AS parts", *(f"sum({name}) AS having_{name}" for name in held)])
    whole = ["count(*)::BIGINT AS total_n"]
    whole += [f"count(*) FILTER (having_{name} > 0)::BIGINT AS total_{name}" for name in held]
    lost = ["count(*) FILTER (parts = 1)::BIGINT AS lost_n"]
    lost += [f"count(*) FILTER ({name} = 1 AND having_{name} = 1)::BIGINT AS lost_{name}" for name in held]
    numbers = ", ".join(_without(names, formula) for formula in formulas)
    return (
        f"WITH sets AS MATERIALIZED (SELECT {read} FROM {people} WHERE {part} >= -1 GROUP BY ALL), "
        f"each AS MATERIALIZED (SELECT {groups}, person, {having} FROM sets GROUP BY {groups}, person), "
        f"parts AS (SELECT {groups}, part, {_counts(names)}, {', '.join(lost)} FROM sets "
        f"JOIN each USING ({groups}, person) WHERE part >= 0 GROUP BY {groups}, part), "
        f"wholes AS (SELECT {groups}, {', '.join(whole)} FROM each GROUP BY {groups}) "
        f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM parts JOIN wholes USING ({groups}) "
        "GROUP BY candidate"
    )


def by_value_sql(people: str, keys: Sequence[str], part: str, value: str, names: Sequence[str]) -> str:
    """Write the groups by the values of an attribute: persons by the first and the last one that they have.

    A boundary has to its left who has a first value there, and to its right who has a last one: some are on
    both sides.
    """
    groups = ", ".join(group_names(keys))
    ends = [
        f"{end}({value}){'' if name == 'n' else f' FILTER ({name} = 1)'} AS {which}_{name}"
        for name in names
        for end, which in (("min", "first"), ("max", "last"))
    ]
    sets = (
        f"SELECT {', '.join([*keys, f'{part} AS part', *ends])} FROM {people} GROUP BY {groups}, part, person"
    )
    counted = [(f"first_{name}", name) for name in names] + [
        (f"last_{name}", f"last_{name}") for name in names
    ]
    events = " UNION ALL ".join(
        f"SELECT {groups}, part, {code} AS code, "
        + ", ".join(f"{int(code == other)} AS {name}" for other, name in counted)
        + f" FROM sets WHERE {code} IS NOT NULL"
        for code, _ in counted
    )
    return f"WITH sets AS MATERIALIZED ({sets}) {events}"


def _without(names: Sequence[str], formula: Formula) -> str:
    """Write a state's number after parts are taken out of groups; for a sum, what it falls by."""
    whole, part = ({c: name.format(c) for c in names} for name in ("total_{}", "{}"))
    each = [formula.of(part), formula.of({c: f"(total_{c} - lost_{c})" for c in names})]
    if formula.total == "sum":
        return f"sum({formula.of(whole)} - ({' + '.join(each)}))"
    return f"{formula.total}({'least' if formula.total == 'min' else 'greatest'}({', '.join(each)}))"


def _counts(names: Sequence[str]) -> str:
    """Count the persons of a set, and those who have each value."""
    return ", ".join(["count(*)::BIGINT AS n", *(f"sum({name})::BIGINT AS {name}" for name in names[1:])])


def _most(names: Sequence[str]) -> list[str]:
    return [f"max({name}) AS {name}" for name in names]
