"""Lets a method take files and frames where it takes a table's name."""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ParamSpec, TypeAlias, TypeVar

from ppdm_sql.engine import Engine
from ppdm_sql.progress import Progress, WarningProgress
from ppdm_sql.sources.given import given

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Split: TypeAlias = Callable[[str], tuple[str, str | None]]


def takes_sources(
    *names: str, elsewhere: bool = False, weighted: Mapping[str, Split] | None = None
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Make a method of what has an ``engine`` and a ``progress`` read files and frames first.

    They are read once, though the method itself may be run again where another connection interferes.

    Args:
        names: The parameters that name tables. Of the first, each column of the parameter ``types`` must be
            there.
        elsewhere: Whether it reads tables that live elsewhere, by :mod:`ppdm_sql.engine.source`.
        weighted: For a parameter that may say ``TABLE(n)`` what parts it; the method gets table and column.
    """

    def taking(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def wrapper(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            bound = signature.bind(*args, **kwargs)
            owner: Any = args[0]
            engine: Engine = owner.engine
            return engine.unblocked(
                lambda: _with_sources(engine, method, bound, names, weighted or {}, elsewhere, owner.progress)
            )

        return wrapper

    return taking


def _with_sources(
    engine: Engine,
    method: Callable[..., Result],
    bound: inspect.BoundArguments,
    names: tuple[str, ...],
    weighted: Mapping[str, Split],
    elsewhere: bool,
    listener: Progress | None,
) -> Result:
    types: Mapping[str, str] | None = bound.arguments.get("types")
    nulls: str | Sequence[str] = bound.arguments.get("nulls", ())
    progress = bound.arguments.get("progress") or listener or WarningProgress()
    with ExitStack() as stack:
        found: dict[str, Any] = {}
        for name in names:
            if (source := bound.arguments.get(name)) is None:
                continue
            weights = None
            if name in weighted and isinstance(source, str):
                source, weights = weighted[name](source)
            strict = name == names[0]
            how: Any = {"strict": strict, "elsewhere": elsewhere, "progress": progress}
            table = stack.enter_context(given(engine, source, types, nulls, **how))
            found[name] = (table, weights) if name in weighted else table
        named = inspect.BoundArguments(bound.signature, OrderedDict(bound.arguments | found))
        return method(*named.args, **named.kwargs)
