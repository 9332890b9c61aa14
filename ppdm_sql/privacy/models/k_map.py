"""k-map: ``k-map >= 5 on Sex, Job in population``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import Formula, ValueCounts
from ppdm_sql.privacy.limits import MOST_RECORDS
from ppdm_sql.privacy.reader import PopulationTable, Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, PopulationRequirement, check_reachable


def _too_small(k: int) -> InvalidOption:
    return InvalidOption(f"k-map = {k} is below 1.", "Give a whole number such as k-map >= 5.")


def _at_least_one(reader: Reader) -> int:
    k = reader.whole()
    if not k:
        raise _too_small(k)
    return k


@dataclass(frozen=True)
class KMap(PopulationRequirement):
    """Every class of the table is shared by at least ``k`` records of a population.

    Source: Sweeney 2002. A class of the population only shrinks under refinement, and one that it lacks stays
    one that it lacks.
    """

    k: int
    quasi_identifier: tuple[str, ...]
    everybody: PopulationTable

    opening = re.compile(r"k-map(?=\s*[<>=≤≥]|\s+on(?![\w$]))", re.IGNORECASE)
    number, loosest = _at_least_one, 0
    example = "k-map >= 5 on Sex, Job in population"
    other_spelling = r"\bk.?map"
    worst = "min"
    form = "k-map"
    measured = "smallest class of the population"
    limited_by = "k"
    amount_words = "a class of {:g} records of the population"
    against_words = "{:.0f} of {:.0f} records of the population"
    counts_table = False
    monotone_persons = True

    def check(self) -> None:
        if self.k < 0:
            raise _too_small(self.k)
        check_reachable("k-map", self.k)

    def formula(self, values: ValueCounts) -> Formula:
        """The records of the smallest class of the population that the table has records in."""
        of_all = values.population
        return Formula(
            self.worst, ("n", of_all), lambda c: f"CASE WHEN {c['n']} > {c[of_all]} THEN {c[of_all]} END"
        )

    def search_limit(self, records: int) -> float:
        return float(min(self.k, MOST_RECORDS))

    def audit_step(self, table: Audited) -> AuditStep:
        return AuditStep("k_anonymity", ("classes",), {"k": self.k})

    def unmet(self, number: float) -> tuple[str, str]:
        if number == 0:
            return (
                f"the population {self.everybody.name} lacks a class of the table.",
                "Give a population that every record of the table belongs to, with its columns coded alike",
            )
        still = f"the smallest class has only {number:.0f} records of the population."
        return still, f"Ask for k-map <= {number:.0f}"
