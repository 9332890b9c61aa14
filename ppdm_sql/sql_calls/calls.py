"""The methods as calls in SQL: their arguments, what they run, and the rows that they return."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ppdm_sql.database import Database
from ppdm_sql.errors import InvalidOption
from ppdm_sql.options import OPTIONS, Option
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release
from ppdm_sql.sql_calls import rows
from ppdm_sql.sql_calls.arguments import sql_name, value
from ppdm_sql.sql_calls.describing import listed_models, listed_releases, published, report
from ppdm_sql.sql_calls.rows import Columns, Row

Given = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A method as a call.

    Args:
        name: Of the call, without ``ppdm_``, and of the method whose options it takes.
        run: Runs the method with the options, by the names that the method has for them.
        columns: Name and type of each column of what is returned.
        writes: Whether it changes the database.
        takes_progress: Whether the method reports how far it is.
    """

    name: str
    run: Callable[[Database, Given], list[Row]]
    columns: Columns
    writes: bool = True
    takes_progress: bool = False

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


# -- runs -------------------------------------------------------------------------------------


def _publish(method: Callable[..., Release]) -> Callable[[Database, Given], list[Row]]:
    return lambda db, given: [rows.published(method(db, **given))]


def _reconstruct(db: Database, given: Given) -> list[Row]:
    return [
        (found.attribute, found.class_value, *row)
        for found in db.reconstruct(**given).distributions
        for row in found.rows()
    ]


def _evaluate(db: Database, given: Given) -> list[Row]:
    return [tuple(row) for _, _, table in db.evaluate(**given).tables() for row in table]


def _export(db: Database, given: Given) -> list[Row]:
    from ppdm_sql.release.applied import exportable

    release = exportable(db.engine, given.pop("release"))
    release.export(**given)
    return [(release.name, given["path"], release.row().rows)]


def _report(db: Database, given: Given) -> list[Row]:
    return [(report(db, given), given["path"], bool(given.get("public")))]


def _generate_agrawal(db: Database, given: Given) -> list[Row]:
    made = db.generate_agrawal(**given)
    return [(label, records, made.seed) for label, records in made.classes.items()]


def run(call: Call, db: Database, given: str, progress: Progress) -> list[Row]:
    """Run a call with its arguments as a JSON object.

    Raises:
        PpdmError: What the method raises, or an argument cannot be used.
    """
    options = call.options(json.loads(given))
    return call.run(db, options | ({"progress": progress} if call.takes_progress else {}))


# -- the calls --------------------------------------------------------------------------------

CALLS = (
    Call("audit", lambda db, given: rows.audited(db.audit(**given)), rows.AUDITED, writes=False),
    Call("suppress", _publish(Database.suppress), rows.PUBLISHED, takes_progress=True),
    Call("generalize", _publish(Database.generalize), rows.PUBLISHED, takes_progress=True),
    Call("swap", _publish(Database.swap), rows.PUBLISHED, takes_progress=True),
    Call("randomize", _publish(Database.randomize), rows.PUBLISHED, takes_progress=True),
    Call("reconstruct", _reconstruct, rows.DISTRIBUTIONS, takes_progress=True),
    Call("train", lambda db, given: [rows.trained(db.train(**given))], rows.TRAINED, takes_progress=True),
    Call("predict", lambda db, given: rows.predicted(db.predict(**given)), rows.PREDICTED),
    Call("releases", lambda db, _: listed_releases(db), rows.RELEASES, writes=False),
    Call("models", lambda db, _: listed_models(db), rows.MODELS, writes=False),
    Call("show", lambda db, given: rows.shown(published(db, **given)), rows.FACTS, writes=False),
    Call("steps", lambda db, given: rows.steps(db.release(given["release"])), rows.STEPS, writes=False),
    Call(
        "verify",
        lambda db, given: rows.verified(db.release(given["release"]).verify()),
        rows.VERIFIED,
        writes=False,
    ),
    Call("apply", lambda db, given: [rows.applied(db.apply(**given))], rows.APPLIED),
    Call("evaluate", _evaluate, rows.ERRORS, writes=False, takes_progress=True),
    Call(
        "compare",
        lambda db, given: rows.compared(db.compare(**given)),
        rows.COMPARED,
        writes=False,
        takes_progress=True,
    ),
    Call("export", _export, rows.FILES, writes=False),
    Call("report", _report, rows.PAGES, writes=False),
    Call("drop", lambda db, given: [rows.dropped(published(db, **given))], rows.DROPPED),
    Call("generate_agrawal", _generate_agrawal, rows.GENERATED, takes_progress=True),
    Call("install", lambda db, given: rows.installed(db.install(**given)), rows.MACROS),
    Call("uninstall", lambda db, _: rows.uninstalled(db), rows.MACROS),
)
"""All calls, in the order in which users meet them."""
