"""k-map: ``k-map >= 5 on Sex, Job in population``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import grammar
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.limits import MOST_RECORDS
from ppdm_sql.privacy.population import PopulationTable, in_population
from ppdm_sql.privacy.quoting import name_list
from ppdm_sql.privacy.requirement import (
    Audited,
    AuditStep,
    ClassRequirement,
    Counts,
    check_columns,
    check_reachable,
)

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

_OPENING = re.compile(r"k-map(?=\s*[<>=≤≥]|\s+on(?![\w$]))", re.IGNORECASE)


@dataclass(frozen=True)
class KMap(ClassRequirement):
    """Every class of the table is shared by at least ``k`` records of a population.

    Args:
        k: The fewest records of the population allowed, at least 1; 0 where it is only measured.
        quasi_identifier: Column names in the order given.
        everybody: The population, which has columns of these names.

    Raises:
        InvalidOption: k is out of range, or the list is empty.
        ColumnRoleError: A column is named twice.

    Source: Sweeney 2002. A class of the population only shrinks under refinement, and one that it lacks stays
    one that it lacks.

    Example:
        >>> str(KMap(5, ("Sex", "Job"), PopulationTable(("census",))))
        'k-map >= 5 on Sex, Job in census'
    """

    k: int
    quasi_identifier: tuple[str, ...]
    everybody: PopulationTable

    example = "k-map >= 5 on Sex, Job in population"
    other_spelling = r"\bk.?map"
    counts = Counts.POPULATION
    worst = "min"
    form = "k-map"
    measured = "smallest class of the population"
    counts_table = False
    monotone_persons = True
    macro = "presence"

    def __post_init__(self) -> None:
        if self.k < 0:
            raise _too_small(self.k)
        check_reachable("k-map", self.k)
        check_columns(self)

    @classmethod
    def read(cls, reader: Reader) -> KMap | None:
        """Read ``k-map >= 5 on Sex, Job in population``."""
        if not reader.accept(_OPENING):
            return None
        reader.example = cls.example
        limited = grammar.bounded(reader, grammar.AT_LEAST, "'>='", grammar.ON)
        k = reader.whole() if limited else 0
        if limited and not k:
            raise _too_small(k)
        return cls(k, *in_population(reader))

    def written(self, *, limit: bool = True) -> str:
        """Write it down, with its limit or without."""
        bound = f" >= {self.k}" if limit else ""
        return f"k-map{bound} on {name_list(self.quasi_identifier)} in {self.everybody}"

    @property
    def limit(self) -> int:
        return self.k

    @property
    def population(self) -> PopulationTable:
        return self.everybody

    def over(self, attributes: tuple[str, ...], sensitive_columns: tuple[str, ...]) -> KMap:
        return replace(self, quasi_identifier=attributes)

    def formula(self, values: ValueCounts) -> Formula:
        """The records of the smallest class of the population that the table has records in."""
        of_all = values.population
        return Formula(
            self.worst, ("n", of_all), lambda c: f"CASE WHEN {c['n']} > {c[of_all]} THEN {c[of_all]} END"
        )

    def search_limit(self, records: int) -> float:
        return float(min(self.k, MOST_RECORDS))

    def audit_step(self, table: Audited) -> AuditStep:
        return AuditStep("k_map", ("classes_in_population",), {"k": self.k})

    def amount(self, number: float) -> str:
        return f"a class of {number:g} records of the population"

    def against(self, number: float, limit: float) -> str:
        return f"{number:.0f} of {limit:.0f} records of the population"

    def unmet(self, reached: float) -> tuple[str, str]:
        if reached == 0:
            return (
                f"the population {self.everybody.name} lacks a class of the table.",
                "Give a population that every record of the table belongs to, with its columns coded alike",
            )
        still = f"the smallest class has only {reached:.0f} records of the population."
        return still, f"Ask for k-map <= {reached:.0f}"


def _too_small(k: int) -> InvalidOption:
    return InvalidOption(f"k-map = {k} is below 1.", "Give a whole number such as k-map >= 5.")
