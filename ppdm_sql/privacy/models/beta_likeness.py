"""beta-likeness: ``beta <= 1.5 of Disease on Sex, Job``, ``enhanced beta <= 1.5 of Disease on Sex, Job``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import grammar
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import DISTANCES, LARGEST, at_most, rounded_up
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement, check_columns

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

_OPENING = re.compile(r"beta(?=\s*[<>=≤≥]|\s+of(?![\w$]))|enhanced(?=\s+beta(?![\w$]))", re.IGNORECASE)
_BETA = re.compile("beta", re.IGNORECASE)
_SLACK = 1e-12
"""By what share the search keeps below -ln q, which it computes in floating point as the audit does."""


@dataclass(frozen=True)
class BetaLikeness(DistributionRequirement):
    """No sensitive value's share in a class exceeds its share in the table by more than ``beta`` times that.

    A value with the share q in the table and p in a class gains (p - q) / q. The ``enhanced`` kind also
    keeps every gain at or below -ln q, which protects frequent values. A gain beyond that counts as so many
    as there are records, more than any gain can be; then no beta is kept.

    Args:
        kind: ``basic`` or ``enhanced``.
        beta: The largest gain allowed, at least 0.
        sensitive: The sensitive column, outside the quasi-identifier.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: beta is out of range, or the list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Cao, Karras 2012. The table's shares are fixed, and a value's share in a class is the mean of its
    shares in the parts, so some part gains at least as much.

    Example:
        >>> str(BetaLikeness("enhanced", Fraction(3, 2), "Disease", ("Sex", "Job")))
        'enhanced beta <= 1.5 of Disease on Sex, Job'
    """

    kind: Literal["basic", "enhanced"]
    beta: Fraction
    sensitive: str
    quasi_identifier: tuple[str, ...]

    example = "beta <= 1.5 of Disease on Sex, Job"
    other_spelling = "likeness"
    worst = "max"
    compares_with_table = True
    measured = "largest gain"
    macro = "likeness"
    macro_results = {
        "beta": "largest gain (p - q) / q of a value with the share p in the class and q in the table",
        "enhanced": "whether no value gains more than -ln q, as the enhanced kind demands",
    }

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= grammar.UNLIMITED:
            raise InvalidOption(
                f"beta = {number_text(self.beta)} is {'below 0' if self.beta < 0 else 'too large'}.",
                "Give a number such as beta <= 1.5.",
            )
        check_columns(self)

    @classmethod
    def read(cls, reader: Reader) -> BetaLikeness | None:
        """Read ``beta <= 1.5 of Disease on Sex, Job``; the enhanced kind is nothing without its limit."""
        word = reader.accept(_OPENING)
        if word is None:
            return None
        kind: Literal["basic", "enhanced"] = "enhanced" if word.lower() == "enhanced" else "basic"
        reader.example = f"{'enhanced ' * (kind == 'enhanced')}{cls.example}"
        if kind == "enhanced":
            reader.expect(_BETA, "'beta'")
            reader.expect(grammar.AT_MOST, "'<='")
            most = grammar.limit(reader)
        else:
            limited = grammar.bounded(reader, grammar.AT_MOST, "'<='", grammar.OF)
            most = grammar.limit(reader) if limited else grammar.UNLIMITED
        return cls(kind, most, **grammar.distribution(reader))

    @property
    def form(self) -> str:
        return "beta" if self.kind == "basic" else "enhanced beta"

    @property
    def limit(self) -> Fraction:
        return self.beta

    def formula(self, values: ValueCounts) -> Formula:
        """The largest gain of a value in a class."""
        totals, records = values.totals(), values.records

        def of_class(c: Columns) -> str:
            return values.most(c, lambda n, q: self._gain(n, c["n"], q, records), totals)

        return Formula(self.worst, ("n", *values.columns), of_class)

    def _gain(self, held: str, size: str, total: str, records: int) -> str:
        """Give the SQL of one value's gain; one division of whole numbers, so that it is rounded once."""
        gain = f"({held} * {records} - {total} * {size}) / nullif({size} * {total}, 0)"
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
        limit = {"beta_numerator": beta.numerator, "beta_denominator": beta.denominator}
        return AuditStep(
            "beta_likeness", ("cells", "value_totals"), {**limit, "enhanced": self.kind == "enhanced"}
        )

    def amount(self, number: float) -> str:
        return f"beta = {number:.6g}"

    def against(self, number: float, limit: float) -> str:
        return f"a gain of {number:.4g} of {limit:.4g}"

    def unmet(self, reached: float) -> tuple[str, str]:
        still = f"a value still gains {reached:.4g} in a class."
        # Where the enhanced kind's own limit is broken, no larger beta helps; to ask for the basic kind does.
        return still, f"Ask for the basic kind with beta >= {rounded_up(reached, 1000):g}"
