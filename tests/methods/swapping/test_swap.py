"""Swapping through the Python interface: what is promised, refused, told, and kept."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from filling import quote
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in
from swap_releases import Changes, Heard, by_hand, changes, rows_of, swap

import ppdm_sql
import ppdm_sql.methods.swapping.swap as run
from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.errors import (
    ColumnRoleError,
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PpdmError,
    UnknownColumn,
)
from ppdm_sql.methods.base.collapse import Atoms

HOSTILE = ["it's", 'Größe ✓"; DROP TABLE t; --', "a.b", "pattern", "n"]
HALF = Fraction(1, 2)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """The paper's policies, and 600 people of whom half are alone with their age and sex."""
    with duckdb.connect() as opened:
        examples.write(Engine(opened))
        opened.execute(
            """
            CREATE TABLE t AS SELECT
                i AS id, if(i < 300, i, 300 + i % 60) AS age, if(i % 2 = 0, 'f', 'm') AS sex,
                ['flu', 'cold', 'none'][if(i < 300, hash(i) % 3, (i % 60) % 3)::INTEGER + 1] AS ill,
                (hash(i, 1) % 1000)::INTEGER AS pay, i % 3 = 0 AS good
            FROM range(600) AS r (i)
            """
        )
        yield opened


def compared(
    con: duckdb.DuckDBPyConnection, confidential: str = "ill", by: tuple[str, ...] = ("age", "sex")
) -> Changes:
    columns = [*by, confidential]
    return changes(rows_of(con, "t", columns), rows_of(con, "safe", columns))


def catalogue(con: duckdb.DuckDBPyConnection) -> list[Any]:
    """Every object and every row of the catalogue."""
    objects = (
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() ORDER BY 1"
    )
    found: list[Any] = con.execute(objects).fetchall()
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ppdm'").fetchall()
    return found + [con.execute(f"FROM ppdm.{quote(name)}").fetchall() for (name,) in tables]


# -- what a swap changes, and what it keeps ---------------------------------------------------------


def test_columns_keep_their_order_names_and_values_and_what_nobody_named_is_left_out(
    con: duckdb.DuckDBPyConnection,
) -> None:
    before = con.execute("FROM t").fetchall()
    release = swap(con, keep=["id"])
    assert release.relation().columns == ["id", "age", "sex", "ill"]
    others = ["id", "age", "sex"]
    assert sorted(rows_of(con, "t", others)) == sorted(rows_of(con, "safe", others))
    assert con.execute("FROM t").fetchall() == before


@pytest.mark.parametrize(("per_group", "read"), [(2, 2), (99, 99), ("50%", HALF)])
def test_so_many_members_of_each_group_change(
    con: duckdb.DuckDBPyConnection, per_group: Any, read: int | Fraction
) -> None:
    swap(con, per_group=per_group)
    found = compared(con)
    assert len(found.groups) == 60
    assert found.follows(HALF, read)


@pytest.mark.parametrize("proportion", ["1/3", "25%", 0.1])
def test_the_proportion_is_read_exactly(con: duckdb.DuckDBPyConnection, proportion: Any) -> None:
    swap(con, proportion=proportion)
    asked = Fraction("0.25") if proportion == "25%" else Fraction(str(proportion))
    assert compared(con).follows(asked)


@pytest.mark.parametrize(("method", "phase1"), [("exact", "separate"), ("greedy", "joint")])
def test_all_methods_keep_the_constraints(con: duckdb.DuckDBPyConnection, method: str, phase1: str) -> None:
    release = swap(con, method=method, phase1=phase1)
    assert compared(con).follows(HALF)
    assert (release.row().parameters["method"], release.row().parameters["phase1"]) == (method, phase1)


def test_counted_rows_are_swapped_as_the_records_that_they_stand_for(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE counted AS SELECT age, sex, ill, count(*) AS n FROM t GROUP BY ALL")
    con.execute("INSERT INTO counted VALUES (999, 'f', 'flu', 0)")
    swap(con, seed=5)
    swap(con, "counted", seed=5, count_column="n", into="safe_counted")
    columns = ["age", "sex", "ill"]
    assert Counter(rows_of(con, "safe_counted", columns, "n")) == Counter(rows_of(con, "safe", columns))
    grouped = con.execute("SELECT count(*) FROM safe_counted GROUP BY age, sex, ill HAVING count(*) > 1")
    assert grouped.fetchall() == []


def test_nothing_identifiable_is_said_and_released_as_it_is(con: duckdb.DuckDBPyConnection) -> None:
    heard = Heard()
    con.execute("CREATE TABLE open AS SELECT i % 2 AS age, 'f' AS sex, if(i < 4, 'flu', 'cold') AS ill "
                "FROM range(8) AS r (i)")  # fmt: skip
    release = swap(con, "open", progress=heard)
    columns = ["age", "sex", "ill"]
    assert sorted(rows_of(con, "safe", columns)) == sorted(rows_of(con, "open", columns))
    assert any("No record is identifiable" in text for text in heard.notices)
    assert release.verify().holds


def test_an_enum_is_released_as_text(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TYPE illness AS ENUM ('flu', 'cold', 'none', 'Secret-Numbat')")
    con.execute("ALTER TABLE t ALTER ill TYPE illness")
    release = swap(con)
    assert "ENUM" not in str(release.relation().types)
    assert compared(con).follows(HALF)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_values(con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    age, ill, kept = f"{name} age", name, f"{name} kept"
    value = name.replace("'", "''")
    con.execute(
        f"CREATE TABLE hostile AS SELECT age AS {quote(age)}, ill || '{value}' AS {quote(ill)}, "
        f"id AS {quote(kept)} FROM t"
    )
    release = swap(con, "hostile", confidential=[ill], by=[age], keep=[kept], into=name)
    assert release.verify().holds
    columns = [age, ill]
    found = changes(rows_of(con, "hostile", columns), rows_of(con, name, columns))
    assert found.follows(HALF)
    release.export(tmp_path / "x.duckdb")
    release.drop()
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(600,)]


records = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", "z", None]), st.sampled_from("klmn")),
    min_size=2,
    max_size=14,
).filter(lambda rows: len({row[2] for row in rows}) > 2)


@one_in(4)
@given(records, st.sampled_from(["0.5", "0.7", "1"]), st.sampled_from([1, 2]), st.integers(0, 9))
def test_any_small_table_is_swapped_as_asked_or_refused(
    rows: list[tuple[Any, ...]], proportion: str, per_group: int, seed: int
) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (age VARCHAR, sex VARCHAR, ill VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        release = swap(con, proportion=proportion, per_group=per_group, seed=seed)
        found = compared(con)
        assert found.follows(Fraction(proportion), per_group)
        assert release.verify().holds


# -- chance -----------------------------------------------------------------------------------------


def test_a_seed_repeats_a_run_whatever_the_threads_and_the_order_of_rows() -> None:
    contents = set()
    for threads, order in ((1, "id"), (4, "hash(id)"), (3, "-id")):
        with duckdb.connect(config={"threads": threads}) as con:
            con.execute(
                "CREATE TABLE t AS SELECT i AS id, i // 3 AS age, 'f' AS sex, "
                "['flu', 'cold', 'none'][((i // 3) % 3)::INTEGER + 1] AS ill FROM range(3000) AS r (i) "
                f"ORDER BY {order}"
            )
            con.execute("INSERT INTO t SELECT 9000 + id, 9000 + id, 'm', ill FROM t")
            swap(con, seed=7, keep=["id"], blur=0.25)
            contents.add(tuple(con.execute("FROM safe").fetchall()))
    assert len(contents) == 1


def test_which_member_of_a_group_changes_is_left_to_chance(con: duckdb.DuckDBPyConnection) -> None:
    chosen: Counter[int] = Counter()
    for seed in range(5):
        swap(con, keep=["id"], seed=seed, into=f"safe{seed}")
        changed = con.execute(
            f"SELECT (id - 300) // 60 FROM safe{seed} AS s JOIN t USING (id) "
            "WHERE s.ill <> t.ill AND id >= 300"
        ).fetchall()
        chosen.update(place for (place,) in changed)
    assert set(chosen) == set(range(5))
    assert max(chosen.values()) < 2 * min(chosen.values())


def test_without_a_seed_two_runs_differ(con: duckdb.DuckDBPyConnection) -> None:
    swap(con, keep=["id"])
    swap(con, keep=["id"], into="safe2")
    assert con.execute("FROM safe").fetchall() != con.execute("FROM safe2").fetchall()


# -- several attributes -----------------------------------------------------------------------------


def test_the_order_of_confidential_attributes_does_not_matter(con: duckdb.DuckDBPyConnection) -> None:
    more = {"bins": 4, "proportion": {"ill": 0.3, "PAY": 0.5}, "seed": 3}
    swap(con, confidential=["ill", "pay"], **more)
    swap(con, confidential=["pay", "ill"], into="safe2", **more)
    assert con.execute("FROM safe").fetchall() == con.execute("FROM safe2").fetchall()
    assert compared(con).follows(Fraction(3, 10))
    bins = con.execute("SELECT DISTINCT pay FROM safe").fetchall()
    assert len(bins) == 4


def test_each_attribute_is_identified_without_the_others(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("ALTER TABLE t ADD COLUMN job VARCHAR")
    con.execute("UPDATE t SET job = ill || '!'")
    heard = Heard()
    release = swap(con, confidential=["ill", "job"], progress=heard)
    assert compared(con).follows(HALF)
    assert compared(con, "job").follows(HALF)
    assert any("ill and job are correlated (Cramér's V 1.00)" in text for text in heard.notices)
    measured = {m.measure: m for m in release.measures()}
    correlation = measured["correlation (Cramér's V): ill, job"]
    assert correlation.before == pytest.approx(1)
    assert correlation.after is not None and correlation.after < 1


def test_attributes_that_are_not_correlated_are_not_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    heard = Heard()
    con.execute("CREATE TABLE free AS SELECT i AS age, 'f' AS sex, ['a', 'b'][i % 2 + 1] AS ill, "
                "['x', 'y', 'z'][i % 3 + 1] AS job FROM range(600) AS r (i)")  # fmt: skip
    swap(con, "free", confidential=["ill", "job"], progress=heard)
    assert not any("correlated" in text for text in heard.notices)


# -- numbers ----------------------------------------------------------------------------------------


def test_numbers_are_released_as_bins_of_about_equal_numbers_of_records(
    con: duckdb.DuckDBPyConnection,
) -> None:
    release = swap(con, confidential="pay", bins=4)
    sizes = con.execute("SELECT pay, count(*) FROM safe GROUP BY pay ORDER BY count(*)").fetchall()
    assert len(sizes) == 4
    assert all(label.startswith("[") and label[-1] in ")]" for label, _ in sizes)
    assert sizes[-1][1] - sizes[0][1] <= 30
    comment = "SELECT comment FROM duckdb_columns() WHERE table_name = 'safe' AND column_name = 'pay'"
    assert "bins" in con.execute(comment).fetchall()[0][0]
    labels = release.row().parameters["bins"]["pay"]
    assert [label.endswith("]") for label in labels] == [False, False, False, True]


def test_numbers_are_released_as_the_bins_between_the_edges(con: duckdb.DuckDBPyConnection) -> None:
    swap(con, confidential="pay", bins={"pay": [0, 250.5, "600", 1000]})
    con.execute(
        "CREATE TABLE binned AS SELECT age, sex, CASE WHEN pay < 250.5 THEN '[0, 250.5)' "
        "WHEN pay < 600 THEN '[250.5, 600)' ELSE '[600, 1000)' END AS pay FROM t"
    )
    columns = ["age", "sex", "pay"]
    assert changes(rows_of(con, "binned", columns), rows_of(con, "safe", columns)).follows(HALF)


def test_dates_are_binned(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE dated AS SELECT age, sex, DATE '2024-01-01' + pay AS ill FROM t")
    swap(con, "dated", bins={"ill": ["2024-01-01", "2025-01-01", "2027-01-01"]})
    shown = {value for (value,) in con.execute("SELECT ill FROM safe").fetchall()}
    assert shown == {"[2024-01-01, 2025-01-01)", "[2025-01-01, 2027-01-01)"}


REFUSED: dict[str, tuple[type[PpdmError], str, dict[str, Any]]] = {
    "numbers without bins": (InvalidOption, "--bins 5", {"confidential": "pay"}),
    "bins of text": (InvalidOption, "cannot be binned", {"bins": {"ill": 4}}),
    "one bin": (InvalidOption, "1 bins", {"confidential": "pay", "bins": 1}),
    "two edges": (InvalidOption, "1 bins", {"confidential": "pay", "bins": {"pay": [0, 1000]}}),
    "edges out of order": (InvalidOption, "ascending", {"confidential": "pay", "bins": {"pay": [0, 6, 2]}}),
    "edges in words": (InvalidOption, "ascending", {"confidential": "pay", "bins": {"pay": ["a", "b", "c"]}}),
    "values outside": (InvalidSource, "outside the", {"confidential": "pay", "bins": {"pay": [0, 5, 9]}}),
    "bins of a column that is not confidential": (InvalidOption, "not confidential", {"bins": {"age": 4}}),
    "no proportion": (InvalidOption, "No proportion", {"proportion": {}}),
    "proportion of another column": (InvalidOption, "not confidential", {"proportion": {"age": 0.5}}),
    "nothing to change": (InvalidOption, r"\(0, 1\]", {"proportion": 0}),
    "a proportion in words": (InvalidOption, "not a share", {"proportion": "half"}),
    "no member of a group": (InvalidOption, "--per-group", {"per_group": 0}),
    "half a member of a group": (InvalidOption, "--per-group", {"per_group": "150%"}),
    "shares out of order": (InvalidOption, "--share", {"share": (0.6, 0.4)}),
    "an unknown phase": (InvalidOption, "joint, separate", {"phase1": "lp"}),
    "no confidential column": (InvalidOption, "--confidential", {"confidential": []}),
    "no other column": (InvalidOption, "--by", {"by": []}),
    "unknown column": (UnknownColumn, "gae", {"by": ["gae"]}),
    "a column named twice": (ColumnRoleError, "twice", {"by": ["age", "AGE"]}),
    "confidential and known": (ColumnRoleError, "both confidential and", {"by": ["age", "ill"]}),
    "identifier and kept": (ColumnRoleError, "identifier", {"keep": ["id"], "identifiers": {"id": "drop"}}),
    "an unknown treatment": (InvalidOption, "pseudonym", {"identifiers": {"id": "hash"}}),
    "a name that is taken": (NameTaken, "policies", {"into": "policies"}),
    "two values, all changed": (InvalidOption, "reversed", {"confidential": "good", "proportion": 1}),
    "two values, nearly all": (GuaranteeNotMet, "all 300", {"confidential": "good", "proportion": 0.999}),
    "a noise below zero": (InvalidOption, "blur", {"blur": -1}),
    "a noise that is not a number": (InvalidOption, "blur", {"blur": float("nan")}),
    "a smoothing below zero": (InvalidOption, "smoothing", {"smoothing": -0.5}),
    "a smoothing without end": (InvalidOption, "smoothing", {"smoothing": float("inf")}),
    "a share without the proportion": (InvalidOption, "0.3 to 0.4 .*LOW <= 0.5", {"share": (0.3, 0.4)}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_or_protects_nobody_is_refused(con: duckdb.DuckDBPyConnection, name: str) -> None:
    kind, words, options = REFUSED[name]
    before = catalogue(con)
    with pytest.raises(kind, match=words):
        swap(con, **options)
    assert catalogue(con) == before


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE t SET ill = NULL WHERE id < 7", "'ill' is NULL in 7 records"),
        ("UPDATE t SET ill = 'flu'", "single value"),
        ("UPDATE t SET ill = 'v' || id", "600 values"),
        ("DELETE FROM t", "no records"),
    ],
)
def test_a_confidential_column_without_categories_is_refused(
    con: duckdb.DuckDBPyConnection, statement: str, words: str
) -> None:
    con.execute(statement)
    with pytest.raises(InvalidSource, match=words):
        swap(con)


def test_two_values_changed_in_most_records_are_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    heard = Heard()
    swap(con, confidential="good", proportion=0.6, progress=heard)
    assert any("the opposite" in text for text in heard.notices)


# -- the audit --------------------------------------------------------------------------------------


OPEN = "INSERT INTO t SELECT 1000 + i, 999, 'f', ['flu', 'cold'][i % 2 + 1], 1, true FROM range(6) AS r (i)"
"""Adds people whose age and sex leave open what they have."""


def _tampered(change: str) -> Callable[..., Atoms]:
    """Write as the run does, then change what was written."""
    written = run.apply_moves

    def apply_moves(engine: Engine, atoms: Atoms, *rest: Any, **options: Any) -> Atoms:
        done = written(engine, atoms, *rest, **options)
        select = f"SELECT * REPLACE ({change}) FROM {done.table}"
        return replace(done, table=engine.materialize("tampered", select))

    return apply_moves


# c0 and c1 are age and sex, c2 is ill, k0 is id. Ages 0 to 299 are unique, 300 to 359 groups, 360 is neither.
TAMPERED = {
    "no unique record": (
        "if(c0 < 300, (c0::INTEGER * 0)::USMALLINT, c2) AS c2",
        "uniquely identifiable records have",
    ),
    "a value that is not identifiable": (
        "if(c0 = 360, 0, c2)::USMALLINT AS c2",
        "1 other patterns have changed",
    ),
    "another column": ("if(c0 = 0, 1, c0)::USMALLINT AS c0", "released unchanged have changed in 2"),
    "a kept column": ("if(k0 = 0, 77, k0) AS k0", "released unchanged have changed in"),
    "a whole group": (
        "if(c0 = 300, 0, c2)::USMALLINT AS c2",
        "another number than asked has changed in 1 groups",
    ),
    "a record more": ("n + if(c0 = 0, 1, 0) AS n", "promised"),
    "values exchanged behind unchanged counts": (
        "CASE k0 WHEN 1000 THEN 1001 WHEN 1001 THEN 1000 ELSE k0 END AS k0",
        "1 other patterns have changed",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_the_audit_refuses_rows_that_are_not_what_was_promised(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    change, words = TAMPERED[name]
    con.execute(OPEN)
    before = catalogue(con)
    monkeypatch.setattr(run, "apply_moves", _tampered(change))
    with pytest.raises(GuaranteeNotMet, match=words):
        swap(con, keep=["id"])
    assert catalogue(con) == before


@pytest.mark.parametrize(("confidential", "proportion"), [("ill", 0.001), ("good", 0.999)])
def test_the_audit_by_itself_refuses_values_that_can_be_believed(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, confidential: str, proportion: float
) -> None:
    monkeypatch.setattr(run.SwapRun, "_check", lambda *arguments: None)
    with pytest.raises(GuaranteeNotMet, match="can be believed"):
        swap(con, confidential=confidential, proportion=proportion)


def test_values_that_are_always_true_are_told(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    con.execute("CREATE TABLE few AS SELECT i AS age, 'f' AS sex, ['flu', 'cold', 'none'][i % 3 + 1] AS ill "
                "FROM range(6) AS r (i)")  # fmt: skip
    monkeypatch.setattr(run.SwapRun, "plan", by_hand({("0", "f"): "cold", ("1", "f"): "flu"}))
    release = swap(con, "few", proportion="1/3", progress=heard)
    assert any(text.startswith("1 of 3 values of ill are true") for text in heard.notices)
    measured = {m.measure: m.after for m in release.measures()}
    assert measured["largest share of a uniquely identifiable value that is true: ill"] == 1


def test_a_source_that_changes_during_the_run_is_found(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = run.SwapRun.plan

    def plan(*arguments: Any) -> Any:
        con.execute("INSERT INTO t VALUES (9999, 9999, 'f', 'flu', 1, true)")
        return planned(*arguments)

    monkeypatch.setattr(run.SwapRun, "plan", plan)
    with pytest.raises(GuaranteeNotMet, match="unchanged have changed"):
        swap(con)


def test_the_measures_count_what_the_audit_saw(con: duckdb.DuckDBPyConnection) -> None:
    measured = {m.measure: (m.before, m.after) for m in swap(con).measures()}
    found = compared(con)
    assert measured["uniquely identifiable records: ill"] == (300, 300)
    assert measured["collectively identifiable records: ill"] == (300, 0)
    assert measured["uniquely identifiable records changed: ill"] == (None, found.changed_unique)
    assert measured["collectively identifiable records changed: ill"] == (None, 60)
    differ = sum(abs(found.after[value] - found.before[value]) for value in found.before)
    assert measured["marginal deviation: ill"] == (None, differ)


# -- the release ------------------------------------------------------------------------------------


def test_a_swap_release_has_no_macro_and_dropping_it_leaves_that_of_somebody_else(
    con: duckdb.DuckDBPyConnection,
) -> None:
    release = swap(con)
    with pytest.raises(InvalidOption):
        ppdm_sql.open(con).apply(release, "t", into="other")
    con.execute("CREATE MACRO safe_at(step) AS TABLE SELECT step")
    release.drop()
    assert con.execute("FROM safe_at(3)").fetchall() == [(3,)]
    assert con.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'release_safe'"
    ).fetchall() == [(0,)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ppdm.release_safe SET ill = 'flu' WHERE age = 300",
        "UPDATE ppdm.release_safe SET ill = 'other' WHERE age = 300",
        "DELETE FROM ppdm.release_safe WHERE age = 300",
        "ALTER TABLE ppdm.release_safe ADD COLUMN id INTEGER",
        "CREATE OR REPLACE VIEW safe AS FROM t",
    ],
)
def test_a_release_that_somebody_changed_is_not_exported(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, change: str
) -> None:
    release = swap(con)
    con.execute(change)
    assert not release.verify().holds
    with pytest.raises(GuaranteeNotMet):
        release.export(tmp_path / "safe.csv")


# -- evaluation -------------------------------------------------------------------------------------


def test_the_confidential_attribute_is_the_class_unless_another_is_named(
    con: duckdb.DuckDBPyConnection,
) -> None:
    db, two = ppdm_sql.open(con), {"confidential": ["ill", "pay"], "bins": 3}
    releases = swap(con, **two, keep=["good"]), swap(con, **two, class_column="good", into="safe2")
    for release in releases:
        found = {rate.error: rate.mean for rate in db.evaluate(release, seeds=1, folds=3).rates}
        assert found["SE - BE"] == pytest.approx(found["SE"] - found["BE"])
        assert "RE" in found
    assert "RE" not in {rate.error for rate in db.evaluate(swap(con, into="safe3"), seeds=1, folds=3).rates}


def test_a_tree_grown_from_the_release_is_tested_on_true_values(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET ill = if(age < 150, 'flu', 'cold')")
    con.execute("UPDATE t SET ill = 'none' WHERE age % 60 = 0")
    swap(con, by=["age"], confidential=["ill"], proportion=0.2)
    found = ppdm_sql.open(con).evaluate("safe", test="t", seeds=1)
    assert found.rate("BE").mean < 3
    assert found.rate("BE").mean <= found.rate("SE").mean < 20


def test_bins_are_classes_of_the_source_too(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET pay = age * 2")
    swap(con, confidential="pay", bins={"pay": [0, 200, 400, 600, 1000]}, proportion=0.1)
    assert ppdm_sql.open(con).evaluate("safe", seeds=1).rate("BE").mean < 5
    assert ppdm_sql.open(con).evaluate("safe", seeds=1, test="t").rate("BE").mean < 5


def test_a_source_whose_other_columns_changed_is_no_baseline(con: duckdb.DuckDBPyConnection) -> None:
    swap(con)
    con.execute("UPDATE t SET sex = 'm' WHERE id = 4")
    with pytest.raises(InvalidSource, match="not what it was"):
        ppdm_sql.open(con).evaluate("safe", seeds=1)


def test_a_program_that_ends_the_solver_when_presolved_is_solved(tmp_path: Path) -> None:
    """Of whole numbers, in a process of its own, which HiGHS 1.15 took with it."""
    run = (
        "import ppdm_sql\n"
        "from pathlib import Path\n"
        "from ppdm_sql.examples import write_visits\n"
        "with ppdm_sql.open(':memory:') as db:\n"
        f"    write_visits(db.engine, Path({str(tmp_path / 'visits.csv')!r}))\n"
        f"    asked = dict(confidential='diagnosis', by=['age', 'sex'], proportion=0.6, into='swapped')\n"
        f"    assert db.swap({str(tmp_path / 'visits.csv')!r}, **asked).verify().holds\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", run], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
