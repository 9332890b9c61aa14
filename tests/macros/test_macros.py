"""The audit macros: their answers are those of brute force and the audit; bad names are errors."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import sql_folder
from ppdm_sql.macros import macros
from ppdm_sql.macros.reference import page, results

Row = tuple[Any, ...]
ORDERED = ("INTEGER", "DECIMAL(12,2)", "DATE", "DOUBLE", "TIMESTAMP")
POOLS: dict[str, list[Any]] = {
    "VARCHAR": ["a", "A", "", "NULL", "it's", None],
    "INTEGER": [-3, 0, 7, 2147483647, None],
    "DECIMAL(12,2)": [Decimal("50000.00"), Decimal("0.50"), Decimal("-1.25"), None],
    "DOUBLE": [-0.5, 0.25, 1e300, None],
    "DATE": [datetime.date(1999, 12, 31), datetime.date(2000, 1, 1), datetime.date(2024, 2, 29), None],
    "TIMESTAMP": [datetime.datetime(2000, 1, 1, 1), datetime.datetime(2000, 1, 1, 2), None],
    "BOOLEAN": [True, False, None],
    "ENUM('x', 'y')": ["x", "y", None],
    "INTEGER[]": [[1], [1, 2], None],
}
HOSTILE = ["records", "value", "class", "qi", "tbl", "ic", "sensitive", "q_records", "s_value", "c", "d", "v"]
HOSTILE += ["t", "k", "values", "class_records", "select", 'quo"te', "it's", '"; DROP TABLE t; --', "日本"]
HOSTILE += ["a.b", "line\nbreak", "\\0", "\\1", "a\\", " lead", "%s", "$1", "--", "MiXed", "(?s)^q_.*"]
HOSTILE += ["Größe"]
GIVEN = dict.fromkeys(("qi", "ic", "by", "columns"), "['p', 'q']") | dict.fromkeys(
    ("sensitive", "confidential"), "'s'"
)
GIVEN |= {"population": "'t'", "l": "2"}
CALLS = {
    macro.name.removeprefix("ppdm_"): ", ".join(
        GIVEN[name] for name in macro.parameters.partition(", person :=")[0].split(", ")[1:]
    )
    for macro in macros()
    if macro.parameters
}
"""What each macro is called with beside the table, by the names of its parameters."""
OF_VALUES = [macro for macro, call in CALLS.items() if "'s'" in call]
HALF = settings(max_examples=max(1, settings().max_examples // 2))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def with_macros() -> duckdb.DuckDBPyConnection:
    """A database in memory with the macros, put there without the ceremony of an installation."""
    con = duckdb.connect(config={"threads": 2})
    for macro in macros():
        con.execute(macro.creation(Table(macro.name)))
    return con


shared = cache(with_macros)
"""The database of all random tables, one after the other: the macros take longer to make than to call."""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with with_macros() as opened:
        opened.execute("CREATE TABLE t (p VARCHAR, q INTEGER, s VARCHAR)")
        opened.execute("INSERT INTO t VALUES ('x', 1, 'a'), ('x', 1, 'b'), ('x', NULL, 'a'), (NULL, 1, NULL)")
        yield opened


class Case:
    """A small random table ``t``: two grouping columns and a sensitive one, perhaps with hostile names."""

    def __init__(self, names: Sequence[str], kind: str, rows: list[Row]) -> None:
        self.qi, self.sensitive, self.kind = list(names[:2]), names[2], kind
        self.con = shared()
        p, q, s = map(quoted, names)
        self.con.execute(f"CREATE OR REPLACE TABLE t ({p} VARCHAR, {q} INTEGER, {s} {kind})")
        if rows:
            self.con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        self.classes: dict[Row, Counter[Any]] = defaultdict(Counter)
        for *group, value in rows:
            self.classes[tuple(group)][tuple(value) if isinstance(value, list) else value] += 1

    def answer(self, macro: str, *, sensitive: bool = True) -> list[Row]:
        values = {"qi": self.qi, **({"s": self.sensitive} if sensitive else {})}
        return self.con.execute(
            f"FROM ppdm_{macro}('t', $qi{', $s' if sensitive else ''})", values
        ).fetchall()

    def by_class(self, macro: str) -> dict[Row, Row]:
        rows = self.answer(macro)
        found = {row[:2]: row[2:] for row in rows}
        assert len(found) == len(rows)
        assert found.keys() == self.classes.keys()
        assert all(found[group][0] == values.total() for group, values in self.classes.items())
        return found

    def audited(self, requirement: str) -> float:
        """What the audit reaches for a requirement, which ends before the columns it is about."""
        names = ", ".join(map(quoted, self.qi))
        (finding,) = ppdm_sql.open(self.con).audit("t", [f"{requirement} on {names}"]).findings
        return finding.reached


@st.composite
def cases(draw: st.DrawFn, *, least: int = 0, kinds: Sequence[str] = tuple(POOLS)) -> Case:
    names = draw(st.lists(st.sampled_from(HOSTILE), min_size=3, max_size=3, unique_by=str.lower))
    kind = draw(st.sampled_from(list(kinds)))
    pool = draw(st.lists(st.sampled_from(POOLS[kind]), min_size=1, max_size=4))
    row = st.tuples(
        st.sampled_from(["x", "y", "", None]), st.sampled_from([1, 2, None]), st.sampled_from(pool)
    )
    return Case(names, kind, draw(st.lists(row, min_size=least, max_size=24)))


# -- brute force, the audit ----------------------------------------------------------------


@HALF
@given(cases())
def test_equivalence_classes_are_the_distinct_combinations_with_null_as_a_value(case: Case) -> None:
    found = case.answer("equivalence_classes", sensitive=False)
    assert Counter({(p, q): records for p, q, records in found}) == {
        group: values.total() for group, values in case.classes.items()
    }
    assert len(found) == len(case.classes)


@HALF
@given(cases())
def test_risk_is_that_of_the_audit(case: Case) -> None:
    (found,) = case.answer("risk", sensitive=False)
    sizes = [values.total() for values in case.classes.values()]
    if not sizes:
        assert found == (0, 0, None, None, 0, None, None, None)
        return
    average = len(sizes) / sum(sizes)
    unique = sum(size == 1 for size in sizes)
    expected = (sum(sizes), len(sizes), min(sizes), 1 / average, unique, 1 / min(sizes), average, average)
    assert found == pytest.approx(expected)
    prosecutor, _, marketer = ppdm_sql.open(case.con).audit("t", quasi_identifier=case.qi).risks
    assert found[5:] == (prosecutor.highest, prosecutor.average, marketer.average)
    assert found[2] == case.audited("k >= 1")


@HALF
@given(cases())
def test_confidence_is_the_share_of_each_value_in_its_class(case: Case) -> None:
    found = case.answer("confidence")
    expected = {
        (*group, value): (records, values.total(), records / values.total())
        for group, values in case.classes.items()
        for value, records in values.items()
    }
    keys = [(p, q, tuple(s) if isinstance(s, list) else s) for p, q, s, *_ in found]
    assert dict(zip(keys, (row[3:] for row in found), strict=True)) == expected
    assert len(set(keys)) == len(keys)
    names = [column[0] for column in case.con.description]
    assert names[:3] == [*case.qi, case.sensitive]
    if found and case.kind != "INTEGER[]":
        channel = ", ".join(map(quoted, case.qi))
        audit = ppdm_sql.open(case.con).audit("t", [f"{channel} -> {quoted(case.sensitive)} <= 100%"])
        assert audit.findings[0].reached == max(row[-1] for row in found)


@HALF
@given(cases())
def test_diversity_is_the_number_of_values_and_exp_of_their_entropy(case: Case) -> None:
    found = case.by_class("diversity")
    for group, values in case.classes.items():
        shares = [records / values.total() for records in values.values()]
        assert found[group][1] == len(values)
        assert found[group][2] == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)))
    if found:
        sensitive = quoted(case.sensitive)
        assert case.audited(f"distinct l >= 1 of {sensitive}") == min(row[1] for row in found.values())
        assert case.audited(f"entropy l >= 1 of {sensitive}") == min(row[2] for row in found.values())


def distances(classes: dict[Row, Counter[Any]]) -> dict[Row, tuple[Fraction, Fraction]]:
    """The equal and the ordered distance of each class, from the definitions, in fractions."""
    whole = sum(classes.values(), Counter[Any]())
    values = sorted(set(whole) - {None}) + ([None] if None in whole else [])
    table = [Fraction(whole[value], whole.total()) for value in values]
    found = {}
    for group, counter in classes.items():
        gaps = [Fraction(counter[v], counter.total()) - q for v, q in zip(values, table, strict=True)]
        sides = [abs(sum(gaps[: place + 1], Fraction(0))) for place in range(len(gaps))]
        ordered = sum(sides, Fraction(0)) / (len(gaps) - 1) if len(gaps) > 1 else Fraction(0)
        found[group] = sum(map(abs, gaps), Fraction(0)) / 2, ordered
    return found


@given(cases())
def test_closeness_is_the_earth_movers_distance_of_the_columns_type(case: Case) -> None:
    found = case.by_class("closeness")
    for group, (equal, ordered) in distances(case.classes).items():
        t, by_equal, by_order = found[group][1:]
        assert by_equal == pytest.approx(float(equal), abs=1e-12)
        if case.kind in ORDERED:
            assert by_order == pytest.approx(float(ordered), abs=1e-12)
            assert t == by_order
        else:
            assert by_order is None and t == by_equal
    if found:
        reached = case.audited(f"t <= 1 of {quoted(case.sensitive)}")
        assert reached == max(row[1] for row in found.values())


def test_closeness_of_large_random_classes_is_that_of_the_audit(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE big AS SELECT hash(i) % 40 AS g, (hash(i, 1) % 97 * (hash(i, 2) % 5))::INTEGER AS s "
        "FROM range(20000) AS r (i)"
    )
    (worst,) = con.execute("SELECT max(t) FROM ppdm_closeness('big', ['g'], 's')").fetchone()
    assert ppdm_sql.open(con).audit("big", ["t <= 1 of s on g"]).findings[0].reached == worst


@given(cases())
def test_likeness_is_the_largest_gain_of_a_value(case: Case) -> None:
    found = case.by_class("likeness")
    whole = sum(case.classes.values(), Counter[Any]())
    for group, values in case.classes.items():
        gains = {
            value: Fraction(records * whole.total(), values.total() * whole[value]) - 1
            for value, records in values.items()
        }
        assert found[group][1] == pytest.approx(float(max(gains.values())), abs=1e-12)
        limits = [math.log(whole.total() / whole[value]) - float(gain) for value, gain in gains.items()]
        assume(all(limit == 0 or abs(limit) > 1e-9 for limit in limits))
        assert found[group][2] == all(limit >= 0 for limit in limits)
    if found:
        column = quoted(case.sensitive)
        assert case.audited(f"beta <= 1 of {column}") == max(row[1] for row in found.values())
        by_enhanced = case.audited(f"enhanced beta <= 1000 of {column}") <= max(
            row[1] for row in found.values()
        )
        assert by_enhanced == all(row[2] for row in found.values())


@HALF
@given(cases())
def test_disclosure_is_the_largest_change_of_a_values_share(case: Case) -> None:
    found = case.by_class("disclosure")
    whole = sum(case.classes.values(), Counter[Any]())
    for group, values in case.classes.items():
        changes = [
            math.log2(Fraction(values[value] * whole.total(), values.total() * whole[value]))
            if values[value]
            else -math.inf
            for value in whole
        ]
        assert found[group][1] == pytest.approx(max(map(abs, changes)), abs=1e-12)
    if found:
        reached = case.audited(f"delta <= 1 of {quoted(case.sensitive)}")
        assert reached == pytest.approx(max(row[1] for row in found.values()), abs=1e-12)


@HALF
@given(cases(), st.integers(2, 4))
def test_recursive_diversity_is_the_first_value_over_the_rarer_ones(case: Case, least: int) -> None:
    found = case.con.execute(
        "FROM ppdm_recursive_diversity('t', $qi, $s, $l)",
        {"qi": case.qi, "s": case.sensitive, "l": least},
    ).fetchall()
    expected = {}
    for group, values in case.classes.items():
        first, *rarer = sorted(values.values(), reverse=True)
        rest = sum(rarer[least - 2 :])
        expected[group] = (values.total(), first / rest if rest else math.inf)
    assert {row[:2]: row[2:] for row in found} == expected
    if found:
        reached = case.audited(f"recursive c = 2, l = {least} of {quoted(case.sensitive)}")
        assert reached == max(row[3] for row in found)


@HALF
@given(cases(least=1), st.integers(0, 24))
def test_presence_is_the_share_of_the_population_that_is_in_the_table(case: Case, size: int) -> None:
    people_of = "CREATE OR REPLACE TABLE everybody AS FROM t UNION ALL FROM t LIMIT $size"
    case.con.execute(people_of, {"size": size})
    names = ", ".join(map(quoted, case.qi))
    people = Counter(case.con.execute(f"SELECT {names} FROM everybody").fetchall())
    found = case.con.execute("FROM ppdm_presence('t', $qi, 'everybody')", {"qi": case.qi}).fetchall()
    held = {group: values.total() for group, values in case.classes.items()}
    assert {row[:2]: row[2:] for row in found} == {
        group: (n, people[group], n / people[group] if people[group] else math.inf)
        for group, n in held.items()
    }
    if held.keys() == people.keys():
        (finding,) = ppdm_sql.open(case.con).audit("t", [f"presence <= 50% on {names} in everybody"]).findings
        assert finding.reached == max(row[4] for row in found)


def test_presence_shows_whom_only_the_population_has(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE everybody AS SELECT 1 AS Q, unnest(['x', 'x', 'x', 'y', NULL]) AS P")
    found = con.execute("FROM ppdm_presence('t', ['p', 'q'], 'everybody') ORDER BY ALL").fetchall()
    assert found == [
        ("x", 1, 2, 3, 2 / 3),
        ("x", None, 1, 0, math.inf),
        ("y", 1, 0, 1, 0.0),
        (None, 1, 1, 1, 1.0),
    ]
    for population, words in {"NULL": "named in population", "'nowhere'": "nowhere", "'few'": '"q"'}.items():
        query = f"WITH few AS (SELECT p FROM t) SELECT * FROM ppdm_presence('t', ['p', 'q'], {population})"
        with pytest.raises(duckdb.Error, match=words):
            con.execute(query)


# -- names that are there ---------------------------------------------------------------------------


def answers(
    con: duckdb.DuckDBPyConnection, table: str, names: Mapping[str, str] | None = None
) -> list[list[Row]]:
    """What each macro says of a table, its own population, whose columns may have other names."""
    found, before = [], {new: old for old, new in (names or {}).items()}

    def renamed(cell: Any) -> Any:
        return [before.get(item, item) for item in cell] if isinstance(cell, list) else cell

    for macro, call in CALLS.items():
        given = {**(names or {}), "t": table}
        arguments = re.sub(r"'(\w)'", lambda name, given=given: text(given.get(name[1], name[1])), call)
        query = f"SELECT * FROM ppdm_{macro}({text(table)}, {arguments}) ORDER BY ALL"
        found.append([tuple(map(renamed, row)) for row in con.execute(query).fetchall()])
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_column_names_change_no_answer(con: duckdb.DuckDBPyConnection, name: str) -> None:
    names = {"p": name, "q": f"{name} q", "s": f"{name} s"}
    renamed = ", ".join(f"{old} AS {quoted(new)}" for old, new in names.items())
    con.execute(f"CREATE TABLE hostile AS SELECT {renamed} FROM t")
    assert answers(con, "hostile", names) == answers(con, "t")


def test_columns_are_found_in_any_spelling_of_case(con: duckdb.DuckDBPyConnection) -> None:
    assert answers(con, "t", {"p": "P", "q": "Q", "s": "S"}) == answers(con, "t")
    con.execute("FROM ppdm_diversity('t', ['P'], 'S')")
    assert con.description[0][0] == "p"


TABLES = {
    "t": "t",
    "T": "t",
    "main.t": "t",
    "memory.main.t": "t",
    "cells": "cells",
    "classes": "classes",
    "ranks": "ranks",
    "tbl": "tbl",
    "odd name": "odd name",
    "it's": "it's",
    "a;b": "a;b",
    "select": "select",
    "Größe ✓": "Größe ✓",
    '"dots.in.it"': "dots.in.it",
    '"; DROP TABLE t; --"': "; DROP TABLE t; --",
}


@pytest.mark.parametrize("written", TABLES)
def test_tables_of_any_name_are_found(con: duckdb.DuckDBPyConnection, written: str) -> None:
    con.execute(f"CREATE TABLE IF NOT EXISTS {quoted(TABLES[written])} AS FROM t")
    assert answers(con, written) == answers(con, "t")


@pytest.mark.parametrize(
    ("made", "name"),
    [
        ("CREATE VIEW other AS FROM t", "other"),
        ("CREATE TEMP TABLE other AS FROM t", "other"),
        ("CREATE TEMP VIEW other AS FROM t", "temp.other"),
        ("CREATE SCHEMA odd; CREATE TABLE odd.other AS FROM t", "odd.other"),
        ("ATTACH ':memory:' AS elsewhere; CREATE TABLE elsewhere.other AS FROM t", "elsewhere.other"),
        ("ATTACH ':memory:' AS elsewhere; CREATE TABLE elsewhere.other AS FROM t", "elsewhere.main.other"),
        (
            """ATTACH ':memory:' AS "else where"; CREATE SCHEMA "else where"."a.b";
            CREATE TABLE "else where"."a.b"."c.d" AS FROM t""",
            '"else where"."a.b"."c.d"',
        ),
    ],
)
def test_views_temporary_tables_and_attached_databases_are_measured(
    con: duckdb.DuckDBPyConnection, made: str, name: str
) -> None:
    con.execute(made)
    assert answers(con, name) == answers(con, "t")


def test_a_name_of_a_with_clause_can_be_measured(con: duckdb.DuckDBPyConnection) -> None:
    nobody = (0, 0, None, None, 0, None, None, None), (0, 0, 0, None, None)
    for macro, arguments in CALLS.items():
        call = arguments.replace("'t'", "'few'")
        query = f"WITH few AS (FROM t WHERE p = 'nobody') SELECT * FROM ppdm_{macro}('few', {call})"
        assert con.execute(query).fetchall() in ([], *([row] for row in nobody))


def test_the_macros_of_an_attached_file_can_be_called(tmp_path: Path) -> None:
    file = tmp_path / "with macros.duckdb"
    with ppdm_sql.open(file, create=True) as db:
        db.install()
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 'x' AS p, 1 AS q, 'a' AS s")
        con.execute(f"ATTACH '{file}' AS f (READ_ONLY)")
        for macro, call in CALLS.items():
            rows = 2 if macro == "minimal_uniques" else 1
            for place in ("f.ppdm", "f.main"):
                assert len(con.execute(f"FROM {place}.ppdm_{macro}('t', {call})").fetchall()) == rows


def test_arguments_can_be_parameters_and_are_named(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("PREPARE asked AS SELECT k FROM ppdm_risk($1, $2)")
    assert con.execute("EXECUTE asked('t', ['p'])").fetchall() == [(1,)]
    named = "FROM ppdm_diversity(sensitive := 's', tbl := 't', qi := ['p'])"
    assert sorted(con.execute(named).fetchall(), key=str) == [("x", 3, 2, 1.889881574842), (None, 1, 1, 1.0)]


def test_settings_of_the_connection_change_no_answer(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE numbers AS SELECT p, q, CAST(q AS INTEGER) AS s FROM t")
    ordinary = [sorted(rows, key=str) for rows in answers(con, "numbers")]
    con.execute("SET integer_division = true; SET default_order = 'DESC'")
    con.execute("SET default_null_order = 'NULLS FIRST'")
    assert [sorted(rows, key=str) for rows in answers(con, "numbers")] == ordinary


# -- names that are not -----------------------------------------------------------------------------

LISTS = {
    "['p', 'w']": "w",
    "['w']": "w",
    "['*']": r"\*",
    "['p.*']": r"p\.\*",
    "['']": '""',
    "['p', 'p']": "twice: p, p",
    "['p', 'q', 'P']": "twice: p, P",
    "[]": "No column is in",
    "NULL": "No column is in",
    "NULL::VARCHAR[]": "No column is in",
    "'p'": "No column is in",
    "'[p]'": "No column is in",
    "[1]": "No column is in",
    "[NULL]": "No column is in",
    "['p', NULL]": "is NULL",
}
COLUMNS = {
    "'w'": "w",
    "'.*'": r"\.\*",
    "NULL": "One column is needed",
    "['s']": "One column is needed",
    "1": "One column is needed",
    "'p'": "too: p",
    "'P'": "too: P",
}


@pytest.mark.parametrize("given", LISTS)
def test_a_list_of_columns_that_cannot_be_is_an_error_and_never_a_narrower_answer(
    con: duckdb.DuckDBPyConnection, given: str
) -> None:
    con.execute("CREATE TABLE nobody AS FROM t LIMIT 0")
    for macro, table in product(CALLS, ("t", "nobody")):
        arguments = CALLS[macro].replace("['p', 'q']", given)
        with pytest.raises(duckdb.Error, match=LISTS[given]):
            con.execute(f"FROM ppdm_{macro}('{table}', {arguments})").fetchall()


@pytest.mark.parametrize("given", COLUMNS)
def test_a_sensitive_column_that_cannot_be_is_an_error(con: duckdb.DuckDBPyConnection, given: str) -> None:
    con.execute("CREATE TABLE nobody AS FROM t LIMIT 0")
    for macro, table in product(OF_VALUES, ("t", "nobody")):
        arguments = CALLS[macro].replace("['p', 'q']", "['p']").replace("'s'", given)
        with pytest.raises(duckdb.Error, match=COLUMNS[given]):
            con.execute(f"FROM ppdm_{macro}('{table}', {arguments})").fetchall()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("'tt'", "tt"),
        ("NULL", "No table is named"),
        ("''", "."),
        ("'t; DROP TABLE t'", "does not exist"),
        ("'(SELECT 1)'", "does not exist"),
        ("'nowhere.t'", "nowhere"),
    ],
)
def test_a_table_that_is_missing_is_an_error_with_its_name(
    con: duckdb.DuckDBPyConnection, name: str, words: str
) -> None:
    for macro, call in CALLS.items():
        with pytest.raises(duckdb.Error, match=words):
            con.execute(f"FROM ppdm_{macro}({name}, {call})").fetchall()
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(4,)]


# -- persons ----------------------------------------------------------------------------------------


@HALF
@given(cases(least=1), st.lists(st.integers(0, 4), min_size=24, max_size=24))
def test_with_persons_the_answers_are_those_of_the_audit(case: Case, people: list[int]) -> None:
    case.con.execute("ALTER TABLE t ADD COLUMN who INTEGER")
    case.con.execute("UPDATE t SET who = $people[rowid + 1]", {"people": people})
    db, names, column = ppdm_sql.open(case.con), ", ".join(map(quoted, case.qi)), quoted(case.sensitive)

    def answer(macro: str, *rest: str) -> list[Row]:
        given = ", ".join(["'t'", "$qi", *map(text, rest), "person := 'who'"])
        return case.con.execute(f"FROM ppdm_{macro}({given})", {"qi": case.qi}).fetchall()

    def audited(requirement: str) -> float:
        return db.audit("t", [requirement], person="who").findings[0].reached

    def found(macro: str) -> dict[Row, Row]:
        return {row[:2]: row[2:] for row in answer(macro, case.sensitive)}

    persons = {(p, q): n for p, q, n in answer("equivalence_classes")}
    rows = case.con.execute(f"SELECT {names}, who FROM t").fetchall()
    assert persons == {group: len({w for p, q, w in rows if (p, q) == group}) for group in case.classes}
    ((records, classes, k, *_, unique, highest, average, _),) = answer("risk")
    assert (records, classes, k) == (sum(persons.values()), len(persons), audited(f"k >= 1 on {names}"))
    prosecutor, *_ = db.audit("t", quasi_identifier=case.qi, person="who").risks
    assert (highest, average) == (prosecutor.highest, prosecutor.average)
    assert unique == sum(n == 1 for n in persons.values())
    for macro in ("diversity", "closeness", "likeness", "disclosure"):
        assert {group: row[0] for group, row in found(macro).items()} == persons
    assert min(row[1] for row in found("diversity").values()) == audited(
        f"distinct l >= 1 of {column} on {names}"
    )
    assert min(row[2] for row in found("diversity").values()) == pytest.approx(
        audited(f"entropy l >= 1 of {column} on {names}")
    )
    assert max(row[1] for row in found("closeness").values()) == pytest.approx(
        audited(f"t <= 1 of {column} on {names}")
    )
    assert max(row[1] for row in found("likeness").values()) == pytest.approx(
        audited(f"beta <= 1 of {column} on {names}")
    )
    assert max(row[1] for row in found("disclosure").values()) == pytest.approx(
        audited(f"delta <= 1 of {column} on {names}")
    )
    confidences = answer("confidence", case.sensitive)
    assert all(row[4] == persons[row[:2]] and row[5] == row[3] / row[4] for row in confidences)
    if case.kind != "INTEGER[]":
        assert max(row[5] for row in confidences) == audited(f"{names} -> {column} <= 100%")
    counts = Counter(row[3] for row in answer("identifiable", case.sensitive))
    (identified,) = db.audit("t", confidential=[case.sensitive], by=case.qi, person="who").identifiable
    assert (counts["uniquely"], counts["collectively"]) == (identified.unique, identified.groups)


@HALF
@given(
    cases(least=1),
    st.lists(st.integers(0, 4), min_size=24, max_size=24),
    st.integers(2, 3),
    st.integers(0, 9),
)
def test_with_persons_recursive_diversity_and_presence_are_those_of_the_audit(
    case: Case, people: list[int], least: int, strangers: int
) -> None:
    case.con.execute("ALTER TABLE t ADD COLUMN who INTEGER")
    case.con.execute("UPDATE t SET who = $people[rowid + 1]", {"people": people})
    names, given = ", ".join(map(quoted, case.qi)), {"qi": case.qi}
    case.con.execute(
        f"""CREATE OR REPLACE TABLE everybody AS SELECT DISTINCT {names}, who FROM t
        UNION ALL (SELECT {names}, NULL FROM t LIMIT {strangers})"""
    )
    sizes = {
        (p, q): n
        for p, q, n in case.con.execute(f"SELECT {names}, count(DISTINCT who) FROM t GROUP BY ALL").fetchall()
    }

    def audited(requirement: str) -> float:
        return ppdm_sql.open(case.con).audit("t", [requirement], person="who").findings[0].reached

    recursive = case.con.execute(
        f"FROM ppdm_recursive_diversity('t', $qi, $s, {least}, person := 'who')",
        {**given, "s": case.sensitive},
    ).fetchall()
    assert {row[:2]: row[2] for row in recursive} == sizes
    column = quoted(case.sensitive)
    asked = f"recursive c = 2, l = {least} of {column} on {names}"
    assert max(row[3] for row in recursive) == audited(asked)
    query = "FROM ppdm_presence('t', $qi, 'everybody', person := 'who')"
    presence = case.con.execute(query, given).fetchall()
    assert {row[:2]: row[2] for row in presence} == sizes
    assert max(row[4] for row in presence) == audited(f"presence <= 50% on {names} in everybody")
    assert min(row[3] for row in presence) == audited(f"k-map >= 1 on {names} in everybody")


def test_one_row_a_person_changes_no_answer(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE u AS SELECT *, rowid AS who FROM t")
    for macro, call in CALLS.items():
        plain, persons, without = (
            con.execute(f"SELECT * FROM ppdm_{macro}('u', {call}{rest}) ORDER BY ALL").fetchall()
            for rest in ("", ", person := 'WHO'", ", NULL")
        )
        assert plain == persons == without


PEOPLE = {"'nobody'": "nobody", "'p'": "person column is in", "7": "One column is needed as person"}
PEOPLE |= {
    "['p']": "One column is needed as person",
    "'.*'": r"\.\*",
    "'gone'": "A person is NULL in column gone",
    "'S'": r"The person column is the \w+ one, too: S",
}


@pytest.mark.parametrize("person", PEOPLE)
def test_a_person_column_that_cannot_be_is_an_error(con: duckdb.DuckDBPyConnection, person: str) -> None:
    con.execute("ALTER TABLE t ADD COLUMN gone INTEGER; UPDATE t SET gone = rowid WHERE rowid > 0")
    for macro in OF_VALUES if person == "'S'" else CALLS:
        with pytest.raises(duckdb.Error, match=PEOPLE[person]):
            con.execute(f"FROM ppdm_{macro}('t', {CALLS[macro]}, person := {person})").fetchall()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_person_column_of_any_name_is_found(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute("CREATE TABLE plain AS SELECT * REPLACE ('x' AS p), rowid % 2 AS other FROM t")
    con.execute(
        f"CREATE TABLE hostile AS SELECT * EXCLUDE (other), other AS {quoted(name + ' who')} FROM plain"
    )
    for macro, call in CALLS.items():
        first, second = (
            con.execute(
                f"SELECT * FROM ppdm_{macro}({text(table)}, {call}, person := {text(who)}) ORDER BY ALL"
            ).fetchall()
            for table, who in (("plain", "other"), ("hostile", f"{name} who"))
        )
        assert first == second


# -- the reference ----------------------------------------------------------------------------------


def test_every_file_of_the_family_is_a_macro() -> None:
    files = (sql_folder() / "macros").glob("*.sql")
    assert {f"ppdm_{file.stem}" for file in files} == {macro.name for macro in macros()}


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")


def test_the_page_of_the_macros_is_what_the_script_writes() -> None:
    assert page(PAGE) == PAGE, "python -m ppdm_sql.macros.reference docs/sql.md"


def test_collapsed_rows_are_written_out_as_the_page_says() -> None:
    (query,) = re.findall(r"`(WITH each AS [^`]+)`", PAGE)
    with with_macros() as con:
        examples.write(Engine(con))
        (risk,) = con.execute(query).fetchall()
        audit = ppdm_sql.open(con).audit("employees", ["k >= 1 on Sex, Job"], count_column="n")
    assert (risk[0], risk[2]) == (34, audit.findings[0].reached)


def test_every_column_of_an_answer_is_explained() -> None:
    with with_macros() as con:
        examples.write(Engine(con))
        asked = {"Age", "Gender", "Location", "Amount", "version"}
        names = {name for macro in macros() for name in con.sql(macro.example).columns}
    assert names - asked == set(results())
