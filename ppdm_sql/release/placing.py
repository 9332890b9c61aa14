"""Puts rows where their records live, outside of the database, whole or not at all.

The database keeps a release collapsed, with its steps, cuts and measures; the rows are written aside, read
back, compared with what the audit accepted, and get their name in one move just before the commit. A row of
``ppdm.pending``, committed before anything is written, says where a killed process may have left something.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, aliased, column
from ppdm_sql.engine.places import FolderOfRows, PlacedFile, PlaceOfRows, RowsInParts, new_place, place_at
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.statements import Statement, bind, literal, sql, text
from ppdm_sql.engine.types import type_tree
from ppdm_sql.errors import EngineError, GuaranteeNotMet, PpdmError
from ppdm_sql.release.catalogue import LOCATION
from ppdm_sql.release.layout import SCHEMA, Shape
from ppdm_sql.release.tables import creation, deletion, insertion, listing

SECONDS_TO_COME = 900
"""For so long after it began, a run whose process was killed may still be written by the server."""
MOST_OF_ONE = 100_000
"""Records of one combination that are written out together."""
RECORDS_OF_A_PART = 2_000_000
"""Records that one hand writes."""

_HANDED = {
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"),
    *("VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
}
_WIDER = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20,0)",
    "HUGEINT": "DECIMAL(38,0)",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
}

_alive: set[str] = set()
"""Tokens of what this process is writing now."""


# -- the rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacedRows:
    table: exp.Expression  # under the alias ``f``
    shown: Mapping[str, exp.Expression]  # what is written, by name, over ``f``
    unfolded: str | None  # the column, not written, that says how many rows each stands for there, if any

    @classmethod
    def of(cls, shape: Shape, unfolded: str | None) -> PlacedRows:
        shown = {item.name: shape.shown(item) for item in shape.columns if item.name != unfolded}
        return cls(shape.stored(), shown, unfolded)

    @classmethod
    def of_table(cls, table: Table, names: Sequence[str], unfolded: str | None) -> PlacedRows:
        return cls(aliased(table, "f"), {n: column(n, "f") for n in names if n != unfolded}, unfolded)

    @property
    def names(self) -> list[str]:
        return list(self.shown)

    @property
    def number(self) -> Statement:
        number = 1 if self.unfolded is None else column(self.unfolded, "f")
        return sql("CAST({n} AS BIGINT)", n=number)


def handed_type(type_text: str) -> str:
    """Give the type in which a column is handed over: its own, or a wider one, or text.

    Example:
        >>> handed_type("USMALLINT"), handed_type("DECIMAL(8,2)"), handed_type("TIME")
        ('INTEGER', 'DECIMAL(8,2)', 'VARCHAR')
    """
    if type_text in _HANDED or type_text.startswith("DECIMAL(") and type_text.endswith(")"):
        return type_text
    return _WIDER.get(type_text, "VARCHAR")


def _in_parts(engine: Engine, placed: PlacedRows, records: int) -> RowsInParts:
    """Write the SELECT that hands rows over in their stored order, numbered and cut into parts."""
    rows = engine.overlay(
        sql(
            "SELECT {values}, {n} AS n, row_number() OVER () AS place FROM {rows}",
            values=[
                sql("{v} AS {name}", v=value, name=column(f"v{i}"))
                for i, value in enumerate(placed.shown.values())
            ],
            n=placed.number,
            rows=placed.table,
        )
    )
    values = [
        sql("CAST({v} AS {type}) AS {v}", v=column(item.name), type=type_tree(handed_type(item.type)))
        for item in engine.columns(rows)
    ]
    released = engine.overlay(sql("SELECT {values} FROM {rows}", values=values, rows=rows))
    sizes = {"most": MOST_OF_ONE, "part": RECORDS_OF_A_PART}
    statement = bind("release/rows_in_parts", tables={"released": released}, values=sizes)
    return RowsInParts(statement, placed.names, max(1, -(-records // RECORDS_OF_A_PART)))


def _differing(engine: Engine, placed: PlacedRows, landed: Table) -> int:
    """Count the distinct rows that are not as often in the database as they were counted elsewhere.

    Values are compared by their texts, since a type may be wider there. Cost: one GROUP BY of both.
    """
    names = [column(f"v{i}") for i in range(len(placed.shown))]
    unequal = sql(
        """
SELECT count(*)
FROM (
    SELECT sum(b.n) AS n
    FROM (
        SELECT {ours}, {number} AS n FROM {rows}
        UNION ALL
        SELECT {theirs}, CAST(-l.n AS BIGINT) AS n FROM {landed} AS l
    ) AS b
    GROUP BY {names}
) AS s
WHERE s.n <> 0""",
        ours=[
            sql("CAST({v} AS TEXT) AS {name}", v=value, name=name)
            for name, value in zip(names, placed.shown.values(), strict=True)
        ],
        number=placed.number,
        rows=placed.table,
        theirs=[sql("CAST(l.{v} AS TEXT) AS {v}", v=name) for name in names],
        landed=landed,
        names=names,
    )
    return engine.number(unequal, step="differing rows")


# -- their way --------------------------------------------------------------------------------------


@dataclass
class Placing:
    """The rows of one release on their way."""

    engine: Engine
    place: PlaceOfRows
    files: Sequence[PlacedFile] = field(default=())
    is_published: bool = False

    @property
    def target(self) -> str:
        return self.place.target

    @property
    def takes_drawn(self) -> bool:
        """Whether rows that are drawn elsewhere can be written here, and be read by the database in place."""
        return isinstance(self.place, FolderOfRows) and not set(self.target) & set("*?[]{}\\")

    def write_drawn(self, rows: Source, columns: Mapping[str, str]) -> Source:
        """Let rows be written aside where they were drawn; none of them passes through here."""
        if self.engine.dry:
            return rows
        place = cast(FolderOfRows, self.place)
        place.write_drawn(rows, columns)
        self.files = self._written()
        return place.written()

    def stored_rows(self, names: Sequence[str]) -> Statement:
        """Select rows that were written by :meth:`write_drawn`, from their files, in their order."""
        final = self.is_published or self.engine.dry  # what is shown reads where a run would leave the rows
        folder = Path(self.target) if final else cast(FolderOfRows, self.place).rows
        files = [literal(str(folder / file.name)) for file in self.files] or [literal(f"{folder}/*.parquet")]
        read = "SELECT {c} FROM read_parquet([{files}])"
        return sql(read, c=[column(name) for name in names], files=files)

    def write(self, shape: Shape, unfolded: str | None) -> dict[str, Any]:
        """Write the frozen rows aside, read them back, and compare; give what the catalogue keeps of it."""
        if not shape.outside:
            self.write_rows(PlacedRows.of(shape, unfolded))
        files = [list(file) for file in self.files]
        return {**_named(self.place), "files": files, "unfolded": unfolded}

    def write_rows(self, frozen: PlacedRows) -> None:
        counted = "SELECT CAST(coalesce(sum({n}), 0) AS BIGINT) FROM {rows}"
        rows = self.engine.number(sql(counted, n=frozen.number, rows=frozen.table), step="count rows")
        self.place.write(self.engine, _in_parts(self.engine, frozen, rows))
        self.files = self._written()
        landed = self.place.read(self.engine, frozen.names, published=False)
        same = landed is not None and not _differing(self.engine, frozen, landed)
        if not same or self.files and sum(file.rows for file in self.files) != rows:
            raise GuaranteeNotMet(
                f"What was written for {self.target} is not what the audit accepted, so nothing was "
                "published.",
                "Check that every worker sees the disk, and run it again.",
            )

    def _written(self) -> list[PlacedFile]:
        hashes, records = self.place.hashes(published=False), self.place.records()
        return [PlacedFile(name, *found, records.get(name, 0)) for name, found in sorted(hashes.items())]

    def give_name(self) -> None:
        """Give the rows their name, and note with the transaction that is open that no sweep may take it."""
        self.is_published = True
        self.place.give_name()
        # from the commit on what was written belongs to the release, and only its private folder may go
        settle = sql("UPDATE {t} SET purpose = 'settle' WHERE token = $token", t=Table("pending", SCHEMA))
        self.engine.write(settle, {"token": self.place.token}, step="placed")


@contextlib.contextmanager
def placing(engine: Engine, to: str | None) -> Iterator[Placing | None]:
    """Let the rows of what is published inside be placed outside of the database, too.

    Enclose the transaction: where it fails, what was placed is removed again.
    """
    if to is None:
        yield None
        return
    made = Placing(engine, new_place(engine, to))
    if engine.dry:
        yield made
        return
    sweep(engine)
    engine.committed = False
    with _noted(engine, made.place), made.place.aside():
        try:
            yield made
        except BaseException:
            if not engine.committed:
                with contextlib.suppress(PpdmError, OSError):
                    made.place.remove(settled=False)
            raise
        if made.is_published:
            with contextlib.suppress(PpdmError):
                made.place.settle()


# -- what a killed run leaves -----------------------------------------------------------------------


_PENDING = listing("pending", "made_at", "token", every=True)


@contextlib.contextmanager
def _noted(engine: Engine, place: PlaceOfRows) -> Iterator[None]:
    """Note in the database, outside of any transaction, where something may be left, while it may."""
    _alive.add(place.token)
    try:
        note(engine.look_up, place, "write")
        yield
        _forget(engine, place.token)
    except Exception:
        _forget(engine, place.token)
        raise
    finally:  # after Ctrl-C the server may go on writing for a while, so the note stays
        _alive.discard(place.token)


def note(run: Callable[..., object], place: PlaceOfRows, purpose: str) -> None:
    """Note what is to be done, at once by :meth:`Engine.look_up`, or with a transaction by its ``write``."""
    if purpose == "write":
        run(text("release/create_schema"), step="create schema")
    run(creation("pending"), step="create pending")
    run(insertion("pending"), {**_named(place), "purpose": purpose}, step="insert pending")


def _named(place: PlaceOfRows) -> dict[str, object]:
    kind = "folder" if isinstance(place, FolderOfRows) else "table"
    return {"kind": kind, "target": place.target, "token": place.token}


def _forget(engine: Engine, token: str) -> None:
    """Take a note back, and the table of notes with the last one."""
    with contextlib.suppress(PpdmError):
        engine.look_up(deletion("pending"), {"token": token}, step="delete pending")
        if _alive <= {token} and not engine.look_up(_PENDING, step="pending"):
            engine.look_up(f"DROP TABLE {Table('pending', SCHEMA)}", step="drop pending")


def sweep(engine: Engine, *, read_only: bool = False) -> None:
    """Remove what killed runs left outside of the database; cheap where nothing is noted.

    A folder is removed wherever it can be seen, a table only where what writes it is open. Notes stay for a
    while, since a server may go on writing after its client was killed.
    """
    if not engine.has_pending():
        return
    now = datetime.now(UTC).replace(tzinfo=None)
    for token, kind, target, purpose, made_at in engine.look_up(_PENDING, step="pending"):
        if token in _alive:
            continue
        is_done = False
        with contextlib.suppress(PpdmError, OSError):
            is_done = _is_finished(place_at(engine, kind, target, token), purpose)
        seconds = (now - made_at).total_seconds()
        if is_done and not read_only and (purpose == "settle" or seconds > SECONDS_TO_COME):
            _forget(engine, token)


def _is_finished(place: PlaceOfRows, purpose: str) -> bool:
    """Do what a killed run left to do: settle what it committed, or remove it; tell whether that was done."""
    if place.is_in_use():
        return False
    if purpose == "settle":
        place.settle()
    else:
        place.remove(settled=purpose == "remove")
    return place.is_clean()


def remove(engine: Engine, place: PlaceOfRows) -> None:
    """Remove the published rows of a release whose removal is noted, and take the note back."""
    if not engine.dry:
        place.remove(settled=True)
        _forget(engine, place.token)


def place_of(engine: Engine, parameters: Mapping[str, Any]) -> PlaceOfRows | None:
    """Give where the rows of a release stand, by its row of the catalogue; None for the database alone."""
    record = parameters.get(LOCATION)
    return None if record is None else place_at(engine, record["kind"], record["target"], record["token"])


def placed_as_published(engine: Engine, shape: Shape, record: Mapping[str, Any]) -> tuple[bool, bool]:
    """Tell whether the files of a release are those that were published, and whether their rows are."""
    place = place_at(engine, record["kind"], record["target"], record["token"])
    place.check_open()
    if not place.is_there():
        return False, False
    published = {name: (size, sha256) for name, size, sha256, _ in record["files"]}
    same = place.hashes(published=True) == published
    if shape.outside:  # the release has no other rows to compare them with
        return same, same
    frozen = PlacedRows.of(shape, record["unfolded"])
    try:
        with engine.workspace():
            landed = place.read(engine, frozen.names, published=True)
            return same, landed is not None and not _differing(engine, frozen, landed)
    except EngineError:
        if same:
            raise
        return False, False  # what was put in the place of the rows cannot be read as such
