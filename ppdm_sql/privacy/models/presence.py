"""delta-presence: ``presence 1% to 50% on Sex, Job in population``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Self

from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import FINEST, SHARES, at_most, fraction, rounded_up
from ppdm_sql.privacy.quoting import name_list, percent
from ppdm_sql.privacy.reader import AT_LEAST, AT_MOST, ON, PopulationTable, Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, PopulationRequirement

_TO = re.compile(r"to(?![\w$])", re.IGNORECASE)
_DECIMALS = 9
"""To which a share is rounded before a limit is made of it: it was worked out in floating point."""


@dataclass(frozen=True)
class DeltaPresence(PopulationRequirement):
    """Whoever knows a person of the population is nearly as unsure as before whether the table holds them.

    Of the records of the population with the same values, the share that the table holds is between ``low``
    and ``high``. Values that the population has and the table has not have the share 0.

    Source: Nergiz, Atzori, Clifton 2007, definition 3. The share of a class is the mean of those of its
    parts, so one part has at least it, another at most.
    """

    low: Fraction
    high: Fraction
    quasi_identifier: tuple[str, ...]
    everybody: PopulationTable

    opening = re.compile(r"presence(?=\s*[<>=≤≥]|\s+[.\d]|\s+on(?![\w$]))", re.IGNORECASE)
    example = "presence 1% to 50% on Sex, Job in population"
    other_spelling = "presence"
    form = "presence"
    amount_words = "a presence of {:.6g} %"
    against_words = "a presence of {:.4g}% of {:.4g}%"
    scale = 100

    def check(self) -> None:
        if not 0 <= self.low <= self.high <= 1 or not self.high:
            raise InvalidOption(
                f"A presence of {percent(self.low)} to {percent(self.high)} is not a range in 0 to 100%.",
                "Give the smaller share first, such as presence 1% to 50%, or one limit: presence <= 50%.",
            )

    @classmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        low, high = Fraction(0), Fraction(1)
        if reader.accept(AT_LEAST):
            low = reader.share()
        elif reader.accept(AT_MOST):
            high = reader.share()
        elif reader.follows(ON):
            reader.bounded(AT_MOST, "a share, '<=' or '>='", ON)
        else:
            low = reader.share()
            reader.expect(_TO, "'to'")
            high = reader.share()
        return cls(low, high, **cls.read_columns(reader))

    def limited(self) -> str:
        if not self.low:
            return f"presence <= {percent(self.high)}"
        if self.high == 1:
            return f"presence >= {percent(self.low)}"
        return f"presence {percent(self.low)} to {percent(self.high)}"

    @property
    def worst(self) -> Literal["min", "max"]:
        """The smallest share where that alone is limited."""
        return "min" if self.low and self.high == 1 else "max"

    @property
    def limit(self) -> Fraction:
        return self.low if self.worst == "min" else self.high

    def sides(self) -> tuple[DeltaPresence, ...]:
        """Give the limit on the largest share, which finds what the population lacks, and on the smallest."""
        most = replace(self, low=Fraction(0))
        return (most, replace(self, high=Fraction(1))) if self.low else (most,)

    def formula(self, values: ValueCounts) -> Formula:
        """The largest share of a class, or the smallest of a class or of what only the population has."""
        of_all = values.population

        def share(c: Columns) -> str:
            return f"({c['n']} - {c[of_all]}) / nullif({c[of_all]}, 0)"

        def of_class(c: Columns) -> str:
            return f"CASE WHEN {c['n']} > {c[of_all]} THEN coalesce({share(c)}, 'inf'::DOUBLE) END"

        return Formula(self.worst, ("n", of_all), share if self.worst == "min" else of_class)

    def search_limit(self, records: int) -> float:
        if self.worst == "min":
            return float(1 - at_most(1 - self.low, FINEST))
        return float(at_most(self.high, FINEST))

    def audit_step(self, table: Audited) -> AuditStep:
        low, high = 1 - at_most(1 - self.low, SHARES), at_most(self.high, SHARES)
        limits = {**fraction("low", low), **fraction("high", high)}
        return AuditStep("presence", ("classes",), limits)

    def reached(self, lowest: float, highest: float) -> float:
        """Give the share that breaks a limit, else the largest one where it is limited."""
        if self.worst == "min" or (highest <= self.high and lowest < self.low):
            return lowest
        return highest

    def undefined(self, number: float) -> InvalidSource | None:
        """Refuse a table with records that the population lacks: they cannot be a share of it."""
        if not math.isinf(number):
            return None
        return InvalidSource(
            f"The population {self.everybody.name} lacks classes of the table on "
            f"{name_list(self.quasi_identifier)}, so there is no share to measure.",
            "Give a population that every record of the table belongs to, with its columns coded alike.",
        )

    @property
    def measured(self) -> str:
        return "smallest presence" if self.worst == "min" else "largest presence"

    def unmet(self, number: float) -> tuple[str, str]:
        still = f"its presence is still {100 * number:.4g}%."
        if self.worst == "min":
            most = math.floor(round(100_000 * number, _DECIMALS)) / 1000
            return still, f"Ask for a presence of at least {most:g}% and no more"
        return still, f"Ask for a presence up to {rounded_up(round(100 * number, _DECIMALS), 1000):g}%"
