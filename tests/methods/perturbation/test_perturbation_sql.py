"""The SQL that randomization and reconstruction put together; see golden.py for how to change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from golden import check_golden, recorded

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.methods.perturbation.correlations import mixing_matrix
from ppdm_sql.methods.perturbation.histograms import histograms
from ppdm_sql.methods.perturbation.noise import as_text, parse_all_noise
from ppdm_sql.methods.perturbation.noise_draws import Draw, Draws, Key, records_by_column
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn, noisy_columns
from ppdm_sql.methods.perturbation.noisy_rows import NoisyRows
from ppdm_sql.methods.perturbation.privacy_measures import column_measures
from ppdm_sql.methods.perturbation.reconstruct import Reconstruction, write_table
from ppdm_sql.methods.perturbation.reconstruction import Grid
from ppdm_sql.progress import SilentProgress

GOLDEN = Path(__file__).parent / "golden"
NOISE = {
    "age": "gaussian 20 on 0,100 whole rounded",
    "pay": "uniform 500.0",
    "hours": "cells 3 equal-frequency",
    "job": "retain 0.5",
}


def chosen(engine: Engine, people: Table) -> list[NoisyColumn]:
    """Choose the noise of four columns, one of each kind."""
    columns = {item.name: item for item in engine.columns(people)}
    asked = [(noise, columns[noise.column]) for noise in parse_all_noise(NOISE)]
    return noisy_columns(engine, people, asked, {}, SilentProgress(), "people")[1]


def choice(engine: Engine, people: Table) -> None:
    chosen(engine, people)


def drawn(engine: Engine, people: Table) -> None:
    with recorded(engine):  # apart: another golden file has these
        noisy = chosen(engine, people)
    kept = [column("class", "s")]
    (known,) = [item for item in engine.columns(people) if item.name == "id"]
    records = records_by_column(engine, people, known)
    columns = [
        Draw(it.column.name, as_text(it.noise), bool(it.added)) for it in noisy if it.column.name != "hours"
    ]
    made = NoisyRows(noisy, kept, records, Draws(Key(b"k" * 32, "no"), columns, ["number"]))
    table = source_of(engine, people).keep_rows(engine, made.select, made.keys(), step="noisy")
    column_measures(engine, table, noisy, 12)


def cells_alone(engine: Engine, people: Table) -> None:
    with recorded(engine):
        noisy = [item for item in chosen(engine, people) if item.column.name == "hours"]
    engine.materialize("noisy", NoisyRows(noisy, []).select(people, Table("none")))


def by_class(engine: Engine, people: Table) -> None:
    found = histograms(engine, people, {"age": Grid(0.0, 25.0, 4), "job": ("clerk", "it's")}, "class")
    write_table(engine, Table("result"), Reconstruction("result", (), "class"), found.codes)


def correlated(engine: Engine, people: Table) -> None:
    mixing_matrix(engine, people, [column("age"), column("pay")], [1.0, 1.0])


@pytest.mark.parametrize("run", [choice, drawn, cells_alone, by_class, correlated])
def test_the_sql_is_that_of_the_golden_file(run: Callable[[Engine, Table], None]) -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE people AS SELECT i AS id, i * 8.0::DOUBLE AS age, (i * i)::DOUBLE AS pay, "
            "(i % 6)::DOUBLE AS hours, if(i % 3 = 0, 'clerk', 'it''s') AS job, i % 2 = 0 AS class "
            "FROM range(12) AS r (i)"
        )
        engine = Engine(con)
        with engine.workspace(), recorded(engine) as statements:
            run(engine, engine.find("people"))
    check_golden(GOLDEN / f"{run.__name__}.sql", [sql for sql in statements if "COMMENT ON" not in sql])
