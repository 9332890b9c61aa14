"""Average risk of re-identification: ``average risk <= 5% on Sex, Job``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import grammar
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.limits import SHARES, at_most, rounded_up
from ppdm_sql.privacy.quoting import name_list, percent
from ppdm_sql.privacy.requirement import Audited, AuditStep, ClassRequirement, Counts, check_columns

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

_OPENING = re.compile(r"average(?=\s+risk(?![\w$]))", re.IGNORECASE)
_RISK = re.compile("risk", re.IGNORECASE)


@dataclass(frozen=True)
class AverageRisk(ClassRequirement):
    """Of all records, at most the share ``risk`` is expected to be re-identified.

    Who knows the quasi-identifier of everybody, and guesses among the records of a class, finds one in each:
    the risk of the table is its classes divided by its records, the mean of 1 / class size over the records.

    Args:
        risk: The largest average allowed, in (0, 1].
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: The risk is out of range, or the list is empty.
        ColumnRoleError: A column is named twice.

    Source: El Emam, Dankar 2008. Refinement splits classes, and the records stay as many.

    Example:
        >>> str(AverageRisk(Fraction(1, 20), ("Sex", "Job")))
        'average risk <= 5% on Sex, Job'
    """

    risk: Fraction
    quasi_identifier: tuple[str, ...]

    example = "average risk <= 5% on Sex, Job"
    other_spelling = "risk"
    counts = Counts.GROUPS
    worst = "max"
    monotone_persons = True
    form = "average risk"
    measured = "average risk"

    def __post_init__(self) -> None:
        if not 0 < self.risk <= 1:
            raise InvalidOption(
                f"An average risk of {percent(self.risk)} is outside (0, 1].",
                "Give a fraction such as 0.05 or a percentage such as 5%.",
            )
        check_columns(self)

    @classmethod
    def read(cls, reader: Reader) -> AverageRisk | None:
        """Read ``average risk <= 5% on Sex, Job``."""
        if not reader.accept(_OPENING):
            return None
        reader.example = cls.example
        reader.expect(_RISK, "'risk'")
        limited = grammar.bounded(reader, grammar.AT_MOST, "'<='", grammar.ON)
        most = reader.share() if limited else Fraction(1)
        return cls(most, grammar.quasi_identifier(reader))

    def written(self, *, limit: bool = True) -> str:
        """Write it down, with its limit or without."""
        bound = f" <= {percent(self.risk)}" if limit else ""
        return f"{self.form}{bound} on {name_list(self.quasi_identifier)}"

    @property
    def limit(self) -> Fraction:
        return self.risk

    def over(self, attributes: tuple[str, ...], sensitive_columns: tuple[str, ...]) -> AverageRisk:
        return replace(self, quasi_identifier=attributes)

    def formula(self, values: ValueCounts) -> Formula:
        """The classes divided by the records."""
        records = values.records
        return Formula("sum", ("n",), lambda c: f"CASE WHEN {c['n']} > 0 THEN 1 / {records} ELSE 0 END")

    def search_limit(self, records: int) -> float:
        # Sums of fractions are inexact, so the limit lies halfway between two numbers of classes.
        return (math.floor(self.risk * records) + 0.5) / records

    def audit_step(self, table: Audited) -> AuditStep:
        risk = at_most(self.risk, SHARES)
        limit = {"risk_numerator": risk.numerator, "risk_denominator": risk.denominator}
        return AuditStep("average_risk", ("classes",), {"table_records": table.counted(), **limit})

    def amount(self, number: float) -> str:
        return f"an average risk of {100 * number:.6g} %"

    def against(self, number: float, limit: float) -> str:
        return f"an average risk of {100 * number:.4g}% of {percent(self.risk)}"

    def unmet(self, reached: float) -> tuple[str, str]:
        still = f"the average risk is still {100 * reached:.4g}%."
        least = rounded_up(round(100 * reached, 9), 1000)  # a sum of fractions may lie a little above itself
        return still, f"Ask for an average risk of at least {least:g}%"
