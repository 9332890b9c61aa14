"""Looking at a table without a requirement: at its columns, and at what some of them give away of others."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql.audit.column_kinds import ValueShape, looks_like
from ppdm_sql.audit.exposure import Exposure
from ppdm_sql.audit.profiling import Profile
from ppdm_sql.engine import statements
from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import InvalidOption, InvalidSource, UnknownColumn

HOSTILE = ["value", "records", "s", 'a "b', "it's", "select", "Größe ✓", '"; DROP TABLE t; --', "c0"]
CELLS = [
    st.sampled_from(["x", "y", None]),
    st.sampled_from([1, 2, 9, None]),
    st.sampled_from([1, 2, 5, None]),
]
ROWS = st.lists(st.tuples(*CELLS, st.integers(0, 3)), min_size=1, max_size=14)
Rows = list[tuple[Any, ...]]


def table(names: list[str], rows: Rows, *, counted: bool) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    kinds = ["VARCHAR", "INTEGER", "INTEGER", *(["INTEGER"] if counted else [])]
    columns = [*names, *(["n"] if counted else [])]
    heads = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(columns, kinds, strict=True))
    con.execute(f"CREATE TABLE t ({heads})")
    marks = ", ".join("?" * len(columns))
    for row in rows:
        for _ in range(1 if counted else row[3]):
            con.execute(f"INSERT INTO t VALUES ({marks})", list(row[: len(columns)]))
    return con


def spread(rows: Rows) -> Rows:
    return [row[:3] for row in rows for _ in range(row[3])]


def looked(con: duckdb.DuckDBPyConnection, **options: Any) -> Exposure:
    found = ppdm_sql.open(con).audit("t", **options)
    assert found.holds
    assert found.exposure is not None
    return found.exposure


def seen(con: duckdb.DuckDBPyConnection, name: str = "t", **options: Any) -> Profile:
    found = ppdm_sql.open(con).audit(name, **options).profile
    assert found is not None
    return found


NAMES = st.lists(st.sampled_from(HOSTILE), min_size=3, max_size=3, unique_by=str.lower)


@given(names=NAMES, rows=ROWS, counted=st.booleans())
def test_exposure_is_what_the_definitions_say(names: list[str], rows: Rows, counted: bool) -> None:
    rows[0] = (*rows[0][:3], max(1, rows[0][3]))
    records, con = spread(rows), table(names, rows, counted=counted)
    count = {"count_column": "n"} if counted else {}
    found = looked(con, by=names[:2], sensitive=names[2], **count)
    classes: dict[Any, Counter[Any]] = defaultdict(Counter)
    for *group, value in records:
        classes[tuple(group)][value] += 1
    sizes = [held.total() for held in classes.values()]
    assert (found.records, found.classes) == (len(records), len(classes))
    assert (found.smallest, found.largest) == (min(sizes), max(sizes))
    assert found.median == statistics.median(sizes)
    assert found.mean == pytest.approx(statistics.mean(sizes))
    assert found.alone == sizes.count(1)
    assert found.in_small == sum(size for size in sizes if size < 5)
    (item,) = found.sensitive
    assert item.distinct_l == min(map(len, classes.values()))
    assert item.entropy_l == pytest.approx(min(map(entropy, classes.values())))
    ratios = [recursive(held) for held in classes.values()]
    assert (item.recursive_c is None) is (None in ratios)
    if item.recursive_c is not None:
        assert item.recursive_c == pytest.approx(max(ratio for ratio in ratios if ratio is not None))
    whole = Counter(row[2] for row in records)
    assert item.equal_t == pytest.approx(max(distance(held, whole) for held in classes.values()))
    assert item.ordered_t is not None
    assert item.values == len(whole)
    for value in item.by_value:
        cell = None if value.value is None else int(value.value)
        shares = [held[cell] / held.total() for held in classes.values()]
        assert value.records == whole[cell]
        assert value.share == pytest.approx(whole[cell] / len(records))
        assert value.confidence == pytest.approx(max(shares))
        certain = [held.total() for held, share in zip(classes.values(), shares, strict=True) if share == 1]
        assert value.certain == sum(certain)
    assert sum(value.records for value in item.by_value) == len(records)


def entropy(held: Counter[Any]) -> float:
    shares = [n / held.total() for n in held.values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def recursive(held: Counter[Any]) -> float | None:
    most, *others = sorted(held.values(), reverse=True)
    return most / sum(others) if others else None


def distance(held: Counter[Any], whole: Counter[Any]) -> float:
    return sum(abs(held[v] / held.total() - whole[v] / whole.total()) for v in whole) / 2


@given(names=NAMES, rows=ROWS, counted=st.booleans())
def test_a_profile_counts_values_and_lonely_records(names: list[str], rows: Rows, counted: bool) -> None:
    rows[0] = (*rows[0][:3], max(1, rows[0][3]))
    records, con = spread(rows), table(names, rows, counted=counted)
    found = seen(con, **({"count_column": "n"} if counted else {}))
    assert found.records == len(records)
    assert [item.column for item in found.columns] == names
    for place, item in enumerate(found.columns):
        held = Counter(row[place] for row in records)
        assert (item.values, item.nulls) == (len(held.keys() - {None}), held[None])
        assert item.alone == list(held.values()).count(1)
        assert item.share_alone == item.alone / len(records)
    for pair in found.pairs:
        both = Counter(tuple(row[names.index(name)] for name in pair.columns) for row in records)
        assert (pair.classes, pair.alone) == (len(both), list(both.values()).count(1))


def test_of_many_pairs_the_ten_that_single_out_most_are_shown() -> None:
    con = duckdb.connect()
    columns = ", ".join(f"hash(i * 31 + {n}) % {n + 2} AS c{n}" for n in range(12))
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(3000) r (i)")
    rows = con.execute("FROM t").fetchall()
    alone = {}
    for a, b in combinations(range(12), 2):
        both = Counter((row[a], row[b]) for row in rows)
        alone[f"c{a}", f"c{b}"] = (list(both.values()).count(1), len(both))
    found = seen(con).pairs
    assert len(found) == 10
    assert all((pair.alone, pair.classes) == alone[pair.columns] for pair in found)
    assert [pair.alone for pair in found] == sorted((one for one, _ in alone.values()), reverse=True)[:10]


def test_of_many_columns_those_with_the_most_values_are_paired() -> None:
    con = duckdb.connect()
    columns = ", ".join(f"hash(i * 31 + {n}) % {n + 2} AS c{n}" for n in range(40))
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(500) r (i)")
    con.execute("CREATE VIEW v AS FROM t")
    found = seen(con)
    assert len(found.columns) == 40
    paired = {name for pair in found.pairs for name in pair.columns}
    assert paired <= {f"c{n}" for n in range(10, 40)}
    for pair in found.pairs:
        both = Counter(con.table("t").select(*map(quoted, pair.columns)).fetchall())
        assert (pair.classes, pair.alone) == (len(both), list(both.values()).count(1))
    assert seen(con, "v") == found


def test_a_view_that_changes_is_read_once() -> None:
    con = duckdb.connect()
    con.execute("CREATE VIEW v AS SELECT (random() * 1e9)::INTEGER AS a, i % 2 AS b, random() < 0.5 AS c "
                "FROM range(100) r (i)")  # fmt: skip
    statements: list[str] = []
    db = ppdm_sql.open(con)
    db.engine.tracer = statements.append
    assert db.audit("v").profile is not None
    assert sum('"v"' in sql for sql in statements) == 1


def test_pairs_leave_out_what_singles_out_by_itself() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'p' || i AS name, i / 7.0 AS pay, 'DE' AS land, NULL AS gone, "
        "i % 7 AS a, i % 11 AS b FROM range(100) r (i)"
    )
    found = seen(con)
    assert [pair.columns for pair in found.pairs] == [("a", "b")]
    assert [item.column for item in found.alone] == ["id", "name", "pay"]
    titles = [table.title for table in found.tables()]
    assert titles.index("Columns that identify alone") < titles.index(
        "Pairs of columns that single out most records"
    )


# -- what a column looks like ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "look"),
    [
        ("id", "i", "direct identifier"),
        ("patient_id", "i % 40", "direct identifier"),
        ("PatientID", "i % 40", "direct identifier"),
        ("product_id", "i % 40", "code"),
        ("customer_group_id", "i % 40", "code"),
        ("HospitalPatientID", "i % 40", "direct identifier"),
        ("name", "'Ann ' || i % 60", "direct identifier"),
        ("lastName", "'Ann ' || i % 60", "direct identifier"),
        ("contact", "'u' || i % 60 || '@x.org'", "direct identifier"),
        ("tel", "'+49 30 ' || (i % 60 + 1000)", "direct identifier"),
        ("who", "uuid()", "direct identifier"),
        ("who", "lower(uuid()::VARCHAR)", "direct identifier"),
        ("ref", "'A' || (i + 100)", "direct identifier"),
        ("zip", "lpad((i % 50)::VARCHAR, 5, '0')", "code"),
        ("zip", "10000 + i % 50", "code"),
        ("disease", "'E1' || i % 9 || '.' || i % 4", "code"),
        ("born", "DATE '1970-01-01' + i::INTEGER", "date"),
        ("born", "(DATE '1970-01-01' + i::INTEGER)::VARCHAR", "date"),
        ("born", "strftime(DATE '1970-01-01' + i::INTEGER, '%d.%m.%Y')", "date"),
        ("at", "TIME '10:00:00'", "constant"),
        ("at", "TIME '10:00:00' + to_seconds(i)", "date"),
        ("pay", "i / 7", "number"),
        ("pay", "(i * 3.5)::DECIMAL(9, 2)", "number"),
        ("age", "i % 80", "number"),
        ("pay", "(i % 90 * 13)::VARCHAR", "number"),
        ("region", "i % 6", "category"),
        ("region", "(i % 6)::DOUBLE", "category"),
        ("region", "(i % 6)::VARCHAR", "category"),
        ("region", "i % 6 + 0.5::DOUBLE", "number"),
        ("region", "i % 60", "number"),
        ("days", "i % 7", "number"),
        ("num_procedures", "i % 6", "number"),
        ("education_num", "i % 9", "category"),
        ("admission_type_id", "i % 9", "code"),
        ("zip", "if(i % 9 = 0, NULL, 10000 + i % 50)::DOUBLE", "code"),
        ("ref", "i * i", "direct identifier"),
        ("ref", "(i * i)::VARCHAR", "direct identifier"),
        ("case_number", "floor(exp(i / 60) * 10000)", "direct identifier"),
        ("patient", "floor(exp(i / 60) * 10000)", "direct identifier"),
        ("ref", "20000 + i * 37 % 1009", "direct identifier"),
        ("ref", "100000 * (2018 + i % 5) + i", "direct identifier"),
        ("ref", "if(i % 12 = 0, 90000000, 1000) + i", "direct identifier"),
        ("ref", "if(i = 7, 99999999, i + 1)", "direct identifier"),
        ("salary", "i * 7 + 20000", "number"),
        ("Total Charge", "i * 7", "number"),
        ("charge", "(i * 1.25)::VARCHAR", "number"),
        ("lon", "(13 + i / 7000)::DECIMAL(9, 5)", "direct identifier"),
        ("pickup_latitude", "52.5 + i % 30 / 97", "direct identifier"),
        ("GPS", "'52.5,13.' || i % 50", "direct identifier"),
        ("long_stay", "i / 7", "number"),
        ("Vorname", "'Ann ' || i % 60", "direct identifier"),
        ("given-name", "'Ann ' || i % 60", "direct identifier"),
        ("name", "('Ann ' || i % 4)::ENUM('Ann 0', 'Ann 1', 'Ann 2', 'Ann 3')", "direct identifier"),
        ("drug_name", "'asp ' || i % 60", "category"),
        ("phone", "['yes', 'no'][1 + i % 2]", "category"),
        ("sex", "['f', 'm'][1 + i % 2]", "category"),
        ("sex", "['f', 'm'][1 + i % 2]::ENUM('f', 'm')", "category"),
        ("ill", "i % 2 = 0", "category"),
        ("ill", "if(i % 2 = 0, true, NULL)", "category"),
        ("note", "'came back on day ' || i || ' and went'", "free text"),
        ("land", "'DE'", "constant"),
        ("gone", "NULL::INTEGER", "empty"),
        ("tags", "[i % 3]", "other"),
    ],
)
def test_a_column_looks_like(name: str, value: str, look: str) -> None:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT {value} AS {quoted(name)} FROM range(300) r (i)")
    assert seen(con).columns[0].looks_like == look


def test_columns_are_categories_where_the_owner_says_so() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 10 * i AS amount, i AS heads FROM range(300) r (i)")
    assert seen(con, categories=["AMOUNT"]).columns[0].looks_like == "category"
    with pytest.raises(ppdm_sql.UnknownColumn, match="'amuont'"):
        seen(con, categories=["amuont"])
    with pytest.raises(ppdm_sql.InvalidOption, match="first look"):
        ppdm_sql.open(con).audit("t", categories=["amount"], by=["heads"])


def test_a_few_records_that_differ_are_no_identifiers() -> None:
    shape = ValueShape(of_one_length=1.0)
    few = looks_like("job", "VARCHAR", records=5, values=5, nulls=0, alone=5, shape=shape)
    many = looks_like("job", "VARCHAR", records=50, values=50, nulls=0, alone=50, shape=shape)
    assert (few.value, many.value) == ("category", "direct identifier")


@pytest.mark.parametrize("records", [100, 300, 1_000, 5_000])
def test_weights_that_differ_by_chance_are_no_identifiers(records: int, adult_csv: list[str]) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE adult AS FROM read_csv($files)", {"files": adult_csv})
    rows = f"FROM adult ORDER BY md5(fnlwgt || '-' || age || hours_per_week) LIMIT {records}"
    con.execute(
        "CREATE TABLE t AS SELECT *, 10000 + row_number() OVER () * 7919 % 90001 AS entry, "
        f"row_number() OVER () AS record FROM ({rows})"
    )
    found = {item.column for item in seen(con).columns if item.looks_like == "direct identifier"}
    assert found == {"entry", "record"}
    db = ppdm_sql.open(con)
    db.suppress("t", ["k >= 2 on sex"], keep=["fnlwgt"], into="r")
    with pytest.raises(ppdm_sql.ColumnRoleError, match="'entry' looks like a direct identifier"):
        db.suppress("t", ["k >= 2 on sex"], keep=["entry"], into="s")


SEEN = {
    "visits": {"patient"},
    "policies": set(),
    "customers": set(),
    "employees": set(),
    "adult": set(),
    "people": set(),
}
"""The direct identifiers of tables that are at hand: a wrong one would cost somebody a run."""


@pytest.mark.parametrize("name", SEEN)
def test_direct_identifiers_of_known_tables(name: str, adult_csv: list[str]) -> None:
    con = duckdb.connect()
    if name == "people":
        ppdm_sql.open(con).generate_agrawal(name, function=2, rows=500, seed=1)
    elif name == "adult":
        con.execute("CREATE TABLE adult AS FROM read_csv($files)", {"files": adult_csv})
    else:
        con.execute(f"CREATE TABLE {name} AS {statements.text(f'examples/{name}')}")
    found = {item.column for item in seen(con, name).columns if item.looks_like == "direct identifier"}
    assert found == SEEN[name]


# -- edges -----------------------------------------------------------------------------------


def test_a_view_a_collation_and_types_of_all_kinds_are_looked_at() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE s AS SELECT i % 3 AS a, ['x', 'X'][1 + i % 2] AS b, {'k': i % 2} AS c, [i] AS d, "
        "'a'::BLOB AS e, INTERVAL 1 DAY AS f, MAP {'k': i % 2} AS g FROM range(30) r (i)"
    )
    con.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE)")
    con.execute("INSERT INTO t SELECT b FROM s")
    con.execute("CREATE VIEW v AS FROM s")
    assert seen(con).columns[0].values == 2  # as in an export, not as the collation compares
    assert [item.values for item in seen(con, "v").columns] == [3, 2, 2, 30, 1, 1, 2]


def test_no_profile_holds_a_cell() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 'secret' || i AS a, ['ill', 'well'][i]::ENUM('ill', 'well') AS b "
                "FROM range(1, 3) r (i)")  # fmt: skip
    text = repr(seen(con)) + repr(seen(con).tables())
    assert "secret" not in text
    assert "ill" not in text


def test_30_000_sensitive_values_list_the_surest_hundred() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS c FROM range(30_000) r (i)")
    (item,) = looked(con, by="a", sensitive="c").sensitive
    assert (item.values, len(item.by_value), item.distinct_l) == (30_000, 100, 15_000)
    title = ppdm_sql.open(con).audit("t", by="a", sensitive="c").tables()[2].title
    assert title == "Confidence of each c by a, 100 of 30000 values"


@pytest.mark.parametrize("options", [{}, {"by": "a"}, {"count_column": "n"}])
def test_a_table_without_records_is_refused(options: dict[str, Any]) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (a INTEGER, n INTEGER)")
    with pytest.raises(InvalidSource, match="no records"):
        ppdm_sql.open(con).audit("t", **options)


def test_what_makes_no_sense_is_refused() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
    db = ppdm_sql.open(con)
    with pytest.raises(InvalidOption, match=r"--sensitive is given without --by\. Name what others may know"):
        db.audit("t", sensitive="b")
    with pytest.raises(InvalidOption, match="A population is given"):
        db.audit("t", population="t")
    with pytest.raises(UnknownColumn, match="Its columns are: a, b"):
        db.audit("t", count_column="m")


def test_looking_leaves_nothing_behind() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 3 AS a, i % 5 AS b FROM range(30) r (i)")
    seen(con)
    looked(con, by="a", sensitive="b")
    views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    names = f"SELECT table_name FROM duckdb_tables() UNION ALL {views}"
    assert con.execute(names).fetchall() == [("t",)]


def test_requirements_and_a_population_may_be_given_too() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS b FROM range(4) r (i)")
    con.execute("CREATE TABLE everybody AS SELECT i % 2 AS a FROM range(40) r (i)")
    found = ppdm_sql.open(con).audit("t", ["k >= 3 on a"], by="a", sensitive="b", population="everybody")
    assert not found.holds
    assert found.exposure is not None
    assert [sizes.quasi_identifier for sizes in found.class_sizes] == [("a",)]
    assert [risk.highest for risk in found.risks] == [0.5, 0.05, None]


def test_a_population_may_be_weighted_as_requirements_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS n FROM range(4) r (i)")
    con.execute("""CREATE TABLE "every(body" AS SELECT i AS a, 10 + i AS "n (all)", 1 AS n
                FROM range(2) r(i)""")
    con.execute("""COPY "every(body" TO 'every one.csv'""")
    con.execute("""CREATE TABLE "literally(n)" AS SELECT i % 2 AS a FROM range(6) r (i)""")
    db = ppdm_sql.open(con)
    highest = {
        '"every(body"("n (all)")': 1 / 10,
        'main."every(body" ( n )': 1,
        "every(body": 1,
        'every one.csv("n (all)")': 1 / 10,
        '"literally(n)"': 1 / 3,
    }
    for population, risk in highest.items():
        found = db.audit("t", ['k-map >= 5 on a in "every(body"(n)'], by="a", population=population)
        assert found.risks[1].highest == risk
    with pytest.raises(UnknownColumn, match="has no column 'm'"):
        db.audit("t", by="a", population='"every(body"(m)')
    assert db.audit("t", by="a", population='"every(body"(n)', count_column="n").risks[1].highest == 1
    con.execute("ALTER TABLE t RENAME n TO who")
    con.execute("""ALTER TABLE "every(body" ADD COLUMN who INTEGER""")
    counted = db.audit("t", by="a", population='"every(body"("n (all)")', person="who")
    assert counted.risks[1].highest == 1 / 10
