"""What a release discloses and what it hides, before and after, for ``ppdm.measures``.

Sources: discernibility and class sizes, Bayardo, Agrawal 2005; generalized information loss, Iyengar 2002;
conditional entropy of the class over the equivalence classes, the HCE-TDR paper (2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ppdm_sql.audit.linked import smallest_linked
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.types import is_number
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.gains import repeatable
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.methods.top_down.outcome import Outcome
from ppdm_sql.methods.top_down.score import entropy, total_entropy
from ppdm_sql.privacy import Requirement

Row = tuple[str, float | None, float | None]
"""A measure: its name, its number of the source, its number of the release."""
LOSS = "generalized information loss"


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
    """Say how many values of each suppressed attribute are shown."""
    for name, masking, cut in masked_attributes(outcome):
        if masking.treatment == "suppressed":
            yield f"values disclosed: {name}", float(len(cut.nodes)), float((cut.nodes > 0).sum())


def class_information(outcome: Outcome) -> Iterator[Row]:
    """Say what each masked attribute tells of the class, in bits a record."""
    for name, masking, cut in masked_attributes(outcome):
        counts, whole = masking.counts, float(entropy(masking.counts.sum(axis=0)))
        groups = np.zeros((int(cut.parts.max()) + 1, counts.shape[1]), dtype=np.int64)
        np.add.at(groups, cut.parts, counts)
        before, after = (float(total_entropy(c).sum() / max(c.sum(), 1)) for c in (counts, groups))
        yield f"class information: {name}", whole - before, whole - after


def suppressed_cells(outcome: Outcome, records: int) -> Iterator[Row]:
    """Give the share of masked cells that show the suppressed symbol."""
    suppressed = [of for of in masked_attributes(outcome) if of[1].treatment == "suppressed"]
    hidden = sum(int(masking.counts[cut.nodes == 0].sum()) for _, masking, cut in suppressed)
    cells = sum(int(masking.counts.sum()) for _, masking, _ in suppressed)
    yield from _with_left_out("suppressed cells", hidden / max(cells, 1), outcome, records)


def certainty_penalty(outcome: Outcome, weights: Sequence[float]) -> Row:
    """Give the normalized certainty penalty of the masked columns, in [0, 1], lowered without a class.

    It is the mean of the columns' generalized information losses; the weights of masked columns add up to 1.
    """
    found = 0.0
    for masking, cut, weight in zip(outcome.maskings, outcome.cuts, weights, strict=True):
        shares = masking.losses(cut.nodes)
        assert shares is not None  # grown intervals know their places where there is no class
        found += weight * _mean(masking, shares)
    return "certainty penalty", 0.0, found


def generalized_information_loss(engine: Engine, outcome: Outcome, records: int) -> Iterator[Row]:
    """Give the generalized information loss of each masked attribute, in [0, 1], and their mean.

    A value's loss is the share of its domain that its label spans: (leaves below the node - 1) / (all
    leaves - 1) in a taxonomy, width / range for a grown interval, 1 for the suppressed symbol.
    """
    each = []
    for name, masking, cut in masked_attributes(outcome):
        nodes, place = np.unique(cut.nodes, return_inverse=True)
        shares = masking.losses(nodes)
        if shares is None:
            shares = _widths(engine, outcome, outcome.names.index(name), nodes)
        each.append(_mean(masking, shares[place.ravel()]))
        yield f"{LOSS}: {name}", 0.0, each[-1]
    if each:
        yield from _with_left_out(LOSS, sum(each) / len(each), outcome, records)


def _mean(masking: Masking, shares: Floats) -> float:
    """Give the mean over the records of what each value has lost."""
    records = masking.counts.sum(axis=1)
    return float((shares * records).sum() / max(records.sum(), 1))


def _with_left_out(measure: str, share: float, outcome: Outcome, records: int) -> Iterator[Row]:
    """Give a share of what is hidden, and with the records left out as hidden whole, where there are any."""
    yield measure, 0.0, share
    kept = outcome.atoms.records
    if kept < records:
        yield f"{measure}, records left out included", 0.0, (share * kept + records - kept) / records


def _widths(engine: Engine, outcome: Outcome, position: int, nodes: Codes) -> Floats:
    """Give the width of each interval as a share of the widest; 1 for a label that is no interval."""
    type_text = outcome.atoms.coded[position].column.type
    number = "CAST(CAST({} AS {}) AS DOUBLE)" if is_number(type_text) else "epoch(CAST({} AS {}))"
    lower, upper = (number.format(f"l.{bound}", type_text) for bound in ("lower", "upper"))
    labels = f"{outcome.labels} AS l WHERE attribute = {position}"
    rows = engine.query(f"SELECT node, label IS NULL, {upper} - {lower} FROM {labels}", step="widths")
    widest = max((width for *_, width in rows if width), default=0.0)
    shares = {
        node: 0.0 if is_null or not widest else 1.0 if width is None else width / widest
        for node, is_null, width in rows
    }
    return np.array([shares[int(node)] for node in nodes], dtype=np.float64)


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
