"""A release that follows its table: attacks over all versions fail, faults are refused, people leave."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import FUSE, ppdm

import ppdm_sql
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource, NameTaken, PpdmError
from ppdm_sql.release.versions import departed_persons

K = 3
ILLS = ["flu", "cold", "ache"]
OPTIONS: dict[str, Any] = {"person": "id", "keep": ["ill"], "updatable": True, "into": "safe"}


def opened(records: Iterable[tuple[Any, ...]] = ()) -> ppdm_sql.Database:
    con = duckdb.connect()
    con.execute("CREATE TABLE visits (id VARCHAR, job VARCHAR, town VARCHAR, ill VARCHAR)")
    db = ppdm_sql.open(con)
    add(db, records)
    return db


def add(db: ppdm_sql.Database, records: Iterable[tuple[Any, ...]]) -> None:
    rows = list(records)
    if rows:
        db.engine.connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)


def run(db: ppdm_sql.Database, sql: str) -> list[tuple[Any, ...]]:
    return db.engine.connection.execute(sql).fetchall()


def people(first: int, number: int, job: str, town: str = "x") -> list[tuple[str, str, str, str]]:
    return [(f"p{i}", job, town, ILLS[i % 3]) for i in range(first, first + number)]


def versions(db: ppdm_sql.Database) -> list[tuple[Any, ...]]:
    return run(db, "SELECT version, rows, entered, gone, waiting FROM ppdm.versions ORDER BY version")


# -- the paper's attacks ----------------------------------------------------------------------------


def shown(rows: list[tuple[Any, ...]], value: str, place: int) -> str:
    """What a version shows for a value: the value itself if any row does, else the symbol."""
    return value if any(row[place] == value for row in rows) else "*"


Rows = list[tuple[Any, ...]]


def candidates(stay: Rows, two: Rows, one: Rows, who: tuple[str, str]) -> dict[str, int]:
    """Count the persons that each attack of Fung et al. leaves, on a target of these values.

    Of version ``one`` those ``stay`` that are in version ``two``.
    """

    def label(rows: Rows, values: tuple[str, str]) -> tuple[str, str]:
        return shown(rows, values[0], 0), shown(rows, values[1], 1)

    jobs, towns = ({row[i] for row in (*one, *two)} - {"*"} | {who[i], "?"} for i in (0, 1))
    first, second = label(one, who), label(two, who)
    inside = {label(two, (j, t)) for j in jobs for t in towns if label(one, (j, t)) == first}
    before = Counter(row[2] for row in stay if row[:2] == first)
    after = Counter(row[2] for row in two if row[:2] == second)
    elsewhere = Counter(row[2] for row in two if row[:2] in inside - {second})
    both = sum(min(before[ill], after[ill]) for ill in ILLS)
    forced = sum(min(after[ill], max(0, before[ill] - elsewhere[ill])) for ill in ILLS)
    return {"forward and cross": both, "backward": sum(after.values()) - forced}


@pytest.mark.parametrize("seed", range(3))
def test_attacks_on_all_pairs_of_versions_leave_k_persons(seed: int) -> None:
    draw = random.Random(seed)
    table: dict[str, tuple[str, str, str]] = {}
    db = opened()
    for number in range(3):
        for i in range(draw.randint(20, 60)):
            table[f"p{number}-{i}"] = draw.choice("abcd"[: 2 + number]), draw.choice("xyz"), draw.choice(ILLS)
        for who in draw.sample(sorted(table), draw.choice([0, 0, 3]) if number else 0):
            del table[who]
        run(db, "DELETE FROM visits")
        add(db, [(who, *values) for who, values in table.items()])
        try:
            if number:
                db.update("safe")
            else:
                db.suppress("visits", [f"k >= {K} on job, town"], **OPTIONS)
        except GuaranteeNotMet:
            continue
    assert db.release("safe").verify().holds
    made = [number for number, *_ in versions(db)]
    of = "SELECT job, town, ill, record_person, record_cohort FROM "
    rows = {n: run(db, of + stored(n, made)) for n in made}
    for number, held in rows.items():
        seen = run(db, f"SELECT job, town, ill FROM safe_version({number})")
        assert sorted(seen) == sorted(row[:3] for row in held)
        cohorts = Counter((*row[:2], row[4]) for row in held)
        assert min(cohorts.values()) >= K
    for one, two in combinations(made, 2):
        staying = {row[3] for row in rows[two]}
        stay = [row for row in rows[one] if row[3] in staying]  # an attacker may know who left
        for _, _, _, who, cohort in rows[two]:
            if who in table:
                left = candidates(stay, rows[two], rows[one], table[who][:2])
                assert left["backward" if cohort > one else "forward and cross"] >= K
        if two == one + 1:
            gone = Counter((*row[:2], row[4]) for row in rows[one] if row[3] not in staying)
            assert min(gone.values(), default=K) >= K


def stored(number: int, made: list[int]) -> str:
    return "ppdm.release_safe" if number == made[-1] else f"ppdm.version_{number}_safe"


# -- what enters, waits and leaves --------------------------------------------------------------------


def test_new_records_wait_until_their_class_holds_enough_of_them() -> None:
    db = opened([*people(0, 9, "cook"), *people(10, 9, "judge")])
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    add(db, [*people(100, 4, "cook"), *people(200, 2, "judge")])
    with pytest.warns(ppdm_sql.PpdmWarning, match="2 of 6 new records wait"):
        db.update("safe")
    add(db, people(300, 1, "judge"))
    db.update("safe")
    assert versions(db) == [(1, 18, 18, 0, 0), (2, 22, 4, 0, 2), (3, 25, 3, 0, 0)]
    assert [run(db, f"SELECT count(*) FROM safe_version({n})") for n in (1, 2, 3)] == [
        [(18,)],
        [(22,)],
        [(25,)],
    ]
    assert db.release("safe").verify().holds


def test_a_later_cut_shows_more_and_no_version_is_made_of_nothing() -> None:
    db = opened([*people(0, 9, "cook"), *people(10, 2, "judge"), *people(20, 2, "clerk")])
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    assert {job for (job,) in run(db, "SELECT job FROM safe")} == {"cook", "*"}
    with pytest.warns(ppdm_sql.PpdmWarning, match="Nothing has changed"):
        db.update("safe")
    add(db, [*people(100, 3, "cook"), *people(200, 1, "judge")])
    with pytest.warns(ppdm_sql.PpdmWarning, match="1 of 4 new records wait"):
        db.update("safe")
    assert len(versions(db)) == 2


def test_a_version_is_attacked_and_evaluated_beside_the_records_that_are_in_it() -> None:
    db = opened([*people(0, 6, "a"), *people(10, 6, "b"), ("p40", "a", "x", "flu")])
    options = OPTIONS | {"class_column": "ill", "keep": []}
    db.suppress("visits", [f"k >= {K} on job, town"], **options)
    run(db, "DELETE FROM visits WHERE id = 'p40'")  # two others go along
    add(db, [*people(20, 4, "a"), *people(30, 1, "b")])  # the last one waits
    db.update("safe")
    assert versions(db)[1] == (2, 14, 4, 3, 1)
    attacks = db.attack("safe", known=["job"]).attacks
    assert {one.attack for one in attacks} >= {"linkage", "inference"}
    assert db.evaluate("safe", class_column="ill", folds=2).records == 14
    for change in ("UPDATE visits SET ill = 'gout'", "ALTER TABLE visits DROP job"):
        run(db, change)
        with pytest.raises(InvalidSource, match="Run ppdm update"):
            db.attack("safe")


def test_all_that_is_new_has_to_wait() -> None:
    db = opened(people(0, 9, "cook"))
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    add(db, people(100, 2, "cook"))
    with pytest.raises(GuaranteeNotMet, match="All 2 new records would have to wait"):
        db.update("safe")
    assert len(versions(db)) == 1


def test_who_leaves_alone_takes_others_of_the_class_along_and_does_not_return() -> None:
    db = opened([*people(0, 9, "cook"), *people(10, 9, "judge")])
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    run(db, "DELETE FROM visits WHERE id = 'p0'")
    run(db, "UPDATE visits SET ill = 'ache' WHERE id IN ('p10', 'p11', 'p12', 'p13')")
    add(db, people(100, 5, "cook"))
    with pytest.warns(ppdm_sql.PpdmWarning) as told:
        db.update("safe")
    words = " ".join(str(one.message) for one in told)
    changed = 4 - sum(ILLS[i % 3] == "ache" for i in range(10, 14))
    assert "records left the table or changed" in words and "cannot enter" in words
    assert changed == 3
    assert versions(db)[1] == (2, 6 + 6 + 5, 5, 3 + changed, 0)
    add(db, people(500, 3, "cook"))
    with pytest.warns(ppdm_sql.PpdmWarning, match="cannot enter"):
        db.update("safe")
    assert run(db, "SELECT count(*) FROM ppdm.release_safe WHERE record_person IN ('p0', 'p10')") == [(0,)]
    assert db.release("safe").verify().holds


def test_duplicates_are_told_by_their_number() -> None:
    db = opened(people(0, 6, "cook") * 2)
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    add(db, people(0, 6, "cook"))
    db.update("safe")
    assert versions(db)[1] == (2, 18, 6, 0, 0)


# -- masks and models ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tds", "hce-tdr"])
def test_taxonomies_and_grown_intervals_go_on_where_they_were(method: str) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (id INTEGER, age INTEGER, job VARCHAR, ill BOOLEAN, sex VARCHAR)")
    fill = (
        "INSERT INTO t SELECT i, CASE WHEN i % 11 = 0 THEN NULL ELSE 18 + (i * 7) % $ages END, "
        "['cook', 'clerk', 'judge', NULL][1 + i % $jobs], i % 5 < 2, 'fm'[1 + i % 2] "
        "FROM range($first, $last) AS r (i)"
    )
    con.execute(fill, {"ages": 40, "jobs": 2, "first": 0, "last": 300})
    db = ppdm_sql.open(con)
    jobs = {"any": {"service": ["cook", "maid"], "office": ["clerk", "judge"]}}
    asked = ["k >= 5 on age, job", "distinct l >= 2 of ill on age, job"]
    more = {"class_column": "sex"} if method == "hce-tdr" else {}
    if method == "tds":
        asked.append("distinct l >= 2 of sex by prefixes 1 on age, job")
    db.generalize(
        "t", asked, person="id", updatable=True, into="safe", taxonomies={"job": jobs}, method=method, **more
    )
    for first, last, ages, kinds in ((300, 500, 50, 3), (500, 900, 60, 4)):
        con.execute(fill, {"ages": ages, "jobs": kinds, "first": first, "last": last})
        db.update("safe")
    made = con.sql("SELECT version, rows, waiting FROM ppdm.versions ORDER BY version").fetchall()
    assert [number for number, *_ in made] == [1, 2, 3] and made[2][1] + made[2][2] == 900
    assert db.release("safe").verify().holds
    labels = [
        con.sql(f"SELECT count(DISTINCT (age, job)) FROM safe_version({n})").fetchall() for n in (1, 2, 3)
    ]
    assert labels == sorted(labels) and labels[0] < labels[2]


def test_templates_hold_in_every_cohort() -> None:
    db = opened(people(0, 30, "cook"))
    add(db, people(30, 30, "judge"))
    db.suppress("visits", ["job -> ill = flu <= 50%"], person="id", updatable=True, into="safe")
    add(db, [(f"q{i}", "cook", "x", "flu" if i % 2 else "cold") for i in range(20)])
    add(db, [(f"r{i}", "judge", "x", "flu") for i in range(5)])
    with pytest.warns(ppdm_sql.PpdmWarning, match="5 of 25 new records wait"):
        db.update("safe")
    assert db.release("safe").verify().holds


def test_hostile_names_and_many_values() -> None:
    con = duckdb.connect()
    names = '"who\'s ""it"", (record_cohort)"', '"zip; DROP TABLE x --"', '"left"'
    con.execute(
        f"CREATE TABLE t AS SELECT i AS {names[0]}, i % 9000 AS {names[1]}, i % 7 AS {names[2]} "
        "FROM range(27000) AS r (i)"
    )
    db, into = ppdm_sql.open(con), "my \"safe\" 'one'"
    person, code, other = (name[1:-1].replace('""', '"') for name in names)
    options = {"person": [person], "keep": [other], "categories": [code], "into": into, "updatable": True}
    require = [f"k >= 3 on {names[1]}"]
    db.generalize("t", require, **options)
    con.execute("INSERT INTO t SELECT 100000 + i, i % 9010, i % 7 FROM range(36000) r (i)")
    db.update(into)
    quoted = into.replace('"', '""')
    assert con.sql(f'SELECT count(*) FROM "{quoted}_version"(1)').fetchall() == [(27000,)]
    assert db.release(into).verify().holds
    db.release(into).drop()
    assert con.sql("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE '%safe%'").fetchall() == [(0,)]


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"person": ()}, "whose each record is"),
        ({"person": ["id", "town"]}, "one column"),
        ({"control": "10%"}, "--control"),
        ({"identifiers": {"town": "pseudonym"}}, "pseudonym"),
        ({"require": ["t <= 0.5 of ill on job"]}, "compares it with others"),
    ],
)
def test_what_an_update_could_not_keep_is_refused(options: dict[str, Any], words: str) -> None:
    db = opened(people(0, 30, "cook"))
    asked = OPTIONS | {"require": ["k >= 3 on job"], "keep": []} | options
    with pytest.raises(InvalidOption, match=words):
        db.suppress("visits", **asked)


def test_other_releases_nobodys_records_and_taken_names_are_refused() -> None:
    db = opened([*people(0, 9, "cook"), (None, "cook", "x", "flu")])
    with pytest.raises(InvalidSource, match="NULL in 1 row"):
        db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    run(db, "DELETE FROM visits WHERE id IS NULL")
    run(db, "ALTER TABLE visits RENAME town TO Record_Copy")
    with pytest.raises(InvalidOption, match="'record_copy' of its own"):
        db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    run(db, "ALTER TABLE visits RENAME Record_Copy TO town")
    run(db, "CREATE MACRO safe_version(n) AS TABLE SELECT n")
    with pytest.raises(NameTaken, match="safe_version"):
        db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    db.suppress("visits", ["k >= 3 on job"], person="id", into="plain")
    with pytest.raises(InvalidOption, match="not made with --updatable"):
        db.update("plain")


def _everybody_stays(self: Any, rows: Any) -> Any:
    return rows


def _everybody_enters(self: Any, arrivals: Any) -> Any:
    return arrivals


def _forgets_the_steps(engine: Any, masking: Any, steps: Any, bounds: Any) -> list[tuple[int, ...]]:
    return [() for _ in steps]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("Growth._with_their_cohort", _everybody_stays),
        ("Growth._entrants", _everybody_enters),
        ("_candidates", _forgets_the_steps),
        ("departed_persons", lambda engine, gone: departed_persons(engine, [])),
    ],
)
def test_planted_faults_are_refused(
    place: str, fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = opened([*people(0, 12, "cook"), *people(20, 9, "judge"), *people(40, 9, "clerk")])
    db.suppress("visits", ["k >= 3 on job"], max_steps=1, **OPTIONS)
    if place == "departed_persons":  # somebody comes back whom the version before had lost
        run(db, "DELETE FROM visits WHERE job = 'judge'")
        db.update("safe")
        add(db, people(20, 9, "judge"))
    elif place == "_candidates":  # another value is disclosed first
        add(db, people(200, 60, "judge"))
    else:
        run(db, "DELETE FROM visits WHERE id = 'p0'")
        add(db, [*people(100, 2, "judge"), *people(200, 4, "cook")])
    before = versions(db), run(db, "FROM safe")
    monkeypatch.setattr(f"ppdm_sql.methods.top_down.updating.{place}", fault)
    with pytest.raises(GuaranteeNotMet):
        db.update("safe")
    assert (versions(db), run(db, "FROM safe")) == before
    monkeypatch.undo()
    assert db.release("safe").verify().holds


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ppdm.release_safe SET record_cohort = 2 WHERE record_person = 'p0'",
        "UPDATE ppdm.version_1_safe SET job = 'judge' WHERE record_person IN ('p0', 'p1', 'p2')",
        "UPDATE ppdm.version_1_safe SET record_person = 'p900' WHERE record_person = 'p0'",
        "INSERT INTO ppdm.version_1_safe SELECT * FROM ppdm.version_1_safe LIMIT 1",
    ],
)
def test_verify_sees_changes_of_any_version(change: str) -> None:
    db = opened([*people(0, 9, "cook"), *people(10, 9, "judge")])
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    add(db, people(100, 4, "cook"))
    db.update("safe")
    run(db, change)
    assert not db.release("safe").verify().holds


# -- forgetting ---------------------------------------------------------------------------------------


def test_a_person_is_taken_out_of_every_version(tmp_path: Path) -> None:
    db = opened([*people(0, 9, "cook"), *people(10, 3, "judge")])
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    db.suppress("visits", ["k >= 3 on job"], person="id", into="plain")
    add(db, people(100, 4, "cook"))
    db.update("safe")
    with pytest.raises(InvalidOption, match="still holds 1 record"):
        db.forget("p10")
    run(db, "DELETE FROM visits WHERE id IN ('p10', 'p1')")
    found = db.forget("p10")
    (taken,) = found.releases
    assert (taken.records, taken.others, taken.versions) == (2, 4, 2)  # the two others of the class, twice
    assert found.unreachable == (("plain", "visits"),)
    assert [row[1] for row in versions(db)] == [9, 13]
    assert db.release("safe").verify().holds
    assert db.forget("p1", releases=["safe"]).releases[0].others == 0
    with pytest.raises(PpdmError, match=r"No updatable release.*\(plain cannot") as refused:
        db.forget("p10")
    assert refused.value.exit_code == 1 and "p10" not in str(refused.value)
    add(db, people(400, 3, "judge"))
    db.update("safe")
    assert db.release("safe").verify().holds


def test_a_file_that_still_holds_the_person_is_read(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    db = opened(people(0, 9, "cook"))
    run(db, f"COPY visits TO '{file}'")
    db.suppress(str(file), ["k >= 3 on job"], **OPTIONS)
    with pytest.raises(InvalidOption, match="still holds 1 record"):
        db.forget("p1")
    file.unlink()
    found = db.forget("p1")
    assert found.unread == (str(file),) and found.releases[0].records == 1


def test_a_release_of_which_nothing_is_left_is_dropped() -> None:
    db = opened(people(0, 3, "cook"))
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    run(db, "DELETE FROM visits")
    assert db.forget("p0").releases[0].versions == 0
    assert not db.releases() and run(db, "SELECT count(*) FROM ppdm.versions") == [(0,)]


# -- the command line, and a kill --------------------------------------------------------------------


def test_the_commands(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE visits AS SELECT 'p' || i AS id, ['cook', 'judge'][1 + i % 2] AS job "
            "FROM range(20) AS r (i)"
        )
    asked = "--require", "k >= 3 on job", "--person", "id", "--updatable", "--into", "safe"
    assert ppdm("suppress", path, "visits", *asked).exit_code == 0
    with duckdb.connect(str(path)) as con:
        con.execute("INSERT INTO visits SELECT 'q' || i, 'cook' FROM range(5) r (i)")
    updated = ppdm("update", path, "safe", "--format", "csv")
    assert updated.exit_code == 0 and "Published version 2 of safe: 25 records." in updated.stderr
    assert [line.split(",")[:5] for line in updated.stdout.splitlines()[1:]] == [
        ["1", "20", "20", "0", "0"],
        ["2", "25", "5", "0", "0"],
    ]
    assert "versions" in ppdm("show", path, "safe").stdout
    assert ppdm("verify", path, "safe").exit_code == 0
    out = tmp_path / "safe.parquet"
    assert ppdm("export", path, "safe", out).exit_code == 0
    assert duckdb.sql(f"SELECT * FROM '{out}'").columns == ["job"]
    assert ppdm("forget", path, "--person", "nobody").exit_code == 1
    with duckdb.connect(str(path)) as con:
        con.execute("DELETE FROM visits WHERE id = 'q0'")
    assert ppdm("forget", path, "--person", "q0").exit_code == 0
    assert ppdm("drop", path, "safe").exit_code == 0


CHILD = f"""{FUSE}
with ppdm_sql.open(sys.argv[1]) as db:
    getattr(db, sys.argv[3])(sys.argv[4])
    print(Fuse.burnt)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
@pytest.mark.parametrize(("method", "argument"), [("update", "safe"), ("forget", "p0")])
def test_a_killed_process_leaves_the_versions_whole(tmp_path: Path, method: str, argument: str) -> None:
    path = tmp_path / "clinic.duckdb"

    def made() -> None:
        path.unlink(missing_ok=True)
        with ppdm_sql.open(path, create=True) as db:
            run(db, "CREATE TABLE visits AS SELECT 'p' || i AS id, 'cook' AS job FROM range(9) r (i)")
            db.suppress("visits", ["k >= 3 on job"], person="id", updatable=True, into="safe")
            run(db, "INSERT INTO visits SELECT 'q' || i, 'cook' FROM range(5) r (i)")
            if method == "forget":
                db.update("safe")
                run(db, "DELETE FROM visits WHERE id = 'p0'")

    def child(line: int) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-W", "ignore", "-c", CHILD, str(path), str(line), method, argument]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    made()
    lines = int(child(0).stdout)
    made()
    with ppdm_sql.open(path) as db:
        before = versions(db)
    for line in sorted(random.Random(1).sample(range(lines - 30, lines), 3)):
        assert child(line).returncode == -signal.SIGKILL
        with ppdm_sql.open(path) as db:
            assert versions(db) == before
            assert db.release("safe").verify().holds
    assert child(0).returncode == 0


def test_the_calls_in_sql_do_the_same() -> None:
    db = opened([*people(0, 9, "cook"), *people(10, 9, "judge")])
    db.suppress("visits", ["k >= 3 on job"], **OPTIONS)
    con = db.engine.connection
    add(db, people(100, 5, "cook"))
    ppdm_sql.register(con)
    assert con.sql("CALL ppdm_update('safe')").fetchall()[0][:3] == ("safe", "PDA", 23)
    con.execute("DELETE FROM visits WHERE id = 'p0'")
    assert con.sql("CALL ppdm_forget('p0')").fetchall() == [("safe", 2, 0, 2, [], None)]
    with pytest.raises(duckdb.Error, match="No updatable release here holds a record of that person"):
        con.sql("CALL ppdm_forget('p0')").fetchall()
