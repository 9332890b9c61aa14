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


PLAIN = sorted((EXAMPLES / "dbt" / "plain").glob("*.sql"))
SAFE = (
    "SELECT if(i % 2 = 0, 'f', 'm') AS sex, '[0, 20)' AS age, '021**' AS zip, "
    "['flu', 'asthma', 'addiction', 'ulcer'][1 + i // 2 % 4] AS diagnosis FROM range(80) AS r (i)"
)
FAULTS = {
    "k_anonymity": "SELECT 'f', '[0, 20)', '94***', 'flu' FROM range(4)",
    "l_diversity": "SELECT 'f', '[20, 40)', '021**', ['flu', 'ulcer'][1 + i % 2] FROM range(10) AS r (i)",
    "t_closeness": "SELECT 'f', '[20, 40)', '021**', 'flu' FROM range(10)",
    "confidence": "SELECT 'f', '[0, 20)', '94***', if(i < 6, 'addiction', 'flu') FROM range(10) AS r (i)",
}
"""Rows by which a release breaks what each test asks."""


@pytest.mark.parametrize("file", PLAIN, ids=lambda file: file.stem)
def test_sql_of_the_dbt_example_returns_the_bad_rows_and_no_others(file: Path) -> None:
    assert [one.stem for one in PLAIN] == sorted(FAULTS)
    query = file.read_text(encoding="utf-8")
    with duckdb.connect() as con:
        ppdm_sql.open(con).install()
        con.execute(f"CREATE TABLE visits_safe AS {SAFE}")
        assert con.execute(query).fetchall() == []
        con.execute(f"INSERT INTO visits_safe {FAULTS[file.stem]}")
        assert len(con.execute(query).fetchall()) == 1
        con.execute("ALTER TABLE visits_safe RENAME age TO agee")
        if "age" in query:
            with pytest.raises(duckdb.Error, match="age"):
                con.execute(query)
