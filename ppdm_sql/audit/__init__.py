"""The audit: what holds on a table, by SQL that shares nothing with the methods."""

from importlib import import_module
from typing import TYPE_CHECKING

from ppdm_sql.audit.auditing import THRESHOLDS, audit, findings
from ppdm_sql.audit.model import (
    Audit,
    ClassSizes,
    Finding,
    Group,
    Identifiable,
    IdentifiableValue,
    Inferences,
    Risk,
)

if TYPE_CHECKING:
    from ppdm_sql.audit.exposure import Exposure, SensitiveExposure, ValueConfidence
    from ppdm_sql.audit.profiling import ColumnPair, ColumnProfile, Profile

__all__ = [
    "THRESHOLDS",
    "Audit",
    "ClassSizes",
    "ColumnPair",
    "ColumnProfile",
    "Exposure",
    "Finding",
    "Group",
    "Identifiable",
    "IdentifiableValue",
    "Inferences",
    "Profile",
    "Risk",
    "SensitiveExposure",
    "ValueConfidence",
    "audit",
    "findings",
]

_PLACES = {
    "ColumnPair": "profiling",
    "ColumnProfile": "profiling",
    "Exposure": "exposure",
    "Profile": "profiling",
    "SensitiveExposure": "exposure",
    "ValueConfidence": "exposure",
}
"""Where a name is: its module is imported when the name is first used; publishing needs none of them."""


def __getattr__(name: str) -> object:
    """Import what a name stands for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
