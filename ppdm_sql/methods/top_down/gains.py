"""HCE-TDR's gain: how much a refinement tells of the class, given all condition attributes.

Source: "Anonymizing classification data using rough set theory" (2013), sections 3 to 5: the data quality of
a table is H(D | P u Q), the entropy of the class D over the equivalence classes of all condition attributes,
the quasi-identifier Q at the present cut and the others, P, at full detail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.counts import CountTable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.score import LITERAL, Worth, by_chance
from ppdm_sql.privacy.formula import Columns, Formula, sum_of


class ConditionalEntropy:
    """Gains by the reduction of H(D | P u Q), in bits per record of the table; a GROUP BY for each state."""

    least = -np.inf
    """Candidates that gain less are not beneficial in the present state; in a later one they may be."""

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        classes: int,
        worth: Worth = LITERAL,
    ) -> None:
        counted = [(classes, code) for code in range(atoms.coded[classes].size - 1)]
        self._records, self.worth = atoms.records, worth
        self._values = atoms.coded[classes].size
        entropy = class_entropy([f"p{j}" for j in range(len(counted))])
        self._formulas = [entropy, replace(entropy, formula=lambda _: "1")]
        self._table = CountTable(engine, atoms, attributes, counted)
        self._parts: list[Codes] = []
        self._known: dict[Candidate, float] = {}

    def of(self, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        """Give the gains of candidates, and measure those that were not yet asked about in this state.

        A state is the parts of its cuts: where a boundary falls and another takes its place, they stay.
        """
        parts = [cut.parts for cut in cuts]
        if not (self._parts and all(map(np.array_equal, parts, self._parts))):
            self._parts, self._known = parts, {}
        if new := [candidate for candidate in candidates if candidate not in self._known]:
            self._known.update(zip(new, self._falls(cuts, new).tolist(), strict=True))
        return np.array([self._known[candidate] for candidate in candidates], dtype=np.float64)

    def _falls(self, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        """Measure by what the entropy falls after each of some candidates, and what that is worth."""
        told, groups = self._table.after(cuts, candidates, self._formulas).T
        told = repeatable(told)
        if self.worth.literal:
            return told / self._records
        chance = by_chance(1 - np.nan_to_num(groups), self._values)  # in groups of more than one class
        return self.worth.gains(told, chance, self._records, np.zeros(len(told)))

    def detail(self) -> float:
        """Give H(D | P u Q) of the source, in bits a record; ask before the first step."""
        return float(repeatable(self._table.source(self._formulas[:1]))[1]) / self._records

    def now(self, cuts: Cuts) -> float:
        """Give H(D | P u Q) of a state."""
        return float(repeatable(self._table.state(cuts, self._formulas[:1]))[1]) / self._records


def repeatable(sums: Floats) -> Floats:
    """Round sums to twelve digits; the last bits of a parallel sum depend on its order. No sum is 0.

    Example:
        >>> repeatable(np.array([0.1 + 0.2, np.nan]))
        array([0.3, 0. ])
    """
    return np.array([float(f"{number:.12g}") for number in np.nan_to_num(sums)])


def class_entropy(classes: Sequence[str]) -> Formula:
    """The entropy of the classes left in the groups, the sum of n I(R), in bits; one class is the rest.

    Divided by the records it is H(D | attributes), the conditional entropy of the decision.
    """

    def rest(c: Columns) -> str:
        return " - ".join([c["n"], *(c[v] for v in classes)])

    def formula(c: Columns) -> str:
        each = sum_of(_times_log(f"({part})") for part in (rest(c), *(c[v] for v in classes)))
        return f"greatest({_times_log(c['n'])} - ({each}), 0)"

    def pure(c: Columns) -> str:
        return f"greatest({', '.join([rest(c), *(c[v] for v in classes)])}) = {c['n']}"

    return Formula("sum", ("n", *classes), formula, pure)


def _times_log(number: str) -> str:
    return f"{number} * log2(greatest({number}, 1))"
