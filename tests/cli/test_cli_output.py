"""What the command line prints: formats, and progress."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest
from commands import ppdm

from ppdm_sql.cli import progress
from ppdm_sql.cli.output import Format, print_tables


def test_formats_parse_back_to_the_same_rows(released: Path) -> None:
    def printed(form: str) -> str:
        return str(ppdm("steps", released, "safe", "--format", form).stdout)

    objects = json.loads(printed("json"))
    assert [step["step"] for step in objects] == list(range(1, len(objects) + 1))
    assert [json.loads(line) for line in printed("jsonl").splitlines()] == objects
    from_csv = list(csv.DictReader(io.StringIO(printed("csv"))))
    assert [json.loads(row["children"]) for row in from_csv] == [step["children"] for step in objects]
    assert [float(row["score"]) for row in from_csv] == [step["score"] for step in objects]
    header, rule, *rows = printed("markdown").splitlines()
    assert set(rule) == set("| -")
    assert [row.split(" | ")[1] for row in rows] == [step["attribute"] for step in objects]


def test_null_is_told_apart_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    expected = {
        Format.table: "NULL",
        Format.markdown: "| NULL |",
        Format.json: "null",
        Format.jsonl: '{"a": null}',
        Format.csv: '""',
    }
    for form, text in expected.items():
        print_tables([("", ["a"], [[None]])], form)
        assert text in capsys.readouterr().out


def test_a_piped_table_is_neither_cut_nor_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    print_tables([("title", ["a", "b"], [[long, "[red]y"]])], Format.table)
    printed = capsys.readouterr().out
    assert f"{long}   [red]y\n" in printed
    assert "\x1b" not in printed


def test_control_characters_of_cells_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([("", ["a"], [["\x1b[2J\nb"]])], Format.table)
    assert "\\x1b[2J\\nb" in capsys.readouterr().out


def test_progress_prints_a_line_only_after_a_while(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = progress.LineProgress()
    lines.start("disclosing values")
    lines.update(step=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    lines.update(step=2, worst="25% of 50%")
    assert capsys.readouterr().err == "disclosing values: step 2, worst 25% of 50%\n"
    lines.stop()


def test_progress_of_a_terminal_goes_to_stderr_and_away(capsys: pytest.CaptureFixture[str]) -> None:
    live = progress.TerminalProgress()
    live.start("collapsing customers")
    live.start("disclosing values")
    live.update(step=1)
    live.notice("[odd] text")
    live.stop()
    live.stop()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Note: [odd] text" in printed.err


def test_measures_call_long_requirements_by_number_and_list_them_once(tmp_path: Path) -> None:
    names = [f"a long column name {number}" for number in range(4)]
    file = tmp_path / "wide.duckdb"
    with duckdb.connect(file) as connection:
        values = ", ".join(f'(i % {place + 2})::VARCHAR AS "{name}"' for place, name in enumerate(names))
        connection.execute(f"CREATE TABLE t AS SELECT {values}, (i % 2)::VARCHAR AS y FROM range(240) r(i)")
    require = "k >= 2 on " + ", ".join(f'"{name}"' for name in names)
    made = ppdm("suppress", file, "t", "--require", require, "--class", "y", "--into", "x")
    assert made.stdout.count(require) == 1
    assert "smallest class: requirement 1" in made.stdout
    shown = ppdm("show", file, "x")
    assert shown.stdout.count(require) == 1
    assert "smallest class: requirement 1" in shown.stdout
    rows = json.loads(ppdm("show", file, "x", "--format", "json").stdout)["measures"]
    assert f"smallest class: {require}" in [row["measure"] for row in rows]
