"""Reads the numbers of states off the counts that one sweep gives of each group and of its parts.

The database adds up; what is left to do is a few operations on each group, which in SQL are an expression for
each candidate, and take longer to plan than to compute while the groups are few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.count_tables import CountTable
from ppdm_sql.methods.top_down.grouping_sql import Keys, needed
from ppdm_sql.methods.top_down.swept_parts import WORD_BITS, SweptParts, counted_parts_sql
from ppdm_sql.privacy import Formula

MOST_WORDS, MOST_GROUPS = 96, 1 << 17
"""Sums up to which one scan of all candidates is cheaper than a table made for them, and groups up to which,
if there may be so many, their counts are read."""


class PartsInMemory:
    """Measures the states after candidates on the counts of groups and parts, state by state of a run.

    States follow each other, so a group is no larger than the largest one before, and an attribute that falls
    into one part more adds no more groups than there were.

    Args:
        engine: Where the tables of counts are.
        records: That they count.
    """

    def __init__(self, engine: Engine, records: int) -> None:
        self._engine = engine
        self._groups, self._largest, self._radices = 1, records, dict[int, int]()

    def serves(self, candidates: int, formulas: Sequence[Formula]) -> bool:
        """Tell whether so many candidates could be measured here."""
        fields = WORD_BITS // max(self._largest.bit_length(), 1)
        few = candidates * len(needed(formulas)) <= MOST_WORDS * fields
        return few and all(formula.of_counts for formula in formulas)

    def measure(
        self,
        counts: CountTable,
        keys: Keys,
        params: Mapping[str, object],
        parts: SweptParts,
        radices: Mapping[int, int],
        formulas: Sequence[Formula],
    ) -> Floats | None:
        """Measure the states after candidates, shape (candidates, formulas); one scan.

        Args:
            counts: The table to read.
            keys: Of the present groups.
            params: Of the keys.
            parts: What candidates take out of their groups.
            radices: For each attribute of the keys the number of its parts.
            formulas: All of counts.

        Returns:
            None where there may be too many groups or sums.
        """
        more = (max(radix - self._radices.get(i, 1), 0) + 1 for i, radix in radices.items())
        groups = min(prod(radices.values()), self._groups * prod(more), counts.rows)
        narrow = SweptParts(parts.of_candidates, parts.of_code, min(self._largest, counts.records))
        counted = needed(formulas)
        if groups > MOST_GROUPS or len(narrow.words()) * len(counted) > MOST_WORDS:
            return None
        text, own = counted_parts_sql(counts.table, keys, narrow, counted)
        found = self._engine.arrays(text, {**params, **own}, step="sweep")
        before, self._largest = self._largest, int(found["n"].max(initial=0))
        self._groups, self._radices = len(found["n"]), dict(radices)
        if self._largest > before:  # a state that does not follow the last: its counts may need more bits
            return self.measure(counts, keys, params, parts, radices, formulas)
        return numbers_of_parts(found, narrow, formulas)


def numbers_of_parts(found: Mapping[str, Codes], parts: SweptParts, formulas: Sequence[Formula]) -> Floats:
    """Measure the states after candidates, shape (candidates, formulas), as the statement of a sweep does.

    Args:
        found: What :func:`~ppdm_sql.methods.top_down.swept_parts.counted_parts_sql` gives.
        parts: Those that it counts, without what the others of their candidate leave.
        formulas: All of counts; either all of them are sums or none is.

    Example: six records in two groups; a candidate takes two of four and none of two.
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 2 on Job").formula(ValueCounts())
        >>> parts = SweptParts([(0, range(0, 1))], {}, records=6)
        >>> numbers_of_parts({"n": np.array([4, 2]), "n_word0": np.array([2, 0])}, parts, [smallest])
        array([[2.]])
    """
    counted = needed(formulas)
    columns = {name: np.asarray(column, dtype=np.int64) for name, column in found.items()}
    whole, now = {c: columns[c] for c in counted}, list[Floats]()
    if any(formula.total == "sum" for formula in formulas):
        now = [_of_counts(formula, whole) for formula in formulas]
        # A number of 0 stays 0, whatever its group is split into.
        open_groups = np.logical_or.reduce([numbers > 0 for numbers in now])
        columns = {name: column[open_groups] for name, column in columns.items()}
        whole, now = {c: columns[c] for c in counted}, [numbers[open_groups] for numbers in now]
    mask = (1 << parts.bits) - 1
    taken = {
        part: {c: (columns[f"{c}_word{w}"] >> (parts.bits * place)) & mask for c in counted}
        for w, fields in enumerate(parts.words())
        for place, (_, part) in enumerate(fields)
    }
    numbers = np.full((len(parts.of_candidates), len(formulas)), np.nan)
    for row, (_, made) in enumerate(parts.of_candidates):
        pieces = [taken[part] for part in made]
        pieces.append({c: whole[c] - sum(piece[c] for piece in pieces) for c in counted})
        numbers[row] = _falls(whole, pieces, now, formulas) if now else _worst(pieces, formulas)
    return numbers


def _worst(pieces: Sequence[Mapping[str, Counts]], formulas: Sequence[Formula]) -> list[float]:
    """Give the worst numbers of groups that are split into pieces; NaN where none has records."""
    there = [piece["n"] > 0 for piece in pieces]
    every = {
        c: np.concatenate([piece[c][some] for piece, some in zip(pieces, there, strict=True)])
        for c in pieces[0]
    }
    if not len(every["n"]):
        return [np.nan] * len(formulas)
    of = [(_of_counts(formula, every), formula.total) for formula in formulas]
    return [float(numbers.min() if total == "min" else numbers.max()) for numbers, total in of]


def _falls(
    whole: Mapping[str, Counts],
    pieces: Sequence[Mapping[str, Counts]],
    now: Sequence[Floats],
    formulas: Sequence[Formula],
) -> list[float]:
    """Give what the sums of groups fall by where they are split into pieces."""
    split = np.maximum.reduce([piece["n"] for piece in pieces]) < whole["n"]
    some = [{c: counts[split] for c, counts in piece.items()} for piece in pieces]
    falls = list[float]()
    for formula, before in zip(formulas, now, strict=True):
        after = _of_counts(formula, some[0])
        for piece in some[1:]:
            after = after + _of_counts(formula, piece)
        falls.append(float((before[split] - after).sum()))
    return falls


def _of_counts(formula: Formula, counts: Mapping[str, Counts]) -> Floats:
    assert formula.of_counts is not None
    return np.asarray(formula.of_counts(counts))
