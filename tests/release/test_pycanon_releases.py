"""pycanon measures releases, and what they were made from, as the audit does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pycanon import anonymity

import ppdm_sql

Row = tuple[Any, ...]
METHODS = ("suppress", "tds", "hce-tdr")
HALF = settings(max_examples=max(1, settings().max_examples // 2))


def frame_of(connection: duckdb.DuckDBPyConnection, table: str) -> pd.DataFrame:
    """A table's records, one row each, indexed from 0: pycanon takes the index for a position.

    NULL becomes a text: pycanon leaves rows with NULL out where the quasi-identifier is one column.
    """
    frame = connection.table(table).df()
    if "n" in frame.columns:
        frame = frame.loc[frame.index.repeat(frame.pop("n"))]
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    frame[texts] = frame[texts].astype(object).fillna("a missing value")
    return frame.reset_index(drop=True)


def reached(
    connection: duckdb.DuckDBPyConnection, table: str, qi: Sequence[str], sensitive: str
) -> list[float]:
    """What the audit says of k, distinct l, entropy l and t."""
    names = ", ".join(qi)
    columns = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
    audit = ppdm_sql.open(connection).audit(
        table,
        [
            f"k >= 1 on {names}",
            f"distinct l >= 1 of {sensitive} on {names}",
            f"entropy l >= 1 of {sensitive} on {names}",
            f"t <= 1 of {sensitive} on {names}",
        ],
        count_column="n" if "n" in columns else None,
    )
    return [finding.reached for finding in audit.findings]


def assert_agrees(
    connection: duckdb.DuckDBPyConnection, table: str, qi: Sequence[str], sensitive: str
) -> None:
    """Compare all four; pycanon rounds entropy l down, a whole number perhaps to the one below."""
    frame, names = frame_of(connection, table), list(qi)
    k, distinct, entropy, closeness = reached(connection, table, qi, sensitive)
    assert k == anonymity.k_anonymity(frame, names)
    assert distinct == anonymity.l_diversity(frame, names, [sensitive])
    assert anonymity.entropy_l_diversity(frame, names, [sensitive]) in {
        math.floor(entropy - 1e-9),
        math.floor(entropy + 1e-9),
    }
    assert closeness == pytest.approx(anonymity.t_closeness(frame, names, [sensitive]), abs=1e-9)


def published(
    connection: duckdb.DuckDBPyConnection, table: str, require: Sequence[str], how: str, **options: Any
) -> Any:
    """Make the release ``safe`` by suppression, or by generalization with a method."""
    db = ppdm_sql.open(connection)
    columns = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
    options = {"into": "safe", "count_column": "n" if "n" in columns else None} | options
    if how == "suppress":
        options.pop("taxonomies", None)
        return db.suppress(table, require, **options)
    return db.generalize(table, require, method=how, **options)


# -- small tables ---------------------------------------------------------------------------------

TREE = {"ANY": {"a to c": ["a", "b", "c"], "d to f": {"d": [], "e or f": ["e", "f"]}}}
SMALL = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "d", "e", "f", None]),
        st.integers(0, 9),
        st.sampled_from(["x", "y", None]),
        st.sampled_from(["flu", "cold", "gout"]),
        st.integers(0, 5),
        st.sampled_from(["good", "bad"]),
        st.integers(1, 4),
    ),
    min_size=4,
    max_size=40,
)
COLUMNS = "p VARCHAR, q INTEGER, r VARCHAR, illness VARCHAR, visits INTEGER, class VARCHAR, n INTEGER"
SAME = [
    ["k >= 3 on p, q, r"],
    ["k >= 2 on p, q, r", "p, q, r -> illness = flu <= 75%"],
    ["distinct l >= 2 of illness on p, q, r"],
    ["entropy l >= 1.5 of illness on p, q, r"],
    ["t <= 0.4 of visits on p, q, r", "k >= 2 on p, q, r"],
    ["distinct l >= 2 of visits on p, q, r", "t <= 0.5 of illness on p, q, r"],
]
OVERLAPPING = [["k >= 3 on p, q", "distinct l >= 2 of illness on q, r", "t <= 0.3 of visits on p, r"]]


@st.composite
def settled(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A method and demands that it takes."""
    how = draw(st.sampled_from(METHODS))
    return how, draw(st.sampled_from(SAME if how == "hce-tdr" else SAME + OVERLAPPING))


@HALF
@given(SMALL, settled(), st.booleans())
def test_k_l_t_of_small_releases_and_their_sources_agree_with_pycanon(
    rows: list[Row], settled: tuple[str, list[str]], collapsed: bool
) -> None:
    how, require = settled
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(f"CREATE TABLE t ({COLUMNS})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        if not collapsed:
            connection.execute("CREATE OR REPLACE TABLE t AS SELECT * EXCLUDE (n) FROM t, range(n)")
        released = ["illness", "visits"]
        keep = [
            name for name in released if not any(f"of {name} " in r or f"> {name} " in r for r in require)
        ]
        options = {"class_column": "class", "keep": keep, "taxonomies": {"p": TREE}}
        try:
            release = published(connection, "t", require, how, **options)
        except ppdm_sql.GuaranteeNotMet:
            assume(False)
            raise
        assert release.verify().holds
        for sensitive in released:
            assume(len({row[3 if sensitive == "illness" else 4] for row in rows}) > 1)
            for table in ("t", "safe"):
                assert_agrees(connection, table, ["p", "q", "r"], sensitive)
                assert_agrees(connection, table, ["p"], sensitive)


# -- samples of Adult -----------------------------------------------------------------------------

EDUCATION = {
    "ANY": {
        "School": {
            "Elementary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
            "High": ["9th", "10th", "11th", "12th", "HS-grad"],
        },
        "Higher": {
            "College": ["Some-college", "Assoc-voc", "Assoc-acdm"],
            "University": ["Bachelors", "Masters", "Doctorate", "Prof-school"],
        },
    }
}
QI = ["age", "education", "sex", "race"]
SENSITIVE = ["occupation", "hours_per_week"]
ADULT = {
    "k, by suppression": ("suppress", ["k >= 5 on education, sex, race"]),
    "a template, by suppression": ("suppress", ["education, sex, race -> occupation <= 60%"]),
    "entropy l and t, by suppression": (
        "suppress",
        [
            "entropy l >= 3 of occupation on education, sex, race",
            "t <= 0.3 of hours_per_week on education, sex, race",
        ],
    ),
    "k": ("tds", ["k >= 10 on age, education, sex, race"]),
    "distinct l": ("tds", ["distinct l >= 4 of occupation on age, education, sex, race"]),
    "entropy l": ("tds", ["entropy l >= 3.5 of occupation on age, education, sex, race"]),
    "t, equal distance": ("tds", ["t <= 0.35 of occupation on age, education, sex, race"]),
    "t, ordered distance": ("tds", ["t <= 0.2 of hours_per_week on age, education, sex, race"]),
    "all together": (
        "tds",
        [
            "k >= 6 on age, education",
            "distinct l >= 3 of occupation on education, sex, race",
            "entropy l >= 2.5 of occupation on age, sex",
            "t <= 0.3 of hours_per_week on sex, race, age",
        ],
    ),
    "k, by conditional entropy": ("hce-tdr", ["k >= 10 on age, education, sex, race"]),
    "k and l, by conditional entropy": (
        "hce-tdr",
        [
            "k >= 5 on age, education, sex, race",
            "entropy l >= 2 of occupation on age, education, sex, race",
        ],
    ),
}


@pytest.fixture(scope="module")
def sample(adult_csv: list[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Every 50th record of Adult, in file order."""
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(
            """
            CREATE TABLE adult AS
            SELECT * EXCLUDE (place)
            FROM (SELECT *, row_number() OVER () AS place FROM read_csv($files))
            WHERE place % 50 = 0
            """,
            {"files": adult_csv},
        )
        yield connection


@pytest.mark.parametrize("sensitive", SENSITIVE)
def test_k_l_t_of_a_sample_of_adult_agree_with_pycanon(
    sample: duckdb.DuckDBPyConnection, sensitive: str
) -> None:
    assert_agrees(sample, "adult", QI, sensitive)


@pytest.mark.parametrize("setting", list(ADULT))
def test_k_l_t_of_releases_of_adult_agree_with_pycanon(
    sample: duckdb.DuckDBPyConnection, setting: str
) -> None:
    how, require = ADULT[setting]
    keep = [name for name in SENSITIVE if not any(name in requirement for requirement in require)]
    taxonomies = {"taxonomies": {"education": EDUCATION}} if how != "suppress" else {}
    release = published(sample, "adult", require, how, class_column="income", keep=keep, **taxonomies)
    try:
        assert release.verify().holds
        assert release.steps()
        for sensitive in SENSITIVE:
            assert_agrees(sample, "safe", QI if how != "suppress" else QI[1:], sensitive)
    finally:
        release.drop()


@pytest.mark.parametrize("how", METHODS)
def test_pycanon_finds_the_k_that_was_asked(sample: duckdb.DuckDBPyConnection, how: str) -> None:
    require = ["k >= 7 on education, sex, race"]
    release = published(sample, "adult", require, how, class_column="income")
    try:
        assert anonymity.k_anonymity(frame_of(sample, "safe"), QI[1:]) >= 7
    finally:
        release.drop()
