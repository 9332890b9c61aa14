"""What is in the wheel and the source archive, and that an installed package finds its SQL."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import ppdm_sql

ROOT = Path(__file__).resolve().parents[1]
BUILDS = pytest.mark.skipif(find_spec("hatchling") is None, reason="the build tool hatchling is missing")


def files(folder: str, pattern: str = "*") -> set[str]:
    found = (ROOT / folder).rglob(pattern)
    return {str(f.relative_to(ROOT)) for f in found if f.is_file() and "__pycache__" not in f.parts}


def build(target: str, folder: Path) -> Path:
    """Build from the sources, offline: with the build tool that is installed."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@BUILDS
def test_the_wheel_holds_the_package_and_its_sql(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == files("ppdm_sql") | {f"ppdm_sql/{name}" for name in files("sql")}


@BUILDS
def test_the_wheel_carries_the_licence_and_the_version(wheel: Path) -> None:
    info = f"ppdm_sql-{ppdm_sql.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert b"ppdm = ppdm_sql.cli:main" in archive.read(f"{info}/entry_points.txt")


@BUILDS
def test_the_wheel_works_where_the_sources_are_not(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    made = "CREATE TABLE t AS FROM range(9) r(i); CALL ppdm_generalize('t', 's', require := 'k >= 3 on i')"
    assert "verified" in run_installed(tmp_path, "sql", "made.duckdb", "--write", made)
    assert Path(run_installed(tmp_path, "sql-path").strip()) == tmp_path / "site" / "ppdm_sql" / "sql"


def run_installed(folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-P", "-m", "ppdm_sql", *words]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@BUILDS
def test_the_source_archive_keeps_the_sql_in_its_place(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path / "sdist")) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert files("sql") | files("ppdm_sql") | {"LICENSE", "README.md", "pyproject.toml"} <= packed


def test_no_file_of_the_build_names_an_index() -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "pyproject.toml", ".ci/run")]
    assert not any(option in text for text in texts for option in ("index-url", "find-links", "trusted-host"))
