"""The requirement language: what an owner demands of a release, read, printed and compared."""

from ppdm_sql.privacy.model import (
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
    Template,
    Value,
    attributes,
)
from ppdm_sql.privacy.parsing import parse, parse_all, parse_names
from ppdm_sql.privacy.printing import (
    k_text,
    l_text,
    quote_name,
    quote_value,
    t_text,
    template_text,
)
from ppdm_sql.privacy.redundancy import Redundancy, redundancies
from ppdm_sql.privacy.resolving import resolve

__all__ = [
    "KAnonymity",
    "LDiversity",
    "Redundancy",
    "Requirement",
    "TCloseness",
    "Template",
    "Value",
    "attributes",
    "k_text",
    "l_text",
    "parse",
    "parse_all",
    "parse_names",
    "quote_name",
    "quote_value",
    "redundancies",
    "resolve",
    "t_text",
    "template_text",
]
