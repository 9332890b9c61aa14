"""What one party asks of an integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ppdm_sql.errors import InvalidOption, check_choice
from ppdm_sql.methods.top_down.request import GeneralizeRequest
from ppdm_sql.privacy import Requirement
from ppdm_sql.taxonomy.model import Taxonomy

FEWEST_BITS, MOST_BITS = 2, 16
"""Of a quantised score."""
SHORTEST_SECRET = 16
"""Bytes of a secret; a shorter one can be guessed."""


@dataclass(frozen=True, kw_only=True)
class IntegrateRequest:
    """What one party asks.

    Args:
        require: The requirements, the same on both sides, in the same order.
        class_column: The column to predict, which both tables hold.
        into: Name of the release, a view in this party's file.
        key: The columns of the key by which records are matched; never released.
        owns: The columns of the requirements that this party brings in. The others are the partner's.
        taxonomies: Of own columns, as for :meth:`ppdm_sql.Database.generalize`.
        ranges: Of own columns that are grown into intervals.
        suppress: Own columns to suppress although they have an order.
        symbol: What a suppressed value becomes, the same on both sides.
        show_values: List values that a taxonomy lacks in the error that says how many there are.
        match: ``plain``, or ``hashed`` for keys that are compared by HMAC-SHA-256.
        secret: For ``hashed``, what both parties know and nobody else, at least 16 bytes.
        intersect: Take the records that both hold, if the partner says so too, instead of refusing.
        score_bits: Compare scores by so many bits, 2 to 16; None compares them exactly.
        boundary: How grown intervals are split, ``valid`` or ``best``, the same on both sides.
        max_steps: Stop after this many steps, at least 0, the same on both sides.
        allow_absent: Whether a template may protect values that its column does not hold; both say so.
        person: Refused.

    Raises:
        InvalidOption: A value cannot be used.
    """

    require: Sequence[str | Requirement]
    class_column: str
    into: str
    key: Sequence[str]
    owns: Sequence[str]
    taxonomies: Mapping[str, Taxonomy | Mapping[str, object] | str | Path] = field(default_factory=dict)
    ranges: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    suppress: Sequence[str] = ()
    symbol: str = "*"
    show_values: bool = False
    match: str = "plain"
    secret: bytes | None = field(default=None, repr=False)
    intersect: bool = False
    score_bits: int | None = None
    boundary: str = "valid"
    max_steps: int | None = None
    allow_absent: bool = False
    person: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.person:
            raise InvalidOption(
                "Two parties match one record of each by the key, so --person has nothing to count.",
                "Leave it out; the key says who the person is, and has one record on each side.",
            )
        if not self.key:
            raise InvalidOption("No key is named.", "Name the column that both tables share with --key SSN.")
        check_choice("way to match keys", self.match, ("plain", "hashed"))
        if (self.match == "hashed") != (self.secret is not None):
            raise InvalidOption(
                "Keys are matched by keyed hashes where a secret is given, and only there.",
                "Give both --match hashed and --secret FILE, or neither.",
            )
        if self.secret is not None and len(self.secret) < SHORTEST_SECRET:
            raise InvalidOption(
                f"The secret has {len(self.secret)} bytes, and a short one can be guessed.",
                f"Give at least {SHORTEST_SECRET}, such as those of: openssl rand -hex 32.",
            )
        if self.score_bits is not None and not FEWEST_BITS <= self.score_bits <= MOST_BITS:
            raise InvalidOption(
                f"A score of {self.score_bits} bits cannot be compared.",
                f"Give --score-bits {FEWEST_BITS} to {MOST_BITS}, or leave it out.",
            )

    def refinement(self) -> GeneralizeRequest:
        """Give what it asks of the run over this party's own columns."""
        return GeneralizeRequest(
            require=self.require,
            class_column=self.class_column,
            into=self.into,
            score="paper",
            identifiers=dict.fromkeys(self.key, "drop"),
            taxonomies=self.taxonomies,
            ranges=self.ranges,
            suppress=self.suppress,
            symbol=self.symbol,
            show_values=self.show_values,
            boundary=self.boundary,
            max_steps=self.max_steps,
            allow_absent=self.allow_absent,
        )
