"""``ppdm randomize``: distorts values by noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat, TableName
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.published import announce, measures_table
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm randomize shop.duckdb customers --noise 'salary=gaussian 100%' --range salary=20000,150000 \\\n"
    "    --noise 'age=uniform 50% rounded' --range age=17,90 --class rating --record id --into noisy",
    "ppdm randomize shop.duckdb customers --noise 'age=cells 0,20,40,60,120' --noise 'job=retain 0.7' \\\n"
    "    --key-file customers.key --record id --into coarse",
)


def run(
    database: DatabasePath,
    table: TableName,
    noise: Annotated[
        list[str],
        typer.Option(
            "--noise",
            metavar="A=NOISE",
            help="gaussian|uniform 100%|SCALE [at 95%] [rounded], cells N|EDGES, retain P; repeatable.",
        ),
    ],
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the release.")],
    range_: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="A=LOW,HIGH", help="All possible values of a column; repeatable."),
    ] = None,
    class_column: Annotated[
        str | None,
        typer.Option("--class", metavar="COLUMN", help="What a miner will want to predict; as it is."),
    ] = None,
    keep: options.Keep = None,
    identifier: options.Identifier = None,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="ID", help="Tells records apart, if not by the rows of a table."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="Keep the key, so that the noise can be repeated."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="For tests: makes the noise removable.")
    ] = None,
    correlated: Annotated[
        bool, typer.Option("--correlated", help="Correlate Gaussian noise as the columns are.")
    ] = False,
    count: Annotated[str | None, typer.Option("--count", hidden=True)] = None,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Distort values by noise before anyone mines them (Agrawal, Srikant).

    The release tells what the noise is, so that distributions and classifiers can be had from it; see
    ppdm reconstruct and ppdm train. NULL stays NULL. A column that no option names is not released.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        release = db.randomize(
            table,
            noise=noise,
            into=into,
            ranges=dict(options.range_of(text) for text in range_ or ()),
            class_column=class_column,
            keep=options.names(keep),
            identifiers=options.identifiers(identifier or ()),
            record=record,
            key_file=key_file,
            seed=seed,
            correlated=correlated,
            count_column=count,
            progress=progress(quiet=quiet or sql),
        )
        if not sql:
            print_tables([measures_table(release)], form)
            announce(release, database, quiet=quiet)
