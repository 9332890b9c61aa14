"""The audit agrees with a brute-force reading of the definitions and with the PDA paper."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from definitions import MODELS, POOLS, Case, cases
from hypothesis import assume, given
from hypothesis import strategies as st
from runs import one_in

from ppdm_sql.audit import Audit, Finding, audit, findings
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import quoted
from ppdm_sql.engine.statements import text as text_of
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn, UnknownValue
from ppdm_sql.privacy import KAnonymity, LDiversity, Requirement, TCloseness, Template

Row = tuple[Any, ...]
DISCHARGED = Template(("Job", "Country"), "Bankruptcy", ("Discharged",), Fraction(3, 4))


def engine_with(columns: dict[str, str], rows: Sequence[Row]) -> Engine:
    """An engine on a new database in memory that holds one table, ``t``."""
    engine = Engine(duckdb.connect(config={"threads": 2}))
    add_table(engine, "t", columns, rows)
    return engine


def add_table(engine: Engine, table: str, columns: dict[str, str], rows: Sequence[Row]) -> None:
    spelled = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    engine.connection.execute(f"CREATE TABLE {quoted(table)} ({spelled})")
    if rows:
        places = ", ".join(["(" + ", ".join("?" * len(columns)) + ")"] * len(rows))
        cells = [cell for row in rows for cell in row]
        engine.connection.execute(f"INSERT INTO {quoted(table)} VALUES {places}", cells)


def measured(engine: Engine, *requirements: Requirement, table: str = "t", **options: Any) -> Audit:
    return audit(engine, engine.find(table), requirements, **options)


def found(engine: Engine, *requirements: Requirement, table: str = "t", **options: Any) -> list[Finding]:
    return findings(engine, engine.find(table), requirements, **options)


# -- brute force ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@one_in(4)
@given(case=cases(least=1, counted=True), data=st.data())
def test_the_audit_judges_as_the_definition(name: str, case: Case, data: st.DataObject) -> None:
    model = MODELS[name]
    assume(name != "confidence" or case.kind != "INTEGER[]")
    limit = data.draw(model.limits)
    (finding,) = case.audit(case.asked(model, limit)).findings
    broken = model.broken(case.held, limit)
    assert finding.reached == pytest.approx(model.reached(case.held), abs=1e-9)
    assert (finding.holds, finding.classes) == (not broken, len(case.classes))
    assert finding.violating_classes == len(broken)
    assert finding.violating_records == sum(held.total() for held in broken)


@one_in(4)
@given(cases(least=1, counted=True), st.fractions(0, 1, max_denominator=12).filter(bool), st.data())
def test_confidence_is_the_highest_share_over_groups_and_protected_values(
    case: Case, limit: Fraction, data: st.DataObject
) -> None:
    assume(case.kind != "INTEGER[]")
    protected = data.draw(st.lists(st.sampled_from(POOLS[case.kind]), min_size=1, unique=True))
    template = Template(tuple(case.qi), case.sensitive, tuple(map(text, protected)), limit)
    (finding,) = case.audit(template, allow_absent=True).findings
    shares = [[Fraction(held[value], held.total()) for held in case.held] for value in protected]
    broken = [of_class for of_class in zip(*shares, strict=True) if max(of_class) > limit]
    assert finding.reached == pytest.approx(float(max(map(max, shares))))
    assert (finding.holds, finding.violating_classes) == (not broken, len(broken))
    assert [value for value, _ in finding.by_value] == [text(value) for value in protected]
    assert [share for _, share in finding.by_value] == pytest.approx([float(max(s)) for s in shares])
    assert len(finding.absent_values) == sum(max(of_value) == 0 for of_value in shares)


def text(value: Any) -> str | None:
    """A value as an owner would write it."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


@one_in(4)
@given(cases(least=1, counted=True))
def test_class_sizes_risks_and_inferences_follow_from_the_classes(case: Case) -> None:
    assume(case.kind != "INTEGER[]")
    template = Template(tuple(case.qi), case.sensitive, None, Fraction(1))
    report = case.audit(template, thresholds=(0.25, 0.5), groups=99)
    sizes = list(case.sizes.values())
    expected = [(size, n, size * n) for size, n in sorted(Counter(sizes).items())]
    assert report.class_sizes[0].sizes == tuple(expected)
    prosecutor, journalist, marketer = report.risks
    assert prosecutor.highest == journalist.highest == pytest.approx(1 / min(sizes))
    assert prosecutor.average == marketer.average == pytest.approx(len(sizes) / sum(sizes))
    assert prosecutor.records_at_highest == sum(size for size in sizes if size == min(sizes))
    assert prosecutor.share_above == pytest.approx(sum(s for s in sizes if s < 5) / sum(sizes))
    assert {prosecutor.population, journalist.population, marketer.population} == {"the table itself"}
    pairs = [Fraction(n, c.total()) for c in case.classes.values() for n in c.values()]
    counted = tuple((h, sum(pair > Fraction(str(h)) for pair in pairs)) for h in (0.25, 0.5))
    assert report.inferences[0].above == counted
    assert sorted(group.reached for group in report.worst) == pytest.approx(sorted(map(float, pairs)))
    for group in report.worst:
        assert group.records == case.sizes[group.values]


# -- the PDA paper ----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def adult(adult_csv: list[str]) -> Engine:
    """The complete records of Adult: those without a ``?``."""
    engine = Engine(duckdb.connect())
    engine.connection.execute("CREATE TABLE raw AS SELECT * FROM read_csv($files)", {"files": adult_csv})
    engine.connection.execute(
        "CREATE TABLE t AS SELECT * FROM raw "
        "WHERE '?' NOT IN (workclass, education, marital_status, occupation, "
        "relationship, race, sex, native_country)"
    )
    return engine


def customers() -> Engine:
    """The ten combinations of the paper's example, 24 records."""
    engine = Engine(duckdb.connect(config={"threads": 2}))
    engine.connection.execute(f"CREATE TABLE t AS {text_of('examples/customers')}")
    return engine


def test_the_papers_table_1_reaches_80_percent() -> None:
    (finding,) = found(customers(), DISCHARGED, count="n")
    assert (finding.reached, finding.holds, finding.violating_records) == (0.8, False, 5)


def test_the_papers_table_2_reaches_50_percent() -> None:
    engine = customers()
    engine.connection.execute(
        "CREATE VIEW safe AS SELECT * REPLACE ("
        "CASE WHEN Job IN ('Trader', 'Clerk') THEN '*' ELSE Job END AS Job, "
        "CASE WHEN Country IN ('UK', 'Canada') THEN '*' ELSE Country END AS Country) FROM t"
    )
    (finding,) = found(engine, DISCHARGED, table="safe", count="n")
    assert (finding.reached, finding.holds) == (0.5, True)


def rarest_half(engine: Engine, column: str) -> tuple[str, ...]:
    """The least frequent half of a column's values, rounded down."""
    rows = engine.connection.execute(f"SELECT {column} FROM t GROUP BY 1 ORDER BY count(*), 1").fetchall()
    return tuple(value for (value,) in rows[: len(rows) // 2])


@pytest.mark.parametrize(
    ("channel", "sensitive", "printed"),
    [
        (
            ("workclass", "occupation", "sex", "native_country"),
            ("marital_status", "relationship", "education"),
            (1333, 786, 365, 324, 318),
        ),
        (
            ("workclass", "occupation", "race", "native_country"),
            ("marital_status", "relationship", "education", "sex"),
            (1992, 1238, 640, 537, 494),
        ),
    ],
)
def test_the_papers_table_3_of_adult_comes_out_exactly(
    adult: Engine, channel: tuple[str, ...], sensitive: tuple[str, ...], printed: tuple[int, ...]
) -> None:
    assert adult.connection.table("t").shape[0] == 45222
    templates = [Template(channel, name, rarest_half(adult, name), Fraction(1, 2)) for name in sensitive]
    (inferences,) = measured(adult, *templates).inferences
    assert inferences.sensitive == sensitive
    assert inferences.above == tuple(zip((0.1, 0.3, 0.5, 0.7, 0.9), printed, strict=True))


def test_inferences_of_two_templates_over_one_value_count_once() -> None:
    looser = Template(("Country", "Job"), "Bankruptcy", ("Discharged", "Never"), Fraction(1))
    alone = measured(customers(), looser, count="n").inferences
    together = measured(customers(), looser, DISCHARGED, count="n").inferences
    assert alone[0].above == together[0].above


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "cell", "written"),
    [
        ("DECIMAL(12,2)", Decimal("50000.00"), "50000"),
        ("DOUBLE", 50000.0, "5e4"),
        ("INTEGER", 50000, "050000"),
        ("DATE", datetime.date(2024, 2, 9), "2024-2-9"),
        ("BOOLEAN", True, "TRUE"),
        ("ENUM('low', 'high')", "high", "high"),
        ("VARCHAR", "it's", "it's"),
        ("VARCHAR", "NULL", "NULL"),
        ("INTEGER", None, None),
    ],
)
def test_protected_values_are_compared_in_the_columns_type(kind: str, cell: Any, written: str | None) -> None:
    engine = engine_with({"a": "VARCHAR", "s": kind}, [("x", cell)])
    (finding,) = found(engine, Template(("a",), "s", (written,), Fraction(1, 2)))
    assert (finding.reached, finding.holds, finding.absent_values) == (1.0, False, ())


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("INTEGER", "many"),
        ("INTEGER", "2.5"),
        ("DECIMAL(12,2)", "1.005"),
        ("DATE", "soon"),
        ("ENUM('low', 'high')", "hihg"),
    ],
)
def test_a_protected_value_that_is_not_of_the_columns_type_is_refused(kind: str, written: str) -> None:
    engine = engine_with({"a": "VARCHAR", "s": kind}, [("x", None)])
    with pytest.raises(InvalidOption, match="column 's'") as error:
        found(engine, Template(("a",), "s", (written,), Fraction(1, 2)))
    assert kind.split("(")[0] in str(error.value)
    assert "low" not in str(error.value)


THIRD = [("x", "h"), ("x", "a"), ("x", "b")]
NEAR_A_THIRD = Fraction("0.3333333333333333")


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (Template(("a",), "s", ("h",), NEAR_A_THIRD), False),
        (Template(("a",), "s", ("h",), Fraction(1, 3)), True),
        (Template(("a",), "s", ("h",), Fraction(1, 3) + Fraction(1, 10**400)), True),
        (Template(("a",), "s", ("h",), Fraction(1, 3) - Fraction(1, 10**400)), False),
        (Template(("a",), "s", ("h",), Fraction(1, 10**400)), False),
        (LDiversity("entropy", Fraction("3.0000000001"), "s", ("a",)), False),
        (LDiversity("entropy", Fraction("2.9999999999"), "s", ("a",)), True),
        (LDiversity("entropy", Fraction(3), "s", ("a",)), True),
        (LDiversity("distinct", Fraction(10**20), "s", ("a",)), False),
        (KAnonymity(2**63, ("a",)), False),
    ],
)
def test_a_limit_of_many_digits_is_never_rounded_to_the_easy_side(
    requirement: Requirement, holds: bool
) -> None:
    engine = engine_with({"a": "VARCHAR", "s": "VARCHAR"}, THIRD)
    assert found(engine, requirement)[0].holds is holds


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER"])
def test_a_distance_of_many_digits_is_never_rounded_up(kind: str) -> None:
    rows = [("x", 1), ("x", 1), ("y", 1), ("y", 2), ("z", 2), ("z", 2)]  # x: all 1, where half are
    engine = engine_with({"a": "VARCHAR", "s": kind}, [*rows, ("x", 2)])
    for digits in (5, 16, 40):
        for t, holds in ((Fraction(1, 7), False), (Fraction(4, 7), True)):
            (finding,) = found(engine, TCloseness(t, "s", ("a",)))
            assert finding.holds is holds
        exact = Fraction(finding.reached).limit_denominator(100)
        assert found(engine, TCloseness(exact, "s", ("a",)))[0].holds
        below = Fraction(exact.numerator * 10**digits // exact.denominator, 10**digits)
        assert below < exact
        assert not found(engine, TCloseness(below, "s", ("a",)))[0].holds


def test_inferences_above_a_threshold_are_counted_exactly() -> None:
    engine = engine_with({"a": "VARCHAR", "s": "VARCHAR"}, THIRD)
    every = Template(("a",), "s", None, Fraction(1))
    seen = measured(engine, every, thresholds=[Fraction(1, 3), NEAR_A_THIRD])
    assert [count for _, count in seen.inferences[0].above] == [0, 3]


@pytest.mark.parametrize("text", ["discharged", "Discharge", None])
def test_a_protected_value_that_its_column_does_not_hold_is_refused(text: str | None) -> None:
    absent = Template(("Job",), "Bankruptcy", (text, "Discharged"), Fraction(3, 4))
    engine = customers()
    with pytest.raises(UnknownValue) as error:
        measured(engine, DISCHARGED, absent, count="n")
    assert ("NULL" if text is None else repr(text)) in str(error.value)
    assert not any(held in str(error.value) for held in ("Discharged", "Never", "Current"))
    assert measured(engine, absent, count="n", allow_absent=True).findings[0].absent_values == (text,)


# -- class sizes, risk, groups ----------------------------------------------------------------


def test_large_class_sizes_are_shown_in_ranges_and_kept_exact() -> None:
    sizes = [1, 10, 11, 20, 21, 50, 51, 100, 101, 200, 201, 500, 501, 1000, 1001, 99999, 100000, 100001]
    engine = engine_with({"a": "INTEGER", "n": "BIGINT"}, list(enumerate(sizes)))
    (distribution,) = measured(engine, count="n", quasi_identifier=["a"]).class_sizes
    assert [size for size, _, _ in distribution.sizes] == sizes
    assert [(low, high) for low, high, _, _ in distribution.ranges] == [
        (1, 1), (10, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, 500), (501, 1000),
        (1001, 2000), (50001, 100000), (100001, 200000),
    ]  # fmt: skip
    assert sum(records for *_, records in distribution.ranges) == sum(sizes)


def test_a_population_gives_the_journalist_and_marketer_their_risk() -> None:
    engine = engine_with({"a": "VARCHAR"}, [("x",), ("x",), (None,)])
    people = [(1, "x")] * 4 + [(1, None)] * 5 + [(1, "y")]
    add_table(engine, "everyone", {"b": "INTEGER", "A": "VARCHAR"}, people)
    everyone = engine.find("everyone")
    report = measured(engine, KAnonymity(1, ("a",)), population=(everyone, None))
    prosecutor, journalist, marketer = report.risks
    assert (prosecutor.highest, prosecutor.population) == (1.0, "the table itself")
    assert (journalist.highest, journalist.population, journalist.records_at_highest) == (0.25, "everyone", 2)
    assert journalist.share_above == pytest.approx(2 / 3)
    assert marketer.average == pytest.approx((2 / 4 + 1 / 5) / 3)


def test_a_population_with_the_count_column_is_counted_by_it() -> None:
    engine = engine_with({"a": "VARCHAR", "n": "INTEGER"}, [("x", 2)])
    add_table(engine, "everyone", {"a": "VARCHAR", "n": "INTEGER"}, [("x", 8)])
    report = measured(engine, quasi_identifier=["a"], population=(engine.find("everyone"), None), count="n")
    assert [risk.highest for risk in report.risks] == [0.5, 0.125, None]


def test_the_worst_groups_are_named_on_demand_only_worst_first() -> None:
    job = KAnonymity(5, ("Job",))
    assert measured(customers(), DISCHARGED, job, count="n").worst == ()
    worst = measured(customers(), DISCHARGED, job, count="n", groups=2).worst
    assert [(group.values, group.inferred, group.records, group.violates) for group in worst] == [
        (("Trader", "UK"), "Discharged", 5, True),
        (("Clerk", "Canada"), "Discharged", 4, False),
        (("Artist",), None, 4, True),
        (("Clerk",), None, 4, True),
    ]


def test_class_sizes_are_measured_once_for_channels_of_the_same_columns() -> None:
    report = measured(customers(), KAnonymity(1, ("Country", "Job")), DISCHARGED, count="n")
    assert [sizes.quasi_identifier for sizes in report.class_sizes] == [("Country", "Job")]
    named = measured(customers(), DISCHARGED, count="n", quasi_identifier=["child"])
    assert [sizes.quasi_identifier for sizes in named.class_sizes] == [("Child",)]


# -- what is refused --------------------------------------------------------------------------


def test_an_unknown_column_is_refused_wherever_it_stands() -> None:
    engine = customers()
    requirements: list[Requirement] = [
        KAnonymity(2, ("Job", "zipp")),
        Template(("zipp",), "Rating", None, Fraction(1)),
        TCloseness(Fraction(1), "zipp", ("Job",)),
    ]
    for requirement in requirements:
        with pytest.raises(UnknownColumn, match="zipp"):
            found(engine, requirement)
    with pytest.raises(UnknownColumn, match="zipp"):
        measured(engine, quasi_identifier=["zipp"])
    with pytest.raises(UnknownColumn, match="zipp"):
        found(engine, DISCHARGED, count="zipp")


def test_a_column_in_two_roles_is_refused() -> None:
    engine = customers()
    with pytest.raises(ColumnRoleError, match="Rating"):
        found(engine, Template(("Job", "Rating"), "rating", None, Fraction(1)))
    with pytest.raises(ColumnRoleError, match="'n'"):
        found(engine, KAnonymity(2, ("n",)), count="N")


@pytest.mark.parametrize(
    ("kind", "counts", "message"),
    [
        ("INTEGER", [1, None], "NULL in 1 rows"),
        ("INTEGER", [-1, 3], "negative in 1"),
        ("DOUBLE", [1.0], "holds DOUBLE"),
        ("VARCHAR", ["secret"], "holds VARCHAR"),
        ("INTEGER", [0, 0], "no records"),
        ("INTEGER", [], "no records"),
    ],
)
def test_counts_that_are_not_numbers_of_records_are_refused(
    kind: str, counts: list[Any], message: str
) -> None:
    engine = engine_with({"a": "VARCHAR", "n": kind}, [("secret", n) for n in counts])
    with pytest.raises(InvalidSource, match=message) as error:
        found(engine, KAnonymity(1, ("a",)), count="n")
    assert "secret" not in str(error.value)


def test_counts_beyond_the_integer_types_of_a_sum_are_whole_numbers() -> None:
    engine = engine_with({"a": "VARCHAR", "n": "BIGINT"}, [("x", 2**61), ("x", 2**61), ("y", 1)])
    report = measured(engine, KAnonymity(2, ("a",)), count="n")
    assert report.class_sizes[0].sizes == ((1, 1, 1), (2**62, 1, 2**62))


@pytest.mark.parametrize("options", [{"thresholds": (1.5,)}, {"thresholds": ("half",)}, {"groups": -1}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        measured(customers(), DISCHARGED, count="n", **options)


# -- what it costs and leaves -----------------------------------------------------------------


def test_an_audit_leaves_no_table_behind_and_does_not_change_the_source() -> None:
    engine = customers()
    before = engine.connection.table("t").fetchall()
    measured(engine, DISCHARGED, TCloseness(Fraction(1), "Child", ("Job",)), count="n", groups=2)
    with pytest.raises(InvalidOption):
        found(engine, Template(("Job",), "n", ("many",), Fraction(1)))
    left = engine.connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert left == [("t",)]
    assert engine.connection.table("t").fetchall() == before


def test_the_step_files_run_in_the_duckdb_shell_as_they_are() -> None:
    connection = customers().connection
    connection.execute("CREATE MACRO param(name) AS coalesce(getvariable(name), error('missing parameter'))")
    connection.execute("SET VARIABLE qi = ['Job', 'Country']; SET VARIABLE sensitive = ['Bankruptcy']")
    connection.execute("SET VARIABLE k = 2; SET VARIABLE sign = 1")
    connection.execute("SET VARIABLE groups = 1; SET VARIABLE risk_threshold = 0.2; SET VARIABLE l = 2")
    connection.execute("CREATE VIEW atoms AS SELECT *, row_number() OVER () AS atom, n AS records FROM t")
    for step in ["classes", "cells", "k_anonymity", "distinct_l_diversity", "class_sizes", "risks"]:
        connection.execute(f"CREATE VIEW {step} AS {text_of(f'audit/{step}')}")
    connection.execute("CREATE VIEW judgements AS SELECT 1 AS position, * FROM k_anonymity")
    worst = connection.execute(text_of("audit/worst_groups")).fetchall()
    assert worst == [(1, 1, 1.0, True, "Trader", "Canada")]
    assert connection.execute("SELECT highest, records FROM risks").fetchall() == [(1.0, 24)]
    assert connection.execute("SELECT min(reached) FROM distinct_l_diversity").fetchall() == [(1.0,)]


def test_an_audit_works_on_a_view_of_a_read_only_file(tmp_path: Any) -> None:
    file = str(tmp_path / "bank.duckdb")
    with duckdb.connect(file) as connection:
        connection.execute("CREATE VIEW v AS SELECT 'x' AS a, 1 AS s FROM range(3)")
    with duckdb.connect(file, read_only=True) as connection:
        assert found(Engine(connection), KAnonymity(3, ("a",)), table="v")[0].holds
