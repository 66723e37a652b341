"""Crash recovery: completes or reverts plans whose intent was recorded and that were not finished.

A plan whose files are all in their new state is complete; otherwise the files that are in their new
state are reverted. No program is run again, and files that somebody else has changed are left alone.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from handrail.core.places import Form, Kind, Place
from handrail.core.plan import Change, Plan, temp_name
from handrail.core.ports.machine import Blobs, Clock, Files
from handrail.core.ports.records import CallRecord, Row, Store
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.core.text.listing import first_few
from handrail.history.before_images import (
    compare_with_image,
    form_before,
    is_of_folder,
    is_permission_grant,
    load_image,
)
from handrail.history.command_effects.effects_report import EffectsReport
from handrail.history.commit import CommitResidue, commit
from handrail.history.recovered_call import (
    RecoveredCall,
    clear_pending_cleanup,
    completed_row,
    describe_reads,
    described_paths,
    list_pending_cleanup,
)
from handrail.history.temporary_permissions import add_permission_grants, restore_permissions
from handrail.history.undo.file_revert import read_current_file
from handrail.history.workspace_match import WorkspaceFolders, WorkspaceMatch, workspace_folders

_log = logging.getLogger("handrail")
_GONE: Final = (
    "it was interrupted, and the folder it worked in is gone: another one stands here now, "
    "which was left alone"
)
_LISTED: Final = 20
State = Literal["before", "after", "other"]


# Returns the changes of a command that was running at the crash, from its intent; None if unknown.
Looked = Callable[[Mapping[str, Any]], EffectsReport | None]


@dataclass(eq=False)
class Recovery:
    """Recovers the unfinished calls of a store; `alive` tells whether a process is still running."""

    store: Store
    files: Files
    blobs: Blobs | None
    clock: Clock
    alive: Callable[[str], bool]
    looked: Looked | None = None

    async def run(self, session: str) -> list[RecoveredCall]:
        """Complete or revert every unfinished plan of a dead process, and return the results.

        `session` is open on this workspace; the plans of other workspaces are left alone.
        """
        unfinished, over = await self.store.unfinished(), await list_pending_cleanup(self.store)
        if not unfinished and not over:
            return []
        openings = await self.store.openings()
        folders = workspace_folders(openings, session, self.files.roots[0])
        done = []
        for record in unfinished:
            intent = record.intent or {}
            where = folders.where(record.session, record.requested_ns)
            running = self.alive(str(intent.get("owner", ""))) and _key(record) not in over
            if where is WorkspaceMatch.ELSEWHERE or running:
                continue
            report = self._report(intent) if where is WorkspaceMatch.HERE else None
            recovered = self._settle(record, intent, where, report)
            done.append(recovered)
            if recovered.whole:
                self.store.append(self._completed_row(record, recovered, intent, report))
                if _key(record) in over:
                    clear_pending_cleanup(self.store, *_key(record))
        for key in over.difference(map(_key, unfinished)):
            await self._clear(*key, folders)
        if done or over:
            await self.store.flush()
        return done

    async def _clear(self, session: str, call_id: str, folders: WorkspaceFolders) -> None:
        """Remove the temporary files that a call, whose end is recorded, could not remove."""
        found = await self.store.calls(session=session, call_id=call_id, limit=1)
        intent = found[0].intent if found else None
        where = (
            WorkspaceMatch.BEFORE
            if intent is None
            else folders.where(session, found[0].requested_ns)
        )
        if where is WorkspaceMatch.ELSEWHERE:
            return
        if intent is not None and where is WorkspaceMatch.HERE:
            completed, ended_ns = found[0].completed or {}, found[0].completed_ns or 0
            try:
                # Before anything is removed, because that changes the times of folders.
                described = self._as_left(intent.get("changes") or (), ended_ns)
                if not self._sweep(described, str(intent.get("token")), ""):
                    return
                happened = completed.get("status") == "ok"
                if not self._prune_all(described, happened=happened):
                    return
                if not self._close(described, str(intent.get("token")), happened=happened):
                    return
            except ProblemRaised:
                _log.exception("what %s left behind could not be removed yet", call_id)
                return
        clear_pending_cleanup(self.store, session, call_id)

    def _as_left(
        self, described: Sequence[Mapping[str, Any]], ended_ns: int
    ) -> list[Mapping[str, Any]]:
        """The changes, without folders that were created or changed since."""
        folders = [one for one in described if is_of_folder(one)]
        stats = [self.files.named(one["path"]).stat for one in folders]
        newer = {
            one["path"]
            for one, seen in zip(folders, stats, strict=True)
            if seen is not None and seen.ctime_ns > ended_ns
        }
        return [one for one in described if one["path"] not in newer]

    def _report(self, intent: Mapping[str, Any]) -> EffectsReport | None:
        return self.looked(intent) if self.looked is not None and "runs" in intent else None

    def _settle(
        self,
        record: CallRecord,
        intent: Mapping[str, Any],
        where: WorkspaceMatch,
        report: EffectsReport | None,
    ) -> RecoveredCall:
        tool = str(record.requested.get("tool") or intent.get("tool") or "?")
        described = intent.get("changes")
        try:
            if intent.get("runs") or not described:
                return self._settle_run(record.call_id, tool, intent, report)
            if where is WorkspaceMatch.BEFORE:
                return RecoveredCall(
                    record.call_id, tool, "unknown", _GONE, paths=described_paths(described)
                )
            return self._settle_plan(record.call_id, tool, intent["token"], described)
        except ProblemRaised as raised:
            text = f"it was interrupted and could not be repaired: {raised.problem.message}"
            paths = described_paths(described or ())
            return RecoveredCall(record.call_id, tool, "unknown", text, whole=False, paths=paths)

    def _settle_run(
        self, call_id: str, tool: str, intent: Mapping[str, Any], report: EffectsReport | None
    ) -> RecoveredCall:
        """The result for a program that was running: what it did is unknown, it is not run again, and the
        text says which files to check.
        """
        text = "it was running when Handrail ended, and was not run again"
        if report is not None:
            paths = (*described_paths(report.changes), *described_paths(report.unattributed))
            return RecoveredCall(
                call_id, tool, "unknown", f"{text}; {report.sentence()}", paths=paths
            )
        effects = intent.get("effects") or {}
        root = f"{self.files.roots[0]}/"
        paths = tuple(str(path).removeprefix(root) for path in effects.get("writes", ()))
        if paths:
            text += f"; look at what it may have written: {first_few(paths, _LISTED)}"
        if effects.get("open_ended") or not effects:
            text += "; it may have had effects that are not known"
        return RecoveredCall(call_id, tool, "unknown", text, paths=paths)

    def _settle_plan(
        self, call_id: str, tool: str, token: str, described: list[Mapping[str, Any]]
    ) -> RecoveredCall:
        self._sweep(described, token, "-back", "-sweep")
        # The number of a change is part of its temporary name. A folder that was only opened for its
        # owner has no state of its own; `_close` restores its permissions.
        changes = [
            (number, one, self._state(one))
            for number, one in enumerate(described)
            if not is_permission_grant(one)
        ]
        others = [one["path"] for _, one, state in changes if state == "other"]
        if all(state == "after" for _, _, state in changes):
            for number, one in enumerate(described):
                self._keep_aside(number, one, token)
            text = "it was complete when Handrail ended"
            status = "ok"
        else:
            back = [
                self._back(number, one, token) for number, one, state in changes if state == "after"
            ]
            if back:
                plan = Plan(tuple(add_permission_grants(back, self.files)), "")
                commit(plan, self.files, durable=True, token=f"{token}-back")
            text = "it was interrupted; nothing of it remains"
            status = "interrupted"
            if others:
                status = "unknown"
                text = (
                    f"it was interrupted; changed by somebody else since: {', '.join(others)}; "
                    "look whether its own change is there"
                )
        self._sweep(described, token, "")
        self._prune_all(described, happened=status == "ok")
        self._close(described, token, happened=status == "ok")
        return RecoveredCall(call_id, tool, status, text, paths=tuple(others))

    def _state(self, described: Mapping[str, Any]) -> State:
        now = read_current_file(described["path"], self.files)
        return "other" if now.unsupported else compare_with_image(described, now.digest, now.seen)

    def _back(self, number: int, described: Mapping[str, Any], token: str) -> Change:
        now, before = (
            read_current_file(described["path"], self.files),
            self._old(number, described, token),
        )
        form = Form.FILE if before is None else form_before(described)
        mode = described["before_mode"]
        return Change(now.place, now.content, before, now.seen, mode, 0, now.form, form)

    def _prune_all(self, described: Sequence[Mapping[str, Any]], *, happened: bool) -> bool:
        """Remove the directories that should not exist, children before parents; False if one could not be
        removed.
        """
        pruned = [self._prune(one, happened=happened) for one in reversed(described)]
        return all(pruned)

    def _prune(self, described: Mapping[str, Any], *, happened: bool) -> bool:
        """Remove the directories that were created for a file that does not exist now, or that should be
        removed with it; for the change of a folder, that folder if it should not exist.
        """
        if is_of_folder(described):
            if described["after_hash" if happened else "before_hash"] is not None:
                return True
            found = self.files.named(described["path"])
            inside = found.place._replace(rel=f"{found.place.rel}/.")
            return found.form is not Form.FOLDER or self.files.prune(inside, 1)
        levels = described.get("empties", 0) if happened else len(described.get("made", ()))
        place = self.files.locate(described["path"]) if levels else None
        if place is None or place.kind is not Kind.MISSING:
            return True
        return self.files.prune(place, levels)

    def _close(self, described: Sequence[Mapping[str, Any]], token: str, *, happened: bool) -> bool:
        """Restore the permissions of the folders that were made writable for the changes in them."""
        folders = [one for one in described if is_of_folder(one)]
        found = [restore_permissions(one, self.files, happened=happened) for one in folders]
        plan, residue = Plan(tuple(one for one in found if one is not None), ""), CommitResidue()
        commit(plan, self.files, durable=True, token=f"{token}-back", residue=residue)
        return not residue.temp_files_left

    def _old(self, number: int, described: Mapping[str, Any], token: str) -> Content | None:
        if described["image"] in ("absent", "inline"):
            return load_image(described, self.blobs)
        aside = self._aside(number, described, token)
        if aside is not None:
            content = self.files.read(aside).content
            if content.digest == described["before_hash"]:
                return content
        return load_image(described, self.blobs)

    def _keep_aside(self, number: int, described: Mapping[str, Any], token: str) -> None:
        aside = self._aside(number, described, token)
        if aside is None or described["image"] != "blob" or self.blobs is None:
            return
        content = self.files.read(aside).content
        if content.digest == described["before_hash"]:
            self.blobs.keep(content)

    def _aside(self, number: int, described: Mapping[str, Any], token: str) -> Place | None:
        directory = described["path"].rpartition("/")[0]
        for name in (temp_name(token, number), f"{temp_name(token, number)}~"):
            place = self.files.locate(f"{directory}/{name}" if directory else name)
            if place.kind is Kind.FILE:
                return place
        return None

    def _sweep(self, described: Sequence[Mapping[str, Any]], token: str, *ends: str) -> bool:
        """Remove temporary files of these names; False if one could not be removed."""
        prefixes, clean = tuple(f".handrail-{token}{end}" for end in ends), True
        for directory in {one["path"].rpartition("/")[0] for one in described}:
            place = self.files.locate(directory or ".")
            if place.kind is not Kind.DIRECTORY:
                continue
            for entry in self.files.scan(place):
                # A link with such a name is removed, not its target.
                if entry.name.startswith(prefixes) and (entry.is_link or entry.kind is Kind.FILE):
                    path = f"{directory}/{entry.name}" if directory else entry.name
                    clean = self._remove(path, f"{token}-sweep{os.urandom(4).hex()}") and clean
        return clean

    def _remove(self, path: str, token: str) -> bool:
        now, residue = read_current_file(path, self.files), CommitResidue()
        if now.content is None:
            return True
        gone = Change(now.place, now.content, None, now.seen, before_form=now.form)
        plan = Plan(tuple(add_permission_grants([gone], self.files)), "")
        try:
            commit(plan, self.files, durable=False, token=token, residue=residue)
        except ProblemRaised:
            _log.exception("%s could not be removed", path)
            return False
        return not residue.temp_files_left

    def _completed_row(
        self,
        record: CallRecord,
        recovered: RecoveredCall,
        intent: Mapping[str, Any],
        report: EffectsReport | None,
    ) -> Row:
        now_ns, reads = self.clock.now_ns(), None
        if recovered.status == "ok":
            reads = describe_reads(record, intent, self.files, now_ns / 1e9)
        return completed_row(record, recovered, intent, report, reads, now_ns)


def _key(record: CallRecord) -> tuple[str, str]:
    return record.session, record.call_id
