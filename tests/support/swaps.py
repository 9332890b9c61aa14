"""Runs the core of swapping on rows given in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import duckdb
from oracle_swap import Record, Row, records
from swap_releases import Heard

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.collapse import collapse
from ppdm_sql.methods.swapping.candidates import IdentifiableRecords, identify
from ppdm_sql.methods.swapping.swap import Plan, SwapRun
from ppdm_sql.options import SwapRequest


def names(rows: Sequence[Row]) -> list[str]:
    """Names of the columns; the confidential one comes last."""
    return [f'a "{i}";' for i in range(len(rows[0]) - 1)] + ["y"]


@contextmanager
def identified(rows: Sequence[Row]) -> Iterator[tuple[Engine, IdentifiableRecords]]:
    """Collapse rows and identify what their last column gives away."""
    with duckdb.connect(config={"threads": 1}) as con:
        listed = ", ".join('"' + name.replace('"', '""') + '" VARCHAR' for name in names(rows))
        con.execute(f"CREATE TABLE t ({listed})")
        con.executemany(
            f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", [list(row) for row in rows]
        )
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
