"""Files for the command line to work on."""

from __future__ import annotations

import shutil
from pathlib import Path

import commands
import pytest

from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.engine.opening import connect


@pytest.fixture(scope="session")
def example_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("examples") / "bank.duckdb"
    engine = Engine(connect(file, create=True), owned=True)
    examples.write(engine)
    engine.close()
    return file


@pytest.fixture
def bank(example_file: Path, tmp_path: Path) -> Path:
    """A fresh copy of the example tables."""
    return Path(shutil.copy(example_file, tmp_path / "bank.duckdb"))


@pytest.fixture(scope="session")
def released_file(example_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = Path(shutil.copy(example_file, tmp_path_factory.mktemp("released") / "bank.duckdb"))
    assert commands.suppress(file, "--quiet").exit_code == 0
    return file


@pytest.fixture
def released(released_file: Path, tmp_path: Path) -> Path:
    """A fresh copy of the example tables with the release ``safe``."""
    return Path(shutil.copy(released_file, tmp_path / "released.duckdb"))
