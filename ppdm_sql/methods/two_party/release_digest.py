"""The rows of a release, on which both parties agree before either publishes."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.methods.two_party.record_matching import digest_of


def release_digest(engine: Engine, rows: exp.Select, stopped: str) -> str:
    """Give a digest of a release.

    Cost: one scan of the rows.
    """
    labels = rows.named_selects
    counted = exp.select(*(alias(column(name, "r"), f"v{i}") for i, name in enumerate(labels)))
    counted = counted.select(alias(exp.Count(this=exp.Star()), "n")).from_(rows.subquery("r"))
    counted.set("group", exp.Group(all=True))
    texts = [exp.cast(column(f"v{i}"), "TEXT") for i in range(len(labels))] + [exp.cast(column("n"), "TEXT")]
    whole: exp.Expression = literal("")
    for text in texts:
        length = exp.cast(exp.Length(this=text.copy()), "TEXT")
        cell = exp.DPipe(this=exp.DPipe(this=length, expression=literal(":")), expression=text)
        whole = exp.DPipe(this=whole, expression=exp.Coalesce(this=cell, expressions=[literal("-")]))
    combined = exp.select(alias(whole, "text")).from_(counted.subquery("c"))
    query = f"SELECT sha256(string_agg(text, ';' ORDER BY text)) FROM ({render(combined)}) AS combinations"
    ((digest,),) = engine.query(query, step="release_digest")
    return digest_of([digest, stopped])
