"""What a release discloses and what it hides, before and after, for ``ppdm.measures``.

Sources: discernibility and class sizes, Bayardo, Agrawal 2005; generalized information loss, Iyengar 2002;
conditional entropy of the class over the equivalence classes, the HCE-TDR paper (2013); what a column tells
of the class beyond chance, Miller 1955, "Note on the bias of information estimates".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ppdm_sql.audit.exposure import smallest_linked
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.base.collapse import Atoms, value_counts
from ppdm_sql.methods.top_down.counts import CountTable
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.methods.top_down.measuring import class_entropy, repeatable
from ppdm_sql.methods.top_down.outcome import Outcome
from ppdm_sql.methods.top_down.score import LEAST_GAIN, entropy, total_entropy
from ppdm_sql.privacy import Formula, Requirement

Row = tuple[str, float | None, float | None]
"""A measure: its name, its number of the source, its number of the release."""
LOSS = "generalized information loss"
DETAIL = "detail kept"
"""The share of the detail of the masked cells that is kept: 1 - what is hidden, 0 in a record left out."""
SHOWING = "columns that show something"
"""The masked columns that have two labels or more."""


MOST_CLASSES = 64
"""Values of the class attribute above which the entropy of the class is not measured."""
SQUARED_SIZE = Formula("sum", ("n",), lambda c: f"{c['n']}::DOUBLE * {c['n']}")
"""The discernibility of a table: the sum of squared class sizes (Bayardo, Agrawal 2005)."""


def equivalence_classes(
    engine: Engine, source: Atoms, outcome: Outcome, sets: Iterable[tuple[int, ...]], classes: int | None
) -> Iterator[Row]:
    """Say what the classes by each set of attributes are like; ``classes`` is the position of the class."""
    label = None if classes is None or source.coded[classes].size > MOST_CLASSES else classes
    records, kept_records = source.records, outcome.atoms.records
    for attributes in sets:
        of = ", ".join(outcome.names[position] for position in attributes)
        before, after = classes_by(engine, source, outcome, attributes, label)
        yield f"equivalence classes: {of}", before[0], after[0]
        yield f"average class size: {of}", records / before[0], kept_records / after[0]
        yield f"discernibility: {of}", before[1], after[1]
        if label is not None:
            yield f"conditional entropy: {of}", before[2] / records, after[2] / kept_records
            if kept_records < records:
                left_out = value_counts(engine, source, label) - value_counts(engine, outcome.atoms, label)
                (whole,) = repeatable(np.array([after[2] + total_entropy(left_out)]))
                name = f"conditional entropy, records left out as one class: {of}"
                yield name, before[2] / records, float(whole) / records


def classes_by(
    engine: Engine, source: Atoms, outcome: Outcome, attributes: Sequence[int], classes: int | None
) -> tuple[list[float], list[float]]:
    """Measure the classes of the source, and those of the release.

    How many they are, the sum of their squared sizes, and the entropy of the column ``classes``, in bits.
    """
    values = [] if classes is None else [(classes, code) for code in range(source.coded[classes].size - 1)]
    entropies = [] if classes is None else [class_entropy([f"p{j}" for j in range(len(values))])]
    formulas = [SQUARED_SIZE, *entropies]
    source_table = kept_table = CountTable(engine, source, attributes, values)
    if outcome.atoms is not source:
        kept_table = CountTable(engine, outcome.atoms, attributes, values)
    before, after = source_table.source(formulas), kept_table.state(tuple(outcome.cuts), formulas)
    return [*before[:2].tolist(), *repeatable(before[2:])], [*after[:2].tolist(), *repeatable(after[2:])]


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
    information = float(entropy(counts.sum(axis=0))) - float(total_entropy(counts).sum()) / records
    return max(0.0, information - (rows - 1) * (columns - 1) / (2 * records * math.log(2)))


def suppressed_cells(outcome: Outcome, records: int) -> Iterator[Row]:
    columns = [of for of in masked_attributes(outcome) if of[1].treatment == "suppressed"]
    hidden_cells = sum(int(masking.counts[cut.nodes == 0].sum()) for _, masking, cut in columns)
    cells = sum(int(masking.counts.sum()) for _, masking, _ in columns)
    yield from _worth("suppressed cells", hidden_cells / max(cells, 1), outcome, records)


def certainty_penalty(outcome: Outcome, weights: Sequence[float]) -> Row:
    """Give the mean of the columns' generalized information losses by their weights."""
    penalty = weight_sum = 0.0
    for masking, cut, weight in zip(outcome.maskings, outcome.cuts, weights, strict=True):
        if masking.treatment is not None:
            penalty += weight * _mean(masking, masking.losses(cut.nodes))
            weight_sum += weight
    return "certainty penalty", 0.0, penalty / max(weight_sum, LEAST_GAIN)


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
    rows = list[Row]()
    for names in dict.fromkeys(requirement.attributes for requirement in requirements):
        before, after = (float(smallest_linked(engine, table, names, who)) for table, who in sides)
        rows.append((f"smallest group of persons by all their records: {', '.join(names)}", before, after))
    least = min(after for *_, after in rows if after is not None)
    listing = " and ".join(map(repr, pseudonyms))
    return rows, (
        f"The pseudonyms of {listing} link the records of a person, and requirements look at one class at "
        f"a time. By all their records together, as few as {least:.0f} person{'s' * (least != 1)} "
        "cannot be told apart."
    )
