"""Levels: labels of a sensitive column counted as if a view had made a column of them."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import assert_explained, execute, ppdm
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in

import ppdm_sql
from ppdm_sql.engine import Column, Engine
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, PpdmError
from ppdm_sql.methods.two_party.request import IntegrateRequest, Ownership
from ppdm_sql.privacy import parse, redundancies
from ppdm_sql.privacy.level import HierarchyLevel
from ppdm_sql.taxonomy.derived import DerivedTaxonomy

CODES = ["A00", "A00.1", "A01", "B2", "B", "b2", "", "Ä01", None]
DAYS = [date(2019, 12, 31), date(2020, 1, 1), date(2020, 4, 1), date(2031, 2, 3), None]
AMOUNTS = [-21, -20, -1, 0, 19, 20, 10**17 + 19, 10**17 + 20, None]
GROUPS = {
    "A00": "gut",
    "A00.1": "gut",
    "A01": "gut",
    "B2": "0",
    "B": "0",
    "b2": "0",
    "": "rest",
    "Ä01": "rest",
}
WIDE = ((-100, -20), (-20, 0), (0, 10**17 + 20), (10**17 + 20, 10**18))
LEVELS: dict[str, tuple[str, list[Any], Any]] = {
    "prefixes 1": ("VARCHAR", CODES, lambda code: code[:1]),
    "prefixes 3": ("VARCHAR", CODES, lambda code: code[:3]),
    "dates quarter": ("DATE", DAYS, lambda day: date(day.year, (day.month - 1) // 3 * 3 + 1, 1)),
    "dates decade": ("DATE", DAYS, lambda day: date(day.year // 10 * 10, 1, 1)),
    "ranges 20": ("BIGINT", AMOUNTS, lambda amount: amount // 20 * 20),
    "codes.csv level 1": ("VARCHAR", CODES, lambda code: GROUPS[code]),
    "'the amounts.csv' level 2": ("BIGINT", AMOUNTS, lambda amount: "owed" if amount < 0 else "had"),
}
"""The type of a column, values, and what each becomes, in Python."""
DEMANDS = (
    "distinct l >= 2",
    "entropy l >= 1.5",
    "recursive c = 4, l = 2",
    "t <= 0.4",
    "beta <= 2",
    "enhanced beta <= 3",
    "delta <= 3",
    "-> <= 60%",
)
"""Of s on x and y; the last is a template."""
HOSTILE = 'it\'s "by" prefixes 1; --'


@pytest.fixture(autouse=True, scope="module")
def _hierarchies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Go to a folder with the files of hierarchies."""
    before, folder = Path.cwd(), tmp_path_factory.mktemp("hierarchies")
    os.chdir(folder)
    with open("codes.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows(
            [c, g, "*"] for c, g in GROUPS.items()
        )
    lines = (f"[{low}, {high});{low} on;{'owed' if low < 0 else 'had'};*\n" for low, high in WIDE)
    Path("the amounts.csv").write_text("".join(lines))
    yield
    os.chdir(before)


def over(demand: str, sensitive: str) -> str:
    """Write a demand on s or its labels."""
    if demand.startswith("->"):
        return f"x, y -> {sensitive}{demand.removeprefix('->')}"
    return f"{demand} of {sensitive} on x, y"


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, list[list[Any]]]:
    """Draw a demand, a level and rows of x, y, s, its label, a class and a person."""
    level = draw(st.sampled_from(list(LEVELS)))
    _, values, label = LEVELS[level]
    row = st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.sampled_from(values), st.booleans())
    drawn = draw(st.lists(row, min_size=1, max_size=40))
    rows = [
        [x, y, s, None if s is None else label(s), c, place * 2 // 3]
        for place, (x, y, s, c) in enumerate(drawn)
    ]
    return draw(st.sampled_from(DEMANDS)), level, rows


def opened(level: str, rows: Sequence[Sequence[Any]], s: str = "s") -> ppdm_sql.Database:
    """Open a database with the rows in the table t, which has the labels beside the values."""
    kind, con = LEVELS[level][0], duckdb.connect()
    label = "VARCHAR" if ".csv" in level else kind
    sensitive = '"' + s.replace('"', '""') + '"'
    con.execute(f"CREATE TABLE t (x VARCHAR, y INTEGER, {sensitive} {kind}, m {label}, c BOOLEAN, p INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", list(map(list, rows)))
    return ppdm_sql.open(con)


def run(db: ppdm_sql.Database, asked: str, **options: Any) -> tuple[list[Any], list[Any]] | str:
    """Release the table; give the steps and the masked columns, or say that nothing can be."""
    generalize = db.suppress if options.pop("suppression", False) else db.generalize
    try:
        release = generalize("t", [asked], class_column="c", into="r", **options)
    except GuaranteeNotMet as error:
        return str(error).partition(": ")[2]
    verified = release.verify()
    assert verified.holds
    assert str(verified.findings[0].requirement).endswith(asked.partition(" of ")[2])
    steps = [(step.attribute, step.parent, step.children, step.score, step.loss) for step in release.steps()]
    rows = release.relation().project("x, y, c").fetchall()
    release.drop()
    return steps, sorted(map(str, rows))


@given(
    case=cases(),
    options=st.sampled_from(
        [
            {},
            {"suppression": True},
            {"method": "hce-tdr", "suppress": ["x"]},
            {"suppress_records": "20%"},
            {"person": "p"},
        ]
    ),
)
@one_in(5)
def test_a_run_over_a_level_is_that_over_a_column_of_its_labels(
    case: tuple[str, str, list[list[Any]]], options: dict[str, Any]
) -> None:
    demand, level, rows = case
    with opened(level, rows) as db:
        over_level = run(db, over(demand, f"s by {level}"), **options)
        assert over_level == run(db, over(demand, "m"), **options)


@given(case=cases(), person=st.sampled_from([(), ("p",)]))
@one_in(5)
def test_the_audit_of_a_level_is_that_of_a_column_of_its_labels(
    case: tuple[str, str, list[list[Any]]], person: tuple[str, ...]
) -> None:
    demand, level, rows = case
    with opened(level, rows, HOSTILE) as db:
        quoted = HOSTILE.replace('"', '""')
        texts = [over(demand, f'"{quoted}" by {level}'), over(demand, "m")]
        found = db.audit("t", texts, person=person, groups=9)
        told = [
            (one.holds, one.reached, one.classes, one.violating_classes, one.violating_records)
            for one in found.findings
        ]
        assert told[0] == told[1]
        worst = [[g.values for g in found.worst if str(g.requirement) == text] for text in texts]
        assert worst[0] == worst[1]


@pytest.mark.parametrize("level", ["prefixes 1", "prefixes 3", "dates quarter", "dates decade"])
def test_labels_part_values_as_the_taxonomy_of_the_rule_does(level: str) -> None:
    kind, values, label = LEVELS[level]
    engine = Engine(duckdb.connect())
    held = engine.materialize("v", f"SELECT unnest($v::{kind}[]) AS value", {"v": values})
    taxonomy = DerivedTaxonomy.named(level).of_values(engine, held, Column("s", kind), table="t")
    group = {leaf: rest[0] if rest[1:] else leaf for leaf, *rest in taxonomy.paths()}
    some = [value for value in values if value is not None]
    assert [[group[str(a)] == group[str(b)] for a in some] for b in some] == [
        [label(a) == label(b) for a in some] for b in some
    ]


def test_a_file_becomes_a_release_that_every_door_holds_to_its_level(tmp_path: Path) -> None:
    """Columns that are called like the labels, and like SQL, stay what they are."""
    file, made = tmp_path / "v.csv", f"{HOSTILE} by prefixes 1"
    quoted = '"' + HOSTILE.replace('"', '""') + '"'
    with duckdb.connect() as con:
        con.execute(
            f"""COPY (SELECT i % 2 AS sex, i % 9 AS age, chr((65 + i % 5 // 2)::INT) || i % 7 AS {quoted},
            i % 3 AS cls, 'u' || i % 4 AS "{made.upper().replace('"', '""')}" FROM range(180) AS r (i))
            TO '{file}' (HEADER)"""
        )
    db, asked = tmp_path / "b.duckdb", f"distinct l >= 3 of {quoted} by prefixes 1 on sex, age"
    ran = ppdm("generalize", db, file, "--require", asked, "--class", "cls", "--into", "safe")
    assert ran.exit_code == 0, ran.stderr
    assert asked in ppdm("show", db, "safe").stdout
    assert ppdm("verify", db, "safe").exit_code == 0
    ((least,),) = execute(
        db, f"SELECT min(l) FROM (SELECT count(DISTINCT left({quoted}, 1)) AS l FROM safe GROUP BY sex, age)"
    )
    assert least == 3
    assert ppdm("report", db, "safe", tmp_path / "r.html").exit_code == 0
    assert "by prefixes 1 on sex, age" in (tmp_path / "r.html").read_text()
    assert ppdm("audit", db, "safe", "--require", asked.replace(">= 3", ">= 4")).exit_code == 1
    ran = ppdm("audit", db, "safe", "--require", asked.replace("prefixes 1 on", "dates year on"))
    assert_explained(
        ran, code=2, problem="holds VARCHAR, not dates or timestamps, which 'by dates year' is for"
    )


def test_calls_in_sql_take_a_level_and_two_parties_are_told_that_they_do_not() -> None:
    con, asked = duckdb.connect(), "distinct l >= 2 of s by prefixes 1 on x"
    ppdm_sql.register(con)
    con.execute(
        "CREATE TABLE t AS SELECT i % 3 AS x, (i % 2) || 'A' || i AS s, i % 2 AS c FROM range(90) r(i)"
    )
    con.execute("CALL ppdm_suppress('t', 'r', require := [$asked], class := 'c')", {"asked": asked})
    assert ppdm_sql.open(con).release("r").verify().holds
    asks = IntegrateRequest(require=[asked], class_column="c", into="r", key=["id"], owns=["x"])
    with pytest.raises(InvalidOption, match=r"drive a run of two parties.*leave 'by prefixes 1' out"):
        Ownership.of(asks, [Column(name, "VARCHAR") for name in ("id", "x", "s", "c")], "t")


def test_a_release_is_verified_by_the_hierarchy_that_it_was_made_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{code};{code // 10}x;*\n" for code in range(200, 260)]
    Path("codes.csv").write_text("".join(lines))
    asked = "distinct l >= 4 of code by codes.csv level 1 on sex, age"
    execute(
        Path("b.duckdb"),
        "CREATE TABLE t AS SELECT i % 2 AS sex, i % 9 AS age, (200 + i % 60)::DOUBLE AS code "
        "FROM range(900) AS r (i)",
    )
    for command in ("suppress", "generalize"):
        ran = ppdm(command, "b.duckdb", "t", "--require", asked, "--keep", "code", "--into", command)
        assert ran.exit_code == 0, ran.stderr
        assert "code" in ppdm("show", "b.duckdb", command).stdout
    assert ppdm("export", "b.duckdb", "suppress", "safe.parquet").exit_code == 0
    assert ppdm("audit", ":memory:", "safe.parquet", "--require", asked).exit_code == 0
    assert ppdm("apply", "b.duckdb", "suppress", "t", "--into", "again").exit_code == 0
    assert ppdm("compare", "b.duckdb", "t", "--require", asked, "--method", "pda").exit_code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ppdm("verify", "../b.duckdb", "suppress").exit_code == 0
    Path("../codes.csv").write_text("".join(lines).replace(";25x", ";24x"))
    ran = ppdm("verify", "../b.duckdb", "suppress")
    assert_explained(ran, code=2, problem="codes.csv' is not as it was when the release was made by it")
    Path("../codes.csv").unlink()
    assert_explained(ppdm("verify", "../b.duckdb", "suppress"), code=2, problem="cannot be read")


@pytest.mark.parametrize(
    ("level", "problem"),
    [
        ("codes.csv level 3", "has no level 3"),
        ("none.csv level 1", "'none.csv' cannot be read"),
        ("'the amounts.csv' level 1", "1 of the 2 values of column 's' are not in the hierarchy"),
        ("codes.csv", "Expected 'level' and its number"),
        ("level 1", "or the file of a hierarchy"),
    ],
)
def test_a_hierarchy_that_cannot_be_used_is_explained(level: str, problem: str) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 1 AS x, unnest(['A00', '[0, 100000000000000020)']) AS s")
    with pytest.raises(PpdmError, match=re.escape(problem)) as failed:
        ppdm_sql.open(con).audit("t", [f"distinct l of s by {level} on x"])
    assert "A00" not in str(failed.value)


def test_numbers_without_a_multiple_below_them_count_as_null() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (x INTEGER DEFAULT 1, s DOUBLE)")
    con.execute("INSERT INTO t (s) VALUES ('nan'), ('inf'), (1e300), (NULL), (-0.5), (0.5)")
    (found,) = ppdm_sql.open(con).audit("t", ["distinct l of s by ranges 10 on x"]).findings
    assert found.reached == 3


@pytest.mark.parametrize("path", ["level x's.csv", "dates-d'avril.csv", "prefixes\\.csv", "plain.csv"])
def test_a_level_is_read_back_as_it_is_written(path: str) -> None:
    level = HierarchyLevel(path, 1)
    assert parse(f"distinct l >= 2 of s by {level} on x").level == level


def test_a_template_over_a_level_does_not_follow_from_one_over_values() -> None:
    over_values, over_level = parse("x, y -> s <= 60%"), parse("x -> s by prefixes 1 = F <= 60%")
    assert not redundancies([over_values, over_level])
