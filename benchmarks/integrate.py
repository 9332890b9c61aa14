"""TDS2P against TDS by one party: two processes over loopback with mutual TLS, and one on the joined table.

Adult's 14 attributes are dealt out, seven to each party, in turns; both tables hold a key and the class, in
orders of their own. The parties run at the same time, with one thread each; the run over the joined table, in
which the key is one more column, has as many threads as both together. Wall time is what each call takes, the
connection of the parties included, the start of the processes not; all have run once before. Bytes are those
of all messages of both.

    python benchmarks/integrate.py                     45 thousand records, k = 10, 50, 100; 1 million, k = 10
    python benchmarks/integrate.py --records 45222 --k 10 --repeat 9
    python benchmarks/integrate.py --score-bits 8
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from generalize import EVERY, hierarchies
from harness import CLASS, expand, row

import ppdm_sql as ppdm
from ppdm_sql.integrate import Credentials, Party, keygen
from ppdm_sql.methods.two_party.transcripts import transcript

NAMES = ("bank", "card")
OWNED = (EVERY[0::2], EVERY[1::2])
PLANS = ((45_222, (10, 50, 100)), (1_000_000, (10,)))


def prepare(folder: Path, records: int) -> None:
    """Write the joined table into one file, and each party's part into one of its own."""
    whole = folder / "whole.duckdb"
    expand(whole, records, (*EVERY, CLASS), EVERY)
    with duckdb.connect(str(whole)) as con:
        con.execute("ALTER TABLE adult ADD COLUMN ssn BIGINT")
        con.execute("UPDATE adult SET ssn = 100000000 + (rowid * 7919) % 89999999")
    for place, (name, owned) in enumerate(zip(NAMES, OWNED, strict=True)):
        with duckdb.connect(str(folder / f"{name}.duckdb")) as con:
            con.execute(f"ATTACH '{whole}' AS joined (READ_ONLY)")
            con.execute(
                f"CREATE TABLE adult AS SELECT ssn, {', '.join(owned)}, {CLASS} FROM joined.adult "
                f"ORDER BY hash(ssn, {place})"
            )
    keygen(folder, NAMES)


def party(folder: Path, place: int, k: int, bits: int | None) -> None:
    """Be one party: run once for each port that comes in, and say how it went."""
    mine, other = NAMES[place], NAMES[1 - place]
    pem = [folder / file for file in (f"{mine}.pem", f"{mine}.key", "authority.pem")]
    credentials = Credentials.read(*pem)
    con = duckdb.connect(str(folder / f"{mine}.duckdb"), config={"threads": 1})
    db = ppdm.open(con)
    asked = Party(
        db,
        "adult",
        [ppdm.KAnonymity(k, EVERY)],
        class_column=CLASS,
        key="ssn",
        owns=OWNED[place],
        into="bench",
        taxonomies=hierarchies(OWNED[place]),
        score_bits=bits,
    )
    for port in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        release = (asked.serve if place == 0 else asked.join)(f"localhost:{int(port)}", credentials, other)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        entries = transcript(db.engine, "bench")
        sent = sum(entry.bytes for entry in entries if entry.direction == "sent")
        found = {"wall": wall, "cpu": cpu, "bytes": sent, "steps": told(release)}
        release.drop()
        print(json.dumps(found), flush=True)


def told(release: ppdm.Release) -> list[list[Any]]:
    """Give the steps of a release as JSON has them."""
    return [[step.attribute, round(step.score or 0.0, 9)] for step in release.steps()]


def workers(folder: Path, k: int, bits: int | None) -> list[Any]:
    """Start a process for each party."""
    given = [str(folder), str(k), str(bits or "")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    commands = [[sys.executable, __file__, "--worker", str(place), *given] for place in (0, 1)]
    return [subprocess.Popen(command, **pipes) for command in commands]


def both(parties: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let both parties run at the same time."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    for worker in parties:
        print(port, file=worker.stdin, flush=True)
    first, second = (json.loads(worker.stdout.readline()) for worker in parties)
    return first, second


def single(folder: Path, k: int, threads: int) -> dict[str, Any]:
    """Run TDS over the joined table."""
    con = duckdb.connect(str(folder / "whole.duckdb"), config={"threads": threads})
    db = ppdm.open(con)
    wall, cpu = time.perf_counter(), time.process_time()
    release = db.generalize(
        "adult",
        [ppdm.KAnonymity(k, EVERY)],
        class_column=CLASS,
        into="bench",
        taxonomies=hierarchies(EVERY),
        identifiers={"ssn": "drop"},
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = {"wall": wall, "cpu": cpu, "steps": told(release)}
    release.drop()
    con.close()
    return found


def measure(folder: Path, records: int, k: int, repeat: int, bits: int | None) -> str:
    """Let one party and two take turns, after one to warm up, and write their line."""
    alone, pairs, parties = [], [], workers(folder, k, bits)
    for turn in range(repeat + 1):
        alone.append(single(folder, k, threads=2))
        pairs.append(both(parties))
        if turn == 0:
            alone.clear(), pairs.clear()
    for worker in parties:
        worker.stdin.close()
        worker.wait()
    walls = [max(one["wall"], other["wall"]) for one, other in pairs]
    ratio = statistics.median(wall / one["wall"] for wall, one in zip(walls, alone, strict=True))
    cpu = [(a["cpu"] + b["cpu"]) / one["cpu"] for (a, b), one in zip(pairs, alone, strict=True)]
    first, second = pairs[0]
    sent = first["bytes"] + second["bytes"]
    same = first["steps"] == second["steps"] == alone[0]["steps"]
    times = (statistics.median(one["wall"] for one in alone), statistics.median(walls))
    numbers = (f"{times[0]:.3f}", f"{times[1]:.3f}", f"{ratio:.2f}", f"{statistics.median(cpu):.2f}")
    return row(records, k, len(first["steps"]), same, *numbers, sent, f"{sent / records:.2f}")


def main(options: argparse.Namespace) -> None:
    """Print one line for each size and k."""
    if options.worker:
        place, folder, k, bits = options.worker
        party(Path(folder), int(place), int(k), int(bits) if bits else None)
        return
    heads = (
        "records",
        "k",
        "steps",
        "same",
        "one s",
        "two s",
        "ratio wall",
        "ratio CPU",
        "bytes",
        "a record",
    )
    print(row(*heads))
    plans: Sequence[tuple[int, Sequence[int]]] = PLANS
    if options.records or options.k:
        plans = [(records, options.k or (10,)) for records in options.records or (45_222,)]
    for records, demands in plans:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), records)
            for k in demands:
                print(measure(Path(folder), records, k, options.repeat, options.score_bits), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="*")
    parser.add_argument("--k", type=int, nargs="*")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--score-bits", type=int)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    main(parser.parse_args())
