"""Makes a tree of labels out of rows, pairs or a mapping, and says what keeps them from being one.

Labels may be values of a sensitive column, so messages hold numbers of rows and counts, and no label.
There is one exception: a label that stands in two places is named, in a file, a table or a mapping. Paths may
be made of the values of a column, so they are refused by their numbers alone.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

from ppdm_sql.engine.space import write_new
from ppdm_sql.errors import InvalidOption, NameTaken, said, some

Tree = tuple[tuple[str, ...], tuple[int, ...]]
"""Labels and parents of the nodes, depth-first."""

Children = Mapping[str, Sequence[str]]
"""The children of each label that has any, in their order."""

Row = tuple[int, list[str]]
"""The line on which a row begins, and its cells."""

_BREAK = re.compile(r"\r\n|\r|\n")
_NO_DELIMITER = '"\r\n'
_MOST_NUMBERS = 5
_LONGEST = 60
"""Characters of a label that a message can hold."""
_ONE_PLACE = "Give every label one place in the tree; a group may not share its name with a value or a group."


def tree_of_paths(
    rows: Iterable[tuple[int, Sequence[str]]], *, root: str, where: str, named: bool = False
) -> Tree:
    """Make a tree of rows that lead from a leaf to the root."""
    paths = [(number, _path(number, row, where)) for number, row in rows]
    if not paths:
        raise InvalidOption("The taxonomy has no rows.", "Give it a row for each value.")
    if len({path[-1] for _, path in paths}) != 1 or all(len(path) == 1 for _, path in paths):
        paths = [(number, path if path[-1] == root else [*path, root]) for number, path in paths]
    returning = {number: _repetitions(path)[0] for number, path in paths if len(set(path)) < len(path)}
    _refuse_labels(returning, where, "a label", "stands there twice, with others between.", named=named)
    parents, first, bad = dict[str, str](), dict[str, int](), dict[int, str]()
    for number, path in paths:
        for child, parent in pairwise(path):
            first.setdefault(child, number)
            if parents.setdefault(child, parent) != parent:
                bad.setdefault(first[child], child)
                bad.setdefault(number, child)
    _refuse_labels(bad, where, "a label", "has different parents.", named=named)
    groups = set(parents.values())
    clashing = {number: path[0] for number, path in paths if path[0] in groups}
    _refuse_labels(clashing, where, "the first label", "is a group elsewhere.", named=named)
    return _number_nodes(paths[0][1][-1], _children(parents.items()))


def tree_of_edges(pairs: Iterable[tuple[str, str | None]]) -> Tree:
    """Make a tree of pairs of a child and its parent, None for the root."""
    distinct = list(dict.fromkeys((child, parent) for child, parent in pairs))
    if not distinct:
        raise InvalidOption("The taxonomy has no nodes.", "Give it a row for each node.")
    parents = dict(distinct)
    missing = sum(child is None for child, _ in distinct)
    if missing:
        raise InvalidOption(f"The taxonomy has {several(missing, 'row')} without a child.", "Fill them in.")
    if len(parents) < len(distinct):
        twice = _repetitions([child for child, _ in distinct])
        raise InvalidOption(
            f"The taxonomy has {several(len(twice), 'node')} with more than one parent: {_first_of(twice)}.",
            _ONE_PLACE,
        )
    own_roots = (child for child, parent in parents.items() if parent is None)
    roots = dict.fromkeys((*own_roots, *(p for p in parents.values() if p is not None and p not in parents)))
    if len(roots) != 1:
        raise InvalidOption(
            f"The taxonomy has {len(roots)} roots.",
            "Give the parent NULL to one row, and to every other row a parent that is a child itself.",
        )
    children = _children((child, parent) for child, parent in parents.items() if parent is not None)
    nodes = list(roots)
    for node in nodes:
        nodes.extend(children.get(node, ()))
    unreachable = len({*parents, *roots}) - len(nodes)
    if unreachable:
        raise InvalidOption(
            f"The taxonomy has {several(unreachable, 'node')} in a cycle, or below one.",
            "Give one node of the cycle a parent outside it.",
        )
    return _number_nodes(nodes[0], children)


def tree_of_mapping(mapping: Mapping[str, Any]) -> Tree:
    """Make a tree of a nested mapping with one key, the root."""
    if len(mapping) != 1:
        raise InvalidOption(
            f"The mapping has {len(mapping)} roots.", 'Write it as {"ANY": {...}}, with one key at the top.'
        )
    edges: list[tuple[str, str]] = []
    waiting = list(mapping.items())
    for label, below in waiting:
        inside = _inside(below)
        waiting.extend(inside)
        edges.extend((child, label) for child, _ in inside)
    labels = [*mapping, *(child for child, _ in edges)]
    if not all(isinstance(label, str) for label in labels):
        raise InvalidOption("A label of the mapping is not a text.", "Write numbers as '1', '2'.")
    twice = _repetitions(labels)
    if twice:
        raise InvalidOption(
            f"The mapping repeats {several(len(twice), 'label')}: {_first_of(twice)}.", _ONE_PLACE
        )
    return _number_nodes(next(iter(mapping)), _children(edges))


def _inside(below: Any) -> list[tuple[Any, Any]]:
    """Give the entries below a group: of a mapping, or leaves of a list."""
    if below is None:
        return []
    if isinstance(below, Mapping):
        return list(below.items())
    if isinstance(below, Sequence) and not isinstance(below, str):
        return [(label, None) for label in below]
    raise InvalidOption("What stands below a group is neither a mapping nor a list.", 'Write ["a", "b"].')


def several(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _first_of(labels: Sequence[str]) -> str:
    """Name the first of some labels, cut where it is long, with no control characters."""
    first, more = labels[0], len(labels) - 1
    text = said(first if len(first) <= _LONGEST else f"{first[:_LONGEST]}...")
    return text + (f" and {more} more" if more else "")


def _repetitions(labels: Iterable[str]) -> list[str]:
    return [label for label, times in Counter(labels).items() if times > 1]


# -- rows -------------------------------------------------------------------------------------


def _path(number: int, row: Sequence[str], where: str) -> list[str]:
    """Give the labels of a row, those that repeat the one before left out."""
    texts = not isinstance(row, str) and all(isinstance(label, str) for label in row)
    _refuse([] if texts and row else [number], where, "this is not a list of texts.")
    return [label for place, label in enumerate(row) if not place or label != row[place - 1]]


def _refuse_labels(labels: Mapping[int, str], where: str, label: str, fault: str, *, named: bool) -> None:
    """Refuse rows, if there are any, for a label in each that stands elsewhere, too."""
    numbers = sorted(labels)
    names = _first_of(list(dict.fromkeys(labels[n] for n in numbers))) if named and labels else ""
    _refuse(numbers, where, " ".join([label, *[f"({names})"] * bool(names), fault]))


def _refuse(numbers: Sequence[int], where: str, fault: str) -> None:
    """Name the rows that have a fault, if there are any."""
    if numbers:
        rows = f"{where}{'s' * (len(numbers) > 1)} {some([*map(str, numbers)], _MOST_NUMBERS)}"
        raise InvalidOption(f"{rows}: {fault}", _ONE_PLACE)


# -- trees ------------------------------------------------------------------------------------


def _children(edges: Iterable[tuple[str, str]]) -> Children:
    children: dict[str, list[str]] = {}
    for child, parent in edges:
        children.setdefault(parent, []).append(child)
    return children


def _number_nodes(root: str, children: Children) -> Tree:
    """Number the nodes depth-first; chains of single children become one node.

    A chain that ends in a leaf keeps the leaf's label, any other its top label; the root always stays.
    """
    if root not in children:
        raise InvalidOption("The taxonomy has nothing below its root.", "Give it one value at least.")
    labels, parents = [root], [-1]
    end = _end(root, children)
    waiting = [(child, 0) for child in reversed(children.get(end, [end]))]
    while waiting:
        top, parent = waiting.pop()
        end = _end(top, children)
        below = children.get(end, ())
        waiting.extend((child, len(labels)) for child in reversed(below))
        labels.append(top if below else end)
        parents.append(parent)
    return tuple(labels), tuple(parents)


def _end(label: str, children: Children) -> str:
    """Follow a chain of single children to the node that has several, or none."""
    while len(children.get(label, ())) == 1:
        (label,) = children[label]
    return label


# -- hierarchy files of ARX: CSV without a header, a line for each leaf, its label first and the root last ---
#
# Read here rather than by a CSV library, because the empty text ``""`` is a label and an empty cell is not,
# and because an error must give the line.


def read_rows(path: str | os.PathLike[str], delimiter: str) -> list[Row]:
    """Read the rows of a file; blank lines and empty cells at the end of a line count for nothing."""
    _check_delimiter(delimiter)
    rows = [(line, cells) for line, cells in _rows(_text(path), delimiter, path) if set(cells) != {None}]
    if rows and all(len(cells) == 1 for _, cells in rows):
        raise InvalidOption(
            f"No line of {path} holds the delimiter {delimiter!r}.",
            f"Write a value and its groups in each line, such as VALUE{delimiter}GROUP{delimiter}*.",
        )
    return [(line, _without_gaps(cells, line, path)) for line, cells in rows]


def write_rows(
    paths: Sequence[Sequence[str]], path_or_file: str | os.PathLike[str] | TextIO, delimiter: str
) -> None:
    """Write rows of equal length; a short one repeats its first label."""
    _check_delimiter(delimiter)
    width = max(map(len, paths))
    rows = ([path[0]] * (width - len(path)) + list(path) for path in paths)
    text = "".join(delimiter.join(_cell(label, delimiter) for label in row) + "\n" for row in rows)
    if not isinstance(path_or_file, (str, os.PathLike)):
        path_or_file.write(text)
        return
    path = Path(path_or_file)
    try:
        write_new(path, text.encode(), step="write taxonomy")
    except FileExistsError:
        raise NameTaken(f"There is a file {path} already.", "Give another name.") from None
    except (OSError, ValueError):
        raise InvalidOption(f"The file {path} cannot be written.", "Check the path.") from None


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or delimiter in _NO_DELIMITER:
        raise InvalidOption(
            f"{said(delimiter)} cannot delimit cells.", "Give one character, such as ';' or ','."
        )


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidOption(f"{path} is not UTF-8 text.", "Save the file in UTF-8.") from None
    except (OSError, ValueError):
        raise InvalidOption(f"The file {path} cannot be read.", "Check the path.") from None


def _rows(text: str, delimiter: str, path: object) -> Iterator[tuple[int, list[str | None]]]:
    """Cut a text into rows; an empty cell without quotes is None."""
    mark = re.escape(delimiter)
    cell = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|([^"{mark}\r\n][^{mark}\r\n]*)?)({mark}|\r\n|\r|\n|\Z)')
    at, line, first = 0, 1, 1
    cells: list[str | None] = []
    while at < len(text):
        match = cell.match(text, at)
        if match is None:
            raise InvalidOption(
                f"The quotes in line {line} of {path} do not match.",
                "Put the whole cell in double quotes, and double those inside it.",
            )
        quoted, plain, end = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        at, line = match.end(), line + len(_BREAK.findall(match[0]))
        if end != delimiter:
            yield first, cells
            cells, first = [], line
    if cells:
        yield first, cells


def _without_gaps(cells: list[str | None], line: int, path: object) -> list[str]:
    """Drop what is empty at the end; refuse an empty cell before others."""
    while cells[-1] is None:
        cells.pop()
    labels = [cell for cell in cells if cell is not None]
    if len(labels) < len(cells):
        raise InvalidOption(
            f"Line {line} of {path} has an empty cell before others.",
            'Fill it in, or write "" for the empty text.',
        )
    return labels


def _cell(label: str, delimiter: str) -> str:
    """Quote a label where it needs it; a byte order mark at the start of a file would be lost."""
    plain = label and not label.startswith("\ufeff") and not set(label) & {delimiter, *_NO_DELIMITER}
    doubled = label.replace('"', '""')
    return label if plain else f'"{doubled}"'
