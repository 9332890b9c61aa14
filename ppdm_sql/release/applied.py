"""Exports a table that ``apply`` made, once it has been found to be what the release's cut gives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from ppdm_sql.audit import findings
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Statement, literal, sql, text
from ppdm_sql.errors import GuaranteeNotMet, UnknownColumn, UnknownRelease, UnknownTable
from ppdm_sql.options import ExportOptions, asks
from ppdm_sql.privacy import resolve
from ppdm_sql.release import catalogue
from ppdm_sql.release.catalogue import CatalogueRow
from ppdm_sql.release.layout import Shape, record_count
from ppdm_sql.release.recoding import in_known_classes
from ppdm_sql.release.release import Release, get
from ppdm_sql.release.verification import false_bounds, integrity_faults

_MADE_BY = "Made by ppdm apply, with the cut of the release "


def said_of(table: Table, release: str) -> str:
    """Write the comment by which an export knows what made a table."""
    return sql("COMMENT ON TABLE {t} IS {words}", t=table, words=literal(_MADE_BY + release))


def exportable(engine: Engine, name: str) -> Release | AppliedTable:
    """Find what can be exported: a release, or a table that ``apply`` made.

    Raises:
        UnknownRelease: It is neither, or the release that was applied is gone.
    """
    try:
        return get(engine, name)
    except UnknownRelease as unknown:
        with suppress(UnknownTable):
            table = engine.find(name)
            where = {"catalog": table.catalog, "schema": table.schema, "name": table.name}
            for (comment,) in engine.query(text("release/table_comment"), where, step="table comment"):
                if (comment or "").startswith(_MADE_BY):
                    release = catalogue.find(engine, comment.removeprefix(_MADE_BY))
                    return AppliedTable(engine, table.name, table, release)
        raise unknown


@dataclass(frozen=True)
class AppliedTable:
    """A table that was made by applying the cut of a release.

    Args:
        engine: Where it is.
        name: What it is called.
        table: The table.
        release: The release, as the catalogue has it.
    """

    engine: Engine
    name: str
    table: Table
    release: CatalogueRow

    def row(self) -> CatalogueRow:
        """Give what the catalogue would say of the table, were it a release."""
        return replace(
            self.release,
            release=self.name,
            rows=_number(self.engine, sql("SELECT count(*) FROM {t}", t=self.table)),
        )

    @asks(ExportOptions)
    def export(self, asked: ExportOptions) -> None:
        """Write the table into a fresh file, as :meth:`Release.export` does.

        Raises:
            GuaranteeNotMet: The table is not what the release's cut gives, or a requirement of the release
                does not hold on it or cannot be measured.
            PpdmError: What :meth:`Release.export` raises.

        Cost: a copy of the table in order, the audit, and some scans.
        """
        from ppdm_sql.release.exporting import write_file

        self.engine.require_autocommit()
        with self.engine.workspace():
            shape = self._verified()
            named = replace(shape, name=self.name)
            write_file(self.engine, named, self.release.method, asked)

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
        asked = integrity_faults(shape, unseen=True), false_bounds(shape), self._unknown(whole, shape)
        for faults in asked:
            if faults is not None and _number(self.engine, faults):
                raise self._refused("it shows what the cut of the release does not")
        self._check_requirements(shape, copy, names)
        return shape

    def _unknown(self, whole: Shape, shape: Shape) -> Statement | None:
        """Count the rows whose class the release does not have, where it leaves records out."""
        if self.release.left_out is None:
            return None
        of = whole, self.release.asked, set(shape.names)
        unknown = "SELECT (SELECT count(*) FROM {rows}) - (SELECT count(*) FROM ({known}) AS k)"
        return sql(unknown, rows=shape.stored(), known=in_known_classes(shape.rows(), *of))

    def _check_requirements(self, shape: Shape, rows: Table, names: list[str]) -> None:
        """Refuse where a requirement breaks, or cannot be measured; records that are none break nothing."""
        if shape.person is not None:
            raise self._refused("the requirements count persons, and whose its records are is not said")
        try:
            asked = [resolve(one, names, table=self.name) for one in self.release.asked]
        except UnknownColumn:
            raise self._refused("it lacks a column that a requirement of the release names") from None
        some = _number(self.engine, record_count(shape))
        measured = findings(self.engine, rows, asked, count=shape.count, cut=shape.recorded) if some else []
        for found in measured:
            if not found.holds:
                raise self._refused(f"{str(found.requirement)!r} does not hold on it")

    def _refused(self, why: str) -> GuaranteeNotMet:
        return GuaranteeNotMet(
            f"The table {self.name!r}, made by applying {self.release.release!r}, is not exported: {why}.",
            "Run ppdm apply anew, on records on which the requirements hold.",
        )


def _number(engine: Engine, query: Statement) -> int:
    ((number,),) = engine.query(query, step="verify")
    return int(number)
