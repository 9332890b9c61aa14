"""Parses the requirement language, each form of which is read by its privacy model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from ppdm_sql.errors import InvalidOption, kind_of
from ppdm_sql.privacy.models import models
from ppdm_sql.privacy.reader import Reader
from ppdm_sql.privacy.requirement import Asked, Measure, Requirement

_Text = TypeVar("_Text")

_EXAMPLE = Requirement.example
_NAMES_EXAMPLE = 'Job, "odd name"'


def parse(text: str | Requirement) -> Requirement:
    """Read one requirement; one that is read already is given back as it is."""
    if isinstance(text, Requirement):
        return text
    return _read(_reader(text))


def parse_measure(text: str | Asked) -> Asked:
    """Read one requirement, which may have no limit, for an audit that only measures."""
    if isinstance(text, Requirement | Measure):
        return text
    reader = _reader(text)
    reader.limitless = True
    read = _read(reader)
    return read if reader.limited else Measure(read)


def _reader(text: object) -> Reader:
    if not isinstance(text, str):
        raise InvalidOption(f"A requirement is a text, not {kind_of(text)}.", f"Write it as {_EXAMPLE!r}.")
    return Reader(text, _EXAMPLE if "->" in text else _attempted(text))


def _attempted(text: str) -> str:
    """Give the example of the model that is named as it is elsewhere, such as ``5-anonymity``."""
    for model in models():
        if model.other_spelling is not None and re.search(model.other_spelling, text, re.IGNORECASE):
            return model.example
    return _EXAMPLE


def _read(reader: Reader) -> Requirement:
    """Let the model read that the text opens like; the last one reads anything, or says what is wrong."""
    return next(found for model in models() if (found := model.read(reader)) is not None)


def parse_all(texts: Iterable[str | Requirement]) -> tuple[Requirement, ...]:
    """Read several requirements, in the order given; a single text counts as a list of one."""
    if isinstance(texts, str | Requirement):
        return (parse(texts),)
    return tuple(map(parse, _listed(texts)))


def parse_measures(texts: Iterable[str | Asked]) -> tuple[Asked, ...]:
    """Read several requirements, which may have no limit, in the order given; a text is a list of one."""
    if isinstance(texts, str | Requirement | Measure):
        return (parse_measure(texts),)
    return tuple(map(parse_measure, _listed(texts)))


def _listed(texts: Iterable[_Text]) -> Iterable[_Text]:
    if not isinstance(texts, (Sequence, AbstractSet, Iterator)):  # a frame is a list of something, too
        raise InvalidOption(
            f"Requirements are a list of texts, not {kind_of(texts)}.",
            f"Write them as [{_EXAMPLE!r}].",
        )
    return texts


def parse_names(text: str) -> tuple[str, ...]:
    """Read a list of column names, as options such as ``--keep`` take it."""
    reader = Reader(text, _NAMES_EXAMPLE)
    names = reader.names()
    reader.end("',' or the end")
    return names
