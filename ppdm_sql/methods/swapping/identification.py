"""Which records their non-confidential columns give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.base.collapse import Atoms


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


LARGEST_PACK = 4096
LARGEST_WORD = 2**63


@dataclass(frozen=True)
class Pack:
    """Attributes that are looked up together.

    Args:
        attributes: Positions of the attributes, the fastest running first.
        sizes: Number of codes of each.
        word: Number of the word that holds the pack.
        stride: Place of the pack in the word.
    """

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    word: int = 0
    stride: int = 1

    @property
    def size(self) -> int:
        """Number of combinations."""
        return prod(self.sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        """Place of each attribute in the pack."""
        return tuple(prod(self.sizes[:i]) for i in range(len(self.sizes)))

    @property
    def code(self) -> str:
        """SQL for the pack's number, over the columns ``c0, c1, ...`` of the atoms."""
        pairs = zip(self.attributes, self.strides, strict=True)
        return " + ".join(f"c{a}::UBIGINT * {stride}" for a, stride in pairs)

    @property
    def place(self) -> str:
        """SQL for the pack's number, over the words of a pattern."""
        return f"(w{self.word} // {self.stride}::UBIGINT) % {self.size}::UBIGINT"


def packs_of(sizes: Mapping[int, int]) -> tuple[Pack, ...]:
    """Lay attributes out in packs and words, given the number of codes by the attribute's position.

    Example:
        >>> [(pack.attributes, pack.stride) for pack in packs_of({0: 3, 1: 2, 2: 5000})]
        [((1, 0), 1), ((2,), 6)]
    """
    packs: list[Pack] = []
    for attribute, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if packs and packs[-1].size * size <= LARGEST_PACK:
            last = packs[-1]
            packs[-1] = Pack((*last.attributes, attribute), (*last.sizes, size), last.word, last.stride)
        else:
            packs.append(_placed(Pack((attribute,), (size,)), packs))
    return tuple(_placed(pack, packs[:i]) for i, pack in enumerate(packs))


def _placed(pack: Pack, before: Sequence[Pack]) -> Pack:
    """Put a pack after the last one, in a new word where it does not fit."""
    if not before:
        return pack
    word, stride = before[-1].word, before[-1].stride * before[-1].size
    if stride * pack.size > LARGEST_WORD:
        word, stride = word + 1, 1
    return Pack(pack.attributes, pack.sizes, word, stride)


def words_of(packs: Sequence[Pack]) -> tuple[str, ...]:
    """Give SQL for each word of a pattern, over the columns ``c0, c1, ...`` of the atoms.

    Example:
        >>> words_of(packs_of({0: 3, 1: 2}))
        ('c1::UBIGINT * 1 + c0::UBIGINT * 2',)
    """
    count = 1 + max((pack.word for pack in packs), default=0)
    terms: list[list[str]] = [[] for _ in range(count)]
    for pack in packs:
        for attribute, stride in zip(pack.attributes, pack.strides, strict=True):
            terms[pack.word].append(f"c{attribute}::UBIGINT * {pack.stride * stride}")
    return tuple(" + ".join(parts) for parts in terms)
