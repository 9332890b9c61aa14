"""The methods as calls in SQL: their arguments, what they run, and the rows that they return."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from ppdm_sql.database import Database
from ppdm_sql.errors import InvalidOption
from ppdm_sql.options import OPTIONS, Option
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release
from ppdm_sql.sql_calls import rows
from ppdm_sql.sql_calls.arguments import sql_name, value
from ppdm_sql.sql_calls.arrow import Columns, typed
from ppdm_sql.sql_calls.describing import MODELS, RELEASES, listed_models, listed_releases, published, report
from ppdm_sql.sql_calls.rows import Row

Given = dict[str, Any]

AUDITED = "about, measure, value DOUBLE, holds BOOLEAN, note"
PUBLISHED = "release, method, rows BIGINT, verdict, measures VARCHAR[]"
TRAINED = "model, mode, rows BIGINT, leaves BIGINT, accuracy DOUBLE"
DISTRIBUTIONS = "attribute, class, lower DOUBLE, upper DOUBLE, value, probability DOUBLE, records DOUBLE"
STEPS = "step BIGINT, attribute, parent, children VARCHAR[], score DOUBLE, gain DOUBLE, loss DOUBLE"
ERRORS = "error, of, per_cent DOUBLE, deviation DOUBLE, lowest DOUBLE, highest DOUBLE"
COMPARED = (
    "name, method, requirements VARCHAR[], records BIGINT, smallest_class BIGINT, highest_risk DOUBLE,"
    " average_risk DOUBLE, confidence DOUBLE, detail_lost DOUBLE, error DOUBLE, left_out BIGINT,"
    " seconds DOUBLE, frontier BOOLEAN, problem"
)


@dataclass(frozen=True)
class Call:
    """A method as a call.

    Args:
        name: Of the call, without ``ppdm_``, and of the method whose options it takes.
        run: Runs the method with the options, by the names that the method has for them.
        gives: The columns of what is returned: each its name, then its type where that is not VARCHAR.
        writes: Whether it changes the database.
        takes_progress: Whether the method reports how far it is.
    """

    name: str
    run: Callable[[Database, Given], list[Row]]
    gives: str
    writes: bool = True
    takes_progress: bool = False

    @property
    def macro(self) -> str:
        """Its name in SQL."""
        return f"ppdm_{self.name}"

    @property
    def columns(self) -> Columns:
        """Name and type of each column of what is returned."""
        return typed(self.gives)

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


def _steps(db: Database, given: Given) -> list[Row]:
    return [astuple(step) for step in db.release(given["release"]).steps()]


def _install(db: Database, given: Given) -> list[Row]:
    made = db.install(**given)
    return [(macro, made.version) for macro in made.macros]


def run(call: Call, db: Database, given: str, progress: Progress) -> list[Row]:
    """Run a call with its arguments as a JSON object.

    Raises:
        PpdmError: What the method raises, or an argument cannot be used.
    """
    options = call.options(json.loads(given))
    return call.run(db, options | ({"progress": progress} if call.takes_progress else {}))


# -- the calls --------------------------------------------------------------------------------

CALLS = (
    Call("audit", lambda db, given: rows.audited(db.audit(**given)), AUDITED, writes=False),
    Call("suppress", _publish(Database.suppress), PUBLISHED, takes_progress=True),
    Call("generalize", _publish(Database.generalize), PUBLISHED, takes_progress=True),
    Call("swap", _publish(Database.swap), PUBLISHED, takes_progress=True),
    Call("randomize", _publish(Database.randomize), PUBLISHED, takes_progress=True),
    Call("reconstruct", _reconstruct, DISTRIBUTIONS, takes_progress=True),
    Call("train", lambda db, given: [rows.trained(db.train(**given))], TRAINED, takes_progress=True),
    Call(
        "predict",
        lambda db, given: list(db.predict(**given).classes.items()),
        "predicted, records BIGINT",
    ),
    Call("releases", lambda db, _: listed_releases(db), RELEASES, writes=False),
    Call("models", lambda db, _: listed_models(db), MODELS, writes=False),
    Call("show", lambda db, given: rows.shown(published(db, **given)), "what, value", writes=False),
    Call("steps", _steps, STEPS, writes=False),
    Call(
        "verify",
        lambda db, given: rows.verified(db.release(given["release"]).verify()),
        "check, holds BOOLEAN, reached DOUBLE, limit DOUBLE",
        writes=False,
    ),
    Call(
        "apply",
        lambda db, given: [rows.applied(db.apply(**given))],
        "made, rows BIGINT, unseen BIGINT, verdict",
    ),
    Call("evaluate", _evaluate, ERRORS, writes=False, takes_progress=True),
    Call(
        "compare",
        lambda db, given: rows.compared(db.compare(**given)),
        COMPARED,
        writes=False,
        takes_progress=True,
    ),
    Call("export", _export, "release, file, rows BIGINT", writes=False),
    Call("report", _report, "release, file, public BOOLEAN", writes=False),
    Call("drop", lambda db, given: [rows.dropped(published(db, **given))], "dropped, kind"),
    Call("generate_agrawal", _generate_agrawal, "class, records BIGINT, seed BIGINT", takes_progress=True),
    Call("install", _install, "macro, version"),
    Call("uninstall", lambda db, _: [(macro, None) for macro in db.uninstall()], "macro, version"),
)
"""All calls, in the order in which users meet them."""
