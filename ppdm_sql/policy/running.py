"""Makes what a policy describes and is not there, or not as described; checks all of it. Each says why."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ppdm_sql.database import Database, open_database
from ppdm_sql.engine.names import column, resolve
from ppdm_sql.engine.opening import remove_database
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import InvalidOption, PpdmError, UnknownTable
from ppdm_sql.policy.reading import FILE, METHODS, PlannedRelease, Policy, load
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow
from ppdm_sql.release.catalogue import ASKED, LOCATION, UPDATABLE, keep_record
from ppdm_sql.release.exporting import check_export
from ppdm_sql.results import Result, ResultTable
from ppdm_sql.sources import given
from ppdm_sql.version import __version__

MISSING, REFUTED, OUTDATED, GROWN = "missing", "refuted", "out of date", "grown"
UNEXPORTED, UNRECORDED, ENDED, FINE = "not exported", "not recorded", "sign-off ended", "up to date"
MADE, UPDATED, EXPORTED, RECORDED, FAILED = "made", "updated", "exported", "recorded", "failed"
UNPLANNED = "not in the policy"
HOLDS = (FINE, MADE, UPDATED, EXPORTED, RECORDED, UNPLANNED)
Reasons = list[tuple[str, str]]
"""States that a release is in, and why."""


@dataclass(frozen=True)
class Standing:
    """How a release stands to its policy.

    Args:
        release: Its name.
        state: ``up to date``; what it is instead: ``missing``, ``refuted`` (it does not verify), ``out of
            date``, ``grown`` (its source changed, and it is updatable), ``not exported``, ``not recorded``,
            ``sign-off ended``, ``not in the policy``; or what was done: ``made``, ``updated``, ``exported``,
            ``recorded`` or ``failed``.
        why: The reasons.
    """

    release: str
    state: str
    why: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all is as the policy says."""
        return self.state in HOLDS


class Standings(list[Standing], Result):
    """How all releases stand, in the order of the policy."""

    interrupted = False
    """Whether Ctrl-C ended it early."""

    @property
    def holds(self) -> bool:
        """Whether all is as the policy says."""
        return all(one.holds for one in self)

    def tables(self) -> list[ResultTable]:
        """Give a row a release."""
        rows = [(one.release, one.state, list(one.why)) for one in self]
        return [ResultTable("", ("release", "state", "why"), rows)]


def run(
    policy: Policy | str | os.PathLike[str] = FILE,
    names: Sequence[str] = (),
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    **opening: Any,
) -> Standings:
    """Make the releases of a policy that are missing or out of date, each in one transaction.

    A release is out of date if its source, what is asked, a taxonomy's file, or the version of ppdm-sql
    changed. The new one takes the place of the old one, which stays where the new one cannot be made; one
    that is updatable gets a new version where its source changed, and is never made anew. Files
    are exported once their release is committed; those that a killed run left are made by the next.

    Args:
        policy: The policy, or its file.
        names: The releases; all without.
        dry_run: Say what would be done, and why; change nothing. Then come the releases of the database that
            the policy does not describe.
        progress: Told what is done.
        opening: How the database is opened: ``threads`` and ``memory_limit``.

    Returns:
        What was done of each and why; what failed did not stop the others.

    Raises:
        PpdmError: The policy is wrong, or the database cannot be used.

    Cost: for each release that is there its audit and a scan of its source; then what its method costs.
    """
    policy = policy if isinstance(policy, Policy) else load(policy)
    standings, plans = Standings(), policy.planned(names)
    with _open(policy, opening, writes=not dry_run) as db:
        db.progress = progress or db.progress
        try:
            for number, one in enumerate(plans, start=1):
                db.progress.start(f"{one.name}, {number} of {len(plans)}")
                standings.append(_standing_of(db, one, acts=not dry_run))
        except KeyboardInterrupt:
            standings.interrupted = True
        finally:
            db.progress.stop()
        names_planned = {name.lower() for name in policy.releases}
        others = [row.release for row in db.releases() if row.release.lower() not in names_planned]
        standings += [Standing(name, UNPLANNED) for name in others if dry_run and not names]
    return standings


def check(
    policy: Policy | str | os.PathLike[str] = FILE,
    names: Sequence[str] = (),
    *,
    progress: Progress | None = None,
    **opening: Any,
) -> Standings:
    """Verify the releases of a policy and their exported files, and that they are as it describes them.

    The arguments are those of :func:`run`, which does the same with ``dry_run``: nothing is changed, and a
    database that is not there has no releases.

    Returns:
        How each release stands.

    Raises:
        PpdmError: The policy is wrong, or the database cannot be used.

    Cost: for each release its audit and a scan of its source.
    """
    return run(policy, names, dry_run=True, progress=progress, **opening)


@contextmanager
def _open(policy: Policy, opening: Mapping[str, Any], *, writes: bool) -> Iterator[Database]:
    """Open the database of a policy, made where it is not there; what then holds nothing goes again."""
    path = policy.path(policy.database, "database")
    attach = {name: policy.path(value, f"attach.{name}") for name, value in policy.attach.items()}
    is_there = os.path.lexists(path)
    place = path if is_there or writes else ":memory:"
    new = writes and not is_there
    with open_database(place, read_only=is_there and not writes, create=new, attach=attach, **opening) as db:
        yield db
        new = new and not db.releases()
    if new:
        remove_database(Path(path))


def _standing_of(db: Database, plan: PlannedRelease, *, acts: bool) -> Standing:
    """Look at a release, do what is to be done where that is wanted, and say so."""
    try:
        reasons = db.engine.unblocked(lambda: _inspect(db, plan, acts=acts))
    except PpdmError as error:
        reasons = [(FAILED, f"{error.problem} {error.remedy}".strip())]
    except OSError as error:
        reasons = [(FAILED, f"{error.filename} cannot be read: {error.strerror}.")]
    return Standing(plan.name, reasons[0][0], tuple(reason for _, reason in reasons))


def _inspect(db: Database, plan: PlannedRelease, *, acts: bool) -> Reasons:
    row = next((one for one in db.releases() if one.release.lower() == plan.name.lower()), None)
    reasons = [(MISSING, "there is no such release")]
    with _source(db, plan) as table:
        columns = [item.name for item in db.engine.columns(db.engine.find(table))]
        for name in (*plan.why, *plan.columns()):
            resolve(name, columns, table=plan.table)
        if row is None and not acts:
            return reasons
        source = _fingerprint(db, table)
        if row is not None:
            reasons = list(_reasons(db, plan, row, source))
        if acts and reasons:
            return _act_on(db, plan, row, reasons, source)
    same = f"it verifies; the same {source['records']} records, policy and version"
    return reasons or [(FINE, same)]


@contextmanager
def _source(db: Database, plan: PlannedRelease) -> Iterator[str]:
    """Read the source of a release, under the name that the policy has for it."""
    place = table = plan.table
    try:
        db.engine.find(table)
    except UnknownTable:
        place = plan.with_path(METHODS[plan.command]["table"], table)
    types, nulls = plan.asked.get("types"), plan.asked.get("null", ())
    with given(db.engine, place, types, nulls, called=None if place == table else table) as name:
        yield name


def _fingerprint(db: Database, name: str) -> dict[str, object]:
    """Give what changes with any record of the source, whatever the order of the records is."""
    table = db.engine.find(name)
    columns = db.engine.columns(table)
    cells = [sql("CAST({c} AS TEXT)", c=column(item.name, "s")) for item in columns]
    query = sql(
        "SELECT count(*), sum(md5_number_lower(CAST(to_json([{cells}]) AS TEXT))) FROM {table} AS s",
        cells=cells,
        table=table,
    )
    ((records, total),) = db.engine.query(query, step="fingerprint")
    text = json.dumps([[list(item) for item in columns], records, str(total)])
    return {"records": records, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _reasons(
    db: Database, plan: PlannedRelease, row: CatalogueRow, source: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Say what is not as the policy describes it: first what needs a new release."""
    record, release = row.record, db.release(row.release)
    audit = release.verify()
    yield from ((REFUTED, f"broken: {one.requirement}") for one in audit.findings if not one.holds)
    yield from ((REFUTED, f"broken: {one.check}") for one in audit.checks if not one.holds)
    changes = plan.changes(record)
    if changes:
        yield OUTDATED, f"the policy changed: {', '.join(changes)}"
    if (before := record.get("source")) is None:
        yield OUTDATED, "it was not made by ppdm run, so its source may have changed"
    elif before["sha256"] != source["sha256"]:
        then, now = before["records"], source["records"]
        text = f"{now} records as before, other cells" if then == now else f"{then} records then, {now} now"
        yield GROWN if UPDATABLE in row.parameters else OUTDATED, f"{plan.table} changed: {text}"
    files = record.get("files", {})
    for of, digest in ({} if changes else _digests(plan)).items():
        if before is not None and files.get(of) != digest:
            yield OUTDATED, f"{plan.asked['taxonomy'][of]} changed"
    if row.version != __version__ and UPDATABLE not in row.parameters:
        yield OUTDATED, f"made by ppdm-sql {row.version}, and this is {__version__}"
    if row.stopped == "interrupted":
        yield OUTDATED, "it was stopped early"
    yield from ((UNEXPORTED, reason) for reason in _missing_exports(plan, record).values())
    if any(record.get(part, {}) != value for part, value in _to_sign(plan).items()):
        yield UNRECORDED, "what is to be signed changed"
    if (end := plan.signoff_end(date.today())) is not None:
        yield ENDED, f"the sign-off ended on {end}"


def _digests(plan: PlannedRelease) -> dict[str, str]:
    return {of: _digest(path) for of, path in plan.files().items()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_sign(plan: PlannedRelease) -> dict[str, object]:
    return {"signoff": plan.said.get("signoff", {}), "why": dict(plan.why)}


def _exports(plan: PlannedRelease, record: Mapping[str, Any]) -> dict[str, str | None]:
    """Give the hashes of the files that were exported, as the policy writes them, wherever it was then."""
    folder = Path(record.get("folder", plan.folder))
    files = {os.path.normpath(plan.folder / file): file for file in plan.exports}
    digests = {export["file"]: export["sha256"] for export in record.get("exports", ())}
    return {files.get(os.path.normpath(folder / file), file): digest for file, digest in digests.items()}


def _missing_exports(plan: PlannedRelease, record: Mapping[str, Any]) -> dict[str, str]:
    """Give the files that are not what was exported, each with what is the matter."""
    problems, before = {}, _exports(plan, record)
    for file in plan.exports:
        path = plan.folder / file
        if not path.is_file():
            problems[file] = f"{file} is missing"
        elif before.get(file) is None:
            problems[file] = f"{file} was not exported by ppdm run"
        elif before[file] != _digest(path):
            problems[file] = f"{file} is not what was exported"
    return problems


def _act_on(
    db: Database, plan: PlannedRelease, row: CatalogueRow | None, reasons: Reasons, source: Mapping[str, Any]
) -> Reasons:
    """Do what the reasons ask for; in the place of each state stands what was done."""
    states, outcome = {state for state, _ in reasons}, FINE
    if (end := plan.signoff_end(date.today())) is not None and states - {UNRECORDED, ENDED}:
        remedy = f"Decide anew in [release.{plan.name}.signoff], or take the release out of the policy."
        raise InvalidOption(f"The sign-off of {plan.name} ended on {end}.", remedy)
    if states & {MISSING, REFUTED, OUTDATED}:
        if row is not None and UPDATABLE in row.parameters:
            raise InvalidOption(
                f"{reasons[0][1]}; but {plan.name} is updatable, and one made anew would not go with the "
                "versions that were handed out.",
                "Describe it under another name, or drop it first.",
            )
        record, outcome = _make(db, plan, row, source), MADE
    elif GROWN in states:
        record, outcome = _make(db, plan, row, source, grows=True), UPDATED
    else:
        record = {} if row is None else row.record
    if files := _missing_exports(plan, record) if outcome == FINE else plan.exports:
        _export(db, plan, list(files), _exports(plan, record))
        outcome = EXPORTED if outcome == FINE else outcome
    if UNRECORDED in states and outcome not in (MADE, UPDATED):
        keep_record(db.engine, plan.name, **_to_sign(plan))
        outcome = RECORDED
    return [(ENDED if ENDED in states else outcome, reason) for _, reason in reasons]


def _make(
    db: Database,
    plan: PlannedRelease,
    row: CatalogueRow | None,
    source: Mapping[str, Any],
    *,
    grows: bool = False,
) -> dict[str, Any]:
    """Make a release anew in the place of the one that is there, or its next version; give its new record."""
    name, before = plan.name, {} if row is None else _exports(plan, row.record)
    if row is not None and LOCATION in row.parameters:
        raise InvalidOption(f"The rows of {name} stand outside of the database.", "Drop the release first.")
    for file in plan.exports:
        check_export(plan.folder / file, force=file in before)
    exports = [{"file": file, "sha256": None} for file in plan.exports]
    if reading := db.engine.given.get(plan.table):
        for notice in reading.notices:
            db.progress.notice(notice)
    request: dict[str, Any] = {ASKED: dict(plan.asked), "source": source, "files": _digests(plan)}
    record = request | {"folder": str(plan.folder), "exports": exports} | _to_sign(plan)
    with db.engine.publishes(record=record, replaces=None if row is None else name, whole=True):
        if grows:
            db.update(name)
        else:
            getattr(db, plan.command)(plan.table, **plan.options())
    if grows:  # there is no new version where nothing changed that the release would show
        keep_record(db.engine, name, **record)
    return record


def _export(
    db: Database, plan: PlannedRelease, files: Sequence[str], hashes: Mapping[str, str | None]
) -> None:
    """Write files, and keep the hash of each; one that is there and was not exported here is not replaced."""
    release, digests = db.release(plan.name), dict(hashes)
    for file in files:
        path = plan.folder / file
        is_safe = plan.said.get("formula-safe", False) and path.suffix.lower() == ".csv"
        release.export(path, force=file in hashes, formula_safe=is_safe)
        digests[file] = _digest(path)
        exports = [{"file": one, "sha256": digests.get(one)} for one in plan.exports if one in digests]
        keep_record(db.engine, release.name, exports=exports)
