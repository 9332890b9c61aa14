"""The house rules that a linter does not know, such as one word for one thing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ppdm_sql

IMPORTS_BY_NAME = {
    "__init__.py",  # stands above all, and gives public names
    "cli/app.py",  # the module of a command, of its own folder
    "privacy/models/__init__.py",  # the models, of its own folder
    "results.py",  # what shows results, which stands above them
}
"""Where modules are imported by their names, which the contracts of imports cannot see."""
PACKAGE = Path(ppdm_sql.__file__).parent
CALLED_ALIKE = {"Measure": 2, "Session": 2}


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


def test_a_class_name_means_one_thing() -> None:
    trees = [ast.parse(source) for _, source in sources()]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert len(names) > 150
    assert {name: n for name, n in names.items() if n > CALLED_ALIKE.get(name, 1)} == {}


NAMES_SPARK = {"database.py", "cli", "engine", "options", "sql_calls"}
"""The engine, and the surfaces on which users say where a table lives; all else reads a source."""


def test_nothing_but_the_engine_and_the_surfaces_names_spark() -> None:
    naming = {name for name, source in sources() if "spark" in source.lower()}
    assert any(name.startswith("engine/spark/") for name in naming)
    assert {name for name in naming if name.split("/")[0] not in NAMES_SPARK} == set()


def test_pyspark_is_imported_inside_the_functions_that_need_it() -> None:
    for name, source in sources():
        top = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
        imported = {alias.name for node in top for alias in node.names} | {
            str(getattr(node, "module", "")) for node in top
        }
        assert not any(item.split(".")[0] == "pyspark" for item in imported), name


def test_no_import_escapes_the_contracts_of_layers() -> None:
    importing = ("import_module", "__import__", "spec_from_file_location", "run_module")
    found = {
        name
        for name, source in sources()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name | ast.Attribute | ast.alias)
        and {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", "")} & {*importing}
    }
    assert found == IMPORTS_BY_NAME
