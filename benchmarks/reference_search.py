"""A reference for greedy cuts: simulated annealing with random restarts over the same space, in memory.

A column with a taxonomy is cut by nodes, one that grows intervals by boundaries between its values, any
other by the values that are disclosed. A move refines or coarsens one column in one place. What is sought is
what the descent strives for: the information about the class beyond what chance tells (Miller 1955), as a
share of what there is, and .3 of the detail kept. Records of classes below k may be left out up to a share;
they keep nothing. Each of the greedy cuts that it is given is a start, so that it ends no worse by that
measure than they are; the most general state is one, too.
"""

from __future__ import annotations

import csv
import math
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ppdm_sql.evaluation.encoding import Sample

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Shown = Sequence[tuple[Codes, Floats]]
"""By column, the part of each value code, and the penalty of what it is shown as."""
DETAIL = 0.3
"""What detail counts beside information about the class."""
EXCESS, HOT, COLD = 4.0, 0.02, 0.0002
"""What the share of records below k costs beyond what may be left out; first and last temperature."""


@dataclass(frozen=True)
class Boundaries:
    """An ordered column, whose values lie at places from 0 to 1."""

    places: tuple[float, ...]
    top: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        return len(self.places)

    def parts(self, cut: frozenset[int]) -> tuple[Codes, Floats]:
        firsts = np.array([0, *sorted(cut), self.size - 1], dtype=np.int64)
        parts = np.searchsorted(firsts[1:-1], np.arange(self.size), side="right")
        return parts, np.diff(np.array(self.places)[firsts])[parts]

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
class Nodes:
    """A taxonomy: for each value code its ancestors, the root first."""

    paths: tuple[tuple[str, ...], ...]
    top: frozenset[tuple[str, ...]] = frozenset()

    @cached_property
    def leaves(self) -> Counter[tuple[str, ...]]:
        return Counter(path[:depth] for path in self.paths for depth in range(1, len(path) + 1))

    def parts(self, cut: frozenset[tuple[str, ...]]) -> tuple[Codes, Floats]:
        """The cut is the set of nodes, as paths, that are specialized."""
        shown = []
        for path in self.paths:
            depth = 1
            while depth < len(path) and path[:depth] in cut:
                depth += 1
            shown.append(path[:depth])
        numbers = {node: number for number, node in enumerate(dict.fromkeys(shown))}
        others = max(len(self.paths) - 1, 1)
        penalties = [(self.leaves[node] - 1) / others for node in shown]
        return np.array([numbers[node] for node in shown]), np.array(penalties)

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
class Disclosed:
    """Values that are shown, or the symbol."""

    size: int
    top: frozenset[int] = frozenset()

    def parts(self, cut: frozenset[int]) -> tuple[Codes, Floats]:
        parts = np.zeros(self.size, dtype=np.int64)
        parts[sorted(cut)] = range(1, len(cut) + 1)
        return parts, (parts == 0).astype(float)

    def moved(self, cut: frozenset[int], rng: Generator) -> frozenset[int]:
        return cut ^ {int(rng.integers(self.size))}

    def shown(self, labels: Sequence[str]) -> frozenset[int]:
        return frozenset(i for i, label in enumerate(labels) if labels.count(label) == 1)


Column = Boundaries | Nodes | Disclosed
"""``parts`` gives what a cut shows, ``moved`` refines or coarsens it in one random place, and ``shown`` gives
the cut that shows a label for each value code."""


@dataclass(frozen=True)
class Coded:
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
    ordered: Sequence[bool]
    train: Coded
    test: Coded

    @classmethod
    def read(
        cls,
        con: duckdb.DuckDBPyConnection,
        taxonomies: Mapping[str, str],
        recoding: Mapping[str, str],
    ) -> Problem:
        """Read ``train`` and ``test`` with the column ``class``; ``recoding`` tells which have intervals."""
        columns: list[Column] = []
        values: list[list[Any]] = []
        texts: list[list[str]] = []
        for name, kind in recoding.items():
            # a number of the test set lies between those of training; a text is one of a taxonomy's
            source = f'SELECT "{name}" AS v FROM train'
            source += "" if kind == "intervals" else f' UNION ALL SELECT "{name}" FROM test'
            found = con.execute(f"SELECT DISTINCT v, v::VARCHAR FROM ({source}) ORDER BY v").fetchall()
            values.append([value for value, _ in found])
            texts.append([text for _, text in found])
            if kind == "intervals":
                columns.append(Boundaries(_places(values[-1])))
            elif name in taxonomies:
                paths = _paths(taxonomies[name])
                columns.append(Nodes(tuple(paths[text] for text in texts[-1])))
            else:
                columns.append(Disclosed(len(found)))
        rows = con.execute("SELECT DISTINCT class FROM train ORDER BY class").fetchall()
        classes = [value for (value,) in rows]
        coded = []
        for table in ("train", "test"):
            listed = ", ".join(f'"{name}"' for name in (*recoding, "class"))
            rows = con.execute(f"SELECT {listed}, count(*) FROM {table} GROUP BY ALL").fetchall()
            codes = np.array(
                [[_place(v, cell) for v, cell in zip((*values, classes), row, strict=False)] for row in rows]
            )
            records = np.array([row[-1] for row in rows], dtype=np.int64)
            coded.append(Coded([codes[:, i] for i in range(len(recoding))], codes[:, -1], records))
        ordered = [not isinstance(own[0], str) for own in values]
        return cls(tuple(recoding), columns, texts, ordered, *coded)

    def started(self, labels: Mapping[str, Mapping[str | None, str]]) -> list[Any]:
        """Give the cuts that show these labels, which are by column and value."""
        return [
            column.shown([labels[name].get(value, "") for value in values])
            for name, column, values in zip(self.names, self.columns, self.values, strict=True)
        ]

    def _classes(self, shown: Shown) -> Codes:
        """Number the class of each row of training."""
        codes = [part[own] for (part, _), own in zip(shown, self.train.codes, strict=True)]
        key = np.ravel_multi_index(codes, [int(part.max()) + 1 for part, _ in shown])
        return np.unique(key, return_inverse=True)[1].ravel()

    def samples(self, shown: Shown, k: int) -> tuple[Sample, Sample]:
        """Give what a tree learns from, classes of at least k, and what it is asked."""
        key = self._classes(shown)
        large = np.bincount(key, self.train.records)[key] >= k
        everything = np.ones(len(self.test.records), dtype=bool)
        return self._encoded(self.train, shown, large), self._encoded(self.test, shown, everything)

    def _encoded(self, of: Coded, shown: Shown, rows: NDArray[np.bool_]) -> Sample:
        """Write records as the evaluation does: places above 0 in an order, categories below 0."""
        columns = [
            (1.0 + part[codes[rows]]) * (1 if ordered else -1)
            for ordered, (part, _), codes in zip(self.ordered, shown, of.codes, strict=True)
        ]
        folds = np.zeros(int(rows.sum()), dtype=np.int64)
        return Sample(np.column_stack(columns), of.labels[rows], of.records[rows], folds)

    def measured(self, shown: Shown, k: int) -> tuple[float, float, float]:
        """Give the detail kept, the share of columns that show something, and what is left out, per cent."""
        key = self._classes(shown)
        kept = np.bincount(key, self.train.records)[key] >= k
        pairs = zip(shown, self.train.codes, strict=True)
        tell = np.mean([len(np.unique(part[codes[kept]])) > 1 for (part, _), codes in pairs])
        left = 100 * (1 - self.train.records[kept].sum() / self.train.records.sum())
        return self._detail(shown, kept), float(tell), float(left)

    def _detail(self, shown: Shown, kept: NDArray[np.bool_]) -> float:
        lost = np.mean([own[codes] for (_, own), codes in zip(shown, self.train.codes, strict=True)], axis=0)
        return float(((1 - lost) * kept * self.train.records).sum() / self.train.records.sum())

    def worth(self, shown: Shown, k: int, share: float) -> tuple[float, bool]:
        """Give what is sought, less what breaks k beyond the share; and whether nothing does."""
        key = self._classes(shown)
        classes = int(self.train.labels.max()) + 1
        cells = np.bincount(
            key * classes + self.train.labels, self.train.records, (int(key.max()) + 1) * classes
        )
        counts = cells.reshape(-1, classes)
        total = counts.sum()
        small = counts.sum(axis=1) < k
        below = float(counts[small].sum() / total)
        told_apart = np.vstack([counts[~small], counts[small].sum(axis=0)])
        held = int((~small).sum()) + bool(small.any())
        whole = _bits(counts.sum(axis=0, keepdims=True))
        chance = (held - 1) * (classes - 1) / (2 * math.log(2))
        told = max(whole - _bits(told_apart) - chance, 0.0) / whole if whole else 0.0
        found = told + DETAIL * self._detail(shown, ~small[key])
        return found - EXCESS * max(below - share, 0.0), below <= share


def _bits(counts: Floats) -> float:
    """Give the entropy of the classes of all records together, in bits."""
    sizes = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.ones_like(counts), where=counts > 0)
    return float(-(counts * np.log2(shares)).sum())


def _paths(file: str) -> dict[str, tuple[str, ...]]:
    """Read an ARX hierarchy: for each value its ancestors, the root first."""
    with open(file, newline="", encoding="utf-8") as lines:
        return {row[0]: tuple(reversed(row)) for row in csv.reader(lines, delimiter=";") if row}


def _places(values: Sequence[Any]) -> tuple[float, ...]:
    """Put numbers on a line from 0 to 1."""
    width = max(float(values[-1]) - float(values[0]), 1e-300)
    return tuple((float(value) - float(values[0])) / width for value in values)


def _place(values: Sequence[Any], value: Any) -> int:
    """Give the code of a value: that of the largest one that is not above it."""
    return max(bisect_right(values, value) - 1, 0)


def search(
    problem: Problem,
    k: int,
    share: float,
    seconds: float,
    seed: int,
    greedy: Sequence[Mapping[str, Mapping[str | None, str]]],
) -> tuple[float, Shown]:
    """Give the most worth found within so many seconds, from releases that keep k and the share, and where.

    Half of the starts are greedy cuts, cooled from a low temperature; half the most general state.
    """
    rng, ends = np.random.default_rng(seed), time.perf_counter() + seconds
    starts: list[tuple[list[Any], float]] = [(problem.started(labels), HOT / 10) for labels in greedy]
    starts += [([column.top for column in problem.columns], HOT)] * len(greedy)
    found = []
    for left, (cuts, hot) in zip(range(len(starts), 0, -1), starts, strict=True):
        span = max((ends - time.perf_counter()) / left, 1e-9)
        found.append(_annealed(problem, k, share, rng, span, cuts, hot))
    return max(found, key=lambda one: one[0])


def _annealed(
    problem: Problem, k: int, share: float, rng: Generator, span: float, start: Sequence[Any], hot: float
) -> tuple[float, Shown]:
    cuts, ends = list(start), time.perf_counter() + span
    shown = [column.parts(cut) for column, cut in zip(problem.columns, cuts, strict=True)]
    now, valid = problem.worth(shown, k, share)
    best = (now if valid else -math.inf, shown)
    while (left := ends - time.perf_counter()) > 0:
        heat = COLD * (hot / COLD) ** min(left / span, 1.0)
        place = int(rng.integers(len(cuts)))
        cut = problem.columns[place].moved(cuts[place], rng)
        if cut == cuts[place]:
            continue
        tried = [*shown[:place], problem.columns[place].parts(cut), *shown[place + 1 :]]
        then, valid = problem.worth(tried, k, share)
        if then >= now or rng.random() < math.exp((then - now) / heat):
            cuts[place], shown, now = cut, tried, then
            if valid and now > best[0]:
                best = now, shown
    return best
