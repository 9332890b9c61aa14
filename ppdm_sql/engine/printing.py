"""Statements for people to read: laid out, and each with a sentence that says what it does."""

from __future__ import annotations

import re

from ppdm_sql.engine import statements
from ppdm_sql.engine.statements import Statement

_INDENT = "    "
_TOKENS = re.compile(
    r"""
      [eE]'(?:\\.|''|[^'\\])*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(\w*)\$.*?\$\1\$
    | (?:(?:LEFT|RIGHT|FULL|OUTER|INNER|CROSS|ASOF|SEMI|ANTI|NATURAL|POSITIONAL)\s+)*JOIN\b
    | (?:GROUP|ORDER)\s+BY\b | DISTINCT\s+FROM\b | WITH\s+(?:TIME|ORDINALITY)\b
    | \$?\w+(?:\.\d+)? | :: | \S
    """,
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"SELECT|WITH|FROM|WHERE|HAVING|QUALIFY|WINDOW|LIMIT|UNION|EXCEPT|INTERSECT|VALUES|(?:.*\s)?JOIN|\S+\s+BY"
)
_QUERIES = {"SELECT", "FROM", "WITH", "VALUES"}


class _Query:
    """A query that is being written: in which brackets it stands, and in which clause the next token is."""

    def __init__(self, depth: int) -> None:
        self.depth, self.clause, self.between = depth, "", False

    def begins_clause(self, word: str, last: str) -> bool:
        if _CLAUSE.fullmatch(word) is None or not (self.clause or last == "(" or word in ("SELECT", "WITH")):
            return False
        self.clause, self.between = word, False
        return True

    def begins_entry(self, word: str, last: str) -> bool:
        """Tell whether a further column, common table expression or condition begins."""
        if self.clause in ("SELECT", "WITH"):
            return last == ","
        if self.clause.endswith("JOIN"):
            return word == "ON"
        ends_between = word == "AND" and self.between
        self.between = word == "BETWEEN" or self.between and not ends_between
        return word in ("AND", "OR") and not ends_between and self.clause in ("WHERE", "HAVING", "QUALIFY")


def formatted(sql: str) -> str:
    """Lay a statement out; one that has comments or lines of its own stays as it is."""
    if "\n" in sql or "--" in sql or "/*" in sql:
        return sql
    found = list(_TOKENS.finditer(sql))
    words = [token.group().upper() for token in found]
    parts, queries, depth = list[str](), [_Query(0)], 0
    for token, word, last, following in zip(found, words, ["", *words], [*words[1:], ""], strict=False):
        spaced = token.start() and sql[token.start() - 1].isspace()
        between = " " if spaced and word != ")" else ""
        if word in ")]}":
            if len(queries) > 1 and queries[-1].depth == depth:
                queries.pop()
                between = "\n" + _INDENT * (len(queries) - 1)
            depth -= 1
        elif depth == queries[-1].depth:
            if queries[-1].begins_clause(word, last):
                between = "\n" + _INDENT * (len(queries) - 1)
            elif queries[-1].begins_entry(word, last):
                between = "\n" + _INDENT * (len(queries) - (queries[-1].clause == "WITH"))
        parts += between, token.group()
        if word in "([{":
            depth += 1
            if word == "(" and following in _QUERIES:
                queries.append(_Query(depth))
    return "".join(parts).lstrip()


def without_header(sql: str) -> str:
    lines = sql.lstrip().splitlines(keepends=True)
    while lines and lines[0].startswith("--"):
        del lines[0]
    return "".join(lines)


COMPOSED = {
    "accept": "Here the audit reads the frozen rows; if it refuses: ROLLBACK.",
    "affected": "Keeps the records of the patterns in which a value changes.",
    "after": "Measures the state after each of several candidates, read off the groups that it splits.",
    "apply": "Makes the table that shows these records as the release shows its own.",
    "asked_values": "Lists the values that were asked for.",
    "atoms": "Collapses the table: one row per combination of values, coded, with its number of records.",
    "attach": "Opens the new database file.",
    "begin": "All that follows is committed together, or none of it.",
    "children": "Gives the child of each record of the value that is specialized.",
    "chosen": "Picks the tied records that move, by a keyed hash.",
    "class_counts": "Counts the records of each value and class: the information gain follows from them.",
    "coded": "Replaces values by their codes.",
    "codes": "Reads the codes of one column in the order of the records.",
    "collapsed": "Counts the records of each combination of features and class.",
    "column_leaves": "Lists the leaves of the column's tree, in the type of the column.",
    "column_statistics": "Counts values, and measures the columns of numbers.",
    "column_pair": "Counts the combinations of two columns, and the records that are alone with theirs.",
    "column_values": "Lists the values of the column with their number of records.",
    "comment": "Says on the table what it is.",
    "comments": "Says on the release and its columns what they are.",
    "commit": "Commits what was written since the transaction began.",
    "common": "Keeps the records whose keys both parties hold.",
    "confusion": "Counts the records by class and predicted class.",
    "count_faults": "Counts the rows whose count cannot be a number of records, and looks at the sum.",
    "count_records": "Counts the records.",
    "count_values": "Counts the records that have a value.",
    "counts": "Counts the records of each node by attribute, value and class.",
    "covariances": "Sums values and their products, from which means and covariances follow.",
    "create_macro": "Makes a macro, plain SQL that any client can call.",
    "create_view": "Makes the view under the name of the release.",
    "describe": "Reads the columns and their types.",
    "describe_macro": "Says on the macro what it gives and which version made it.",
    "detach": "Writes and closes the new database file.",
    "detail": "Measures the requirements on the source itself, in which nothing is masked.",
    "deviations": "Measures standard deviations.",
    "dictionaries": "Tells of each column whether NULL or the symbol is one of its values.",
    "discard": "Drops a working table that is no longer needed.",
    "divided": "Divides the records among the children.",
    "drop": "Drops what the release consists of.",
    "drop_macro": "Drops the macro.",
    "drop_schema": "Drops the schema, in which nothing is left.",
    "edges": "Labels the bins between the edges.",
    "enumerate": "Makes a type of the values, so that they are stored as numbers.",
    "export_comments": "Says on the exported table and its columns what they are.",
    "export_rows": "Writes the rows of the release into the new file.",
    "feature_values": "Lists the values of the feature.",
    "filter_errors": "Measures the mean squared errors of the estimates.",
    "fine_counts": "Counts the records of each attribute by group and fine bin.",
    "freeze": "Writes the rows of the release, generalized or suppressed, in the order of what they show.",
    "grid": "Counts records, and those with a protected value, by the attributes that the requirements name.",
    "histogram": "Counts the values by cell or category, and by class.",
    "identifiable": "Finds the records whose pattern occurs with one confidential value only.",
    "labelled": "Gives the code of each value the label of its bin.",
    "labels": "Names the nodes of the masked attributes.",
    "labels_shown": "Lists the labels that the release shows.",
    "leaves": "Counts or divides the records by leaf.",
    "lookup": "Multiplies the probabilities of each combination of values.",
    "marginal": "Counts the records of each value, before and after.",
    "masked": "Replaces each value by the node that the cut shows for it, and counts the records.",
    "means": "Measures means.",
    "measure": "Here the audit measures the table.",
    "minimal_uniques": "Keeps the records that a set of columns singles out, and no smaller one.",
    "moved_rows": "Counts the combinations, or persons, that have another number of records in the release.",
    "moves": "Lets each record do what is best at the prices.",
    "noisy": "Draws the noise of each record and adds it.",
    "nulls": "Counts the NULLs.",
    "numbers": "Reads the columns of numbers.",
    "outside": "Counts the values that lie outside of the range.",
    "overlay": "Makes a view to be read in the place of the table.",
    "pack_counts": "Counts the values of the attributes by confidential value.",
    "pair_estimates": "Estimates the number of combinations of each pair of columns, all in one scan.",
    "path": "Measures the requirements along a path on which values of one column are disclosed.",
    "people": "Numbers the persons.",
    "person_faults": "Counts the rows that are nobody's.",
    "persons": "Counts the persons.",
    "pieces": "Lays the records of each pattern end to end.",
    "plain_types": "Turns types that list the values of the source into text.",
    "predict": "Makes the table with the class that the tree predicts for each record.",
    "protected_texts": "Reads the protected values as text.",
    "quantiles": "Cuts the values into runs of about equal numbers of records.",
    "reconstruct": "Makes the table of the reconstructed distribution.",
    "record_key": "Counts the different values of a column, of which each record is to have its own.",
    "records": "Counts or lists the records.",
    "repeated_persons": "Counts the values of columns that may say whose a row is.",
    "requested_values": "Lists the protected values as they were written.",
    "rows": "Copies the rows to look at, which are read several times.",
    "sample": "Takes a sample of the records, by a hash of their key.",
    "scores": "Makes the table of the records with their scores.",
    "settled": "Counts the changed records that an attacker is sure of.",
    "settings": "Gives a setting the value under which these statements mean what they say.",
    "size": "Counts rows and records.",
    "source": "Fixes the rows that the run reads.",
    "state": "Measures the requirements in a state.",
    "suda_scores": "Scores each record by the sets of columns that single it out.",
    "swapped": "Gives the records after the swaps.",
    "texts": "Writes the values of the masked attributes as text.",
    "thresholds": "Lists the confidences above which inferences are counted.",
    "ties": "Keeps the records for which a second choice costs little more than the best.",
    "training_statistics": "Counts records with and without a class, and finds the bounds of the numbers.",
    "types": "Chooses the types in which values and bounds are compared.",
    "uncoded": "Counts the rows with a value that had no code, which must be none, and adds up records.",
    "value_counts": "Counts the records of each value.",
    "values": "Lists the values.",
    "verify": "Compares the release as it stands with what was recorded of it.",
    "weight_faults": "Counts weights that stand for nobody.",
    "weighted_records": "Counts the records of each class and household, and sums their weights.",
    "weights": "Compares the records with the sum of their weights.",
}
"""Of the statements that are put together, as their shape depends on what was asked, by their step."""


def purpose(statement: Statement) -> str:
    """Say what a statement does: as its step file says, or as its step is known; empty if neither is."""
    if statement.file is not None:
        return _first_sentence(statements.text(statement.file))
    if re.match(r"-- \S+ \| in: ", statement):
        return _first_sentence(statement)
    return COMPOSED.get(statement.step.replace(" ", "_"), "")


def _first_sentence(text: str) -> str:
    """Read it behind the line of a step file that names its inputs and output."""
    lines = []
    for line in text.splitlines()[1:]:
        if not line.startswith("-- ") or line.startswith("-- Source"):
            break
        if not re.match(r"-- (FROM|SELECT) ", line):  # how a macro is called
            lines.append(line.removeprefix("-- "))
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(lines), maxsplit=1)[0]
