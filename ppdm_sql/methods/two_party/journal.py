"""What a broken run needs to go on, kept in the party's file until the run is over.

A run is a function of the table, the options and the messages received. So these are kept, and a run that
is resumed takes them from here, which leads it to the point where it broke off; nothing else is stored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from hashlib import sha256

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.duckdb_engine import Rows
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError
from ppdm_sql.methods.two_party.transcripts import Entry, columns, tables

UNFINISHED = {"messages": Table("unfinished", "ppdm")}


class Journal:
    """The messages of one unfinished run, in ``ppdm.unfinished``.

    It writes over a connection of its own, so that what it has kept outlives a transaction of the run that
    is rolled back.
    """

    def __init__(self, engine: Engine, release: str) -> None:
        self._release = release
        self._engine = Engine(engine.connection.cursor(), owned=True)
        catalog, schema = engine.current()
        self._engine.write(f"USE {Table(schema, catalog)}", step="use")

    def close(self) -> None:
        """Let go of the connection."""
        self._engine.close()

    def kept(self) -> list[Entry]:
        """List the messages of the run that broke off, without what they held."""
        if "unfinished" not in tables(self._engine):
            return []
        rows = self._ask("unfinished", release=self._release)
        return [Entry(*row) for row in rows]

    def payload(self, number: int) -> bytes:
        """Give what a message held that was received."""
        ((found,),) = self._ask("unfinished_payload", release=self._release, number=number)
        return bytes(found)

    def keep(self, entries: Sequence[Entry]) -> None:
        """Add messages; of those sent only the digest is needed, and of KEYS the keys that both hold."""
        if not entries:
            return
        needed = [e._replace(payload=None) if e.direction == "sent" else e for e in entries]
        for step in ("release/create_schema", "two_party/create_messages"):
            self._engine.write(statements.bind(step, tables=UNFINISHED), step=step)
        insert = statements.bind("two_party/insert_messages", tables=UNFINISHED)
        self._engine.write(insert, {"release": self._release, **columns(needed)}, step="keep")

    def drop(self) -> None:
        """Forget the run; with the last one the table goes, and the schema if nothing else is in it."""
        if "unfinished" not in tables(self._engine):
            return
        forget = statements.bind("two_party/forget_messages", tables=UNFINISHED)
        self._engine.write(forget, {"release": self._release}, step="forget")
        if self._ask("unfinished_left") == [(0,)]:
            self._engine.write("DROP TABLE ppdm.unfinished", step="drop unfinished")
            with contextlib.suppress(EngineError):  # it holds more
                self._engine.write("DROP SCHEMA ppdm", step="drop schema")

    def _ask(self, step: str, **params: object) -> Rows:
        return self._engine.query(statements.text(f"two_party/{step}"), params, step=step)


def chain(entries: Sequence[Entry], direction: str) -> str:
    """Give one digest of all messages of a direction, in their order.

    Example:
        >>> chain([], "sent") == sha256().hexdigest()
        True
    """
    return sha256("".join(e.digest for e in entries if e.direction == direction).encode()).hexdigest()
