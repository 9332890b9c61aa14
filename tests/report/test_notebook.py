"""Results in a notebook: one line as text; tables, and pictures where the library is there, as HTML."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from report_pages import METHODS, QUIET, open_examples, release

from ppdm_sql import Database
from ppdm_sql.report.page import templates
from ppdm_sql.results import ResultTable

HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with open_examples() as found:
        for method in METHODS:
            release(found, method)
        found.generate_agrawal("people", function=1, rows=2000, seed=1)
        yield found


@pytest.fixture(scope="module")
def results(db: Database) -> list[Any]:
    audit = db.audit("customers", ["k >= 2 on Job"], count_column="n")
    first_look = db.audit("policies")
    evaluation = db.evaluate("safe_pda", seeds=1, folds=2, **QUIET)
    found = db.reconstruct("safe_noise", columns=("age", "hue"), into="behind", intervals=12, **QUIET)
    model = db.train("people", class_column="class", mode="original", into="ages", **QUIET)
    return [db.release("safe_tds"), db.release("safe_noise"), audit, first_look, evaluation, found, model]


def test_the_text_is_one_line(results: list[Any]) -> None:
    for result in results:
        assert "\n" not in repr(result)
        assert len(repr(result)) < 160


def test_every_result_has_tables_that_the_notebook_shows(db: Database, results: list[Any]) -> None:
    safe = db.release("safe_tds")
    compared = db.compare(["safe_tds", "safe_pda"], **QUIET)
    for result in (*results, safe.steps(), safe.verify(), compared):
        tables = result.tables()
        assert tables
        for table in tables:
            assert {len(row) for row in table.rows} <= {len(table.columns)}
            assert set(table.units.values()) <= {"", "share", "per cent"}
            assert table.title in result._repr_html_()


def test_numbers_are_called_in_words_and_columns_of_the_data_as_they_are(db: Database) -> None:
    compared = db.compare(["safe_tds", "safe_pda"], **QUIET)._repr_html_()
    assert compared is not None
    assert "<th>smallest class</th>" in compared
    assert "smallest_class" not in compared
    table = ResultTable("the worst", ("zip_code", "at_risk"), [("9", 0.5)], {"at_risk": "share"}, ("Said.",))
    chapter: Any = templates().get_template("parts.html.jinja").module
    told = re.sub(r"\s*<[^>]*>\s*", "|", str(chapter.part("Found", tables=[table])))
    assert re.findall(r"[^|]+", told) == ["Found", "the worst", "Said.", "zip_code", "at risk", "9", "50 %"]


def test_the_html_has_tables_and_pictures_and_nothing_that_acts(results: list[Any]) -> None:
    for result in results:
        html = result._repr_html_()
        assert html.count("<table>") >= 1
        assert "<script" not in html and "http" not in html.replace("http://www.w3.org", "")
    assert sum(result._repr_html_().count("<svg") for result in results) >= 6


def test_without_the_library_the_tables_stand_alone(
    results: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for result in results:
        html = result._repr_html_()
        assert "<svg" not in html
        assert "<table>" in html


def test_what_is_gone_stays_text(db: Database) -> None:
    made = db.suppress("customers", ["k >= 2 on Job"], class_column="Rating", into="soon_gone", **QUIET)
    made.drop()
    assert made._repr_html_() is None
    assert repr(made) == "Release('soon_gone')"


def test_hostile_names_are_text(db: Database) -> None:
    columns = f"'{HOSTILE}' AS \"{HOSTILE}\", i % 2 AS good"
    db.engine.connection.execute(f"CREATE OR REPLACE TABLE hostile AS SELECT {columns} FROM range(40) r (i)")
    made = db.suppress("hostile", [f'k >= 2 on "{HOSTILE}"'], class_column="good", into="tamed", **QUIET)
    audit = db.audit("hostile", [f'k >= 2 on "{HOSTILE}"'], groups=3)
    model = db.train("hostile", class_column="good", mode="original", into="grown", **QUIET)
    for result in (made, audit, model):
        assert "<script" not in result._repr_html_()
        assert "\u202e" not in result._repr_html_()
    assert all("\\u202e" in result._repr_html_() for result in (made, audit))


def test_a_release_in_a_notebook_holds_no_cell_of_its_source(db: Database) -> None:
    db.engine.connection.execute(
        "CREATE OR REPLACE TABLE planted AS SELECT 'PLANTED' || i AS who, i % 2 AS good FROM range(40) r (i)"
    )
    made = db.suppress("planted", ["k >= 2 on who"], class_column="good", into="unplanted", **QUIET)
    assert "PLANTED" not in made._repr_html_() + repr(made)  # type: ignore[operator]
