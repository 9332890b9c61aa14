"""Judges every class by a requirement, with the step of ``sql/audit/`` that its privacy model names."""

from __future__ import annotations

from collections.abc import Mapping

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.questions import Judged, Question
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Scalar
from ppdm_sql.privacy import Audited, Requirement


def judge_classes(collapsed: Collapsed, question: Question, types: Mapping[str, str]) -> Judged:
    """Judge every class by a requirement that protects all values alike.

    Args:
        collapsed: The audited table.
        question: The requirement.
        types: The type of each column.

    Cost: one scan of the classes or cells, which are made from the atoms at need.
    """
    number = {"requirement": question.number}
    return Judged(question, judgements(collapsed, question.requirement, types, number, {}))


def judgements(
    collapsed: Collapsed,
    asked: Requirement,
    types: Mapping[str, str],
    values: Mapping[str, Scalar],
    tables: Mapping[str, Table],
) -> Table:
    """Run a model's step.

    Args:
        collapsed: The audited table.
        asked: The requirement.
        types: The type of each column.
        values: Parameters beside those of the model.
        tables: Tables that the step reads beside ``classes``, ``cells`` and what it prepares.
    """
    of_sensitive = "".join(types[name] for name in asked.sensitive_columns)
    step = asked.audit_step(Audited(lambda: collapsed.size, lambda: collapsed.counted, of_sensitive))
    known = dict(tables)

    def found(names: tuple[str, ...]) -> dict[str, Table]:
        return {name: known.get(name) or _groups(collapsed, asked, name) for name in names}

    for name, inputs in step.prepared.items():
        known[name] = collapsed.make(name, found(inputs))
    return collapsed.make(step.name, found(step.inputs), values={**values, **step.values})


def _groups(collapsed: Collapsed, asked: Requirement, name: str) -> Table:
    """Give the classes of a requirement, or their cells."""
    if name == "classes":
        return collapsed.classes(asked.attributes)
    if name == "classes_in_population":
        from ppdm_sql.audit.populations import classes_in_population

        return classes_in_population(collapsed, asked)
    (sensitive,) = asked.sensitive_columns
    if name == "value_totals":
        return collapsed.value_totals(sensitive)
    return collapsed.cells(asked.attributes, sensitive)
