"""Applies the cut of a release to the records of another table, and exports what came of it.

Such a table is exported once it has been found to be what the release's cut gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ppdm_sql.audit import Finding, findings
from ppdm_sql.audit.model import requirement_tables
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Sql, literal, sql, text
from ppdm_sql.errors import (
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    UnknownColumn,
    UnknownRelease,
    UnknownTable,
    check_choice,
)
from ppdm_sql.options import ApplyRequest, ExportOptions, asks
from ppdm_sql.privacy import Requirement, resolve
from ppdm_sql.release.catalogue import CatalogueRow, check_free, find
from ppdm_sql.release.layout import Shape, record_count
from ppdm_sql.release.placing import PlacedRows, placing
from ppdm_sql.release.publishing import create_table
from ppdm_sql.release.recoding import Recoding, collapsed_elsewhere, in_known_classes
from ppdm_sql.release.release import Release, get
from ppdm_sql.release.verification import value_checks
from ppdm_sql.results import Result, ResultTable

UNSEEN = ("nearest", "refuse")
_OTHER = "Name a release that ppdm suppress or ppdm generalize made."
_MADE_BY = "Made by ppdm apply, with the cut of the release "
"""The comment by which an export knows what made a table."""


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
        recoded_rows: Sql = recoding.rows()
        left = 0
        if row.left_out is not None:
            recoded_rows = in_known_classes(recoding.rows(), recoding.shape, row.asked, set(recoding.found))
            counted = recoding.shape.records("r")
            sizes = sql("SELECT count(*), {n} FROM ({kept}) AS r", n=counted, kept=recoded_rows)
            ((rows, known),) = engine.query(sizes, step="known")
            left, records = records - known, known
        with engine.transaction():
            select = sql("{rows} ORDER BY ALL", rows=recoded_rows)
            engine.write(create_table(target, select), step="apply")
            made_by = literal(_MADE_BY + row.release)
            engine.write(sql("COMMENT ON TABLE {t} IS {words}", t=target, words=made_by), step="comment")
            of = recoding.shape, list(recoding.found), source.name
            measurable, unmeasured = _measurable(row, *of)
            found: list[Finding] = []
            if engine.dry:
                engine.write("-- Here the audit measures the table.", step="measure")
            elif records:
                found = findings(engine, target, measurable, count=recoding.shape.count, cut=shape.recorded)
            if placed is not None and not engine.dry:
                names = [item.name for item in engine.columns(target)]
                placed.write_rows(PlacedRows.of_table(target, names, unfolded))
                placed.give_name()
    written = (None, 0) if placed is None else (placed.target, sum(file.rows for file in placed.files))
    persons = recoding.shape.person is not None
    return Applied(row.release, into, rows, counts, tuple(found), unmeasured, left, persons, *written)


def _refused(row: CatalogueRow, source: Table, counts: Mapping[str, int]) -> InvalidSource:
    """Say in which columns values are unknown, and how often."""
    unknown = ", ".join(f"{number} in {name!r}" for name, number in counts.items() if number)
    return InvalidSource(
        f"Records of table {source.name} hold values that {row.release!r} does not know: {unknown}.",
        "Give --unseen nearest to show the most general label for them.",
    )


def _measurable(
    row: CatalogueRow, shape: Shape, names: Sequence[str], table: str
) -> tuple[list[Requirement], tuple[Requirement, ...]]:
    """Split the requirements into those whose columns a table has, and the others."""
    there: list[Requirement] = []
    missing: list[Requirement] = []
    if shape.person is not None:
        return [], row.asked  # whose the new records are, nobody says
    for requirement in row.asked:
        try:
            there.append(resolve(requirement, names, table=table))
        except UnknownColumn:
            missing.append(requirement)
    return there, tuple(missing)


def exportable(engine: Engine, name: str) -> Release | AppliedTable:
    """Find what can be exported: a release, or a table that ``apply`` made."""
    try:
        return get(engine, name)
    except UnknownRelease as unknown:
        with suppress(UnknownTable):
            table = engine.find(name)
            where = {"catalog": table.catalog, "schema": table.schema, "name": table.name}
            for (comment,) in engine.query(text("release/table_comment"), where, step="table comment"):
                if (comment or "").startswith(_MADE_BY):
                    release = find(engine, comment.removeprefix(_MADE_BY))
                    return AppliedTable(engine, table.name, table, release)
        raise unknown


@dataclass(frozen=True)
class AppliedTable:
    engine: Engine
    name: str
    table: Table
    release: CatalogueRow

    def row(self) -> CatalogueRow:
        """Give what the catalogue would say of the table, were it a release."""
        rows = self.engine.number(sql("SELECT count(*) FROM {t}", t=self.table), step="verify")
        return replace(self.release, release=self.name, rows=rows)

    @asks(ExportOptions)
    def export(self, asked: ExportOptions) -> None:
        """Write the table into a fresh file, as :meth:`Release.export` does.

        Raises:
            GuaranteeNotMet: The table is not what the release's cut gives, or a requirement of the release
                does not hold on it or cannot be measured.
        """
        from ppdm_sql.release.exporting import write_file

        self.engine.require_autocommit()
        with self.engine.workspace():
            shape = self._verified()
            write_file(self.engine, replace(shape, name=self.name), self.release.method, asked)

    def _verified(self) -> Shape:
        """Copy the rows, in an order that tells nothing, and give their shape if they may leave."""
        whole = self.release.shape(self.engine.current()[0])
        names = [item.name for item in self.engine.columns(self.table)]
        found = tuple(item for item in whole.columns if item.name in names)
        if names != [item.name for item in found] or not set(whole.masked) <= set(names):
            raise self._refused("its columns are not those of the release")
        rows = sql("SELECT {c} FROM {t} ORDER BY ALL", c=[column(name) for name in names], t=self.table)
        copy = self.engine.materialize("applied", rows)
        count = whole.count if whole.count in names else None
        shape = replace(whole, columns=found, count=count, working=copy)
        fine = all(check.holds for check in value_checks(self.engine, shape, unseen=True))
        if fine and self.release.left_out is not None:
            known = in_known_classes(shape.rows(), whole, self.release.asked, set(names))
            kept = self.engine.number(sql("SELECT count(*) FROM ({known}) AS k", known=known), step="verify")
            fine = kept == self.engine.size(copy)
        if not fine:
            raise self._refused("it shows what the cut of the release does not")
        if shape.person is not None:
            raise self._refused("the requirements count persons, and nothing says whose its records are")
        asked, missing = _measurable(self.release, shape, names, self.name)
        if missing:
            raise self._refused("it lacks a column that a requirement of the release names")
        some = self.engine.number(record_count(shape), step="verify")  # records that are none break nothing
        measured = findings(self.engine, copy, asked, count=shape.count, cut=shape.recorded) if some else []
        if broken := [one for one in measured if not one.holds]:
            raise self._refused(f"{str(broken[0].requirement)!r} does not hold on it")
        return shape

    def _refused(self, why: str) -> GuaranteeNotMet:
        return GuaranteeNotMet(
            f"The table {self.name!r}, made by applying {self.release.release!r}, is not exported: {why}.",
            "Run ppdm apply anew, on records on which the requirements hold.",
        )
