"""What a swap must keep, by brute force over the rows of source and release; plans by hand, and of rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import duckdb
import numpy as np
from filling import fill, quote
from oracle_swap import Record, records, wanted

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.collapse import collapse
from ppdm_sql.methods.swapping.candidates import IdentifiableRecords, identify
from ppdm_sql.methods.swapping.marginals import Demand
from ppdm_sql.methods.swapping.swap import Plan, SwapRun
from ppdm_sql.options import SwapRequest
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


def rows_of(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], count: str | None = None
) -> list[Row]:
    """Read rows, as often as their count says."""
    listed = ", ".join(quote(name) for name in columns)
    times = "1" if count is None else quote(count)
    found = connection.execute(f"SELECT {listed}, {times} FROM {quote(table)}").fetchall()
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


# -- the core of swapping, on rows given in Python ---------------------------------------------------


def names(rows: Sequence[Row]) -> list[str]:
    """Names of the columns; the confidential one comes last."""
    return [f'a "{i}";' for i in range(len(rows[0]) - 1)] + ["y"]


@contextmanager
def identified(rows: Sequence[Row]) -> Iterator[tuple[Engine, IdentifiableRecords]]:
    """Collapse rows and identify what their last column gives away."""
    with duckdb.connect(config={"threads": 1}) as con:
        fill(con, "t", dict.fromkeys(names(rows), "VARCHAR"), rows)
        engine = Engine(con)
        table = engine.find("t")
        with engine.workspace():
            columns = {column.name: column for column in engine.columns(table)}
            coded = [columns[name] for name in names(rows)]
            atoms = collapse(engine, table, coded, [], None, masked=[], symbol="*")
            yield engine, identify(engine, atoms, range(len(coded) - 1), len(coded) - 1)


def patterns(engine: Engine, found: IdentifiableRecords) -> dict[tuple[int, ...], Row]:
    """Give each key's pattern in the values of the source."""
    coded = found.atoms.coded
    joins = " ".join(f"JOIN {coded[i].table} AS d{i} ON d{i}.code = a.c{i}" for i in found.by)
    values = ", ".join(f"d{i}.value" for i in found.by)
    rows = engine.query(
        f"SELECT DISTINCT {', '.join(found.words_of('a'))}, {values} FROM {found.atoms.table} AS a {joins}",
        step="patterns",
    )
    words = len(found.words)
    return {row[:words]: row[words:] for row in rows}


def measured(plan: Plan, measure: str) -> float | None:
    """Give one of a plan's measures."""
    return {name: after for name, _, after in plan.measures}[measure]


def planned(
    rows: Sequence[Row], *, told: Heard | None = None, **options: Any
) -> tuple[Plan, list[Row], list[Record]]:
    """Make a plan.

    Returns:
        The plan, its moves (pattern, new code, records), and the records as they then are.
    """
    with identified(rows) as (engine, found):
        *by, confidential = names(rows)
        request = SwapRequest("t", into="s", confidential=[confidential], by=by, **options)
        plan = SwapRun(engine, "t", request, told or Heard()).plan(found, confidential, b"s")
        known = patterns(engine, found)
        keys = ", ".join(found.keys)
        moves = [
            (known[row[:-2]], row[-2], row[-1])
            for row in engine.query(
                f"SELECT {keys}, category, records FROM {plan.moves} ORDER BY ALL", step="m"
            )
        ]
    after = records(rows, options.get("per_group", 1), Fraction(options.get("smoothing", 0)))
    for pattern, category, count in moves:
        still = [record for record in after if record.pattern == pattern and not record.changed]
        assert count <= len(still)
        for record in still[:count]:
            record.now = category
    return plan, moves, after
