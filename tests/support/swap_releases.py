"""What a swap must keep, by brute force over the rows of source and release, and plans made by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import duckdb
import numpy as np
from oracle_swap import wanted

import ppdm_sql
from ppdm_sql.methods.swapping.marginals import Demand
from ppdm_sql.methods.swapping.swap import Plan
from ppdm_sql.progress import SilentProgress

Row = tuple[Any, ...]

POLICIES = ["Age", "Gender", "Location"]


class Heard(SilentProgress):
    """A progress that remembers what it was told."""

    def __init__(self, notices: list[str] | None = None) -> None:
        self.notices = [] if notices is None else notices

    def notice(self, text: str) -> None:
        self.notices.append(text)


def swap(connection: duckdb.DuckDBPyConnection, table: str = "t", **options: Any) -> ppdm_sql.Release:
    """Swap ``ill`` by ``age`` and ``sex`` unless told otherwise."""
    chosen = {"confidential": "ill", "by": ["age", "sex"], "proportion": 0.5, "into": "safe"} | options
    chosen.setdefault("allow_identifiers", chosen.get("keep", ()))
    return ppdm_sql.open(connection).swap(table, **chosen)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def rows_of(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], count: str | None = None
) -> list[Row]:
    """Read rows, as often as their count says."""
    listed = ", ".join(quoted(name) for name in columns)
    times = "1" if count is None else quoted(count)
    found = connection.execute(f"SELECT {listed}, {times} FROM {quoted(table)}").fetchall()
    return [row for *cells, n in found for row in [tuple(cells)] * n]


@dataclass(frozen=True)
class Changes:
    """What became of a confidential attribute.

    Args:
        kept_patterns: Whether every non-confidential pattern has as many records as before.
        unidentifiable: Patterns of several values that have other values than before.
        unique: Uniquely identifiable records.
        changed_unique: Those of them that changed.
        groups: For each collectively identifiable group its size and how many of it changed.
        before: Records by value.
        after: Records by value, in the release.
    """

    kept_patterns: bool
    unidentifiable: int
    unique: int
    changed_unique: int
    groups: tuple[tuple[int, int], ...]
    before: Mapping[Any, int]
    after: Mapping[Any, int]

    def follows(self, proportion: Fraction, per_group: int | Fraction = 1) -> bool:
        """Whether the constraints (C1) and (C2) hold, and nothing else was touched."""
        asked = floor(proportion * self.unique + Fraction(1, 2))
        groups = all(changed == wanted(per_group, size) for size, changed in self.groups)
        return self.kept_patterns and not self.unidentifiable and self.changed_unique == asked and groups


def changes(source: Sequence[Row], released: Sequence[Row]) -> Changes:
    """Compare rows that end in the confidential value; those before it are the pattern."""
    before, after = defaultdict(Counter), defaultdict(Counter)
    for rows, values in ((source, before), (released, after)):
        for *pattern, value in rows:
            values[tuple(pattern)][value] += 1
    sizes = {pattern: values.total() for pattern, values in before.items()}
    single = {pattern: next(iter(values)) for pattern, values in before.items() if len(values) == 1}
    changed = {pattern: sizes[pattern] - after[pattern][value] for pattern, value in single.items()}
    return Changes(
        kept_patterns=sizes == {pattern: values.total() for pattern, values in after.items()},
        unidentifiable=sum(after[p] != before[p] for p in before if p not in single),
        unique=sum(sizes[pattern] == 1 for pattern in single),
        changed_unique=sum(changed[pattern] for pattern in single if sizes[pattern] == 1),
        groups=tuple((sizes[p], changed[p]) for p in single if sizes[p] > 1),
        before=Counter(row[-1] for row in source),
        after=Counter(row[-1] for row in released),
    )


def by_hand(moves: Mapping[tuple[Any, ...], Any]) -> Callable[..., Plan]:
    """Make a planner that gives these patterns, of text columns, these values; one record each."""

    def plan(run: Any, identified: Any, name: str, key: bytes) -> Plan:
        atoms, words = identified.atoms, identified.words_of("a")
        joins = "".join(f" JOIN {atoms.coded[p].table} AS d{p} ON d{p}.code = a.c{p}" for p in identified.by)
        pattern = ", ".join(f"d{p}.value::VARCHAR" for p in identified.by)
        keyed = ", ".join(f"{w} AS {k}" for w, k in zip(words, identified.keys, strict=True))
        chosen = " UNION ALL ".join(
            f"SELECT {keyed}, (SELECT code FROM {atoms.coded[identified.confidential].table} WHERE value = "
            f"'{value}')::USMALLINT AS category, 1::BIGINT AS records FROM {atoms.table} AS a{joins} "
            f"WHERE row({pattern}) = row({', '.join(repr(str(cell)) for cell in cells)}) GROUP BY ALL"
            for cells, value in moves.items()
        )
        none = np.zeros(identified.categories, np.int64)
        return Plan(
            moves=run.engine.materialize("moves", chosen),
            measures=(("objective", None, 1.0),),
            demand=Demand(none, none, 0, none, none),
        )

    return plan
