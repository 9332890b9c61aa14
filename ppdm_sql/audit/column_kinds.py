"""Says what a column looks like, by its name, type and values; `docs/audit.md` has the rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from ppdm_sql.engine.types import MOMENTS, Kind, kind_of


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IDENTIFYING_WORDS = _listed(
    "name firstname lastname surname forename fullname username login email mail phone telephone mobile fax "
    "ssn iban passport street address ip mac url licence license plate"
)
_PERSON_WORDS = _listed(
    "patient person customer client employee member user student citizen subject account policy card "
    "insurance tax record mrn"
)
_NUMBERING_WORDS = _listed("id nr no number num key uid uuid guid")
_CODED_WORDS = _NUMBERING_WORDS | _listed("zip zipcode postcode postal plz code icd icd9 icd10 sku ean isbn")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+")

_NEARLY_ALL = 0.95
_MOST = 0.9
_HALF = 0.5
_FEW_NUMBERS, _FEW_TEXTS = 10, 20
"""Whole numbers, and texts, of at most so many values are categories."""
_FEWEST_RECORDS = 20
"""Below so many records, that all values differ says nothing of a column."""


class Look(StrEnum):
    """What a column looks like."""

    identifier = "direct identifier"
    code = "code"
    date = "date"
    number = "number"
    category = "category"
    text = "free text"
    constant = "constant"
    empty = "empty"
    other = "other"


@dataclass(frozen=True)
class ValueShape:
    """The shape of a column's values, from a sample of them, as shares of it.

    Args:
        of_one_length: As long as most others.
        identifying: E-mail and IP addresses, UUIDs, IBANs, social security and telephone numbers, links.
        dates: Dates and time stamps.
        numbers: Numbers without leading zeros.
        leading_zeros: Digits with a leading zero.
        codes: Up to 20 letters, digits and marks, without blanks and with a digit.
        sentences: Four words or more.
    """

    of_one_length: float = 0.0
    identifying: float = 0.0
    dates: float = 0.0
    numbers: float = 0.0
    leading_zeros: float = 0.0
    codes: float = 0.0
    sentences: float = 0.0


def looks_like(
    name: str, type_text: str, *, records: int, values: int, nulls: int, alone: int, shape: ValueShape
) -> Look:
    """Say what a column looks like.

    Args:
        name: Of the column.
        type_text: Its type.
        records: Of the table.
        values: Different values, NULL aside.
        nulls: Records with NULL.
        alone: Records whose value nobody else has.
        shape: Of its values.

    Example:
        >>> looks_like("zip", "VARCHAR", records=900, values=80, nulls=0, alone=3,
        ...     shape=ValueShape(of_one_length=1.0, numbers=0.9, leading_zeros=0.1, codes=1.0)).value
        'code'
    """
    if values <= 1 and not (values and nulls):
        return Look.constant if values else Look.empty
    kind, words = kind_of(type_text), _words(name)
    is_text = kind is Kind.TEXT or type_text == "UUID"
    if is_text and (words & _IDENTIFYING_WORDS or shape.identifying >= _MOST):
        return Look.identifier
    if kind in (Kind.BOOLEAN, Kind.ENUM):
        return Look.category
    if kind in (*MOMENTS, Kind.TIME) or (is_text and shape.dates >= _MOST):
        return Look.date
    if kind in (Kind.DECIMAL, Kind.REAL):
        return Look.number
    singles_out = records >= _FEWEST_RECORDS and alone >= _NEARLY_ALL * (records - nulls)
    if kind is Kind.WHOLE:
        return _of_whole_numbers(words, values, shape, singles_out=singles_out)
    return _of_texts(words, records, values, shape, singles_out=singles_out) if is_text else Look.other


def _of_whole_numbers(words: set[str], values: int, shape: ValueShape, *, singles_out: bool) -> Look:
    numbering = words & _NUMBERING_WORDS or shape.of_one_length >= _MOST
    if _numbers_persons(words) or (singles_out and numbering):
        return Look.identifier
    if words & _CODED_WORDS:
        return Look.code
    return Look.category if values <= _FEW_NUMBERS else Look.number


def _of_texts(words: set[str], records: int, values: int, shape: ValueShape, *, singles_out: bool) -> Look:
    if shape.sentences >= _HALF:
        return Look.text
    if singles_out or _numbers_persons(words):
        return Look.identifier
    if words & _CODED_WORDS:
        return Look.code
    if shape.numbers >= _MOST and not shape.leading_zeros:
        return Look.number
    if values <= _FEW_TEXTS:
        return Look.category
    if shape.codes >= _MOST and (shape.of_one_length >= _HALF or shape.leading_zeros):
        return Look.code
    return Look.category if values <= max(100, records / 10) else Look.text


def _numbers_persons(words: set[str]) -> bool:
    """Tell whether a name is like ``patient_id``: it numbers persons, however often each of them comes."""
    return bool(words & _NUMBERING_WORDS and words & _PERSON_WORDS) or bool(words & {"ssn", "mrn", "iban"})


def _words(name: str) -> set[str]:
    """Take a name apart.

    Example:
        >>> sorted(_words("PatientID_2")), sorted(_words("e-mail"))
        (['2', 'id', 'patient'], ['e', 'mail'])
    """
    return {word.lower() for word in _WORD.findall(name)}
