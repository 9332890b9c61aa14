"""Commands on what a file holds: its releases and models."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

import ppdm_sql
from ppdm_sql.cli.output import (
    Branch,
    Debug,
    Format,
    OutputFormat,
    notice,
    print_tables,
    print_tree,
    shown,
)
from ppdm_sql.cli.parameters import SHORT, Common, CommonOfSpark, DatabasePath, Given, takes
from ppdm_sql.cli.publishing import is_stepwise, promised, short_names, with_short_names
from ppdm_sql.engine.types import fetchable
from ppdm_sql.errors import InvalidOption
from ppdm_sql.options import (
    AttackRequest,
    Evaluate,
    ExportRequest,
    ForgetRequest,
    NameRequest,
    Option,
    ReleaseRequest,
    ReportRequest,
    UpdateRequest,
)
from ppdm_sql.release import Release
from ppdm_sql.release.labels import Node
from ppdm_sql.results import ResultTable

WIDE = 12
"""Columns up to which a release is shown whole to a reader."""
COLUMN, NOISE = "column ", "noise "
"""What the names of rows begin with that tell of a column."""


@takes()
def releases(database: DatabasePath, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """Examples:
    ppdm releases bank.duckdb
    ppdm releases bank.duckdb --format jsonl
    """
    with ppdm_sql.open(database, read_only=True) as db:
        from ppdm_sql.sql_calls.describing import listed_releases

        print_tables([listed_releases(db)], form)


@takes()
def models(database: DatabasePath, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """Examples:
    ppdm models people.duckdb
    ppdm models people.duckdb --format jsonl
    """
    with ppdm_sql.open(database, read_only=True) as db:
        from ppdm_sql.sql_calls.describing import listed_models

        print_tables([listed_models(db)], form)


@takes(NameRequest)
def show(
    database: DatabasePath,
    given: Given,
    partitions: Annotated[bool, "Print the groups of equal records with their sizes."] = False,
    step: Annotated[int | None, "The state after this step.", Option(least=0)] = None,
    limit: Annotated[int, "Print at most this many rows, and children of a node.", Option(least=0)] = 20,
    test: Annotated[str | None, "For a model: test it on this table.", Option(metavar="TABLE")] = None,
    everything: Annotated[
        bool, f"Show a release of more than {WIDE} columns whole, too.", Option(flag="--all")
    ] = False,
    form: OutputFormat = Format.table,
    debug: Debug = False,
) -> None:
    """Of a wide release, the table format shows the shape only; --all and the other formats show the rest.
    Of a trained model, show the tree, and how often it is right on a test table.

    Examples:
    ppdm show bank.duckdb customers_safe
    ppdm show bank.duckdb customers_safe --step 2 --partitions
    ppdm show people.duckdb people_model --test people_test
    """
    from ppdm_sql.sql_calls.describing import published

    with ppdm_sql.open(database, read_only=True) as db:
        release = published(db, given["name"])
        if not isinstance(release, Release):
            if partitions or step is not None:
                raise InvalidOption(
                    f"{release.name!r} is a model, not a release.", "Leave --step and --partitions out."
                )
            from ppdm_sql.cli.tables import print_model  # only a model needs it

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
    described, measures, *_ = _tables(release, Format.table)
    became: dict[object, list[str]] = defaultdict(list)
    for what, value in described.rows:
        if what.startswith(COLUMN):
            became[value].append(what.removeprefix(COLUMN))
    together = {said: [(f"{len(names)} columns: {said}", names)] for said, names in became.items()}
    rows = [
        told
        for what, value in described.rows
        for told in (together.pop(value, ()) if what.startswith(COLUMN) else [(what, value)])
        if not what.startswith(NOISE)
    ]
    tables = [described._replace(rows=rows), measures._replace(rows=measures.rows[:limit])]
    print_tables(tables, Format.table)
    notice(f"{len(release.relation().columns)} columns: --all shows each, all measures, the cut and rows.")


def _print_all(release: Release, limit: int, form: Format) -> None:
    tables, rows = _tables(release, form), rows_table("rows", release.relation(), limit)
    if form is not Format.table or all(table.title != "cut" for table in tables):
        print_tables([*tables, rows], form)
        return
    print_tables([*tables[:2], *(table for table in tables if table.title == "versions")], form)
    print_tree("cut", cut_trees(release.cut(), limit))
    print_tables([*tables[3:], rows], form)


def _tables(release: Release, form: Format) -> list[ResultTable]:
    """Give the tables of a release, noise as the option that describes it, long requirements numbered."""
    described, measures, *cut = release.tables()
    short = short_names(release.row().requirements)
    rows = [
        (short.get(value, what) if what == "requirement" else what, _as_option(what, value))
        for what, value in described.rows
    ]
    if form is Format.table:
        measures = with_short_names(measures, short)
    return [described._replace(rows=rows), measures, *cut]


def _as_option(what: str, value: Any) -> Any:
    """Give noise as the option, quoted for the shell, that describes it to others; all else as it is."""
    if not what.startswith(NOISE):
        return value
    from ppdm_sql.methods.perturbation.noise import written_name  # few releases have noise

    return shlex.join(["--noise", f"{written_name(what.removeprefix(NOISE))}={value}"])


def cut_trees(nodes: Sequence[Node], limit: int) -> Iterator[Branch]:
    """Give one tree for each masked column; of the children of a node at most ``limit`` are named."""
    children: dict[tuple[str, int | None], list[Node]] = defaultdict(list)
    for node in nodes:
        children[node.attribute, node.parent].append(node)

    def below(attribute: str, parent: int | None, depth: int) -> Iterator[Branch]:
        found = children.get((attribute, parent), [])
        for node in found[:limit]:
            # a node that is shown although some values below it are too stands for the others
            others = " (all other values)" if node.shown and (attribute, node.node) in children else ""
            yield depth, shown(node.label) + others, "" if node.shown else "dim"
            yield from below(attribute, node.node, depth + 1)
        if len(found) > limit:
            yield depth, f"... and {len(found) - limit} more", "dim"

    for attribute in dict.fromkeys(node.attribute for node in nodes):
        yield 0, shown(attribute), "bold"
        yield from below(attribute, None, 1)


@takes(ReleaseRequest)
def steps(
    database: DatabasePath, given: Given, form: OutputFormat = Format.table, debug: Debug = False
) -> None:
    """Examples:
    ppdm steps bank.duckdb customers_safe
    ppdm steps bank.duckdb customers_safe --format csv
    """
    with ppdm_sql.open(database, read_only=True) as db:
        release = db.release(given["release"])
        tables = release.steps().tables()
        stepwise = is_stepwise(release.row())
    print_tables(tables, form)
    notice(f"Note: {release.name} was not made step by step.", quiet=stepwise)


def rows_table(title: str, relation: Any, limit: int | None = None) -> ResultTable:
    shortened = relation if limit is None else relation.limit(limit)
    if columns := fetchable(zip(relation.columns, relation.types, strict=True)):
        shortened = shortened.project(columns)
    return ResultTable(title, relation.columns, shortened.fetchall())


@takes(ReleaseRequest, lacks=["sql", "quiet"])
def verify(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """A requirement on a population is measured against the table of the population, too. Rows that were
    written to Spark are compared with the release, and their files with those that were written.
    Exit code 1 if a requirement does not hold.

    Examples:
    ppdm verify bank.duckdb customers_safe
    ppdm verify ledger.duckdb customers_safe --spark sc://host:15002
    ppdm verify bank.duckdb customers_safe --attach 'census.duckdb AS census'
    """
    with common.using(database) as db:
        audit = db.release(given["release"]).verify()
    print_tables(audit.tables(), common.form)
    raise typer.Exit(0 if audit.holds else 1)


@takes(Evaluate, lacks=["sql"])
def evaluate(database: DatabasePath, given: Given, common: Common) -> None:
    """A decision tree predicts the class; errors are per cent of the tested records. Needs scikit-learn.

    Examples:
    ppdm evaluate bank.duckdb customers_safe
    ppdm evaluate adult.duckdb adult_safe --test adult_test --seeds 3 --format markdown
    """
    with common.using(database) as db:
        evaluation = db.evaluate(**given)
    print_tables(evaluation.tables(), common.form)


@takes(AttackRequest, lacks=["sql"])
def attack(database: DatabasePath, given: Given, common: Common) -> None:
    """Each row is an attacker: what is known, what is guessed, how often that succeeds, and what the release
    allows. Exit code 1 if a promise is refuted.

    Examples:
    ppdm attack bank.duckdb customers_safe
    ppdm attack bank.duckdb customers_safe --known Job,Age --target Rating --control others
    ppdm attack bank.duckdb customers_safe --beside last_year.parquet --format json
    ppdm attack bank.duckdb customers_safe --record
    """
    with common.using(database, write=given.get("record", False)) as db:
        attacks = db.attack(**given)
    print_tables(attacks.tables(), common.form)
    raise typer.Exit(0 if attacks.holds else 1)


@takes(ExportRequest, lacks=["form", "sql", "attach"])
def export(database: DatabasePath, given: Given, common: Common) -> None:
    """A table that ppdm apply made can be exported, too, if all requirements of the release hold on it.

    Examples:
    ppdm export bank.duckdb customers_safe customers_safe.parquet
    ppdm export bank.duckdb customers_safe customers_safe.csv --formula-safe --force
    """
    with common.using(database) as db:
        from ppdm_sql.sql_calls import describing

        told = promised(describing.export(db, given).row())
    common.say(f"Wrote {given['path']}.{told}")


@takes(ReportRequest, lacks=["form", "sql", "attach"])
def report(database: DatabasePath, given: Given, common: Common) -> None:
    """One HTML file without scripts, which needs no network. Without --public it shows values of the source;
    a model's page always does. Needs the extra ppdm-sql[report].

    Examples:
    ppdm report bank.duckdb customers_safe customers_safe.html
    ppdm report people.duckdb ratings ratings.html
    ppdm report bank.duckdb customers_safe public.html --public --exported customers_safe.parquet
    """
    with common.using(database) as db:
        from ppdm_sql.sql_calls import describing

        describing.report(db, given)
    edition = "It shows nothing but the release." if given.get("public") else "It is for the owner only."
    common.say(f"Wrote {given['path']}. {edition}")


@takes(UpdateRequest, lacks=["sql"])
def update(database: DatabasePath, given: Given, common: Common) -> None:
    """The release must have been made with --updatable. Its new version is what NAME shows from then on;
    NAME_version(n) gives each. Exit code 1 if all new records would have to wait for a later version.

    Examples:
    ppdm update clinic.duckdb visits_safe
    """
    with common.using(database, write=True) as db:
        before = db.release(given["release"]).row().created_at
        release = db.update(**given)
        (versions,) = (table for table in release.tables() if table.title == "versions")
        row = release.row()
    print_tables([versions], common.form)
    if row.created_at != before:
        common.say(f"Published version {versions.rows[-1][0]} of {row.release}: {row.rows:,} records.")


@takes(ForgetRequest, lacks=["sql"])
def forget(database: DatabasePath, given: Given, common: Common) -> None:
    """The tables come first: while one still holds the person, its next version would show them again, so
    that is refused. Exit code 1 if nobody of that name is found, or a release cannot be reached.

    Examples:
    ppdm forget clinic.duckdb --person p17
    ppdm forget clinic.duckdb --person p17 --release visits_safe
    """
    with common.using(database, write=True) as db:
        found = db.forget(**given)
    print_tables(found.tables(), common.form)
    for text in found.notes:
        notice(text)
    raise typer.Exit(1 if found.unreachable else 0)


@takes(NameRequest, lacks=SHORT)
def drop(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """Rows that were written to Spark with --to are removed, too.

    Examples:
    ppdm drop bank.duckdb customers_safe
    ppdm drop bank.duckdb customers_safe --sql
    """
    with common.using(database, write=True) as db:
        from ppdm_sql.sql_calls.describing import published

        release = published(db, given["name"])
        release.drop()
    common.say(f"Dropped {release.name}.")
