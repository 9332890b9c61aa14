"""A reference for greedy cuts: simulated annealing with random restarts over the same space, in memory.

A column with a taxonomy is cut by nodes, one that grows intervals by boundaries between its values, any
other by the values that are disclosed. A move refines or coarsens one column in one place. The state of least
entropy of the class that keeps k is remembered; records of classes below k may be left out up to a share.
Each of the greedy cuts that it is given is a start, so that it ends no worse than they are; the most general
state is one, too.
"""

from __future__ import annotations

import csv
import math
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ppdm_sql.evaluation.classifier import misclassified
from ppdm_sql.evaluation.encoding import Sample as Numbers

Codes = NDArray[np.int64]
LARGEST = 1 << 62
"""A mixed-radix key is below it."""
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

    @abstractmethod
    def shown(self, labels: Sequence[str]) -> Any:
        """Give the cut that shows a label for each value code."""


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

    def shown(self, labels: Sequence[str]) -> frozenset[int]:
        found, last = set[int](), ""
        for i, label in enumerate(labels):
            if label and label != last:  # no label: of records left out only
                found.add(i)
                last = label
        return frozenset(found - {min(found, default=0)})


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

    def shown(self, labels: Sequence[str]) -> frozenset[tuple[str, ...]]:
        found = set()
        for path, label in zip(self.paths, labels, strict=True):
            if label in path:  # else no record holds the value
                found |= {path[:depth] for depth in range(1, path.index(label) + 1)}
        return frozenset(found)


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

    def shown(self, labels: Sequence[str]) -> frozenset[int]:
        return frozenset(i for i, label in enumerate(labels) if labels.count(label) == 1)


@dataclass(frozen=True)
class Sample:
    """Records of a table: the codes of each column and of the class."""

    codes: Sequence[Codes]
    labels: Codes
    records: Codes


@dataclass(frozen=True)
class Problem:
    """A table, collapsed, the one that a tree is asked, and what their codes stand for."""

    names: Sequence[str]
    columns: Sequence[Column]
    values: Sequence[Sequence[str]]
    train: Sample
    test: Sample

    @classmethod
    def read(
        cls,
        con: duckdb.DuckDBPyConnection,
        tables: tuple[str, str],
        names: Sequence[str],
        taxonomies: Mapping[str, str],
        label: str,
    ) -> Problem:
        """Read tables; numbers are cut by boundaries, texts without a taxonomy by disclosure."""
        columns: list[Column] = []
        values: list[list[Any]] = []
        for name in names:
            # a number of the test set lies between those of training; a text is one of a taxonomy's
            source = f'SELECT "{name}" AS v FROM {tables[0]}'
            typed = con.execute(f"SELECT typeof(v) FROM ({source}) LIMIT 1").fetchall()[0][0]
            source += f' UNION ALL SELECT "{name}" FROM {tables[1]}' if typed == "VARCHAR" else ""
            values.append(
                [v for (v,) in con.execute(f"SELECT DISTINCT v FROM ({source}) ORDER BY v").fetchall()]
            )
            if name in taxonomies:
                paths = _paths(taxonomies[name])
                columns.append(Nodes(tuple(paths[value] for value in values[-1])))
            else:
                columns.append((Disclosed if typed == "VARCHAR" else Boundaries)(len(values[-1])))
        classes = [
            v
            for (v,) in con.execute(f'SELECT DISTINCT "{label}" AS v FROM {tables[0]} ORDER BY v').fetchall()
        ]
        samples = []
        for table in tables:
            listed = ", ".join(f'"{name}"' for name in (*names, label))
            rows = con.execute(f"SELECT {listed}, count(*) FROM {table} GROUP BY ALL").fetchall()
            coded = np.array(
                [[_place(v, cell) for v, cell in zip((*values, classes), row, strict=False)] for row in rows]
            )
            records = np.array([row[-1] for row in rows], dtype=np.int64)
            samples.append(Sample([coded[:, i] for i in range(len(names))], coded[:, -1], records))
        texts = [
            [str(text) for (text,) in con.execute("SELECT unnest($v)::VARCHAR", {"v": own}).fetchall()]
            for own in values
        ]
        return cls(names, columns, texts, *samples)

    def started(self, labels: Mapping[str, Mapping[str | None, str]]) -> list[Any]:
        """Give the cuts that show these labels, which are by column and value."""
        return [
            column.shown([labels[name].get(value, "") for value in values])
            for name, column, values in zip(self.names, self.columns, self.values, strict=True)
        ]

    def _classes(self, parts: Sequence[Codes]) -> Codes:
        """Number the class of each row of training."""
        key, size = np.zeros(len(self.train.records), dtype=np.int64), 1
        for part, codes in zip(parts, self.train.codes, strict=True):
            radix = int(part.max()) + 1
            if radix == 1:
                continue
            if size * radix > LARGEST:
                key = np.unique(key, return_inverse=True)[1].ravel()
                size = int(key.max()) + 1
            key, size = key * radix + part[codes], size * radix
        return np.unique(key, return_inverse=True)[1].ravel()

    def error(self, parts: Sequence[Codes], k: int) -> tuple[float, int]:
        """Give the error of a tree on the test table in per cent, and the classes of at least k."""
        key = self._classes(parts)
        large = np.bincount(key, self.train.records) >= k
        train = _encoded(self, self.train, parts, np.flatnonzero(large[key]))
        test = _encoded(self, self.test, parts, np.arange(len(self.test.records)))
        return 100 * misclassified(train, test, 1) / int(self.test.records.sum()), int(large.sum())

    def entropy(self, parts: Sequence[Codes], k: int, share: float) -> tuple[float, bool]:
        """Give the entropy, bits a record, with a penalty for what breaks k; and whether nothing does."""
        key = self._classes(parts)
        classes = int(self.train.labels.max()) + 1
        cells = np.bincount(
            key * classes + self.train.labels, self.train.records, (int(key.max()) + 1) * classes
        )
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


def _place(values: Sequence[Any], value: Any) -> int:
    """Give the code of a value: that of the largest one that is not above it."""
    return max(bisect_right(values, value) - 1, 0)


def _encoded(problem: Problem, of: Sample, parts: Sequence[Codes], rows: Codes) -> Numbers:
    """Write records as the evaluation does: places above 0 in an order, categories below 0."""
    columns = [
        1.0 + part[codes[rows]] if isinstance(column, Boundaries) else -1.0 - part[codes[rows]]
        for column, part, codes in zip(problem.columns, parts, of.codes, strict=True)
    ]
    return Numbers(
        np.column_stack(columns), of.labels[rows], of.records[rows], np.zeros(len(rows), dtype=int)
    )


@dataclass(frozen=True)
class Found:
    """The best state of a search."""

    bits: float
    parts: Sequence[Codes]


def search(
    problem: Problem,
    k: int,
    share: float,
    seconds: float,
    seed: int,
    greedy: Sequence[Mapping[str, Mapping[str | None, str]]] = (),
) -> Found | None:
    """Give the state of least entropy found within so many seconds; None where no state keeps k.

    Half of the starts are greedy cuts, cooled from a low temperature; half the most general state.
    """
    rng, best = np.random.default_rng(seed), None
    ends = time.perf_counter() + seconds
    starts: list[tuple[list[Any], float]] = [([column.top for column in problem.columns], HOT)] * 2
    starts += [(problem.started(labels), HOT / 10) for labels in greedy]
    for left, (cuts, hot) in zip(range(len(starts), 0, -1), starts, strict=True):
        span = max((ends - time.perf_counter()) / left, 1e-9)
        found = _annealed(problem, k, share, rng, span, cuts, hot)
        if found is not None and (best is None or found.bits < best.bits):
            best = found
    return best


def _annealed(
    problem: Problem, k: int, share: float, rng: Generator, span: float, start: Sequence[Any], hot: float
) -> Found | None:
    cuts, ends = list(start), time.perf_counter() + span
    parts = [column.parts(cut) for column, cut in zip(problem.columns, cuts, strict=True)]
    now, valid = problem.entropy(parts, k, share)
    best = Found(now, list(parts)) if valid else None
    while (left := ends - time.perf_counter()) > 0:
        heat = COLD * (hot / COLD) ** min(left / span, 1.0)
        place = int(rng.integers(len(cuts)))
        cut = problem.columns[place].moved(cuts[place], rng)
        if cut == cuts[place]:
            continue
        tried = [*parts[:place], problem.columns[place].parts(cut), *parts[place + 1 :]]
        then, valid = problem.entropy(tried, k, share)
        if then <= now or rng.random() < math.exp((now - then) / heat):
            cuts[place], parts, now = cut, tried, then
            if valid and (best is None or now < best.bits):
                best = Found(now, parts)
    return best
