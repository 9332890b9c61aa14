"""Functions of a row that need Python: noise and pseudonyms by a key, requirements taken apart.

Each is a temporary macro over a private function, so that arguments have names and are cast, and an error is
one sentence. The private functions take and give Arrow arrays.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ppdm_sql.methods.perturbation.noise_draws import NoiseDrawer, Stream
from ppdm_sql.methods.perturbation.noise_key import Key
from ppdm_sql.privacy import Requirement, parse
from ppdm_sql.privacy.level import level_of
from ppdm_sql.sql_calls.arrow import Columns

PARTS = (
    ("kind", "VARCHAR"),
    ("columns", "VARCHAR[]"),
    ("sensitive", "VARCHAR"),
    ("protected", "VARCHAR[]"),
    ("threshold", "DOUBLE"),
    ("text", "VARCHAR"),
    ("level", "VARCHAR"),
)
"""What a requirement consists of, as a struct."""


@dataclass(frozen=True)
class RowFunction:
    """A function of a row.

    Args:
        name: Of the macro.
        parameters: Of the macro, as SQL.
        body: Of the macro; ``{answer}`` stands for what the private function gives.
        arguments: Of the private function, as SQL over the parameters.
        takes: Their types.
        gives: The type of what it gives, or the fields of a struct.
        run: The private function, from Arrow arrays to a list of values.
    """

    name: str
    parameters: str
    body: str
    arguments: str
    takes: tuple[str, ...]
    gives: str | Columns
    run: Callable[..., list[Any]]


# -- draws ------------------------------------------------------------------------------------


def draws(kind: str, *, normal: bool) -> Callable[[Any, Any], list[float]]:
    """Give a function that draws a number for each record, by its key.

    Args:
        kind: Of the draws; another kind gives others for the same key.
        normal: Whether they are standard normal; else they are uniform on (0, 1).

    Source: as :mod:`ppdm_sql.methods.perturbation.noise_draws`.

    Example:
        >>> import pyarrow
        >>> draw = draws("uniform", normal=False)
        >>> one, other = (draw(pyarrow.array(["7", "8"]), pyarrow.array([key] * 2)) for key in ("a", "b"))
        >>> one == other, one == draw(pyarrow.array(["7", "8"]), pyarrow.array(["a", "a"]))
        (False, True)
    """

    def drawn(records: Any, keys: Any) -> list[float]:
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        texts, found = records.to_pylist(), dict[tuple[str, str], float]()
        pairs = list(zip(keys.to_pylist(), texts, strict=True))
        for key in dict.fromkeys(key for key, _ in pairs):
            mine = list(dict.fromkeys(record for other, record in pairs if other == key))
            secret = Key(hashlib.sha256(key.encode()).digest(), "no").derived("ppdm", kind)
            numbers = NoiseDrawer([Stream(secret, normal)], "text").draws(pa.array(mine, pa.string()))[0]
            found.update(zip([(key, record) for record in mine], numbers.tolist(), strict=True))
        return [found[pair] for pair in pairs]

    return drawn


def pseudonyms(values: Any, keys: Any) -> list[str]:
    """Give the pseudonym of each value: HMAC-SHA-256 by its key, 64 hexadecimal digits.

    Source: RFC 2104, with SHA-256.

    Example:
        >>> import pyarrow
        >>> pseudonyms(pyarrow.array(["Ann"]), pyarrow.array(["secret"]))[0][:8]
        'e8c374fb'
    """
    states: dict[str, hmac.HMAC] = {}
    given = []
    for value, key in zip(values.to_pylist(), keys.to_pylist(), strict=True):
        if key not in states:
            states[key] = hmac.new(key.encode(), digestmod=hashlib.sha256)
        state = states[key].copy()
        state.update(value.encode())
        given.append(state.hexdigest())
    return given


# -- requirements -----------------------------------------------------------------------------


def requirement_parts(texts: Any) -> list[dict[str, Any]]:
    """Take requirements apart.

    Raises:
        PpdmError: A text is no requirement.

    Example:
        >>> import pyarrow
        >>> (parts,) = requirement_parts(pyarrow.array(["distinct l >= 3 of Disease on Sex"]))
        >>> parts["kind"], parts["columns"], parts["sensitive"], parts["threshold"]
        ('distinct l', ['Sex'], 'Disease', 3.0)
    """
    given = texts.to_pylist()
    known = {text: _parts(parse(text)) for text in dict.fromkeys(given)}
    return [known[text] for text in given]


def _parts(requirement: Requirement) -> dict[str, Any]:
    sensitive = next(iter(requirement.sensitive_columns), None)
    protected = None if requirement.protected is None else list(requirement.protected)
    grouping, limit = list(requirement.attributes), float(requirement.limit)
    level = None if (found := level_of(requirement)) is None else str(found)
    read = (requirement.form, grouping, sensitive, protected, limit, str(requirement), level)
    return dict(zip((name for name, _ in PARTS), read, strict=True))


# -- macros -----------------------------------------------------------------------------------

_KEYED = ("record::VARCHAR, key::VARCHAR", ("VARCHAR", "VARCHAR"), "DOUBLE")
_KEY_MISSING = (
    "WHEN record IS NULL OR key IS NULL THEN error('Noise is drawn by record and key, and one of them is "
    "NULL. Give a column that tells records apart, and a secret text.')"
)
_UNIT = "pow(2, floor(log2(scale::DOUBLE)) - 20)"
_ADDED = (
    f"CASE WHEN value IS NULL OR scale IS NULL THEN NULL {_KEY_MISSING} "
    "WHEN NOT (scale >= 0 AND isfinite(scale::DOUBLE)) THEN error('The scale of noise is below 0 or no "
    "number. Give the standard deviation, or half the width of uniform noise.') "
    "WHEN scale = 0 THEN value::DOUBLE "
    f"ELSE round((value::DOUBLE + scale::DOUBLE * [noise]) / {_UNIT}) * {_UNIT} END"
)
_PLACE = 'least(floor((draw - p::DOUBLE) * len("values") / (1 - p::DOUBLE)), len("values") - 1)::BIGINT'
_RESPONSE = (
    f"CASE WHEN value IS NULL THEN NULL {_KEY_MISSING} "
    "WHEN p IS NULL OR NOT (p >= 0 AND p < 1) THEN error('The probability p of keeping a value is not in "
    "[0, 1). Give one such as 0.7.') "
    'WHEN "values" IS NULL OR len("values") < 2 THEN error(\'Randomized response draws from two values '
    "or more. Give all possible values as a list.') "
    "ELSE list_transform([{answer}], lambda draw: "
    f'CASE WHEN draw < p THEN value ELSE "values"[1 + {_PLACE}] END)[1] END'
)

FUNCTIONS = (
    RowFunction(
        "ppdm_gaussian_noise",
        "value, scale, record, key",
        _ADDED.replace("[noise]", "{answer}"),
        *_KEYED,
        draws("gaussian", normal=True),
    ),
    RowFunction(
        "ppdm_uniform_noise",
        "value, scale, record, key",
        _ADDED.replace("[noise]", "(2 * {answer} - 1)"),
        *_KEYED,
        draws("uniform", normal=False),
    ),
    RowFunction(
        "ppdm_randomized_response",
        'value, p, "values", record, key',
        _RESPONSE,
        *_KEYED,
        draws("response", normal=False),
    ),
    RowFunction(
        "ppdm_pseudonym",
        "value, key",
        "CASE WHEN value IS NULL THEN NULL WHEN key IS NULL THEN error('The key of a pseudonym is NULL. "
        "Give a secret text.') ELSE {answer} END",
        "value::VARCHAR, key::VARCHAR",
        ("VARCHAR", "VARCHAR"),
        "VARCHAR",
        pseudonyms,
    ),
    RowFunction(
        "ppdm_parse_requirement",
        "text",
        "CASE WHEN text IS NULL THEN NULL ELSE {answer} END",
        "text::VARCHAR",
        ("VARCHAR",),
        PARTS,
        requirement_parts,
    ),
)
"""The functions that need no database."""
