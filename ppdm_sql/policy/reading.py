"""Reads a policy, a file that describes releases, and says for editors what may stand there."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, time
from pathlib import Path
from typing import Any, NamedTuple

from ppdm_sql.errors import InvalidOption, PpdmError, choices, closest
from ppdm_sql.methods.perturbation.noise import parse_all_noise
from ppdm_sql.options import (
    DECODERS,
    OPTIONS,
    PUBLISHING,
    REQUESTS,
    Form,
    OfColumns,
    OfTable,
    Option,
    options_of,
)
from ppdm_sql.options.option import Decoder, by_column, one_of, one_or_more, text
from ppdm_sql.privacy import parse_all
from ppdm_sql.release.catalogue import ASKED
from ppdm_sql.sources import is_data_file
from ppdm_sql.sources.files import is_remote, without_secrets

FILE = "ppdm.toml"
METHODS: Mapping[str, Mapping[str, Option]] = {
    name: {one.key: one for one in OPTIONS[name] if not one.hidden and one.name not in ("into", "to")}
    for name in PUBLISHING
}
"""The options of each method by their keys; where a release goes is said by the name of its table."""
SHARED = {one.key: one for kind in (OfTable, OfColumns) for one in options_of(kind)}
"""What may stand at the top, for all releases: how their tables are read, and the roles of columns."""
SIGNOFF = {
    "purpose": "What the release is for.",
    "recipient": "Who gets it.",
    "legal-basis": "What allows it, such as an article of a law, or a contract.",
    "decided-by": "Who decided that it may be given.",
    "until": "The last day on which that holds, such as 2027-03-31.",
}

# -- what may stand there ----------------------------------------------------------------------------


class TomlKey(NamedTuple):
    """A key of a policy: what it says, what its value must be, and what reads that."""

    help: str
    value: str
    decoder: Decoder
    example: str = ""
    required: bool = False

    @property
    def remedy(self) -> str:
        """What to write."""
        return f"Write it such as {self.example}." if self.example else ""


def _words(*words: str) -> Decoder:
    def check(value: object) -> object:
        if value not in words:
            raise ValueError
        return value

    return Decoder({"enum": words}, check)


def _read_elsewhere(value: Any) -> Any:
    if not isinstance(value, dict) or list(value) not in (["env"], ["file"]):
        raise TypeError
    return {kind: text.read(name) for kind, name in value.items()}


_TEXTS = {"type": "object", "additionalProperties": text.schema}
_ELSEWHERE = Decoder({**_TEXTS, "oneOf": [{"required": ["env"]}, {"required": ["file"]}]}, _read_elsewhere)
_PATH = Decoder(
    {"anyOf": [text.schema, _ELSEWHERE.schema]},
    lambda value: value if isinstance(value, str) else _read_elsewhere(value),
)


def _key(option: Option, *, secret: bool = False) -> TomlKey:
    if secret:
        value = "{ env = 'NAME' } or { file = 'FILE' }, since no secret stands in a policy"
        return TomlKey(option.help, value, _ELSEWHERE)
    decoder, value = DECODERS[option.form], option.form.value.replace("struct", "table")
    words = (option.metavar or "").split("|")
    if option.form is Form.path:
        decoder = _PATH
    elif option.form is Form.text and len(words) > 1 and (option.metavar or "").islower():
        decoder, value = _words(*words), f"one of {', '.join(words)}"
    example = f"{option.key} = " + option.example.replace("': ", "' = ")
    return TomlKey(option.help, value, decoder, example, required=option.required and option.name != "table")


def _keys_of(command: str) -> dict[str, TomlKey]:
    """Give what may stand in the table of a release; what no policy may hold is what requests do not show."""
    secret = {item.name for item in fields(REQUESTS[command]) if not item.repr}
    keys = {key: _key(one, secret=one.name in secret) for key, one in METHODS[command].items()}
    return {"command": TomlKey("The method.", command, _words(command), required=True), **keys, **_BESIDE}


def _table(keys: Mapping[str, TomlKey]) -> dict[str, Any]:
    """Write the schema of a table."""
    properties = {
        name: {"description": key.help, "title": key.value, **key.decoder.schema}
        | ({"examples": [key.example]} if key.example else {})
        for name, key in keys.items()
    }
    required = [name for name, key in keys.items() if key.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_SIGNED = {name: TomlKey(said, "a text", text) for name, said in SIGNOFF.items()}
_WHY = TomlKey("Why columns have their roles, by column.", "a table of texts", by_column(text))
_BESIDE = {
    "export": TomlKey(
        "Files to write: .parquet, .csv, .duckdb.", "a file, or list of files", one_or_more(text)
    ),
    **{one.key: _key(one) for one in OPTIONS["export"] if one.name == "formula_safe"},
    "signoff": TomlKey(
        "Who decided on it, and on what grounds.", "a table", Decoder(_table(_SIGNED), one_of("object").read)
    ),
    "why": _WHY,
}
_RELEASE = Decoder({"oneOf": [_table(_keys_of(name)) for name in METHODS]}, one_of("object").read)
_TOP = {
    "database": TomlKey(
        "The DuckDB file that holds the releases.", "the path of a file", _PATH, required=True
    ),
    "attach": TomlKey("Databases to read from, by name.", "a table of paths", by_column(_PATH)),
    "why": _WHY,
    **{key: _key(one) for key, one in SHARED.items()},
    "release": TomlKey("The releases.", "a table of tables", by_column(_RELEASE), required=True),
}


def schema() -> dict[str, Any]:
    """Give the JSON schema of policies, made from the declaration of the options."""
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "ppdm policy", **_table(_TOP)}


# -- what is read ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedRelease:
    """A release as a policy describes it.

    Args:
        name: Its name.
        asked: The method, the table and the options by key, as they are written, with what the top says.
        said: What stands there beside them.
        why: Why columns have their roles.
        folder: Where the policy is, to which paths are relative.
    """

    name: str
    asked: Mapping[str, Any]
    said: Mapping[str, Any]
    why: Mapping[str, str]
    folder: Path

    @property
    def command(self) -> str:
        """The method."""
        return str(self.asked["command"])

    @property
    def table(self) -> str:
        """The table or file, as it is written."""
        return str(self.asked["table"])

    @property
    def exports(self) -> list[str]:
        """The files that it is written to, as they are written."""
        export = self.said.get("export", [])
        return [export] if isinstance(export, str) else export

    def options(self) -> dict[str, Any]:
        """Give the options as the method takes them: files with whole paths, secrets from where they are."""
        options: dict[str, Any] = {"into": self.name}
        for key, value in self.asked.items():
            if (option := METHODS[self.command].get(key)) is None or key == "table":
                continue
            if is_elsewhere(option, value):
                place = f"release.{self.name}.{key}"
                value = secret(value, self.folder, place)
                if option.form is Form.whole:
                    if not re.fullmatch(r"-?\d+", value):
                        raise InvalidOption(f"{place}: what is there is no whole number.", "Write one there.")
                    value = int(value)
            options[option.name] = DECODERS[option.form].read(self.with_path(option, value))
        return options

    def columns(self) -> Iterator[str]:
        """Name the columns that must be in the table."""
        for requirement in parse_all(DECODERS[Form.texts].read(self.asked.get("require", []))):
            yield from (*requirement.attributes, *requirement.sensitive_columns)
        for key, raw in self.asked.items():
            option = METHODS[self.command].get(key)
            if option is None or is_elsewhere(option, raw):
                continue
            value = DECODERS[option.form].read(raw)
            if option.form is Form.noises:
                yield from (spec.column for spec in parse_all_noise(value))
            elif option.metavar in ("COLUMN", "ID"):
                yield value
            elif option.form is Form.names or isinstance(value, dict):
                yield from (name for name in value if name)

    def with_path(self, option: Option, value: Any) -> Any:
        """Give the whole paths of files; of what may be something else, too, if there is such a file."""
        is_file = option.name == "table" and is_data_file(value) and not is_remote(value)
        if is_file or option.form is Form.path:
            return os.path.normpath(self.folder / value)
        if option.form is not Form.taxonomies:
            return value
        files = self.files()
        return {of: os.path.normpath(files[of]) if of in files else item for of, item in value.items()}

    def signoff_end(self, today: date) -> str | None:
        """Give the day on which the sign-off ended, if it did."""
        until = self.said.get("signoff", {}).get("until")
        return until if until is not None and date.fromisoformat(until) < today else None

    def files(self) -> dict[str, Path]:
        """Give the files that decide what is shown, by the columns whose taxonomies they are."""
        texts = {of: it for of, it in self.asked.get("taxonomy", {}).items() if isinstance(it, str)}
        return {of: self.folder / text for of, text in texts.items() if os.path.isfile(self.folder / text)}

    def changes(self, record: Mapping[str, Any]) -> list[str]:
        """Name what was asked otherwise of the release that there is, by its record."""
        before = replace(self, asked=record.get(ASKED, {}), folder=Path(record.get("folder", self.folder)))
        keys = dict.fromkeys((*self.asked, *before.asked))
        new = [key for key in keys if self.asked.get(key) != before.asked.get(key)]  # wherever the policy is
        return [key for key in new if self._normal_form(key) != before._normal_form(key)]

    def _normal_form(self, key: str) -> str:
        """Write what an option says in one way, however it was given."""
        value, option = self.asked.get(key), METHODS.get(self.asked.get("command", ""), {}).get(key)
        if value is not None and option is not None and not is_elsewhere(option, value):
            value = DECODERS[option.form].read(self.with_path(option, value))
        return json.dumps(map_values(value, str), sort_keys=True)  # the command line gives texts


@dataclass(frozen=True)
class Policy:
    """Releases under version control.

    Args:
        file: Where it is.
        database: The file that holds the releases, or where its path is said.
        attach: Databases to read from, by name; likewise.
        releases: The releases by name, in their order.
    """

    file: Path
    database: Any
    attach: Mapping[str, Any]
    releases: Mapping[str, PlannedRelease]

    def planned(self, names: Iterable[str] = ()) -> list[PlannedRelease]:
        """Give the releases of these names, or all."""
        for name in (names := list(names)):
            if name not in self.releases:
                names_here = choices(name, self.releases)
                raise InvalidOption(f"{self.file} describes no release {name!r}.", f"It has: {names_here}.")
        return [one for name, one in self.releases.items() if name in names or not names]

    def path(self, value: Any, place: str) -> str:
        """Give the path of a database, relative to the policy where it is one of a file here."""
        folder = self.file.absolute().parent
        path = secret(value, folder, place) if isinstance(value, dict) else str(value)
        if re.match(r"\w{2,}:", path) is None:
            return str(folder / path)
        if place == "database":
            raise InvalidOption(
                "database must be the path of a file, not an address.", "Attach what is read."
            )
        return path


def is_elsewhere(option: Option, value: object) -> bool:
    """Tell whether a policy says where the value of an option is, in place of it."""
    return isinstance(value, dict) and option.form in (Form.path, Form.whole)


def secret(where: Mapping[str, str], folder: Path, place: str) -> str:
    """Read what a policy keeps elsewhere: in an environment variable, or in a file beside it."""
    ((kind, name),) = where.items()
    try:
        return os.environ[name] if kind == "env" else (folder / name).read_text(encoding="utf-8").strip()
    except (KeyError, OSError, ValueError):
        what = f"environment variable {name}" if kind == "env" else f"file {name}"
        raise InvalidOption(f"{place}: there is no {what} to be read.", "Make it first.") from None


def map_values(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change each value that stands in tables and lists."""
    if isinstance(value, Mapping):
        return {name: map_values(item, change) for name, item in value.items()}
    return [map_values(item, change) for item in value] if isinstance(value, list | tuple) else change(value)


def load(file: str | os.PathLike[str] = FILE) -> Policy:
    """Read a policy. All that it says is checked; nothing is opened.

    Args:
        file: The policy; paths in it are relative to its folder.

    Raises:
        InvalidOption: It cannot be read, or says something that is not known or cannot be used.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "ppdm.toml")
        ...     _ = file.write_text('''database = "bank.duckdb"
        ... [release.safe]
        ... command = "suppress"
        ... table = "customers"
        ... require = "k >= 4 on Job, Country"
        ... ''')
        ...     load(file).releases["safe"].asked["require"]
        'k >= 4 on Job, Country'
    """
    path = Path(file)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        advice = "Write one with ppdm init, or say where yours is: --policy FILE."
        raise InvalidOption(f"There is no policy {path} that can be read.", advice) from None
    except ValueError as error:  # of the text, or its letters
        why = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        raise InvalidOption(f"{path} is not TOML: {why}.", "See https://toml.io for its form.") from None
    content = map_values(document, lambda one: str(one) if isinstance(one, date | time) else one)
    reading = _Reading(path)
    reading.check(_TOP, content, "")
    releases = {name: reading.release(name, table, content) for name, table in content["release"].items()}
    reading.check_together(releases, content)
    return Policy(path, content["database"], content.get("attach", {}), releases)


_PASSWORD = re.compile(r"(password|passwd|secret|token|pwd)\s*=|://[^/\s]*@", re.IGNORECASE)
_KEY = re.compile(r"[0-9A-Fa-f]{32,}|[A-Za-z0-9+/_-]{40,}=*")
"""What a key looks like that somebody wrote in the place of its file."""


class _Reading:
    """Checks what a policy says, and tells where it says what."""

    def __init__(self, file: Path) -> None:
        self.file, self.folder = file, file.absolute().parent

    def check(self, keys: Mapping[str, TomlKey], table: Mapping[str, Any], place: str) -> None:
        """Hold a table of the policy against what may stand there."""
        for name, item in table.items():
            if (key := keys.get(name)) is None:
                near = closest(name.replace("_", "-"), keys)
                hint = f"Did you mean {near[0]}?" if near else f"Known here: {choices(name, keys, most=40)}."
                raise self.wrong(place + name, "is not known", hint)
            try:
                key.decoder.read(item)
            except (TypeError, ValueError, PpdmError):
                raise self.wrong(place + name, f"must be {key.value}", key.remedy) from None
        for name, key in keys.items():
            if key.required and name not in table:
                raise self.wrong(place + name, "is missing", key.remedy)

    def release(self, name: str, table: Mapping[str, Any], top: Mapping[str, Any]) -> PlannedRelease:
        """Check a release, and put it together with what the top says for all."""
        place, command = f"release.{name}", table.get("command")
        if command not in tuple(METHODS):
            raise self.wrong(f"{place}.command", f"must be one of {', '.join(METHODS)}")
        options = METHODS[command]
        self.check(_keys_of(command), table, f"{place}.")
        self.check(_SIGNED, table.get("signoff", {}), f"{place}.signoff.")
        from_top = {key: top[key] for key in SHARED if key in top and key in options}
        request = {"command": command, **from_top, **{k: v for k, v in table.items() if k in options}}
        if not request.get("table") or without_secrets(request["table"]) != request["table"]:
            raise self.wrong(f"{place}.table", "is missing, or holds a secret, which stands in no policy")
        for key, option in options.items():
            if option.form is Form.path and _KEY.fullmatch(str(request.get(key, ""))):
                raise self.wrong(f"{place}.{key}", "is a secret, which stands in no policy", "Name its file.")
        try:
            parse_all(DECODERS[Form.texts].read(request.get("require", [])))
        except PpdmError as error:
            raise InvalidOption(f"{self.file}: {place}.require: {error.problem}", error.remedy) from None
        try:
            date.fromisoformat(table.get("signoff", {}).get("until", "2000-01-01"))
        except ValueError:
            raise self.wrong(f"{place}.signoff.until", "must be a day", "Write until = 2027-03-31.") from None
        why = {**top.get("why", {}), **table.get("why", {})}
        beside = {key: value for key, value in table.items() if key not in request}
        return PlannedRelease(name, request, beside, why, self.folder)

    def check_together(self, releases: Mapping[str, PlannedRelease], top: Mapping[str, Any]) -> None:
        """Refuse names and files that are there twice, and addresses with passwords."""
        files = [os.path.abspath(self.folder / path) for one in releases.values() for path in one.exports]
        names = [name.lower() for name in releases]
        for twice in [name for name in releases if names.count(name.lower()) > 1]:
            raise self.wrong(f"release.{twice}", "is there twice; upper and lower case count as the same")
        for twice in [path for path in files if files.count(path) > 1]:
            raise self.wrong(twice, "is the file of two exports", "Name another one.")
        paths = {"database": top["database"], **{f"attach.{n}": p for n, p in top.get("attach", {}).items()}}
        for place, path in paths.items():
            if path in ("", ":memory:") or isinstance(path, str) and _PASSWORD.search(path):
                problem = "must be the path of a file, and holds no password"
                raise self.wrong(place, problem, "Write { env = 'NAME' } for an address with a password.")

    def wrong(self, place: str, problem: str, remedy: str = "") -> InvalidOption:
        """Say what is wrong where."""
        return InvalidOption(f"{self.file}: {place} {problem}.", remedy)
