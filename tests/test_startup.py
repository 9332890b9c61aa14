"""The package and its command start at once: what is slow to load waits until something needs it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import ppdm_sql
from ppdm_sql import examples

TERMINAL = {"rich", "prompt_toolkit"}
ENGINE = {"duckdb", "sqlglot", "numpy", "pyarrow"}
LATER = {"scipy", "pyarrow", "cryptography", "highspy", "sklearn", "prompt_toolkit"}
LISTED = "print('loaded:', *sys.modules)"
RUN = """
import sys
sys.argv[0] = "ppdm"
from ppdm_sql.cli import main
try:
    main()
finally:
    """


def loaded(code: str, *words: str) -> set[str]:
    """Run Python in a process of its own, and give the modules that it loads, those inside of ours too."""
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120)
    (listed,) = (line for line in run.stdout.splitlines() if line.startswith("loaded: "))
    assert "Traceback" not in run.stderr
    modules = listed.split()[1:]
    return {name.partition(".")[0] for name in modules} | {name for name in modules if "ppdm_sql." in name}


@pytest.fixture
def bank(tmp_path: Path) -> str:
    with ppdm_sql.open(tmp_path / "bank.duckdb", create=True) as db:
        examples.write(db.engine)
    return str(tmp_path / "bank.duckdb")


def test_importing_the_package_loads_no_engine() -> None:
    found = loaded(f"import sys, ppdm_sql; {LISTED}")
    assert "ppdm_sql" in found
    assert not found & (ENGINE | LATER | TERMINAL | {"typer"})


@pytest.mark.parametrize("words", [["--help"], []], ids=" ".join)
def test_the_help_loads_no_engine(words: list[str]) -> None:
    found = loaded(RUN + LISTED, *words)
    assert "typer" in found
    assert not found & (ENGINE | LATER | TERMINAL)


def test_an_audit_loads_only_what_it_runs(bank: str) -> None:
    found = loaded(RUN + LISTED, "audit", bank, "customers", "--require", "k >= 1 on Job")
    assert {"duckdb", "sqlglot"} <= found
    assert not found & (LATER | TERMINAL | {"numpy"})


def test_suppression_loads_only_what_it_runs(bank: str) -> None:
    asked = ["--require", "k >= 2 on Job", "--class", "Rating", "--into", "safe"]
    found = loaded(RUN + LISTED, "suppress", bank, "customers", *asked)
    assert {"duckdb", "sqlglot", "numpy"} <= found
    assert not found & (LATER | TERMINAL)
    others = (
        "audit.swaps",
        "audit.randomized",
        "methods.perturbation",
        "release.exporting",
        "release.applying",
    )
    others += ("taxonomy.tables", "taxonomy.suggesting")
    others += ("audit.profiling", "release.placing")
    others += tuple(f"methods.top_down.{name}" for name in ("left_out_measure", "population"))
    others += ("engine.places",)
    assert all(find_spec(f"ppdm_sql.{name}") for name in others)
    assert "ppdm_sql.release.publishing" in found
    assert not found & {f"ppdm_sql.{name}" for name in others}


@pytest.mark.parametrize("words", [["--partitions"], ["--format", "json"]], ids=" ".join)
def test_a_release_is_shown_without_what_draws_on_a_terminal(bank: str, words: list[str]) -> None:
    with ppdm_sql.open(bank) as db:
        db.suppress("customers", ["k >= 2 on Job"], class_column="Rating", into="safe")
    found = loaded(RUN + LISTED, "show", bank, "safe", *words)
    assert {"duckdb", "sqlglot"} <= found
    assert not found & TERMINAL


@pytest.mark.parametrize("name", ppdm_sql.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ppdm_sql, name) is not None
    assert name in dir(ppdm_sql)


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'ppdm_sql' has no attribute 'anonymise'"):
        _ = ppdm_sql.anonymise  # type: ignore[attr-defined]
