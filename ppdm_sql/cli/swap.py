"""``ppdm swap``: exchanges confidential values of identifiable records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import Count, DatabasePath, OutputFormat, TableName
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.published import announce, measures_table
from ppdm_sql.cli.trace import traced
from ppdm_sql.errors import InvalidOption

EXAMPLES = (
    "ppdm swap bank.duckdb policies --confidential Amount --by Age,Gender,Location \\\n"
    "    --proportion 0.5 --into policies_safe",
    "ppdm swap adult.duckdb adult --confidential occupation,hours --by age,sex,education,country \\\n"
    "    --proportion 0.3 --proportion hours=0.5 --bins hours=0,20,35,45,100 --into adult_safe",
)


def run(
    database: DatabasePath,
    table: TableName,
    confidential: Annotated[
        str, typer.Option("--confidential", metavar="A,B", help="Columns whose values are swapped.")
    ],
    by: Annotated[
        str, typer.Option("--by", metavar="X,Y,Z", help="Columns that others may know; released as they are.")
    ],
    proportion: Annotated[
        list[str],
        typer.Option(
            "--proportion", metavar="[A=]P", help="Share of the unique records to change; repeatable."
        ),
    ],
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the release.")],
    method: Annotated[
        str, typer.Option("--method", metavar="exact|greedy", help="How records to change are chosen.")
    ] = "exact",
    phase1: Annotated[
        str,
        typer.Option(
            "--phase1", metavar="joint|separate", help="Keep frequencies over all, or as the paper does."
        ),
    ] = "joint",
    per_group: Annotated[
        str, typer.Option("--per-group", metavar="N|SHARE", help="Members of each group to change.")
    ] = "1",
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="LOW,HIGH", help="Changed share of every value; 0,1 sets no bounds."),
    ] = None,
    blur: Annotated[
        float,
        typer.Option("--blur", metavar="TAU", help="Noise on the costs, against attackers with models."),
    ] = 0.0,
    smoothing: Annotated[
        float, typer.Option("--smoothing", metavar="N", help="Records added to every count of the estimates.")
    ] = 0.0,
    bins: Annotated[
        list[str] | None,
        typer.Option("--bins", metavar="N|A=0,10,20", help="Bins for confidential numbers; repeatable."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Repeat a run exactly; keep it to yourself.")
    ] = None,
    class_column: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="COLUMN", help="What ppdm evaluate predicts, if not the first of them."
        ),
    ] = None,
    count: Count = None,
    keep: options.Keep = None,
    identifier: options.Identifier = None,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Exchange confidential values of records that their other columns give away (Li, Sarkar).

    Frequencies and what the columns tell of each other are kept as far as possible. A column that no option
    names is not released.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        release = db.swap(
            table,
            confidential=options.names(confidential),
            by=options.names(by),
            proportion=dict(_named("--proportion", text) for text in proportion),
            into=into,
            method=method,
            phase1=phase1,
            per_group=int(per_group) if per_group.strip().isdecimal() else per_group,
            share=None if share is None else _range(share),
            blur=blur,
            smoothing=smoothing,
            bins=dict(_bins(text) for text in bins) if bins else None,
            seed=seed,
            class_column=class_column,
            count_column=count,
            keep=options.names(keep),
            identifiers=options.identifiers(identifier or ()),
            progress=progress(quiet=quiet or sql),
        )
        if not sql:
            print_tables([measures_table(release)], form)
            announce(release, database, quiet=quiet)


def _named(option: str, text: str) -> tuple[str, str]:
    """Read ``COLUMN=VALUE``, or a value that holds for every column, under no name.

    Example:
        >>> _named("--proportion", "0.5"), _named("--proportion", "Amount=25%")
        (('', '0.5'), ('Amount', '25%'))
    """
    return options.assignment(option, text) if "=" in text else ("", text.strip())


def _bins(text: str) -> tuple[str, int | Sequence[str]]:
    """Read a number of bins, or edges between commas.

    Raises:
        InvalidOption: It is neither.

    Example:
        >>> _bins("5"), _bins("hours=0,20,40")
        (('', 5), ('hours', ['0', '20', '40']))
    """
    name, value = _named("--bins", text)
    if "," in value and name:
        return name, [edge.strip() for edge in value.split(",")]
    if not value.isdecimal():
        raise InvalidOption(
            f"--bins {text!r} is no number of bins.", "Write it as --bins 5 or --bins A=0,10,20."
        )
    return name, int(value)


def _range(text: str) -> tuple[str, str]:
    """Read ``LOW,HIGH``.

    Raises:
        InvalidOption: It is not of that form.
    """
    low, comma, high = (part.strip() for part in text.partition(","))
    if not (low and comma and high):
        raise InvalidOption(f"--share {text!r} is not a range of shares.", "Write it as --share 0.4,0.6.")
    return low, high
