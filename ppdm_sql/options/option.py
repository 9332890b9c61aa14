"""What is said of an option, where a request declares it."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, StrEnum
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, dataclass_transform, get_args

from ppdm_sql.engine.names import by_name, listed
from ppdm_sql.errors import InvalidOption, kind_of
from ppdm_sql.privacy import parse_names

Value = TypeVar("Value")
PerColumn = Mapping[str, Value] | Any
"""Something for columns by their names. None may be given for nothing, and becomes an empty mapping."""
PathLike = str | os.PathLike[str]


class Form(Enum):
    """What the value of an option looks like, in the words of the reference page."""

    text = "text"
    path = "file"
    whole = "whole number"
    number = "number"
    flag = "true or false"
    texts = "text, or list of texts"
    names = "list of names"
    repeated_names = "list of names, one a time on the command line"
    choices = "text, or list of texts; between commas on the command line"
    wholes = "whole number, or list of whole numbers"
    share = "number, or share such as '50%'"
    shares = "share, or struct of a share by column"
    thresholds = "list of shares"
    bounds = "list of two"
    ranges = "struct of a list of two by column"
    identifiers = "struct of 'drop' or 'pseudonym' by column, or list of names to drop"
    noises = "struct of a noise by column"
    taxonomies = "struct of a file, a table or nested structs by column"
    values = "struct of a number or text by column"
    types = "struct of a type by column"
    bins = "whole number, or struct of a number or a list of edges by column"


_FORMS = {str: Form.text, int: Form.whole, float: Form.number, bool: Form.flag}
_FORMS |= {os.PathLike[str]: Form.path, Path: Form.path}
"""Forms of options whose types tell it."""
_NAMES = (Form.names, Form.repeated_names)
_SEVERAL = (Form.choices, Form.wholes)
_BY_COLUMN = (Form.ranges, Form.identifiers, Form.taxonomies, Form.values)


_IN_SQL = {
    "table": "tbl",
    "tables": "tbl",
    "path": "file",
    "class_column": "class",
    "count_column": "count",
    "categories": "category",
    "taxonomies": "taxonomy",
    "thresholds": "threshold",
    "weights": "weight",
    "identifiers": "identifier",
    "allow_identifiers": "allow_identifier",
    "min_widths": "min_width",
    "limits": "limit",
    "ranges": "range",
    "tops": "top",
    "bottoms": "bottom",
}
"""What SQL and the command line call options whose names in Python say more."""
_METAVARS = {Form.names: "A,B", Form.path: "FILE"}
_LAST = ("types", "nulls", "to")
"""How a table is read, and where rows are written: what stands behind what a method has of its own."""


@dataclass(frozen=True)
class Option:
    """An option of a method."""

    help: str = ""  # one sentence, for the help of the command and the reference page
    example: str = ""  # a value as SQL writes it; that of a flag is what it is not by default
    metavar: str | None = None  # what the help puts for the value
    sql: str = ""  # what the call in SQL calls it, if not what all calls do
    flag: str | None = None  # what the command line calls it, if not that with hyphens; nothing for a word
    least: int | None = None  # the least whole number that can be given
    choices: type[StrEnum] | None = None  # the words that can be given
    hidden: bool = False  # whether it is there only to be refused in words
    name: str = ""  # what the method in Python calls it
    form: Form = Form.text  # what its value looks like
    default: object = None  # what holds where it is not given
    untyped: bool = False  # whether values of any type are taken

    @property
    def argument(self) -> str:
        """Its name in SQL."""
        return self.sql or _IN_SQL.get(self.name, self.name)

    @property
    def flags(self) -> str:
        """Its name on the command line; empty for a word that stands without one."""
        return f"--{self.argument.replace('_', '-')}" if self.flag is None else self.flag

    @property
    def key(self) -> str:
        """Its name in a policy: that of the command line, without the hyphens before it."""
        return self.flags.partition("/")[0].removeprefix("--") or self.name

    @property
    def negated(self) -> bool:
        """Whether the switch of the command line takes something away that is there by default."""
        return self.flags.startswith("--no-")

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Options:
    """What can be asked, a field each; what is annotated with something said of it is an option.

    Each class of options is a frozen dataclass, whose fields are given by their names. Annotations are read
    as they stand, so a module that declares options does not postpone them. Requests are not compared, which
    makes the classes sooner. Names and choices become tuples, and what is said by column a dictionary.

    Raises:
        InvalidOption: Something else is given for them, such as a frame.
    """

    ORDER = ""
    """The order in which a call in SQL takes options without their names, if not that of the fields."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True, eq=False)(cls)

    def __post_init__(self) -> None:
        request: Any = type(self)
        for option in options_of(request):
            given = getattr(self, option.name)
            if option.form in _BY_COLUMN:
                object.__setattr__(self, option.name, by_name(given, option.name))
            elif option.form in _NAMES and not (given is None and option.default is None):
                object.__setattr__(self, option.name, listed(given))
            elif option.form in _SEVERAL:
                object.__setattr__(self, option.name, _several(given))
            takes = None if option.untyped or not option.flags else _TAKES.get(option.form)
            given = getattr(self, option.name)
            if takes is not None and given is not option.default and not takes(given):
                example = option.example.capitalize() if option.form is Form.flag else option.example
                written = f"Write it as {option.name}={example}." if example else ""
                raise InvalidOption(f"{option.name} must be: {option.form.value}.", written)

    def of(self, kind: Callable[..., Value]) -> Value:
        """Give what a part of the package is asked that has a dataclass of its own."""
        names = inspect.signature(kind).parameters
        return kind(**{name: given for name, given in vars(self).items() if name in names})


def _is_two(given: object) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2


_TAKES: Mapping[Form, Callable[[Any], bool]] = {
    Form.text: lambda given: given is None or isinstance(given, str),
    Form.whole: lambda given: isinstance(given, Integral) and not isinstance(given, bool),
    Form.number: lambda given: isinstance(given, Real) and not isinstance(given, bool),
    Form.flag: lambda given: isinstance(given, bool),
    Form.texts: lambda given: isinstance(given, Iterable) and not isinstance(given, bytes),
    Form.thresholds: lambda given: given is None or isinstance(given, list | tuple),
    Form.bounds: _is_two,
    Form.ranges: lambda given: all(map(_is_two, given.values())),
    Form.bins: lambda given: isinstance(given, int | Mapping),
}
"""What is said in Python is looked at before a run; what is not here, the run itself looks at."""


def _several(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


@cache
def options_of(request: Any) -> tuple[Option, ...]:
    """Give the options of a request, in the order in which a call in SQL takes them without their names.

    First those of its ``ORDER``, then words without a flag, then the others as they are declared.
    """
    found: dict[str, Option] = {}
    for one in reversed(request.__mro__):
        for name, hint in inspect.get_annotations(one).items():
            if hasattr(hint, "__metadata__"):
                inherited = found.get(name, Option(name=name))
                found[name] = declared(inherited, hint, vars(one).get(name, MISSING))
    first = request.ORDER.split()
    words = [name for name, option in found.items() if not option.flags]
    names = dict.fromkeys((*first, *words, *(name for name in found if name not in _LAST), *_LAST))
    return tuple(found[name] for name in names if name in found)


def declared(inherited: Option, hint: Any, default: object) -> Option:
    """Read what an annotation says, later things over earlier ones; texts are help, example and metavar."""
    kinds = get_args(hint.__origin__) or (hint.__origin__,)
    said = vars(inherited) | {"default": default}
    form = next((_FORMS[kind] for kind in reversed(kinds) if kind in _FORMS), None)
    said |= {"form": form or Form.text, "untyped": form is None}
    texts = iter(_TEXTS)
    for item in hint.__metadata__:
        if isinstance(item, str):
            said[next(texts)] = item
            continue
        texts = iter(_TEXTS)
        if isinstance(item, Form):
            said |= {"form": item, "untyped": False}
        else:
            said |= {key: value for key, value in vars(item).items() if value != getattr(_PLAIN, key)}
    if said["form"] is Form.flag:
        said["example"] = str(not default).lower()
    return Option(**said | {"metavar": said["metavar"] or _METAVARS.get(said["form"])})


_PLAIN, _TEXTS = Option(), ("help", "example", "metavar")


# -- values as SQL and policies give them ----------------------------------------------------------


class Decoder(NamedTuple):
    """Turns a value, as JSON or TOML has it, into what a method takes.

    Args:
        schema: The JSON schema of what it reads.
        read: Raises TypeError, ValueError or PpdmError where a value is none of that.
    """

    schema: Mapping[str, Any]
    read: Callable[[Any], Any]


_KINDS: Mapping[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}
_KINDS = {**_KINDS, "array": (list,), "object": (dict,)}


def one_of(*types: str) -> Decoder:
    """Read a value of one of these types of JSON as it is."""
    kinds = tuple(kind for name in types for kind in _KINDS[name])

    def checked(value: object) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise TypeError
        return value

    return Decoder({"type": types[0] if len(types) == 1 else types}, checked)


def one_or_more(one: Decoder) -> Decoder:
    """Read something, or a list of it, as a tuple."""
    return Decoder(
        {"anyOf": [one.schema, {"type": "array", "items": one.schema}]},
        lambda value: tuple(map(one.read, value)) if isinstance(value, list) else (one.read(value),),
    )


def by_column(one: Decoder, otherwise: Decoder | None = None) -> Decoder:
    """Read a struct of something by column, or else one thing for all columns."""
    struct = {"type": "object", "additionalProperties": one.schema}

    def read(value: object) -> Any:
        if otherwise is not None and not isinstance(value, dict):
            return otherwise.read(value)
        return {name: one.read(item) for name, item in one_of("object").read(value).items()}

    return Decoder(struct if otherwise is None else {"anyOf": [otherwise.schema, struct]}, read)


text, _number, _share = one_of("string"), one_of("number"), one_of("string", "number")


def _read_whole(value: object) -> int:
    if (found := _number.read(value)) != int(found):
        raise TypeError
    return int(found)


def _read_names(value: object) -> tuple[str, ...]:
    """Read names between commas, or a list of names as they stand."""
    return tuple(map(text.read, value)) if isinstance(value, list) else parse_names(text.read(value))


def _read_bounds(value: object) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2 or None in value:
        raise TypeError
    return value[0], value[1]


def _read_texts(value: object) -> tuple[str, ...]:
    return tuple(map(text.read, one_of("array").read(value)))


_whole, _names = Decoder({"type": "integer"}, _read_whole), Decoder(one_or_more(text).schema, _read_names)
_two = {"type": "array", "items": _share.schema, "minItems": 2, "maxItems": 2}
_bounds = Decoder(_two, _read_bounds)
_edges = Decoder(
    {"type": ["integer", "array"]}, lambda value: value if isinstance(value, list) else _read_whole(value)
)
DECODERS: Mapping[Form, Decoder] = {
    Form.text: text,
    Form.path: text,
    Form.whole: _whole,
    Form.number: _number,
    Form.flag: one_of("boolean"),
    Form.texts: one_or_more(text),
    Form.choices: one_or_more(text),
    Form.wholes: one_or_more(_whole),
    Form.names: _names,
    Form.repeated_names: _names,
    Form.share: _share,
    Form.shares: by_column(_share, _share),
    Form.thresholds: one_or_more(_share),
    Form.bounds: _bounds,
    Form.ranges: by_column(_bounds),
    Form.identifiers: by_column(
        text, Decoder(_names.schema, lambda value: dict.fromkeys(_read_names(value), "drop"))
    ),
    Form.noises: by_column(text, Decoder({"type": "array", "items": text.schema}, _read_texts)),
    Form.taxonomies: by_column(one_of("string", "object")),
    Form.bins: by_column(_edges, _whole),
    Form.types: by_column(text),
    Form.values: by_column(_share),
}


def written(request: Options) -> dict[str, Any]:
    """Give what was asked as a policy writes it, by key: options that are not as by default.

    Secrets are left out, as are the table and where the release goes, which do not concern the method.
    Files stand with their whole paths.

    Example:
        >>> from ppdm_sql.options import GeneralizeRequest
        >>> written(GeneralizeRequest(require=["k >= 5 on zip"], into="safe", tops={"age": 90}))
        {'top': {'age': 90}, 'require': ['k >= 5 on zip']}
    """
    kind: Any = type(request)
    aside = {"table", "into", "to"} | {item.name for item in fields(kind) if not item.repr}
    found = {}
    for option in options_of(kind):
        given = getattr(request, option.name)
        if option.name not in aside and given not in (option.default, None, (), {}):
            found[option.key] = _written(given, files=option.form in (Form.path, Form.taxonomies))
    return found


def _written(value: Any, *, files: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {
            str(name): _written(item, files=files and not isinstance(item, Mapping))
            for name, item in value.items()
        }
    if isinstance(value, str | os.PathLike):
        return os.path.abspath(value) if files and os.path.isfile(value) else os.fspath(value)
    if isinstance(value, Sequence):
        return [_written(item) for item in value]
    if isinstance(value, bool | int | float):
        return value
    return f"given in Python as {kind_of(value)}" if files else str(value)


# -- methods that take what a request declares ---------------------------------------------------

Given = ParamSpec("Given")
Asked = TypeVar("Asked", bound=Options)
Own = TypeVar("Own")
Result = TypeVar("Result")
_PLAIN_FORMS = (Form.flag, Form.whole, Form.number, Form.text, Form.path)
_TOLD = {"progress": "Told what the run is doing.", "database": "The party's database, opened to write."}
"""What stands in docstrings of what no surface but Python takes."""


def asks(
    request: Callable[Given, Asked],
) -> Callable[[Callable[[Own, Asked], Result]], Callable[Concatenate[Own, Given], Result]]:
    """Let a method, or a function of a frame, take what its request declares: the same names and defaults.

    Its docstring tells of each option, too, by the help of the command.
    """
    kind: Any = request
    parameters = _parameters(kind)

    def asking(run: Callable[[Own, Asked], Result]) -> Callable[Concatenate[Own, Given], Result]:
        own, returns = next(iter(inspect.signature(run).parameters.values())), run.__annotations__["return"]
        signature = inspect.Signature([own, *parameters], return_annotation=returns)

        @wraps(run)
        def method(*args: Any, **options: Any) -> Result:
            given = signature.bind(*args, **options).arguments  # its TypeError does not speak of the request
            return run(given.pop(own.name), kind(**given))

        told: Any = method
        told.__signature__ = signature
        told.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": returns}
        if run.__doc__ is not None:  # python -OO takes it away
            told.__doc__ = _documented(run, parameters, options_of(kind))
        return told  # type: ignore[no-any-return]

    return asking


def _parameters(request: Any) -> list[inspect.Parameter]:
    """Give the parameters of a request: those given by place, then the others as they are declared."""
    found = inspect.signature(request).parameters
    by_place = [name for name, one in found.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    order = dict.fromkeys((*by_place, *(option.name for option in options_of(request)), "progress"))
    return [
        found[name].replace(annotation=getattr(found[name].annotation, "__origin__", found[name].annotation))
        for name in order
        if name in found
    ]


def _documented(
    run: Callable[..., Any], parameters: Sequence[inspect.Parameter], options: Sequence[Option]
) -> str:
    """Put the arguments between the description of a method and what it says of its results and errors."""
    flags = {flag: option.name for option in options for flag in option.flags.split("/")}
    helps = _TOLD | {one.name: "If False: " * one.negated + one.help for one in options}
    for one in options:
        if one.form not in _PLAIN_FORMS and one.example.strip("'[]{}") not in one.help:
            helps[one.name] += f" Such as {one.example}."
    worded = {
        name: re.sub(r"--[a-z][a-z-]*", lambda found: f"``{flags.get(found[0], found[0])}``", help)
        for name, help in helps.items()
    }
    lines = ["Args:", *(f"    {one.name}: {worded[one.name]}" for one in parameters)]
    text = inspect.cleandoc(run.__doc__ or "")
    said, heading, rest = re.split(r"^((?:Returns|Raises|Cost):)", text, maxsplit=1, flags=re.M)
    return said + "\n".join(lines) + f"\n\n{heading}{rest}"
