"""k-anonymity: ``k >= 4 on Sex, Job``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.limits import MOST_RECORDS
from ppdm_sql.privacy.reader import Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, ClassRequirement, Counts, check_reachable


@dataclass(frozen=True)
class KAnonymity(ClassRequirement):
    """Every existing value of the quasi-identifier is shared by at least ``k`` records.

    Args:
        k: The smallest class size allowed, in records, at least 1.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: k is out of range, or the list is empty.
        ColumnRoleError: A column is named twice.

    Source: Samarati, Sweeney 1998. Classes only shrink under refinement (Fung, Wang, Yu 2005).

    Example:
        >>> str(KAnonymity(4, ("Sex", "Job")))
        'k >= 4 on Sex, Job'
    """

    k: int
    quasi_identifier: tuple[str, ...]

    opening = re.compile(r"k(?=\s*[<>=≤≥]|\s+on(?![\w$]))", re.IGNORECASE)
    number, loosest = Reader.whole, 1
    example = "k >= 4 on Sex, Job"
    other_spelling = "anonym"
    counts = Counts.RECORDS
    worst = "min"
    monotone_persons = True
    form = "k"
    measured = "smallest class"
    limited_by = "k"
    amount_words = "a class of {:g} records"
    against_words = "{:.0f} of {:.0f} records"
    breaks_in_parts = True
    macro = "equivalence_classes"

    def check(self) -> None:
        if self.k < 1:
            raise InvalidOption(f"k = {self.k} is below 1.", "Give a whole number such as k >= 4.")
        check_reachable("k", self.k)

    def formula(self, values: ValueCounts) -> Formula:
        return Formula(self.worst, ("n",), lambda c: f"nullif({c['n']}, 0)")

    def search_limit(self, records: int) -> float:
        return float(min(self.k, MOST_RECORDS))

    def audit_step(self, table: Audited) -> AuditStep:
        return AuditStep("k_anonymity", ("classes",), {"k": self.k})

    def unmet(self, number: float) -> tuple[str, str]:
        still = f"the smallest class still has only {number:.0f} record{'s' * (number != 1)}."
        return still, f"Ask for k <= {number:.0f}"
