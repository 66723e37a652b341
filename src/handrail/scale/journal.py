"""The journal of a fleet: one row per task in a small SQLite file, written only by the fleet that
holds the lock of the state directory.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.scale import messages
from handrail.scale.tasks import TaskLine

_FILE: Final = "journal.db"
_APPLICATION_ID: Final = 0x48524654
_BUSY_S: Final = 10.0
# The tasks from which the rate is computed.
_RECENT_TASKS: Final = 200
_SCHEMA: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE tasks (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " line INTEGER NOT NULL, digest TEXT NOT NULL, tenant TEXT NOT NULL,"
    " workspace TEXT NOT NULL, text TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',"
    " lost INTEGER NOT NULL DEFAULT 0, started_ns INTEGER, ended_ns INTEGER, status TEXT,"
    " passed INTEGER, tokens INTEGER NOT NULL DEFAULT 0, usd REAL NOT NULL DEFAULT 0,"
    " result TEXT)",
    "CREATE INDEX tasks_waiting ON tasks (tenant, number) WHERE state = 'waiting'",
    "CREATE INDEX tasks_ended ON tasks (ended_ns) WHERE state = 'ended'",
)
_PUT_TASK: Final = (
    "INSERT INTO tasks (id, line, digest, tenant, workspace, text) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET line = excluded.line, digest = excluded.digest,"
    " tenant = excluded.tenant, workspace = excluded.workspace, text = excluded.text"
)


class WaitingTask(NamedTuple):
    """A task that may be started. `lost` counts the workers that ended while they worked on it."""

    number: int
    id: str
    tenant: str
    workspace: str
    text: str
    line: int
    lost: int


class FleetCounts(NamedTuple):
    """The state of a fleet in numbers."""

    waiting: int
    running: int
    ended: int
    passed: int
    by_status: Mapping[str, int]
    by_tenant: Mapping[str, Mapping[str, int]]
    tokens: int
    usd: float
    # When the first of the last tasks ended, how many these are, and when the last one ended.
    recent: tuple[int, int, int] | None

    @property
    def total(self) -> int:
        """All tasks."""
        return self.waiting + self.running + self.ended


class FleetJournal:
    """The state of each task. Raises `store_unavailable` if the disk fails."""

    def __init__(self, state: Path, *, read_only: bool = False) -> None:
        self._state = str(state)
        path = state / _FILE
        if read_only and not path.is_file():
            raise messages.NO_STATE.error(state=self._state)
        with self._guard():
            mode = "ro" if read_only else "rwc"
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_BUSY_S,
                isolation_level=None,
            )
            # A power failure may lose the last commits; the records of the tasks contain them too.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._check(read_only=read_only)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add_tasks(
        self, lines: Iterable[TaskLine], check: Callable[[TaskLine], None] | None = None
    ) -> int:
        """Add the new tasks, all or none; return their number. A task that was never started
        changes with its line and is removed with it; `check` raises if it cannot start. Raises `duplicate_id`, `conflict` if another
        one differs from its line or, before its end, has none, and the problem of an invalid line.
        """
        lines_by_id: dict[str, int] = {}
        added = 0
        query = "SELECT digest, started_ns FROM tasks WHERE id = ?"
        with self._writing() as db:
            for line in lines:
                task = line.task
                if task.id in lines_by_id:
                    raise messages.DUPLICATE_TASK.error(
                        where=line.where, id=task.id, first=lines_by_id[task.id]
                    )
                lines_by_id[task.id] = line.number
                digest, started = db.execute(query, (task.id,)).fetchone() or (None, None)
                if started is None:
                    if check is not None:
                        check(line)
                    added += digest is None
                    values = (task.id, line.number, line.digest, task.tenant, task.workspace_key)
                    db.execute(_PUT_TASK, (*values, line.text))
                elif digest != line.digest:
                    raise messages.TASK_CHANGED.error(
                        where=line.where, id=task.id, state=self._state
                    )
            self._remove_others(db, lines_by_id)
        return added

    def _remove_others(self, db: sqlite3.Connection, kept: Container[str]) -> None:
        query = "SELECT id, started_ns FROM tasks WHERE state != 'ended'"
        for id, started in db.execute(query).fetchall():
            if id not in kept and started is not None:
                raise messages.TASK_WITHOUT_LINE.error(id=id, state=self._state)
            if id not in kept:
                db.execute("DELETE FROM tasks WHERE id = ?", (id,))

    def restart(self, process: str, now_ns: int) -> None:
        """Record that a fleet starts: tasks that were running wait again."""
        with self._writing() as db:
            db.execute("UPDATE tasks SET state = 'waiting' WHERE state = 'running'")
            for key, value in (("process", process), ("begun_ns", str(now_ns))):
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
            token = ("token", os.urandom(16).hex())
            db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", token)

    def read_meta(self, key: str) -> str | None:
        """Return a value about the fleet."""
        with self._guard():
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def write_meta(self, key: str, value: str) -> None:
        """Store a value about the fleet."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def tenants(self) -> list[str]:
        """Return the names of all tenants."""
        with self._guard():
            return [row[0] for row in self._db.execute("SELECT DISTINCT tenant FROM tasks")]

    def used(self, tenant: str) -> tuple[int, float]:
        """Return the tokens and the money that the tasks of a tenant have used."""
        query = "SELECT total(tokens), total(usd) FROM tasks WHERE tenant = ?"
        with self._guard():
            tokens, usd = self._db.execute(query, (tenant,)).fetchone()
        return int(tokens), float(usd)

    def waiting(self, tenant: str, after: int, limit: int) -> list[WaitingTask]:
        """Return the next waiting tasks of a tenant, in the order of their numbers."""
        query = (
            "SELECT number, id, tenant, workspace, text, line, lost FROM tasks"
            " WHERE state = 'waiting' AND tenant = ? AND number > ? ORDER BY number LIMIT ?"
        )
        with self._guard():
            return [WaitingTask(*row) for row in self._db.execute(query, (tenant, after, limit))]

    def start(self, tasks: Sequence[WaitingTask], now_ns: int) -> None:
        """Note that tasks are started."""
        with self._writing() as db:
            db.executemany(
                "UPDATE tasks SET state = 'running', started_ns = coalesce(started_ns, ?)"
                " WHERE number = ? AND state = 'waiting'",
                [(now_ns, task.number) for task in tasks],
            )

    def lose(self, numbers: Sequence[int], lost: int) -> None:
        """Let the tasks of an ended worker wait again. `lost` is 1 if it had started them."""
        with self._writing() as db:
            db.executemany(
                "UPDATE tasks SET state = 'waiting', lost = lost + ?"
                " WHERE number = ? AND state = 'running'",
                [(lost, number) for number in numbers],
            )

    def end(self, number: int, result: Mapping[str, Any], now_ns: int) -> bool:
        """Store the result of a task; return False if it has one already."""
        usage = result["usage"]
        tokens = int(usage["input_tokens"]) + int(usage["output_tokens"])
        values = (now_ns, result["status"], bool(result["passed"]), tokens, usage["usd"] or 0.0)
        with self._writing() as db:
            update = db.execute(
                "UPDATE tasks SET state = 'ended', ended_ns = ?, status = ?, passed = ?,"
                " tokens = ?, usd = ?, result = ? WHERE number = ? AND state != 'ended'",
                (*values, json.dumps(result), number),
            )
        return update.rowcount == 1

    def results(self) -> Iterator[dict[str, Any]]:
        """Yield the results, in the order in which the tasks ended."""
        query = "SELECT result FROM tasks WHERE state = 'ended' ORDER BY ended_ns, number"
        with self._guard():
            for (text,) in self._db.execute(query):
                yield json.loads(text)

    def counts(self) -> FleetCounts:
        """Return how many tasks are in which state."""
        by_tenant: dict[str, dict[str, int]] = {}
        by_status: dict[str, int] = {}
        states = {"waiting": 0, "running": 0, "ended": 0}
        passed, tokens, usd = 0, 0, 0.0
        query = (
            "SELECT tenant, state, status, count(*), total(passed), total(tokens), total(usd)"
            " FROM tasks GROUP BY tenant, state, status ORDER BY tenant, status"
        )
        newest = (
            "SELECT min(ended_ns), count(*), max(ended_ns) FROM (SELECT ended_ns FROM tasks"
            " WHERE state = 'ended' AND ended_ns >= ? ORDER BY ended_ns DESC LIMIT ?)"
        )
        begun = int(self.read_meta("begun_ns") or 0)
        with self._guard():
            for tenant, state, status, count, good, used, money in self._db.execute(query):
                states[state] += count
                tenant_counts = by_tenant.setdefault(
                    tenant, {"waiting": 0, "running": 0, "ended": 0, "passed": 0}
                )
                tenant_counts[state] += count
                tenant_counts["passed"] += int(good)
                if state == "ended":
                    by_status[status] = by_status.get(status, 0) + count
                passed, tokens, usd = passed + int(good), tokens + int(used), usd + money
            first, number, last = self._db.execute(newest, (begun, _RECENT_TASKS)).fetchone()
        latest = (first, number, last) if number else None
        return FleetCounts(
            states["waiting"],
            states["running"],
            states["ended"],
            passed,
            by_status,
            by_tenant,
            tokens,
            usd,
            latest,
        )

    def _check(self, *, read_only: bool) -> None:
        (application_id,) = self._db.execute("PRAGMA application_id").fetchone()
        if application_id == _APPLICATION_ID:
            return
        (version,) = self._db.execute("PRAGMA schema_version").fetchone()
        if version:
            raise messages.JOURNAL_FAILED.error(state=self._state, reason="it is another file")
        if read_only:
            # A fleet that starts just now has not written to it yet.
            raise messages.NO_STATE.error(state=self._state)
        self._db.execute("PRAGMA journal_mode = WAL")
        with self._writing() as db:
            for statement in (*_SCHEMA, f"PRAGMA application_id = {_APPLICATION_ID}"):
                db.execute(statement)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise messages.JOURNAL_FAILED.error(state=self._state, reason=error) from error
