"""A new version of a release from today's table: who enters, who leaves, and from where the descent goes on.

The cut of a new version refines that of the version before, whose steps are performed again. Each record is
in the cohort of the version in which it entered, and the cohort groups records as a column of every
requirement does, without being released. New records whose classes hold too few of them wait. Records that
leave a class take others of their cohort with them where they would break a requirement by themselves, and
all where those that stay would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.keys import drawn_key, keyed_text, one_text, private
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import is_stand_in
from ppdm_sql.engine.statements import Statement, bind, joined, sql
from ppdm_sql.engine.types import type_tree
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, PpdmError
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.cuts import Cut, Cuts, SuppressionCut
from ppdm_sql.methods.top_down.loop import Refinement, RefinementStep
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking, Suppression
from ppdm_sql.methods.top_down.request import GeneralizeRequest, RefinementRoles
from ppdm_sql.options import DECODERS, options_of, written
from ppdm_sql.privacy import Counts, Requirement, Value
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release
from ppdm_sql.release.catalogue import UPDATABLE
from ppdm_sql.release.layout import PRIVATE, Version
from ppdm_sql.release.release import Step, Steps
from ppdm_sql.release.versions import (
    COHORT,
    KeptVersion,
    count_rows,
    departed_persons,
    departed_rows,
    identified,
    in_broken,
    in_cohorts,
    key,
    stored,
    versions_of,
)
from ppdm_sql.taxonomy.model import Taxonomy

if TYPE_CHECKING:
    from ppdm_sql.methods.top_down.run import RefinementRun


Bounds = Mapping[tuple[str, str | None], str | None]


RESERVED = (*PRIVATE, "record_copy", "record_gone", "record_number")
"""Names of columns that the source of an updatable release must not have."""
GONE = sql("r.record_gone")


class Unchanged(PpdmError):
    """Nothing has changed since the last version."""


@dataclass(frozen=True)
class Before:
    """The versions that an update goes on from, and what their steps did."""

    versions: Sequence[KeptVersion]
    steps: Steps
    bounds: Bounds  # the lower bound of each interval, by column and label

    @classmethod
    def of(cls, engine: Engine, release: Release) -> Before:
        row = release.row()
        versions = versions_of(engine, row.shape(engine.current()[0]))
        bounds = {(node.attribute, node.label): node.lower for node in release.cut()}
        return cls(versions, release.steps(), bounds)

    @property
    def last(self) -> KeptVersion:
        return self.versions[-1]


class Growth:
    """What is kept of the records of an updatable release, and how its next version comes about."""

    def __init__(self, run: RefinementRun, person: str, before: Before | None) -> None:
        self.run, self.person, self.before = run, person, before
        self.number = 1 if before is None else before.last.number + 1
        self.version = Version(self.number)
        self._replayed_steps: list[RefinementStep] = []

    @classmethod
    def of(cls, run: RefinementRun, roles: RefinementRoles) -> Growth:
        """Check that a release can be made updatable."""
        request: Any = run.request
        if len(roles.person) != 1:
            raise InvalidOption(
                "--updatable needs to know whose each record is.", "Give --person COLUMN, one column."
            )
        _refuse_what_does_not_last(run, request)
        return cls(run, roles.person[0], request.before)

    @property
    def grouping(self) -> Sequence[str]:
        """What groups the records beside the columns of the requirements; nothing in the first version."""
        return () if self.before is None else (COHORT,)

    @property
    def columns(self) -> Sequence[Column]:
        return [Column(name, "UINTEGER") for name in self.grouping]

    def per_cohort(self, requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
        """Ask requirements of each cohort, and of all together where cohorts that keep one might break it."""
        if self.before is None:
            return tuple(requirements)
        return *in_cohorts(requirements), *(item for item in requirements if not item.monotone_persons)

    def parameters(self) -> dict[str, object]:
        """Give what is kept so that the same can be asked again."""
        request = self.run.request
        looks = {"looks": dict(request.looks)} if isinstance(request, GeneralizeRequest) else {}
        return {UPDATABLE: {"asked": written(request), "digested": self.digested, **looks}}

    # -- who enters and who leaves ------------------------------------------------------------------

    def with_private_columns(self) -> Table:
        """Give the source with the private columns; the cohort is the first one."""
        run = self.run
        if is_stand_in(run.engine, run.table):
            raise InvalidOption(
                f"--updatable reads tables of DuckDB and files, and {run.source!r} is elsewhere.",
                "Copy it into the file, or leave the option out.",
            )
        names = [item.name for item in run.engine.columns(run.table)]
        if clashes := [name for name in names if name.lower() in RESERVED]:
            raise InvalidOption(
                f"--updatable keeps a column {clashes[0].lower()!r} of its own, and {run.source!r} has one.",
                "Rename it in a view.",
            )
        columns = {item.name for item in run.coded} | {*run.roles.kept, *run.roles.pseudonyms}
        self.digested = sorted(columns.intersection(names))
        return run.engine.overlay(identified(run.table, self.person, self.digested))

    def version_records(self) -> Table:
        """Give the records of the new version, with their cohorts, and tell who leaves and who waits."""
        assert self.before is not None
        engine, shapes, number = self.run.engine, [item.shape for item in self.before.versions], self.number
        select = (
            "SELECT s.*, row_number() OVER (PARTITION BY s.record_person, s.record_digest) AS record_copy "
        )
        today = engine.materialize("today", sql(select + "FROM {t} AS s", t=self.run.table))
        tables = {"today": today, "version_rows": stored(shapes[-1])}
        last_rows = engine.materialize("last_version", bind("top_down/last_version", tables=tables))
        last = self._with_their_cohort(last_rows)
        departed, leaving = (count_rows(engine, table, GONE) for table in (last_rows, last))
        departures = [departed_rows(engine, *pair) for pair in pairwise(shapes)]
        departures.append(engine.overlay(sql("SELECT * FROM {t} AS r WHERE {gone}", t=last, gone=GONE)))
        tables |= {"last_version": last, "departed_persons": departed_persons(engine, departures)}
        query = bind("top_down/arrivals", tables=tables, values={"version": number})
        arrivals = engine.materialize("arrivals", query)
        new = sql("NOT r.record_gone AND r.record_cohort = {n}", n=number)
        arriving, back = count_rows(engine, arrivals, new), count_rows(engine, arrivals, GONE)
        tables |= {"arrivals": arrivals, "ready_records": self._entrants(arrivals) if arriving else arrivals}
        query = bind("top_down/version_records", tables=tables, values={"version": number})
        records = engine.materialize("version_records", query)
        entered = count_rows(engine, records, new)
        self.version = Version(number, entered, leaving, arriving - entered)
        self._tell(departed, back, arriving)
        return records

    def _tell(self, departed: int, back: int, arriving: int) -> None:
        version, notice = self.version, self.run.progress.notice
        if not version.entered and not version.gone:
            if version.waiting:
                raise GuaranteeNotMet(
                    f"All {version.waiting:,} new records would have to wait: the last version's classes "
                    "hold too few of them, so no version is made.",
                    "Wait for more records, or publish the table as a new release with a smaller k.",
                )
            raise Unchanged("Nothing has changed that the release would show, so no version is made.", "")
        if version.waiting:
            notice(
                f"{version.waiting:,} of {arriving:,} new records wait for a later version: the classes that "
                "they belong to hold too few of them yet."
            )
        if departed:
            more = version.gone - departed
            also = (
                f"; {more:,} more are taken out with them, since otherwise subtraction would tell who left"
                if more
                else ""
            )
            notice(f"{departed:,} of the last version's records left the table or changed{also}.")
        if back:
            notice(
                f"{back:,} of the new records cannot enter: one of the same person left before, and the two "
                "would tell of each other."
            )

    def _with_their_cohort(self, rows: Table) -> Table:
        """Let others of a cohort leave a class with those that would break a requirement by themselves.

        They are drawn by a key that is thrown away, more of them until those that leave keep the
        requirements; all go where those that stay would not.
        """
        assert self.before is not None
        engine, last = self.run.engine, self.before.last.shape
        requirements, most = in_cohorts(self.run.promised), 1
        order = keyed_text(one_text(key("r")), *private(engine, drawn_key().derived("ppdm departures")))
        place = "row_number() OVER (PARTITION BY r.record_gone, {of} ORDER BY {order}) AS record_number"
        of = [column(name, "r") for name in (*last.masked, COHORT)]
        select = sql("SELECT r.*, {place} FROM {t} AS r", place=sql(place, of=of, order=order), t=rows)
        rows = engine.materialize("drawn", select)
        while 0 < count_rows(engine, rows, GONE) < engine.size(rows):
            parts = [
                engine.overlay(
                    sql("SELECT * FROM {t} AS r WHERE r.record_gone = {side}", t=rows, side=sql(side))
                )
                for side in ("TRUE", "FALSE")
            ]
            leave, stay = (in_broken(engine, part, requirements, last.people) for part in parts)
            if leave is None and stay is None:
                break
            more = [sql("({b} AND r.record_number <= {n})", b=leave, n=most)] if leave is not None else []
            more += [stay] if stay is not None else []
            query = "SELECT r.* REPLACE ({any} AS record_gone) FROM {t} AS r"
            rows = engine.materialize("leaving", sql(query, any=joined([GONE, *more], " OR "), t=rows))
            most += 1 + most // 4
        return rows

    def _entrants(self, arrivals: Table) -> Table:
        """Give person and digest of the new records whose classes hold enough of them."""
        # The cut before is put over all of today's records, new values included; what is published is made
        # anew without the records that wait.
        run, engine = self.run, self.run.engine
        run.table = engine.overlay(sql("SELECT r.* FROM {t} AS r WHERE NOT r.record_gone", t=arrivals))
        run.mask_all(run.read())
        atoms, cuts = run.atoms, self.cuts
        params, columns, joins = dict[str, object](), list[Statement](), list[Statement]()
        for position, name in enumerate(run.attributes):
            text, own = recoded(f"c{position}", cuts[position].parts, f"r{position}", "BIGINT")
            params |= own
            if name != COHORT:
                columns.append(sql("{part} AS {name}", part=Statement(text), name=column(name)))
        for name in run.roles.sensitive:
            position = atoms.position(name)
            columns.append(sql("d{n}.value AS {name}", n=position, name=column(name)))
            joins.append(
                sql("LEFT JOIN {t} AS d{n} ON d{n}.code = a.c{n}", t=atoms.coded[position].table, n=position)
            )
        names = [*PRIVATE, "record_number"]
        atom = [*(column(run.atom(atoms, name), "a") for name in PRIVATE), column("person", "a")]
        columns += [sql("{a} AS {name}", a=a, name=column(name)) for a, name in zip(atom, names, strict=True)]
        new = "SELECT {columns} FROM {atoms} AS a {joins} WHERE {cohort} = {n}"
        of = {"atoms": atoms.table, "joins": joined(joins, " "), "cohort": atom[2], "n": self.number}
        rows = engine.materialize("new_records", sql(new, columns=columns, **of), params)
        while (broken := in_broken(engine, rows, run.promised, ["record_number"])) is not None:
            rows = engine.materialize(
                "ready", sql("SELECT r.* FROM {t} AS r WHERE NOT {any}", t=rows, any=broken)
            )
        run.__dict__.pop("worth", None)  # it knows the number of the records
        return rows

    # -- from where the descent goes on -------------------------------------------------------------

    @property
    def cuts(self) -> Cuts:
        """Perform the steps of the version before again; the first version begins at the top."""
        run, self._replayed_steps = self.run, []
        steps, bounds = ([], {}) if self.before is None else (self.before.steps, self.before.bounds)
        candidates, cuts = dict[int, list[int]](), list[Cut]()
        for masking, name in zip(run.maskings, run.attributes, strict=True):
            own = [step for step in steps if step.attribute == name]
            by_step, cut = _perform(masking.top, _candidates(run.engine, masking, own, bounds))
            candidates |= dict(zip((step.step for step in own), by_step, strict=True))
            cuts.append(cut)
        for step in steps:
            position, score = run.attributes.index(step.attribute), (step.score, step.gain, step.loss)
            self._replayed_steps += [
                RefinementStep((position, candidate), *(number or 0.0 for number in score))
                for candidate in candidates[step.step]
            ]
        return tuple(cuts)

    def begin(self, loop: Refinement) -> None:
        steps = [*self._replayed_steps]
        kept_from = loop.state.kept_from + len(steps) * self.run.constraints.repairable
        loop.state = replace(loop.state, steps=steps, kept_from=kept_from)


def _perform(cut: Cut, steps: Iterable[Sequence[int]]) -> tuple[list[list[int]], Cut]:
    """Perform each candidate once, and give those of each step."""
    by_step, performed = list[list[int]](), dict[int, None]()
    for candidates in steps:
        by_step.append([candidate for candidate in candidates if candidate not in performed])
        performed |= dict.fromkeys(by_step[-1])
    if isinstance(cut, SuppressionCut):
        return by_step, cut.disclose(list(performed))
    return by_step, reduce(lambda state, candidate: state.refine(candidate), performed, cut)


def _candidates(
    engine: Engine, masking: Masking, steps: Sequence[Step], bounds: Bounds
) -> Iterator[Sequence[int]]:
    """Give the candidates that perform each step over the values of today, after those that must come before.

    A value that the steps did not know is shown as what stood for it: the symbol, its ancestor, its interval.
    """
    dictionary = masking.dictionary
    null = [dictionary.size - 1] if dictionary.has_null else []
    if isinstance(masking, Suppression):
        query = sql(
            "SELECT CAST(d.value AS VARCHAR), d.code FROM {t} AS d WHERE CAST(d.value AS VARCHAR) IN "
            "(SELECT unnest(CAST($texts AS VARCHAR[])))",
            t=dictionary.table,
        )
        codes = _look_up(engine, query, [child for step in steps for child in step.children])
        if null:
            codes[None] = null[0]
        for step in steps:
            yield [codes[child] for child in step.children if child in codes]
    elif isinstance(masking, Generalization):
        nodes, parents = {label: node for node, label, *_ in masking.labels}, dict(masking.nodes({}))
        for step in steps:
            node, path = nodes.get(step.parent), list[int]()
            while node is not None:
                path, node = [node, *path], parents[node]
            yield [node for node in path if masking.tree.children[node]]
    elif isinstance(masking, Intervals):
        query = sql(
            "SELECT t.text, min(d.code) FROM (SELECT unnest(CAST($texts AS VARCHAR[])) AS text) AS t "
            "JOIN {t} AS d ON d.value >= CAST(t.text AS {type}) GROUP BY t.text",
            t=dictionary.table,
            type=type_tree(dictionary.column.type),
        )
        lower = [bounds.get((step.attribute, step.children[-1])) for step in steps]
        codes = _look_up(engine, query, [text for text in lower if text is not None])
        for text in lower:
            # NULL is split off before anything else; nothing lies below the first value
            yield [code for code in (*null, codes.get(text, 0)) if code]


def _look_up(engine: Engine, query: Statement, texts: Sequence[str | None]) -> dict[Value, int]:
    return dict(engine.query(query, {"texts": texts}, step="values of steps")) if texts else {}


# -- what is asked again ------------------------------------------------------------------------------

ONCE = ("types", "nulls", "show_values")
"""Options that an update is not asked again: the catalogue knows how the source is read."""


def _options_of_release(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options that a release was asked, as its catalogue has them."""
    options = [option for option in options_of(kind) if option.key in values and option.name not in ONCE]
    return {option.name: DECODERS[option.form].read(values[option.key]) for option in options}


def _refuse_what_does_not_last(run: RefinementRun, request: Any) -> None:
    """Refuse what the next versions could not keep, or not be asked again."""
    values = {"--control": request.control, "--to": request.to, "--suppress-records": run.allowance.share}
    for option in (option for option, value in values.items() if value):
        raise InvalidOption(f"{option} is not possible with --updatable yet.", "Leave one of them out.")
    for requirement in run.requirements:
        if requirement.counts is Counts.GROUPS or requirement.compares_with_table or requirement.population:
            raise InvalidOption(
                f"--updatable takes requirements on each class, and {str(requirement)!r} compares it with "
                "others.",
                "Ask for k-anonymity, l-diversity or templates, or leave --updatable out.",
            )
    if any(how == "pseudonym" for how in request.identifiers.values()):
        raise InvalidOption(
            "--updatable and a pseudonym would tell which rows of all versions are of one person.",
            "Drop the identifier, or leave --updatable out.",
        )
    if isinstance(request, GeneralizeRequest):
        if request.rare == "merged":
            raise InvalidOption(
                "--rare merged groups what is rare today, which need not be so in the next version.",
                "Leave it out: --updatable keeps rare groups apart.",
            )
        for name, taxonomy in request.taxonomies.items():
            if isinstance(taxonomy, Taxonomy):
                raise InvalidOption(
                    f"The taxonomy of {name!r} is an object in memory, which an update could not read again.",
                    "Give a file, a table, nested mappings or a rule.",
                )


# -- the surface --------------------------------------------------------------------------------------


def update(engine: Engine, release: Release, progress: Progress) -> Release:
    """Make the next version of a release from today's source; its own state where nothing has changed."""
    from ppdm_sql.methods.top_down.generalize import generalize
    from ppdm_sql.methods.top_down.suppress import suppress
    from ppdm_sql.options import Generalize, Suppress

    row = release.row()
    if (record := row.parameters.get(UPDATABLE)) is None:
        raise InvalidOption(
            f"The release {release.name!r} was not made with --updatable, so no version can follow it.",
            "Make it again with --updatable --person COLUMN, under another name.",
        )
    if not release.verify().holds:
        raise GuaranteeNotMet(
            f"The release {release.name!r} is not what was published, so no version can follow it.",
            "Run ppdm verify to see what has changed.",
        )
    method: Any = suppress if row.method == "PDA" else generalize
    kind: Any = Suppress if method is suppress else Generalize
    options = _options_of_release(kind, record["asked"])
    if "looks" in record:
        options["looks"] = record["looks"]
    request = kind(table=row.source, into=row.release, before=Before.of(engine, release), **options)
    try:
        with engine.publishes(replaces=row.release):
            return cast(Release, method(engine, row.source, request, progress))
    except Unchanged as nothing:
        progress.notice(nothing.problem)
        return release
