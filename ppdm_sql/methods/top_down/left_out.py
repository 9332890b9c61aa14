"""Records that a release may leave out: what the loop is told of a state.

Up to a share of the records may be left out: those in classes that break a requirement. The numbers of a
state are then those of the classes that are kept, and behind them how many records are not.

One quasi-identifier with k or distinct l prunes exactly: a part of a class that breaks one of them breaks it
too, so the records in such classes only become more. For k over several quasi-identifiers the same holds of
the largest set of records in which every class is good. Other models can be mended by refinement: a state
that breaks the share is not valid now, and not dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.constraints import Constraint, Constraints
from ppdm_sql.privacy import Counts, Formula
from ppdm_sql.privacy.formula import Columns
from ppdm_sql.privacy.quoting import Number, percent, read_share
from ppdm_sql.release.catalogue import LEFT_OUT


@dataclass(frozen=True)
class Allowance:
    """The largest share of the records that may be left out, in [0, 1)."""

    share: Fraction

    @classmethod
    def of(cls, share: Number) -> Allowance:
        """Read the option."""
        return cls(read_share(share, "--suppress-records", "[0, 1)"))

    def parameters(self, left_out: int) -> dict[str, object]:
        """Say what might be left out and what was, where anything might."""
        return {"suppress_records": percent(self.share), LEFT_OUT: left_out} if self.share else {}

    def most(self, records: int) -> int:
        """Give how many of so many records may be left out."""
        return int(self.share * records)


# -- the classes that break a requirement ---------------------------------------------------------


class ClassRule(NamedTuple):
    """What a constraint asks of one class."""

    formula: Formula
    limit: float
    direction: int

    def broken(self, names: Columns) -> str:
        """Write whether a class breaks it; no class, none."""
        sign = ">" if self.direction > 0 else "<"
        return f"coalesce({self.formula.of(names)} {sign} '{self.limit!r}'::DOUBLE, false)"


def broken(rules: Sequence[ClassRule], names: Columns) -> str:
    """Write whether a class breaks any of the rules."""
    return " OR ".join(rule.broken(names) for rule in rules) or "false"


# -- what the loop is told ------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOutRecords(Constraint):
    """The number of records in classes that break a requirement; nothing is lost by it."""

    @property
    def direction(self) -> int:
        """Refinement raises it."""
        return 1

    @property
    def is_class_size(self) -> bool:
        """It is in records, so the loss stays in records where all else is."""
        return True

    @property
    def is_told(self) -> bool:
        """It is a measure of its own."""
        return False


@dataclass(frozen=True)
class ShownByKept(LeftOutRecords):
    """What the records that are kept show, as a mean over all; of a candidate, by how much it rises."""


class AllowedConstraints(Constraints):
    """Constraints under an allowance: a state is valid where no more records are in bad classes than may be.

    The numbers of a state are those of the constraints over the classes that are kept, then the records left
    out, and where these are weighed, what those that are kept show.

    Args:
        constraints: What is asked of each class.
        attribute_count: Number of attributes of the run.
        allowance: What may be left out.
        records: Records of the source.
        weighed: Whether a step pays for what the records that it leaves out would have shown.
    """

    only_worse = False

    def __init__(
        self,
        constraints: Sequence[Constraint],
        attribute_count: int,
        allowance: Allowance,
        records: int,
        *,
        weighed: bool = False,
    ) -> None:
        self.asked, self.records = tuple(constraints), records
        self.most, self.share = allowance.most(records), allowance.share
        of = self.asked[0].requirement, (), float(self.most)
        shown = [ShownByKept(*of)] if weighed else []
        super().__init__([*self.asked, LeftOutRecords(*of), *shown], attribute_count)
        self.weighed = weighed
        self.monotone = all(item.requirement.breaks_in_parts for item in self.asked)
        self._sizes[:, len(self.asked) :] = False
        self.kept_from, self.least = self.least, np.zeros(attribute_count, dtype=np.int64)

    @property
    def left_out(self) -> int:
        """Where the number of records left out stands among the numbers of a state."""
        return len(self.asked)

    @property
    def compares_with_table(self) -> bool:
        """Whether a class is held against the table, which is another one where records are left out."""
        return any(item.requirement.compares_with_table for item in self.asked)

    def valid(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states leave out no more than they may."""
        left = measured[..., self.left_out]
        good = np.asarray(left <= self.most)
        for position, item in enumerate(self.asked):
            if item.requirement.counts is Counts.GROUPS:
                kept = self.records - np.nan_to_num(left).astype(np.int64)
                limits = np.vectorize(item.requirement.search_limit, otypes=[float])(np.maximum(kept, 1))
                good = good & np.asarray(measured[..., position] <= limits)
        return good

    def possible(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states may be performed: those that are valid."""
        return self.valid(measured)

    def bounded(self, attribute: int, after: Floats, smallest: Codes) -> Floats:
        """No class is larger than its smallest part, and that is kept if it is too large to be left out."""
        bound = np.where(self._sizes[attribute], np.minimum(after, smallest[:, None]), after)
        return np.where((smallest > self.most)[:, None], bound, after)

    def worst(self, measured: Floats) -> int:
        """Give what a run is said to be near to: the share."""
        return self.left_out

    def describe(self, position: int, value: float) -> str:
        """Write one number against its limit."""
        if position == self.left_out:
            return f"{value:.0f} of {self.most} records left out"
        return super().describe(position, value)

    def require_solution(self, measured: Floats) -> None:
        """Refuse to start where even the most general table would leave out too much."""
        if bool(self.valid(measured)):
            return
        left = int(measured[self.left_out])
        if left <= self.most:
            raise GuaranteeNotMet(
                "Nothing can meet the requirements: with every value masked a class still breaks one.",
                "Ask for less, or do not keep one of their attributes in the clear.",
            )
        raise GuaranteeNotMet(
            f"Nothing can meet the requirements: with every value masked {left} records are in classes that "
            f"break one, and {percent(self.share)} of the records are {self.most}.",
            "Ask for less, let --suppress-records leave out more, or do not keep one of their attributes in "
            "the clear.",
        )
