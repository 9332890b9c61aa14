"""What every privacy model says of itself, once: language, counts, formula, audit step, words.

A model is a class derived from :class:`Requirement` in a module of its own in ``ppdm_sql/privacy/models/``.
The search measures it by its :class:`Formula`; the audit judges it by the step file that it names, which
shares nothing with the formula.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from ppdm_sql.engine.names import resolve as resolve_name
from ppdm_sql.engine.names import resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, UnknownValue, some
from ppdm_sql.privacy.level import AnyLevel, read_level
from ppdm_sql.privacy.limits import HIGHEST_LIMIT
from ppdm_sql.privacy.quoting import Value, name_list, number_text, quote_name
from ppdm_sql.privacy.reader import AT_LEAST, AT_MOST, OF, ON, PopulationTable, Reader

if TYPE_CHECKING:
    import re

    from ppdm_sql.errors import InvalidSource
    from ppdm_sql.privacy.formula import Formula, ValueCounts


class Counts(Enum):
    """What a model counts in each group of records, beside the records themselves."""

    RECORDS = "records alone: its number is the size of the smallest group"
    GROUPS = "the groups themselves: its number is one of the whole table, and no class breaks it alone"
    VALUES = "the records of every sensitive value"
    PROTECTED = "the records of each protected value, one at a time"
    POPULATION = "the records of a table, and those of a population with the same values"


@dataclass(frozen=True)
class Audited:
    """What a model may ask about the table that an audit reads."""

    size: Callable[[], tuple[int, int]]  # collapsed rows, and records; one scan, so only at need
    counted: Callable[[], int]  # what is counted in the whole table, records or persons; one scan, likewise
    type: str  # of the sensitive column; empty where there is none


@dataclass(frozen=True)
class AuditStep:
    """The step of ``sql/audit/`` that judges every class.

    It gives ``class, class_records, reached, violates``, a row a class.
    """

    name: str
    # tables that it reads: ``classes``, with the records of a population in them, ``cells``,
    # ``value_totals``, ``protected_values``, others
    inputs: tuple[str, ...]
    values: Mapping[str, int | float | bool] = field(default_factory=dict)
    prepared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # earlier steps, and what they read


class Requirement(ABC):
    """One demand on a release; the base of all privacy models.

    A requirement that makes no sense cannot be made: numbers out of range, a column named twice and a
    sensitive column among those that group the records are refused.
    """

    counts: ClassVar[Counts]  # in each group of records
    # whether refinement moves the number towards the limit only, so that it never repairs a violation
    monotone: ClassVar[bool] = True
    # whether a class is held against the distribution of the sensitive values in the whole table
    compares_with_table: ClassVar[bool] = False
    # whether it is monotone, too, where persons are counted, of whom one can be in several classes
    monotone_persons: bool = False
    # whether its shares are of the different values that persons have, each once, not of the persons
    counts_values: bool = False
    by_order: ClassVar[bool] = False  # whether it compares numbers and dates by their order
    counts_table: ClassVar[bool] = True  # whether records of the table are counted, not of a population alone
    # whether the form has no word that it opens with, so that every other form is tried before it
    reads_anything: ClassVar[bool] = False
    example: ClassVar[str] = "Job, Country -> Bankruptcy = Discharged <= 75%"  # a correct text, for errors
    opening: ClassVar[re.Pattern[str]]  # what a text of the form begins with
    # a pattern of what the model is called elsewhere, by which an error knows what was attempted
    other_spelling: ClassVar[str | None] = None
    limited_by: ClassVar[str]  # the field that holds the limit
    amount_words: ClassVar[str]  # how a number is written in its unit, such as ``a class of {:g} records``
    against_words: ClassVar[str]  # the same against its limit, such as ``{:.0f} of {:.0f} records``
    scale: ClassVar[int] = 1  # what a number is multiplied by to be written: 100 for per cent
    level: AnyLevel | None = None  # the level whose groups are counted in the place of single values
    macro: ClassVar[str | None] = None  # the step of ``sql/macros`` that measures each class in SQL alone

    def __post_init__(self) -> None:
        self.check()
        if not self.attributes:
            raise InvalidOption(
                "A requirement names no column to group records by.",
                "Name at least one, as in Job -> Bankruptcy <= 75%, or k >= 4 on Job.",
            )
        for sensitive in self.sensitive_columns:
            if sensitive in self.attributes:
                raise ColumnRoleError(
                    f"Column {sensitive!r} is sensitive and groups the records too, in: {self}.",
                    "Name it in one of the two places.",
                )
        twice = next((name for name in self.attributes if self.attributes.count(name) > 1), None)
        if twice is not None:
            raise ColumnRoleError(f"Column {twice!r} is named twice, in: {self}.", "Name each column once.")

    @abstractmethod
    def check(self) -> None:
        """Refuse limits that are out of range."""

    # -- the language

    @classmethod
    def read(cls, reader: Reader) -> Self | None:
        """Read one, or give None and stay where the text does not open like one."""
        if (word := reader.accept(cls.opening)) is None:
            return None
        reader.example = reader.example if cls.reads_anything else cls.example
        return cls.read_on(reader, word.lower())

    @classmethod
    @abstractmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        """Read what follows the word that it opens with."""

    @abstractmethod
    def written(self, *, limit: bool = True) -> str:
        """Write it down so that it reads back, with its limit or without."""

    def __str__(self) -> str:
        return self.written()

    @property
    def by(self) -> str:
        """The level as it stands after the sensitive column."""
        return "" if self.level is None else f" by {self.level}"

    # -- what it demands

    @property
    @abstractmethod
    def worst(self) -> Literal["min", "max"]:
        """Whether the lowest or the highest number of a class is the worst, and the release judged by it."""

    @property
    @abstractmethod
    def form(self) -> str:
        """The name of the form, such as ``distinct l``; those of one form can be compared."""

    @property
    def limit(self) -> Fraction | int:
        return cast(Fraction | int, getattr(self, self.limited_by))

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The columns by which records are grouped: the inference channel, or the quasi-identifier."""

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        return ()

    @property
    def protected(self) -> tuple[Value, ...] | None:
        """The protected values; None where it has none of its own."""
        return None

    @abstractmethod
    def over(self, attributes: tuple[str, ...], sensitive_columns: tuple[str, ...]) -> Self:
        """Give the same demand over other columns, or over the same ones spelled as the table does."""

    @property
    def population(self) -> PopulationTable | None:
        return None

    def split(self) -> tuple[Self, ...]:
        """Give one requirement per protected value, or itself where it protects all values alike."""
        return (self,)

    def sides(self) -> tuple[Self, ...]:
        """Give one requirement per limit where it has several, each on a number of its own, or itself."""
        return (self,)

    # -- how it is measured

    @property
    def breaks_in_parts(self) -> bool:
        """Whether every part of a class that breaks it breaks it too, so that none of them can be mended."""
        return False

    @abstractmethod
    def formula(self, values: ValueCounts) -> Formula:
        """Give the formula by which the search measures it."""

    @abstractmethod
    def search_limit(self, records: int) -> float:
        """Give the limit for what the formula measures over so many records, rounded to the strict side."""

    @abstractmethod
    def audit_step(self, table: Audited) -> AuditStep:
        """Give the step by which the audit judges it; its limits are exact, or on the strict side."""

    def reached(self, lowest: float, highest: float) -> float:
        """Give the number that a table is judged by, of the lowest and the highest of its classes."""
        return lowest if self.worst == "min" else highest

    def undefined(self, number: float) -> InvalidSource | None:
        """Say why a table has no such number, where what was reached tells that."""
        return None

    # -- its words

    @property
    @abstractmethod
    def measured(self) -> str:
        """What its number is called in the measures of a release, such as ``smallest class``."""

    def amount(self, number: float) -> str:
        """Write a number in its unit, such as ``a class of 3 records``."""
        return self.amount_words.format(self.scale * number)

    def against(self, number: float, limit: float) -> str:
        """Write a number against its limit, such as ``7 of 5 records``."""
        return self.against_words.format(self.scale * number, self.scale * limit)

    @abstractmethod
    def unmet(self, number: float) -> tuple[str, str]:
        """Say what is still so with every value masked, and what to ask for instead."""


class ClassRequirement(Requirement):
    """A demand on every equivalence class of a quasi-identifier."""

    quasi_identifier: tuple[str, ...]
    number: ClassVar[Callable[[Reader], Fraction | int]]  # reads its limit
    loosest: ClassVar[Fraction | int]  # the limit that every table keeps, for what is only measured

    @classmethod
    def read_on(cls, reader: Reader, word: str) -> Self:
        limit = {cls.limited_by: cls.read_limit(reader)}
        return cast(Self, cast(Any, cls)(**limit, **cls.read_columns(reader)))

    @classmethod
    def read_limit(cls, reader: Reader) -> Any:
        sign, expected = (AT_LEAST, "'>='") if cast(Any, cls).worst == "min" else (AT_MOST, "'<='")
        rest = OF if issubclass(cls, DistributionRequirement) else ON
        return cls.number(reader) if reader.bounded(sign, expected, rest) else cls.loosest

    @classmethod
    def read_columns(cls, reader: Reader) -> dict[str, Any]:
        """Read what stands behind the limit, by the names of fields."""
        return {"quasi_identifier": reader.quasi_identifier()}

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.quasi_identifier

    def over(self, attributes: tuple[str, ...], sensitive_columns: tuple[str, ...]) -> Self:
        sensitive = dict(zip(("sensitive",), sensitive_columns, strict=False))
        return cast(Self, replace(cast(Any, self), quasi_identifier=attributes, **sensitive))

    def written(self, *, limit: bool = True) -> str:
        demand = self.limited() if limit else self.form
        of = "".join(f" of {quote_name(name)}{self.by}" for name in self.sensitive_columns)
        within = "" if self.population is None else f" in {self.population}"
        return f"{demand}{of} on {name_list(self.quasi_identifier)}{within}"

    def limited(self) -> str:
        """Write the form with its limit, such as ``entropy l >= 3``."""
        sign = "<=" if self.worst == "max" else ">="
        return f"{self.form} {sign} {number_text(Fraction(self.limit))}"


@dataclass(frozen=True, kw_only=True)
class OfLevel(Requirement):
    """A demand that may count the groups of a level in the place of single values."""

    level: AnyLevel | None = None


class DistributionRequirement(OfLevel, ClassRequirement):
    """A demand on how the values of a sensitive column are distributed in every equivalence class."""

    counts = Counts.VALUES
    sensitive: str

    @classmethod
    def read_columns(cls, reader: Reader) -> dict[str, Any]:
        reader.expect(OF, "'of'")
        return {"sensitive": reader.name(), "level": read_level(reader), **super().read_columns(reader)}

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        return (self.sensitive,)


class PopulationRequirement(ClassRequirement):
    """A demand on the classes of a table beside those of a population."""

    counts = Counts.POPULATION
    macro = "presence"
    everybody: PopulationTable

    @classmethod
    def read_columns(cls, reader: Reader) -> dict[str, Any]:
        columns, everybody = reader.in_population()
        return {"quasi_identifier": columns, "everybody": everybody}

    @property
    def population(self) -> PopulationTable:
        return self.everybody


@dataclass(frozen=True)
class Measure:
    """A requirement without its limit, such as ``k on Sex, Job``: no table breaks it."""

    of: Requirement  # with the limit that every table keeps

    def __str__(self) -> str:
        return self.of.written(limit=False)


Asked = Requirement | Measure
"""What an audit can be asked."""


def requirement_of(item: Asked) -> Requirement:
    """Give the requirement; that of a measure holds on every table."""
    return item.of if isinstance(item, Measure) else item


def check_reachable(name: str, limit: int | Fraction) -> None:
    """Refuse a number that no table can reach."""
    if limit > HIGHEST_LIMIT:
        raise InvalidOption(
            f"No table is large enough for the {name} that is asked for.",
            f"Give a number such as {name} >= 4.",
        )


def resolve_measure(item: Asked, columns: Sequence[str], *, table: str) -> Asked:
    """Do as :func:`resolve` for what may have no limit."""
    if isinstance(item, Measure):
        return Measure(resolve(item.of, columns, table=table))
    return resolve(item, columns, table=table)


def refuse_populations(requirements: Iterable[Requirement]) -> None:
    """Refuse requirements by which a search would compare the persons of the table with a population."""
    for requirement in requirements:
        if requirement.population is not None and requirement.counts_table:
            raise InvalidOption(
                f"A run cannot count persons for {str(requirement)!r}, which compares table and population.",
                "Ask for k-map instead, leave --person out, or give a table with a row for each person.",
            )


def resolve(requirement: Requirement, columns: Sequence[str], *, table: str) -> Requirement:
    """Give the requirement with its columns spelled as the table spells them."""
    attributes = resolve_all(requirement.attributes, columns, table=table)
    sensitive = [resolve_name(name, columns, table=table) for name in requirement.sensitive_columns]
    return requirement.over(attributes, tuple(sensitive))


_MOST = 5
"""Values that a message names."""


def said_absent(column: str, values: Sequence[Value]) -> str:
    """Say which protected values a column does not hold, as the user wrote them."""
    texts = some(["NULL" if value is None else repr(value) for value in values], _MOST)
    plural = "s" if len(values) > 1 else ""
    return f"Column {column!r} does not hold the protected value{plural} {texts}."


def unknown_value(column: str, values: Sequence[Value]) -> UnknownValue:
    """Refuse protected values that a column does not hold: a misspelling would disclose everything."""
    return UnknownValue(
        said_absent(column, values),
        "Write each as the column holds it, capitals too, or give --allow-absent where that is meant.",
    )
