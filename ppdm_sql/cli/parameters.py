"""What commands take: the options of their method and those of all commands, and how their words are read."""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

import ppdm_sql
from ppdm_sql.cli.failures import IN_MEMORY, Run, is_memory
from ppdm_sql.cli.output import Debug, Format, OutputFormat, Quiet, TerminalProgress, notice
from ppdm_sql.engine.opening import remove_database
from ppdm_sql.engine.statements import Statement
from ppdm_sql.errors import InvalidOption
from ppdm_sql.options import Form, Option, Options
from ppdm_sql.options.option import declared, options_of
from ppdm_sql.privacy import parse_names
from ppdm_sql.sources import attachment, is_data_file, is_spreadsheet

DatabasePath = Annotated[Path, "A DuckDB file, or :memory:.", Option(metavar="DATABASE", flag="")]
_FOLDED = re.compile(r"^(\w{2,}):/(?!/)")
"""How an address begins that was taken for the path of a database."""
PARTIAL = "Exit with 0 instead of 130 if Ctrl-C ended the run early."


class Given(dict[str, Any]):
    """The options of a method that were given, as the method takes them; it has defaults for the others."""


class Common(Options):
    """What commands take that run a method."""

    form: OutputFormat = Format.table
    sql: Annotated[bool, "Print the statements; change nothing."] = False
    quiet: Quiet = False
    debug: Debug = False
    attach: Annotated[
        Sequence[str],
        Form.texts,
        "A database to read from: its tables are NAME.TABLE.",
        Option(metavar="'PATH AS NAME'"),
    ] = ()
    threads: Annotated[int | None, "Number of threads; by default the engine decides.", Option(least=1)] = (
        None
    )
    memory_limit: Annotated[
        str | None, "Such as 2GB; by default the engine decides.", Option(metavar="SIZE")
    ] = None
    spark: str | None = None

    @contextmanager
    def opened(
        self, database: str | Path, *, source: str | None = None, create: bool = False
    ) -> Iterator[ppdm_sql.Database]:
        """Open a file; with ``--sql`` only to print the statements that would change it.

        Where the source is not a table of the file, a file that is not there is made, and removed again if
        the command fails before anything is in it.
        """
        new = (create or self.is_elsewhere(source)) and not (is_memory(database) or os.path.lexists(database))
        made = new and not self.sql
        with self.using(IN_MEMORY if new and self.sql else database, write=True, create=new) as db:
            try:
                yield db
            except BaseException:
                if made and _is_empty(db):
                    made = False
                    db.close()
                    remove_database(Path(database))
                raise
            finally:
                if made:
                    self.say(f"Made {database}.")

    @contextmanager
    def using(
        self, database: str | Path, *, write: bool = False, create: bool = False
    ) -> Iterator[ppdm_sql.Database]:
        """Open a file that is there; it is only read, unless the command writes.

        With ``--sql`` every statement is printed, and those that would write are not run.
        """
        with ppdm_sql.open(
            database,
            read_only=self.sql or not write,
            create=create,
            attach=dict(attachment(text) for text in self.attach),
            threads=self.threads,
            memory_limit=self.memory_limit,
            spark=self.spark,
        ) as db:
            db.progress = TerminalProgress(quiet=self.quiet or self.sql)
            if self.sql:
                db.engine.dry, db.engine.tracer = True, _print_statement
            try:
                yield db
            finally:
                db.engine.dry, db.engine.tracer = False, None

    def say(self, text: str) -> None:
        """Say something on stderr, unless the user wants quiet, or the statements alone."""
        notice(text, quiet=self.quiet or self.sql)

    def is_elsewhere(self, source: str | None) -> bool:
        """Tell whether what is read need not be in the file of the command."""
        in_file = source is None or not (self.attach or is_data_file(source))
        return self.spark is not None or not in_file


SHORT = ("form", "attach", "threads", "memory_limit")
"""Fields of it that commands lack which change a file in a moment and print no table."""


class CommonOfSpark(Common):
    """The same for commands that take tables of Spark, or releases whose rows are there, too."""

    spark: Annotated[
        str | None,
        "Where the table or the release lives: sc://HOST:15002, or local[2] to try Spark here.",
        Option(metavar="URL"),
    ] = None


def _print_statement(statement: Statement) -> None:
    # Only --sql needs them: the other runs of a command start sooner without.
    from ppdm_sql.engine.printing import formatted, purpose, without_header

    explained = purpose(statement)
    typer.echo(f"-- {statement.step}: {explained}" if explained else f"-- {statement.step}")
    if sql := formatted(without_header(statement)).strip().removesuffix(";"):
        typer.echo(f"{sql};")
    typer.echo()


def _is_empty(db: ppdm_sql.Database) -> bool:
    """Whether nothing is kept in a file, as far as that can be known; attached databases do not count."""
    try:
        own, _ = db.engine.current()
        return not any(table.catalog == own for table in db.engine.tables())
    except ppdm_sql.PpdmError:
        return False


_TYPES: dict[Form, Any] = dict.fromkeys(
    (
        *(Form.texts, Form.repeated_names, Form.shares, Form.thresholds, Form.ranges, Form.identifiers),
        *(Form.noises, Form.taxonomies, Form.bins, Form.types, Form.values),
    ),
    list[str],
) | {Form.path: Path, Form.whole: int, Form.number: float, Form.flag: bool}
"""What typer takes for an option; a text for those of other forms."""


def takes(
    request: Any = Options,
    *,
    without: Sequence[str] = (),
    lacks: Sequence[str] = (),
    places: Sequence[str] = ("database", "table"),
) -> Callable[[Run], Run]:
    """Let a command take the options of a request, for its parameter of the type :class:`Given`.

    A parameter whose type is a class of options is made of one for each of them, but for those that the
    command ``lacks``; any other is an option itself, described as those are. Options that a command has in a
    form of its own are left out by ``without``. Where its line begins with the ``places``, the first of them
    may be left out if the second is a file of records.
    """
    taken = [option for option in options_of(request) if option.name not in without]

    def command(run: Run) -> Run:
        own = inspect.signature(run, eval_str=True).parameters
        parts = {name: _part(one, taken, lacks) for name, one in own.items()}
        options = {option.name: option for of, _ in parts.values() for option in of}
        first = list(options)[: len(places)]
        placed = first if [name.removesuffix("s") for name in first] == [*places] else []  # tables: compare

        @wraps(run)
        def filled(**words: Any) -> None:
            words |= _in_place(placed, words)
            run(**{name: made(words) for name, (_, made) in parts.items()})

        parameters = [_parameter(one, optional=name in placed) for name, one in options.items()]
        filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        filled.__annotations__ = {}
        return filled

    return command


def _in_place(places: Sequence[str], words: Mapping[str, Any]) -> dict[str, Any]:
    """Give each word its place: where there is one too few, a file of records needs no database."""
    in_order = [words[place] for place in places if words[place] not in (None, [])]
    first = _FOLDED.sub(r"\1://", str(in_order[0])) if in_order else ""
    if len(in_order) == len(places) - 1 and (is_data_file(first) or is_spreadsheet(first)):
        in_order = [Path(IN_MEMORY), [first] if places[-1] == "tables" else first, *in_order[1:]]
    if len(in_order) < len(places):
        called = [place.removesuffix("s").upper() for place in places]
        raise InvalidOption(
            f"{called[len(in_order)]} is missing.",
            f"Give {' '.join(called)}, without DATABASE where TABLE is a file, such as visits.csv.",
        )
    return dict(zip(places, in_order, strict=True))


def _part(
    one: inspect.Parameter, taken: Sequence[Option], lacks: Sequence[str]
) -> tuple[Sequence[Option], Callable[[Mapping[str, Any]], Any]]:
    """Give the options that a parameter of a command stands for, and what makes it of their words."""
    kind: Any = one.annotation
    if kind is Given:
        return taken, lambda words: _read(taken, words)
    if inspect.isclass(kind) and issubclass(kind, Options):
        options = [option for option in options_of(one.annotation) if option.name not in lacks]
        return options, lambda words: kind(**_read(options, words))
    default = MISSING if one.default is one.empty else one.default
    option = declared(Option(name=one.name), kind, default)
    return [option], lambda words: _read([option], words).get(one.name, one.default)


def _read(options: Sequence[Option], words: Mapping[str, Any]) -> Given:
    """Take the words of options, and read those that were on the command line.

    For the others typer gives None, or no texts: the method has their defaults.
    """
    given = Given()
    for option in options:
        word = words[option.name]
        if word is None or word == []:
            continue
        reader = READERS.get(option.name) or READERS.get(option.form)
        value = word if reader is None else reader(option.flags, word)
        given[option.name] = not value if option.negated else value
    return given


def _parameter(option: Option, *, optional: bool) -> inspect.Parameter:
    """Make the parameter of an option: an argument where it has no flag, else an option of typer."""
    kind: Any = option.choices or _TYPES.get(option.form, str)
    default = _default(option)
    if not option.flags:
        told = default not in (MISSING, None)
        info: Any = typer.Argument(metavar=option.metavar, help=option.help, show_default=told)
    else:
        names = [option.flags] if "/--" in option.flags else option.flags.split("/")
        text = option.help.removesuffix(".") + "; repeatable." if kind == list[str] else option.help
        info = typer.Option(*names, metavar=option.metavar, help=text, min=option.least, hidden=option.hidden)
    default = None if optional else default
    annotation: Any = Annotated[kind if default is not None else kind | None, info]
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _default(option: Option) -> Any:
    if option.negated:
        return not option.default
    if option.form is Form.share and not option.required:
        return str(option.default)
    return None if option.default == () else option.default


# -- how words are read ------------------------------------------------------------------------

_TYPE = re.compile(r'(?:"[^"]*"|\([^)]*\)|[^,"(])+')


def assignment(option: str, text: str) -> tuple[str, str]:
    """Read ``COLUMN=VALUE``; a name that holds an equals sign is quoted."""
    match = re.fullmatch(r'\s*("(?:[^"]|"")+"|[^="\s][^=]*)=(.+)', text, re.DOTALL)
    if match is None:
        raise InvalidOption(f"{option} {text!r} names no column.", f"Write it as {option} COLUMN=VALUE.")
    return _bare(match[1].strip()), match[2].strip()


def range_of(text: str) -> tuple[str, tuple[str, str]]:
    """Read ``COLUMN=LOWER,UPPER``."""
    name, bounds = assignment("--range", text)
    lower, comma, upper = (part.strip() for part in bounds.partition(","))
    if not (lower and comma and upper) or "," in upper:
        raise InvalidOption(f"--range of {name!r} is not two bounds.", f"Write it as --range {name}=1,99.")
    return name, (lower, upper)


def _identifier(flag: str, text: str) -> tuple[str, str]:
    """Read ``A`` or ``A=pseudonym``: what becomes of a direct identifier."""
    name, _, treatment = ("", "", "") if _bare(text) != text else text.rpartition("=")
    return (_bare(name), treatment) if name else (_bare(text), "drop")


def _bare(text: str) -> str:
    """Give the name that quotes stand around, as they must in other options."""
    match = re.fullmatch(r'"((?:[^"]|"")+)"', text)
    return text if match is None else match[1].replace('""', '"')


def _named(flag: str, text: str) -> tuple[str, str]:
    """Read ``COLUMN=VALUE``, or a value that holds for every column, under no name."""
    return assignment(flag, text) if "=" in text else ("", text.strip())


def _bins(flag: str, text: str) -> tuple[str, int | Sequence[str]]:
    """Read a number of bins, or edges between commas."""
    name, bins = _named(flag, text)
    if "," in bins and name:
        return name, [edge.strip() for edge in bins.split(",")]
    if not bins.isdecimal():
        raise InvalidOption(
            f"{flag} {text!r} is not a number of bins.", f"Write it as {flag} 5 or {flag} A=0,10,20."
        )
    return name, int(bins)


def _bounds(flag: str, text: str) -> tuple[str, str]:
    low, comma, high = (part.strip() for part in text.partition(","))
    if not (low and comma and high):
        raise InvalidOption(f"{flag} {text!r} is not a range of shares.", f"Write it as {flag} 0.4,0.6.")
    return low, high


def _types(flag: str, texts: Sequence[str]) -> dict[str, str]:
    """Read ``A=TYPE,B=TYPE``; commas within the brackets of a type part nothing."""
    parts = [part for text in texts for part in _TYPE.findall(text) if part.strip()]
    return dict(assignment(flag, part) for part in parts)


def _by_column(read: Callable[[str, str], tuple[str, Any]]) -> Callable[[str, Sequence[str]], dict[str, Any]]:
    return lambda flag, texts: dict(read(flag, text) for text in texts)


def _choices(flag: str, text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _wholes(flag: str, text: str) -> tuple[int, ...]:
    words = _choices(flag, text)
    if not words or not all(word.isdecimal() for word in words):
        raise InvalidOption(f"{flag} {text!r} is not a list of whole numbers.", f"Write it as {flag} 2,5,10.")
    return tuple(map(int, words))


def _secret(flag: str, path: Path) -> bytes:
    """Read the file of a secret; white space around it, such as the end of the line, is not part of it."""
    try:
        return path.read_bytes().strip()
    except OSError:
        raise InvalidOption(f"The file {path} of {flag} cannot be read.", "Check the path.") from None


READERS: Mapping[Form | str, Callable[[str, Any], Any]] = {
    Form.names: lambda _, text: parse_names(text) if text else (),
    Form.choices: _choices,
    Form.wholes: _wholes,
    Form.share: lambda _, text: int(text) if text.strip().isdecimal() else text,
    Form.shares: _by_column(_named),
    Form.bounds: _bounds,
    Form.ranges: _by_column(lambda _, text: range_of(text)),
    Form.identifiers: _by_column(_identifier),
    Form.repeated_names: lambda _, texts: [_bare(text) for text in texts],
    Form.taxonomies: _by_column(assignment),
    Form.values: _by_column(assignment),
    Form.bins: _by_column(_bins),
    Form.types: _types,
    "secret": _secret,
    "nulls": lambda _, text: tuple(word.strip() for word in text.split(",")),  # the empty text is one, too
}
"""How a value of a form is read, or the one option of a name; others are taken as typer gives them."""
