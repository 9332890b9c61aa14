"""Parses the requirement language: one function a form.

No keyword is reserved. What stands first and the sign after it tell the forms apart, so ``k``, ``on`` or
``in`` are column names wherever a column name can stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Literal, TypeVar

from ppdm_sql.errors import InvalidOption, kind_of
from ppdm_sql.privacy.model import (
    Asked,
    KAnonymity,
    LDiversity,
    Measure,
    Requirement,
    TCloseness,
    Template,
    Value,
)
from ppdm_sql.privacy.reader import Reader

_Text = TypeVar("_Text")

_TEMPLATE_EXAMPLE = "Job, Country -> Bankruptcy = Discharged <= 75%"
_K_EXAMPLE = "k >= 4 on Sex, Job"
_L_EXAMPLE = "distinct l >= 3 of Disease on Sex, Job"
_T_EXAMPLE = "t <= 0.2 of Disease on Sex, Job"
_NAMES_EXAMPLE = 'Job, "odd name"'

_K = re.compile(r"k(?=\s*[<>=≤≥]|\s+on(?![\w$]))", re.IGNORECASE)
_L = re.compile(r"l(?=\s*[<>=≤≥])", re.IGNORECASE)
_BARE_L = re.compile(r"l(?=\s+of(?![\w$]))", re.IGNORECASE)
_T = re.compile(r"t(?=\s*[<>=≤≥]|\s+of(?![\w$]))", re.IGNORECASE)
_KIND_OF_L = re.compile(r"(distinct|entropy)(?=\s+l(?![\w$]))", re.IGNORECASE)

_ARROW = re.compile("->|→")
_AT_LEAST = re.compile(">=|≥")
_AT_MOST = re.compile("<=|≤")
_EQUALS = re.compile("=")
_OPEN = re.compile(r"\(")
_CLOSE = re.compile(r"\)")
_IN = re.compile(r"in(?![\w$])", re.IGNORECASE)
_ON = re.compile(r"on(?![\w$])", re.IGNORECASE)
_OF = re.compile(r"of(?![\w$])", re.IGNORECASE)
_LETTER_L = re.compile("l", re.IGNORECASE)
_END = re.compile(r"\Z")

_NO_LIMIT = "; only ppdm audit takes a requirement without a limit"
_QUOTE_IT = "; a value that is not one plain word stands in single quotes"


def parse(text: str | Requirement) -> Requirement:
    """Read one requirement; one that is read already is given back as it is.

    Raises:
        RequirementSyntaxError: The text is no requirement; the message has a caret under the place.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.
        InvalidOption: A number is out of its range, or the text is not a text.

    Example:
        >>> parse("Job -> Bankruptcy in (Discharged, 'not filed') <= 0.75")
        Template(channel=('Job',), sensitive='Bankruptcy', values=('Discharged', 'not filed'), \
threshold=Fraction(3, 4))
    """
    if isinstance(text, Requirement):
        return text
    return _read(_reader(text))


def parse_measure(text: str | Asked) -> Asked:
    """Read one requirement, which may have no limit, for an audit that only measures.

    Raises:
        RequirementSyntaxError: The text is no requirement; the message has a caret under the place.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.
        InvalidOption: A number is out of its range, or the text is not a text.

    Example:
        >>> [str(parse_measure(text)) for text in ("l of Disease on Sex", "t <= 20% of Disease on Sex")]
        ['distinct l of Disease on Sex', 't <= 0.2 of Disease on Sex']
    """
    if isinstance(text, Requirement | Measure):
        return text
    reader = _reader(text)
    reader.limitless = True
    read = _read(reader)
    return read if reader.limited else Measure(read)


def _reader(text: object) -> Reader:
    if not isinstance(text, str):
        raise InvalidOption(
            f"A requirement is a text, not {kind_of(text)}.", f"Write it as {_TEMPLATE_EXAMPLE!r}."
        )
    return Reader(text, _TEMPLATE_EXAMPLE)


def _read(reader: Reader) -> Requirement:
    if reader.accept(_K):
        return _k_anonymity(reader)
    if reader.accept(_T):
        return _t_closeness(reader)
    if reader.follows(_BARE_L) and reader.limitless:
        return _l_diversity(reader, "distinct")
    if kind := reader.accept(_KIND_OF_L):
        return _l_diversity(reader, "distinct" if kind.lower() == "distinct" else "entropy")
    return _template(reader)


def parse_all(texts: Iterable[str | Requirement]) -> tuple[Requirement, ...]:
    """Read several requirements, in the order given; a single text counts as a list of one.

    Raises:
        RequirementSyntaxError: A text is no requirement.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.
        InvalidOption: A number is out of its range, or something is not a text.

    Example:
        >>> [str(requirement) for requirement in parse_all(["k>=4 on Sex", "t<=20% of Disease on Sex"])]
        ['k >= 4 on Sex', 't <= 0.2 of Disease on Sex']
    """
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
            f"Write them as [{_TEMPLATE_EXAMPLE!r}].",
        )
    return texts


def parse_names(text: str) -> tuple[str, ...]:
    """Read a list of column names, as options such as ``--keep`` take it.

    Raises:
        RequirementSyntaxError: The text is no list of names; the message has a caret under the place.

    Example:
        >>> parse_names('Job, "odd, name"')
        ('Job', 'odd, name')
    """
    reader = Reader(text, _NAMES_EXAMPLE)
    names = reader.names()
    reader.end("',' or the end")
    return names


def _template(reader: Reader) -> Template:
    if reader.accept(_L) or reader.accept(_BARE_L):
        raise Reader(reader.text, _L_EXAMPLE).error("'distinct' or 'entropy'")
    channel = reader.names()
    reader.expect(_ARROW, "'->' or ','")
    sensitive = reader.name()
    values, after = _protected_values(reader)
    threshold = reader.share() if _bounded(reader, _AT_MOST, after, _END) else Fraction(1)
    reader.end()
    return Template(channel, sensitive, values, threshold)


def _protected_values(reader: Reader) -> tuple[tuple[Value, ...] | None, str]:
    """Read the value part, and say what is expected after it."""
    if reader.follows(_AT_MOST) or reader.follows(_END):
        return None, "'=', 'IN' or '<='"
    if reader.accept(_IN):
        reader.expect(_OPEN, "'('")
        values = reader.values()
        reader.expect(_CLOSE, f"')' or ','{_QUOTE_IT}")
        return values, "'<='"
    reader.expect(_EQUALS, "'=', 'IN' or '<='")
    return (reader.value(),), f"'<='{_QUOTE_IT}"


def _bounded(reader: Reader, sign: re.Pattern[str], expected: str, rest: re.Pattern[str]) -> bool:
    """Read the sign before a limit, or tell that the rest follows without one, where that may be."""
    if not reader.follows(rest):
        reader.expect(sign, expected)
        return True
    if not reader.limitless:
        raise reader.error(expected + _NO_LIMIT)
    reader.limited = False
    return False


def _k_anonymity(reader: Reader) -> KAnonymity:
    reader.example = _K_EXAMPLE
    k = reader.whole() if _bounded(reader, _AT_LEAST, "'>='", _ON) else 1
    return KAnonymity(k, _quasi_identifier(reader))


def _l_diversity(reader: Reader, kind: Literal["distinct", "entropy"]) -> LDiversity:
    reader.example = _L_EXAMPLE
    reader.expect(_LETTER_L, "'l'")
    least = reader.fraction() if _bounded(reader, _AT_LEAST, "'>='", _OF) else Fraction(1)
    return LDiversity(kind, least, _sensitive(reader), _quasi_identifier(reader))


def _t_closeness(reader: Reader) -> TCloseness:
    reader.example = _T_EXAMPLE
    most = reader.share() if _bounded(reader, _AT_MOST, "'<='", _OF) else Fraction(1)
    return TCloseness(most, _sensitive(reader), _quasi_identifier(reader))


def _sensitive(reader: Reader) -> str:
    reader.expect(_OF, "'of'")
    return reader.name()


def _quasi_identifier(reader: Reader) -> tuple[str, ...]:
    reader.expect(_ON, "'on'")
    names = reader.names()
    reader.end("',' or the end")
    return names
