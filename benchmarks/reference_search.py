"""A reference for greedy cuts: simulated annealing with random restarts over the same space, in memory.

A column with a taxonomy is cut by nodes, one that grows intervals by boundaries between its values, any
other by the values that are disclosed. A move refines or coarsens one column in one place. The state of least
entropy of the class that keeps k is remembered; records of classes below k may be left out up to a share.
"""

from __future__ import annotations

import csv
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Codes = NDArray[np.int64]
PENALTY, HOT, COLD = 4.0, 0.02, 0.0002
"""Bits for the share of records below k beyond what may be left out; first and last temperature in bits."""


class Column(ABC):
    """The cuts of one column, each a hashable value."""

    top: Any

    @abstractmethod
    def parts(self, cut: Any) -> Codes:
        """Give the part of each value code."""

    @abstractmethod
    def moved(self, cut: Any, rng: Generator) -> Any:
        """Refine or coarsen a cut in one random place."""


@dataclass(frozen=True)
class Boundaries(Column):
    """An ordered column of so many values."""

    size: int
    top: frozenset[int] = frozenset()

    def parts(self, cut: frozenset[int]) -> Codes:
        return np.searchsorted(np.array(sorted(cut), dtype=np.int64), np.arange(self.size), side="right")

    def moved(self, cut: frozenset[int], rng: Generator) -> frozenset[int]:
        if self.size < 2:
            return cut
        if cut and rng.random() < 0.5:
            gone = int(rng.choice(sorted(cut)))
            cut = cut - {gone}
            if rng.random() < 0.5:
                return cut
            near = gone + int(rng.integers(-3, 4))
            return cut | {min(max(near, 1), self.size - 1)}
        return cut | {int(rng.integers(1, self.size))}


@dataclass(frozen=True)
class Nodes(Column):
    """A taxonomy: for each value code its ancestors, the root first."""

    paths: tuple[tuple[str, ...], ...]
    top: frozenset[tuple[str, ...]] = frozenset()

    def parts(self, cut: frozenset[tuple[str, ...]]) -> Codes:
        """The cut is the set of nodes, as paths, that are specialized."""
        shown = []
        for path in self.paths:
            depth = 1
            while depth < len(path) and path[:depth] in cut:
                depth += 1
            shown.append(path[:depth])
        numbers = {node: number for number, node in enumerate(dict.fromkeys(shown))}
        return np.array([numbers[node] for node in shown])

    def moved(self, cut: frozenset[tuple[str, ...]], rng: Generator) -> frozenset[tuple[str, ...]]:
        path = self.paths[int(rng.integers(len(self.paths)))]
        depth = int(rng.integers(1, len(path))) if len(path) > 1 else 1
        node = path[:depth]
        if node in cut:
            return frozenset(other for other in cut if other[:depth] != node)
        return cut | {path[:place] for place in range(1, depth + 1)}


@dataclass(frozen=True)
class Disclosed(Column):
    """Values that are shown, or the symbol."""

    size: int
    top: frozenset[int] = frozenset()

    def parts(self, cut: frozenset[int]) -> Codes:
        parts = np.zeros(self.size, dtype=np.int64)
        for number, code in enumerate(sorted(cut), start=1):
            parts[code] = number
        return parts

    def moved(self, cut: frozenset[int], rng: Generator) -> frozenset[int]:
        return cut ^ {int(rng.integers(self.size))}


@dataclass(frozen=True)
class Problem:
    """A table, collapsed: the codes of each column and of the class, with their records."""

    columns: Sequence[Column]
    codes: Sequence[Codes]
    labels: Codes
    records: Codes

    @classmethod
    def read(
        cls,
        con: duckdb.DuckDBPyConnection,
        table: str,
        names: Sequence[str],
        taxonomies: Mapping[str, str],
        label: str,
    ) -> Problem:
        """Read a table; numbers are cut by boundaries, texts without a taxonomy by disclosure."""
        ranks = ", ".join(
            f'dense_rank() OVER (ORDER BY "{name}") - 1 AS c{i}' for i, name in enumerate(names)
        )
        by = ", ".join(f"c{i}" for i in range(len(names)))
        query = f'SELECT {ranks}, dense_rank() OVER (ORDER BY "{label}") - 1 AS label FROM {table}'
        found = con.execute(f"SELECT {by}, label, count(*) AS n FROM ({query}) GROUP BY ALL").fetchnumpy()
        columns: list[Column] = []
        for name in names:
            rows = con.execute(
                f'SELECT v::VARCHAR, typeof(v) FROM (SELECT DISTINCT "{name}" AS v FROM {table}) ORDER BY v'
            ).fetchall()
            if name in taxonomies:
                paths = _paths(taxonomies[name])
                columns.append(Nodes(tuple(paths[value] for value, _ in rows)))
            else:
                columns.append((Disclosed if rows[0][1] == "VARCHAR" else Boundaries)(len(rows)))
        codes = [found[f"c{i}"].astype(np.int64) for i in range(len(names))]
        return cls(columns, codes, found["label"].astype(np.int64), found["n"].astype(np.int64))

    def entropy(self, parts: Sequence[Codes], k: int, share: float) -> tuple[float, bool]:
        """Give the entropy, bits a record, with a penalty for what breaks k; and whether nothing does."""
        key = np.zeros(len(self.records), dtype=np.int64)
        for part, codes in zip(parts, self.codes, strict=True):
            key = np.unique(key * (int(part.max()) + 1) + part[codes], return_inverse=True)[1].ravel()
        classes = int(self.labels.max()) + 1
        cells = np.bincount(key * classes + self.labels, self.records, (int(key.max()) + 1) * classes)
        counts = cells.reshape(-1, classes)
        total = counts.sum()
        small = counts.sum(axis=1) < k
        below = counts[small].sum() / total
        valid = below <= share
        kept = np.vstack([counts[~small], counts[small].sum(axis=0)])
        sizes = kept.sum(axis=1, keepdims=True)
        share_of = np.divide(kept, sizes, out=np.ones_like(kept), where=kept > 0)
        bits = float(-(kept * np.log2(share_of)).sum() / total)
        return bits + (0.0 if valid else PENALTY * float(below - share)), bool(valid)


def _paths(file: str) -> dict[str, tuple[str, ...]]:
    """Read an ARX hierarchy: for each value its ancestors, the root first."""
    with open(file, newline="", encoding="utf-8") as lines:
        return {row[0]: tuple(reversed(row)) for row in csv.reader(lines, delimiter=";") if row}


def search(problem: Problem, k: int, share: float, seconds: float, seed: int) -> float:
    """Give the least entropy found within so many seconds; infinite where no state keeps k."""
    rng, best = np.random.default_rng(seed), math.inf
    ends = time.perf_counter() + seconds
    span = max(seconds / 4, 1e-9)  # four restarts; all but the first from the top again
    while time.perf_counter() < ends:
        best = min(best, _annealed(problem, k, share, rng, min(ends, time.perf_counter() + span), span))
    return best


def _annealed(problem: Problem, k: int, share: float, rng: Generator, ends: float, span: float) -> float:
    cuts = [column.top for column in problem.columns]
    parts = [column.parts(cut) for column, cut in zip(problem.columns, cuts, strict=True)]
    now, valid = problem.entropy(parts, k, share)
    best = now if valid else math.inf
    while (left := ends - time.perf_counter()) > 0:
        heat = COLD * (HOT / COLD) ** min(left / span, 1.0)
        place = int(rng.integers(len(cuts)))
        cut = problem.columns[place].moved(cuts[place], rng)
        if cut == cuts[place]:
            continue
        tried = [*parts[:place], problem.columns[place].parts(cut), *parts[place + 1 :]]
        then, valid = problem.entropy(tried, k, share)
        if then <= now or rng.random() < math.exp((now - then) / heat):
            cuts[place], parts, now = cut, tried, then
            best = min(best, now) if valid else best
    return best
