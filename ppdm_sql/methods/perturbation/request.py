"""What is asked of a run of randomization."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppdm_sql.methods.base.request import Request

Bounds = tuple[object, object]


@dataclass(frozen=True, kw_only=True)
class RandomizeRequest(Request):
    """What the owner asks of a run; see :meth:`ppdm_sql.Database.randomize` for each."""

    noise: Mapping[str, str] | Sequence[str]
    ranges: Mapping[str, Bounds] = field(default_factory=dict)
    class_column: str | None = None
    record: str | None = None
    key_file: str | os.PathLike[str] | None = None
    seed: int | None = field(default=None, repr=False)
    correlated: bool = False
