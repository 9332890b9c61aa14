"""Randomizing persons: one draw for what is the same in a person's rows, and what their mean tells else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from swap_releases import Heard

import ppdm_sql
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, InvalidOption, InvalidSource, PpdmError
from ppdm_sql.methods.perturbation import randomize as run_module
from ppdm_sql.methods.perturbation.noisy_rows import NoisyRows
from ppdm_sql.methods.perturbation.randomize import RandomizeRun

NOISE = {"age": "uniform 20 on 0,99 whole rounded", "pay": "gaussian 15 on 100,150", "ill": "retain 0.6"}
VARYING = NOISE | {"weight": "gaussian 5 on 50,99"}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Some 1,800 visits of 600 patients; every third of them has another weight at each visit."""
    with duckdb.connect() as opened:
        opened.execute(
            """
            CREATE TABLE t AS SELECT
                'P' || w AS patient, w AS id, w % 90 AS age, 100 + (hash(w, 5) % 50)::INTEGER AS pay,
                ['flu', 'cold', 'none'][(hash(w) % 3)::INTEGER + 1] AS ill, j AS visit,
                60 + w % 30 + if(w % 3 = 0, j, 0) AS weight
            FROM range(600) AS r (w), range(5) AS s (j) WHERE j <= hash(w, 9) % 5
            """
        )
        yield opened


def randomize(con: duckdb.DuckDBPyConnection, **options: Any) -> ppdm_sql.Release:
    chosen: dict[str, Any] = {
        "table": "t", "noise": NOISE, "into": "safe", "person": "patient", "keep": ["visit"], "seed": 1,
        "identifiers": {"patient": "pseudonym"}, "progress": Heard(),
    }  # fmt: skip
    chosen |= options
    return ppdm_sql.open(con).randomize(**chosen, allow_identifiers=chosen["keep"])


def most_values(con: duckdb.DuckDBPyConnection, column: str, where: str = "true") -> tuple[int, int]:
    """Give how many different values a person of several rows has, at least and at most."""
    query = (
        f"SELECT count(DISTINCT {column}) AS n FROM safe WHERE {where} GROUP BY patient HAVING count(*) > 1"
    )
    found: Any = con.execute(f"SELECT min(n), max(n) FROM ({query})").fetchone()
    return found


def averaged(release: ppdm_sql.Release) -> dict[str, float | None]:
    start = "noise that averaging a person's rows can remove: "
    return {m.removeprefix(start): after for m, _, after in release.measures() if m.startswith(start)}


def test_a_person_gets_one_draw_for_what_is_the_same_in_all_rows(con: duckdb.DuckDBPyConnection) -> None:
    heard = Heard()
    release = randomize(con, progress=heard)
    assert [most_values(con, name) for name in NOISE] == [(1, 1)] * 3
    assert con.execute("SELECT count(DISTINCT pay) > 500 FROM safe").fetchone() == (True,)
    assert release.verify().holds
    assert all(share < 0.1 for share in averaged(release).values() if share is not None)
    assert any("can be linked by pay;" in text for text in heard.notices)
    assert not any("vary" in text for text in heard.notices)


def test_without_persons_the_mean_of_their_rows_is_close_to_the_truth(con: duckdb.DuckDBPyConnection) -> None:
    query = (
        "SELECT sqrt(avg(e * e)) FROM (SELECT avg(pay) - 100 - any_value(hash(id, 5) % 50) AS e FROM safe "
        "GROUP BY id HAVING count(*) = 5)"
    )
    errors = []
    for person in ((), "patient"):
        randomize(con, person=person, keep=["id"], identifiers={})
        errors.append(con.execute(query).fetchone()[0])
        ppdm_sql.open(con).release("safe").drop()
    assert errors[0] < 8 < 13 < errors[1]


def test_where_rows_of_a_person_differ_each_gets_its_own_draw_with_a_notice(
    con: duckdb.DuckDBPyConnection,
) -> None:
    heard = Heard()
    release = randomize(con, noise=VARYING, keep=["visit", "id"], progress=heard)
    assert [most_values(con, name) for name in NOISE] == [(1, 1)] * 3
    assert most_values(con, "weight", "id % 3 <> 0") == (1, 1)
    least, most = most_values(con, "weight", "id % 3 = 0")
    assert least > 1 and most == 5
    query = "SELECT count(*) FROM (FROM t SELECT 1 GROUP BY patient HAVING count(DISTINCT weight) > 1)"
    (several,) = con.execute(query).fetchone()
    assert any(f"weight ({several} persons)" in text for text in heard.notices)
    assert 0.03 < averaged(release)["weight"] < 0.5
    assert release.verify().holds
    con.execute("UPDATE t SET weight = 60 + visit")
    release = randomize(con, noise={"weight": "gaussian 5 on 50,99"}, progress=heard, into="weights")
    assert averaged(release)["weight"] > 0.25
    assert any("The mean of a person's rows removes" in text for text in heard.notices)


def test_a_person_keeps_the_noise_whatever_rows_are_added(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    def released() -> list[Any]:
        randomize(con, seed=None, key_file=tmp_path / "key", identifiers={}, keep=["id"])
        found = con.execute("SELECT DISTINCT id, age, pay, ill FROM safe ORDER BY id").fetchall()
        ppdm_sql.open(con).release("safe").drop()
        return found

    before = released()
    con.execute(
        "CREATE TABLE u AS SELECT * FROM t ORDER BY hash(id); INSERT INTO u SELECT * FROM t WHERE id < 50"
    )
    con.execute("DROP TABLE t; ALTER TABLE u RENAME TO t")
    assert released() == before


def test_a_view_needs_no_record_unless_rows_get_draws(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW seen AS FROM t")
    assert randomize(con, table="seen").verify().holds
    with pytest.raises(InvalidOption, match="--record"):
        randomize(con, table="seen", noise=VARYING, into="other")


def test_correlated_noise_is_one_draw_a_person_too(con: duckdb.DuckDBPyConnection) -> None:
    noise = {"age": "gaussian 20 on 0,99", "pay": "gaussian 15 on 100,150"}
    randomize(con, noise=noise, correlated=True)
    assert [most_values(con, name) for name in noise] == [(1, 1)] * 2
    with pytest.raises(InvalidOption, match="'weight' varies in the rows of .* persons"):
        randomize(con, noise=noise | {"weight": "gaussian 5 on 50,99"}, correlated=True, into="other")


def test_missing_values_stay_missing_and_cells_need_no_persons(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET pay = NULL WHERE visit = 1")
    randomize(con, noise=NOISE | {"weight": "cells 5"})
    assert most_values(con, "pay") == (1, 1)
    assert con.execute("SELECT DISTINCT visit FROM safe WHERE pay IS NULL").fetchall() == [(1,)]
    assert randomize(con, noise={"weight": "cells 5"}, into="other").verify().holds


def test_hostile_names_and_several_columns_say_who_the_person_is(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""ALTER TABLE t RENAME patient TO "who"; ALTER TABLE t RENAME pay TO "p""'; --" """)
    release = randomize(
        con,
        noise={"p\"'; --": "gaussian 15 on 100,150"},
        person=["who", "id"],
        identifiers={"who": "drop"},
        keep=["visit"],
    )
    assert release.relation().columns == ["p\"'; --", "visit"]
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone() == (0,)


@pytest.mark.parametrize("seed", range(3))
def test_chance_is_judged_by_persons_some_of_whom_have_many_rows(
    con: duckdb.DuckDBPyConnection, seed: int
) -> None:
    con.execute(
        "CREATE TABLE heavy AS SELECT i AS patient, i % 7 * if(i < 3, 9, 1) AS pay, "
        "if(i < 3, 'rare', 'c' || i % 3) AS ill FROM range(300) AS r (i), range(if(i < 3, 700, 1)) AS s (j)"
    )
    noise = {"pay": "gaussian 20 on 0,99", "ill": "retain 0.5"}
    release = randomize(con, table="heavy", noise=noise, keep=[], seed=seed)
    assert release.verify().holds


# -- refusals -----------------------------------------------------------------------------------------


def test_rows_of_nobody_are_refused_with_a_count(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET patient = NULL WHERE id = 3 AND visit = 0")
    with pytest.raises(InvalidSource, match="'patient' is NULL in 1 row"):
        randomize(con)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"person": "age"}, ColumnRoleError),
        ({"person": "visit"}, ColumnRoleError),
        ({"person": "ill", "class_column": "id"}, ColumnRoleError),
        ({"person": "patiend"}, PpdmError),
    ],
)
def test_a_person_column_that_is_something_else_is_refused(
    con: duckdb.DuckDBPyConnection, options: dict[str, Any], error: type[PpdmError]
) -> None:
    with pytest.raises(error, match=options["person"]):
        randomize(con, **options)


# -- the audit judges by itself -----------------------------------------------------------------------


def table_of(text: str) -> Callable[[Any], Any]:
    """Noisy rows that are rewritten when they are drawn."""
    return lambda real: (
        lambda self, *tables: f"SELECT {text.format(table=f'({real(self, *tables)})')} AS rows"
    )


def mistold(real: Any) -> Any:
    """Rows of which it is told that they are somebody else's."""

    def faulty(self: Any, done: Any) -> Any:
        found = real(self, done)
        lie = f"SELECT * REPLACE (replace(who, 'P1', 'P2') AS who) FROM {found.table}"
        return replace(found, table=self.engine.materialize("lie", lie))

    return faulty


def changed(text: str) -> Any:
    return NoisyRows, "select", table_of(f"* REPLACE ({text}) FROM {{table}}")


OTHER_ROWS: Callable[[Any], Any] = lambda real: (  # noqa: E731
    lambda table, outputs: real(table, outputs).replace("r1 AS", "r1 + k0 AS")
)
FAULTS: dict[str, tuple[tuple[Any, str, Callable[[Any], Any]], str]] = {
    "a draw a row": (changed("r1 + k0 AS r1"), "draws of 'pay'"),
    "a category a row": (changed("['flu', 'cold'][k0 % 2 + 1] AS r2"), "draws of 'ill'"),
    "one draw for all": (changed("x1 + 3.5 AS r1"), "variance of 'pay'"),
    "other rows": ((run_module, "ordered_rows", OTHER_ROWS), "not those of which it is known"),
    "rows of somebody else": (
        (RandomizeRun, "_owned_rows", mistold),
        "persons have other rows than in the source",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_refused(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (holder, place, plant), words = FAULTS[name]
    monkeypatch.setattr(holder, place, plant(getattr(holder, place)))
    with pytest.raises(GuaranteeNotMet, match=words):
        randomize(con)
    assert ppdm_sql.open(con).releases() == []
