"""Releases under version control: a file describes them, ``ppdm run`` makes them and ``ppdm check`` checks.

Example:
    >>> from ppdm_sql import policy
    >>> policy.check("ppdm.toml").holds  # doctest: +SKIP
    True
"""

from ppdm_sql.policy.drafting import draft
from ppdm_sql.policy.reading import PlannedRelease, Policy, load, schema
from ppdm_sql.policy.running import Standing, Standings, check, run

__all__ = ["PlannedRelease", "Policy", "Standing", "Standings", "check", "draft", "load", "run", "schema"]
