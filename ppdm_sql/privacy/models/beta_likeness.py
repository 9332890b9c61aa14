"""beta-likeness: ``beta <= 1.5 of Disease on Sex, Job``, ``enhanced beta <= 1.5 of Disease on Sex, Job``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import DISTANCES, LARGEST, at_most, fraction, rounded_up
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.reader import AT_MOST, UNLIMITED, Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement

_SLACK = 1e-12
"""By what share the search keeps below -ln q, which it computes in floating point as the audit does."""


@dataclass(frozen=True)
class BetaLikeness(DistributionRequirement):
    """No sensitive value's share in a class exceeds its share in the table by more than ``beta`` times that.

    A value with the share q in the table and p in a class gains (p - q) / q. The ``enhanced`` kind also
    keeps every gain at or below -ln q, which protects frequent values. A gain beyond that counts as so many
    as there are records, more than any gain can be; then no beta is kept.

    Source: Cao, Karras 2012. The table's shares are fixed, and a value's share in a class is the mean of its
    shares in the parts, so some part gains at least as much.
    """

    kind: Literal["basic", "enhanced"]
    beta: Fraction
    sensitive: str
    quasi_identifier: tuple[str, ...]

    opening = re.compile(r"beta(?=\s*[<>=≤≥]|\s+of(?![\w$]))|enhanced\s+beta(?![\w$])", re.IGNORECASE)
    number, loosest = Reader.limit, UNLIMITED
    example = "beta <= 1.5 of Disease on Sex, Job"
    other_spelling = "likeness"
    worst = "max"
    compares_with_table = True
    measured = "largest gain"
    limited_by = "beta"
    amount_words = "beta = {:.6g}"
    against_words = "a gain of {:.4g} of {:.4g}"
    macro = "likeness"

    def check(self) -> None:
        if not 0 <= self.beta <= UNLIMITED:
            raise InvalidOption(
                f"beta = {number_text(self.beta)} is {'below 0' if self.beta < 0 else 'too large'}.",
                "Give a number such as beta <= 1.5.",
            )

    @classmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        if word == "beta":
            return cls("basic", cls.read_limit(reader), **cls.read_columns(reader))
        reader.example = f"enhanced {cls.example}"
        reader.expect(AT_MOST, "'<='")  # this kind is nothing without its limit
        return cls("enhanced", reader.limit(), **cls.read_columns(reader))

    @property
    def form(self) -> str:
        return "beta" if self.kind == "basic" else "enhanced beta"

    def formula(self, values: ValueCounts) -> Formula:
        """The largest gain of a value in a class."""
        totals, records = values.totals(), values.records

        def of_class(c: Columns) -> str:
            return values.most(c, lambda n, q: self._gain(n, c["n"], q, records), totals)

        return Formula(self.worst, ("n", *values.columns), of_class)

    def _gain(self, count: str, size: str, total: str, records: int) -> str:
        """Give the SQL of one value's gain; one division of whole numbers, so that it is rounded once."""
        gain = f"({count} * {records} - {total} * {size}) / nullif({size} * {total}, 0)"
        if self.kind == "basic":
            return gain
        own_limit = f"ln({records} / {total}) * {1 - _SLACK!r}::DOUBLE"
        return f"CASE WHEN {gain} > {own_limit} THEN {records} ELSE {gain} END"

    def search_limit(self, records: int) -> float:
        # No gain is above records - 1, and what breaks its own limit counts as the records.
        return float(at_most(min(self.beta, Fraction(records - 1)), DISTANCES))

    def audit_step(self, table: Audited) -> AuditStep:
        _, records = table.size()
        # The step compares whole numbers up to the cube of the records, times the denominator.
        beta = at_most(min(self.beta, Fraction(records)), max(LARGEST // max(records**3, 1), 1))
        values = {**fraction("beta", beta), "enhanced": self.kind == "enhanced"}
        return AuditStep("beta_likeness", ("cells", "value_totals"), values)

    def unmet(self, number: float) -> tuple[str, str]:
        still = f"a value still gains {number:.4g} in a class."
        # Where the enhanced kind's own limit is broken, no larger beta helps; to ask for the basic kind does.
        return still, f"Ask for the basic kind with beta >= {rounded_up(number, 1000):g}"
