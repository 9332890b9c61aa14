"""The requirement language: what an owner demands of a release, read, printed and compared."""

from ppdm_sql.requirements.comparing import Redundancy, redundancies
from ppdm_sql.requirements.model import (
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
    Template,
    Value,
    attributes,
)
from ppdm_sql.requirements.parsing import parse, parse_all, parse_names
from ppdm_sql.requirements.resolving import resolve
from ppdm_sql.requirements.text import (
    k_text,
    l_text,
    quote_name,
    quote_value,
    t_text,
    template_text,
)

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
