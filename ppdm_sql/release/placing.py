"""Puts rows where their records live, outside of the database, whole or not at all.

The database keeps a release collapsed, with its steps, cuts and measures; the rows are written aside, read
back, compared with what the audit accepted, and get their name in one move just before the commit. A row of
``ppdm.pending``, committed before anything is written, says where a killed process may have left something.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.locations import (
    DrawnRowStore,
    Location,
    PlacedFile,
    RowsInParts,
    RowStore,
    handed_type,
    is_in_use,
    is_ours,
    location_of,
    read_location,
    recorded,
    remove_published,
    remove_staging,
    settle,
    shared_folder,
    staging_folder,
    store_of,
)
from ppdm_sql.engine.names import Table, aliased, column
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.statements import Statement, bind, literal, sql, text
from ppdm_sql.engine.types import type_tree
from ppdm_sql.errors import EngineError, GuaranteeNotMet, PpdmError
from ppdm_sql.release.catalogue import LOCATION
from ppdm_sql.release.layout import SCHEMA, Shape

SECONDS_TO_COME = 900
"""For so long after it began, a run whose process was killed may still be written by the server."""
MOST_OF_ONE = 100_000
"""Records of one combination that are written out together."""
RECORDS_OF_A_PART = 2_000_000
"""Records that one hand writes."""

_alive: set[str] = set()
"""Tokens of what this process is writing now."""


# -- the rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacedRows:
    """A table of the database whose rows stand elsewhere, too.

    Args:
        table: The table, under the alias ``f``.
        shown: What is written, by name, over ``f``.
        unfolded: The column that says how many rows each stands for there, and is not written; None where
            rows are written as they are.
    """

    table: exp.Expression
    shown: Mapping[str, exp.Expression]
    unfolded: str | None

    @classmethod
    def of(cls, shape: Shape, unfolded: str | None) -> PlacedRows:
        """Give those of a release."""
        shown = {item.name: shape.shown(item) for item in shape.columns if item.name != unfolded}
        return cls(shape.stored(), shown, unfolded)

    @classmethod
    def of_table(cls, table: Table, names: Sequence[str], unfolded: str | None) -> PlacedRows:
        """Give those of a table that is no release."""
        return cls(aliased(table, "f"), {n: column(n, "f") for n in names if n != unfolded}, unfolded)

    @property
    def names(self) -> list[str]:
        return list(self.shown)

    @property
    def number(self) -> Statement:
        """How often each row is written."""
        number = 1 if self.unfolded is None else column(self.unfolded, "f")
        return sql("CAST({n} AS BIGINT)", n=number)

    def count(self, engine: Engine) -> int:
        """Count the rows that are written."""
        counted = "SELECT CAST(coalesce(sum({n}), 0) AS BIGINT) FROM {rows}"
        ((rows,),) = engine.query(sql(counted, n=self.number, rows=self.table), step="count rows")
        return int(rows)


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
    ((number,),) = engine.query(unequal, step="differing rows")
    return int(number)


# -- their way --------------------------------------------------------------------------------------


@dataclass
class Placing:
    """The rows of one release on their way."""

    engine: Engine
    location: Location
    store: RowStore
    files: Sequence[PlacedFile] = field(default=())
    is_published: bool = False

    @property
    def target(self) -> str:
        """The folder or table."""
        return self.location.target

    @property
    def takes_drawn(self) -> bool:
        """Whether rows that are drawn elsewhere can be written here, and be read by the database in place."""
        return self.location.kind == "folder" and not set(self.target) & set("*?[]{}\\")

    def write_drawn(self, rows: Source, columns: Mapping[str, str]) -> Source:
        """Let rows be written aside where they were drawn; none of them passes through here."""
        store = cast(DrawnRowStore, self.store)
        if self.engine.dry:
            return rows
        store.write_drawn(rows, columns)
        self.files = self._written()
        return store.written()

    def stored_rows(self, names: Sequence[str]) -> exp.Select:
        """Select rows that were written by :meth:`write_drawn`, from their files, in their order."""
        final = self.is_published or self.engine.dry  # what is shown reads where a run would leave the rows
        folder = Path(self.target) if final else self.location.rows
        files = [str(folder / file.name) for file in self.files] or [str(folder / "*.parquet")]
        listed = exp.Array(expressions=[literal(file) for file in files])
        read = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[listed]))
        return exp.select(*(column(name) for name in names)).from_(read)

    def write(self, shape: Shape, unfolded: str | None) -> dict[str, Any]:
        """Write the frozen rows aside, read them back, and compare; give what the catalogue keeps of it."""
        if not shape.outside:
            self.write_rows(PlacedRows.of(shape, unfolded))
        return recorded(self.location, self.files, unfolded)

    def write_rows(self, frozen: PlacedRows) -> None:
        """Write rows aside, read them back, and compare."""
        rows = frozen.count(self.engine)
        self.store.write(self.engine, _in_parts(self.engine, frozen, rows))
        self.files = self._written()
        landed = self.store.read(self.engine, frozen.names, published=False)
        same = landed is not None and not _differing(self.engine, frozen, landed)
        if not same or self.files and sum(file.rows for file in self.files) != rows:
            raise GuaranteeNotMet(
                f"What was written for {self.location.target} is not what the audit accepted, so nothing was "
                "published.",
                "Check that every worker sees the disk, and run it again.",
            )

    def _written(self) -> list[PlacedFile]:
        hashes, records = self.store.hashes(published=False), self.store.records(published=False)
        return [PlacedFile(name, *found, records.get(name, 0)) for name, found in sorted(hashes.items())]

    def publish(self) -> None:
        """Give the rows their name, and note with the transaction that is open that no sweep may take it."""
        self.is_published = True
        self.store.publish()
        self.engine.write(text("release/settle_pending"), {"token": self.location.token}, step="placed")

    def take_back(self) -> None:
        """Remove what was written, published or not."""
        with contextlib.suppress(PpdmError, OSError):
            if self.is_published:
                self.store.remove_published(settled=False)
            self.store.remove_staged()


@contextlib.contextmanager
def placing(engine: Engine, to: str | None) -> Iterator[Placing | None]:
    """Let the rows of what is published inside be placed outside of the database, too.

    Enclose the transaction: where it fails, what was placed is removed again.
    """
    if to is None:
        yield None
        return
    location = location_of(engine, to)
    made = Placing(engine, location, store_of(engine, location))
    if engine.dry:
        yield made
        return
    sweep(engine)
    engine.committed = False
    with _noted(engine, location), contextlib.ExitStack() as stack:
        if location.kind == "folder":
            stack.enter_context(staging_folder(location))
            stack.enter_context(shared_folder(engine, location))
        try:
            yield made
        except BaseException:
            if not engine.committed:
                made.take_back()
            raise
        if made.is_published:
            with contextlib.suppress(PpdmError):
                made.store.settle()


# -- what a killed run leaves -----------------------------------------------------------------------


@contextlib.contextmanager
def _noted(engine: Engine, location: Location) -> Iterator[None]:
    """Note in the database, outside of any transaction, where something may be left, while it may."""
    _alive.add(location.token)
    try:
        _note(engine, location)
        yield
        _forget(engine, location.token)
    except Exception:
        _forget(engine, location.token)
        raise
    finally:  # after Ctrl-C the server may go on writing for a while, so the note stays
        _alive.discard(location.token)


def _note(engine: Engine, location: Location) -> None:
    """Note it at once, in no transaction that is yet to be committed."""
    for part in ("schema", "pending"):
        engine.look_up(text(f"release/create_{part}"), step=f"create {part}")
    engine.look_up(text("release/insert_pending"), _named(location, "write"), step="insert pending")


def _named(location: Location, purpose: str) -> dict[str, object]:
    named = {"token": location.token, "kind": location.kind, "target": location.target}
    return {**named, "purpose": purpose}


def _forget(engine: Engine, token: str) -> None:
    """Take a note back, and the table of notes with the last one."""
    with contextlib.suppress(PpdmError):
        engine.look_up(text("release/delete_pending"), {"token": token}, step="delete pending")
        if _alive <= {token} and not engine.look_up(text("release/pending"), step="pending"):
            engine.look_up(f"DROP TABLE {Table('pending', SCHEMA)}", step="drop pending")


def sweep(engine: Engine, *, read_only: bool = False) -> None:
    """Remove what killed runs left outside of the database; cheap where nothing is noted.

    A folder is removed wherever it can be seen, a table only where what writes it is open. Notes stay for a
    while, since a server may go on writing after its client was killed.
    """
    if not engine.has_pending():
        return
    for token, kind, target, purpose, seconds in engine.look_up(text("release/pending"), step="pending"):
        location = Location(kind, target, token)
        if token in _alive or is_in_use(location):
            continue
        is_done = _is_finished(engine, location, purpose)
        if is_done and not read_only and (purpose == "settle" or seconds > SECONDS_TO_COME):
            _forget(engine, token)


def _is_finished(engine: Engine, location: Location, purpose: str) -> bool:
    """Do what a killed run left to do: settle what it committed, or remove it; tell whether that was done."""
    settled = purpose != "write"
    if location.kind == "folder":
        if purpose != "settle":
            with contextlib.suppress(OSError):
                remove_published(location, settled=settled)
        elif is_ours(location, settled=True):
            settle(location)
        remove_staging(location)
        return not location.staging.exists()
    with contextlib.suppress(PpdmError):
        store = store_of(engine, location)
        if purpose == "settle":
            store.settle()
        else:
            store.remove_staged()
            store.remove_published(settled=settled)
        return True
    return False


def remove(engine: Engine, location: Location) -> None:
    """Remove the published rows of a release whose removal is noted, and take the note back."""
    if engine.dry:
        return
    if location.kind == "folder":
        remove_published(location, settled=True)
    else:
        store_of(engine, location).remove_published(settled=True)
    _forget(engine, location.token)


def note_removal(engine: Engine, location: Location) -> None:
    """Note, in the transaction that drops a release, that its rows are to be removed."""
    if location.kind == "table":
        store_of(engine, location)
    engine.write(text("release/create_pending"), step="create pending")
    engine.write(text("release/insert_pending"), _named(location, "remove"), step="insert pending")


def location_in(parameters: Mapping[str, Any]) -> Location | None:
    """Give where the rows of a release stand, by its row of the catalogue; None for the database alone."""
    record = parameters.get(LOCATION)
    return None if record is None else read_location(record)


def placed_as_published(engine: Engine, shape: Shape, record: Mapping[str, Any]) -> tuple[bool, bool]:
    """Tell whether the files of a release are those that were published, and whether their rows are."""
    store = store_of(engine, read_location(record))
    if not store.is_there():
        return False, False
    published = {name: (size, sha256) for name, size, sha256, _ in record["files"]}
    same = dict(store.hashes(published=True)) == published
    if shape.outside:  # the release has no other rows to compare them with
        return same, same
    frozen = PlacedRows.of(shape, record["unfolded"])
    try:
        with engine.workspace():
            landed = store.read(engine, frozen.names, published=True)
            return same, landed is not None and not _differing(engine, frozen, landed)
    except EngineError:
        if same:
            raise
        return False, False  # what was put in the place of the rows cannot be read as such
