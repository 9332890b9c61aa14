"""What known attacks get out of a release, beside what it promises and what they get without it.

Everything that can be counted is counted: who picks at random among m candidates succeeds with 1/m, so
expected successes are sums over classes, in SQL.

Working table made here: ``sides``, with ``side`` (``release``: the released rows; ``source``: the records
that they were made from, as the cut shows them; ``control``: records that were split off before), ``person``
(NULL where a record is a person), ``weight`` (records), and ``v0, v1, ...``, the columns as texts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from math import sqrt

from sqlglot import exp

from ppdm_sql.audit import Finding, findings
from ppdm_sql.audit.comparing import counting
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column, free_name, resolve, resolve_all
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql
from ppdm_sql.errors import InvalidOption, InvalidSource, PpdmError, UnknownColumn
from ppdm_sql.evaluation.compared_tables import compared_rows
from ppdm_sql.evaluation.encoding import EncodedTables, TrainTest
from ppdm_sql.evaluation.evaluating import misclassified, tree_class
from ppdm_sql.methods.perturbation.correlations import THRESHOLD, deviation
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Noise, noise_of
from ppdm_sql.options import AttackOptions
from ppdm_sql.privacy import KAnonymity, Requirement
from ppdm_sql.privacy.models.average_risk import AverageRisk
from ppdm_sql.privacy.models.template import Template
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow, Release
from ppdm_sql.release.catalogue import keep_record, parts
from ppdm_sql.release.composition import Composed, composed, others_of, quasi_identifier
from ppdm_sql.release.control import changed, control_of, made_from
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.recoding import Recoding
from ppdm_sql.risk.attempts import (
    EXCEEDED,
    HOLDS,
    REFUTED,
    Attacks,
    Attempt,
    beside_control,
    verdict_of,
    wilson,
)
from ppdm_sql.risk.minimality import minimality
from ppdm_sql.sources import given

SHOWN = ("suppressed", "generalized", "swapped", "sensitive", "class", "kept")
"""Treatments of columns that are compared with the source."""
AS_IT_IS = ("sensitive", "class", "kept")
MOST = 20_000
"""Records of which trees are grown, and on which they are tried."""


def attack(engine: Engine, release: Release, options: AttackOptions, progress: Progress) -> Attacks:
    """Try every attack that fits the method of a release.

    Cost: a scan of the source with a join for each masked column, then a GROUP BY an attack.
    """
    row = release.row()
    try:
        with ExitStack() as read, engine.workspace():
            read.enter_context(row.read_again(engine))
            beside = [read.enter_context(given(engine, path)) for path in options.beside]
            options = replace(options, beside=beside)
            progress.start(f"attacking {release.name}")
            attacks = _Attacking(engine, release, options).all()
        if options.record:
            keep_record(engine, row.release, attacks=[_result_line(one) for one in attacks.attacks])
        return attacks
    finally:
        progress.stop()


def _result_line(attempt: Attempt) -> dict[str, str]:
    """Say in a line what came of an attack."""
    rate, allowed = ("-" if n is None else f"{n:.4g}" for n in (attempt.rate, attempt.allowed))
    who = f"{attempt.attack}, who knows {attempt.knows}, guesses {attempt.guesses}"
    came = f"rate {rate}, allowed {allowed}: {attempt.verdict or 'nothing promised'}"
    return {"attack": who, "came of it": came}


@dataclass
class _Attacking:
    """One run of all attacks."""

    engine: Engine
    release: Release
    options: AttackOptions
    untried: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.row: CatalogueRow = self.release.row()
        self.shape: Shape = self.row.shape(self.engine.current()[0])
        self.columns = [item.name for item in self.shape.columns if item.treatment in SHOWN]
        self.requirements = self.row.asked
        control = self.options.control
        self.control = control_of(self.engine, self.row) if control is None else self.engine.find(control)
        self.source: Table | None = None  # the source, where it has columns that the release shows
        self.beside = [self.engine.find(name) for name in self.options.beside]
        self.known_columns = resolve_all(self.options.known, self.columns, table=self.row.release)
        if not 0 <= (self.options.seed or 0) < 2**32:
            raise InvalidOption(f"--seed {self.options.seed} is outside [0, 4294967296).", "Give one inside.")
        self.target = None
        if self.options.target is not None:
            self.target = resolve(self.options.target, self.columns, table=self.row.release)
            if self.target in self.shape.masked or self.target in self.known_columns:
                raise InvalidOption(
                    f"The release {self.row.release!r} shows {self.target!r} as labels, or it is known."
                    if self.target in self.shape.masked
                    else f"Column {self.target!r} is known, so nothing is left to guess.",
                    "Name a column that the release shows as it is, and that is not in --known.",
                )

    def all(self) -> Attacks:
        """Try them one after the other."""
        attempts = list[Attempt]()
        if self.columns:
            self.sides = self._sides()
            attempts += [*self._linkage(), *self._inference(), *self._minimality()]
            attempts += [*self._trees(), *self._composition()]
            attempts += [*self._bounds(), *self._partner(), *self._predicates()]
        else:
            why = "the release shows no column as it is, and no labels"
            self.untried.append(f"linkage, inference and the like: {why}")
        attempts += self._models()
        return Attacks(self.row.release, tuple(attempts), tuple(self.untried))

    # -- the rows -------------------------------------------------------------------------------

    def _sides(self) -> Table:
        """Put the released rows, the source's as the cut shows them, and the control's under each other."""
        shape = self.shape
        parts = [self._side("release", shape.owned_rows(), shape.count, shape.person)]
        if "parties" in self.row.parameters:  # of the partner's columns the source has none
            parts.append(self._side("source", shape.owned_rows(), shape.count, shape.person))
        else:
            self.source = made_from(self.engine, self.row)
            parts.append(self._recode("source", self.source))
        if self.control is not None:
            parts.append(self._recode("control", self.control))
        sides = self.engine.materialize("sides", joined(parts, " UNION ALL "))
        query = sql("SELECT coalesce(sum(s.weight) FILTER (s.side = 'source'), 0) FROM {t} AS s", t=sides)
        ((records,),) = self.engine.query(query, step="records")
        if self.source is not None and records != self.row.rows + (self.row.left_out or 0):
            raise changed(self.row)
        return sides

    def _recode(self, side: str, table: Table) -> Statement:
        """Select the records of a table as the cut shows them."""
        try:
            recoding = Recoding.of(self.engine, self.row, self.shape, table)
        except PpdmError as cause:
            if side == "source":
                raise changed(self.row) from cause
            raise
        missing = [name for name in self.columns if name not in recoding.found]
        if missing and side == "source":
            raise changed(self.row)
        own_names = [item.name for item in self.engine.columns(table)]
        for name in missing:
            resolve(name, own_names, table=table.name)  # which says so
        if side == "source" and not self.row.left_out and any(item.unseen for item in recoding.maps):
            raise changed(self.row)
        rows, person = recoding.rows(), ""
        names = self.row.parameters.get("person") or ()
        if self.shape.person is not None and set(names) <= set(own_names):
            person = free_name("person", rows.named_selects)
            who = exp.Anonymous(this="row", expressions=[column(one, "t") for one in names])
            rows = rows.select(alias(exp.cast(who, "TEXT"), person))
        elif self.shape.person is not None and side == "source":
            raise changed(self.row)
        return self._side(side, rows, recoding.shape.count, person)

    def _side(self, side: str, rows: exp.Select, count: str | None, person: str | None) -> Statement:
        weight, counts = counting(count)
        return sql(
            "SELECT {side} AS side, {person}::VARCHAR AS person, {weight}::BIGINT AS weight, {values} "
            "FROM ({rows}) AS s WHERE {counts}",
            side=literal(side),
            person=column(person, "s") if person else sql("NULL"),
            weight=weight,
            values=[
                sql("{c}::VARCHAR AS {v}", c=column(name, "s"), v=column(f"v{place}"))
                for place, name in enumerate(self.columns)
            ],
            rows=rows,
            counts=counts,
        )

    def _places(self, names: Sequence[str]) -> list[str]:
        return [f"v{self.columns.index(name)}" for name in names]

    # -- which record ---------------------------------------------------------------------------

    def _known_sets(self) -> list[tuple[str, ...]]:
        """What an attacker may know: as asked, else the columns of each requirement, else those of a swap."""
        if self.known_columns:
            return [self.known_columns]
        sets = [self._columns_of(item.attributes) for item in self.requirements]
        by = self.row.parameters.get("by") or ()
        return list(dict.fromkeys([*sets, *([tuple(by)] if by else [])]))

    def _columns_of(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(resolve_all(names, self.columns, table=self.row.release), key=self.columns.index))

    def _all_known_columns(self) -> tuple[str, ...]:
        every = {name for names in self._known_sets() for name in names}
        return tuple(name for name in self.columns if name in every)

    def _columns_with(self, *treatments: str) -> list[str]:
        return [item.name for item in self.shape.columns if item.treatment in treatments]

    def _linkage(self) -> Iterator[Attempt]:
        """Look for the record of a person of whom the columns of a requirement are known, and more."""
        for names in self._known_sets():
            yield self._link("linkage", names)
        every = self._all_known_columns()
        further = {"kept columns": ["kept"], "kept columns and class": ["kept", "class"]}
        sets = {frozenset(names) for names in self._known_sets()}
        for name, treatments in further.items():
            more = [one for one in self.columns if one in every or one in self._columns_with(*treatments)]
            if not self.known_columns and more and frozenset(more) not in sets:
                sets.add(frozenset(more))
                yield self._link(name if {*more} - {*every} else "columns of all requirements", more)
        if self.row.left_out and every:
            yield self._left_out(every)

    def _count(self, known: Sequence[str]) -> tuple[float, ...]:
        columns = {"known": self._places(known)}
        return self._numbers("linkage", bind("risk/linkage", tables={"sides": self.sides}, columns=columns))

    def _numbers(self, step: str, query: Statement) -> tuple[float, ...]:
        ((*numbers,),) = self.engine.query(query, step=step)
        return tuple(0 if number is None else number for number in numbers)

    def _infer(self, sides: Table, known: Sequence[str], target: str) -> tuple[float, ...]:
        """Count how often a column is guessed of people whose other columns are known."""
        of = {"known": list(known), "target": [target]}
        text = bind("risk/guesses", tables={"sides": sides}, columns=of)
        guesses = self.engine.materialize("guesses", text)
        return self._numbers("inference", bind("risk/inference", tables={"guesses": guesses}))

    def _link(self, name: str, known: Sequence[str]) -> Attempt:
        tried, successes, worst, records, *_ = self._count(known)
        attempt = Attempt(name, ", ".join(known), "which record", int(tried), float(successes), float(worst))
        attempt = replace(attempt, baseline=1 / records if records else None)
        about = [item for item in self.requirements if set(self._columns_of(item.attributes)) <= set(known)]
        promises = [item for item in about if set(self._columns_of(item.attributes)) == set(known)]
        failure = REFUTED if promises else EXCEEDED
        # promises for these columns hold together; of those for fewer columns the weakest is exceeded last
        hardest = min if promises else max
        chances = [1 / item.k for item in promises or about if isinstance(item, KAnonymity)]
        averages = [float(item.limit) for item in promises or about if isinstance(item, AverageRisk)]
        limits = [(attempt.worst, hardest(chances))] if chances else []
        limits += [(successes / records, hardest(averages))] if averages and records else []
        attempts = [
            replace(attempt, allowed=allowed, verdict=verdict_of(number, allowed, failure))
            for number, allowed in limits
        ]
        return next((one for one in attempts if one.verdict == failure), (*attempts, attempt)[0])

    def _left_out(self, known: Sequence[str]) -> Attempt:
        """Tell who was left out: nobody in the release looks like them."""
        *_, absent, others, others_absent = self._count(known)
        records = int(self.row.left_out or 0)
        attempt = Attempt(
            "left-out records", ", ".join(known), "who was left out", records, float(min(absent, records))
        )
        return attempt if not others else beside_control(attempt, others_absent, others)

    # -- what it holds --------------------------------------------------------------------------

    def _targets(self, known: Sequence[str]) -> list[str]:
        """What is guessed: as asked, else what is protected or swapped, else the class, else what is kept."""
        if self.target is not None:
            return [self.target]
        for treatments in (("sensitive", "swapped"), ("class",), ("kept",)):
            if names := [name for name in self._columns_with(*treatments) if name not in known]:
                return names
        return []

    def _inference(self) -> Iterator[Attempt]:
        """Guess what a record holds: by the most frequent value, and where a class has one value only."""
        guesses: dict[tuple[tuple[str, ...], str], list[Requirement]] = {}
        for requirement in () if self.known_columns else self.requirements:
            names = self._columns_of(requirement.attributes)
            for target in self._columns_of(requirement.sensitive_columns):
                guesses.setdefault((names, target), []).append(requirement)
        for names in self._known_sets():
            for target in self._targets(names):
                guesses.setdefault((names, target), [])
        for (names, target), requirements in guesses.items():
            yield from self._guess(names, target, requirements)

    def _guess(
        self, known: Sequence[str], target: str, requirements: Sequence[Requirement]
    ) -> Iterator[Attempt]:
        numbers = self._infer(self.sides, self._places(known), *self._places([target]))
        tried, successes, worst, certain, others, others_right, others_certain, most_frequent = numbers
        attempt = Attempt("inference", ", ".join(known), target, int(tried), float(successes), float(worst))
        if others:
            attempt = beside_control(attempt, others_right, others)
        elif tried:
            attempt = replace(attempt, baseline=float(most_frequent) / tried)
        for one in requirements:
            finding = self._finding(one)
            verdict = HOLDS if finding.holds else REFUTED
            if not isinstance(one, Template):
                worse = REFUTED in (attempt.verdict, verdict)
                attempt = replace(attempt, verdict=REFUTED if worse else HOLDS)
                continue
            guesses = str(one).split(" -> ", 1)[1].rsplit(" <= ", 1)[0]
            one_value = Attempt("inference", attempt.knows, guesses, attempt.tried, worst=finding.reached)
            yield replace(one_value, allowed=finding.limit, verdict=verdict)
        yield attempt
        of = "homogeneity", ", ".join(known), f"{target}, for certain", int(tried), float(certain)
        if others:
            yield beside_control(Attempt(*of), others_certain, others)
        else:
            yield Attempt(*of, baseline=float(most_frequent == tried))  # certain without the release as well

    def _finding(self, requirement: Requirement) -> Finding:
        shape = self.shape
        of = self.engine, shape.frozen, [requirement]
        (finding,) = findings(*of, count=shape.count, person=shape.people, cut=shape.recorded)
        return finding

    def _minimality(self) -> list[Attempt]:
        if self.source is None or self.known_columns:
            return []
        attempts, untried = minimality(self.engine, self.row, self.shape, self.source)
        self.untried += untried
        return attempts

    # -- other releases -------------------------------------------------------------------------

    def _composition(self) -> Iterator[Attempt]:
        """Intersect the classes of all releases of the source, and the values that are possible in them."""
        if self.source is None:
            return
        row, catalog = self.row, self.engine.current()[0]
        rows = [row, *others_of(self.engine, self.engine.find(row.source), row.release)]
        pairs = [(one, one.shape(catalog)) for one in rows]
        shapes = [(one, shape) for one, shape in pairs if quasi_identifier(one, shape)]
        if len(shapes) + len(self.beside) < 2 or not shapes or shapes[0][0] is not row:
            return
        names = ", ".join([*(one.release for one, _ in shapes[1:]), *(one.name for one in self.beside)])
        try:
            both = composed(self.engine, self.source, shapes, self.beside)
        except (InvalidOption, InvalidSource, UnknownColumn) as cause:
            if self.beside:
                raise
            self.untried.append(f"composition with {names}: {cause.problem}")
            return
        every, alone = both.intersection(), both.alone()
        knows = f"{', '.join(quasi_identifier(row, self.shape))}; has {names}"
        sizes = [item.k for item in self.requirements if isinstance(item, KAnonymity)]
        allowed = 1 / min(sizes) if sizes else None  # the columns of every requirement are intersected
        worst = 1 / every.smallest if every.smallest else 0.0
        yield Attempt(
            *("composition", knows, "which record", every.records, float(every.classes), worst),
            baseline=alone.classes / alone.records if alone.records else None,
            allowed=allowed,
            verdict="" if allowed is None else verdict_of(worst, allowed, EXCEEDED),
        )
        yield from self._possible(both, knows, [shape for _, shape in shapes])

    def _possible(self, both: Composed, knows: str, shapes: Sequence[Shape]) -> Iterator[Attempt]:
        """Guess a column that all releases show as it is among the values possible in all of them."""
        as_it_is = [{i.name for i in shape.columns if i.treatment in AS_IT_IS} for shape in shapes]
        for target in self._targets(quasi_identifier(self.row, self.shape)):
            if any(target not in names for names in as_it_is):
                continue
            values = both.with_values(target)
            query = bind("risk/possible_values", tables={"composed_values": values})
            ((tried, successes, worst, alone),) = self.engine.query(query, step="possible_values")
            if tried:
                of = (int(tried), float(successes), float(worst), float(alone) / tried)
                yield Attempt("composition", knows, f"{target}, among what is possible", *of)

    # -- models ---------------------------------------------------------------------------------

    def _trees(self) -> Iterator[Attempt]:
        for target in () if self.source is None else self._targets(self._all_known_columns()):
            try:
                tree_class()
                yield self._guess_by_tree(target)
            except PpdmError as cause:
                self.untried.append(f"trained tree for {target}: {cause}")

    def _guess_by_tree(self, target: str) -> Attempt:
        """Train a tree on the released rows, and let it guess a column of people known by all others."""
        tables = compared_rows(self.engine, self.row, self.shape, self.source, target)[1]
        tried, hits = self._try_tree(tables, learns=True)
        _, usual = self._try_tree(tables, learns=False)
        of = "trained tree", "every other released column", target, tried, hits
        attempt = Attempt(*of, baseline=usual / tried)
        if self.control is not None:
            others = compared_rows(self.engine, self.row, self.shape, self.control, target)[1]
            number, right = self._try_tree(others, learns=True)
            return beside_control(attempt, right, number)
        if tried < MOST:
            return attempt
        low, high = wilson(hits, tried)
        return replace(attempt, interval=(low - usual / tried, high - usual / tried))

    def _try_tree(self, tables: TrainTest, *, learns: bool) -> tuple[int, int]:
        """Count the records on which a tree is tried, and those that it guesses, or the usual value does."""
        side, seed = EncodedTables(self.engine, tables), self.options.seed or 0
        assert side.test is not None
        train, test = (side.sample(t, seed=seed, most=MOST, folds=1) for t in (side.train, side.test))
        if not learns:
            train, test = (one.part(one.folds >= 0, []) for one in (train, test))
        number = int(test.records.sum())
        with warnings.catch_warnings():  # what is guessed may have nearly as many values as there are records
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            return number, number - misclassified(train, test, seed)

    def _models(self) -> Iterator[Attempt]:
        if self.row.method == "swap":
            yield from self._settled_swaps()
        if self.row.method == "randomize":
            yield from self._spectral_filter()
            yield from self._averaging()

    def _measures(self) -> dict[str, float | None]:
        return {name: after for name, _, after in self.release.measures()}

    def _settled_swaps(self) -> Iterator[Attempt]:
        """Tell how many changed records a model of the truth settles, as the run measured."""
        measures, by = self._measures(), ", ".join(self.row.parameters.get("by") or ())
        for name, unit in product(self._columns_with("swapped"), ("record", "person")):
            number = sum(
                measures.get(f"{how} identifiable {unit}s changed: {name}") or 0
                for how in ("uniquely", "collectively")
            )
            settled = measures.get(f"changed {unit}s settled by a modelling attacker: {name}")
            if number and settled is not None:
                knows = f"{by}; how {name} depends on them"
                yield Attempt("modelling", knows, f"which {unit}s were changed", int(number), settled)

    def _without_noise(
        self, attack: str, knows: str, name: str, share: float, baseline: float, allowed: float
    ) -> Attempt:
        of = Attempt(attack, knows, f"{name} without its noise", self.row.rows, share=share)
        verdict = verdict_of(share, allowed, EXCEEDED)
        return replace(of, baseline=baseline, allowed=allowed, verdict=verdict)

    def _spectral_filter(self) -> Iterator[Attempt]:
        """Tell what share of the noise all noisy columns remove together, beside each alone, as was measured.

        Source: Kargupta, Datta, Wang, Sivakumar 2003, doi:10.1109/ICDM.2003.1250908.
        """
        measures, knows = self._measures(), "all noisy columns and their noise"
        for name in self._columns_with("randomized"):
            alone = measures.get(f"noise that a column alone can remove: {name}")
            together = measures.get(f"noise that all noisy columns can remove: {name}")
            if alone is not None and together is not None:
                allowed = alone + THRESHOLD * (1 - alone)
                yield self._without_noise("spectral filter", knows, name, together, alone, allowed)

    def _averaging(self) -> Iterator[Attempt]:
        """Tell what share of the noise is gone where values are averaged over several releases."""
        noises: dict[object, tuple[CatalogueRow, dict[str, Noise]]] = {}
        for one in (self.row, *others_of(self.engine, made_from(self.engine, self.row), self.row.release)):
            # with one key noise is repeated, and without one it never is
            key, *of = map(one.parameters.get, ("key fingerprint", "record", "person"))
            identity: object = one.release if key is None else (key, *map(str, of))
            if one.method == "randomize" and identity not in noises:
                noises[identity] = one, noise_of(self.engine, one.release)
        (_, own), *others = noises.values()
        for name, noise in own.items():
            noises_beside = [(one.release, of[name]) for one, of in others if name in of]
            beside = {release: of for release, of in noises_beside if isinstance(of, AdditiveNoise)}
            if beside and isinstance(noise, AdditiveNoise):
                precision = sum(1 / deviation(of) ** 2 for of in (noise, *beside.values()))
                share = 1 - 1 / sqrt(precision) / deviation(noise)
                knows = f"which rows are of one record; has {', '.join(beside)}"
                yield self._without_noise("averaging", knows, name, share, 0.0, THRESHOLD)

    # -- bounds and partners --------------------------------------------------------------------

    def _bounds(self) -> Iterator[Attempt]:
        """Read the least and the greatest value of a column off its outermost intervals."""
        if self.source is None or self.known_columns or "taxonomies" not in parts(self.engine):
            return
        source_names = [item.name for item in self.engine.columns(self.source)]
        for name in self._columns_with("generalized"):
            query = bind(
                "risk/outermost_bounds",
                tables={"source": self.source},
                columns={"attribute": [resolve(name, source_names, table=self.row.source)]},
                values={"release": self.row.release, "name": name},
            )
            ((is_grown, *tells, least, most),) = self.engine.query(query, step="outermost_bounds")
            if is_grown:
                records_of = [n for tell, n in zip(tells, (least, most), strict=True) if tell]
                worst = max((1 / n for n in records_of), default=0.0)
                guesses = f"least and greatest {name}"
                yield Attempt("outermost bounds", "the release alone", guesses, 2, float(sum(tells)), worst)

    def _partner(self) -> Iterator[Attempt]:
        """Let the partner of an integration guess our originals: of each person it knows our labels."""
        parties = self.row.parameters.get("parties")
        if parties is None:
            return
        source = made_from(self.engine, self.row)
        source_names = {item.name.lower() for item in self.engine.columns(source)}
        own = next(names for names in parties if {name.lower() for name in names} <= source_names)
        columns = tuple(item for item in self.shape.columns if item.name in own)
        recoding = Recoding.of(self.engine, self.row, replace(self.shape, columns=columns), source)
        labels = exp.Anonymous(this="row", expressions=[column(name, "r") for name in own])
        raw = exp.Anonymous(this="row", expressions=[column(recoding.found[n].name, "t") for n in own])
        original = free_name("original", own)
        rows = recoding.rows().select(alias(exp.cast(raw, "TEXT"), original))
        sides = sql(
            "SELECT unnest(['source', 'release']) AS side, NULL::VARCHAR AS person, 1 AS weight, "
            "{labels}::TEXT AS v0, {original} AS v1 FROM {rows}",
            labels=labels,
            original=column(original, "r"),
            rows=rows.subquery("r"),
        )
        tried, successes, worst, *_, usual = self._infer(
            self.engine.materialize("sides", sides), ["v0"], "v1"
        )
        guesses = f"{', '.join(own)} before masking"
        numbers = (int(tried), float(successes), float(worst), float(usual) / tried)
        yield Attempt("partner", "who is in which class, from the protocol", guesses, *numbers)

    # -- predicates -----------------------------------------------------------------------------

    def _predicates(self) -> Iterator[Attempt]:
        """Single out by a predicate made of labels and a hash; weights are as if columns were independent."""
        known = self._all_known_columns()
        if not known or self.known_columns:
            return
        places = self._places(known)
        shares = [
            sql(
                "CAST(sum(c.records) OVER (PARTITION BY {v}) AS DOUBLE) / sum(c.records) OVER ()",
                v=column(v, "c"),
            )
            for v in places
        ]
        classes = sql(
            "SELECT {v}, (count(DISTINCT s.person) + coalesce(sum(s.weight) FILTER (s.person IS NULL), 0))"
            "::DOUBLE AS records FROM {t} AS s WHERE s.side = 'release' GROUP BY ALL",
            v=[column(name, "s") for name in places],
            t=self.sides,
        )
        weights = sql(
            "SELECT c.records, sum(c.records) OVER () AS table_records, {weight} AS weight "
            "FROM ({classes}) AS c",
            weight=joined(shares, " * "),
            classes=classes,
        )
        table = self.engine.materialize("weighted_classes", weights)
        query = bind("risk/predicates", tables={"weighted_classes": table})
        ((tried, successes, worst, baseline),) = self.engine.query(query, step="predicates")
        if tried:
            yield Attempt(
                *("predicate", "the release alone", "what one record alone meets"),
                *(int(tried), float(successes), float(worst), float(baseline) / tried),
            )
