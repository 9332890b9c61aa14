"""A connection that others use too: locks, settings that it may have, and a second one beside it."""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import duckdb

from ppdm_sql.engine import statements
from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import PpdmWarning

if TYPE_CHECKING:
    from ppdm_sql.engine.duckdb_engine import Engine


Given = ParamSpec("Given")
Result = TypeVar("Result")

_locks: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, threading.RLock] = weakref.WeakKeyDictionary()
_locks_lock = threading.Lock()


def lock_of(connection: duckdb.DuckDBPyConnection) -> threading.RLock:
    """Give the lock of a connection, which all engines on it share."""
    with _locks_lock:
        return _locks.setdefault(connection, threading.RLock())


def alone(method: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make a method of what has an ``engine`` use its connection :meth:`Engine.alone`."""

    @functools.wraps(method)
    def wrapper(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        owner: Any = args[0]
        engine: Engine = owner.engine
        return engine.alone(lambda: method(*args, **kwargs))

    return wrapper


_SEEN = (
    "A result on this connection is not read to its end, so this ran on a connection beside it, which sees "
    "neither temporary tables nor what an open transaction has changed."
)


@contextmanager
def beside(engine: Engine) -> Iterator[None]:
    """Let an engine use a connection of its own, in the place where the owner's was last seen."""
    warnings.warn(_SEEN, PpdmWarning, stacklevel=2)
    owners, engine.connection = engine.connection, engine.connection.cursor()
    try:
        if engine.place is not None:
            engine.connection.execute(f"USE {'.'.join(map(quoted, engine.place))}").fetchall()
        yield
    finally:
        engine.connection.close()
        engine.connection = owners


ORDINARY = {
    "integer_division": False,
    "default_order": "ASCENDING",
    "default_null_order": "NULLS_LAST",
    "default_collation": "",
    "preserve_insertion_order": True,
}
"""Settings that change what a statement means, with the values under which ours are written."""


def setting(name: str, value: object) -> str:
    """Write the statement that changes a setting."""
    literal = statements.render(statements.literal(value))  # type: ignore[arg-type]
    return f"SET {name} = {literal}"
