"""Commands that measure a table, or make tables and models."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ppdm_sql
from ppdm_sql.cli.app import examples_of, group
from ppdm_sql.cli.failures import guarded
from ppdm_sql.cli.output import Format, notice, print_tables, print_tree, shown
from ppdm_sql.cli.parameters import Common, CommonOfSpark, DatabasePath, Given, takes
from ppdm_sql.engine.names import free_name, names_option, option_for
from ppdm_sql.options import (
    AgrawalRequest,
    ApplyRequest,
    AuditRequest,
    Option,
    PredictRequest,
    Reconstruct,
    RiskRequest,
    TrainRequest,
)
from ppdm_sql.privacy import requirement_of
from ppdm_sql.privacy.requirement import said_absent

if TYPE_CHECKING:
    from ppdm_sql.methods.trees.storing import Model


@takes(AuditRequest, without=["groups"])
def audit(
    database: DatabasePath,
    given: Given,
    common: CommonOfSpark,
    show_groups: Annotated[bool, "Print the worst groups with their values."] = False,
    groups: Annotated[int, "How many groups --show-groups prints.", Option(metavar="N", least=1)] = 5,
) -> None:
    r"""A table alone gets a first look at each column, and at the pairs of columns that single out most
    records; --by and --sensitive need no requirement either. A requirement without a limit, such as 'k on
    Sex, Job', is only measured. Exit code 1 if one with a limit does not hold. The table is only read.

    Examples:
    ppdm audit bank.duckdb customers
    ppdm audit bank.duckdb customers --by Job,Country --sensitive Bankruptcy
    ppdm audit bank.duckdb customers --count n \
        --require 'Job, Country -> Bankruptcy = Discharged <= 50%'
    ppdm audit bank.duckdb customers_safe --quasi-identifier Job,Country --format json
    ppdm audit bank.duckdb customers --count n --require 'distinct l of Bankruptcy on Job'
    ppdm audit bank.duckdb policies --confidential Amount --by Age,Gender,Location
    ppdm audit clinic.duckdb visits --person patient --require 'k >= 5 on sex, zip'
    ppdm audit ledger.duckdb shop.customers --spark sc://host:15002 --require 'k >= 5 on age, zip'
    ppdm audit visits.csv --types zip=VARCHAR --require 'k on sex, zip'
    """
    with common.using(database) as db:
        audit = db.audit(**given, groups=groups if show_groups else 0)
    if not common.sql:
        print_tables(audit.tables(), common.form)
        absent = [
            said_absent(sensitive, finding.absent_values)
            for finding in audit.findings
            if finding.absent_values
            for sensitive in requirement_of(finding.requirement).sensitive_columns
        ]
        for text in (*absent, *audit.notices):
            notice(f"Note: {text}")
        raise typer.Exit(0 if audit.holds else 1)


@takes(RiskRequest)
def risk(database: DatabasePath, given: Given, common: Common) -> None:
    r"""Nothing has to be known of quasi-identifiers: all sets of columns are tried, and those that single out
    most records come first. A first ppdm generalize command follows. What is printed holds values of cells:
    it is for the owner. The table is only read.

    Examples:
    ppdm risk bank.duckdb customers
    ppdm risk bank.duckdb customers --by Job,Country,Age --max-size 2
    ppdm risk clinic.duckdb visits --person patient --population 48000
    ppdm risk clinic.duckdb visits --by sex,age,zip --population citizens --threshold 10%
    ppdm risk survey.duckdb answers --weights weight --household household --into answers_scored
    ppdm risk visits.csv --types zip=VARCHAR --format json
    """
    writes = given.get("into") is not None
    with common.using(database, write=writes) as db:
        measured = db.risk(**given)
        names = [table.name for table in db.engine.tables()]
    if common.sql:
        return
    print_tables(measured.tables(), common.form)
    for text in measured.notices:
        common.say(f"Note: {text}")
    if measured.into is not None:
        common.say(f"Made table {measured.into}: keep it to yourself.")
    if measured.requirement is not None:
        common.say(
            "A first release. What nobody else can know, as a diagnosis, may stand in --keep instead of "
            "--require:"
        )
        common.say(f"  {_first_release(database, given, common, measured, names)}")


def _first_release(
    database: Path, given: Given, common: Common, measured: ppdm_sql.TableRisk, names: list[str]
) -> str:
    """Write a command that generalizes what was measured, as it can be run."""
    stem = re.sub(r"\W+", "_", Path(measured.table).name.partition(".")[0]).strip("_") or "table"
    name = free_name(f"{stem}_safe", names)
    words = ["ppdm", "generalize", str(database), given["table"], "--require", str(measured.requirement)]
    words += ["--into", name]
    if str(database) == ":memory:":
        words += ["--export", f"{stem}_safe.csv"]
    for text in common.attach or ():
        words += ["--attach", text]
    if given.get("nulls"):
        words += ["--null", ",".join(given["nulls"])]
    types = [option_for("--types", column, kind) for column, kind in (given.get("types") or {}).items()]
    person = [names_option("--person", given["person"])] if given.get("person") else []
    return " ".join([shlex.join(words), *types, *person])


@takes(ApplyRequest)
def apply(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    r"""The cut keeps no promise for new records by itself, so the requirements are measured on the table.

    Examples:
    ppdm apply bank.duckdb customers_safe new_customers --into new_customers_safe
    ppdm apply bank.duckdb customers_safe new_customers --into new_customers_safe --unseen refuse
    ppdm apply ledger.duckdb customers_safe shop.new --spark sc://host:15002 --into new_safe \
        --to /data/new_safe
    """
    with common.opened(database) as db:
        applied = db.apply(**given)
    if not common.sql:
        print_tables(applied.tables(), common.form)
        _tell_of(applied, common)


def _tell_of(applied: ppdm_sql.Applied, common: Common) -> None:
    """Say on stderr what was made, and where it does not do what the release does."""
    common.say(f"Made table {applied.into}: {applied.rows} rows.")
    if applied.to is not None:
        common.say(f"Wrote {applied.to}: {applied.placed} rows.")
    for finding in applied.findings:
        if not finding.holds:
            notice(f"Warning: {str(finding.requirement)!r} does not hold on {applied.into}.")
    if applied.left_out:
        common.say(f"{applied.left_out} records are in no class of {applied.release}, and are left out.")
    if applied.counts_persons:
        notice(
            f"Warning: The requirements of {applied.release} count persons, and nothing says whose the "
            f"records of {applied.into} are, so none was measured."
        )
        return
    for requirement in applied.unmeasured:
        notice(f"Warning: {str(requirement)!r} names a column that {applied.into} lacks.")


@takes(Reconstruct)
def reconstruct(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    r"""TABLE is a release, or any table or view of distorted values whose noise --noise and --range give.

    Examples:
    ppdm reconstruct bank.duckdb customers_noisy --column salary --into salaries
    ppdm reconstruct bank.duckdb customers_noisy --column salary --column age --by-class rating \
        --intervals 50 --into distributions
    ppdm reconstruct survey.duckdb answers --column salary --noise 'salary=gaussian 2500' \
        --range salary=20000,150000 --into salaries
    """
    with common.opened(database, source=given["table"]) as db:
        reconstruction = db.reconstruct(**given)
    if not common.sql:
        print_tables(reconstruction.tables(), common.form)
        stops = ", ".join(dict.fromkeys(each.stopped for each in reconstruction.distributions))
        rows = len(reconstruction.rows())
        common.say(f"Made table {reconstruction.into}: {rows} rows. Stopped by: {stops}.")


@takes(TrainRequest)
def train(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    r"""TABLE is a release, or any table or view. The model predicts for true values, whatever it was grown
    from.

    Examples:
    ppdm train people.duckdb people_noisy --class class --mode byclass --test people_test --into groups
    ppdm train survey.duckdb answers --class rating --columns salary,age --mode local \
        --noise 'salary=gaussian 2500 on 20000,150000' --noise 'age=uniform 15 on 20,80' --into ratings
    ppdm train people.duckdb people --class class --mode original --intervals 50 --into best
    """
    with common.opened(database, source=given["table"]) as db:
        model = db.train(**given)
        if not common.sql:
            print_model(model, None, common.form)
            _announce(model, database, common)


def _announce(model: Model, database: Path, common: Common) -> None:
    common.say(f"Stored model {model.name}: {len(model.tree().nodes)} nodes.")
    predict = ["ppdm", "predict", str(database), model.name, "TABLE", "--into", f"{model.name}_predicted"]
    for command in (["ppdm", "show", str(database), model.name], predict):
        common.say(f"  {shlex.join(command)}")


def print_model(model: Model, test: str | None, form: Format) -> None:
    """Print description, tree and, for a test table or the one of the training, how often it is right."""
    tables = model.tables(test)
    if form is not Format.table:
        print_tables(tables, form)
        return
    from ppdm_sql.methods.trees.model import words

    tree = model.tree()
    print_tables(tables[:1], form)
    nodes = ((node.depth, shown(words(tree, node)), "" if node.is_leaf else "dim") for node in tree.nodes)
    print_tree("tree", nodes)
    if results := tables[2:]:
        print_tables(results, form)


@takes(PredictRequest)
def predict(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """All columns are copied, or those of --keep. Give true values: a model that was trained on randomized
    values predicts for true ones.

    Examples:
    ppdm predict people.duckdb people_model new_people --into new_classes
    ppdm predict people.duckdb people_model new_people --keep id --column class --into new_classes
    ppdm predict people.duckdb people_model /data/new --spark sc://host:15002 --into new --to /data/classes
    """
    with common.opened(database) as db:
        prediction = db.predict(**given)
    if not common.sql:
        print_tables([("", (prediction.column, "records"), list(prediction.classes.items()))], common.form)
        rows, kind = sum(prediction.classes.values()), "view" if prediction.is_view else "table"
        common.say(f"Made {kind} {prediction.into}: {rows} rows.")
        if prediction.to is not None:
            common.say(f"Wrote {prediction.to}: {rows} rows.")


_GENERATED = (
    "ppdm generate agrawal people.duckdb --function 2 --rows 100000 --into people",
    "ppdm generate agrawal people.duckdb --function 5 --rows 5000 --seed 7 --into people_test",
)
generate = group(_GENERATED)


@generate.callback()
def _generator() -> None:
    """Keep the name of the generator in the command, although there is only one."""


@generate.command(epilog=examples_of("\n".join(_GENERATED)), no_args_is_help=True)
@guarded
@takes(AgrawalRequest)
def agrawal(database: DatabasePath, given: Given, common: Common) -> None:
    """Make a table of persons with nine attributes and a class that a function of them decides.

    The generator of Agrawal, Imielinski and Swami, as Agrawal and Srikant (2000) use it. The file is created
    if it does not exist.
    """
    with common.opened(database, create=True) as db:
        table = db.generate_agrawal(**given)
    if not common.sql:
        print_tables([("", ("class", "records"), list(table.classes.items()))], common.form)
        rows = given["rows"]
        common.say(f"Made table {given['into']}: {rows} records, seed {table.seed}.")
