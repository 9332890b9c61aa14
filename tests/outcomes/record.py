"""Writes down what the product does on the cases of corpus.py, as seen from the command line and from Python.

One file a group of cases. After a change that is meant, write the files anew and read the diff:

    python tests/outcomes/record.py [GROUP ...] && git diff tests/outcomes
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1])]

import duckdb  # noqa: E402
from commands import ppdm  # noqa: E402

import ppdm_sql  # noqa: E402

FILE = "x.duckdb"
RELEASE = "r"
MAKES = {"suppress", "generalize", "swap", "randomize"}
"""Commands that publish, as ``r`` where they do not say otherwise."""
SCORED = {"suppress", "generalize"}
"""Commands whose steps are scored, as the papers do where they do not say otherwise."""
PLAIN = {"demo", "drop", "export", "install", "integrate", "report", "taxonomy"}
"""Commands that do not print JSON."""
STEP = ("attribute", "parent", "children", "score", "gain", "loss")
FEW = 12
"""As many rows are kept as they are; of more, there is a hash."""
MOST = {"steps": 24, "labels": 12, "children": 8, "lines": 60, "whole": 400}
"""As many are kept of each; of more, the first ones and a hash."""
CHANGING = [
    (re.compile(r"ppdm-sql \d[\w.]*"), "ppdm-sql"),
    (re.compile(r"\b(127\.0\.0\.1):\d+"), r"\1:PORT"),
    (re.compile(r"\b\d+(\.\d+)? (seconds|ms)\b"), "SOME seconds"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "NOW"),
]
"""What differs from run to run, in texts."""
DROPPED = {"created at", "seconds"}
"""What differs from run to run, by its name."""
UNTOLD = {"created at"}
"""What is not told of a release: its time."""
SHARED = Path(os.environ.get("PPDM_SHARED_DATA", HERE.parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Case:
    """What is typed, and on what.

    Args:
        name: Names the case among all.
        commands: Lines for the command line, without the database, or functions of an open database.
        given: SQL that makes the tables, in a file ``x.duckdb`` of a fresh folder.
    """

    name: str
    commands: tuple[str | Callable[[Any], Any], ...]
    given: str

    def missing(self) -> str:
        """Why it cannot be run here, or nothing."""
        absent = "adult_csv" in self.given and not (SHARED / "adult" / "adult_train.csv").exists()
        return f"no Adult data in {SHARED}; set PPDM_SHARED_DATA" * absent


def outcome(case: Case, folder: Path) -> dict[str, Any]:
    """Run a case in an empty folder, and tell what came of it."""
    shutil.copytree(made(case.given).name, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder):
        ran = [typed(line) if isinstance(line, str) else called(line) for line in case.commands]
        release = released()
        found = {"ran": ran} | ({"release": release} if release else {})
    text = json.dumps(found, default=str).replace(str(folder.resolve()), "FOLDER")
    return short(json.loads(text))


@functools.cache
def made(given: str) -> tempfile.TemporaryDirectory[str]:
    """Make the tables of a case, once, in a folder of their own."""
    folder = tempfile.TemporaryDirectory()
    with contextlib.chdir(folder.name), duckdb.connect(FILE) as connection:
        connection.execute(given.replace("adult_csv", str(SHARED / "adult" / "adult_*.csv")))
    return folder


def typed(line: str) -> dict[str, Any]:
    """Type a command, and give its exit code and what it prints."""
    words = shlex.split(line)
    if words[0] not in PLAIN and "--format" not in words:
        words += ["--format", "json"]
    if words[0] in MAKES and "--into" not in words:
        words += ["--into", RELEASE]
    if words[0] in SCORED and "--score" not in words:
        words += ["--score", "paper"]
    if not any(word.endswith(".duckdb") or word == ":memory:" for word in words):
        words.insert(1, FILE)
    ended = ppdm(*words)
    found: dict[str, Any] = {"ppdm": line, "exit": ended.exit_code}
    said = lines(ended.stderr.partition("\nNext:\n")[0])
    told = read(ended.stdout)
    if told and words[0] not in MAKES:  # what these print is in ppdm show, too
        found["stdout"] = told
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        said.append(f"{type(ended.exception).__name__} was not caught")
    return found | ({"stderr": said} if said else {})


def read(text: str) -> Any:
    """Read JSON, or the lines of what is none."""
    try:
        return json.loads(text)
    except ValueError:
        return lines(text)


def lines(text: str) -> list[str]:
    """Give the lines but those of progress, of which long runs print one now and then."""
    return [
        line
        for line in text.splitlines()
        if line.strip() and not re.match(r"(setting .*|[a-z ]+): \w+ \d", line)
    ]


def called(deed: Callable[[Any], Any]) -> dict[str, Any]:
    """Call a function with the open database, and give what it returns or raises, and the warnings."""
    with warnings.catch_warnings(record=True) as noticed, ppdm_sql.open(FILE, create=True) as database:
        warnings.simplefilter("always", ppdm_sql.PpdmWarning)
        try:
            found = {"returned": deed(database)}
        except ppdm_sql.PpdmError as error:
            found = {"raised": f"{type(error).__name__}: {error}"}
    told = [str(warning.message) for warning in noticed if issubclass(warning.category, ppdm_sql.PpdmWarning)]
    return found | ({"warned": told} if told else {})


def released() -> dict[str, Any] | None:
    """Tell of the release, if there is one: its steps, cut, measures and rows, some states, and the audit."""
    with duckdb.connect(FILE) as connection, contextlib.suppress(ppdm_sql.UnknownRelease):
        release = ppdm_sql.open(connection).release(RELEASE)
        about, measures, *_ = release.tables()
        about_it = [[what, value] for what, value in about.rows if what not in UNTOLD]
        hidden = [what[7:] for what, value in about_it if value == "pseudonym"]
        try:
            audit: Any = {table.title: list(map(list, table.rows)) for table in release.verify().tables()}
        except ppdm_sql.PpdmError as error:
            audit = lines(str(error))
        steps = [[getattr(step, key) for key in STEP] for step in release.steps()]
        columns = connection.execute(f"DESCRIBE {RELEASE}").fetchall()
        states = {
            step: f"{RELEASE}_at({step})" for step in sorted({1, len(steps) // 2}) if 0 < step < len(steps)
        }
        return {
            "about": about_it,
            "measures": [list(row) for row in measures.rows],
            "cut": cut(release.cut()),
            "steps": steps,
            "verify": audit,
            "schema": [f"{name} {kind}" for name, kind, *_ in columns],
            "rows": rows(connection, RELEASE, hidden),
            "states": {step: rows(connection, state, hidden) for step, state in states.items()},
        }
    return None


def cut(nodes: Sequence[Any]) -> dict[str, list[Any]]:
    """Give the labels that each column shows."""
    found: dict[str, list[Any]] = {node.attribute: [] for node in nodes}
    for node in nodes:
        if node.shown:
            found[node.attribute].append(node.label)
    return found


def rows(connection: duckdb.DuckDBPyConnection, source: str, hidden: Sequence[str]) -> dict[str, Any]:
    """Count the rows of a view, and give them all, sorted, or their hash; ``hidden`` are drawn at random."""
    left_out = ", ".join(f'''"{name.replace('"', '""')}"''' for name in hidden)
    columns = f"* EXCLUDE ({left_out})" if hidden else "*"
    try:
        statement = f"SELECT CAST(COLUMNS({columns}) AS VARCHAR) FROM {source}"
        found = sorted(repr(row) for row in connection.execute(statement).fetchall())
    except duckdb.Error as error:
        return {"error": type(error).__name__}
    return {"count": len(found)} | ({"rows": found} if len(found) <= FEW else {"hash": hashed(found)})


def hashed(value: Any) -> str:
    return hashlib.md5(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]


def short(value: Any, name: str = "") -> Any:
    """Round numbers, take out what changes from run to run, and shorten long lists."""
    if isinstance(value, dict):
        return {
            str(key): short(item, "labels" if name == "cut" else str(key))
            for key, item in value.items()
            if key not in DROPPED
        }
    if isinstance(value, list | tuple):
        most = MOST.get(name, MOST["children"] if name == "step" else MOST["lines"])
        inner = "step" if name == "steps" else ""
        return shortened([short(item, inner) for item in value], most)
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, str):
        for changing, instead in CHANGING:
            value = changing.sub(instead, value)
        return value
    return value if value is None or isinstance(value, bool | int) else str(value)


def shortened(items: list[Any], most: int) -> list[Any]:
    """Keep the first few of many, their number, a hash of all but numbers, and the sum of the numbers."""
    if len(items) <= most:
        return items
    numbers: list[float] = []
    texts = hashed([without_numbers(item, numbers) for item in items])
    return [*items[: most // 2], f"... {len(items)} in all, {texts}", rounded(math.fsum(numbers))]


def without_numbers(value: Any, numbers: list[float]) -> Any:
    """Give what is left of a value without its fractions, which go to a list."""
    if isinstance(value, float) and math.isfinite(value):
        numbers.append(value)
        return None
    if isinstance(value, dict):
        return {key: without_numbers(item, numbers) for key, item in value.items()}
    return [without_numbers(item, numbers) for item in value] if isinstance(value, list) else value


def rounded(number: float) -> float | str:
    """Round to nine significant digits; JSON knows no infinity."""
    if not math.isfinite(number):
        return str(number)
    return 0.0 if abs(number) < 1e-12 else float(f"{number:.9g}")


def difference(expected: Any, found: Any, place: str = "") -> str | None:
    """Give the first difference of two outcomes, or nothing; numbers may differ in the last digit."""
    if isinstance(expected, float) and isinstance(found, float | int):
        close = math.isclose(expected, found, rel_tol=1e-8, abs_tol=1e-11)
        return None if close else f"{place}: {expected} was recorded, {found} found"
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = [*expected, *(key for key in found if key not in expected)]
        pairs = [(f"{place}.{key}", expected.get(key, "nothing"), found.get(key, "nothing")) for key in keys]
    elif isinstance(expected, list) and isinstance(found, list):
        longest = range(max(len(expected), len(found)))
        both = [[(side[i] if i < len(side) else "nothing") for i in longest] for side in (expected, found)]
        pairs = [(f"{place}[{i}]", *pair) for i, pair in enumerate(zip(*both, strict=True))]
    else:
        same = type(expected) is type(found) and expected == found
        return None if same else f"{place}: {expected!r} was recorded, {found!r} found"
    return next((told for at, a, b in pairs if (told := difference(a, b, at)) is not None), None)


def written(value: Any, indent: str = "") -> str:
    """Write JSON with sorted keys, a line for each thing that a case tells."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(line) + len(indent) <= 140 or len(indent) > 2 or not isinstance(value, dict):
        return line
    inner = indent + " "
    names = [(key, json.dumps(key, ensure_ascii=False)) for key in sorted(value)]
    parts = [f"{inner}{name}: {written(value[key], inner)}" for key, name in names]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def recorded(group: str) -> dict[str, Any]:
    """Read what is recorded of a group, by the names of its cases."""
    file = HERE / f"{group}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def fresh(group: str, cases: Sequence[Case]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the cases of a group; what cannot be run here stays as it is recorded."""
    before = recorded(group)
    for case in cases:
        if case.missing():
            sys.stderr.write(f"{case.name}: {case.missing()}\n")
            yield from [(case.name, before[case.name])] if case.name in before else []
            continue
        with tempfile.TemporaryDirectory() as folder:
            yield case.name, outcome(case, Path(folder))


def main(groups: Sequence[str]) -> None:
    from corpus import GROUPS

    for group in groups or GROUPS:
        text = written(dict(fresh(group, GROUPS[group]))) + "\n"
        (HERE / f"{group}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
