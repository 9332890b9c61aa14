"""The numbers of an audit, as values and laid out as tables; how those are printed is the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ppdm_sql.privacy import Asked, Counts, Measure, Value, requirement_of
from ppdm_sql.results import SHARE, Result, ResultTable

if TYPE_CHECKING:
    from ppdm_sql.audit.profiling import Profile

Counted = Literal["records", "persons"]
"""What an audit counts; who has several records in a class is one person of it."""

ITSELF = "the table itself"
"""What a risk names as its population where none was given."""
SMALL = 5
"""Classes of fewer records are counted as small."""
MEASURES = ("measure", "value", "what it says")


@dataclass(frozen=True)
class Finding:
    """Whether one requirement holds, and what was reached."""

    requirement: Asked  # the requirement, as it was given; a ``Measure`` where it has no limit
    holds: bool  # whether no class violates it
    # the confidence or distance allowed in [0, 1], or the k or l demanded, at least 1; the loosest one where
    # none was given
    limit: float
    # the worst over all classes, in the limit's unit; 0 for a template whose values do not occur
    reached: float
    classes: int  # classes of the channel or quasi-identifier
    violating_classes: int  # those of them that violate it; all, if it is broken by the table as a whole
    violating_records: int  # records in those; persons, where they are counted, once for each class
    # for a template each protected value, as text, with its highest confidence
    by_value: tuple[tuple[Value, float], ...] = ()
    # the protected values that do not occur, as they were written: perhaps misspellings
    absent_values: tuple[Value, ...] = ()
    counted: Counted = "records"  # whether records or persons were counted

    def row(self) -> tuple[Any, ...]:
        """Give its row of a table; what was only measured neither holds nor fails."""
        if isinstance(self.requirement, Measure):
            return str(self.requirement), None, None, self.reached, self.classes, None, None
        violating = self.violating_classes, self.violating_records
        return str(self.requirement), self.holds, self.limit, self.reached, self.classes, *violating


@dataclass(frozen=True)
class Group:
    """One of the worst classes of a requirement, by name; holds cells, so it is made on demand only."""

    requirement: Asked  # the requirement, as it was given
    columns: tuple[str, ...]  # the columns of its channel or quasi-identifier
    values: tuple[Any, ...]  # the class's values of those, in the same order
    inferred: Value  # the protected value, for a template
    records: int  # records in the class
    reached: float  # its confidence, size, diversity or distance
    violates: bool  # whether it violates the requirement


@dataclass(frozen=True)
class ClassSizes:
    """How large the classes of one quasi-identifier are."""

    quasi_identifier: tuple[str, ...]  # its columns
    sizes: tuple[tuple[int, int, int], ...]  # ``(class size, classes, records)``, exact, by size
    # ``(smallest, largest, classes, records)``, for reading: 1 to 10, 11-20, 21-50, 51-100
    ranges: tuple[tuple[int, int, int, int], ...]

    def table(self, on: str, counted: Counted) -> ResultTable:
        """Give the class sizes in ranges; ``on`` names the columns."""
        rows = [(str(low) if low == high else f"{low}-{high}", *both) for low, high, *both in self.ranges]
        return ResultTable(f"Class sizes on {on}", ("class size", "classes", counted), rows)


class Risk(NamedTuple):
    """Re-identification risk under one quasi-identifier, from one attacker."""

    quasi_identifier: tuple[str, ...]  # its columns
    # ``prosecutor`` (knows the person is in the table), ``journalist`` (knows the person is in the
    # population), ``marketer`` (wants as many as possible; has an average only)
    attacker: str
    population: str  # the table that the classes were counted in
    average: float  # mean risk of a record, the expected share re-identified, in (0, 1]
    highest: float | None  # risk of the records most at risk, in (0, 1]
    records_at_highest: int | None  # how many those are
    share_above: float | None  # share of the records with a risk strictly above the threshold, in [0, 1]
    threshold: float  # that threshold


def risk_table(risks: Sequence[Risk], on: str, counted: Counted) -> ResultTable:
    """Give the risks under a quasi-identifier, which ``on`` names, an attacker a row."""
    above = f"share above {risks[0].threshold:g}"
    heading = ("attacker", "population", "average", "highest", f"{counted} at highest", above)
    shares = dict.fromkeys(("average", "highest", above), SHARE)
    return ResultTable(f"Re-identification risk on {on}", heading, [risk[1:-1] for risk in risks], shares)


@dataclass(frozen=True)
class Inferences:
    """Number of inferences from one channel to the values protected over it."""

    channel: tuple[str, ...]  # the channel's columns
    sensitive: tuple[str, ...]  # the sensitive columns of its templates
    # ``(threshold, pairs of group and value with a confidence strictly above it)``
    above: tuple[tuple[float, int], ...]

    def table(self, on: str) -> ResultTable:
        """Give the number of inferences above each confidence; ``on`` names the channel."""
        title = f"Inferences from {on} to {', '.join(self.sensitive)}"
        return ResultTable(title, ("confidence above", "inferences"), self.above, {"confidence above": SHARE})


class IdentifiableValue(NamedTuple):
    """What there is of one confidential value; holds a cell, so it is for the owner."""

    value: Value  # the value as text, None being NULL
    unique: int  # uniquely identifiable records with it
    groups: int  # collectively identifiable groups with it
    grouped: int  # records in these
    others: int  # records with it that are not identifiable


@dataclass(frozen=True)
class Identifiable:
    """How many records have a confidential value that other columns give away."""

    confidential: str  # the confidential column
    by: tuple[str, ...]  # the columns that others may know
    unique: int  # uniquely identifiable records: nobody else has their values of ``by``
    groups: int  # collectively identifiable groups: several records, all with one confidential value
    grouped: int  # records in these groups
    other_patterns: int  # combinations of ``by`` that leave the confidential value open
    others: int  # records with such a combination
    values: int  # number of confidential values
    # one for each value, at most 100, those with the most identifiable records first
    by_value: tuple[IdentifiableValue, ...]

    @property
    def records(self) -> int:
        """All records."""
        return self.unique + self.grouped + self.others

    def tables(self, counted: Counted) -> list[ResultTable]:
        """Give the identifiable records, in total and by value."""
        totals = [
            ("uniquely", self.unique, self.unique),
            ("collectively", self.groups, self.grouped),
            ("not", self.other_patterns, self.others),
        ]
        rows = [(status, patterns, records, records / self.records) for status, patterns, records in totals]
        title = f"{self.confidential} identifiable by {', '.join(self.by)}"
        heading = (self.confidential, "uniquely", "groups", "collectively", "not")
        return [
            ResultTable(title, ("identifiable", "patterns", counted, "share"), rows, {"share": SHARE}),
            ResultTable(f"{title}, by value{_of(self)}", heading, self.by_value),
        ]


class ValueConfidence(NamedTuple):
    """How surely a sensitive value can be inferred; holds a cell, so it is for the owner."""

    value: Value  # the value as text, None being NULL
    records: int  # records with it
    share: float  # those as a share of all records, in (0, 1]: what everybody may guess
    confidence: float  # its highest share in an equivalence class, in (0, 1]
    certain: int  # records with it in classes where every record has it


@dataclass(frozen=True)
class SensitiveExposure:
    """What the equivalence classes give away of one sensitive column."""

    sensitive: str  # the column
    values: int  # number of its values, NULL being one
    distinct_l: int  # the fewest different values of a class, at least 1
    entropy_l: float  # the smallest exp(entropy) of a class, at least 1
    # recursive (c, 2)-diversity holds for every c above it; None where a class has one value and no c is
    # enough
    recursive_c: float | None
    equal_t: float  # the largest distance of a class from the table, in [0, 1], all values equally far apart
    ordered_t: float | None  # the same by the order of the values; None where they have none, as texts
    # one for each value, at most 100, those with the highest confidence first
    by_value: tuple[ValueConfidence, ...]

    def tables(self, on: str, counted: Counted) -> list[ResultTable]:
        names = (self.sensitive, counted, "share", "highest confidence", f"{counted} where it is certain")
        title = f"Confidence of each {self.sensitive} by {on}{_of(self)}"
        return [
            ResultTable(f"{self.sensitive} by {on}", MEASURES, self.measures()),
            ResultTable(title, names, self.by_value, dict.fromkeys(names[2:4], SHARE)),
        ]

    def measures(self) -> list[tuple[str, float | None, str]]:
        """List measure, value, and what it says."""
        recursive = (
            "no c: a class has one value" if self.recursive_c is None else "holds for every c above it"
        )
        rows: list[tuple[str, float | None, str]] = [
            ("values", self.values, "NULL is one"),
            ("distinct l", self.distinct_l, "the fewest values of a class"),
            ("entropy l", self.entropy_l, "the smallest exp(entropy) of a class"),
            ("recursive c (l = 2)", self.recursive_c, recursive),
            ("t, equal distances", self.equal_t, "how far a class is from the table, at worst"),
        ]
        if self.ordered_t is not None:
            rows.append(("t, ordered distances", self.ordered_t, "the same by the order of the values"))
        return rows


@dataclass(frozen=True)
class Exposure:
    """What the columns that others may know give away."""

    by: tuple[str, ...]  # those columns
    records: int  # of the table; persons, where they are counted, once for each class
    classes: int  # equivalence classes of these columns
    smallest: int  # records of the smallest class: k
    median: float  # of the classes' sizes
    mean: float  # of the classes' sizes
    largest: int  # records of the largest class
    alone: int  # records that are alone in their class
    in_small: int  # records in classes of fewer than five, those that are alone among them
    sensitive: tuple[SensitiveExposure, ...]  # one for each sensitive column

    def measures(self, counted: Counted) -> list[tuple[str, float | None, str]]:
        """List measure, value, and what it says, of the classes."""
        each = "" if counted == "records" else ", once in each class"
        return [
            (counted, self.records, f"in the table{each}"),
            ("classes", self.classes, "combinations of these columns that exist"),
            ("smallest class (k)", self.smallest, f"{counted} that cannot be told apart, at worst"),
            ("median class", self.median, "half of the classes are no larger"),
            ("mean class", self.mean, f"{counted} for each class"),
            ("largest class", self.largest, ""),
            ("share alone", self.alone / self.records, f"of the {counted}, in classes of 1"),
            (
                f"share below {SMALL}",
                self.in_small / self.records,
                f"of the {counted}, in classes of 1 to {SMALL - 1}",
            ),
        ]

    def tables(self, on: str, counted: Counted) -> list[ResultTable]:
        """Give the tables; ``on`` names the columns."""
        of_sensitive = [table for item in self.sensitive for table in item.tables(on, counted)]
        return [ResultTable(f"Classes of {on}", MEASURES, self.measures(counted)), *of_sensitive]


def _of(item: Identifiable | SensitiveExposure) -> str:
    """Say how many of the values of a column are listed, where it is not all."""
    listed = len(item.by_value)
    return f", {listed} of {item.values} values" if listed < item.values else ""


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """All that an audit measured.

    Args:
        findings: One per requirement, in the order given.
        worst: The worst groups of each requirement, worst first; empty unless asked for.
        class_sizes: One per quasi-identifier.
        risks: Three attackers per quasi-identifier.
        inferences: One per channel.
        identifiable: One per confidential column.
        exposure: What the columns that others may know give away; None unless asked for.
        profile: A first look at every column; None where anything was asked.
        counted: Whether records or persons were counted.
        notices: What to know of these numbers: that rows seem to be taken for persons.
    """

    findings: tuple[Finding, ...] = ()
    worst: tuple[Group, ...] = ()
    class_sizes: tuple[ClassSizes, ...] = ()
    risks: tuple[Risk, ...] = ()
    inferences: tuple[Inferences, ...] = ()
    identifiable: tuple[Identifiable, ...] = ()
    exposure: Exposure | None = None
    profile: Profile | None = None
    counted: Counted = "records"
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        holding, every = sum(finding.holds for finding in self.findings), len(self.findings)
        return f"Audit({f'{holding} of {every} requirements hold' if every else 'no requirement'})"

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return all(finding.holds for finding in self.findings)

    def tables(self) -> list[ResultTable]:
        """Give everything as tables; empty ones are left out."""
        heads = Heads(self.findings, self.counted)
        tables = [
            heads.findings(self.findings),
            *heads.worst(self.worst),
            *(self.exposure.tables(heads.columns(self.exposure.by), self.counted) if self.exposure else []),
            *(self.profile.tables() if self.profile else []),
        ]
        for sizes in self.class_sizes:
            on = heads.columns(sizes.quasi_identifier)
            risks = [risk for risk in self.risks if risk.quasi_identifier == sizes.quasi_identifier]
            tables += [sizes.table(on, self.counted), risk_table(risks, on, self.counted)]
        tables += [item.table(heads.columns(item.channel)) for item in self.inferences]
        tables += [table for item in self.identifiable for table in item.tables(self.counted)]
        return [table for table in tables if table.rows]


# -- tables ------------------------------------------------------------------------------------------

LONG = 80
"""Characters of a requirement or a list of columns that a title can hold."""


class Heads:
    """What titles call requirements and columns: by a number where one of them is long."""

    def __init__(self, findings: Iterable[Finding], counted: Counted) -> None:
        self.counted = counted
        self._asked = [finding.requirement for finding in findings]
        self.numbered = any(len(str(asked)) > LONG for asked in self._asked)

    def requirement(self, asked: Asked) -> str:
        return f"requirement {self._asked.index(asked) + 1}" if self.numbered else str(asked)

    def columns(self, names: Sequence[str]) -> str:
        """Name the columns of a class or channel."""
        text = ", ".join(names)
        same = (a for a in self._asked if {*requirement_of(a).attributes} == {*names})
        asked = next(same, None) if len(text) > LONG else None
        return text if asked is None else f"the columns of {self.requirement(asked)}"

    def findings(self, findings: Iterable[Finding]) -> ResultTable:
        """List the requirements, each with what was reached."""
        rows = [finding.row() for finding in findings]
        heading: tuple[str, ...] = ("requirement", "holds", "limit", "reached", "classes")
        heading = (*heading, "violating classes", f"violating {self.counted}")
        if self.numbered:
            heading, rows = ("number", *heading), [(n, *row) for n, row in enumerate(rows, 1)]
        return ResultTable("Requirements", heading, rows, {"limit": "", "reached": ""})

    def worst(self, worst: Iterable[Group]) -> list[ResultTable]:
        """List the worst groups of each requirement."""
        tables: dict[str, tuple[Sequence[str], list[Any]]] = {}
        for group in worst:
            title = f"Worst groups of {self.requirement(group.requirement)}"
            infers = requirement_of(group.requirement).counts is Counts.PROTECTED
            heading = (*group.columns, *["inferred"] * infers, self.counted, "reached", "violates")
            inferred = [group.inferred] * infers
            row = (*group.values, *inferred, group.records, group.reached, group.violates)
            tables.setdefault(title, (heading, []))[1].append(row)
        return [ResultTable(title, heading, rows) for title, (heading, rows) in tables.items()]


def requirement_tables(findings: Sequence[Finding]) -> list[ResultTable]:
    """Give what was found of each requirement as a table; none where none was measured."""
    return [Heads(findings, findings[0].counted).findings(findings)] if findings else []
