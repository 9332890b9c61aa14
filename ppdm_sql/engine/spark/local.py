"""Starts a Spark on this machine, for trials."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ppdm_sql.engine.spark.faults import unprinted
from ppdm_sql.engine.spark.session import require_client
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption

_SILENT = "rootLogger.level = off\n"
"""For log4j: the logs of executors quote cells, and go to stderr."""


def start(master: str) -> tuple[Any, Callable[[], None]]:
    """Start a Spark in a process of its own, which ends with this one.

    Args:
        master: Such as ``local[2]``.

    Returns:
        The session, and what ends it.

    Raises:
        DatabaseUnavailable: Spark itself, or Java, is not installed.
        InvalidOption: The process has a session already.
    """
    require_client()
    _require_spark(master)
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise InvalidOption(
            "A Spark session runs in this process already.", "Give that session instead of its URL."
        )
    folder = Path(tempfile.mkdtemp(prefix="ppdm-spark-"))
    builder: Any = SparkSession.builder
    try:
        with unprinted():
            session = builder.master(master).config(map=_settings(folder)).getOrCreate()
    except Exception as cause:
        shutil.rmtree(folder, ignore_errors=True)
        raise DatabaseUnavailable(
            f"Spark cannot be started here ({type(cause).__name__}).",
            "Check that java -version says 17 or newer.",
        ) from None

    def stop() -> None:
        try:
            session.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return session, stop


def _settings(folder: Path) -> dict[str, str]:
    """Keep everything on this machine, in a private folder, and quiet."""
    log = folder / "log4j2.properties"
    log.write_text(_SILENT)
    return {
        "spark.app.name": "ppdm",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log}",
        "spark.local.dir": str(folder / "spill"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }


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
