"""What the commands say about a release."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import typer

from ppdm_sql.audit.printing import LONG
from ppdm_sql.cli.options import Export, Force
from ppdm_sql.cli.output import Format, Titled, notice, print_tables
from ppdm_sql.cli.parameters import Common, Given
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.quiet import on_commit
from ppdm_sql.engine.types import fetchable
from ppdm_sql.errors import InvalidOption, PpdmError
from ppdm_sql.privacy import parse, quote_name
from ppdm_sql.release import CatalogueRow, Measured, Release, ReleasedColumn
from ppdm_sql.release.catalogue import LOCATION, SHAPE
from ppdm_sql.starting import INTERRUPTED_EXIT

MEASURES = ("measure", "before", "after")
STEPS = ("step", "attribute", "parent", "children", "score", "gain", "loss")


@dataclass(frozen=True, kw_only=True)
class Exported:
    """Where a release is written to by the command that makes it."""

    export: Export = None
    force: Force = False

    def check(self, database: Path, source: str, *, shown: bool) -> None:
        """Refuse early what would fail after the run.

        Args:
            database: Where the release is kept.
            source: What is read.
            shown: Whether statements are only shown.

        Raises:
            PpdmError: The file is there, is the source, or cannot be written; or there is none and nothing
                would be kept.
        """
        if self.export is not None:
            if any(os.path.exists(file) and _is_same(file, self.export) for file in (source, *glob(source))):
                raise InvalidOption(
                    f"{self.export} is the file that the release is made from.", "Give --export another file."
                )
            from ppdm_sql.release.exporting import check_export  # most runs write no file

            check_export(self.export, force=self.force)
        elif is_memory(database) and not shown:
            raise InvalidOption(
                "With :memory: nothing is kept, so the release would be lost.",
                "Write it into a file with --export FILE, or name a database file to keep it in.",
            )

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Take the command to be done with the file, not with the commit, where there is a file to write."""
        token = on_commit.set(None) if self.export is not None else None
        try:
            yield
        finally:
            if token is not None:
                on_commit.reset(token)

    def write(self, release: Release, database: Path, common: Common) -> None:
        """Write the file after the release is committed.

        Raises:
            PpdmError: The file cannot be written; where the release is kept, the message says so.
        """
        if self.export is None:
            return
        words = ["ppdm", "export", str(database), release.name, str(self.export)]
        again = shlex.join(words + ["--force"] * self.force)
        kept = "" if is_memory(database) else f"The release {release.name} is kept; export it with: {again}"
        try:
            release.export(self.export, force=self.force)
        except PpdmError as error:
            error.remedy = f"{error.remedy} {kept}".strip()
            raise
        except KeyboardInterrupt:
            if kept:
                notice(kept)
            raise
        notice(f"Wrote {self.export}.{promised(release.row())}", quiet=common.quiet)


def _is_same(one: str, other: Path) -> bool:
    return os.path.exists(other) and os.path.samefile(one, other)


def is_memory(database: Path) -> bool:
    """Tell whether nothing is kept."""
    return str(database) == ":memory:"


def publish(
    method: str,
    database: Path,
    given: Given,
    common: Common,
    exported: Exported,
    *,
    accept_partial: bool = False,
) -> None:
    """Run a method that publishes a release, print its measures, export it, and say what to type next."""
    exported.check(database, given["table"], shown=common.sql)
    with exported.awaited(), common.opened(database, source=given["table"]) as db:
        release: Release = getattr(db, method)(**given, progress=common.progress())
        if not common.sql:
            print_release(
                release,
                database,
                common.form,
                quiet=common.quiet,
                accepted=accept_partial,
                export=lambda: exported.write(release, database, common),
            )


def print_release(
    release: Release,
    database: Path,
    form: Format,
    *,
    quiet: bool,
    accepted: bool,
    export: Callable[[], None] | None = None,
) -> None:
    """Print the measures of a new release, what to type next, and whether its run was stopped early.

    Args:
        release: The release.
        database: Where it is kept.
        form: How tables are printed.
        quiet: Whether to say nothing that is not needed.
        accepted: Whether an early end is success.
        export: Writes the release into a file, before an early end leaves the command.

    Raises:
        typer.Exit: The run was stopped, and that is not accepted.
    """
    row, measures, steps = release.row(), release.measures(), len(release.steps())
    short = short_names(row.requirements) if form is Format.table else {}
    numbered = list(enumerate(row.requirements, start=1)) if short else []
    listed = [("requirements", ("number", "requirement"), numbered)] if short else []
    told = [("notices", ("notice",), [(text,) for text in row.notices])] if row.notices else []
    as_data = told if form in (Format.json, Format.jsonl) else []  # stderr has them for whoever reads
    print_tables([*listed, measures_table(measures, short), *as_data], form)
    _announce(row, database, steps, quiet=quiet)
    if export is not None:
        export()
    if row.stopped == "interrupted":
        _accept_early(measures, steps, accepted=accepted)


def measures_table(measures: Iterable[Measured], short: Mapping[str, str] | None = None) -> Titled:
    """Give what measures were in the source and are in the release, with short names for long ones."""
    rows = [tuple(row) for row in measures]
    for long, number in (short or {}).items():
        rows = [(str(name).replace(long, number), *rest) for name, *rest in rows]
    return "measures", MEASURES, rows


def short_names(requirements: Sequence[str]) -> dict[str, str]:
    """Give the numbers by which long requirements, and long lists of their columns, are called."""
    if all(len(text) <= LONG for text in requirements):
        return {}
    shorter = {text: f"requirement {number}" for number, text in enumerate(requirements, start=1)}
    for text, short in list(shorter.items()):
        columns = ", ".join(map(quote_name, parse(text).attributes))
        if len(columns) > LONG:
            shorter.setdefault(columns, f"the columns of {short}")
    return shorter


def steps_table(release: Release) -> Titled:
    """Give the steps that led to the release."""
    return "steps", STEPS, _rows(release.steps(), STEPS)


def noise_option(item: ReleasedColumn) -> str:
    """Give the option, quoted for the shell, that describes a column's noise to others.

    Example:
        >>> noise_option(ReleasedColumn("age", "randomized", noise="uniform 5 on 17,90 whole rounded"))
        "--noise 'age=uniform 5 on 17,90 whole rounded'"
    """
    from ppdm_sql.methods.perturbation.noise_syntax import written_name  # few releases have noise

    return shlex.join(["--noise", f"{written_name(item.name)}={item.noise}"])


def is_stepwise(row: CatalogueRow) -> bool:
    """Tell whether a release was made step by step."""
    return bool(row.parameters[SHAPE].get("stepwise", True))


def rows_table(title: str, relation: Any, limit: int | None = None) -> Titled:
    """Give the rows of a relation, at most ``limit`` of them."""
    shortened = relation if limit is None else relation.limit(limit)
    if columns := fetchable(zip(relation.columns, relation.types, strict=True)):
        shortened = shortened.project(columns)
    return title, relation.columns, shortened.fetchall()


def _rows(records: Iterable[Any], names: Iterable[str]) -> list[list[Any]]:
    return [[getattr(record, name) for name in names] for record in records]


def _counted(row: CatalogueRow) -> str:
    """Say how many records a release has, and of how many persons where those are counted."""
    persons = row.parameters[SHAPE].get("persons")
    return f"{row.rows} records" + (f" of {persons} persons" if persons is not None else "")


def promised(row: CatalogueRow) -> str:
    """Say what a file of a release holds where its requirements count something else."""
    if row.parameters[SHAPE].get("persons") is None:
        return ""
    return f" It holds {_counted(row)}; the requirements are kept for persons."


def _announce(row: CatalogueRow, database: Path, steps: int, *, quiet: bool) -> None:
    """Say on stderr what was published and what to type next."""
    descent = f", {steps} step{'s' * (steps != 1)}, {row.stopped}" if is_stepwise(row) else ""
    if is_memory(database):
        notice(f"Made {row.release}: {_counted(row)}{descent}.", quiet=quiet)
        return
    notice(f"Published {row.release}: {_counted(row)}{descent}.", quiet=quiet)
    if (location := row.parameters.get(LOCATION)) is not None:
        rows = sum(file[-1] for file in location["files"])
        notice(f"Wrote {location['target']}: {rows} rows.", quiet=quiet)
    notice("Next:", quiet=quiet)
    for command in next_commands(database, row.release):
        notice(f"  {command}", quiet=quiet)


def _accept_early(measures: Iterable[Measured], steps: int, *, accepted: bool) -> None:
    """Say how far a run came that was stopped early; it is not done unless the user accepts that."""
    hidden = [after for name, _, after in measures if name == "suppressed cells"]
    share = f"; {100 * hidden[0]:.4g} % of the masked cells are suppressed" if hidden and hidden[0] else ""
    notice(f"Stopped early, after {steps} steps{share}.")
    if not accepted:
        notice("So the exit code is 130; --accept-partial makes it 0.")
        raise typer.Exit(INTERRUPTED_EXIT)


def next_commands(database: Path, name: str) -> list[str]:
    """Give commands to type next, quoted for the shell."""
    return [
        shlex.join(["ppdm", "show", str(database), name]),
        shlex.join(["ppdm", "export", str(database), name, f"{name}.parquet".replace("/", "_")]),
        shlex.join(["duckdb", str(database), "-c", f"FROM {Table(name)}"]),
    ]
