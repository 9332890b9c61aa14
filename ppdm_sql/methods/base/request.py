"""What is asked of every run, whatever its method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the owner asks of a run; a method adds its own options.

    Args:
        into: Name of the release.
        class_column: The column to predict; a method may do without.
        count_column: Where rows are collapsed, the column that says how many records each stands for.
        keep: Columns to release as they are.
        allow_identifiers: Columns to release although they look like identifiers.
        identifiers: Direct identifiers, each with ``drop`` or ``pseudonym``.
        person: Columns that say whose record a row is; none where a record is a person.
        to: Where the rows go outside of the database: the path of a folder or the name of a table, or None.
    """

    into: str
    class_column: str | None = None
    count_column: str | None = None
    keep: Sequence[str] = ()
    allow_identifiers: Sequence[str] = ()
    identifiers: Mapping[str, str] = field(default_factory=dict)
    person: Sequence[str] = ()
    to: str | None = None
