"""``ppdm integrate``: two parties, two files, one release (TDS2P)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.failures import Command
from ppdm_sql.cli.options import DatabasePath, OutputFormat, ReleaseName, TableName
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.published import accept_early, announce, measures_table
from ppdm_sql.errors import InvalidOption
from ppdm_sql.integrate import TIMEOUT, Credentials, Party, check, transcript_of
from ppdm_sql.integrate import keygen as make_keys
from ppdm_sql.methods.two_party.certificates import TRIAL_DAYS
from ppdm_sql.release import Release

_SHARED = "--key SSN --class Class --require 'k >= 4 on Sex, Job'"
EXAMPLES = (
    "ppdm integrate keygen trial --name bank-a --name bank-b",
    f"ppdm integrate serve a.duckdb ta {_SHARED} \\\n"
    "    --owns Sex --listen 0.0.0.0:8815 --peer-name bank-b --into both \\\n"
    "    --cert trial/bank-a.pem --private-key trial/bank-a.key --authority trial/authority.pem",
    f"ppdm integrate join b.duckdb tb {_SHARED} \\\n"
    "    --owns Job --taxonomy Job=job.csv --peer a.example:8815 --peer-name bank-a --into both \\\n"
    "    --cert trial/bank-b.pem --private-key trial/bank-b.key --authority trial/authority.pem",
    "ppdm integrate transcript a.duckdb both --check b.duckdb",
)


def _epilog(number: int) -> str:
    return "\b\nExample:\n  " + EXAMPLES[number].replace("\n", "\n  ")


group = typer.Typer(
    help="Integrate the tables of two parties into one release; neither sees the other's table (TDS2P).",
    epilog="\b\nExamples:\n  " + "\n".join(EXAMPLES).replace("\n", "\n  "),
    no_args_is_help=True,
    rich_markup_mode=None,
)

Require = Annotated[
    list[str],
    typer.Option(
        "--require", "-r", metavar="TEXT", help="What must hold; the same on both sides; repeatable."
    ),
]
ClassColumn = Annotated[
    str, typer.Option("--class", metavar="COLUMN", help="What a miner will predict; both tables have it.")
]
Key = Annotated[
    str, typer.Option("--key", metavar="A,B", help="What names a person in both tables; not released.")
]
Owns = Annotated[
    str, typer.Option("--owns", metavar="A,B", help="Columns of this table that the release may show.")
]
Into = Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the release, in this file.")]
Certificate = Annotated[
    Path, typer.Option("--cert", metavar="FILE", help="This side's certificate, PEM.", show_default=False)
]
PrivateKey = Annotated[
    Path, typer.Option("--private-key", metavar="FILE", help="Its key, PEM.", show_default=False)
]
Authority = Annotated[
    Path,
    typer.Option(
        "--authority",
        metavar="FILE",
        help="Certificate of who signed the partner's, PEM.",
        show_default=False,
    ),
]
PeerName = Annotated[
    str,
    typer.Option("--peer-name", metavar="NAME", help="The name that the partner's certificate must have."),
]
Taxonomies = Annotated[
    list[str] | None,
    typer.Option("--taxonomy", metavar="COL=FILE", help="An own column's taxonomy; repeatable."),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option("--range", metavar="COL=1,99", help="An own grown column's range; repeatable."),
]
Suppress = Annotated[
    str | None, typer.Option("--suppress", metavar="A,B", help="Own columns to suppress, not to grow.")
]
Match = Annotated[
    str, typer.Option("--match", metavar="plain|hashed", help="How keys are compared where records differ.")
]
Secret = Annotated[
    Path | None, typer.Option("--secret", metavar="FILE", help="For hashed: what both hold and nobody else.")
]
Intersect = Annotated[
    bool, typer.Option("--intersect", help="Use the common records, if the partner says so too.")
]
ScoreBits = Annotated[
    int | None,
    typer.Option("--score-bits", min=1, metavar="N", help="Tell scores in so many bits only, such as 8."),
]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", min=0, help="Stop after so many steps.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="That the partner may take for a message.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that broke off; on both sides.")]
TranscriptFile = Annotated[
    Path | None,
    typer.Option("--transcript", metavar="FILE", help="Write what crosses, a line of JSON a message."),
]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Name the own values that a taxonomy lacks.")]


@group.command(cls=Command, epilog=_epilog(1), no_args_is_help=True)
def serve(
    database: DatabasePath,
    table: TableName,
    require: Require,
    class_column: ClassColumn,
    key: Key,
    owns: Owns,
    into: Into,
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Where to wait.")],
    cert: Certificate,
    private_key: PrivateKey,
    authority: Authority,
    peer_name: PeerName,
    taxonomy: Taxonomies = None,
    ranges: Ranges = None,
    suppress: Suppress = None,
    match: Match = "plain",
    secret: Secret = None,
    intersect: Intersect = False,
    score_bits: ScoreBits = None,
    max_steps: MaxSteps = None,
    accept_partial: options.AcceptPartial = False,
    symbol: options.Symbol = "*",
    allow_absent: options.AllowAbsent = False,
    show_values: ShowValues = False,
    timeout: Timeout = TIMEOUT,
    wait: Annotated[
        float | None,
        typer.Option("--wait", metavar="SECONDS", help="For the partner to join; else for ever."),
    ] = None,
    resume: Resume = False,
    transcript: TranscriptFile = None,
    form: OutputFormat = Format.table,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Wait for the partner, and publish with it one release of both tables.

    Both sides give the same requirements, class and options. Each must hold a certificate that the
    authority signed, and knows the other by its name. Ctrl-C stops both with the state reached, twice aborts.
    """
    given = dict(locals())
    credentials = Credentials.read(cert, private_key, authority)

    def run(party: Party) -> Release:
        return party.serve(
            listen, credentials, peer_name, timeout=timeout, wait=wait, resume=resume, transcript=transcript
        )

    _integrate(given, run)


@group.command(cls=Command, epilog=_epilog(2), no_args_is_help=True)
def join(
    database: DatabasePath,
    table: TableName,
    require: Require,
    class_column: ClassColumn,
    key: Key,
    owns: Owns,
    into: Into,
    peer: Annotated[str, typer.Option("--peer", metavar="HOST:PORT", help="Where the partner waits.")],
    cert: Certificate,
    private_key: PrivateKey,
    authority: Authority,
    peer_name: PeerName,
    taxonomy: Taxonomies = None,
    ranges: Ranges = None,
    suppress: Suppress = None,
    match: Match = "plain",
    secret: Secret = None,
    intersect: Intersect = False,
    score_bits: ScoreBits = None,
    max_steps: MaxSteps = None,
    accept_partial: options.AcceptPartial = False,
    symbol: options.Symbol = "*",
    allow_absent: options.AllowAbsent = False,
    show_values: ShowValues = False,
    timeout: Timeout = TIMEOUT,
    resume: Resume = False,
    transcript: TranscriptFile = None,
    form: OutputFormat = Format.table,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Call the partner that waits, and publish with it one release of both tables.

    Both sides give the same requirements, class and options. Each must hold a certificate that the
    authority signed, and knows the other by its name. Ctrl-C stops both with the state reached, twice aborts.
    """
    given = dict(locals())
    credentials = Credentials.read(cert, private_key, authority)

    def run(party: Party) -> Release:
        return party.join(peer, credentials, peer_name, timeout=timeout, resume=resume, transcript=transcript)

    _integrate(given, run)


@group.command(cls=Command, epilog=_epilog(0), no_args_is_help=True)
def keygen(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.", show_default=False)],
    name: Annotated[list[str], typer.Option("--name", metavar="NAME", help="Of a party; give two.")],
    days: Annotated[int, typer.Option("--days", min=1, help="How long they are valid.")] = TRIAL_DAYS,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Make an authority and a certificate with its key for each party, for a trial.

    For a trial only: all keys are made in one place, so whoever runs this could speak for both parties. In
    earnest each party makes its own key and has an authority of your choice sign it.
    """
    for file in make_keys(folder, name, days=days, force=force):
        typer.echo(str(file))
    notice("For a trial only: who made these keys can speak for both parties.", quiet=quiet)


@group.command(cls=Command, epilog=_epilog(3), no_args_is_help=True)
def transcript(
    database: DatabasePath,
    release: ReleaseName,
    other: Annotated[
        Path | None,
        typer.Option("--check", metavar="OTHER.duckdb", help="Check it against the partner's file."),
    ] = None,
    other_name: Annotated[
        str | None, typer.Option("--check-name", metavar="NAME", help="The release's name there.")
    ] = None,
    form: OutputFormat = Format.table,
    debug: options.Debug = False,
) -> None:
    """List the messages that made a release; or prove from both files that nothing else was told."""
    with ppdm_sql.open(database, read_only=True) as db:
        if other is None:
            print_tables([("", *_listed(db, release))], form)
            return
        with ppdm_sql.open(other, read_only=True) as there:
            checked = check(release, db, there, other_name)
        print_tables(checked.tables(), form)
        if not checked.holds:
            raise typer.Exit(1)


COLUMNS = ("message", "round", "direction", "kind", "bytes", "sha256")


def _listed(db: ppdm_sql.Database, release: str) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    return COLUMNS, [entry[:6] for entry in transcript_of(release, db)]


# -- what serve and join share ---------------------------------------------------------------------


def _integrate(given: dict[str, Any], run: Callable[[Party], Release]) -> None:
    """Open the file, run the protocol and print what the release is."""
    secret = _secret(given["secret"])
    limits = {name: given[name] for name in ("threads", "memory_limit")}
    with ppdm_sql.open(given["database"], **limits) as db:
        party = Party(
            db,
            given["table"],
            given["require"],
            class_column=given["class_column"],
            key=options.names(given["key"]),
            owns=options.names(given["owns"]),
            into=given["into"],
            taxonomies=dict(options.assignment("--taxonomy", text) for text in given["taxonomy"] or ()),
            ranges=dict(options.range_of(text) for text in given["ranges"] or ()),
            suppress=options.names(given["suppress"]),
            symbol=given["symbol"],
            secret=secret,
            progress=progress(quiet=given["quiet"]),
            match=given["match"],
            intersect=given["intersect"],
            score_bits=given["score_bits"],
            max_steps=given["max_steps"],
            show_values=given["show_values"],
            allow_absent=given["allow_absent"],
        )
        release = run(party)
        print_tables([measures_table(release)], given["form"])
        announce(release, given["database"], quiet=given["quiet"])
        accept_early(release, accepted=given["accept_partial"])


def _secret(path: Path | None) -> bytes | None:
    """Read the secret; white space around it, such as the end of the line, is no part of it."""
    if path is None:
        return None
    try:
        return path.read_bytes().strip()
    except OSError:
        raise InvalidOption(f"The file {path} of --secret cannot be read.", "Check the path.") from None
