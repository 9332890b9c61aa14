"""What is not promised, in the words of each method's page; a test holds these words against the pages."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.privacy import Requirement
from ppdm_sql.privacy.requirement import Counts

Point = tuple[str, str]
"""What a point is about, perhaps nothing, and the rest of it."""


def _points(text: str) -> tuple[Point, ...]:
    """Read points, an empty line between each; what a point is about stands between stars.

    Example:
        >>> _points("**Uneven.** Some change more often.")
        (('Uneven.', 'Some change more often.'),)
    """
    parts = (" ".join(part.split()) for part in text.strip().split("\n\n"))
    found = (part.removeprefix("**").rpartition("** ") for part in parts)
    return tuple((about, rest) for about, _, rest in found)


_TEMPLATES = _points("""
It promises nothing against an attacker who knows columns that no template names, and nothing about
values that no template protects.

A value that is rare in the whole table remains just as rare.
""")
_COLUMNS = _points("""
It promises nothing against an attacker who knows columns that no requirement names.

A value that is rare in the whole table remains just as rare.
""")
_CLASSES = _points("""
k says nothing about what a class has in common: that takes l or t too.
""")
_PARTIES = _points("""
The protocol is semi-honest. A party that lies about its scores can steer the search, but it cannot
violate the requirements, which each side audits on the finished release.

k-anonymity holds against third parties: a partner also knows the keys and its own raw columns, so the
equivalence classes are smaller from its point of view.
""")
_SWAPS = _points("""
**A value becomes less certain, not impossible.** The value of a uniquely identifiable record is true
with a probability of about 1 - p; in a group of n, the most frequent value is true for n - k records.

**Protection is uneven.** Some values change more often than others.

**An attacker with a model does better.** The records that changed are those that were cheap to change.

**Attackers who know more.** Protection is against those who know the columns of --by. A kept column
can single people out too.

**What has changed is known in total.** The confidential values of all other records are true, and so
are frequencies and correlations.
""")
_NOISE = _points("""
A privacy level describes the noise alone. An attacker who reconstructs the distribution knows more.

**Columns together give noise away.** Noise is drawn independently for each column, but the data are not
independent. Where columns are correlated, their common part is data, and the rest is mostly noise.
""")
_LIMITS: dict[str, tuple[Point, ...]] = {"TDS2P": _PARTIES, "swap": _SWAPS, "randomize": _NOISE}
"""What a method does not promise, whatever is required of it."""


def limits(method: str, requirements: Sequence[Requirement]) -> tuple[Point, ...]:
    """Say what is not promised; of a requirement only where there is one."""
    said: tuple[Point, ...] = ()
    if requirements:
        if not any(one.sensitive_columns for one in requirements):
            said = _CLASSES
        template = any(one.counts is Counts.PROTECTED for one in requirements)
        said += _TEMPLATES if template else _COLUMNS
    return said + _LIMITS.get(method, ())
