"""``ppdm show``: shows a release or a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli.cuts import cut_table, print_cut
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat
from ppdm_sql.cli.output import Format, Titled, notice, print_tables
from ppdm_sql.cli.parameters import Given, takes
from ppdm_sql.cli.published import measures_table, noise_option, rows_table, short_names
from ppdm_sql.cli.trained import print_model
from ppdm_sql.errors import InvalidOption
from ppdm_sql.release import Release
from ppdm_sql.sql_calls.describing import published, release_description

WIDE = 12
"""Columns up to which a release is shown whole to a reader."""
EXAMPLES = (
    "ppdm show bank.duckdb customers_safe",
    "ppdm show bank.duckdb customers_safe --step 2 --partitions",
    "ppdm show people.duckdb people_model --test people_test",
)


@takes("show")
def run(
    database: DatabasePath,
    given: Given,
    partitions: Annotated[
        bool, typer.Option("--partitions", help="Print the groups of equal records with their sizes.")
    ] = False,
    step: Annotated[int | None, typer.Option("--step", min=0, help="The state after this step.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Print at most this many rows, and children of a node.")
    ] = 20,
    test: Annotated[
        str | None, typer.Option("--test", metavar="TABLE", help="For a model: test it on this table.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Show a release of more than {WIDE} columns whole, too.")
    ] = False,
    form: OutputFormat = Format.table,
    debug: Debug = False,
) -> None:
    """Show a release or a model.

    Of a wide release, the table format shows the shape only; --all and the other formats show the rest.
    Of a trained model, show the tree, and how often it is right on a test table.
    """
    with ppdm_sql.open(database, read_only=True) as db:
        release = published(db, given["name"])
        if not isinstance(release, Release):
            if partitions or step is not None:
                raise InvalidOption(
                    f"{release.name!r} is a model, not a release.", "Leave --step and --partitions out."
                )
            print_model(release, test, form)
        elif test is not None:
            raise InvalidOption(f"{release.name!r} is a release, not a model.", "Leave --test out.")
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
    print_tables([_about(release, short, together=True), (title, heading, measures[:limit])], Format.table)
    notice(f"{len(release.relation().columns)} columns: --all shows each, all measures, the cut and rows.")


def _print_all(release: Release, limit: int, form: Format) -> None:
    """Print the description, measures, the cut if the release has its trees, and the first rows."""
    row = release.row()
    short = short_names(row.requirements)
    described = _about(release, short)
    measures = measures_table(release.measures(), short if form is Format.table else {})
    rows, nodes = rows_table("rows", release.relation(), limit), release.cut()
    if not nodes or form is not Format.table:
        print_tables([described, measures, *([cut_table(nodes)] if nodes else []), rows], form)
        return
    print_tables([described, measures], form)
    print_cut(nodes, limit)
    print_tables([rows], form)


def _about(release: Release, short: Mapping[str, str], *, together: bool = False) -> Titled:
    """Describe a release, a row for each name and value; columns one by one or together."""
    described = release_description(release, short, noise_option, together=together)
    return "release", ("what", "value"), described
