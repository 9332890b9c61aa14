"""Functions of a row: noise and pseudonyms by a key, requirements taken apart.

Each is a temporary macro, so that arguments have names and are cast, and an error is one sentence. What needs
Python is a private function below it. The private functions take and give Arrow arrays.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.names import resolve
from ppdm_sql.engine.statements import sql
from ppdm_sql.engine.types import plain_type
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.perturbation.noise_draws import centred, normal_root, normal_value
from ppdm_sql.privacy import Requirement, parse
from ppdm_sql.release.catalogue import find
from ppdm_sql.release.recoding import mapped

PARTS = (
    "STRUCT(kind VARCHAR, columns VARCHAR[], sensitive VARCHAR, protected VARCHAR[], threshold DOUBLE, "
    "text VARCHAR, level VARCHAR)"
)
"""What a requirement consists of."""


@dataclass(frozen=True)
class RowFunction:
    """A function of a row: a macro, and the private function that it calls."""

    name: str  # of the macro
    parameters: str  # of the macro, as SQL
    body: str  # of the macro; ``{answer}`` stands for what the private function gives
    arguments: str  # of the private function, as SQL over the parameters
    takes: tuple[str, ...]  # their types
    gives: str  # the type of what it gives
    run: Callable[..., list[Any]]  # the private function, from Arrow arrays to a list of values


def pseudonyms(values: Any, keys: Any) -> list[str]:
    """Give the pseudonym of each value: HMAC-SHA-256 (RFC 2104) by its key, 64 hexadecimal digits."""
    states: dict[str, hmac.HMAC] = {}
    digests = []
    for value, key in zip(values.to_pylist(), keys.to_pylist(), strict=True):
        if key not in states:
            states[key] = hmac.new(key.encode(), digestmod=hashlib.sha256)
        state = states[key].copy()
        state.update(value.encode())
        digests.append(state.hexdigest())
    return digests


# -- requirements -----------------------------------------------------------------------------


def requirement_parts(texts: Any) -> list[dict[str, Any]]:
    every = texts.to_pylist()
    parts = {text: _parts(parse(text)) for text in dict.fromkeys(every)}
    return [parts[text] for text in every]


def _parts(requirement: Requirement) -> dict[str, Any]:
    level = requirement.level
    return {
        "kind": requirement.form,
        "columns": list(requirement.attributes),
        "sensitive": next(iter(requirement.sensitive_columns), None),
        "protected": None if requirement.protected is None else list(requirement.protected),
        "threshold": float(requirement.limit),
        "text": str(requirement),
        "level": None if level is None else str(level),
    }


# -- macros -----------------------------------------------------------------------------------

_KEY_MISSING = (
    "WHEN record IS NULL OR key IS NULL THEN error('Noise is drawn by record and key, and one of them is "
    "NULL. Give a column that tells records apart, and a secret text.')"
)
_UNIT = "pow(2, floor(log2(scale::DOUBLE)) - 20)"
_ADDED = (
    f"CASE WHEN value IS NULL OR scale IS NULL THEN NULL {_KEY_MISSING} "
    "WHEN NOT (scale >= 0 AND isfinite(scale::DOUBLE)) THEN error('The scale of noise is below 0 or not a "
    "number. Give the standard deviation, or half the width of uniform noise.') "
    "WHEN scale = 0 THEN value::DOUBLE "
    f"ELSE round((value::DOUBLE + scale::DOUBLE * [noise]) / {_UNIT}) * {_UNIT} + 0e0 END"
)
_PLACE = 'least(floor((draw - p::DOUBLE) * len("values") / (1 - p::DOUBLE)), len("values") - 1)::BIGINT'


def _draw(kind: str) -> str:
    """Draw a number that is uniform on (-1/2, 1/2) for a record by a key; another kind gives another."""
    return centred(f"sha256(sha256('ppdm {kind} ' || key::VARCHAR) || record::VARCHAR)")


_NORMAL = (
    f"list_transform([{_draw('gaussian')}], lambda q: "
    f"list_transform([{normal_root('q')}], lambda r: {normal_value('q', 'r')})[1])[1]"
)
_RESPONSE = (
    f"CASE WHEN value IS NULL THEN NULL {_KEY_MISSING} "
    "WHEN p IS NULL OR NOT (p >= 0 AND p < 1) THEN error('The probability p of keeping a value is not in "
    "[0, 1). Give one such as 0.7.') "
    'WHEN "values" IS NULL OR len("values") < 2 THEN error(\'Randomized response draws from two values '
    "or more. Give all possible values as a list.') "
    f"ELSE list_transform([{_draw('response')} + 0.5e0], lambda draw: "
    f'CASE WHEN draw < p THEN value ELSE "values"[1 + {_PLACE}] END)[1] END'
)

NOISE_MACROS = (
    ("ppdm_gaussian_noise", "value, scale, record, key", _ADDED.replace("[noise]", _NORMAL)),
    (
        "ppdm_uniform_noise",
        "value, scale, record, key",
        _ADDED.replace("[noise]", f"(2 * {_draw('uniform')})"),
    ),
    ("ppdm_randomized_response", 'value, p, "values", record, key', _RESPONSE),
)
"""Name, parameters and body of the macros that draw noise, which need no Python."""

FUNCTIONS = (
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


# -- the cut of a release applied to single values, as ppdm apply does to a table ---------------

Place = tuple[str, str, str, str, str]
"""Current database and schema, release, column, and type of the value."""


class Generalizer:
    """Applies cuts, and remembers what it found while one statement runs."""

    def __init__(self, engine: Callable[[str, str], Engine]) -> None:
        self._engine = engine  # makes one on another connection, in a database and schema
        self._known: dict[Place, dict[str | None, str]] = {}
        self._statement = -1
        self._lock = threading.Lock()

    def __call__(self, *arrays: Any) -> list[str]:
        """Give the label of each value, for Arrow arrays of the arguments and of what they depend on."""
        releases, columns, texts, types, catalogs, schemas, (statement, *_) = (a.to_pylist() for a in arrays)
        places = list(zip(catalogs, schemas, releases, columns, types, strict=True))
        with self._lock:
            if statement != self._statement:
                self._known, self._statement = {}, statement
            for one in dict.fromkeys(places):
                labels_of = self._known.setdefault(one, {})
                mine = {text for other, text in zip(places, texts, strict=True) if other == one}
                if unknown := mine - labels_of.keys():
                    labels_of.update(self._labels(one, list(unknown)))
            return [self._known[one][text] for one, text in zip(places, texts, strict=True)]

    def _labels(self, place: Place, texts: Sequence[str | None]) -> dict[str | None, str]:
        catalog, schema, release, name, type_text = place
        with closing(self._engine(catalog, schema)) as engine:
            return labels(engine, release, name, texts, type_text)


def generalizing(engine: Callable[[str, str], Engine]) -> RowFunction:
    """Give the function of a row for engines of a connection."""
    return RowFunction(
        "ppdm_generalize_value",
        'release, "column", value',
        'CASE WHEN release IS NULL OR "column" IS NULL THEN error(\'The release or its column is '
        "NULL. Give their names.') ELSE {answer} END",
        'release::VARCHAR, "column"::VARCHAR, value::VARCHAR, typeof(value), '
        "current_database(), current_schema(), current_query_id()",
        (*["VARCHAR"] * 6, "UBIGINT"),
        "VARCHAR",
        Generalizer(engine),
    )


def labels(
    engine: Engine, release: str, name: str, texts: Sequence[str | None], type_text: str
) -> dict[str | None, str]:
    """Give what a release shows for values of a masked column, which are texts of a type."""
    row = find(engine, release)
    shape = row.shape(engine.current()[0])
    name = resolve(name, shape.names, table=row.release)
    if name not in shape.masked:
        raise InvalidOption(
            f"The release {row.release!r} does not mask the column {name!r}.", "Use the value as it is."
        )
    narrowed = replace(shape, columns=tuple(c for c in shape.columns if c.name == name), count=None)
    with engine.workspace():
        bare = type_text == '"NULL"'  # a NULL without a type
        cast = "SELECT g.text, CAST(g.text AS {kind}) AS value FROM unnest($texts::VARCHAR[]) AS g (text)"
        values = sql(cast, kind=plain_type("VARCHAR" if bare else type_text))
        source = engine.materialize("asked_values", values, {"texts": list(texts)})
        try:
            (mapping,) = mapped(engine, row, narrowed, source, {name: Column("value", type_text)})
        except InvalidSource:
            raise InvalidSource(
                f"Values of the type {type_title(type_text)} cannot be compared with the intervals of "
                f"{name!r} in {shape.name!r}.",
                "Cast them to the type that the column had when the release was made.",
            ) from None
        joined = "SELECT t.text, m.label FROM {t} AS t LEFT JOIN {m} AS m ON m.value IS NOT DISTINCT FROM {c}"
        answered = sql(joined, t=source, m=mapping.labels, c=mapping.cell)
        return dict(engine.query(answered, step="labels"))
