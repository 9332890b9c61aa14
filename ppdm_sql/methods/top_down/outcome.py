"""Writes what a descent reached: the rows of the release, the steps, the cuts and the trees, all in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import render
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.code_mapping import recoded, runs_of
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.label_table import Params, label_table
from ppdm_sql.methods.top_down.loop import RefinementStep
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.release import Treatment

WORTH_PACKING = 250_000
"""Records from which on text columns are stored as ENUMs."""
MOST_LISTED = 10_000
"""Values of a column in grown intervals above which ``ppdm.cuts`` does not list them."""
MOST_PACKED = 2**16
"""Values of a column above which its text is stored as it is."""
LARGEST_KEY = 2**63


@dataclass(frozen=True)
class Output:
    """One column of a release: where it comes from in the atoms, and its name.

    Args:
        atom: ``c<i>`` or ``k<i>``, or ``n`` for the count column.
        name: Its released name.
        treatment: What the release says of it.
        of: The interval column whose bound it is, if it is one.
    """

    atom: str
    name: str
    treatment: Treatment
    of: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a descent reached.

    Args:
        atoms: The collapsed source.
        recodings: Of the attributes, which are the first coded columns of the atoms.
        cuts: Their final cuts.
        specialized: For each attribute its specialized nodes with their children, in the order of the run.
        labels: From :func:`~ppdm_sql.methods.top_down.label_table.label_table`.
    """

    atoms: Atoms
    recodings: Sequence[Masking]
    cuts: Sequence[Cut]
    specialized: Sequence[Mapping[int, Sequence[int]]]
    labels: Table

    def cut(self, position: int) -> Cut | None:
        """Give the cut of a coded column; None where every value is released as it is."""
        if position >= len(self.cuts) or self.recodings[position].is_whole(self.cuts[position]):
            return None
        return self.cuts[position]


Move = tuple[int, int, Sequence[int], float, float, float]
"""A step as it is written down: attribute, node, children, score, gain, loss."""


def moves_of(cuts: Sequence[Cut], steps: Sequence[RefinementStep]) -> list[Move]:
    """Follow the steps from the most general cuts and say what each specialized."""
    moves: list[Move] = []
    reached = list(cuts)
    for step in steps:
        attribute, candidate = step.candidate
        node, children = reached[attribute].specialization(candidate)
        reached[attribute] = reached[attribute].refine(candidate)
        moves.append((attribute, node, children, step.score, step.gain, step.loss))
    return moves


def outcome_of(
    engine: Engine, atoms: Atoms, recodings: Sequence[Masking], cuts: Sequence[Cut], moves: Sequence[Move]
) -> Outcome:
    """Gather what the release needs to know of its attributes, and label their nodes."""
    specialized: list[dict[int, list[int]]] = [{} for _ in recodings]
    for attribute, node, children, *_ in moves:
        specialized[attribute].setdefault(node, []).extend(children)
    labels = label_table(engine, recodings, specialized)
    return Outcome(atoms, recodings, cuts, specialized, labels)


def released_rows(engine: Engine, outcome: Outcome, outputs: Sequence[Output]) -> str:
    """Write the SELECT that gives the release, ordered by its own values alone.

    The atoms are masked and regrouped as codes, decoded, sorted, and only then written out one row a
    record, so that sorting and decoding cost by combination, not by record. Where ``outputs`` holds a count
    column the combinations stay collapsed.

    Args:
        engine: Where the working table of masked combinations is made.
        outcome: What the descent reached.
        outputs: Columns of the release, in order.

    Cost: one scan of the atoms; the SELECT itself scans the combinations.
    """
    masked = engine.materialize("masked", *_masked(outcome))
    joins: dict[int, str] = {}
    values, named = ["m.n AS n"], []
    for i, output in enumerate(outputs):
        named.append(render(alias(column("n" if output.atom == "n" else f"r{i}"), output.name)))
        if output.atom == "n":
            continue
        if output.atom[0] == "c":
            position = int(output.atom[1:])
            packed = _packed(engine, outcome, position, masked) if is_packed(outcome, output) else None
            joins.setdefault(position, _join(outcome, position, packed))
        values.append(f"{_value(outcome, output)} AS r{i}")
    rows = (
        f"SELECT {', '.join(values)} FROM {masked} AS m {' '.join(joins.values())} "
        f"ORDER BY {', '.join(_order(outcome, outputs)) or 'ALL'}"
    )
    if all(output.atom != "n" for output in outputs):
        rows = f"SELECT *, unnest(range(n)) AS copy FROM ({rows}) AS combinations"
    return f"SELECT {', '.join(named)} FROM ({rows}) AS records"


def _packed(engine: Engine, outcome: Outcome, position: int, masked: Table) -> Table:
    """Make an ENUM type of the values of a column that are released."""
    shown = f"(SELECT DISTINCT c{position} FROM {masked}) AS m"
    value = "label" if outcome.cut(position) is not None else "value"
    text = f"d{position}.{value}"
    known = f"{shown} {_join(outcome, position)} WHERE {text} IS NOT NULL"
    return engine.enumerate_values(f"SELECT DISTINCT {text} FROM {known} ORDER BY ALL")


def _order(outcome: Outcome, outputs: Sequence[Output]) -> list[str]:
    """Give the columns' order, as numbers: codes of released values stand in the order of the values.

    Neighbours that fit are packed into one number, which sorts several times faster than values do.
    """
    terms: list[str] = []
    room = 1
    for i, output in enumerate(outputs):
        if output.atom == "n":
            continue
        coded = _coded_order(outcome, output)
        if coded is None:
            terms.append(f"r{i} NULLS LAST")
            room = 1
            continue
        code, size = coded
        if room > 1 and room * size <= LARGEST_KEY:
            terms[-1], room = f"({terms[-1]}) * {size}::UBIGINT + {code}", room * size
        else:
            terms.append(f"{code}::UBIGINT")
            room = max(2, size)
    return terms


def _coded_order(outcome: Outcome, output: Output) -> tuple[str, int] | None:
    """Give a column's code and the number of codes, where they are in the order of what is released."""
    if output.atom[0] != "c" or output.of:
        return None
    position = int(output.atom[1:])
    dictionary = outcome.atoms.coded[position]
    if outcome.cut(position) is not None or has_enum(dictionary.column.type):
        return None
    return f"m.c{position}", dictionary.size


def is_packed(outcome: Outcome, output: Output) -> bool:
    """Tell whether a column is worth storing as an ENUM of its released values.

    Writing text costs most of a large release: at 10 million records of nine columns 5.2 s of CPU time,
    1.8 s as ENUMs. On small ones making the types costs more than it saves. A sensitive column stays text: a
    requirement may name a value that no record of the release holds, and an ENUM could not be asked for it.
    """
    if output.atom[0] != "c" or output.of or output.treatment == "sensitive":
        return False
    if outcome.atoms.records < WORTH_PACKING:
        return False
    position = int(output.atom[1:])
    dictionary = outcome.atoms.coded[position]
    is_text = dictionary.column.type == "VARCHAR" or outcome.cut(position) is not None
    return is_text and dictionary.size <= MOST_PACKED


def _masked(outcome: Outcome) -> tuple[str, Params]:
    """Replace the codes of masked attributes by nodes and add up what has become equal."""
    params: Params = {}
    columns = [f"k{position}" for position in range(len(outcome.atoms.kept))]
    for position in range(len(outcome.atoms.coded)):
        cut = outcome.cut(position)
        if cut is None:
            columns.append(f"c{position}")
            continue
        text, own = recoded(f"c{position}", cut.nodes, f"r{position}", "BIGINT")
        params |= own
        columns.append(f"{text} AS c{position}")
    rows = f"SELECT {', '.join(columns)}, sum(n)::BIGINT AS n FROM {outcome.atoms.table} GROUP BY ALL"
    return rows, params


def _join(outcome: Outcome, position: int, packed: Table | None = None) -> str:
    """Join what an attribute's codes, or its nodes, are released as; as an ENUM where one is given."""
    if outcome.cut(position) is None:
        table, key, value, rest = outcome.atoms.coded[position].table, "code", "value", ""
        where = ""
    else:
        table, key, value, rest = outcome.labels, "node", "label", ", lower, upper"
        where = f" WHERE attribute = {position}"
    text = value if packed is None else f"TRY_CAST({value} AS {packed}) AS {value}"
    shown = f"(SELECT {key}, {text}{rest} FROM {table}{where})"
    return f"LEFT JOIN {shown} AS d{position} ON d{position}.{key} = m.c{position}"


def _value(outcome: Outcome, output: Output) -> str:
    if output.atom[0] == "k":
        return f"m.{output.atom}"
    position = int(output.atom[1:])
    type_text = outcome.atoms.coded[position].column.type
    if output.of:
        bound = "lower" if output.treatment == "lower bound" else "upper"
        return f"CAST(d{position}.{bound} AS {type_text})"
    if outcome.cut(position) is not None:
        return f"d{position}.label"
    value = f"d{position}.value"
    return f"{value}::VARCHAR" if has_enum(type_text) else value


def has_enum(type_text: str) -> bool:
    """Tell whether a type carries a list of values, which would bring all of the source's along."""
    return "ENUM(" in type_text.upper()


def without_enum(value: exp.Expression, type_text: str) -> exp.Expression:
    """Turn an ENUM into text."""
    return exp.cast(value, "TEXT") if has_enum(type_text) else value


def step_rows(engine: Engine, outcome: Outcome, moves: Sequence[Move]) -> Table:
    """Write the steps with the labels of what each specialized; one row a step."""
    rows = [
        (step, attribute, node, child, place, score, gain, loss)
        for step, (attribute, node, children, score, gain, loss) in enumerate(moves, start=1)
        for place, child in enumerate(children)
    ]
    names = ("step", "attribute", "parent", "child", "place", "score", "gain", "loss")
    params: Params = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    params["names"] = _names(outcome)
    query = statements.bind("top_down/steps", tables={"labels": outcome.labels})
    return engine.materialize("steps", query, params)


def top_labels(engine: Engine, outcome: Outcome) -> dict[str, str]:
    """Give the label of the most general state of each attribute."""
    roots = [recoding.root for recoding in outcome.recodings]
    query = (
        f"SELECT attribute, label FROM {outcome.labels} "
        "WHERE node = CAST($roots AS BIGINT[])[attribute + 1] AND label IS NOT NULL"
    )
    names = _names(outcome)
    return {names[a]: label for a, label in engine.query(query, {"roots": roots}, step="tops")}


def cut_rows(engine: Engine, outcome: Outcome) -> Table:
    """Write what became of every value of the masked attributes; the owner's, never exported.

    A column of very many values that is shown in intervals is left out: its intervals say it all.
    """
    listed = [
        position
        for position, recoding in enumerate(outcome.recodings)
        if recoding.treatment is not None and 0 < recoding.dictionary.size <= _most_listed(recoding)
    ]
    parts = [
        f"SELECT {position} AS attribute, code, value::VARCHAR AS value "
        f"FROM {outcome.recodings[position].dictionary.table}"
        for position in listed
    ]
    nothing = ["SELECT NULL::INTEGER AS attribute, NULL::BIGINT AS code, NULL::VARCHAR AS value WHERE false"]
    texts = engine.materialize("texts", " UNION ALL ".join(parts or nothing))
    runs = [
        (position, *run)
        for position in listed
        for run in zip(*(part.tolist() for part in runs_of(outcome.cuts[position].nodes)), strict=True)
    ]
    names = ("attribute", "code", "node")
    params: Params = {name: [row[i] for row in runs] for i, name in enumerate(names)}
    params["names"] = _names(outcome)
    query = statements.bind("top_down/cuts", tables={"texts": texts, "labels": outcome.labels})
    return engine.materialize("cuts", query, params)


def _most_listed(recoding: Masking) -> float:
    return MOST_LISTED if recoding.grown else float("inf")


def tree_rows(engine: Engine, outcome: Outcome) -> Table:
    """Write the trees of the masked attributes, the cut marked; the owner's, never exported."""
    rows: list[tuple[int, int, int, int | None, bool]] = []
    for position, recoding in enumerate(outcome.recodings):
        parents = dict(recoding.nodes(outcome.specialized[position]))
        order = {node: rank for rank, node in enumerate(sorted(parents, key=recoding.order))}
        shown = _shown(recoding, outcome.cuts[position], outcome.specialized[position])
        rows += [
            (position, node, order[node], None if parent is None else order[parent], node in shown)
            for node, parent in sorted(parents.items(), key=lambda pair: order[pair[0]])
        ]
    names = ("attribute", "key", "node", "parent", "shown")
    params: Params = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    params["names"] = _names(outcome)
    query = statements.bind("top_down/trees", tables={"labels": outcome.labels})
    return engine.materialize("trees", query, params)


def _shown(recoding: Masking, cut: Cut, specialized: Mapping[int, Sequence[int]]) -> set[int]:
    """Give the nodes of the cut, those that no record shows among them."""
    made = {recoding.root} | {child for children in specialized.values() for child in children}
    return {node for node in made if node not in specialized} | set(cut.nodes.tolist()) & made


def _names(outcome: Outcome) -> list[str]:
    return [dictionary.column.name for dictionary in outcome.atoms.coded]
