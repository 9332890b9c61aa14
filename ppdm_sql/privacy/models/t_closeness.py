"""t-closeness: ``t <= 0.2 of Disease on Sex, Job``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from ppdm_sql.engine.types import is_ordered
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.formula import MOST_COLUMNS, Columns, Formula, ValueCounts
from ppdm_sql.privacy.limits import DISTANCES, LARGEST, at_most, fraction, rounded_up
from ppdm_sql.privacy.quoting import number_text
from ppdm_sql.privacy.reader import Reader
from ppdm_sql.privacy.requirement import Audited, AuditStep, DistributionRequirement


@dataclass(frozen=True)
class TCloseness(DistributionRequirement):
    """In every equivalence class the sensitive values are distributed as in the whole table, within ``t``.

    Args:
        t: The largest earth mover's distance allowed, in [0, 1].
        sensitive: The sensitive column, outside the quasi-identifier.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: t is out of range, or the list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Li, Li, Venkatasubramanian 2007. The table's distribution is fixed and the distance is convex, so
    some part of a class is at least as far from it as the class.

    Example:
        >>> str(TCloseness(Fraction(1, 5), "Disease", ("Sex", "Job")))
        't <= 0.2 of Disease on Sex, Job'
    """

    t: Fraction
    sensitive: str
    quasi_identifier: tuple[str, ...]

    opening = re.compile(r"t(?=\s*[<>=≤≥]|\s+of(?![\w$]))", re.IGNORECASE)
    number, loosest = Reader.share, Fraction(1)
    example = "t <= 0.2 of Disease on Sex, Job"
    other_spelling = "close"
    worst = "max"
    compares_with_table = by_order = True
    counts_values = True
    form = "t"
    measured = "largest distance"
    limited_by = "t"
    amount_words = "t = {:.6g}"
    macro = "closeness"

    def check(self) -> None:
        if not 0 <= self.t <= 1:
            raise InvalidOption(
                f"t = {number_text(self.t)} is outside [0, 1].", "Give a fraction such as t <= 0.2."
            )

    def formula(self, values: ValueCounts) -> Formula:
        """The largest distance: the ordered one for numbers and dates, else all values equally far apart."""
        if not is_ordered(values.type):
            return _equal_distance(values)
        if values.listed:
            raise InvalidOption(
                f"Column {self.sensitive!r} holds more than {MOST_COLUMNS} different numbers or dates, and a "
                f"run by {str(self)!r} would compare every class with the table at each of them.",
                "Write `by ranges 10` or `by dates year` behind the column to count those, or ask for "
                "distinct l, entropy l or beta; `ppdm audit` measures it.",
            )
        return _ordered_distance(values)

    def search_limit(self, records: int) -> float:
        return float(at_most(self.t, DISTANCES))

    def audit_step(self, table: Audited) -> AuditStep:
        rows, records = table.size()
        # The step compares whole numbers up to twice the records squared, for each value.
        limit = fraction("t", at_most(self.t, max(LARGEST // max(4 * records * records * rows, 1), 1)))
        if not is_ordered(table.type):
            return AuditStep("equal_t_closeness", ("cells", "value_totals"), limit)
        prepared = {"value_ranks": ("value_totals",), "class_runs": ("cells", "value_ranks")}
        return AuditStep("ordered_t_closeness", ("class_runs", "value_ranks"), limit, prepared)

    def against(self, number: float, limit: float) -> str:
        return f"{100 * number:.4g}% of {100 * limit:.4g}%"

    def unmet(self, number: float) -> tuple[str, str]:
        still = f"the distance of a class is still {number:.4g}."
        return still, f"Ask for t >= {rounded_up(number, 1000):g}"


def _equal_distance(values: ValueCounts) -> Formula:
    """The distance where all values are equally far apart (section 4.2)."""
    totals = values.totals()
    records = sum(totals)

    def formula(c: Columns) -> str:
        # what values have more than in the table is what others have less, those that the class lacks too
        more = values.sum(c, lambda n, q: f"greatest({n} * {records} - {q} * {c['n']}, 0)", totals)
        return f"({more}) / nullif({c['n']} * {records}, 0)"

    return Formula("max", ("n", *values.columns), formula)


def _ordered_distance(values: ValueCounts) -> Formula:
    """The distance by the order of the values (section 4.1)."""
    totals_of = [(v, total) for v, total in zip(values.columns, values.totals(), strict=True) if total]
    totals = [total for _, total in totals_of]
    records, steps = sum(totals), max(len(totals_of) - 1, 1)

    def formula(c: Columns) -> str:
        # one step a value, so that the text does not grow with the square of their number
        held = ["0", *(c[value] for value, _ in totals_of[:-1])]
        each = (
            f"struct_pack(moved := 0::BIGINT, held := ({count})::BIGINT, total := {total}::BIGINT)"
            for count, total in zip(held, accumulate([0, *totals]), strict=False)
        )
        moved = f"abs((a.held + b.held) * {records} - b.total * {c['n']})"
        step = f"struct_pack(moved := a.moved + {moved}, held := a.held + b.held, total := b.total)"
        summed = f"list_reduce([{', '.join(each)}], lambda a, b: {step}).moved"
        return f"{summed} / nullif({c['n']} * {records * steps}, 0)"

    return Formula("max", ("n", *values.columns), formula)
