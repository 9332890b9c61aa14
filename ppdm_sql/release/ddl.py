"""The statements that create, describe and remove the objects of a release.

Names and values enter as parts of a syntax tree; only finished pieces are put together as text.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.release.draft import ReleasedColumn, Treatment
from ppdm_sql.release.layout import SCHEMA, Shape
from ppdm_sql.release.states import STEP_ARGUMENT, state
from ppdm_sql.version import __version__

CATALOGUE = ("releases", "steps", "cuts", "measures", "taxonomies")
OPTIONAL = ("taxonomies", "transcripts")
"""Tables about releases that a file may lack."""

_TREATMENTS: dict[Treatment, str] = {
    "suppressed": "Values that are not disclosed are shown as the symbol ",
    "generalized": "Generalized by a taxonomy or to intervals.",
    "lower bound": "Lower bound, included, of the interval in ",
    "upper bound": "Upper bound of the interval in ",
    "swapped": "Confidential attribute; the values of some records are exchanged.",
    "randomized": "Randomized; the originals are unknown. The noise: ",
    "discretized": "Shown as cells; the originals are unknown. The cells: ",
    "sensitive": "Sensitive attribute, as it is.",
    "class": "Class attribute, as it is.",
    "kept": "Released as it is.",
    "pseudonym": "Keyed pseudonym of a direct identifier.",
    "count": "Number of records that the row stands for.",
}
NOISE_COMMENTS = _TREATMENTS["randomized"], _TREATMENTS["discretized"]
"""What stands before the noise in the comment of a column."""


def create_table(table: Table, select: str) -> str:
    """Write the statement that freezes the rows of a SELECT."""
    return f"CREATE TABLE {table} AS {select}"


def create_reader(shape: Shape, select: str) -> str:
    """Write the view that stands for the frozen table of rows that are outside of the database alone."""
    return f"CREATE OR REPLACE VIEW {shape.frozen} AS {select}"


def create_view(shape: Shape) -> str:
    """Write the view: an explicit column list over the frozen table."""
    return f"CREATE VIEW {shape.view} AS {render(shape.rows())}"


def create_macro(shape: Shape) -> str:
    """Write the table macro ``NAME_at(step)``, plain SQL that any client can call."""
    rows = render(state(shape, STEP_ARGUMENT))
    return f"CREATE MACRO {shape.macro}({render(STEP_ARGUMENT)}) AS TABLE {rows}"


def comments(shape: Shape, method: str) -> str:
    """Write what method made the release and how each column was treated; nothing of the source."""
    made = f"{method} release, made by ppdm-sql {__version__}."
    kept = f"{promised(shape)}Its requirements, steps and measures are in the schema {SCHEMA}."
    earlier = f"{made} The argument is a step: 0 gives the most general state."
    said = [
        _frozen_comment(shape, made),
        _comment("VIEW", shape.view.expression(), f"{made} {kept}"),
        *([_comment("MACRO TABLE", shape.macro.expression(), earlier)] if shape.stepwise else []),
        *column_comments(shape, shape.view),
    ]
    return ";\n".join(said)


def _frozen_comment(shape: Shape, made: str) -> str:
    if shape.outside:
        return _comment("VIEW", shape.frozen.expression(), f"{made} Reads the files of the rows.")
    return _comment("TABLE", shape.frozen.expression(), f"{made} Frozen rows, read by a view.")


def table_comments(shape: Shape, method: str, table: Table) -> str:
    """Write the comments of a table that an export makes; they name the method and the treatments."""
    told = f"{method} release, made by ppdm-sql {__version__}. {promised(shape)}".rstrip()
    made = _comment("TABLE", table.expression(), told)
    return ";\n".join([made, *column_comments(shape, table)])


def promised(shape: Shape) -> str:
    """Say that rows are records, and what is promised is of persons; nothing where both are the same."""
    if shape.person is None:
        return ""
    return "A row is a record; the requirements are kept for persons, who may have several. "


def column_comments(shape: Shape, table: Table) -> list[str]:
    """Write how each column was treated, on a view or table that holds the release."""
    treated = [(_of(table, item.name), _treated(shape, item)) for item in shape.columns]
    return [_comment("COLUMN", name, words) for name, words in treated]


def removals(shape: Shape, *, with_view: bool, parts: Collection[str]) -> list[str]:
    """Write the statements that remove a release; the view only where it is still its own."""
    release = column("release").eq(shape.name)
    there = [name for name in (*CATALOGUE, "transcripts") if name not in OPTIONAL or name in parts]
    rows = [exp.delete(Table(name, SCHEMA).expression(), where=release) for name in there]
    drops = [f"DROP MACRO TABLE IF EXISTS {shape.macro}"] if shape.stepwise else []
    drops.append(f"DROP {'VIEW' if shape.outside else 'TABLE'} IF EXISTS {shape.frozen}")
    view = [f"DROP VIEW IF EXISTS {shape.view}"] if with_view else []
    return [*view, *drops, *(render(row) for row in rows)]


def _comment(kind: str, of: exp.Expression, text: str) -> str:
    return render(exp.Comment(this=of, kind=kind, expression=literal(text)))


def _of(table: Table, name: str) -> exp.Expression:
    return exp.column(name, table=table.name, db=table.schema, catalog=table.catalog, quoted=True)


def _treated(shape: Shape, item: ReleasedColumn) -> str:
    named = shape.symbol if item.treatment == "suppressed" else item.of or item.noise
    binned = " Numbers are shown as bins." if item.bins else ""
    return _TREATMENTS[item.treatment] + (named or "") + binned
