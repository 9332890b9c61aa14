"""Parses the requirement language: every module of this folder is a privacy model, and reads its form."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ppdm_sql.errors import InvalidOption, kind_of
from ppdm_sql.privacy.reader import Reader
from ppdm_sql.privacy.requirement import Asked, Measure, Requirement

_EXAMPLE = Requirement.example


@cache
def models() -> tuple[type[Requirement], ...]:
    """Find the models, those that open with a word of their own first.

    Example:
        >>> [model.__name__ for model in models() if model.reads_anything]
        ['Template']
    """
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    own = [
        model
        for module in modules
        for _, model in inspect.getmembers(module, inspect.isclass)
        if issubclass(model, Requirement) and model.__module__ == module.__name__
    ]
    return tuple(sorted(own, key=lambda model: model.reads_anything))


def parse(text: str | Requirement) -> Requirement:
    """Read one requirement; one that is read already is given back as it is."""
    if isinstance(text, Requirement):
        return text
    return _read_requirement(_reader(text))


def parse_measure(text: str | Asked) -> Asked:
    """Read one requirement, which may have no limit, for an audit that only measures."""
    if isinstance(text, Requirement | Measure):
        return text
    reader = _reader(text)
    reader.limitless = True
    requirement = _read_requirement(reader)
    return requirement if reader.limited else Measure(requirement)


def _reader(text: object) -> Reader:
    if not isinstance(text, str):
        raise InvalidOption(f"A requirement is a text, not {kind_of(text)}.", f"Write it as {_EXAMPLE!r}.")
    return Reader(text, _EXAMPLE if "->" in text else _nearest_example(text))


def _nearest_example(text: str) -> str:
    """Give the example of the model that is named as it is elsewhere, such as ``5-anonymity``."""
    for model in models():
        if model.other_spelling is not None and re.search(model.other_spelling, text, re.IGNORECASE):
            return model.example
    return _EXAMPLE


def _read_requirement(reader: Reader) -> Requirement:
    """Let the model read that the text opens like; the last one reads anything, or says what is wrong."""
    return next(r for model in models() if (r := model.read(reader)) is not None)


def parse_all(texts: Iterable[str | Requirement]) -> tuple[Requirement, ...]:
    """Read several requirements, in the order given; a single text counts as a list of one."""
    return tuple(map(parse, _as_list(texts)))


def parse_measures(texts: Iterable[str | Asked]) -> tuple[Asked, ...]:
    """Read several requirements, which may have no limit, in the order given; a text is a list of one."""
    return tuple(map(parse_measure, _as_list(texts)))


def _as_list(texts: Any) -> Iterable[Any]:
    if isinstance(texts, str | Requirement | Measure):
        return (texts,)
    if not isinstance(texts, (Sequence, AbstractSet, Iterator)):  # a frame is a list of something, too
        raise InvalidOption(
            f"Requirements are a list of texts, not {kind_of(texts)}.", f"Write them as [{_EXAMPLE!r}]."
        )
    return texts


def parse_names(text: str) -> tuple[str, ...]:
    """Read a list of column names, as options such as ``--keep`` take it.

    Example:
        >>> parse_names('Job, Full Name, "Street, number"')
        ('Job', 'Full Name', 'Street, number')
    """
    return Reader(text, 'Job, Full Name, "Street, number"').only_names()
