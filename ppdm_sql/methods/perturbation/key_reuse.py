"""Notices to the owner on keys, seeds and earlier releases of the same columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import UnknownTable
from ppdm_sql.methods.perturbation.noise import Noise, as_json
from ppdm_sql.methods.perturbation.noise_draws import Identity, Key
from ppdm_sql.release import CatalogueRow, releases


def is_open_to_others(path: str | os.PathLike[str]) -> bool:
    """Tell whether others than its owner can read a file."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & 0o077)


def key_notices(key: Key, key_file: str | os.PathLike[str] | None, identity: Identity) -> list[str]:
    """Say what becomes of the key and what that means."""
    if key.kept == "seed":
        return [
            "The noise follows from the seed: whoever knows it can take the noise away. Seeds are for tests."
        ]
    if key.kept == "no" or key_file is None:
        return [
            "The key of the noise is thrown away. Another run draws other noise, and whoever has both "
            "releases knows more; give --key-file to repeat this noise."
        ]
    notices = []
    if is_open_to_others(key_file):
        notices.append(f"Others can read the key file {key_file}, and with it take the noise away.")
    if identity == "row":
        notices.append(
            "The key is kept, but records are known by their rows, which change when the table is rewritten; "
            "give --record ID."
        )
    return notices


def repeated_notices(
    engine: Engine,
    table: Table,
    noises: Mapping[str, Noise],
    key: Key,
    record: str | None,
    person: Sequence[str] = (),
) -> list[str]:
    """Tell of earlier releases of the same columns with other noise: the mean of both is nearer the truth."""
    notices = []
    for row in _of_source(engine, table):
        earlier = row.parameters.get("noise", {})
        known = [row.parameters.get(part) or None for part in ("key fingerprint", "record", "person")]
        same_key = key.fingerprint is not None and known == [key.fingerprint, record, list(person) or None]
        repeated = [
            name
            for name, noise in noises.items()
            if name in earlier
            and earlier[name]["kind"] != "cells"
            and not (same_key and earlier[name] == as_json(noise))
        ]
        if repeated:
            notices.append(
                f"{', '.join(repeated)} of this table was randomized before, with other noise: who has both "
                f"this release and {row.release} can average noise away. Publish one of them only, or repeat "
                "the noise with the same --key-file, --record, --person and --noise."
            )
    return notices


def _of_source(engine: Engine, table: Table) -> Iterator[CatalogueRow]:
    """Give the randomized releases of a source."""
    for row in releases(engine):
        if row.method == "randomize":
            try:
                if engine.find(row.source) == table:
                    yield row
            except UnknownTable:
                continue
