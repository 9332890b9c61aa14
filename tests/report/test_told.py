"""What a page says of columns, of missing records, and of what the release is worth."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pages import ROOT
from report_pages import QUIET, page

import ppdm_sql
from ppdm_sql.privacy import parse_all
from ppdm_sql.report import cost
from ppdm_sql.report.page import templates


def told(text: str) -> str:
    """The words of a page, without its pictures."""
    bare = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def titles(text: str) -> list[str]:
    return re.findall(r"<figcaption>([^<]*)</figcaption>", text)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """People whose job follows a tree, one of whom is alone; codes that are numbers, dates, and a class."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE people AS SELECT ['cook', 'baker', 'judge', 'notary'][1 + i % 4] AS job, "
        "if(i < 3, 'rare', ['red', 'blue', 'green'][1 + i % 3]) AS hue, 'one' AS same, i % 5 AS zip_code, "
        "DATE '1950-01-01' + (i * 37 % 9000)::INTEGER AS born, i % 4 < 2 AND i % 7 > 0 AS good "
        "FROM range(600) AS r (i)"
    )
    return con


JOBS = {"any": {"food": ["cook", "baker"], "law": ["judge", "notary"]}}


@pytest.fixture(scope="module")
def whole(connection: duckdb.DuckDBPyConnection) -> ppdm_sql.Release:
    return ppdm_sql.open(connection).generalize(
        "people",
        ["k >= 3 on job, hue, same"],
        class_column="good",
        taxonomies={"job": JOBS},
        into="whole",
        **QUIET,
    )


@pytest.fixture(scope="module")
def partial(connection: duckdb.DuckDBPyConnection) -> ppdm_sql.Release:
    return ppdm_sql.open(connection).generalize(
        "people",
        ["k >= 10 on job, hue, born"],
        class_column="good",
        taxonomies={"job": JOBS, "born": "dates"},
        suppress_records="2%",
        into="partial",
        **QUIET,
    )


@pytest.mark.parametrize("public", [False, True])
def test_every_column_is_told_by_what_the_release_shows(
    whole: ppdm_sql.Release, tmp_path: Path, public: bool
) -> None:
    rows = whole.relation().fetchall()
    hues = {row[1] for row in rows}
    words = told(page(whole, tmp_path, public=public))
    assert "suppressed" not in words.lower().split("not promised")[0].split("all measures")[0].replace(
        "suppressed cells", ""
    )
    if "*" not in hues:
        assert "hue as it is" in words
    elif hues == {"*"}:
        assert "hue * in every record" in words
    else:
        assert f"hue {len(hues) - 1}{'' if public else ' of 4'} values, * for the others" in words
    assert "good as it is (the class)" in words
    assert ("below the top of its hierarchy" in words) <= (not public)
    assert ("* stands for a value that the release does not show" in words) == any("*" in row for row in rows)


def test_the_association_of_columns_is_cramers_v(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    connection.execute(
        "CREATE OR REPLACE TABLE pairs AS SELECT 'v' || i % 4 AS a, 'w' || i % 4 AS b, "
        "'x' || i // 4 % 5 AS c, 'one' AS d FROM range(400) AS r (i)"
    )
    release = ppdm_sql.open(connection).suppress("pairs", ["k >= 2 on a, b, c, d"], into="paired", **QUIET)
    words = told(page(release, tmp_path))
    assert "a b 1.000" in words
    assert "a c 0.000" in words
    assert "b c 0.000" in words
    assert "a d –" in words


@pytest.mark.parametrize("public", [False, True])
def test_missing_records_are_told_in_both_editions(
    partial: ppdm_sql.Release, whole: ppdm_sql.Release, tmp_path: Path, public: bool
) -> None:
    left = partial.row().left_out
    assert left
    words = told(page(partial, tmp_path, public=public))
    assert re.search(rf"{left} records?, [\d.]+ % of the source's, (is|are) missing: ", words)
    assert "No record of the source is missing." in told(page(whole, tmp_path, public=public))


def test_the_second_headline_tells_the_detail_and_the_error_to_the_owner_alone(
    partial: ppdm_sql.Release, tmp_path: Path
) -> None:
    measures = {one.measure: one.after or 0.0 for one in partial.measures()}
    owners, public = (told(page(partial, tmp_path, public=edition)) for edition in (False, True))
    showing = measures["columns that show something"]
    some = "All" if showing == 3 else f"{showing:.0f} of"
    assert re.search(rf"\b{some} 3 masked columns shows? something, and ", owners)
    assert f"{100 * measures['detail kept']:.1f}".removesuffix(".0") + " % of the detail" in owners
    assert re.search(r"wrong about good in [\d.]+ % .*; from the original in [\d.]+ %", owners)
    assert re.search(rf"\b{some} 3 masked columns shows? something\.", public)
    for telling in ("of the detail", "decision tree", "the original"):
        assert telling not in public


def test_without_scikit_learn_or_a_class_there_is_no_error_to_tell(
    partial: ppdm_sql.Release,
    connection: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = ppdm_sql.open(connection).suppress("people", ["k >= 3 on job"], into="classless", **QUIET)
    assert "decision tree that learns" not in told(page(plain, tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "sklearn.tree", None)
    assert "decision tree that learns" not in told(page(partial, tmp_path))


def test_a_column_that_shows_one_label_is_drawn_as_it_was_and_not_to_the_public(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    made = ppdm_sql.open(connection).suppress("people", ["k >= 500 on hue, job"], into="hidden", **QUIET)
    owners, public = page(made, tmp_path), page(made, tmp_path, public=True)
    assert "hue, before" in titles(owners)
    assert "Every record of the release shows *." in told(owners)
    assert not {"hue", "hue, before", "hue, after"} & {*titles(public)}
    assert "hue * in every record" in told(public)


def test_codes_in_intervals_are_no_densities(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    draw = cost.histogram
    monkeypatch.setattr(
        cost,
        "histogram",
        lambda *of, **how: draw(*of, **how) if how.get("sizes") else drawn.append(of[0]) or draw(*of, **how),
    )
    con = connection.cursor()
    con.execute("CREATE TABLE coded AS SELECT i * 37 % 900 AS zip_code, i % 50 AS age FROM range(900) r (i)")
    made = ppdm_sql.open(con).generalize("coded", ["k >= 9 on zip_code", "k >= 9 on age"], into="c", **QUIET)
    shown = titles(page(made, tmp_path))
    assert drawn == ["age"]
    assert "zip_code, before" in shown


def test_titles_and_notes_are_whole(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    names = [f"a_column_with_a_long_name_{number}" for number in range(6)]
    con = connection.cursor()
    con.execute(
        f"CREATE TABLE wide AS SELECT {', '.join(f'i % 2 AS {name}' for name in names)} FROM range(99) r (i)"
    )
    made = ppdm_sql.open(con).suppress("wide", [f"k >= 4 on {', '.join(names)}"], into="wide_safe", **QUIET)
    text = page(made, tmp_path)
    assert f"Class sizes on {', '.join(names)}" in titles(text)
    assert "…" not in told(text)


def test_class_sizes_stand_on_an_axis_that_begins_at_one(whole: ppdm_sql.Release, tmp_path: Path) -> None:
    figure = page(whole, tmp_path, public=True).partition("<figcaption>Class sizes")[2].partition("</svg>")[0]
    ticks = re.findall(r">(\d+)</text>", figure)
    assert ticks[0] == "1"
    left = [float(x) for x in re.findall(r'd="M([\d.]+),', figure)]
    assert max(left) > 0  # the smallest class is larger than one, and its bar stands to the right of it


@pytest.mark.parametrize(
    ("labels", "ordered"),
    [
        (["2003-Q2", "*", "2001-Q4", "2003-Q1"], ["2001-Q4", "2003-Q1", "2003-Q2", "*"]),
        (["2004-02-29", "1999", "1990s", None], ["1990s", "1999", "2004-02-29", None]),
        (["[1e3, 2e3)", "[20, 1e3)", "[-5, 20)"], ["[-5, 20)", "[20, 1e3)", "[1e3, 2e3)"]),
        (["10", "9", "100 or more", "3 or less"], ["3 or less", "9", "10", "100 or more"]),
        (["nan", "x", "7"], ["nan", "x", "7"]),
        ([], []),
    ],
)
def test_times_and_numbers_are_in_their_order(labels: list[str | None], ordered: list[str | None]) -> None:
    assert cost.in_order(labels) == ordered


def test_a_tree_of_hundreds_of_levels_is_listed_in_part(tmp_path: Path) -> None:
    """Where intervals lose their values one by one, each is a level of its own."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS n, i % 2 = 0 AS c FROM range(900) AS r (i)")
        made = ppdm_sql.open(con).generalize("t", ["k >= 2 on n"], class_column="c", into="deep", **QUIET)
        con.execute("DELETE FROM ppdm.taxonomies")
        con.execute(
            "INSERT INTO ppdm.taxonomies BY NAME SELECT 'deep' AS release, 'n' AS attribute, i AS node, "
            "if(i = 0, NULL, i - 1) AS parent, 'level ' || i AS label, i = 1999 AS shown "
            "FROM range(2000) AS r (i)"
        )
        words = told(page(made, tmp_path))
    assert "level 60 and what is below it" in words
    assert "level 61" not in words


def test_labels_of_which_all_records_are_left_out_are_not_counted(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT if(i < 2, 5, 20 + i % 20) AS age, i % 20 < 10 AS good "
            "FROM range(200) AS r (i)"
        )
        safe = ppdm_sql.open(con).generalize(
            "t",
            ["k >= 5 on age"],
            class_column="good",
            taxonomies={"age": "ranges 10,40"},
            suppress_records="5%",
            into="safe",
            **QUIET,
        )
        assert len(safe.relation().unique("age").fetchall()) == 2
        assert "age 2 intervals" in told(page(safe, tmp_path))
        assert ("column age", "2 intervals") in safe.tables()[0].rows


def test_the_curve_of_records_that_are_all_alone_names_their_risk(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE alone AS SELECT i AS age, i % 2 AS ill FROM range(30) r (i)")
    release = ppdm_sql.open(con).generalize("alone", ["k >= 1 on age"], into="whole", **QUIET)
    curve = page(release, tmp_path).partition("Risk of a record")[2].partition("</figure>")[0]
    assert re.findall(r">([0-9.]+%)<", curve)[0] == "100%"


# -- what is not promised ----------------------------------------------------------------------------


PAGES = (
    "README.md",
    "docs/suppression.md",
    "docs/generalization.md",
    "docs/two-parties.md",
    "docs/swapping.md",
    "docs/perturbation.md",
)


METHODS = ("PDA", "TDS", "HCE-TDR", "TDS2P", "swap", "randomize")


def limits(method: str, required: list[str]) -> list[str]:
    """The points that a page on such a release lists."""
    module: Any = templates().get_template("limits.html.jinja").module
    points = re.findall(r"<li>(.*?)</li>", module.limits(method, parse_all(required)), re.DOTALL)
    return [" ".join(unescape(re.sub(r"</?strong>", "", point)).split()) for point in points]


def plain(text: str) -> str:
    """Words without marks, in one case."""
    return " ".join(re.sub(r"[*`|#]", " ", text).split()).lower()


ASKED = {
    "a template": ["job -> ill = flu <= 50%"],
    "k": ["k >= 3 on job"],
    "l": ["distinct l >= 2 of ill on job"],
}


@pytest.mark.parametrize("method", METHODS)
def test_every_sentence_stands_on_a_page(method: str) -> None:
    text = plain(" ".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES))
    for asked in [[]] if method in ("swap", "randomize") else ASKED.values():
        points = limits(method, asked)
        assert points
        for sentence in (part for point in points for part in re.split(r"(?<=[.;,]) ", point)):
            assert plain(sentence).rstrip(".;,") in text, sentence


def test_a_template_is_named_only_where_there_is_one() -> None:
    words = {asked: str(limits("TDS", required)) for asked, required in ASKED.items()}
    assert [asked for asked, text in words.items() if "template" in text] == ["a template"]
    assert [asked for asked, text in words.items() if "k says nothing" in text] == ["k"]
