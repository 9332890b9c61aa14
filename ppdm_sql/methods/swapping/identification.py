"""Which records their non-confidential columns give away, and how their patterns are packed into keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.base.collapse import Atoms

LARGEST_PACK = 4096
LARGEST_WORD = 2**63


@dataclass(frozen=True)
class Pack:
    """Attributes that are looked up together: positions, the fastest running first, and numbers of codes."""

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    word: int = 0  # of the pattern's key, that holds the pack
    stride: int = 1  # place of the pack in the word

    @property
    def size(self) -> int:
        return prod(self.sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(prod(self.sizes[:i]) for i in range(len(self.sizes)))

    def code(self, stride: int = 1) -> str:
        """Give SQL for the pack's number, times its place in a word, over the atoms' ``c0, c1, ...``."""
        pairs = zip(self.attributes, self.strides, strict=True)
        return " + ".join(f"c{a}::UBIGINT * {stride * own}" for a, own in pairs)

    def place(self, alias: str) -> str:
        """Give SQL for the pack's number, over the words of a pattern."""
        return f"({alias}.w{self.word} // {self.stride}::UBIGINT) % {self.size}::UBIGINT"


def packs_of(sizes: Mapping[int, int]) -> tuple[Pack, ...]:
    """Lay attributes out in packs and words, given the number of codes by the attribute's position."""
    together: list[list[int]] = []
    for attribute in sorted(sizes, key=lambda attribute: (sizes[attribute], attribute)):
        last = together[-1] if together else []
        if last and prod(sizes[a] for a in last) * sizes[attribute] <= LARGEST_PACK:
            last.append(attribute)
        else:
            together.append([attribute])
    packs, word, stride = list[Pack](), 0, 1
    for attributes in together:
        pack = Pack(tuple(attributes), tuple(sizes[a] for a in attributes))
        if packs and stride * pack.size > LARGEST_WORD:
            word, stride = word + 1, 1
        packs.append(Pack(pack.attributes, pack.sizes, word, stride))
        stride *= pack.size
    return tuple(packs)


def words_of(packs: Sequence[Pack]) -> tuple[str, ...]:
    """Give SQL for each word of a pattern, over the columns ``c0, c1, ...`` of the atoms."""
    terms: dict[int, list[str]] = {}
    for pack in packs:
        terms.setdefault(pack.word, []).append(pack.code(pack.stride))
    return tuple(" + ".join(parts) for parts in terms.values())


@dataclass(frozen=True)
class IdentifiableRecords:
    """The identifiable records of a collapsed source.

    A pattern's key is one number, seldom more: SQL over the columns of the atoms, ``words``. The working
    table ``w0[, w1 ...], records, category`` has a row for each identifiable pattern.
    """

    atoms: Atoms
    by: tuple[int, ...]
    confidential: int
    packs: tuple[Pack, ...]
    words: tuple[str, ...]
    patterns: Table
    unique: Counts  # uniquely identifiable records by category
    groups: Counts  # groups of collectively identifiable ones
    grouped: Counts  # records in these groups

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"w{i}" for i in range(len(self.words)))

    @property
    def categories(self) -> int:
        return self.atoms.coded[self.confidential].size

    @property
    def identifiable(self) -> int:
        """Records that are identifiable, uniquely or collectively."""
        return int(self.unique.sum() + self.grouped.sum())

    def words_of(self, alias: str) -> tuple[str, ...]:
        """Give the key's SQL for the atoms under an alias."""
        return tuple(word.replace("c", f"{alias}.c") for word in self.words)


def identify(engine: Engine, atoms: Atoms, by: Sequence[int], confidential: int) -> IdentifiableRecords:
    """Find the identifiable records: those whose pattern occurs with one confidential value only.

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
    counts = np.zeros((3, atoms.coded[confidential].size), dtype=np.int64)
    counts[:, rows["category"].astype(np.int64)] = [rows[name] for name in ("unique", "groups", "grouped")]
    return IdentifiableRecords(atoms, tuple(by), confidential, packs, words, patterns, *counts)
