"""Starts a Spark on this machine, for trials."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ppdm_sql.engine.spark.faults import unprinted
from ppdm_sql.engine.spark.session import require_client
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption

SETTINGS = {
    "spark.app.name": "ppdm",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "ppdm-spark-warehouse"),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Keeps everything on this machine, and nothing in the folder in which the command was given."""


def start(master: str) -> tuple[Any, Callable[[], None]]:
    """Start a Spark in a process of its own, which ends with this one."""
    require_client()
    _require_spark(master)
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        raise InvalidOption(
            "A Spark session runs in this process already.", "Give that session instead of its URL."
        )
    try:
        with unprinted():
            session = _session(SETTINGS | {"spark.master": master})
    except Exception as cause:
        raise DatabaseUnavailable(
            f"Spark cannot be started here ({type(cause).__name__}).",
            "Check that java -version says 17 or newer.",
        ) from None

    return session, session.stop


def _session(settings: dict[str, str]) -> Any:
    """Start the process and a session in it; what it logs quotes cells, and goes nowhere."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setAll(list(settings.items()))
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = SparkContext._gateway or launch_gateway(conf, silent)
    context = SparkContext(conf=conf, gateway=gateway)
    return SparkSession(context)


def _require_spark(master: str) -> None:
    if find_spec("pyspark.java_gateway") is None or find_spec("py4j") is None:
        raise DatabaseUnavailable(
            f"{master} starts a Spark here, and only Spark's client is installed.",
            "Run: pip install 'pyspark[connect]>=4'.",
        )
    if shutil.which("java") is None and not _java_home():
        raise DatabaseUnavailable(
            f"{master} starts a Spark here, which needs Java.", "Install Java 17 or newer, or set JAVA_HOME."
        )


def _java_home() -> bool:
    home = os.environ.get("JAVA_HOME")
    return home is not None and (Path(home) / "bin" / "java").exists()
