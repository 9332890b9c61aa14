"""What people look at: one page a release, for its owner or for everybody."""

from ppdm_sql.report.writing import ReportOptions, write_report

__all__ = ["ReportOptions", "write_report"]
