"""The requirement language: what an owner demands of a release, read, printed and compared."""

from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.models import parse, parse_all, parse_measure, parse_measures, parse_names
from ppdm_sql.privacy.models.k_anonymity import KAnonymity
from ppdm_sql.privacy.models.l_diversity import LDiversity
from ppdm_sql.privacy.models.t_closeness import TCloseness
from ppdm_sql.privacy.models.template import Template, redundancies
from ppdm_sql.privacy.quoting import Value, quote_name
from ppdm_sql.privacy.reader import PopulationTable
from ppdm_sql.privacy.requirement import (
    Asked,
    Audited,
    AuditStep,
    Counts,
    Measure,
    Requirement,
    requirement_of,
    resolve,
    resolve_measure,
)

__all__ = [
    "Asked",
    "AuditStep",
    "Audited",
    "Counts",
    "Formula",
    "KAnonymity",
    "LDiversity",
    "Measure",
    "PopulationTable",
    "Requirement",
    "TCloseness",
    "Template",
    "Value",
    "ValueCounts",
    "parse",
    "parse_all",
    "parse_measure",
    "parse_measures",
    "parse_names",
    "quote_name",
    "redundancies",
    "requirement_of",
    "resolve",
    "resolve_measure",
]
