"""What a method hands over to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ppdm_sql.names import Table
from ppdm_sql.requirements.model import Requirement

Treatment = Literal["suppressed", "sensitive", "class", "kept", "pseudonym", "count"]
Stopped = Literal["complete", "max-steps", "interrupted"]


class ReleasedColumn(NamedTuple):
    """A column of a release and what was done to it.

    Args:
        name: Its name, as the source spells it.
        treatment: ``suppressed`` (values may be hidden behind the symbol), ``sensitive``, ``class`` and
            ``kept`` (as they are), ``pseudonym``, or ``count`` (how many records the row stands for).
        packed: Whether the frozen table stores its text as an ENUM of the released values; the view and
            every export show text.
    """

    name: str
    treatment: Treatment
    packed: bool = False


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
        steps: Working table ``(step, attribute, parent, children, score, gain, loss)``.
        cuts: Working table ``(attribute, value, generalized)``.
        measures: What was measured before and after.
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
    steps: Table
    cuts: Table
    measures: tuple[tuple[str, float | None, float | None], ...] = ()
