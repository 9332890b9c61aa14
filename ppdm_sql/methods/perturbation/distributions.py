"""Distributions that were reconstructed, and the tables that tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from sqlglot import exp

from ppdm_sql.audit.model import Titled
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.conditional_privacy import ConditionalPrivacy
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Noise, as_text
from ppdm_sql.release.ddl import create_table
from ppdm_sql.reporting import in_html
from ppdm_sql.version import __version__

Row = tuple[str | float | None, ...]
CRITERION, CAP_REACHED, EXACT = "chi-square criterion", "cap", "none needed"
"""What stopped an iteration; cells and inverted matrices need none."""
_COUNTED = ("nulls", "outside", "negative")
_LISTS = ("position", "attribute", "class_code", "lower", "upper", "value", "probability", "records")
_COLUMN_COMMENTS = {
    "attribute": "Column whose distribution this is.",
    "lower": "Lower bound, included, of the interval of the original value.",
    "upper": "Upper bound of the interval; whole numbers lie half a unit inside the bounds.",
    "value": "Category.",
    "probability": "Estimated share of the records that have a value; sums to 1.",
    "records": "Estimated number of records.",
    "class": "Class to which the distribution belongs.",
}


@dataclass(frozen=True)
class Distribution:
    """The distribution of one column, among the records of one class."""

    attribute: str  # the column
    class_value: str | None  # the class as text, None for NULL and where there are no classes
    class_code: int  # its position among the classes
    noise: Noise  # through which the values were seen
    edges: Floats | None  # of the intervals, one more than there are; None for categories
    values: tuple[str, ...]  # the categories; empty where there are intervals
    probabilities: Floats  # of each interval or category
    records: int  # that have a value which the noise can give, or for a number any value
    # records whose value the noise could not give. Numbers count to the end intervals, unknown categories are
    # left out.
    outside: int
    nulls: int  # records without a value, left out
    iterations: int  # steps that were made; 0 where none was needed
    converged: bool  # whether the chi-square criterion stopped them, not the cap
    negative: int  # categories that the inversion estimated below 0 and that were set to 0
    remaining: ConditionalPrivacy  # what is left of the privacy

    @property
    def stopped(self) -> str:
        """What stopped the iteration."""
        if self.iterations == 0:
            return EXACT
        return CRITERION if self.converged else CAP_REACHED

    def rows(self) -> list[Row]:
        """Give lower, upper, value, probability and records of each interval or category."""
        size = len(self.probabilities)
        none: list[None] = [None] * size
        ends = [none, none] if self.edges is None else [self.edges[:-1].tolist(), self.edges[1:].tolist()]
        shares = self.probabilities.tolist()
        records = (self.records * self.probabilities).tolist()
        return list(zip(*ends, self.values or none, shares, records, strict=True))


@dataclass(frozen=True, repr=False)
class Reconstruction:
    """What a run reconstructed.

    Args:
        into: The table that was made.
        distributions: One for each column and class, in this order.
        by_class: The class column; None without one.
    """

    into: str
    distributions: tuple[Distribution, ...]
    by_class: str | None = None

    def __repr__(self) -> str:
        columns = ", ".join(self._attributes())
        by_class = "" if self.by_class is None else f" by {self.by_class}"
        return f"Reconstruction({self.into!r}: {columns}{by_class})"

    def _repr_html_(self) -> str | None:
        return in_html(self)

    @property
    def converged(self) -> bool:
        """Whether the chi-square criterion was met everywhere."""
        return all(found.converged for found in self.distributions)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns of the table: those of all that are needed for what was reconstructed."""
        numbers = any(found.edges is not None for found in self.distributions)
        categories = any(found.edges is None for found in self.distributions)
        several = len({found.attribute for found in self.distributions}) > 1
        wanted = {
            "attribute": several,
            "lower": numbers,
            "upper": numbers,
            "value": categories,
            "probability": True,
            "records": True,
            "class": self.by_class is not None,
        }
        return tuple(name for name, there in wanted.items() if there)

    def rows(self) -> list[Row]:
        """Give the rows of the table, the class as text."""
        names = ("attribute", "lower", "upper", "value", "probability", "records", "class")
        places = [names.index(name) for name in self.shown]
        rows = [(f.attribute, *row, f.class_value) for f in self.distributions for row in f.rows()]
        return [tuple(row[place] for place in places) for row in rows]

    def tables(self) -> list[Titled]:
        """Give title, column names and rows of the tables to print."""
        runs: list[Row] = []
        left: list[Row] = []
        for f in self.distributions:
            how = (f.iterations, f.stopped, f.negative, as_text(f.noise))
            runs.append((f.records, f.nulls, f.outside, len(f.probabilities), *how))
            left.append(astuple(f.remaining))
        counted = ("records", "nulls", "outside", "cells", "iterations", "stopped by", "negative", "noise")
        measured = ("before", "after", "loss", "mean 95% width", "share below half of nominal")
        return [
            ("Distribution", self.shown, self.rows()),
            self._titled("Reconstruction", counted, runs),
            self._titled("Privacy by entropy", measured, left),
        ]

    def _titled(self, title: str, names: tuple[str, ...], rows: Sequence[Row]) -> Titled:
        """Put column and class before the rows of the distributions."""
        classes = ("class",) if self.by_class is not None else ()
        titled = [
            (f.attribute, *((f.class_value,) if classes else ()), *row)
            for f, row in zip(self.distributions, rows, strict=True)
        ]
        return title, ("column", *classes, *names), list(titled)

    def notices(self) -> list[str]:
        """Say what the user should know of the values."""
        return [text for name in self._attributes() for text in self._notices(name)]

    def unconverged(self) -> list[str]:
        """Say where the iterations did not come as far as was asked."""
        texts = []
        for name in self._attributes():
            of = [found for found in self.distributions if found.attribute == name]
            if late := sum(not found.converged for found in of):
                texts.append(
                    f"{name}: the cap stopped {late} of {len(of)} iterations before the chi-square criterion "
                    "was met; see --max-iterations and --fraction."
                )
        return texts

    def _attributes(self) -> list[str]:
        return list(dict.fromkeys(found.attribute for found in self.distributions))

    def _notices(self, name: str) -> list[str]:
        of = [found for found in self.distributions if found.attribute == name]
        nulls, outside, negative = (sum(getattr(f, kind) for f in of) for kind in _COUNTED)
        beyond = (
            "lie farther out than the noise takes any value of the range; they count to the end intervals"
            if isinstance(of[0].noise, AdditiveNoise)
            else "are none of those that the noise gives; they were left out"
        )
        texts = {
            f"{name}: {nulls} records have no value; they were left out.": nulls,
            f"{name}: {outside} values {beyond}.": outside,
            f"{name}: {negative} categories were estimated below 0 and set to 0.": negative,
        }
        return [text for text, number in texts.items() if number]


def write_table(engine: Engine, target: Table, done: Reconstruction, classes: Table | None) -> None:
    """Make the table of a reconstruction, with comments, all of it or nothing; ``classes`` has the codes."""
    found = [(f.attribute, f.class_code, *row) for f in done.distributions for row in f.rows()]
    rows = [(position, *row) for position, row in enumerate(found)]
    lists = {name: [row[place] for row in rows] for place, name in enumerate(_LISTS)}
    made = engine.materialize("distribution", bind("perturbation/distribution", tables={}), lists)
    shown = ", ".join(f'c."{name}"' if name == "class" else f'd."{name}"' for name in done.shown)
    joined = "" if classes is None else f" JOIN {classes} AS c ON c.class_code = d.class_code"
    select = f"SELECT {shown} FROM {made} AS d{joined} ORDER BY d.position"
    with engine.transaction():
        engine.write(create_table(target, select), step="reconstruct")
        engine.write(";\n".join(map(render, _comments(target, done))), step="comment")


def _comments(target: Table, done: Reconstruction) -> list[exp.Expression]:
    noise = {f.attribute: f"{f.attribute}: {as_text(f.noise)}" for f in done.distributions}
    made = f"Distribution behind noise, reconstructed by ppdm-sql {__version__}; {'; '.join(noise.values())}"
    table = exp.Comment(this=target.expression(), kind="TABLE", expression=literal(made))
    return [table, *(_column_comment(target, name) for name in done.shown)]


def _column_comment(target: Table, name: str) -> exp.Expression:
    of = exp.column(name, table=target.name, db=target.schema, catalog=target.catalog, quoted=True)
    return exp.Comment(this=of, kind="COLUMN", expression=literal(_COLUMN_COMMENTS[name]))
