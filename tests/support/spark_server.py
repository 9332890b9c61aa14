"""A Spark Connect server out of the wheel of pyspark, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SECONDS_TO_START = 150
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compiles quickly rather than well: a test's job is over before Java would have made it fast."""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
}


def missing() -> str:
    """Say what is not installed; empty where nothing is missing."""
    if find_spec("pyspark") is None or find_spec("grpc") is None:
        return "pyspark is not installed; make test-spark installs it and runs this"
    return ""


def home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


@contextlib.contextmanager
def served(master: str = "local[2]") -> Iterator[str]:
    """Run a server for as long as the context lasts, and give its URL.

    It is killed with its whole group, and what it wrote is removed.
    """
    with tempfile.TemporaryDirectory(prefix="ppdm-spark-", ignore_cleanup_errors=True) as folder:
        port = _free_port()
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(
                _words(master, port, folder),
                cwd=folder,
                env=os.environ
                | {"SPARK_HOME": str(home()), "SPARK_CONNECT_MODE": "0", "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            _wait(process, port, Path(folder) / "log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _words(master: str, port: int, folder: str) -> list[str]:
    settings = SETTINGS | {
        "spark.connect.grpc.binding.port": str(port),
        "spark.master": master,
        "spark.local.dir": folder,
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} {JAVA}",
    }
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return [str(home() / "bin" / "spark-submit"), "--class", SERVER, *given, "spark-internal"]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the server ended: {log.read_text(errors='replace')[-2000:]}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise AssertionError(f"the server does not answer: {log.read_text(errors='replace')[-2000:]}")
