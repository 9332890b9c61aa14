"""The synthetic persons of Agrawal, Imielinski and Swami, in the two classes of a function.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 5.1, Tables 2 and 3.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption
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
    """A table that was generated.

    Args:
        into: Its name.
        seed: Gives the same records again, whatever the number of threads.
        classes: Records of each class.
    """

    into: str
    seed: int
    classes: dict[str, int]


def generate_agrawal(
    engine: Engine,
    into: str,
    *,
    function: int,
    rows: int,
    seed: int | None,
    balanced: bool,
    progress: Progress,
) -> Generated:
    """Make a table of synthetic persons; see :meth:`ppdm_sql.Database.generate_agrawal`.

    Raises:
        InvalidOption: There is no such function, or ``rows`` or ``seed`` is out of range.
        NameTaken: There is a table, view or release called ``into``.

    Cost: draws nine numbers a candidate; balanced classes keep two thirds of the candidates or more, and cost
    a window over them, a part at a time.
    """
    _check(function, rows, seed)
    engine.require_autocommit()
    place = check_free(engine, into)
    target = Table(into, place.schema, place.catalog)
    seed = secrets.randbelow(2**32) if seed is None else seed
    try:
        progress.start(f"generating {into}")
        with engine.workspace(), engine.transaction():
            creation = bind("perturbation/create_agrawal", tables={"target": target})
            engine.write(creation, step="create agrawal")
            filled = _fill(engine, target, function, _wanted(rows, balanced=balanced), rows, seed, progress)
    finally:
        progress.stop()
    return Generated(into, seed, dict(zip(CLASSES, filled, strict=True)))


def _check(function: int, rows: int, seed: int | None) -> None:
    if function not in FUNCTIONS:
        raise InvalidOption(f"There is no function {function}.", "Give --function 1, 2, 3, 4 or 5.")
    if rows < 1:
        raise InvalidOption(f"{rows} records cannot be generated.", "Give --rows 1 or more.")
    if seed is not None and not 0 <= seed < SEEDS:
        raise InvalidOption(f"The seed {seed} cannot be used.", "Give --seed a whole number from 0 on.")


def _wanted(rows: int, *, balanced: bool) -> tuple[int, int]:
    """Give the most records of each class."""
    return ((rows + 1) // 2, rows // 2) if balanced else (rows, rows)


def _fill(
    engine: Engine,
    target: Table,
    function: int,
    most: tuple[int, int],
    rows: int,
    seed: int,
    progress: Progress,
) -> tuple[int, int]:
    """Draw candidates and keep those that a class has room for, until all records are there."""
    filled, part = (0, 0), 0
    while sum(filled) < rows:
        left = rows - sum(filled)
        drawn = min(MOST_DRAWN, left if sum(most) > rows else 3 * left + 100)
        with _draws(engine, seed, part, drawn) as draws:
            tables, values = {"draws": draws}, {"function": function}
            sql = bind("perturbation/agrawal_candidates", tables=tables, values=values)
            candidates = engine.materialize("candidates", sql.removesuffix(";"))
        filled = _keep(engine, candidates, target, filled, most, rows)
        engine.discard(candidates)
        part += 1
        progress.update(records=sum(filled))
    return filled


def _keep(
    engine: Engine,
    candidates: Table,
    target: Table,
    filled: tuple[int, int],
    most: tuple[int, int],
    rows: int,
) -> tuple[int, int]:
    """Insert candidates: all of them, or where classes are balanced as many of one as of the other."""
    counting = bind("perturbation/agrawal_groups", tables={"candidates": candidates})
    ((drawn_a, drawn_b),) = engine.query(counting, step="agrawal groups")
    kept_a, kept_b = drawn_a, drawn_b
    if sum(most) == rows:
        even = min(drawn_a, drawn_b)
        kept_a, kept_b = min(even, most[0] - filled[0]), min(even, most[1] - filled[1])
    values = {"drawn_a": drawn_a, "kept_a": kept_a, "drawn_b": drawn_b, "kept_b": kept_b}
    tables = {"candidates": candidates, "target": target}
    engine.write(bind("perturbation/insert_agrawal", tables=tables, values=values), step="insert agrawal")
    return filled[0] + kept_a, filled[1] + kept_b


@contextlib.contextmanager
def _draws(engine: Engine, seed: int, part: int, size: int) -> Iterator[Table]:
    """Show the engine numbers drawn evenly out of [0, 1): one row a candidate, one column an attribute."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    raw = np.random.Philox(key=[seed, part]).random_raw(len(DRAWN) * size).reshape(len(DRAWN), size)
    columns = {f"u_{name}": (row >> 11) * 2.0**-53 for name, row in zip(DRAWN, raw, strict=True)}
    name = f"ppdm_draws_{secrets.token_hex(4)}"
    engine.connection.register(name, pa.table({"position": np.arange(size), **columns}))
    try:
        yield Table(name)
    finally:
        engine.connection.unregister(name)
