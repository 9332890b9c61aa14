"""A table of Spark and its twin in DuckDB: the same steps, the same cut, the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spark_tables import ODD

from ppdm_sql import Database, PpdmError, examples
from ppdm_sql.errors import InvalidSource

pytestmark = pytest.mark.spark
Parquet = Callable[..., str]


def same(db: Database, twin: str, command: str, table: str, to: Path, **asked: Any) -> None:
    """Release a table of DuckDB and its twin in Spark, and compare."""
    release = getattr(db, command)
    connection = db.engine.connection
    here = release(table, into=f"{to.name}_here", **asked)
    there = release(twin, into=to.name, to=str(to), **asked)
    assert there.steps() == here.steps()
    assert list(map(repr, there.cut())) == list(map(repr, here.cut()))
    placed = connection.execute(f"SELECT * FROM '{to}/*.parquet' ORDER BY ALL").fetchall()
    assert placed == connection.execute(f'SELECT * FROM "{to.name}_here" ORDER BY ALL').fetchall()


@pytest.mark.parametrize(
    ("method", "table", "asked"),
    [
        (
            "suppress",
            "customers",
            {
                "require": ["Job, Country -> Bankruptcy = Discharged <= 50%"],
                "class_column": "Rating",
                "count_column": "n",
            },
        ),
        (
            "generalize",
            "employees",
            {"require": ["k >= 3 on Sex, Job, Salary"], "count_column": "n", "class_column": "Class"},
        ),
        ("generalize", "policies", {"require": ["k >= 2 on Age, Gender"], "keep": ["Amount"]}),
    ],
    ids=["customers", "employees", "policies"],
)
def test_the_example_tables(
    ledger: Database, parquet: Parquet, tmp_path: Path, method: str, table: str, asked: dict[str, Any]
) -> None:
    ledger.engine.connection.execute(examples.creation(table))
    twin = parquet("twin", f'FROM "{table}"', ledger.engine.connection)
    same(ledger, twin, method, table, tmp_path / "safe", **asked)


NAMES = st.lists(
    st.sampled_from(["a", "n", "v0", "place", "ppdm_records", ODD, "é", "select", "a b"]),
    min_size=3,
    max_size=3,
    unique=True,
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "X", "x ", "é", "", None]),
        st.sampled_from([None, -1, 0, 7, 2**40]),
        st.sampled_from([0.0, 0.5, -2.25, 1e300, None]),
        st.sampled_from(["yes", "no", None]),
    ),
    min_size=5,
    max_size=40,
)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=NAMES, rows=ROWS, one_class=st.booleans(), k=st.integers(1, 4), suppressed=st.booleans())
def test_random_tables(
    ledger: Database,
    tmp_path: Path,
    names: list[str],
    rows: list[tuple[Any, ...]],
    one_class: bool,
    k: int,
    suppressed: bool,
) -> None:
    """The same release or the same refusal, and the same audit, whatever the columns are called."""
    quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in names]
    connection = ledger.engine.connection
    types = zip([*quoted, "class"], ("VARCHAR", "BIGINT", "DOUBLE", "VARCHAR"), strict=True)
    columns = ", ".join(f"{name} {kind}" for name, kind in types)
    connection.execute(f"CREATE OR REPLACE TABLE small ({columns})")
    given_rows = [(*row[:3], "yes" if one_class else row[3]) for row in rows]
    connection.executemany("INSERT INTO small VALUES (?, ?, ?, ?)", given_rows + given_rows[:2])
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    connection.table("small").write_parquet(str(folder / "rows.parquet"))
    asked: dict[str, Any] = {"require": [f"k >= {k} on {', '.join(quoted)}"], "class_column": "class"}
    method = ledger.suppress if suppressed else ledger.generalize
    found: list[Any] = []
    for source, to in (("small", None), (str(folder), f"{folder}_to")):
        told: list[Any] = [repr(ledger.audit(source, asked["require"]).findings)]
        try:
            release = method(source, into=f"r{len(found)}", to=to, **asked)
            placed = f"'{to}/*.parquet'" if to else '"r0"'
            told += [release.steps(), connection.execute(f"FROM {placed} ORDER BY ALL").fetchall()]
            release.drop()
        except PpdmError as refused:
            told.append(type(refused))
        found.append(told)
    assert found[0] == found[1]


def test_an_empty_table_is_refused_alike(ledger: Database, parquet: Parquet, tmp_path: Path) -> None:
    nobody = parquet("no_rows", "SELECT 'x' AS a, 'yes' AS d LIMIT 0")
    ledger.engine.connection.execute(f"CREATE TABLE no_rows AS FROM '{nobody}/*.parquet'")
    asked: dict[str, Any] = {"require": ["k >= 2 on a"], "class_column": "d"}
    for name, to in (("no_rows", None), (nobody, f"{tmp_path}/safe")):
        with pytest.raises(InvalidSource, match="no records"):
            ledger.audit(name, asked["require"])
        with pytest.raises(InvalidSource, match="no records"):
            ledger.suppress(name, into="safe", to=to, **asked)
    assert not (tmp_path / "safe").exists()


@pytest.fixture
def adult(ledger: Database, parquet: Parquet, adult_csv: list[str], plans_as_usual: None) -> str:
    """Adult as a table of DuckDB, and as Parquet; each record has a number."""
    rows = "SELECT row_number() OVER () AS id, * FROM read_csv($files)"
    ledger.engine.connection.execute(f"CREATE TABLE adult AS {rows}", {"files": adult_csv})
    return parquet("adult_twin", "FROM adult", ledger.engine.connection)


def test_adult(ledger: Database, adult: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"require": ["k >= 50 on age, education, sex"], "class_column": "income"}
    asked |= {"keep": ["workclass"], "method": "hce-tdr"}
    same(ledger, adult, "generalize", "adult", tmp_path / "safe", **asked)


def test_adult_is_swapped_randomized_reconstructed_and_audited_alike(
    ledger: Database, adult: str, tmp_path: Path
) -> None:
    texts = "CAST(COLUMNS(*) AS VARCHAR)"
    connection, found = ledger.engine.connection, []
    noise, ranges = {"age": "uniform 30", "hours_per_week": "gaussian 10"}, {"age": (17, 90)}
    ranges |= {"hours_per_week": (1, 99)}
    for source, mark in (("adult", "here"), (adult, "there")):
        to = f"{tmp_path}/{mark}" if mark == "there" else None
        audit = ledger.audit(source, ["k on age, sex", "distinct l of income on education"], groups=5)
        ledger.swap(
            source,
            into=f"s_{mark}",
            confidential=["income"],
            by=["age", "sex", "occupation"],
            proportion=0.5,
            seed=5,
            to=to,
        )
        ledger.randomize(
            source, into=f"r_{mark}", noise=noise, ranges=ranges, record="id", class_column="income", seed=5
        )
        ledger.reconstruct(source, into=f"d_{mark}", noise=noise, ranges=ranges, by_class="income")
        swapped = f"s_{mark}" if to is None else f"'{to}/*.parquet'"  # the ledger keeps it collapsed
        tables = [swapped, f"r_{mark}", f"d_{mark}"]
        rows = [connection.execute(f"SELECT {texts} FROM {t} ORDER BY ALL").fetchall() for t in tables]
        found.append((repr(audit.findings), rows))
    assert found[0] == found[1] and len(found[0][1][0]) == 48_842
