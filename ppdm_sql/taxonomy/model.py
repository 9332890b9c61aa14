"""The model of a taxonomy: a tree of labels whose leaves are the values of a column, or intervals of them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TextIO

from ppdm_sql.errors import InvalidOption
from ppdm_sql.taxonomy.building import (
    read_rows,
    several,
    tree_of_edges,
    tree_of_mapping,
    tree_of_paths,
    write_rows,
)

ROOT = "*"
"""Label of the root that is put on top of rows that do not end in a common one."""

_INTERVAL = re.compile(r"\[([^\[\],]+), ([^\[\],]+)([)\]])")
_OPEN = re.compile(r"([^\[\],]+) or (more|less)")


class Interval(NamedTuple):
    """What the label ``[lower, upper)`` or ``[lower, upper]`` says; the bounds are texts.

    A leaf may also be open on one side, as ``90 or more`` and ``18 or less`` are; that bound is None.

    Example:
        >>> Interval.of_label("[37, 52)")
        Interval(lower='37', upper='52', closed=False)
        >>> Interval.of_leaf("18 or less")
        Interval(lower=None, upper='18', closed=True)
    """

    lower: str | None
    upper: str | None
    closed: bool

    @classmethod
    def of_label(cls, label: str) -> Interval | None:
        """Read a label; None where it is not an interval."""
        match = _INTERVAL.fullmatch(label)
        return None if match is None else cls(match[1], match[2], match[3] == "]")

    @classmethod
    def of_leaf(cls, label: str) -> Interval | None:
        """Read the label of a leaf, which may be open on one side."""
        match = _OPEN.fullmatch(label)
        if match is None:
            return cls.of_label(label)
        return cls(match[1], None, False) if match[2] == "more" else cls(None, match[1], True)


@dataclass(frozen=True)
class Taxonomy:
    """A tree of labels over the values of one column.

    Node 0 is the root; nodes are numbered depth-first, so parents come before their children. A taxonomy that
    is not such a tree cannot be made. NULL is not part of a taxonomy.

    Args:
        labels: The label of each node, all different.
        parents: The parent of each node, -1 for the root.

    Raises:
        InvalidOption: Labels that repeat, numbers that do not make a tree, a node with a single child (but
            for a root with a single leaf), or nothing below the root.

    Example:
        >>> jobs = Taxonomy.from_dict({"ANY": {"Blue-collar": ["Janitor", "Mover"], "Lawyer": []}})
        >>> jobs.labels, jobs.parents
        (('ANY', 'Blue-collar', 'Janitor', 'Mover', 'Lawyer'), (-1, 0, 1, 1, 0))
    """

    labels: tuple[str, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        fault = _fault(self.labels, self.parents)
        if fault:
            raise InvalidOption(fault, "Make it with Taxonomy.from_paths, from_edges, from_dict or from_csv.")

    # -- ways to make one ---------------------------------------------------------------------

    @classmethod
    def from_paths(cls, rows: Iterable[Sequence[str]], *, root: str = ROOT) -> Taxonomy:
        """Make a taxonomy of rows that lead from a leaf up to the root, as in an ARX file.

        Args:
            rows: Labels, most specific first. Rows may differ in length; labels that repeat along a row count
                once; a row that stands there twice counts once.
            root: Label put on top where the rows do not end in a common label.

        Raises:
            InvalidOption: A label has two parents, or is both a leaf and a group; the message gives the
                numbers of the rows.

        Example:
            >>> Taxonomy.from_paths([("Mover", "Blue"), ("Janitor", "Blue"), ("Lawyer",)]).labels
            ('*', 'Blue', 'Mover', 'Janitor', 'Lawyer')
        """
        return cls(*tree_of_paths(enumerate(rows, 1), root=root, where="Row"))

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], *, delimiter: str = ";") -> Taxonomy:
        r"""Read an ARX hierarchy file: a line for each leaf, most specific label first, no header.

        Args:
            path: The file, UTF-8 with or without a byte order mark.
            delimiter: One character between the cells. A cell with a delimiter, a quote or a line break in it
                stands in double quotes, quotes inside doubled; ``""`` is the empty text.

        Raises:
            InvalidOption: The file cannot be read, or its rows are not a tree; the message gives the lines,
                and of what they hold only a label that stands in two places.

        Example:
            >>> import tempfile, pathlib
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = pathlib.Path(folder, "job.csv")
            ...     _ = file.write_text("Janitor;Blue-collar;*\nMover;Blue-collar;*\nLawyer;*\n")
            ...     Taxonomy.from_csv(file).paths()
            [('Janitor', 'Blue-collar', '*'), ('Mover', 'Blue-collar', '*'), ('Lawyer', '*')]
        """
        rows, where = read_rows(path, delimiter), f"{os.fspath(path)}, line"
        return cls(*tree_of_paths(rows, root=ROOT, where=where, named=True))

    @classmethod
    def from_edges(cls, pairs: Iterable[tuple[str, str | None]]) -> Taxonomy:
        """Make a taxonomy of pairs of a child and its parent, in any order.

        Args:
            pairs: The root has the parent None, or is the one parent that is nobody's child. Children keep
                the order of their pairs.

        Raises:
            InvalidOption: No root or several, two parents, a cycle, no child; the message gives counts, and
                names a label with two parents.

        Example:
            >>> Taxonomy.from_edges([("Mover", "ANY"), ("Lawyer", "ANY")]).labels
            ('ANY', 'Mover', 'Lawyer')
        """
        return cls(*tree_of_edges(pairs))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Taxonomy:
        """Make a taxonomy of a nested mapping: groups are mappings or lists of leaves.

        Args:
            mapping: Exactly one key, the root. An empty mapping or list, or None, makes a leaf.

        Raises:
            InvalidOption: Several roots, a label that is not a text, or one that stands there twice (named).

        Example:
            >>> Taxonomy.from_dict({"ANY": {"A": ["x", "y"], "B": None}}).paths()
            [('x', 'A', 'ANY'), ('y', 'A', 'ANY'), ('B', 'ANY')]
        """
        return cls(*tree_of_mapping(mapping))

    def merged(self, records: Sequence[int], least: int) -> Taxonomy:
        """Give the taxonomy in which rare siblings share a group, ``other X`` below ``X``.

        One child of few records keeps its parent from being specialized. So children of fewer records than
        ``least`` become one group; where together they are still fewer, the smallest siblings join them. A
        parent of which nothing else would be left stays as it is.

        Args:
            records: Of each leaf; what stands at other nodes is not looked at.
            least: How many records a group needs, from 1 on.

        Example:
            >>> jobs = Taxonomy.from_dict({"job": ["cook", "clerk", "judge", "pope"]})
            >>> jobs.merged([0, 40, 30, 2, 1], 3).paths()[1:]
            [('clerk', 'job'), ('judge', 'other job', 'job'), ('pope', 'other job', 'job')]
        """
        below = [0 if inner else int(records[node]) for node, inner in enumerate(self.children)]
        for node in reversed(range(1, len(below))):
            below[self.parents[node]] += below[node]
        groups, taken = dict[int, str](), set(self.labels)
        for node, children in enumerate(self.children):
            siblings = sorted((child for child in children if below[child]), key=lambda child: below[child])
            few = [child for child in siblings if below[child] < least]
            while few and sum(below[child] for child in few) < least and len(few) < len(siblings):
                few = siblings[: len(few) + 1]
            if 1 < len(few) < len(siblings):
                name = "other" if self.labels[node] == ROOT else f"other {self.labels[node]}"
                while name in taken:
                    name += "+"
                taken.add(name)
                groups |= dict.fromkeys(few, name)
        if not groups:
            return self
        pairs = dict[str, str | None]()
        for node, label in enumerate(self.labels):
            parent = self.labels[self.parents[node]] if node else None
            if node in groups:
                pairs.setdefault(groups[node], parent)
            pairs[label] = groups.get(node, parent)
        return self.from_edges(pairs.items())

    # -- what it holds ------------------------------------------------------------------------

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each node its children in their order, none for a leaf."""
        children: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents[1:], 1):
            children[parent].append(node)
        return tuple(map(tuple, children))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes without children, depth-first."""
        return tuple(node for node, below in enumerate(self.children) if not below)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """For each node its distance from the root."""
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def intervals(self) -> tuple[Interval | None, ...]:
        """For each node the interval that its label reads, None where it reads none.

        Only leaves are read as open on one side; a group called ``60 or more`` is one of any values.
        """
        pairs = zip(self.labels, self.children, strict=True)
        return tuple((Interval.of_label if below else Interval.of_leaf)(label) for label, below in pairs)

    @cached_property
    def is_interval(self) -> bool:
        """Whether every leaf is an interval."""
        return all(self.intervals[leaf] is not None for leaf in self.leaves)

    def paths(self) -> list[tuple[str, ...]]:
        """Give the labels from each leaf up to the root, leaves depth-first."""
        above: list[tuple[str, ...]] = [()] * len(self.labels)
        for node, (label, parent) in enumerate(zip(self.labels, self.parents, strict=True)):
            above[node] = (label, *(above[parent] if node else ()))
        return [above[leaf] for leaf in self.leaves]

    def to_csv(self, path_or_file: str | os.PathLike[str] | TextIO, *, delimiter: str = ";") -> None:
        """Write an ARX hierarchy file that :meth:`from_csv` reads back; leaves near the root are repeated.

        Args:
            path_or_file: A path where no file is yet, or an open text file.
            delimiter: One character between the cells.

        Raises:
            NameTaken: There is a file of that name.
            InvalidOption: It cannot be written.

        Example:
            >>> import sys
            >>> Taxonomy.from_dict({"*": {"A": ["x", "y"], "B": []}}).to_csv(sys.stdout)
            x;A;*
            y;A;*
            B;B;*
        """
        write_rows(self.paths(), path_or_file, delimiter)


def _fault(labels: Sequence[str], parents: Sequence[int]) -> str | None:
    """Say what keeps labels and parents from being a taxonomy, without naming a label."""
    if len(labels) != len(parents) or len(labels) < 2:
        return f"{len(labels)} labels with {len(parents)} parents are not a taxonomy of two nodes or more."
    if not all(isinstance(label, str) for label in labels):
        return "A label of a taxonomy is not a text."
    repeated = len(labels) - len(set(labels))
    if repeated:
        return f"The taxonomy repeats {several(repeated, 'label')}."
    if not _is_depth_first(parents):
        return "The parents of a taxonomy do not number a tree depth-first from node 0."
    if len(labels) > 2 and 1 in Counter(parents[1:]).values():
        return "A node of the taxonomy has a single child."
    return None


def _is_depth_first(parents: Sequence[int]) -> bool:
    """Tell whether each node's parent is the node before it or an ancestor of that one."""
    if parents[0] != -1:
        return False
    branch = [0]
    for node, parent in enumerate(parents[1:], 1):
        while branch and branch[-1] != parent:
            branch.pop()
        if not branch:
            return False
        branch.append(node)
    return True
