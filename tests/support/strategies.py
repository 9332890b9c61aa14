"""Hypothesis strategies: small tables that are hostile in their names, values, types and demands."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from cases import Case, per_mille_up
from hypothesis import strategies as st
from oracle import PDA, Cell, Crowd, Rule, Source, Template

NAMES = (
    ["Job", "select", "odd name", 'quo"te', "it's", '"; DROP TABLE x; --', "ünïcödé", "a.b", "MiXed"]
    + ["step", "value", "release", "attribute", "n", "count", "generalized", "source", "rowid", "p"]
    + ["1st", "{x}", "$name", "--", "/* c */", "line\nbreak", " lead", "b", "r0", "p0", "k", "a", "日本"]
    + ["tbl", "g", "id", "%s"]
)
TABLES = ["t", "my table", 'ta"ble', "it's", '"; DROP TABLE x; --', "main.t", "order", "ünï", "Mixed", "-- c"]
RELEASES = ["r", "my release", 're"lease', "it's safe", "'; DROP TABLE t; --", "main.r", "select", "ö", "R%"]
TEXTS = [
    "a",
    "b",
    "B",
    "",
    " ",
    "'",
    '"',
    "%",
    "a\nb",
    "NULL",
    "null",
    "⊥",
    "a,b",
    "[1, 2)",
    "x" * 3000,
    "é",
] + ["e\u0301", "0", "00", "-1", "\t", "$1", "{}", "\\", "--", "'; DROP TABLE t; --", "=1+1", "**"]
NUMBERS = [-10, 9, 10, 2, 100, 0, 2147483647]
DATES = [datetime.date(1999, 12, 31), datetime.date(2000, 1, 1), datetime.date(2024, 2, 29)]
POOLS: dict[str, list[Cell]] = {
    "VARCHAR": list(TEXTS),
    "ENUM": list(TEXTS),
    "INTEGER": list(NUMBERS),
    "BOOLEAN": [False, True],
    "DATE": list(DATES),
}
THRESHOLDS = [Fraction(n, 1000) for n in (100, 250, 333, 400, 500, 500, 600, 667, 750, 1000)]
ABSENT: dict[str, Cell] = {"VARCHAR": "absent", "INTEGER": 12345, "DATE": datetime.date(1900, 1, 1)}

Demand = Literal["any", "solvable", "fits", "unsolvable"]


@st.composite
def cases(draw: st.DrawFn, demand: Demand = "any") -> Case:
    """Draw a table and demands on it.

    Args:
        demand: ``fits`` raises the thresholds until the source satisfies them, ``solvable`` until the most
            suppressed table does, ``any`` mixes the latter with thresholds as they come; ``unsolvable``
            tightens the first rule beyond reach.
    """
    masks, secrets = draw(st.sampled_from([1, 2, 3, 3, 4, 4])), draw(st.integers(1, 2))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=9, max_size=9, unique_by=str.lower))
    mask, secret, label, extra = names[:masks], names[4 : 4 + secrets], names[6], names[7]
    types = {name: draw(st.sampled_from(list(POOLS))) for name in mask}
    types |= {name: draw(st.sampled_from(list(ABSENT))) for name in secret}
    types |= {label: draw(st.sampled_from(["VARCHAR", "INTEGER", "BOOLEAN"])), extra: "VARCHAR"}
    counted = draw(st.booleans())
    source = _draw_source(draw, types, widest=dict.fromkeys(mask, 5) | {label: 3}, counted=counted)
    rules = draw(st.lists(_rules(mask, secret, types, source), min_size=1, max_size=4))
    keep = _draw_keep(draw, rules, extra)
    target = draw(st.sampled_from(["any", "solvable", "solvable", "solvable"])) if demand == "any" else demand
    if target == "unsolvable":
        rules[0] = _out_of_reach(rules[0], source)
    slack = Fraction(draw(st.sampled_from([200, 100, 300, 0])), 1000)
    return Case(
        source,
        types,
        tuple(_satisfiable(rule, PDA(source, [rule], label, keep), target, slack) for rule in rules),
        label,
        names[8] if counted else None,
        keep,
        draw(st.sampled_from(TABLES)),
        draw(st.sampled_from(RELEASES)),
        draw(st.booleans()),
    )


def _draw_source(draw: st.DrawFn, types: dict[str, str], widest: dict[str, int], counted: bool) -> Source:
    domains: dict[str, list[Cell]] = {}
    order: dict[str, list[Cell]] = {}
    for name, kind in types.items():
        pool = st.sampled_from(POOLS[kind])
        size = min(draw(st.sampled_from([1, 2, 2, 3, 4, 5])), widest.get(name, 4), len(POOLS[kind]))
        size = size if name in widest else max(size, 2)
        domains[name] = draw(st.lists(pool, min_size=size, max_size=size, unique=True))
        if kind == "ENUM":
            order[name] = list(domains[name])
        if len(domains[name]) < widest.get(name, 4) and draw(st.booleans()):
            domains[name] = [*domains[name], None]
    row = st.tuples(*(st.sampled_from(domain) for domain in domains.values()))
    records = draw(st.sampled_from([24, 10, 16, 4, 30, 1]))
    rows = draw(st.lists(row, min_size=records, max_size=records))
    sizes = st.integers(0, 5) if counted else st.integers(1, 3)
    counts = draw(st.lists(sizes, min_size=len(rows), max_size=len(rows)))
    counts[0] = max(counts[0], 1)
    return Source(tuple(types), tuple(rows), tuple(counts), order)


@st.composite
def _rules(
    draw: st.DrawFn, mask: list[str], secret: list[str], types: dict[str, str], source: Source
) -> Rule:
    channel = tuple(draw(st.lists(st.sampled_from(mask), min_size=min(2, len(mask)), unique=True)))
    if draw(st.integers(0, 3)) == 0:
        return Crowd(draw(st.integers(1, 5)), channel)
    sensitive = draw(st.sampled_from(secret))
    present = [*source.domain(sensitive), ABSENT[types[sensitive]]]
    values = st.lists(st.sampled_from(present), min_size=1, max_size=3, unique=True)
    protected = draw(st.none() | values)
    found = None if protected is None else tuple(protected)
    return Template(channel, sensitive, found, draw(st.sampled_from(THRESHOLDS)))


def _draw_keep(draw: st.DrawFn, rules: list[Rule], extra: str) -> tuple[str, ...]:
    """Keep a column that no rule names, or one that a rule names (never all of those), or nothing."""
    named = list(dict.fromkeys(name for rule in rules for name in _grouping(rule)))
    choices = [(), (), (), (extra,)] + [(name,) for name in named[1:]]
    return draw(st.sampled_from(choices))


def _grouping(rule: Rule) -> tuple[str, ...]:
    return rule.channel if isinstance(rule, Template) else rule.attributes


def _out_of_reach(rule: Rule, source: Source) -> Rule:
    if isinstance(rule, Crowd):
        return replace(rule, k=sum(source.counts) + 1)
    return replace(rule, values=None, threshold=Fraction(1, 1000))


def _satisfiable(rule: Rule, pda: PDA, target: str, slack: Fraction) -> Rule:
    """Loosen a rule until the most suppressed table, with some slack, or the source itself satisfies it."""
    if target in ("any", "unsolvable"):
        return rule
    if target == "fits":
        pda.disclosed = pda.domains
    reached = pda.measures()
    if isinstance(rule, Crowd):
        return replace(rule, k=min(rule.k, int(reached[0])))
    loosest = per_mille_up(max(reached, default=Fraction(0))) + slack
    return replace(rule, threshold=min(max(rule.threshold, loosest), Fraction(1)))
