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
from ppdm_sql.options import OPTIONS, Option
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release
from ppdm_sql.sql_calls.arguments import sql_name, value

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Call:
    """A method as a call.

    Args:
        name: Of the call, without ``ppdm_``, and of the method whose options it takes.
        run: Runs the method with the options, by the names that the method has for them.
        columns: Name and type of each column of what is returned.
        writes: Whether it changes the database.
    """

    name: str
    run: Callable[[Database, dict[str, Any]], list[Row]]
    columns: tuple[tuple[str, str], ...]
    writes: bool = True

    @property
    def macro(self) -> str:
        """Its name in SQL."""
        return f"ppdm_{self.name}"

    @property
    def arguments(self) -> tuple[Option, ...]:
        """What it takes, in the order in which it may be given without names."""
        return OPTIONS[self.name]

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read the arguments; those that are NULL are left out, so that the method's defaults hold.

        Raises:
            InvalidOption: One is missing or of another form.
            PpdmError: A text cannot be read.
        """
        for option in self.arguments:
            if option.required and given[option.argument] is None:
                raise InvalidOption(
                    f"{self.macro} needs the argument {option.argument}.",
                    f"Give it as {sql_name(option)} := {option.example}.",
                )
        return {
            option.name: value(self.macro, option, given[option.argument])
            for option in self.arguments
            if given[option.argument] is not None
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
PAGES = (("release", "VARCHAR"), ("file", "VARCHAR"), ("public", "BOOLEAN"))
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


def _report(db: Database, options: dict[str, Any]) -> list[Row]:
    release = db.release(options.pop("release"))
    release.report(**options)
    return [(release.name, options["path"], bool(options.get("public")))]


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

CALLS = (
    Call("suppress", _published(Database.suppress), RELEASES),
    Call("generalize", _published(Database.generalize), RELEASES),
    Call("swap", _published(Database.swap), RELEASES),
    Call("randomize", _published(Database.randomize), RELEASES),
    Call("reconstruct", _reconstruct, DISTRIBUTIONS),
    Call("train", _train, MODELS),
    Call("evaluate", _evaluate, ERRORS, writes=False),
    Call("export", _export, FILES, writes=False),
    Call("report", _report, PAGES, writes=False),
    Call("generate_agrawal", _generate_agrawal, GENERATED),
)
"""All calls, in the order in which users meet them."""
