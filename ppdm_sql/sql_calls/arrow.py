"""Arrow arrays for functions that the engine calls: types by their DuckDB names, and answers or problems."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ppdm_sql.engine.names import quoted

Columns = Sequence[tuple[str, str]]
"""Name and DuckDB type of each field of a struct."""


def typed(text: str) -> Columns:
    """Read names with their types, VARCHAR where there is none.

    Example:
        >>> typed("release, rows BIGINT")
        [('release', 'VARCHAR'), ('rows', 'BIGINT')]
    """
    return [(name, kind or "VARCHAR") for name, _, kind in (item.partition(" ") for item in text.split(", "))]


def struct_text(columns: Columns) -> str:
    """Write the type of a struct.

    Example:
        >>> struct_text([("of", "VARCHAR"), ("n", "BIGINT[]")])
        'STRUCT("of" VARCHAR, "n" BIGINT[])'
    """
    return f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in columns)})"


def arrow_type(kind: str | Columns, *, listed: bool = False) -> Any:
    """Give the Arrow type of a DuckDB type, of a struct by its fields, or of a list of such.

    Example:
        >>> arrow_type("BIGINT[]")
        ListType(list<item: int64>)
    """
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    if listed:
        return pa.list_(arrow_type(kind))
    if not isinstance(kind, str):
        return pa.struct([(name, arrow_type(field)) for name, field in kind])
    if kind.endswith("[]"):
        return pa.list_(arrow_type(kind[:-2]))
    plain = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}
    return pa.timestamp("us") if kind == "TIMESTAMP" else plain[kind]


def arrays(run: Callable[..., Sequence[Any]], kind: Any) -> Callable[..., Any]:
    """Make a function whose answers come in an Arrow array of a type."""
    import pyarrow as pa

    return lambda *given: pa.array(run(*given), kind)


def counted(run: Callable[..., Any], parameters: int) -> Callable[..., Any]:
    """Let a function of any number of arguments say that it takes so many, which the engine compares.

    Example:
        >>> str(inspect.signature(counted(lambda *given: given, 2)))
        '(a0, a1, /)'
    """
    kind = inspect.Parameter.POSITIONAL_ONLY
    signature = inspect.Signature([inspect.Parameter(f"a{place}", kind) for place in range(parameters)])
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def answers(
    run: Callable[..., Sequence[Any]], kind: Any, problem: Callable[[Exception], str]
) -> Callable[..., Any]:
    """Make a function whose answers come in a struct beside the problem that there was, if any.

    Args:
        run: From Arrow arrays to a list of answers.
        kind: The Arrow type of an answer.
        problem: Puts an error into words.
    """
    import pyarrow as pa

    def answered(*given: Any) -> list[dict[str, Any]]:
        try:
            return [{"problem": None, "answer": answer} for answer in run(*given)]
        except Exception as error:
            return [{"problem": problem(error), "answer": None}] * len(given[0])

    return arrays(answered, pa.struct([("problem", pa.string()), ("answer", kind)]))


def row_by_row(run: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Make a function of Arrow arrays out of one of values.

    Example:
        >>> import pyarrow
        >>> row_by_row(max)(pyarrow.array([1, 5]), pyarrow.array([2, 3]))
        [2, 5]
    """
    return lambda *arrays: [run(*row) for row in zip(*(array.to_pylist() for array in arrays), strict=True)]
