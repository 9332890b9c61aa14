"""Puts the audit macros into a file, and takes them out again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

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
_MARK = re.compile(r"Installed by ppdm-sql (\S+?)( with the schema)?\.")


# -- the comment on a macro, by which ours are known ------------------------------------------


@dataclass(frozen=True)
class Mark:
    """The last sentence of a comment.

    Args:
        version: The ppdm-sql that installed the macro.
        with_schema: Whether it made the schema, too.
    """

    version: str
    with_schema: bool

    def __str__(self) -> str:
        return f"Installed by ppdm-sql {self.version}{' with the schema' * self.with_schema}."


def read_mark(comment: str | None) -> Mark | None:
    """Find the mark at the end of a comment; None where the macro is not ours.

    Example:
        >>> read_mark("Risk. Installed by ppdm-sql 0.1.0.")
        Mark(version='0.1.0', with_schema=False)
        >>> read_mark("My own.") is None
        True
    """
    sentence = re.search(r"Installed by [^\n]+$", comment or "")
    found = _MARK.fullmatch(sentence[0]) if sentence else None
    return Mark(found[1], found[2] is not None) if found else None


def commented(macro: Macro, place: Table, *, with_schema: bool) -> str:
    """Write the statement that documents an installed macro and marks it as ours."""
    sentences = [macro.title, f"Example: {macro.example};", str(Mark(__version__, with_schema))]
    words = literal(" ".join(sentences))
    return render(exp.Comment(this=place.expression(), kind=macro.kind, expression=words))


def is_newer(version: str, than: str) -> bool:
    """Compare the numbers of two versions.

    Example:
        >>> is_newer("0.10.0", "0.9.1"), is_newer("0.1.0", "0.1.0")
        (True, False)
    """
    first, second = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, than))
    return first > second


# -- installing --------------------------------------------------------------------------------


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
    """A macro, table or view that stands where ours go; ``mark`` is None where it is not ours."""

    schema: str
    name: str
    kind: str
    mark: Mark | None


def install(engine: Engine, *, short_names: bool = True) -> Installed:
    """Put the audit macros into the current database, or in the place of an older version's.

    Args:
        engine: The connection whose current database takes them.
        short_names: Whether they can be called without the schema, too; where not, those of an earlier
            installation go.

    Raises:
        NameTaken: A macro, table or view of somebody else has such a name.
        InvalidOption: The file holds macros of a newer ppdm-sql, or a database is called like the schema.
        EngineError: The database cannot be written, or a transaction is open.

    Cost: no scan; some 30 small statements in one transaction.

    Example:
        >>> import duckdb
        >>> con = duckdb.connect()
        >>> done = install(Engine(con))
        >>> con.sql("SELECT ppdm_version() = ppdm.ppdm_version()").fetchall()
        [(True,)]
    """
    engine.require_autocommit()
    here, found = place_here(engine), _found(engine)
    schemas = (SCHEMA, SHORT) if short_names else (SCHEMA,)
    _check_free([item for item in found if item.schema in schemas])
    marks = [item.mark for item in found if item.mark is not None]
    _check_version(marks)
    with_schema = any(mark.with_schema for mark in marks) if marks else not _has_schema(engine)
    with engine.transaction():
        engine.write(statements.text("release/create_schema"), step="create schema")
        _drop(engine, found, here.catalog)
        for schema in schemas:
            for macro in macros():
                place = Table(macro.name, schema, here.catalog)
                engine.write(macro.creation(place), step="create macro")
                words = commented(macro, place, with_schema=with_schema)
                engine.write(words, step="describe macro")
        if here.catalogue and not here.report:
            engine.write(statements.text("release/create_report"), step="create report")
    replaced = max((mark.version for mark in marks), default=None)
    return Installed(tuple(macro.name for macro in macros()), __version__, replaced)


def uninstall(engine: Engine) -> tuple[str, ...]:
    """Take the macros out of the current database that :func:`install` put there, and nothing else.

    The schema goes too if it was made for them and nothing else is in it.

    Returns:
        Their names, sorted; none where nothing was installed.

    Raises:
        EngineError: The database cannot be written, or a transaction is open.

    Cost: no scan; one small statement a macro, in one transaction.

    Example:
        >>> import duckdb
        >>> engine = Engine(duckdb.connect())
        >>> done = install(engine)
        >>> uninstall(engine) == tuple(sorted(done.macros)), uninstall(engine)
        (True, ())
    """
    engine.require_autocommit()
    ours = [item for item in _found(engine) if item.mark is not None]
    if not ours:
        return ()
    made = any(item.mark.with_schema for item in ours if item.mark is not None)
    others = len(engine.look_up(statements.text("installing/schema_contents"), step="schema contents"))
    catalog, _ = engine.current()
    alone = others == sum(item.schema == SCHEMA for item in ours)
    with engine.transaction():
        _drop(engine, ours, catalog)
        if made and alone:
            engine.write(f"DROP SCHEMA {Table(SCHEMA, catalog)}", step="drop schema")
    return tuple(sorted({item.name for item in ours}))


def _found(engine: Engine) -> list[_Found]:
    """List what stands where the macros go, and the macros of ours that other versions had."""
    names = {"names": [macro.name for macro in macros()]}
    rows = engine.look_up(statements.text("installing/standing"), names, step="standing")
    found = [_Found(schema, name, kind, read_mark(comment)) for schema, name, kind, comment in rows]
    known = set(names["names"])
    return [item for item in found if item.mark is not None or item.name.lower() in known]


def _check_free(found: list[_Found]) -> None:
    for item in found:
        if item.mark is None:
            kind = "macro" if "macro" in item.kind else item.kind
            without = ", or leave the short names out with --no-short-names" if item.schema == SHORT else ""
            raise NameTaken(
                f"There is a {kind} {item.schema}.{item.name} already, which ppdm-sql did not make.",
                f"Rename or drop it{without}.",
            )


def _check_version(marks: list[Mark]) -> None:
    for mark in marks:
        if is_newer(mark.version, __version__):
            raise InvalidOption(
                f"The macros in this file are of ppdm-sql {mark.version}, newer than this {__version__}.",
                "Upgrade with pip install --upgrade ppdm-sql, or remove them with ppdm uninstall.",
            )


def _has_schema(engine: Engine) -> bool:
    return bool(engine.look_up(statements.text("installing/own_schema"), step="own schema"))


def _drop(engine: Engine, found: list[_Found], catalog: str) -> None:
    """Drop those of the macros that are ours."""
    for item in found:
        if item.mark is not None:
            kind = "MACRO TABLE" if item.kind == "table_macro" else "MACRO"
            engine.write(f"DROP {kind} {Table(item.name, item.schema, catalog)}", step="drop macro")
