"""Compares requirements with each other: which follow from others, which are the tightest.

Columns and values are compared as written, so resolve the names first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ppdm_sql.requirements.model import KAnonymity, LDiversity, Requirement, TCloseness, Template


@dataclass(frozen=True)
class Redundancy:
    """A template that follows from another one.

    Args:
        redundant: The template that any release obeying ``by`` obeys too.
        by: The template it follows from; for several protected values, those that ``by`` covers.
    """

    redundant: Template
    by: Template


def redundancies(requirements: Sequence[Requirement]) -> list[Redundancy]:
    """Find the templates that follow from other templates, in the order given.

    A template follows from one with the same protected value, a channel that holds all of its own, and a
    threshold that is no higher. One over several values follows if every value is covered; if that takes
    several templates, there is one entry for each. Of equal templates the later ones are redundant. What
    ``by`` names is never redundant itself, so the redundant ones may all be left out together.

    Source: Wang, Fung, Yu 2005, Lemma 3.1.

    Example:
        >>> from ppdm_sql.requirements import parse_all
        >>> found = redundancies(parse_all(["Job -> B = x <= 75%", "Job, Country -> B = x <= 50%"]))
        >>> [(str(one.redundant), str(one.by)) for one in found]
        [('Job -> B = x <= 75%', 'Job, Country -> B = x <= 50%')]
    """
    templates = [r for r in requirements if isinstance(r, Template)]
    kept = list(templates)
    redundant: list[Template] = []
    for index in reversed(range(len(templates))):
        others = kept[:index] + kept[index + 1 :]
        if all(_first_cover(part, others) for part in templates[index].split()):
            redundant.insert(0, kept.pop(index))
    return [Redundancy(template, by) for template in redundant for by in _covers(template, kept)]


def tightest(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """Keep, of requirements that differ in their number only, the hardest to meet, in the order given.

    Templates are compared value by value: the same channel (as a set) and the same protected value keep
    the lowest threshold; a template loses the values that another one limits as tightly, and goes with
    its last. What is redundant because its channel is smaller stays.

    Example:
        >>> from ppdm_sql.requirements import parse_all
        >>> texts = ["A -> B IN (x, y) <= 75%", "A -> B = x <= 50%", "k >= 2 on A, C", "k >= 3 on C, A"]
        >>> [str(requirement) for requirement in tightest(parse_all(texts))]
        ['A -> B = y <= 75%', 'A -> B = x <= 50%', 'k >= 3 on C, A']
    """
    parts = [(index, part) for index, r in enumerate(requirements) for part in _split(r)]
    best: dict[Hashable, tuple[Fraction, int]] = {}
    for index, part in parts:
        rank = (_limit(part), index)
        best[_scope(part)] = min(best.get(_scope(part), rank), rank)
    kept: dict[int, list[Requirement]] = {}
    for index, part in parts:
        if best[_scope(part)][1] == index and not _held_by_every_value(part, best):
            kept.setdefault(index, []).append(part)
    return tuple(_join(requirements[index], left) for index, left in kept.items())


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
        and set(part.channel) <= set(by.channel)
        and part.threshold >= by.threshold
        and (by.values is None or (part.values is not None and part.values[0] in by.values))
    )


def _split(requirement: Requirement) -> tuple[Requirement, ...]:
    return requirement.split() if isinstance(requirement, Template) else (requirement,)


def _join(requirement: Requirement, parts: list[Requirement]) -> Requirement:
    """Give the requirement with the values that are left of it."""
    if not isinstance(requirement, Template) or requirement.values is None:
        return requirement
    values = [v for part in parts if isinstance(part, Template) for v in part.values or ()]
    return replace(requirement, values=tuple(values))


def _scope(requirement: Requirement) -> Hashable:
    """Give what a requirement limits, without the limit."""
    match requirement:
        case Template(channel, sensitive, values):
            return "template", frozenset(channel), sensitive, values
        case KAnonymity(_, columns):
            return "k", frozenset(columns)
        case LDiversity(kind, _, sensitive, columns):
            return kind, frozenset(columns), sensitive
        case TCloseness(_, sensitive, columns):
            return "t", frozenset(columns), sensitive


def _limit(requirement: Requirement) -> Fraction:
    """Give the number of a requirement, signed so that lower is harder to meet."""
    match requirement:
        case Template():
            return requirement.threshold
        case KAnonymity():
            return Fraction(-requirement.k)
        case LDiversity():
            return -requirement.l
        case TCloseness():
            return requirement.t


def _held_by_every_value(part: Requirement, best: dict[Hashable, tuple[Fraction, int]]) -> bool:
    """Say whether a template over every value limits this one value as tightly."""
    if not isinstance(part, Template) or part.values is None:
        return False
    every = best.get(_scope(replace(part, values=None)))
    return every is not None and every[0] <= part.threshold
