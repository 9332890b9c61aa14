"""Measures the states after candidates of several attributes in one scan, all in one row.

Each part that a candidate takes out of its groups is counted beside those of the others. A count needs few
bits, so several share a number: a record adds the weight of each part that it is in, and one sum tells of
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ppdm_sql.engine.names import Table
from ppdm_sql.lazy_dataclass import dataclass
from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.top_down.count_tables import sums
from ppdm_sql.methods.top_down.grouping_sql import Keys, after_split, group_keys, needed, unsettled
from ppdm_sql.privacy import Formula

WORD_BITS = 62
"""Of a BIGINT, for counts that are added up together."""

Field = tuple[int, int]
"""An attribute, and the number of a part of it."""


@dataclass(frozen=True)
class SweptParts:
    """The parts that candidates make of several attributes.

    Args:
        of_candidates: For each candidate its attribute and the numbers of its parts.
        of_code: For each attribute the number of the part that each code of the table is in, -1 for none.
        records: In the table; no count is larger.
    """

    of_candidates: Sequence[tuple[int, range]]
    of_code: Mapping[int, Codes]
    records: int

    @property
    def bits(self) -> int:
        """What a count takes."""
        return max(self.records.bit_length(), 1)

    def but_rest(self) -> SweptParts:
        """Leave out the last part of each candidate, which is what the others leave."""
        parts = [(attribute, made[:-1]) for attribute, made in self.of_candidates]
        return SweptParts(parts, self.of_code, self.records)

    def words(self) -> list[list[Field]]:
        """Gather the parts whose counts are added up together."""
        fields = [(attribute, part) for attribute, made in self.of_candidates for part in made]
        each = max(WORD_BITS // self.bits, 1)
        return [fields[first : first + each] for first in range(0, len(fields), each)]

    def weight(self, fields: Sequence[Field], name: str) -> tuple[str, dict[str, object]]:
        """Write what one record adds to a word, with the parameters, whose names begin with ``name``."""
        weights = {i: np.zeros(len(self.of_code[i]), dtype=np.int64) for i, _ in fields}
        for place, (i, part) in enumerate(fields):
            weights[i] += (self.of_code[i] == part).astype(np.int64) << (self.bits * place)
        written = [recoded(f"c{i}", of_code, f"{name}_{i}", "BIGINT") for i, of_code in weights.items()]
        params = {parameter: value for _, own in written for parameter, value in own.items()}
        return " + ".join(text for text, _ in written), params

    def count(self, word: str, place: int) -> str:
        """Write the count at a place of a word."""
        return f"({word} >> {self.bits * place}) & {(1 << self.bits) - 1}"


def sweep_sql(
    counts: Table, keys: Keys, parts: SweptParts, formulas: Sequence[Formula]
) -> tuple[str, dict[str, object]]:
    """Measure the states after candidates of several attributes; the parameters are those of the parts.

    The last part of each candidate is the rest; a group that a candidate does not split is all rest, and
    counts as it does now.

    Example: Carpenters are taken from the other three jobs; of 6 records, a count has 3 bits.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> confidence = parse("Job -> Bankruptcy = Discharged <= 50%").formula(ValueCounts(["p0"]))
        >>> jobs = SweptParts([(0, range(0, 2))], {0: np.array([0, 1, 1, 1])}, records=6)
        >>> print(formatted(sweep_sql(Table("counts"), [[1]], jobs, [confidence])[0]))
        SELECT
          MAX(GREATEST(p0_0 / NULLIF(n_0, 0), (
            p0 - p0_0
          ) / NULLIF((
            n - n_0
          ), 0)))
        FROM (
          SELECT
            n,
            p0,
            (
              n_word0 >> 0
            ) & 7 AS n_0,
            (
              p0_word0 >> 0
            ) & 7 AS p0_0
          FROM (
            SELECT
              CAST(SUM(n) AS BIGINT) AS n,
              CAST(SUM(p0) AS BIGINT) AS p0,
              CAST(SUM(n * weight0) AS BIGINT) AS n_word0,
              CAST(SUM(p0 * weight0) AS BIGINT) AS p0_word0
            FROM (
              SELECT
                CAST(0 AS BIGINT) + $key1[c1 + 1] AS group0,
                CAST(CASE WHEN c0 < 1 THEN 1 ELSE 0 END AS BIGINT) AS weight0,
                n,
                p0
              FROM "counts"
            )
            GROUP BY
              group0
          )
        ) AS groups
    """
    parts, counted = parts.but_rest(), needed(formulas)
    grouped, params = counted_parts_sql(counts, keys, parts, counted)
    unpacked, numbers = _unpacked(parts, counted), ", ".join(_numbers(parts, counted, formulas))
    told = f"SELECT {unpacked} FROM ({grouped})"
    return f"SELECT {numbers} FROM ({told}) AS groups{unsettled(counted, formulas)}", params


def _unpacked(parts: SweptParts, counted: Sequence[str]) -> str:
    """Write what each group holds, and what each of its parts does."""
    of_parts = [
        f"{parts.count(f'{c}_word{w}', place)} AS {c}_{part}"
        for w, fields in enumerate(parts.words())
        for place, (_, part) in enumerate(fields)
        for c in counted
    ]
    return ", ".join([*counted, *of_parts])


def _numbers(parts: SweptParts, counted: Sequence[str], formulas: Sequence[Formula]) -> Iterator[str]:
    """Write a number for each candidate and formula, from a group and its parts."""
    for _, made in parts.of_candidates:
        taken = [{c: f"{c}_{part}" for c in counted} for part in made]
        rest = {c: f"({' - '.join([c, *(names[c] for names in taken)])})" for c in counted}
        for formula in formulas:
            yield after_split(formula, {c: c for c in counted}, [*taken, rest])


def counted_parts_sql(
    counts: Table, keys: Keys, parts: SweptParts, counted: Sequence[str]
) -> tuple[str, dict[str, object]]:
    """Write what each group holds, and the words that its parts are counted in, a row for each group."""
    numbered, groups = group_keys(keys)
    coded, summed, params = [numbered], [sums(counted)], dict[str, object]()
    for w, fields in enumerate(parts.words()):
        weight, own = parts.weight(fields, f"weight{w}")
        params |= own
        coded.append(f"{weight} AS weight{w}")
        summed += [f"sum({c} * weight{w})::BIGINT AS {c}_word{w}" for c in counted]
    rows = f"SELECT {', '.join([*coded, *counted])} FROM {counts}"
    return f"SELECT {', '.join(summed)} FROM ({rows}) GROUP BY {groups}", params
