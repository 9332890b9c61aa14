"""The records of a tree's open nodes: counted level by level, and sent to the nodes of the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.trees.partitioning import LocalCells, Partition, partition_records
from ppdm_sql.methods.trees.sorted_assignment import CellAssignment

CodeCounts = Mapping[str, NDArray[Any]]
"""Columns ``attribute``, ``node`` (its position in the level), ``code``, ``class`` and ``records``."""


class LevelRecords(Protocol):
    """The records of the level that is being split."""

    def counted(self, nodes: range | None, records: int) -> CodeCounts:
        """Count the records of some nodes of the level by attribute, code and class.

        Args:
            nodes: Their positions in the level; None for all of it.
            records: How many records they have.
        """

    def partition(self, partition: Partition, cells: CellAssignment) -> None:
        """Go on to the next level, with the cells that nodes assigned for themselves."""


class RecordsHere:
    """The records of the level in a working table, which is written anew for each level.

    Args:
        engine: Where the table is.
        records: The records of the root; see :mod:`~ppdm_sql.methods.trees.tree_growth`.
        coded: Where the noisy values are, if nodes reconstruct distributions of their own (Local).
        offsets: For each attribute its first code of a settled cell.
    """

    def __init__(self, engine: Engine, records: Table, coded: Table | None, offsets: Sequence[int]) -> None:
        self._engine, self._records, self._coded, self._offsets = engine, records, coded, offsets

    def counted(self, nodes: range | None, records: int) -> CodeCounts:
        """Count the records of some nodes; one GROUP BY an attribute."""
        return self._engine.arrays(counting_query(self._records, len(self._offsets), nodes), step="counts")

    def partition(self, partition: Partition, cells: CellAssignment) -> None:
        """Write the records of the next level."""
        local = None if self._coded is None else LocalCells(self._coded, cells)
        self._records = partition_records(self._engine, self._records, partition, self._offsets, local)


def counting_query(records: Table, attributes: int, nodes: range | None = None) -> str:
    """Write the SELECT that counts the records of a level, or of some nodes of it.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(counting_query(Table("records"), 2, range(0, 5))))
        SELECT
          CAST(0 AS USMALLINT) AS attribute,
          node,
          code0 AS code,
          class,
          COUNT(*) AS records
        FROM "records"
        WHERE
          node >= 0 AND node < 5
        GROUP BY
          node,
          code0,
          class
        UNION ALL
        SELECT
          CAST(1 AS USMALLINT) AS attribute,
          node,
          code1 AS code,
          class,
          COUNT(*) AS records
        FROM "records"
        WHERE
          node >= 0 AND node < 5
        GROUP BY
          node,
          code1,
          class
    """
    some = "" if nodes is None else f"WHERE node >= {nodes.start} AND node < {nodes.stop} "
    return " UNION ALL ".join(
        f"SELECT {place}::USMALLINT AS attribute, node, code{place} AS code, class, count(*) AS records "
        f"FROM {records} {some}GROUP BY node, code{place}, class"
        for place in range(attributes)
    )
