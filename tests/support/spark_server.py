"""A Spark Connect server out of the wheel of pyspark, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SECONDS_TO_START = 150
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compiles quickly rather than well: a test's job is over before Java would have made it fast."""
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
}
"""A plan is neither compiled nor planned anew on the way, which takes longer than to run it over few rows."""
AS_USUAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""What a server does where nobody says otherwise, for tests that are about it, as statements are."""
SHARED = "PPDM_TEST_SPARK"
"""Names the server of all tests, where one runs already."""


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
def shared() -> Iterator[None]:
    """Run a server for all processes that tests are spread over."""
    with served() as url:
        os.environ[SHARED] = url
        try:
            yield
        finally:
            del os.environ[SHARED]


@contextlib.contextmanager
def served(master: str = "local[2]", **settings: str) -> Iterator[str]:
    """Run a server for as long as the context lasts, and give its URL.

    It is killed with its whole group, and what it wrote is removed.

    Args:
        master: The master of its Spark.
        settings: More settings, with ``_`` for each point.
    """
    port = _free_port()
    with _folder() as folder, _started("server", _words(master, port, folder, settings), folder) as process:
        _wait(process, port, folder / "server.log")
        yield f"sc://127.0.0.1:{port}"


@dataclass
class Cluster:
    """A standalone cluster on this machine.

    Args:
        folder: Where its processes write, each worker below a folder of its own name.
        master: The URL of its master.
        stack: Ends its processes.
        workers: The processes of its workers by name. A worker leads a group, in which its executor is.
        url: Of its Connect server.
    """

    folder: Path
    master: str
    stack: contextlib.ExitStack
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    url: str = ""

    def hire(self) -> None:
        """Start workers with one core each until two are there."""
        while sum(worker.poll() is None for worker in self.workers.values()) < 2:
            name = f"worker{len(self.workers) + 1}"
            words = [*_LOCAL_PROCESS, "-c", "1", "-m", "1g", "-d", str(self.folder / name), self.master]
            words = [_spark_class(), "org.apache.spark.deploy.worker.Worker", *words]
            self.workers[name] = self.stack.enter_context(_started(name, words, self.folder))


_LOCAL_PROCESS = ["--host", "127.0.0.1", "--webui-port", "0"]


def _spark_class() -> str:
    return str(home() / "bin" / "spark-class")


@contextlib.contextmanager
def clustered() -> Iterator[Cluster]:
    """Run a cluster of two workers; a job waits until both are there."""
    port = _free_port()
    with _folder() as folder, contextlib.ExitStack() as stack:
        words = [_spark_class(), "org.apache.spark.deploy.master.Master", *_LOCAL_PROCESS]
        master = stack.enter_context(_started("master", [*words, "--port", str(port)], folder))
        _wait(master, port, folder / "master.log")
        cluster = Cluster(folder, f"spark://127.0.0.1:{port}", stack)
        cluster.hire()
        cluster.url = stack.enter_context(served(cluster.master, **OF_TWO_WORKERS))
        yield cluster


OF_TWO_WORKERS = {
    "spark_cores_max": "2",
    "spark_executor_cores": "1",
    "spark_executor_memory": "512m",
    "spark_executor_extraJavaOptions": JAVA,
    "spark_scheduler_minRegisteredResourcesRatio": "1.0",
    "spark_scheduler_maxRegisteredResourcesWaitingTime": "120s",
    "spark_shuffle_io_maxRetries": "1",
    "spark_shuffle_io_retryWait": "100ms",
}
"""Both workers are used from the first job on, and one that is gone is not asked for long."""


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ppdm-spark-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def _started(name: str, words: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of Spark that leads a group, and kill the group at the end."""
    own = {"SPARK_HOME": str(home()), "SPARK_CONNECT_MODE": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
    own |= {"SPARK_DAEMON_JAVA_OPTS": JAVA}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group at once, as the loss of its machine would."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _words(master: str, port: int, folder: Path, more: dict[str, str]) -> list[str]:
    settings = SETTINGS | {
        "spark.connect.grpc.binding.port": str(port),
        "spark.master": master,
        "spark.local.dir": str(folder),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} {JAVA}",
    }
    settings |= {name.replace("_", "."): value for name, value in more.items()}
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
