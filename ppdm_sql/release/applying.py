"""Applies the cut of a release to the records of another table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.audit import Finding, findings
from ppdm_sql.audit.model import requirement_tables
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import render
from ppdm_sql.errors import InvalidOption, InvalidSource, UnknownColumn, check_choice
from ppdm_sql.options import ApplyRequest
from ppdm_sql.privacy import Requirement, resolve
from ppdm_sql.release.applied import said_of
from ppdm_sql.release.catalogue import CatalogueRow, check_free, find
from ppdm_sql.release.ddl import create_table
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.placed_rows import PlacedRows
from ppdm_sql.release.placing import placing
from ppdm_sql.release.recoding import Recoding, collapsed_elsewhere, in_known_classes
from ppdm_sql.release.states import in_order
from ppdm_sql.results import Result, ResultTable

UNSEEN = ("nearest", "refuse")
_OTHER = "Name a release that ppdm suppress or ppdm generalize made."


@dataclass(frozen=True)
class Applied(Result):
    """A table that was made by applying the cut of a release to new records.

    Args:
        release: The release.
        into: The table that was made.
        rows: Its number of rows.
        unseen: For each masked column, the records whose value the release does not know; they show the
            most general label.
        findings: One for each requirement of the release that could be measured on the new table. The cut
            keeps no promise for new records by itself. Empty where the table has no records.
        unmeasured: The requirements that name a column which the new table lacks; all of them where they
            count persons, since nobody says whose the new records are.
        left_out: Records whose class the release does not have, where it left records out itself; they are
            not in the table.
        counts_persons: Whether the requirements count persons, so that none of them could be measured.
        to: The folder or table outside of the database with the rows, if there is one.
        placed: Rows that were written there.
    """

    release: str
    into: str
    rows: int
    unseen: Mapping[str, int]
    findings: tuple[Finding, ...]
    unmeasured: tuple[Requirement, ...]
    left_out: int = 0
    counts_persons: bool = False
    to: str | None = None
    placed: int = 0

    @property
    def holds(self) -> bool:
        """Whether every requirement that could be measured holds."""
        return all(found.holds for found in self.findings)

    def tables(self) -> list[ResultTable]:
        """Give the requirements, each with what was reached, and the records with unseen values."""
        unseen = list(self.unseen.items())
        unknown = ResultTable("Unseen values", ("column", "records"), unseen)
        left = [ResultTable("Left out", ("records",), [(self.left_out,)])] if self.left_out else []
        return [*requirement_tables(self.findings), unknown, *left]


def apply(engine: Engine, name: str, asked: ApplyRequest) -> Applied:
    """Make a table of the records of another, generalized and suppressed as those of a release.

    A table that is not in DuckDB is collapsed in the table made; outside it has a row for each record.

    Raises:
        UnknownRelease: There is no such release.
        UnknownTable: There is no such table.
        UnknownColumn: The table lacks a masked column.
        NameTaken: There is a table, view or release called ``into``.
        InvalidSource: Values cannot be compared with the release's, or are refused.
        InvalidOption: ``unseen`` is neither, or the release masks nothing or was published without its trees.

    Cost: one scan of each masked column, one of the table with a join per masked column, a sort, the audit.
    """
    check_choice("rule for unseen values", asked.unseen, UNSEEN)
    engine.require_autocommit()
    into = asked.into
    row, given, place = find(engine, name), engine.find(asked.table), check_free(engine, into)
    shape, target = row.shape(place.catalog), Table(into, place.schema, place.catalog)
    if not shape.masked:
        raise InvalidOption(f"The release {row.release!r} masks no column, so it has no cut.", _OTHER)
    with engine.workspace(), placing(engine, asked.to) as placed:
        source, shape, unfolded = collapsed_elsewhere(engine, shape, given)
        recoding = Recoding.of(engine, row, shape, source)
        counts = {item.name: item.unseen for item in recoding.maps}
        if asked.unseen == "refuse" and any(counts.values()):
            raise _refused(row, given, counts)
        rows, records = recoding.size(engine)
        recoded_rows, left = recoding.rows(), 0
        if row.left_out is not None:
            recoded_rows, rows, known = _in_known(engine, row, recoding)
            left, records = records - known, known
        with engine.transaction():
            select = render(in_order(recoded_rows))
            engine.write(create_table(target, select), step="apply")
            engine.write(said_of(target, row.release), step="comment")
            measurable, unmeasured = _measurable(row, recoding)
            found: list[Finding] = []
            if engine.dry:
                engine.write("-- Here the audit measures the table.", step="measure")
            elif records:
                found = findings(engine, target, measurable, count=recoding.shape.count, cut=shape.recorded)
            if placed is not None and not engine.dry:
                names = [item.name for item in engine.columns(target)]
                placed.write_rows(PlacedRows.of_table(target, names, unfolded))
                placed.publish()
    written = (None, 0) if placed is None else (placed.target, sum(file.rows for file in placed.files))
    persons = recoding.shape.person is not None
    return Applied(row.release, into, rows, counts, tuple(found), unmeasured, left, persons, *written)


def _in_known(engine: Engine, row: CatalogueRow, recoding: Recoding) -> tuple[exp.Select, int, int]:
    """Select the recoded rows whose classes the release has, and count them and their records."""
    of = recoding.shape, row.asked, set(recoding.found)
    kept = in_known_classes(recoding.rows(), *of)
    counted = exp.select(exp.Count(this=exp.Star()), recoding.shape.records("r"))
    ((rows, known),) = engine.query(render(counted.from_(kept.subquery("r"))), step="known")
    return kept, rows, known


def _refused(row: CatalogueRow, source: Table, counts: Mapping[str, int]) -> InvalidSource:
    """Say in which columns values are unknown, and how often."""
    unknown = ", ".join(f"{number} in {name!r}" for name, number in counts.items() if number)
    return InvalidSource(
        f"Records of table {source.name} hold values that {row.release!r} does not know: {unknown}.",
        "Give --unseen nearest to show the most general label for them.",
    )


def _measurable(row: CatalogueRow, recoding: Recoding) -> tuple[list[Requirement], tuple[Requirement, ...]]:
    """Split the requirements into those whose columns the new table has, and the others."""
    there: list[Requirement] = []
    missing: list[Requirement] = []
    if recoding.shape.person is not None:
        return [], row.asked  # whose the new records are, nobody says
    for requirement in row.asked:
        try:
            there.append(resolve(requirement, list(recoding.found), table=recoding.source.name))
        except UnknownColumn:
            missing.append(requirement)
    return there, tuple(missing)


def recoded(engine: Engine, row: CatalogueRow, shape: Shape, table: Table) -> exp.Select:
    """Select the records of a table as the cut of a release shows them, in no order.

    The columns are those of the release, in its order and spelling: masked columns as text, bounds, and what
    else of it the table has; pseudonyms are left out. What matches no leaf shows the most general label.

    Args:
        engine: Where both are. The SELECT reads working tables, so it serves inside the same workspace.
        row: The release.
        shape: Its columns.
        table: The table, with at least the masked columns.

    Raises:
        UnknownColumn: The table lacks a masked column.
        InvalidSource: Values cannot be compared with the release's, or the count column is none.
        InvalidOption: The release was published without its trees.

    Cost: one scan of each masked column; the SELECT is one scan of the table and a join per masked column.
    """
    return Recoding.of(engine, row, shape, table).rows()
