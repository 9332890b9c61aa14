"""Tables for trees to be grown from, and the reference that the trees are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from oracle_trees import Column, Grower, Noisy, Numbers, Texts, Tree, prune

import ppdm_sql
from ppdm_sql.methods.perturbation.noise import Gaussian, Uniform, parse_noise, resolve_noise
from ppdm_sql.methods.perturbation.reconstruction import grid_for, kernel, observed_grid
from ppdm_sql.methods.trees import model

NOISE = {
    "a": "gaussian 100% on 0,1",
    "b": "uniform 75% on 0,30 whole rounded",
    "e": "gaussian 100% on -5,5",
}
"""Noise of columns of :func:`write_mixed`: ``b`` with many equal values, ``e`` tells nothing of the class."""

Flat = list[tuple[tuple[int, ...], tuple[str, Any, bool] | None]]


def write_mixed(con: duckdb.DuckDBPyConnection, seed: int, records: int) -> None:
    """Write ``t``, noisy, and ``originals``: numbers, whole numbers, texts, NULLs, three classes."""
    rng = np.random.default_rng(seed)
    a, b = rng.random(records), rng.integers(0, 31, records).astype(float)
    c = rng.choice([0.1 * k for k in range(12)], records)
    d = rng.integers(0, 5, records)
    place = (a > 0.4).astype(int) + ((b > 12) & (d != 2)) + (c > 0.85)
    label = np.where(rng.random(records) < 0.9, np.minimum(place, 2), rng.integers(0, 3, records))
    noisy = {
        "a": a + rng.normal(0, resolve(NOISE["a"]).scale, records),
        "b": np.rint(b + rng.uniform(-1, 1, records) * resolve(NOISE["b"]).scale),
    }
    originals, e = {"a": a, "b": b}, rng.uniform(-5, 5, records)
    noisy["e"], originals["e"] = e + rng.normal(0, resolve(NOISE["e"]).scale, records), e
    texts = np.array(["v", "w", "x", "y", "z"])[d]
    missing = rng.random((4, records)) < 0.06
    for name, numbers in (("t", noisy), ("originals", originals)):
        columns = {
            "a": pa.array(numbers["a"], mask=missing[0]),
            "b": pa.array(numbers["b"].astype(np.int64), mask=missing[1]),
            "c": pa.array(c, mask=missing[2]),
            "d": pa.array(texts, mask=missing[3]),
            "e": pa.array(numbers["e"]),
            "class": pa.array(np.array(["no", "maybe", "yes"])[label]),
        }
        con.register("columns", pa.table(columns))
        con.execute(f"CREATE OR REPLACE TABLE {name} AS FROM columns")
        con.unregister("columns")


def resolve(text: str) -> Gaussian | Uniform:
    """Read the noise of a column of numbers."""
    found = resolve_noise(parse_noise(f"x={text}"))
    assert isinstance(found, Gaussian | Uniform)
    return found


def edges(values: np.ndarray, whole: bool, records: int) -> np.ndarray:
    """Give the edges of a column that is taken as it is, by the paper's rule."""
    low, high = np.nanmin(values), np.nanmax(values)
    cells = min(max(records // 100, 10), 100)
    if not whole:
        return low + np.arange(cells + 1) * ((high - low) / cells * cells) / cells
    width = 1 if high - low < 100 else int(np.ceil((high - low + 1) / cells))
    return low - 0.5 + width * np.arange(int(np.ceil((high - low + 1) / width)) + 1)


def reference_columns(
    con: duckdb.DuckDBPyConnection, mode: str, *, table: str, noise: Mapping[str, str], label: str = "class"
) -> tuple[list[str], list[Column], np.ndarray]:
    """Give names and columns of a table as the reference takes them, and the position of each class."""
    described = {name: kind for name, kind, *_ in con.execute(f"DESCRIBE {table}").fetchall()}
    found = con.sql(f"SELECT * FROM {table}").to_arrow_table()
    classes = sorted(set(found[label].to_pylist()))
    codes = np.array([classes.index(value) for value in found[label].to_pylist()])
    columns: list[Column] = []
    names = [name for name in described if name != label]
    for name in names:
        cells = found[name].to_pylist()
        if described[name] == "VARCHAR":
            values = sorted({cell for cell in cells if cell is not None})
            columns.append(Texts(np.array([values.index(c) if c is not None else -1 for c in cells]), values))
            continue
        numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
        if name in noise and mode not in ("original", "randomized"):
            model_ = resolve(noise[name])
            grid = grid_for(model_, len(codes))
            observed = observed_grid(model_, grid)
            moves = kernel(model_, grid, observed)
            columns.append(Noisy(numbers, grid.edges(), observed.lower, observed.width, moves))
        else:
            columns.append(Numbers(numbers, edges(numbers, "INT" in described[name], len(codes))))
    return names, columns, codes


def flat(tree: Tree, names: Sequence[str]) -> Flat:
    """Give the reference's nodes: counts, and the split with the column's name."""
    return [
        (counts, None if split is None else (names[split[0]], split[1], split[2]))
        for counts, split in tree.walk()
    ]


def flat_model(tree: model.Tree) -> Flat:
    """Give a model's nodes likewise."""
    return [
        (node.counts, None)
        if node.column is None
        else (node.counts, (node.column, node.values if node.cut is None else node.cut, node.null_left))
        for node in tree.nodes
    ]


def both(
    con: duckdb.DuckDBPyConnection, mode: str, *, noise: Mapping[str, str], min_split: int, pruned: bool
) -> tuple[Flat, Flat]:
    """Grow the tree of ``t``, or of ``originals``, in SQL and in numpy."""
    table = "originals" if mode == "original" else "t"
    given = noise if mode not in ("original", "randomized") else {}
    found = ppdm_sql.open(con).train(
        table, class_column="class", into="m", mode=mode, noise=given, min_split=min_split, prune=pruned
    )
    names, columns, codes = reference_columns(con, mode, table=table, noise=noise)
    tree = Grower(columns, codes, codes.max() + 1, mode, min_split).grow()
    return flat_model(found.tree()), flat(prune(tree, columns)[0] if pruned else tree, names)
