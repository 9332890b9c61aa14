"""Which records their non-confidential columns give away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.swapping.packed_patterns import Pack, packs_of, words_of


@dataclass(frozen=True)
class IdentifiableRecords:
    """The identifiable records of a collapsed source.

    Args:
        atoms: The collapsed source.
        by: Positions of the non-confidential attributes.
        confidential: Position of the confidential attribute.
        packs: How the attributes are packed.
        words: SQL over the atoms' columns ``c0, c1, ...`` for a pattern's key: one number, seldom more.
        patterns: Working table ``w0[, w1 ...], records, category``: one row per identifiable pattern.
        unique: Uniquely identifiable records by category, shape (categories,).
        groups: Groups of collectively identifiable records, shape (categories,).
        grouped: Records in these groups, shape (categories,).
    """

    atoms: Atoms
    by: tuple[int, ...]
    confidential: int
    packs: tuple[Pack, ...]
    words: tuple[str, ...]
    patterns: Table
    unique: Counts
    groups: Counts
    grouped: Counts

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of a pattern's key in every working table."""
        return tuple(f"w{i}" for i in range(len(self.words)))

    @property
    def categories(self) -> int:
        """Number of confidential values."""
        return self.atoms.coded[self.confidential].size

    @property
    def identifiable(self) -> int:
        """Records that are identifiable, uniquely or collectively."""
        return int(self.unique.sum() + self.grouped.sum())

    @property
    def unidentifiable(self) -> int:
        """Records that are not."""
        return self.atoms.records - self.identifiable

    def words_of(self, alias: str) -> tuple[str, ...]:
        """Give the key's SQL for the atoms under an alias."""
        return tuple(word.replace("c", f"{alias}.c") for word in self.words)


def identify(engine: Engine, atoms: Atoms, by: Sequence[int], confidential: int) -> IdentifiableRecords:
    """Find the identifiable records: those whose non-confidential pattern occurs with one value only.

    Args:
        engine: Where the atoms are.
        atoms: The collapsed source.
        by: Positions of the non-confidential attributes, no confidential one among them.
        confidential: Position of the confidential attribute, which holds no NULL.

    Cost: one GROUP BY over the atoms.

    Source: Li and Sarkar 2004, Definition 2.
    """
    packs = packs_of({position: atoms.coded[position].size for position in by})
    words = words_of(packs)
    keys = [f"{word} AS w{i}" for i, word in enumerate(words)]
    grouped = ", ".join(str(i + 1) for i in range(len(words)))
    value = f"c{confidential}"
    patterns = engine.materialize(
        "identifiable",
        f"SELECT {', '.join(keys)}, sum(n)::BIGINT AS records, min({value})::USMALLINT AS category "
        f"FROM {atoms.table} GROUP BY {grouped} HAVING min({value}) = max({value})",
    )
    totals = statements.bind("swapping/identifiable_totals", tables={"identifiable": patterns})
    rows = engine.arrays(totals, step="identifiable_totals")
    unique, groups, records = (
        _by_category(rows["category"], rows[name], atoms.coded[confidential].size)
        for name in ("unique", "groups", "grouped")
    )
    return IdentifiableRecords(
        atoms, tuple(by), confidential, packs, words, patterns, unique, groups, records
    )


def _by_category(codes: NDArray[np.uint16], counts: Counts, categories: int) -> Counts:
    found = np.zeros(categories, dtype=np.int64)
    found[codes.astype(np.int64)] = counts
    return found
