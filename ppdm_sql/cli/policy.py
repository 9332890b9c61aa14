"""Commands on what lasts beside the releases: the policy that describes them, and keys."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from ppdm_sql.cli.app import group
from ppdm_sql.cli.failures import guarded, is_memory
from ppdm_sql.cli.output import Debug, Quiet, TerminalProgress, notice, print_tables
from ppdm_sql.cli.parameters import Common, DatabasePath, Given, takes
from ppdm_sql.engine.keys import new_key
from ppdm_sql.options import Form, Option, Reading
from ppdm_sql.policy import Standings, drafting, reading, running
from ppdm_sql.release.exporting import write_page

Names = Annotated[
    list[str] | None,
    Form.texts,
    "Releases of the policy; all without.",
    Option(metavar="[RELEASE...]", flag=""),
]
File = Annotated[Path, "The policy.", Option(flag="--policy")]


@takes(lacks=["sql", "attach"])
def run(
    common: Common,
    names: Names = None,
    policy: File = Path(reading.FILE),
    dry_run: Annotated[bool, "Say what would be done, and why; change nothing."] = False,
) -> None:
    """A release is out of date if its source, what the policy asks, or the version of ppdm-sql changed. Each
    is made in one transaction, in the place of the one that was there, and then exported. Ctrl-C ends the run
    with nothing half done. Exit code 1 if something failed.

    Examples:
    ppdm run
    ppdm run visits_safe --dry-run
    ppdm run --policy clinic/ppdm.toml --format json
    """
    progress = TerminalProgress(quiet=common.quiet)
    opening = {"threads": common.threads, "memory_limit": common.memory_limit}
    found = running.run(policy, names or (), dry_run=dry_run, progress=progress, **opening)
    failed = any(one.state == running.FAILED for one in found)
    _print(found, common, holds=not failed if dry_run else found.holds)


@takes(lacks=["sql", "attach"])
def check(common: Common, names: Names = None, policy: File = Path(reading.FILE)) -> None:
    """Verifies every release, its exported files by their hashes, and that all is as the policy describes it.
    Nothing is changed. Exit code 1 if something is missing, out of date or refuted, 2 if the policy is wrong.

    Examples:
    ppdm check
    ppdm check --format json
    """
    progress = TerminalProgress(quiet=common.quiet)
    opening = {"threads": common.threads, "memory_limit": common.memory_limit}
    found = running.check(policy, names or (), progress=progress, **opening)
    _print(found, common, holds=found.holds)


def _print(found: Standings, common: Common, *, holds: bool) -> None:
    print_tables(found.tables(), common.form)
    if found.interrupted:
        raise KeyboardInterrupt
    raise typer.Exit(0 if holds else 1)


def schema() -> None:
    """Editors that know TOML complete a policy from it, and show what is wrong while it is written.

    Examples:
    ppdm schema > ppdm.schema.json
    """
    typer.echo(json.dumps(reading.schema(), indent=2))


@takes(Reading, lacks=["form", "sql", "spark"])
def init(
    database: DatabasePath,
    tables: Annotated[
        list[str],
        Form.texts,
        "Finished releases, or tables or files.",
        Option(metavar="RELEASE|TABLE...", flag=""),
    ],
    given: Given,
    common: Common,
    policy: File = Path(reading.FILE),
    force: Annotated[bool, "Replace the file if it exists."] = False,
) -> None:
    """From a release the policy asks what the release was asked; from a table, what a first look proposes:
    look through every line. DATABASE may be left out where TABLE is a file.

    Examples:
    ppdm init bank.duckdb customers_safe
    ppdm init visits.csv --policy clinic/ppdm.toml
    """
    place = drafting.DATABASE if is_memory(database) else database
    with common.using(database) as db:
        text = drafting.draft(db, tables, policy.parent, database=place, **given)
        write_page(db.engine, policy, text.encode(), force=force)
    common.say(f"Wrote {policy}. Next: ppdm run --policy {shlex.quote(str(policy))} --dry-run")


# -- keys ------------------------------------------------------------------------------------

KEY_EXAMPLES = (
    "ppdm key new clinic.key",
    "ppdm generalize clinic.duckdb visits --identifier patient=pseudonym --key-file clinic.key ...",
)

key = group(KEY_EXAMPLES)


@key.callback()
def about() -> None:
    """Make keys for pseudonyms, moved dates and noise that are to be the same in every release."""


@key.command(epilog=f"Example: {KEY_EXAMPLES[0]}", no_args_is_help=True)
@guarded
@takes()
def new(
    file: Annotated[Path, "The file to write, which is not there yet.", Option(flag="")],
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a key of 256 random bits into a new file that only you can read.

    Who has it can find out who stands behind a pseudonym, and by how many days dates were moved: keep it
    apart from the releases. Whoever loses it cannot make the same pseudonyms again.
    """
    new_key(file)
    notice(
        f"Wrote {file}. Keep a copy in a safe place, and give it to nobody who has a release.", quiet=quiet
    )
