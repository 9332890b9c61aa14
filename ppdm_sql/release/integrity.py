"""Queries that count what a release may not show; on a release that nobody has touched they give 0."""

from __future__ import annotations

from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql
from ppdm_sql.release.interval_labels import bound_beside
from ppdm_sql.release.labels import stored_text
from ppdm_sql.release.layout import SCHEMA, Shape


def integrity_faults(shape: Shape, *, unseen: bool = False) -> Statement:
    """Count the labels that masked columns show and that are not in the final cut.

    In a suppressed column that is any value which no step disclosed, except the symbol; in a generalized one
    any label which no step brought or a later one refined; of new records with values that are ``unseen``
    the most general label is none.
    """
    labels = [
        sql(
            "SELECT {name} AS attribute, CAST(v.value AS TEXT) AS value, {top} AS top, {open} AS specializes "
            "FROM (SELECT DISTINCT {value} AS value FROM {rows}) AS v",
            name=literal(item.name),
            value=column(item.name, "f"),
            top=literal(shape.top(item.name)),
            open=item.treatment == "generalized",
            rows=shape.stored(),
        )
        for item in shape.columns
        if item.name in shape.masked
    ]
    # a column that some step specialized shows its top no more
    refined = (
        "s.specializes AND s.attribute IN (SELECT t.attribute FROM {steps} AS t WHERE t.release = {name})"
    )
    return sql(
        """
WITH shown AS ({shown})
SELECT count(*)
FROM ({labels}) AS s
LEFT JOIN shown AS l ON l.attribute = s.attribute AND l.value IS NOT DISTINCT FROM s.value
WHERE l.attribute IS NULL
    AND (s.value IS DISTINCT FROM s.top OR ({refined}))""",
        shown=bind("release/final_labels", tables={}, values={"release": shape.name}),
        labels=joined(labels, " UNION ALL "),
        refined=False if unseen else sql(refined, steps=Table("steps", SCHEMA), name=literal(shape.name)),
    )


def false_bounds(shape: Shape) -> Statement | None:
    """Count rows with a bound that is not the shown interval's; None where no bounds are released."""
    false = [
        sql("{stored} IS DISTINCT FROM CAST({bound} AS TEXT)", stored=stored_text(item.name), bound=bound)
        for item in shape.columns
        if (bound := bound_beside(item, stored_text(item.of or ""))) is not None
    ]
    query = "SELECT count(*) FROM {rows} WHERE {false}"
    return sql(query, rows=shape.stored(), false=joined(false, " OR ")) if false else None
