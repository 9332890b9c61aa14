"""Linear and integer programs as arrays, solved by HiGHS to the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Floats

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Optimum:
    """Values of the columns, in the order in which they were added, and by how much each row's side costs."""

    values: Floats
    duals: Floats


class LinearProgram:
    """A minimization under equations, built a block of columns at a time.

    Example:
        >>> program = LinearProgram(1)
        >>> columns = program.add(np.zeros(2), np.full(2, 3.0), [1.0, 2.0])
        >>> program.put([0, 0], columns, 1.0)
        >>> program.solve([4.0]).values.tolist()
        [3.0, 1.0]
    """

    def __init__(self, rows: int) -> None:
        self.rows, self.columns = rows, 0
        self._blocks: list[tuple[Floats, ...]] = []
        self._entries: list[tuple[NDArray[Any], ...]] = []

    def add(self, low: ArrayLike, high: ArrayLike, cost: ArrayLike, *, whole: bool = False) -> Indices:
        """Add columns between two bounds with their coefficients in the objective; give their indices."""
        parts = (np.asarray(part, dtype=np.float64) for part in (low, high, cost, whole))
        self._blocks.append(tuple(np.broadcast_arrays(*parts)))
        self.columns += len(self._blocks[-1][0])
        return np.arange(self.columns - len(self._blocks[-1][0]), self.columns)

    def put(self, rows: ArrayLike, columns: ArrayLike, coefficients: ArrayLike) -> None:
        """Set coefficients."""
        entries = (np.asarray(rows), np.asarray(columns), np.asarray(coefficients, dtype=np.float64))
        self._entries.append(tuple(part.ravel() for part in np.broadcast_arrays(*entries)))

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
            raise EngineError(
                f"The solver stopped without an answer ({solver.modelStatusToString(status)}).",
                "Try --method greedy, or another --proportion.",
            )
        found = solver.getSolution()
        return Optimum(np.array(found.col_value), np.array(found.row_dual))

    def _model(self, right: Floats) -> Any:
        import highspy

        rows, columns, coefficients = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        low, high, cost, whole = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        order = np.lexsort((rows, columns))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self.rows
        model.col_lower_, model.col_upper_, model.col_cost_ = low, high, cost
        model.row_lower_ = model.row_upper_ = right
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(columns[order], np.arange(self.columns + 1))
        matrix.index_, matrix.value_ = rows[order], coefficients[order]
        if whole.any():
            types = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
            model.integrality_ = [types[int(one)] for one in whole]
        return model
