"""Looking at a table without a requirement: at its columns, and at what some of them give away of others."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from definitions import MODELS, ORDERED, Case, cases, distance
from hypothesis import given
from runs import one_in

import ppdm_sql
from ppdm_sql.audit.column_kinds import ValueShape, looks_like
from ppdm_sql.audit.model import Exposure
from ppdm_sql.audit.profiling import Profile
from ppdm_sql.engine import statements
from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn


def holding(rows: str) -> duckdb.DuckDBPyConnection:
    """A database in memory with one table, ``t``."""
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS {rows}")
    return con


def looked(con: duckdb.DuckDBPyConnection, **options: Any) -> Exposure:
    found = ppdm_sql.open(con).audit("t", **options)
    assert found.holds
    assert found.exposure is not None
    return found.exposure


def seen(con: duckdb.DuckDBPyConnection, name: str = "t", **options: Any) -> Profile:
    found = ppdm_sql.open(con).audit(name, **options).profile
    assert found is not None
    return found


@one_in(3)
@given(cases(least=1, counted=True))
def test_exposure_is_what_the_definitions_say(case: Case) -> None:
    on, whole = case.qi, sum(case.held, Counter[Any]())
    found = case.audit(by=on, sensitive=case.sensitive).exposure
    assert found is not None
    sizes = list(case.sizes.values())
    assert (found.records, found.classes) == (sum(sizes), len(sizes))
    assert (found.smallest, found.largest) == (min(sizes), max(sizes))
    assert (found.median, found.mean) == (statistics.median(sizes), pytest.approx(statistics.mean(sizes)))
    assert (found.alone, found.in_small) == (sizes.count(1), sum(size for size in sizes if size < 5))
    (item,) = found.sensitive
    assert (item.values, item.distinct_l) == (len(whole), MODELS["distinct l"].number(case.held))
    assert item.entropy_l == pytest.approx(MODELS["entropy l"].number(case.held))
    ratio = float(MODELS["recursive l = 2"].number(case.held))
    assert (math.inf if item.recursive_c is None else item.recursive_c) == pytest.approx(ratio)
    distances = [max(distance(held, whole, ordered) for held in case.held) for ordered in (False, True)]
    assert item.equal_t == pytest.approx(float(distances[0]))
    if case.kind in ORDERED:
        assert item.ordered_t == pytest.approx(float(distances[1]))
    else:
        assert item.ordered_t is None
    shares = {value: [Fraction(held[value], held.total()) for held in case.held] for value in whole}
    certain = {value: sum(held.total() for held in case.held if list(held) == [value]) for value in whole}
    assert Counter((v.records, v.share, v.confidence, v.certain) for v in item.by_value) == Counter(
        (whole[v], whole[v] / sum(sizes), float(max(shares[v])), certain[v]) for v in whole
    )


@one_in(3)
@given(cases(least=1, counted=True))
def test_a_profile_counts_values_and_lonely_records(case: Case) -> None:
    found = case.audit().profile
    assert found is not None
    assert found.records == sum(case.sizes.values())
    rows = [(*group, v) for group, held in case.classes.items() for v in held.elements()]
    names = [*case.qi, case.sensitive]
    for place, item in enumerate(found.columns[:3]):
        held = Counter(row[place] for row in rows)
        assert item.column == names[place]
        assert (item.values, item.nulls) == (len(held.keys() - {None}), held[None])
        assert (item.alone, item.share_alone) == (n := list(held.values()).count(1), n / len(rows))
    for pair in found.pairs:
        both = Counter(tuple(row[names.index(name)] for name in pair.columns) for row in rows)
        assert (pair.classes, pair.alone) == (len(both), list(both.values()).count(1))


@one_in(3)
@given(cases(least=1, counted=True))
def test_identifiable_records_are_those_alone_or_all_alike(case: Case) -> None:
    (found,) = case.audit(confidential=case.sensitive, by=case.qi[::-1]).identifiable
    alike = [held.total() for held in case.held if len(held) == 1]
    unique, grouped = alike.count(1), [size for size in alike if size > 1]
    assert (found.unique, found.groups, found.grouped) == (unique, len(grouped), sum(grouped))
    assert found.others == sum(case.sizes.values()) - unique - sum(grouped)
    assert sum(v.unique for v in found.by_value) == unique


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
    con = holding(
        "SELECT i AS id, 'p' || i AS name, i / 7.0 AS pay, 'DE' AS land, NULL AS gone, "
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
        ("NHS number", "'NHS' || (i % 40)", "direct identifier"),
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
        ("e-mail", "['a' || i % 50]", "direct identifier"),
        ("user", """[{'age': i % 9, 'who': {'full "name"': 'Ann ' || i % 50}}]""", "direct identifier"),
        ("drug", "{'age': i % 9, 'name': 'asp ' || i % 50}", "other"),
    ],
)
def test_a_column_looks_like(name: str, value: str, look: str) -> None:
    con = holding(f"SELECT {value} AS {quoted(name)} FROM range(300) r (i)")
    assert seen(con).columns[0].looks_like == look


def test_columns_are_categories_where_the_owner_says_so() -> None:
    con = holding("SELECT 10 * i AS amount, i AS heads FROM range(300) r (i)")
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
    con = holding(
        "SELECT 'secret' || i AS a, ['ill', 'well'][i]::ENUM('ill', 'well') AS b FROM range(1, 3) r (i)"
    )
    text = repr(seen(con)) + repr(seen(con).tables())
    assert "secret" not in text
    assert "ill" not in text


def test_30_000_sensitive_values_list_the_surest_hundred() -> None:
    con = holding("SELECT i % 2 AS a, i AS c FROM range(30_000) r (i)")
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
    con = holding("SELECT 1 AS a, 2 AS b")
    db = ppdm_sql.open(con)
    with pytest.raises(InvalidOption, match=r"--sensitive is given without --by\. Name what others may know"):
        db.audit("t", sensitive="b")
    with pytest.raises(InvalidOption, match="A population is given"):
        db.audit("t", population="t")
    with pytest.raises(UnknownColumn, match="Its columns are: a, b"):
        db.audit("t", count_column="m")


def test_looking_leaves_nothing_behind() -> None:
    con = holding("SELECT i % 3 AS a, i % 5 AS b FROM range(30) r (i)")
    seen(con)
    looked(con, by="a", sensitive="b")
    views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    names = f"SELECT table_name FROM duckdb_tables() UNION ALL {views}"
    assert con.execute(names).fetchall() == [("t",)]


def test_requirements_and_a_population_may_be_given_too() -> None:
    con = holding("SELECT i % 2 AS a, i AS b FROM range(4) r (i)")
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
    con = holding("SELECT i % 2 AS a, i AS n FROM range(4) r (i)")
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


# -- identifiable records ----------------------------------------------------------------------

POLICIES = ["Age", "Gender", "Location"]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(f"CREATE TABLE policies AS {statements.text('examples/policies')}")
        yield opened


def test_the_policies_are_those_of_table_1(con: duckdb.DuckDBPyConnection) -> None:
    audit = ppdm_sql.open(con).audit("policies", confidential="Amount", by=POLICIES)
    (found,) = audit.identifiable
    assert (found.unique, found.groups, found.grouped) == (6, 3, 6)
    assert (found.other_patterns, found.others, found.records, found.values) == (2, 4, 16, 3)
    assert audit.holds
    rows = {v.value: (v.unique, v.groups, v.grouped, v.others) for v in found.by_value}
    assert rows == {"High": (2, 1, 2, 2), "Low": (2, 1, 2, 0), "Med": (2, 1, 2, 2)}


def test_a_population_changes_nothing_where_no_class_is_measured(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    con.execute("CREATE TABLE everyone AS FROM policies UNION ALL FROM policies")
    asked: dict[str, Any] = {"confidential": "Amount", "by": POLICIES}
    found = db.audit("policies", population="everyone", **asked).identifiable
    assert repr(found) == repr(db.audit("policies", **asked).identifiable)


def test_several_columns_are_measured_one_by_one_and_beside_requirements(
    con: duckdb.DuckDBPyConnection,
) -> None:
    asked: dict[str, Any] = {"confidential": ["Amount", "Location"], "by": ["Age", "Gender"]}
    audit = ppdm_sql.open(con).audit("policies", ["k >= 2 on Age"], **asked)
    assert audit.holds
    assert [found.confidential for found in audit.identifiable] == ["Amount", "Location"]
    titles = [title for title, *_ in audit.tables()]
    assert {"Requirements", "Amount identifiable by Age, Gender"} <= set(titles)


def test_of_many_values_those_most_at_risk_are_listed(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE many AS SELECT i AS a, if(i < 9, -1, i) AS c FROM range(300) AS r (i)")
    (found,) = ppdm_sql.open(con).audit("many", confidential="c", by=["a"]).identifiable
    assert (found.values, len(found.by_value)) == (292, 100)
    assert (found.by_value[0].value, found.by_value[0].unique) == ("-1", 9)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (InvalidOption, {"confidential": "Amount"}),
        (InvalidOption, {"sensitive": "Amount"}),
        (UnknownColumn, {"sensitive": "Amuont", "by": ["Age"]}),
        (ColumnRoleError, {"sensitive": "Amount", "by": ["Age", "Amount"]}),
        (UnknownColumn, {"confidential": "Amuont", "by": ["Age"]}),
        (UnknownColumn, {"confidential": "Amount", "by": ["Aeg"]}),
        (ColumnRoleError, {"confidential": "Amount", "by": ["Age", "age"]}),
        (ColumnRoleError, {"confidential": "Amount", "by": ["Age", "Amount"]}),
    ],
)
def test_columns_that_cannot_be_measured_are_refused(
    con: duckdb.DuckDBPyConnection, kind: type[Exception], options: dict[str, Any]
) -> None:
    with pytest.raises(kind):
        ppdm_sql.open(con).audit("policies", **options)
