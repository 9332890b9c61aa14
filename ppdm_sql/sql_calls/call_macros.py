"""The temporary macros over private functions, as SQL.

Nothing of a user enters these texts: all names are the package's own, quoted since some are words of SQL.
"""

from __future__ import annotations

from ppdm_sql.engine.names import quoted
from ppdm_sql.sql_calls.calls import Call
from ppdm_sql.sql_calls.row_functions import RowFunction

PLACE = "current_database(), current_schema()"
STATEMENT = "current_transaction_id(), current_query_id()"


def call_macro(call: Call, function: str, check: str) -> str:
    """Write the macro of a call: check for changes of the caller's own, then run, then give the rows.

    Args:
        call: The call.
        function: Gives its rows, or a problem, for the arguments as JSON, :data:`PLACE`, :data:`STATEMENT`.
        check: Gives a statement that fails if the caller has changes of its own.
    """
    names = [option.argument for option in call.arguments]
    parameters = ", ".join(f"{quoted(name)} := NULL" for name in names)
    given = ", ".join(f"'{name}', {quoted(name)}" for name in names)
    answer = _answer(f"{function}(json_object({given})::VARCHAR, {PLACE}, {STATEMENT})")
    statement = f"{check}(current_database(), {STATEMENT}, epoch_us(now()))"
    return (
        f"CREATE OR REPLACE TEMP MACRO {call.macro}({parameters}) AS TABLE "
        f"SELECT unnest(made.made) FROM (SELECT unnest({answer}) AS made "
        f"FROM (SELECT count(*) AS n FROM query({statement})) AS checked) AS made"
    )


def row_macro(item: RowFunction, function: str) -> str:
    """Write the macro of a function of a row."""
    body = item.body.replace("{answer}", _answer(f"{function}({item.arguments})"))
    return f"CREATE OR REPLACE TEMP MACRO {item.name}({item.parameters}) AS {body}"


def _answer(called: str) -> str:
    """Take the answer out of its struct, or make an error of the problem; the function is called once."""
    return (
        f"list_transform([{called}], lambda given: "
        "CASE WHEN given.problem IS NULL THEN given.answer ELSE error(given.problem) END)[1]"
    )
