"""The skeleton of every run that makes a release: checked, read, transformed, drafted, published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from sqlglot import exp

from ppdm_sql.audit.before_publishing import ReleasedRows, refuse_identifiers
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_columns
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import sql
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import ColumnRoleError, InvalidOption
from ppdm_sql.methods.base.collapse import Atoms, Kept
from ppdm_sql.methods.base.pseudonyms import pseudonym, split_off
from ppdm_sql.methods.base.released_rows import Output
from ppdm_sql.methods.base.roles import Roles
from ppdm_sql.options import Request
from ppdm_sql.privacy.quoting import percent, read_share
from ppdm_sql.progress import Heard, Progress
from ppdm_sql.release import Draft, Release, check_free, check_writable, publish
from ppdm_sql.release.control import CONTROL
from ppdm_sql.release.layout import MeasureRow

if TYPE_CHECKING:
    from ppdm_sql.release.placing import Placing

Transformed = TypeVar("Transformed")


class Run(ABC, Generic[Transformed]):
    """One run of a method: checked when made, published in one transaction.

    A method says what its columns are (:meth:`assign_roles`), what it does to the data (:meth:`transform`)
    and what comes out (:meth:`draft`); all else is the same for every method.

    Args:
        engine: The database.
        source: Table or view to read.
        request: What is asked.
        progress: Told what the run is doing; its notices become part of the release.

    Raises:
        PpdmError: An option, a column or the source cannot be used, or the name is taken.
    """

    request: Request
    roles: Roles
    unfolded: str | None = None
    """The count column that the run made when it collapsed a table that is not in DuckDB."""
    placed: Placing | None = None
    """Where the rows go, if they are to stand outside of the database; known once the run has begun."""
    control: Table | None = None
    """The records that were split off, once they are."""
    counts_rows: ClassVar[str | None] = "requirements count rows"
    """What is done where nobody says whose a row is, in words; None where that cannot be said."""

    def __init__(self, engine: Engine, source: str, request: Request, progress: Progress) -> None:
        engine.require_autocommit()
        self.engine, self.source, self.request, self.progress = engine, source, request, Heard(progress)
        self.table: Table = engine.find(source)
        self.columns = self.described()
        self.roles = self.assign_roles()
        self._kept_by_name = self._named_as_kept()
        check_free(engine, request.into, writes=False)

    def described(self) -> dict[str, Column]:
        """Describe the columns that the run can read, by name, in the order of the release."""
        return {item.name: item for item in exact_columns(self.engine.columns(self.table))}

    # -- what methods differ in -----------------------------------------------------------------

    @abstractmethod
    def assign_roles(self) -> Roles:
        """Check the request against the columns, and give every named column its role."""

    @abstractmethod
    def transform(self) -> Transformed:
        """Read the source into working tables and change what is to be changed."""

    @abstractmethod
    def draft(self, transformed: Transformed) -> Draft:
        """Write down the release."""

    def reading(self) -> AbstractContextManager[None]:
        """Give the context of the run: one snapshot, as the audit compares the release with the source."""
        return self.engine.snapshot()

    def collapsed_elsewhere(self, needed: Iterable[str], count: str | None) -> str | None:
        """Let a table that is not in DuckDB be collapsed where it is, and go on with its combinations.

        The release stays collapsed in the database then. Where its rows are written elsewhere they are
        written one for each record, unless the table had a count column of its own.
        """
        if not is_stand_in(self.engine, self.table):
            return count
        names = [name for name in self.columns if name in needed and name != count]
        read = source_of(self.engine, self.table).counted(self.engine, names, count)
        self.table, counted = read.table, read.count
        if counted is not None and self.roles.person:  # of whom each record is, its row must say
            self.table, counted = self._unfolded(read.table, names, counted), None
        self.unfolded = counted if count is None else None
        if counted is not None:
            self.columns[counted] = Column(counted, "BIGINT")
        self.roles = replace(self.roles, count=counted)
        return counted

    def _unfolded(self, table: Table, names: Sequence[str], count: str) -> Table:
        """Write a row for each record of combinations with counts."""
        made = "SELECT {names} FROM (SELECT {names}, unnest(range({n})) FROM {table}) AS u"
        read = [column(name) for name in names]
        return self.engine.materialize("unfolded", sql(made, names=read, n=column(count), table=table))

    # -- the run --------------------------------------------------------------------------------

    def publish(self) -> Release:
        """Do all of it."""
        progress = self.progress
        check_writable(self.engine)
        try:
            with self.engine.workspace(), self._placing() as placed, self.reading():
                self.placed = placed
                self._split_off()
                self._notice_persons()
                self.check_kept()
                transformed = self.transform()
                progress.start(f"publishing {self.request.into}")
                return publish(self.engine, self._told(self.draft(transformed)), progress.notices, placed)
        finally:
            progress.stop()

    def _split_off(self) -> None:
        """Let all that follows read the source without the records that are split off."""
        share = read_share(getattr(self.request, "control", 0), "--control", "[0, 1)")
        refuses = getattr(self.request, "refuse_composition", False)
        if (share or refuses) and is_stand_in(self.engine, self.table):
            option = "--control" if share else "--refuse-composition"
            raise InvalidOption(
                f"{option} reads tables of DuckDB, and {self.source!r} is elsewhere.",
                "Copy it into the file, or leave the option out.",
            )
        if share:
            of = self.engine, self.table, self.roles.person, self.roles.count
            self.table, self.control = split_off(*of, share, source_name=self.source)
        self.whole_source = self.table  # with every column, whatever of them the method reads

    def _placing(self) -> AbstractContextManager[Placing | None]:
        """Let the rows be placed outside of the database, too, where that is asked for."""
        if self.request.to is None:
            return nullcontext()
        from ppdm_sql.release.placing import placing

        return placing(self.engine, self.request.to)

    def _notice_persons(self) -> None:
        """Tell of a column that seems to say whose a row is, where nobody said so."""
        roles = self.roles
        told = roles.person or roles.count is not None or is_stand_in(self.engine, self.table)
        if self.counts_rows is None or told:
            return
        from ppdm_sql.audit.before_publishing import repeated_persons

        columns, identifiers = self.engine.columns(self.table), list(roles.identifiers)
        for text in repeated_persons(
            self.engine, self.table, columns, identifiers, otherwise=self.counts_rows
        ):
            self.progress.notice(text)

    def _named_as_kept(self) -> tuple[str, ...]:
        """Give the columns that the user asked to keep, and refuse others to be allowed as identifiers."""
        names, request = list(self.columns), self.request
        kept = resolve_all(request.keep, names, table=self.source)
        self._allowed = resolve_all(request.allow_identifiers, names, table=self.source)
        for name in self._allowed:
            if name not in (*kept, *self.roles.kept):
                raise ColumnRoleError(
                    f"Column {name!r} is named by --allow-identifier, but is not to be kept.",
                    "Name it in --keep, too, or leave the option out.",
                )
        return tuple(name for name in kept if name in self.roles.kept)

    def check_kept(self) -> None:
        """Refuse kept columns that say who a person is."""
        if self._kept_by_name:
            of, count = (self.engine, self.table), self.request.count_column
            refuse_identifiers(*of, self._kept_by_name, self._allowed, count)

    @property
    def known(self) -> Sequence[str]:
        """Columns released as they are that the method takes to be known to others."""
        return ()

    def _told(self, draft: Draft) -> Draft:
        """Let the rows be looked at as a steward would, once the audit has accepted them."""

        def accept(rows: exp.Select) -> Sequence[MeasureRow]:
            measures = () if draft.accept is None else draft.accept(rows)
            with self.engine.workspace():
                self._notice_rows(draft, rows)
            return measures

        more: dict[str, object] = {"allow_identifiers": list(self._allowed)} if self._allowed else {}
        if self.control is not None:
            more[CONTROL] = percent(read_share(getattr(self.request, "control", 0), "--control"))
        parameters = {**draft.parameters, **more}
        told = replace(draft, accept=accept, parameters=parameters, control=self.control)
        return replace(told, compose=lambda: self._compose(told))

    def _compose(self, draft: Draft) -> None:
        """Tell, or refuse, what the release gives away together with others of the same source."""
        refuses = getattr(self.request, "refuse_composition", None)
        source = self.engine.find(self.source)
        if refuses is None or is_stand_in(self.engine, source):
            return
        from ppdm_sql.release.composition import others_of, refused_or_told

        if others := list(others_of(self.engine, source, draft.name)):
            with self.engine.workspace():
                of = self.engine, self.whole_source, draft, others
                self.progress.notice(refused_or_told(*of, refuses=refuses))

    def _notice_rows(self, draft: Draft, rows: exp.Select) -> None:
        """Tell who is alone by what is released as it is."""
        treatments = {item.name: item.treatment for item in draft.columns}
        of, count = (self.engine, rows, treatments), draft.count
        found = ReleasedRows(*of, known=self.known, count=count, person=draft.person)
        if (alone := found.singled_out()) is not None:
            self.progress.notice(
                f"{alone} Where others may know such values, name the columns in a requirement, "
                "bin them in a view, or leave them out."
            )

    # -- the columns of the release -------------------------------------------------------------

    @property
    def carried(self) -> Sequence[str]:
        """Names of the columns that are released as they are, without being coded."""
        return self.roles.kept

    @cached_property
    def kept(self) -> list[Kept]:
        """The carried columns, then the pseudonyms, each with the expression over the source ``s``."""
        plain = [Kept(n, without_enum(column(n, "s"), self.columns[n].type)) for n in self.carried]
        return plain + [Kept(n, pseudonym(column(n, "s"))) for n in self.roles.pseudonyms]

    def atom(self, atoms: Atoms, name: str) -> str:
        """Give the column of the atoms that a column of the source has become."""
        if name == self.roles.count:
            return "n"
        carried = [item.name for item in self.kept]
        return f"k{carried.index(name)}" if name in carried else f"c{atoms.position(name)}"

    def outputs(self, atoms: Atoms) -> list[Output]:
        """List the columns of the release, in the order of the source."""
        treated = ((name, self.roles.treatment(name)) for name in self.columns)
        return [Output(self.atom(atoms, name), name, how) for name, how in treated if how is not None]
