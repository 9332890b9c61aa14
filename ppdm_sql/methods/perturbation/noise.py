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
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, cast

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.privacy_level import CONFIDENCE, scale_for

Kind = Literal["gaussian", "uniform", "cells", "retain"]
Way = Literal["equal-width", "equal-frequency"]


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
        """The labels, in order: ``[0, 20)``, the last one ``[20, 40]``.

        Example:
            >>> Cells((0, 20, 40.5)).labels
            ('[0, 20)', '[20, 40.5]')
        """
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
    way: Way = "equal-width"  # how a number of cells is cut
    values: tuple[str, ...] = ()  # of the domain of categories, where they are given


def resolve_noise(asked: NoiseSpec, domain: Domain | None = None, values: Sequence[str] = ()) -> Noise:
    """Give the noise that is meant, on a domain; what the specification itself says comes first.

    Raises:
        InvalidOption: The domain is needed and not known or holds a single value, or there are fewer than two
            categories. Cells of equal frequency need the data: give their edges.

    Example:
        >>> from ppdm_sql.methods.perturbation.noise_syntax import parse_noise
        >>> resolve_noise(parse_noise("salary=uniform 100% at 50%"), Domain(20_000, 150_000)).scale
        130000.0
    """
    if asked.kind == "retain":
        return _retain(asked, asked.values or tuple(values))
    if asked.kind == "cells" and asked.edges:
        return Cells(asked.edges)
    given = asked.domain or domain
    if given is None:
        raise InvalidOption(
            f"The range of the original values of {asked.column!r} is not known.",
            f"Give it, such as --range {asked.column or 'salary'}=20000,150000.",
        )
    if not (math.isfinite(given.width) and given.width > 0):
        raise InvalidOption(
            f"The range of {asked.column!r} holds a single value or is not finite, which measures no noise.",
            f"Give that of all possible values, such as --range {asked.column or 'salary'}=20000,150000.",
        )
    scale = asked.amount
    if asked.level:
        scale = scale_for(asked.kind, asked.amount, given.width, asked.confidence)
    if max(-given.lower, given.upper, scale) > LARGEST:
        raise InvalidOption(
            f"Values or noise of {asked.column!r} are too large for their variance to be a number.",
            "Give it in another unit, in a view.",
        )
    if asked.kind == "cells":
        return _equal_cells(asked, given)
    if scale < SMALLEST:
        raise InvalidOption(
            f"The noise of {asked.column!r} is too small to compute with.",
            f"Write the column in another unit, or give a scale: --noise {asked.column or 'n'}=gaussian 1.",
        )
    return (Gaussian if asked.kind == "gaussian" else Uniform)(scale, given, asked.rounded)


def _equal_cells(asked: NoiseSpec, domain: Domain) -> Cells:
    if asked.way == "equal-frequency":
        raise InvalidOption(
            f"Cells of equal frequency of {asked.column!r} can be cut only where the original values are.",
            f"Give their edges, such as --noise {asked.column or 'age'}=cells 0,20,40,80.",
        )
    cells = int(asked.amount)
    inner = (domain.lower + domain.width * cell / cells for cell in range(1, cells))
    return Cells((domain.lower, *inner, domain.upper))


def _retain(asked: NoiseSpec, values: tuple[str, ...]) -> Retain:
    if len(set(values)) < 2:
        raise InvalidOption(
            f"Column {asked.column!r} has fewer than two values, so there is nothing to replace one by.",
            f"List all possible values, such as --noise {asked.column or 'job'}=retain 0.7 of clerk,nurse.",
        )
    return Retain(asked.amount, values)


def rounding_of(noise: AdditiveNoise) -> float:
    """Give the unit to which noisy values are rounded, or its upper bound where decimals are kept.

    Without rounding to the grid of the original it is a power of two, about a millionth of the scale: enough
    that the last bits of a sum of floating-point numbers do not tell what was added.

    Source: Mironov 2012, "On Significance of the Least Significant Bits for Differential Privacy".

    Example:
        >>> rounding_of(Gaussian(1.5, Domain(0, 1))) == 2**-20
        True
    """
    if noise.rounded:
        return 1.0 if noise.domain.whole else min(1.0, noise.scale)
    return float(2.0 ** (math.floor(math.log2(noise.scale)) - 20))


def shown_values(noise: Cells | Retain) -> tuple[str, ...]:
    """Give what a column can show: the labels of cells, or the categories."""
    return noise.labels if isinstance(noise, Cells) else noise.values


def noise_kind(noise: Noise) -> Kind:
    """Give the word for a noise in the language."""
    return cast(Kind, type(noise).__name__.lower())


def as_json(noise: Noise) -> dict[str, Any]:
    """Give the noise as JSON can hold it.

    Example:
        >>> as_json(Retain(0.7, ("a", "b")))
        {'kind': 'retain', 'probability': 0.7, 'values': ['a', 'b']}
    """
    fields = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(noise).items()}
    return {"kind": noise_kind(noise), **fields}


def from_json(found: Mapping[str, Any]) -> Noise:
    """Read back what :func:`as_json` gave."""
    kind, fields = found["kind"], {name: value for name, value in found.items() if name != "kind"}
    if kind == "cells":
        return Cells(tuple(fields["edges"]))
    if kind == "retain":
        return Retain(fields["probability"], tuple(fields["values"]))
    fields["domain"] = Domain(**fields["domain"])
    return Gaussian(**fields) if kind == "gaussian" else Uniform(**fields)


def as_text(noise: Noise) -> str:
    """Write the noise in the language, exactly and with all that a reader needs to resolve it.

    Example:
        >>> as_text(Gaussian(0.25, Domain(17, 90, whole=True), rounded=True))
        'gaussian 0.25 on 17,90 whole rounded'
        >>> as_text(Retain(0.7, ("clerk", "it's")))
        "retain 0.7 of clerk,'it''s'"
    """
    match noise:
        case Cells(edges):
            return f"cells {','.join(map(number_text, edges))}"
        case Retain(probability, values):
            return f"retain {number_text(probability)} of {','.join(map(_written, values))}"
        case _:
            domain = noise.domain
            bounds = f"on {number_text(domain.lower)},{number_text(domain.upper)}"
            words = [noise_kind(noise), number_text(noise.scale), bounds]
            return " ".join([*words, *["whole"] * domain.whole, *["rounded"] * noise.rounded])


def _written(value: str) -> str:
    """Write a category, in quotes where it needs them."""
    return value if re.fullmatch(r"[\w.+-]+", value) else "'" + value.replace("'", "''") + "'"


def number_text(value: float) -> str:
    """Write a number so that it is read back exactly, a whole one without a decimal point.

    Example:
        >>> number_text(20000.0), number_text(0.1), number_text(1e300)
        ('20000', '0.1', '1e+300')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
