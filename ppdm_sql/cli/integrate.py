"""``ppdm integrate``: two parties, two files, one release (TDS2P)."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli.app import examples_of, group
from ppdm_sql.cli.failures import guarded
from ppdm_sql.cli.output import Debug, Format, OutputFormat, Quiet, notice, print_tables
from ppdm_sql.cli.parameters import PARTIAL, Common, DatabasePath, Given, takes
from ppdm_sql.cli.publishing import Exported, print_release
from ppdm_sql.integrate import TIMEOUT, Credentials, Party, check, transcript_of
from ppdm_sql.integrate import keygen as make_keys
from ppdm_sql.methods.two_party.certificates import TRIAL_DAYS
from ppdm_sql.options import Form, Integrate, Option, Options, ReleaseRequest
from ppdm_sql.release import Release

_SHARED = "--key SSN --class Class --require 'k >= 4 on Sex, Job'"
EXAMPLES = (
    "ppdm integrate keygen trial --name bank-a --name bank-b",
    f"ppdm integrate serve a.duckdb ta {_SHARED} \\\n"
    "    --owns Sex --listen 0.0.0.0:8815 --peer-name bank-b --into both \\\n"
    "    --cert trial/bank-a.pem --private-key trial/bank-a.key --authority trial/authority.pem",
    f"ppdm integrate join b.duckdb people.csv {_SHARED} \\\n"
    "    --types SSN=VARCHAR --owns Job --taxonomy Job=job.csv --into both \\\n"
    "    --peer a.example:8815 --peer-name bank-a \\\n"
    "    --cert trial/bank-b.pem --private-key trial/bank-b.key --authority trial/authority.pem",
    "ppdm integrate transcript a.duckdb both --check b.duckdb",
)


def _epilog(number: int) -> str:
    return examples_of(EXAMPLES[number], "Example")


integrate = group(EXAMPLES)


class RunSettings(Options):
    """What both sides take beside the options of the release."""

    cert: Annotated[Path, "This side's certificate, PEM."]
    private_key: Annotated[Path, "Its key, PEM."]
    authority: Annotated[Path, "Certificate of the authority that signed the partner's, PEM."]
    peer_name: Annotated[str, "The name that the partner's certificate must have.", Option(metavar="NAME")]
    timeout: Annotated[float, "How long to wait for a message of the partner.", Option(metavar="SECONDS")] = (
        TIMEOUT
    )
    transcript: Annotated[Path | None, "Write what is sent, one line of JSON per message."] = None
    accept_partial: Annotated[bool, PARTIAL] = False

    def run(
        self,
        database: Path,
        given: Given,
        common: Common,
        run: Callable[..., Release],
        place: str,
        **more: float | None,
    ) -> None:
        credentials = Credentials.read(self.cert, self.private_key, self.authority)
        with common.using(database, write=True) as db:
            party = Party(db, **given, progress=db.progress)
            more |= {"timeout": self.timeout}
            release = run(party, place, credentials, self.peer_name, transcript=self.transcript, **more)
            print_release(release, database, common, Exported(accept_partial=self.accept_partial))


@integrate.command(epilog=_epilog(1), no_args_is_help=True)
@guarded
@takes(Integrate, lacks=["sql", "attach"], places=())
def serve(
    database: DatabasePath,
    given: Given,
    listen: Annotated[str, "Where to listen.", Option(metavar="HOST:PORT")],
    session: RunSettings,
    common: Common,
    wait: Annotated[
        float | None,
        "How long to wait for the partner; by default indefinitely.",
        Option(metavar="SECONDS"),
    ] = None,
) -> None:
    """Wait for the partner, and publish with it one release of both tables.

    Both sides give the same requirements, class and options. Each must hold a certificate that the
    authority signed, and knows the other by its name. Ctrl-C stops both with the state reached, twice aborts.
    """
    session.run(database, given, common, Party.serve, listen, wait=wait)


@integrate.command(epilog=_epilog(2), no_args_is_help=True)
@guarded
@takes(Integrate, lacks=["sql", "attach"], places=())
def join(
    database: DatabasePath,
    given: Given,
    peer: Annotated[str, "Where the partner listens.", Option(metavar="HOST:PORT")],
    session: RunSettings,
    common: Common,
) -> None:
    """Call the partner that waits, and publish with it one release of both tables.

    Both sides give the same requirements, class and options. Each must hold a certificate that the
    authority signed, and knows the other by its name. Ctrl-C stops both with the state reached, twice aborts.
    """
    session.run(database, given, common, Party.join, peer)


@integrate.command(epilog=_epilog(0), no_args_is_help=True)
@guarded
@takes()
def keygen(
    folder: Annotated[Path, "The folder for the files.", Option(metavar="DIR", flag="")],
    name: Annotated[list[str], Form.texts, "Name of each of the two parties.", Option(metavar="NAME")],
    days: Annotated[int, "Days until the certificates expire.", Option(least=1)] = TRIAL_DAYS,
    force: Annotated[bool, "Replace existing files."] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make an authority and a certificate with its key for each party, for a trial.

    For a trial only: all keys are made in one place, so whoever runs this could speak for both parties. For
    real use, each party makes its own key and has it signed by an authority that both trust.
    """
    for file in make_keys(folder, name, days=days, force=force):
        typer.echo(str(file))
    notice("For a trial only: whoever made these keys can speak for both parties.", quiet=quiet)


@integrate.command(epilog=_epilog(3), no_args_is_help=True)
@guarded
@takes()
def transcript(
    database: DatabasePath,
    asked: ReleaseRequest,
    other: Annotated[
        Path | None,
        "Check the transcript against the partner's file.",
        Option(metavar="OTHER.duckdb", flag="--check"),
    ] = None,
    other_name: Annotated[
        str | None, "Name of the release in that file.", Option(metavar="NAME", flag="--check-name")
    ] = None,
    form: OutputFormat = Format.table,
    debug: Debug = False,
) -> None:
    """List the messages that made a release; or prove from both files that nothing else was sent."""
    with ppdm_sql.open(database, read_only=True) as db:
        if other is None:
            columns = ("message", "round", "direction", "kind", "bytes", "sha256")
            print_tables([("", columns, [entry[:6] for entry in transcript_of(asked.release, db)])], form)
            return
        with ppdm_sql.open(other, read_only=True) as there:
            checked = check(str(asked.release), db, there, other_name)
        print_tables(checked.tables(), form)
        if not checked.holds:
            raise typer.Exit(1)
