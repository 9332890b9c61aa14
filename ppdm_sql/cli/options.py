"""Arguments and options of the command line alone, which commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ppdm_sql.cli.output import Format

DatabasePath = Annotated[
    Path, typer.Argument(metavar="DATABASE", help="A DuckDB file, or :memory:.", show_default=False)
]
TableName = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="A table or view, or a file: NAME, visits.csv.", show_default=False),
]
ReleaseName = Annotated[
    str, typer.Argument(metavar="RELEASE", help="A release; ppdm releases lists them.", show_default=False)
]
Count = Annotated[
    str | None,
    typer.Option("--count", metavar="COLUMN", help="Column that says how many records a row stands for."),
]
Attach = Annotated[
    list[str] | None,
    typer.Option(
        "--attach",
        metavar="'PATH AS NAME'",
        help="A database to read from: its tables are NAME.TABLE; repeatable.",
    ),
]
Spark = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="URL",
        help="Where the table lives: sc://HOST:15002, or local[2] to try Spark on this machine.",
    ),
]
SparkOfRows = Annotated[
    str | None,
    typer.Option("--spark", metavar="URL", help="Where the rows of the release were written, with --to."),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--types", metavar="A=TYPE,...", help="Types of columns, as for codes in a CSV file."),
]
Nulls = Annotated[
    str | None,
    typer.Option("--null", metavar="N/A,...", help="Texts that stand for a missing value, read as NULL."),
]
Export = Annotated[
    Path | None,
    typer.Option("--export", metavar="FILE", help="Also write the release there: .parquet, .csv or .duckdb."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file of --export.")]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How tables are printed.")]
Sql = Annotated[bool, typer.Option("--sql", help="Print the statements; change nothing.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no notes, only warnings.")]
Debug = Annotated[
    bool, typer.Option("--debug", help="With an error, print the traceback and the engine's message.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Number of threads; by default the engine decides.")
]
MemoryLimit = Annotated[
    str | None,
    typer.Option("--memory-limit", metavar="SIZE", help="Such as 2GB; by default the engine decides."),
]
AcceptPartial = Annotated[
    bool, typer.Option("--accept-partial", help="Exit with 0 instead of 130 if Ctrl-C ended the run early.")
]
