"""All that an audit measured, together."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.audit import printing
from ppdm_sql.audit.exposure import Exposure
from ppdm_sql.audit.model import ClassSizes, Counted, Finding, Group, Identifiable, Inferences, Risk
from ppdm_sql.audit.profiling import Profile
from ppdm_sql.results import Result, ResultTable


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """All that an audit measured.

    Args:
        findings: One per requirement, in the order given.
        worst: The worst groups of each requirement, worst first; empty unless asked for.
        class_sizes: One per quasi-identifier.
        risks: Three attackers per quasi-identifier.
        inferences: One per channel.
        identifiable: One per confidential column.
        exposure: What the columns that others may know give away; None unless asked for.
        profile: A first look at every column; None where anything was asked.
        counted: Whether records or persons were counted.
        notices: What to know of these numbers: that rows seem to be taken for persons.
    """

    findings: tuple[Finding, ...] = ()
    worst: tuple[Group, ...] = ()
    class_sizes: tuple[ClassSizes, ...] = ()
    risks: tuple[Risk, ...] = ()
    inferences: tuple[Inferences, ...] = ()
    identifiable: tuple[Identifiable, ...] = ()
    exposure: Exposure | None = None
    profile: Profile | None = None
    counted: Counted = "records"
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kept = sum(finding.holds for finding in self.findings)
        told = f"{kept} of {len(self.findings)} requirements hold" if self.findings else "no requirement"
        return f"Audit({told})"

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return all(finding.holds for finding in self.findings)

    def tables(self) -> list[ResultTable]:
        """Give everything as tables; empty ones are left out."""
        heads = printing.Heads(self.findings, self.counted)
        found = [
            printing.lay_out_findings(self.findings, heads),
            *printing.lay_out_worst(self.worst, heads),
            *(self.exposure.tables(heads.columns(self.exposure.by), self.counted) if self.exposure else []),
            *(self.profile.tables() if self.profile else []),
        ]
        for sizes in self.class_sizes:
            on = heads.columns(sizes.quasi_identifier)
            risks = [risk for risk in self.risks if risk.quasi_identifier == sizes.quasi_identifier]
            found += [printing.lay_out_class_sizes(sizes, on, self.counted)]
            found.append(printing.lay_out_risks(risks, on, self.counted))
        found += [printing.lay_out_inferences(item, heads.columns(item.channel)) for item in self.inferences]
        for item in self.identifiable:
            found += printing.lay_out_identifiable(item, self.counted)
        return [table for table in found if table.rows]
