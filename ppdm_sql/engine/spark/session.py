"""Reaches Spark: by the URL of a Connect server, by one started here for a trial, or by an open session."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import warnings
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ppdm_sql.engine.spark.faults import unprinted
from ppdm_sql.engine.spark.jobs import EXACT_TIMES, SparkJobs
from ppdm_sql.engine.spark.source import SparkSource
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption, kind_of

OLDEST = 4
"""The oldest version of Spark, as its first number."""
CONNECT_PORT = 15002
SECONDS_TO_ANSWER = 10.0
MOST_RETRIES = 6
"""How often the client asks a server again that has gone: for a minute; by itself it does so for ten."""
_LOCAL = re.compile(r"local(\[(\*|\d+)\])?")
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")

SETTINGS = {
    "spark.app.name": "ppdm",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "ppdm-spark-warehouse"),
} | EXACT_TIMES
"""Keeps everything on this machine, and nothing in the folder in which the command was given."""


class SparkPlace(SparkJobs):
    """A Spark on which tables are read; a caller's session stays open."""

    title = "Spark"

    def find(self, name: str) -> SparkSource:
        return SparkSource(self, name)

    def close(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            with suppress(Exception), unprinted():
                stop()


def connect(spark: str | Any) -> SparkPlace:
    place = _open(spark)
    try:
        with place.guarded("settings"):
            _check(place.session)
    except BaseException:
        place.close()
        raise
    return place


def _open(spark: str | Any) -> SparkPlace:
    if not isinstance(spark, str):
        if type(spark).__module__.startswith("pyspark.sql") and hasattr(spark, "createDataFrame"):
            return SparkPlace(spark)
        raise InvalidOption(
            f"Spark is given by a URL or an open session, not as {kind_of(spark)}.",
            "Give spark='sc://host:15002' or a SparkSession.",
        )
    if spark.startswith("sc://"):
        _require_answer(spark)
        return _remote(spark)
    if _LOCAL.fullmatch(spark):
        return _started(spark)
    raise InvalidOption(
        f"{_shown(spark)!r} is not the URL of a Spark.",
        "Write sc://host:15002 for a Connect server, or local[2] for a trial on this machine.",
    )


def _started(master: str) -> SparkPlace:
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

    return SparkPlace(session, session.stop)


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
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise DatabaseUnavailable(
            f"{master} starts a Spark here, which needs Java.", "Install Java 17 or newer, or set JAVA_HOME."
        )


def _remote(url: str) -> SparkPlace:
    require_client()
    from pyspark.sql.connect.session import SparkSession

    try:
        with unprinted():
            session = SparkSession.builder.remote(url).config(map=EXACT_TIMES).create()
        with suppress(Exception):  # a client that has other policies keeps them
            from pyspark.sql.connect.client.retries import DefaultPolicy

            session.client.set_retry_policies([DefaultPolicy(max_retries=MOST_RETRIES)])
    except Exception as cause:
        raise _not_reached(url, type(cause).__name__) from None
    return SparkPlace(session, session.stop)


def require_client() -> None:
    for module in ("pyspark", "grpc", "pandas", "google.rpc"):
        try:
            there = find_spec(module) is not None
        except ModuleNotFoundError:
            there = False
        if not there:
            raise DatabaseUnavailable(
                f"Tables in Spark are read by its client, of which {module} is not installed.",
                "Run: pip install 'ppdm-sql[spark]'.",
            )
    # It warns of a new pandas at import; it is given Arrow tables and SQL alone.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def _require_answer(url: str) -> None:
    """Refuse a server that is not there at once; the client would try again for ten minutes."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or CONNECT_PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise InvalidOption(f"{_shown(url)!r} names no host.", "Write sc://host:15002.")
    if any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES):
        return  # the way leads through a proxy, which only the client knows how to take
    try:
        socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER).close()
    except OSError as cause:
        raise _not_reached(url, cause.strerror or type(cause).__name__) from None


def _not_reached(url: str, why: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        f"No Spark Connect server answers at {_shown(url)} ({why}).",
        "Check the URL, and that start-connect-server.sh was run there.",
    )


def _shown(url: str) -> str:
    """Leave parameters out of a URL: a token may be among them."""
    return url.partition(";")[0].partition("/;")[0]


def _check(session: Any) -> None:
    version = str(session.version)
    if int(version.partition(".")[0]) < OLDEST:
        raise DatabaseUnavailable(f"This is Spark {version}; 4 is the oldest that serves.", "Upgrade it.")
    if session.conf.get("spark.sql.ansi.enabled") != "true":
        raise InvalidOption(
            "ANSI mode is off in this Spark, so sums that overflow and casts that fail would pass unseen.",
            "Set spark.sql.ansi.enabled to true in the session.",
        )
