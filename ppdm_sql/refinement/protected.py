"""Turns requirements into gauges: finds the codes of the protected values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ppdm_sql.engine import Engine, type_title
from ppdm_sql.errors import InvalidOption
from ppdm_sql.refinement.collapse import Atoms, Dictionary
from ppdm_sql.refinement.gauges import Gauge
from ppdm_sql.requirements import KAnonymity, Requirement, Template
from ppdm_sql.requirements.model import Value
from ppdm_sql.statements import bind

NEVER = -1
"""Code of a protected value that the column does not hold; its confidence is 0 throughout."""


def gauges_of(engine: Engine, atoms: Atoms, requirements: Sequence[Requirement]) -> tuple[Gauge, ...]:
    """Make one gauge per template and protected value, and one per quasi-identifier.

    Where several demand the same of the same attributes, the hardest limit holds and counts once.

    Args:
        engine: Where the dictionaries are.
        atoms: The collapsed source.
        requirements: Templates and k-anonymity, names resolved.

    Raises:
        InvalidOption: A protected value cannot be a value of its column.
    """
    hardest: dict[object, Gauge] = {}
    for gauge in _all_gauges(engine, atoms, requirements):
        key = (frozenset(gauge.attributes), gauge.protected, _absent(gauge))
        other = hardest.setdefault(key, gauge)
        if (gauge.limit - other.limit) * gauge.direction < 0:
            hardest[key] = replace(gauge, attributes=other.attributes)
    return tuple(hardest.values())


def _absent(gauge: Gauge) -> object:
    """Tell apart values that the column does not hold, which have no codes of their own."""
    never = gauge.protected is not None and gauge.protected[1] == NEVER
    return gauge.requirement.values if never and isinstance(gauge.requirement, Template) else None


def _all_gauges(engine: Engine, atoms: Atoms, requirements: Sequence[Requirement]) -> Iterable[Gauge]:
    for requirement in requirements:
        if isinstance(requirement, KAnonymity):
            attributes = tuple(atoms.position(name) for name in requirement.quasi_identifier)
            yield Gauge(requirement, attributes, float(requirement.k))
        elif isinstance(requirement, Template):
            yield from _template_gauges(engine, atoms, requirement)


def _template_gauges(engine: Engine, atoms: Atoms, template: Template) -> list[Gauge]:
    attributes = tuple(atoms.position(name) for name in template.channel)
    sensitive = atoms.position(template.sensitive)
    codes = value_codes(engine, atoms.coded[sensitive], template.values)
    parts = template.split() if template.values is not None else (template,) * len(codes)
    return [
        Gauge(part, attributes, float(template.threshold), (sensitive, code))
        for part, code in zip(parts, codes, strict=True)
    ]


def value_codes(engine: Engine, dictionary: Dictionary, values: Sequence[Value] | None) -> list[int]:
    """Give the code of each protected value, NEVER where the column does not hold it.

    Args:
        engine: Where the dictionary is.
        dictionary: Of the sensitive column.
        values: Texts as the user wrote them, compared in the column's own type; None for every value.

    Raises:
        InvalidOption: A text cannot be read as a value of the column's type.
    """
    if values is None:
        return list(range(dictionary.size))
    query = bind("refinement/protected_codes", tables={"dictionary": dictionary.table})
    rows = engine.query(query, {"values": list(values)}, step="protected_codes")
    for text, (_, usable) in zip(values, rows, strict=True):
        if not usable:
            raise InvalidOption(
                f"The protected value {text!r} is not a value of column {dictionary.column.name!r}, "
                f"whose type is {type_title(dictionary.column.type)}.",
                "Write it as the column holds it.",
            )
    return [code for code, _ in rows]
