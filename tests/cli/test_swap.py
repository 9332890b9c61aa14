"""``ppdm swap`` and ``ppdm audit --confidential``: what they print, read, refuse and leave."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import assert_explained, execute, ppdm
from swap_releases import POLICIES, changes

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "swapping.md").read_text(encoding="utf-8")
NAMED = ["--confidential", "Amount", "--by", "Age,Gender,Location"]


def swap(file: Path, *more: str) -> Any:
    words = [*NAMED, "--into", "safe", *more]
    proportion = [] if "--proportion" in more else ["--proportion", "0.5"]
    return ppdm("swap", file, "policies", *words, *proportion)


@pytest.fixture
def swapped(bank: Path) -> Path:
    assert swap(bank, "--seed", "1", "--keep", "No", "--quiet").exit_code == 0
    return bank


def test_a_swap_prints_its_measures_and_says_what_comes_next(bank: Path) -> None:
    result = swap(bank)
    assert result.exit_code == 0, result.stderr
    assert "uniquely identifiable records: Amount" in result.stdout
    assert "Published safe: 16 records." in result.stderr
    assert "ppdm show" in result.stderr
    columns = ", ".join([*POLICIES, "Amount"])
    source, released = (execute(bank, f"SELECT {columns} FROM {name}") for name in ("policies", "safe"))
    found = changes(source, released)
    assert (found.changed_unique, found.unidentifiable, found.kept_patterns) == (3, 0, True)


def test_all_options_are_read_and_recorded(bank: Path) -> None:
    more = ["--proportion", "Amount=40%", "--method", "exact", "--phase1", "joint", "--per-group", "50%"]
    more += ["--share", "0,1", "--blur", "0.25", "--smoothing", "1", "--seed", "4", "--class", "Age"]
    result = swap(bank, *more, "--identifier", "No", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert {row["measure"].partition(":")[0] for row in json.loads(result.stdout)["measures"]} >= {
        "uniquely identifiable records changed"
    }
    ((recorded,),) = execute(bank, "SELECT parameters::VARCHAR FROM ppdm.releases")
    parameters = json.loads(recorded)
    expected = {
        "proportion": {"Amount": 0.4}, "method": "exact", "phase1": "joint", "per_group": 0.5,
        "share": [0.0, 1.0], "blur": 0.25, "smoothing": 1.0, "class": "Age",
        "identifiers": {"No": "drop"}, "seeded": True,
    }  # fmt: skip
    assert {name: parameters[name] for name in expected} == expected


def test_a_notice_tells_of_correlated_attributes_unless_quiet_is_wanted(bank: Path) -> None:
    words = ["swap", bank, "policies", "--confidential", "Amount,Location", "--by", "Age,Gender,No"]
    words += ["--proportion", "0.5"]
    loud, quiet = ppdm(*words, "--into", "a"), ppdm(*words, "--into", "b", "--quiet")
    assert "Amount" in loud.stderr and "Cramér's V" in loud.stderr
    assert (quiet.exit_code, quiet.stderr) == (0, "")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--proportion", "Amuont=0.5"], "'Amuont'"),
        (["--per-group", "none"], "'none'"),
        (["--share", "0.5"], "--share 0.4,0.6"),
        (["--bins", "few"], "--bins 5"),
        (["--bins", "3"], "Leave --bins out"),
    ],
)
def test_what_cannot_be_is_explained(bank: Path, more: list[str], problem: str) -> None:
    assert_explained(swap(bank, *more), code=2, problem=problem)


def test_a_proportion_that_protects_nobody_is_a_guarantee_not_met(bank: Path) -> None:
    assert_explained(swap(bank, "--proportion", "0.01"), code=1, problem="none of the 6")
    assert "safe" not in {name for (name,) in execute(bank, "SELECT view_name FROM duckdb_views()")}


def test_a_swap_release_is_shown_verified_listed_exported_and_dropped(swapped: Path, tmp_path: Path) -> None:
    shown = ppdm("show", swapped, "safe")
    assert shown.exit_code == 0
    assert "swapped" in shown.stdout and "column Amount" in shown.stdout
    verified = ppdm("verify", swapped, "safe")
    assert verified.exit_code == 0
    assert "the values of Amount are as frequent as published" in verified.stdout
    assert "swap" in ppdm("releases", swapped).stdout
    steps = ppdm("steps", swapped, "safe", "--format", "json")
    assert (json.loads(steps.stdout), steps.stderr) == ([], "Note: safe was not made step by step.\n")
    assert_explained(ppdm("show", swapped, "safe", "--step", "0"), code=2, problem="step by step")
    assert_explained(ppdm("show", swapped, "safe", "--partitions"), code=2, problem="step by step")
    file = tmp_path / "safe.csv"
    assert ppdm("export", swapped, "safe", file).exit_code == 0
    assert len(file.read_text().splitlines()) == 17
    assert ppdm("drop", swapped, "safe").exit_code == 0
    assert execute(swapped, "SELECT count(*) FROM ppdm.releases") == [(0,)]


def test_a_swap_release_is_evaluated(swapped: Path) -> None:
    result = ppdm("evaluate", swapped, "safe", "--folds", "2", "--seeds", "1", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert [row["error"] for row in json.loads(result.stdout)] == ["BE", "SE", "majority", "SE - BE"]


def test_an_audit_of_a_swap_finds_no_group_left(swapped: Path) -> None:
    result = ppdm("audit", swapped, "safe", *NAMED, "--format", "json")
    rows = json.loads(result.stdout)["Amount identifiable by Age, Gender, Location"]
    assert [row["records"] for row in rows] == [6, 0, 10]


def test_an_audit_of_confidential_columns_needs_those_that_others_know(bank: Path) -> None:
    assert_explained(ppdm("audit", bank, "policies", *NAMED[:2]), code=2, problem="without --by")


# -- the documentation ------------------------------------------------------------------------------


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCS, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(
        tmp_path / "adult.duckdb",
        "CREATE TABLE adult AS SELECT i % 90 AS age, ['f', 'm'][i % 2 + 1] AS sex, i % 16 AS education, "
        "(hash(i) % 90)::INTEGER AS hours, if(hash(i) % 4 = 0, '>50K', '<=50K') AS income "
        "FROM range(900) AS r (i)",
    )
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("sh") for line in block.replace("\\\n", "").splitlines()]
    assert len(commands) == 2
    for command in commands:
        result = ppdm(*shlex.split(command)[1:])
        assert result.exit_code == 0, result.stderr
