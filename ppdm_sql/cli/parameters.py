"""Makes the parameters of a command out of the options of its method, and of what all commands take."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import ppdm_sql
from ppdm_sql.cli import reading
from ppdm_sql.cli.options import Attach, Debug, MemoryLimit, OutputFormat, Quiet, Spark, Sql, Threads
from ppdm_sql.cli.output import Format, notice
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.trace import traced
from ppdm_sql.engine.opening import remove_database
from ppdm_sql.options import OPTIONS, Form, Option
from ppdm_sql.progress import Progress
from ppdm_sql.sources import attachment, is_data_file

Run = Callable[..., None]


class Given(dict[str, Any]):
    """The options of a method that were given, as the method takes them; it has defaults for the others."""


@dataclass(frozen=True, kw_only=True)
class Common:
    """What commands take that run a method."""

    form: OutputFormat = Format.table
    sql: Sql = False
    quiet: Quiet = False
    debug: Debug = False
    attach: Attach = None
    threads: Threads = None
    memory_limit: MemoryLimit = None

    @contextmanager
    def opened(
        self, database: str | Path, *, source: str | None = None, create: bool = False
    ) -> Iterator[ppdm_sql.Database]:
        """Open a file; with ``--sql`` only to print the statements that would change it.

        Args:
            database: The file.
            source: What is read. Where that is no table of the file, a file that is not there is made, and
                removed again where the command fails.
            create: Make a file that is not there in any case.
        """
        new = (create or self.is_elsewhere(source)) and _is_missing(database)
        place = ":memory:" if new and self.sql else database
        with (
            ppdm_sql.open(
                place,
                read_only=self.sql,
                create=new,
                attach=attached(self.attach),
                threads=self.threads,
                memory_limit=self.memory_limit,
                spark=self.elsewhere,
            ) as db,
            _made(db, Path(database), on=new and not self.sql, quiet=self.quiet),
            traced(db, on=self.sql),
        ):
            db.progress = self.progress()
            yield db

    @contextmanager
    def reading(self, database: str | Path) -> Iterator[ppdm_sql.Database]:
        """Open a file that is only read."""
        with (
            ppdm_sql.open(
                database,
                read_only=True,
                attach=attached(self.attach),
                threads=self.threads,
                memory_limit=self.memory_limit,
                spark=self.elsewhere,
            ) as db,
            traced(db, on=self.sql),
        ):
            db.progress = self.progress()
            yield db

    def is_elsewhere(self, source: str | None) -> bool:
        """Tell whether what is read need not be in the file of the command."""
        if self.elsewhere is not None:
            return True
        return source is not None and (is_data_file(source) or bool(self.attach))

    @property
    def elsewhere(self) -> str | None:
        """The URL of where tables live that are not in the file, if the command takes one."""
        return None

    def progress(self) -> Progress:
        """Give what shows how far the method is."""
        return progress(quiet=self.quiet or self.sql)


@dataclass(frozen=True, kw_only=True)
class CommonOfSpark(Common):
    """The same for commands that take tables of Spark, too."""

    spark: Spark = None

    @property
    def elsewhere(self) -> str | None:
        """What ``--spark`` was given."""
        return self.spark


def attached(texts: Sequence[str] | None) -> dict[str, str]:
    """Read what ``--attach`` was given, by name."""
    return dict(attachment(text) for text in texts or ())


def _is_missing(database: str | Path) -> bool:
    return str(database) != ":memory:" and not os.path.lexists(database)


@contextmanager
def _made(db: ppdm_sql.Database, file: Path, *, on: bool, quiet: bool) -> Iterator[None]:
    """Say that a file was made; where nothing came into it, it is removed."""
    try:
        yield
    except BaseException:
        if on and _is_empty(db):
            db.close()
            remove_database(file)
        elif on:
            notice(f"Made {file}.", quiet=quiet)
        raise
    if on:
        notice(f"Made {file}.", quiet=quiet)


def _is_empty(db: ppdm_sql.Database) -> bool:
    """Whether nothing is kept in a file, as far as that can be known; attached databases do not count."""
    try:
        own, _ = db.engine.current()
        return not any(table.catalog == own for table in db.engine.tables())
    except ppdm_sql.PpdmError:
        return False


_TYPES: dict[Form, Any] = {
    Form.path: Path,
    Form.whole: int,
    Form.number: float,
    Form.flag: bool,
    Form.texts: list[str],
    Form.repeated_names: list[str],
    Form.shares: list[str],
    Form.thresholds: list[str],
    Form.ranges: list[str],
    Form.identifiers: list[str],
    Form.noises: list[str],
    Form.taxonomies: list[str],
    Form.bins: list[str],
    Form.types: list[str],
    Form.values: list[str],
}
"""What typer takes for an option; a text for those of other forms."""


def takes(method: str, *, without: Sequence[str] = ()) -> Callable[[Run], Run]:
    """Let a command take the options of a method, for its parameter of the type :class:`Given`.

    A parameter whose type is a dataclass, such as :class:`Common`, is made of one for each of its fields.

    Args:
        method: The method, as in :data:`~ppdm_sql.options.OPTIONS`.
        without: Options that the command has in a form of its own, or not at all.
    """
    taken = [option for option in OPTIONS[method] if option.name not in without]

    def command(run: Run) -> Run:
        own = inspect.signature(run, eval_str=True).parameters
        groups = {name: one.annotation for name, one in own.items() if _is_group(one.annotation)}

        @wraps(run)
        def filled(**words: Any) -> None:
            asked = ((option, words.pop(option.name)) for option in taken)
            # typer gives None, or no texts, for what is not on the command line: the method has its default
            given = Given({o.name: _read(o, word) for o, word in asked if word is not None and word != []})
            for name, kind in groups.items():
                words[name] = kind(**{field.name: words.pop(field.name) for field in fields(kind)})
            run(given=given, **words)

        def flat(one: inspect.Parameter) -> list[inspect.Parameter]:
            if one.annotation is Given:
                return [_parameter(option) for option in taken]
            return _members(one.annotation) if one.name in groups else [one]

        parameters = [item for one in own.values() for item in flat(one)]
        keyword = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
        filled.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        filled.__annotations__ = {}
        return filled

    return command


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind)


def _members(group: Any) -> list[inspect.Parameter]:
    """Make a parameter of each field of a dataclass."""
    hints = get_type_hints(group, include_extras=True)
    absent = inspect.Parameter.empty
    return [
        _keyword(field.name, hints[field.name], absent if field.default is MISSING else field.default)
        for field in fields(group)
    ]


def _parameter(option: Option) -> inspect.Parameter:
    """Make the parameter of an option: an argument where it has no flag, else an option of typer."""
    kind: Any = _TYPES.get(option.form, str)
    default = _default(option)
    if not option.flags:
        info: Any = typer.Argument(metavar=option.metavar, help=option.help, show_default=False)
    else:
        names = [option.flags] if option.form is Form.flag else option.flags.split("/")
        text = _repeatable(option.help) if kind == list[str] else option.help
        info = typer.Option(*names, metavar=option.metavar, help=text, min=option.least, hidden=option.hidden)
    return _keyword(option.name, Annotated[kind if default is not None else kind | None, info], default)


def _default(option: Option) -> Any:
    """Give what typer takes for the default: nothing where the option must be given."""
    if option.required:
        return inspect.Parameter.empty
    if _is_negated(option):
        return not option.default
    if option.form is Form.share:
        return str(option.default)
    return None if option.default == () else option.default


def _read(option: Option, word: Any) -> Any:
    return not word if _is_negated(option) else reading.value(option.form, option.flags, word)


def _is_negated(option: Option) -> bool:
    """Whether the switch of the command line takes something away that is there by default."""
    return option.flags.startswith("--no-")


def _repeatable(text: str) -> str:
    return text.removesuffix(".") + "; repeatable."


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
