"""PDA: suppress values so that no rule `IC -> pi` is more confident than its template allows.

Source: Wang, Fung, Yu 2005, "Template Based Privacy Preservation in Classification Problems", ICDM.
The same descent keeps k-anonymity over quasi-identifiers, alone or together with templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption
from ppdm_sql.names import Table, column
from ppdm_sql.progress import Progress
from ppdm_sql.refinement.collapse import Atoms, Kept, class_counts, collapse
from ppdm_sql.refinement.cuts import Counts, Cut, FixedCut, Floats, SuppressionCut, entropy, total_entropy
from ppdm_sql.refinement.gauges import Gauges, pruning_only
from ppdm_sql.refinement.interrupt import stop_on_interrupt
from ppdm_sql.refinement.loop import Refinement, State
from ppdm_sql.refinement.measuring import ChannelMeasure
from ppdm_sql.refinement.outcome import (
    Output,
    cut_rows,
    is_packed,
    released_rows,
    step_rows,
    value_texts,
    without_enum,
)
from ppdm_sql.refinement.protected import NEVER, gauges_of
from ppdm_sql.refinement.pseudonyms import pseudonym
from ppdm_sql.refinement.roles import Roles, assign_roles
from ppdm_sql.release import Draft, Release, ReleasedColumn, check_free, publish
from ppdm_sql.requirements import Redundancy, Requirement, parse_all, redundancies, resolve


@dataclass(frozen=True)
class SuppressOptions:
    """What the owner asks; see :meth:`ppdm_sql.Database.suppress` for each."""

    require: Sequence[str | Requirement]
    class_column: str
    into: str
    count_column: str | None = None
    keep: Sequence[str] = ()
    identifiers: Mapping[str, str] = field(default_factory=dict)
    max_steps: int | None = None
    symbol: str = "*"


def suppress(engine: Engine, source: str, options: SuppressOptions, progress: Progress) -> Release:
    """Run PDA over a table and publish the release.

    Args:
        engine: The database.
        source: Table or view to read.
        options: What is asked.
        progress: Told what the run is doing.

    Raises:
        GuaranteeNotMet: No suppression meets the requirements, or the audit refused the outcome.
        PpdmError: An option, a column or the source cannot be used; nothing was published.

    Cost: two scans of the source (dictionaries, GROUP BY), one scan of the collapsed rows for the release.
    """
    run = _Run(engine, source, options)
    for found in redundancies(run.requirements):
        progress.notice(_redundant(found))
    try:
        with engine.workspace():
            progress.start(f"collapsing {source}")
            run.collapse()
            if run.protects_nothing:
                progress.notice("A protected value does not occur in its column; check its spelling.")
            progress.start("disclosing values")
            with stop_on_interrupt(progress) as interrupt:
                state = run.descend(lambda: interrupt.requested, progress)
            progress.start(f"publishing {options.into}")
            return publish(engine, run.draft(state))
    finally:
        progress.stop()


def _redundant(found: Redundancy) -> str:
    """Say that a template follows from another, and what becomes of it."""
    same = set(found.redundant.channel) == set(found.by.channel)
    fate = "the harder limit counts, once" if same else "it stays in the averages of the loss"
    return f"{str(found.redundant)!r} follows from {str(found.by)!r}; {fate}."


class _Run:
    """One suppression: checked when made, then collapsed, descended and drafted."""

    atoms: Atoms
    gauges: Gauges
    measure: ChannelMeasure
    counts: list[Counts]

    def __init__(self, engine: Engine, source: str, options: SuppressOptions) -> None:
        if options.max_steps is not None and options.max_steps < 0:
            raise InvalidOption(f"{options.max_steps} steps cannot be made.", "Give --max-steps 0 or more.")
        engine.require_autocommit()
        self._engine, self._source, self._options = engine, source, options
        self._table: Table = engine.find(source)
        self._columns = {item.name: item for item in engine.columns(self._table)}
        asked = parse_all(options.require)
        if not asked:
            raise InvalidOption(
                "No requirement is given.", "Add --require 'Job, Country -> Bankruptcy = Discharged <= 75%'."
            )
        resolved = [resolve(requirement, list(self._columns), table=source) for requirement in asked]
        self.requirements: tuple[Requirement, ...] = tuple(pruning_only(resolved))
        self.roles: Roles = assign_roles(
            list(self._columns.values()),
            self.requirements,
            table=source,
            class_column=options.class_column,
            keep=options.keep,
            identifiers=options.identifiers,
            count=options.count_column,
        )
        check_free(engine, options.into)

    @cached_property
    def _kept(self) -> list[Kept]:
        kept = [name for name in self.roles.kept if name not in self.roles.grouping]
        plain = [Kept(n, without_enum(column(n, "s"), self._columns[n].type)) for n in kept]
        return plain + [Kept(n, pseudonym(column(n, "s"))) for n in self.roles.pseudonyms]

    def collapse(self) -> None:
        """Read the source once; everything after works on what comes out."""
        roles = self.roles
        coded = dict.fromkeys((*roles.grouping, *roles.sensitive, roles.class_column))
        self.atoms = collapse(
            self._engine,
            self._table,
            [self._columns[name] for name in coded],
            self._kept,
            roles.count,
            masked=roles.masking,
            symbol=self._options.symbol,
        )
        gauges = gauges_of(self._engine, self.atoms, self.requirements)
        self.gauges = Gauges(gauges, len(roles.grouping))
        self.measure = ChannelMeasure(self._engine, self.atoms, self.gauges)
        self.detail = self.measure.detail()
        classes = self.atoms.position(roles.class_column)
        self.counts = [class_counts(self._engine, self.atoms, a, classes) for a in range(len(roles.grouping))]

    @property
    def protects_nothing(self) -> bool:
        """Whether a template protects a value that its column does not hold."""
        return any(gauge.protected and gauge.protected[1] == NEVER for gauge in self.gauges.gauges)

    def descend(self, interrupted: Callable[[], bool], progress: Progress) -> State:
        """Disclose values until no valid and beneficial candidate is left."""
        masking = self.roles.masking
        cuts: list[Cut] = [
            SuppressionCut(counts) if name in masking else FixedCut(len(counts))
            for name, counts in zip(self.roles.grouping, self.counts, strict=True)
        ]
        loop = Refinement(tuple(cuts), [len(counts) for counts in self.counts], self.gauges, self.measure)
        return loop.run(max_steps=self._options.max_steps, interrupted=interrupted, progress=progress)

    def draft(self, state: State) -> Draft:
        """Write down the release that the descent reached."""
        engine, roles, symbol = self._engine, self.roles, self._options.symbol
        cuts, whole = self._completed(state)
        coded: list[SuppressionCut | None] = [*cuts, *[None] * (len(self.atoms.coded) - len(cuts))]
        outputs = [
            Output(self._atom(name), name, treatment)
            for name in self._columns
            if (treatment := roles.treatment(name)) is not None
        ]
        texts = value_texts(engine, self.atoms, coded)
        return Draft(
            name=self._options.into,
            method="PDA",
            source=self._source,
            requirements=self.requirements,
            parameters=self._parameters(),
            stopped=state.stopped or "complete",
            select=released_rows(engine, self.atoms, coded, outputs, symbol),
            count=roles.count,
            columns=tuple(
                ReleasedColumn(o.name, o.treatment, is_packed(self.atoms, coded, o)) for o in outputs
            ),
            symbol=symbol,
            rows=self.atoms.records,
            steps=step_rows(engine, self.atoms, texts, state.steps, whole, symbol),
            cuts=cut_rows(engine, self.atoms, texts, coded, symbol),
            measures=self._measures(state, cuts),
        )

    def _completed(self, state: State) -> tuple[list[SuppressionCut | None], list[tuple[int, list[int]]]]:
        """Disclose what is left where the source needs no protection: the table is released whole.

        The descent leaves values suppressed that would not help the classifier. That costs nothing where
        something must be hidden, but a table that keeps every requirement as it is has nothing to hide.
        """
        cuts = [cut if isinstance(cut, SuppressionCut) else None for cut in state.cuts]
        if state.stopped != "complete" or not bool(self.gauges.valid(self.detail)):
            return cuts, []
        left = [(a, cut.suppressed.tolist()) for a, cut in enumerate(cuts) if cut and len(cut.suppressed)]
        for attribute, codes in left:
            cut = cuts[attribute]
            if cut is not None:
                cuts[attribute] = SuppressionCut(cut.counts, (*cut.disclosed, *codes))
        return cuts, left

    def _atom(self, name: str) -> str:
        if name == self.roles.count:
            return "n"
        carried = [item.name for item in self._kept]
        return f"k{carried.index(name)}" if name in carried else f"c{self.atoms.position(name)}"

    def _parameters(self) -> dict[str, object]:
        roles, options = self.roles, self._options
        return {
            "class": roles.class_column,
            "count": roles.count,
            "masking": list(roles.masking),
            "keep": list(roles.kept),
            "identifiers": dict.fromkeys(roles.dropped, "drop")
            | dict.fromkeys(roles.pseudonyms, "pseudonym"),
            "max_steps": options.max_steps,
            "symbol": options.symbol,
        }

    def _measures(
        self, state: State, cuts: Sequence[SuppressionCut | None]
    ) -> tuple[tuple[str, float | None, float | None], ...]:
        """Say what the release cost and what it bought, before and after."""
        whole = all(cut is None or not len(cut.suppressed) for cut in cuts)
        after = self.detail if whole else state.measured
        rows: list[tuple[str, float | None, float | None]]
        rows = [(name, *numbers) for name, numbers in self._reached(after).items()]
        masked = [(n, cut) for n, cut in zip(self.roles.grouping, cuts, strict=False) if cut is not None]
        for name, cut in masked:
            shown = float((cut.labels > 0).sum())
            rows.append((f"values disclosed: {name}", float(len(cut.labels)), shown))
        for name, cut in masked:
            rows.append((f"class information: {name}", *_information(cut)))
        hidden = sum(int(cut.counts[cut.suppressed].sum()) for _, cut in masked)
        cells = self.atoms.records * max(len(masked), 1)
        rows.append(("suppressed cells", 0.0, hidden / cells))
        return tuple(rows)

    def _reached(self, after: Floats) -> dict[str, tuple[float, float]]:
        """Give the worst number of each requirement, in the source and in the release."""
        reached: dict[str, tuple[float, float]] = {}
        for gauge, *numbers in zip(self.gauges.gauges, self.detail, after, strict=True):
            name = f"{'smallest class' if gauge.protected is None else 'confidence'}: {gauge.requirement}"
            source, released = (float(number) for number in numbers)
            if name in reached:  # one of several values, of which the most confident counts
                source, released = max(source, reached[name][0]), max(released, reached[name][1])
            reached[name] = source, released
        return reached


def _information(cut: SuppressionCut) -> tuple[float, float]:
    """Give what one attribute tells about the class, in bits a record: in the source, in the release."""
    whole = entropy(cut.counts.sum(axis=0))
    groups = np.zeros((int(cut.labels.max()) + 1, cut.counts.shape[1]), dtype=np.int64)
    np.add.at(groups, cut.labels, cut.counts)
    left = [float(total_entropy(c).sum() / max(c.sum(), 1)) for c in (cut.counts, groups)]
    return float(whole) - left[0], float(whole) - left[1]
