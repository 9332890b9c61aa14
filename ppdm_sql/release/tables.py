"""The tables of the schema ppdm: each is described once, and made, written and read by its description."""

from __future__ import annotations

from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.release.layout import SCHEMA

NOW = ("created_at", "made_at")
"""Columns that hold the time of the transaction, in UTC."""
TABLES = {
    "releases": (
        "How each release was made, and of what.",
        "release VARCHAR, method VARCHAR, source VARCHAR, requirements VARCHAR[], parameters JSON, "
        "rows BIGINT, verified BOOLEAN, stopped VARCHAR, created_at TIMESTAMP, version VARCHAR",
    ),
    "steps": (
        "What each step of a run specialized, and why it was chosen.",
        "release VARCHAR, step INTEGER, attribute VARCHAR, parent VARCHAR, children VARCHAR[], score DOUBLE, "
        "gain DOUBLE, loss DOUBLE",
    ),
    "cuts": (
        "What each value of the source became in a release: the owner's, never exported.",
        "release VARCHAR, attribute VARCHAR, value VARCHAR, generalized VARCHAR",
    ),
    "measures": (
        "What was measured of a release, before and after.",
        "release VARCHAR, measure VARCHAR, before DOUBLE, after DOUBLE",
    ),
    "taxonomies": (  # lower, upper and closed for intervals, shown for the nodes of the cut
        "The trees of the masked columns, with values of the source: the owner's, never exported.",
        "release VARCHAR, attribute VARCHAR, node INTEGER, parent INTEGER, label VARCHAR, lower VARCHAR, "
        "upper VARCHAR, closed BOOLEAN, shown BOOLEAN",
    ),
    "versions": (  # the rows of a version stand in ppdm."version_N_NAME", of the newest in the release
        "What each version of an updatable release is, and what entered and left it.",
        "release VARCHAR, version INTEGER, rows BIGINT, entered BIGINT, gone BIGINT, waiting BIGINT, "
        "shape JSON, created_at TIMESTAMP",
    ),
    "pending": (  # what a killed process left is found by it
        "Where rows are being written outside of the database, or removed there.",
        "token VARCHAR, kind VARCHAR, target VARCHAR, purpose VARCHAR, made_at TIMESTAMP",
    ),
    "models": (  # the confusion matrix has a list for each class, of the records by predicted class
        "How each tree was trained, and how it was tested.",
        "model VARCHAR, mode VARCHAR, source VARCHAR, class VARCHAR, classes VARCHAR[], rows BIGINT, "
        "parameters JSON, test VARCHAR, confusion BIGINT[][], created_at TIMESTAMP, version VARCHAR",
    ),
    "nodes": (  # numbers below the cut and the categories that are listed go left
        "The nodes of each tree; counts are training records by class, aggregates of the source.",
        "model VARCHAR, node INTEGER, parent INTEGER, side VARCHAR, depth INTEGER, attribute VARCHAR, "
        "cut DOUBLE, categories VARCHAR[], null_left BOOLEAN, counts BIGINT[], predicted VARCHAR",
    ),
    "transcripts": (
        "What crossed the line in the runs that made releases with a partner.",
        "release VARCHAR, number INTEGER, round INTEGER, direction VARCHAR, kind VARCHAR, bytes BIGINT, "
        "digest VARCHAR, crossed_at TIMESTAMP, payload BLOB",
    ),
}
"""What each holds, and its columns, the first of which says whose a row is. None has a key: indexes cost time
and storage, and names are checked before."""


def creation(part: str) -> Statement:
    columns = ",\n    ".join(f"{name} {kind}" for name, kind in _columns(part).items())
    return _told(part, "Makes the table of ", f"CREATE TABLE IF NOT EXISTS {{t}} (\n    {columns}\n)")


def insertion(part: str, rows: Statement | None = None, *, many: bool = False) -> Statement:
    """Write what adds the row of the parameters, or the ``many`` of lists behind that of the owner.

    ``rows`` is what stands behind FROM and gives rows ``r`` of an owner instead.
    """
    items = []
    for place, (name, kind) in enumerate(_columns(part).items()):
        value = f"CAST(${name} AS {kind})"
        if rows is not None and place:
            value = f"r.{name}"
        elif name in NOW:
            value = "make_timestamp(epoch_us(now()))"
        elif many and place:
            value = f"unnest(CAST(${name} AS {kind}[]))"
        items.append(f"{value} AS {name}")
    source = "" if rows is None else f"\nFROM {rows}"
    selected = ",\n    ".join(items)
    return _told(part, "Records ", f"INSERT INTO {{t}}\nSELECT\n    {selected}{source}")


def deletion(part: str) -> Statement:
    """Write what removes the rows of the owner in the parameter."""
    return _told(part, "Removes ", "DELETE FROM {t}\nWHERE {owner} = ${owner}")


def listing(part: str, *order: str, every: bool = False) -> Statement:
    """Write the query of the rows of the owner in the parameter, without that column; or of ``every`` one."""
    names = ",\n    ".join(list(_columns(part))[not every :])
    where = "" if every else "\nWHERE {owner} = ${owner}"
    ordered = f"\nORDER BY {', '.join(f'{name} ASC' for name in order)}" if order else ""  # whatever is SET
    return _told(part, "Reads ", f"SELECT\n    {names}\nFROM {{t}}{where}{ordered}")


def _columns(part: str) -> dict[str, str]:
    return dict(item.split(" ", 1) for item in TABLES[part][1].split(", "))


def _told(part: str, beginning: str, text: str) -> Statement:
    """Fill in the table and its first column, and let the statement say what it does, as a step file does."""
    what, owner = TABLES[part][0], Statement(next(iter(_columns(part))))
    written = sql(text, t=Statement(f"{SCHEMA}.{part}"), owner=owner)
    return Statement(f"-- {part} | in: -\n-- {beginning}{what[0].lower()}{what[1:]}\n{written}")
