"""Draws noise where the records are: the statement that makes noisy rows here, run there over batches.

What is sent holds the keys of the columns, the statement and its parameters. The key that these keys are
derived from stays here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.drawing import OTHER_VERSION
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import render
from ppdm_sql.methods.perturbation.noise_draws import Identity, NoiseDrawer, Stream, registered
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn
from ppdm_sql.methods.perturbation.noisy_rows import noisy_query
from ppdm_sql.methods.perturbation.record_key import RecordKey
from ppdm_sql.version import __version__

RECORDS = Table("ppdm_records")
"""What the records of some batches are called in the statement."""
_ARRIVED, _DRAWS = "ppdm_arrived", "ppdm_draws"
TOGETHER = 100_000
"""Records of which the batches are handed to the statement together."""


class OtherVersion(Exception):
    """The package is of another version where noise is drawn; the draws might be others."""


@dataclass(frozen=True)
class BatchNoise:
    """Makes noisy rows of batches of records; it is sent to other machines, so it holds plain values only.

    Args:
        streams: The columns that get draws, with their keys.
        identity: What a record is known by.
        query: Makes noisy rows of ``ppdm_arrived``, with draws by ``ppdm_draws``.
        params: Of the query.
        zone: The time zone in which texts of times are written.
        version: Of the package that wrote the query.
    """

    streams: Sequence[Stream] = field(repr=False)
    identity: Identity
    query: str = field(repr=False)
    params: Mapping[str, object] = field(repr=False)
    zone: str
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Give a batch of noisy rows for each few batches of records; no error tells of a cell."""
        try:
            yield from self._noisy(batches)
        except GeneratorExit:
            raise
        except OtherVersion:
            raise RuntimeError(OTHER_VERSION) from None
        except Exception as cause:
            raise RuntimeError(f"ppdm-sql could not draw noise ({type(cause).__name__})") from None

    def _noisy(self, batches: Iterator[Any]) -> Iterator[Any]:
        import duckdb

        if self.version != __version__:
            raise OtherVersion
        with duckdb.connect(config={"threads": "1"}) as connection:
            connection.execute("SET TimeZone = $zone", {"zone": self.zone})
            engine, drawer = Engine(connection), NoiseDrawer(self.streams, self.identity)
            with registered(engine, drawer, len(self.streams), self.identity) as draws:
                query = self.query.replace(_DRAWS, draws)
                for records in _together(batches):
                    connection.register(_ARRIVED, records)
                    noisy: Any = connection.execute(query, dict(self.params))
                    yield from noisy.to_arrow_table().to_batches()


def batch_noise(
    engine: Engine,
    source: Table,
    arriving: Sequence[Column],
    noisy: Sequence[NoisyColumn],
    kept: Sequence[exp.Expression],
    records: RecordKey,
    streams: Sequence[Stream],
) -> BatchNoise:
    """Write down what makes noisy rows of batches with columns ``i0, i1, ...``.

    Args:
        engine: Where noise is drawn otherwise.
        source: The source, or what stands in for it.
        arriving: The columns of the source that arrive, in order, with their types here.
        noisy: The randomized columns.
        kept: What is released as it is, with aliases ``k0``, ``k1`` ...
        records: What a record is known by.
        streams: The columns that get draws, with their keys.
    """
    items = (
        alias(
            exp.Cast(this=column(f"i{place}"), to=exp.DataType.build(item.type, dialect="duckdb")), item.name
        )
        for place, item in enumerate(arriving)
    )
    typed = exp.select(*items).from_(Table(_ARRIVED).expression())
    numbers = {it.column.name for it in noisy if it.numeric}
    values = exact_values(engine, source, [item for item in arriving if item.name not in numbers])
    plain = (alias(values.get(item.name, column(item.name, "s")), item.name) for item in arriving)
    exact = exp.select(*plain).from_(aliased(Table("ppdm_typed"), "s"))
    query, params = noisy_query(RECORDS, noisy, kept, records, _DRAWS if streams else None)
    with_ = f"WITH ppdm_typed AS ({render(typed)}), {RECORDS} AS ({render(exact)}) "
    ((zone,),) = engine.look_up("SELECT current_setting('TimeZone')", step="zone")
    return BatchNoise(streams, records.identity, with_ + query, params, str(zone))


def _together(batches: Iterator[Any]) -> Iterator[Any]:
    """Join batches until they hold enough records."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(item) for item in waiting) >= TOGETHER:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
