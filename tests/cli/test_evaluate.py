"""``ppdm evaluate``: its table, its notices, its exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm

ROWS = ["BE", "SE", "RE", "RE (sensitive)", "majority", "SE - BE", "RE - SE", "RE (sensitive) - SE"]


def evaluate(file: Path, *more: str) -> list[dict[str, object]]:
    result = ppdm("evaluate", file, "safe", "--seeds", "2", "--format", "json", *more)
    assert result.exit_code == 0, result.stderr
    return list(json.loads(result.stdout))


def test_the_errors_are_printed_as_one_table_and_the_file_stays(released: Path) -> None:
    before = released.read_bytes()
    rows = evaluate(released)
    assert released.read_bytes() == before
    assert [row["error"] for row in rows] == ROWS
    assert list(rows[0]) == ["error", "of", "per_cent", "deviation", "lowest", "highest"]
    errors = {str(row["error"]): row["per_cent"] for row in rows}
    assert all(0 <= float(str(errors[name])) <= 100 for name in ROWS[:5])
    assert errors["SE - BE"] == pytest.approx(float(str(errors["SE"])) - float(str(errors["BE"])), abs=0.002)


def test_a_test_table_is_recoded_and_predicted(released: Path) -> None:
    execute(released, "CREATE TABLE later AS FROM customers")
    errors = {row["error"]: row["per_cent"] for row in evaluate(released, "--test", "later")}
    assert set(errors) == set(ROWS)
    assert float(str(errors["BE"])) <= float(str(errors["majority"]))


def test_a_sample_is_said_on_stderr_unless_quiet_is_wanted(released: Path) -> None:
    words = ["evaluate", released, "safe", "--seeds", "1", "--sample", "12"]
    assert "Each seed draws 12 of the 24 records" in ppdm(*words).stderr
    assert ppdm(*words, "--quiet").stderr == ""


def test_without_scikit_learn_the_remedy_is_told(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    result = ppdm("evaluate", released, "safe")
    assert_explained(result, code=2, problem="pip install 'ppdm-sql[eval]'")
