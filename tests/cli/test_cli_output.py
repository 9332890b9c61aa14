"""What the command line prints: formats, and progress."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from commands import ppdm
from rich.cells import cell_len

from ppdm_sql.cli import output
from ppdm_sql.cli.output import Format, Titled, print_tables


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


ODD: list[Titled] = [
    ("none", ("a", "b"), []),
    ("", ("one",), [(1,), (None,)]),
    ("wide", ("東京", "b"), [("a", 1), ("東京タワー", 2.5), ("e\u0301", 10**20)]),
    ("plain", ("[b]x[/b]", "t"), [("[red]", True), ("  spaces ", False), ("", float("nan"))]),
    ("long", ("text", "list"), [("x" * 500, ["a", None]), ("two\nlines", {"a": 1})]),
    ("nested", ("what", "value"), [("read", {"path": "t.csv", "types": {f"c{n}": "INT" for n in range(9)}})]),
]


def test_a_terminal_shows_all_that_a_file_gets_folded_to_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_tables(ODD, Format.table)
    whole = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    print_tables(ODD, Format.table)
    folded = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert max(map(cell_len, folded)) == 40
    assert folded[: folded.index("long")] == whole[: whole.index("long")]
    signs, wanted = (sorted(re.sub(r"[ ─]", "", "".join(lines))) for lines in (folded, whole))
    assert signs == wanted


def test_how_a_wide_file_was_read_is_shown_an_item_a_line(tmp_path: Path) -> None:
    names, file, database = [f"column {n}" for n in range(40)], tmp_path / "t.csv", tmp_path / "x.duckdb"
    file.write_text("\n".join([",".join(names), *[",".join("1" * 40)] * 5]) + "\n")
    require = 'k >= 3 on "column 0"'
    ppdm("generalize", database, file, "--require", require, "--class", "column 1", "--into", "z")
    printed = ppdm("show", database, "z", "--all").stdout
    about = printed[printed.index("release\n") : printed.index("notice")].splitlines()
    assert {"types:", "column 39: BIGINT"} <= {line.strip() for line in about}
    assert [line for line in about if len(line) > 100 and str(tmp_path) not in line and "─" not in line] == []
    described = json.loads(ppdm("show", database, "z", "--format", "json").stdout)["release"]
    (read,) = [row["value"] for row in described if row["what"] == "read"]
    assert list(read["types"]) == names


@pytest.mark.parametrize("form", [Format.table, Format.markdown])
@pytest.mark.parametrize("kind", [str, lambda text: [text], lambda text: {text: text}], ids="abc")
def test_control_characters_of_cells_do_not_reach_the_terminal(
    form: Format, kind: Callable[[str], object], capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "\x1b[2J\nb\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069"
    print_tables([("", ["a"], [[kind(odd)], [kind(odd * 9)]])], form)
    printed = capsys.readouterr().out
    assert "\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069" in printed
    assert printed.replace("\n", "").isprintable()


def test_progress_prints_a_line_only_after_a_while(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = output.TerminalProgress()
    lines.start("disclosing values")
    lines.update(step=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.0)
    lines.update(step=2, worst="25% of 50%")
    assert capsys.readouterr().err == "disclosing values: step 2, worst 25% of 50%\n"
    lines.stop()


def test_progress_of_a_terminal_goes_to_stderr_and_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    live = output.TerminalProgress()
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
