"""Settings side by side say what each release would say by itself, and publish nothing by themselves."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from report_pages import JOBS, QUIET, open_examples

import ppdm_sql
from ppdm_sql import Database
from ppdm_sql.comparison.model import Comparison
from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption
from ppdm_sql.progress import SilentProgress

STAFF: dict[str, Any] = {
    "class_column": "Class",
    "count_column": "n",
    "taxonomies": {"Job": JOBS},
    "ranges": {"Salary": (1, 99)},
    **QUIET,
}
JOB_AND_SALARY = ["Job", "Salary"]
HOSTILE = "a \"b\"; <script>'x'\u202e"


@pytest.fixture
def db() -> Iterator[Database]:
    with open_examples() as opened:
        yield opened


def staff(db: Database, **options: Any) -> Comparison:
    return db.compare("employees", quasi_identifier=JOB_AND_SALARY, **STAFF, **options)


@pytest.mark.parametrize("method", ["tds", "hce-tdr"])
def test_a_setting_reaches_what_its_release_reaches(db: Database, method: str) -> None:
    rows = staff(db, k=[2, 8], method=[method]).rows
    assert len(rows) == 2
    for place, row in enumerate(rows):
        made = db.generalize("employees", list(row.requirements), method=method, into=f"safe{place}", **STAFF)
        measures = {m.measure: m.after for m in made.measures()}
        found = row.numbers
        assert found.detail_lost == 1 - measures["detail kept"]  # type: ignore[operator]
        assert found.smallest_class == measures[f"smallest class: {row.requirements[0]}"]
        assert found.average_risk == pytest.approx(1 / measures["average class size: Job, Salary"])  # type: ignore[operator]
        assert (found.records, found.left_out) == (made.row().rows, 0)


def test_nothing_is_published_and_nothing_stays_behind(db: Database) -> None:
    before = db.engine.connection.sql("FROM duckdb_tables()").fetchall()
    staff(db, k=[2, 4])
    assert db.releases() == []
    assert db.engine.connection.sql("FROM duckdb_tables()").fetchall() == before


def test_the_best_setting_is_published_as_it_would_be_alone(db: Database) -> None:
    found = staff(db, k=[4, 20], keep_best="risk", into="best")
    assert found.best is not None
    least = min(found.rows, key=lambda row: row.numbers.highest_risk or 9)
    assert found.best.row().requirements == least.requirements
    assert found.best.verify().holds


def test_a_setting_that_cannot_be_met_says_so_and_the_others_stand(db: Database) -> None:
    met, unmet = staff(db, k=[4, 5000]).rows
    assert (met.problem, unmet.numbers.records) == ("", None)
    assert "k >= 5000" in unmet.problem


def test_a_method_that_cannot_be_asked_is_a_row_of_its_own(db: Database) -> None:
    require = ["k >= 4 on Sex, Job", "k >= 4 on Job, Salary"]
    tds, hce, pda = db.compare("employees", require=require, method=["tds", "hce-tdr", "pda"], **STAFF).rows
    assert tds.numbers.smallest_class is not None
    assert (
        hce.problem == "HCE-TDR takes one quasi-identifier, and the requirements group by different columns."
    )
    assert pda.numbers.detail_lost is not None


def test_requirements_without_a_limit_take_each_k(db: Database) -> None:
    asked = {name: item for name, item in STAFF.items() if name != "ranges"}
    found = db.compare("employees", require=["k on Sex, Job", "k >= 2 on Job"], k=[3, 4], **asked)
    assert [row.requirements for row in found.rows] == [
        ("k >= 3 on Sex, Job", "k >= 2 on Job"),
        ("k >= 4 on Sex, Job", "k >= 2 on Job"),
    ]


def test_records_left_out_are_counted_and_cost_less_detail(db: Database) -> None:
    none, some = staff(db, k=8, suppress_records=["0", "20%"]).rows
    assert (none.name, some.name) == ("0 left out", "20% left out")
    assert none.numbers.left_out == 0 < (some.numbers.left_out or 0) <= 0.2 * 34
    assert (some.numbers.smallest_class or 0) >= 8
    assert 0 < (some.numbers.detail_lost or 0) <= (none.numbers.detail_lost or 0)


def test_leaving_records_out_is_not_free() -> None:
    with ppdm_sql.open(":memory:") as db:
        db.engine.connection.execute(
            "CREATE TABLE t AS SELECT if(i < 90, 'a', i::VARCHAR) AS c FROM range(100) r (i)"
        )
        asked: dict[str, Any] = {"quasi_identifier": ["c"], "k": 5, "score": "paper"}
        (found,) = db.compare("t", suppress_records="10%", **asked, **QUIET).rows
        assert found.numbers.left_out == 10
        assert found.numbers.detail_lost == pytest.approx(0.1)


def test_templates_alone_are_compared_by_their_confidence(db: Database) -> None:
    asked = ["Job, Country -> Bankruptcy = Discharged <= 50%"]
    found = db.compare(
        "customers",
        require=asked,
        method=["pda", "tds"],
        class_column="Rating",
        count_column="n",
        **QUIET,
    )
    assert all((row.numbers.confidence or 0) <= 0.5 for row in found.rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": [2], "method": ["mondrian"]}, "There is no method 'mondrian'"),
        ({}, "No k is given"),
        ({"k": [2], "keep_best": "loss"}, "Give both --keep-best and --into"),
        ({"k": [2], "keep_best": "beauty", "into": "x"}, "There is no measure 'beauty'"),
        ({"k": [2], "keep_best": "error", "into": "x"}, "Add --evaluate"),
        ({"k": [0]}, "k = 0 is below 1"),
        ({"k": [2], "keep": ["Nonsense"]}, "Nonsense"),
    ],
)
def test_what_no_setting_can_be_asked_is_an_error(db: Database, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ppdm_sql.PpdmError, match=words):
        staff(db, **options)


def test_nothing_to_keep_and_no_columns_for_k_are_errors(db: Database) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match="No requirement says what the settings are to keep"):
        db.compare("employees", k=[2], **STAFF)
    with pytest.raises(ppdm_sql.InvalidOption, match="does not say which columns it is about"):
        db.compare("employees", k=[2], require=["k >= 2 on Job"], **STAFF)
    with pytest.raises(ppdm_sql.InvalidOption, match="one table"):
        db.compare(["employees", "customers"], quasi_identifier=["Job"], k=[2], **STAFF)


class Interrupting(SilentProgress):
    """Presses Ctrl-C when the third setting begins."""

    def start(self, what: str) -> None:
        if what.startswith("setting 3"):
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_gives_what_was_done_and_publishes_nothing(db: Database) -> None:
    options = STAFF | {"progress": Interrupting()}
    found = db.compare(
        "employees",
        quasi_identifier=JOB_AND_SALARY,
        k=[2, 4, 8, 20],
        keep_best="loss",
        into="x",
        **options,
    )
    assert (found.interrupted, len(found.rows), found.best) == (True, 2, None)
    assert db.releases() == []
    assert len(staff(db, k=[2]).rows) == 1


def test_releases_are_measured_by_the_columns_that_are_asked_for(db: Database) -> None:
    for k in (4, 20):
        db.generalize("employees", [f"k >= {k} on Job, Salary"], into=f"safe{k}", **STAFF)
    own = db.compare(["safe4", "safe20"], **QUIET)
    assert [row.name for row in own.rows] == ["safe4", "safe20"]
    tried = staff(db, k=[4, 20])
    for one, other in zip(own.rows, tried.rows, strict=True):
        assert one.numbers.smallest_class == other.numbers.smallest_class
        assert one.numbers.detail_lost == other.numbers.detail_lost
    by_job = db.compare(["safe4", "safe20"], quasi_identifier=["Job"], **QUIET)
    assert by_job.rows[0].numbers.smallest_class >= own.rows[0].numbers.smallest_class  # type: ignore[operator]


def test_the_error_of_a_classifier_is_that_of_the_release() -> None:
    db = ppdm_sql.open(duckdb.connect())
    db.engine.connection.execute("CREATE TABLE t AS SELECT i % 2 AS job, i % 2 AS good FROM range(400) r (i)")
    found = db.compare(
        "t", quasi_identifier=["job"], k=[2, 300], class_column="good", evaluate=True, method="pda", **QUIET
    )
    assert [row.numbers.error for row in found.rows] == [0.0, 50.0]
    assert found.baseline == {"BE": 0.0, "majority": 50.0}
    release = db.suppress("t", ["k >= 2 on job"], class_column="good", into="safe", **QUIET)
    assert db.compare([release.name], evaluate=True, **QUIET).rows[0].numbers.error == 0.0


def test_hostile_names_and_values_stay_text(tmp_path: Path) -> None:
    con = duckdb.connect()
    name = HOSTILE.replace('"', '""')
    con.execute(
        f'CREATE TABLE "{name}" AS SELECT i % 3 AS "{name}", NULL AS n, i % 2 AS "c<b>" FROM range(30) r (i)'
    )
    db = ppdm_sql.open(con)
    file = tmp_path / "page.html"
    found = db.compare(
        HOSTILE, quasi_identifier=[HOSTILE, "n"], k=[2, 40], class_column="c<b>", page=file, **QUIET
    )
    assert len(found.rows) == 2
    for text in (file.read_text(encoding="utf-8"), found._repr_html_()):
        assert "<script>" not in text
        assert "&lt;script&gt;" in text
        assert "\u202e" not in text
        assert "\\u202e" in text


def test_a_frame_can_be_tried() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": range(12), "old": [i > 5 for i in range(12)]})
    db = ppdm_sql.open(":memory:")
    found = db.compare(frame, quasi_identifier=["age"], k=[2], class_column="old", score="paper", **QUIET)
    assert found.rows[0].numbers.smallest_class == 6


# -- the command and the call -----------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "staff.duckdb"
    with ppdm_sql.open(found, create=True) as db:
        ppdm_sql.examples.write(db.engine)  # type: ignore[attr-defined]
    return found


ASKED = [
    "employees",
    "--class",
    "Class",
    "--count",
    "n",
    "--qi",
    "Job,Salary",
    "--range",
    "Salary=1,99",
    "-q",
]


def test_the_command_prints_and_writes_what_was_found(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "compared.html"
    words = ["compare", str(file), *ASKED, "--k", "2,4", "--method", "tds,hce-tdr", "--format", "csv"]
    done = ppdm(*words, "--page", str(page))
    assert done.exit_code == 0, done.output
    heading, *rows = done.stdout.splitlines()
    assert heading.startswith(
        "setting,k,method,smallest_class,highest_risk,average_risk,detail_lost,left_out"
    )
    assert [row.partition(",3,")[0] for row in rows[:1]] == ['"k = 2, tds; k = 2, hce-tdr",2,"tds, hce-tdr"']
    assert len(rows) == 3
    assert page.read_text(encoding="utf-8").count("<svg") == 1
    again = ppdm(*words, "--page", str(page))
    assert again.exit_code == 2


def test_the_command_fails_where_no_setting_can_be_met(file: Path) -> None:
    done = ppdm("compare", str(file), *ASKED, "--k", "5000")
    assert done.exit_code == 1
    assert "5000" in done.stdout


def test_the_call_gives_a_row_a_setting(file: Path) -> None:
    con = duckdb.connect(str(file))
    ppdm_sql.register(con)
    found = con.execute(
        "SELECT method, smallest_class, frontier FROM ppdm_compare('employees', qi := ['Job', 'Salary'], "
        "k := [2, 4], method := ['tds', 'pda'], class := 'Class', count := 'n')"
    ).fetchall()
    assert [row[0] for row in found] == ["tds", "pda", "tds", "pda"]
    assert all(row[1] >= 2 for row in found)


# -- options that hold for all settings -----------------------------------------------------------

VISITS = """CREATE TABLE visits AS
    SELECT i // 3 AS patient, 20 + i * 7 % 50 AS age, 'zip ' || i // 3 % 4 AS zip, i % 5 = 0 AS again
    FROM range(300) r (i)"""
SHAPED: dict[str, dict[str, Any]] = {
    "limits": {"limits": {"age": 3}},
    "weights": {"weights": {"zip": 50}},
    "min_widths": {"min_widths": {"age": 20}},
    "boundary": {"boundary": "best"},
    "tails": {"tops": {"age": 60}, "bottoms": {"age": 25}},
    "person": {"person": "patient"},
}
OF_SUPPRESSION = ("limits", "weights", "person", "progress")


@pytest.mark.parametrize("name", SHAPED)
def test_an_option_of_the_runs_reaches_every_setting(name: str) -> None:
    options = SHAPED[name] | QUIET
    of_both = {key: value for key, value in options.items() if key in OF_SUPPRESSION}
    with ppdm_sql.open(":memory:") as db:
        db.engine.connection.execute(VISITS)
        asked: dict[str, Any] = {"k": 3, "method": ["tds", "pda"], "class_column": "again"}
        found = db.compare("visits", quasi_identifier=["age", "zip"], **asked, **options)
        assert all(row.problem == "" for row in found.rows)
        rows = [(row, method) for row in found.rows for method in row.method.split(", ")]
        for place, (row, method) in enumerate(rows):
            given: dict[str, Any] = {"class_column": "again", "into": f"v{place}"}
            strictest = row.requirements[-1]
            if method == "pda":
                made = db.suppress("visits", strictest, **given, **of_both)
            else:
                made = db.generalize("visits", strictest, **given, **options)
            (of_release,) = db.compare(f"v{place}", **QUIET).rows
            assert of_release.numbers == replace(row.numbers, left_out=None)
            least = {m.measure: m.after for m in made.measures()}[f"smallest class: {strictest}"]
            assert row.numbers.smallest_class == least


def test_classes_count_persons_and_not_their_records() -> None:
    with ppdm_sql.open(":memory:") as db:
        db.engine.connection.execute(
            "CREATE TABLE visits AS SELECT i // 3 AS patient, i // 3 % 5 AS zip FROM range(60) r (i)"
        )
        numbers = [
            db.compare("visits", quasi_identifier=["zip"], k=2, **QUIET, **more).rows[0].numbers
            for more in ({}, {"person": "patient"})
        ]
        assert [found.smallest_class for found in numbers] == [12, 4]
        assert [found.records for found in numbers] == [60, 60]


def test_persons_and_records_left_out_are_refused_as_in_a_run() -> None:
    with ppdm_sql.open(":memory:") as db:
        db.engine.connection.execute(VISITS)
        asked: dict[str, Any] = {"quasi_identifier": ["age"], "k": 3, "person": "patient"}
        with pytest.raises(InvalidOption, match="cannot count persons yet"):
            db.compare("visits", suppress_records=["1%"], **asked, **QUIET)


# -- what runs share of their measurements -----------------------------------------------------------


@pytest.mark.parametrize("method", ["tds", "hce-tdr", "pda"])
def test_a_second_run_asks_nothing_that_the_first_one_knows(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    fetched = Engine._fetched

    def listening(self: Engine, sql: str, params: Any, step: str, fetch: Any) -> Any:
        asked.append(step)
        return fetched(self, sql, params, step, fetch)

    monkeypatch.setattr(Engine, "_fetched", listening)
    counts: list[int] = []
    with open_examples() as db:
        for k in ([3], [3, 2]):
            asked.clear()
            options: dict[str, Any] = {"class_column": "Class", "count_column": "n", **QUIET}
            db.compare("employees", quasi_identifier=["Job", "Sex"], k=k, method=method, **options)
            counts.append(
                sum(asked.count(step) for step in ("within", "beside", "measure_path", "dictionary"))
            )
    assert counts[0] <= counts[1] < 2 * counts[0]


def test_runs_in_any_order_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_examples() as db:
        options: dict[str, Any] = {"class_column": "Class", "count_column": "n", **QUIET}
        methods = ["tds", "hce-tdr", "pda"]
        found = [
            {
                name: row.numbers
                for row in db.compare(
                    "employees", quasi_identifier=["Job", "Salary"], k=k, method=order, **options
                ).rows
                for name in row.names
            }
            for k, order in (([2, 4, 8], methods), ([8, 4, 2], methods[::-1]))
        ]
    assert found[0] == found[1]
