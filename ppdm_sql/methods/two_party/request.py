"""What one party asks of an integration, and whose the columns are: its own, the partner's, or both's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import resolve, resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, UnknownColumn, check_choice
from ppdm_sql.options import GeneralizeRequest, IntegrateOptions
from ppdm_sql.privacy import Counts, Requirement, parse_all

FEWEST_BITS, MOST_BITS = 2, 16
"""Of a quantised score."""
SHORTEST_SECRET = 16
"""Bytes of a secret; a shorter one can be guessed."""


class IntegrateRequest(IntegrateOptions):
    """What one party asks, checked."""

    def __post_init__(self) -> None:
        super().__post_init__()
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
        both = {item.name for item in fields(GeneralizeRequest)} & {item.name for item in fields(self)}
        values = {name: getattr(self, name) for name in both}
        return GeneralizeRequest(**values, score="paper", identifiers=dict.fromkeys(self.key, "drop"))


@dataclass(frozen=True)
class Ownership:
    """The columns as one party sees them; ``idle`` own ones are in no requirement."""

    key: tuple[Column, ...]
    own: tuple[str, ...]
    idle: tuple[str, ...]
    described: Mapping[str, Column]

    @classmethod
    def of(cls, request: IntegrateRequest, columns: Sequence[Column], table: str) -> Ownership:
        local = {item.name: item for item in columns}
        key = tuple(local[name] for name in resolve_all(request.key, list(local), table=table))
        owns = resolve_all(request.owns, list(local), table=table)
        options = {"taxonomy": request.taxonomies, "range": request.ranges, "suppress": request.suppress}
        for option, names in options.items():
            for name in resolve_all(names, list(local), table=table):
                if name not in owns:
                    raise ColumnRoleError(
                        f"Column {name!r} is named by --{option}, but not by --owns.",
                        "Only the party that owns a column says how it is masked.",
                    )
        requirements = parse_all(request.require)
        for requirement in requirements:
            _refuse_model(requirement)
        own_spelling = {name.lower(): name for name in reversed(owns)} | {name: name for name in owns}
        attributes = [name for requirement in requirements for name in requirement.attributes]
        grouping = [own_spelling.get(name, own_spelling.get(name.lower(), name)) for name in attributes]
        sensitive = [name for requirement in requirements for name in requirement.sensitive_columns]
        described = {name: local[name] if name in owns else Column(name, "VARCHAR") for name in grouping}
        for name in (*sensitive, request.class_column):
            try:
                own_name = resolve(name, list(local), table=table)
            except UnknownColumn as error:
                raise UnknownColumn(
                    f"Table {table} has no column {name!r}, and both parties must hold the class and the "
                    "sensitive columns.",
                    error.remedy,
                ) from None
            described[own_name] = local[own_name]
        described |= {item.name: item for item in key}
        own = tuple(name for name in dict.fromkeys(grouping) if name in owns)
        return cls(key, own, tuple(name for name in owns if name not in own), described)


def _refuse_model(requirement: Requirement) -> None:
    why, remedy = "", "Ask for k here, and let `ppdm audit` measure"
    if requirement.counts is Counts.GROUPS:
        remedy = f"{remedy} the average risk of the release."
    elif (level := requirement.level) is not None:
        why = ", which count no levels"
        remedy = f"Give the table a column of its labels, or leave 'by {level}' out."
    elif requirement.population is not None:
        why = ", as neither can count its population by the columns of the other"
        remedy = f"{remedy} the release in the population."
    else:
        return
    raise InvalidOption(f"{str(requirement)!r} cannot drive a run of two parties{why}.", remedy)
