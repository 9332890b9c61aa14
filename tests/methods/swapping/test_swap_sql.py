"""The SQL that swapping puts together, for the paper's policies; see golden.py for how to change it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from golden import check_golden, recorded
from oracle_swap import Row
from swaps import identified

from ppdm_sql.engine import Engine, statements
from ppdm_sql.methods.base.collapse import collapse
from ppdm_sql.methods.swapping import posteriors
from ppdm_sql.methods.swapping.discretization import discretized
from ppdm_sql.methods.swapping.exact import Solution, relaxed, tied, tied_classes
from ppdm_sql.methods.swapping.identification import IdentifiableRecords, identify
from ppdm_sql.methods.swapping.marginals import Demand
from ppdm_sql.methods.swapping.planning import assign, attacker_share
from ppdm_sql.methods.swapping.posteriors import Candidates, candidates
from ppdm_sql.methods.swapping.swap import cramers_v
from ppdm_sql.methods.swapping.swapped_rows import swapped

GOLDEN = Path(__file__).parent / "golden"
PRICES = np.array([[10, 0, -20], [300, 200, 100]])
DEMAND = Demand(*(np.full(3, n) for n in (2, 1)), 3, *(np.full(3, n) for n in (0, 2)))


def some_candidates(engine: Engine, found: IdentifiableRecords) -> Candidates:
    return candidates(engine, found, per_group=1, smoothing=0.0, blur=0.0, seed=b"s")


def identification(engine: Engine, found: IdentifiableRecords) -> None:
    identify(engine, found.atoms, found.by, found.confidential)


def blurred(engine: Engine, found: IdentifiableRecords) -> None:
    candidates(engine, found, per_group=Fraction(1, 2), smoothing=0.5, blur=0.25, seed=b"s")


def exact(engine: Engine, found: IdentifiableRecords) -> None:
    """One step of each kind, at prices that are given: those of a solver differ from version to version."""
    with recorded(engine):  # apart: another golden file has these
        records = some_candidates(engine, found)
    relaxed(engine, records, PRICES, np.full((2, 3), 80), DEMAND, rounded=True, most=4)
    ties = tied(engine, records, PRICES, 1000)
    assign(engine, records, Solution(PRICES, ties, np.array([[0, 1, 0, 1]]), 0, None), b"s")


def greedy(engine: Engine, found: IdentifiableRecords) -> None:
    with recorded(engine):  # apart: another golden file has these
        records = some_candidates(engine, found)
    prices = np.zeros((2, 3), dtype=np.int64)
    ties = tied(engine, records, prices, 10**14, every=True)
    classes = tied_classes(engine, ties, 3)
    moved = np.zeros_like(classes.reduced_costs)
    moved[0, 1] = 1
    moves = assign(engine, records, Solution(prices, ties, moved, 0, None), b"s").moves
    attacker_share(engine, records, moves)
    swapped(engine, found.atoms, found, moves, b"key")


def measures(engine: Engine, found: IdentifiableRecords) -> None:
    names = [item.column.name for item in found.atoms.coded]
    cramers_v(engine, found.atoms, names[0], names[found.confidential])


def logarithms(engine: Engine, found: IdentifiableRecords) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(posteriors, "MOST_PRODUCTS", 0)
        some_candidates(engine, found)


@pytest.fixture(scope="module")
def policies() -> list[Row]:
    text = statements.text("examples/policies").rstrip(";\n")
    return [row[1:] for row in duckdb.sql(f"{text} ORDER BY No").fetchall()]


@pytest.mark.parametrize(
    "run", [identification, some_candidates, blurred, logarithms, exact, greedy, measures]
)
def test_the_sql_is_that_of_the_golden_file(
    policies: list[Row], run: Callable[[Engine, IdentifiableRecords], object]
) -> None:
    with identified(policies) as (engine, found), recorded(engine) as run_statements:
        run(engine, found)
    check_golden(GOLDEN / f"{run.__name__}.sql", run_statements)


@pytest.mark.parametrize(("name", "wanted"), [("equal_bins", 2), ("given_bins", ["0", "30", "60"])])
def test_the_sql_of_bins_is_that_of_the_golden_file(name: str, wanted: int | list[str]) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 'x' AS a, i AS b FROM range(60) AS r (i)")
        engine = Engine(con)
        table = engine.find("t")
        with engine.workspace():
            atoms = collapse(engine, table, engine.columns(table), [], None, masked=[], symbol="*")
            with recorded(engine) as run_statements:
                discretized(engine, atoms, 1, wanted)
    check_golden(GOLDEN / f"{name}.sql", run_statements)
