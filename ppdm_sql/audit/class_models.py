"""Judges classes by k-anonymity, l-diversity and t-closeness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.questions import Judged, Question
from ppdm_sql.engine.names import Table
from ppdm_sql.privacy.limits import at_most, entropy_limit
from ppdm_sql.privacy.model import KAnonymity, LDiversity, TCloseness

_ORDERED = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
    *("FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME", "INTERVAL"),
)
_LARGEST = 2**127 - 1
"""What the whole numbers of a statement go up to."""


def judge_classes(collapsed: Collapsed, question: Question, types: Mapping[str, str]) -> Judged:
    """Judge every class by a requirement other than a template.

    Args:
        collapsed: The audited table.
        question: The requirement.
        types: The type of each column; t-closeness takes the ordered distance for numbers and dates, the
            equal distance for everything else.

    Cost: one scan of the classes (k) or the cells (l, t), which are made from the atoms at need.
    """
    return Judged(question, _judge(collapsed, question, types))


def _judge(collapsed: Collapsed, question: Question, types: Mapping[str, str]) -> Table:
    asked, number = question.requirement, {"requirement": question.number}
    if isinstance(asked, KAnonymity):
        classes = collapsed.classes(asked.quasi_identifier)
        return collapsed.make("k_anonymity", {"classes": classes}, values={**number, "k": asked.k})
    if isinstance(asked, LDiversity):
        cells = collapsed.cells(asked.quasi_identifier, asked.sensitive)
        step = f"{asked.kind}_l_diversity"
        values = {**number, "l": int(asked.l) if asked.kind == "distinct" else entropy_limit(asked.l)}
        return collapsed.make(step, {"cells": cells}, values=values)
    if isinstance(asked, TCloseness):
        return _judge_closeness(collapsed, asked, number, ordered=is_ordered(types[asked.sensitive]))
    raise TypeError(f"no class-wise judgement for a {type(asked).__name__}")


def _judge_closeness(
    collapsed: Collapsed, asked: TCloseness, number: dict[str, Any], *, ordered: bool
) -> Table:
    cells = collapsed.cells(asked.quasi_identifier, asked.sensitive)
    t = at_most(asked.t, max(_LARGEST // _largest_distance(collapsed), 1))
    values = {**number, "t_numerator": t.numerator, "t_denominator": t.denominator}
    if not ordered:
        return collapsed.make("equal_t_closeness", {"cells": cells}, values=values)
    ranks = collapsed.make("value_ranks", {"cells": cells})
    runs = collapsed.make("class_runs", {"cells": cells, "value_ranks": ranks})
    tables = {"class_runs": runs, "value_ranks": ranks}
    return collapsed.make("ordered_t_closeness", tables, values=values)


def _largest_distance(collapsed: Collapsed) -> int:
    """Bound the whole numbers in which distances are measured: records twice, and values."""
    rows, records = collapsed.size
    return max(4 * records * records * rows, 1)


def is_ordered(type_text: str) -> bool:
    """Whether the values of a type have distances by order: numbers, dates and times.

    Example:
        >>> is_ordered("DECIMAL(8,2)"), is_ordered("VARCHAR"), is_ordered("INTEGER[]")
        (True, False, False)
    """
    return type_text.startswith(_ORDERED) and not type_text.endswith("]")
