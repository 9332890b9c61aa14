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
from ppdm_sql.methods.top_down.counts import (
    Counted,
    CountTable,
    GroupsByValue,
    Params,
    names_of,
    worst_of,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts, refined
from ppdm_sql.methods.top_down.measuring import Measure, MeasuredTable, worst_after
from ppdm_sql.privacy import Formula


class PersonTable(CountTable):
    """The combinations of each person: ``c<i>, person``, and ``p<j>``, 1 where a record of theirs has it."""

    element = "person"

    def _made(self) -> str:
        held = [f"(c{i} = {code})::UTINYINT" for i, code in self.counted]
        columns = [*(f"c{i}" for i in self.attributes), "person"]
        values = [f"max({text}) AS p{j}" for j, text in enumerate(held)]
        text = f"SELECT {', '.join([*columns, *values])} FROM {self.atoms.table} GROUP BY ALL"
        return str(self.engine.materialize("people", text))

    def merged(self, names: Sequence[str]) -> str:
        return ", ".join([self.element, *(f"max({name}) AS {name}" for name in names[1:])])

    def counts(self, names: Sequence[str]) -> str:
        return ", ".join(["count(*)::BIGINT AS n", *(f"sum({name})::BIGINT AS {name}" for name in names[1:])])

    def read(self, names: Sequence[str]) -> list[str]:
        return [self.element, *names[1:]]

    def _after_disclosures(
        self, parts: Sequence[str], groups: Sequence[str], names: Sequence[str], formulas: Sequence[Formula]
    ) -> str:
        return " UNION ALL ".join(self._without(part, ", ".join(groups), names, formulas) for part in parts)

    def _without(self, part: str, groups: str, names: Sequence[str], formulas: Sequence[Formula]) -> str:
        """Measure states without a part of each group, where ``lost_n`` have no other value of it."""
        held = names[1:]
        having = ", ".join(["count(*) AS parts", *(f"sum({name}) AS having_{name}" for name in held)])
        whole = ["count(*)::BIGINT AS total_n"]
        whole += [f"count(*) FILTER (having_{name} > 0)::BIGINT AS total_{name}" for name in held]
        lost = ["count(*) FILTER (parts = 1)::BIGINT AS lost_n"]
        lost += [f"count(*) FILTER ({c} = 1 AND having_{c} = 1)::BIGINT AS lost_{c}" for c in held]
        merged = self.merged(names)
        sets = f"SELECT {groups}, {part} AS part, {merged} FROM coded WHERE {part} >= -1 GROUP BY ALL"
        numbers = ", ".join(_taken_out(names, formula) for formula in formulas)
        return (
            f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM (WITH sets AS MATERIALIZED ({sets}), "
            f"each AS MATERIALIZED (SELECT {groups}, person, {having} FROM sets GROUP BY {groups}, person), "
            f"parts AS (SELECT {groups}, part, {self.counts(names)}, {', '.join(lost)} FROM sets "
            f"JOIN each USING ({groups}, person) WHERE part >= 0 GROUP BY {groups}, part), "
            f"wholes AS (SELECT {groups}, {', '.join(whole)} FROM each GROUP BY {groups}) "
            f"SELECT * FROM parts JOIN wholes USING ({groups})) GROUP BY candidate"
        )

    def _by_value(self, keys: Sequence[str], part: str, value: str, params: Params) -> GroupsByValue:
        """Give persons by the first and the last value that they have.

        A boundary has to its left who has a first value there, and to its right who has a last one: some are
        on both sides.
        """
        groups, sets_by = ", ".join(names_of(keys)), [*keys, f"{part} AS part"]
        ends = [
            f"{end}({value}){'' if name == 'n' else f' FILTER ({name} = 1)'} AS {which}_{name}"
            for name in self.names
            for end, which in (("min", "first"), ("max", "last"))
        ]
        sets = f"SELECT {', '.join([*sets_by, *ends])} FROM {self.rows} GROUP BY {groups}, part, person"
        counted = [(f"first_{name}", name) for name in self.names]
        counted += [(f"last_{name}", f"last_{name}") for name in self.names]
        events = " UNION ALL ".join(
            f"SELECT {groups}, part, {code} AS code, "
            + ", ".join(f"{int(code == other)} AS {name}" for other, name in counted)
            + f" FROM sets WHERE {code} IS NOT NULL"
            for code, _ in counted
        )
        text = f"WITH sets AS MATERIALIZED ({sets}) {events}"
        return GroupsByValue(text, names_of(keys), params, lasts=True)


class PersonMeasure(Measure):
    """Measures states in persons; what the release tells of classes and information stays in records."""

    ahead = lists = False

    def table(self, attributes: Sequence[int], counted: Sequence[Counted]) -> PersonTable:
        return PersonTable(self._engine, self._atoms, attributes, counted)

    def _after(
        self, measured: MeasuredTable, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]
    ) -> Floats:
        positions, table, formulas = measured
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


def _taken_out(names: Sequence[str], formula: Formula) -> str:
    whole, part = ({c: name.format(c) for c in names} for name in ("total_{}", "{}"))
    rest = {c: f"(total_{c} - lost_{c})" for c in names}
    if formula.total == "sum":
        return f"sum({formula.of(whole)} - ({formula.of(part)} + {formula.of(rest)}))"
    return f"{formula.total}({worst_of(formula, (part, rest))})"
