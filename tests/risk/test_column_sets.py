"""Sets of columns, keys, minimal sample uniques and SUDA are those of brute force and of the sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from math import factorial
from typing import Any

import duckdb
import pytest
from filling import fill
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in

import ppdm_sql
from ppdm_sql.engine.names import Table, quoted
from ppdm_sql.errors import InvalidOption
from ppdm_sql.macros import macros

Row = tuple[Any, ...]
NAMES = ['a"b; DROP', "records", "atom", "columns"]
CELLS = [["x", "y", None], [1, 2, None], [0.5, None, 1.5], ["", "NULL", None]]
ROWS = st.lists(st.tuples(*map(st.sampled_from, CELLS)), min_size=1, max_size=14)


def table(rows: Sequence[Row], names: Sequence[str] = NAMES, kinds: Sequence[str] = ()) -> ppdm_sql.Database:
    con = duckdb.connect(config={"threads": 1})
    kinds = kinds or ["VARCHAR", "INTEGER", "DOUBLE", "VARCHAR", "VARCHAR"]
    fill(con, "t", dict(zip(names, kinds, strict=False)), rows)
    return ppdm_sql.open(con)


def put_macros(db: ppdm_sql.Database) -> None:
    """Put the macros of sets of columns there, without the ceremony of an installation."""
    for macro in macros():
        if macro.name in ("ppdm_minimal_uniques", "ppdm_separation"):
            db.engine.connection.execute(macro.creation(Table(macro.name)))


class Brute:
    """What follows from the rows by counting each set of columns for itself."""

    def __init__(self, rows: Sequence[Row], names: Sequence[str], max_size: int, persons: Sequence[Any] = ()):
        self.names, self.rows = names, rows
        self.persons = list(persons) or list(range(len(rows)))
        places = range(len(names))
        self.sets = [c for size in range(1, max_size + 1) for c in combinations(places, size)]
        self.classes = {chosen: self._classes(chosen) for chosen in self.sets}
        self.alone = {
            chosen: [len(self.classes[chosen][self._part(chosen, row)]) == 1 for row in rows]
            for chosen in self.sets
        }
        self.minimal = [
            [
                chosen
                for chosen in self.sets
                if self.alone[chosen][number]
                and not any(self.alone[some][number] for some in self.sets if set(some) < set(chosen))
            ]
            for number in range(len(rows))
        ]

    def _part(self, chosen: Sequence[int], row: Row) -> Row:
        return tuple(row[place] for place in chosen)

    def _classes(self, chosen: Sequence[int]) -> dict[Row, set[Any]]:
        found: dict[Row, set[Any]] = defaultdict(set)
        for row, person in zip(self.rows, self.persons, strict=True):
            found[self._part(chosen, row)].add(person)
        return found

    def measures(self, chosen: tuple[int, ...]) -> tuple[int, int, float, float]:
        sizes = [len(persons) for persons in self.classes[chosen].values()]
        n = sum(sizes)
        apart = 1 - sum(f * (f - 1) for f in sizes) / (n * (n - 1)) if n > 1 else 1.0
        return len(sizes), sizes.count(1), len(sizes) / n, apart

    def keys(self) -> set[frozenset[str]]:
        keys = [set(c) for c in self.sets if all(len(who) == 1 for who in self.classes[c].values())]
        return {frozenset(self.names[p] for p in c) for c in keys if not any(k < c for k in keys)}

    def score(self, number: int) -> float:
        return sum(float(factorial(len(self.names) - len(chosen))) for chosen in self.minimal[number])


@one_in(3)
@given(ROWS, st.integers(1, 4))
def test_sets_and_keys_are_those_of_brute_force(rows: list[Row], max_size: int) -> None:
    found, brute = table(rows).risk("t", by=NAMES, max_size=max_size), Brute(rows, NAMES, max_size)
    for one in found.sets:
        measured = brute.measures(tuple(map(NAMES.index, one.columns)))
        assert (one.classes, one.alone, one.distinction) == measured[:3]
        assert one.separation == pytest.approx(measured[3], abs=1e-12)
        assert one.share_alone == pytest.approx(one.alone / len(rows))
    keys = {frozenset(key) for key in found.keys}
    assert keys == brute.keys()
    counted = {frozenset(one.columns) for one in found.sets}
    every = {frozenset(NAMES[place] for place in chosen) for chosen in brute.sets}
    assert counted == {one for one in every if not any(key < one for key in keys)}


@one_in(3)
@given(ROWS, st.integers(1, 4))
def test_minimal_uniques_and_scores_are_those_of_brute_force(rows: list[Row], max_size: int) -> None:
    db, brute = table(rows), Brute(rows, NAMES, max_size)
    found = db.risk("t", by=NAMES, max_size=max_size, into="scored")
    of_sets = Counter(NAMES[p] for each in brute.minimal for c in each for p in c)
    assert sum(one.minimal_uniques for one in found.sets) == sum(map(len, brute.minimal))
    assert {name: part > 0 for name, part in found.suda.by_column.items()} == {
        name: of_sets[name] > 0 for name in NAMES
    }
    scores = [brute.score(number) for number in range(len(rows))]
    total = sum(scores)
    for place, name in enumerate(NAMES):
        part = sum(factorial(4 - len(c)) for each in brute.minimal for c in each if place in c)
        assert found.suda.by_column[name] == pytest.approx(part / total if total else 0)
    values: Counter[tuple[str, Any]] = Counter()
    for row, each in zip(rows, brute.minimal, strict=True):
        for chosen in each:
            for place in chosen:
                text = None if row[place] is None else str(row[place])
                values[NAMES[place], text] += factorial(4 - len(chosen))
    for name, value, part in found.suda.by_value:
        assert part == pytest.approx(values[name, value] / total)
    most = sorted(values.values(), reverse=True)[:10]
    assert [part * total for *_, part in found.suda.by_value] == pytest.approx(most)
    names = ", ".join(map(quoted, NAMES))
    written = db.engine.connection.execute(
        f"SELECT {names}, suda_score, minimal_uniques, smallest_unique FROM scored"
    ).fetchall()
    sizes = [[len(c) for c in each] for each in brute.minimal]
    wanted = [
        (*row, score, len(each), min(each, default=None))
        for row, score, each in zip(rows, scores, sizes, strict=True)
    ]
    assert Counter(written) == Counter(wanted)
    smallest = Counter(min(each) for each in sizes if each)
    assert {size: records for size, _, records in found.suda.by_size if records} == smallest
    assert found.suda.records == smallest.total()


@one_in(3)
@given(ROWS, st.integers(1, 3))
def test_the_macros_agree_with_brute_force(rows: list[Row], max_size: int) -> None:
    db, brute = table(rows), Brute(rows, NAMES, max_size)
    put_macros(db)
    asked = "FROM ppdm_minimal_uniques('t', $names, max_size := $size)"
    found = db.engine.connection.execute(asked, {"names": NAMES, "size": max_size}).fetchall()
    wanted = [
        (*row, [NAMES[place] for place in chosen], factorial(4 - len(chosen)))
        for row, each in zip(rows, brute.minimal, strict=True)
        for chosen in each
    ]
    assert sorted(map(str, found)) == sorted(str((*one[:-1], float(one[-1]))) for one in wanted)
    measured = db.engine.connection.execute("FROM ppdm_separation('t', $names)", {"names": NAMES}).fetchall()
    whole = Brute(rows, NAMES, 4).measures((0, 1, 2, 3))
    assert measured == [(len(rows), *whole[:3], pytest.approx(whole[3], abs=1e-12))]


@one_in(3)
@given(st.lists(st.tuples(*map(st.sampled_from, CELLS), st.integers(1, 4)), min_size=1, max_size=12))
def test_with_persons_all_counts_are_of_persons(rows: list[Row]) -> None:
    db = table(rows, [*NAMES, "who"], ["VARCHAR", "INTEGER", "DOUBLE", "VARCHAR", "INTEGER"])
    brute = Brute([row[:4] for row in rows], NAMES, 3, [row[4] for row in rows])
    found = db.risk("t", by=NAMES, person="who", into="scored")
    for one in found.sets:
        measured = brute.measures(tuple(map(NAMES.index, one.columns)))
        assert (one.classes, one.alone, one.distinction) == measured[:3]
        assert one.separation == pytest.approx(measured[3], abs=1e-12)
    assert {frozenset(key) for key in found.keys} == brute.keys()
    put_macros(db)
    asked = "SELECT sum(suda_score) FROM ppdm_minimal_uniques('t', $names, person := 'who')"
    ((total,),) = db.engine.connection.execute(asked, {"names": NAMES}).fetchall()
    assert (total or 0) == sum(map(brute.score, range(len(rows))))
    by_row = {row[:4]: brute.score(number) for number, row in enumerate(rows)}
    for *row, score in db.engine.connection.execute(
        f"SELECT {', '.join(map(quoted, NAMES))}, suda_score FROM scored"
    ).fetchall():
        assert score == by_row[tuple(row)]


# -- figures of the sources ----------------------------------------------------------------------


def scores_of(db: ppdm_sql.Database, names: Sequence[str]) -> list[float]:
    """The SUDA scores in the order of the rows, by all sets of columns."""
    db.risk("t", by=names, max_size=len(names), into="scored")
    return [
        row[0] for row in db.engine.connection.execute("SELECT suda_score FROM scored ORDER BY n").fetchall()
    ]


def numbered(rows: Sequence[Row], names: Sequence[str]) -> ppdm_sql.Database:
    kinds = [*(["VARCHAR"] * len(names)), "INTEGER"]
    return table([(*row, number) for number, row in enumerate(rows)], [*names, "n"], kinds)


def test_the_example_of_the_practice_guide() -> None:
    # sdcMicro, test_suda2.R, "suda2 sdc guideline": the ten records of the guide of the World Bank
    names = ["Residence", "Gender", "Education", "Labor"]
    rows = [
        ("Urban", "Female", "Secondary incomplete", "Employed"),
        ("Urban", "Female", "Secondary incomplete", "Employed"),
        ("Urban", "Female", "Primary incomplete", "Non-LF"),
        ("Urban", "Male", "Secondary complete", "Employed"),
        ("Rural", "Female", "Secondary complete", "Unemployed"),
        ("Urban", "Male", "Secondary complete", "Employed"),
        ("Urban", "Female", "Primary complete", "Non-LF"),
        ("Urban", "Male", "Post-secondary", "Unemployed"),
        ("Urban", "Female", "Secondary incomplete", "Non-LF"),
        ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ]
    assert scores_of(numbered(rows, names), names) == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_the_example_of_the_book() -> None:
    # sdcMicro, test_suda2.R, "suda2 book example"
    names = ["age", "gender", "income", "education"]
    rows = [
        ("20s", "male", "50k+", "highschool"),
        ("20s", "male", "50k+", "highschool"),
        ("20s", "male", "50k-", "highschool"),
        ("20s", "male", "50k-", "highschool"),
        ("20s", "female", "50k-", "university"),
        ("20s", "female", "50k-", "highschool"),
        ("20s", "female", "50k-", "middleschool"),
        ("60s", "male", "50k-", "university"),
    ]
    assert scores_of(numbered(rows, names), names) == [0, 0, 0, 0, 4, 2, 6, 8]


def test_the_contributions_of_columns() -> None:
    # sdcMicro, test_suda2.R, "suda2 simple example contrubtion": 50, 37.5 and 37.5 per cent
    found = table([(2, 0, 0), (1, 3, 6), (1, 0, 0)], ["a", "b", "c"], ["INTEGER"] * 3).risk("t")
    assert found.suda.by_column == {"a": 0.5, "b": 0.375, "c": 0.375}


def test_dis_suda_by_hand() -> None:
    rows = [("x", 1), ("x", 2), ("y", 3), ("z", 4), ("z", 4)]
    db = numbered(rows, ["a", "b"])
    found = db.risk("t", by=["a", "b"], into="scored")
    # three records are alone, two are a pair: DIS = .03 / (.03 + 2 * .99); scores 1, 1, 2; Q = 1.3
    dis = 0.03 / (0.03 + 2 * 0.99)
    assert found.suda.disclosive == pytest.approx(dis)
    written = db.engine.connection.execute("SELECT suda_score, dis_suda FROM scored ORDER BY n").fetchall()
    factor = sum(score**-1.3 for score, _ in written if score)
    for score, probability in written:
        wanted = 1 / (1 + (3 / dis - 3) / (score**1.3 * factor)) if score else None
        assert probability == (wanted if wanted is None else pytest.approx(wanted))
    assert found.suda.highest == pytest.approx(max(p for _, p in written if p))


# -- bounds, hostile tables ----------------------------------------------------------------------


def test_one_row_is_a_key_by_each_column() -> None:
    found = table([("x", None, 0.5, "")]).risk("t")
    assert set(found.keys) == {(name,) for name in NAMES}
    assert [one.separation for one in found.sets] == [1.0] * 4
    assert found.requirement is None


def test_many_values_are_counted_whole() -> None:
    db = table([("x", 1)], ["a", "b"])
    db.engine.connection.execute("INSERT INTO t SELECT 'v' || i // 2, i % 2 FROM range(60000) r (i)")
    found = db.risk("t", by=["a", "b"])
    assert [(one.columns, one.classes, one.alone) for one in found.columns] == [
        (("a",), 30001, 1),
        (("b",), 2, 0),
    ]
    assert found.keys == (("a", "b"),)


def test_too_many_sets_are_refused_with_what_to_type() -> None:
    names = [f"c{number}" for number in range(61)]
    db = table([tuple(range(61))], names, ["INTEGER"] * 61)
    with pytest.raises(InvalidOption, match="--by A,B"):
        db.risk("t", max_size=1)
    with pytest.raises(InvalidOption, match="20,000"):
        db.risk("t", by=names[:60])
    assert len(db.risk("t", by=names[:60], max_size=1).sets) == 60


def test_with_many_columns_there_is_no_dis_suda() -> None:
    names = [f"c{number}" for number in range(28)]
    db = table([tuple(range(28)), tuple(range(1, 29)), tuple(range(28))], names, ["INTEGER"] * 28)
    found = db.risk("t", by=names, max_size=1, into="scored")
    assert found.suda.disclosive is None is found.suda.highest
    assert any("DIS-SUDA" in notice for notice in found.notices)
    assert db.engine.connection.execute(
        "SELECT count(dis_suda), max(suda_score) > 0 FROM scored"
    ).fetchall() == [(0, True)]
