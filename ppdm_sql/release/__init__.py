"""Releases: published in one transaction, verified, exported, dropped."""

from ppdm_sql.audit.moments import Moments
from ppdm_sql.release.applying import Applied, apply, recoded
from ppdm_sql.release.catalogue import CatalogueRow, check_free, releases
from ppdm_sql.release.cut_tree import Node
from ppdm_sql.release.draft import Draft, Measured, ReleasedColumn, Treatment
from ppdm_sql.release.release import Release, Step, get, publish
from ppdm_sql.release.verification import Check, Verification

__all__ = [
    "Applied",
    "CatalogueRow",
    "Check",
    "Draft",
    "Measured",
    "Moments",
    "Node",
    "Release",
    "ReleasedColumn",
    "Step",
    "Treatment",
    "Verification",
    "apply",
    "check_free",
    "get",
    "publish",
    "recoded",
    "releases",
]
