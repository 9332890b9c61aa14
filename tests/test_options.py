"""Each option is declared once: command line, SQL and Python have it from its request."""

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pyarrow
import pytest
from commands import ppdm
from pages import ROOT

import ppdm_sql
from ppdm_sql.cli.app import COMMANDS as LISTED
from ppdm_sql.cli.parameters import READERS
from ppdm_sql.comparison.comparing import settings
from ppdm_sql.integrate import Party
from ppdm_sql.options import (
    OPTIONS,
    CompareRequest,
    Form,
    Generalize,
    OfGeneralization,
    OfRefinement,
    Option,
    Suppress,
    asks,
    options_of,
)
from ppdm_sql.options.reference import page

PLACES: dict[str, Callable[..., Any]] = {
    "integrate": Party.__init__,
    "export": ppdm_sql.Release.export,
    "steps": ppdm_sql.Release.steps,
    "verify": ppdm_sql.Release.verify,
    "drop": ppdm_sql.Release.drop,
    "report": ppdm_sql.Release.report,
}
"""Where the Python of a method is, if not a method of the database of its name."""
COMMANDS = {"generate_agrawal": ("generate agrawal",), "integrate": ("integrate serve", "integrate join")}
OWN = {
    ("export", "release"),
    ("report", "release"),
    ("steps", "release"),
    ("verify", "release"),
    ("drop", "name"),
}
"""What is the object itself, where the method is one of a release."""
IN_PYTHON = [name for name in OPTIONS if name != "show"]
"""All but what only prints."""
ELSEWHERE = {("audit", "groups")}
"""Options that a command gives a form of its own: --show-groups beside --groups."""
EVERYWHERE = {
    "--format",
    "-f",
    "--sql",
    "--quiet",
    "-q",
    "--debug",
    "--threads",
    "--memory-limit",
    "--attach",
}
ALONE = {
    "audit": {"--show-groups", "--groups", "--spark"},
    "show": {"--partitions", "--step", "--limit", "--test", "--all"},
    "suppress": {"--accept-partial", "--export", "--force", "--spark"},
    "generalize": {"--accept-partial", "--export", "--force", "--spark"},
    **dict.fromkeys(("apply", "verify", "drop", "reconstruct", "train", "predict"), {"--spark"}),
    "swap": {"--export", "--force", "--spark"},
    "randomize": {"--export", "--force", "--spark"},
    "integrate": {
        *("--accept-partial", "--listen", "--peer", "--peer-name", "--cert", "--private-key", "--authority"),
        *("--timeout", "--wait", "--transcript"),
    },
}
"""Options of commands that are about the terminal, the connection or the exit code, not about the method."""


def method_of(name: str) -> Callable[..., Any]:
    return PLACES.get(name) or getattr(ppdm_sql.Database, name)


def signature(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of the method, but those that are not options."""
    found = dict(inspect.signature(method_of(name)).parameters)
    return {key: item for key, item in found.items() if key not in ("self", "database", "progress")}


def described(name: str) -> list[Option]:
    """The options as the method in Python has them."""
    return [option for option in OPTIONS[name] if (name, option.name) not in OWN]


def paths(name: str) -> tuple[str, ...]:
    return COMMANDS.get(name, (name,))


def help_of(path: str) -> str:
    return str(ppdm(*path.split(), "--help").stdout)


def run_of(path: str) -> Callable[..., None]:
    """The function behind a command."""
    name, _, further = path.partition(" ")
    return getattr(import_module(f"ppdm_sql.cli.{LISTED[name][0]}"), further or name)


@pytest.mark.parametrize("name", IN_PYTHON)
def test_the_signature_in_python_has_the_options_and_their_defaults(name: str) -> None:
    found = {key: item.default for key, item in signature(name).items()}
    empty = inspect.Parameter.empty
    assert found == {o.name: empty if o.required else o.default for o in described(name)}


@pytest.mark.parametrize("name", [name for name in IN_PYTHON if described(name)])
def test_the_docstring_tells_of_every_option_in_the_order_of_the_signature(name: str) -> None:
    text = inspect.getdoc(method_of(name)) or ""
    (section,) = re.findall(r"^Args:\n(.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    told = re.findall(r"^    (\w+): ", section, re.MULTILINE)
    assert [key for key in told if key not in ("database", "progress")] == list(signature(name))


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_has_the_options_and_nothing_else_of_the_method(name: str) -> None:
    wanted = {o.flags.split("/")[0] for o in described(name) if o.flags and (name, o.name) not in ELSEWHERE}
    hidden = {option.flags for option in described(name) if option.hidden}
    for path in paths(name):
        found = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", help_of(path), re.MULTILINE)) - {"--help"}
        assert found - EVERYWHERE - ALONE.get(name, set()) == wanted - EVERYWHERE - hidden


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_has_the_defaults_and_the_words(name: str) -> None:
    for path in paths(name):
        told = "".join(help_of(path).split())
        found = inspect.signature(run_of(path)).parameters
        for option in OPTIONS[name]:
            if (name, option.name) not in ELSEWHERE:
                assert (
                    option.hidden
                    or not option.flags
                    or "".join(option.help.removesuffix(".").split()) in told
                )
                left_out = [] if option.flags else [None]  # of a word that stands in a file's place
                assert found[option.name].default in (default_of(option), *left_out)


def default_of(option: Option) -> Any:
    if option.required:
        return inspect.Parameter.empty
    if option.default == ():
        return None
    if option.flags.startswith("--no-"):
        return not option.default
    return str(option.default) if option.form is Form.share else option.default


@pytest.mark.parametrize(
    ("form", "word", "wanted"),
    [
        (Form.values, ['"a=b"=job.csv', "c = 2"], {"a=b": "job.csv", "c": "2"}),
        (Form.ranges, ["age=1, 99"], {"age": ("1", "99")}),
        (
            Form.identifiers,
            ['"odd ""name"" here"', "id=pseudonym"],
            {'odd "name" here': "drop", "id": "pseudonym"},
        ),
        (Form.shares, ["0.5", "Amount=25%"], {"": "0.5", "Amount": "25%"}),
        (Form.bins, ["5", "hours=0,20,40"], {"": 5, "hours": ["0", "20", "40"]}),
        (Form.types, ["zip=VARCHAR,amount=DECIMAL(8,2)"], {"zip": "VARCHAR", "amount": "DECIMAL(8,2)"}),
        (Form.choices, "tds, hce-tdr", ("tds", "hce-tdr")),
        (Form.names, '"a, b", c', ("a, b", "c")),
        (Form.wholes, "2,5", (2, 5)),
        (Form.bounds, "0.4, 0.6", ("0.4", "0.6")),
    ],
)
def test_words_of_the_command_line_are_read_by_their_form(form: Form, word: Any, wanted: Any) -> None:
    assert READERS[form]("--option", word) == wanted


@pytest.mark.parametrize(
    ("form", "word"),
    [
        (Form.values, ["3"]),
        (Form.ranges, ["age=1"]),
        (Form.bins, ["few"]),
        (Form.wholes, "2,x"),
        (Form.bounds, "1"),
    ],
)
def test_what_is_not_of_the_form_is_refused_with_what_to_type(form: Form, word: Any) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match="Write it as --"):
        READERS[form]("--option", word)


@pytest.mark.parametrize("name", OPTIONS)
def test_no_two_options_of_a_method_have_one_name(name: str) -> None:
    for names in zip(*((o.name, o.argument) for o in OPTIONS[name]), strict=True):
        assert len(names) == len(set(names))


class Wider(Suppress):
    """What a method is asked that has an option more, and one that it tells of in other words."""

    ORDER = Suppress.ORDER.replace(" person ", " shown person ")
    shown: Annotated[int | None, "Show N of --keep.", "3", "N", Option(sql="show")] = None
    later: Annotated[bool, "Do so later."] = False
    symbol: Annotated[str, "What stands there."] = "?"


def test_an_option_stands_where_its_request_says() -> None:
    usual, wider = OPTIONS["suppress"], options_of(Wider)
    names = [option.name for option in usual]
    names.insert(names.index("person"), "shown")
    names.append("later")
    assert [option.name for option in wider] == names
    (shown,) = (option for option in wider if option.name == "shown")
    assert (shown.form, shown.argument, shown.flags, shown.required) == (Form.whole, "show", "--show", False)
    (symbol,) = (option for option in wider if option.name == "symbol")
    assert (symbol.help, symbol.example, symbol.default) == ("What stands there.", "'?'", "?")
    assert (wider[-1].form, wider[-1].example) == (Form.flag, "true")


def test_a_method_takes_what_its_request_declares() -> None:
    @asks(Wider)
    def widely(self: Any, asked: Wider) -> Any:
        """Do it.

        Raises:
            PpdmError: Never.
        """
        return asked

    given: Any = widely(None, "t", "k >= 2 on a", into="x", keep="a", shown=2)  # type: ignore[arg-type]
    assert (given.table, given.keep, given.limits, given.shown) == ("t", ("a",), {}, 2)
    assert list(inspect.signature(widely).parameters)[:3] == ["self", "table", "require"]
    assert "    shown: Show N of ``keep``.\n" in (widely.__doc__ or "")
    with pytest.raises(TypeError, match="keeep"):
        widely(None, "t", "k >= 2 on a", into="x", keeep="a")  # type: ignore[arg-type, call-arg]


MISTAKES = """
import ppdm_sql

db = ppdm_sql.open()
db.suppress("t", ["k >= 2 on a"], into="safe", keep="a")
db.suppress("t", ["k >= 2 on a"], into="safe", taxonomies={})
db.suppress("t", ["k >= 2 on a"])
db.generalize("t", ["k >= 2 on a"], into=3)
ppdm_sql.anonymize(db, ["k >= 2 on a"], clas="b").releases()
ppdm_sql.evaluate(db, ["k >= 2 on a"], class_column="b", folds="3")
ppdm_sql.evaluate(db, ["k >= 2 on a"])
"""
TOLD = dict.fromkeys((6, 7, 9, 11), "call-arg") | dict.fromkeys((8, 10), "arg-type")
"""Line by line what is wrong: an unknown option, a missing one, one of another type."""


def test_a_type_checker_knows_every_option(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    snippet = tmp_path / "mistakes.py"
    snippet.write_text(MISTAKES)
    settings = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"))
    printed, _, _ = api.run([*settings, str(snippet)])
    found = re.findall(r"mistakes\.py:(\d+): error: .*\[([\w-]+)\]$", printed, re.MULTILINE)
    assert {int(line): kind for line, kind in found} == TOLD


def test_a_comparison_passes_on_every_option_of_a_refinement() -> None:
    options = [item for part in (OfRefinement, OfGeneralization) for item in options_of(part)]
    names = [item.name for item in options]
    made: dict[Form, Any] = {Form.text: "a", Form.number: 0.5, Form.whole: 7, Form.flag: True}
    by_column = dict.fromkeys((Form.identifiers, Form.taxonomies, Form.values, Form.types), {"a": "b"})
    by_column[Form.ranges] = {"a": (1, 2)}
    given = {item.name: (made | by_column).get(item.form, ("a",)) for item in options}
    given |= {"keep": ("kept",), "condition": ("condition",), "require": ["k >= 2 on a"], "k": None}
    given["suppress_records"] = "1%"
    asked = CompareRequest("t", **given, method=("tds", "hce-tdr", "pda"))  # type: ignore[arg-type]
    for tried in settings(asked):
        own = {item.name: getattr(tried.request, item.name) for item in options_of(type(tried.request))}
        kept = ("kept",) if tried.row.method == "hce-tdr" else ("kept", "condition")
        assert own.pop("keep") == kept
        assert own.pop("condition", ()) == (("condition",) if tried.row.method == "hce-tdr" else ())
        assert {name: own[name] for name in own if name in names} == {
            name: given[name] for name in own if name in names
        }


def test_frames_are_refused_what_their_method_does_not_take() -> None:
    frame = pyarrow.table({"job": ["cook", "clerk"], "good": ["no", "yes"]})
    with pytest.raises(ppdm_sql.InvalidOption, match="taxonomies is not an option of pda"):
        ppdm_sql.anonymize(frame, ["k >= 1 on job"], method="pda", taxonomies={"job": {"any": ["cook"]}})
    with pytest.raises(TypeError, match="class_column"):
        ppdm_sql.evaluate(frame, ["k >= 1 on job"])  # type: ignore[call-arg]


@pytest.mark.parametrize("words", [{"keaap": "a"}, {"looks": {}}])
def test_what_a_method_does_not_take_is_a_type_error(words: dict[str, Any]) -> None:
    with ppdm_sql.open() as db, pytest.raises(TypeError, match=next(iter(words))):
        db.generalize("t", ["k >= 2 on a"], into="safe", **words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"detail": "0.5"}, "detail must be: number. Write it as detail=1."),
        ({"max_steps": 2.5}, "max_steps must be: whole number."),
        ({"require": 5}, "require must be: text, or list of texts."),
        ({"updatable": "no"}, "updatable must be: true or false. Write it as updatable=True."),
        ({"symbol": b"?"}, "symbol must be: text."),
        ({"ranges": {"age": 5}}, "ranges must be: struct of a list of two by column."),
    ],
)
def test_what_is_not_of_the_form_is_refused_in_python(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match=re.escape(words)):
        Generalize(**{"table": "t", "require": ["k >= 5 on zip"], "into": "safe"} | options)


def test_the_reference_page_is_what_the_options_say() -> None:
    written = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert written == page(), "python -m ppdm_sql.options.reference > docs/options.md"
