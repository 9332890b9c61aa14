"""Linear and integer programs, all of them solved by HiGHS to the optimum.

Phase I is small: it is a PuLP problem, written as the paper writes it. Phase II has thousands of variables,
which PuLP takes longer to hand over than HiGHS to solve (docs/decisions/006-programs-as-arrays.md): it is an
:class:`ArrayProgram`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Floats

Indices = NDArray[np.int64]


def minimization() -> tuple[Any, Callable[..., Any]]:
    """Give a new PuLP problem, and a function that adds a variable: ``(low, high, whole=False)``.

    Example:
        >>> problem, variable = minimization()
        >>> x = variable()
        >>> problem += x
        >>> problem += 2 * x >= 3
        >>> solve(problem), values([x])
        (True, [1.5])
    """
    import pulp  # type: ignore[import-untyped, unused-ignore]

    problem, numbers = pulp.LpProblem("program", pulp.LpMinimize), count(1)

    def variable(low: float | None = 0, high: float | None = None, *, whole: bool = False) -> Any:
        # PuLP sorts variables by name, and their order decides which of several optima is found
        return problem.add_variable(f"v{next(numbers)}", low, high, "Integer" if whole else "Continuous")

    return problem, variable


def solve(problem: Any) -> bool:
    """Solve a PuLP problem; tell whether it has a solution.

    Raises:
        EngineError: The solver gave up.
    """
    import pulp

    status = problem.solve(pulp.HiGHS(msg=False, gapRel=0.0, threads=1))
    if status not in (pulp.LpStatusOptimal, pulp.LpStatusInfeasible):
        raise _unsolved(pulp.LpStatus[status])
    return bool(status == pulp.LpStatusOptimal)


def values(variables: Iterable[Any]) -> list[float]:
    """Give variables' values; one that no constraint needs is zero, or its bound nearest to it."""
    return [
        float(max(v.lowBound or 0, min(0, v.upBound or 0)) if v.varValue is None else v.varValue)
        for v in variables
    ]


def whole_values(variables: Iterable[Any]) -> list[int]:
    """Give the values of variables that are whole numbers."""
    return [round(value) for value in values(variables)]


@dataclass(frozen=True)
class Optimum:
    """An optimum of an :class:`ArrayProgram`.

    Args:
        values: Of the columns, in the order in which they were added.
        duals: By how much the objective rises with each row's right side.
    """

    values: Floats
    duals: Floats


class ArrayProgram:
    """A minimization under equations, built a block of columns at a time.

    Args:
        rows: Number of equations.

    Example:
        >>> program = ArrayProgram(1)
        >>> columns = program.add(np.zeros(2), np.full(2, 3.0), [1.0, 2.0])
        >>> program.put([0, 0], columns, 1.0)
        >>> program.solve([4.0]).values.tolist()
        [3.0, 1.0]
    """

    def __init__(self, rows: int) -> None:
        self.rows, self.columns = rows, 0
        self._low: list[Floats] = []
        self._high: list[Floats] = []
        self._cost: list[Floats] = []
        self._whole: list[NDArray[np.bool_]] = []
        self._entries: list[tuple[Indices, Indices, Floats]] = []

    def add(self, low: ArrayLike, high: ArrayLike, cost: ArrayLike, *, whole: bool = False) -> Indices:
        """Add columns between two bounds with their coefficients in the objective; give their indices."""
        block = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (low, high, cost)))
        size = len(block[0])
        for store, part in zip((self._low, self._high, self._cost), block, strict=True):
            store.append(part)
        self._whole.append(np.full(size, whole))
        self.columns += size
        return np.arange(self.columns - size, self.columns)

    def put(self, rows: ArrayLike, columns: ArrayLike, coefficients: ArrayLike) -> None:
        """Set coefficients."""
        entries = np.broadcast_arrays(
            np.asarray(rows), np.asarray(columns), np.asarray(coefficients, dtype=float)
        )
        self._entries.append((entries[0], entries[1], entries[2]))

    def solve(self, right: ArrayLike) -> Optimum | None:
        """Solve to optimality; None where there is no solution.

        Raises:
            EngineError: The solver gave up.
        """
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
        # with its default gaps HiGHS calls plans optimal that are not
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0}
        for option, value in options.items():
            solver.setOptionValue(option, value)
        solver.passModel(self._model(np.asarray(right, dtype=np.float64)))
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
            raise _unsolved(solver.modelStatusToString(status))
        found = solver.getSolution()
        return Optimum(np.array(found.col_value), np.array(found.row_dual))

    def _model(self, right: Floats) -> Any:
        import highspy

        rows, columns, coefficients = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.lexsort((rows, columns))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self.rows
        model.col_lower_, model.col_upper_ = np.concatenate(self._low), np.concatenate(self._high)
        model.col_cost_ = np.concatenate(self._cost)
        model.row_lower_ = model.row_upper_ = right
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(columns[order], np.arange(self.columns + 1))
        matrix.index_, matrix.value_ = rows[order], coefficients[order]
        whole = np.concatenate(self._whole)
        if whole.any():
            types = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
            model.integrality_ = [types[int(one)] for one in whole]
        return model


def _unsolved(status: str) -> EngineError:
    return EngineError(
        f"The solver stopped without an answer ({status}).", "Try --method greedy, or another --proportion."
    )
