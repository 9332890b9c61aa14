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
    into, seed = asked.into, asked.seed
    place = check_free(engine, into)
    target = Table(into, place.schema, place.catalog)
    seed = secrets.randbelow(2**32) if seed is None else seed
    try:
        progress.start(f"generating {into}")
        with engine.workspace(), engine.transaction():
            creation = bind("perturbation/create_agrawal", tables={"target": target})
            engine.write(creation, step="create agrawal")
            generation = _Generation(engine, target, asked)
            generation.fill(seed, progress)
    finally:
        progress.stop()
    return Generated(into, seed, dict(zip(CLASSES, generation.kept, strict=True)))


def _check(asked: AgrawalRequest) -> None:
    if asked.function not in FUNCTIONS:
        raise InvalidOption(f"There is no function {asked.function}.", "Give --function 1, 2, 3, 4 or 5.")
    if asked.rows < 1:
        raise InvalidOption(f"{asked.rows} records cannot be generated.", "Give --rows 1 or more.")
    if asked.seed is not None and not 0 <= asked.seed < SEEDS:
        raise InvalidOption(f"The seed {asked.seed} cannot be used.", "Give --seed a whole number from 0 on.")


class _Generation:
    """Draws candidates and keeps those that a class has room for, until all records are there."""

    def __init__(self, engine: Engine, target: Table, asked: AgrawalRequest) -> None:
        self.engine, self.target, self.function, self.rows = engine, target, asked.function, asked.rows
        self.balanced, self.kept = asked.balanced, (0, 0)

    def fill(self, seed: int, progress: Progress) -> None:
        for part in itertools.count():
            if not (left := self.rows - sum(self.kept)):
                return
            drawn = min(MOST_DRAWN, 3 * left + 100 if self.balanced else left)
            with registered(self.engine, _draws(seed, part, drawn)) as draws:
                tables, values = {"draws": draws}, {"function": self.function}
                drawing = bind("perturbation/agrawal_candidates", tables=tables, values=values)
                candidates = self.engine.materialize("candidates", drawing)
            self._keep(candidates)
            self.engine.discard(candidates)
            progress.update(records=sum(self.kept))

    def _keep(self, candidates: Table) -> None:
        """Insert candidates: all of them, or where classes are balanced as many of one as of the other."""
        counting = "SELECT count(*) FILTER (in_group_a), count(*) FILTER (NOT in_group_a) FROM {c}"
        ((drawn_a, drawn_b),) = self.engine.query(sql(counting, c=candidates), step="agrawal groups")
        a, b = drawn_a, drawn_b
        if self.balanced:
            even, room = min(a, b), ((self.rows + 1) // 2 - self.kept[0], self.rows // 2 - self.kept[1])
            a, b = min(even, room[0]), min(even, room[1])
        values = {"drawn_a": drawn_a, "kept_a": a, "drawn_b": drawn_b, "kept_b": b}
        tables = {"candidates": candidates, "target": self.target}
        inserting = bind("perturbation/insert_agrawal", tables=tables, values=values)
        self.engine.write(inserting, step="insert agrawal")
        self.kept = self.kept[0] + a, self.kept[1] + b


def _draws(seed: int, part: int, size: int) -> dict[str, NDArray[Any]]:
    """Draw numbers evenly out of [0, 1): one row a candidate, one column an attribute."""
    raw = np.random.Philox(key=[seed, part]).random_raw(len(DRAWN) * size).reshape(len(DRAWN), size)
    columns = {f"u_{name}": (row >> 11) * 2.0**-53 for name, row in zip(DRAWN, raw, strict=True)}
    return {"position": np.arange(size), **columns}
