"""The settings of a grid: every combination of the options that were given several values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from ppdm_sql.errors import InvalidOption, check_choice
from ppdm_sql.methods.top_down.request import GeneralizeRequest, RefinementRequest
from ppdm_sql.privacy import Asked, KAnonymity, Measure, Requirement, parse_measures

Number = int | float | str
SUPPRESSION, CONDITIONED = "pda", "hce-tdr"
METHODS = ("tds", CONDITIONED, SUPPRESSION)
"""The methods that a grid can try: those that are given requirements."""
GRID = ("k", "method", "suppress_records")
"""The options that may have several values, the outermost first."""
OF_ALL = (
    *("class_column", "count_column", "identifiers", "max_steps", "symbol", "allow_absent", "person"),
    *("score", "detail", "limits", "weights", "allow_identifiers"),
)
"""The options that are passed on to every run as they are."""
OF_GENERALIZATION = (
    *("taxonomies", "ranges", "suppress", "categories", "looks"),
    *("boundary", "rare", "min_widths", "tops", "bottoms"),
)
"""Further ones that suppression does not know."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What is asked of a comparison; see :meth:`ppdm_sql.Database.compare` for each."""

    quasi_identifier: Sequence[str] = ()
    require: Sequence[str | Asked] = ()
    k: Sequence[int] = ()
    method: Sequence[str] = ()
    suppress_records: Sequence[Number] = ("0",)
    class_column: str | None = None
    taxonomies: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    condition: Sequence[str] = ()
    suppress: Sequence[str] = ()
    categories: Sequence[str] = ()
    looks: dict[str, str] = field(default_factory=dict)
    count_column: str | None = None
    keep: Sequence[str] = ()
    allow_identifiers: Sequence[str] = ()
    identifiers: Mapping[str, str] = field(default_factory=dict)
    max_steps: int | None = None
    symbol: str = "*"
    allow_absent: bool = False
    evaluate: bool = False
    page: str | os.PathLike[str] | None = None
    force: bool = False
    keep_best: str | None = None
    into: str | None = None
    boundary: str = "valid"
    person: Sequence[str] = ()
    score: str = "default"
    detail: float | None = None
    rare: str | None = None
    limits: Mapping[str, object] = field(default_factory=dict)
    weights: Mapping[str, object] = field(default_factory=dict)
    min_widths: Mapping[str, object] = field(default_factory=dict)
    tops: Mapping[str, object] = field(default_factory=dict)
    bottoms: Mapping[str, object] = field(default_factory=dict)

    @property
    def tries_settings(self) -> bool:
        """Whether anything is asked that only a table can be asked."""
        asked = self.require, self.k, self.class_column, self.taxonomies, self.keep_best, self.into
        wished = self.person, self.limits, self.weights, self.min_widths, self.tops, self.bottoms
        return any(map(bool, (*asked, *wished)))


@dataclass(frozen=True)
class TriedSetting:
    """One setting of the grid.

    Args:
        name: What sets it apart from the others.
        choices: The options that have several values, with its own.
        request: What its run is asked.
    """

    name: str
    choices: Mapping[str, object]
    request: RefinementRequest

    @property
    def method(self) -> str:
        """Its method, as the options name it."""
        return self.request.method if isinstance(self.request, GeneralizeRequest) else SUPPRESSION


def settings(options: CompareOptions, into: str) -> list[TriedSetting]:
    """List the settings of a grid.

    Args:
        options: What is asked.
        into: What the release of any of them would be called.

    Raises:
        InvalidOption: A method is not known, or there is no requirement or no limit of one.
        RequirementSyntaxError: A requirement cannot be read.
    """
    for method in options.method:
        check_choice("method", method, METHODS)
    values: dict[str, Sequence[object]] = {
        "k": options.k or (None,),
        "method": options.method or ("tds",),
        "suppress_records": options.suppress_records or ("0",),
    }
    varied = {name for name in GRID if len(set(values[name])) > 1} or {"method"}
    found = []
    for combination in product(*(dict.fromkeys(values[name]) for name in GRID)):
        choices = dict(zip(GRID, combination, strict=True))
        named = ", ".join(_said(name, value) for name, value in choices.items() if name in varied)
        tried = {name: value for name, value in choices.items() if name in varied or name != GRID[-1]}
        given = {name: value for name, value in tried.items() if value is not None}
        found.append(TriedSetting(named, given, _request(options, choices, into)))
    return found


def _said(name: str, value: object) -> str:
    return {"method": f"{value}", "k": f"k = {value}"}.get(name, f"{value} left out")


def _request(options: CompareOptions, choices: Mapping[str, Any], into: str) -> RefinementRequest:
    """Make the request of one setting; what a method does not know is left out or kept in the clear."""
    common: dict[str, Any] = {
        "require": list(_requirements(options, choices["k"])),
        "into": into,
        "suppress_records": choices["suppress_records"],
        **{name: getattr(options, name) for name in OF_ALL},
    }
    method = choices["method"]
    clear = tuple(dict.fromkeys((*options.keep, *options.condition)))
    if method == SUPPRESSION:
        return RefinementRequest(**common, keep=clear)
    how: dict[str, Any] = {name: getattr(options, name) for name in OF_GENERALIZATION}
    if method == CONDITIONED:
        return GeneralizeRequest(
            **common, **how, keep=options.keep, method=method, condition=options.condition
        )
    return GeneralizeRequest(**common, **how, keep=clear, method=method)


def _requirements(options: CompareOptions, k: int | None) -> Iterator[Requirement]:
    """Give the requirements of a setting, its k where one has no limit of its own."""
    asked: list[Asked] = list(parse_measures(options.require))
    if options.quasi_identifier:
        asked.insert(0, Measure(KAnonymity(1, tuple(options.quasi_identifier))))
    if not asked:
        raise InvalidOption(
            "Nothing is said of what the settings keep.", "Give --qi A,B and --k 2,5,10, or --require."
        )
    if k is not None and not any(isinstance(one, Measure) for one in asked):
        raise InvalidOption("--k has no columns that it is about.", "Give them with --qi A,B.")
    for one in asked:
        yield _limited(one, k) if isinstance(one, Measure) else one


def _limited(measure: Measure, k: int | None) -> Requirement:
    if not isinstance(measure.of, KAnonymity):
        raise InvalidOption(f"The requirement {str(measure)!r} has no limit.", "Write its limit.")
    if k is None:
        raise InvalidOption("No k is given.", "Add the k to try, such as --k 2,5,10.")
    return replace(measure.of, k=k)
