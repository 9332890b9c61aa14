"""ppdm-sql: an anonymizer that works where the data lives, inside DuckDB.

Example:
    >>> import ppdm_sql as ppdm
    >>> with ppdm.open(":memory:") as db:
    ...     db.releases()
    []
"""

from ppdm_sql import integrate
from ppdm_sql.audit import Audit
from ppdm_sql.database import Database
from ppdm_sql.database import open_database as open
from ppdm_sql.errors import (
    ColumnRoleError,
    DatabaseUnavailable,
    EngineError,
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PeerError,
    PpdmError,
    ProtocolError,
    RequirementSyntaxError,
    UnknownColumn,
    UnknownModel,
    UnknownRelease,
    UnknownTable,
    UnknownValue,
)
from ppdm_sql.evaluation import Evaluation
from ppdm_sql.privacy import KAnonymity, LDiversity, TCloseness, Template
from ppdm_sql.progress import Progress
from ppdm_sql.release import Applied, Release
from ppdm_sql.sql_calls.registering import register, unregister
from ppdm_sql.taxonomy import Taxonomy
from ppdm_sql.version import __version__

__all__ = [
    "Applied",
    "Audit",
    "ColumnRoleError",
    "Database",
    "DatabaseUnavailable",
    "EngineError",
    "Evaluation",
    "GuaranteeNotMet",
    "InvalidOption",
    "InvalidSource",
    "KAnonymity",
    "LDiversity",
    "NameTaken",
    "PeerError",
    "PpdmError",
    "Progress",
    "ProtocolError",
    "Release",
    "RequirementSyntaxError",
    "TCloseness",
    "Taxonomy",
    "Template",
    "UnknownColumn",
    "UnknownModel",
    "UnknownRelease",
    "UnknownTable",
    "UnknownValue",
    "__version__",
    "integrate",
    "open",
    "register",
    "unregister",
]
