"""What is said of an option."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


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


class Required(Enum):
    """Stands where an option without a default has one."""

    required = "required"


REQUIRED: Final = Required.required


@dataclass(frozen=True)
class Option:
    """An option of a method.

    Args:
        name: What the method in Python calls it.
        form: What its value looks like.
        help: One sentence, for the help of the command and the reference page.
        example: A value as SQL writes it.
        default: What holds where it is not given.
        sql: What the call in SQL calls it, if not ``name``.
        flag: What the command line calls it, if not ``sql`` with hyphens; nothing for a word without a flag.
        metavar: What the help puts for the value.
        least: The least whole number that can be given.
        hidden: Whether it is there only to be refused in words.
    """

    name: str
    form: Form
    help: str
    example: str
    default: object = None
    sql: str = ""
    flag: str | None = None
    metavar: str | None = None
    least: int | None = None
    hidden: bool = False

    @property
    def argument(self) -> str:
        """Its name in SQL."""
        return self.sql or self.name

    @property
    def flags(self) -> str:
        """Its name on the command line; empty for a word that stands without one."""
        return f"--{self.argument.replace('_', '-')}" if self.flag is None else self.flag

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED
