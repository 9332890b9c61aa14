"""One run of the refinement loop over a table: checked, collapsed, descended, published.

Suppression (PDA) and generalization (TDS, HCE-TDR) are such runs; they differ in how attributes are
masked, in what a candidate gains, and in what is said of the outcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.masking import MaskedColumn, MaskingPromise, accept_masked
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_columns
from ppdm_sql.engine.names import Table, column, resolve_all
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.collapse import Atoms, Kept, class_counts, collapse
from ppdm_sql.methods.base.pseudonyms import pseudonym
from ppdm_sql.methods.base.roles import Roles, assign_roles
from ppdm_sql.methods.base.source import read_source
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.cuts import Codes, Counts, Cut, Floats
from ppdm_sql.methods.top_down.interrupt import stop_on_interrupt
from ppdm_sql.methods.top_down.loop import Gains, InformationGain, Refinement, Rounding, State
from ppdm_sql.methods.top_down.maskings import Fixed, Generalization, Masking
from ppdm_sql.methods.top_down.measuring import GroupingMeasure
from ppdm_sql.methods.top_down.outcome import (
    Move,
    Outcome,
    Output,
    cut_rows,
    is_packed,
    moves_of,
    outcome_of,
    released_rows,
    step_rows,
    top_labels,
    tree_rows,
    without_enum,
)
from ppdm_sql.methods.top_down.protected_values import NEVER, constraints_of
from ppdm_sql.privacy import (
    KAnonymity,
    Redundancy,
    Requirement,
    Template,
    Value,
    parse_all,
    redundancies,
    resolve,
)
from ppdm_sql.privacy.absent import said_absent, unknown_value
from ppdm_sql.progress import Heard, Progress
from ppdm_sql.release import Draft, Release, ReleasedColumn, Treatment, check_free, publish


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the owner asks of every run; see :meth:`ppdm_sql.Database.suppress` for each."""

    require: Sequence[str | Requirement]
    class_column: str
    into: str
    count_column: str | None = None
    keep: Sequence[str] = ()
    identifiers: Mapping[str, str] = field(default_factory=dict)
    max_steps: int | None = None
    symbol: str = "*"
    allow_absent: bool = False


class Run(ABC):
    """One run: checked when made, then collapsed, descended and drafted.

    Args:
        engine: The database.
        source: Table or view to read.
        options: What is asked.
    """

    method: str
    rounding: Rounding
    condition: Sequence[str] = ()
    """Columns at full detail that gains depend on, beside those of the requirements."""
    atoms: Atoms
    gauges: Constraints
    rows: Table
    measure: GroupingMeasure
    recodings: list[Masking]

    def __init__(self, engine: Engine, source: str, options: Options) -> None:
        if options.max_steps is not None and options.max_steps < 0:
            raise InvalidOption(f"{options.max_steps} steps cannot be made.", "Give --max-steps 0 or more.")
        engine.require_autocommit()
        self.engine, self.source, self.options = engine, source, options
        self.table: Table = engine.find(source)
        self.columns = self.described()
        asked = parse_all(options.require)
        if not asked:
            raise InvalidOption(
                "No requirement is given.", "Add --require 'Job, Country -> Bankruptcy = Discharged <= 75%'."
            )
        self.requirements: tuple[Requirement, ...] = tuple(
            resolve(requirement, list(self.columns), table=source) for requirement in asked
        )
        self.roles: Roles = assign_roles(
            list(self.columns.values()),
            self.requirements,
            table=source,
            class_column=options.class_column,
            keep=self._as_they_are(options.keep),
            identifiers=options.identifiers,
            count=options.count_column,
        )
        check_free(engine, options.into)

    def described(self) -> dict[str, Column]:
        """Describe the columns that the run can read, by name, in the order of the release."""
        return {item.name: item for item in exact_columns(self.engine.columns(self.table))}

    def _as_they_are(self, keep: Sequence[str]) -> tuple[str, ...]:
        """List the columns to keep, conditions among them but for those that are sensitive anyway."""
        kept = resolve_all(keep, list(self.columns), table=self.source)
        sensitive = {r.sensitive for r in self.requirements if not isinstance(r, KAnonymity)}
        return tuple(dict.fromkeys((*kept, *(name for name in self.condition if name not in sensitive))))

    # -- what methods differ in -----------------------------------------------------------------

    @abstractmethod
    def recode(self, position: int, name: str, counts: Counts) -> Masking:
        """Choose how an attribute that may be masked is masked."""

    @abstractmethod
    def said(self, outcome: Outcome) -> Sequence[information.Row]:
        """Say what the release tells and hides, beside what its requirements reached."""

    def gains(self) -> Gains:
        """Choose what candidates gain."""
        return InformationGain()

    def completed(self, state: State, cuts: Sequence[Cut]) -> tuple[Sequence[Move], Sequence[Cut]]:
        """Give moves to make after the descent, which cost no requirement anything, and the cuts then."""
        return (), cuts

    def bounds(self, name: str) -> Sequence[Output]:
        """Give the columns that stand beside a generalized one."""
        return ()

    def parameters(self) -> dict[str, object]:
        """Give options of the method, for the catalogue."""
        return {}

    # -- the run --------------------------------------------------------------------------------

    def publish(self, progress: Heard) -> Release:
        """Do all of it.

        Raises:
            GuaranteeNotMet: Nothing meets the requirements, or the audit refused the outcome.
            PpdmError: The source or an option cannot be used; nothing was published.
        """
        for found in redundancies(self.requirements):
            progress.notice(_redundant(found))
        try:
            with self.engine.workspace(), self.steady():
                progress.start(f"collapsing {self.source}")
                self._collapse()
                self._check_absent(progress)
                progress.start("refining")
                with stop_on_interrupt(progress.listener) as interrupt:
                    state = self.descend(lambda: interrupt.requested, progress)
                progress.start(f"publishing {self.options.into}")
                return publish(self.engine, self.draft(state), progress.notices)
        finally:
            progress.stop()

    def _check_absent(self, progress: Progress) -> None:
        """Refuse protected values that their column does not hold, or tell of them if they are meant."""
        absent: dict[str, list[Value]] = {}
        for gauge in self.gauges.gauges:
            if gauge.protected == NEVER and isinstance(gauge.requirement, Template):
                absent.setdefault(gauge.requirement.sensitive, []).extend(gauge.requirement.values or ())
        for name, values in absent.items():
            if not self.options.allow_absent:
                raise unknown_value(name, list(dict.fromkeys(values)))
            progress.notice(said_absent(name, list(dict.fromkeys(values))))

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the descent: those of the requirements, then the conditions."""
        return tuple(dict.fromkeys((*self.roles.grouping, *self.condition)))

    @cached_property
    def _kept(self) -> list[Kept]:
        kept = [name for name in self.roles.kept if name not in self.attributes]
        plain = [Kept(n, without_enum(column(n, "s"), self.columns[n].type)) for n in kept]
        return plain + [Kept(n, pseudonym(column(n, "s"))) for n in self.roles.pseudonyms]

    @property
    def coded(self) -> list[Column]:
        """Columns that are coded: the attributes first."""
        names = dict.fromkeys((*self.attributes, *self.roles.sensitive, self.roles.class_column))
        return [self.columns[name] for name in names]

    @property
    def beside_symbol(self) -> list[str]:
        """Columns in which the suppressed symbol can stand beside values as they are."""
        return [name for name in self.roles.masking if self.shows_symbol(name)]

    def read(self) -> Atoms:
        """Read the source; everything after works on what comes out, but for the audit."""
        engine, count, roles = self.engine, self.roles.count, self.roles
        masked, symbol = self.beside_symbol, self.options.symbol
        coded = [item.name for item in self.coded]
        needed = {*coded, *roles.kept, *roles.pseudonyms, *([] if count is None else [count])}
        columns = [item for item in engine.columns(self.table) if item.name in needed]
        self.rows = read_source(engine, self.table, columns)
        return collapse(engine, self.rows, self.coded, self._kept, count, masked=masked, symbol=symbol)

    def steady(self) -> AbstractContextManager[None]:
        """Hold the source as it is until the audit has compared the release with it."""
        return self.engine.snapshot()

    def _collapse(self) -> None:
        """Make everything on which the descent works."""
        self.atoms = self.read()
        gauges = constraints_of(self.engine, self.atoms, self.requirements)
        self.gauges = Constraints(gauges, len(self.attributes))
        self.recodings = [self.recoding(a, name) for a, name in enumerate(self.attributes)]
        self.measure = self.watch()
        self.detail = self.measure.detail()

    def shows_symbol(self, name: str) -> bool:
        """Whether the suppressed symbol can stand among the column's own values."""
        return True

    def watch(self) -> GroupingMeasure:
        """Make what measures the states."""
        return GroupingMeasure(self.engine, self.atoms, self.gauges, self.horizon)

    @cached_property
    def horizon(self) -> list[Codes]:
        """For each attribute, the parts that the first states can tell apart."""
        return [r.top.reachable(np.ones(r.ids, dtype=bool)) for r in self.recodings]

    @property
    def classes(self) -> int:
        """Position of the class attribute."""
        return self.atoms.position(self.roles.class_column)

    def recoding(self, position: int, name: str) -> Masking:
        """Say how an attribute is masked, if it is."""
        counts = class_counts(self.engine, self.atoms, position, self.classes)
        if name in self.roles.masking:
            return self.recode(position, name, counts)
        return Fixed(self.atoms.coded[position], counts)

    def descend(self, interrupted: Callable[[], bool], progress: Heard) -> State:
        """Refine until no valid and beneficial candidate is left."""
        loop = self.loop()
        return loop.run(max_steps=self.options.max_steps, interrupted=interrupted, progress=progress)

    def loop(self) -> Refinement:
        """Make the loop that refines."""
        return Refinement(
            tuple(recoding.top for recoding in self.recodings),
            [recoding.ids for recoding in self.recodings],
            self.gauges,
            self.measure,
            self.gains(),
            self.rounding,
        )

    def draft(self, state: State) -> Draft:
        """Write down the release that the descent reached."""
        engine, options = self.engine, self.options
        moves = moves_of([recoding.top for recoding in self.recodings], state.steps)
        more, cuts = self.completed(state, state.cuts)
        moves.extend(more)
        outcome = self.outcome(cuts, moves)
        tops = top_labels(engine, outcome)
        outputs = self._outputs()
        columns = tuple(self._released(outcome, tops, output) for output in outputs)
        recorded = cut_rows(engine, outcome)
        return Draft(
            name=options.into,
            method=self.method,
            source=self.source,
            requirements=self.requirements,
            parameters=self._parameters(),
            stopped=state.stopped or "complete",
            select=released_rows(engine, outcome, outputs),
            count=self.roles.count,
            columns=columns,
            symbol=options.symbol,
            rows=self.atoms.records,
            steps=step_rows(engine, outcome, moves),
            cuts=recorded,
            taxonomies=tree_rows(engine, outcome),
            measures=(*self.reached(state, outcome), *self.said(outcome)),
            accept=lambda rows: self._accepted(rows, columns, recorded),
        )

    def _accepted(
        self, rows: exp.Select, released: Sequence[ReleasedColumn], cuts: Table
    ) -> Sequence[information.Row]:
        """Let the audit compare source and release."""
        hidden = {*self.roles.masking, *self.roles.pseudonyms, self.roles.count}
        carried = [
            self.columns[item.name] for item in released if item.of is None and item.name not in hidden
        ]
        promise = MaskingPromise(
            masked=[self._masked(name) for name in self.roles.masking],
            carried=carried,
            pseudonyms=self.roles.pseudonyms,
            count=self.roles.count,
            cuts=cuts,
        )
        accept_masked(self.engine, self.rows, rows, promise)
        return ()

    def _masked(self, name: str) -> MaskedColumn:
        """Say what the audit is to hold a masked column against: what the owner gave."""
        recoding = self.recodings[self.attributes.index(name)]
        if isinstance(recoding, Generalization):
            taxonomy = recoding.taxonomy
            return MaskedColumn(name, taxonomy.labels[0], False, taxonomy, recoding.by_interval)
        return MaskedColumn(name, self.options.symbol, recoding.treatment == "suppressed")

    def outcome(self, cuts: Sequence[Cut], moves: Sequence[Move]) -> Outcome:
        """Gather what the release needs to know."""
        return outcome_of(self.engine, self.atoms, self.recodings, cuts, moves)

    def _outputs(self) -> list[Output]:
        outputs: list[Output] = []
        for name in self.columns:
            treatment = self._treatment(name)
            if treatment is not None:
                outputs += [Output(self._atom(name), name, treatment), *self.bounds(name)]
        return outputs

    def _treatment(self, name: str) -> Treatment | None:
        if name in self.roles.masking:
            return self.recodings[self.attributes.index(name)].treatment
        return self.roles.treatment(name)

    def _released(self, outcome: Outcome, tops: Mapping[str, str], output: Output) -> ReleasedColumn:
        top = tops.get(output.name) if output.treatment == "generalized" else None
        type_text = self.columns[output.of].type if output.of else None
        packed = is_packed(outcome, output)
        return ReleasedColumn(output.name, output.treatment, packed, top, output.of, type_text)

    def _atom(self, name: str) -> str:
        if name == self.roles.count:
            return "n"
        carried = [item.name for item in self._kept]
        return f"k{carried.index(name)}" if name in carried else f"c{self.atoms.position(name)}"

    def _parameters(self) -> dict[str, object]:
        roles, options = self.roles, self.options
        return {
            "class": roles.class_column,
            "count": roles.count,
            "masking": list(roles.masking),
            "keep": list(roles.kept),
            "identifiers": dict.fromkeys(roles.dropped, "drop")
            | dict.fromkeys(roles.pseudonyms, "pseudonym"),
            "max_steps": options.max_steps,
            "symbol": options.symbol,
            "allow_absent": options.allow_absent,
            **self.parameters(),
        }

    def reached(self, state: State, outcome: Outcome) -> list[information.Row]:
        """Give the worst number of each requirement, in the source and in the release."""
        whole = all(outcome.cut(position) is None for position in range(len(self.recodings)))
        known = not np.isnan(self.detail).any()  # a party that sees its own columns only cannot tell
        after: Floats = self.detail if whole and known else state.measured
        reached: dict[str, tuple[float, float]] = {}
        for gauge, *numbers in zip(self.gauges.gauges, self.detail, after, strict=True):
            name = f"{_MEASURED[gauge.kind]}: {gauge.requirement}"
            source, released = (float(number) for number in numbers)
            if name in reached:  # one of several values, of which the most confident counts
                source, released = max(source, reached[name][0]), max(released, reached[name][1])
            reached[name] = source, released
        return [(name, *numbers) for name, numbers in reached.items()]


_MEASURED = {
    "confidence": "confidence",
    "size": "smallest class",
    "distinct": "fewest values",
    "entropy": "smallest entropy l",
    "distance": "largest distance",
}


def _redundant(found: Redundancy) -> str:
    """Say that a template follows from another, and what becomes of it."""
    same = set(found.redundant.channel) == set(found.by.channel)
    fate = "the harder limit counts, once" if same else "it stays in the averages of the loss"
    return f"{str(found.redundant)!r} follows from {str(found.by)!r}; {fate}."
