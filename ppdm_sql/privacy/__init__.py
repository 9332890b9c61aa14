"""The requirement language: what an owner demands of a release, read, printed and compared."""

from ppdm_sql.privacy.model import (
    Asked,
    KAnonymity,
    LDiversity,
    Measure,
    Requirement,
    TCloseness,
    Template,
    Value,
    attributes,
    requirement_of,
)
from ppdm_sql.privacy.parsing import parse, parse_all, parse_measure, parse_measures, parse_names
from ppdm_sql.privacy.printing import (
    k_text,
    l_text,
    quote_name,
    quote_value,
    t_text,
    template_text,
)
from ppdm_sql.privacy.redundancy import Redundancy, redundancies
from ppdm_sql.privacy.resolving import resolve, resolve_measure

__all__ = [
    "Asked",
    "KAnonymity",
    "LDiversity",
    "Measure",
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
    "parse_measure",
    "parse_measures",
    "parse_names",
    "quote_name",
    "quote_value",
    "redundancies",
    "requirement_of",
    "resolve",
    "resolve_measure",
    "t_text",
    "template_text",
]
