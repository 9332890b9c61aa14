"""delta-disclosure privacy: ``delta <= 1 of Disease on Sex, Job``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import grammar
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import LARGEST, power_of_two, rounded_up
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement, check_columns

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

_OPENING = re.compile(r"delta(?=\s*[<>=≤≥]|\s+of(?![\w$]))", re.IGNORECASE)
_SLACK = 1e-12
"""By what share the search keeps below a delta that no share can meet exactly: it works in floating point."""


@dataclass(frozen=True)
class DeltaDisclosure(DistributionRequirement):
    """No sensitive value is much more or much less frequent in a class than in the table.

    A value with the share q in the table and p in a class has |log2(p / q)| <= ``delta``: with a delta of 1,
    it is at most twice as frequent and at least half as frequent. A class that lacks a value of the table has
    an infinite delta, and keeps none.

    Args:
        delta: The largest |log2(p / q)| allowed, at least 0; 10^30 where it is only measured.
        sensitive: The sensitive column, outside the quasi-identifier.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: delta is out of range, or the list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Brickell, Shmatikov 2008, whose definition has < where a limit is written <= here. The table's
    shares are fixed, and a value's share in a class is the mean of its shares in the parts, so it is at least
    as high in one part, and at least as low in another.

    Example:
        >>> str(DeltaDisclosure(Fraction(1), "Disease", ("Sex", "Job")))
        'delta <= 1 of Disease on Sex, Job'
    """

    delta: Fraction
    sensitive: str
    quasi_identifier: tuple[str, ...]

    example = "delta <= 1 of Disease on Sex, Job"
    other_spelling = "disclosure"
    worst = "max"
    compares_with_table = True
    form = "delta"
    measured = "largest delta"
    macro = "disclosure"
    macro_results = {
        "delta": "largest |log2(p / q)| of a value; infinite where the class lacks a value of the table"
    }

    def __post_init__(self) -> None:
        if not 0 <= self.delta <= grammar.UNLIMITED:
            raise InvalidOption(
                f"delta = {number_text(self.delta)} is {'below 0' if self.delta < 0 else 'too large'}.",
                "Give a number such as delta <= 1.",
            )
        check_columns(self)

    @classmethod
    def read(cls, reader: Reader) -> DeltaDisclosure | None:
        """Read ``delta <= 1 of Disease on Sex, Job``."""
        if not reader.accept(_OPENING):
            return None
        reader.example = cls.example
        most = grammar.UNLIMITED
        if grammar.bounded(reader, grammar.AT_MOST, "'<='", grammar.OF):
            most = grammar.limit(reader)
        return cls(most, **grammar.distribution(reader))

    @property
    def limit(self) -> Fraction:
        return self.delta

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
        limit = {"ratio_numerator": ratio.numerator, "ratio_denominator": ratio.denominator}
        values = {**limit, "limited": self.delta < grammar.UNLIMITED}
        return AuditStep("delta_disclosure", ("cells", "value_totals"), values)

    def amount(self, number: float) -> str:
        return f"delta = {number:.6g}"

    def against(self, number: float, limit: float) -> str:
        return f"a delta of {number:.4g} of {limit:.4g}"

    def unmet(self, reached: float) -> tuple[str, str]:
        if math.isinf(reached):
            return (
                "a class still lacks a value of the column, which no delta allows.",
                "Ask for beta or t instead, which allow it",
            )
        return f"delta of a class is still {reached:.4g}.", f"Ask for delta >= {rounded_up(reached, 1000):g}"
