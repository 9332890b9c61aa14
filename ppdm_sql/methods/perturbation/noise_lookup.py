"""Finds the noise of a table's columns: as it is given, as the catalogue knows it, or as comments say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_table
from ppdm_sql.engine.names import Table, resolve
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.statements import bind, text
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.perturbation.noise import Domain, Noise, NoiseSpec, from_json, resolve_noise
from ppdm_sql.methods.perturbation.noise_syntax import parse_all_noise, parse_noise
from ppdm_sql.release import releases
from ppdm_sql.release.ddl import NOISE_COMMENTS

MOST_VALUES = 1000
"""Categories above which a column is taken for one that holds none."""
_NO_DECIMALS = re.compile(r"DECIMAL\(\d+,0\)")


def noise_of(
    engine: Engine,
    table: str,
    noise: Mapping[str, str] | Sequence[str] = (),
    ranges: Mapping[str, tuple[object, object]] | None = None,
) -> dict[str, Noise]:
    """Give the noise of the distorted columns of a table, spelled as the table spells them.

    What is given, as for ``--noise`` and ``--range``, comes first, column by column; then what the catalogue
    says, where the table is a release of this database; then the comments that an exported file keeps.

    Raises:
        UnknownTable: There is no such table.
        UnknownColumn: The table lacks a column that is named.
        InvalidOption: Nothing is known of the noise, or what is given is not complete.

    Cost: none, but for one GROUP BY of each ``retain`` column whose values are not listed.

    Example:
        >>> import duckdb
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE t AS SELECT 1.5 AS pay")
        >>> noise_of(Engine(con), "t", ["pay=uniform 0.5"], {"pay": (0, 3)})
        {'pay': Uniform(scale=0.5, domain=Domain(lower=0.0, upper=3.0, whole=False), rounded=False)}
    """
    found = engine.find(table)
    columns = {item.name: item for item in engine.columns(found)}
    domains = domains_given(ranges or {}, list(columns.values()), table=table)
    known = _commented(engine, found) | _catalogued(engine, found)
    given: dict[str, Noise] = {}
    for asked in parse_all_noise(noise):
        name = resolve(asked.column, list(columns), table=table)
        values = categories(engine, found, columns[name]) if _unlisted(asked) else ()
        given[name] = resolve_noise(replace(asked, column=name), domains.get(name), values)
    if not known and not given:
        raise InvalidOption(
            f"Nothing is known of the noise in {table!r}, which is no release of this database.",
            "Give it, such as --noise 'salary=gaussian 2500' --range salary=20000,150000.",
        )
    return known | given


def is_whole(item: Column) -> bool:
    """Tell whether a column's type holds whole numbers only."""
    return kind_of(item.type) is Kind.WHOLE or _NO_DECIMALS.fullmatch(item.type) is not None


def domains_given(
    ranges: Mapping[str, tuple[object, object]], columns: Sequence[Column], *, table: str
) -> dict[str, Domain]:
    """Read ranges: the least and the largest original value of columns of numbers."""
    types = {item.name: item for item in columns}
    domains = {}
    for name, bounds in ranges.items():
        found = resolve(name, list(types), table=table)
        lower, upper = (str(bound).strip() for bound in bounds)
        try:
            domain = parse_noise(f"uniform 1 on {lower},{upper}").domain
        except InvalidOption:
            domain = None
        if domain is None:
            raise InvalidOption(
                f"--range of {found!r} is not two ascending numbers.", f"Write it as --range {found}=0,100."
            )
        domains[found] = replace(domain, whole=is_whole(types[found]))
    return domains


def categories(engine: Engine, table: Table, item: Column) -> tuple[str, ...]:
    """List the values of a column as text, in order, NULL aside, in one GROUP BY; refuse more than 1000."""
    with engine.workspace():
        rows = source_of(engine, table).counted(engine, [item.name], None).table
        found = distinct_texts(engine, exact_table(engine, rows, [item]), item.name, MOST_VALUES + 1)
    if len(found) > MOST_VALUES:
        raise InvalidSource(
            f"Column {item.name!r} has more than {MOST_VALUES} different values, so it holds no categories.",
            "Give it noise (gaussian, uniform) or cells if it holds numbers, or group its values in a view.",
        )
    return found


def distinct_texts(engine: Engine, table: Table, name: str, most: int) -> tuple[str, ...]:
    """List the different values of a column as text, in order, NULL aside, so many at most."""
    columns, values = {"attribute": [name]}, {"most": most}
    listing = bind("perturbation/categories", tables={"source": table}, columns=columns, values=values)
    return tuple(value for (value,) in engine.query(listing, step="categories"))


def _unlisted(asked: NoiseSpec) -> bool:
    return asked.kind == "retain" and not asked.values


def _catalogued(engine: Engine, table: Table) -> dict[str, Noise]:
    """Read the noise of a release of the current database, by its view or its frozen table."""
    catalog, _ = engine.current()
    for row in releases(engine):
        shape = row.shape(catalog)
        if table in (shape.view, shape.frozen):
            return {name: from_json(noise) for name, noise in row.parameters.get("noise", {}).items()}
    return {}


def _commented(engine: Engine, table: Table) -> dict[str, Noise]:
    """Read the noise out of the comments on columns."""
    where = {"catalog": table.catalog, "schema": table.schema, "name": table.name}
    found: dict[str, Noise] = {}
    for name, comment in engine.look_up(text("release/column_comments"), where, step="column comments"):
        for words in NOISE_COMMENTS:
            if comment.startswith(words):
                found[name] = resolve_noise(parse_noise(comment.removeprefix(words), name))
    return found
