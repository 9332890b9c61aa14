"""What is asked of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What is asked of a training; see :meth:`ppdm_sql.Database.train` for each."""

    class_column: str
    into: str
    mode: str = "byclass"
    columns: Sequence[str] = ()
    intervals: int | None = None
    max_depth: int | None = None
    min_split: int | None = None
    prune: bool = True
    noise: Mapping[str, str] | Sequence[str] = ()
    ranges: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    test: str | None = None
