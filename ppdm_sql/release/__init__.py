"""Releases: published in one transaction, verified, exported, dropped."""

from ppdm_sql.audit.noise import Moments
from ppdm_sql.release.catalogue import CatalogueRow, check_free, check_writable, releases
from ppdm_sql.release.layout import Draft, Measured, ReleasedColumn, Treatment
from ppdm_sql.release.release import Release, Step, get, publish
from ppdm_sql.release.verification import Check, Verification

__all__ = [
    "CatalogueRow",
    "Check",
    "Draft",
    "Measured",
    "Moments",
    "Release",
    "ReleasedColumn",
    "Step",
    "Treatment",
    "Verification",
    "check_free",
    "check_writable",
    "get",
    "publish",
    "releases",
]
