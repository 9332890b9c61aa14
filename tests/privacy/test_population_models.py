"""k-map and delta-presence, by definition: read, audited, searched, and published with a population."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from definitions import Row
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import PDA, Crowd, NoSolution, Source, Values
from privacy_models import METHODS, number_of
from runs import one_in

import ppdm_sql
from ppdm_sql.errors import (
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    UnknownColumn,
    UnknownTable,
)
from ppdm_sql.privacy import parse

PEOPLE = st.lists(
    st.tuples(st.sampled_from("abcq"), st.sampled_from(["x", "y", None, "w"]), st.booleans()),
    min_size=1,
    max_size=40,
)
"""Everybody, by x and y, and whether the table holds them; the table has no q and no w."""
SHARES = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1)])


def split(people: Sequence[tuple[Any, Any, bool]]) -> tuple[list[Row], list[Row]]:
    """Give the rows of the table and those of the population."""
    table = [(x, y) for x, y, held in people if held and x != "q" and y != "w"]
    return table, [(x, y) for x, y, _ in people]


def opened(table: Sequence[Row], population: Sequence[Row]) -> ppdm_sql.Database:
    """Open a database in memory with the table ``t`` (x, y, cls) and the population ``p`` (x, y)."""
    return ppdm_sql.open(connected(table, population))


def connected(table: Sequence[Row], population: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    """Connect to a database in memory with ``t`` and ``p``."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, cls VARCHAR)")
    connection.execute("CREATE TABLE p (y VARCHAR, x VARCHAR)")
    rows = [[x, y, "yes" if y == "x" else "no"] for x, y in table]
    if rows:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    if population:
        connection.executemany("INSERT INTO p VALUES (?, ?)", [[y, x] for x, y in population])
    return connection


def smallest(table: Counter[Row], population: Counter[Row]) -> int:
    """The records of the population in the classes of the table, the fewest."""
    return min(population[of_class] for of_class in table)


def presences(table: Counter[Row], population: Counter[Row]) -> list[Fraction]:
    """The share that the table holds of each class of the population."""
    return [Fraction(table[of_class], n) for of_class, n in population.items()]


# --- the audit


@given(people=PEOPLE, k=st.integers(1, 6), low=SHARES, high=SHARES)
@one_in(4)
def test_the_audit_judges_as_the_definitions(
    people: list[tuple[Any, Any, bool]], k: int, low: Fraction, high: Fraction
) -> None:
    table, population = split(people)
    assume(table and low <= high and high)
    asked = [f"k-map >= {k} on x, y in p", f"presence {low} to {high} on x, y in p"]
    of_map, of_presence = opened(table, population).audit("t", asked).findings
    held, everybody = Counter(table), Counter(population)
    broken = [of_class for of_class in held if everybody[of_class] < k]
    assert (of_map.reached, of_map.violating_classes) == (smallest(held, everybody), len(broken))
    assert of_map.violating_records == sum(held[of_class] for of_class in broken)
    shares = presences(held, everybody)
    outside = [share for share in shares if not low <= share <= high]
    assert (of_presence.holds, of_presence.violating_classes) == (not outside, len(outside))
    assert any(math.isclose(of_presence.reached, share, abs_tol=1e-12) for share in outside or shares)


def test_weights_count_and_a_class_that_the_population_lacks_is_said() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('a', 1), ('b', NULL)) AS v (x, z)")
    connection.execute("CREATE TABLE p AS SELECT * FROM (VALUES ('a', 1.0, 7), ('c', 1.0, 9)) AS v (X, z, n)")
    db = ppdm_sql.open(connection)
    asked = ["k-map >= 5 on x in p(N)", "k-map >= 5 on x, z in main.p"]
    audit = db.audit("t", asked, groups=2)
    assert [(f.reached, f.violating_classes, f.violating_records) for f in audit.findings] == [
        (0, 1, 1),
        (0, 2, 3),
    ]
    assert [(g.values, g.reached) for g in audit.worst[:2]] == [(("b",), 0), (("a",), 7)]
    with pytest.raises(InvalidSource, match="The population p lacks classes of the table on x"):
        db.audit("t", ["presence <= 50% on x in p(n)"])


def test_persons_of_the_table_count_once() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'a' AS x, range % 2 AS who FROM range(8)")
    connection.execute("CREATE TABLE p AS SELECT 'a' AS x FROM range(4)")
    (found,) = ppdm_sql.open(connection).audit("t", ["presence <= 50% on x in p"], person="who").findings
    assert (found.holds, found.reached) == (True, 0.5)


@pytest.mark.parametrize("method", ["suppress", "generalize"])
def test_a_run_that_counts_persons_takes_a_population_of_persons(method: str) -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT chr(97 + (range % 3)::INT) AS x, range % 4 AS who, range % 5 < 2 AS cls "
        "FROM range(60)"
    )
    connection.execute("CREATE TABLE p AS SELECT chr(97 + least(range, 2)::INT) AS x FROM range(9)")
    db = ppdm_sql.open(connection)
    asked = ["k-map >= 2 on x in p", "k >= 2 on x"]
    given = {"require": asked, "class_column": "cls", "into": "r", "person": "who"}
    release = getattr(db, method)("t", **given)
    assert release.verify().holds
    assert {finding.reached for finding in release.verify().findings} == {2.0, 4.0}
    with pytest.raises(InvalidOption, match="cannot count persons for 'presence"):
        getattr(db, method)("t", **{**given, "require": ["presence <= 50% on x in p"], "into": "s"})


def test_tables_that_cannot_be_a_population_are_refused() -> None:
    con = connected([("a", "x")], [("a", "x")])
    db = ppdm_sql.open(con)
    con.execute("CREATE TABLE empty AS FROM p WHERE FALSE")
    con.execute("CREATE TABLE odd AS SELECT *, -1 AS minus, 'n' AS text, 1 AS none FROM p")
    con.execute("CREATE TABLE dated AS SELECT DATE '2020-01-01' AS x, y FROM p")
    for table, error, words in (
        ("nobody", UnknownTable, "no table or view 'nobody'"),
        ("empty", InvalidSource, "population empty holds no records"),
        ("odd(minus)", InvalidSource, "negative in 1"),
        ("odd(text)", InvalidSource, "not whole numbers"),
        ("odd(missing)", UnknownColumn, "no column 'missing'"),
    ):
        asked = [f"k-map >= 1 on x, y in {table}"]
        with pytest.raises(error, match=words):
            db.audit("t", asked)
        with pytest.raises(error, match=words):
            db.suppress("t", asked, class_column="cls", into="r")
    with pytest.raises(InvalidSource, match="holds DATE, which cannot be compared with VARCHAR"):
        db.suppress("t", ["k-map >= 1 on x in dated"], class_column="cls", into="r")
    con.execute("CREATE TABLE whole AS SELECT 1 AS x, 'yes' AS cls")
    con.execute("CREATE TABLE real AS SELECT 1.0::DOUBLE AS x")
    with pytest.raises(InvalidSource, match="holds DOUBLE, which cannot be compared with INTEGER"):
        db.suppress("whole", ["k-map >= 1 on x in real"], class_column="cls", into="r")
    with pytest.raises(UnknownColumn, match="no column 'cls'"):
        db.audit("t", ["k-map >= 1 on cls in p"])
    assert db.releases() == []


def test_the_order_of_columns_does_not_matter() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 'b', 's')) AS v (x, y, s)")
    connection.execute("CREATE TABLE p AS SELECT * FROM (VALUES ('b', 'a'), ('b', 'a')) AS v (y, x)")
    db = ppdm_sql.open(connection)
    asked = ["distinct l >= 1 of s on y", "k-map >= 2 on x, y in p", "k-map >= 2 on y, x in p"]
    audit = db.audit("t", asked, quasi_identifier=["x", "y"], population="p")
    assert [found.reached for found in audit.findings] == [1, 2, 2]
    assert [(risk.attacker, risk.highest) for risk in audit.risks[:2]] == [
        ("prosecutor", 1.0),
        ("journalist", 0.5),
    ]


# --- the search


class InPopulation(PDA):
    """PDA by brute force, which measures every candidate afresh, with limits on counts in a population.

    A value of the population is shown if the table discloses it; else the symbol stands for it.
    """

    def __init__(self, table: Sequence[Row], population: Sequence[Row], asked: str) -> None:
        self._population, self._asked = population, parse(asked)
        rows = tuple((x, y, "yes" if y == "x" else "no") for x, y in table)
        super().__init__(Source(("x", "y", "cls"), rows, (1,) * len(rows)), [Crowd(1, ("x", "y"))], "cls")

    def measures(self, table: Counter[Values]) -> list[Fraction]:
        held: Counter[Row] = Counter()
        for row, n in table.items():
            held[row[:2]] += n
        shown = [{row[place] for row in held} - {"*"} for place in (0, 1)]
        everybody = Counter(
            tuple(v if v in labels else "*" for v, labels in zip(row, shown, strict=True))
            for row in self._population
        )
        if self._asked.form == "k-map":
            return [Fraction(smallest(held, everybody))]
        shares = presences(held, everybody)
        return [max(shares), min(shares)]

    def valid(self, measures: Sequence[Fraction]) -> bool:
        sides = self._asked.sides()
        return all(
            number >= side.limit if side.worst == "min" else number <= side.limit
            for number, side in zip(measures, sides, strict=False)
        )

    def loss(self, attribute: str, now: Sequence[Fraction], then: Sequence[Fraction]) -> float:
        sides = self._asked.sides()
        changes = [
            (before - after) / before if side.worst == "min" else after - before
            for before, after, side in zip(now, then, sides, strict=False)
        ]
        return float(sum(changes) / len(changes))


@given(
    people=PEOPLE,
    asked=st.sampled_from(
        [
            "k-map >= 2",
            "k-map >= 4",
            "presence <= 40%",
            "presence <= 2/3",
            "presence 10% to 3/4",
            "presence >= 20%",
        ]
    ),
)
@one_in(4)
def test_pruning_is_exact(people: list[tuple[Any, Any, bool]], asked: str) -> None:
    table, population = split(people)
    assume(table)
    text = f"{asked} on x, y in p"
    try:
        run = InPopulation(table, population, text).run()
    except NoSolution:
        with pytest.raises(GuaranteeNotMet):
            opened(table, population).suppress("t", [text], class_column="cls", into="r")
        return
    assume(not run.ambiguous)
    release = opened(table, population).suppress("t", [text], class_column="cls", into="r", score="paper")
    wanted = [(step.attribute, list(step.children)) for step in run.steps]
    assert [(step.attribute, list(step.children)) for step in release.steps()] == wanted
    numbers = [(step.score, step.loss) for step in run.steps]
    found = [(step.score, step.loss) for step in release.steps()]
    assert found == [pytest.approx(pair, abs=1e-9) for pair in numbers]
    assert release.verify().holds


def test_without_the_classes_that_only_the_population_has_a_refinement_would_mend_the_lower_limit() -> None:
    """So they count: of 10 people the table holds 1; told apart from the 9 others, that is 1 of 1."""
    db = opened([("a", "x")], [("a", "x"), *[("q", "x")] * 9])
    (alone,) = db.audit("t", ["presence >= 50% on x in p"]).findings
    assert (alone.holds, alone.reached, alone.violating_classes) == (False, 0, 1)


# --- releases: every way to mask, against the labels that are shown


LEAVES = {"ab": ["a", "b"], "cd": ["c", "d"]}


def labels_of(value: Any, shown: set[Any]) -> Any:
    """What a column of the release shows of a value of the population, from the labels alone; else None."""
    if value in shown:
        return value
    for node, leaves in LEAVES.items():
        if value in leaves and node in shown:
            return node
    return "*" if "*" in shown else "ANY" if "ANY" in shown else (math.nan,)


def interval_of(value: int | None, shown: set[str | None]) -> Any:
    """The interval that holds a number, from the labels alone."""
    if value is None:
        return None if None in shown else "*" if "*" in shown else (math.nan,)
    for label in shown - {None, "*"}:
        assert label is not None
        low, high = (float(bound) for bound in label[1:-1].split(", "))
        if low <= value < high or (label.endswith("]") and value == high):
            return label
    return "*" if "*" in shown else (math.nan,)


def people_of(seed: int, *, nulls: bool, number: str = "DOUBLE") -> duckdb.DuckDBPyConnection:
    """A table of 120 records of a population of 600, with values that only the population has."""
    draw = random.Random(seed)
    ages = [*range(40), *([None] * 6 if nulls else [])]
    people = [
        (draw.choice("abcde"), draw.choice(["x", "y", None, "w"]), draw.choice(ages), draw.randint(0, 3))
        for _ in range(600)
    ]
    held = [p for p in people if p[3] and p[0] in "abc" and p[1] != "w" and (p[2] is None or 5 <= p[2] < 33)]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE p (x VARCHAR, y VARCHAR, z {number}, n UTINYINT)")
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, z INTEGER, cls VARCHAR)")
    connection.executemany("INSERT INTO p VALUES (?, ?, ?, ?)", [list(p) for p in people])
    rows = [[x, y, z, str((z or 0) > 20 or y == "x")] for x, y, z, _ in draw.sample(held, 120)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    return connection


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("asked", "nulls", "ranged"),
    [
        ("k-map >= 12", False, False),
        ("k-map >= 12", True, True),
        ("presence <= 45%", True, False),
        ("presence <= 45%", False, True),
    ],
)
def test_releases_keep_them_by_the_labels_that_they_show(
    method: str, asked: str, nulls: bool, ranged: bool
) -> None:
    con = people_of(0, nulls=nulls, number="BIGINT" if method == "suppress" else "DOUBLE")
    db = ppdm_sql.open(con)
    text = f"{asked} on x, y, z in p(n)"
    if method == "suppress":
        release = db.suppress("t", [text], class_column="cls", into="r")
    else:
        release = db.generalize(
            "t",
            [text],
            class_column="cls",
            into="r",
            method=method,
            taxonomies={"x": {"ANY": LEAVES}},
            suppress=["y"],
            ranges={"z": (0, 36)} if ranged else {},
        )
    rows = release.relation().project("x, y, z").fetchall()
    shown = [{row[place] for row in rows} for place in range(3)]
    everybody: Counter[Row] = Counter()
    for x, y, z, n in con.execute("SELECT x, y, z::INTEGER, n FROM p").fetchall():
        as_text = None if z is None else str(z)
        suppressed = next((label for label in (z, as_text) if label in shown[2]), "*")
        age = suppressed if method == "suppress" else interval_of(z, shown[2])
        everybody[labels_of(x, shown[0]), labels_of(y, shown[1]), age] += n
    held = Counter(rows)
    (finding,) = release.verify().findings
    name = "smallest class of the population" if "k-map" in asked else "largest presence"
    _, after = number_of(release, name)
    if "k-map" in asked:
        assert finding.reached == after == smallest(held, everybody) >= 12
    else:
        largest = max(Fraction(n, everybody[of_class]) for of_class, n in held.items())
        assert largest <= Fraction(45, 100)
        assert [finding.reached, after] == pytest.approx([float(largest)] * 2)
    assert len(held) > 1, "the run refined nothing, so nothing was tried"


def test_a_run_that_cannot_meet_them_says_what_would_help() -> None:
    con = connected([("a", "x"), ("b", "y")], [("a", "x")] * 3 + [("b", "y")])
    db = ppdm_sql.open(con)
    for asked, words in (
        ("k-map >= 5 on x in p", r"has only 4 records of the population\. Ask for k-map <= 4,"),
        ("presence <= 40% on x in p", r"still 50%\. Ask for a presence up to 50%,"),
        ("presence >= 60% on x in p", r"still 50%\. Ask for a presence of at least 50% and no more,"),
    ):
        with pytest.raises(GuaranteeNotMet, match=words):
            db.suppress("t", [asked], class_column="cls", into="r")
    con.execute("INSERT INTO t VALUES ('z', 'y', 'no')")
    with pytest.raises(GuaranteeNotMet, match=r"population p lacks a class .* every record of the table"):
        db.suppress("t", ["k-map >= 1 on x in p"], class_column="cls", into="r", keep=["x"])
    with pytest.raises(InvalidSource, match="lacks classes of the table on x"):
        db.suppress("t", ["presence <= 50% on x in p"], class_column="cls", into="r")
    assert db.releases() == []


def test_verify_and_apply_count_the_population_by_the_cut_that_is_recorded() -> None:
    con = people_of(0, nulls=True)
    db = ppdm_sql.open(con)
    asked = ["k-map >= 12 on x, z in p(n)", "k >= 2 on x, z"]
    taxonomies = {"x": {"ANY": LEAVES}}
    release = db.generalize("t", asked, class_column="cls", into="r", taxonomies=taxonomies)
    applied = db.apply("r", "t", into="again")
    assert [f.reached for f in applied.findings] == [f.reached for f in release.verify().findings]
    con.execute("DELETE FROM p WHERE random() < 0.97")
    found, _ = release.verify().findings
    assert not found.holds
    assert not release.verify().holds


def test_a_population_of_another_file_with_an_odd_name_serves_and_the_command_line_says_so(
    tmp_path: Path,
) -> None:
    census = str(tmp_path / "census.duckdb")
    with duckdb.connect(census) as connection:
        connection.execute('CREATE TABLE "odd "" name;--" AS SELECT 1 AS X, \'a\' AS "j ""b" FROM range(9)')
    file = str(tmp_path / "t.duckdb")
    with duckdb.connect(file) as connection:
        connection.execute(
            'CREATE TABLE t AS SELECT 1 AS x, \'a\' AS "j ""b", range % 2 AS cls FROM range(4)'
        )
    text = 'k-map >= 5 on x, "j ""b" in census.main."odd "" name;--"'
    attach = ["--attach", f"{census} AS census"]
    run = ["suppress", file, "t", "--require", text, "--class", "cls", "--into", "r", *attach]
    assert ppdm(*run).exit_code == 0
    audited = ppdm("audit", file, "t", "--require", text.replace("5", "10"), *attach)
    assert audited.exit_code == 1, audited.stderr
    assert "9" in audited.stdout
    verified = ppdm("verify", file, "r", *attach)
    assert verified.exit_code == 0, verified.output
    lost = ppdm("verify", file, "r")
    assert lost.exit_code == 2
    assert "There is no table or view" in lost.stderr
