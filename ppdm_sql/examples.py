"""The example tables of the papers, and one of our own, each a readable file of ``sql/examples``."""

from __future__ import annotations

from pathlib import Path

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table

TABLES = ("customers", "employees", "policies")
"""Names of the tables: bank customers (Wang, Fung, Yu 2005), employees (Wang, Fung, Dong 2005),
holders of a life insurance (Li, Sarkar 2004)."""

SIDES = {"bank": "bank_side", "card-company": "card_side"}
"""What the two parties of Wang, Fung, Dong (2005) know of the employees."""


def write(engine: Engine) -> None:
    """Create the example tables, in one transaction.

    Args:
        engine: A database that holds none of them yet.

    Raises:
        EngineError: A table of that name exists already.

    Example:
        >>> import duckdb
        >>> engine = Engine(duckdb.connect())
        >>> write(engine)
        >>> engine.query("SELECT sum(n) FROM customers", step="records")
        [(24,)]
    """
    with engine.transaction():
        for name in TABLES:
            engine.write(creation(name), step=f"create {name}")


def creation(name: str) -> str:
    """Give the statement that creates an example table.

    Args:
        name: One of :data:`TABLES`.
    """
    return f"CREATE TABLE {Table(name)} AS {statements.bind(f'examples/{name}', tables={})}"


def write_side(engine: Engine, name: str) -> None:
    """Create the table ``people`` of one of two parties.

    Args:
        engine: A database that holds no such table yet.
        name: One of :data:`SIDES`.
    """
    with engine.workspace():
        employees = engine.materialize("employees", statements.text("examples/employees"))
        rows = statements.bind(f"examples/{SIDES[name]}", tables={"employees": employees})
        engine.write(f"CREATE TABLE people AS {rows} ORDER BY SSN", step="create people")


def write_visits(engine: Engine, file: Path) -> None:
    """Write a CSV file of 1,000 made-up stays in a hospital, for whoever has no table at hand.

    Args:
        engine: Any database; nothing is left in it.
        file: The file; one that is there is replaced.

    Example:
        >>> import duckdb, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_visits(Engine(duckdb.connect()), Path(folder) / "visits.csv")
        ...     print((Path(folder) / "visits.csv").read_text().splitlines()[1])
        P0001,male,48,02140,psychiatry,depression,19,no
    """
    engine.connection.sql(statements.bind("examples/visits", tables={})).write_csv(str(file))
