"""Linear and integer programs, small ones, through PuLP and HiGHS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ppdm_sql.errors import EngineError

Term = tuple[Any, float]
"""A variable of a program and its coefficient."""


class Program:
    """A minimization, built a variable and a constraint at a time.

    Example:
        >>> program = Program()
        >>> x = program.number(0, None, cost=1.0)
        >>> program.at_least([(x, 2.0)], 3.0)
        >>> program.solve()
        True
        >>> program.values([x])
        [1.5]
    """

    def __init__(self) -> None:
        import pulp  # type: ignore[import-untyped, unused-ignore]

        self._pulp = pulp
        self._problem = pulp.LpProblem("program", pulp.LpMinimize)
        self._count = 0
        self._costs: list[Term] = []

    def number(
        self, low: float | None = 0, high: float | None = None, *, cost: float = 0.0, whole: bool = False
    ) -> Any:
        """Add a variable between two bounds, with its coefficient in the objective."""
        self._count += 1
        kind = self._pulp.LpInteger if whole else self._pulp.LpContinuous
        variable = self._problem.add_variable(f"v{self._count}", low, high, kind)
        if cost:
            self._costs.append((variable, cost))
        return variable

    def at_most(self, terms: Iterable[Term], limit: float) -> None:
        """Add a constraint."""
        self._add(terms, self._pulp.LpConstraintLE, limit)

    def at_least(self, terms: Iterable[Term], limit: float) -> None:
        """Add a constraint."""
        self._add(terms, self._pulp.LpConstraintGE, limit)

    def equal(self, terms: Iterable[Term], value: float) -> None:
        """Add a constraint."""
        self._add(terms, self._pulp.LpConstraintEQ, value)

    def _add(self, terms: Iterable[Term], sense: int, limit: float) -> None:
        expression = self._pulp.LpAffineExpression(list(terms))
        self._problem.addConstraint(self._pulp.LpConstraint(expression, sense, rhs=float(limit)))

    def solve(self) -> bool:
        """Solve to optimality; tell whether there is a solution.

        Raises:
            EngineError: The solver gave up.
        """
        self._problem.setObjective(self._pulp.LpAffineExpression(self._costs))
        status = self._problem.solve(self._pulp.HiGHS(msg=False, gapRel=0.0, threads=1))
        if status == self._pulp.LpStatusOptimal:
            return True
        if status == self._pulp.LpStatusInfeasible:
            return False
        raise EngineError(
            f"The solver stopped without an answer ({self._pulp.LpStatus[status]}).",
            "Try --method greedy, or another --proportion.",
        )

    def values(self, variables: Iterable[Any]) -> list[float]:
        """Give variables' values; one that no constraint needs is zero, or its bound nearest to it."""
        return [_value(variable) for variable in variables]

    def wholes(self, variables: Iterable[Any]) -> list[int]:
        """Give the values of variables that are whole numbers."""
        return [round(value) for value in self.values(variables)]


def _value(variable: Any) -> float:
    if variable.varValue is not None:
        return float(variable.varValue)
    return float(max(variable.lowBound or 0, min(0, variable.upBound or 0)))
