"""Attacks on releases of every method: what holds is not refuted, planted faults are, and sums are exact."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from federated import together
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in

import ppdm_sql
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.risk.attempts import Attacks

pytestmark = pytest.mark.filterwarnings("ignore::ppdm_sql.PpdmWarning")

PEOPLE = """
CREATE TABLE people AS SELECT
    20 + (hash(i, 1) % 50)::INT AS age, if(hash(i, 2) % 2 = 0, 'f', 'm') AS sex,
    if(i % 40 = 0, NULL, 'town ' || (hash(i, 3) % 6)) AS town,
    'ill ' || (hash(i, 4) % 4) AS illness, if(hash(i, 5) % 3 = 0, 'yes', 'no') AS smokes,
    i AS card, i // 2 AS person
FROM range(400) AS r (i)
"""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(PEOPLE)
        yield connection


@pytest.fixture
def db(con: duckdb.DuckDBPyConnection) -> ppdm_sql.Database:
    return ppdm_sql.open(con)


def named(found: Attacks, attack: str, **holds: str) -> Any:
    """The one attack of this name."""
    (one,) = (
        a for a in found.attacks if a.attack == attack and all(getattr(a, k) == v for k, v in holds.items())
    )
    return one


def published(db: ppdm_sql.Database, method: str, **more: Any) -> ppdm_sql.Release:
    """A release of each method."""
    if method == "suppress":
        asked = ["k >= 3 on sex, town", "sex, town -> illness = 'ill 1' <= 90%"]
        return db.suppress("people", asked, into="safe", class_column="smokes", **more)
    if method == "generalize":
        return db.generalize("people", ["k >= 3 on sex, age"], into="safe", class_column="smokes", **more)
    if method == "swap":
        swapped = {"confidential": "illness", "by": ["sex", "town", "age"], "proportion": 0.5, "seed": 1}
        return db.swap("people", into="safe", **swapped, **more)
    return db.randomize("people", into="safe", noise={"age": "gaussian 50%"}, keep=["sex", "smokes"], **more)


@pytest.mark.parametrize("method", ["suppress", "generalize", "swap", "randomize"])
def test_a_good_release_is_not_refuted(db: ppdm_sql.Database, method: str) -> None:
    found = published(db, method).attack()
    assert found.holds
    for attack in found.attacks:
        assert attack.tried > 0
        assert attack.successes is None or 0 <= attack.successes <= attack.tried
        assert attack.worst is None or 0 <= attack.worst <= 1


def test_k_broken_by_hand_is_refuted(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    release = published(db, "suppress")
    con.execute("UPDATE ppdm.release_safe SET sex = 'm', town = 'nowhere' WHERE rowid = 0")
    found = release.attack()
    assert not found.holds
    assert (named(found, "linkage").worst, named(found, "linkage").verdict) == (1, "refuted")


def test_a_template_broken_by_hand_is_refuted(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    release = published(db, "suppress")
    con.execute("UPDATE ppdm.release_safe SET illness = 'ill 1' WHERE sex = 'f'")
    found = named(release.attack(), "inference", guesses="illness = 'ill 1'")
    assert (found.worst, found.allowed, found.verdict) == (1, 0.9, "refuted")


def test_a_kept_key_is_exceeded(db: ppdm_sql.Database) -> None:
    release = db.suppress("people", ["k >= 3 on sex"], keep=["card"], allow_identifiers=["card"], into="safe")
    found = release.attack()
    assert found.holds
    assert named(found, "linkage").verdict == "holds"
    kept = named(found, "kept columns")
    assert (kept.successes, kept.worst, kept.verdict) == (400, 1, "exceeded")


def test_two_crossing_cuts_are_exceeded(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    first = db.suppress("people", ["k >= 3 on sex, town"], keep=["illness"], into="one")
    with pytest.warns(ppdm_sql.PpdmWarning, match="other releases in this file: 'one'"):
        db.generalize("people", ["k >= 3 on age"], keep=["illness"], into="two")
    cuts = {name: con.sql(f"FROM {name}").columns for name in ("one", "two")}
    assert "age" in cuts["two"]
    found = named(first.attack(), "composition", guesses="which record")
    assert found.verdict == "exceeded"
    assert found.worst > 1 / 3
    assert found.rate > found.baseline
    possible = named(first.attack(), "composition", guesses="illness, among what is possible")
    assert possible.difference >= 0


@pytest.mark.parametrize("control", [0, "20%"])
def test_a_swap_of_real_numbers_is_composed_with_releases_of_columns_that_it_does_not_read(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, control: float | str
) -> None:
    con.execute("CREATE TABLE paid AS SELECT *, card / 7 AS pay FROM people")
    db.suppress("paid", ["k >= 3 on sex, town"], into="one", control=control)
    asked: dict[str, Any] = {"confidential": ["pay"], "by": ["age"], "bins": {"pay": 4}, "proportion": 0.3}
    with pytest.warns(ppdm_sql.PpdmWarning, match="'one'. Anyone who has all of them"):
        db.swap("paid", into="two", seed=1, **asked)
    assert db.release("two").verify().holds


def test_refusing_a_composition_publishes_nothing(db: ppdm_sql.Database) -> None:
    db.suppress("people", ["k >= 3 on sex, town"], into="one")
    with pytest.raises(ppdm_sql.GuaranteeNotMet, match="Nothing was published"):
        db.generalize("people", ["k >= 3 on age"], into="two", refuse_composition=True)
    assert [row.release for row in db.releases()] == ["one"]
    db.suppress("people", ["k >= 3 on sex, town"], into="three", refuse_composition=True)  # the same cut
    assert len(db.releases()) == 2


def test_the_smallest_class_of_both_is_that_of_the_records(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection
) -> None:
    db.suppress("people", ["k >= 2 on sex"], into="one")
    release = db.suppress("people", ["k >= 2 on town"], into="two")
    ((classes, least),) = con.sql(
        "SELECT count(*), min(n) FROM (SELECT count(*) AS n FROM people GROUP BY sex, town)"
    ).fetchall()
    found = named(release.attack(), "composition", guesses="which record")
    assert (found.successes, found.worst) == (classes, 1 / least)


def test_the_weakest_promise_is_what_a_composition_is_allowed(db: ppdm_sql.Database) -> None:
    db.suppress("people", ["k >= 2 on age"], into="one")
    release = db.suppress("people", ["k >= 2 on sex, town", "k >= 20 on sex"], into="two")
    assert named(release.attack(), "composition", guesses="which record").allowed == 1 / 2


def told_beside(db: ppdm_sql.Database, source: str, name: str, on: str, **more: Any) -> list[str]:
    """What is told of other releases while one is published."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        db.suppress(source, [f"k >= 2 on {on}"], into=name, **more)
    return [str(one.message) for one in caught if "other releases" in str(one.message)]


def test_a_file_is_one_source_however_its_path_is_spelled(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        con.sql("SELECT sex, town FROM people").write_csv(str(tmp_path / folder / "p.csv"))
    con.execute('CREATE TABLE "a/q.csv" AS FROM people')
    monkeypatch.chdir(tmp_path)
    assert told_beside(db, "a/p.csv", "one", "sex") == []
    (told,) = told_beside(db, str(tmp_path / "a" / "p.csv"), "two", "town")
    assert "'one'. Anyone who has all of them" in told
    monkeypatch.chdir(tmp_path / "a")
    (told,) = told_beside(db, "p.csv", "three", "sex", types={"sex": "VARCHAR"})
    assert "'one', 'two'. Anyone who has all of them" in told
    assert "has one, two" in named(db.attack("three"), "composition", guesses="which record").knows
    monkeypatch.chdir(tmp_path / "b")
    assert told_beside(db, "p.csv", "four", "town", refuse_composition=True) == []
    assert not [one for one in db.attack("four").attacks if one.attack == "composition"]


@pytest.mark.parametrize("change", ["town || '!' AS town", "upper(sex) AS sex", None])
def test_releases_of_what_a_table_was_cannot_be_compared(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, change: str | None
) -> None:
    db.suppress("people", ["k >= 2 on sex, town"], into="one")
    replaced = "* FROM people WHERE card > 0" if change is None else f"* REPLACE ({change}) FROM people"
    con.execute(f"CREATE OR REPLACE TABLE people AS SELECT {replaced}")
    cause = "'people' is not what it was when 'one' was made from it"
    with pytest.raises(ppdm_sql.GuaranteeNotMet, match=f"cannot be compared: The table {cause}"):
        db.suppress("people", ["k >= 2 on town"], into="two", refuse_composition=True)
    (told,) = told_beside(db, "people", "two", "town")
    assert f"cannot be told: The table {cause}" in told
    found = db.attack("two")
    assert not [one for one in found.attacks if one.attack == "composition"]
    assert cause in " ".join(found.untried)


@pytest.mark.parametrize("control", ["0%", "20%"])
@pytest.mark.parametrize("now", ["sex, town FROM people", "sex, town, 'x' AS n FROM people"])
def test_a_table_without_its_column_of_counts_cannot_be_compared(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, now: str, control: str
) -> None:
    con.execute("CREATE TABLE counted AS SELECT sex, illness, count(*) AS n FROM people GROUP BY ALL")
    db.suppress("counted", ["k >= 2 on sex"], count_column="n", control=control, into="one")
    con.execute(f"CREATE OR REPLACE TABLE counted AS SELECT {now}")
    (told,) = told_beside(db, "counted", "two", "town")
    assert "cannot be told: " in told


def test_a_table_without_a_column_of_those_split_off_cannot_be_compared(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection
) -> None:
    db.suppress("people", ["k >= 2 on sex"], control="20%", into="one")
    con.execute("ALTER TABLE people DROP illness")
    (told,) = told_beside(db, "people", "two", "town")
    assert "cannot be told: The table 'people' is not what it was" in told


@pytest.mark.parametrize("counted", [False, True])
def test_who_another_release_split_off_is_not_in_both(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, counted: bool
) -> None:
    con.execute("CREATE TABLE t AS SELECT *, 1 AS n FROM people")
    if counted:
        con.execute(
            "CREATE OR REPLACE TABLE t AS SELECT sex, town, illness, count(*) AS n FROM t GROUP BY ALL"
        )
    how = {"count_column": "n"} if counted else {}
    told_beside(db, "t", "one", "sex", control="20%", **how)
    (told,) = told_beside(db, "t", "two", "town", control="10%", **how)
    names = "sex, town, illness" if counted else "sex, town, card"
    held = (
        f"SELECT {names}, greatest(sum(n), 0) AS n FROM (SELECT {names}, n FROM t "
        f"UNION ALL SELECT {names}, -n FROM ppdm.control_one "
        f"UNION ALL SELECT {names}, -n FROM ppdm.control_two) GROUP BY ALL"
    )
    ((records, classes, smallest),) = con.sql(
        "SELECT sum(n), count(*), min(n) FROM "
        f"(SELECT sum(n) AS n FROM ({held}) GROUP BY sex, town HAVING sum(n) > 0)"
    ).fetchall()
    ((least, towns),) = con.sql(
        "SELECT min(n), count(*) FROM (SELECT sum(n) AS n FROM (SELECT town, n FROM t "
        "UNION ALL SELECT town, -n FROM ppdm.control_two) GROUP BY town)"
    ).fetchall()
    assert f"tell {classes} classes apart, of which the smallest holds {smallest} record" in told
    assert f"in 'two' alone the smallest holds {least}." in told
    found = named(db.attack("two"), "composition", guesses="which record")
    assert (found.tried, found.successes, found.worst) == (records, classes, 1 / smallest)
    assert found.baseline == towns / 360


# -- exact sums ------------------------------------------------------------------------------------

VALUES = st.sampled_from(["a", "b", None])
ROWS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from(["x", "y", "z", None])), min_size=1, max_size=12)


@one_in(4)
@given(rows=ROWS)
def test_sums_agree_with_brute_force(rows: Sequence[tuple[str | None, ...]]) -> None:
    with duckdb.connect() as con:
        con.execute('CREATE TABLE t ("a b" VARCHAR, "say ""x""" VARCHAR, c VARCHAR)')
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in rows])
        db = ppdm_sql.open(con)
        db.suppress("t", ['k >= 1 on "a b", "say ""x"""'], keep=["c"], into="safe")
        found, shown = db.attack("safe", target="c"), con.sql("FROM safe").fetchall()
    classes = Counter(row[:2] for row in shown)
    values = defaultdict[Any, Counter[Any]](Counter)
    for *known, value in shown:
        values[tuple(known)][value] += 1
    successes = sum(
        most / list(held.values()).count(most) * 1
        for held in values.values()
        for most in held.values()
        if most == max(held.values())
    )
    linkage, inference = named(found, "linkage"), named(found, "inference")
    assert (linkage.tried, linkage.successes, linkage.worst) == (
        len(rows),
        len(classes),
        1 / min(classes.values()),
    )
    assert inference.successes == pytest.approx(successes)
    certain = sum(sum(held.values()) for held in values.values() if len(held) == 1)
    assert named(found, "homogeneity").successes == certain
    assert inference.worst == pytest.approx(max(max(v.values()) / sum(v.values()) for v in values.values()))


def test_persons_and_counts_are_counted(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    release = db.suppress("people", ["k >= 3 on sex"], person="person", into="by_person")
    ((least,),) = con.sql(
        "SELECT min(n) FROM (SELECT count(DISTINCT person) AS n FROM people GROUP BY sex)"
    ).fetchall()
    assert named(release.attack(), "linkage").worst == 1 / least
    con.execute("CREATE TABLE counted AS SELECT sex, illness, count(*) AS n FROM people GROUP BY ALL")
    release = db.suppress("counted", ["k >= 3 on sex"], count_column="n", into="counted_safe")
    assert (named(release.attack(), "linkage").tried, named(release.attack(), "linkage").successes) == (
        400,
        2,
    )


def test_who_was_left_out_looks_like_nobody(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO people SELECT * REPLACE ('elsewhere' AS town) FROM people LIMIT 1")
    release = db.suppress("people", ["k >= 3 on town"], suppress_records="1%", into="safe")
    left = release.row().left_out
    assert left
    found = named(release.attack(), "left-out records")
    assert (found.tried, found.successes) == (left, left)


def test_everything_suppressed_and_one_record_are_attacked(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE one AS SELECT 1 AS a, 'x' AS b")
    release = ppdm_sql.open(con).suppress("one", ["k >= 1 on a"], keep=["b"], into="safe")
    assert named(release.attack(), "linkage").worst == 1
    con.execute("CREATE TABLE two AS SELECT i AS a, i % 2 AS b FROM range(4) AS r (i)")
    release = ppdm_sql.open(con).suppress("two", ["k >= 4 on a"], into="hidden")
    assert named(release.attack(), "linkage").successes == 1


@pytest.mark.parametrize("change", ["DELETE FROM people WHERE card = 1", "ALTER TABLE people DROP town"])
def test_a_changed_source_is_told(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, change: str) -> None:
    release = published(db, "suppress")
    con.execute(change)
    with pytest.raises(ppdm_sql.errors.InvalidSource, match="is not what it was"):
        release.attack()


def test_a_source_that_is_gone_is_told(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    release = published(db, "suppress")
    con.execute("DROP TABLE people")
    with pytest.raises(ppdm_sql.errors.InvalidSource, match="'people', from which 'safe' was made, is not"):
        release.attack()


def test_misspelt_columns_are_errors(db: ppdm_sql.Database) -> None:
    release = published(db, "suppress")
    with pytest.raises(ppdm_sql.errors.UnknownColumn, match="town"):
        release.attack(known=["twon"])
    with pytest.raises(ppdm_sql.errors.UnknownColumn, match="illness"):
        release.attack(target="ilness")
    with pytest.raises(ppdm_sql.errors.InvalidOption, match="as labels"):
        release.attack(target="town")
    with pytest.raises(ppdm_sql.errors.InvalidOption, match="known"):
        release.attack(known=["illness"], target="illness")


# -- records that are split off --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["suppress", "generalize", "swap"])
def test_a_share_is_split_off_and_never_released(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, method: str
) -> None:
    release = published(db, method, control="10%")
    assert con.sql("SELECT count(*) FROM ppdm.control_safe").fetchall() == [(40,)]
    assert con.sql("SELECT count(*) FROM safe").fetchall() == [(360,)]
    assert con.sql("SELECT count(*) FROM (FROM people EXCEPT ALL FROM ppdm.control_safe)").fetchall() == [
        (360,)
    ]
    assert release.verify().holds
    assert release.row().parameters["control"] == "10%"
    found = named(release.attack(), "inference", guesses="illness" if method != "generalize" else "smokes")
    assert found.interval[0] <= found.difference <= found.interval[1]
    release.drop()
    assert not con.sql("FROM duckdb_tables() WHERE table_name LIKE 'control%'").fetchall()


def test_the_rest_gives_the_same_rows(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    published(db, "generalize", control="10%")
    con.execute("CREATE TABLE rest AS FROM people EXCEPT ALL FROM ppdm.control_safe")
    db.generalize("rest", ["k >= 3 on sex, age"], into="again", class_column="smokes")
    assert con.sql("FROM safe").fetchall() == con.sql("FROM again").fetchall()
    rates = [db.evaluate(name, seeds=1, folds=2).rate("BE").mean for name in ("safe", "again")]
    assert rates[0] == rates[1]


def test_persons_and_counted_records_are_split_off_whole(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection
) -> None:
    db.suppress("people", ["k >= 3 on sex"], person="person", control="25%", into="safe")
    ((rows, persons),) = con.sql("SELECT count(*), count(DISTINCT person) FROM ppdm.control_safe").fetchall()
    assert (rows, persons) == (100, 50)
    con.execute("CREATE TABLE counted AS SELECT sex, illness, count(*) AS n FROM people GROUP BY ALL")
    release = db.suppress("counted", ["k >= 3 on sex"], count_column="n", control="10%", into="counted_safe")
    assert con.sql("SELECT sum(n) FROM ppdm.control_counted_safe").fetchall() == [(40,)]
    assert con.sql("SELECT sum(n) FROM counted_safe").fetchall() == [(360,)]
    assert named(release.attack(), "linkage").tried == 360


@pytest.mark.parametrize("share", ["0.1%", "99.9%", "100%", "-1%", "some"])
def test_a_share_must_leave_some_on_both_sides(db: ppdm_sql.Database, share: str) -> None:
    with pytest.raises(ppdm_sql.errors.InvalidOption, match="--control"):
        published(db, "suppress", control=share)


def test_a_failure_leaves_neither_release_nor_control(
    db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = type(db.engine).write

    def failing(engine: Any, sql: str, params: Any = None, *, step: str) -> None:
        if step == "insert release":
            raise KeyboardInterrupt
        write(engine, sql, params, step=step)

    monkeypatch.setattr(type(db.engine), "write", failing)
    with pytest.raises(KeyboardInterrupt):
        published(db, "suppress", control="10%")
    assert not con.sql("FROM duckdb_tables() WHERE schema_name = 'ppdm' OR temporary").fetchall()


# -- surfaces --------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as con:
        con.execute(PEOPLE)
        published(ppdm_sql.open(con), "suppress")
    return path


def test_the_command_prints_rows_and_exits_by_the_verdict(file: Path) -> None:
    told = ppdm("attack", file, "safe", "--format", "json")
    assert told.exit_code == 0
    rows = json.loads(told.stdout)
    assert rows[0]["attack"] == "linkage"
    assert rows[0]["verdict"] == "holds"
    with duckdb.connect(file) as con:
        con.execute("UPDATE ppdm.release_safe SET town = 'nowhere' WHERE rowid = 0")
    assert ppdm("attack", file, "safe").exit_code == 1
    assert ppdm("attack", file, "sfe").exit_code == 2


def test_the_call_gives_the_rows(db: ppdm_sql.Database, con: duckdb.DuckDBPyConnection) -> None:
    release = published(db, "suppress")
    ppdm_sql.register(con)
    rows = con.execute("CALL ppdm_attack('safe', known := ['sex'], target := 'illness')").fetchall()
    assert [row[0] for row in rows][:2] == ["linkage", "inference"]
    assert rows[0][3] == 400
    assert release.attack(known="sex").attacks[0].tried == 400


def test_an_exported_release_is_a_release_as_well(db: ppdm_sql.Database, tmp_path: Path) -> None:
    taxonomies = {
        "town": {"any": {"low": ["town 0", "town 1", "town 2"], "high": ["town 3", "town 4", "town 5"]}}
    }
    other = db.generalize("people", ["k >= 20 on town, age"], taxonomies=taxonomies, into="two")
    release = db.suppress("people", ["k >= 3 on sex, town"], into="one")
    inside = named(release.attack(), "composition", guesses="which record")
    files = [str(tmp_path / f"two.{form}") for form in ("parquet", "csv")]
    for file in files:
        other.export(file)
    for file in files:
        both = named(release.attack(beside=[file]), "composition", guesses="which record")
        assert (both.successes, both.worst) == (inside.successes, inside.worst)
    third = db.suppress("people", ["k >= 3 on sex, town"], into="three")
    other.drop()
    release.drop()
    with pytest.raises(ppdm_sql.errors.InvalidSource, match="values of 'town' fit no label"):
        third.attack(beside=files[:1])


# -- models ----------------------------------------------------------------------------------------


def test_small_noise_on_correlated_columns_is_exceeded(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE pay AS SELECT i::DOUBLE AS gross, i * 0.8 AS net, i * 0.1 AS tax FROM range(999) r(i)"
    )
    noise = dict.fromkeys(("gross", "net", "tax"), "gaussian 100")
    ranges = {"gross": (0, 1000), "net": (0, 800), "tax": (0, 110)}
    db = ppdm_sql.open(con)
    found = db.randomize("pay", noise=noise, ranges=ranges, seed=1, into="noisy").attack()
    assert found.holds
    assert [why for why in found.untried if why.startswith("linkage, inference and the like")]
    filtered = [one for one in found.attacks if one.attack == "spectral filter"]
    assert len(filtered) == 3
    assert "exceeded" in {one.verdict for one in filtered}
    db.randomize("pay", noise=noise, ranges=ranges, seed=2, into="again")
    averaged = named(db.attack("noisy"), "averaging", guesses="gross without its noise")
    assert averaged.rate == pytest.approx(1 - 0.5**0.5)
    assert averaged.verdict == "exceeded"


def test_noise_on_independent_columns_is_not_exceeded(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE apart AS SELECT hash(i, 1) % 100 AS a, hash(i, 2) % 100 AS b FROM range(3000) AS r (i)"
    )
    noise = dict.fromkeys(("a", "b"), "gaussian 20")
    found = ppdm_sql.open(con).randomize("apart", noise=noise, seed=1, into="noisy").attack()
    assert [one.verdict for one in found.attacks if one.attack == "spectral filter"] == ["holds", "holds"]


@pytest.mark.parametrize("kind", ["INTEGER", "DOUBLE", "DATE"])
def test_outermost_bounds_are_found(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    value = "DATE '2000-01-01' + i::INT" if kind == "DATE" else f"i::{kind}"
    con.execute(
        f"CREATE TABLE t AS SELECT {value} AS \"a ''b\", i % 7 < i // 30 AS c FROM range(200) AS r (i)"
    )
    db = ppdm_sql.open(con)
    found = db.generalize("t", ["k >= 10 on \"a ''b\""], class_column="c", into="grown").attack()
    bounds = named(found, "outermost bounds")
    assert (bounds.tried, bounds.successes, bounds.worst) == (2, 2, 1)
    if kind != "DATE":
        ranges = {"a ''b": (-5, 300)}
        given = db.generalize("t", ["k >= 10 on \"a ''b\""], class_column="c", ranges=ranges, into="wide")
        assert not [one for one in given.attack().attacks if one.attack == "outermost bounds"]


def test_a_tree_guesses_what_depends_on_the_others(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 4 AS a, 'x' || i % 4 AS b, hash(i) % 2 AS c FROM range(400) AS r (i)"
    )
    release = ppdm_sql.open(con).suppress("t", ["k >= 3 on a"], keep=["b", "c"], into="safe")
    found = named(release.attack(target="b"), "trained tree")
    assert (found.tried, found.successes, found.baseline) == (400, 400, 0.25)


def test_without_scikit_learn_a_tree_is_not_tried(
    db: ppdm_sql.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    found = published(db, "suppress").attack()
    assert not [one for one in found.attacks if one.attack == "trained tree"]
    assert "scikit-learn, which is not installed" in found.untried[0]
    assert [table.title for table in found.tables()] == ["Attacks", "Not tried"]


def test_a_partner_guesses_what_was_masked() -> None:
    left, right = duckdb.connect(), duckdb.connect()
    left.execute("CREATE TABLE l AS SELECT i AS id, i % 4 AS job, i % 3 > 0 AS good FROM range(60) AS r (i)")
    right.execute(
        "CREATE TABLE r AS SELECT i AS id, i % 5 AS town, i % 3 > 0 AS good FROM range(60) AS r (i)"
    )
    asked = {"require": ["k >= 20 on job, town"], "class_column": "good", "key": "id", "into": "both"}
    mine, theirs = (
        IntegrateRequest(**asked, owns=owns, suppress=owns)
        for owns in (["job"], ["town"])  # type: ignore[arg-type]
    )
    outcomes = together((left, "l", mine), (right, "r", theirs))
    assert [outcome.error for outcome in outcomes] == [None, None]
    for con, own, values in ((left, "job", 4), (right, "town", 5)):
        found = ppdm_sql.open(con).attack("both")
        assert found.holds
        assert named(found, "linkage").tried == 60
        partner = named(found, "partner")
        assert partner.guesses == f"{own} before masking"
        assert partner.baseline == pytest.approx(1 / values)
        assert partner.rate >= 1 / values


# -- what was refused ------------------------------------------------------------------------------

TREE = {"low": ["a", "b"], "high": ["c", "d"]}
PATHS = {value: ("any", group, value) for group, values in TREE.items() for value in values}


def refusals(
    rows: Sequence[tuple[str | None, ...]], cut: Sequence[set[Any]], *, suppressed: bool
) -> Iterator[tuple[list[list[str]], list[list[str]]]]:
    """For each candidate: the sensitive values of the classes that it makes, and of their wholes."""

    def shown(place: int, value: Any) -> Any:
        if suppressed:
            return value if value in cut[place] else "*"
        return next(label for label in PATHS.get(value, ("any", None)) if label in cut[place])

    def below(value: Any, label: Any) -> Any:
        path = PATHS.get(value, ("any", None))
        return None if label == path[-1] else ("below", path[path.index(label) + 1])

    for place in (0, 1):
        candidates: set[Any] = {row[place] for row in rows if shown(place, row[place]) == "*"}
        if not suppressed:
            candidates = {shown(place, row[place]) for row in rows}
        for candidate in candidates:
            wholes, parts = defaultdict[Any, list[Any]](list), defaultdict[Any, list[Any]](list)
            for row in rows:
                other, label = shown(1 - place, row[1 - place]), shown(place, row[place])
                child = row[place] == candidate if suppressed else below(row[place], label)
                if label == ("*" if suppressed else candidate) and child is not None:
                    wholes[other].append(row[2])
                    parts[other, child].append(row[2])
            if parts:
                yield list(parts.values()), [wholes[other] for other, _ in parts]


def breaks(asked: str, held: Sequence[Any]) -> bool:
    if asked == "template":
        return held.count("x") > 0.6 * len(held)
    shares = [number / len(held) for number in Counter(held).values()]
    if asked == "entropy":
        return -sum(share * math.log(share) for share in shares) < math.log(1.5) - 1e-9
    return len(shares) < 2


CELLS = st.sampled_from(["a", "b", "c", "d", None])
SOURCES = st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["x", "y", None])), min_size=6, max_size=11)


@pytest.mark.parametrize("method", ["suppress", "generalize"])
@one_in(4)
@given(rows=SOURCES, asked=st.sets(st.sampled_from(["template", "distinct", "entropy", "k"]), min_size=1))
def test_minimality_agrees_with_brute_force(
    method: str, rows: Sequence[tuple[str | None, ...]], asked: set[str]
) -> None:
    on = '"a b", "say ""x"""'
    texts = {
        "template": f'{on} -> "c \'" = x <= 60%',
        "distinct": f'distinct l >= 2 of "c \'" on {on}',
        "entropy": f'entropy l >= 1.5 of "c \'" on {on}',
        "k": f"k >= 2 on {on}",
    }
    with duckdb.connect() as con:
        con.execute('CREATE TABLE t ("a b" VARCHAR, "say ""x""" VARCHAR, "c \'" VARCHAR)')
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in rows])
        db, more = ppdm_sql.open(con), dict[str, Any]()
        if method == "generalize":
            more = {"taxonomies": dict.fromkeys(("a b", 'say "x"'), {"any": TREE}), "rare": "apart"}
        try:
            run = getattr(db, method)
            release = run("t", [texts[one] for one in sorted(asked)], into="safe", allow_absent=True, **more)
        except ppdm_sql.GuaranteeNotMet:
            return
        found = [one for one in release.attack().attacks if one.attack == "minimality"]
        cut = [{row[place] for row in con.sql("FROM safe").fetchall()} for place in (0, 1)]
        words = [str(one).split(" ", 1)[0] for one in release.row().asked]
    names = [word if word in texts else "template" for word in words]
    expected = {one: [0.0, 0.0, 0.0, 0.0, -1.0] for one in names if one != "k"}
    for parts, wholes in refusals(rows, cut, suppressed=method == "suppress"):
        if "k" in names and min(map(len, parts)) < 2:
            continue
        reasons = [
            (one, part, whole)
            for one in expected
            for part, whole in zip(parts, wholes, strict=True)
            if any(breaks(one, held) for held in combinations(whole, len(part)))
        ]
        for one, part, whole in reasons:
            most = [value for value, n in Counter(whole).items() if n == max(Counter(whole).values())]
            guesses = ["x"] if one == "template" else most
            right, usual = (sum(map(held.count, guesses)) / len(guesses) for held in (part, whole))
            sums, ways = expected[one], [reason for reason, *_ in reasons].count(one)
            more_of = len(part), len(part) / ways, right / ways, usual * len(part) / len(whole) / ways, 0.0
            sums[:] = [a + b for a, b in zip(sums, more_of, strict=True)]
            if len(reasons) == 1:
                sums[4] = max(right / len(part), sums[4])
    assert [
        pytest.approx((tried, right, right / guessed, usual / guessed, worst))
        for tried, guessed, right, usual, worst in expected.values()
        if tried
    ] == [
        (one.tried, one.successes, one.rate, one.baseline, -1 if one.worst is None else one.worst)
        for one in found
    ]


def test_the_only_class_that_a_refusal_can_be_about_is_found_out(con: duckdb.DuckDBPyConnection) -> None:
    """Nobody but the two of the north could break l = 2, so they have the one illness that is there twice."""
    con.execute(
        "CREATE TABLE ward AS SELECT unnest(['north', 'north', 'south', 'south', 'south', 'south', 'south']) "
        "AS \"it's\", unnest(['HIV', 'HIV', 'flu', 'cold', 'gout', 'cough', 'burn']) AS ill"
    )
    db = ppdm_sql.open(con)
    asked, tree = ['distinct l >= 2 of ill on "it\'s"'], {"it's": {"any": ["north", "south"]}}
    found = named(db.generalize("ward", asked, taxonomies=tree, into="safe").attack(), "minimality")
    assert (found.tried, found.successes, found.rate, found.worst, found.verdict) == (2, 2, 1, 1, "")
    assert found.baseline == pytest.approx(2 / 7)
    told = db.suppress("ward", ['"it\'s" -> ill = HIV <= 70%'], into="hidden").attack()
    found = named(told, "minimality", guesses="ill = HIV")
    assert (found.tried, found.worst, found.allowed, found.verdict) == (4, 1, 0.7, "exceeded")
    assert told.holds
    con.execute("CREATE TABLE counted AS SELECT *, count(*) AS n FROM ward GROUP BY ALL")
    counted = db.suppress("counted", ['"it\'s" -> ill = HIV <= 70%'], count_column="n", into="few").attack()
    assert replace(named(counted, "minimality"), attack="") == replace(found, attack="")


def test_what_is_not_played_of_minimality_is_told(db: ppdm_sql.Database) -> None:
    template, size = "sex, town -> illness = 'ill 1' <= 30%", "k >= 40 on sex, town"
    told = "distinct l >= 4 of illness on sex, town"
    asked = {"classes": [size], "persons": [told], "early": [template], "few": [told]}
    more = {"persons": {"person": "person"}, "early": {"max_steps": 0}, "few": {"suppress_records": "5%"}}
    tried = {
        name: db.suppress("people", one, into=name, **more.get(name, {})).attack()
        for name, one in asked.items()
    }
    other = db.suppress("people", ["recursive c = 9, l = 2 of illness on sex"], into="other").attack()
    assert not [
        one for found in (*tried.values(), other) for one in found.attacks if one.attack == "minimality"
    ]
    untried = {name: [why for why in found.untried if "minimality" in why] for name, found in tried.items()}
    assert {name: len(whys) for name, whys in untried.items()} == {
        name: 0 if name == "classes" else 1 for name in tried
    }
    assert "recursive c = 9" in other.untried[-1]


def test_a_promise_for_fewer_columns_does_not_speak_of_who_knows_more(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE visits AS SELECT i % 4 AS zip, i % 20 AS age, i % 2 AS ill FROM range(80) r (i)"
    )
    asked = ["k >= 15 on zip", "k >= 2 on zip, age"]
    found = ppdm_sql.open(con).suppress("visits", asked, into="two").attack()
    more = named(found, "linkage", knows="zip, age")
    assert (more.allowed, more.verdict) == (0.5, "holds")
    assert found.holds


def test_a_broken_average_is_refuted_beside_a_k_that_holds(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE visits AS SELECT i % 4 AS x, i % 2 AS ill FROM range(200) r (i)")
    asked = ["k >= 2 on x", "average risk <= 6% on x"]
    release = ppdm_sql.open(con).suppress("visits", asked, into="mean")
    con.execute("DELETE FROM ppdm.release_mean WHERE rowid % 4 > 0 OR rowid % 40 > 8")
    attempt = named(release.attack(), "linkage")
    assert (attempt.allowed, attempt.verdict) == (0.06, "refuted")


def test_who_looks_like_nobody_is_guessed_by_the_most_frequent_value(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i // 10 AS x, if(i % 3 > 0, 'no', 'yes') AS ill FROM range(60) r (i)"
    )
    con.execute(
        "CREATE TABLE others AS SELECT 90 + i AS x, if(i % 3 > 0, 'no', 'yes') AS ill FROM range(30) r (i)"
    )
    db = ppdm_sql.open(con)
    release = db.suppress("t", ["k >= 2 on x"], keep=["ill"], into="r", score="paper", max_steps=6)
    found = named(db.attack("r", control="others"), "inference")
    assert found.baseline == pytest.approx(2 / 3)
    assert named(release.attack(), "homogeneity").successes is not None


def test_two_requirements_on_the_same_guess_have_one_row(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 3 AS x, i % 5 AS ill FROM range(90) r (i)")
    asked = ["distinct l >= 2 of ill on x", "entropy l >= 1.5 of ill on x"]
    found = ppdm_sql.open(con).suppress("t", asked, into="r").attack()
    assert named(found, "inference").verdict == "holds"
    assert named(found, "homogeneity").successes == 0
