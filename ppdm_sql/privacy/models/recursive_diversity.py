"""Recursive (c, l)-diversity: ``recursive c = 3, l = 2 of Disease on Sex, Job``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import LARGEST, MOST_RECORDS, below, fraction, rounded_up
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.reader import COMMA, EQUALS, UNLIMITED, Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement

_C = re.compile(r"c(?![\w$])", re.IGNORECASE)
_L = re.compile(r"l(?![\w$])", re.IGNORECASE)


@dataclass(frozen=True)
class RecursiveDiversity(DistributionRequirement):
    """In every class the most frequent sensitive value is below ``c`` times as frequent as the rarer ones.

    The rarer ones are the ``l``-th most frequent value of the class and all after it, together. What is
    measured is how many times as frequent the first one is: infinitely, if a class has fewer than l values.

    Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, definition 4.3. The most frequent value
    of a class is no more frequent than those of its parts together, and the rarer ones of a class are no
    fewer than those of its parts together, so some part has at least the ratio of the class.
    """

    c: Fraction
    l: int  # noqa: E741 - the field's own name for it
    sensitive: str
    quasi_identifier: tuple[str, ...]

    opening = re.compile(r"recursive(?=\s+[cl](?![\w$]))", re.IGNORECASE)
    example = "recursive c = 3, l = 2 of Disease on Sex, Job"
    worst = "max"
    counts_values = True
    measured = "largest ratio"
    limited_by = "c"
    amount_words = "a ratio of {:.6g}"
    against_words = "a ratio of {:.4g} of {:.4g}"
    macro = "recursive_diversity"

    def check(self) -> None:
        if not 0 < self.c <= UNLIMITED:
            raise InvalidOption(
                f"c = {number_text(self.c)} is {'too large' if self.c > 0 else 'not above 0'}.",
                "Give a number such as recursive c = 3, l = 2.",
            )
        if not 2 <= self.l <= MOST_RECORDS:
            raise InvalidOption(
                f"recursive l = {self.l} {'asks for nothing' if self.l < 2 else 'is too large'}.",
                "Give a whole number of 2 or more, such as recursive c = 3, l = 2.",
            )

    @classmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        c = UNLIMITED
        if reader.bounded(_C, "'c'", _L):
            reader.expect(EQUALS, "'='")
            c = reader.limit()
            reader.expect(COMMA, "','")
        reader.expect(_L, "'l'")
        reader.expect(EQUALS, "'='")
        return cls(c, reader.whole(), **cls.read_columns(reader))

    @property
    def form(self) -> str:
        return f"recursive l = {self.l}"

    def limited(self) -> str:
        return f"recursive c = {number_text(self.c)}, l = {self.l}"

    def formula(self, values: ValueCounts) -> Formula:
        """The largest ratio of a class, from the counts of its values."""

        def of_class(c: Columns) -> str:
            most = values.most(c, lambda n, _: n)
            # The l - 1 most frequent values are not part of the rest; sorting is dear, so l = 2 does without.
            rest = f"({c['n']} - {most if self.l == 2 else values.frequent(c, self.l - 1)})"
            return f"CASE WHEN {c['n']} > 0 THEN coalesce({most} / nullif({rest}, 0), 'inf'::DOUBLE) END"

        return Formula(self.worst, ("n", *values.columns), of_class)

    def search_limit(self, records: int) -> float:
        # A ratio is one division of whole numbers, so rounding does not lift it over c.
        return math.nextafter(float(min(self.c, Fraction(records))), 0)

    def audit_step(self, table: Audited) -> AuditStep:
        _, records = table.size()
        # No ratio reaches the records; the step compares numbers up to their square times the denominator.
        c = below(min(self.c, Fraction(records)), max(LARGEST // max(records**2, 1), 1))
        values = {**fraction("c", c), "l": self.l, "limited": self.c < UNLIMITED}
        return AuditStep("recursive_diversity", ("cells",), values)

    def unmet(self, number: float) -> tuple[str, str]:
        if math.isinf(number):
            return f"a class still has fewer than {self.l} different values.", "Ask for a smaller l"
        still = (
            f"the most frequent value of a class is still {number:.4g} times as frequent as the rarer ones."
        )
        return still, f"Ask for c = {rounded_up(number, 1000) + 0.001:g}"
