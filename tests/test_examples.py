"""The walk-throughs of ``examples/`` run, each in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest

import ppdm_sql

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(tmp_path: Path) -> object:
    """Run a command in an empty folder, with ``ppdm`` on the path, and give what it printed."""
    shim = tmp_path / "bin" / "ppdm"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ppdm_sql "$@"\n')
    shim.chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), *_given()])}

    def ran(command: Sequence[str]) -> str:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "Error" not in done.stderr
        return done.stdout

    return folder, ran


def _given() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def test_the_owner_at_the_command_line(run: object) -> None:
    folder, ran = run  # type: ignore[misc]
    printed = ran(["sh", str(EXAMPLES / "owner.sh")])
    assert "exit code 1" in printed
    assert re.search(r"k >= 40 on elevel, zipcode +true", printed)
    file = folder / "people_safe.parquet"
    query = "SELECT count(*), count(DISTINCT (elevel, zipcode)) > 1 FROM read_parquet($file)"
    assert duckdb.connect().execute(query, {"file": str(file)}).fetchall() == [(2000, True)]


def test_the_analyst_in_sql_only_from_an_empty_file_to_an_exported_release(run: object) -> None:
    folder, ran = run  # type: ignore[misc]
    script = str(EXAMPLES / "analyst.sql")
    printed = ran(["ppdm", "sql", "people.duckdb", "--write", "--file", script, "--format", "jsonl"])
    assert '"age": "[20, ' in printed
    with ppdm_sql.open(folder / "people.duckdb", read_only=True) as db:
        assert [row.release for row in db.releases()] == ["people_k10", "people_noisy"]
        assert db.release("people_k10").verify().holds
        assert db.audit("people_k10", ["k >= 10 on age, elevel, zipcode"]).holds
        sizes = "SELECT count(*) FROM read_parquet($a), (SELECT count(*) FROM read_csv($b)) AS b"
        files = {"a": str(folder / "people_k10.parquet"), "b": str(folder / "people_noisy.csv")}
        assert db.engine.query(sizes, files, step="sizes") == [(2000,)]


@pytest.mark.skipif(find_spec("sklearn") is None, reason="errors are measured with scikit-learn")
def test_the_researcher_in_python(run: object) -> None:
    _, ran = run  # type: ignore[misc]
    printed = ran([sys.executable, str(EXAMPLES / "researcher.py")])
    right = {mode: float(share) for mode, share in re.findall(r"(\w+): ([\d.]+)% right", printed)}
    assert right["original"] > right["byclass"] > 60
    errors = re.findall(r"k = \d+: ([\d.]+) % error, ([\d.]+) % without", printed)
    assert len(errors) == 2
    assert all(float(masked) > float(true) for masked, true in errors)
