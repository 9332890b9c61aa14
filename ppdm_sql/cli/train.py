"""``ppdm train``: grows decision trees from original, randomized and reconstructed values."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat, TableName
from ppdm_sql.cli.output import Format, notice
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.trace import traced
from ppdm_sql.cli.trained import print_model
from ppdm_sql.methods.trees.storing import Model

EXAMPLES = (
    "ppdm train people.duckdb people_noisy --class class --mode byclass --test people_test --into groups",
    "ppdm train survey.duckdb answers --class rating --columns salary,age --mode local \\\n"
    "    --noise 'salary=gaussian 2500 on 20000,150000' --noise 'age=uniform 15 on 20,80' --into ratings",
    "ppdm train people.duckdb people --class class --mode original --intervals 50 --into best",
)


def run(
    database: DatabasePath,
    table: TableName,
    class_column: Annotated[str, typer.Option("--class", metavar="COLUMN", help="What to predict.")],
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the model.")],
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="original|randomized|global|byclass|local",
            help="Take values as they are, or reconstruct: over all, by class, by class in every node.",
        ),
    ] = "byclass",
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B", help="What may be split. Default: all that can.")
    ] = None,
    intervals: Annotated[
        int | None,
        typer.Option(
            "--intervals", metavar="M", help="Of a number; by default 100 records an interval, 10 to 100."
        ),
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option("--max-depth", metavar="D", help="Most splits above a node.")
    ] = None,
    min_split: Annotated[
        int | None,
        typer.Option(
            "--min-split", metavar="N", help="Split no smaller node; by default 20, or a record in 1,000."
        ),
    ] = None,
    no_prune: Annotated[
        bool, typer.Option("--no-prune", help="Keep splits that are not worth their bits.")
    ] = False,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            "--noise", metavar="A=TEXT", help="The noise, where the table does not know it; repeatable."
        ),
    ] = None,
    value_range: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="A=LOW,HIGH", help="Range of the original values; repeatable."),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="TABLE", help="Count right predictions on true values.")
    ] = None,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Grow a decision tree, and store it with a macro MODEL_predict in plain SQL (Agrawal, Srikant).

    TABLE is a release, or any table or view. The model predicts for true values, whatever it was grown from.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        model = db.train(
            table,
            class_column=class_column,
            into=into,
            mode=mode,
            columns=options.names(columns),
            intervals=intervals,
            max_depth=max_depth,
            min_split=min_split,
            prune=not no_prune,
            noise=tuple(noise or ()),
            ranges=dict(options.range_of(text) for text in value_range or ()),
            test=test,
            progress=progress(quiet=quiet or sql),
        )
        if not sql:
            print_model(model, None, form)
            _announce(model, database, quiet=quiet)


def _announce(model: Model, database: Path, *, quiet: bool) -> None:
    """Say on stderr what was stored and what to type next."""
    notice(f"Stored model {model.name}: {len(model.tree().nodes)} nodes.", quiet=quiet)
    predict = ["ppdm", "predict", str(database), model.name, "TABLE", "--into", f"{model.name}_predicted"]
    for command in (["ppdm", "show", str(database), model.name], predict):
        notice(f"  {shlex.join(command)}", quiet=quiet)
