"""``ppdm show``: shows a release or a trained model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli.cuts import cut_table, print_cut
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat, PublishedName
from ppdm_sql.cli.output import Format, Titled, notice, print_tables
from ppdm_sql.cli.published import measures_table, noise_option, rows_table, short_names
from ppdm_sql.cli.trained import print_model, release_or_model
from ppdm_sql.errors import InvalidOption
from ppdm_sql.release import CatalogueRow, Release, ReleasedColumn
from ppdm_sql.release.catalogue import NOTICES, SHAPE

WIDE = 12
"""Columns up to which a release is shown whole to a reader."""
EXAMPLES = (
    "ppdm show bank.duckdb customers_safe",
    "ppdm show bank.duckdb customers_safe --step 2 --partitions",
    "ppdm show people.duckdb people_model --test people_test",
)


def run(
    database: DatabasePath,
    name: PublishedName,
    partitions: Annotated[
        bool, typer.Option("--partitions", help="The groups of equal records, with their sizes.")
    ] = False,
    step: Annotated[int | None, typer.Option("--step", min=0, help="As it stood after this step.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Print at most so many rows, and nodes below one.")
    ] = 20,
    test: Annotated[
        str | None, typer.Option("--test", metavar="TABLE", help="Of a model: try it on this table.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Show a release of more than {WIDE} columns whole, too.")
    ] = False,
    form: OutputFormat = Format.table,
    debug: Debug = False,
) -> None:
    """Show a release: what it is, what it cost, its cut, its first rows; or its partitions, or a step.

    Of a wide release, the table format shows the shape only; --all and the other formats show the rest.
    Of a trained model, show the tree, and how often it is right on a test table.
    """
    with ppdm_sql.open(database, read_only=True) as db:
        release = release_or_model(db, name)
        if not isinstance(release, Release):
            if partitions or step is not None:
                raise InvalidOption(
                    f"{name!r} is a model, not a release.", "Leave --step and --partitions out."
                )
            print_model(release, test, form)
        elif test is not None:
            raise InvalidOption(f"{name!r} is a release, not a model.", "Leave --test out.")
        elif partitions:
            print_tables([rows_table("", release.partitions(step))], form)
        elif step is not None:
            print_tables([rows_table("", release.at(step), limit)], form)
        elif form is Format.table and not everything and len(release.relation().columns) > WIDE:
            _print_shape(release, limit)
        else:
            _print_all(release, limit, form)


def _print_shape(release: Release, limit: int) -> None:
    """Print what a wide release is, its columns by what became of them, and the first measures."""
    row = release.row()
    short = short_names(row.requirements)
    title, heading, measures = measures_table(release.measures(), short)
    print_tables([_facts(row, short, by_treatment=True), (title, heading, measures[:limit])], Format.table)
    notice(f"{len(release.relation().columns)} columns: --all shows each, all measures, the cut and rows.")


def _print_all(release: Release, limit: int, form: Format) -> None:
    """Print facts, measures, the cut if the release has its trees, and the first rows."""
    row = release.row()
    short = short_names(row.requirements)
    facts = _facts(row, short)
    measures = measures_table(release.measures(), short if form is Format.table else {})
    rows, nodes = rows_table("rows", release.relation(), limit), release.cut()
    if not nodes or form is not Format.table:
        print_tables([facts, measures, *([cut_table(nodes)] if nodes else []), rows], form)
        return
    print_tables([facts, measures], form)
    print_cut(nodes, limit)
    print_tables([rows], form)


def _facts(row: CatalogueRow, short: Mapping[str, str], *, by_treatment: bool = False) -> Titled:
    """Give what the catalogue says of the release, a line each; columns one by one or by their treatment."""
    elsewhere = (SHAPE, NOTICES, "noise")
    options = {name: value for name, value in row.parameters.items() if name not in elsewhere and value}
    columns = [ReleasedColumn(*item) for item in row.parameters[SHAPE]["columns"]]
    facts: list[tuple[str, object]] = [
        ("release", row.release),
        ("method", f"{row.method} (ppdm-sql {row.version})"),
        ("source", row.source),
        *((short.get(text, "requirement"), text) for text in row.requirements),
        *options.items(),
        *(_treatments(columns) if by_treatment else _columns(columns)),
        ("records", row.rows),
        ("stopped", row.stopped),
        ("verified", row.verified),
        ("created at", row.created_at),
        *(("notice", notice) for notice in row.notices),
    ]
    return "release", ("what", "value"), facts


def _columns(columns: Sequence[ReleasedColumn]) -> list[tuple[str, object]]:
    """Give each column with its treatment, then the noise of each that has some."""
    noises = [(f"noise {item.name}", noise_option(item)) for item in columns if item.noise]
    return [*((f"column {item.name}", item.treatment) for item in columns), *noises]


def _treatments(columns: Sequence[ReleasedColumn]) -> list[tuple[str, object]]:
    """Give each treatment with its columns."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in columns:
        found[item.treatment].append(item.name)
    return [(f"{len(names)} columns {treatment}", names) for treatment, names in found.items()]
