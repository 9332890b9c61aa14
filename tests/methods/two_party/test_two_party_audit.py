"""Each party holds the release against its own table, so that a fault in writing rows is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sides import Outcome, Side, make_keys, run, sides

from ppdm_sql.errors import GuaranteeNotMet, PeerError
from ppdm_sql.methods.top_down import outcome as outcomes
from ppdm_sql.methods.top_down import run as runs

Plant = Callable[[Any], Any]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def pair(tmp_path: Path, keys: Path) -> tuple[Side, Side]:
    return sides(tmp_path, keys)


def exchanged(name: str) -> Plant:
    """Rows of which the first shows in one column what the last does, and the other way round."""

    def plant(real: Any) -> Any:
        def faulty(*given: Any) -> Any:
            rows = f"SELECT *, row_number() OVER () AS place FROM ({real(*given)}) AS r"
            change = (
                f"CASE place WHEN 1 THEN last({name}) OVER w WHEN count(*) OVER w THEN first({name}) OVER w "
                f"ELSE {name} END AS {name}"
            )
            whole = "ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
            return f"SELECT * EXCLUDE (place) REPLACE ({change}) FROM ({rows}) AS r WINDOW w AS ({whole})"

        return faulty

    return plant


def relabelled(name: str) -> Plant:
    """Rows of which all that show the first label of a column show the last one, and the other way round."""

    def plant(real: Any) -> Any:
        def faulty(*given: Any) -> Any:
            ends = f"min({name}) OVER () AS least, max({name}) OVER () AS most"
            change = f"CASE {name} WHEN least THEN most WHEN most THEN least ELSE {name} END AS {name}"
            rows = f"SELECT *, {ends} FROM ({real(*given)}) AS r"
            return f"SELECT * EXCLUDE (least, most) REPLACE ({change}) FROM ({rows}) AS r"

        return faulty

    return plant


def rewritten(change: str, where: str = "true") -> Plant:
    """A table in which something was changed after it was made."""

    def plant(real: Any) -> Any:
        def faulty(engine: Any, *given: Any) -> Any:
            made = real(engine, *given)
            return engine.materialize("faulty", f"SELECT * REPLACE ({change}) FROM {made} WHERE {where}")

        return faulty

    return plant


OTHER_LABEL = rewritten("if(label = 'Blue-collar', 'Technical', label) AS label")
FAULTS: dict[str, tuple[Any, str, Plant, str]] = {
    "rows of the first": (runs, "released_rows", relabelled('"Sex"'), "a"),
    "rows of the second": (runs, "released_rows", relabelled('"Salary"'), "b"),
    "rows of the class": (runs, "released_rows", exchanged('"Class"'), "ab"),
    "labels": (outcomes, "label_table", OTHER_LABEL, "b"),
    "the recorded cut": (runs, "cut_rows", rewritten("'M' AS generalized", "attribute <> 'Job'"), "ab"),
    "the recorded trees": (runs, "tree_rows", rewritten("NOT shown AS shown"), "b"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_planted_in_what_both_write_is_refused(
    pair: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module, function, plant, whose = FAULTS[name]
    before = [side.snapshot() for side in pair]
    monkeypatch.setattr(module, function, plant(getattr(module, function)))
    ends = dict(zip("ab", run(*pair), strict=True))
    refusing = [side for side in ends if isinstance(ends[side].error, GuaranteeNotMet)]
    assert refusing, ends
    assert set(refusing) <= set(whose)
    for side, end in ends.items():
        assert_refused(end) if side in refusing else assert_told(end)
    assert [side.snapshot() for side in pair] == before


def assert_refused(end: Outcome) -> None:
    assert "not what was promised" in end.text
    assert "nothing was published" in end.text


def assert_told(end: Outcome) -> None:
    """The partner of a side that refuses: the run failed there, and what it found is told nobody."""
    assert isinstance(end.error, PeerError), end.text
    assert "on the partner's side" in end.text


def test_without_a_fault_both_publish(pair: tuple[Side, Side]) -> None:
    first, second = run(*pair)
    assert first.error is None, first.text
    assert first.rows == second.rows != []


def test_unknown_values_and_values_of_one_record_are_not_refused(pair: tuple[Side, Side]) -> None:
    """Own columns with NULL, shown as they are, with the class and the key held by both."""
    import duckdb

    for side, column in zip(pair, ("Sex", "Salary"), strict=True):
        with duckdb.connect(str(side.file)) as connection:
            connection.execute(
                f"UPDATE {side.table} SET {column} = NULL WHERE SSN IN ('person-1', 'person-2')"
            )
    first, second = run(*pair, require=("k >= 2 on Sex, Job, Salary",))
    assert first.error is None, first.text
    assert second.error is None, second.text
    assert first.rows == second.rows != []
