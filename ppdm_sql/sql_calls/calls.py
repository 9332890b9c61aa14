"""The methods as calls in SQL: their arguments, what they run, and the row that they return."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ppdm_sql.database import Database
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.distributions import Reconstruction
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release
from ppdm_sql.sql_calls import arguments as form
from ppdm_sql.sql_calls.arguments import Argument

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Call:
    """A method as a call.

    Args:
        name: Of the call, without ``ppdm_``.
        arguments: In the order in which they may be given without their names.
        run: Runs the method with the arguments, by the names that the method has for them.
        columns: Name and type of each column of what is returned.
        writes: Whether it changes the database.
    """

    name: str
    arguments: tuple[Argument, ...]
    run: Callable[[Database, dict[str, Any]], list[Row]]
    columns: tuple[tuple[str, str], ...]
    writes: bool = True

    @property
    def macro(self) -> str:
        """Its name in SQL."""
        return f"ppdm_{self.name}"

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read the arguments; those that are NULL are left out, so that the method's defaults hold.

        Raises:
            InvalidOption: One is missing or of another form.
            PpdmError: A text cannot be read.
        """
        for argument in self.arguments:
            if argument.required and given[argument.name] is None:
                raise InvalidOption(
                    f"{self.macro} needs the argument {argument.name}.",
                    f"Give it as {argument.sql_name} := {argument.form}.",
                )
        return {
            argument.option or argument.name: argument.value(self.macro, given[argument.name])
            for argument in self.arguments
            if given[argument.name] is not None
        }


RELEASES = (
    ("release", "VARCHAR"),
    ("method", "VARCHAR"),
    ("source", "VARCHAR"),
    ("requirements", "VARCHAR[]"),
    ("parameters", "VARCHAR"),
    ("rows", "BIGINT"),
    ("verified", "BOOLEAN"),
    ("stopped", "VARCHAR"),
    ("created_at", "TIMESTAMP"),
    ("version", "VARCHAR"),
)
MODELS = (
    ("model", "VARCHAR"),
    ("mode", "VARCHAR"),
    ("source", "VARCHAR"),
    ("class", "VARCHAR"),
    ("classes", "VARCHAR[]"),
    ("rows", "BIGINT"),
    ("parameters", "VARCHAR"),
    ("test", "VARCHAR"),
    ("confusion", "BIGINT[][]"),
    ("created_at", "TIMESTAMP"),
    ("version", "VARCHAR"),
)
DISTRIBUTIONS = (
    ("attribute", "VARCHAR"),
    ("class", "VARCHAR"),
    ("lower", "DOUBLE"),
    ("upper", "DOUBLE"),
    ("value", "VARCHAR"),
    ("probability", "DOUBLE"),
    ("records", "DOUBLE"),
)
ERRORS = (
    ("error", "VARCHAR"),
    ("of", "VARCHAR"),
    ("per_cent", "DOUBLE"),
    ("deviation", "DOUBLE"),
    ("lowest", "DOUBLE"),
    ("highest", "DOUBLE"),
)
FILES = (("release", "VARCHAR"), ("file", "VARCHAR"), ("rows", "BIGINT"))
GENERATED = (("class", "VARCHAR"), ("records", "BIGINT"), ("seed", "BIGINT"))


# -- runs -------------------------------------------------------------------------------------


def _published(method: Callable[..., Release]) -> Callable[[Database, dict[str, Any]], list[Row]]:
    return lambda db, options: [_catalogue_row(method(db, **options).row())]


def _train(db: Database, options: dict[str, Any]) -> list[Row]:
    model: Model = db.train(**options)
    return [_catalogue_row(model.row())]


def _catalogue_row(row: Any) -> Row:
    """Give a row of the catalogue as it stands there."""
    return tuple(_stored(getattr(row, field.name)) for field in fields(row))


def _stored(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def _reconstruct(db: Database, options: dict[str, Any]) -> list[Row]:
    done: Reconstruction = db.reconstruct(**options)
    return [
        (found.attribute, found.class_value, *row) for found in done.distributions for row in found.rows()
    ]


def _evaluate(db: Database, options: dict[str, Any]) -> list[Row]:
    return [tuple(row) for _, _, rows in db.evaluate(**options).tables() for row in rows]


def _export(db: Database, options: dict[str, Any]) -> list[Row]:
    release = db.release(options.pop("release"))
    release.export(**options)
    return [(release.name, options["path"], release.row().rows)]


def _generate_agrawal(db: Database, options: dict[str, Any]) -> list[Row]:
    made = db.generate_agrawal(**options)
    return [(label, records, made.seed) for label, records in made.classes.items()]


def run(call: Call, db: Database, given: str, progress: Progress) -> list[Row]:
    """Run a call with its arguments as a JSON object.

    Raises:
        PpdmError: What the method raises, or an argument cannot be used.
    """
    options = call.options(json.loads(given))
    return call.run(db, options | {"progress": progress})


# -- the calls --------------------------------------------------------------------------------

_TABLE = Argument("tbl", form.text, "'customers'", "table", required=True)
_INTO = Argument("into", form.text, "'customers_safe'", required=True)
_REQUIRE = Argument("require", form.texts, "['k >= 4 on Job, Country']", required=True)
_CLASS = Argument("class", form.text, "'Rating'", "class_column", required=True)
_ANY_CLASS = Argument("class", form.text, "'Rating'", "class_column")
_COUNT = Argument("count", form.text, "'n'", "count_column")
_KEEP = Argument("keep", form.names, "['Child']")
_IDENTIFIER = Argument("identifier", form.identifiers, "{'name': 'drop', 'id': 'pseudonym'}", "identifiers")
_MAX_STEPS = Argument("max_steps", form.whole, "10")
_ALLOW_ABSENT = Argument("allow_absent", form.flag, "true")
_SYMBOL = Argument("symbol", form.text, "'?'")
_RANGE = Argument("range", form.ranges, "{'age': [1, 99]}", "ranges")
_NOISE = Argument("noise", form.noises, "{'salary': 'gaussian 100%'}")
_SEED = Argument("seed", form.whole, "1")
_METHOD = Argument("method", form.text, "'tds'")
_INTERVALS = Argument("intervals", form.whole, "50")
_TEST = Argument("test", form.text, "'people_test'")
_RELEASE = Argument("release", form.text, "'customers_safe'", required=True)

CALLS = (
    Call(
        "suppress",
        (_TABLE, _INTO, _REQUIRE, _CLASS, _COUNT, _KEEP, _IDENTIFIER, _MAX_STEPS, _SYMBOL, _ALLOW_ABSENT),
        _published(Database.suppress),
        RELEASES,
    ),
    Call(
        "generalize",
        (
            *(_TABLE, _INTO, _REQUIRE, _CLASS, _METHOD),
            Argument("taxonomy", form.taxonomies, "{'job': 'job.csv'}", "taxonomies"),
            _RANGE,
            Argument("condition", form.names, "['workclass']"),
            Argument("suppress", form.names, "['zip']"),
            *(_COUNT, _KEEP, _IDENTIFIER),
            Argument("interval_columns", form.flag, "true"),
            Argument("show_values", form.flag, "true"),
            *(_MAX_STEPS, _SYMBOL, _ALLOW_ABSENT),
        ),
        _published(Database.generalize),
        RELEASES,
    ),
    Call(
        "swap",
        (
            *(_TABLE, _INTO),
            Argument("confidential", form.names, "['Amount']", required=True),
            Argument("by", form.names, "['Age', 'Gender']", required=True),
            Argument("proportion", form.shares, "0.5", required=True),
            Argument("method", form.text, "'exact'"),
            Argument("phase1", form.text, "'joint'"),
            Argument("per_group", form.share, "'50%'"),
            Argument("share", form.bounds, "[0.4, 0.6]"),
            Argument("blur", form.number, "0.1"),
            Argument("smoothing", form.number, "1"),
            Argument("bins", form.bins, "{'hours': [0, 20, 40, 99]}"),
            *(_SEED, _ANY_CLASS, _COUNT, _KEEP, _IDENTIFIER),
        ),
        _published(Database.swap),
        RELEASES,
    ),
    Call(
        "randomize",
        (
            *(_TABLE, _INTO),
            Argument("noise", form.noises, "{'salary': 'gaussian 100%'}", required=True),
            *(_RANGE, _ANY_CLASS, _KEEP, _IDENTIFIER),
            Argument("record", form.text, "'id'"),
            Argument("key_file", form.text, "'customers.key'"),
            _SEED,
            Argument("correlated", form.flag, "true"),
        ),
        _published(Database.randomize),
        RELEASES,
    ),
    Call(
        "reconstruct",
        (
            *(_TABLE, _INTO),
            Argument("columns", form.names, "['salary']"),
            Argument("by_class", form.text, "'rating'"),
            *(_INTERVALS, _NOISE, _RANGE),
            Argument("kernel", form.text, "'cell'"),
            Argument("categorical", form.text, "'bayes'"),
            Argument("fraction", form.number, "0.01"),
            Argument("max_iterations", form.whole, "10000"),
        ),
        _reconstruct,
        DISTRIBUTIONS,
    ),
    Call(
        "train",
        (
            *(_TABLE, _INTO, _CLASS),
            Argument("mode", form.text, "'byclass'"),
            Argument("columns", form.names, "['age', 'salary']"),
            _INTERVALS,
            Argument("max_depth", form.whole, "10"),
            Argument("min_split", form.whole, "20"),
            Argument("prune", form.flag, "false"),
            *(_NOISE, _RANGE, _TEST),
        ),
        _train,
        MODELS,
    ),
    Call(
        "evaluate",
        (
            *(_RELEASE, _TEST),
            Argument("folds", form.whole, "10"),
            Argument("seeds", form.whole, "5"),
            Argument("sample", form.whole, "200000"),
        ),
        _evaluate,
        ERRORS,
        writes=False,
    ),
    Call(
        "export",
        (
            _RELEASE,
            Argument("file", form.text, "'customers_safe.parquet'", "path", required=True),
            Argument("force", form.flag, "true"),
            Argument("format", form.text, "'parquet'"),
            Argument("formula_safe", form.flag, "true"),
        ),
        _export,
        FILES,
        writes=False,
    ),
    Call(
        "generate_agrawal",
        (
            _INTO,
            Argument("function", form.whole, "2", required=True),
            Argument("rows", form.whole, "10000", required=True),
            _SEED,
            Argument("balanced", form.flag, "false"),
        ),
        _generate_agrawal,
        GENERATED,
    ),
)
"""All calls, in the order in which users meet them."""
