"""The record of a release that somebody signs: what was asked and reached, why, and what was tried since.

It stands in the catalogue, which stays with the owner; no export and no page for others reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import text
from ppdm_sql.release.catalogue import RECORD, CatalogueRow, find
from ppdm_sql.release.layout import Measured
from ppdm_sql.results import ResultTable

Line = tuple[str, str, object]


def keep(engine: Engine, release: str, **parts: object) -> None:
    """Keep parts of the record of a release in the place of what it has for them."""
    with engine.transaction():
        row = find(engine, release)
        parameters = {**row.parameters, RECORD: {**row.record, **parts}}
        kept = {"release": row.release, "parameters": json.dumps(parameters, ensure_ascii=False)}
        engine.write(text("release/update_parameters"), kept, step="keep record")


def record_of(row: CatalogueRow, measures: Sequence[Measured]) -> list[ResultTable]:
    """Give the record as a table; none of a release that was not made by a policy, nor tried since."""
    known = {"asked"}.issuperset(row.record)
    return [] if known else [ResultTable("record", ("about", "what", "said"), list(_lines(row, measures)))]


def _lines(row: CatalogueRow, measures: Sequence[Measured]) -> Iterator[Line]:
    record, why = row.record, {name.lower(): said for name, said in row.record.get("why", {}).items()}
    yield from (("sign-off", name, said) for name, said in record.get("signoff", {}).items())
    released = {str(name): str(treatment) for name, treatment, *_ in row.parameters["published"]["columns"]}
    names = dict.fromkeys((*released, *row.parameters.get("identifiers", {})))
    others = why.keys() - {name.lower() for name in names}
    for name in (*names, *(name for name in record.get("why", {}) if name.lower() in others)):
        role = released.get(name, "not released")
        yield "column", name, ": ".join([role, *([why[name.lower()]] if name.lower() in why else [])])
    for asked in row.requirements:
        reached = next((one.after for one in measures if one.measure.endswith(f": {asked}")), None)
        yield "requirement", asked, "holds" if reached is None else reached
    for tried in record.get("tried", ()):
        yield "tried, not chosen", tried["setting"], tried["came of it"]
    for attack in record.get("attacks", ()):
        yield "attack", attack["attack"], attack["came of it"]
    for export in record.get("exports", ()):
        yield "export", export["file"], f"SHA-256 {export['sha256']}" if export["sha256"] else "not finished"
