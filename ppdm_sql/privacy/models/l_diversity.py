"""l-diversity: ``distinct l >= 3 of Disease on Sex, Job``, ``entropy l >= 2.5 of Disease on Sex, Job``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import MOST_RECORDS, entropy_limit
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.reader import Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement, check_reachable

_WITHOUT_KIND = re.compile(r"l(?=\s*[<>=≤≥])", re.IGNORECASE)
_WITHOUT_LIMIT = re.compile(r"l(?=\s+of(?![\w$]))", re.IGNORECASE)


@dataclass(frozen=True)
class LDiversity(DistributionRequirement):
    """Every equivalence class holds at least ``l`` well-represented sensitive values.

    Args:
        kind: ``distinct`` counts values; ``entropy`` takes exp of the class's entropy.
        l: The smallest diversity allowed, at least 1; whole for ``distinct``.
        sensitive: The sensitive column, outside the quasi-identifier.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: l is out of range, or the list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006. A part of a class has no more different
    values than the class, and some part has no more entropy, since entropy is concave.

    Example:
        >>> str(LDiversity("distinct", Fraction(3), "Disease", ("Sex", "Job")))
        'distinct l >= 3 of Disease on Sex, Job'
    """

    kind: Literal["distinct", "entropy"]
    l: Fraction  # noqa: E741 - the field's own name for it
    sensitive: str
    quasi_identifier: tuple[str, ...]

    opening = re.compile(rf"(?:distinct|entropy)\s+l(?![\w$])|{_WITHOUT_LIMIT.pattern}", re.IGNORECASE)
    number, loosest = Reader.fraction, Fraction(1)
    example = "distinct l >= 3 of Disease on Sex, Job"
    other_spelling = "divers"
    worst = "min"
    limited_by = "l"
    amount_words = "l = {:.6g}"
    against_words = "{:.4g} of {:.4g} values"
    macro = "diversity"

    def check(self) -> None:
        if self.l < 1:
            raise InvalidOption(f"l = {number_text(self.l)} is below 1.", "Give a number such as l >= 3.")
        if self.kind == "distinct" and self.l.denominator != 1:
            raise InvalidOption(
                f"distinct l = {number_text(self.l)} is not a whole number.",
                "Give a whole number such as distinct l >= 3, or ask for entropy l.",
            )
        check_reachable("l", self.l)

    @classmethod
    def read(cls, reader: Reader) -> Self | None:
        """Read ``distinct l >= 3 of Disease on Sex``; without a limit, ``distinct`` may be left out."""
        without_limit = reader.follows(_WITHOUT_LIMIT)
        if (without_limit and not reader.limitless) or reader.follows(_WITHOUT_KIND):
            reader.example = cls.example
            raise reader.error("'distinct' or 'entropy'")
        return super().read(reader)

    @classmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        kind: Literal["distinct", "entropy"] = "entropy" if word.startswith("entropy") else "distinct"
        return cls(kind, cls.read_limit(reader), **cls.read_columns(reader))

    @property
    def monotone_persons(self) -> bool:  # type: ignore[override]
        """Different values of a class are as many, whoever has them."""
        return self.kind == "distinct"

    @property
    def counts_values(self) -> bool:  # type: ignore[override]
        """The entropy is that of a distribution, whose shares add up to 1."""
        return self.kind == "entropy"

    @property
    def form(self) -> str:
        return f"{self.kind} l"

    @property
    def breaks_in_parts(self) -> bool:
        """No part of a class has more different values than it; its entropy can be higher."""
        return self.kind == "distinct"

    def formula(self, values: ValueCounts) -> Formula:
        """The fewest different values of a class, or the smallest exp(entropy) of them."""

        def distinct(c: Columns) -> str:
            return f"nullif({values.different(c)}, 0)"

        def entropy(c: Columns) -> str:
            weighted = values.sum(c, lambda n, _: f"{n} * ln(greatest({n}, 1))")
            return f"exp(ln(nullif({c['n']}, 0)) - ({weighted}) / nullif({c['n']}, 0))"

        of_class = distinct if self.kind == "distinct" else entropy
        return Formula(self.worst, ("n", *values.columns), of_class)

    def search_limit(self, records: int) -> float:
        return float(min(int(self.l), MOST_RECORDS)) if self.kind == "distinct" else entropy_limit(self.l)

    def audit_step(self, table: Audited) -> AuditStep:
        least = int(self.l) if self.kind == "distinct" else entropy_limit(self.l)
        return AuditStep(f"{self.kind}_l_diversity", ("cells",), {"l": least})

    @property
    def measured(self) -> str:
        return "fewest values" if self.kind == "distinct" else "smallest entropy l"

    def unmet(self, number: float) -> tuple[str, str]:
        if self.kind == "distinct":
            values = f"{number:.0f} different value{'s' * (number != 1)}"
            return f"a class still has only {values}.", f"Ask for l <= {number:.0f}"
        still = f"the entropy of a class still allows only l = {number:.4g}."
        return still, f"Ask for l <= {math.floor(number * 1000) / 1000:g}"
