"""Settings, or releases, side by side: what each leaves of risk, and what it loses."""

from ppdm_sql.comparison.comparing import compare
from ppdm_sql.comparison.model import Comparison

__all__ = ["Comparison", "compare"]
