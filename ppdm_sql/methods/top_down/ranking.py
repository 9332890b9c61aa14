"""The open candidates of a state, best first, and what is measured of the states after them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.cuts import Candidate
from ppdm_sql.methods.top_down.score import Rounding


@dataclass(frozen=True)
class RefinementStep:
    """One move of the method: which candidate was performed, and why it won."""

    candidate: Candidate
    score: float
    gain: float
    loss: float


@dataclass(frozen=True)
class ScoredBlock:
    """Open candidates of one attribute, in value order, with their scores or bounds of them."""

    attribute: int
    ids: Codes
    gains: Floats
    losses: Floats
    scores: Floats
    open: int
    """How many candidates are open, those among them that cannot be the best and are left out here."""


@dataclass(frozen=True)
class Ranking:
    """Open candidates of a state, by attribute, with the rule by which scores are equal."""

    blocks: tuple[ScoredBlock, ...]
    rounding: Rounding

    @cached_property
    def _scores(self) -> Floats:
        """Scores of all candidates, in the order of attributes and values."""
        return self.rounding(np.concatenate([block.scores for block in self.blocks]))

    def __len__(self) -> int:
        return sum(block.open for block in self.blocks)

    @cached_property
    def best(self) -> tuple[ScoredBlock, int]:
        """The block that holds the best candidate, and its row; the first on ties."""
        row = int(self._scores.argmax())
        for block in self.blocks:
            if row < len(block.ids):
                return block, row
            row -= len(block.ids)
        raise IndexError(row)

    @property
    def winner(self) -> Candidate:
        """The best candidate."""
        block, row = self.best
        return block.attribute, int(block.ids[row])

    @property
    def step(self) -> RefinementStep:
        """The winner, with its numbers."""
        block, row = self.best
        return RefinementStep(
            self.winner, *(float(column[row]) for column in (block.scores, block.gains, block.losses))
        )

    def ordered(self) -> Iterator[Candidate]:
        """Give all open candidates, best first."""
        attributes = np.concatenate([np.full(len(b.ids), b.attribute) for b in self.blocks])
        ids = np.concatenate([block.ids for block in self.blocks])
        order = np.argsort(-self._scores, kind="stable")
        return ((int(attributes[row]), int(ids[row])) for row in order)

    def replaced(self, block: ScoredBlock) -> Ranking:
        """Give the ranking with another block for one attribute."""
        blocks = (*self.blocks[: block.attribute], block, *self.blocks[block.attribute + 1 :])
        return Ranking(blocks, self.rounding)


@dataclass
class MeasuredAhead:
    """Numbers of the states after candidates of one state, and what is measured of the states after those."""

    numbers: dict[Candidate, Floats] = field(default_factory=dict)
    after: dict[Candidate, MeasuredAhead] = field(default_factory=dict)
