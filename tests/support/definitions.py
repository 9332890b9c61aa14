"""Privacy models by their definitions, in fractions, and small random tables with hostile names."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
from filling import fill, quote
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql.engine.names import Table
from ppdm_sql.macros import macros

Row = tuple[Any, ...]
Held = Counter[Any]
"""The records of each sensitive value of a class, or of the table."""
Number = Fraction | float


# -- definitions -------------------------------------------------------------------------------------


def risk(held: Held, table: Held) -> Fraction:
    """Its records' part of the mean of 1 / class size over all records."""
    return held.total() * Fraction(1, held.total()) / table.total()


def entropy(held: Held, _: Held) -> float:
    shares = [n / held.total() for n in held.values()]
    return math.exp(-sum(p * math.log(p) for p in shares))


def distance(held: Held, table: Held, ordered: bool | None = None) -> Fraction:
    """The earth mover's distance, by the order of the values where they are numbers or dates."""
    values = sorted(table.keys() - {None}) + ([None] if None in table else [])
    if ordered is None:
        ordered = not all(isinstance(value, str | bool | tuple | None) for value in values)
    shares = [(Fraction(held[v], held.total()), Fraction(table[v], table.total())) for v in values]
    gaps = [p - q for p, q in shares]
    if not ordered:
        return sum(map(abs, gaps), Fraction(0)) / 2
    ways = (abs(sum(gaps[: place + 1], Fraction(0))) for place in range(len(gaps)))
    return sum(ways, Fraction(0)) / max(len(gaps) - 1, 1)


def gain(held: Held, table: Held) -> Fraction:
    """The largest (p - q) / q of a value."""
    ratios = (Fraction(n * table.total(), held.total() * table[value]) for value, n in held.items())
    return max(0, *(ratio - 1 for ratio in ratios))


def enhanced_gain(held: Held, table: Held) -> Number:
    """The same; infinite where a gain is above its own limit of -ln q."""
    for value, n in held.items():
        p, q = Fraction(n, held.total()), Fraction(table[value], table.total())
        if (p - q) / q > -math.log(q):
            return math.inf
    return gain(held, table)


def change(held: Held, table: Held) -> Number:
    """The largest of p / q and q / p over all values of the table; infinite where p = 0."""
    shares = [(Fraction(held[v], held.total()), Fraction(n, table.total())) for v, n in table.items()]
    return math.inf if any(p == 0 for p, _ in shares) else max(max(p / q, q / p) for p, q in shares)


def in_powers_of_two(ratio: Number) -> float:
    return math.inf if ratio == math.inf else math.log2(ratio)


def ratio(least: int) -> Callable[[Held, Held], Number]:
    """r1 / (r_l + ... + r_m) of a class."""

    def of_class(held: Held, _: Held) -> Number:
        r = sorted(held.values(), reverse=True)
        rarer = sum(r[least - 1 :])
        return Fraction(r[0], rarer) if rarer else math.inf

    return of_class


@dataclass(frozen=True)
class Model:
    """A privacy model by its definition."""

    text: str  # of the requirement: its limit, the sensitive column, the columns of the quasi-identifier
    of_class: Callable[[Held, Held], Number]  # the number of a class, given that of the table
    limits: st.SearchStrategy[Any]
    keeps: Callable[[Any, Any], bool] = lambda number, limit: number <= limit
    whole: Callable[[Sequence[Any]], Any] = max  # the number of the table of those of the classes
    shown: Callable[[Any], float] = float

    def asked(self, limit: Any, of: str = "s", on: str = "x, y") -> str:
        return self.text.format(limit, of=of, on=on)

    def numbers(self, classes: Sequence[Held]) -> list[Any]:
        table = sum(classes, Counter[Any]())
        return [self.of_class(held, table) for held in classes]

    def number(self, classes: Sequence[Held]) -> Any:
        return self.whole(self.numbers(classes))

    def reached(self, classes: Sequence[Held]) -> float:
        """What is shown of a table; a gain above its own limit counts as the records."""
        number = self.number(classes)
        broken = self.of_class is enhanced_gain and number == math.inf
        return float(sum(held.total() for held in classes) if broken else self.shown(number))

    def broken(self, classes: Sequence[Held], limit: Any) -> list[Held]:
        """The classes that break a limit: all or none where it is on the table."""
        if self.whole is sum:
            return [] if self.keeps(self.number(classes), limit) else list(classes)
        pairs = zip(classes, self.numbers(classes), strict=True)
        return [held for held, number in pairs if not self.keeps(number, limit)]


def within(change: Number, delta: Fraction) -> bool:
    """change <= 2^delta, exactly."""
    return change != math.inf and change**delta.denominator <= 2**delta.numerator


def at_least(number: Number, limit: Number) -> bool:
    return float(number) >= limit - 1e-9


def recursive(least: int) -> Model:
    return Model(
        f"recursive c = {{}}, l = {least} of {{of}} on {{on}}",
        ratio(least),
        UP_TO_4.filter(bool),
        keeps=lambda number, limit: number < limit,
    )


UP_TO_1, UP_TO_4 = (st.fractions(0, most, max_denominator=12) for most in (1, 4))
MODELS = {
    "k": Model("k >= {} on {on}", lambda held, _: held.total(), st.integers(1, 6), at_least, min),
    "confidence": Model(
        "{on} -> {of} <= {}",
        lambda held, _: Fraction(max(held.values()), held.total()),
        UP_TO_1.filter(bool),
    ),
    "distinct l": Model(
        "distinct l >= {} of {of} on {on}", lambda held, _: len(held), st.integers(1, 4), at_least, min
    ),
    "entropy l": Model(
        "entropy l >= {} of {of} on {on}",
        entropy,
        st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)]),
        at_least,
        min,
    ),
    "t": Model("t <= {} of {of} on {on}", distance, UP_TO_1),
    "average risk": Model("average risk <= {} on {on}", risk, UP_TO_1.filter(bool), whole=sum),
    "beta": Model("beta <= {} of {of} on {on}", gain, UP_TO_4),
    "enhanced beta": Model("enhanced beta <= {} of {of} on {on}", enhanced_gain, UP_TO_4),
    "delta": Model("delta <= {} of {of} on {on}", change, UP_TO_4, within, shown=in_powers_of_two),
    "recursive l = 2": recursive(2),
    "recursive l = 3": recursive(3),
    "recursive l = 4": recursive(4),
}


# -- random tables -----------------------------------------------------------------------------------

POOLS: dict[str, list[Any]] = {
    "VARCHAR": ["a", "A", "", "NULL", "it's", None],
    "INTEGER": [-3, 0, 7, 2147483647, None],
    "DECIMAL(12,2)": [Decimal("50000.00"), Decimal("0.50"), Decimal("-1.25"), None],
    "DOUBLE": [-0.5, 0.25, 1e300, None],
    "DATE": [datetime.date(1999, 12, 31), datetime.date(2000, 1, 1), datetime.date(2024, 2, 29), None],
    "TIMESTAMP": [datetime.datetime(2000, 1, 1, 1), datetime.datetime(2000, 1, 1, 2), None],
    "BOOLEAN": [True, False, None],
    "ENUM('x', 'y')": ["x", "y", None],
    "INTEGER[]": [(1,), (1, 2), None],
}
ORDERED = ("INTEGER", "DECIMAL(12,2)", "DATE", "DOUBLE", "TIMESTAMP")
HOSTILE = ["records", "value", "class", "qi", "tbl", "ic", "sensitive", "q_records", "s_value", "c", "d", "v"]
HOSTILE += ["t", "k", "values", "class_records", "select", 'quo"te', "it's", '"; DROP TABLE t; --', "日本"]
HOSTILE += ["a.b", "line\nbreak", "\\0", "\\1", "a\\", " lead", "%s", "$1", "--", "MiXed", "(?s)^q_.*"]
HOSTILE += ["Größe", "atom", "c0", "position", "$qi", "s", "1", "\t"]


def with_macros() -> duckdb.DuckDBPyConnection:
    """A database in memory with the macros, put there without the ceremony of an installation."""
    con = duckdb.connect(config={"threads": 2})
    for macro in macros():
        con.execute(macro.creation(Table(macro.name)))
    return con


shared = cache(with_macros)
"""The database of all random tables, one after the other: the macros take longer to make than to call."""


class Case:
    """A small random table ``t``: two grouping columns, a sensitive one, and perhaps a column of counts."""

    def __init__(self, names: Sequence[str], kind: str, rows: Sequence[Row], *, counted: bool) -> None:
        self.qi, self.sensitive, self.kind = list(names[:2]), names[2], kind
        self.count = names[3] if counted else None
        self.con, types = shared(), ["VARCHAR", "INTEGER", kind, *["BIGINT"] * counted]
        written = rows if counted else [row[:3] for row in rows for _ in range(row[3])]
        fill(self.con, "t", dict(zip(names, types, strict=False)), written)
        self.classes: dict[Row, Held] = defaultdict(Counter)
        for *group, value, records in rows:
            if records:
                self.classes[tuple(group)][value] += records

    @property
    def held(self) -> list[Held]:
        return list(self.classes.values())

    @property
    def sizes(self) -> dict[Row, int]:
        return {group: held.total() for group, held in self.classes.items()}

    def audit(self, *asked: Any, **options: Any) -> ppdm_sql.Audit:
        return ppdm_sql.open(self.con).audit("t", list(asked), count_column=self.count, **options)

    def asked(self, model: Model, limit: Any) -> str:
        return model.asked(limit, quote(self.sensitive), ", ".join(map(quote, self.qi)))


@st.composite
def cases(draw: st.DrawFn, *, least: int = 0, counted: bool = False) -> Case:
    """Draw a table, of so many records at least, perhaps with a column of counts."""
    names = draw(st.lists(st.sampled_from(HOSTILE), min_size=4, max_size=4, unique_by=str.lower))
    kind = draw(st.sampled_from(list(POOLS)))
    pool = draw(st.lists(st.sampled_from(POOLS[kind]), min_size=1, max_size=4))
    row = st.tuples(
        st.sampled_from(["x", "y", "", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(pool),
        st.integers(0, 4),
    )
    rows = draw(st.lists(row, min_size=least, max_size=14))
    if least:
        rows[0] = (*rows[0][:3], max(1, rows[0][3]))
    return Case(names, kind, rows, counted=counted and draw(st.booleans()))
