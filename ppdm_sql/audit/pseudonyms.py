"""Judges pseudonyms: one for each value, on the records of that value, and nothing that gives it away."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.audit.fingerprints import TEXT, counted, fingerprint, plain_column, total
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import GuaranteeNotMet

SHAPE = "[0-9a-f]{64}"
"""What a pseudonym looks like."""
RECORDS = "records"
"""What the number of records of a row is called."""
TRIED = 1000
"""Values of a column that are tried for a pseudonym that anybody can compute."""


def accept_pseudonyms(
    engine: Engine,
    source: Table,
    released: exp.Select,
    names: Sequence[str],
    unchanged: Sequence[Column],
    count: str | None = None,
) -> None:
    """Judge the pseudonyms of a release by the columns that it shows unchanged beside them.

    Args:
        engine: Where both are.
        source: The source.
        released: The rows as the release shows them.
        names: The columns with pseudonyms; with none there is nothing to do.
        unchanged: Columns that are released as they are.
        count: Column with the number of records of a row, or None.

    Raises:
        GuaranteeNotMet: They are not one for each value and its records, or give values away.

    Cost: a GROUP BY of both tables by each of the columns.
    """
    if not names:
        return
    with engine.workspace():
        before = _rows(exp.select().from_(aliased(source, "s")), names, unchanged, count)
        after = _rows(exp.select().from_(released.subquery("s")), names, unchanged, count)
        faults = pseudonym_faults(engine, before, after, names)
    refuse_pseudonyms(faults)


def refuse_pseudonyms(faults: Sequence[str]) -> None:
    """Refuse pseudonyms with faults.

    Raises:
        GuaranteeNotMet: There are some.
    """
    if faults:
        raise GuaranteeNotMet(
            f"The pseudonyms are not what was promised: {'; '.join(faults)}; nothing was published.",
            "Report this as a defect.",
        )


def _rows(
    query: exp.Select, names: Sequence[str], unchanged: Sequence[Column], count: str | None
) -> exp.Select:
    whole = alias(fingerprint([plain_column(item) for item in unchanged]), "f")
    people = [alias(column(name, "s"), f"p{place}") for place, name in enumerate(names)]
    records = literal(1) if count is None else column(count, "s")
    return counted(query.select(whole, *people, alias(records, RECORDS)), count)


def pseudonym_faults(
    engine: Engine, before: exp.Select, after: exp.Select, names: Sequence[str], kept: Sequence[str] = ()
) -> list[str]:
    """Say in words what is wrong with the pseudonyms of a release; nothing if all is well.

    Records are not followed: those of a value must be, by their fingerprints, those of a pseudonym.

    Args:
        engine: Where both are.
        before: Rows of the source: ``f`` (fingerprint of what they are to show), ``p0, p1, ...`` (the
            identifiers) and ``records``, how many each stands for.
        after: The same of the release, with pseudonyms in the place of identifiers.
        names: The columns.
        kept: Those of them that the owner keeps, so that they may be plain numbers.

    Cost: a GROUP BY of both sides by each column.
    """
    faults = []
    for place, name in enumerate(names):
        own, people = column(f"p{place}", "r"), []
        for rows in (before, after):
            people.append(_people(rows, own))
        first, second = engine.query(render(exp.union(*people, distinct=False)), step="pseudonyms")
        if name in kept:
            faults += [f"{name!r} is not one number for each person and the own records"] * (first != second)
            continue
        odd, open_ = engine.query(render(_given_away(before, after, own)), step="pseudonyms")[0]
        faults += worded(name, differ=first != second, odd=odd, computable=open_)
    return faults


def worded(name: str, *, differ: bool, odd: int, computable: bool) -> list[str]:
    """Say in words what was found wrong with the pseudonyms of a column."""
    found = [
        (differ, f"the pseudonyms of {name!r} are not one for each value and its records"),
        (odd, f"{odd} values of {name!r} are no pseudonyms"),
        (computable, f"pseudonyms of {name!r} can be computed from the values"),
    ]
    return [words for wrong, words in found if wrong]


def _people(rows: exp.Select, own: exp.Column) -> exp.Select:
    """Give the number of people of one side, and a sum over what each has."""
    number = column(RECORDS, "r")
    each = exp.select(
        alias(exp.cast(exp.Sum(this=number), exp.DataType.Type.INT128), "n"),
        alias(total(column("f", "r"), number), "f"),
    )
    each = each.from_(rows.subquery("r")).group_by(own.copy())
    whole = total(fingerprint([column("n", "e"), column("f", "e")]))
    return exp.select(exp.Count(this=exp.Star()), whole).from_(each.subquery("e", copy=False))


def _given_away(before: exp.Select, after: exp.Select, own: exp.Column) -> exp.Select:
    """Count released values that do not look like pseudonyms, and those that are digests of values."""
    released = exp.select(own.copy()).distinct().from_(after.subquery("r"))
    text = exp.cast(own, TEXT)
    matches = exp.Anonymous(this="regexp_full_match", expressions=[text.copy(), literal(SHAPE)])
    odd = exp.select(exp.Count(this=exp.Star())).from_(released.subquery("r")).where(exp.Not(this=matches))
    values = exp.select(own.copy()).distinct().from_(before.subquery("r")).limit(TRIED)
    digest = exp.Anonymous(this="sha256", expressions=[text.copy()])
    digests = exp.select(alias(digest, "digest")).from_(values.subquery("r"))
    among = exp.In(this=text.copy(), query=digests.subquery())
    known = exp.select(exp.Count(this=exp.Star())).from_(released.subquery("r")).where(among)
    return exp.select(odd.subquery(), known.subquery())
