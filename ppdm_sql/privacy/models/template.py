"""Templates: ``Job, Country -> Bankruptcy = Discharged <= 75%``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.level import read_level
from ppdm_sql.privacy.limits import FINEST, at_most, rounded_up
from ppdm_sql.privacy.quoting import Value, name_list, number_text, percent, quote_name, quote_value
from ppdm_sql.privacy.reader import AT_MOST, CLOSE, EQUALS, IN, OPEN, Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, Counts, OfLevel, Requirement

_ARROW = re.compile("->|→")
_END = re.compile(r"\Z")
_QUOTE_IT = "; a value that is not one plain word stands in single quotes"


@dataclass(frozen=True)
class Template(OfLevel):
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
    limited_by = "threshold"
    amount_words = "a confidence of {:.6g} %"
    against_words = "{:.4g}% of {:.4g}%"
    scale = 100
    opening = re.compile("")
    reads_anything = True
    form = "template"
    measured = "confidence"
    macro = "confidence"

    def check(self) -> None:
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

    @classmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        channel = reader.names()
        reader.expect(_ARROW, "'->' or ','")
        sensitive, level = reader.name(), read_level(reader)
        values, after = _protected_values(reader)
        limited = reader.bounded(AT_MOST, after, _END)
        threshold = reader.share() if limited else Fraction(1)
        reader.end()
        return cls(channel, sensitive, values, threshold, level=level)

    def written(self, *, limit: bool = True) -> str:
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
        (protected,) = values.columns
        return Formula(self.worst, ("n", protected), lambda c: f"{c[protected]} / nullif({c['n']}, 0)")

    def search_limit(self, records: int) -> float:
        return float(at_most(self.threshold, max(FINEST, records)))

    def audit_step(self, table: Audited) -> AuditStep:
        """The threshold of each protected value stands beside it."""
        return AuditStep("confidences", ("cells", "protected_values"))

    def unmet(self, number: float) -> tuple[str, str]:
        least = rounded_up(100 * number, 10)
        still = f"its confidence is still {100 * number:.2f}%."
        return still, f"Ask for a threshold of at least {least:g}%, protect fewer values"


def _protected_values(reader: Reader) -> tuple[tuple[Value, ...] | None, str]:
    """Read the value part, and say what is expected after it."""
    if reader.follows(AT_MOST) or reader.follows(_END):
        return None, "'=', 'IN' or '<='"
    if reader.accept(IN):
        reader.expect(OPEN, "'('")
        values = reader.values()
        reader.expect(CLOSE, f"')' or ','{_QUOTE_IT}")
        return values, "'<='"
    reader.expect(EQUALS, "'=', 'IN' or '<='")
    return (reader.value(),), f"'<='{_QUOTE_IT}"


# -- templates that follow from others ------------------------------------------------------------------


@dataclass(frozen=True)
class Redundancy:
    """A template that follows from another one; columns and values are compared as written."""

    redundant: Template  # any release obeying ``by`` obeys it too
    by: Template  # for several protected values, it follows from those that ``by`` covers

    @property
    def notice(self) -> str:
        """The sentence that says so, and what becomes of the template."""
        same = set(self.redundant.channel) == set(self.by.channel)
        fate = "the harder limit counts, once" if same else "it stays in the averages of the loss"
        return f"{str(self.redundant)!r} follows from {str(self.by)!r}; {fate}."


def redundancies(requirements: Sequence[Requirement]) -> list[Redundancy]:
    """Find the templates that follow from other templates, in the order given.

    A template follows from one with the same protected value, a channel that holds all of its own, and a
    threshold that is no higher. One over several values follows if every value is covered; if that takes
    several templates, there is one entry for each. Of equal templates the later ones are redundant. What
    ``by`` names is never redundant itself, so the redundant ones may all be left out together.

    Source: Wang, Fung, Yu 2005, Lemma 3.1.
    """
    templates = [r for r in requirements if isinstance(r, Template)]
    kept = list(templates)
    redundant: list[Template] = []
    for index in reversed(range(len(templates))):
        others = kept[:index] + kept[index + 1 :]
        if all(_first_cover(part, others) for part in templates[index].split()):
            redundant.insert(0, kept.pop(index))
    return [Redundancy(template, by) for template in redundant for by in _covers(template, kept)]


def _first_cover(part: Template, templates: Iterable[Template]) -> Template | None:
    """Find the first template from which one over a single value, or every value, follows."""
    return next((by for by in templates if _follows(part, by)), None)


def _covers(template: Template, others: Sequence[Template]) -> list[Template]:
    """Give the templates from which this one follows: one that suffices, or else one per value."""
    parts = template.split()
    whole = [by for by in others if all(_follows(part, by) for part in parts)]
    return list(dict.fromkeys(whole[:1] or [by for part in parts if (by := _first_cover(part, others))]))


def _follows(part: Template, by: Template) -> bool:
    return (
        part.sensitive == by.sensitive
        and part.level == by.level
        and set(part.channel) <= set(by.channel)
        and part.threshold >= by.threshold
        and (by.values is None or (part.values is not None and part.values[0] in by.values))
    )
