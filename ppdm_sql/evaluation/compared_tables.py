"""Reads what an evaluation compares: the source, the release, and a test table as it is and recoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, resolve, resolve_all
from ppdm_sql.engine.source import check_counts, count_column
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption, PpdmError, no_records
from ppdm_sql.evaluation.encoding import (
    Feature,
    Rows,
    TrainTest,
    check_families,
    collapse_rows,
    count_records,
    features,
)
from ppdm_sql.release import CatalogueRow
from ppdm_sql.release.control import changed, made_from
from ppdm_sql.release.labels import binned_types, in_bins
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.recoding import Recoding

LABELS = ("class", "sensitive", "kept", "swapped")
"""Treatments of columns that a classifier can be asked to predict."""


def compared_rows(
    engine: Engine, row: CatalogueRow, shape: Shape, test: str | Table | None, class_column: str | None = None
) -> tuple[TrainTest, TrainTest]:
    """Read the originals, which must be as they were, and what a release made of them, published or not.

    Cost: one scan of the source, of the released rows, and of the test table twice.
    """
    label, is_swapped = _label(row, shape, class_column)
    people = shape.people if test is None else ()
    plain, source = _source(engine, row, shape, label, persons=bool(people))
    masked = tuple(replace(feature, released=True) for feature in plain)
    names = tuple(feature.name for feature in plain)
    released_rows = Rows(shape.owned_rows().subquery("s"), names, label, shape.count, people)
    tables = collapse_rows(engine, source, plain), collapse_rows(engine, released_rows, masked)
    _check_same(engine, row, plain, *tables, same_label=not is_swapped)
    test_table = released_test = None
    if test is not None:
        table = test if isinstance(test, Table) else engine.find(test)
        rows = _test_rows(engine, table, shape, plain, label)
        test_table = collapse_rows(engine, rows, plain)
        if not count_records(engine, test_table):
            raise no_records(table.name)
        recoding = Recoding.of(engine, row, shape, table).rows()
        recoded_rows = Rows(recoding.subquery("s"), names, label, rows.count)
        released_test = collapse_rows(engine, recoded_rows, masked)
    original = TrainTest(plain, tables[0], test_table, is_swapped)
    return original, TrainTest(masked, tables[1], released_test, is_swapped)


def _label(row: CatalogueRow, shape: Shape, class_column: str | None) -> tuple[str, bool]:
    """Find the class of a release, or the column asked for, and tell whether its values were swapped."""
    swapped_names = [item.name for item in shape.columns if item.treatment == "swapped"]
    if class_column is not None:
        name = resolve(class_column, shape.names, table=shape.name)
        (treatment,) = (item.treatment for item in shape.columns if item.name == name)
        if treatment not in LABELS:
            raise InvalidOption(
                f"The release {shape.name!r} does not show {name!r} as it is, so nothing can predict it.",
                "Name a column that was kept.",
            )
        return name, treatment == "swapped"
    if row.parameters.get("class") in swapped_names:
        return row.parameters["class"], True
    classes = [item.name for item in shape.columns if item.treatment == "class"]
    if not classes:
        raise InvalidOption(
            f"The release {shape.name!r} was made without a class, so only its information loss is known; "
            "`ppdm show` prints it.",
            "Name a column to predict, one that the release shows as it is, with --class.",
        )
    return classes[0], False


def _source(
    engine: Engine, row: CatalogueRow, shape: Shape, label: str, *, persons: bool
) -> tuple[tuple[Feature, ...], Rows]:
    """Find the source and in it what the release has, and the columns that say whose a row is if asked."""
    table = made_from(engine, row)
    try:
        columns = engine.columns(table)
        plain = features(shape, binned_types(columns, shape.columns), table=row.source, label=label)
        rows = _rows(table, columns, shape, plain, label, shape.count)
        if persons:
            people = resolve_all(row.parameters["person"], [item.name for item in columns], table=row.source)
            rows = replace(rows, person=people)
    except PpdmError as cause:
        raise changed(row) from cause
    if not plain:
        raise InvalidOption(
            f"The release {shape.name!r} has no column to predict {label!r} from.", "Evaluate one that has."
        )
    return plain, rows


def _test_rows(engine: Engine, table: Table, shape: Shape, plain: Sequence[Feature], label: str) -> Rows:
    """Look at the test table; if it has the release's count column, its rows are counted by it."""
    columns = engine.columns(table)
    check_families(plain, binned_types(columns, shape.columns), table=table.name)
    names = [item.name for item in columns]
    count = next((shape.count for name in names if name.lower() == (shape.count or "").lower()), None)
    rows = _rows(table, columns, shape, plain, label, count)
    if rows.count is not None:
        check_counts(engine, table, rows.count)
    return rows


def _rows(
    table: Table,
    columns: Sequence[Column],
    shape: Shape,
    plain: Sequence[Feature],
    label: str,
    count: str | None,
) -> Rows:
    names = [item.name for item in columns]
    return Rows(
        in_bins(table, columns, shape.columns, "s"),
        resolve_all([feature.name for feature in plain], names, table=table.name),
        resolve(label, names, table=table.name),
        count_column(count, columns, table=table.name),
    )


def _check_same(
    engine: Engine,
    row: CatalogueRow,
    plain: Sequence[Feature],
    original: Table,
    released: Table,
    *,
    same_label: bool,
) -> None:
    """Compare all that no method has masked: a source that has changed would be no baseline."""
    names = [f"v{position}" for position, feature in enumerate(plain) if not feature.masked]
    label = ["label"] if same_label else []
    tables = {"original": original, "released": released}
    comparing = bind("evaluation/differences", tables=tables, columns={"plain": [*names, *label]})
    ((differences, additions, missing),) = engine.query(comparing, step="differences")
    if (additions if row.left_out else differences) or missing != (row.left_out or 0):
        raise changed(row)
