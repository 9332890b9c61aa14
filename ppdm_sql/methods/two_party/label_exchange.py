"""The end of a run: each party names the values of its columns that the release shows, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking
from ppdm_sql.methods.top_down.outcome import as_lists
from ppdm_sql.methods.two_party.failures import impossible
from ppdm_sql.methods.two_party.messages import Message
from ppdm_sql.methods.two_party.partner import Partner


class Numbering:
    """The opaque numbers of the values of one own column, in the order in which they come up."""

    def __init__(self, root: int) -> None:
        self.numbers = {root: 0}

    def specialize(self, cut: Cut, candidate: int) -> tuple[int, int, Codes]:
        """Number the parts that a candidate makes.

        Returns:
            The number of the value, how many children with records it has, and for each value code its
            child from 1, 0 where it keeps the value, -1 where it has another one.
        """
        node, _ = cut.specialization(candidate)
        parts, after = cut.split(candidate), cut.refine(candidate).nodes
        children = np.where(cut.nodes == node, 0, -1)
        for child, codes in enumerate(parts, start=1):
            children[codes] = child
            self.numbers[int(after[codes[0]])] = len(self.numbers)
        return self.numbers[node], len(parts), children


def names(
    engine: Engine,
    number: int,
    labels: Table,
    own: Mapping[int, Numbering],
    maskings: Sequence[Masking],
    cuts: Sequence[Cut],
) -> Message:
    """Name the values of own columns that records show."""
    shown = [
        (attribute, numbering.numbers[node], node)
        for attribute, numbering in own.items()
        for node in sorted(set(cuts[attribute].nodes.tolist()), key=numbering.numbers.__getitem__)
    ]
    asked = as_lists(("attribute", "number", "node"), shown)
    query = bind("two_party/names", tables={"labels": labels})
    rows = engine.query(query, asked, step="names")
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    named = dict(zip(("attribute", "value", "label"), columns, strict=True))
    recodings = [_recoding(maskings[attribute]) for attribute in own]
    return Message("LABELS", number, {**named, "owned": list(own), "recoding": recodings})


def _recoding(masking: Masking) -> str:
    if isinstance(masking, Generalization):
        return "taxonomy"
    return "intervals" if isinstance(masking, Intervals) else "suppression"


def learn(partners: Mapping[int, Partner], message: Message) -> None:
    """Take over the names that the partner gives its values."""
    fields = cast(Mapping[str, list[object]], message.fields)
    found: dict[int, dict[int, str | None]] = {attribute: {} for attribute in partners}
    named = list(zip(fields["attribute"], fields["value"], fields["label"], strict=True))
    recodings = dict(zip(cast(list[int], fields["owned"]), cast(list[str], fields["recoding"]), strict=True))
    for attribute, value, label in cast(list[tuple[int, int, str | None]], named):
        found.setdefault(attribute, {})[value] = label
    proper = recodings.keys() == found.keys() == partners.keys()
    proper &= len(named) == sum(map(len, found.values()))
    for attribute, partner in partners.items():
        by_value = found.get(attribute, {})
        proper &= sorted(by_value) == partner.present and len(set(by_value.values())) == len(by_value)
    if not proper:
        raise impossible("The partner names other values than those that the release shows.")
    for attribute, partner in partners.items():
        partner.learn(recodings[attribute], found[attribute])
