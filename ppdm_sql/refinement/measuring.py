"""Measures states for the loop: every channel measures what it sees, the gauges get it all together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.refinement.channels import Channel
from ppdm_sql.refinement.collapse import Atoms
from ppdm_sql.refinement.cuts import Codes, Cuts, Floats
from ppdm_sql.refinement.gauges import Gauges

MOST_PROTECTED = 16
"""Protected values counted in one grid; further ones get a grid of their own."""


class ChannelMeasure:
    """Measures states for the loop, over the atoms of one run.

    Args:
        engine: Where the grids are.
        atoms: The collapsed source.
        gauges: What to measure.

    Cost: one scan of the atoms per channel, then one scan of its grid per batch.
    """

    def __init__(self, engine: Engine, atoms: Atoms, gauges: Gauges) -> None:
        self._size = len(gauges.gauges)
        self._channels = [Channel(engine, atoms, gauges, *group) for group in _groups(gauges)]

    @property
    def groups(self) -> int:
        """Groups of the first state of the last path: what measuring one more state costs."""
        return max(channel.groups for channel in self._channels)

    def detail(self) -> Floats:
        """Measure the source itself, in which nothing is masked."""
        numbers = np.empty(self._size)
        for channel in self._channels:
            numbers[channel.gauges] = channel.detail()
        return numbers

    def path(self, states: Sequence[Cuts]) -> Floats:
        """Measure states that follow each other, shape (states, gauges)."""
        numbers = np.empty((len(states), self._size))
        for channel in self._channels:
            keys = [channel.identity(state) for state in states]
            distinct = dict(zip(keys, states, strict=True))
            found = dict(zip(distinct, channel.path(list(distinct.values())), strict=True))
            numbers[:, channel.gauges] = [found[key] for key in keys]
        return numbers

    def beside(self, cuts: Cuts, known: Floats, candidates: Sequence[tuple[int, int]]) -> Floats:
        """Measure the state after each candidate, shape (candidates, gauges).

        Args:
            cuts: The present state.
            known: Its numbers, which hold for channels that a candidate does not touch.
            candidates: Attribute and id.
        """
        numbers = np.repeat(known[None, :], len(candidates), axis=0)
        for channel in self._channels:
            mine = [row for row, (attribute, _) in enumerate(candidates) if attribute in channel.attributes]
            if mine:
                found = channel.beside(cuts, [candidates[row] for row in mine])
                numbers[np.ix_(mine, channel.gauges)] = self._worse(known[channel.gauges], found, channel)
        return numbers

    @staticmethod
    def _worse(known: Floats, found: Floats, channel: Channel) -> Floats:
        """Keep the present worst group where a candidate's own groups are better."""
        confidences = len(channel.gauges) - channel.anonymity_count
        worse = np.fmin(known, found)
        worse[:, :confidences] = np.fmax(known, found)[:, :confidences]
        return worse

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Let each channel merge what no reachable state tells apart."""
        for channel in self._channels:
            channel.shrink(reachable)


def _groups(gauges: Gauges) -> list[tuple[tuple[int, ...], list[int], list[int]]]:
    """Gather the gauges by their set of attributes, few enough protected values in each."""
    found: dict[frozenset[int], tuple[list[int], list[int]]] = {}
    for position, gauge in enumerate(gauges.gauges):
        protected, anonymity = found.setdefault(frozenset(gauge.attributes), ([], []))
        (anonymity if gauge.protected is None else protected).append(position)
    split = []
    for attributes, (protected, anonymity) in found.items():
        for first in range(0, max(len(protected), 1), MOST_PROTECTED):
            few = protected[first : first + MOST_PROTECTED]
            split.append((tuple(attributes), few, anonymity if not first else []))
    return split
