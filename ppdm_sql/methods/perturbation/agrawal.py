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
DRAWN = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
"""Attributes, each with a number of its own drawn for every candidate."""

MOST_DRAWN = 2**20
"""Candidates drawn at a time; memory is bounded by them, whatever the number of records."""

SEEDS = 2**64


@dataclass(frozen=True)
class Generated:
    """A table that was generated."""

    into: str  # its name
    seed: int  # gives the same records again, whatever the number of threads
    classes: dict[str, int]  # records of each class


def generate_agrawal(engine: Engine, asked: AgrawalRequest, progress: Progress) -> Generated:
    """Make a table of synthetic persons; see :meth:`ppdm_sql.Database.generate_agrawal`."""
    _check(asked)
    engine.require_autocommit()
    place = check_free(engine, asked.into)
    target = Table(asked.into, place.schema, place.catalog)
    seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
    written = (0, 0)
    try:
        progress.start(f"generating {asked.into}")
        with engine.workspace(), engine.transaction():
            engine.write(
                bind("perturbation/create_agrawal", tables={"target": target}), step="create agrawal"
            )
            for part in itertools.count():
                if not (left := asked.rows - sum(written)):
                    break
                drawn = min(MOST_DRAWN, 3 * left + 100 if asked.balanced else left)
                with registered(engine, _draws(seed, part, drawn)) as draws:
                    tables, values = {"draws": draws}, {"function": asked.function}
                    drawing = bind("perturbation/agrawal_candidates", tables=tables, values=values)
                    candidates = engine.materialize("candidates", drawing)
                written = _keep(engine, candidates, target, asked, written)
                engine.discard(candidates)
                progress.update(records=sum(written))
    finally:
        progress.stop()
    return Generated(asked.into, seed, dict(zip(CLASSES, written, strict=True)))


def _check(asked: AgrawalRequest) -> None:
    if asked.function not in FUNCTIONS:
        raise InvalidOption(f"There is no function {asked.function}.", "Give --function 1, 2, 3, 4 or 5.")
    if asked.rows < 1:
        raise InvalidOption(f"{asked.rows} records cannot be generated.", "Give --rows 1 or more.")
    if asked.seed is not None and not 0 <= asked.seed < SEEDS:
        raise InvalidOption(f"The seed {asked.seed} cannot be used.", "Give --seed a number of 0 or more.")


def _keep(
    engine: Engine, candidates: Table, target: Table, asked: AgrawalRequest, kept: tuple[int, int]
) -> tuple[int, int]:
    """Insert candidates: all of them, or where classes are balanced as many of one as of the other."""
    counting = "SELECT count(*) FILTER (in_group_a), count(*) FILTER (NOT in_group_a) FROM {c}"
    ((drawn_a, drawn_b),) = engine.query(sql(counting, c=candidates), step="agrawal groups")
    a, b = drawn_a, drawn_b
    if asked.balanced:
        a = min(drawn_a, drawn_b, (asked.rows + 1) // 2 - kept[0])
        b = min(drawn_a, drawn_b, asked.rows // 2 - kept[1])
    values = {"drawn_a": drawn_a, "kept_a": a, "drawn_b": drawn_b, "kept_b": b}
    tables = {"candidates": candidates, "target": target}
    engine.write(bind("perturbation/insert_agrawal", tables=tables, values=values), step="insert agrawal")
    return kept[0] + a, kept[1] + b


def _draws(seed: int, part: int, size: int) -> dict[str, NDArray[Any]]:
    """Draw numbers evenly out of [0, 1): one row a candidate, one column an attribute."""
    raw = np.random.Philox(key=[seed, part]).random_raw(len(DRAWN) * size).reshape(len(DRAWN), size)
    columns = {f"u_{name}": (row >> 11) * 2.0**-53 for name, row in zip(DRAWN, raw, strict=True)}
    return {"position": np.arange(size), **columns}
