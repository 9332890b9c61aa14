"""``ppdm taxonomy``: shows, stores and drafts taxonomies."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import ppdm_sql
from ppdm_sql import Taxonomy
from ppdm_sql.cli.app import group
from ppdm_sql.cli.failures import guarded
from ppdm_sql.cli.output import (
    Debug,
    Format,
    OutputFormat,
    Quiet,
    TerminalProgress,
    drawn,
    notice,
    print_tables,
    shown,
)
from ppdm_sql.cli.parameters import SHORT, Common, DatabasePath, takes
from ppdm_sql.options import Option, Reading, SuggestRequest
from ppdm_sql.sources import given
from ppdm_sql.taxonomy.suggesting import suggest as suggested
from ppdm_sql.taxonomy.tables import read_taxonomy, write_taxonomy

EXAMPLES = (
    "ppdm taxonomy suggest bank.duckdb customers Job --into job.csv",
    "ppdm taxonomy add bank.duckdb jobs job.csv",
    "ppdm taxonomy show bank.duckdb jobs",
)

taxonomy = group(EXAMPLES)


@taxonomy.command(epilog=f"Example: {EXAMPLES[2]}", no_args_is_help=True)
@guarded
@takes()
def show(
    database: DatabasePath,
    name: Annotated[str, "A parent-child table, or a CSV file.", Option(metavar="NAME_OR_FILE", flag="")],
    form: OutputFormat = Format.table,
    debug: Debug = False,
) -> None:
    """Print a taxonomy as a tree, or with another format a row for each node."""
    with ppdm_sql.open(database, read_only=True) as db:
        tree = read_taxonomy(db.engine, name)
    if form is Format.table:
        branches = ((depth, shown(label), "") for depth, label in zip(tree.depths, tree.labels, strict=True))
        sys.stdout.writelines(f"{guide}{label}\n" for guide, label, _ in drawn(branches))
    else:
        leaves = set(tree.leaves)
        parents = (None if parent < 0 else parent for parent in tree.parents)
        nodes = enumerate(zip(parents, tree.labels, tree.depths, strict=True))
        rows = [(node, *cells, node in leaves) for node, cells in nodes]
        print_tables([("", ("node", "parent", "label", "depth", "leaf"), rows)], form)


@taxonomy.command(epilog=f"Example: {EXAMPLES[1]}", no_args_is_help=True)
@guarded
@takes(lacks=SHORT)
def add(
    database: DatabasePath,
    name: Annotated[str, "The table to create.", Option(metavar="NAME", flag="")],
    file: Annotated[Path, "A CSV file: value;group;...;*", Option(flag="")],
    delimiter: Annotated[str, "Character between the file's cells.", Option(metavar="CHARACTER")] = ";",
    *,
    common: Common,
) -> None:
    """Store a taxonomy file as a table with the columns child, parent and position."""
    taxonomy = Taxonomy.from_csv(file, delimiter=delimiter)
    with common.using(database, write=True) as db:
        write_taxonomy(db.engine, taxonomy, name)
    size = f"{len(taxonomy.labels)} nodes, {len(taxonomy.leaves)} leaves"
    common.say(f"Stored {name}: {size}.")


@taxonomy.command(epilog=f"Example: {EXAMPLES[0]}", no_args_is_help=True)
@guarded
@takes(lacks=["form", "sql", "quiet", "debug"], places=("database", "table", "column"))
def suggest(
    database: DatabasePath,
    asked: SuggestRequest,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    reading: Reading,
    common: Common,
) -> None:
    """Draft a taxonomy of a column as a CSV file for you to edit.

    The draft lists values of the column: it is the owner's, not to be given away. Numbers, dates and times
    become intervals of about equal numbers of records, codes are masked from the right, rare texts grouped.
    With --rule, days are grouped into months, quarters, years and decades, codes by their prefixes, numbers
    into ranges of round widths; ppdm generalize takes such a rule as a taxonomy, too.
    """
    progress = TerminalProgress(quiet=quiet)
    with (
        common.using(database) as db,
        given(db.engine, asked.table, reading.types, reading.nulls, progress=progress) as table,
    ):
        draft = asked.of(partial(suggested, db.engine, table, asked.column))
    draft.to_csv(sys.stdout if asked.into is None else asked.into)
    if asked.into is not None:
        whose = f"It lists values of {asked.column}."
        notice(f"Wrote {asked.into}: {len(draft.leaves)} leaves. {whose}", quiet=quiet)
