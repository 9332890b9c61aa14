"""Reconstruction as the paper writes it, loop by loop, and the privacy that remains, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import chi2, norm


def integral_of_cdf(kind: str, scale: float, t: float) -> float:
    """The integral of the noise's distribution function up to t."""
    if kind == "gaussian":
        return t * norm.cdf(t / scale) + scale * norm.pdf(t / scale)
    if t <= -scale:
        return 0.0
    return t if t >= scale else (t + scale) ** 2 / (4 * scale)


def cdf(kind: str, scale: float, t: float) -> float:
    if kind == "gaussian":
        return float(norm.cdf(t / scale))
    return min(max((t + scale) / (2 * scale), 0.0), 1.0)


def density(kind: str, scale: float, t: float) -> float:
    if kind == "gaussian":
        return float(norm.pdf(t / scale) / scale)
    away = abs(t) / scale
    return (0.5 if math.isclose(away, 1.0, abs_tol=1e-9) else float(away < 1)) / (2 * scale)


def below(kind: str, scale: float, bound: float, cell: tuple[float, float], *, point: bool) -> float:
    """P(Y < bound) for a value in a cell: in its middle, or anywhere in it."""
    low, high = cell
    if math.isinf(bound):
        return float(bound > 0)
    if point:
        return cdf(kind, scale, bound - (low + high) / 2)
    area = integral_of_cdf(kind, scale, bound - low) - integral_of_cdf(kind, scale, bound - high)
    return area / (high - low)


def transition(
    kind: str, scale: float, edges: Sequence[float], noisy: Sequence[float], form: str, *, point: bool = False
) -> list[list[float]]:
    """P(noisy cell | original cell): a row for each noisy cell. The outer noisy cells are open."""
    cells, found = list(pairwise(edges)), []
    for number, (low, high) in enumerate(pairwise(noisy)):
        if form == "midpoint":
            middles = [(low + high) / 2 - (a + b) / 2 for a, b in cells]
            found.append([density(kind, scale, t) * (high - low) for t in middles])
            continue
        start = -math.inf if number == 0 else low
        end = math.inf if number == len(noisy) - 2 else high
        found.append(
            [
                below(kind, scale, end, cell, point=point) - below(kind, scale, start, cell, point=point)
                for cell in cells
            ]
        )
    return found


def estimates(counts: Sequence[int], matrix: Sequence[Sequence[float]]) -> Iterator[list[float]]:
    """Equation 3 of the paper: the mean over the noisy values of the posterior of the original cell."""
    n, m = sum(counts), len(matrix[0])
    current = [1.0 / m] * m
    while True:
        after = [0.0] * m
        for s, count in enumerate(counts):
            if count == 0:
                continue
            total = sum(matrix[s][t] * current[t] for t in range(m))
            if total > 0:
                for p in range(m):
                    after[p] += count / n * matrix[s][p] * current[p] / total
        whole = sum(after)
        current = [p / whole for p in after]
        yield current


def reconstructed(
    counts: Sequence[int], matrix: Sequence[Sequence[float]], fraction: float = 0.01
) -> list[list[float]]:
    """Every estimate up to the one at which the chi-square criterion stops."""
    n, m = sum(counts), len(matrix[0])
    limit = fraction * chi2.ppf(0.95, m - 1)
    before, found = [1.0 / m] * m, []
    for after in estimates(counts, matrix):
        found.append(after)
        change = sum((n * a - n * b) ** 2 / (n * b) for a, b in zip(after, before, strict=True) if b > 0)
        if change < limit:
            return found
        before = after
    raise AssertionError


def histogram(values: np.ndarray, lower: float, width: float, cells: int) -> np.ndarray:
    """Counts by cell; what lies beyond the end cells counts to them."""
    codes = np.clip(np.floor((values - lower) / width), 0, cells - 1).astype(int)
    return np.bincount(codes, minlength=cells)


def information(kind: str, scale: float, edges: Sequence[float], shares: Sequence[float]) -> float:
    """I(X; Y) in bits for a piecewise even X, by the trapezoid rule over y."""
    reach = 9 * scale if kind == "gaussian" else scale
    y = np.linspace(edges[0] - reach, edges[-1] + reach, 400_001)
    if kind == "gaussian":
        of, noise = norm(scale=scale).cdf, math.log2(scale * math.sqrt(2 * math.pi * math.e))
    else:
        of, noise = lambda t: np.clip((t + scale) / (2 * scale), 0, 1), math.log2(2 * scale)
    f = sum(
        p / (high - low) * (of(y - low) - of(y - high))
        for (low, high), p in zip(pairwise(edges), shares, strict=True)
    )
    terms = np.where(f > 0, -f * np.log2(np.maximum(f, 1e-300)), 0.0)
    return float((terms[1:] + terms[:-1]).sum() / 2 * (y[1] - y[0]) - noise)
