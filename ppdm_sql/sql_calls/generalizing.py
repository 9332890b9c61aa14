"""The cut of a release applied to single values, as ``ppdm apply`` does to the records of a table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.names import Table, alias, aliased, column, resolve
from ppdm_sql.engine.statements import render
from ppdm_sql.engine.types import plain_type
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.release.catalogue import CatalogueRow, find
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.mapping import Mapped, mapped
from ppdm_sql.sql_calls.row_functions import RowFunction

UNTYPED = '"NULL"'
"""The type of a bare NULL."""

Asked = tuple[str, str, str, str, str]
"""Current database and schema, release, column, and type of the value."""


class Generalizer:
    """Applies cuts, and remembers what it found while one statement runs.

    Args:
        engine: Makes an engine on another connection, in a database and schema.
    """

    def __init__(self, engine: Callable[[str, str], Engine]) -> None:
        self._engine = engine
        self._known: dict[Asked, dict[str | None, str]] = {}
        self._statement = -1
        self._lock = threading.Lock()

    def __call__(
        self,
        releases: Any,
        columns: Any,
        values: Any,
        types: Any,
        catalogs: Any,
        schemas: Any,
        statements: Any,
    ) -> list[str]:
        """Give the label of each value, for Arrow arrays of the arguments and of what they depend on."""
        asked = list(
            zip(*(array.to_pylist() for array in (catalogs, schemas, releases, columns, types)), strict=True)
        )
        texts = values.to_pylist()
        with self._lock:
            if (statement := statements[0].as_py()) != self._statement:
                self._known, self._statement = {}, statement
            for one in dict.fromkeys(asked):
                known = self._known.setdefault(one, {})
                mine = {text for other, text in zip(asked, texts, strict=True) if other == one}
                if unknown := mine - known.keys():
                    known.update(self._labels(one, list(unknown)))
            return [self._known[one][text] for one, text in zip(asked, texts, strict=True)]

    def _labels(self, asked: Asked, texts: Sequence[str | None]) -> dict[str | None, str]:
        catalog, schema, release, name, type_text = asked
        engine = self._engine(catalog, schema)
        try:
            return labels(engine, release, name, texts, type_text)
        finally:
            engine.close()


def generalizing(engine: Callable[[str, str], Engine]) -> RowFunction:
    """Give the function of a row for engines of a connection."""
    return RowFunction(
        "ppdm_generalize_value",
        'release, "column", value',
        'CASE WHEN release IS NULL OR "column" IS NULL THEN error(\'The release or its column is '
        "NULL. Give their names.') ELSE {answer} END",
        'release::VARCHAR, "column"::VARCHAR, value::VARCHAR, typeof(value), '
        "current_database(), current_schema(), current_query_id()",
        (*["VARCHAR"] * 6, "UBIGINT"),
        "VARCHAR",
        Generalizer(engine),
    )


def labels(
    engine: Engine, release: str, name: str, texts: Sequence[str | None], type_text: str
) -> dict[str | None, str]:
    """Give what a release shows for values of a masked column.

    Args:
        engine: Where the release is.
        release: Its name.
        name: The masked column.
        texts: The values, as text.
        type_text: Their type.

    Raises:
        UnknownRelease: There is no such release.
        UnknownColumn: It has no such column.
        InvalidOption: It does not mask the column, or was published without its trees.
        InvalidSource: Values of this type cannot be compared with its labels.

    Example:
        >>> import duckdb, ppdm_sql
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE t AS SELECT 'cook' AS job, 'good' AS rating FROM range(4)")
        >>> db = ppdm_sql.open(con)
        >>> _ = db.suppress("t", ["k >= 4 on job"], class_column="rating", into="safe")
        >>> labels(db.engine, "safe", "job", ["cook", "clerk"], "VARCHAR") == {"cook": "cook", "clerk": "*"}
        True
    """
    row = find(engine, release)
    shape = row.shape(engine.current()[0])
    wanted = resolve(name, shape.names, table=row.release)
    if wanted not in shape.masked:
        raise InvalidOption(
            f"The release {row.release!r} does not mask the column {wanted!r}.", "Use the value as it is."
        )
    narrowed = replace(shape, columns=tuple(c for c in shape.columns if c.name == wanted), count=None)
    with engine.workspace():
        source = engine.materialize("asked_values", _asked(type_text), {"texts": list(texts)})
        (found,) = _mapped(engine, row, narrowed, source, Column("value", type_text))
        return dict(engine.query(_answered(source, found.cell, found.labels), step="labels"))


def _mapped(engine: Engine, row: CatalogueRow, shape: Shape, source: Table, found: Column) -> list[Mapped]:
    (name,) = shape.masked
    try:
        return mapped(engine, row, shape, source, {name: found})
    except InvalidSource:
        raise InvalidSource(
            f"Values of the type {type_title(found.type)} cannot be compared with the intervals of "
            f"{name!r} in {shape.name!r}.",
            "Cast them to the type that the column had when the release was made.",
        ) from None


def _asked(type_text: str) -> str:
    """Write the rows to map: each text, and its value."""
    unnested = exp.Unnest(expressions=[exp.cast(exp.Parameter(this=exp.var("texts")), "TEXT[]")])
    if type_text == UNTYPED:
        type_text = "VARCHAR"
    value = exp.Cast(this=column("text"), to=plain_type(type_text))
    inner = exp.select(alias(unnested, "text")).subquery("given")
    return render(exp.select(column("text"), alias(value, "value")).from_(inner))


def _answered(source: Table, cell: exp.Expression, found: Table) -> str:
    rows = aliased(source, "t")
    same = exp.NullSafeEQ(this=column("value", "m"), expression=cell.copy())
    joined = exp.Join(this=aliased(found, "m"), side="LEFT", on=same)
    query = exp.select(column("text", "t"), column("label", "m")).from_(rows)
    query.append("joins", joined)
    return render(query)
