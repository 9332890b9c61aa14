"""``ppdm show``: shows a release or a trained model."""

from __future__ import annotations

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
from ppdm_sql.sql_calls.describing import published, release_facts

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
    title, heading, measures = measures_table(release)
    print_tables([_facts(release, by_treatment=True), (title, heading, measures[:limit])], Format.table)
    notice(f"{len(release.relation().columns)} columns: --all shows each, all measures, the cut and rows.")


def _print_all(release: Release, limit: int, form: Format) -> None:
    """Print facts, measures, the cut if the release has its trees, and the first rows."""
    facts, measures = _facts(release), measures_table(release, form)
    rows, nodes = rows_table("rows", release.relation(), limit), release.cut()
    if not nodes or form is not Format.table:
        print_tables([facts, measures, *([cut_table(nodes)] if nodes else []), rows], form)
        return
    print_tables([facts, measures], form)
    print_cut(nodes, limit)
    print_tables([rows], form)


def _facts(release: Release, *, by_treatment: bool = False) -> Titled:
    """Give what the catalogue says of the release, a line each; columns one by one or by their treatment."""
    facts = release_facts(release.row(), short_names(release), noise_option, by_treatment=by_treatment)
    return "release", ("what", "value"), facts
