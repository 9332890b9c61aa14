"""What somebody who knows the method and the requirements learns from what the method refused to show.

Source: Wong, Fu, Wang, Pei 2007, "Minimality attack in privacy preserving data publishing", VLDB.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, resolve, resolve_all
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql
from ppdm_sql.engine.types import read
from ppdm_sql.privacy import KAnonymity, Requirement
from ppdm_sql.privacy.models.l_diversity import LDiversity
from ppdm_sql.privacy.models.template import Template
from ppdm_sql.release import CatalogueRow
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.recoding import Recoding
from ppdm_sql.risk.attempts import EXCEEDED, Attempt, verdict_of


def minimality(
    engine: Engine, row: CatalogueRow, shape: Shape, source: Table
) -> tuple[list[Attempt], list[str]]:
    """Guess what is protected in the classes for which a refinement of the final cut may have been refused.

    Give what comes of it, and what was not tried. Cost: a scan of the source with two joins for each masked
    column; then, for each requirement and column, a GROUP BY and the classes that the candidates make times
    the sensitive values of a class.
    """
    requirements = [part for one in row.asked if one.sensitive_columns for part in one.split()]
    if not requirements or not shape.masked:
        return [], []
    if row.stopped != "complete" or row.parameters.get("limit"):
        return [], ["minimality: the run stopped before its requirements refused all that was left"]
    if row.left_out is not None or shape.person is not None:
        return [], ["minimality: it is not played where records may be left out, or persons are counted"]
    suited = [one for one in requirements if _is_played(one, shape)]
    untried = [
        f"minimality for {one}: it is played for templates, distinct l and entropy l over columns shown as is"
        for one in requirements
        if one not in suited
    ]
    sizes = [one for one in row.asked if isinstance(one, KAnonymity)]
    refusals = _Refusals(engine, row, Recoding.of(engine, row, shape, source))
    tables = [refusals.of(one, number) for number, one in enumerate(suited)] if suited else []
    if not any(tables):
        return [], untried
    tables_of_candidates = [
        *(table for of in tables for table in of),
        *(t for one in sizes for t in refusals.of(one, None)),
    ]
    every = joined([sql("FROM {t}", t=table) for table in tables_of_candidates], " UNION ALL ")
    query = bind("risk/minimality", tables={"refused": engine.materialize("refused", every)})
    rows = engine.query(query, step="minimality")
    return [_attempt(suited[number], *numbers) for number, *numbers in rows], untried


def _is_played(one: Requirement, shape: Shape) -> bool:
    masked = {name.lower() for name in shape.masked}
    as_is = not any(name.lower() in masked for name in one.sensitive_columns)
    return isinstance(one, Template | LDiversity) and one.level is None and as_is


def _attempt(
    requirement: Requirement, tried: int, successes: float, guesses: float, usual: float, worst: float | None
) -> Attempt:
    knows = f"{', '.join(requirement.attributes)}; the method and the requirement"
    (target,) = requirement.sensitive_columns
    allowed = None
    if isinstance(requirement, Template):
        target = str(requirement).split(" -> ", 1)[1].rsplit(" <= ", 1)[0]
        allowed = float(requirement.threshold)
    return Attempt(
        *("minimality", knows, target, tried, float(successes), worst),
        baseline=float(usual) / float(guesses),
        allowed=allowed,
        verdict="" if allowed is None else verdict_of(worst, allowed, EXCEEDED),
        share=float(successes) / float(guesses),
    )


class _Refusals:
    """The source under the final cut, with what each candidate would show instead."""

    def __init__(self, engine: Engine, row: CatalogueRow, recoding: Recoding) -> None:
        self._engine, self._row, self._recoding = engine, row, recoding
        self._shape = recoding.shape
        self._refinements_of_rows = engine.materialize("refined", self._rows())

    def _rows(self) -> Statement:
        """Select the columns as texts (``v0, ...``), and candidate and child of each masked one."""
        rows, names = self._recoding.rows(), self._shape.names
        values = dict(zip(rows.named_selects, rows.selects, strict=True))
        used_names = [name for one in self._row.asked for name in (*one.attributes, *one.sensitive_columns)]
        columns: dict[str, exp.Expression] = {}
        for name in (resolve(one, names, table=self._row.release) for one in used_names):
            columns[f"v{names.index(name)}"] = exp.cast(values[name].unalias(), "TEXT")
        for item in self._recoding.maps:
            place = names.index(item.name)
            of = f"f{place}"
            same = exp.NullSafeEQ(this=column("value", of), expression=item.cell.copy())
            refinements = aliased(self._refinements(item.name, item.labels), of)
            rows.append("joins", exp.Join(this=refinements, side="LEFT", on=same))
            columns |= {f"{part}{place}": column(part, of) for part in ("candidate", "child")}
        count = self._shape.count
        weight = literal(1) if count is None else column(count, "t")
        rows = rows.select(*(alias(value, name) for name, value in columns.items()), append=False)
        return sql(
            "SELECT {c}, sum(r.weight) AS weight FROM {rows} WHERE r.weight > 0 GROUP BY ALL",
            c=[column(name, "r") for name in columns],
            rows=rows.select(alias(weight, "weight")).subquery("r"),
        )

    def _refinements(self, name: str, labels: Table) -> Table:
        (suppressed,) = (item.treatment == "suppressed" for item in self._shape.columns if item.name == name)
        query = bind("risk/refinements", tables={"mapped_values": labels})
        params = {"release": self._row.release, "attribute": name, "suppressed": suppressed}
        return self._engine.materialize("refinements", query, params)

    def of(self, requirement: Requirement, number: int | None) -> list[Table]:
        """List the candidates of each column that could break a requirement."""
        measure, protected = "records", literal(None)
        if isinstance(requirement, LDiversity):
            measure = requirement.kind
        elif isinstance(requirement, Template):
            measure = "usual" if requirement.values is None else "protected"
            (value,) = requirement.values or (None,)
            name = resolve(requirement.sensitive, self._shape.names, table=self._row.release)
            # the owner wrote it as text, and rows show the text of the column's own value
            protected = exp.cast(read(literal(value), self._recoding.found[name].type), "TEXT")
        names = resolve_all(requirement.attributes, self._shape.names, table=self._row.release)
        sensitive = resolve_all(requirement.sensitive_columns, self._shape.names, table=self._row.release)
        suppressed = {item.name for item in self._shape.columns if item.treatment == "suppressed"}
        tables = list[Table]()
        for name in (name for name in names if name in self._shape.masked):
            place = self._shape.names.index(name)
            query = bind(
                "risk/refused",
                tables={"refined": self._refinements_of_rows},
                columns={
                    "known": [f"v{self._shape.names.index(one)}" for one in names],
                    "candidate": [f"candidate{place}"],
                    "child": [f"child{place}"],
                    "target": [f"v{self._shape.names.index(one)}" for one in sensitive or (name,)],
                },
                values={"protected": protected},
            )
            limit = requirement.search_limit(self._row.rows)
            params: dict[str, object] = {"measure": measure, "limit": limit, "requirement": number}
            params |= {"attribute": place, "suppressed": name in suppressed}
            tables.append(self._engine.materialize("refused", query, params))
        return tables
