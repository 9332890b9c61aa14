"""The records that may change: those that their other columns give away, and what values they could have.

A record's *pattern* is what its non-confidential columns show. A pattern is packed into a key: one number,
seldom more. Working tables:

- ``identifiable``, one row per identifiable pattern: its key ``w0[, w1 ...]``, ``records``, ``category``;
- a lookup for each pack of attributes: ``code, likelihood_0, ...``, the product of its conditional
  probabilities under each confidential value, divided by the largest of them;
- ``candidates``, one row per record that may change (of a group, as many rows as must change): the pattern's
  key, ``member`` where a pattern has several rows, ``kind`` (the true category, plus the number of categories
  for a member of a group), ``true_posterior`` and ``p0, p1, ...``: simple-Bayes posteriors in units of
  1 / :data:`SCALE`, whole numbers that add up the same in any order (the one of the true category is
  ``true_posterior``, and :data:`NEVER` in its place).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.base.collapse import Atoms, value_counts

SCALE = 10**9
NEVER = {"INTEGER": -2 * 10**9, "BIGINT": -(10**15)}
"""Stands, by type, for the posterior of the true category, which no record may be changed to."""
MOST_PRODUCTS = 300
"""Decimal digits that a product may lose before logarithms are used."""


LARGEST_PACK, LARGEST_WORD = 4096, 2**63
"""Combinations of values that are looked up together, and numbers that a word of a key tells apart."""


@dataclass(frozen=True)
class Pack:
    """Attributes that are looked up together: positions, the fastest running first, and numbers of codes."""

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    word: int = 0  # of the pattern's key, that holds the pack
    stride: int = 1  # place of the pack in the word

    @property
    def size(self) -> int:
        return prod(self.sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(prod(self.sizes[:i]) for i in range(len(self.sizes)))

    def code(self, stride: int = 1) -> str:
        """Give SQL for the pack's number, times its place in a word, over the atoms."""
        pairs = zip(self.attributes, self.strides, strict=True)
        return " + ".join(f"c{a}::UBIGINT * {stride * own}" for a, own in pairs)

    def place(self, alias: str) -> str:
        return f"({alias}.w{self.word} // {self.stride}::UBIGINT) % {self.size}::UBIGINT"


def packs_of(sizes: Mapping[int, int]) -> tuple[Pack, ...]:
    together: list[list[int]] = []
    for attribute in sorted(sizes, key=lambda attribute: (sizes[attribute], attribute)):
        last = together[-1] if together else []
        if last and prod(sizes[a] for a in last) * sizes[attribute] <= LARGEST_PACK:
            last.append(attribute)
        else:
            together.append([attribute])
    packs, word, stride = list[Pack](), 0, 1
    for attributes in together:
        pack = Pack(tuple(attributes), tuple(sizes[a] for a in attributes))
        if packs and stride * pack.size > LARGEST_WORD:
            word, stride = word + 1, 1
        packs.append(Pack(pack.attributes, pack.sizes, word, stride))
        stride *= pack.size
    return tuple(packs)


@dataclass(frozen=True)
class IdentifiableRecords:
    atoms: Atoms
    by: tuple[int, ...]
    confidential: int
    packs: tuple[Pack, ...]
    words: tuple[str, ...]  # of a pattern's key, as SQL over the columns of the atoms
    patterns: Table
    unique: Counts  # uniquely identifiable records by category
    groups: Counts  # groups of collectively identifiable ones
    grouped: Counts  # records in these groups

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"w{i}" for i in range(len(self.words)))

    @property
    def categories(self) -> int:
        return self.atoms.coded[self.confidential].size

    def words_of(self, alias: str) -> tuple[str, ...]:
        return tuple(word.replace("c", f"{alias}.c") for word in self.words)


def identify(engine: Engine, atoms: Atoms, by: Sequence[int], confidential: int) -> IdentifiableRecords:
    """Find those whose pattern has one confidential value only (Li and Sarkar 2004, Definition 2)."""
    packs = packs_of({position: atoms.coded[position].size for position in by})
    terms: dict[int, list[str]] = {}
    for pack in packs:
        terms.setdefault(pack.word, []).append(pack.code(pack.stride))
    words = tuple(" + ".join(parts) for parts in terms.values())
    keys = [f"{word} AS w{i}" for i, word in enumerate(words)]
    positions = ", ".join(str(i + 1) for i in range(len(words)))
    value = f"c{confidential}"
    patterns = engine.materialize(
        "identifiable",
        f"SELECT {', '.join(keys)}, sum(n)::BIGINT AS records, min({value})::USMALLINT AS category "
        f"FROM {atoms.table} GROUP BY {positions} HAVING min({value}) = max({value})",
    )
    totals = statements.bind("swapping/identifiable_totals", tables={"identifiable": patterns})
    rows = engine.arrays(totals, step="identifiable_totals")
    counts = np.zeros((3, atoms.coded[confidential].size), dtype=np.int64)
    counts[:, rows["category"].astype(np.int64)] = [rows[name] for name in ("unique", "groups", "grouped")]
    return IdentifiableRecords(atoms, tuple(by), confidential, packs, words, patterns, *counts)


# -- what values they could have --------------------------------------------------------------------


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
    identifiable: IdentifiableRecords,
    per_group: int | Fraction,
    smoothing: float,
    blur: float,
    seed: bytes,
) -> Candidates:
    """Estimate the posteriors of every record that may change; a scan of the atoms for each pack.

    A probability that was counted as zero makes a posterior exactly zero; the true category's never is.

    Source: Li and Sarkar 2004, equation (10) and Appendix B.
    """
    totals: list[int] = value_counts(engine, identifiable.atoms, identifiable.confidential).tolist()
    logs = len(identifiable.by) * math.log10(sum(totals) + 1) > MOST_PRODUCTS
    conditionals, size = _conditionals(engine, identifiable, totals, smoothing), identifiable.categories
    lookups = [_lookup(engine, pack, conditionals, size, logs=logs) for pack in identifiable.packs]
    single = isinstance(per_group, int) and per_group == 1
    changes = "1" if single else _changes_of_pattern(per_group)
    rows = _posteriors(identifiable, lookups, totals, changes, logs)
    keys = identifiable.keys
    if not single:
        keys, rows = (*keys, "member"), f"SELECT *, unnest(range(changes)) AS member FROM ({rows})"
    columns = _columns(size, keys, blur, seed)
    table = engine.materialize("candidates", f"SELECT {', '.join([*keys, *columns])} FROM ({rows})")
    for lookup in (conditionals, *lookups):
        engine.discard(lookup)
    grouped = identifiable.groups if single else kind_counts(engine, table, size)[size:]
    return Candidates(table, keys, identifiable.keys, size, blur > 0, grouped, identifiable.unique)


def _conditionals(
    engine: Engine, identifiable: IdentifiableRecords, totals: Sequence[int], smoothing: float
) -> Table:
    by_pack = " UNION ALL ".join(
        f"SELECT {place} AS pack, {pack.code()} AS code, c{identifiable.confidential} AS category, "
        f"sum(n)::BIGINT AS n FROM {identifiable.atoms.table} GROUP BY ALL"
        for place, pack in enumerate(identifiable.packs)
    )
    counts = engine.materialize("pack_counts", by_pack)
    values, sizes = [], ["CASE attribute"]
    for place, pack in enumerate(identifiable.packs):
        for attribute, size, stride in zip(pack.attributes, pack.sizes, pack.strides, strict=True):
            values.append(
                f"SELECT {attribute} AS attribute, code // {stride} % {size} AS v, category, n "
                f"FROM {counts} WHERE pack = {place}"
            )
            sizes.append(f"WHEN {attribute} THEN {size}")
    pseudocounts = f" + {smoothing!r}::DOUBLE * {' '.join(sizes)} END" if smoothing else ""
    shares = ", ".join(
        f"(sum(CASE WHEN category = {h} THEN n ELSE 0 END) + {smoothing!r}::DOUBLE) "
        f"/ ({max(total, 1)}::DOUBLE{pseudocounts}) AS likelihood_{h}"
        for h, total in enumerate(totals)
    )
    query = f"SELECT attribute, v, {shares} FROM ({' UNION ALL '.join(values)}) GROUP BY attribute, v"
    conditionals = engine.materialize("conditionals", query)
    engine.discard(counts)
    return conditionals


def _lookup(engine: Engine, pack: Pack, conditionals: Table, categories: int, *, logs: bool) -> Table:
    """The largest product scales the others, so that few become zero."""
    likelihoods = [f"likelihood_{h}" for h in range(categories)]
    joins = []
    values = zip(pack.attributes, pack.sizes, pack.strides, strict=True)
    for i, (attribute, size, stride) in enumerate(values):
        of_attribute = f"(SELECT * FROM {conditionals} WHERE attribute = {attribute}) AS a{i}"
        joins.append(f"JOIN {of_attribute} ON a{i}.v = p.code // {stride} % {size}")
    products = ", ".join(
        f"{' * '.join(f'a{i}.{name}' for i in range(len(pack.sizes)))} AS {name}" for name in likelihoods
    )
    ratios = [f"{name} / largest" for name in likelihoods]
    if logs:
        ratios = [
            f"CASE WHEN {name} > 0 THEN ln({ratio}) ELSE '-Infinity'::DOUBLE END"
            for name, ratio in zip(likelihoods, ratios, strict=True)
        ]
    columns = ", ".join(f"{ratio} AS {name}" for name, ratio in zip(likelihoods, ratios, strict=True))
    return engine.materialize(
        "lookup",
        f"SELECT code::UBIGINT AS code, {columns} "
        f"FROM (SELECT *, greatest({', '.join(likelihoods)}) AS largest "
        f"FROM (SELECT p.code, {products} FROM range({pack.size}) AS p (code) {' '.join(joins)}))",
    )


def _changes_of_pattern(per_group: int | Fraction) -> str:
    if isinstance(per_group, int):
        number = str(per_group)
    else:
        twice = 2 * per_group.denominator
        rounded_share = f"({2 * per_group.numerator} * records + {per_group.denominator}) // {twice}"
        number = f"greatest(1, {rounded_share})"
    return f"CASE WHEN records = 1 THEN 1 ELSE least({number}, records - 1) END"


def _posteriors(
    identifiable: IdentifiableRecords, lookups: list[Table], totals: list[int], changes: str, logs: bool
) -> str:
    columns = ", ".join(f"i.{key}" for key in identifiable.keys)
    rows = f"FROM {identifiable.patterns} AS i"
    # LEFT JOINs, since DuckDB reorders a star of inner joins badly
    for number, (pack, lookup) in enumerate(zip(identifiable.packs, lookups, strict=True)):
        rows += f" LEFT JOIN {lookup} AS l{number} ON l{number}.code = {pack.place('i')}"
    every = range(len(totals))
    factors = [[f"l{n}.likelihood_{h}" for n in range(len(lookups))] for h in every]
    for factor, total in zip(factors, totals, strict=True):
        factor.append(f"ln({max(total, 1)}::DOUBLE)" if logs else f"{total}::DOUBLE")
    word, name = (" + ", "log") if logs else (" * ", "likelihood")
    weights = ", ".join(f"{word.join(factor)} AS {name}_{h}" for h, factor in enumerate(factors))
    query = f"SELECT {columns}, {changes} AS changes, i.category, i.records, {weights} {rows}"
    if logs:
        largest = f"greatest({', '.join(f'log_{h}' for h in every)})"
        likelihoods = ", ".join(f"exp(log_{h} - {largest}) AS likelihood_{h}" for h in every)
        query = f"SELECT *, {likelihoods} FROM ({query})"
    likelihood_sum = " + ".join(f"likelihood_{h}" for h in every)
    # each computed once: DuckDB shares nothing between CASEs
    shares = ", ".join(f"round(likelihood_{h} / total * 1e9) AS plain_{h}" for h in every)
    return f"SELECT *, {shares} FROM (SELECT *, {likelihood_sum} AS total FROM ({query}))"


def _columns(categories: int, keys: Sequence[str], blur: float, seed: bytes) -> list[str]:
    every = range(categories)
    number = "BIGINT" if blur else "INTEGER"
    posteriors = [
        f"CASE WHEN category = {h} THEN {NEVER[number]} "
        f"ELSE plain_{h}{_gumbel_noise(blur, seed, keys, h)} END::{number} AS p{h}"
        for h in every
    ]
    unblurred = [f"plain_{h}::INTEGER AS unblurred_{h}" for h in every] if blur else []
    true_posterior = by_code("category", [f"plain_{h}" for h in every])
    kind = f"(category + CASE WHEN records > 1 THEN {categories} ELSE 0 END)::USMALLINT AS kind"
    return [kind, f"{true_posterior}::INTEGER AS true_posterior", *posteriors, *unblurred]


def kind_counts(engine: Engine, table: Table, categories: int) -> Counts:
    """Count by kind: unique records by category, then members."""
    query = statements.bind("swapping/kind_counts", tables={"candidates": table})
    counts = np.zeros(2 * categories, dtype=np.int64)
    for kind, records in engine.query(query, step="kind_counts"):
        counts[kind] = records
    return counts


def by_code(code: str, columns: Sequence[str]) -> str:
    return f"CASE {code} {' '.join(f'WHEN {place} THEN {name}' for place, name in enumerate(columns))} END"


def keyed_hash(seed: bytes, columns: Sequence[str], purpose: str) -> str:
    """Give SQL for a text hash of a row's key that nobody can compute without the seed."""
    return f"md5(concat_ws(',', {', '.join([render(literal(seed.hex() + purpose)), *columns])}))"


def _gumbel_noise(scale: float, seed: bytes, keys: Sequence[str], category: int) -> str:
    """Give SQL that adds noise with which the best value is chosen at random, by ``exp(value / scale)``."""
    if not scale:
        return ""
    # 52 bits of the hash, as many as a DOUBLE holds
    digits = f"substr({keyed_hash(seed, keys, f'blur{category}')}, 1, 13)"
    uniform = f"((('0x' || {digits})::BIGINT + 0.5::DOUBLE) / {2.0**52!r}::DOUBLE)"
    return f" - round({scale!r}::DOUBLE * 1e9 * ln(-ln({uniform})))"
