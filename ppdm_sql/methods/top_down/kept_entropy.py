"""HCE-TDR's gain where records may be left out: what a release tells of the class that lacks them.

Detail about a record that is left out tells nobody anything. So the entropy of a state is that of the class
over the equivalence classes that are kept, with all that is left out as one class more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.conditional_entropy import ConditionalEntropy, class_entropy, repeatable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.left_out import AllowedConstraints, ClassRule, broken
from ppdm_sql.methods.top_down.left_out_measure import SweptGrouping, asked_groupings
from ppdm_sql.methods.top_down.score import LEAST_GAIN, total_entropy
from ppdm_sql.privacy.formula import Columns, Formula

NOISE = 2e-11
"""A difference of sums of twelve digits below this share of them is rounding error."""


class KeptEntropy(ConditionalEntropy):
    """Gains by the reduction of H(D | Q), in bits per record of the table, what is left out as one class.

    A gain can be below 0: where a step costs the release more records than the others' detail is worth.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        constraints: Of one set of columns, which are all attributes; none compares a class with the table.
        classes: Position of the class attribute.
        horizon: For each attribute, the parts that the first states can tell apart.

    Cost: that of :class:`ConditionalEntropy`, and as much for the classes that break a requirement.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        constraints: AllowedConstraints,
        classes: int,
        horizon: Sequence[Codes],
    ) -> None:
        (asked,) = asked_groupings(atoms, constraints.asked)
        counted, self._records = dict(asked.counted), atoms.records
        self._state, self._known = [], {}
        values = [(classes, code) for code in range(atoms.coded[classes].size - 1)]
        names = [counted.setdefault(value, f"p{len(counted)}") for value in values]
        self._kept = kept_entropy(asked.rules(engine, atoms), names)
        self._formula = [class_entropy(names)]
        self._grouping = self._swept = SweptGrouping(engine, atoms, asked.attributes, list(counted), horizon)

    def beneficial(
        self, opened: list[tuple[Codes, Codes]], gains: Sequence[Floats]
    ) -> tuple[list[tuple[Codes, Codes]], Sequence[Floats]]:
        """Leave out candidates whose gain is below 0 in this state; in a later one it may not be."""
        told = [found > -LEAST_GAIN for found in gains]
        kept = [(ids[here], smallest[here]) for (ids, smallest), here in zip(opened, told, strict=True)]
        return kept, [found[here] for found, here in zip(gains, told, strict=True)]

    def _falls(self, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        before = self._together(self._swept.chain([cuts], self._kept))
        after = self._together(self._swept.after(cuts, candidates, self._kept))
        falls = np.where(abs(before - after) > NOISE * before, before - after, 0.0)
        return np.asarray(falls / self._records)

    @staticmethod
    def _together(read: Floats) -> Floats:
        """Add the entropy of what is left out, whose class counts are all but the first of the numbers."""
        left = np.nan_to_num(read[:, 1:]).astype(np.int64)
        return repeatable(np.nan_to_num(read[:, 0]) + total_entropy(left))


def kept_entropy(rules: Sequence[ClassRule], classes: Sequence[str]) -> list[Formula]:
    """Give the entropy of the classes in the groups that break no rule, in bits; then the records by class
    of those that do, the rest first.
    """  # noqa: D205
    entropy = class_entropy(classes)
    columns = tuple(
        dict.fromkeys(("n", *classes, *(name for rule in rules for name in rule.formula.columns)))
    )

    def kept(c: Columns) -> str:
        return f"CASE WHEN {broken(rules, c)} THEN 0 ELSE {entropy.of(c)} END"

    def left(own: str) -> Formula:
        def records(c: Columns) -> str:
            number = c[own] if own != "n" else " - ".join([c["n"], *(c[name] for name in classes)])
            return f"CASE WHEN {broken(rules, c)} THEN {number} ELSE 0 END"

        return Formula("sum", columns, records)

    return [Formula("sum", columns, kept), left("n"), *(left(name) for name in classes)]
