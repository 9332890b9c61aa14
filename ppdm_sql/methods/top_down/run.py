"""One run of the refinement loop over a table: checked, collapsed, descended, published.

Suppression (PDA) and generalization (TDS, HCE-TDR) are such runs; they differ in how attributes are
masked, in what a candidate gains, and in what is measured of the outcome.
"""

from __future__ import annotations

import signal
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.before_publishing import left_out_of, too_small
from ppdm_sql.audit.labels import MaskedColumn
from ppdm_sql.audit.masking import LeftOut, MaskingPromise, PersonCode, accept_masked
from ppdm_sql.engine import Column
from ppdm_sql.engine.names import Table, column, option_for
from ppdm_sql.engine.signals import SignalHandler, catch_up
from ppdm_sql.engine.statements import sql
from ppdm_sql.engine.types import Kind, kind_of, type_title
from ppdm_sql.errors import InvalidOption, check_choice
from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.base.collapse import Atoms, Kept, collapse, counts_by_class, read_source
from ppdm_sql.methods.base.released_rows import MaskedAtoms, Output, released_rows
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.constraints import (
    Allowance,
    AllowedConstraints,
    Constraints,
    check_absent,
    constraints_of,
)
from ppdm_sql.methods.top_down.cuts import CERTAINTY, Cut, ShownDetail
from ppdm_sql.methods.top_down.loop import Refinement, State
from ppdm_sql.methods.top_down.maskings import Fixed, Generalization, Intervals, Masking
from ppdm_sql.methods.top_down.measuring import ConditionalEntropy, Measure, PersonMeasure
from ppdm_sql.methods.top_down.outcome import (
    Move,
    Outcome,
    cut_rows,
    kept_records,
    moves_of,
    outcome_of,
    step_rows,
    top_labels,
    tree_rows,
)
from ppdm_sql.methods.top_down.request import (
    SCORES,
    ColumnWishes,
    RefinementRequest,
    RefinementRoles,
    assign_roles,
    detail_of,
    limit_of,
    resolve_option,
    weight_of,
)
from ppdm_sql.methods.top_down.score import LEAST_GAIN, LITERAL, Rounding, Worth, entropy, nine_digits
from ppdm_sql.privacy import KAnonymity, Requirement, parse_all, redundancies, resolve
from ppdm_sql.privacy.level import label_expressions, over_labels, sources, with_labels
from ppdm_sql.privacy.requirement import refuse_populations
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Release, ReleasedColumn
from ppdm_sql.release.layout import PRIVATE, person_column

if TYPE_CHECKING:
    from ppdm_sql.methods.top_down.updating import Growth

MOST_CLASSES = 100
"""Values of a class above which a notice says that they are many."""


class RefinementRun(Run[State]):
    """A run that descends from the most general table: collapsed, refined and drafted."""

    method: str
    request: RefinementRequest
    roles: RefinementRoles
    advises: ClassVar[bool] = True
    """Whether the run has the options that would let a column show more."""
    growth: Growth | None = None
    """What is kept of the records of an updatable release, and how its next version comes about."""
    condition: Sequence[str] = ()
    """Columns at full detail that gains depend on, beside those of the requirements."""
    atoms: Atoms
    constraints: Constraints
    rows: Table
    measure: Measure
    maskings: list[Masking]

    def assign_roles(self) -> RefinementRoles:
        request, names = self.request, list(self.columns)
        steps, requirements = request.max_steps, parse_all(request.require)
        if steps is not None and steps < 0:
            remedy = "Give a whole number of 0 or more, such as 10."
            raise InvalidOption(f"--max-steps {steps} is not a number of steps.", remedy)
        if not requirements:
            remedy = "Add --require 'Job, Country -> Bankruptcy = Discharged <= 75%'."
            raise InvalidOption("No requirement is given.", remedy)
        self.requirements: tuple[Requirement, ...] = tuple(
            resolve(requirement, names, table=self.source) for requirement in requirements
        )
        self.allowance = Allowance.of(request.suppress_records)
        if request.person and self.allowance.share:
            raise InvalidOption(
                "--suppress-records counts records, and cannot count persons yet.",
                "Leave it out, or leave --person out.",
            )
        if self.allowance.share and any(item.population is not None for item in self.requirements):
            raise InvalidOption(
                "--suppress-records takes no requirement on a population yet.",
                "Leave it out, or let `ppdm audit` judge the release by it.",
            )
        roles = assign_roles(
            list(self.columns.values()), self.requirements, request, self.condition, table=self.source
        )
        if getattr(request, "updatable", False):
            from ppdm_sql.methods.top_down.updating import Growth  # few releases are updatable

            self.growth = Growth.of(self, roles)
            self.promised, self.requirements = self.requirements, self.growth.per_cohort(self.requirements)
            roles = replace(roles, grouping=(*roles.grouping, *self.growth.grouping))
            self.columns |= {item.name: item for item in self.growth.columns}
        if roles.person:
            refuse_populations(self.requirements)
        limits = resolve_option(request.limits, "limit", names, roles.masking, table=self.source)
        weights = resolve_option(request.weights, "weight", names, roles.masking, table=self.source)
        check_choice("score", request.score, SCORES)
        weighed = roles.class_column is not None and not self.literal
        self.detail_worth = detail_of(request.detail, weighed=weighed)
        self._limits = {name: limit_of(name, value) for name, value in limits.items()}
        self._weights = {name: weight_of(name, value) for name, value in weights.items()}
        return roles

    # -- what methods differ in -----------------------------------------------------------------

    @property
    def rounding(self) -> Rounding:
        """When scores are equal."""
        return nine_digits

    @abstractmethod
    def mask(self, position: int, name: str, counts: Counts) -> Masking:
        """Choose how an attribute that may be masked is masked."""

    @abstractmethod
    def release_measures(self, outcome: Outcome) -> Sequence[information.Row]:
        """Measure what the release discloses and hides, beside what its requirements reached."""

    def gains(self) -> ConditionalEntropy | None:
        """Choose what candidates gain where it is measured; else each cut knows the InfoGain of its own."""
        return None

    @property
    def gain_name(self) -> str:
        return "information about the class" if self.has_class else CERTAINTY

    @property
    def has_class(self) -> bool:
        return self.roles.class_column is not None

    def class_information(self, outcome: Outcome) -> Sequence[information.Row]:
        """Measure what gains are about: what each column tells of the class, or the certainty penalty."""
        if self.has_class:
            return list(information.class_information(outcome))
        return [information.certainty_penalty(outcome, self.wishes.weights)]

    @cached_property
    def wishes(self) -> ColumnWishes:
        weights = [self._weights.get(name, 1.0) for name in self.attributes]
        return ColumnWishes(weights, list(map(self._limits.get, self.attributes)))

    @property
    def literal(self) -> bool:
        return self.request.score == "paper"

    @cached_property
    def worth(self) -> Worth:
        """What detail is worth; certainty is a mean over the masked attributes, by their weights."""
        if self.literal and self.has_class:
            return LITERAL
        weight = sum(self._weights.get(name, 1.0) for name in self.roles.masking)
        certainty = (self.detail_worth if self.has_class else 1.0) / max(weight, LEAST_GAIN)
        return Worth(self.worth_of_class, certainty, self.atoms.records)

    @property
    def worth_of_class(self) -> float:
        """What a bit about the class is worth, where each attribute tells of it by itself."""
        if self.classes is None or not len(self._counts):
            return 0.0
        bits = float(entropy(self._counts[0].sum(axis=0)))
        return 1 / bits if bits > 0 else 0.0

    def complete(self, state: State, cuts: Sequence[Cut]) -> tuple[Sequence[Move], Sequence[Cut]]:
        """Give moves to make after the descent, which cost no requirement anything, and the cuts then."""
        return (), cuts

    def bounds(self, name: str) -> Sequence[Output]:
        return ()

    def parameters(self) -> dict[str, object]:
        return {}

    # -- the run --------------------------------------------------------------------------------

    def publish(self) -> Release:
        for redundancy in redundancies(self.requirements):  # what follows from others
            self.progress.notice(redundancy.notice)
        return super().publish()

    @cached_property
    def kept(self) -> list[Kept]:
        private = () if self.growth is None else PRIVATE
        return [*super().kept, *(Kept(name, column(name, "s")) for name in private)]

    def _split_off(self) -> None:
        super()._split_off()
        if self.growth is not None:
            self.whole_source = self.table = self.growth.with_private_columns()

    def transform(self) -> State:
        progress = self.progress
        progress.start(f"collapsing {self.source}")
        if self.growth is not None and self.growth.before is not None:
            self.table = self.growth.version_records()
        self.prepare(self.read())
        self._notice_class()
        self._notice_too_small()
        self._warn_of_limits()
        progress.start("refining")
        with stop_on_interrupt(progress.listener, whole=self.engine.publishing.whole) as interrupt:
            return self.descend(lambda: interrupt.requested)

    def _notice_class(self) -> None:
        if self.classes is None:
            return
        of = self.atoms.coded[self.classes]
        if of.size > MOST_CLASSES or kind_of(of.column.type) is Kind.REAL:
            self.progress.notice(
                f"The class {of.column.name!r} is {type_title(of.column.type)} and has {of.size:,} values, "
                "each a class of its own to the gains: bin it in a view, or leave --class out."
            )

    def _notice_too_small(self) -> None:
        """Tell of a table with fewer classes than there are combinations of two labels a column."""
        of = "records" if self.atoms.persons is None else "persons"
        for requirement in self.requirements:
            columns = sum(name in self.roles.masking for name in requirement.attributes)
            if not isinstance(requirement, KAnonymity) or requirement.k == 1:
                continue
            if (problem := too_small(self.atoms.counted, of, requirement.k, columns)) is not None:
                self.progress.notice(
                    f"{problem} Little can be shown: ask for a smaller k, or name fewer columns."
                )

    def _warn_of_limits(self) -> None:
        """Tell of columns that stay whole since even their first step shows more labels than wished."""
        for name, most in self._limits.items():
            place = self.attributes.index(name)
            least = self.wishes.least_labels(place, self.maskings[place].top)
            if least is not None and most > 1:
                self.progress.warn(
                    f"Column {name!r} shows one label for all values: its first step would show {least}, and "
                    f"--limit allows {most}. Give {option_for('--limit', name, str(least))} or more, or a "
                    "taxonomy with coarser levels, such as dates year,decade for days."
                )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the descent: those of the requirements, then the conditions."""
        return tuple(dict.fromkeys((*self.roles.grouping, *self.condition)))

    @property
    def carried(self) -> Sequence[str]:
        """Kept columns that are not attributes, which are coded whether they are masked or not."""
        return [name for name in self.roles.kept if name not in self.attributes]

    @property
    def coded(self) -> list[Column]:
        names = dict.fromkeys((*self.attributes, *self.roles.sensitive, *self.roles.classes))
        return with_labels(self._labels, [self.columns[name] for name in names])

    @cached_property
    def _labels(self) -> list[str]:
        """Columns of labels that requirements count in the place of the values of sensitive ones."""
        requirements = [over_labels(requirement, list(self.columns)) for requirement in self.requirements]
        return [name for item in requirements for name in item.sensitive_columns if name not in self.columns]

    @property
    def audited_columns(self) -> Sequence[str]:
        """Masked columns that the release is held against the source in: all whose values are here."""
        return self.roles.masking

    @property
    def beside_symbol(self) -> list[str]:
        """Columns in which the suppressed symbol can stand beside values as they are."""
        return [name for name in self.roles.masking if self.shows_symbol(name)]

    def read_among(self, cache: dict[object, tuple[Atoms, Table]]) -> Atoms:
        """Read the source, unless a run that reads the same did; ``cache`` holds what runs have read."""
        if self._collapse_key not in cache:
            atoms = self.read()  # which sets the rows: other ones, for a table that was elsewhere
            cache[self._collapse_key] = atoms, self.rows
        atoms, self.rows = cache[self._collapse_key]
        return atoms

    @property
    def _collapse_key(self) -> tuple[object, ...]:
        names, roles = tuple(item.name for item in self.coded), self.roles
        of = self.table, names, roles.kept, roles.pseudonyms, roles.count, roles.person
        return *of, tuple(self.beside_symbol), self.request.symbol

    def read(self) -> Atoms:
        """Read the source; everything after works on what comes out, but for the audit."""
        roles, symbol = self.roles, self.request.symbol
        names = {item.name for item in self.coded} | {*roles.kept, *roles.pseudonyms, *roles.person}
        names |= {*(() if self.growth is None else PRIVATE)}
        count = self.collapsed_elsewhere(names, roles.count)
        columns = [item for item in self.engine.columns(self.table) if item.name in {*names, count}]
        self.rows = read_source(self.engine, self.table, columns)
        of, person = (self.engine, self._with_labels(), self.coded, self.kept, count), roles.person
        return collapse(*of, masked=self.beside_symbol, symbol=symbol, person=person, shown=self.source)

    def _with_labels(self) -> Table:
        if not self._labels:
            return self.rows
        types = {item.name: item.type for item in self.columns.values()}
        values = {name: column(name, "s") for name in sources(self._labels)}
        expressions = label_expressions(self.engine, self.rows, values, dict.fromkeys(self._labels), types)
        labels = [sql("{v} AS {name}", v=value, name=column(name)) for name, value in expressions.items()]
        return self.engine.overlay(sql("SELECT *, {labels} FROM {rows} AS s", labels=labels, rows=self.rows))

    def prepare(self, atoms: Atoms) -> None:
        """Make everything on which the descent works, of the collapsed source."""
        self.mask_all(atoms)
        self.measure = self.make_measure()
        self.detail = self.measure.state(None)
        self.before = self.measure.source(self.detail)
        self.constraints.require_defined(self.detail)
        check_absent(self.constraints.all, self.request.allow_absent, self.progress)

    def mask_all(self, atoms: Atoms) -> None:
        self.atoms, size = atoms, len(self.attributes)
        items = constraints_of(self.engine, atoms, self.requirements, list(self.columns))
        if self.allowance.most(atoms.records):
            weighed = not self.literal
            self.constraints = AllowedConstraints(items, size, self.allowance, atoms.records, weighed=weighed)
        else:
            self.constraints = Constraints(items, size, persons=self.counts_persons)
        places = [place for place in range(size) if atoms.coded[place].size]
        self._counts = counts_by_class(self.engine, atoms, places, self.classes)
        self.maskings = [self.masking(a, name) for a, name in enumerate(self.attributes)]

    def shows_symbol(self, name: str) -> bool:
        """Whether the suppressed symbol can stand among the column's own values."""
        return True

    @property
    def counts_persons(self) -> bool:
        """Whether persons are not as many as records, so that they must be counted themselves."""
        return self.atoms.persons not in (None, self.atoms.records)

    def make_measure(self) -> Measure:
        engine, atoms, constraints = self.engine, self.atoms, self.constraints
        if isinstance(constraints, AllowedConstraints):
            from ppdm_sql.methods.top_down.left_out_measure import AllowedMeasure, SettledMeasure

            return (SettledMeasure if constraints.settles else AllowedMeasure)(engine, atoms, constraints)
        if self.counts_persons:
            return PersonMeasure(engine, atoms, constraints, self.maskings)
        return Measure(engine, atoms, constraints, self.maskings)

    @property
    def classes(self) -> int | None:
        """Position of the class attribute; None where there is none, and gains are about certainty."""
        label = self.roles.class_column
        return None if label is None else self.atoms.position(label)

    def masking(self, position: int, name: str) -> Masking:
        counts = self._counts[position]
        if name in self.roles.masking:
            return self.mask(position, name, counts)
        return Fixed(self.atoms.coded[position], counts)

    def descend(self, interrupted: Callable[[], bool]) -> State:
        steps = self.request.max_steps
        return self.loop().run(max_steps=steps, interrupted=interrupted, progress=self.progress)

    def loop(self) -> Refinement:
        detail, gains = None, self.gains()
        if self.constraints.weighed:
            worth = self.worth if gains is None else gains.worth
            detail = ShownDetail([masking.counts for masking in self.maskings], self.wishes.weights, worth)
        loop = Refinement(
            tuple(masking.top for masking in self.maskings) if self.growth is None else self.growth.cuts,
            [masking.ids for masking in self.maskings],
            self.constraints,
            self.measure,
            gains,
            self.wishes,
            rounding=self.rounding,
            worth=self.worth,
            loses=self.literal or not (self.has_class or self.constraints.weighed),
            detail=detail,
        )
        if self.growth is not None:
            self.growth.begin(loop)
        return loop

    def draft(self, transformed: State) -> Draft:
        engine, request, state = self.engine, self.request, transformed
        moves = moves_of([masking.top for masking in self.maskings], state.steps)
        more, cuts = self.complete(state, state.cuts)
        whole = self.outcome(cuts, [*moves, *more])
        outcome = kept_records(engine, whole, self.constraints, self.classes)
        self._notice_whole(state, outcome)
        masked, outputs, tops = outcome.masked, self.outputs(outcome.atoms), top_labels(engine, outcome)
        columns = tuple(self._released_column(masked, tops, output) for output in outputs)
        person = None if self.atoms.persons is None else person_column(item.name for item in columns)
        cut_table, trees = cut_rows(engine, outcome), tree_rows(engine, outcome)
        left_out = self.atoms.records - outcome.atoms.records
        growth = self.growth
        private = () if growth is None else PRIVATE
        all_outputs = [*outputs, *(Output(self.atom(outcome.atoms, name), name, "kept") for name in private)]
        parameters = self._parameters() | self.allowance.parameters(left_out)
        return Draft(
            name=request.into,
            method=self.method,
            source=self.source,
            requirements=self.requirements if growth is None else self.promised,
            parameters=parameters if growth is None else parameters | growth.parameters(),
            stopped=state.stopped or "complete",
            select=released_rows(engine, masked, all_outputs, person),
            count=self.roles.count,
            columns=columns,
            symbol=request.symbol,
            number=outcome.atoms.records,
            steps=step_rows(engine, outcome),
            cuts=cut_table,
            taxonomies=trees,
            measures=(*self.requirement_measures(state, outcome), *self.release_measures(outcome)),
            accept=lambda rows: self._accept(rows, columns, (whole, outcome), cut_table, trees, person),
            person=person,
            persons=self.atoms.persons,
            first=self.first_kept(state, cuts, more),
            unfolded=self.unfolded,
            updatable=growth is not None,
            version=None if growth is None else growth.version,
        )

    def _notice_whole(self, state: State, outcome: Outcome) -> None:
        """Tell of columns that show one label in every row, what stopped them, and what would help."""
        whole: dict[tuple[str, str], list[str]] = {}  # the columns, by what stopped them and what would help
        of = zip(outcome.names, outcome.maskings, outcome.cuts, strict=False)
        for place, (name, masking, cut) in enumerate(of):
            room = self.wishes.have_room(place, cut)
            several = masking.treatment is not None and len(cut.nodes) > 1 == len(np.unique(cut.nodes))
            if not several or not (room is None or room.any()):
                continue
            why, helps = "the run ended before its first step", "let it go on"
            if state.stopped == "complete":
                why, helps = self._stopped_by(masking, int(self.constraints.least[place]))
            whole.setdefault((why, helps), []).append(name)
        for (why, helps), names in whole.items():
            name, *more = names
            more_weight = option_for("--weight", name, f"{3 * self._weights.get(name, 1.0):g}")
            advice = f" To show more, {helps}.".format(more_weight) if self.advises else ""
            each = f"Columns {', '.join(map(repr, names))} show the same in every row; of each, {why}."
            alone = f"Column {name!r} shows the same in every row: {why}."
            self.progress.notice((each if more else alone) + advice)

    def _stopped_by(self, masking: Masking, least: int) -> tuple[str, str]:
        fewer = "let --suppress-records leave a few out, or "
        if self.roles.person or any(item.population is not None for item in self.requirements):
            fewer = ""  # see assign_roles
        if (few := masking.too_few(least)) is not None:
            return few, f"{fewer}group values so that more share each"
        if masking.top.gains.max(initial=0.0) < LEAST_GAIN:
            return "its first step gains nothing", "add --detail 1" if self.has_class else "add {}"
        if self.allowance.share:
            why = "its first step would leave out more records than may be, or than it is worth"
            return why, "raise --suppress-records, or add {}"
        why = "its first step would break a requirement beside what the other columns show"
        return why, f"add {{}}, {fewer or 'or '}name fewer columns in the requirement"

    def _accept(
        self,
        rows: exp.Select,
        columns: Sequence[ReleasedColumn],
        outcomes: tuple[Outcome, Outcome],
        cuts: Table,
        trees: Table,
        person: str | None,
    ) -> Sequence[information.Row]:
        """Let the audit compare source and release: of all records, and of those that are not left out."""
        (whole, outcome), roles, share = outcomes, self.roles, self.allowance.share
        uncarried = {*roles.masking, *roles.pseudonyms, roles.count}
        carried = [item.name for item in columns if item.of is None and item.name not in uncarried]
        left_out = None
        if share:  # the classes of all records go by the labels that they would all have
            masked = [self._masked_column(name, whole) for name in roles.masking]
            left_out = LeftOut(share, self.requirements, masked, tree_rows(self.engine, whole))
        promise = MaskingPromise(
            masked=[self._masked_column(name, outcome) for name in self.audited_columns],
            carried=[self.columns[name] for name in carried],
            pseudonyms=roles.pseudonyms,
            count=roles.count,
            cuts=cuts,
            trees=trees,
            left_out=left_out,
            person=None if person is None else PersonCode(person, roles.person),
        )
        accept_masked(self.engine, self.rows, rows, promise)
        if missing := whole.atoms.records - outcome.atoms.records:
            self.progress.notice(
                f"{left_out_of(missing, whole.atoms.records)} The owner's page of `ppdm report` shows "
                "which values they hit most."
            )
        if person is None or not roles.pseudonyms:
            return ()
        with self.engine.workspace():
            sides = (self.rows, roles.person), (self.engine.overlay(rows), (person,))
            measures, notice = information.linked_persons(
                self.engine, self.requirements, sides, roles.pseudonyms
            )
        self.progress.notice(notice)
        return measures

    def _masked_column(self, name: str, outcome: Outcome) -> MaskedColumn:
        position = self.attributes.index(name)
        masking, column, shows = outcome.maskings[position], self.columns[name], outcome.shows(position)
        if isinstance(masking, Generalization):
            tree, tails = masking.taxonomy, masking.tail_bounds
            return MaskedColumn(column, tree.labels[0], False, tree, masking.by_interval, shows, tails)
        suppressed = masking.treatment == "suppressed"
        if isinstance(masking, Intervals):
            top = masking.label_of_all(outcome.cuts[position])
            return MaskedColumn(column, top, suppressed, shows=shows, tails=masking.tail_bounds)
        return MaskedColumn(column, self.request.symbol, suppressed, shows=shows)

    def first_kept(self, state: State, cuts: Sequence[Cut], more: Sequence[Move]) -> int:
        """Give the first step whose state keeps what is asked, as do all after it."""
        if not (more and self.constraints.repairable):
            return state.kept_from
        current, kept_from = list(state.cuts), state.kept_from
        for place, (attribute, *_) in enumerate(more, start=len(state.steps) + 1):
            current[attribute] = cuts[attribute]
            if not bool(self.constraints.valid(self.measure.state(tuple(current)))):
                kept_from = place + 1
        return kept_from

    def outcome(self, cuts: Sequence[Cut], moves: Sequence[Move]) -> Outcome:
        return outcome_of(self.engine, self.atoms, self.maskings, cuts, moves)

    def outputs(self, atoms: Atoms) -> list[Output]:
        """List the columns of the release as they are masked, with the bounds of intervals."""
        outputs: list[Output] = []
        for output in super().outputs(atoms):
            if output.name in self.roles.masking:
                masking = self.maskings[self.attributes.index(output.name)]
                output = replace(output, treatment=masking.treatment or output.treatment)
            outputs += [output, *self.bounds(output.name)]
        return outputs

    def _released_column(self, masked: MaskedAtoms, tops: dict[str, str], output: Output) -> ReleasedColumn:
        name, of, treatment = output.name, output.of, output.treatment
        top = tops.get(name) if treatment == "generalized" else None
        type_text = self.columns[of].type if of else None
        return ReleasedColumn(name, treatment, masked.is_packed(output), top, of, type_text)

    def _parameters(self) -> dict[str, object]:
        roles, request = self.roles, self.request
        return {
            "class": roles.class_column,
            "gain": self.gain_name,
            "score": request.score,
            **({"detail": self.detail_worth} if self.has_class and not self.literal else {}),
            "count": roles.count,
            "masking": list(roles.masking),
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "max_steps": request.max_steps,
            "symbol": request.symbol,
            "allow_absent": request.allow_absent,
            **({"person": list(roles.person)} if roles.person else {}),
            "limit": self._limits,
            "weight": self._weights,
            **self.parameters(),
        }

    def requirement_measures(self, state: State, outcome: Outcome) -> list[information.Row]:
        whole = all(outcome.cut(position) is None for position in range(len(self.maskings)))
        whole_known = not np.isnan(self.detail).any()  # a party that sees its own columns only cannot tell
        after: Floats = self.detail if whole and whole_known else state.numbers
        rows: list[information.Row] = self.constraints.worst_by_requirement(self.before, after)
        if self.growth is not None:  # the cohort is nothing that anybody is told
            requested = dict(zip(map(str, self.requirements), map(str, self.promised), strict=False))
            by_measure = {_rename(name, requested): numbers for name, *numbers in rows}
            rows = [(name, source, now) for name, (source, now) in by_measure.items()]
        if self.allowance.share:
            rows.append(("records left out", 0.0, float(self.atoms.records - outcome.atoms.records)))
        return rows


def _rename(measure: str, names: Mapping[str, str]) -> str:
    kind, _, requirement = measure.partition(": ")
    return f"{kind}: {names.get(requirement, requirement)}"


# -- Ctrl-C: once stops a descent with the state reached, twice aborts ---------------------------------


class Interrupt(SignalHandler):
    """A flag that the first Ctrl-C sets; the second raises KeyboardInterrupt."""

    def __init__(self, progress: Progress) -> None:
        self.requested = False
        self._progress = progress
        self._signals = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._progress.notice("Stopping; the state reached will be published. Ctrl-C again aborts.")

    def stops(self) -> bool:
        """Tell whether a signal aborts, and with it the statement that is running: the second one does."""
        self._signals += 1
        return self._signals > 1


@contextmanager
def stop_on_interrupt(progress: Progress, *, whole: bool = False) -> Iterator[Interrupt]:
    """Listen to Ctrl-C inside; not on other threads than the main one, nor where it is ignored.

    Where a run is to be whole or not at all, the first Ctrl-C aborts.
    """
    flag = Interrupt(progress)
    before = signal.getsignal(signal.SIGINT)
    if whole or threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield flag
        return
    signal.signal(signal.SIGINT, flag)
    try:
        yield flag
    finally:
        catch_up()
        signal.signal(signal.SIGINT, before)
