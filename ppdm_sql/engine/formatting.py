"""Statements for people to read: each clause, column and condition on a line of its own.

Only white space between tokens changes, so that what is shown is what is run. A printer of syntax trees
writes some statements anew, and leaves out what its grammar does not know.
"""

from __future__ import annotations

import re

_TOKENS = re.compile(
    r"""[eE]'(?:\\.|''|[^'\\])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\1\$|\$?\w+(?:\.\d+)?|::|[^\s]""",
    re.DOTALL,
)
_INDENT = "    "
_OPENING, _CLOSING = {"(", "[", "{"}, {")", "]", "}"}
_CLAUSES = {"FROM", "WHERE", "HAVING", "QUALIFY", "WINDOW", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "VALUES"}
_BY = {"GROUP", "ORDER"}
_JOINS = {"LEFT", "RIGHT", "FULL", "OUTER", "INNER", "CROSS", "ASOF", "SEMI", "ANTI", "NATURAL", "POSITIONAL"}
_QUERIES = {"SELECT", "FROM", "WITH", "VALUES"}
_LISTS = {"SELECT", "WITH"}
_CONDITIONS = {"WHERE", "HAVING", "QUALIFY"}


def formatted(sql: str) -> str:
    """Lay a statement out; one that has comments or lines of its own stays as it is."""
    if "\n" in sql or "--" in sql or "/*" in sql:
        return sql
    return _Layout(sql).lines()


def without_header(sql: str) -> str:
    """Leave out the comments before a statement."""
    lines = sql.lstrip().splitlines(keepends=True)
    while lines and lines[0].startswith("--"):
        del lines[0]
    return "".join(lines)


class _Query:
    """A query that is being written: where its lines begin, and in which clause the next token is."""

    def __init__(self, depth: int, indent: int) -> None:
        self.depth, self.indent = depth, indent
        self.clause, self.several, self.between = "", False, False


class _Layout:
    """Writes the tokens of one statement in order, with a new line before those that begin something."""

    def __init__(self, sql: str) -> None:
        self._found = list(_TOKENS.finditer(sql))
        self._words = [found.group().upper() for found in self._found]
        self._depth = 0
        self._queries = [_Query(0, 0)]
        self._parts: list[str] = []

    def lines(self) -> str:
        for place, found in enumerate(self._found):
            word = self._words[place]
            if word in _CLOSING:
                self._close()
            self._parts += self._space(place), found.group()
            if word in _OPENING:
                self._open(place)
        return "".join(self._parts).lstrip()

    def _open(self, place: int) -> None:
        self._depth += 1
        if self._words[place] == "(" and self._word(place + 1) in _QUERIES:
            self._queries.append(_Query(self._depth, self._queries[-1].indent + 1))

    def _close(self) -> None:
        if len(self._queries) > 1 and self._queries[-1].depth == self._depth:
            self._queries.pop()
            self._parts.append("\n" + _INDENT * self._queries[-1].indent)
        self._depth -= 1

    def _space(self, place: int) -> str:
        """Give what stands before a token: a new line, or the white space that stood there."""
        query, word = self._queries[-1], self._words[place]
        spaced = place and self._found[place - 1].end() < self._found[place].start()
        if self._depth == query.depth and word not in _CLOSING:
            if self._begins_clause(place, query):
                query.clause, query.between = word, False
                query.several = word in _LISTS and self._has_several(place)
                return "\n" + _INDENT * query.indent
            if self._begins_entry(place, query):
                return "\n" + _INDENT * (query.indent + (query.clause != "WITH"))
        return " " if spaced and word != ")" else ""

    def _begins_clause(self, place: int, query: _Query) -> bool:
        word, last, following = self._words[place], self._word(place - 1), self._word(place + 1)
        if word == "SELECT":
            return True
        if word == "WITH":
            return last in {"", "(", "AS", "TABLE"} and following not in {"TIME", "ORDINALITY"}
        if word == "FROM":
            return last != "DISTINCT" and (query.clause != "" or last == "(")
        if not query.clause:
            return False
        if word in _BY:
            return following == "BY"
        if word == "JOIN":
            return last not in _JOINS
        if word in _JOINS:
            return last not in _JOINS and self._joins(place)
        return word in _CLAUSES and following != "("

    def _joins(self, place: int) -> bool:
        while self._word(place) in _JOINS:
            place += 1
        return self._word(place) == "JOIN"

    def _begins_entry(self, place: int, query: _Query) -> bool:
        """Tell whether a column of several, another common table expression or a further condition begins."""
        word, last = self._words[place], self._word(place - 1)
        if query.clause in _LISTS and query.several:
            first = last in {"SELECT", "DISTINCT"} and query.clause == "SELECT" and word != "DISTINCT"
            return last == "," or first
        if query.clause == "JOIN" or query.clause in _JOINS:
            return word == "ON"
        if query.clause not in _CONDITIONS:
            return False
        if word == "BETWEEN":
            query.between = True
        if word == "AND" and query.between:
            query.between = False
            return False
        return word in {"AND", "OR"}

    def _has_several(self, place: int) -> bool:
        """Tell whether a comma stands in the list that begins here, before the next clause."""
        depth = 0
        for word in self._words[place + 1 :]:
            depth += (word in _OPENING) - (word in _CLOSING)
            if depth < 0 or (depth == 0 and word in _CLAUSES):
                return False
            if depth == 0 and word == ",":
                return True
        return False

    def _word(self, place: int) -> str:
        return self._words[place] if 0 <= place < len(self._words) else ""
