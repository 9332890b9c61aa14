"""HCE-TDR's gain: how much a refinement tells of the class, given all condition attributes.

Source: "Anonymizing classification data using rough set theory" (2013), sections 3 to 5: the data quality of
a table is H(D | P u Q), the entropy of the class D over the equivalence classes of all condition attributes,
the quasi-identifier Q at the present cut and the others, P, at full detail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.cuts import Cuts
from ppdm_sql.methods.top_down.formulas import class_entropy
from ppdm_sql.methods.top_down.groupings import Grouping


class ConditionalEntropy:
    """Gains by the reduction of H(D | P u Q), in bits per record of the table.

    Args:
        engine: Where the atoms are.
        atoms: The collapsed source.
        attributes: Positions of all condition attributes, those of P among them.
        classes: Position of the class attribute.
        horizon: For each attribute, the parts that the first states can tell apart.

    Cost: one scan of the atoms, then one scan of the grid a step.
    """

    local = False

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        classes: int,
        horizon: Sequence[Codes],
    ) -> None:
        counted = [(classes, code) for code in range(atoms.coded[classes].size - 1)]
        self._records = atoms.records
        self._reading = class_entropy([f"p{j}" for j in range(len(counted))])
        self._channel = Grouping(engine, atoms, attributes, counted, horizon)
        self._known: tuple[Cuts, list[Codes], list[Floats]] | None = None

    def of(self, cuts: Cuts, candidates: Sequence[Codes]) -> Sequence[Floats]:
        """Measure the gains of candidates, in a new state of all that are given, later of some of them."""
        if self._known is None or self._known[0] is not cuts:
            self._known = cuts, list(candidates), self._measured(cuts, candidates)
        _, known, gains = self._known
        pairs = zip(candidates, known, gains, strict=True)
        return [found[np.isin(every, ids)] for ids, every, found in pairs]

    def _measured(self, cuts: Cuts, candidates: Sequence[Codes]) -> list[Floats]:
        gains = [np.zeros(len(ids)) for ids in candidates]
        for disjoint, read in ((True, self._channel.apart), (False, self._channel.beside)):
            places = [
                (a, row)
                for a, ids in enumerate(candidates)
                for row in range(len(ids))
                if cuts[a].disjoint == disjoint
            ]
            if places:
                asked = [(a, int(candidates[a][row])) for a, row in places]
                falls = repeatable(read(cuts, asked, [self._reading])[:, 0]) / self._records
                for (a, row), gain in zip(places, falls, strict=True):
                    gains[a][row] = gain
        return gains

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Merge what no reachable state tells apart."""
        self._channel.shrink(reachable)

    def detail(self) -> float:
        """Give H(D | P u Q) of the source, in bits a record; ask before the first step."""
        return float(repeatable(self._channel.detail([self._reading]))[1]) / self._records

    def now(self, cuts: Cuts) -> float:
        """Give H(D | P u Q) of a state."""
        return float(repeatable(self._channel.path([cuts], [self._reading])[0])[0]) / self._records


def repeatable(sums: Floats) -> Floats:
    """Round sums to twelve digits; the last bits of a parallel sum depend on its order. No sum is 0.

    Example:
        >>> repeatable(np.array([0.1 + 0.2, np.nan]))
        array([0.3, 0. ])
    """
    return np.array([float(f"{number:.12g}") for number in np.nan_to_num(sums)])
