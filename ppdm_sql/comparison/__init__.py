"""Settings, or releases, side by side: what each leaves of risk, and what it loses."""

from ppdm_sql.comparison.comparing import compare
from ppdm_sql.comparison.model import Comparison
from ppdm_sql.comparison.settings import CompareOptions

__all__ = ["CompareOptions", "Comparison", "compare"]
