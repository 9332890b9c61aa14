"""Decision trees of scikit-learn, with settings that are the same for every table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluation.encoding import Counts, Numbers, Sample

LEAF_RECORDS = 5
"""A leaf holds at least so many records."""

LEAF_BITS = 8.0
"""A leaf that does not save so many bits of class information is pruned: a cost that knows no table size."""

MOST_DENSE = 2**27
"""A matrix with more cells is kept sparse."""


def tree_class() -> Any:
    """Give scikit-learn's class of decision trees, or refuse if it is not installed."""
    try:
        from sklearn.tree import DecisionTreeClassifier  # type: ignore[import, unused-ignore]
    except ImportError:
        raise PpdmError(
            "An evaluation grows decision trees with scikit-learn, which is not installed.",
            "Run: pip install 'ppdm-sql[eval]'.",
        ) from None
    return DecisionTreeClassifier


def misclassified(train: Sample, test: Sample, seed: int) -> int:
    """Count the tested records whose class a tree mistakes; with no feature, the majority class is predicted.

    The seed decides between splits that are equally good.
    """
    design = DesignMatrix.of(train)
    if not design.width:
        predicted = np.full(len(test.labels), np.bincount(train.labels, train.records).argmax())
    else:
        total = train.records.sum()
        tree = tree_class()(
            criterion="entropy",
            min_weight_fraction_leaf=min((LEAF_RECORDS - 0.5) / total, 0.5),
            ccp_alpha=LEAF_BITS / total,
            random_state=seed,
        )
        tree.fit(design.matrix(train.numbers), train.labels, sample_weight=train.records)
        predicted = tree.predict(design.matrix(test.numbers))
    return int(test.records[predicted != test.labels].sum())


@dataclass(frozen=True)
class DesignMatrix:
    """Which columns a tree sees: one of places for each ordered feature, one for each category.

    A category of fewer records than a leaf needs has none, since no tree could split it off.
    """

    places: tuple[int, ...]  # for each feature its column of places, or -1
    categories: tuple[Counts, ...]  # for each feature the columns of its categories, by category; -1 for none
    width: int

    @classmethod
    def of(cls, train: Sample) -> DesignMatrix:
        """Choose the columns by what there is to learn from."""
        places, categories, width = [], [], 0
        for numbers in train.numbers.T:
            ordered = bool((numbers > 0).any())
            places.append(width if ordered else -1)
            width += ordered
            often = np.bincount(_category(numbers), train.records) >= LEAF_RECORDS
            often[0] = False
            categories.append(np.where(often, width + often.cumsum() - 1, -1))
            width += int(often.sum())
        return cls(tuple(places), tuple(categories), width)

    def matrix(self, numbers: Numbers) -> Any:
        """Lay numbers out as the matrix that scikit-learn takes, sparse where it would be too large."""
        from scipy import sparse  # type: ignore[import, unused-ignore]

        rows, columns, cells = [], [], []
        for feature, place, categories in zip(numbers.T, self.places, self.categories, strict=True):
            category = _category(feature)
            known = categories[np.where(category < len(categories), category, 0)]
            column = np.where(feature > 0, place, known)
            row = np.flatnonzero(column >= 0)
            rows.append(row)
            columns.append(column[row])
            cells.append(np.where(feature > 0, feature, 1)[row])
        places = np.concatenate(rows), np.concatenate(columns)
        shape = (len(numbers), self.width)
        found = sparse.csr_matrix((np.concatenate(cells), places), shape=shape, dtype=np.float32)
        return found if len(numbers) * self.width > MOST_DENSE else found.toarray()


def _category(numbers: Numbers) -> NDArray[np.int64]:
    """Give the category of each number, from 1; 0 for what is none."""
    return np.maximum(-numbers, 0).astype(np.int64)
