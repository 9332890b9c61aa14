"""A page on a release: what it says, that it can be read anywhere, and that nothing can break out of it."""

from __future__ import annotations

import hashlib
import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from report_pages import EDITIONS, METHODS, QUIET, open_examples, page, release

import ppdm_sql
from ppdm_sql.report import cost
from ppdm_sql.report.subject import Bar

TURNS = "\u061c\u200e\u200f\u202a\u202e\u2066\u2069"
HOSTILE = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>&{{ 7 * 7 }}@title"


class Parts(HTMLParser):
    """Elements, attributes and texts of a page; every element that must be closed is."""

    VOID = frozenset(("meta", "link", "br", "img"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


every_page = pytest.mark.parametrize(("method", "edition"), [(m, e) for m in METHODS for e in EDITIONS])


@every_page
def test_a_page_is_whole_and_does_nothing_but_show(
    pages: dict[tuple[str, str], str], method: str, edition: str
) -> None:
    text = pages[method, edition]
    found = Parts(text)
    tags = {tag for tag, _ in found.tags}
    assert not tags & {"script", "iframe", "object", "embed", "form", "img", "foreignobject", "base"}
    assert not any(
        name.startswith("on") or name == "style" for _, attributes in found.tags for name in attributes
    )
    links = [a[name] for _, a in found.tags for name in ("href", "src") if name in a]
    assert all(link is not None and link.startswith(("#", "data:,")) for link in links)
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in text
    names = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(names) == len(set(names))
    wanted = set(re.findall(r"url\(#([\w-]+)\)", text))
    wanted |= {link[1:] for _, a in found.tags if (link := a.get("href") or "").startswith("#")}
    assert wanted <= set(names)


@every_page
def test_every_picture_has_a_caption_words_and_a_table(
    pages: dict[tuple[str, str], str], method: str, edition: str
) -> None:
    figures = re.findall(r"<figure[^>]*>(.*?)</figure>", pages[method, edition], re.DOTALL)
    assert figures
    for figure in figures:
        assert re.search(r"<figcaption>[^<]+</figcaption>", figure)
        assert re.search(r'<p class="says">[^<]{20,}</p>', figure)
        assert figure.count("<svg") == figure.count("<table>") == 1
        assert len(re.findall(r"<text\b", figure)) >= 2


def test_an_owners_page_says_what_was_asked_and_reached(pages: dict[tuple[str, str], str]) -> None:
    text = Parts(pages["TDS", "owner"]).text
    assert "safe_tds holds 34 records of employees in 5 columns." in text
    assert "An audit of the released rows confirms every requirement." in text
    assert re.search(r"k >= 4 on Sex, Job 1 4 holds", text)
    assert "Smallest class: 1 before, 4 after." in text
    for chapter in ("The promise", "Who could be found", "What it cost", "How it came about", "All measures"):
        assert chapter in text
    assert "Lawyer" in text  # a riskiest combination of the source


@pytest.mark.parametrize(("method", "said"), [("TDS", "linkage Sex, Job"), ("swap", "modelling")])
def test_an_owners_page_says_what_attackers_get(
    pages: dict[tuple[str, str], str], method: str, said: str
) -> None:
    assert said in Parts(pages[method, "owner"]).text.partition("What attackers get")[2]
    public = Parts(pages[method, "public"]).text
    assert "What attackers get" not in public
    assert "Columns of the source that single people out" not in public


def test_a_public_page_says_what_the_release_says(pages: dict[tuple[str, str], str]) -> None:
    text = Parts(pages["TDS", "public"]).text
    assert "Smallest class: 4." in text
    assert "What is not promised" in text
    for word in ("Lawyer", "Accountant", "employees", "riskiest", "before", "Gain of", "step "):
        assert word not in text


def test_a_page_on_swaps_says_who_was_identifiable(pages: dict[tuple[str, str], str]) -> None:
    text = Parts(pages["swap", "owner"]).text
    assert "uniquely 6 6 collectively 6 0 not identifiable 4 10" in text


def test_a_page_on_noise_shows_true_numbers_to_the_owner_alone(pages: dict[tuple[str, str], str]) -> None:
    assert "from to true reconstructed" in Parts(pages["noise", "owner"]).text
    public = Parts(pages["noise", "public"]).text
    assert "from to reconstructed" in public
    assert "true" not in public.replace("is true", "")


def test_a_page_on_noise_draws_what_comes_back_where_the_file_is_only_read(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "noisy.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT 20 + range % 60 AS age FROM range(600)")
    with ppdm_sql.open(tmp_path / "noisy.duckdb") as db:
        noise, ranges = {"age": "gaussian 50%"}, {"age": (20, 80)}
        db.randomize("people", noise=noise, ranges=ranges, seed=1, into="noisy", **QUIET)
    with ppdm_sql.open(tmp_path / "noisy.duckdb", read_only=True) as db:
        assert "from to true reconstructed" in Parts(page(db.release("noisy"), tmp_path)).text


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, pages: dict[tuple[str, str], str]) -> None:
    with open_examples() as db:
        made = release(db, "TDS")
        assert page(made, tmp_path) == pages["TDS", "owner"]
        assert page(made, tmp_path, public=True) == pages["TDS", "public"]


def test_a_source_that_is_gone_or_another_is_left_out_and_said(tmp_path: Path) -> None:
    with open_examples() as db:
        made = release(db, "PDA")
        db.engine.connection.execute("UPDATE customers SET Rating = 'other' WHERE Rating = 'Good'")
        changed = Parts(page(made, tmp_path)).text
        assert "The source customers is not what it was when the release was made" in changed
        assert "riskiest" not in changed
        db.engine.connection.execute("DROP TABLE customers")
        assert "The source customers is not in this database" in Parts(page(made, tmp_path)).text


def test_a_source_that_is_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("job,good\n" + "cook,yes\nsmith,no\n" * 6)
    with ppdm_sql.open() as db:
        made = db.suppress(str(file), ["k >= 6 on job"], class_column="good", into="safe", **QUIET)
        assert "so nothing of it is shown" not in Parts(page(made, tmp_path)).text
        file.unlink()
        assert "is not in this database, so nothing of it is shown" in Parts(page(made, tmp_path)).text


def test_a_page_on_persons_counts_persons(tmp_path: Path) -> None:
    """Two visits of each person: ten rows of a job are five persons, and a risk of one in five."""
    with ppdm_sql.open() as db:
        db.engine.connection.execute(
            "CREATE TABLE visits AS SELECT i // 2 AS who, ['cook', 'smith'][1 + i // 2 % 2] AS job, "
            "['flu', 'gout'][1 + i % 2] AS ill FROM range(20) r (i)"
        )
        asked = ["k >= 5 on job", "job -> ill = gout <= 100%"]
        made = db.suppress("visits", asked, person="who", into="safe", **QUIET)
        plain = db.suppress("visits", asked, into="plain", **QUIET)
        pages = [[Parts(page(it, tmp_path, public=p)).text for it in (made, plain)] for p in (False, True)]
    for text, of_records in pages:
        for words in (
            "Persons by the size of their equivalence class on job",
            "Persons by the confidence of their group",
            "Risk of a person, known by job",
            "Share of the persons by the least risk that they have",
            "one over the persons in their class",
        ):
            assert words in text
            assert words not in of_records
        for words in ("Records by the size", "Risk of a record", "Share of the records by"):
            assert words not in text
            assert words in of_records


def test_a_release_that_was_touched_is_not_verified_on_its_page(tmp_path: Path) -> None:
    with open_examples() as db:
        made = release(db, "PDA")
        db.engine.connection.execute("UPDATE ppdm.release_safe_pda SET Bankruptcy = 'Discharged'")
        text = Parts(page(made, tmp_path)).text
        assert "This release does not verify." in text
        assert "is broken" in text
        db.engine.connection.execute("DELETE FROM ppdm.release_safe_pda")
        with pytest.raises(ppdm_sql.EngineError, match="not those that were published"):
            page(made, tmp_path)


def test_hostile_names_and_values_stay_text(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        hostile = HOSTILE + TURNS
        quoted = hostile.replace("'", "''")
        name = '"' + hostile.replace('"', '""') + '"'
        con.execute(
            f"CREATE TABLE {name} AS SELECT '{quoted}' || i % 3 AS {name}, if(i % 5 = 0, NULL, i % 4) AS b, "
            f"if(i % 2 = 0, '{quoted}', NULL) AS c FROM range(60) AS r (i)"
        )
        db = ppdm_sql.open(con)
        made = db.suppress(
            hostile, [f"k >= 5 on {name}, b"], class_column="c", into=f"{hostile}safe", **QUIET
        )
        for public in (False, True):
            file = tmp_path / "page.html"
            made.report(file, public=public, force=True, **QUIET)
            text = file.read_text(encoding="utf-8")
            found = Parts(text)
            assert HOSTILE + ascii(TURNS)[1:-1] in "".join(found.texts)
            assert not set(TURNS) & set(text)
            assert "\\u202e" in text[text.index("<svg") : text.rindex("</svg>")]
            assert not {tag for tag, _ in found.tags} & {"script", "img"}
            assert "49" not in re.findall(r"&amp;(.{2})", text)


def test_a_column_of_many_values_shows_the_most_frequent_ones(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT 'v' || i % 300 AS a, i % 2 AS c FROM range(600) AS r (i) "
            "UNION ALL SELECT 'often', 1 FROM range(100)"
        )
        made = ppdm_sql.open(con).suppress("t", ["k >= 2 on a"], class_column="c", into="safe", **QUIET)
        text = page(made, tmp_path)
    assert "The 12 most frequent of 301 values. The table leaves out 251 values." in text
    assert "251 values more" in text  # of the tree


UNUSUAL = "CASE i % 7 WHEN 0 THEN 'nan' WHEN 1 THEN 'inf' WHEN 2 THEN '-inf' ELSE i::VARCHAR END"


@pytest.mark.parametrize(
    ("values", "to_scale"),
    [
        ("4611686018427387904 + i * 100", False),
        ("4611686018427387904 + i * 500", True),
        ("170141183460469231731687303715884105727::HUGEINT - i", False),
        ("make_timestamp_ns(1700000000000000000 + i)", False),
        (f"({UNUSUAL})::DOUBLE", True),
        ("(4503599627370497 + i)::DOUBLE", True),
        ("(4503599627370497 + i % 2)::DOUBLE", False),
        ("['nan', 'inf', '-inf'][1 + i % 3]::DOUBLE", False),
        ("1.7e308 * (1 - i % 3)", False),
        ("if(i % 4 = 0, DATE '-infinity', DATE '2020-01-01' + i::INTEGER)", True),
    ],
)
def test_a_picture_is_to_scale_where_numbers_can_be_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: str, to_scale: bool
) -> None:
    drawn: list[list[Bar]] = []
    draw = cost.histogram

    def histogram(name: str, bars: dict[str, list[Bar]], **how: Any) -> Any:
        drawn.extend([] if "sizes" in how else bars.values())
        return draw(name, bars, **how)

    monkeypatch.setattr(cost, "histogram", histogram)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT {values} AS v, i % 2 AS c FROM range(60) AS r (i)")
    db = ppdm_sql.open(connection)
    made = db.generalize("t", ["k >= 5 on v"], class_column="c", into="safe", score="paper", **QUIET)
    for public in (False, True) if to_scale else (False,):
        drawn.clear()
        assert "NaN" not in page(made, tmp_path, public=public)
        assert len(drawn) == 2 - public if to_scale else len(drawn) <= 1 - public
        for bars in drawn:
            assert all(bar.lower < bar.upper for bar in bars)
            assert all(left.upper <= right.lower for left, right in pairwise(bars))
        records = [sum(bar.records for bar in bars) for bars in drawn]
        assert records == sorted(records, reverse=True)  # those at the bound of an interval without end, too


def test_a_file_is_replaced_only_if_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")
    with open_examples() as db:
        made = release(db, "swap")
        with pytest.raises(ppdm_sql.NameTaken, match="There is a file"):
            made.report(file, **QUIET)
        assert file.read_text() == "mine"
        made.report(file, force=True, **QUIET)
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [found.name for found in tmp_path.iterdir()] == ["page.html"]


def test_the_digest_is_that_of_the_exported_file(tmp_path: Path) -> None:
    with open_examples() as db:
        made = release(db, "swap")
        made.export(tmp_path / "safe.csv")
        text = Parts(page(made, tmp_path, public=True, exported=tmp_path / "safe.csv")).text
        with pytest.raises(ppdm_sql.InvalidOption, match=r"none\.csv cannot be read"):
            page(made, tmp_path, exported=tmp_path / "none.csv")
    digest = hashlib.sha256((tmp_path / "safe.csv").read_bytes()).hexdigest()
    assert f"File safe.csv SHA-256 {digest}" in text


def test_the_error_of_a_classifier_is_measured_for_the_owner(tmp_path: Path) -> None:
    with open_examples() as db:
        made = release(db, "TDS")
        text = Parts(page(made, tmp_path, evaluate=True)).text
        with pytest.raises(ppdm_sql.InvalidOption, match="is the owner's to know"):
            page(made, tmp_path, public=True, evaluate=True)
    assert "The error of a classifier" in text
    assert "BE original columns" in text


def test_a_missing_library_is_named_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with open_examples() as db:
        made = release(db, "swap")
        with pytest.raises(ppdm_sql.InvalidOption, match=r"pip install 'ppdm-sql\[report\]'"):
            page(made, tmp_path)
    demo = ppdm("demo", tmp_path / "demo")
    assert (demo.exit_code, demo.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_in_the_database(tmp_path: Path) -> None:
    with open_examples() as db:
        made = release(db, "PDA")
        count: Any = db.engine.connection.execute
        objects = "SELECT (SELECT count(*) FROM duckdb_tables()), (SELECT count(*) FROM duckdb_views())"
        before = count(objects).fetchall()
        page(made, tmp_path)
        assert count(objects).fetchall() == before
