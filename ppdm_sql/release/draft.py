"""What a method hands over to be published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sqlglot import exp

from ppdm_sql.audit.noise import Moments
from ppdm_sql.engine.names import Table, free_name
from ppdm_sql.privacy import Requirement

Bound = Literal["lower bound", "upper bound"]
Changed = Literal["suppressed", "generalized", "swapped", "randomized", "discretized", "pseudonym"]
Treatment = Changed | Literal["sensitive", "class", "kept", "count"] | Bound
Stopped = Literal["complete", "max-steps", "interrupted"]
MeasureRow = tuple[str, float | None, float | None]
"""A number that is told of a release: its name, before, and after; None where it means nothing."""


class ReleasedColumn(NamedTuple):
    """A column of a release and what was done to it.

    Args:
        name: Its name, as the source spells it.
        treatment: ``suppressed`` (values may be hidden behind the symbol), ``generalized`` (values are shown
            as nodes of a taxonomy or as intervals), ``lower bound`` and ``upper bound`` (of the interval that
            another column shows, NULL where it shows none), ``swapped`` (some values are exchanged),
            ``randomized`` (noise was added, or values replaced at random), ``discretized`` (values are shown
            as their cells), ``sensitive``, ``class`` and ``kept`` (as they are), ``pseudonym``, or ``count``
            (how many records the row stands for).
        packed: Whether the frozen table stores its text as an ENUM of the released values; the view and
            every export show text.
        top: What a masked column shows in the most general state; None is the symbol.
        of: For a bound, the generalized column whose interval it belongs to.
        type: For a bound, its SQL type.
        bins: For a swapped column that was numbers, the labels of its bins, in order.
        noise: For a randomized or discretized column, its noise in the language of ``--noise``.
    """

    name: str
    treatment: Treatment
    packed: bool = False
    top: str | None = None
    of: str | None = None
    type: str | None = None
    bins: Sequence[str] | None = None
    noise: str | None = None


class Measured(NamedTuple):
    """One measure of a release: in the source, and in the release; None where it means nothing."""

    measure: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Draft:
    """A release that is ready but not yet published.

    Args:
        name: Name of the release and of its view.
        method: Such as ``PDA``.
        source: The source table as the user wrote it; stays with the owner.
        requirements: What must hold on the published table.
        parameters: Options of the method, as JSON can hold them.
        stopped: Why the method ended.
        select: A SELECT of exactly ``columns``, ordered by released values only.
        count: The released column that says how many records a row stands for.
        columns: The released columns, in order.
        symbol: What stands for a suppressed value.
        rows: Number of records.
        steps: Working table ``(step, attribute, parent, children, score, gain, loss)``; None for a method
            that does not descend step by step, whose release has no earlier states.
        cuts: Working table ``(attribute, value, generalized)``, or None.
        measures: What was measured before and after.
        taxonomies: Working table ``(attribute, node, parent, label, lower, upper, closed, shown)``, one row
            per node of a masked column's tree; ``lower``, ``upper`` and ``closed`` (upper bound included) for
            intervals, ``shown`` for the nodes of the cut.
        marginals: For columns that a method changed, the records of each value, as text, in the release.
        moments: For columns with noisy numbers, how many values, their mean and standard deviation there.
        accept: The method's own audit of the rows as the release shows them, after that of the requirements;
            raises :class:`~ppdm_sql.errors.GuaranteeNotMet`, else gives further measures.
        settle: Called when nothing is left to do but to commit.
        person: Where requirements count persons, the last column of ``select``, with a number for each; the
            frozen table keeps it, and nothing shows it.
        persons: How many there are.
        first: The first step whose state keeps the requirements, as do all after it.
        unfolded: The count column, where the run collapsed its source itself: outside of the database rows
            are written one for each record, without it.
        outside: Whether the rows were written outside of the database and stand nowhere else; ``select``
            reads them there.
        control: Working table with the records that were split off, or None; the owner keeps them.
        compose: Called when the cut is recorded: tells what the release gives away together with others.
    """

    name: str
    method: str
    source: str
    requirements: tuple[Requirement, ...]
    parameters: Mapping[str, object]
    stopped: Stopped
    select: str
    count: str | None
    columns: tuple[ReleasedColumn, ...]
    symbol: str
    rows: int
    steps: Table | None
    cuts: Table | None
    measures: tuple[MeasureRow, ...] = ()
    taxonomies: Table | None = None
    marginals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moments: Mapping[str, Moments] = field(default_factory=dict)
    accept: Callable[[exp.Select], Sequence[MeasureRow]] | None = None
    settle: Callable[[], None] | None = None
    person: str | None = None
    persons: int | None = None
    first: int = 0
    unfolded: str | None = None
    outside: bool = False
    control: Table | None = None
    compose: Callable[[], None] | None = None


def person_column(released: Iterable[str]) -> str:
    """Name the column of persons of a frozen table so that no released column has the name.

    Example:
        >>> person_column(["zip"]), person_column(["Person_Number"])
        ('person_number', 'person_number_')
    """
    return free_name("person_number", released)
