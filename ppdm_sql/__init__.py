"""ppdm-sql: an anonymizer that works where the data lives, inside DuckDB.

Example:
    >>> import ppdm_sql as ppdm
    >>> with ppdm.open(":memory:") as db:
    ...     db.releases()
    []
"""

from ppdm_sql import starting as _starting  # isort: skip  # noqa: F401  # listens while the rest is imported
from importlib import import_module
from typing import TYPE_CHECKING

from ppdm_sql.version import __version__

if TYPE_CHECKING:
    from ppdm_sql import integrate, policy
    from ppdm_sql.audit import Audit
    from ppdm_sql.database import Database, anonymize, evaluate
    from ppdm_sql.database import open_database as open
    from ppdm_sql.engine.keys import new_key
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
        PpdmWarning,
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
    from ppdm_sql.release import Release
    from ppdm_sql.release.applying import Applied
    from ppdm_sql.risk.attempts import Attacks
    from ppdm_sql.risk.measuring import TableRisk
    from ppdm_sql.sql_calls.registering import register, unregister
    from ppdm_sql.taxonomy import Taxonomy

__all__ = [
    "Applied",
    "Attacks",
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
    "PpdmWarning",
    "Progress",
    "ProtocolError",
    "Release",
    "RequirementSyntaxError",
    "TCloseness",
    "TableRisk",
    "Taxonomy",
    "Template",
    "UnknownColumn",
    "UnknownModel",
    "UnknownRelease",
    "UnknownTable",
    "UnknownValue",
    "__version__",
    "anonymize",
    "evaluate",
    "integrate",
    "new_key",
    "open",
    "policy",
    "register",
    "unregister",
]

_PLACES = {
    "Applied": "ppdm_sql.release.applying",
    "Attacks": "ppdm_sql.risk.attempts",
    "Audit": "ppdm_sql.audit",
    "Database": "ppdm_sql.database",
    "Evaluation": "ppdm_sql.evaluation",
    "KAnonymity": "ppdm_sql.privacy",
    "LDiversity": "ppdm_sql.privacy",
    "Progress": "ppdm_sql.progress",
    "Release": "ppdm_sql.release",
    "TCloseness": "ppdm_sql.privacy",
    "TableRisk": "ppdm_sql.risk.measuring",
    "Taxonomy": "ppdm_sql.taxonomy",
    "Template": "ppdm_sql.privacy",
    "anonymize": "ppdm_sql.database",
    "evaluate": "ppdm_sql.database",
    "new_key": "ppdm_sql.engine.keys",
    "register": "ppdm_sql.sql_calls.registering",
    "unregister": "ppdm_sql.sql_calls.registering",
}
"""Where a public name is that is not an error: its module is imported when the name is first used."""


def __getattr__(name: str) -> object:
    """Import what a public name stands for; the engine and its libraries are slow to load."""
    if name in ("errors", "integrate", "policy", "progress"):
        return import_module(f"ppdm_sql.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "open":
        found = import_module("ppdm_sql.database").open_database
    else:
        found = getattr(import_module(_PLACES.get(name, "ppdm_sql.errors")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
