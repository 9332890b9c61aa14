"""``ppdm randomize`` and ``ppdm privacy``: what they print, read, refuse and leave."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import assert_explained, execute, ppdm

SALARY = ["--noise", "salary=gaussian 100%", "--range", "salary=20000,150000"]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.duckdb"
    execute(
        file,
        "CREATE TABLE staff AS SELECT i AS id, 'p' || i AS ssn, 20000 + i * 60 AS salary, "
        "17 + i % 60 AS age, ['clerk', 'nurse'][1 + i::INTEGER % 2] AS job, i % 5 AS rating "
        "FROM range(2000) AS r (i)",
    )
    return file


def randomize(file: Path, *more: str | Path) -> Any:
    return ppdm("randomize", file, "staff", *more, "--into", "safe")


def test_it_prints_measures_and_says_what_comes_next(shop: Path) -> None:
    result = randomize(shop, *SALARY)
    assert result.exit_code == 0, result.stderr
    assert "privacy level at 95 % confidence: salary" in result.stdout
    assert "The key of the noise is thrown away." in result.stderr
    assert "Published safe: 2000 records." in result.stderr
    assert execute(shop, "SELECT count(*), count(DISTINCT salary) > 1900 FROM safe") == [(2000, True)]


def test_all_options_are_read_and_recorded(shop: Path, tmp_path: Path) -> None:
    more = ["--noise", "age=uniform 50% at 99.9% rounded", "--range", "age=0,100"]
    more += ["--noise", "job=retain 70%"]
    more += ["--class", "rating", "--keep", "id", "--allow-identifier", "id", "--record", "id"]
    more += ["--identifier", "ssn=pseudonym"]
    assert ppdm("key", "new", tmp_path / "key").exit_code == 0  # one that makes pseudonyms must be there
    result = randomize(shop, *SALARY, *more, "--key-file", tmp_path / "key", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["measures"]
    ((recorded,),) = execute(shop, "SELECT parameters::VARCHAR FROM ppdm.releases")
    parameters = json.loads(recorded)
    expected = {
        "class": "rating", "keep": ["id"], "identifiers": {"ssn": "pseudonym"}, "record": "id", "key": "file",
        "correlated": False, "seeded": False,
    }  # fmt: skip
    assert {name: parameters[name] for name in expected} == expected
    assert parameters["noise"]["age"] == {
        "kind": "uniform", "scale": pytest.approx(50 / 1.998), "rounded": True,
        "domain": {"lower": 0, "upper": 100, "whole": True},
    }  # fmt: skip
    assert parameters["noise"]["job"] == {"kind": "retain", "probability": 0.7, "values": ["clerk", "nurse"]}
    columns = [name for name, *_ in execute(shop, "DESCRIBE safe")]
    assert columns == ["id", "ssn", "salary", "age", "job", "rating"]


def test_a_run_with_the_same_key_file_gives_the_same_release(shop: Path, tmp_path: Path) -> None:
    words = [*SALARY, "--record", "id", "--key-file", tmp_path / "key", "--quiet"]
    assert randomize(shop, *words).exit_code == 0
    again = ppdm("randomize", shop, "staff", *words, "--into", "again", "--threads", "1")
    assert again.exit_code == 0, again.stderr
    assert again.stderr == ""
    assert execute(shop, "FROM safe EXCEPT ALL FROM again") == []


def test_show_prints_the_options_that_a_recipient_needs(shop: Path) -> None:
    execute(shop, 'ALTER TABLE staff RENAME age TO "the ""age"""')
    assert randomize(shop, *SALARY, "--noise", '"the ""age"""=cells 0,40,80', "--quiet").exit_code == 0
    shown = ppdm("show", shop, "safe")
    assert shown.exit_code == 0, shown.stderr
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("noise salary"))
    option, noise = shlex.split(line.removeprefix("noise salary"))
    assert option == "--noise"
    assert noise.startswith("salary=gaussian 33163.87") and noise.endswith(" on 20000,150000 whole")
    assert '--noise \'"the ""age"""=cells 0,40,80\'' in shown.stdout
    assert "values with noise" in shown.stdout and "cells in place of values" in shown.stdout
    assert ppdm("show", shop, "safe", "--format", "json").exit_code == 0


def test_a_release_is_verified_exported_and_dropped(shop: Path, tmp_path: Path) -> None:
    assert randomize(shop, *SALARY, "--noise", "job=retain 0.5", "--quiet").exit_code == 0
    verified = ppdm("verify", shop, "safe")
    assert verified.exit_code == 0, verified.stdout
    assert "the noise can give all values shown" in verified.stdout
    assert ppdm("export", shop, "safe", tmp_path / "safe.duckdb").exit_code == 0
    comments = "SELECT comment FROM duckdb_columns() WHERE table_name = 'safe' AND column_name = 'job'"
    said = "Randomized; the originals are unknown. The noise: retain 0.5 of clerk,nurse"
    assert execute(tmp_path / "safe.duckdb", comments) == [(said,)]
    execute(shop, "UPDATE ppdm.release_safe SET salary = 0")
    assert ppdm("verify", shop, "safe").exit_code == 1
    assert ppdm("drop", shop, "safe").exit_code == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--noise", "salary"], "cannot be read"),
        (["--noise", "salary=gaussian"], "cannot be read"),
        (["--noise", "gaussian 5"], "names no column"),
        (["--noise", "salry=gaussian 5"], "salry"),
        (["--noise", "salary=gaussian 5", "--range", "salary"], "--range"),
    ],
)
def test_what_is_wrong_is_explained(shop: Path, words: list[str], problem: str) -> None:
    assert_explained(randomize(shop, *words), code=2, problem=problem)


# -- ppdm privacy -----------------------------------------------------------------------------------


def test_table_1_is_printed_without_arguments() -> None:
    result = ppdm("privacy", "--format", "csv")
    assert result.exit_code == 0, result.stderr
    header, *rows = [line.split(",") for line in result.stdout.splitlines()]
    assert header[:4] == ["noise", "50 %", "95 %", "99.9 %"]
    assert rows[0][:4] == ["cells", "0.5", "0.95", "0.999"]
    assert rows[1][:4] == ["uniform", "0.5", "0.95", "0.999"]
    assert [round(float(number), 2) for number in rows[2][1:4]] == [1.35, 3.92, 6.58]


@pytest.mark.parametrize(
    ("words", "scale", "level", "width"),
    [
        (["gaussian", "--scale", "2500"], 2500, 0.0754, 9799.8),
        (["gaussian", "--level", "100%"], 33163.9, 1, 130_000),
        (["uniform", "--level", "1", "--confidence", "50%"], 130_000, 1, 130_000),
        (["uniform", "--scale", "65000"], 65_000, 0.95, 123_500),
        (["cells", "--scale", "26000", "--confidence", "0.999"], 26_000, 0.1998, 25_974),
    ],
)
def test_levels_and_scales_are_computed(words: list[str], scale: float, level: float, width: float) -> None:
    result = ppdm("privacy", *words, "--range", "20000,150000", "--format", "json")
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads(result.stdout)
    assert row["scale"] == pytest.approx(scale, rel=1e-5)
    assert row["level"] == pytest.approx(level, rel=1e-3)
    assert row["width of the interval"] == pytest.approx(width, rel=1e-5)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["poisson", "--scale", "5", "--range", "0,1"], "There is no noise"),
        (["gaussian", "--scale", "5"], "either the scale"),
        (["gaussian", "--range", "0,1"], "either the scale"),
        (["gaussian", "--scale", "5", "--level", "5%", "--range", "0,1"], "either the scale"),
        (["gaussian", "--scale", "0", "--range", "0,1"], "no noise of that size"),
        (["gaussian", "--level", "0%", "--range", "0,1"], "no noise of that size"),
        (["gaussian", "--level", "much", "--range", "0,1"], "is not a share"),
        (["gaussian", "--scale", "5", "--range", "1,1"], "ascending"),
        (["gaussian", "--scale", "5", "--range", "a,b"], "ascending"),
        (["gaussian", "--scale", "5", "--range", "0,1", "--confidence", "100%"], "between 0 and 1"),
        (["--scale", "5"], "no noise to compute with"),
    ],
)
def test_what_cannot_be_computed_is_explained(words: list[str], problem: str) -> None:
    assert_explained(ppdm("privacy", *words), code=2, problem=problem)
