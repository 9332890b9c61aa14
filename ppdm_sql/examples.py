"""The example tables of the papers, and one of our own, each a readable file of ``sql/examples``."""

from __future__ import annotations

from pathlib import Path

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table

TABLES = ("customers", "employees", "policies")
"""Names of the tables: bank customers (Wang, Fung, Yu 2005), employees (Wang, Fung, Dong 2005),
holders of a life insurance (Li, Sarkar 2004)."""

SIDES = {"bank": ["Sex"], "card-company": ["Job", "Salary"]}
"""What the two parties of Wang, Fung, Dong (2005) know of the employees."""


def write(engine: Engine) -> None:
    """Create the example tables, in one transaction."""
    with engine.transaction():
        for name in TABLES:
            engine.write(creation(name), step=f"create {name}")


def creation(name: str) -> str:
    """Give the statement that creates one of the example tables."""
    return f"CREATE TABLE {Table(name)} AS {statements.bind(f'examples/{name}', tables={})}"


def write_side(engine: Engine, name: str) -> None:
    """Create the table ``people`` of one of the two parties."""
    with engine.workspace():
        employees = engine.materialize("employees", statements.text("examples/employees"))
        tables, columns = {"employees": employees}, {"owned": SIDES[name]}
        rows = statements.bind("examples/party_side", tables=tables, columns=columns)
        engine.write(f"CREATE TABLE people AS {rows} ORDER BY SSN", step="create people")


def write_visits(engine: Engine, file: Path) -> None:
    """Write a CSV file of 1,000 made-up stays in a hospital, for whoever has no table at hand."""
    engine.connection.sql(statements.bind("examples/visits", tables={})).write_csv(str(file))
