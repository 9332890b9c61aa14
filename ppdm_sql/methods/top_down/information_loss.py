"""What a release discloses and what it hides, before and after, for ``ppdm.measures``.

Sources: discernibility and class sizes, Bayardo, Agrawal 2005; generalized information loss, Iyengar 2002;
conditional entropy of the class over the equivalence classes, the HCE-TDR paper (2013); what a column tells
of the class beyond chance, Miller 1955, "Note on the bias of information estimates".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ppdm_sql.audit.exposure import smallest_linked
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.methods.top_down.measuring import repeatable
from ppdm_sql.methods.top_down.outcome import Outcome
from ppdm_sql.methods.top_down.score import LEAST_GAIN, entropy, total_entropy
from ppdm_sql.privacy import Requirement

Row = tuple[str, float | None, float | None]
"""A measure: its name, its number of the source, its number of the release."""
LOSS = "generalized information loss"
DETAIL = "detail kept"
"""The share of the detail of the masked cells that is kept: 1 - what is hidden, 0 in a record left out."""
SHOWING = "columns that show something"
"""The masked columns that have two labels or more."""


def equivalence_classes(
    names: Sequence[str],
    records: int,
    before: Mapping[tuple[int, ...], Floats],
    after: Mapping[tuple[int, ...], Floats],
    left: Counts,
) -> Iterator[Row]:
    """Say what the equivalence classes of each quasi-identifier are like, in the source and in the release.

    For each set of attributes ``before`` and ``after`` have the number of classes, the sum of their squared
    sizes, and the entropy of the class in bits; ``left`` counts by class the records that are left out.
    """
    kept = records - int(left.sum())
    for attributes, source in before.items():
        of = ", ".join(names[position] for position in attributes)
        release = after[attributes]
        yield f"equivalence classes: {of}", float(source[0]), float(release[0])
        yield f"average class size: {of}", records / float(source[0]), kept / float(release[0])
        yield f"discernibility: {of}", float(source[1]), float(release[1])
        if len(source) > 2:
            bits = repeatable(np.array([source[2], release[2]])) / np.array([records, kept])
            yield f"conditional entropy: {of}", float(bits[0]), float(bits[1])
            if kept < records:
                whole = repeatable(np.array([release[2] + total_entropy(left)]))[0] / records
                name = f"conditional entropy, records left out as one class: {of}"
                yield name, float(bits[0]), float(whole)


def masked_attributes(outcome: Outcome) -> Iterator[tuple[str, Masking, Cut]]:
    for name, masking, cut in zip(outcome.names, outcome.maskings, outcome.cuts, strict=False):
        if masking.treatment is not None:
            yield name, masking, cut


def values_disclosed(outcome: Outcome) -> Iterator[Row]:
    for name, masking, cut in masked_attributes(outcome):
        if masking.treatment == "suppressed":
            yield f"values disclosed: {name}", float(len(cut.nodes)), float((cut.nodes > 0).sum())


def class_information(outcome: Outcome) -> Iterator[Row]:
    for name, masking, cut in masked_attributes(outcome):
        groups = np.zeros((int(cut.parts.max()) + 1, masking.counts.shape[1]), dtype=np.int64)
        np.add.at(groups, cut.parts, masking.counts)
        before, after = map(information_beyond_chance, (masking.counts, groups))
        yield f"class information: {name}", before, after


def information_beyond_chance(counts: Counts) -> float:
    """Give the mutual information of labels and class in bits, counted by both, less its mean by chance."""
    records = max(int(counts.sum()), 1)
    rows, columns = (max(int(counts.any(axis=axis).sum()), 1) for axis in (1, 0))
    found = float(entropy(counts.sum(axis=0))) - float(total_entropy(counts).sum()) / records
    return max(0.0, found - (rows - 1) * (columns - 1) / (2 * records * math.log(2)))


def suppressed_cells(outcome: Outcome, records: int) -> Iterator[Row]:
    suppressed = [of for of in masked_attributes(outcome) if of[1].treatment == "suppressed"]
    hidden = sum(int(masking.counts[cut.nodes == 0].sum()) for _, masking, cut in suppressed)
    cells = sum(int(masking.counts.sum()) for _, masking, _ in suppressed)
    yield from _worth("suppressed cells", hidden / max(cells, 1), outcome, records)


def certainty_penalty(outcome: Outcome, weights: Sequence[float]) -> Row:
    """Give the mean of the columns' generalized information losses by their weights."""
    found = weighed = 0.0
    for masking, cut, weight in zip(outcome.maskings, outcome.cuts, weights, strict=True):
        if masking.treatment is not None:
            found += weight * _mean(masking, masking.losses(cut.nodes))
            weighed += weight
    return "certainty penalty", 0.0, found / max(weighed, LEAST_GAIN)


def generalized_information_loss(outcome: Outcome, records: int) -> Iterator[Row]:
    """Give the generalized information loss of each masked attribute, their mean, and what is kept."""
    each = []
    for name, masking, cut in masked_attributes(outcome):
        each.append(_mean(masking, masking.losses(cut.nodes)))
        yield f"{LOSS}: {name}", 0.0, each[-1]
    if each:
        yield from _worth(LOSS, sum(each) / len(each), outcome, records)


def _mean(masking: Masking, shares: Floats) -> float:
    records = masking.counts.sum(axis=1)
    return float((shares * records).sum() / max(records.sum(), 1))


def _worth(measure: str, hidden: float, outcome: Outcome, records: int) -> Iterator[Row]:
    """Give the share that is hidden, and what is kept of all cells; a record left out keeps nothing."""
    yield measure, 0.0, hidden
    yield DETAIL, 1.0, (1 - hidden) * outcome.atoms.records / max(records, 1)
    columns = [(cut.nodes, masking.counts.any(axis=1)) for _, masking, cut in masked_attributes(outcome)]
    before = sum(np.count_nonzero(there) > 1 for _, there in columns)
    after = sum(len(np.unique(nodes[there])) > 1 for nodes, there in columns)
    yield SHOWING, float(before), float(after)


def linked_persons(
    engine: Engine,
    requirements: Sequence[Requirement],
    sides: Sequence[tuple[Table, Sequence[str]]],
    pseudonyms: Sequence[str],
) -> tuple[list[Row], str]:
    """Measure the smallest group of persons whose records, which pseudonyms link, are alike; and say it."""
    found = list[Row]()
    for names in dict.fromkeys(requirement.attributes for requirement in requirements):
        before, after = (float(smallest_linked(engine, table, names, who)) for table, who in sides)
        found.append((f"smallest group of persons by all their records: {', '.join(names)}", before, after))
    least = min(after for *_, after in found if after is not None)
    linked = " and ".join(map(repr, pseudonyms))
    return found, (
        f"The pseudonyms of {linked} link the records of a person, and requirements look at one class at "
        f"a time. By all their records together, as few as {least:.0f} person{'s' * (least != 1)} "
        "cannot be told apart."
    )
