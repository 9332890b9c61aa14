"""Linear and integer programs given as arrays, through HiGHS; for those with thousands of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import EngineError

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """An optimum.

    Args:
        values: Of the columns, in the order in which they were added.
        duals: By how much the objective rises with each row's right side.
        objective: The least cost.
    """

    values: Numbers
    duals: Numbers
    objective: float


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
        self._low: list[Numbers] = []
        self._high: list[Numbers] = []
        self._cost: list[Numbers] = []
        self._whole: list[NDArray[np.bool_]] = []
        self._entries: list[tuple[Places, Places, Numbers]] = []

    def add(self, low: ArrayLike, high: ArrayLike, cost: ArrayLike, *, whole: bool = False) -> Places:
        """Add columns between two bounds with their coefficients in the objective; give their places."""
        block = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (low, high, cost)))
        count = len(block[0])
        for store, part in zip((self._low, self._high, self._cost), block, strict=True):
            store.append(part)
        self._whole.append(np.full(count, whole))
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def put(self, rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> None:
        """Set coefficients."""
        entries = np.broadcast_arrays(np.asarray(rows), np.asarray(columns), np.asarray(values, dtype=float))
        self._entries.append((entries[0], entries[1], entries[2]))

    def solve(self, right: ArrayLike) -> Answer | None:
        """Solve to optimality; None where there is no solution.

        Raises:
            EngineError: The solver gave up.
        """
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0}
        for option, value in options.items():
            solver.setOptionValue(option, value)
        solver.passModel(self._model(np.asarray(right, dtype=np.float64)))
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
            raise EngineError(
                f"The solver stopped without an answer ({solver.modelStatusToString(status)}).",
                "Try --method greedy, or another --proportion.",
            )
        found = solver.getSolution()
        return Answer(
            np.array(found.col_value), np.array(found.row_dual), solver.getInfo().objective_function_value
        )

    def _model(self, right: Numbers) -> Any:
        import highspy

        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.lexsort((rows, columns))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self.rows
        model.col_lower_, model.col_upper_ = np.concatenate(self._low), np.concatenate(self._high)
        model.col_cost_ = np.concatenate(self._cost)
        model.row_lower_ = model.row_upper_ = right
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(columns[order], np.arange(self.columns + 1))
        matrix.index_, matrix.value_ = rows[order], values[order]
        whole = np.concatenate(self._whole)
        if whole.any():
            kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
            model.integrality_ = [kinds[int(one)] for one in whole]
        return model
