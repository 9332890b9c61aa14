"""What users see of many runs is as recorded: steps, cuts, rows, measures, messages, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import GROUPS
from record import HERE, Case, difference, outcome, recorded

ALL = [(group, case) for group, cases in GROUPS.items() for case in cases]


@pytest.mark.parametrize(("group", "case"), ALL, ids=[f"{group}: {case.name}" for group, case in ALL])
def test_an_outcome_is_as_recorded(group: str, case: Case, tmp_path: Path) -> None:
    if case.missing():
        pytest.skip(case.missing())
    told = difference(recorded(group).get(case.name, {}), outcome(case, tmp_path))
    assert told is None, f"{group}: {case.name}{told} (if it is meant: tests/outcomes/record.py {group})"


def test_what_is_recorded_are_the_cases() -> None:
    found = {(file.stem, name) for file in HERE.glob("*.json") for name in recorded(file.stem)}
    assert found == {(group, case.name) for group, case in ALL}
    assert len(found) == len(ALL), "a name means one case"
