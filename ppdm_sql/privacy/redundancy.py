"""Compares templates with each other: which follow from others.

Columns and values are compared as written, so resolve the names first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ppdm_sql.privacy.models.template import Template
from ppdm_sql.privacy.requirement import Requirement


@dataclass(frozen=True)
class Redundancy:
    """A template that follows from another one.

    Args:
        redundant: The template that any release obeying ``by`` obeys too.
        by: The template it follows from; for several protected values, those that ``by`` covers.
    """

    redundant: Template
    by: Template

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


def _covers(template: Template, kept: Sequence[Template]) -> list[Template]:
    """Give the templates from which this one follows: one that suffices, or else one per value."""
    parts = template.split()
    whole = [by for by in kept if all(_follows(part, by) for part in parts)]
    found = whole[:1] or [by for part in parts if (by := _first_cover(part, kept))]
    return list(dict.fromkeys(found))


def _follows(part: Template, by: Template) -> bool:
    return (
        part.sensitive == by.sensitive
        and part.level == by.level
        and set(part.channel) <= set(by.channel)
        and part.threshold >= by.threshold
        and (by.values is None or (part.values is not None and part.values[0] in by.values))
    )
