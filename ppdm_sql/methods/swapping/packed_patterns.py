"""Patterns as numbers: the codes of several columns packed into one number, or a few.

Attributes are packed twice over. A *pack* holds attributes whose combinations number at most
:data:`LARGEST_PACK`, so that a small table can tell something about each combination. A *word* holds
packs whose combinations fit in 63 bits; grouping by one word is several times faster than by columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

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
