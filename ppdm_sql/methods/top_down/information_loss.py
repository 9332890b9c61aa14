"""What a release discloses and what it hides, before and after, for ``ppdm.measures``.

Sources: discernibility and class sizes, Bayardo, Agrawal 2005; generalized information loss, Iyengar 2002;
conditional entropy of the class over the equivalence classes, the HCE-TDR paper (2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.types import is_number
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.gains import repeatable
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.methods.top_down.outcome import Outcome
from ppdm_sql.methods.top_down.score import entropy, total_entropy

Row = tuple[str, float | None, float | None]
"""A measure: its name, its number of the source, its number of the release."""


def equivalence_classes(
    names: Sequence[str],
    records: int,
    before: Mapping[tuple[int, ...], Floats],
    after: Mapping[tuple[int, ...], Floats],
    left: Counts,
) -> Iterator[Row]:
    """Say what the equivalence classes of each quasi-identifier are like.

    Args:
        names: Of the attributes.
        records: In the source.
        before: For each set of attributes: classes, sum of squared sizes, entropy of the class in bits.
        after: The same in the release.
        left: By class, the records that the release leaves out; where there are any, the entropy of the
            class is given with them as one more equivalence class, too.
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
                yield (
                    f"conditional entropy, records left out as one class: {of}",
                    float(bits[0]),
                    float(whole),
                )


def values_disclosed(names: Sequence[str], maskings: Sequence[Masking], cuts: Sequence[Cut]) -> Iterator[Row]:
    """Say how many values of each suppressed attribute are shown."""
    for name, masking, cut in zip(names, maskings, cuts, strict=True):
        if masking.treatment == "suppressed":
            shown = float((cut.nodes > 0).sum())
            yield f"values disclosed: {name}", float(len(cut.nodes)), shown


def class_information(
    names: Sequence[str], maskings: Sequence[Masking], cuts: Sequence[Cut]
) -> Iterator[Row]:
    """Say what each masked attribute tells of the class, in bits a record."""
    for name, masking, cut in zip(names, maskings, cuts, strict=True):
        if masking.treatment is not None:
            yield f"class information: {name}", *_information(masking.counts, cut)


def _information(counts: Counts, cut: Cut) -> tuple[float, float]:
    whole = entropy(counts.sum(axis=0))
    groups = np.zeros((int(cut.parts.max()) + 1, counts.shape[1]), dtype=np.int64)
    np.add.at(groups, cut.parts, counts)
    left = [float(total_entropy(c).sum() / max(c.sum(), 1)) for c in (counts, groups)]
    return float(whole) - left[0], float(whole) - left[1]


def suppressed_cells(maskings: Sequence[Masking], cuts: Sequence[Cut]) -> Row:
    """Give the share of masked cells that show the suppressed symbol."""
    masked = [(m, cut) for m, cut in zip(maskings, cuts, strict=True) if m.treatment == "suppressed"]
    hidden = sum(int(masking.counts[cut.nodes == 0].sum()) for masking, cut in masked)
    cells = sum(int(masking.counts.sum()) for masking, _ in masked)
    return "suppressed cells", 0.0, hidden / max(cells, 1)


def certainty_penalty(maskings: Sequence[Masking], cuts: Sequence[Cut], weights: Sequence[float]) -> Row:
    """Give the normalized certainty penalty of the masked columns, in [0, 1], lowered without a class.

    It is the mean of the columns' generalized information losses; the weights of masked columns add up to 1.
    """
    found = 0.0
    for masking, cut, weight in zip(maskings, cuts, weights, strict=True):
        shares = masking.losses(cut.nodes)
        assert shares is not None  # grown intervals know their places where there is no class
        records = masking.counts.sum(axis=1)
        found += weight * float((shares * records).sum() / max(records.sum(), 1))
    return "certainty penalty", 0.0, found


def generalized_information_loss(
    engine: Engine, names: Sequence[str], outcome: Outcome, records: int
) -> Iterator[Row]:
    """Give the generalized information loss of each masked attribute, in [0, 1], and their mean.

    A value's loss is the share of its domain that its label spans: (leaves below the node - 1) / (all
    leaves - 1) in a taxonomy, width / range for a grown interval, 1 for the suppressed symbol.

    Cost: one small query for each attribute in grown intervals.
    """
    each = []
    for position, (name, masking) in enumerate(zip(names, outcome.maskings, strict=True)):
        if masking.treatment is None:
            continue
        nodes, place = np.unique(outcome.cuts[position].nodes, return_inverse=True)
        shares = masking.losses(nodes)
        if shares is None:
            shares = _widths(engine, outcome, position, nodes)
        weights = masking.counts.sum(axis=1)
        each.append(float((shares[place.ravel()] * weights).sum() / max(weights.sum(), 1)))
        yield f"generalized information loss: {name}", 0.0, each[-1]
    if each:
        yield "generalized information loss", 0.0, sum(each) / len(each)
        yield from with_left_out(
            "generalized information loss", sum(each) / len(each), outcome.atoms, records
        )


def with_left_out(measure: str, share: float, kept: Atoms, records: int) -> Iterator[Row]:
    """Give a share of what is hidden with the records left out as hidden whole, where there are any."""
    if kept.records < records:
        whole = (share * kept.records + records - kept.records) / records
        yield f"{measure}, records left out included", 0.0, whole


def _widths(engine: Engine, outcome: Outcome, position: int, nodes: Codes) -> Floats:
    """Give the width of each interval as a share of the widest; 1 for a label that is no interval."""
    text = widths_sql(outcome.labels, position, outcome.atoms.coded[position].column.type)
    rows = engine.query(text, step="widths")
    widest = max((width for *_, width in rows if width), default=0.0)
    shares = {
        node: 0.0 if is_null or not widest else 1.0 if width is None else width / widest
        for node, is_null, width in rows
    }
    return np.array([shares[int(node)] for node in nodes], dtype=np.float64)


def widths_sql(labels: Table, position: int, type_text: str) -> str:
    """Write the SELECT of the widths of one attribute's intervals, whose bounds are texts of its type.

    Example: the papers' bank customers by Salary, the attribute at position 2.
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(widths_sql(Table("labels"), 2, "INTEGER")))
        SELECT
          node,
          label IS NULL,
          CAST(CAST(l.upper AS INT) AS DOUBLE) - CAST(CAST(l.lower AS INT) AS DOUBLE) AS width
        FROM "labels" AS l
        WHERE
          attribute = 2
    """
    number = "CAST(CAST({} AS {}) AS DOUBLE)" if is_number(type_text) else "epoch(CAST({} AS {}))"
    lower, upper = (number.format(f"l.{bound}", type_text) for bound in ("lower", "upper"))
    return (
        f"SELECT node, label IS NULL, {upper} - {lower} AS width FROM {labels} AS l "
        f"WHERE attribute = {position}"
    )
