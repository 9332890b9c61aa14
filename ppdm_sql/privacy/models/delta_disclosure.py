"""delta-disclosure privacy: ``delta <= 1 of Disease on Sex, Job``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import LARGEST, fraction, power_of_two, rounded_up
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.reader import UNLIMITED, Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement

_SLACK = 1e-12
"""By what share the search keeps below a delta that no share can meet exactly: it works in floating point."""


@dataclass(frozen=True)
class DeltaDisclosure(DistributionRequirement):
    """No sensitive value is much more or much less frequent in a class than in the table.

    A value with the share q in the table and p in a class has |log2(p / q)| <= ``delta``: with a delta of 1,
    it is at most twice as frequent and at least half as frequent. A class that lacks a value of the table has
    an infinite delta, and keeps none.

    Source: Brickell, Shmatikov 2008, whose definition has < where a limit is written <= here. The table's
    shares are fixed, and a value's share in a class is the mean of its shares in the parts, so it is at least
    as high in one part, and at least as low in another.
    """

    delta: Fraction
    sensitive: str
    quasi_identifier: tuple[str, ...]

    opening = re.compile(r"delta(?=\s*[<>=≤≥]|\s+of(?![\w$]))", re.IGNORECASE)
    number, loosest = Reader.limit, UNLIMITED
    example = "delta <= 1 of Disease on Sex, Job"
    other_spelling = "disclosure"
    worst = "max"
    compares_with_table = True
    form = "delta"
    measured = "largest delta"
    limited_by = "delta"
    amount_words = "delta = {:.6g}"
    against_words = "a delta of {:.4g} of {:.4g}"
    macro = "disclosure"

    def check(self) -> None:
        if not 0 <= self.delta <= UNLIMITED:
            raise InvalidOption(
                f"delta = {number_text(self.delta)} is {'below 0' if self.delta < 0 else 'too large'}.",
                "Give a number such as delta <= 1.",
            )

    def formula(self, values: ValueCounts) -> Formula:
        """The largest |log2(p / q)| of a value of the table in a class."""
        totals, records = values.totals(), values.records

        def of_class(c: Columns) -> str:
            def change(n: str, q: str) -> str:
                p, q = f"({n} * {records})", f"({c['n']} * {q})"
                return f"greatest(1.0::DOUBLE, {p} / nullif({q}, 0), {q} / nullif({p}, 0))"

            lacking = f"{values.different(c)} < {sum(total > 0 for total in totals)}"
            whole = f"CASE WHEN {lacking} THEN 'inf'::DOUBLE ELSE log2({values.most(c, change, totals)}) END"
            return f"CASE WHEN {c['n']} > 0 THEN {whole} END"

        return Formula(self.worst, ("n", *values.columns), of_class)

    def search_limit(self, records: int) -> float:
        # No share of so many records is further than its logarithm from another one.
        delta = min(self.delta, Fraction(records.bit_length()))
        return float(delta) * (1 if delta.denominator == 1 else 1 - _SLACK)

    def audit_step(self, table: Audited) -> AuditStep:
        _, records = table.size()
        # The step compares whole numbers up to the cube of the records, times the denominator.
        delta = min(self.delta, Fraction(records.bit_length()))
        ratio = power_of_two(delta, max(LARGEST // max(2 * records**3, 1), 1))
        values = {**fraction("ratio", ratio), "limited": self.delta < UNLIMITED}
        return AuditStep("delta_disclosure", ("cells", "value_totals"), values)

    def unmet(self, number: float) -> tuple[str, str]:
        if math.isinf(number):
            return (
                "a class still lacks a value of the column, which no delta allows.",
                "Ask for beta or t instead, which allow it",
            )
        return f"delta of a class is still {number:.4g}.", f"Ask for delta >= {rounded_up(number, 1000):g}"
