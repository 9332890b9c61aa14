"""Templates: ``Job, Country -> Bankruptcy = Discharged <= 75%``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import grammar
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.level import read_level
from ppdm_sql.privacy.limits import FINEST, at_most, rounded_up
from ppdm_sql.privacy.quoting import Value, name_list, number_text, percent, quote_name, quote_value
from ppdm_sql.privacy.requirement import Audited, AuditStep, Counts, OfLevel, Requirement, check_columns

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

_ARROW = re.compile("->|→")
_EQUALS = re.compile("=")
_OPEN = re.compile(r"\(")
_CLOSE = re.compile(r"\)")
_IN = re.compile(r"in(?![\w$])", re.IGNORECASE)
_END = re.compile(r"\Z")
_QUOTE_IT = "; a value that is not one plain word stands in single quotes"


@dataclass(frozen=True)
class Template(Requirement, OfLevel):
    """No record group of ``channel`` may point to a protected value with more than ``threshold``.

    Args:
        channel: The inference channel IC, column names in the order given.
        sensitive: The sensitive column, not in the channel.
        values: The protected values, each once; None protects every value of the column.
        threshold: The highest confidence allowed, in (0, 1].

    Raises:
        InvalidOption: The threshold is out of range, or a list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Wang, Fung, Yu 2005, Definition 3.1. Some part of a group is at least as confident as the group
    (Corollary 3.1).

    Example:
        >>> str(Template(("Job",), "Bankruptcy", ("Discharged",), Fraction(3, 4)))
        'Job -> Bankruptcy = Discharged <= 75%'
    """

    channel: tuple[str, ...]
    sensitive: str
    values: tuple[Value, ...] | None
    threshold: Fraction

    counts = Counts.PROTECTED
    worst = "max"
    reads_anything = True
    form = "template"
    measured = "confidence"
    macro = "confidence"
    macro_results = {
        "class_records": "records of the class, whatever their sensitive value",
        "confidence": "records over class_records, in (0, 1]",
    }

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise InvalidOption(
                f"The threshold {number_text(self.threshold)} on {self.sensitive!r} is outside (0, 1].",
                "Give a fraction such as 0.75 or a percentage such as 75%.",
            )
        if self.values is not None:
            if not self.values:
                raise InvalidOption(
                    f"A template on {self.sensitive!r} protects no value.",
                    "Name the values, or leave the value part out to protect every value.",
                )
            object.__setattr__(self, "values", tuple(dict.fromkeys(self.values)))
        check_columns(self)

    @classmethod
    def read(cls, reader: Reader) -> Template:
        """Read ``Job -> Bankruptcy IN (Discharged, 'not filed') <= 75%``."""
        channel = reader.names()
        reader.expect(_ARROW, "'->' or ','")
        sensitive, level = reader.name(), read_level(reader)
        values, after = _protected_values(reader)
        limited = grammar.bounded(reader, grammar.AT_MOST, after, _END)
        threshold = reader.share() if limited else Fraction(1)
        reader.end()
        return cls(channel, sensitive, values, threshold, level=level)

    def written(self, *, limit: bool = True) -> str:
        """Write it down, its threshold in percent, or without it.

        Example:
            >>> print(Template(("odd name",), "B", (None, "it's"), Fraction(1, 8)).written())
            "odd name" -> B IN (NULL, 'it''s') <= 12.5%
        """
        values = tuple(map(quote_value, self.values or ()))
        protected = f" = {values[0]}" if len(values) == 1 else f" IN ({', '.join(values)})" if values else ""
        bound = f" <= {percent(self.threshold)}" if limit else ""
        return f"{name_list(self.channel)} -> {quote_name(self.sensitive)}{self.by}{protected}{bound}"

    def split(self) -> tuple[Template, ...]:
        """Give one template per protected value, or itself where every value is protected."""
        if self.values is None:
            return (self,)
        return tuple(replace(self, values=(value,)) for value in self.values)

    @property
    def limit(self) -> Fraction:
        return self.threshold

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.channel

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        return (self.sensitive,)

    @property
    def protected(self) -> tuple[Value, ...] | None:
        return self.values

    def over(self, attributes: tuple[str, ...], sensitive_columns: tuple[str, ...]) -> Template:
        (sensitive,) = sensitive_columns
        return replace(self, channel=attributes, sensitive=sensitive)

    def formula(self, values: ValueCounts) -> Formula:
        """The highest share of the protected value in a group."""
        (protected,) = values.columns
        return Formula(
            self.worst,
            ("n", protected),
            lambda c: f"{c[protected]} / nullif({c['n']}, 0)",
        )

    def search_limit(self, records: int) -> float:
        return float(at_most(self.threshold, max(FINEST, records)))

    def audit_step(self, table: Audited) -> AuditStep:
        """The threshold of each protected value stands beside it."""
        return AuditStep("confidences", ("cells", "protected_values"))

    def amount(self, number: float) -> str:
        return f"a confidence of {100 * number:.6g} %"

    def against(self, number: float, limit: float) -> str:
        return f"{100 * number:.4g}% of {100 * limit:.4g}%"

    def unmet(self, reached: float) -> tuple[str, str]:
        least = rounded_up(100 * reached, 10)
        still = f"its confidence is still {100 * reached:.2f}%."
        return still, f"Ask for a threshold of at least {least:g}%, protect fewer values"


def _protected_values(reader: Reader) -> tuple[tuple[Value, ...] | None, str]:
    """Read the value part, and say what is expected after it."""
    if reader.follows(grammar.AT_MOST) or reader.follows(_END):
        return None, "'=', 'IN' or '<='"
    if reader.accept(_IN):
        reader.expect(_OPEN, "'('")
        values = reader.values()
        reader.expect(_CLOSE, f"')' or ','{_QUOTE_IT}")
        return values, "'<='"
    reader.expect(_EQUALS, "'=', 'IN' or '<='")
    return (reader.value(),), f"'<='{_QUOTE_IT}"
