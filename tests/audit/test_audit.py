"""The audit agrees with a brute-force reading of the definitions and with the PDA paper."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.audit import Audit, Finding, audit, findings
from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import text as text_of
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn, UnknownValue
from ppdm_sql.privacy import KAnonymity, LDiversity, Requirement, TCloseness, Template

Row = tuple[Any, ...]
DISCHARGED = Template(("Job", "Country"), "Bankruptcy", ("Discharged",), Fraction(3, 4))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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

HOSTILE = ["Job", "class", "records", "atom", "c0", 'quo"te', '"; DROP TABLE t; --', "it's", "日本", "value"]
HOSTILE += ["a.b", "select", "position", "k", "CLASS_records", "$qi", "s"]
POOLS: dict[str, list[Any]] = {
    "VARCHAR": ["a", "A", "", "NULL", "it's", None],
    "INTEGER": [-3, 0, 7, 2147483647, None],
    "DECIMAL(12,2)": [Decimal("50000.00"), Decimal("0.50"), Decimal("-1.25"), None],
    "DATE": [datetime.date(1999, 12, 31), datetime.date(2000, 1, 1), datetime.date(2024, 2, 29), None],
    "BOOLEAN": [True, False, None],
}
ORDERED = {"INTEGER", "DECIMAL(12,2)", "DATE"}


class Case:
    """A small random table: two grouping columns, a sensitive one, and perhaps a column of counts."""

    def __init__(self, names: list[str], kind: str, rows: list[tuple[Any, Any, Any, int]], *, counted: bool):
        self.grouping = (names[0], names[1])
        self.sensitive, self.kind = names[2], kind
        self.count = names[3] if counted else None
        columns = {names[0]: "VARCHAR", names[1]: "INTEGER", names[2]: kind}
        if counted:
            self.engine = engine_with({**columns, names[3]: "BIGINT"}, rows)
        else:
            copies = [row[:3] for row in rows for _ in range(row[3])]
            self.engine = engine_with(columns, copies)
        self.classes: dict[Row, Counter[Any]] = defaultdict(Counter)
        for *group, value, records in rows:
            if records:
                self.classes[tuple(group)][value] += records

    def sizes(self) -> dict[Row, int]:
        return {group: values.total() for group, values in self.classes.items()}

    def confidences(self, value: Any) -> dict[Row, Fraction]:
        return {g: Fraction(values[value], values.total()) for g, values in self.classes.items()}

    def values(self) -> list[Any]:
        """The sensitive values that occur, in order, NULL last."""
        values = {value for counter in self.classes.values() for value in counter}
        return sorted(values - {None}) + ([None] if None in values else [])

    def distances(self) -> dict[Row, Fraction]:
        """The earth mover's distances, from the definitions, in fractions."""
        values, whole = self.values(), sum(self.classes.values(), Counter())
        table = [Fraction(whole[value], whole.total()) for value in values]
        distances = {}
        for group, counter in self.classes.items():
            here = [Fraction(counter[value], counter.total()) for value in values]
            gaps = [p - q for p, q in zip(here, table, strict=True)]
            if self.kind in ORDERED:
                sides = (abs(sum(gaps[: i + 1], Fraction(0))) for i in range(len(gaps)))
                moved = sum(sides, Fraction(0))
                distances[group] = moved / (len(gaps) - 1) if len(gaps) > 1 else Fraction(0)
            else:
                distances[group] = sum(map(abs, gaps), Fraction(0)) / 2
        return distances

    def check(self, finding: Finding, worst: float, violating: list[Row]) -> None:
        """Compare a finding with the worst value and the violating classes found by brute force."""
        assert finding.reached == pytest.approx(worst, abs=1e-9)
        assert finding.holds is (not violating)
        assert finding.classes == len(self.classes)
        assert finding.violating_classes == len(violating)
        assert finding.violating_records == sum(self.sizes()[group] for group in violating)

    def found(self, requirement: Requirement) -> Finding:
        return found(self.engine, requirement, count=self.count)[0]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = draw(st.lists(st.sampled_from(HOSTILE), min_size=4, max_size=4, unique_by=str.lower))
    kind = draw(st.sampled_from(list(POOLS)))
    row = st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(draw(st.lists(st.sampled_from(POOLS[kind]), min_size=1, unique=True))),
        st.integers(0, 4),
    )
    rows = draw(st.lists(row, min_size=1, max_size=14))
    rows[0] = (*rows[0][:3], max(1, rows[0][3]))
    return Case(names, kind, rows, counted=draw(st.booleans()))


def text(value: Any) -> str | None:
    """A value as an owner would write it."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


HALF = settings(max_examples=settings().max_examples // 2)
LIMITS = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(1)])


@HALF
@given(cases(), LIMITS, st.data())
def test_confidence_is_the_highest_share_over_groups_and_protected_values(
    case: Case, limit: Fraction, data: st.DataObject
) -> None:
    protected = data.draw(st.lists(st.sampled_from(POOLS[case.kind]), min_size=1, unique=True))
    template = Template(case.grouping, case.sensitive, tuple(map(text, protected)), limit)
    finding = case.found(template)
    shares = [case.confidences(value) for value in protected]
    violating = [group for group in case.classes if any(share[group] > limit for share in shares)]
    case.check(finding, float(max(max(share.values()) for share in shares)), violating)
    assert [value for value, _ in finding.by_value] == [text(value) for value in protected]
    for (_, reached), share in zip(finding.by_value, shares, strict=True):
        assert reached == pytest.approx(float(max(share.values())))
    assert len(finding.absent_values) == sum(value not in case.values() for value in protected)


@HALF
@given(cases(), LIMITS)
def test_a_template_without_a_value_protects_every_value(case: Case, limit: Fraction) -> None:
    finding = case.found(Template(case.grouping, case.sensitive, None, limit))
    highest = {g: max(Fraction(n, c.total()) for n in c.values()) for g, c in case.classes.items()}
    case.check(finding, float(max(highest.values())), [g for g, share in highest.items() if share > limit])
    expected = [float(max(case.confidences(value).values())) for value in case.values()]
    assert [reached for _, reached in finding.by_value] == pytest.approx(expected)


@HALF
@given(cases(), st.integers(1, 6))
def test_k_is_the_smallest_class_with_null_as_a_value(case: Case, k: int) -> None:
    sizes = case.sizes()
    finding = case.found(KAnonymity(k, case.grouping))
    case.check(finding, min(sizes.values()), [group for group, size in sizes.items() if size < k])


@HALF
@given(cases(), st.integers(1, 4))
def test_distinct_l_counts_values_with_null_as_one(case: Case, l: int) -> None:  # noqa: E741
    finding = case.found(LDiversity("distinct", Fraction(l), case.sensitive, case.grouping))
    diversity = {group: len(values) for group, values in case.classes.items()}
    case.check(finding, min(diversity.values()), [g for g, different in diversity.items() if different < l])


@HALF
@given(cases(), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)]))
def test_entropy_l_is_exp_of_the_entropy_in_nats(case: Case, l: Fraction) -> None:  # noqa: E741
    finding = case.found(LDiversity("entropy", l, case.sensitive, case.grouping))
    diversity = {}
    for group, values in case.classes.items():
        shares = [n / values.total() for n in values.values()]
        diversity[group] = math.exp(-sum(p * math.log(p) for p in shares))
    violating = [group for group, reached in diversity.items() if reached < float(l) - 1e-9]
    case.check(finding, min(diversity.values()), violating)


@HALF
@given(cases(), st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2)]))
def test_t_is_the_largest_earth_movers_distance_of_the_columns_type(case: Case, t: Fraction) -> None:
    distances = case.distances()
    finding = case.found(TCloseness(t, case.sensitive, case.grouping))
    worst = max(distances.values())
    case.check(finding, float(worst), [group for group, distance in distances.items() if distance > t])
    assert case.found(TCloseness(worst, case.sensitive, case.grouping)).holds


@HALF
@given(cases())
def test_class_sizes_risks_and_inferences_follow_from_the_classes(case: Case) -> None:
    template = Template(case.grouping, case.sensitive, None, Fraction(1))
    report = measured(case.engine, template, count=case.count, thresholds=(0.25, 0.5), groups=99)
    sizes = list(case.sizes().values())
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
        assert group.records == case.sizes()[group.values]


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


def test_a_protected_value_that_does_not_occur_has_confidence_0_and_is_told() -> None:
    absent = Template(("Job",), "Bankruptcy", ("Dischraged", "Discharged"), Fraction(3, 4))
    (finding,) = found(customers(), absent, count="n")
    assert finding.by_value[0] == ("Dischraged", 0.0)
    assert finding.absent_values == ("Dischraged",)
    assert finding.reached == pytest.approx(4 / 6)


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


def test_a_limit_that_is_reached_exactly_holds() -> None:
    exactly = Template(("Job", "Country"), "Bankruptcy", ("Discharged",), Fraction(4, 5))
    entropy = LDiversity("entropy", Fraction(2), "s", ("a",))
    engine = engine_with({"a": "INTEGER", "s": "INTEGER"}, [(1, 0), (1, 1), (2, 0), (2, 1), (2, 0), (2, 1)])
    assert found(customers(), exactly, count="n")[0].holds
    assert found(engine, entropy)[0].holds
    assert found(engine, entropy)[0].reached == 2.0


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
    assert all(low <= size <= high for size in sizes for low, high in [range_of(size, distribution.ranges)])
    assert sum(records for *_, records in distribution.ranges) == sum(sizes)


def range_of(size: int, ranges: Sequence[tuple[int, int, int, int]]) -> tuple[int, int]:
    (bounds,) = [(low, high) for low, high, _, _ in ranges if low <= size <= high]
    return bounds


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


def test_a_population_that_lacks_a_class_of_the_table_is_refused() -> None:
    engine = engine_with({"a": "VARCHAR"}, [("x",), ("y",), (None,)])
    add_table(engine, "everyone", {"a": "VARCHAR"}, [("x",)])
    with pytest.raises(InvalidSource, match="everyone lacks 2 classes"):
        measured(engine, quasi_identifier=["a"], population=(engine.find("everyone"), None))


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


def test_tables_for_printing_have_one_title_each_and_whole_rows() -> None:
    report = measured(customers(), DISCHARGED, KAnonymity(5, ("Job",)), count="n", groups=1)
    tables = report.tables()
    titles = [table.title for table in tables]
    assert titles[0] == "Requirements"
    assert "Inferences from Job, Country to Bankruptcy" in titles
    assert len(set(titles)) == len(titles) == 8
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    assert not report.holds


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


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(InvalidSource, match="no records"):
        found(engine_with({"a": "VARCHAR", "s": "VARCHAR"}, []), Template(("a",), "s", ("x",), Fraction(1)))


@pytest.mark.parametrize("options", [{"thresholds": (1.5,)}, {"thresholds": ("half",)}, {"groups": -1}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        measured(customers(), DISCHARGED, count="n", **options)


# -- what it costs and leaves -----------------------------------------------------------------


def test_templates_over_the_same_columns_share_their_statements() -> None:
    def statements(*requirements: Requirement) -> int:
        engine = customers()
        table, seen = engine.find("t"), list[str]()
        engine.tracer = seen.append
        findings(engine, table, requirements, count="n")
        return len(seen)

    other = Template(("Country", "Job"), "Bankruptcy", ("Current", "Never"), Fraction(1))
    assert statements(DISCHARGED) == statements(DISCHARGED, other) <= 12


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
    connection.execute("SET VARIABLE requirement = 0; SET VARIABLE k = 2; SET VARIABLE sign = 1")
    connection.execute("SET VARIABLE groups = 1; SET VARIABLE risk_threshold = 0.2; SET VARIABLE l = 2")
    connection.execute("CREATE VIEW atoms AS SELECT *, row_number() OVER () AS atom, n AS records FROM t")
    for step in ["classes", "cells", "k_anonymity", "distinct_l_diversity", "class_sizes", "risks"]:
        connection.execute(f"CREATE VIEW {step} AS {text_of(f'audit/{step}')}")
    connection.execute("CREATE VIEW judgements AS FROM k_anonymity")
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
