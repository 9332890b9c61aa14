"""Measures states where requirements count persons, of whom one may have records in several groups.

A number that refinement only brings nearer to its limit is read from the groups that a candidate splits, as
where records are counted. One that refinement can repair, as a template's, is measured afresh over the whole
of every state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.boundaries import GroupsByValue
from ppdm_sql.methods.top_down.constraints import Constraint
from ppdm_sql.methods.top_down.count_tables import Counted, CountTable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts, refined
from ppdm_sql.methods.top_down.grouping_sql import group_keys, is_smallest_class
from ppdm_sql.methods.top_down.groupings import CountedGrouping, by_candidate, numbered_parts
from ppdm_sql.methods.top_down.measuring import (
    GroupingMeasure,
    InformativeGrouping,
    MeasuredGrouping,
    formula_of,
    worst_after,
)
from ppdm_sql.methods.top_down.person_sql import (
    disclosed_sql,
    people_sql,
    persons_by_value_sql,
    specialized_sql,
    state_sql,
)
from ppdm_sql.privacy import Formula


class PersonGrouping(CountedGrouping):
    """A grouping in which the persons of each group are counted.

    Beside the table of counts, which tells how many records a group has, it keeps the combinations of each
    person, in the same codes.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        counted: Sequence[Counted],
        horizon: Sequence[Codes],
    ) -> None:
        super().__init__(engine, atoms, attributes, (), horizon)
        self._values, self._people = tuple(counted), None
        query = f"SELECT max(n) FROM (SELECT sum(n)::BIGINT AS n FROM {atoms.table} GROUP BY person)"
        ((self._most,),) = engine.query(query, step="records_of_a_person")

    _people: Table | None

    def detail(self, formulas: Sequence[Formula]) -> Floats:
        names = [f"c{i}" for i in self.attributes]
        people = f"({people_sql(self._atoms.table, names, self._values)})"
        groups = [f"{name} AS group{number}" for number, name in enumerate(names)]
        return np.array(self._engine.query(state_sql(people, groups, formulas), step="detail")[0], np.float64)

    def counted_chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        rows = []
        for cuts in states:
            _, keys, params = self._present(cuts, {})
            text = state_sql(str(self._table()), group_keys(keys)[0].split(", "), formulas)
            rows += self._engine.query(text, params, step="measure_persons")
        return np.array(rows, dtype=np.float64)

    def after_disclosures(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        labels: dict[int, Codes] = {}
        for number, (attribute, candidate) in enumerate(candidates):
            (taken,) = cuts[attribute].split(candidate)
            parts = cuts[attribute].parts
            label = labels.setdefault(attribute, np.where(parts == parts[taken[0]], -1, -2))
            label[taken] = number
        read = np.full((len(candidates), len(formulas)), np.nan)
        for attribute, label in labels.items():
            counts, keys, params = self._present(cuts, {attribute: label})
            params |= {"label": label[counts.values[attribute]].tolist(), **self._bound(formulas)}
            text = disclosed_sql(self._table(), counts.table, keys, attribute, formulas)
            rows = self._engine.query(text, params, step="persons_beside")
            found = by_candidate(rows, len(candidates), len(formulas))
            own = [row for row, candidate in enumerate(candidates) if candidate[0] == attribute]
            read[own] = found[own]
        return read

    def after_specializations(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        read = np.full((len(candidates), len(formulas)), np.nan)
        for attribute in dict.fromkeys(attribute for attribute, _ in candidates):
            rows = [row for row, (other, _) in enumerate(candidates) if other == attribute]
            read[rows] = self._within(cuts, attribute, [candidates[row][1] for row in rows], formulas)
        return read

    def _within(
        self, cuts: Cuts, attribute: int, candidates: Sequence[int], formulas: Sequence[Formula]
    ) -> Floats:
        some = [(attribute, candidate) for candidate in candidates]
        parts, owner = numbered_parts(cuts, some, range(len(some)))
        part = parts[attribute]
        counts, keys, params = self._present(cuts, {attribute: part}, grouped=False)
        params |= {"part": part[counts.values[attribute]].tolist(), "candidate": owner}
        params |= self._bound(formulas)
        text = specialized_sql(self._table(), counts.table, keys, attribute, formulas)
        rows = self._engine.query(text, params, step="persons_within")
        return by_candidate(rows, len(candidates), len(formulas))

    def by_value(self, cuts: Cuts, attribute: int, part: Codes, boundaries: Codes) -> GroupsByValue:
        counts, keys, params = self._present(cuts, {attribute: part}, grouped=False)
        starts, codes = counts.values[attribute], counts.codes[attribute]
        in_order = bool((np.diff(codes) >= 0).all())
        if in_order and bool((codes[boundaries] > codes[boundaries - 1]).all()):
            text, groups = persons_by_value_sql(str(self._table()), keys, attribute, len(self._values))
            return GroupsByValue(text, groups, params | {"part": part[starts].tolist()}, starts, lasts=True)
        # The table has merged some of these values for good, so they are read from the atoms this once.
        others = [i for i in self.attributes if i != attribute]
        people = people_sql(self._atoms.table, [f"c{i}" for i in self.attributes], self._values)
        params = {f"key{i}": cuts[i].parts.tolist() for i in others}
        text, groups = persons_by_value_sql(
            f"({people})", [[i] for i in others], attribute, len(self._values)
        )
        return GroupsByValue(text, groups, params | {"part": part.tolist()}, np.arange(len(part)), lasts=True)

    def whole_after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        """Measure the whole state after each candidate, also the groups that it does not split."""
        states = [refined(cuts, candidate) for candidate in candidates]
        return self.chain(states, formulas)

    def _bound(self, formulas: Sequence[Formula]) -> dict[str, object]:
        return {"most": self._most} if is_smallest_class(formulas) else {}

    def _table(self) -> Table:
        """Give the combinations of each person in the codes of the table of counts."""
        if self._people is None:
            columns, params = [], dict[str, object]()
            for i, codes in self._base.codes.items():
                same = np.array_equal(codes, np.arange(len(codes)))  # merging may number values anew
                text, own = (f"c{i}", {}) if same else recoded(f"c{i}", codes, f"code{i}", "UINTEGER")
                params |= own
                columns.append(f"{text} AS c{i}")
            query = people_sql(self._atoms.table, columns, self._values)
            self._people = self._engine.materialize("people", query, params)
        return self._people

    def _replace(self, base: CountTable) -> None:
        super()._replace(base)
        if self._people is not None:
            self._engine.discard(self._people)
            self._people = None


class PersonMeasure(GroupingMeasure):
    """Measures states in persons; what the release tells of classes and information stays in records.

    Cost: a scan of the combinations of all persons for each attribute whose candidates are measured; for
    requirements that refinement can repair, one for each candidate of every state.
    """

    measures_ahead = False

    def _add(self, constraints: Sequence[Constraint], positions: list[int]) -> None:
        engine, atoms = self._engine, self._atoms
        counted: dict[Counted, str] = {}
        formulas = [formula_of(engine, atoms, constraint, counted) for constraint in constraints]
        attributes = sorted(constraints[0].attributes)
        people = PersonGrouping(engine, atoms, attributes, list(counted), self._horizon)
        self._measured.append(MeasuredGrouping(people, positions, formulas))
        if self._classes is not None and tuple(attributes) not in self._informative:
            of_class: dict[Counted, str] = {}
            information = self.information_formulas(of_class)
            records = CountedGrouping(engine, atoms, attributes, list(of_class), self._horizon)
            self._informative[tuple(attributes)] = InformativeGrouping(records, information)

    def _numbers_after(
        self, measured: MeasuredGrouping, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]
    ) -> Floats:
        grouping, positions, formulas = measured
        lasting = self._lasting[positions]
        numbers = np.empty((len(candidates), len(positions)))
        if lasting.any():
            asked = [formulas[n] for n in np.flatnonzero(lasting)]
            read = grouping.after(cuts, candidates, asked)
            numbers[:, lasting] = worst_after(known[lasting], read, asked)
        if not lasting.all():
            assert isinstance(grouping, PersonGrouping)  # populations are asked for lasting ones only
            asked = [formulas[n] for n in np.flatnonzero(~lasting)]
            numbers[:, ~lasting] = grouping.whole_after(cuts, candidates, asked)
        return numbers
