"""What both parties must agree on before the first round; each checks what the other says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.two_party.messages import VERSION, Message
from ppdm_sql.methods.two_party.scores import TIED

FEW_KEYS, TIMES = 4_000_000, 16
"""So many keys are compared in any case; beyond that, so many times the records that there are here."""


@dataclass(frozen=True)
class Terms:
    """What one party says of itself in HELLO.

    Args:
        requirements: Digest of the requirements, in order, as they are written out.
        settings: Digest of what else changes the outcome.
        owns: Numbers of the attributes that it brings in.
        match: How it matches keys.
        intersect: Whether the records that both hold will do.
        records: How many records it has.
        order: Digest of their keys in order.
        shared: Digest of the class and the sensitive columns.
        version: Of the protocol.
    """

    requirements: str
    settings: str
    owns: tuple[int, ...]
    match: str
    intersect: bool
    records: int
    order: str
    shared: str
    version: int = VERSION

    def message(self) -> Message:
        """Write it down."""
        return Message("HELLO", 0, {**vars(self), "owns": list(self.owns)})

    @classmethod
    def of(cls, message: Message) -> Terms:
        """Read what the partner says."""
        fields = dict(message.fields)
        return cls(**fields | {"owns": tuple(fields["owns"])})  # type: ignore[arg-type]


def settings(
    class_column: str, symbol: str, boundary: str, max_steps: int | None, score_bits: int | None
) -> list[object]:
    """List what else changes the outcome, the rule of ties among it."""
    ties = f"ties within {TIED} go to the first attribute"
    return [class_column, symbol, boundary, max_steps, score_bits, ties]


def check_terms(mine: Terms, theirs: Terms, attributes: Sequence[str]) -> None:
    """Refuse a partner that is asked for something else."""
    if theirs.version != mine.version:
        raise ProtocolError(
            f"The partner speaks version {theirs.version} of the protocol, this is version {mine.version}.",
            "Install the same version of ppdm-sql on both sides.",
            reason="version",
        )
    remedies = {
        "requirements": "Give the same --require on both sides, in the same order, with the same spelling.",
        "settings": "Give the same --class, --symbol, --boundary, --max-steps and --score-bits "
        "on both sides.",
        "match": "Give the same --match on both sides.",
    }
    for name, remedy in remedies.items():
        if getattr(mine, name) != getattr(theirs, name):
            what = {"match": "way to match keys"}.get(name, name)
            raise ProtocolError(f"The partner has another {what}.", remedy, reason="parameters")
    for place, attribute in enumerate(attributes):
        owners = (place in mine.owns) + (place in theirs.owns)
        if owners != 1:
            who = "Both parties own" if owners else "Neither party owns"
            raise ProtocolError(
                f"{who} column {attribute!r}.",
                "Name each column of the requirements with --owns on one side, spelled as its table has it.",
                reason="parameters",
            )


def same_records(mine: Terms, theirs: Terms) -> bool:
    """Tell whether both hold the same records in the same order."""
    return (mine.records, mine.order) == (theirs.records, theirs.order)


def check_narrowing(mine: Terms, theirs: Terms) -> None:
    """Refuse records that differ where the parties have not agreed to compare their keys."""
    if mine.intersect != theirs.intersect:
        raise _others(mine, theirs, "Only one party takes the records that both hold.")
    if not mine.intersect and mine.match == "plain":
        raise _others(mine, theirs, "Their keys are not the same.")
    most = max(FEW_KEYS, TIMES * mine.records)
    if theirs.records > most:
        raise ProtocolError(
            f"Here are {mine.records} records, and the partner holds {theirs.records}, of which this side "
            f"would compare {most} at most.",
            "Let the partner give a view of fewer people, such as those of the same region.",
            reason="records",
        )


def check_common(mine: Terms, theirs: Terms, common: int) -> None:
    """Refuse records that differ, once it is known how many are common."""
    if not common:
        raise _others(mine, theirs, "No key is known to both.")
    if not mine.intersect:
        raise _others(mine, theirs, f"{common} keys are known to both.")


def check_shared(mine: Terms, theirs: Terms) -> None:
    """Refuse tables that do not agree on what both must hold."""
    if not same_records(mine, theirs):
        raise ProtocolError(
            "The records that both hold do not stand in the same order.",
            "Let both run the same version of ppdm-sql, with the same secret.",
            reason="order",
        )
    if mine.shared != theirs.shared:
        raise ProtocolError(
            "The class or a sensitive column is not the same in both tables.",
            "Let both hold the same values, in columns of the same name and type, for every key.",
            reason="records",
        )


def _others(mine: Terms, theirs: Terms, why: str) -> ProtocolError:
    return ProtocolError(
        f"Here are {mine.records} records, and the partner holds {theirs.records}. {why}",
        "Give both tables the same people (and both sides the same secret), or --intersect on both sides.",
        reason="records",
    )
