"""Average risk of re-identification: ``average risk <= 5% on Sex, Job``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.limits import SHARES, at_most, fraction, rounded_up
from ppdm_sql.privacy.quoting import percent
from ppdm_sql.privacy.reader import Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, ClassRequirement, Counts


@dataclass(frozen=True)
class AverageRisk(ClassRequirement):
    """Of all records, at most the share ``risk`` is expected to be re-identified.

    Who knows the quasi-identifier of everybody, and guesses among the records of a class, finds one in each:
    the risk of the table is its classes divided by its records, the mean of 1 / class size over the records.

    Source: El Emam, Dankar 2008. Refinement splits classes, and the records stay as many.
    """

    risk: Fraction
    quasi_identifier: tuple[str, ...]

    opening = re.compile(r"average\s+risk(?![\w$])", re.IGNORECASE)
    number, loosest = Reader.share, Fraction(1)
    example = "average risk <= 5% on Sex, Job"
    other_spelling = "risk"
    counts = Counts.GROUPS
    worst = "max"
    monotone_persons = True
    form = "average risk"
    measured = "average risk"
    limited_by = "risk"
    amount_words = "an average risk of {:.6g} %"
    scale = 100

    def check(self) -> None:
        if not 0 < self.risk <= 1:
            raise InvalidOption(
                f"An average risk of {percent(self.risk)} is outside (0, 1].",
                "Give a fraction such as 0.05 or a percentage such as 5%.",
            )

    def limited(self) -> str:
        return f"{self.form} <= {percent(self.risk)}"

    def formula(self, values: ValueCounts) -> Formula:
        records = values.records
        return Formula("sum", ("n",), lambda c: f"CASE WHEN {c['n']} > 0 THEN 1 / {records} ELSE 0 END")

    def search_limit(self, records: int) -> float:
        # Sums of fractions are inexact, so the limit lies halfway between two numbers of classes.
        return (math.floor(self.risk * records) + 0.5) / records

    def audit_step(self, table: Audited) -> AuditStep:
        limit = fraction("risk", at_most(self.risk, SHARES))
        return AuditStep("average_risk", ("classes",), {"table_records": table.counted(), **limit})

    def against(self, number: float, limit: float) -> str:
        return f"an average risk of {100 * number:.4g}% of {percent(self.risk)}"

    def unmet(self, number: float) -> tuple[str, str]:
        still = f"the average risk is still {100 * number:.4g}%."
        least = rounded_up(round(100 * number, 9), 1000)  # a sum of fractions may lie a little above itself
        return still, f"Ask for an average risk of at least {least:g}%"
