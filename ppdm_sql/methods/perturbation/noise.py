"""The noise of one column: what it is, and how it is written and read.

The language is the same in the CLI, in Python, in the catalogue and in the comments of a release::

    salary=gaussian 100%                        a privacy level, at 95 % confidence
    salary=gaussian 100% at 99.9%               at another confidence
    salary=gaussian 2500 on 20000,150000        a scale, here sigma, and the domain of the original
    age=uniform 0.5 on 17,90 whole rounded      half the width; whole numbers, rounded to whole numbers
    age=cells 5, age=cells 5 equal-frequency, age=cells 0,20,40,80
    job=retain 0.7 of clerk,'it''s complicated'

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 2; for ``retain`` Warner
1965, "Randomized Response".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal, cast

from ppdm_sql.engine import Column, Engine, statements, types
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, by_name, column, listed, quoted, resolve
from ppdm_sql.engine.source import is_stand_in, over, source_of
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import InvalidOption, InvalidSource, kind_of
from ppdm_sql.methods.perturbation.privacy_level import CONFIDENCE, scale_for
from ppdm_sql.privacy.quoting import read_share
from ppdm_sql.release import releases
from ppdm_sql.release.publishing import NOISE_COMMENTS

Kind = Literal["gaussian", "uniform", "cells", "retain"]
Binning = Literal["equal-width", "equal-frequency"]


@dataclass(frozen=True)
class Domain:
    """What the original values of a column can be."""

    lower: float  # the least value
    upper: float  # the largest value, above `lower`
    whole: bool = False  # whether they are whole numbers only

    @property
    def width(self) -> float:
        """The range to which privacy levels refer."""
        return self.upper - self.lower


SMALLEST = 2.0**-900
"""Scale of noise that is to be rounded to a millionth of it, and squared."""
LARGEST = 1e140
"""Numbers above this have squares whose sum may be infinite."""


@dataclass(frozen=True)
class AdditiveNoise:
    """Noise with mean 0 that is added to the value: value distortion (section 2 of the paper)."""

    scale: float  # above 0, in the column's unit
    domain: Domain  # of the original values
    rounded: bool = False  # whether the noisy value is rounded to the grid of the original


class Gaussian(AdditiveNoise):
    """Normal noise; the scale is its standard deviation."""


class Uniform(AdditiveNoise):
    """Noise spread evenly over [-scale, scale]."""


@dataclass(frozen=True)
class Cells:
    """Value-class membership: the value is replaced by the label of its cell."""

    # the bounds of the cells, ascending, one more than cells. Cells hold their lower edge, the last one its
    # upper edge, too.
    edges: tuple[float, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in order: ``[0, 20)``, the last one ``[20, 40]``."""
        bounds = [f"[{number_text(a)}, {number_text(b)}" for a, b in pairwise(self.edges)]
        return (*(f"{text})" for text in bounds[:-1]), f"{bounds[-1]}]")


@dataclass(frozen=True)
class Retain:
    """Randomized response: the value is kept, or else replaced by any of the values, each as likely."""

    probability: float  # that it is kept, in (0, 1)
    values: tuple[str, ...]  # all values of the domain, at least two; the own value among them


Noise = AdditiveNoise | Cells | Retain


@dataclass(frozen=True)
class NoiseSpec:
    """Noise as it is specified; a level becomes a scale, and a number of cells edges, on a domain."""

    column: str  # the column, `""` where the text names none
    kind: Kind  # of noise
    # A scale, a privacy level (1.0 is 100 %), a number of cells, or a probability; 0 where edges are given
    amount: float = 0.0
    level: bool = False  # whether `amount` is a privacy level
    confidence: float = CONFIDENCE  # at which, in (0, 1)
    domain: Domain | None = None  # of the original values, where it is given
    rounded: bool = False  # whether noisy values are rounded to the grid of the original
    edges: tuple[float, ...] = ()  # of the cells, where they are given
    binning: Binning = "equal-width"  # how a number of cells is cut
    values: tuple[str, ...] = ()  # of the domain of categories, where they are given


def resolve_noise(spec: NoiseSpec, domain: Domain | None = None, values: Sequence[str] = ()) -> Noise:
    """Give the noise that is meant, on a domain; what the specification itself says comes first."""
    if spec.kind == "retain":
        values = spec.values or tuple(values)
        if len(set(values)) < 2:
            name = spec.column or "job"
            raise InvalidOption(
                f"Column {spec.column!r} has fewer than two values, so there is nothing to replace one by.",
                f"List all possible values, such as --noise {name}=retain 0.7 of clerk,nurse.",
            )
        return Retain(spec.amount, values)
    if spec.kind == "cells" and spec.edges:
        return Cells(spec.edges)
    domain = spec.domain or domain
    if domain is None:
        raise InvalidOption(
            f"The range of the original values of {spec.column!r} is not known.",
            f"Give it, such as --range {spec.column or 'salary'}=20000,150000.",
        )
    if not (math.isfinite(domain.width) and domain.width > 0):
        raise InvalidOption(
            f"The range of {spec.column!r} holds a single value or is not finite, which measures no noise.",
            f"Give that of all possible values, such as --range {spec.column or 'salary'}=20000,150000.",
        )
    scale = spec.amount
    if spec.level:
        scale = scale_for(spec.kind, spec.amount, domain.width, spec.confidence)
    if max(-domain.lower, domain.upper, scale) > LARGEST:
        raise InvalidOption(
            f"Values or noise of {spec.column!r} are too large for their variance to be a number.",
            "Give it in another unit, in a view.",
        )
    if spec.kind == "cells":
        return _equal_cells(spec, domain)
    if scale < SMALLEST:
        raise InvalidOption(
            f"The noise of {spec.column!r} is too small to compute with.",
            f"Write the column in another unit, or give a scale: --noise {spec.column or 'n'}=gaussian 1.",
        )
    return (Gaussian if spec.kind == "gaussian" else Uniform)(scale, domain, spec.rounded)


def _equal_cells(spec: NoiseSpec, domain: Domain) -> Cells:
    if spec.binning == "equal-frequency":
        raise InvalidOption(
            f"Cells of equal frequency of {spec.column!r} can be cut only where the original values are.",
            f"Give their edges, such as --noise {spec.column or 'age'}=cells 0,20,40,80.",
        )
    cells = int(spec.amount)
    inner = (domain.lower + domain.width * cell / cells for cell in range(1, cells))
    return Cells((domain.lower, *inner, domain.upper))


def rounding_of(noise: AdditiveNoise) -> float:
    """Give the unit to which noisy values are rounded, or its upper bound where decimals are kept."""
    if noise.rounded:
        return 1.0 if noise.domain.whole else min(1.0, noise.scale)
    # a power of two, so that the last bits of a sum do not tell what was added (Mironov 2012, "On
    # Significance of the Least Significant Bits for Differential Privacy")
    return float(2.0 ** (math.floor(math.log2(noise.scale)) - 20))


def released_values(noise: Cells | Retain) -> tuple[str, ...]:
    return noise.labels if isinstance(noise, Cells) else noise.values


def noise_kind(noise: Noise) -> Kind:
    return cast(Kind, type(noise).__name__.lower())


def as_json(noise: Noise) -> dict[str, Any]:
    fields = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(noise).items()}
    return {"kind": noise_kind(noise), **fields}


def from_json(record: Mapping[str, Any]) -> Noise:
    kind, fields = record["kind"], {name: value for name, value in record.items() if name != "kind"}
    if kind == "cells":
        return Cells(tuple(fields["edges"]))
    if kind == "retain":
        return Retain(fields["probability"], tuple(fields["values"]))
    fields["domain"] = Domain(**fields["domain"])
    return Gaussian(**fields) if kind == "gaussian" else Uniform(**fields)


def as_text(noise: Noise) -> str:
    """Write the noise in the language, exactly and with all that a reader needs to resolve it."""
    match noise:
        case Cells(edges):
            return f"cells {','.join(map(number_text, edges))}"
        case Retain(probability, values):
            return f"retain {number_text(probability)} of {','.join(map(_value_text, values))}"
        case _:
            domain = noise.domain
            bounds = f"on {number_text(domain.lower)},{number_text(domain.upper)}"
            words = [noise_kind(noise), number_text(noise.scale), bounds]
            return " ".join([*words, *["whole"] * domain.whole, *["rounded"] * noise.rounded])


def _value_text(value: str) -> str:
    return value if re.fullmatch(r"[\w.+-]+", value) else "'" + value.replace("'", "''") + "'"


def number_text(value: float) -> str:
    """Write a number so that it is read back exactly, a whole one without a decimal point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


_NOISE = re.compile(
    r"""\s*(?:(?P<column>"(?:[^"]|"")+"|[^="']+?)\s*=)?\s*(?P<kind>gaussian|uniform|cells|retain)\s+(?P<rest>.+)""",
    re.DOTALL | re.IGNORECASE,
)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_AMOUNT = re.compile(rf"({_NUMBER})\s*(%?)(?=\s|$)")
_LIST = re.compile(rf"{_NUMBER}(?:\s*,\s*{_NUMBER})+(?=\s|$)")
_CLAUSE = re.compile(
    rf"\s+(?:at\s+(?P<at>{_NUMBER}\s*%?)|on\s+(?P<on>{_NUMBER}\s*,\s*{_NUMBER})|(?P<word>whole|rounded))(?=\s|$)",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^,']+?))\s*(?:,|$)")
_EXAMPLES: dict[str, str] = {
    "gaussian": "gaussian 100%, gaussian 2500, or gaussian 100% at 99.9% on 20000,150000 rounded",
    "uniform": "uniform 100%, uniform 0.5, or uniform 100% at 99.9% on 20000,150000 rounded",
    "cells": "cells 5, cells 5 equal-frequency, or cells 0,20,40,80",
    "retain": "retain 0.7, retain 70%, or retain 0.7 of clerk,'night nurse'",
}


def parse_noise(text: str, column: str = "") -> NoiseSpec:
    """Read the noise that is specified for one column; the text need not name it if ``column`` does."""
    if not isinstance(text, str):
        raise InvalidOption(
            f"Noise is given as a text, not as {kind_of(text)}.", "Write it as 'gaussian 100%'."
        )
    match = _NOISE.fullmatch(text)
    if match is None:
        raise InvalidOption(
            f"--noise {text!r} cannot be read.", "Write it as --noise 'salary=gaussian 100%', for instance."
        )
    kind, rest = cast(Kind, match["kind"].lower()), match["rest"].strip()
    name = (match["column"] or "").strip()
    name = name[1:-1].replace('""', '"') if name.startswith('"') else name
    spec = NoiseSpec(name or column, kind)
    if kind == "cells":
        return _cells(spec, rest, text)
    return _retain(spec, rest, text) if kind == "retain" else _additive(spec, rest, text)


def parse_all_noise(texts: Mapping[str, str] | Sequence[str]) -> list[NoiseSpec]:
    if isinstance(texts, str):
        texts = [texts]
    if isinstance(texts, Mapping):
        return [parse_noise(text, column) for column, text in by_name(texts, "noise").items()]
    texts = listed(texts, "Noises")
    specs = [parse_noise(text) for text in texts]
    for text, spec in zip(texts, specs, strict=True):
        if not spec.column:
            raise InvalidOption(f"--noise {text!r} names no column.", f"Write it as --noise 'salary={text}'.")
    return specs


def written_name(column: str) -> str:
    """Write a column's name as it stands before ``=``, in quotes where it needs them."""
    plain = re.fullmatch(r"[^=\"'\s](?:[^=\"']*[^=\"'\s])?", column) is not None
    return column if plain else quoted(column)


def _noise_error(spec: NoiseSpec, text: str, why: str) -> InvalidOption:
    return InvalidOption(f"--noise {text!r} cannot be used: {why}.", f"Write it as {_EXAMPLES[spec.kind]}.")


def _additive(spec: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    """Read a scale or level and the clauses that follow it."""
    match = _AMOUNT.match(rest)
    if match is None:
        raise _noise_error(spec, text, "there is no scale or privacy level")
    level = bool(match[2])
    amount = float(match[1]) / (100 if level else 1)
    if not (math.isfinite(amount) and amount > 0):
        raise _noise_error(spec, text, "the noise must be above 0")
    spec, rest = replace(spec, amount=amount, level=level), rest[match.end() :]
    words = set[str]()
    bounds: tuple[float, float] | None = None
    while rest.strip():
        clause = _CLAUSE.match(rest)
        if clause is None:
            raise _noise_error(spec, text, f"{rest.strip()!r} is not understood")
        rest = rest[clause.end() :]
        if clause["at"]:
            if not level:
                raise _noise_error(spec, text, "a confidence belongs to a privacy level, written with %")
            spec = replace(spec, confidence=float(read_share(clause["at"], "at")))
        elif clause["on"]:
            lower, upper = (float(part) for part in clause["on"].split(","))
            if not (lower < upper and math.isfinite(upper - lower)):
                raise _noise_error(spec, text, "the range is not two ascending numbers")
            bounds = lower, upper
        else:
            words.add(clause["word"].lower())
    if not 0 < spec.confidence < 1:
        raise _noise_error(spec, text, "a confidence is between 0 and 100 %")
    if bounds is None and "whole" in words:
        raise _noise_error(spec, text, "'whole' follows the range of the original, on 17,90")
    domain = None if bounds is None else Domain(*bounds, "whole" in words)
    return replace(spec, domain=domain, rounded="rounded" in words)


def _cells(spec: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    """Read edges, or a number of cells and how they are cut."""
    if match := _LIST.fullmatch(rest):
        edges = tuple(float(part) for part in match[0].split(","))
        ascending = all(a < b for a, b in pairwise(edges))
        if len(edges) < 3 or not ascending or not math.isfinite(edges[-1] - edges[0]):
            raise _noise_error(spec, text, "edges are three or more ascending numbers")
        return replace(spec, edges=edges)
    match = re.fullmatch(r"(\d+)(?:\s+(equal-width|equal-frequency))?", rest, re.IGNORECASE)
    if match is None:
        raise _noise_error(spec, text, "it is neither a number of cells nor their edges")
    if not 2 <= int(match[1]) <= 10_000:
        raise _noise_error(spec, text, "the number of cells is not between 2 and 10000")
    binning = cast(Binning, (match[2] or "equal-width").lower())
    return replace(spec, amount=float(match[1]), binning=binning)


def _retain(spec: NoiseSpec, rest: str, text: str) -> NoiseSpec:
    """Read the probability of keeping a value and, if they are listed, all values."""
    match = _AMOUNT.match(rest)
    clause = None if match is None else re.fullmatch(r"(?:\s+of\s+(.+))?", rest[match.end() :], re.DOTALL)
    if match is None or clause is None:
        raise _noise_error(spec, text, "it does not say how likely a value is kept")
    probability = float(match[1]) / (100 if match[2] else 1)
    if not 0 < probability < 1:
        raise _noise_error(spec, text, "the probability that a value is kept is between 0 and 1")
    values = _values(spec, clause[1], text) if clause[1] else ()
    return replace(spec, amount=probability, values=values)


def _values(spec: NoiseSpec, clause: str, text: str) -> tuple[str, ...]:
    values, place = [], 0
    while place < len(clause):
        match = _VALUE.match(clause, place)
        if match is None:
            raise _noise_error(spec, text, "the values are not a list")
        values.append(match[2] if match[1] is None else match[1].replace("''", "'"))
        place = match.end()
    if len(values) < 2 or len(set(values)) < len(values):
        raise _noise_error(spec, text, "the values are not two or more different ones")
    return tuple(values)


MOST_VALUES = 1000
"""Categories above which a column is taken for one that holds none."""
_NO_DECIMALS = re.compile(r"DECIMAL\(\d+,0\)")


def noise_of(
    engine: Engine,
    table: str,
    noise: Mapping[str, str] | Sequence[str] = (),
    ranges: Mapping[str, tuple[object, object]] | None = None,
) -> dict[str, Noise]:
    """Give the noise of the distorted columns of a table, spelled as the table spells them.

    What is given, as for ``--noise`` and ``--range``, comes first, column by column; then what the catalogue
    says, where the table is a release of this database; then the comments that an exported file keeps.
    """
    rows = engine.find(table)
    columns = {item.name: item for item in engine.columns(rows)}
    domains = domains_of(ranges or {}, list(columns.values()), table=table)
    noises = _comment_noise(engine, rows) | _catalogue_noise(engine, rows)
    own: dict[str, Noise] = {}
    for spec in parse_all_noise(noise):
        name = resolve(spec.column, list(columns), table=table)
        unlisted = spec.kind == "retain" and not spec.values
        values = tuple(categories(engine, rows, columns[name])) if unlisted else ()
        own[name] = resolve_noise(replace(spec, column=name), domains.get(name), values)
    if not noises and not own:
        raise InvalidOption(
            f"Nothing is known of the noise in {table!r}, which is not a release of this database.",
            "Give it, such as --noise 'salary=gaussian 2500' --range salary=20000,150000.",
        )
    return noises | own


def is_whole(item: Column) -> bool:
    """Tell whether a column's type holds whole numbers only."""
    return types.kind_of(item.type) is types.Kind.WHOLE or _NO_DECIMALS.fullmatch(item.type) is not None


def domains_of(
    ranges: Mapping[str, tuple[object, object]], columns: Sequence[Column], *, table: str
) -> dict[str, Domain]:
    """Read ranges: the least and the largest original value of columns of numbers."""
    by_name = {item.name: item for item in columns}
    domains = {}
    for name, bounds in ranges.items():
        own = resolve(name, list(by_name), table=table)
        lower, upper = (str(bound).strip() for bound in bounds)
        try:
            domain = parse_noise(f"uniform 1 on {lower},{upper}").domain
        except InvalidOption:
            domain = None
        if domain is None:
            raise InvalidOption(
                f"--range of {own!r} is not two ascending numbers.", f"Write it as --range {own}=0,100."
            )
        domains[own] = replace(domain, whole=is_whole(by_name[own]))
    return domains


def categories(engine: Engine, table: Table, item: Column) -> dict[str, int]:
    """List the values of a column as text, in order, with the records of each; refuse more than 1000."""
    counts = value_counts(engine, table, item, MOST_VALUES + 1)
    if len(counts) > MOST_VALUES:
        raise InvalidSource(
            f"Column {item.name!r} has more than {MOST_VALUES} different values, so it holds no categories.",
            "Give it noise (gaussian, uniform) or cells if it holds numbers, or group its values in a view.",
        )
    return counts


def value_counts(
    engine: Engine, table: Table, item: Column, most: int | None = None, *, by_value: bool = False
) -> dict[str, int]:
    """Count the records of each value of a column, NULL aside, of ``most`` values if that is given.

    They are texts in their order, or in that of the values; one GROUP BY where the table lives. Elsewhere,
    equal values have equal texts once they are grouped, and collations are refused.
    """
    with engine.workspace():
        exact = table if is_stand_in(engine, table) else exact_table(engine, table, [item])
        value, query = column(item.name, "s"), "SELECT {v} AS value, count(*) AS records FROM {rows} AS s"
        query += " WHERE {v} IS NOT NULL GROUP BY {v}" + (f" LIMIT {most}" if most else "")
        listing = over(lambda rows: sql(query, v=value, rows=rows))
        columns = [Column("value", item.type), Column("records", "BIGINT")]
        counts = source_of(engine, exact).grouped(engine, listing, columns, step="known_values")
        texts = "SELECT CAST(value AS VARCHAR) AS text, CAST(sum(records) AS BIGINT) FROM {counts} "
        texts += "GROUP BY text ORDER BY min(value), text" if by_value else "GROUP BY text ORDER BY text"
        return dict(engine.query(sql(texts, counts=counts), step="values"))


def _catalogue_noise(engine: Engine, table: Table) -> dict[str, Noise]:
    """Read the noise of a release of the current database, by its view or its frozen table."""
    catalog, _ = engine.current()
    for row in releases(engine):
        shape = row.shape(catalog)
        if table in (shape.view, shape.frozen):
            return {name: from_json(noise) for name, noise in row.parameters.get("noise", {}).items()}
    return {}


def _comment_noise(engine: Engine, table: Table) -> dict[str, Noise]:
    """Read the noise out of the comments on columns."""
    where = {"catalog": table.catalog, "schema": table.schema, "name": table.name}
    noises: dict[str, Noise] = {}
    for name, comment in engine.look_up(
        statements.text("release/column_comments"), where, step="column comments"
    ):
        for words in NOISE_COMMENTS:
            if comment.startswith(words):
                noises[name] = resolve_noise(parse_noise(comment.removeprefix(words), name))
    return noises
