"""Turns requirements into gauges: finds the codes of the protected values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ppdm_sql.engine import Engine, type_title
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.methods.top_down.constraints import Constraint
from ppdm_sql.privacy import (
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
    Template,
    attributes,
)
from ppdm_sql.privacy.limits import MOST_RECORDS, at_most, entropy_limit
from ppdm_sql.privacy.model import Value

NEVER = -1
"""Code of a protected value that the column does not hold; its confidence is 0 throughout."""
MOST_VALUES = 200
"""Different sensitive values that l-diversity and t-closeness can watch during a run."""
FINEST, DISTANCES = 10**7, 10**12
"""Denominators of limits that floating point still tells apart from all that is measured beside them."""


def constraints_of(
    engine: Engine, atoms: Atoms, requirements: Sequence[Requirement]
) -> tuple[Constraint, ...]:
    """Make one gauge per template and protected value, and one per other requirement.

    Where several demand the same of the same attributes, the hardest limit holds and counts once.

    Args:
        engine: Where the dictionaries are.
        atoms: The collapsed source.
        requirements: With their names resolved.

    Raises:
        InvalidOption: A protected value cannot be a value of its column, or a sensitive column has too many
            values for l-diversity or t-closeness.
    """
    hardest: dict[object, Constraint] = {}
    for gauge in _all_gauges(engine, atoms, requirements):
        key = (gauge.kind, frozenset(gauge.attributes), gauge.sensitive, gauge.protected, _absent(gauge))
        other = hardest.setdefault(key, gauge)
        if (gauge.limit - other.limit) * gauge.direction < 0:
            hardest[key] = replace(gauge, attributes=other.attributes)
    return tuple(hardest.values())


def _absent(gauge: Constraint) -> object:
    """Tell apart values that the column does not hold, which have no codes of their own."""
    return gauge.requirement.values if gauge.protected == NEVER else None  # type: ignore[union-attr]


def _all_gauges(engine: Engine, atoms: Atoms, requirements: Sequence[Requirement]) -> Iterable[Constraint]:
    for requirement in requirements:
        grouping = tuple(atoms.position(name) for name in attributes(requirement))
        if isinstance(requirement, Template):
            yield from _template_gauges(engine, atoms, requirement, grouping)
        elif isinstance(requirement, KAnonymity):
            yield Constraint(requirement, "size", grouping, float(min(requirement.k, MOST_RECORDS)))
        else:
            sensitive = _few_enough(atoms, requirement)
            if isinstance(requirement, TCloseness):
                limit = float(at_most(requirement.t, DISTANCES))
                yield Constraint(requirement, "distance", grouping, limit, sensitive)
            elif requirement.kind == "distinct":
                limit = float(min(int(requirement.l), MOST_RECORDS))
                yield Constraint(requirement, "distinct", grouping, limit, sensitive)
            else:
                yield Constraint(requirement, "entropy", grouping, entropy_limit(requirement.l), sensitive)


def _few_enough(atoms: Atoms, requirement: LDiversity | TCloseness) -> int:
    """Give the position of the sensitive column, each value of which is counted in every class."""
    position = atoms.position(requirement.sensitive)
    size = atoms.coded[position].size
    if size > MOST_VALUES:
        raise InvalidOption(
            f"Column {requirement.sensitive!r} has {size} different values, and {str(requirement)!r} can "
            f"drive a run over at most {MOST_VALUES}.",
            "Release it in coarser values; `ppdm audit` measures any number of them.",
        )
    return position


def _template_gauges(
    engine: Engine, atoms: Atoms, template: Template, grouping: tuple[int, ...]
) -> list[Constraint]:
    sensitive = atoms.position(template.sensitive)
    codes = value_codes(engine, atoms.coded[sensitive], template.values)
    parts = template.split() if template.values is not None else (template,) * len(codes)
    limit = float(at_most(template.threshold, max(FINEST, atoms.records)))
    return [
        Constraint(part, "confidence", grouping, limit, sensitive, code)
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
    query = bind("top_down/protected_codes", tables={"dictionary": dictionary.table})
    rows = engine.query(query, {"values": list(values)}, step="protected_codes")
    for text, (_, usable) in zip(values, rows, strict=True):
        if not usable:
            raise InvalidOption(
                f"The protected value {text!r} is not a value of column {dictionary.column.name!r}, "
                f"whose type is {type_title(dictionary.column.type)}.",
                "Write it as the column holds it.",
            )
    return [code for code, _ in rows]
