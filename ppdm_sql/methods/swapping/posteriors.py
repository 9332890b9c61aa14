"""Simple-Bayes posteriors of the identifiable records, as whole numbers that add up the same in any order.

Working tables:

- a lookup for each pack of attributes: ``code, x0, x1, ...``, the product of the conditional probabilities
  under each confidential value, divided by the largest of them;
- ``candidates``, one row per record that may change (of a group, as many rows as must change): the pattern's
  key, ``member`` where a pattern has several rows, ``kind`` (the true category, plus the number of categories
  for a member of a group), ``true_posterior`` and ``p0, p1, ...`` (posteriors in units of 1 / :data:`SCALE`;
  the one of the true category is ``true_posterior``, and :data:`NEVER` in its place).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping.gumbel_noise import noise
from ppdm_sql.methods.swapping.identification import Counts, Identifiable
from ppdm_sql.methods.swapping.packed_patterns import Pack

SCALE = 10**9
NEVER = {"INTEGER": -2 * 10**9, "BIGINT": -(10**15)}
"""Stands, by type, for the posterior of the true category, which no record may be changed to."""
MOST_PRODUCTS = 300
"""Decimal digits that a product may lose before logarithms are used."""


@dataclass(frozen=True)
class Candidates:
    """The records that may change, with their posteriors.

    Args:
        table: The working table ``candidates``.
        keys: Columns that tell its rows apart.
        pattern: Columns of the pattern's key.
        categories: Number of confidential values.
        blurred: Whether noise was added to ``p0, p1, ...``; then ``unblurred_0, ...`` are without it.
        grouped: Rows that are members of groups, by category; all of them must change.
        unique: Rows that are not, by category.
    """

    table: Table
    keys: tuple[str, ...]
    pattern: tuple[str, ...]
    categories: int
    blurred: bool
    grouped: Counts
    unique: Counts

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.grouped.sum() + self.unique.sum())


def candidates(
    engine: Engine,
    identified: Identifiable,
    *,
    per_group: int | Fraction,
    smoothing: float,
    blur: float,
    seed: bytes,
) -> Candidates:
    """Estimate the posteriors of every record that may change.

    A probability that was counted as zero makes a posterior exactly zero; the true category's never is.

    Args:
        engine: Where the atoms are.
        identified: The identifiable patterns.
        per_group: Records to change in each group: so many, or this proportion; never all, never none.
        smoothing: Added to every count of a value and category.
        blur: Scale of the noise, 0 for none.
        seed: Source of the noise.

    Cost: one scan of the atoms for each pack, one of the identifiable patterns.

    Source: Li and Sarkar 2004, equation (10) and Appendix B.
    """
    totals = _totals(engine, identified)
    logs = len(identified.by) * math.log10(sum(totals) + 1) > MOST_PRODUCTS
    known = _probabilities(engine, identified, totals, smoothing)
    lookups = [_lookup(engine, pack, known, identified.categories, logs=logs) for pack in identified.packs]
    single = isinstance(per_group, int) and per_group == 1
    wanted = "1" if single else _wanted(per_group)
    weighed = _weighed(identified, lookups, totals, wanted, logs=logs)
    keys = identified.keys if single else (*identified.keys, "member")
    columns = _columns(identified.categories, keys, blur, seed)
    if not single:
        weighed = f"SELECT *, unnest(range(wanted)) AS member FROM ({weighed})"
    table = engine.materialize("candidates", f"SELECT {', '.join([*keys, *columns])} FROM ({weighed})")
    for lookup in (known, *lookups):
        engine.discard(lookup)
    grouped = identified.groups if single else _members_to_change(engine, table, identified.categories)
    return Candidates(
        table, keys, identified.keys, identified.categories, blur > 0, grouped, identified.unique.copy()
    )


def _totals(engine: Engine, identified: Identifiable) -> list[int]:
    """Count the records of each confidential value."""
    query = statements.bind(
        "swapping/category_totals",
        tables={"atoms": identified.atoms.table},
        columns={"code": [f"c{identified.confidential}"]},
    )
    found: dict[int, int] = dict(engine.query(query, step="category_totals"))
    return [found.get(h, 0) for h in range(identified.categories)]


def _probabilities(
    engine: Engine, identified: Identifiable, totals: Sequence[int], smoothing: float
) -> Table:
    """Count the values of all attributes: ``attribute, v`` and the probability under each category."""
    packed = " UNION ALL ".join(
        f"SELECT {place} AS pack, {pack.code} AS code, c{identified.confidential} AS category, "
        f"sum(n)::BIGINT AS n FROM {identified.atoms.table} GROUP BY ALL"
        for place, pack in enumerate(identified.packs)
    )
    counts = engine.materialize("pack_counts", packed)
    values, sizes = [], ["CASE attribute"]
    for place, pack in enumerate(identified.packs):
        for attribute, size, stride in zip(pack.attributes, pack.sizes, pack.strides, strict=True):
            values.append(
                f"SELECT {attribute} AS attribute, code // {stride} % {size} AS v, category, n "
                f"FROM {counts} WHERE pack = {place}"
            )
            sizes.append(f"WHEN {attribute} THEN {size}")
    added = f" + {smoothing!r}::DOUBLE * {' '.join(sizes)} END" if smoothing else ""
    shares = ", ".join(
        f"(sum(CASE WHEN category = {h} THEN n ELSE 0 END) + {smoothing!r}::DOUBLE) "
        f"/ ({max(total, 1)}::DOUBLE{added}) AS x{h}"
        for h, total in enumerate(totals)
    )
    query = f"SELECT attribute, v, {shares} FROM ({' UNION ALL '.join(values)}) GROUP BY attribute, v"
    probabilities = engine.materialize("probabilities", query)
    engine.discard(counts)
    return probabilities


def _lookup(engine: Engine, pack: Pack, known: Table, categories: int, *, logs: bool) -> Table:
    """Multiply the probabilities of every combination of a pack's values that are known one by one."""
    every, joins = range(categories), []
    for i, (attribute, size, stride) in enumerate(
        zip(pack.attributes, pack.sizes, pack.strides, strict=True)
    ):
        values = f"(SELECT * FROM {known} WHERE attribute = {attribute}) AS a{i}"
        joins.append(f"JOIN {values} ON a{i}.v = p.code // {stride} % {size}")
    products = [" * ".join(f"a{i}.x{h}" for i in range(len(pack.sizes))) for h in every]
    raw = (
        f"SELECT p.code, {', '.join(f'{product} AS x{h}' for h, product in enumerate(products))} "
        f"FROM range({pack.size}) AS p (code) {' '.join(joins)}"
    )
    largest = f"greatest({', '.join(f'x{h}' for h in every)})"
    return engine.materialize(
        "lookup",
        f"SELECT code::UBIGINT AS code, {', '.join(f'{_scaled(h, logs=logs)} AS x{h}' for h in every)} "
        f"FROM (SELECT *, {largest} AS largest FROM ({raw}))",
    )


def _scaled(category: int, *, logs: bool) -> str:
    ratio = f"x{category} / largest"
    return f"CASE WHEN x{category} > 0 THEN ln({ratio}) ELSE '-Infinity'::DOUBLE END" if logs else ratio


def _wanted(per_group: int | Fraction) -> str:
    """Give SQL for how many records of a pattern may change."""
    if isinstance(per_group, int):
        asked = str(per_group)
    else:
        twice = 2 * per_group.denominator
        rounded = f"({2 * per_group.numerator} * records + {per_group.denominator}) // {twice}"
        asked = f"greatest(1, {rounded})"
    return f"CASE WHEN records = 1 THEN 1 ELSE least({asked}, records - 1) END"


def _weighed(
    identified: Identifiable,
    lookups: Sequence[Table],
    totals: Sequence[int],
    wanted: str,
    *,
    logs: bool,
) -> str:
    """Give SQL for the patterns with a weight for each category, proportional to the posterior."""
    columns = [f"i.{key}" for key in identified.keys]
    joins = []
    for number, (pack, lookup) in enumerate(zip(identified.packs, lookups, strict=True)):
        place = pack.place.replace(f"w{pack.word}", f"i.w{pack.word}")
        joins.append(f"LEFT JOIN {lookup} AS l{number} ON l{number}.code = {place}")
    terms = [[f"l{number}.x{h}" for number in range(len(lookups))] for h in range(identified.categories)]
    if logs:
        sums = [
            f"{' + '.join(term)} + ln({max(total, 1)}::DOUBLE)"
            for term, total in zip(terms, totals, strict=True)
        ]
        largest = f"greatest({', '.join(f'y{h}' for h in range(len(sums)))})"
        inner = ", ".join(f"{total} AS y{h}" for h, total in enumerate(sums))
        weights = ", ".join(f"exp(y{h} - {largest}) AS x{h}" for h in range(len(sums)))
        start = f"SELECT {', '.join(columns)}, i.records, i.category, {inner} FROM {identified.patterns} AS i"
        listed = f"{', '.join(identified.keys)}, {wanted} AS wanted, category, records, {weights}"
        return f"SELECT {listed} FROM ({start} {' '.join(joins)})"
    weights = ", ".join(
        f"{' * '.join(term)} * {total}::DOUBLE AS x{h}"
        for h, (term, total) in enumerate(zip(terms, totals, strict=True))
    )
    return (
        f"SELECT {', '.join(columns)}, {wanted} AS wanted, i.category, i.records, {weights} "
        f"FROM {identified.patterns} AS i {' '.join(joins)}"
    )


def _columns(categories: int, keys: Sequence[str], blur: float, seed: bytes) -> list[str]:
    every = range(categories)
    total = "(" + " + ".join(f"x{h}" for h in every) + ")"
    plain = [f"round(x{h} / {total} * 1e9)" for h in every]
    number = "BIGINT" if blur else "INTEGER"
    posteriors = [
        f"CASE WHEN category = {h} THEN {NEVER[number]} "
        f"ELSE {plain[h] + noise(blur, seed, keys, h)} END::{number} AS p{h}"
        for h in every
    ]
    unblurred = [f"{plain[h]}::INTEGER AS unblurred_{h}" for h in every] if blur else []
    true_posterior = "CASE category " + " ".join(f"WHEN {h} THEN {plain[h]}" for h in every) + " END"
    kind = f"(category + CASE WHEN records > 1 THEN {categories} ELSE 0 END)::USMALLINT AS kind"
    return [kind, f"{true_posterior}::INTEGER AS true_posterior", *posteriors, *unblurred]


def _members_to_change(engine: Engine, table: Table, categories: int) -> Counts:
    query = statements.bind("swapping/kind_counts", tables={"candidates": table})
    found = np.zeros(2 * categories, dtype=np.int64)
    for kind, records in engine.query(query, step="kind_counts"):
        found[kind] = records
    return found[categories:]
