"""Writes a policy to begin with: from finished releases, or from a first look at tables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from ppdm_sql.audit.column_kinds import Look
from ppdm_sql.database import Database
from ppdm_sql.engine.names import free_name
from ppdm_sql.errors import InvalidOption
from ppdm_sql.policy.reading import METHODS, SIGNOFF, PlannedRelease, map_values
from ppdm_sql.release import CatalogueRow
from ppdm_sql.release.catalogue import ASKED, READ
from ppdm_sql.sources import is_data_file

ReleaseDraft = tuple[str, dict[str, Any], list[str], Mapping[str, Any]]
"""A release: its name, what is asked, what to know, and its record."""
DATABASE = "releases.duckdb"
"""What holds the releases of a file of records."""


def draft(
    db: Database,
    names: Sequence[str],
    folder: str | os.PathLike[str] = ".",
    *,
    database: str | os.PathLike[str] = DATABASE,
    types: Mapping[str, str] | None = None,
    nulls: Sequence[str] = (),
) -> str:
    """Write a policy of releases as they were made, and of tables as a first look at them proposes.

    Args:
        db: The database that holds them.
        names: Releases, else tables or files.
        folder: Where the policy will be; paths are relative to it.
        database: The path of the database.
        types: Types of columns of tables.
        nulls: Texts that stand for a missing value in tables.

    Raises:
        PpdmError: There is no such release or table, or nothing to begin with.

    Cost: for a table that of :meth:`ppdm_sql.Database.risk` with ``max_size=1``.

    Example:
        >>> import duckdb, ppdm_sql
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE t AS SELECT i % 3 AS a, i % 4 AS b FROM range(12) r (i)")
        >>> print(draft(ppdm_sql.open(con), ["t"]).splitlines()[4])
        [release.t_safe]
    """
    from jinja2 import Environment  # few runs write one

    releases = {row.release.lower(): row for row in db.releases()}
    used_names = [*releases, *(table.name for table in db.engine.tables())]
    reading = {"types": dict(types or {}), "null": list(nulls)}
    drafts = [
        _of_release(releases[name.lower()], Path(folder))
        if name.lower() in releases
        else _of_table(db, name, Path(folder), used_names, reading)
        for name in names
    ]
    databases = {row.parameters.get(READ, {}).get("database") for row in releases.values()} - {None}
    environment = Environment(trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {"toml": _toml, "key": _key, "line": _line}
    template = files("ppdm_sql.policy").joinpath("policy.toml.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        database=_relative(os.fspath(database), Path(folder)),
        attached=sorted(databases),
        releases=drafts,
        signoff=SIGNOFF,
    )


def _of_release(row: CatalogueRow, folder: Path) -> ReleaseDraft:
    request = row.record.get(ASKED)
    if not request:
        raise InvalidOption(
            f"The catalogue does not hold all that {row.release!r} was asked: an older version made it, or "
            "two parties.",
            f"Name its table instead: {row.source}.",
        )
    notes = [f"Made by ppdm-sql {row.version} on {row.created_at.date()}; {row.rows} records."]
    if row.parameters.get("seeded"):
        notes.append("It had a seed, which is not kept. Say where it is: seed = { env = 'NAME' }.")
    plan = PlannedRelease(row.release, request, {}, {}, Path(row.record.get("folder", os.sep)))
    options = METHODS[plan.command]
    table: dict[str, Any] = {"command": plan.command}
    for key in (key for key in request if key in options):
        table[key] = map_values(plan.with_path(options[key], request[key]), partial(_beside, folder))
    files = [str(plan.folder / export["file"]) for export in row.record.get("exports", ())]
    table |= {"export": [_relative(file, folder) for file in files]} if files else {}
    return row.release, table, notes, row.record


def _of_table(
    db: Database, name: str, folder: Path, names: list[str], reading: Mapping[str, Any]
) -> ReleaseDraft:
    risk = db.risk(name, max_size=1, types=reading["types"], nulls=reading["null"])
    if risk.requirement is None:
        raise InvalidOption(f"No column of {risk.table} tells records apart.", "Write a policy yourself.")
    stem = re.sub(r"\W+", "_", Path(risk.table).name.partition(".")[0]).strip("_")
    release = free_name(f"{stem}_safe", names)
    names.append(release)
    identifiers = [one.column for one in risk.set_aside if one.looks_like == Look.identifier.value]
    texts = [one.column for one in risk.set_aside if one.looks_like == Look.text.value]
    notes = ["A first look: go through every column.", *risk.notices]
    notes += [f"Free text is not released: {', '.join(texts)}."] if texts else []
    notes += ["What nobody else can know, such as a diagnosis, may go in keep instead of require: keep = []."]
    table = _relative(os.path.abspath(name), folder) if is_data_file(name) and os.path.exists(name) else name
    request = {"command": "generalize", "table": table, "require": [risk.requirement]}
    request |= {"identifier": identifiers, **reading}
    return release, {key: value for key, value in request.items() if value}, notes, {}


def _beside(folder: Path, value: Any) -> Any:
    """Write the whole path of what is there relative to the policy."""
    is_path = isinstance(value, str) and os.path.isabs(value) and os.path.exists(value)
    return _relative(value, folder) if is_path else value


def _relative(path: str, folder: Path) -> str:
    return Path(os.path.relpath(path, folder.absolute())).as_posix()


def _toml(value: Any) -> str:
    r"""Write a value as TOML.

    Example:
        >>> _toml(["a\nb", {"odd name": 1, "plain": [True]}])
        '["a\\nb", { "odd name" = 1, plain = [true] }]'
    """
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
