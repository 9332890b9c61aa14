"""Puts the audit macros into a file, and takes them out again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import InvalidOption, NameTaken
from ppdm_sql.macros import Macro, macros
from ppdm_sql.release.catalogue import place_here
from ppdm_sql.release.layout import SCHEMA
from ppdm_sql.version import __version__

SHORT = "main"
"""The schema of the short names."""
_MARK = re.compile(r"Installed by ppdm-sql (\S+?)( with the schema)?\.$")
"""The last sentence of a comment, by which a macro is known as ours: its version, and who made the schema."""


@dataclass(frozen=True)
class Installed:
    """What :func:`install` did.

    Args:
        macros: The macros that the file holds now, without the schemas.
        version: Of ppdm-sql, which they are of.
        replaced: The version that the file held before, if any.
    """

    macros: tuple[str, ...]
    version: str
    replaced: str | None


@dataclass(frozen=True)
class _Found:
    """A macro, table or view that stands where ours go; it has a version if it is ours."""

    schema: str
    name: str
    kind: str
    version: str | None = None
    with_schema: bool = False

    @classmethod
    def read(cls, schema: str, name: str, kind: str, comment: str | None) -> _Found:
        mark = _MARK.search(comment or "")
        return cls(schema, name, kind) if mark is None else cls(schema, name, kind, mark[1], bool(mark[2]))


def install(engine: Engine, *, short_names: bool = True) -> Installed:
    """Put the audit macros into the current database; see :meth:`ppdm_sql.Database.install`.

    Without the short names, those of an earlier installation go.
    """
    engine.require_autocommit()
    here, found = place_here(engine), _found(engine)
    schemas = (SCHEMA, SHORT) if short_names else (SCHEMA,)
    _check_free([item for item in found if item.schema in schemas])
    ours = [item for item in found if item.version is not None]
    versions = [item.version for item in ours if item.version is not None]
    _check_version(versions)
    with_schema = any(item.with_schema for item in ours) if ours else not _has_schema(engine)
    with engine.transaction():
        engine.write(statements.text("release/create_schema"), step="create schema")
        _drop(engine, ours, here.catalog)
        for schema in schemas:
            for macro in macros():
                place = Table(macro.name, schema, here.catalog)
                engine.write(macro.creation(place), step="create macro")
                engine.write(_comment(macro, place, with_schema=with_schema), step="describe macro")
        if here.catalogue and not here.report:
            engine.write(statements.text("release/create_report"), step="create report")
    return Installed(tuple(macro.name for macro in macros()), __version__, max(versions, default=None))


def uninstall(engine: Engine) -> tuple[str, ...]:
    """Take our macros out of the current database, and the schema if it was made for them and is empty."""
    engine.require_autocommit()
    ours = [item for item in _found(engine) if item.version is not None]
    if not ours:
        return ()
    there = engine.look_up(statements.text("installing/schema_contents"), step="schema contents")
    alone = len(there) == sum(item.schema == SCHEMA for item in ours)
    catalog, _ = engine.current()
    with engine.transaction():
        _drop(engine, ours, catalog)
        if alone and any(item.with_schema for item in ours):
            engine.write(f"DROP SCHEMA {Table(SCHEMA, catalog)}", step="drop schema")
    return tuple(sorted({item.name for item in ours}))


def _found(engine: Engine) -> list[_Found]:
    """List what stands where the macros go, and the macros of ours that other versions had."""
    names = [macro.name for macro in macros()]
    rows = engine.look_up(statements.text("installing/standing"), {"names": names}, step="standing")
    found = [_Found.read(*row) for row in rows]
    return [item for item in found if item.version is not None or item.name.lower() in names]


def _check_free(found: list[_Found]) -> None:
    for item in found:
        if item.version is None:
            kind = "macro" if "macro" in item.kind else item.kind
            without = ", or leave the short names out with --no-short-names" if item.schema == SHORT else ""
            raise NameTaken(
                f"There is a {kind} {item.schema}.{item.name} already, which ppdm-sql did not make.",
                f"Rename or drop it{without}.",
            )


def _check_version(versions: list[str]) -> None:
    for version in versions:
        if _numbers(version) > _numbers(__version__):
            raise InvalidOption(
                f"The macros in this file are of ppdm-sql {version}, newer than this {__version__}.",
                "Upgrade with pip install --upgrade ppdm-sql, or remove them with ppdm uninstall.",
            )


def _numbers(version: str) -> list[int]:
    """Give the numbers of a version, to compare it by."""
    return [int(number) for number in re.findall(r"\d+", version)]


def _has_schema(engine: Engine) -> bool:
    return bool(engine.look_up(statements.text("installing/own_schema"), step="own schema"))


def _comment(macro: Macro, place: Table, *, with_schema: bool) -> str:
    """Write the statement that documents an installed macro and marks it as ours."""
    mark = f"Installed by ppdm-sql {__version__}{' with the schema' * with_schema}."
    words = f"{macro.title} Example: {macro.example}; {mark}"
    return f"COMMENT ON {macro.kind} {place} IS {render(literal(words))}"


def _drop(engine: Engine, ours: list[_Found], catalog: str) -> None:
    for item in ours:
        kind = "MACRO TABLE" if item.kind == "table_macro" else "MACRO"
        engine.write(f"DROP {kind} {Table(item.name, item.schema, catalog)}", step="drop macro")
