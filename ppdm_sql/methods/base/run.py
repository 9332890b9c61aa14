"""The skeleton of every run that makes a release: checked, read, transformed, drafted, published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from sqlglot import exp

from ppdm_sql.audit.before_publishing import refuse_identifiers, singled_out
from ppdm_sql.audit.comparing import accept_moved
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_columns, exact_table
from ppdm_sql.engine.keys import (
    MOVABLE,
    Key,
    MovedDates,
    drawn_key,
    moved_dates,
    private,
    pseudonym,
    pseudonym_key,
    read_key,
)
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.engine.source import check_persons, is_stand_in, source_of
from ppdm_sql.engine.statements import sql
from ppdm_sql.engine.types import MOMENTS, kind_of, type_title, without_enum
from ppdm_sql.errors import ColumnRoleError, InvalidOption
from ppdm_sql.methods.base.collapse import Atoms, Kept
from ppdm_sql.methods.base.released_rows import Output
from ppdm_sql.methods.base.roles import Roles
from ppdm_sql.options import Request, command_of, written
from ppdm_sql.privacy.quoting import percent, read_share
from ppdm_sql.progress import Heard, Progress
from ppdm_sql.release import Draft, Release, check_free, check_writable, publish
from ppdm_sql.release.catalogue import ASKED, FINGERPRINT, MOVED, RECORD, releases
from ppdm_sql.release.control import CONTROL, split_off
from ppdm_sql.release.layout import MeasureRow

if TYPE_CHECKING:
    from ppdm_sql.release.placing import Placing

Transformed = TypeVar("Transformed")
MOST_DAYS = 36_500
"""By how many days dates can be moved."""
MANY, ONE_DATE = 20, Fraction(1, 10)
"""Records with one date, and their share, from which it may stand for something else than a day."""


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
    draws_noise: ClassVar[bool] = False
    """Whether a key file is of use without pseudonyms and moved dates."""
    counts_rows: ClassVar[str | None] = "requirements count rows"
    """What is done where nobody says whose a row is, in words; None where that cannot be said."""

    def __init__(self, engine: Engine, source: str, request: Request, progress: Progress) -> None:
        engine.require_autocommit()
        self.engine, self.source, self.request, self.progress = engine, source, request, Heard(progress)
        self.table: Table = engine.find(source)
        self.columns = self.described()
        self.roles = self.assign_roles()
        self.moved = self._dates_to_move()
        self.key = self._read_key()
        self._kept_by_name = self._named_as_kept()
        check_free(engine, request.into, writes=False, updatable=getattr(request, "updatable", False))

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
            made = "SELECT {names} FROM (SELECT {names}, unnest(range({n})) FROM {table}) AS u"
            rows = sql(made, names=[column(name) for name in names], n=column(counted), table=read.table)
            self.table, counted = self.engine.materialize("unfolded", rows), None
        self.unfolded = counted if count is None else None
        if counted is not None:
            self.columns[counted] = Column(counted, "BIGINT")
        self.roles = replace(self.roles, count=counted)
        return counted

    # -- the run --------------------------------------------------------------------------------

    def publish(self) -> Release:
        """Do all of it."""
        progress = self.progress
        check_writable(self.engine)
        try:
            with self.engine.workspace(), self._placing() as placed, self.reading():
                self.placed = placed
                self._move_dates()
                self._split_off()
                self._notice_persons()
                self._notice_links()
                self.check_kept()
                transformed = self.transform()
                progress.start(f"publishing {self.request.into}")
                return publish(self.engine, self._told(self.draft(transformed)), progress.notices, placed)
        finally:
            progress.stop()

    # -- what is made by a key ------------------------------------------------------------------

    @property
    def pseudonym_keys(self) -> list[tuple[str, bytes]]:
        return [(name, pseudonym_key(self.key, self.columns[name])) for name in self.roles.pseudonyms]

    def _read_key(self) -> Key:
        if self.request.key_file is None:
            return drawn_key()
        if self.roles.pseudonyms or self.moved:
            return read_key(self.request.key_file)
        if self.draws_noise:
            return drawn_key()
        raise InvalidOption(
            "--key-file is given, and nothing is made by a key.",
            "Add --identifier A=pseudonym or --shift-dates A, or leave it out.",
        )

    def _dates_to_move(self) -> MovedDates | None:
        request, names = self.request, list(self.columns)
        dates = resolve_all(request.shift_dates, names, table=self.source)
        if not dates:
            if request.shift_by:
                raise InvalidOption("--shift-by is given, and no dates to move.", "Add --shift-dates A.")
            return None
        person = resolve_all(request.shift_by or self.roles.person, names, table=self.source)
        if not person:
            raise InvalidOption(
                "--shift-dates does not say whose dates are moved alike.", "Add --shift-by patient."
            )
        for name in dates:
            if self.columns[name].type not in MOVABLE:
                raise InvalidOption(
                    f"Column {name!r} is {type_title(self.columns[name].type)} and cannot be moved by days.",
                    f"Read it as a date, such as --types {name}=DATE, or cast it in a view.",
                )
            if name in (*person, *self.roles.person, *self.roles.identifiers):
                raise ColumnRoleError(
                    f"Column {name!r} is to be moved and says who a person is.", "Name it in one role only."
                )
        if not 1 <= request.shift_days <= MOST_DAYS:
            words = f"--shift-days is not a whole number from 1 to {MOST_DAYS:,}."
            raise InvalidOption(words, "Give one such as 30.")
        self._refuse_elsewhere("--shift-dates")
        return MovedDates(dates, person, int(request.shift_days))

    def _move_dates(self) -> None:
        """Let all that follows read moved dates, once each person's are seen to be moved alike."""
        if (asked := self.moved) is None:
            return
        check_persons(self.engine, self.table, asked.person)
        table = exact_table(self.engine, self.table, [self.columns[name] for name in asked.person])
        moved = moved_dates(self.engine, table, asked, self.key)
        accept_moved(self.engine, (table, moved), *asked)
        for name in asked.dates:
            often = "SELECT count(*) AS n FROM {t} WHERE isfinite({d}) GROUP BY {d}"
            query = sql("SELECT max(n), sum(n) FROM ({n})", n=sql(often, t=self.table, d=column(name)))
            ((most, dates),) = self.engine.query(query, step="one_date")
            if dates and most >= MANY and most > ONE_DATE * dates:
                self.progress.notice(
                    f"{100 * most / int(dates):.0f} % of the dates of {name!r} are one and the same. If it "
                    "stands for something else, such as no end, make it NULL: moved, it tells how far."
                )
        self.table = moved
        named = ", ".join(map(repr, asked.dates))
        self.progress.notice(
            f"The dates of {named} are moved by up to {asked.days} days, all of a person alike, so anyone "
            "who knows one true date of a person knows them all."
        )
        still = (name for name in self.columns if name not in asked.dates and self.roles.treatment(name))
        others = [name for name in still if kind_of(self.columns[name].type) in MOMENTS]
        if others:
            self.progress.notice(
                f"Other dates are released that are not moved ({', '.join(map(repr, others))}), and may tell "
                "by how many days those of a person were: name them in --shift-dates, too."
            )

    def _notice_links(self) -> None:
        """Tell what pseudonyms by a key that lasts make known."""
        if not self.roles.pseudonyms or (fingerprint := self.key.fingerprint) is None:
            return
        named = ", ".join(map(repr, self.roles.pseudonyms))
        linked = [
            row.release
            for row in releases(self.engine)
            if row.parameters.get(FINGERPRINT) == fingerprint
            and "pseudonym" in row.parameters.get("identifiers", {}).values()
        ]
        here = f" In this file these are {', '.join(map(repr, linked))}." if linked else ""
        self.progress.notice(
            f"The pseudonyms of {named} are the same in every release by this key: anyone who has several of "
            "them can link the records of a person and read them together, while each release keeps its "
            f"requirements only by itself; ppdm attack measures releases of one table together.{here}"
        )

    # -- before the run -------------------------------------------------------------------------

    def _split_off(self) -> None:
        """Let all that follows read the source without the records that are split off."""
        share = read_share(getattr(self.request, "control", 0), "--control", "[0, 1)")
        refuses = getattr(self.request, "refuse_composition", False)
        if share or refuses:
            self._refuse_elsewhere("--control" if share else "--refuse-composition")
        if share:
            of = self.engine, self.table, self.roles.person, self.roles.count
            self.table, self.control = split_off(*of, share, source_name=self.source)
        self.whole_source = self.table  # with every column, whatever of them the method reads

    def _refuse_elsewhere(self, option: str) -> None:
        if is_stand_in(self.engine, self.table):
            raise InvalidOption(
                f"{option} reads tables of DuckDB, and {self.source!r} is elsewhere.",
                "Copy it into the file, or leave the option out.",
            )

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

        asked = self.asked_again()
        more: dict[str, object] = {RECORD: {ASKED: asked}} if asked else {}
        if self._allowed:
            more["allow_identifiers"] = list(self._allowed)
        if self.control is not None:
            more[CONTROL] = percent(read_share(getattr(self.request, "control", 0), "--control"))
        if (self.roles.pseudonyms or self.moved) and self.key.fingerprint is not None:
            more[FINGERPRINT] = self.key.fingerprint
        columns = draft.columns
        if self.moved is not None:
            more[MOVED] = self.moved._asdict()
            columns = tuple(
                item._replace(moved=self.moved.days) if item.name in self.moved.dates else item
                for item in columns
            )
        parameters = {**draft.parameters, **more}
        told = replace(draft, accept=accept, parameters=parameters, control=self.control, columns=columns)
        return replace(told, compose=self._compose)

    def asked_again(self) -> dict[str, object]:
        """Give what is asked as a policy writes it, with the whole path of a file; nothing where none can."""
        read = self.engine.given.get(self.source)
        table = read.how.get("path", self.source) if read else self.source
        return {"command": command_of(self.request), "table": table, **written(self.request)}

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
        alone = singled_out(*of, known=self.known, count=count, person=draft.person)
        if alone is not None:
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
        return plain + [
            Kept(name, pseudonym(column(name, "s"), *private(self.engine, key)))
            for name, key in self.pseudonym_keys
        ]

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
