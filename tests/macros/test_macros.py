"""The audit macros: their answers are those of brute force and the audit; bad names are errors."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from definitions import HOSTILE, MODELS, ORDERED, Case, Row, cases, distance, with_macros
from hypothesis import assume, given
from hypothesis import strategies as st
from runs import one_in

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import quoted
from ppdm_sql.engine.statements import sql_folder
from ppdm_sql.macros import macros
from ppdm_sql.macros.reference import column_meanings, page

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


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with with_macros() as opened:
        opened.execute("CREATE TABLE t (p VARCHAR, q INTEGER, s VARCHAR)")
        opened.execute("INSERT INTO t VALUES ('x', 1, 'a'), ('x', 1, 'b'), ('x', NULL, 'a'), (NULL, 1, NULL)")
        yield opened


# -- definitions, the audit ----------------------------------------------------------------


def answer(
    case: Case, macro: str, *more: Any, sensitive: bool = True, person: str | None = None
) -> list[Row]:
    """What a macro says of a table, whose columns and arguments are parameters."""
    given = ["t", case.qi, *([case.sensitive] if sensitive else []), *more]
    places = ", ".join("?" * len(given)) + ("" if person is None else f", person := {text(person)}")
    return case.con.execute(f"FROM ppdm_{macro}({places})", given).fetchall()


def plain(rows: Sequence[Row], keys: int) -> dict[Row, Row]:
    """The answer by its first columns, which no two rows have alike."""
    found = {tuple(tuple(c) if isinstance(c, list) else c for c in row[:keys]): row[keys:] for row in rows}
    assert len(found) == len(rows)
    return found


OF_CLASSES = [
    ("diversity", 0, "distinct l", min),
    ("diversity", 1, "entropy l", min),
    ("closeness", 0, "t", max),
    ("likeness", 0, "beta", max),
    ("disclosure", 0, "delta", max),
]
"""Macros, the numbers that they give beside the records, the models of these, and which is the worst."""


def audited(case: Case, *asked: str, **options: Any) -> list[float]:
    return [finding.reached for finding in case.audit(*asked, **options).findings]


@one_in(3)
@given(cases(least=1))
def test_classes_and_their_numbers_are_those_of_the_definitions_and_of_the_audit(case: Case) -> None:
    on = ", ".join(map(quoted, case.qi))
    assert plain(answer(case, "equivalence_classes", sensitive=False), 2) == {
        group: (size,) for group, size in case.sizes.items()
    }
    reached = audited(
        case, *(MODELS[name].asked(1, quoted(case.sensitive), on) for _, _, name, _ in OF_CLASSES)
    )
    for (macro, place, name, worst), most in zip(OF_CLASSES, reached, strict=True):
        model, found = MODELS[name], plain(answer(case, macro), 2)
        assert {group: row[0] for group, row in found.items()} == case.sizes
        numbers = [model.shown(number) for number in model.numbers(case.held)]
        assert [found[group][1 + place] for group in case.classes] == pytest.approx(numbers, abs=1e-12)
        assert worst(row[1 + place] for row in found.values()) == pytest.approx(most, abs=1e-12)


@one_in(3)
@given(cases())
def test_risk_is_that_of_the_audit(case: Case) -> None:
    (found,) = answer(case, "risk", sensitive=False)
    if not (sizes := list(case.sizes.values())):
        assert found == (0, 0, None, None, 0, None, None, None)
        return
    average, unique = len(sizes) / sum(sizes), sum(size == 1 for size in sizes)
    expected = (sum(sizes), len(sizes), min(sizes), 1 / average, unique, 1 / min(sizes), average, average)
    assert found == pytest.approx(expected)
    prosecutor, _, marketer = case.audit(quasi_identifier=case.qi).risks
    assert found[5:] == (prosecutor.highest, prosecutor.average, marketer.average)


@one_in(3)
@given(cases())
def test_confidence_is_the_share_of_each_value_in_its_class(case: Case) -> None:
    found = plain(answer(case, "confidence"), 3)
    assert [column[0] for column in case.con.description][:3] == [*case.qi, case.sensitive]
    assert found == {
        (*group, value): (records, held.total(), records / held.total())
        for group, held in case.classes.items()
        for value, records in held.items()
    }


@one_in(3)
@given(cases())
def test_identifiable_is_who_is_alone_or_all_alike(case: Case) -> None:
    assert plain(answer(case, "identifiable"), 2) == {
        group: (
            n := held.total(),
            "uniquely" if n == 1 else "collectively" if len(held) == 1 else "unidentifiable",
        )
        for group, held in case.classes.items()
    }


@one_in(3)
@given(cases())
def test_closeness_has_both_distances_and_likeness_both_kinds(case: Case) -> None:
    closeness, likeness = (plain(answer(case, macro), 2) for macro in ("closeness", "likeness"))
    whole, ordered = sum(case.held, Counter[Any]()), case.kind in ORDERED
    for group, held in case.classes.items():
        _, t, by_equal, by_order = closeness[group]
        assert by_equal == pytest.approx(float(distance(held, whole, ordered=False)), abs=1e-12)
        assert t == (by_order if ordered else by_equal)
        assert (by_order is None) is not ordered
        limits = [
            math.log(whole.total() / whole[value])
            - float(Fraction(records * whole.total(), held.total() * whole[value]) - 1)
            for value, records in held.items()
        ]
        assume(all(limit == 0 or abs(limit) > 1e-9 for limit in limits))
        assert likeness[group][2] == all(limit >= 0 for limit in limits)


def test_closeness_of_large_random_classes_is_that_of_the_audit(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE big AS SELECT hash(i) % 40 AS g, (hash(i, 1) % 97 * (hash(i, 2) % 5))::INTEGER AS s "
        "FROM range(20000) AS r (i)"
    )
    (worst,) = con.execute("SELECT max(t) FROM ppdm_closeness('big', ['g'], 's')").fetchone()
    assert ppdm_sql.open(con).audit("big", ["t <= 1 of s on g"]).findings[0].reached == worst


@one_in(3)
@given(cases(), st.integers(2, 4))
def test_recursive_diversity_is_the_first_value_over_the_rarer_ones(case: Case, least: int) -> None:
    numbers = zip(case.sizes.items(), MODELS[f"recursive l = {least}"].numbers(case.held), strict=True)
    found = plain(answer(case, "recursive_diversity", least), 2)
    assert found == {group: (size, float(number)) for (group, size), number in numbers}


@one_in(3)
@given(cases(least=1), st.integers(0, 24))
def test_presence_is_the_share_of_the_population_that_is_in_the_table(case: Case, size: int) -> None:
    people_of = "CREATE OR REPLACE TABLE everybody AS FROM t UNION ALL FROM t LIMIT $size"
    case.con.execute(people_of, {"size": size})
    names = ", ".join(map(quoted, case.qi))
    people = Counter(case.con.execute(f"SELECT {names} FROM everybody").fetchall())
    found = plain(answer(case, "presence", "everybody", sensitive=False), 2)
    assert found == {
        group: (n, people[group], n / people[group] if people[group] else math.inf)
        for group, n in case.sizes.items()
    }


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
    con: duckdb.DuckDBPyConnection, table: str, names: Mapping[str, str] | None = None, person: str = ""
) -> list[list[Row]]:
    """What each macro says of a table, its own population, whose columns may have other names."""
    found, before = [], {new: old for old, new in (names or {}).items()}
    more = f", person := {text((names or {}).get(person, person))}" if person else ""

    def renamed(cell: Any) -> Any:
        return [before.get(item, item) for item in cell] if isinstance(cell, list) else cell

    for macro, call in CALLS.items():
        given = {**(names or {}), "t": table}
        arguments = re.sub(r"'(\w)'", lambda name, given=given: text(given.get(name[1], name[1])), call)
        query = f"SELECT * FROM ppdm_{macro}({text(table)}, {arguments}{more}) ORDER BY ALL"
        found.append([tuple(map(renamed, row)) for row in con.execute(query).fetchall()])
    return found


def test_hostile_column_names_change_no_answer(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("ALTER TABLE t ADD COLUMN who INTEGER; UPDATE t SET who = rowid % 2")
    expected = {person: answers(con, "t", person=person) for person in ("", "who")}
    for first in range(0, len(HOSTILE), 4):
        names = dict(zip(("p", "q", "s", "who"), HOSTILE[first : first + 4], strict=True))
        renamed = ", ".join(f"{old} AS {quoted(new)}" for old, new in names.items())
        con.execute(f"CREATE OR REPLACE TABLE hostile AS SELECT {renamed} FROM t")
        for person, told in expected.items():
            assert answers(con, "hostile", names, person) == told, names


def test_columns_are_found_in_any_spelling_of_case(con: duckdb.DuckDBPyConnection) -> None:
    assert answers(con, "t", {"p": "P", "q": "Q", "s": "S"}) == answers(con, "t")
    con.execute("FROM ppdm_diversity('t', ['P'], 'S')")
    assert con.description[0][0] == "p"


TABLES = dict.fromkeys(("t", "T", "main.t", "memory.main.t"), "SELECT 1")
TABLES |= {
    name: f"CREATE TABLE {quoted(name)} AS FROM t"
    for name in ("cells", "classes", "ranks", "source", "tbl", "odd name", "it's", "a;b", "select", "Größe ✓")
}
TABLES |= {
    '"dots.in.it"': 'CREATE TABLE "dots.in.it" AS FROM t',
    '"; DROP TABLE t; --"': 'CREATE TABLE "; DROP TABLE t; --" AS FROM t',
    "other": "CREATE VIEW other AS FROM t",
    "passing": "CREATE TEMP TABLE passing AS FROM t",
    "temp.other": "CREATE TEMP VIEW other AS FROM t",
    "odd.other": "CREATE SCHEMA odd; CREATE TABLE odd.other AS FROM t",
    "elsewhere.other": "ATTACH ':memory:' AS elsewhere; CREATE TABLE elsewhere.other AS FROM t",
    "elsewhere.main.other": "SELECT 1",
    '"else where"."a.b"."c.d"': """ATTACH ':memory:' AS "else where"; CREATE SCHEMA "else where"."a.b";
        CREATE TABLE "else where"."a.b"."c.d" AS FROM t""",
}


def test_tables_and_views_of_any_name_are_measured(con: duckdb.DuckDBPyConnection) -> None:
    expected = answers(con, "t")
    for name, made in TABLES.items():
        con.execute(made)
        assert answers(con, name) == expected, name


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


@one_in(3)
@given(
    cases(least=1),
    st.lists(st.integers(0, 4), min_size=24, max_size=24),
    st.integers(2, 3),
    st.integers(0, 9),
)
def test_with_persons_the_answers_are_those_of_the_audit(
    case: Case, people: list[int], least: int, strangers: int
) -> None:
    case.con.execute("ALTER TABLE t ADD COLUMN who INTEGER")
    case.con.execute("UPDATE t SET who = $people[rowid % 24 + 1]", {"people": people})
    on, of = ", ".join(map(quoted, case.qi)), quoted(case.sensitive)
    case.con.execute(
        f"""CREATE OR REPLACE TABLE everybody AS SELECT DISTINCT {on}, who FROM t
        UNION ALL (SELECT {on}, NULL FROM t LIMIT {strangers})"""
    )
    sizes = plain(case.con.execute(f"SELECT {on}, count(DISTINCT who) FROM t GROUP BY ALL").fetchall(), 2)

    def found(macro: str, *more: Any, sensitive: bool = True, keys: int = 2) -> dict[Row, Row]:
        return plain(answer(case, macro, *more, sensitive=sensitive, person="who"), keys)

    asked = [MODELS[name].asked(1, of, on) for _, _, name, _ in OF_CLASSES]
    asked += [f"recursive c = 2, l = {least} of {of} on {on}", f"k-map >= 1 on {on} in everybody"]
    asked += [f"presence <= 50% on {on} in everybody"]
    asked += [f"{on} -> {of} <= 100%"] if case.kind != "INTEGER[]" else []
    audit = case.audit(*asked, person="who", by=case.qi, confidential=[case.sensitive])
    of_classes, others = audit.findings[: len(OF_CLASSES)], audit.findings[len(OF_CLASSES) :]
    assert found("equivalence_classes", sensitive=False) == sizes
    ((records, classes, k, *_, unique, highest, average, _),) = found(
        "risk", sensitive=False, keys=0
    ).values()
    persons = [size for (size,) in sizes.values()]
    assert (records, classes, k, unique) == (sum(persons), len(sizes), min(persons), persons.count(1))
    assert (highest, average) == (audit.risks[0].highest, audit.risks[0].average)
    for (macro, place, _, worst), finding in zip(OF_CLASSES, of_classes, strict=True):
        rows = found(macro)
        assert {group: row[:1] for group, row in rows.items()} == sizes
        assert worst(row[1 + place] for row in rows.values()) == pytest.approx(finding.reached)
    recursive, presence = found("recursive_diversity", least), found("presence", "everybody", sensitive=False)
    for rows in (recursive, presence):
        assert {group: row[:1] for group, row in rows.items()} == sizes
    confidences = found("confidence", keys=3)
    assert all((n,) == sizes[key[:2]] and share == m / n for key, (m, n, share) in confidences.items())
    numbers = [max(row[1] for row in recursive.values()), min(row[1] for row in presence.values())]
    numbers += [max(row[2] for row in rows.values()) for rows in (presence, confidences)]
    assert numbers[: len(others)] == pytest.approx([finding.reached for finding in others])
    counts = Counter(status for _, status in found("identifiable").values())
    (identified,) = audit.identifiable
    assert (counts["uniquely"], counts["collectively"]) == (identified.unique, identified.groups)


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
    assert names - asked == set(column_meanings(PAGE))
