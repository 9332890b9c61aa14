"""Fixtures and hypothesis profiles of all tests."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any

import pytest
from commands import ppdm
from hypothesis import HealthCheck, Phase, settings
from spark_fixtures import (  # noqa: F401
    ledger,
    parquet,
    plans_as_usual,
    spark_place,
    spark_session,
    spark_url,
)
from spark_server import SHARED, missing, shared

from ppdm_sql import PpdmWarning

signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup ignores it, for all child processes too

OF_THE_DEMO = (
    *("demo.duckdb", "jobs.csv", "visits.csv", "customers_safe.html"),
    *("two-parties/bank.duckdb", "two-parties/card-company.duckdb", "two-parties/bank.key"),
)
SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"

_CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
_COMMON = settings(deadline=None, suppress_health_check=_CALM)
_QUICK = [Phase.explicit, Phase.generate]  # shrinking takes minutes; the thorough profile does it
settings.register_profile("default", _COMMON, derandomize=True, max_examples=30, phases=_QUICK)
settings.register_profile("thorough", _COMMON, max_examples=600)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def adult_csv() -> list[str]:
    """The two files of the Adult data set, or a skip where they are not there."""
    folder = Path(os.environ.get("PPDM_SHARED_DATA", SHARED_DATA)) / "adult"
    files = [folder / "adult_train.csv", folder / "adult_test.csv"]
    if not all(file.exists() for file in files):
        pytest.skip(f"no Adult data in {folder}; set PPDM_SHARED_DATA to the folder that holds adult/")
    return [str(file) for file in files]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of the demo, with one of somebody's own files, and what was printed."""
    folder = tmp_path_factory.mktemp("demo") / "ppdm-demo"
    (folder / "two-parties").mkdir(parents=True)
    for name in OF_THE_DEMO:
        (folder / name).write_text("stale")
    (folder / "two-parties" / "mine.txt").write_text("kept")
    with warnings.catch_warnings(), chdir(folder.parent):
        warnings.simplefilter("error", PpdmWarning)
        return folder, ppdm("demo", "--force")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Start one server for all processes that tests on Spark are spread over, before there are any."""
    config = session.config
    spread = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if spread and config.getoption("markexpr") == "spark" and not missing() and SHARED not in os.environ:
        running = ExitStack()
        config.add_cleanup(running.close)
        running.enter_context(shared())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests on Spark to ``make test-spark``, which starts one server for all of them."""
    if "spark" in config.getoption("markexpr"):
        return
    why = pytest.mark.skip(reason=missing() or "make test-spark runs this")
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(why)
