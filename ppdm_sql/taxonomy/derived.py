"""Taxonomies that a rule derives from the values of a column: calendar dates, prefixes, round ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, localcontext
from itertools import pairwise

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, option_for
from ppdm_sql.engine.statements import bind
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of, type_title
from ppdm_sql.errors import InvalidOption, InvalidSource, said
from ppdm_sql.taxonomy.model import ROOT, Taxonomy

LEVELS = ("month", "quarter", "year", "decade")
"""What days are grouped into; each of them ends where one of the next ends."""
MOST_RANGES, MOST_PREFIXES = 10_000, 100_000
"""Leaves that ranges may have, and codes."""
MASK = "*"
TailBounds = tuple[str | None, str | None]
"""Texts of the greatest value of a lower tail and the smallest of an upper one; None where there is none."""
_EXACT = Context(prec=1000, traps=[InvalidOperation, Inexact])
"""Holds the digits of any DOUBLE or DECIMAL beside those of a width; the usual 28 do not."""
SEPARATORS = ".-/"
"""What stands between the parts of a code, and ends no prefix of codes of unequal length by itself."""
_WORDS = re.compile(r"(dates|prefixes|ranges)(?:\s+([\w.,\s]+))?")
EXAMPLES = "dates, dates month,year, prefixes, prefixes 1,3, or ranges 5,10,20"


@dataclass(frozen=True)
class DerivedTaxonomy:
    """A rule by which the values of a column make a taxonomy.

    Example:
        >>> DerivedTaxonomy.of_text("ranges 5, 10, 20")
        DerivedTaxonomy(name='ranges', levels=('5', '10', '20'))
        >>> DerivedTaxonomy.of_text("jobs.csv") is None
        True
    """

    # ``dates``: days, months, quarters, years, decades; ``prefixes``: codes, masked from the right;
    # ``ranges``: intervals of round widths
    name: str
    # for dates the groups wanted (all by default), for prefixes their lengths (all by default), for ranges
    # the widths, narrowest first
    levels: tuple[str, ...] = ()

    @classmethod
    def of_text(cls, text: str) -> DerivedTaxonomy | None:
        """Read a rule; None where the text names none, as the name of a file or a table does not."""
        match = _WORDS.fullmatch(text.strip().lower())
        if match is None:
            return None
        levels = [part.strip() for part in (match[2] or "").split(",") if part.strip()]
        check = {"dates": _date_levels, "prefixes": _prefix_lengths, "ranges": _range_widths}[match[1]]
        return cls(match[1], check(levels))

    @classmethod
    def named(cls, text: str) -> DerivedTaxonomy:
        rule = cls.of_text(text)
        if rule is None:
            raise InvalidOption(f"There is no rule {said(text)}.", f"Give one such as {EXAMPLES}.")
        return rule

    def is_interval(self, type_text: str) -> bool:
        """Whether the leaves over a column of a type are intervals rather than values."""
        return self.name == "ranges" or (self.name == "dates" and kind_of(type_text) is not Kind.DATE)

    @property
    def has_tails(self) -> bool:
        """Whether the values at an end can be one leaf below the root."""
        return self.name == "ranges"

    def of_values(
        self, engine: Engine, values: Table, column: Column, *, table: str, tails: TailBounds = (None, None)
    ) -> Taxonomy:
        """Make the taxonomy of the values of a column."""
        if self.name == "ranges":
            paths = list(self._ranges(engine, values, column, tails))
        else:
            rule = self._dates if self.name == "dates" else self._prefixes
            paths = list(rule(engine, values, column))
        if not paths:
            raise InvalidSource(
                f"Column {column.name!r} of table {table} holds no value.", "Name another column."
            )
        return Taxonomy.from_paths(paths)

    def _dates(self, engine: Engine, values: Table, column: Column) -> Iterator[list[str]]:
        """Give a path for each day; the day of a timestamp is an interval."""
        kind = kind_of(column.type)
        if kind not in MOMENTS:
            raise self._unfit(column, "dates or timestamps")
        rows = engine.query(bind("taxonomy/days", tables={"column_values": values}), step="days")
        for day, following, *groups in rows:
            above = [label for level, label in zip(LEVELS, groups, strict=True) if level in self.levels]
            leaf = day if kind is Kind.DATE else f"[{day}, {following})"
            yield [leaf, *above, ROOT]

    def _prefixes(self, engine: Engine, values: Table, column: Column) -> Iterator[list[str]]:
        query = bind("taxonomy/texts", tables={"value_counts": values})
        texts = [text for (text,) in engine.query(query, step="texts")]
        if len(texts) > MOST_PREFIXES:
            raise InvalidSource(
                f"Column {column.name!r} holds {len(texts)} different codes, too many for a taxonomy.",
                "Derive a coarser column in a view.",
            )
        yield from prefix_paths(texts, sorted(map(int, self.levels), reverse=True) or None)

    def _ranges(
        self, engine: Engine, values: Table, column: Column, tails: TailBounds
    ) -> Iterator[list[str]]:
        """Give a path for each tail, and for the narrowest intervals from the least to the greatest other."""
        if not is_number(column.type):
            raise self._unfit(column, "numbers")
        widths = [Decimal(width) for width in self.levels]
        query = bind("taxonomy/extremes", tables={"column_values": values})
        bounds = dict(zip(("bottom", "top"), tails, strict=True))
        ((least, greatest, number),) = engine.query(query, bounds, step="extremes")
        bottom, top = (None if bound is None else _finite(bound, column) for bound in tails)
        if not number or (least is None and bottom is None and top is None):
            return
        try:
            with localcontext(_EXACT):
                # a label holds its lower bound, and that of the lower tail is in the tail
                clip = None if bottom is None else _next_above(bottom, column.type), top
                ends = None if least is None else (Decimal(least), Decimal(greatest))
                paths = [] if ends is None else self._between(*ends, widths, column, clip)
                lower, upper = ([] if bound is None else [_plain(bound)] for bound in (bottom, top))
        except DecimalException:
            raise InvalidSource(
                f"Column {column.name!r} holds numbers of too many digits for ranges of such widths.",
                f"Ranges are exact to {_EXACT.prec} digits: cast the column to DOUBLE in a view.",
            ) from None
        yield from ([f"{bound} or less", ROOT] for bound in lower)
        yield from paths
        yield from ([f"{bound} or more", ROOT] for bound in upper)

    def _between(
        self,
        least: Decimal,
        greatest: Decimal,
        widths: Sequence[Decimal],
        column: Column,
        clip: tuple[Decimal | None, Decimal | None],
    ) -> list[list[str]]:
        """Give the paths of the intervals from one number to another, none of which leaves the clip."""
        lower, last = (_floor(bound, widths[0]) for bound in (least, greatest))
        if (last - lower) / widths[0] >= MOST_RANGES:
            raise InvalidSource(
                f"Ranges of {widths[0]} over column {column.name!r} would be more than {MOST_RANGES}.",
                "Give wider ones, such as --taxonomy age='ranges 10,20'.",
            )
        paths = []
        while lower <= last:
            paths.append([*(_interval(_floor(lower, width), width, clip) for width in widths), ROOT])
            lower += widths[0]
        return paths

    def _unfit(self, column: Column, what: str) -> InvalidSource:
        return InvalidSource(
            f"Column {column.name!r} holds {type_title(column.type)}, not {what}, which {self.name} are for.",
            f"Cast it in a view, or give another taxonomy: a file, a table, or {EXAMPLES}.",
        )


def prefix_paths(codes: Sequence[str], lengths: Sequence[int] | None = None) -> Iterator[list[str]]:
    """Give a path for each code through what it begins with.

    Codes of one length are masked to that length. Where lengths differ, a mask only says that something may
    follow, and a code that others begin with stands below its own group, as ``A00`` does with ``A00.1``.

    Example:
        >>> list(prefix_paths(["A00", "A00.1"]))
        [['A00', 'A00*', 'A0*', 'A*', '*'], ['A00.1', 'A00*', 'A0*', 'A*', '*']]
    """
    longest = max(map(len, codes), default=0)
    width = longest if min(map(len, codes), default=0) == longest else 0
    every = range(longest - 1, 0, -1) if lengths is None else lengths
    for code in codes:
        own = [length for length in every if length < len(code) + (not width)]
        if lengths is None and not width:
            own = [length for length in own if code[length - 1] not in SEPARATORS]
        yield [code, *((code[:length] + MASK).ljust(width, MASK) for length in own), ROOT]


def _floor(value: Decimal, width: Decimal) -> Decimal:
    """Give the multiple of a width at or below a value."""
    down = value // width * width
    return down - width if down > value else down


def _interval(lower: Decimal, width: Decimal, clip: tuple[Decimal | None, Decimal | None]) -> str:
    """Label the interval from a number, or what is left of it where it reaches into a tail."""
    least, top = clip
    upper = lower + width
    lower, upper = lower if least is None else max(lower, least), upper if top is None else min(upper, top)
    return f"[{_plain(lower)}, {_plain(upper)})"


def _finite(bound: str, column: Column) -> Decimal:
    """Read the bound of a tail."""
    number = Decimal(bound)
    if number.is_finite():
        return number
    raise InvalidOption(
        f"A tail of column {column.name!r} begins at no finite number, so no ranges lie beside it.",
        f"Write it as {option_for('--top', column.name, '90')} or "
        f"{option_for('--bottom', column.name, '18')}.",
    )


def _next_above(bound: Decimal, type_text: str) -> Decimal:
    """Give the least value above another that a type of numbers has.

    Example:
        >>> [str(_next_above(Decimal(18), kind)) for kind in ("INTEGER", "DECIMAL(5,2)", "DOUBLE", "FLOAT")]
        ['19', '18.01', '18.000000000000004', '18.000002']
    """
    kind = kind_of(type_text)
    if kind is Kind.REAL:
        if type_text == "DOUBLE":
            return Decimal(repr(math.nextafter(float(bound), math.inf)))
        import numpy as np  # no other rule needs it

        return Decimal(str(np.nextafter(np.float32(float(bound)), np.float32(math.inf))))
    scale = int(type_text.rstrip(")").rpartition(",")[2]) if kind is Kind.DECIMAL else 0
    return bound + Decimal(1).scaleb(-scale)


def _plain(number: Decimal) -> str:
    """Write a number without an exponent and without zeros that say nothing."""
    text = f"{number + 0:f}"  # adding 0 takes the sign of a zero away
    return text.rstrip("0").rstrip(".") if "." in text else text


def _date_levels(levels: Sequence[str]) -> tuple[str, ...]:
    unknown = [level for level in levels if level.rstrip("s") not in LEVELS]
    if unknown:
        raise InvalidOption(f"Dates have no level {unknown[0]!r}.", f"Give some of: {', '.join(LEVELS)}.")
    names = {level.rstrip("s") for level in levels} or set(LEVELS)
    return tuple(level for level in LEVELS if level in names)


def _prefix_lengths(levels: Sequence[str]) -> tuple[str, ...]:
    if not all(level.isdecimal() and int(level) > 0 for level in levels):
        raise InvalidOption("A length of a prefix is not a whole number.", "Write it as: prefixes 1,3.")
    return tuple(levels)


def _range_widths(levels: Sequence[str]) -> tuple[str, ...]:
    readable = bool(levels) and all(re.fullmatch(r"\d+(\.\d+)?", level) for level in levels)
    widths = [Decimal(level) for level in levels] if readable else [Decimal(0)]
    if min(widths) <= 0:
        raise InvalidOption("Ranges need widths above 0.", "Write them as: ranges 5,10,20.")
    try:
        with localcontext(_EXACT) as exact:
            widths = [exact.plus(width) for width in widths]
            nest = all(narrow < wide and not wide % narrow for narrow, wide in pairwise(widths))
    except DecimalException:
        raise InvalidOption(
            f"The widths of ranges have too many digits: together they may have {_EXACT.prec}.",
            "Write them as: ranges 5,10,20.",
        ) from None
    if not nest:
        raise InvalidOption(
            f"Ranges of {', '.join(levels)} do not nest: each width must be a multiple of the one before.",
            "Write them as: ranges 5,10,20.",
        )
    return tuple(levels)
