"""Simple-Bayes posteriors of the identifiable records, as whole numbers that add up the same in any order.

Working tables:

- a lookup for each pack of attributes: ``code, likelihood_0, ...``, the product of its conditional
  probabilities under each confidential value, divided by the largest of them;
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
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.base.collapse import value_counts
from ppdm_sql.methods.swapping.identification import IdentifiableRecords, Pack

SCALE = 10**9
NEVER = {"INTEGER": -2 * 10**9, "BIGINT": -(10**15)}
"""Stands, by type, for the posterior of the true category, which no record may be changed to."""
MOST_PRODUCTS = 300
"""Decimal digits that a product may lose before logarithms are used."""


@dataclass(frozen=True)
class Candidates:
    table: Table
    keys: tuple[str, ...]  # tell its rows apart
    pattern: tuple[str, ...]  # of them, those of the pattern
    categories: int
    blurred: bool  # noise was added to p0, p1, ...; unblurred_0, ... are without it
    grouped: Counts  # rows that are members of groups, all of which must change, by category
    unique: Counts  # all others

    @property
    def rows(self) -> int:
        return int(self.grouped.sum() + self.unique.sum())


def candidates(
    engine: Engine,
    identified: IdentifiableRecords,
    *,
    per_group: int | Fraction,
    smoothing: float,
    blur: float,
    seed: bytes,
) -> Candidates:
    """Estimate the posteriors of every record that may change; a scan of the atoms for each pack.

    A probability that was counted as zero makes a posterior exactly zero; the true category's never is.

    Source: Li and Sarkar 2004, equation (10) and Appendix B.
    """
    totals: list[int] = value_counts(engine, identified.atoms, identified.confidential).tolist()
    logs = len(identified.by) * math.log10(sum(totals) + 1) > MOST_PRODUCTS
    conditionals, size = _conditionals(engine, identified, totals, smoothing), identified.categories
    lookups = [_lookup(engine, pack, conditionals, size, logs=logs) for pack in identified.packs]
    single = isinstance(per_group, int) and per_group == 1
    wanted = "1" if single else _wanted(per_group)
    rows = _plain(_weighted(identified, lookups, totals, wanted, logs=logs), size)
    keys = identified.keys
    if not single:
        keys, rows = (*keys, "member"), f"SELECT *, unnest(range(wanted)) AS member FROM ({rows})"
    columns = _columns(size, keys, blur, seed)
    table = engine.materialize("candidates", f"SELECT {', '.join([*keys, *columns])} FROM ({rows})")
    for lookup in (conditionals, *lookups):
        engine.discard(lookup)
    grouped = identified.groups if single else kind_counts(engine, table, size)[size:]
    return Candidates(table, keys, identified.keys, size, blur > 0, grouped, identified.unique)


def _conditionals(
    engine: Engine, identified: IdentifiableRecords, totals: Sequence[int], smoothing: float
) -> Table:
    """Estimate P(value | category) for all attributes: ``attribute, v, likelihood_0, ...``."""
    packed = " UNION ALL ".join(
        f"SELECT {place} AS pack, {pack.code()} AS code, c{identified.confidential} AS category, "
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
        f"/ ({max(total, 1)}::DOUBLE{added}) AS likelihood_{h}"
        for h, total in enumerate(totals)
    )
    query = f"SELECT attribute, v, {shares} FROM ({' UNION ALL '.join(values)}) GROUP BY attribute, v"
    conditionals = engine.materialize("conditionals", query)
    engine.discard(counts)
    return conditionals


def _lookup(engine: Engine, pack: Pack, conditionals: Table, categories: int, *, logs: bool) -> Table:
    """Multiply the probabilities of every combination of a pack's values, scaled by the largest product."""
    likelihoods = [f"likelihood_{h}" for h in range(categories)]
    joins = []
    values = zip(pack.attributes, pack.sizes, pack.strides, strict=True)
    for i, (attribute, size, stride) in enumerate(values):
        of_attribute = f"(SELECT * FROM {conditionals} WHERE attribute = {attribute}) AS a{i}"
        joins.append(f"JOIN {of_attribute} ON a{i}.v = p.code // {stride} % {size}")
    products = ", ".join(
        f"{' * '.join(f'a{i}.{name}' for i in range(len(pack.sizes)))} AS {name}" for name in likelihoods
    )
    scaled = [f"{name} / largest" for name in likelihoods]
    if logs:
        scaled = [
            f"CASE WHEN {name} > 0 THEN ln({ratio}) ELSE '-Infinity'::DOUBLE END"
            for name, ratio in zip(likelihoods, scaled, strict=True)
        ]
    listed = ", ".join(f"{ratio} AS {name}" for name, ratio in zip(likelihoods, scaled, strict=True))
    return engine.materialize(
        "lookup",
        f"SELECT code::UBIGINT AS code, {listed} "
        f"FROM (SELECT *, greatest({', '.join(likelihoods)}) AS largest "
        f"FROM (SELECT p.code, {products} FROM range({pack.size}) AS p (code) {' '.join(joins)}))",
    )


def _wanted(per_group: int | Fraction) -> str:
    if isinstance(per_group, int):
        asked = str(per_group)
    else:
        twice = 2 * per_group.denominator
        rounded = f"({2 * per_group.numerator} * records + {per_group.denominator}) // {twice}"
        asked = f"greatest(1, {rounded})"
    return f"CASE WHEN records = 1 THEN 1 ELSE least({asked}, records - 1) END"


def _weighted(
    identified: IdentifiableRecords,
    lookups: Sequence[Table],
    totals: Sequence[int],
    wanted: str,
    *,
    logs: bool,
) -> str:
    """Give SQL for the patterns with a likelihood for each category, proportional to the posterior."""
    columns = ", ".join(f"i.{key}" for key in identified.keys)
    rows = f"FROM {identified.patterns} AS i"
    # LEFT JOINs, since DuckDB reorders a star of inner joins badly
    for number, (pack, lookup) in enumerate(zip(identified.packs, lookups, strict=True)):
        rows += f" LEFT JOIN {lookup} AS l{number} ON l{number}.code = {pack.place('i')}"
    factors = [[f"l{n}.likelihood_{h}" for n in range(len(lookups))] for h in range(len(totals))]
    if not logs:
        products = ", ".join(
            f"{' * '.join(factor)} * {total}::DOUBLE AS likelihood_{h}"
            for h, (factor, total) in enumerate(zip(factors, totals, strict=True))
        )
        return f"SELECT {columns}, {wanted} AS wanted, i.category, i.records, {products} {rows}"
    sums = ", ".join(
        f"{' + '.join(factor)} + ln({max(total, 1)}::DOUBLE) AS log_{h}"
        for h, (factor, total) in enumerate(zip(factors, totals, strict=True))
    )
    largest = f"greatest({', '.join(f'log_{h}' for h in range(len(totals)))})"
    scaled = ", ".join(f"exp(log_{h} - {largest}) AS likelihood_{h}" for h in range(len(totals)))
    return (
        f"SELECT {', '.join(identified.keys)}, {wanted} AS wanted, category, records, {scaled} "
        f"FROM (SELECT {columns}, i.records, i.category, {sums} {rows})"
    )


def _columns(categories: int, keys: Sequence[str], blur: float, seed: bytes) -> list[str]:
    every = range(categories)
    number = "BIGINT" if blur else "INTEGER"
    posteriors = [
        f"CASE WHEN category = {h} THEN {NEVER[number]} "
        f"ELSE plain_{h}{gumbel_noise(blur, seed, keys, h)} END::{number} AS p{h}"
        for h in every
    ]
    unblurred = [f"plain_{h}::INTEGER AS unblurred_{h}" for h in every] if blur else []
    true_posterior = by_code("category", [f"plain_{h}" for h in every])
    kind = f"(category + CASE WHEN records > 1 THEN {categories} ELSE 0 END)::USMALLINT AS kind"
    return [kind, f"{true_posterior}::INTEGER AS true_posterior", *posteriors, *unblurred]


def _plain(weighted: str, categories: int) -> str:
    """Give SQL for the posteriors before noise, each computed once: DuckDB shares nothing between CASEs."""
    every = range(categories)
    total = " + ".join(f"likelihood_{h}" for h in every)
    shares = ", ".join(f"round(likelihood_{h} / total * 1e9) AS plain_{h}" for h in every)
    return f"SELECT *, {shares} FROM (SELECT *, {total} AS total FROM ({weighted}))"


def kind_counts(engine: Engine, table: Table, categories: int) -> Counts:
    """Count the rows of a table like ``candidates`` by kind: unique records by category, then members."""
    query = statements.bind("swapping/kind_counts", tables={"candidates": table})
    found = np.zeros(2 * categories, dtype=np.int64)
    for kind, records in engine.query(query, step="kind_counts"):
        found[kind] = records
    return found


def by_code(code: str, columns: Sequence[str]) -> str:
    """Give SQL for the value of that one of the columns whose place a code tells."""
    return f"CASE {code} {' '.join(f'WHEN {place} THEN {name}' for place, name in enumerate(columns))} END"


def keyed_hash(seed: bytes, columns: Sequence[str], purpose: str) -> str:
    """Give SQL for a text hash of a row's key that nobody can compute without the seed."""
    return f"md5(concat_ws(',', {', '.join([render(literal(seed.hex() + purpose)), *columns])}))"


HEX_DIGITS = 13
"""Hexadecimal digits of a hash that one draw uses: 52 bits, as many as a DOUBLE holds."""


def gumbel_noise(scale: float, seed: bytes, keys: Sequence[str], category: int) -> str:
    """Give SQL that adds a draw of the standard Gumbel distribution, times the scale, to a posterior.

    Choosing the best of values with Gumbel noise is choosing at random with probabilities proportional to
    ``exp(value / scale)``. The scale is in units of probability; 0 gives no noise.
    """
    if not scale:
        return ""
    digits = f"substr({keyed_hash(seed, keys, f'blur{category}')}, 1, {HEX_DIGITS})"
    uniform = f"((('0x' || {digits})::BIGINT + 0.5::DOUBLE) / {2.0 ** (4 * HEX_DIGITS)!r}::DOUBLE)"
    return f" - round({scale!r}::DOUBLE * 1e9 * ln(-ln({uniform})))"
