"""What people look at: one page a release, for its owner or for everybody; a model's; cells of a notebook."""

from ppdm_sql.report.notebook import html_of
from ppdm_sql.report.trees import write_model_report
from ppdm_sql.report.writing import write_report

__all__ = ["html_of", "write_model_report", "write_report"]
