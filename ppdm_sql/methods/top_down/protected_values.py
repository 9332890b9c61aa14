"""Turns requirements into constraints: finds the codes of the protected values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ppdm_sql.engine import Engine, type_title
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.methods.top_down.constraints import Constraint
from ppdm_sql.privacy import Counts, Requirement, Value

NEVER = -1
"""Code of a protected value that the column does not hold; its confidence is 0 throughout."""
MOST_VALUES = 200
"""Different sensitive values that can be counted in every class during a run."""


def constraints_of(
    engine: Engine, atoms: Atoms, requirements: Sequence[Requirement]
) -> tuple[Constraint, ...]:
    """Make one constraint per template and protected value, and one per other requirement.

    Where several demand the same of the same attributes, the hardest limit holds and counts once.

    Raises:
        InvalidOption: A protected value cannot be a value of its column, a sensitive column has too many
            values to count them all, or refinement could repair a violation of a requirement.
    """
    hardest: dict[object, Constraint] = {}
    for requirement in (side for whole in requirements for side in whole.sides()):
        for found in _constraints(engine, atoms, requirement):
            key = (
                (requirement.form, requirement.worst, requirement.population),
                frozenset(found.attributes),
                found.sensitive,
                found.protected,
                _absent(found),
            )
            other = hardest.setdefault(key, found)
            if (found.limit - other.limit) * found.direction < 0:
                hardest[key] = replace(found, attributes=other.attributes)
    return tuple(hardest.values())


def _absent(constraint: Constraint) -> object:
    """Tell apart values that the column does not hold, which have no codes of their own."""
    return constraint.requirement.protected if constraint.protected == NEVER else None


def _constraints(engine: Engine, atoms: Atoms, requirement: Requirement) -> Iterable[Constraint]:
    _refuse_repairable(requirement)
    grouping = tuple(atoms.position(name) for name in requirement.attributes)
    limit = requirement.search_limit(atoms.counted)
    sensitive = next((atoms.position(name) for name in requirement.sensitive_columns), None)
    if sensitive is None or requirement.counts is not Counts.PROTECTED:
        if sensitive is not None:
            _refuse_many_values(atoms, requirement, sensitive)
        yield Constraint(requirement, grouping, limit, sensitive)
        return
    codes = value_codes(engine, atoms.coded[sensitive], requirement.protected)
    parts = (requirement,) * len(codes) if requirement.protected is None else requirement.split()
    for part, code in zip(parts, codes, strict=True):
        yield Constraint(part, grouping, limit, sensitive, code)


def _refuse_repairable(requirement: Requirement) -> None:
    """A descent drops what breaks a limit for good, which is right only where refinement cannot mend it."""
    if not requirement.monotone:
        raise InvalidOption(
            f"{str(requirement)!r} drives no run: a finer table may meet it where a coarser one does not.",
            "Leave it out here, and let `ppdm audit` judge the release by it.",
        )


def _refuse_many_values(atoms: Atoms, requirement: Requirement, sensitive: int) -> None:
    """Each value of the sensitive column is counted in every class."""
    column = atoms.coded[sensitive]
    if column.size > MOST_VALUES:
        raise InvalidOption(
            f"Column {column.column.name!r} has {column.size} different values, and {str(requirement)!r} can "
            f"drive a run over at most {MOST_VALUES}.",
            "Release it in coarser values; `ppdm audit` measures any number of them.",
        )


def value_codes(engine: Engine, dictionary: Dictionary, values: Sequence[Value] | None) -> list[int]:
    """Give the code of each protected value, NEVER where the column does not hold it.

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
