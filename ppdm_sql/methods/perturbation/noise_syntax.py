"""Reads noise as users write it; :mod:`~ppdm_sql.methods.perturbation.noise` shows the language."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

from ppdm_sql.engine.names import by_name, listed, quoted
from ppdm_sql.errors import InvalidOption, kind_of
from ppdm_sql.methods.perturbation.noise import Domain, Kind, NoiseSpec, Way
from ppdm_sql.privacy.quoting import read_share

_NOISE = re.compile(
    r"""\s*(?:(?P<column>"(?:[^"]|"")+"|[^="']+?)\s*=)?\s*(?P<kind>gaussian|uniform|cells|retain)\s+(?P<rest>.+)""",
    re.DOTALL | re.IGNORECASE,
)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_AMOUNT = re.compile(rf"({_NUMBER})\s*(%?)(?=\s|$)")
_LIST = re.compile(rf"{_NUMBER}(?:\s*,\s*{_NUMBER})+(?=\s|$)")
_CLAUSE = re.compile(
    rf"\s+(?:at\s+(?P<at>{_NUMBER}\s*%?)|on\s+(?P<on>{_NUMBER}\s*,\s*{_NUMBER})|(?P<word>whole|rounded))(?=\s|$)",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^,']+?))\s*(?:,|$)")
_EXAMPLES: dict[str, str] = {
    "gaussian": "gaussian 100%, gaussian 2500, or gaussian 100% at 99.9% on 20000,150000 rounded",
    "uniform": "uniform 100%, uniform 0.5, or uniform 100% at 99.9% on 20000,150000 rounded",
    "cells": "cells 5, cells 5 equal-frequency, or cells 0,20,40,80",
    "retain": "retain 0.7, retain 70%, or retain 0.7 of clerk,'night nurse'",
}


def parse_noise(text: str, column: str = "") -> NoiseSpec:
    """Read the noise that is specified for one column; the text need not name it if ``column`` does.

    Raises:
        InvalidOption: It cannot be read, or a number makes no sense; the message has an example.

    Example:
        >>> asked = parse_noise("age=uniform 50% at 0.999 rounded")
        >>> asked.column, asked.amount, asked.level, asked.confidence, asked.rounded
        ('age', 0.5, True, 0.999, True)
        >>> parse_noise("cells 0,20,40,80").edges
        (0.0, 20.0, 40.0, 80.0)
    """
    if not isinstance(text, str):
        raise InvalidOption(
            f"Noise is given as a text, not as {kind_of(text)}.", "Write it as 'gaussian 100%'."
        )
    found = _NOISE.fullmatch(text)
    if found is None:
        raise InvalidOption(
            f"--noise {text!r} cannot be read.", "Write it as --noise 'salary=gaussian 100%', for instance."
        )
    kind, rest = cast(Kind, found["kind"].lower()), found["rest"].strip()
    asked = NoiseSpec(_name(found["column"] or "") or column, kind)
    if kind == "cells":
        return _cells(asked, rest, text)
    return _retain(asked, rest, text) if kind == "retain" else _added(asked, rest, text)


def parse_all_noise(given: Mapping[str, str] | Sequence[str]) -> list[NoiseSpec]:
    """Read the noise of several columns: texts that name their columns, or texts by column."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        return [parse_noise(text, column) for column, text in by_name(given, "noise").items()]
    given = listed(given, "Noises")
    read = [parse_noise(text) for text in given]
    for text, asked in zip(given, read, strict=True):
        if not asked.column:
            raise InvalidOption(f"--noise {text!r} names no column.", f"Write it as --noise 'salary={text}'.")
    return read


def written_name(column: str) -> str:
    """Write a column's name as it stands before ``=``, in quotes where it needs them."""
    plain = re.fullmatch(r"[^=\"'\s](?:[^=\"']*[^=\"'\s])?", column) is not None
    return column if plain else quoted(column)


def _name(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _refused(asked: NoiseSpec, text: str, why: str) -> InvalidOption:
    return InvalidOption(f"--noise {text!r} cannot be used: {why}.", f"Write it as {_EXAMPLES[asked.kind]}.")


def _added(asked: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    """Read a scale or level and the clauses that follow it."""
    found = _AMOUNT.match(rest)
    if found is None:
        raise _refused(asked, text, "there is no scale or privacy level")
    level = bool(found[2])
    amount = float(found[1]) / (100 if level else 1)
    if not (math.isfinite(amount) and amount > 0):
        raise _refused(asked, text, "the noise must be above 0")
    return _with_clauses(replace(asked, amount=amount, level=level), rest[found.end() :], text)


def _with_clauses(asked: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    words: set[str] = set()
    bounds: tuple[float, float] | None = None
    while rest.strip():
        clause = _CLAUSE.match(rest)
        if clause is None:
            raise _refused(asked, text, f"{rest.strip()!r} is not understood")
        rest = rest[clause.end() :]
        if clause["at"]:
            if not asked.level:
                raise _refused(asked, text, "a confidence belongs to a privacy level, written with %")
            asked = replace(asked, confidence=float(read_share(clause["at"], "at")))
        elif clause["on"]:
            bounds = _bounds(asked, clause["on"], text)
        else:
            words.add(clause["word"].lower())
    if not 0 < asked.confidence < 1:
        raise _refused(asked, text, "a confidence is between 0 and 100 %")
    if bounds is None and "whole" in words:
        raise _refused(asked, text, "'whole' follows the range of the original, on 17,90")
    domain = None if bounds is None else Domain(*bounds, "whole" in words)
    return replace(asked, domain=domain, rounded="rounded" in words)


def _bounds(asked: NoiseSpec, numbers: str, text: str) -> tuple[float, float]:
    lower, upper = (float(part) for part in numbers.split(","))
    if not (lower < upper and math.isfinite(upper - lower)):
        raise _refused(asked, text, "the range is not two ascending numbers")
    return lower, upper


def _cells(asked: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    """Read edges, or a number of cells and how they are cut."""
    if found := _LIST.fullmatch(rest):
        edges = tuple(float(part) for part in found[0].split(","))
        if (
            len(edges) < 3
            or not all(a < b for a, b in pairwise(edges))
            or not math.isfinite(edges[-1] - edges[0])
        ):
            raise _refused(asked, text, "edges are three or more ascending numbers")
        return replace(asked, edges=edges)
    found = re.fullmatch(r"(\d+)(?:\s+(equal-width|equal-frequency))?", rest, re.IGNORECASE)
    if found is None:
        raise _refused(asked, text, "it is neither a number of cells nor their edges")
    if not 2 <= int(found[1]) <= 10_000:
        raise _refused(asked, text, "the number of cells is not between 2 and 10000")
    way = cast(Way, (found[2] or "equal-width").lower())
    return replace(asked, amount=float(found[1]), way=way)


def _retain(asked: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    """Read the probability of keeping a value and, if they are listed, all values."""
    found = _AMOUNT.match(rest)
    listed = None if found is None else re.fullmatch(r"(?:\s+of\s+(.+))?", rest[found.end() :], re.DOTALL)
    if found is None or listed is None:
        raise _refused(asked, text, "it does not say how likely a value is kept")
    probability = float(found[1]) / (100 if found[2] else 1)
    if not 0 < probability < 1:
        raise _refused(asked, text, "the probability that a value is kept is between 0 and 1")
    values = _values(asked, listed[1], text) if listed[1] else ()
    return replace(asked, amount=probability, values=values)


def _values(asked: NoiseSpec, listed: str, text: str) -> tuple[str, ...]:
    values, place = [], 0
    while place < len(listed):
        found = _VALUE.match(listed, place)
        if found is None:
            raise _refused(asked, text, "the values are not a list")
        values.append(found[2] if found[1] is None else found[1].replace("''", "'"))
        place = found.end()
    if len(values) < 2 or len(set(values)) < len(values):
        raise _refused(asked, text, "the values are not two or more different ones")
    return tuple(values)
