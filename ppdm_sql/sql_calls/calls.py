"""The methods as calls in SQL: what users write, the arguments, what they run, and errors in words of SQL."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from ppdm_sql.database import Database
from ppdm_sql.errors import InvalidOption, PpdmError
from ppdm_sql.options import DECODERS, OPTIONS, Form, Option
from ppdm_sql.progress import Heard, Progress
from ppdm_sql.release import Release
from ppdm_sql.sql_calls.describing import (
    MODELS,
    RELEASES,
    Columns,
    Row,
    applied,
    at_risk,
    audited,
    compared,
    dropped,
    export,
    listed_models,
    listed_releases,
    published,
    report,
    shown,
    summarized,
    trained,
    typed,
    verified,
)

RESERVED = ("column", "into", "limit", "to")
"""Names of arguments that are reserved words of SQL, which stand in quotes."""


def sql_name(option: Option) -> str:
    return f'"{option.argument}"' if option.argument in RESERVED else option.argument


def value(call: str, option: Option, given: object) -> Any:
    """Turn the value of an argument, as JSON has it, into what the method takes."""
    try:
        return DECODERS[option.form].read(given)
    except PpdmError:
        raise
    except (ValueError, TypeError, ZeroDivisionError):
        raise InvalidOption(
            f"The argument {option.argument} of {call} cannot be used.",
            f"Write it as {sql_name(option)} := {option.example} ({option.form.value}).",
        ) from None


# -- what users write, and what they are told -------------------------------------------------

_TEXT = r"""[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
_LITERAL = rf"""{_TEXT}|"(?:""|[^"])*"|--[^\n]*|/\*.*?\*/"""
_LITERALS = re.compile(_LITERAL, re.DOTALL)
_NAMED = re.compile(
    rf"{_LITERAL}|(?P<name>\b(?:{'|'.join(RESERVED)}))(?=\s*(?::=|=>))", re.DOTALL | re.IGNORECASE
)
_OPEN = re.compile(r"'|\"|/\*|\$\w*\$")


def with_quoted_arguments(sql: str) -> str:
    """Put ``into`` and other words that SQL reserves in quotes where they name an argument."""
    return _NAMED.sub(lambda found: f'"{found["name"].lower()}"' if found["name"] else found[0], sql)


def is_complete(sql: str) -> bool:
    """Tell whether a text ends a statement: with a semicolon that is in no literal and no comment."""
    rest = _LITERALS.sub(" ", sql).rstrip()
    return rest.endswith(";") and not _OPEN.search(rest)


_FLAG = re.compile(
    r"(--[a-z][a-z-]*)"
    r"(?:(?<=give --null) ('[^']*'|\S*[^\s.,;])|(?<=give --person) ([a-z]\w*)"
    r"| ([A-Z]\w*(?:,\w+)*)(?=[.,;]? |[.,;]?$)| ('[^'=]*=[^']*'|\w+=\S*[^\s.,;]))?"
)
"""An option, and what stands behind it: texts, a person's column, columns as an example, a column's value."""
_CALLED = "|".join(name.replace("_", " ") for name in OPTIONS if name != "integrate")
_COMMAND = re.compile(rf"\bppdm ({_CALLED})\b")


def macro_of(name: str) -> str:
    """Give the name in SQL of a method; ``ppdm_risk`` is an audit macro."""
    return "ppdm_table_risk" if name == "risk" else f"ppdm_{name}"


def worded(text: str, arguments: Iterable[Option]) -> str:
    """Write the arguments of a call in the place of the options of its command.

    Example:
        >>> print(worded("Leave --person out, or give --types 'a b=DATE %d.%m'.", OPTIONS["generalize"]))
        Leave person out, or give types := {'a b': 'DATE %d.%m'}.
        >>> print(worded("If so, give --null N/A,k or give --range age=LOW,HIGH.", OPTIONS["generalize"]))
        If so, give nulls := ['N/A', 'k'] or give range := {'age': [LOW,HIGH]}.
    """
    known = {flag: option for option in arguments for flag in option.flags.split("/")}

    def argument(found: re.Match[str]) -> str:
        flag, texts, person, columns, pair = found.groups()
        if flag not in known:
            return found[0]
        name, form = sql_name(known[flag]), known[flag].form
        if pair:
            of, _, value = pair.strip("'").rpartition("=")
            given = f"[{value}]" if form is Form.ranges else repr(value)
            return f"{name} := {{{of!r}: {given}}}"
        if listed := texts or person or (columns if form is Form.names else None):
            names = listed.strip("'").split(",")
            return f"{name} := {names}"
        return name if columns is None else f"{name} {columns}"

    text = _FLAG.sub(argument, text)
    return _COMMAND.sub(lambda found: macro_of(found[1].replace(" ", "_")), text)


def in_sql(error: PpdmError, arguments: Iterable[Option]) -> PpdmError:
    """Give an error with the arguments of a call in the place of the options of its command."""
    reworded = copy.copy(error)
    reworded.problem, reworded.remedy = (worded(text, arguments) for text in (error.problem, error.remedy))
    reworded.args = (f"{reworded.problem} {reworded.remedy}".strip(),)
    return reworded


class HeardInSql(Heard):
    """Passes notices on in the words of a call."""

    def __init__(self, listener: Progress, arguments: Iterable[Option]) -> None:
        super().__init__(listener)
        self.arguments = arguments

    def notice(self, text: str) -> None:
        super().notice(worded(text, self.arguments))

    def warn(self, text: str) -> None:
        super().warn(worded(text, self.arguments))


Given = dict[str, Any]

APPLIED = "made, rows BIGINT, unseen BIGINT, verdict"
AUDITED = "about, measure, value DOUBLE, holds BOOLEAN, note"
AT_RISK = "about, measure, value DOUBLE, note"
PUBLISHED = "release, method, rows BIGINT, verdict, measures VARCHAR[]"
TRAINED = "model, mode, rows BIGINT, leaves BIGINT, accuracy DOUBLE"
DISTRIBUTIONS = "attribute, class, lower DOUBLE, upper DOUBLE, value, probability DOUBLE, records DOUBLE"
VERIFIED = "check, holds BOOLEAN, reached DOUBLE, limit DOUBLE"
FORGOTTEN = "release, records BIGINT, others BIGINT, versions BIGINT, dropped BIGINT[], note"
STEPS = "step BIGINT, attribute, parent, children VARCHAR[], score DOUBLE, gain DOUBLE, loss DOUBLE"
ERRORS = "error, of, per_cent DOUBLE, deviation DOUBLE, lowest DOUBLE, highest DOUBLE"
ATTACKS = (
    "attack, knows, guesses, tried BIGINT, successes DOUBLE, rate DOUBLE, worst DOUBLE, baseline DOUBLE,"
    " difference DOUBLE, low DOUBLE, high DOUBLE, allowed DOUBLE, verdict"
)
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
    """

    name: str
    run: Callable[[Database, Given], Iterable[Row]]
    gives: str
    writes: bool = True

    @property
    def macro(self) -> str:
        return macro_of(self.name)

    @property
    def columns(self) -> Columns:
        return typed(self.gives)

    @property
    def arguments(self) -> tuple[Option, ...]:
        """What it takes, in the order in which it may be given without names."""
        return OPTIONS[self.name]

    def options(self, given: Mapping[str, Any]) -> Given:
        """Read the arguments; those that are NULL are left out, so that the method's defaults hold."""
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


def run(call: Call, db: Database, given: str) -> list[Row]:
    """Run a call with its arguments as a JSON object."""
    return list(call.run(db, call.options(json.loads(given))))


# -- the calls --------------------------------------------------------------------------------


def _publish(method: Callable[..., Release]) -> Callable[[Database, Given], list[Row]]:
    return lambda db, given: [summarized(method(db, **given))]


def _reconstruct(db: Database, given: Given) -> Iterable[Row]:
    for found in db.reconstruct(**given).distributions:
        yield from ((found.attribute, found.class_value, *row) for row in found.rows())


def _steps(db: Database, given: Given) -> Iterable[Row]:
    return map(astuple, db.release(given["release"]).steps())


def _verify(db: Database, given: Given) -> list[Row]:
    return verified(db.release(given["release"]).verify())


def _forget(db: Database, given: Given) -> Iterable[Row]:
    forgotten = db.forget(**given)
    yield from ((*astuple(item), None) for item in forgotten.releases)
    yield from ((None, None, None, None, None, note) for note in forgotten.notes)


def _evaluate(db: Database, given: Given) -> Iterable[Row]:
    return (tuple(row) for table in db.evaluate(**given).tables() for row in table.rows)


def _attack(db: Database, given: Given) -> list[Row]:
    return [attack.row() for attack in db.attack(**given).attacks]


def _export(db: Database, given: Given) -> list[Row]:
    release = export(db, given)
    return [(release.name, given["path"], release.row().rows)]


def _generate_agrawal(db: Database, given: Given) -> list[Row]:
    made = db.generate_agrawal(**given)
    return [(label, records, made.seed) for label, records in made.classes.items()]


def _install(db: Database, given: Given) -> list[Row]:
    made = db.install(**given)
    return [(macro, made.version) for macro in made.macros]


CALLS = (
    Call("audit", lambda db, given: audited(db.audit(**given)), AUDITED, writes=False),
    Call("risk", lambda db, given: at_risk(db.risk(**given)), AT_RISK, writes=False),
    Call("suppress", _publish(Database.suppress), PUBLISHED),
    Call("generalize", _publish(Database.generalize), PUBLISHED),
    Call("swap", _publish(Database.swap), PUBLISHED),
    Call("randomize", _publish(Database.randomize), PUBLISHED),
    Call("reconstruct", _reconstruct, DISTRIBUTIONS),
    Call("train", lambda db, given: [trained(db.train(**given))], TRAINED),
    Call("predict", lambda db, given: db.predict(**given).classes.items(), "predicted, records BIGINT"),
    Call("releases", lambda db, _: listed_releases(db).rows, RELEASES, writes=False),
    Call("models", lambda db, _: listed_models(db).rows, MODELS, writes=False),
    Call("show", lambda db, given: shown(published(db, **given)), "what, value", writes=False),
    Call("steps", _steps, STEPS, writes=False),
    Call("verify", _verify, VERIFIED, writes=False),
    Call("update", _publish(Database.update), PUBLISHED),
    Call("forget", _forget, FORGOTTEN),
    Call("apply", lambda db, given: [applied(db.apply(**given))], APPLIED),
    Call("evaluate", _evaluate, ERRORS, writes=False),
    Call("attack", _attack, ATTACKS, writes=False),
    Call("compare", lambda db, given: compared(db.compare(**given)), COMPARED, writes=False),
    Call("export", _export, "release, file, rows BIGINT", writes=False),
    Call(
        "report",
        lambda db, given: [(report(db, given), given["path"], bool(given.get("public")))],
        "release, file, public BOOLEAN",
        writes=False,
    ),
    Call("drop", lambda db, given: [dropped(published(db, **given))], "dropped, kind"),
    Call("generate_agrawal", _generate_agrawal, "class, records BIGINT, seed BIGINT"),
    Call("install", _install, "macro, version"),
    Call("uninstall", lambda db, _: ((macro, None) for macro in db.uninstall()), "macro, version"),
)
"""All calls, in the order in which users meet them."""
