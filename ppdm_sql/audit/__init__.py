"""The audit: what holds on a table, by SQL that shares nothing with the methods."""

from ppdm_sql.audit.auditing import THRESHOLDS, audit, findings
from ppdm_sql.audit.exposure import Exposure, SensitiveExposure, ValueConfidence
from ppdm_sql.audit.model import (
    ClassSizes,
    Finding,
    Group,
    Identifiable,
    IdentifiableValue,
    Inferences,
    Risk,
)
from ppdm_sql.audit.profiling import ColumnPair, ColumnProfile, Profile
from ppdm_sql.audit.report import Audit

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
