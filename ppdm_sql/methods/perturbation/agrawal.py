"""The synthetic persons of Agrawal, Imielinski and Swami, in the two classes of a function.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 5.1, Tables 2 and 3.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind, sql
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import registered
from ppdm_sql.options import AgrawalRequest
from ppdm_sql.progress import Progress
from ppdm_sql.release.catalogue import check_free

FUNCTIONS = (1, 2, 3, 4, 5)
CLASSES = ("Group A", "Group B")
ATTRIBUTES = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
"""Attributes, each with a number of its own drawn for every candidate."""

MOST_CANDIDATES = 2**20
"""Candidates drawn at a time; memory is bounded by them, whatever the number of records."""

SEEDS = 2**64


@dataclass(frozen=True)
class Generated:
    """A table that was generated."""

    into: str  # its name
    seed: int  # gives the same records again, whatever the number of threads
    classes: dict[str, int]  # records of each class


def generate_agrawal(engine: Engine, request: AgrawalRequest, progress: Progress) -> Generated:
    """Make a table of synthetic persons; see :meth:`ppdm_sql.Database.generate_agrawal`."""
    _check(request)
    engine.require_autocommit()
    place = check_free(engine, request.into)
    target = Table(request.into, place.schema, place.catalog)
    seed = secrets.randbelow(2**32) if request.seed is None else request.seed
    counts = (0, 0)
    try:
        progress.start(f"generating {request.into}")
        with engine.workspace(), engine.transaction():
            engine.write(
                bind("perturbation/create_agrawal", tables={"target": target}), step="create agrawal"
            )
            for part in itertools.count():
                if not (remaining := request.rows - sum(counts)):
                    break
                size = min(MOST_CANDIDATES, 3 * remaining + 100 if request.balanced else remaining)
                with registered(engine, _draws(seed, part, size)) as draws:
                    tables, values = {"draws": draws}, {"function": request.function}
                    drawing = bind("perturbation/agrawal_candidates", tables=tables, values=values)
                    candidates = engine.materialize("candidates", drawing)
                counts = _keep(engine, candidates, target, request, counts)
                engine.discard(candidates)
                progress.update(records=sum(counts))
    finally:
        progress.stop()
    return Generated(request.into, seed, dict(zip(CLASSES, counts, strict=True)))


def _check(request: AgrawalRequest) -> None:
    if request.function not in FUNCTIONS:
        raise InvalidOption(f"There is no function {request.function}.", "Give --function 1, 2, 3, 4 or 5.")
    if request.rows < 1:
        raise InvalidOption(f"{request.rows} records cannot be generated.", "Give --rows 1 or more.")
    if (seed := request.seed) is not None and not 0 <= seed < SEEDS:
        raise InvalidOption(f"The seed {seed} cannot be used.", "Give --seed a whole number of 0 or more.")


def _keep(
    engine: Engine, candidates: Table, target: Table, request: AgrawalRequest, counts: tuple[int, int]
) -> tuple[int, int]:
    """Insert candidates: all of them, or where classes are balanced as many of one as of the other."""
    counting = "SELECT count(*) FILTER (in_group_a), count(*) FILTER (NOT in_group_a) FROM {c}"
    ((drawn_a, drawn_b),) = engine.query(sql(counting, c=candidates), step="agrawal groups")
    a, b = drawn_a, drawn_b
    if request.balanced:
        a = min(drawn_a, drawn_b, (request.rows + 1) // 2 - counts[0])
        b = min(drawn_a, drawn_b, request.rows // 2 - counts[1])
    values = {"drawn_a": drawn_a, "kept_a": a, "drawn_b": drawn_b, "kept_b": b}
    tables = {"candidates": candidates, "target": target}
    engine.write(bind("perturbation/insert_agrawal", tables=tables, values=values), step="insert agrawal")
    return counts[0] + a, counts[1] + b


def _draws(seed: int, part: int, size: int) -> dict[str, NDArray[Any]]:
    """Draw numbers evenly out of [0, 1): one row a candidate, one column an attribute."""
    raw = np.random.Philox(key=[seed, part]).random_raw(len(ATTRIBUTES) * size).reshape(len(ATTRIBUTES), size)
    columns = {f"u_{name}": (row >> 11) * 2.0**-53 for name, row in zip(ATTRIBUTES, raw, strict=True)}
    return {"position": np.arange(size), **columns}
