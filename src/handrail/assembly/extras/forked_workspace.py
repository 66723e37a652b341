"""Copies the workspace, as it was at an earlier turn, to another directory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from handrail.assembly.machine import Machine
from handrail.core.lazy import Lazy
from handrail.core.places import Place
from handrail.core.plan import Change, Plan
from handrail.core.ports.agents import ForkedWorkspace
from handrail.core.ports.read_denials import ReadDenyPatterns
from handrail.core.ports.undo import Requester, UndoCall, UndoRequest, UndoService
from handrail.core.problems import ProblemRaised
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.history.commit import commit
from handrail.history.undo.file_revert import read_current_file
from handrail.host.files import messages
from handrail.host.files.atomic_directory import StagedCopy
from handrail.host.files.local_files import LocalFiles
from handrail.host.files.tree_copy import copy_attributes, copy_tree

if TYPE_CHECKING:
    from handrail.assembly.runtime_opener import RuntimeOpener

_NOTHING_CHANGED: Final = ("not_found", "already_applied")


@dataclass(frozen=True, slots=True)
class WorkspaceFork:
    """Writes the roots of a workspace to another directory and opens a runtime there. The workspace
    itself is only read.
    """

    opening: RuntimeOpener
    machine: Machine
    past: Lazy[UndoService]
    denials: ReadDenyPatterns | None
    session: str

    async def open(
        self, directory: str | os.PathLike[str], since: str, session: str
    ) -> ForkedWorkspace:
        """Create the copy without the changes `since` a point, and open it for a session. Its runtime is
        closed with that of the workspace. Raises `exists`, `invalid_arguments`, `unavailable`; then
        nothing is written to the directory. If only the runtime cannot be opened, the copy is kept.
        """
        made: list[StagedCopy] = []

        def stage() -> None:
            made.append(StagedCopy(Path(directory), self.machine.files.roots))

        try:
            await run_in_thread_uncancellable(stage)
            staged = made[0]
            copies = self._copies(staged.path)
            left = await to_thread.run_sync(self._copy, copies)
            notes = await self._revert(copies, since)
            await to_thread.run_sync(self._publish, staged, copies)
        finally:
            for one in made:
                await run_in_thread_uncancellable(one.close)
        roots = list(self._copies(staged.target).values())
        named = session if self.opening.session is not None else None
        directories = {"directories": roots[1:]} if len(roots) > 1 else {}
        runtime = await self.opening.at(roots[0], session=named, **directories)
        self.machine.ends.push_async_callback(runtime.aclose)
        return ForkedWorkspace(runtime, str(roots[0]), tuple(left), tuple(notes))

    def _copies(self, made: Path) -> dict[str, Path]:
        """Root → its copy: a single root is copied to the directory itself, several to folders in it."""
        roots = self.machine.files.roots
        if len(roots) == 1:
            return {roots[0]: made}
        found: dict[str, Path] = {}
        for number, root in enumerate(roots, 1):
            name = Path(root).name or "root"
            taken = made / name in found.values()
            found[root] = made / (f"{name}-{number}" if taken else name)
        return found

    def _copy(self, copies: Mapping[str, Path]) -> list[str]:
        left: list[str] = []
        for root, copy in copies.items():
            copy.mkdir(exist_ok=True)
            left += copy_tree(root, copy, self._leaves_out)
        return left

    def _publish(self, staged: StagedCopy, copies: Mapping[str, Path]) -> None:
        for root, copy in copies.items():
            copy_attributes(root, copy)
        staged.publish()

    def _leaves_out(self, path: str) -> bool:
        """Whether a path is Handrail's state, or denied by a rule with an absolute path: such a rule would
        not match the copy.
        """
        if path in self.machine.places.hidden:
            return True
        fixed = None if self.denials is None else self.denials.anchored
        return fixed is not None and fixed.hides(path)

    async def _revert(self, copies: Mapping[str, Path], since: str) -> list[str]:
        """Revert the changes since a point in the copy; returns what could not be reverted."""
        notes: list[str] = []
        files = LocalFiles([str(copy) for copy in copies.values()])
        try:
            async for plan in self._plans(since):
                changes = [
                    moved
                    for change in plan.changes
                    if not self._leaves_out(change.place.absolute)
                    and (moved := _move_change(change, copies, files)) is not None
                ]
                work = partial(commit, durable=False, token=os.urandom(8).hex())
                await to_thread.run_sync(work, replace(plan, changes=tuple(changes)), files)
                data: Any = plan.data
                notes = list(data["passed_over"])
        finally:
            files.close()
        return notes

    async def _plans(self, since: str) -> AsyncIterator[Plan]:
        """Yield the plans that revert all changes since a point. Later changes by others are no conflict:
        they are overwritten only in the copy.
        """
        past, first = self.past.value, f"fork.{os.urandom(8).hex()}"
        wanted = UndoRequest("since", since, force=True)
        asker = Requester(self.session, is_user=True)
        try:
            plan = await past.undo_plan(wanted, asker, UndoCall(first))
        except ProblemRaised as raised:
            if raised.problem.code not in _NOTHING_CHANGED:
                raise
            yield Plan((), "", data={"passed_over": [raised.problem.message]})
            return
        yield plan
        part = 1
        while isinstance(plan.data, Mapping) and plan.data.get("rest"):
            part += 1
            plan = await past.undo_plan(wanted, asker, UndoCall(f"{first}.{part}", first))
            yield plan


def _move_change(change: Change, copies: Mapping[str, Path], files: LocalFiles) -> Change | None:
    """The change for the copy; None if the copy is already in the final state."""
    now = read_current_file(_moved_path(change.place, copies), files)
    if now.unsupported:
        raise messages.COPY_FAILED.error(path=change.path, reason="it was replaced meanwhile")
    same = now.digest == change.after_hash and change.mode in (None, now.mode)
    if same and not change.only_opens:
        return None
    places = tuple(files.named(_moved_path(one, copies)).place for one in change.same_file)
    return replace(
        change,
        place=now.place,
        before=now.content,
        seen=now.seen,
        before_form=now.form,
        same_file=places,
    )


def _moved_path(place: Place, copies: Mapping[str, Path]) -> str:
    """The path of the copy of a place: relative for the workspace, absolute for other roots."""
    return place.rel if place.root == 0 else str(list(copies.values())[place.root] / place.rel)
