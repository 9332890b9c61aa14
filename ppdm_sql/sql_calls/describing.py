"""Describes what is published, by the same names and values for a command and for a call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ppdm_sql.database import Database
from ppdm_sql.engine.names import Table, quoted
from ppdm_sql.errors import InvalidOption, UnknownRelease, unknown
from ppdm_sql.methods.trees.model import DecisionTree
from ppdm_sql.methods.trees.storing import KEPT, Model, ModelRow, accuracy
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow, Release, ReleasedColumn
from ppdm_sql.release.catalogue import LOCATION, NOTICES, SHAPE
from ppdm_sql.release.cut_tree import told
from ppdm_sql.sql_calls.arrow import typed

Description = list[tuple[str, object]]
"""Names and values, in the order in which they are shown."""

RELEASES = "release, method, source, requirements VARCHAR[], rows BIGINT, stopped, created_at TIMESTAMP"
MODELS = "model, mode, source, class, rows BIGINT, test, accuracy DOUBLE, created_at TIMESTAMP"
LISTED_RELEASES, LISTED_MODELS = ([name for name, _ in typed(text)] for text in (RELEASES, MODELS))


def published(db: Database, name: str) -> Release | Model:
    """Find what has a name; no release is called as a model is.

    Raises:
        UnknownRelease: There is neither; the message lists those that exist, nearest first.
    """
    models = [row.model for row in db.models()]
    try:
        return db.model(name) if name.lower() in map(str.lower, models) else db.release(name)
    except UnknownRelease:
        known = [*(row.release for row in db.releases()), *models]
        if not models:
            raise
        words = "There is no release or model"
        raise unknown(UnknownRelease, words, name, known, here="Here are") from None


def report(db: Database, given: Mapping[str, Any], progress: Progress | None = None) -> str:
    """Write the page of a release or model, and give its name.

    Raises:
        InvalidOption: What only a release can be asked is asked of a model.
        PpdmError: There is nothing of the name, or the page cannot be written.
    """
    options = dict(given)
    found = published(db, options.pop("release"))
    if isinstance(found, Release):
        found.report(**options, progress=progress)
        return found.name
    for name in ("public", "evaluate", "exported"):
        if options.pop(name, None):
            raise InvalidOption(
                f"{found.name!r} is a model, whose page tells of the records that it was grown from.",
                f"Leave --{name} out.",
            )
    found.report(**options)
    return found.name


def listed_releases(db: Database) -> list[tuple[object, ...]]:
    """Give the releases, a row each, under :data:`LISTED_RELEASES`."""
    return [tuple(getattr(row, name) for name in LISTED_RELEASES) for row in db.releases()]


def listed_models(db: Database) -> list[tuple[object, ...]]:
    """Give the models, a row each, under :data:`LISTED_MODELS`."""
    return [
        (m.model, m.mode, m.source, m.class_column, m.rows, m.test, right(m), m.created_at)
        for m in db.models()
    ]


def right(row: ModelRow) -> float | None:
    """Give the share of right predictions on the test table, if there was one."""
    return None if row.confusion is None else accuracy(row.confusion)


# -- releases ---------------------------------------------------------------------------------


def release_description(
    release: Release,
    named: Mapping[str, str],
    noise: Callable[[ReleasedColumn], str],
    *,
    together: bool = False,
) -> Description:
    """Describe a release as the catalogue records it.

    Args:
        release: The release.
        named: What long requirements are called; others are called requirement.
        noise: Writes the option that describes a column's noise to others.
        together: Whether columns of which the same became are given together, not one by one.
    """
    row = release.row()
    elsewhere = (SHAPE, NOTICES, LOCATION, "noise")
    options = {name: value for name, value in row.parameters.items() if name not in elsewhere and value}
    shape = row.parameters[SHAPE]
    columns = [ReleasedColumn(*item) for item in shape["columns"]]

    def counted(item: ReleasedColumn) -> tuple[set[str | None], int]:
        text = f"CAST({quoted(item.name)} AS VARCHAR)"  # a moment in a time zone has no value in Python
        labels = {label for (label,) in release.relation().project(text).distinct().fetchall()}
        return labels, len(labels)

    became = [*told(columns, shape["symbol"], release.cut(), release.measures(), counted)]
    return [
        ("release", row.release),
        ("method", f"{row.method} (ppdm-sql {row.version})"),
        ("source", row.source),
        *((named.get(text, "requirement"), text) for text in row.requirements),
        *options.items(),
        *(_together(became) if together else [(f"column {name}", said) for name, said in became]),
        *(() if together else ((f"noise {item.name}", noise(item)) for item in columns if item.noise)),
        ("records", row.rows),
        *_location(row),
        *([("persons", persons)] if (persons := shape.get("persons")) else []),
        ("stopped", row.stopped),
        ("verified", row.verified),
        ("created at", row.created_at),
        *(("notice", notice) for notice in row.notices),
    ]


def _location(row: CatalogueRow) -> Description:
    """Say where the rows stand that are not in the database, in how many files of how many bytes."""
    found = row.parameters.get(LOCATION)
    if found is None:
        return []
    size = sum(file[1] for file in found["files"])
    return [("rows in", found["target"]), ("files", f"{len(found['files'])} of {size} bytes")]


def _together(became: Sequence[tuple[str, str]]) -> Description:
    """Give what became of columns with those of which it did."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, said in became:
        found[said].append(name)
    return [(f"{len(names)} columns: {said}", names) for said, names in found.items()]


# -- models -----------------------------------------------------------------------------------


def model_description(row: ModelRow, tree: DecisionTree) -> Description:
    """Describe a model as the catalogue records it."""
    options = {name: v for name, v in row.parameters.items() if name not in (KEPT, "noise") and v}
    return [
        ("model", row.model),
        ("mode", f"{row.mode} (ppdm-sql {row.version})"),
        ("source", row.source),
        ("class", row.class_column),
        *options.items(),
        *((f"noise of {item.name}", item.noise) for item in tree.attributes if item.noise),
        ("records", row.rows),
        ("nodes", len(tree.nodes)),
        ("leaves", len(tree.leaves)),
        ("depth", tree.depth),
        ("predicts", prediction(row, tree)),
        ("created at", row.created_at),
    ]


def prediction(row: ModelRow, tree: DecisionTree) -> str:
    """Write how the model's macro is called."""
    return f"{Table(f'{row.model}_predict')}({', '.join(map(quoted, tree.used))})"
