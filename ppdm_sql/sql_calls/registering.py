"""Puts the calls and the functions of a row on a connection, and takes them away again."""

from __future__ import annotations

import contextlib
import inspect
import secrets
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import duckdb

from ppdm_sql.database import Database
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, quoted
from ppdm_sql.errors import DatabaseUnavailable, PpdmError, PpdmWarning, UnknownTable
from ppdm_sql.macros import macros
from ppdm_sql.progress import Progress, WarningProgress
from ppdm_sql.sql_calls import running
from ppdm_sql.sql_calls.calls import CALLS, Call, HeardInSql, in_sql, run
from ppdm_sql.sql_calls.describing import Columns, Row
from ppdm_sql.sql_calls.row_functions import FUNCTIONS, NOISE_MACROS, generalizing
from ppdm_sql.sql_calls.running import NO_CHECK, UNNUMBERED, CallOrder, TransactionWatch

# -- functions that the engine calls, from Arrow arrays to lists of values ------------------------


def answers(
    run: Callable[..., Sequence[Any]], problem: Callable[[Exception], str]
) -> Callable[..., list[dict[str, Any]]]:
    """Make a function whose answers come in a struct beside the problem that there was, if any."""

    def answered(*arrays: Any) -> list[dict[str, Any]]:
        try:
            return [{"problem": None, "answer": answer} for answer in run(*arrays)]
        except Exception as error:
            return [{"problem": problem(error), "answer": None}] * len(arrays[0])

    return answered


def row_by_row(run: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Make a function of Arrow arrays out of one of values."""
    return lambda *arrays: [run(*row) for row in zip(*(array.to_pylist() for array in arrays), strict=True)]


def struct(columns: Columns) -> str:
    return f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in columns)})"


# -- the temporary macros: all names are the package's own, quoted since some are words of SQL --

PLACE = "current_database(), current_schema()"
STATEMENT = "current_transaction_id(), current_query_id()"


def call_macro(call: Call, function: str, check: str) -> str:
    """Write the macro of a call: check for changes of the caller's own, then run, then give the rows."""
    names = [option.argument for option in call.arguments]
    parameters = ", ".join(f"{quoted(name)} := NULL" for name in names)
    arguments = ", ".join(f"'{name}', {quoted(name)}" for name in names)
    answer = _answer(f"{function}(json_object({arguments})::VARCHAR, {PLACE}, {STATEMENT})")
    statement = f"{check}(current_database(), {STATEMENT}, epoch_us(now()))"
    return _temporary(
        call.macro,
        parameters,
        f"TABLE SELECT unnest(made.made) FROM (SELECT unnest({answer}) AS made "
        f"FROM (SELECT count(*) AS n FROM query({statement})) AS checked) AS made",
    )


def _temporary(name: str, parameters: str, body: str) -> str:
    return f"CREATE OR REPLACE TEMP MACRO {name}({parameters}) AS {body}"


def _answer(called: str) -> str:
    """Take the answer out of its struct, or make an error of the problem; the function is called once."""
    return (
        f"list_transform([{called}], lambda given: "
        "CASE WHEN given.problem IS NULL THEN given.answer ELSE error(given.problem) END)[1]"
    )


# -- registering --------------------------------------------------------------------------------

_registered: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, Registration] = weakref.WeakKeyDictionary()
_turns = CallOrder()

_GIVEN = ("VARCHAR", "VARCHAR", "VARCHAR", "UBIGINT", "UBIGINT")
_INSTALLED = """
    SELECT f.function_name FROM duckdb_functions() AS f
    WHERE f.database_name = current_database() AND f.schema_name = current_schema() AND NOT f.internal
"""
_CHECKED = ("VARCHAR", "UBIGINT", "UBIGINT", "BIGINT")


def register(connection: duckdb.DuckDBPyConnection, *, progress: Progress | None = None) -> None:
    """Make every method a call in SQL on a connection, and add the functions of a row.

    ``CALL ppdm_suppress('customers', 'customers_safe', require := ['k >= 4 on Job'], class := 'Rating')`` and
    likewise ``ppdm_audit``, ``ppdm_table_risk``, ``ppdm_generalize``, ``ppdm_swap``, ``ppdm_randomize``,
    ``ppdm_reconstruct``, ``ppdm_train``, ``ppdm_predict``, ``ppdm_releases``, ``ppdm_models``, ``ppdm_show``,
    ``ppdm_steps``, ``ppdm_verify``, ``ppdm_update``, ``ppdm_forget``, ``ppdm_apply``, ``ppdm_evaluate``,
    ``ppdm_attack``, ``ppdm_compare``, ``ppdm_export``, ``ppdm_report``, ``ppdm_drop``,
    ``ppdm_generate_agrawal``, ``ppdm_install`` and ``ppdm_uninstall``;
    they take the options of the command line by name, and return a few columns to read: everything else
    is in ``ppdm.releases``, ``ppdm.measures`` and the other tables of the schema.
    ``ppdm_generalize_value``,
    ``ppdm_gaussian_noise``, ``ppdm_uniform_noise``, ``ppdm_randomized_response``, ``ppdm_pseudonym`` and
    ``ppdm_parse_requirement`` are functions of a row. The audit macros of :meth:`Database.install` are added
    where the file does not hold them. All are temporary: nothing is left in the file.

    Args:
        connection: An open connection; each cursor of it is a connection of its own.
        progress: Told what the calls are doing.

    Raises:
        PpdmError: A transaction is open on the connection.

    Example:
        >>> import ppdm_sql
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE t AS SELECT 'cook' AS job, 'good' AS rating FROM range(4)")
        >>> ppdm_sql.register(con)
        >>> con.execute('''SELECT release, rows FROM ppdm_suppress('t', 'safe', require := ['k >= 4 on job'],
        ...     class := 'rating')''').fetchall()
        [('safe', 4)]
        >>> ppdm_sql.unregister(con)
    """
    unregister(connection)
    Engine(connection).require_autocommit()
    _registered[connection] = Registration(connection, progress or WarningProgress())


def unregister(connection: duckdb.DuckDBPyConnection) -> None:
    """Take all calls and functions away from a connection; one that has none is left as it is.

    Example:
        >>> unregister(duckdb.connect())
    """
    if registered := _registered.pop(connection, None):
        registered.remove()
    if not _registered:
        running.ignore()


def registration(connection: duckdb.DuckDBPyConnection) -> Registration:
    return _registered[connection]


class Registration:
    """What was put on one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, progress: Progress) -> None:
        self._connection = weakref.ref(connection)  # a strong one would keep it open
        self._progress = progress
        self._prefix = f"ppdm_{secrets.token_hex(6)}"
        self._functions: list[str] = []
        self._macros: list[tuple[str, str]] = []
        self._watch = TransactionWatch(self._cursor)
        self._failure: PpdmError | None = None
        self._ready = False
        try:
            self._add_calls(connection)
            self._add_functions(connection)
            self._add_macros(connection)
        except BaseException:
            self.remove()
            raise
        self._ready = True

    def remove(self) -> None:
        """Drop the macros and the functions below them; on a closed connection they are gone already."""
        if (connection := self._connection()) is None:
            return
        for kind, name in self._macros:
            with contextlib.suppress(duckdb.Error):
                connection.execute(f"DROP {kind} IF EXISTS temp.main.{name}").fetchall()
        for name in self._functions:
            with contextlib.suppress(duckdb.Error):
                connection.remove_function(name)

    def note(self) -> None:
        """Look at the transaction of the connection, so that a call knows whether it is still the same."""
        if (connection := self._connection()) is not None:
            with contextlib.suppress(duckdb.Error):
                query = "SELECT current_transaction_id(), current_query_id()"
                self._watch.note(*connection.execute(query).fetchall()[0])

    def failure_in(self, text: str) -> PpdmError | None:
        """Give the error that a call or function ended with, if the engine's words are about it."""
        failure, self._failure = self._failure, None
        return failure if failure is not None and str(failure) in text else None

    # -- what is put on the connection --------------------------------------------------------

    def _add_calls(self, connection: duckdb.DuckDBPyConnection) -> None:
        check = self._function(
            connection, "check", row_by_row(self._check), _CHECKED, "VARCHAR", side_effects=False
        )
        for call in CALLS:
            run = answers(row_by_row(self._runner(call)), partial(self._problem, call=call))
            gives = f"STRUCT(problem VARCHAR, answer {struct(call.columns)}[])"
            name = self._function(connection, call.macro, run, _GIVEN, gives)
            self._macro(connection, "MACRO TABLE", call.macro, call_macro(call, name, check))

    def _add_functions(self, connection: duckdb.DuckDBPyConnection) -> None:
        for item in (*FUNCTIONS, generalizing(self._engine)):
            gives = f"STRUCT(problem VARCHAR, answer {item.gives})"
            name = self._function(connection, item.name, answers(item.run, self._problem), item.takes, gives)
            body = item.body.replace("{answer}", _answer(f"{name}({item.arguments})"))
            self._macro(connection, "MACRO", item.name, _temporary(item.name, item.parameters, body))
        for name, parameters, body in NOISE_MACROS:
            self._macro(connection, "MACRO", name, _temporary(name, parameters, body))

    def _add_macros(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Add the macros that ``ppdm install`` puts into a file, unless they are there."""
        installed = {name for (name,) in connection.execute(_INSTALLED).fetchall()}
        for macro in macros():
            if macro.name not in installed:
                text = macro.creation(Table(macro.name)).replace(" MACRO ", " TEMP MACRO ", 1)
                self._macro(connection, macro.kind, macro.name, text)

    def _function(
        self,
        connection: Any,
        name: str,
        run: Callable[..., Sequence[Any]],
        takes: Sequence[str],
        gives: str,
        *,
        side_effects: bool = True,
    ) -> str:
        """Register a function under a private name; one without side effects may be run while planning."""
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        private = f"{self._prefix}_{name}"
        kind = connection.sql(f"SELECT NULL::{gives} AS given").to_arrow_table().schema.types[0]

        def arrays(*arguments: Any) -> Any:
            return pa.array(run(*arguments), kind)

        places = [inspect.Parameter(f"a{n}", inspect.Parameter.POSITIONAL_ONLY) for n in range(len(takes))]
        arrays.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # the engine counts them
        options = {"type": "arrow", "null_handling": "special", "side_effects": side_effects}
        connection.create_function(private, arrays, list(takes), gives, **options)
        self._functions.append(private)
        return private

    def _macro(self, connection: duckdb.DuckDBPyConnection, kind: str, name: str, text: str) -> None:
        connection.execute(text).fetchall()
        self._macros.append((kind, name))

    def _problem(self, error: Exception, call: Call | None = None) -> str:
        failure = _foreseen(error)
        self._failure = failure if call is None else in_sql(failure, call.arguments)
        return str(self._failure)

    # -- what runs ----------------------------------------------------------------------------

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        connection = self._connection()
        assert connection is not None, "a function of a connection runs while it exists"
        return connection.cursor()

    def _engine(self, catalog: str, schema: str) -> Engine:
        """Give an engine on a connection of its own, in the place where the caller is."""
        cursor = self._cursor()
        cursor.execute(f"USE {quoted(catalog)}.{quoted(schema)}")
        return Engine(cursor, owned=True)

    def _check(self, current: str, transaction: int, statement: int, begun: int) -> str:
        """Write the statement by which the engine checks for changes of the caller."""
        if not self._ready:  # its macro is being made, for which the engine plans the call
            return NO_CHECK
        running.listen()
        if statement != UNNUMBERED:
            self._watch.plan(transaction, statement, begun)
            if not _turns.plan(self._prefix):
                return NO_CHECK
        return self._watch.check(current, transaction)

    def _runner(self, call: Call) -> Callable[..., list[dict[str, Any]]]:
        names = [name for name, _ in call.columns]

        def answer(
            arguments: str, catalog: str, schema: str, transaction: int, statement: int
        ) -> list[dict[str, Any]]:
            with _turns.run(self._prefix):
                self._watch.refuse_open(transaction, statement)
                with contextlib.closing(self._engine(catalog, schema)) as engine:
                    rows = self._run(call, engine, arguments, catalog)
            return [dict(zip(names, row, strict=True)) for row in rows]

        return answer

    def _run(self, call: Call, engine: Engine, arguments: str, catalog: str) -> list[Row]:
        db = Database(engine)
        db.progress = HeardInSql(self._progress, call.arguments)
        try:
            if call.writes:
                _refuse_read_only(engine, call, catalog)
            return running.interruptible(partial(run, call, db, arguments), engine)
        except UnknownTable as error:
            remedy = "Temporary tables and views cannot be read by a call, which has a connection of its own."
            raise UnknownTable(error.problem, f"{error.remedy} {remedy}") from None
        except KeyboardInterrupt:
            raise Interrupted(f"{call.macro} was interrupted.", "Run it again.") from None


def _foreseen(error: Exception) -> PpdmError:
    """Give an error as it is, or one that names its kind but not its text, which may quote a cell."""
    if isinstance(error, PpdmError):
        return error
    if isinstance(error, PpdmWarning):
        return PpdmError(str(error), "The filter of warnings makes an error of it.")
    return PpdmError(
        f"Something went wrong that ppdm did not foresee ({type(error).__name__}).",
        "Call the method of the same name in Python to see where.",
    )


class Interrupted(PpdmError):
    """A call that Ctrl-C stopped."""


def _refuse_read_only(engine: Engine, call: Call, catalog: str) -> None:
    query = "SELECT d.readonly FROM duckdb_databases() AS d WHERE d.database_name = $name"
    if engine.look_up(query, {"name": catalog}, step="read-only") == [(True,)]:
        raise DatabaseUnavailable(
            f"The database {catalog} is open read-only, and {call.macro} writes into it.",
            "Open it for writing, as ppdm sql does with --write.",
        )
