"""``ppdm key``: keys for pseudonyms, moved dates and noise that are to be the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ppdm_sql.cli.app import group
from ppdm_sql.cli.failures import guarded
from ppdm_sql.cli.output import Debug, Quiet, notice
from ppdm_sql.engine.keys import new_key

EXAMPLES = (
    "ppdm key new clinic.key",
    "ppdm generalize clinic.duckdb visits --identifier patient=pseudonym --key-file clinic.key ...",
)

key = group(EXAMPLES)


@key.callback()
def about() -> None:
    """Make keys for pseudonyms, moved dates and noise that are to be the same in every release."""


@key.command(epilog=f"Example: {EXAMPLES[0]}", no_args_is_help=True)
@guarded
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, which is not there yet.")],
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a key of 256 random bits into a new file that only you can read.

    Who has it can find out who stands behind a pseudonym, and by how many days dates were moved: keep it
    apart from the releases. Who loses it cannot make the same pseudonyms again.
    """
    new_key(file)
    notice(
        f"Wrote {file}. Keep a copy in a safe place, and give it to nobody who has a release.", quiet=quiet
    )
