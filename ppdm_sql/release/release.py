"""A published release, to read, verify, export and drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

from duckdb import DuckDBPyRelation
from sqlglot import exp

from ppdm_sql.engine import Engine, Rows
from ppdm_sql.engine.names import quoted, resolve
from ppdm_sql.engine.statements import Statement, render
from ppdm_sql.errors import EngineError, GuaranteeNotMet, InvalidOption
from ppdm_sql.options import AttackOptions, ExportOptions, ReportOptions, asks
from ppdm_sql.privacy import Value
from ppdm_sql.progress import WarningProgress
from ppdm_sql.release import catalogue
from ppdm_sql.release.catalogue import LOCATION, CatalogueRow, record_of
from ppdm_sql.release.labels import Node, nodes_of, partitions, state, told
from ppdm_sql.release.layout import Draft, Measured, ReleasedColumn, Shape
from ppdm_sql.release.publishing import freeze, remove
from ppdm_sql.release.tables import listing
from ppdm_sql.release.verification import Verification, verify
from ppdm_sql.release.versions import versions_of
from ppdm_sql.results import Result, ResultTable, attacking, report

if TYPE_CHECKING:
    from ppdm_sql.release.placing import Placing
    from ppdm_sql.risk.attempts import Attacks


CUT = ("attribute", "node", "parent", "label", "shown")
"""What the table of the cut tells of a node."""
VERSIONS = ("version", "rows", "entered", "left", "waiting", "created at")


@dataclass(frozen=True)
class Step:
    """One move of a method.

    Args:
        step: Its number, from 1.
        attribute: The column concerned.
        parent: The label that stood there before; for a disclosure the suppressed symbol.
        children: The labels that stand there after; for a disclosure the disclosed values, None being NULL.
        score: By which it was chosen.
        gain: What it gives to the class.
        loss: What it takes from privacy.
    """

    step: int
    attribute: str
    parent: str | None
    children: tuple[Value, ...]
    score: float | None
    gain: float | None
    loss: float | None


class Steps(list[Step], Result):
    """What was done, in order."""

    def tables(self) -> list[ResultTable]:
        return [ResultTable("", [item.name for item in fields(Step)], [astuple(step) for step in self])]


class Release(Result):
    """A published release of the current database.

    Made by :func:`get` and :func:`publish`. What it reads is the frozen table, not the view, which
    anybody can replace; :meth:`verify` says whether the view still shows it.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine

    def __repr__(self) -> str:
        return f"Release({self.name!r})"

    def row(self) -> CatalogueRow:
        """Give its row of the catalogue.

        Raises:
            UnknownRelease: It was dropped in the meantime.
        """
        return catalogue.find(self._engine, self.name)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the run said: what the owner should know, and what is not as it was asked."""
        return self.row().notices

    def relation(self) -> DuckDBPyRelation:
        """Give the released rows, in their order, as a DuckDB relation."""
        return self._relation(self._shape().rows())

    def arrow(self) -> Any:
        """Give the released rows as an Arrow table; needs pyarrow."""
        return self.relation().to_arrow_table()

    def df(self) -> Any:
        """Give the released rows as a data frame; needs pandas."""
        return self.relation().df()

    def at(self, step: int) -> DuckDBPyRelation:
        """Give the release as it stood after a step, what ``FROM NAME_at(step)`` gives in SQL.

        Args:
            step: 0 is the most general state; the last step and all above are the release itself.

        Raises:
            InvalidOption: There is no such state, or the release was not made step by step.
        """
        shape = self._stepwise()
        return self._relation(state(shape, _number(step, shape.first)))

    def partitions(self, step: int | None = None) -> DuckDBPyRelation:
        """Give one row for each existing combination of the masked columns: the VIP as a relation.

        The masked columns, ``records``, then ``protected_1`` and so on: how many of the records hold the
        first, second ... of :meth:`protected`. A column of the release that is called so already gets the
        plain name, the count an underscore behind.

        Args:
            step: The state, as for :meth:`at`; None for the release itself.

        Raises:
            InvalidOption: There is no such state, or no column is masked since values were swapped.
        """
        shape = self._stepwise()
        number = None if step is None else _number(step, shape.first)
        return self._relation(partitions(shape, number, self.protected()))

    def protected(self) -> tuple[tuple[str, Value], ...]:
        """List the sensitive columns and values that the release's templates name, each once."""
        plain = [asked for asked in self.row().asked if asked.level is None]  # labels are not values
        named = [(name, asked.protected or ()) for asked in plain for name in asked.sensitive_columns]
        return tuple(dict.fromkeys((name, value) for name, values in named for value in values))

    def tables(self) -> list[ResultTable]:
        """Give what the catalogue says of it, its measures, the cut where it has its trees, and its record.

        Cost: a look at the labels of each masked column.
        """
        nodes, measures = self.cut(), self.measures()
        versions = [
            (item.number, item.rows, item.entered, item.gone, item.waiting, item.created_at)
            for item in versions_of(self._engine, self._shape())
        ]
        cut = [[getattr(node, name) for name in CUT] for node in nodes]
        return [
            ResultTable("release", ("what", "value"), self._described(nodes, measures)),
            ResultTable("measures", Measured._fields, measures, dict.fromkeys(("before", "after"), "")),
            *([ResultTable("cut", CUT, cut)] if nodes else []),
            *record_of(self.row(), measures),
            *([ResultTable("versions", VERSIONS, versions)] if versions else []),
        ]

    def _described(self, nodes: Sequence[Node], measures: Sequence[Measured]) -> list[tuple[str, object]]:
        """Describe it as the catalogue records it: names and values, in the order in which they are shown."""
        row = self.row()
        shape, location = row.shape(self._engine.current()[0]), row.parameters.get(LOCATION)
        became = told(shape.columns, shape.symbol, nodes, measures, self._labels)
        placed: list[tuple[str, object]] = []
        if location is not None:
            files = f"{len(location['files'])} of {sum(file[1] for file in location['files'])} bytes"
            placed = [("rows in", location["target"]), ("files", files)]
        return [
            ("release", row.release),
            ("method", f"{row.method} (ppdm-sql {row.version})"),
            ("source", row.source),
            *(("requirement", text) for text in row.requirements),
            *row.options.items(),
            *((f"column {name}", said) for name, said in became),
            *((f"noise {item.name}", item.noise) for item in shape.columns if item.noise),
            ("records", row.rows),
            *placed,
            *([("persons", shape.persons)] if shape.persons else []),
            ("stopped", row.stopped),
            ("verified", row.verified),
            ("created at", row.created_at),
            *(("notice", notice) for notice in row.notices),
        ]

    def _labels(self, item: ReleasedColumn) -> tuple[set[str | None], int]:
        text = f"CAST({quoted(item.name)} AS VARCHAR)"  # a moment in a time zone has no value in Python
        labels = {label for (label,) in self.relation().project(text).distinct().fetchall()}
        return labels, len(labels)

    def steps(self) -> Steps:
        """List what was done, in order."""
        return Steps(
            Step(number, attribute, parent, tuple(children), *rest)
            for number, attribute, parent, children, *rest in self._recorded("steps", "step", "attribute")
        )

    def measures(self) -> list[Measured]:
        """List what was measured, in the source and in the release."""
        return [Measured(*row) for row in self._recorded("measures")]

    def _recorded(self, part: str, *order: str) -> Rows:
        """Read what the catalogue lists of the release; where that is nothing, make sure that it is there."""
        try:
            rows = self._engine.query(listing(part, *order), {"release": self.name}, step=part)
        except EngineError:
            self.row()
            raise
        if not rows:
            self.row()
        return rows

    def taxonomy(self, attribute: str) -> list[Node]:
        """List the nodes of a masked column's tree, parents before children; the owner's to see.

        Args:
            attribute: The column. For a taxonomy all nodes are listed, for intervals those down to the
                cut, for suppression the symbol and the disclosed values.

        Raises:
            UnknownColumn: The release masks no such column.
        """
        shape = self._shape()
        return nodes_of(self._engine, shape.name, resolve(attribute, shape.masked, table=self.name))

    def cut(self) -> list[Node]:
        """List the nodes that the release shows and all above them, by column, parents before children."""
        shape = self._shape()
        place = {name: number for number, name in enumerate(shape.masked)}
        nodes = nodes_of(self._engine, shape.name)
        return sorted(nodes, key=lambda node: place.get(node.attribute, len(place)))

    def verify(self) -> Verification:
        """Audit the published table afresh and check that nobody has touched it.

        Where its rows stand outside of the database, too, they are read and compared with it.

        Raises:
            InvalidOption: What reads those rows is not open.

        Cost: the audit, and three or four scans of the frozen table; for rows elsewhere their hashes and one
        GROUP BY. Works on a read-only file.
        """
        row, shape = self._found()
        return verify(self._engine, row, shape, everywhere=True)

    @asks(ExportOptions)
    def export(self, asked: ExportOptions) -> None:
        """Write the release into a fresh file, once it has been verified again.

        Raises:
            GuaranteeNotMet: The release does not hold any more.
            NameTaken: The file exists and ``force`` is not given.
            InvalidOption: The format is not known or cannot hold the columns, the folder cannot be written,
                or what has the name is not a regular file.
            EngineError: The disk is full.
        """
        from ppdm_sql.release.exporting import write_file  # few runs export

        self._engine.require_autocommit()
        row, shape = self._found()
        if not verify(self._engine, row, shape).holds:
            raise GuaranteeNotMet(
                f"The release {self.name!r} is not what was published, so it is not exported.",
                "Run ppdm verify to see what has changed, then publish it anew.",
            )
        with self._engine.workspace():
            write_file(self._engine, shape, row.method, asked)

    @asks(AttackOptions)
    def attack(self, asked: AttackOptions) -> Attacks:
        """Try known attacks on the release, as :meth:`ppdm_sql.Database.attack` does.

        Raises:
            InvalidSource: The source is gone or changed.
            PpdmError: An option or a column cannot be used.
        """
        progress = asked.progress or WarningProgress()
        found: Attacks = self._engine.alone(lambda: attacking().attack(self._engine, self, asked, progress))
        return found

    @asks(ReportOptions)
    def report(self, asked: ReportOptions) -> None:
        """Write a page on the release: what it promises, who could be found, what it cost, how it came about.

        The page is one HTML file that needs no network and runs no script. The owner's, without ``public``,
        tells of the source.

        Raises:
            NameTaken: The file exists and ``force`` is not given.
            InvalidOption: A library or the folder is missing, or a file cannot be read.
            EngineError: The release cannot be read, or the disk is full.

        Cost: the audit on both sides, and some scans for each column and each pair of eight columns.
        """
        progress = asked.progress or WarningProgress()
        self._engine.alone(lambda: report().write_report(self._engine, self, asked, progress))

    def drop(self) -> None:
        """Remove view, macro, frozen table and every row of the catalogue, in one transaction.

        Rows that stand outside of the database are removed after it; a killed process leaves them to the
        next that opens the database.

        A view that somebody else has put in the place of the release's own stays. The file keeps the bytes
        until it is written anew.
        """
        self._engine.alone(self._drop)

    def _drop(self) -> None:
        self._engine.require_autocommit()
        from ppdm_sql.release import placing

        row = self.row()
        place = placing.place_of(self._engine, row.parameters)
        with self._engine.transaction():
            remove(self._engine, row)
            if place is not None:
                placing.note(self._engine.write, place, "remove")
        if place is not None:
            placing.remove(self._engine, place)

    def _found(self) -> tuple[CatalogueRow, Shape]:
        row = self.row()
        return row, row.shape(self._engine.current()[0])

    def _shape(self) -> Shape:
        return self._found()[1]

    def _stepwise(self) -> Shape:
        shape = self._shape()
        if not shape.stepwise:
            raise InvalidOption(
                f"The release {self.name!r} was not made step by step, so it has no states and partitions.",
                "Look at its rows, or count its patterns with ppdm audit --confidential.",
            )
        return shape

    def _relation(self, query: exp.Select | Statement) -> DuckDBPyRelation:
        try:
            return self._engine.relation(render(query))
        except EngineError as cause:
            error = EngineError(f"The rows of {self.name!r} cannot be read.", "Run ppdm verify to see why.")
            error.engine_text = cause.engine_text
            raise error from None


def _number(step: int, first: int = 0) -> exp.Expression:
    if 0 <= step < first:
        raise InvalidOption(
            f"The state after step {step} does not keep the requirements.", f"Give {first} or more."
        )
    if step < 0:
        raise InvalidOption(f"There is no step {step}.", "Give 0, the most general state, or more.")
    return exp.Literal.number(int(step))


def get(engine: Engine, name: str) -> Release:
    """Find a release by name, without regard to case where none has just that."""
    return Release(engine, catalogue.find(engine, name).release)


def publish(
    engine: Engine, draft: Draft, notices: Sequence[str] = (), placing: Placing | None = None
) -> Release:
    """Publish a draft with what the user was told, which the audit may add to, in one transaction."""
    freeze(engine, draft, notices, placing)
    return Release(engine, draft.name)
