"""Hypothesis strategies: small tables that are hostile in their names, values, types and demands."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from cases import Case
from hypothesis import strategies as st
from oracle import (
    TDS,
    Cell,
    Closeness,
    Crowd,
    Diversity,
    Growing,
    Method,
    Node,
    Rule,
    Source,
    Template,
    Treatment,
    grouping,
    secret,
    text,
)

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
THRESHOLDS = [Fraction(n, 1000) for n in (100, 250, 333, 400, 500, 500, 600, 667, 750, 1000)]
ABSENT: dict[str, Cell] = {"VARCHAR": "absent", "INTEGER": 12345, "DATE": datetime.date(1900, 1, 1)}

UNORDERED: dict[str, list[Cell]] = {"VARCHAR": list(TEXTS), "ENUM": list(TEXTS), "BOOLEAN": [False, True]}
ORDERED: dict[str, list[Cell]] = {
    "INTEGER": [-10, 9, 10, 2, 100, 0, 2147483647],
    "DECIMAL(9,2)": [Decimal(n) for n in ("-1.50", "0.00", "0.10", "2.00", "10.00", "9999999.99")],
    "DOUBLE": [-2.5, 0.1, 0.30000000000000004, 3.0, 1e20, 1e-7],
    "DATE": [datetime.date(*ymd) for ymd in [(1999, 12, 31), (2000, 1, 1), (2024, 2, 29), (2024, 3, 1)]],
    "TIMESTAMP": [datetime.datetime(2024, 2, 29, hour, 30) for hour in (0, 9, 10, 23)],
    "TIME": [datetime.time(hour, 30) for hour in (0, 9, 10, 23)],
}
POOLS = UNORDERED | ORDERED
SECRETS = {**ABSENT, "DECIMAL(9,2)": Decimal("123.45")}
INNER = [
    *("ANY", "any", "ANY Job", "it's all", '"quoted"', "'; DROP TABLE u; --", "ünï", "日本", "a;b", "%s"),
    *("group\n1", "$g", "{x}", "0 or 1", "x-y", "🙂", "<b>", "1) or 2", "-", "[", "a, b)", "  "),
]
DIVERSITIES = [Fraction(n, 2) for n in (2, 3, 4, 5, 6)]
DISTANCES = [Fraction(1, n) for n in (2, 3, 4, 5, 10)] + [Fraction(0), Fraction(3, 4)]

Demand = Literal["any", "solvable", "fits", "unsolvable"]


@st.composite
def cases(draw: st.DrawFn, demand: Demand = "any", method: Method | None = None) -> Case:
    """Draw a table, how its columns are refined, and demands on it.

    Args:
        demand: ``solvable`` loosens the limits until the most general table keeps them, ``fits`` until the
            source does, ``any`` mostly the former; ``unsolvable`` puts one beyond reach.
        method: Of the run; TDS or HCE-TDR if None.
    """
    names = draw(st.lists(st.sampled_from(NAMES), min_size=9, max_size=9, unique_by=str.lower))
    masks, secrets = draw(st.sampled_from([1, 2, 2, 3, 3, 4])), draw(st.integers(1, 2))
    mask, hidden, label, extra = names[:masks], names[4 : 4 + secrets], names[6], names[7]
    types = {name: draw(st.sampled_from([*UNORDERED, *ORDERED])) for name in mask}
    types |= {name: draw(st.sampled_from(list(SECRETS))) for name in hidden}
    types |= {label: draw(st.sampled_from(["VARCHAR", "INTEGER", "BOOLEAN"])), extra: "VARCHAR"}
    counted = draw(st.booleans())
    source = _draw_source(draw, types, widest=dict.fromkeys(mask, 6) | {label: 3}, counted=counted)
    chosen: Method = method or draw(st.sampled_from(["tds", "hce-tdr"]))
    of = {n: None if chosen == "pda" else _draw_treatment(draw, types[n], source.domain(n)) for n in mask}
    suppressed = [n for n in mask if of[n] is None and (types[n] in ORDERED or draw(st.booleans()))]
    rules = _draw_rules(draw, mask, hidden, types, source, chosen)
    keep = _draw_keep(draw, rules, extra)
    usable = dict.fromkeys([name for rule in rules if (name := secret(rule))] + [extra] * (extra not in keep))
    condition = tuple(name for name in usable if chosen == "hce-tdr" and draw(st.booleans()))
    named = {name for rule in rules for name in grouping(rule)} - set(keep)
    case = Case(
        source=source,
        types=types,
        rules=tuple(rules),
        class_column=label,
        count_column=names[8] if counted else None,
        keep=keep,
        table=draw(st.sampled_from(TABLES)),
        release=draw(st.sampled_from(RELEASES)),
        as_text=draw(st.booleans()),
        treatments={name: found for name, found in of.items() if found and name in named},
        suppressed=tuple(name for name in suppressed if name in named),
        method=chosen,
        condition=condition,
        boundary=draw(st.sampled_from(["valid", "valid", "best"])),
    )
    target = draw(st.sampled_from(["any", "solvable", "solvable", "solvable"])) if demand == "any" else demand
    if target == "unsolvable":
        rules[0] = Crowd(sum(source.counts) + 1, grouping(rules[0]))
    elif target in ("solvable", "fits"):
        slack = Fraction(draw(st.sampled_from([300, 100, 600, 0])), 1000)
        rules = [_loosened(rule, _reached(case, rule, target), slack) for rule in rules]
    return replace(case, rules=tuple(rules))


def _draw_source(draw: st.DrawFn, types: dict[str, str], widest: dict[str, int], counted: bool) -> Source:
    domains: dict[str, list[Cell]] = {}
    order: dict[str, list[Cell]] = {}
    for name, kind in types.items():
        pool = POOLS[kind]
        size = min(draw(st.sampled_from([4, 3, 2, 5, 6, 3, 4, 1])), widest.get(name, 4), len(pool))
        size = size if name in widest else max(size, 2)
        domains[name] = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size, unique=True))
        if kind == "ENUM":
            order[name] = list(domains[name])
        if draw(st.integers(0, 2)) == 0:
            domains[name] = [*domains[name], None]
    row = st.tuples(*(st.sampled_from(domain) for domain in domains.values()))
    records = draw(st.sampled_from([40, 60, 30, 24, 16, 10, 2]))
    rows = draw(st.lists(row, min_size=records, max_size=records))
    sizes = st.integers(0, 5) if counted else st.integers(1, 3)
    counts = draw(st.lists(sizes | st.just(1), min_size=len(rows), max_size=len(rows)))
    counts[0] = max(counts[0], 1)
    source = Source(tuple(types), tuple(rows), tuple(counts), order)
    return _mirrored(source, list(widest)[:-1]) if draw(st.integers(0, 3)) == 0 else source


def _mirrored(source: Source, columns: list[str]) -> Source:
    """Add a twin of each row, with the values of some columns in reverse order: it makes many ties."""
    places = [source.columns.index(name) for name in columns]
    twins: dict[int, dict[Cell, Cell]] = {}
    for place, name in zip(places, columns, strict=True):
        values = [value for value in source.domain(name) if value is not None]
        twins[place] = dict(zip(values, reversed(values), strict=True))
    rows = [
        tuple(twins[place].get(cell, cell) if place in twins else cell for place, cell in enumerate(row))
        for row in source.rows
    ]
    return replace(source, rows=(*source.rows, *rows), counts=source.counts * 2)


# -- how columns are refined ----------------------------------------------------------------------


def _draw_treatment(draw: st.DrawFn, kind: str, domain: list[Cell]) -> Treatment:
    present = [value for value in domain if value is not None]
    if kind in UNORDERED:
        return _draw_taxonomy(draw, kind, present) if draw(st.integers(0, 2)) else None
    choice = draw(st.sampled_from(["grow", "grow", "grow in range", "intervals", "values", "suppress"]))
    if choice == "intervals":
        return _draw_interval_taxonomy(draw, kind, present)
    if choice == "values":
        return _draw_taxonomy(draw, kind, present)
    if choice == "suppress":
        return None
    return Growing(_draw_range(draw, kind, present) if choice == "grow in range" else None)


def _draw_range(draw: st.DrawFn, kind: str, present: list[Cell]) -> tuple[str, str] | None:
    lowest = [value for value in ORDERED[kind] if present and value <= min(present)]  # type: ignore[operator]
    highest = [value for value in ORDERED[kind] if present and value > max(present)]  # type: ignore[operator]
    if not highest:
        return None
    lower, upper = draw(st.sampled_from(lowest)), draw(st.sampled_from(highest))
    return text(lower) or "", text(upper) or ""


def _draw_taxonomy(draw: st.DrawFn, kind: str, present: list[Cell]) -> Node:
    """A tree whose leaves are the values, and some that the table does not hold."""
    absent = [value for value in POOLS[kind] if value not in present]
    more = draw(st.lists(st.sampled_from(absent), max_size=2, unique=True)) if absent else []
    texts = [text(value) for value in [*present, *more]] or ["no value"]
    return _draw_tree(draw, [Node(label) for label in draw(st.permutations(texts))])


def _draw_interval_taxonomy(draw: st.DrawFn, kind: str, present: list[Cell]) -> Node:
    """A tree whose leaves are intervals, next to each other."""
    pool = sorted(ORDERED[kind])  # type: ignore[type-var]
    lower, top = min(present, default=pool[0]), pool[-1]  # type: ignore[type-var]
    closed = top in present or draw(st.booleans())
    inner = [value for value in pool if lower < value and (value < top or closed)]  # type: ignore[operator]
    if not inner:
        lower, inner = pool[0], pool[1:-1]
    chosen = sorted(draw(st.lists(st.sampled_from(inner), min_size=1, max_size=3, unique=True)))  # type: ignore[type-var]
    bounds = [lower, *chosen, top]
    leaves: list[Node] = []
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        ends = closed and stop is bounds[-1] and len(leaves) == len(bounds) - 2
        label = f"[{text(start)}, {text(stop)}{']' if ends else ')'}"
        leaves.append(Node(label, interval=(start, stop, ends)))
    return _draw_tree(draw, leaves)


def _draw_tree(draw: st.DrawFn, leaves: list[Node]) -> Node:
    """Hang leaves into a tree, here and there under a chain of nodes with one child."""
    labels = draw(st.permutations(INNER))

    def grown(nodes: list[Node]) -> Node:
        if len(nodes) == 1:
            return nodes[0]
        groups = draw(st.integers(2, min(3, len(nodes))))
        places = st.sampled_from(range(1, len(nodes)))
        ends = sorted(draw(st.lists(places, min_size=groups - 1, max_size=groups - 1, unique=True)))
        parts = [nodes[a:b] for a, b in zip([0, *ends], [*ends, len(nodes)], strict=True)]
        label = labels.pop(0)
        return Node(label, tuple(chained(grown(part)) for part in parts))

    def chained(node: Node) -> Node:
        return Node(labels.pop(0), (node,)) if draw(st.integers(0, 6)) == 0 else node

    tree = chained(grown(leaves))
    return tree if tree.children else Node(labels.pop(0), (tree,))


# -- demands --------------------------------------------------------------------------------------


def _draw_rules(
    draw: st.DrawFn, mask: list[str], hidden: list[str], types: dict[str, str], source: Source, method: Method
) -> list[Rule]:
    columns = st.lists(st.sampled_from(mask), min_size=min(2, len(mask)), unique=True)
    same = draw(columns) if method == "hce-tdr" else None
    rules: list[Rule] = []
    for _ in range(draw(st.sampled_from([1, 2, 2, 3, 3, 4]))):
        grouped = tuple(draw(columns if same is None else st.permutations(same)))
        rules.append(_draw_rule(draw, grouped, draw(st.sampled_from(hidden)), types, source))
    if draw(st.integers(0, 3)) == 0:
        return [Crowd(draw(st.integers(1, 6)), grouping(rule)) for rule in rules]
    return rules


def _draw_rule(
    draw: st.DrawFn, grouped: tuple[str, ...], sensitive: str, types: dict[str, str], source: Source
) -> Rule:
    kind = draw(st.sampled_from(["k", "template", "distinct", "entropy", "t"]))
    if kind == "k":
        return Crowd(draw(st.integers(1, 6)), grouped)
    if kind == "t":
        ordered = types[sensitive] in ORDERED
        return Closeness(draw(st.sampled_from(DISTANCES)), sensitive, grouped, ordered)
    if kind == "distinct":
        return Diversity("distinct", Fraction(draw(st.integers(1, 3))), sensitive, grouped)
    if kind == "entropy":
        return Diversity("entropy", draw(st.sampled_from(DIVERSITIES)), sensitive, grouped)
    present = [*source.domain(sensitive), SECRETS[types[sensitive]]]
    values = st.lists(st.sampled_from(present), min_size=1, max_size=3, unique=True)
    protected = draw(st.none() | values)
    found = None if protected is None else tuple(protected)
    return Template(grouped, sensitive, found, draw(st.sampled_from(THRESHOLDS)))


def _draw_keep(draw: st.DrawFn, rules: list[Rule], extra: str) -> tuple[str, ...]:
    """Keep a column that no rule names, or one that a rule names (never all of those), or nothing."""
    named = list(dict.fromkeys(name for rule in rules for name in grouping(rule)))
    choices = [(), (), (extra,), (extra,)] + [(name,) for name in named[1:]]
    return draw(st.sampled_from(choices))


def _reached(case: Case, rule: Rule, target: str) -> Sequence[Fraction | float]:
    """What a rule measures of the most general table, or of the source."""
    tds = TDS(case.source, [rule], case.class_column, case.treatments, case.keep)
    return tds.measures(tds.table if target == "fits" else tds.state())


def _per_mille_up(value: Fraction) -> Fraction:
    """The least multiple of 0.1 %, above zero, that is not below the value."""
    return Fraction(max(1, -(-value.numerator * 1000 // value.denominator)), 1000)


def _loosened(rule: Rule, reached: Sequence[Fraction | float], slack: Fraction) -> Rule:
    """Loosen a rule until the most general table keeps it, in most cases with room for some steps."""
    if isinstance(rule, Crowd):
        return replace(rule, k=min(rule.k, int(reached[0])))
    if isinstance(rule, Closeness):
        return replace(rule, t=min(max(rule.t, Fraction(reached[0]) + slack), Fraction(1)))
    if isinstance(rule, Diversity):
        least = Fraction(int(reached[0] * 1000), 1000) if rule.kind == "entropy" else Fraction(reached[0])
        return replace(rule, l=max(min(rule.l, least), Fraction(1)))
    loosest = _per_mille_up(max(map(Fraction, reached), default=Fraction(0))) + slack
    return replace(rule, threshold=min(max(rule.threshold, loosest), Fraction(1)))
