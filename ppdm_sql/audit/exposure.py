"""What the columns that others may know give away, measured without any requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.judging import judgements
from ppdm_sql.audit.model import Counted, Titled
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.engine.types import is_ordered
from ppdm_sql.privacy import LDiversity, Requirement, TCloseness, Value

MOST_VALUES = 100
"""Sensitive values that are listed at most, those that can be inferred most surely first."""
SMALL = 5
"""Classes of fewer records are counted as small."""


@dataclass(frozen=True)
class ValueConfidence:
    """How surely a sensitive value can be inferred; holds a cell, so it is for the owner.

    Args:
        value: The value as text, None being NULL.
        records: Records with it.
        share: Those as a share of all records, in (0, 1]: what everybody may guess.
        confidence: Its highest share in an equivalence class, in (0, 1].
        certain: Records with it in classes where every record has it.
    """

    value: Value
    records: int
    share: float
    confidence: float
    certain: int


@dataclass(frozen=True)
class SensitiveExposure:
    """What the equivalence classes give away of one sensitive column.

    Args:
        sensitive: The column.
        values: Number of its values, NULL being one.
        distinct_l: The fewest different values of a class, at least 1.
        entropy_l: The smallest exp(entropy) of a class, at least 1.
        recursive_c: Recursive (c, 2)-diversity holds for every c above it; None where a class has one value
            and no c is enough.
        equal_t: The largest distance of a class from the table, in [0, 1], all values equally far apart.
        ordered_t: The same by the order of the values; None where they have none, as texts.
        by_value: One for each value, at most 100, those with the highest confidence first.
    """

    sensitive: str
    values: int
    distinct_l: int
    entropy_l: float
    recursive_c: float | None
    equal_t: float
    ordered_t: float | None
    by_value: tuple[ValueConfidence, ...]


@dataclass(frozen=True)
class Exposure:
    """What the columns that others may know give away.

    Args:
        by: Those columns.
        records: Of the table; persons, where they are counted, once for each class.
        classes: Equivalence classes of these columns.
        smallest: Records of the smallest class: k.
        median: Of the classes' sizes.
        mean: Of the classes' sizes.
        largest: Records of the largest class.
        alone: Records that are alone in their class.
        in_small: Records in classes of fewer than five, those that are alone among them.
        sensitive: One for each sensitive column.
    """

    by: tuple[str, ...]
    records: int
    classes: int
    smallest: int
    median: float
    mean: float
    largest: int
    alone: int
    in_small: int
    sensitive: tuple[SensitiveExposure, ...]

    def measures(self, counted: Counted = "records") -> list[tuple[str, float | None, str]]:
        """List measure, value, and what it says, of the classes."""
        each = "" if counted == "records" else ", once in each class"
        return [
            (counted, self.records, f"in the table{each}"),
            ("classes", self.classes, "combinations of these columns that exist"),
            ("smallest class (k)", self.smallest, f"{counted} that cannot be told apart, at worst"),
            ("median class", self.median, "half of the classes are no larger"),
            ("mean class", self.mean, f"{counted} for each class"),
            ("largest class", self.largest, ""),
            ("share alone", self.alone / self.records, f"of the {counted}, in classes of 1"),
            (
                f"share below {SMALL}",
                self.in_small / self.records,
                f"of the {counted}, in classes of 1 to {SMALL - 1}",
            ),
        ]

    def tables(self, on: str, counted: Counted = "records") -> list[Titled]:
        """Give title, column names and rows of the tables to print; ``on`` names the columns."""
        heading = ("measure", "value", "what it says")
        found: list[Titled] = [(f"Classes of {on}", heading, list(self.measures(counted)))]
        for item in self.sensitive:
            found.append((f"{item.sensitive} by {on}", heading, list(sensitive_measures(item))))
            more = (
                f", {len(item.by_value)} of {item.values} values" if len(item.by_value) < item.values else ""
            )
            rows: list[tuple[object, ...]] = [
                (v.value, v.records, v.share, v.confidence, v.certain) for v in item.by_value
            ]
            names = (item.sensitive, counted, "share", "highest confidence", f"{counted} where it is certain")
            found.append((f"Confidence of each {item.sensitive} by {on}{more}", names, rows))
        return found


def sensitive_measures(item: SensitiveExposure) -> list[tuple[str, float | None, str]]:
    """List measure, value, and what it says, of a sensitive column."""
    recursive = (
        "holds for every c above it" if item.recursive_c is not None else "no c: a class has one value"
    )
    rows: list[tuple[str, float | None, str]] = [
        ("values", item.values, "NULL is one"),
        ("distinct l", item.distinct_l, "the fewest values of a class"),
        ("entropy l", item.entropy_l, "the smallest exp(entropy) of a class"),
        ("recursive c (l = 2)", item.recursive_c, recursive),
        ("t, equal distances", item.equal_t, "how far a class is from the table, at worst"),
    ]
    if item.ordered_t is not None:
        rows.append(("t, ordered distances", item.ordered_t, "the same by the order of the values"))
    return rows


def exposure(
    collapsed: Collapsed, by: Sequence[str], sensitive: Sequence[str], types: Mapping[str, str]
) -> Exposure:
    """Measure what columns that others may know give away.

    Args:
        collapsed: The audited table, with all these columns.
        by: The columns that others may know.
        sensitive: The columns that nobody should infer from them.
        types: The type of each column.

    Raises:
        InvalidSource: The table has no records.

    Cost: one scan of the atoms for the classes and one for the cells of each sensitive column, then up to
    seven of those cells.
    Source: Sweeney 2002; Machanavajjhala et al. 2006; Li, Li, Venkatasubramanian 2007; Wang, Fung, Yu 2005.
    """
    collapsed.class_count(by)
    text = bind("audit/class_summary", tables={"classes": collapsed.classes(by)}, values={"small": SMALL})
    ((records, classes, smallest, median, mean, largest, alone, in_small),) = collapsed.engine.query(
        text, step="class_summary"
    )
    return Exposure(
        by=tuple(by),
        records=int(records),
        classes=classes,
        smallest=smallest,
        median=median,
        mean=mean,
        largest=largest,
        alone=alone,
        in_small=int(in_small),
        sensitive=tuple(_sensitive(collapsed, by, name, types) for name in sensitive),
    )


def _sensitive(
    collapsed: Collapsed, by: Sequence[str], sensitive: str, types: Mapping[str, str]
) -> SensitiveExposure:
    engine, qi = collapsed.engine, tuple(by)
    cells = {"cells": collapsed.cells(by, sensitive)}
    ratio = bind("audit/recursive_ratio", tables=cells)
    ((recursive_c,),) = engine.query(ratio, step="recursive_ratio")
    totals = {"value_totals": collapsed.value_totals(sensitive)}
    listed = bind("audit/value_confidences", tables={**cells, **totals}, values={"most": MOST_VALUES})
    rows = engine.query(listed, step="value_confidences")
    closeness = TCloseness(Fraction(1), sensitive, qi)
    equal = collapsed.make("equal_t_closeness", {**cells, **totals}, values=_ANY_T)
    return SensitiveExposure(
        sensitive=sensitive,
        values=int(rows[0][-1]),
        distinct_l=int(_worst(collapsed, LDiversity("distinct", Fraction(1), sensitive, qi), types)),
        entropy_l=_worst(collapsed, LDiversity("entropy", Fraction(1), sensitive, qi), types),
        recursive_c=recursive_c,
        equal_t=_reached(collapsed, equal, "max"),
        ordered_t=_worst(collapsed, closeness, types) if is_ordered(types[sensitive]) else None,
        by_value=tuple(
            ValueConfidence(value, int(records), share, confidence, int(certain))
            for value, records, share, confidence, certain, _ in rows
        ),
    )


_ANY_T = {"requirement": 0, "t_numerator": 1, "t_denominator": 1}
"""Parameters of a step of closeness for the limit that every table keeps."""


def _worst(collapsed: Collapsed, asked: Requirement, types: Mapping[str, str]) -> float:
    """Measure every class by a requirement, and give the worst."""
    judged = judgements(collapsed, asked, types, {"requirement": 0}, {})
    return _reached(collapsed, judged, asked.worst)


def _reached(collapsed: Collapsed, judged: Table, worst: str) -> float:
    text = bind("audit/verdicts", tables={"judgements": judged})
    ((_, _, least, most, *_),) = collapsed.engine.query(text, step="verdicts")
    return float(least if worst == "min" else most)
