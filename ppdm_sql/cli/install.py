"""``ppdm install``: puts the audit macros into the file."""

from __future__ import annotations

import shlex

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.parameters import Given, takes
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm install bank.duckdb",
    "duckdb bank.duckdb -c \"FROM ppdm_risk('policies', ['Age', 'Gender'])\"",
    "ppdm install bank.duckdb --no-short-names",
)


@takes("install")
def run(
    database: DatabasePath,
    given: Given,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Put the audit macros into a file, for any DuckDB client.

    Installing again changes nothing; macros of an older ppdm-sql are replaced. ppdm uninstall removes them.
    """
    with ppdm_sql.open(database, read_only=sql) as db, traced(db, on=sql):
        done = db.install(**given)
    quiet = quiet or sql
    instead = f" in place of {done.replaced}" if done.replaced not in (None, done.version) else ""
    names = ", ".join(done.macros)
    notice(f"Installed the macros of ppdm-sql {done.version}{instead}: {names}.", quiet=quiet)
    notice("Next:", quiet=quiet)
    name = "ppdm_risk" if given["short_names"] else "ppdm.ppdm_risk"
    call = f"FROM {name}('TABLE', ['COLUMN', 'COLUMN'])"
    notice(f'  duckdb {shlex.quote(str(database))} -c "{call}"', quiet=quiet)
