"""What runs share of their measurements changes no outcome, and is asked of the database once."""

from __future__ import annotations

from typing import Any

import pytest
from report_pages import QUIET, open_examples

from ppdm_sql.engine import Engine


@pytest.mark.parametrize("method", ["tds", "hce-tdr", "pda"])
def test_a_second_run_asks_nothing_that_the_first_one_knows(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    fetched = Engine._fetched

    def listening(self: Engine, sql: str, params: Any, step: str, fetch: Any) -> Any:
        asked.append(step)
        return fetched(self, sql, params, step, fetch)

    monkeypatch.setattr(Engine, "_fetched", listening)
    counts: list[int] = []
    with open_examples() as db:
        for k in ([3], [3, 2]):
            asked.clear()
            options: dict[str, Any] = {"class_column": "Class", "count_column": "n", **QUIET}
            db.compare("employees", quasi_identifier=["Job", "Sex"], k=k, method=method, **options)
            counts.append(
                sum(asked.count(step) for step in ("within", "beside", "measure_path", "dictionary"))
            )
    assert counts[0] <= counts[1] < 2 * counts[0]


def test_runs_in_any_order_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_examples() as db:
        options: dict[str, Any] = {"class_column": "Class", "count_column": "n", **QUIET}
        methods = ["tds", "hce-tdr", "pda"]
        found = [
            {
                name: row.numbers
                for row in db.compare(
                    "employees", quasi_identifier=["Job", "Salary"], k=k, method=order, **options
                ).rows
                for name in row.names
            }
            for k, order in (([2, 4, 8], methods), ([8, 4, 2], methods[::-1]))
        ]
    assert found[0] == found[1]
