"""What a public page must not tell: whatever the release does not show."""

from __future__ import annotations

from pathlib import Path

import duckdb
from report_pages import METHODS, QUIET, page

import ppdm_sql

HIDDEN = ["Hidden-Quokka-7731", "Hidden-Wombat-5512", "Hidden-Lemur-8812", "Hidden-Tapir-6641"]
INNER = "Inner-Mammals"
TOP = "Any-Animal-Top"
UNNAMED = "Unnamed-Column-Of-Salaries"
LEAST, LARGEST = 17.0625, 31337.1875
"""Least and largest number of the source; its range is given as wider."""


def zoo() -> duckdb.DuckDBPyConnection:
    """A table whose animals are all generalized, whose numbers have telling ends, with an unnamed column."""
    con = duckdb.connect()
    con.execute(
        f"""
        CREATE TABLE "Source-Of-The-Zoo" AS
        SELECT {HIDDEN}[1 + i % 4] AS animal,
            CASE i WHEN 0 THEN {LEAST} WHEN 1 THEN {LARGEST} ELSE 1000 + (i * 37) % 20000 END AS weight,
            if(i % 7 < 3, 'ill', 'well') AS state,
            if((i * 37) % 20000 < 9000, 'good', 'bad') AS label,
            'Salary-Secret-' || i AS "{UNNAMED}"
        FROM range(397) AS r (i)
        """
    )
    return con


def generalized(con: duckdb.DuckDBPyConnection) -> ppdm_sql.Release:
    tree = {TOP: {INNER: HIDDEN[:2], "Inner-Others": HIDDEN[2:]}}
    return ppdm_sql.open(con).generalize(
        "Source-Of-The-Zoo",
        ["k >= 120 on animal, weight"],
        class_column="label",
        keep=["state"],
        taxonomies={"animal": tree},
        ranges={"weight": (0, 40000)},
        into="zoo_safe",
        **QUIET,
    )


def shown(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {str(cell) for row in con.execute("FROM zoo_safe").fetchall() for cell in row}


def test_a_public_page_tells_nothing_that_the_release_does_not_show(tmp_path: Path) -> None:
    with zoo() as con:
        made = generalized(con)
        there = shown(con)
        assert not there & set(HIDDEN)
        owner, public = page(made, tmp_path), page(made, tmp_path, public=True)
    assert any(label in public for label in there)
    absent = {*HIDDEN, TOP, INNER, "Inner-Others"} - there
    for planted in (*absent, UNNAMED, "Salary-Secret", "Source-Of-The-Zoo"):
        assert planted not in public
    for number in ("17.06", "31337", "31,337", "31.3k"):
        assert number not in public
    for planted in (HIDDEN[0], TOP, "Source-Of-The-Zoo"):
        assert planted in owner  # so the search finds what is there


def test_a_public_page_reads_neither_the_source_nor_what_was_measured_on_it(tmp_path: Path) -> None:
    with zoo() as con:
        made = generalized(con)
        before = page(made, tmp_path, public=True)
        con.execute('DROP TABLE "Source-Of-The-Zoo"')
        con.execute("UPDATE ppdm.measures SET before = 7777, after = 8888")
        con.execute("UPDATE ppdm.steps SET gain = 7777, loss = 7777, score = 7777")
        con.execute("DELETE FROM ppdm.cuts")
        con.execute("DELETE FROM ppdm.taxonomies")
        con.execute("UPDATE ppdm.releases SET source = 'elsewhere', created_at = '2001-01-01'")
        assert page(made, tmp_path, public=True) == before


def test_no_method_tells_its_options_notices_or_measures_in_public(
    pages: dict[tuple[str, str], str], told_to_owners: dict[str, tuple[str, ...]]
) -> None:
    for method in METHODS:
        for telling in (*told_to_owners[method], "seed", "proportion"):
            assert telling not in pages[method, "public"], (method, telling)
