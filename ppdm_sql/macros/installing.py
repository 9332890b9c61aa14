"""Puts the audit macros into a file, and takes them out again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

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


class _StandingItem(NamedTuple):
    """A macro, table or view that stands where ours go."""

    schema: str
    name: str
    kind: str
    version: str = ""  # of ours
    with_schema: bool = False  # whether one of ours came with the schema


def install(engine: Engine, *, short_names: bool = True) -> Installed:
    """Put the audit macros into the current database; see :meth:`ppdm_sql.Database.install`.

    Without the short names, those of an earlier installation go.
    """
    engine.require_autocommit()
    here, (ours, others) = place_here(engine), _standing(engine)
    schemas = (SCHEMA, SHORT) if short_names else (SCHEMA,)
    _check_free([item for item in others if item.schema in schemas])
    _check_versions(ours)
    own = engine.look_up(statements.text("installing/own_schema"), step="own schema")
    with_schema = any(item.with_schema for item in ours) if ours else not own
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
    return Installed(
        tuple(macro.name for macro in macros()),
        __version__,
        max((item.version for item in ours), default=None),
    )


def uninstall(engine: Engine) -> tuple[str, ...]:
    """Take our macros out of the current database, and the schema if it was made for them and is empty."""
    engine.require_autocommit()
    ours, _ = _standing(engine)
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


def _standing(engine: Engine) -> tuple[list[_StandingItem], list[_StandingItem]]:
    """List the macros of ours, also those that other versions had, and what else stands where ours go."""
    names = [macro.name for macro in macros()]
    rows = engine.look_up(statements.text("installing/standing"), {"names": names}, step="standing")
    ours, others = list[_StandingItem](), list[_StandingItem]()
    for schema, name, kind, comment in rows:
        if mark := _MARK.search(comment or ""):
            ours.append(_StandingItem(schema, name, kind, mark[1], bool(mark[2])))
        elif name.lower() in names:
            others.append(_StandingItem(schema, name, kind))
    return ours, others


def _check_free(others: list[_StandingItem]) -> None:
    for item in others:
        kind = "macro" if "macro" in item.kind else item.kind
        without = ", or leave the short names out with --no-short-names" if item.schema == SHORT else ""
        raise NameTaken(
            f"There is a {kind} {item.schema}.{item.name} already, which ppdm-sql did not make.",
            f"Rename or drop it{without}.",
        )


def _check_versions(ours: list[_StandingItem]) -> None:
    for item in ours:
        there, here = (list(map(int, re.findall(r"\d+", one))) for one in (item.version, __version__))
        if there > here:
            raise InvalidOption(
                f"The macros in this file are of ppdm-sql {item.version}, newer than this {__version__}.",
                "Upgrade with pip install --upgrade ppdm-sql, or remove them with ppdm uninstall.",
            )


def _comment(macro: Macro, place: Table, *, with_schema: bool) -> str:
    """Write the statement that documents an installed macro and marks it as ours."""
    mark = f"Installed by ppdm-sql {__version__}{' with the schema' * with_schema}."
    words = f"{macro.title} Example: {macro.example}; {mark}"
    return f"COMMENT ON {macro.kind} {place} IS {render(literal(words))}"


def _drop(engine: Engine, ours: list[_StandingItem], catalog: str) -> None:
    for item in ours:
        kind = "MACRO TABLE" if item.kind == "table_macro" else "MACRO"
        engine.write(f"DROP {kind} {Table(item.name, item.schema, catalog)}", step="drop macro")
