"""The audit: what holds on a table, by SQL that shares nothing with the methods."""

from ppdm_sql.audit.auditing import audit, findings
from ppdm_sql.audit.model import Audit, Finding, Identifiable

__all__ = ["Audit", "Finding", "Identifiable", "audit", "findings"]
