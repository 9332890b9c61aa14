"""Says what a column looks like, by its name, type and values; `docs/audit.md` has the rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ppdm_sql.engine.types import MOMENTS, NUMBERS, Kind, kind_of


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IDENTIFYING_WORDS = _listed(
    "firstname lastname surname forename fullname fname lname username vorname nachname familienname "
    "prenom apellido login email mail phone telephone mobile fax ssn iban passport street address ip mac "
    "url licence license plate"
)
_NAMES = _listed("name names")
_NAMED_THINGS = _listed(
    "product item article brand drug medication substance city town country state region province county "
    "district hospital clinic department dept ward unit company employer school college team station shop "
    "store plan category group segment type class event course test lab disease diagnosis procedure species "
    "file table column"
)
"""What is named in columns such as ``drug_name``: no persons."""
_LOCATION_WORDS = _listed("lon lng longitude lat latitude gps coordinate coordinates geolocation")
_MEASURE_WORDS = _listed(
    "amount amounts charge charges price cost costs salary income wage wages pay payment payments balance "
    "total sum fee fees revenue budget premium loan debt gain loss value age ages day days hour hours "
    "minute minutes second seconds week weeks month months year years time times timestamp epoch duration "
    "length height weight width size distance area count counts quantity qty visits children persons "
    "rooms score rate percent wgt fnlwgt"
)
"""Whole numbers that are called so measure or count something: they are neither codes nor identifiers."""
_PERSONS = _listed(
    "patient person personal customer client employee staff member user student pupil citizen national "
    "subject resident insured taxpayer nhs"
)
_CONTACTS = _listed("mail email phone")
_OWN_WORDS = _CONTACTS | _listed("mrn ssn")
"""What one person has one of, as a rule: a column that is called so says whose a record is."""
_PERSON_WORDS = _PERSONS | _listed("account policy card insurance tax record mrn")
_NUMBERING_WORDS = _listed("id key uid uuid guid")
_LAST_NUMBERING_WORDS = _listed("nr no num number")
"""Those number something as the last word only: ``num_visits`` and ``number_of_rooms`` count."""
_CODED_WORDS = _listed("zip zipcode postcode postal plz code icd icd9 icd10 sku ean isbn")
_FIELD = re.compile(r'[(,] *("(?:[^"]|"")+"|\w+) ')
"""Names of fields in the type of a structure, such as ``STRUCT("name" VARCHAR, born DATE)``."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+")

NEARLY_ALL = 0.95
_MOST = 0.9
_HALF = 0.5
_FEW_NUMBERS, _FEW_TEXTS = 10, 20
"""Whole numbers, and texts, of at most so many values are categories."""
_TIMES = 10
"""Few whole numbers are categories where each comes so many times, on average; else there are few records."""
_FLAGS = 3
"""Texts of at most so many values are about a telephone or the like, and none themselves."""
FEWEST_RECORDS = 20
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
    """The shape of a column's values, from a sample of them, as shares of it."""

    of_one_length: float = 0.0  # as long as most others
    # e-mail and IP addresses, UUIDs, IBANs, social security and telephone numbers, links
    identifying: float = 0.0
    dates: float = 0.0  # dates and time stamps
    numbers: float = 0.0  # numbers without leading zeros
    whole: float = 0.0  # whole numbers, of any type: pandas has those beside a NULL as floating-point numbers
    leading_zeros: float = 0.0  # digits with a leading zero
    codes: float = 0.0  # up to 20 letters, digits and marks, without blanks and with a digit
    sentences: float = 0.0  # four words or more


def looks_like(
    name: str, type_text: str, *, records: int, values: int, nulls: int, alone: int, shape: ValueShape
) -> Look:
    """Say what a column looks like."""
    if values <= 1 and not (values and nulls):
        return Look.constant if values else Look.empty
    kind, words = kind_of(type_text), _words(name)
    is_text = kind in (Kind.TEXT, Kind.ENUM) or type_text == "UUID"
    is_number = kind in NUMBERS or (is_text and shape.numbers >= _MOST and not shape.leading_zeros)
    flags = values <= _FLAGS and records >= FEWEST_RECORDS
    if (is_number or is_text) and _LOCATION_WORDS.intersection(words):
        return Look.identifier
    if is_text and not flags and (_identifies(words) or shape.identifying >= _MOST):
        return Look.identifier
    fields = ["", *_FIELD.findall(type_text)] if kind is Kind.OTHER else []
    if any(_identifies([*words, *_words(field)]) for field in fields):
        return Look.identifier
    if kind in (Kind.BOOLEAN, Kind.ENUM):
        return Look.category
    if kind in (*MOMENTS, Kind.TIME) or (is_text and shape.dates >= _MOST):
        return Look.date
    singles_out = records >= FEWEST_RECORDS and alone >= NEARLY_ALL * (records - nulls)
    if is_number:
        whole = kind is Kind.WHOLE or shape.whole >= 1
        return _of_whole_numbers(words, records, values, singles_out=singles_out) if whole else Look.number
    return _of_texts(words, records, values, shape, singles_out=singles_out) if is_text else Look.other


def _of_whole_numbers(words: Sequence[str], records: int, values: int, *, singles_out: bool) -> Look:
    if _numbers_persons(words):
        return Look.identifier
    if _MEASURE_WORDS.intersection(words) or (len(words) > 1 and words[0] in ("num", "number")):
        return Look.number
    if singles_out:
        return Look.identifier
    if _is_coded(words):
        return Look.code
    return Look.category if values <= _FEW_NUMBERS and records >= _TIMES * values else Look.number


def _of_texts(
    words: Sequence[str], records: int, values: int, shape: ValueShape, *, singles_out: bool
) -> Look:
    if shape.sentences >= _HALF:
        return Look.text
    if singles_out or _numbers_persons(words):
        return Look.identifier
    if _is_coded(words):
        return Look.code
    if values <= _FEW_TEXTS:
        return Look.category
    if shape.codes >= _MOST and (shape.of_one_length >= _HALF or shape.leading_zeros):
        return Look.code
    return Look.category if values <= max(100, records / 10) else Look.text


def _identifies(words: Sequence[str]) -> bool:
    """Tell whether a name is like ``email`` or ``last_name``, and not like ``drug_name``."""
    named = bool(_NAMES.intersection(words)) and not _NAMED_THINGS.intersection(words)
    return named or bool(_IDENTIFYING_WORDS.intersection(words))


def _numbers(words: Sequence[str]) -> bool:
    return bool(_NUMBERING_WORDS.intersection(words) or _LAST_NUMBERING_WORDS.intersection(words[-1:]))


def _numbers_persons(words: Sequence[str]) -> bool:
    """Tell whether a name is like ``patient_id``: it numbers persons, however often each of them comes."""
    numbers = _numbers(words) and not _PERSON_WORDS.isdisjoint(words)
    numbers = numbers and _NAMED_THINGS.isdisjoint(words[-2:])  # as in policy_type_id
    return numbers or not {"ssn", "mrn", "iban"}.isdisjoint(words)


def is_named_for_persons(name: str) -> bool:
    """Tell whether a column is called as if it said whose a record is, and nothing more.

    Example:
        >>> [is_named_for_persons(name) for name in ("PatientID", "PERSONNR", "NHS number", "email")]
        [True, True, True, True]
        >>> [is_named_for_persons(name) for name in ("id", "member_since", "zip", "user agent", "policy")]
        [False, False, False, False, False]
    """
    words = _words(name)
    if len(words) > 2:
        return False
    word = "".join(words)
    numbers = _NUMBERING_WORDS | _LAST_NUMBERING_WORDS | {"code", ""}
    return word in _OWN_WORDS or any(word == person + number for person in _PERSONS for number in numbers)


def without_contacts(names: Sequence[str], columns: Collection[str]) -> list[str]:
    """Leave out what a household may share, such as a telephone, where a column of a table numbers persons.

    Example:
        >>> without_contacts(["phone", "mrn"], ["phone", "mrn"]), without_contacts(["phone"], ["id", "phone"])
        (['mrn'], ['phone'])
    """
    contacts = {name for name in columns if "".join(_words(name)) in _CONTACTS}
    numbered = [name for name in columns if is_named_for_persons(name) or _numbers_persons(_words(name))]
    if contacts.issuperset(numbered):
        return list(names)
    return [name for name in names if name not in contacts]


def _is_coded(words: Sequence[str]) -> bool:
    """Tell whether a name is like ``zip`` or ``product_id``; ``education_num`` may be a rank as well."""
    return bool(_CODED_WORDS.intersection(words)) or (_numbers(words) and words[-1] != "num")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name) if not word.isdecimal()]
