"""What is asked of a run of top-down refinement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from ppdm_sql.methods.base.request import Request
from ppdm_sql.privacy import Requirement
from ppdm_sql.taxonomy.model import Taxonomy


@dataclass(frozen=True, kw_only=True)
class RefinementRequest(Request):
    """What the owner asks of every refinement; see :meth:`ppdm_sql.Database.suppress` for each."""

    require: Sequence[str | Requirement]
    class_column: str | None = None
    max_steps: int | None = None
    symbol: str = "*"
    allow_absent: bool = False
    suppress_records: int | float | str | Fraction = 0
    loss: str = "smallest"
    limits: Mapping[str, object] = field(default_factory=dict)
    weights: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GeneralizeRequest(RefinementRequest):
    """What the owner asks of a generalization; see :meth:`ppdm_sql.Database.generalize` for each."""

    method: str = "tds"
    taxonomies: Mapping[str, Taxonomy | Mapping[str, object] | str | Path] = field(default_factory=dict)
    ranges: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    boundary: str = "valid"
    condition: Sequence[str] = ()
    suppress: Sequence[str] = ()
    min_widths: Mapping[str, object] = field(default_factory=dict)
    stop: str = "none"
    tops: Mapping[str, object] = field(default_factory=dict)
    bottoms: Mapping[str, object] = field(default_factory=dict)
    interval_columns: bool = False
    show_values: bool = False
