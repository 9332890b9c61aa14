"""One lock for each connection, so that threads which share it do not fetch each other's results."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import duckdb

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
