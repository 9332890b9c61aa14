"""Commands that publish a release, and what they say about it."""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Annotated

import typer

from ppdm_sql.audit.model import LONG
from ppdm_sql.cli.failures import IN_MEMORY, is_memory
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.parameters import PARTIAL, Common, CommonOfSpark, DatabasePath, Given, takes
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.signals import on_commit
from ppdm_sql.errors import InvalidOption, PpdmError
from ppdm_sql.options import CompareRequest, Generalize, Options, RandomizeRequest, Suppress, SwapRequest
from ppdm_sql.privacy import parse, quote_name
from ppdm_sql.release import CatalogueRow, Measured, Release
from ppdm_sql.release.catalogue import LOCATION, SHAPE
from ppdm_sql.results import ResultTable
from ppdm_sql.starting import INTERRUPTED_EXIT


class Exported(Options):
    """Where a release is written to by the command that makes it."""

    export: Annotated[Path | None, "Also write the release there: .parquet, .csv or .duckdb."] = None
    force: Annotated[bool, "Replace the file of --export."] = False
    accept_partial: Annotated[bool, PARTIAL] = False

    def check(self, database: Path, source: str, *, shown: bool) -> None:
        """Refuse early what would fail after the run."""
        if self.export is not None:
            if any(_is_same(file, self.export) for file in (source, *glob(source))):
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
        token = on_commit.set(on_commit.get() if self.export is None else None)
        try:
            yield
        finally:
            on_commit.reset(token)

    def write(self, release: Release, database: Path, common: Common) -> None:
        """Write the file after the release is committed."""
        assert self.export is not None
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
        common.say(f"Wrote {self.export}.{promised(release.row())}")


def _is_same(one: str, other: Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


@takes(Suppress)
def suppress(
    database: DatabasePath,
    given: Given,
    common: CommonOfSpark,
    exported: Exported,
) -> None:
    r"""Sensitive columns, which a template, l or t names, are released as they are, without --keep, and so is
    the class. A column that no option names is not released. Ctrl-C stops the run and publishes the state
    reached.

    Examples:
    ppdm suppress bank.duckdb customers --class Rating --count n --into customers_safe \
        --require 'Job, Country -> Bankruptcy = Discharged <= 50%'
    ppdm suppress bank.duckdb customers --class Rating --count n --into customers_k4 \
        --require 'k >= 4 on Job, Country' --keep Child --suppress-records 1%
    ppdm suppress bank.duckdb customers --count n --into customers_any \
        --require 'k >= 4 on Job, Country'
    ppdm suppress ledger.duckdb shop.customers --spark sc://host:15002 --class Rating \
        --require 'k >= 4 on Job, Country' --into customers_safe --to /data/customers_safe
    """
    run_method("suppress", database, given, common, exported)


@takes(Generalize)
def generalize(
    database: DatabasePath,
    given: Given,
    common: CommonOfSpark,
    exported: Exported,
) -> None:
    r"""The columns of the requirements are masked: by their taxonomy; numbers, dates and times without one by
    intervals that are grown during the run; all others by suppression, as are whole numbers that look like
    codes, unless --range or --min-width says that they are numbers. Sensitive columns, which a template, l or
    t names, are released as they are, without --keep, and so is the class. A column that no option names is
    not released. Ctrl-C stops the run and publishes the state reached.

    Examples:
    ppdm generalize bank.duckdb visits.csv --require 'k >= 5 on sex, age, zip' --keep disease \
        --into visits_any --export visits_any.csv
    ppdm generalize bank.duckdb visits.csv --class disease --require 'k >= 5 on sex, zip' \
        --types zip=VARCHAR --into visits_safe --export visits_safe.csv
    ppdm generalize bank.duckdb customers --class Rating --into customers_k4 \
        --require 'k >= 4 on Job, Age' --taxonomy Job=job.csv --range Age=1,99
    ppdm generalize bank.duckdb customers --class Rating --into customers_k5 --suppress-records 1% \
        --require 'k >= 5 on Job, Country, Age'
    ppdm generalize clinic.duckdb visits.csv --person patient --class readmitted --into visits_safe \
        --require 'k >= 5 on sex, zip' --types zip=VARCHAR --export visits_safe.parquet
    ppdm generalize bank.duckdb visits --class disease --require 'k >= 5 on birth_date, zip' \
        --limit birth_date=40 --min-width 'birth_date=1 month' --weight zip=3 --into visits_even
    ppdm generalize ledger.duckdb shop.visits --spark sc://host:15002 --class disease \
        --require 'k >= 5 on age, zip' --into visits_safe --to shop.visits_safe
    ppdm generalize adult.duckdb adult --class income --into adult_safe --method hce-tdr \
        --require 'k >= 50 on age, education, sex' --condition workclass,race --interval-columns
    """
    run_method("generalize", database, given, common, exported)


@takes(SwapRequest, lacks=["accept_partial"])
def swap(database: DatabasePath, given: Given, common: CommonOfSpark, exported: Exported) -> None:
    r"""Frequencies and what the columns tell of each other are kept as far as possible. A column that no
    option names is not released.

    Examples:
    ppdm swap bank.duckdb policies --confidential Amount --by Age,Gender,Location \
        --proportion 0.5 --into policies_safe
    ppdm swap adult.duckdb adult --confidential occupation,hours --by age,sex,education,country \
        --proportion 0.3 --proportion hours=0.5 --bins hours=0,20,35,45,100 --into adult_safe
    ppdm swap clinic.duckdb stays.csv --person patient --confidential illness --by age,sex \
        --proportion 0.5 --into stays_safe
    """
    run_method("swap", database, given, common, exported)


@takes(RandomizeRequest, lacks=["accept_partial"])
def randomize(database: DatabasePath, given: Given, common: CommonOfSpark, exported: Exported) -> None:
    r"""The release tells what the noise is, so that distributions and classifiers can be recovered from it;
    see ppdm reconstruct and ppdm train. NULL stays NULL. A column that no option names is not released.

    Examples:
    ppdm randomize shop.duckdb customers --noise 'salary=gaussian 100%' --range salary=20000,150000 \
        --noise 'age=uniform 50% rounded' --range age=17,90 --class rating --record id --into noisy
    ppdm randomize shop.duckdb customers --noise 'age=cells 0,20,40,60,120' --noise 'job=retain 0.7' \
        --key-file customers.key --record id --into coarse
    ppdm randomize clinic.duckdb stays.csv --person patient --noise 'age=uniform 30% rounded' \
        --range age=0,120 --keep ward --into stays_noisy
    """
    run_method("randomize", database, given, common, exported)


@takes(CompareRequest)
def compare(database: DatabasePath, given: Given, common: Common) -> None:
    r"""Tries every combination of --k and --method on a table and publishes nothing, unless --keep-best says
    by what the best is chosen; or measures releases that exist. Ctrl-C prints what is done so far.

    Examples:
    ppdm compare bank.duckdb customers --class Rating --qi Job,Country --k 2,5,10 --method tds,hce-tdr
    ppdm compare adult.duckdb adult --class income --qi age,sex,education --k 5,10,50 \
        --taxonomy education=education.csv --page compared.html --keep-best loss --into adult_safe
    ppdm compare bank.duckdb customers_k4 customers_k10 --evaluate --format markdown
    """
    tables = given["tables"]
    given["tables"] = tables if len(tables) > 1 else tables[0]
    if "keep_best" in given and is_memory(database) and not common.sql:
        raise InvalidOption(
            "With :memory: nothing is kept, so what --keep-best publishes would be lost.",
            "Name a database file to keep it in.",
        )
    source = given["tables"] if isinstance(given["tables"], str) else None
    made_for_nothing = common.is_elsewhere(source) and not database.exists()
    with (
        common.opened(database, source=source)
        if "keep_best" in given
        else common.using(IN_MEMORY if made_for_nothing else database)
    ) as db:
        comparison = db.compare(**given)
    if common.sql:
        return
    print_tables(comparison.tables(), common.form)
    if "page" in given:
        common.say(f"Wrote {given['page']}. It is for the owner only.")
    if comparison.best is not None:
        common.say(f"Published {comparison.best.name}.")
        _say_next(database, comparison.best.name, common)
    if comparison.interrupted:
        notice("Interrupted: not all was compared.")
        raise typer.Exit(INTERRUPTED_EXIT)
    if all(row.numbers.records is None for row in comparison.rows):
        raise typer.Exit(1)


def run_method(method: str, database: Path, given: Given, common: Common, exported: Exported) -> None:
    exported.check(database, given["table"], shown=common.sql)
    with exported.awaited(), common.opened(database, source=given["table"]) as db:
        release: Release = getattr(db, method)(**given)
        if not common.sql:
            print_release(release, database, common, exported)


def print_release(release: Release, database: Path, common: Common, exported: Exported) -> None:
    """Print the measures of a new release, what to type next, and whether its run was stopped early."""
    row, measures, steps = release.row(), release.measures(), len(release.steps())
    short = short_names(row.requirements) if common.form is Format.table else {}
    numbered = list(enumerate(row.requirements, start=1)) if short else []
    listed = [("requirements", ("number", "requirement"), numbered)] if short else []
    notices = [("notices", ("notice",), [(text,) for text in row.notices])] if row.notices else []
    # stderr has them for whoever reads
    as_data = notices if common.form in (Format.json, Format.jsonl) else []
    measured = with_short_names(ResultTable("measures", Measured._fields, measures), short)
    print_tables([*listed, measured, *as_data], common.form)
    _announce(row, database, steps, common, exported)
    if exported.export is not None:
        exported.write(release, database, common)
    if row.stopped == "interrupted":
        _accept_early(measures, steps, accepted=exported.accept_partial)


def with_short_names(table: ResultTable, short: Mapping[str, str]) -> ResultTable:
    """Call long requirements, and long lists of their columns, by their numbers at the beginning of rows."""
    rows = table.rows
    for long, number in short.items():
        rows = [(str(name).replace(long, number), *rest) for name, *rest in rows]
    return table._replace(rows=rows)


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


def is_stepwise(row: CatalogueRow) -> bool:
    return bool(row.parameters[SHAPE].get("stepwise", True))


def _counted(row: CatalogueRow) -> str:
    persons = row.parameters[SHAPE].get("persons")
    return f"{row.rows} records" + (f" of {persons} persons" if persons is not None else "")


def promised(row: CatalogueRow) -> str:
    """Say what a file of a release holds where its requirements count something else."""
    if row.parameters[SHAPE].get("persons") is None:
        return ""
    return f" It holds {_counted(row)}; the requirements are kept for persons."


def _announce(row: CatalogueRow, database: Path, steps: int, common: Common, exported: Exported) -> None:
    descent = f", {steps} step{'s' * (steps != 1)}, {row.stopped}" if is_stepwise(row) else ""
    done = "Made" if is_memory(database) else "Published"
    common.say(f"{done} {row.release}: {_counted(row)}{descent}.")
    if is_memory(database):
        return
    if (location := row.parameters.get(LOCATION)) is not None:
        rows = sum(file[-1] for file in location["files"])
        common.say(f"Wrote {location['target']}: {rows} rows.")
    _say_next(database, row.release, common, exported=exported.export is not None)


def _say_next(database: Path, name: str, common: Common, *, exported: bool = False) -> None:
    export = ["ppdm", "export", str(database), name, f"{name}.parquet".replace("/", "_")]
    show, read = ["ppdm", "show", str(database), name], ["duckdb", str(database), "-c", f"FROM {Table(name)}"]
    common.say("Next:")
    for words in (show, read) if exported else (show, export, read):
        common.say(f"  {shlex.join(words)}")


def _accept_early(measures: Iterable[Measured], steps: int, *, accepted: bool) -> None:
    """Say how far a run came that was stopped early; it is not done unless the user accepts that."""
    hidden = [after for name, _, after in measures if name == "suppressed cells"]
    share = f"; {100 * hidden[0]:.4g} % of the masked cells are suppressed" if hidden and hidden[0] else ""
    notice(f"Stopped early, after {steps} step{'s' * (steps != 1)}{share}.")
    if not accepted:
        notice("So the exit code is 130; --accept-partial makes it 0.")
        raise typer.Exit(INTERRUPTED_EXIT)
