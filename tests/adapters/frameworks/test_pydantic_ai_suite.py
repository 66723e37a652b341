"""pydantic-ai's own conformance suite for workspace backends, run on ours."""

import asyncio
import os
import shutil

import pytest
from pydantic_ai.workspaces import WorkspaceUnavailableError
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite
from tests.support.waiting import wait_until_async

import handrail
from handrail.adapters.pydantic_ai import HandrailWorkspace

EXCEPTIONS = {
    "test_background_child_does_not_hold_up_completed_command": (
        "a command's processes end with it: what goes on belongs in a background job"
    ),
    "test_cancellation_stops_foreground_work": (
        "a command sees only its own processes, so that `kill -0` meets one of its own; "
        "test_a_cancelled_command_is_ended shows the rule"
    ),
    "test_destroying_environment_during_command_raises_unavailable": (
        "a read waits for a command whose files are known only at run time; "
        "test_a_command_whose_workspace_is_deleted_is_unavailable shows the rule"
    ),
    "test_concurrent_first_use_shares_one_environment": (
        "a backend is bound to an opened runtime, so its environment exists before its first use"
    ),
}
if os.geteuid() == 0:
    EXCEPTIONS["test_permission_denied_uses_builtin_error"] = "root may read every file"


@pytest.fixture
async def open_runtime(tmp_path):
    opened = []

    async def open_at(name):
        root = tmp_path / name
        root.mkdir()
        rt = await handrail.open(root, mode="bypass", allow_delete=True, store=":memory:")
        opened.append(rt)
        return rt

    yield open_at
    for rt in opened:
        await rt.aclose()


class TestHandrailWorkspace(WorkspaceBackendSuite):
    @pytest.fixture
    async def runtime(self, open_runtime):
        return await open_runtime("workspace")

    @pytest.fixture
    async def backend(self, runtime):
        return HandrailWorkspace(runtime)

    @pytest.fixture
    async def attach_backend(self, runtime, other):
        return lambda ref: next(
            one for one in (HandrailWorkspace(runtime), HandrailWorkspace(other)) if one.ref == ref
        )

    @pytest.fixture
    async def other(self, open_runtime):
        return await open_runtime("other")

    @pytest.fixture
    async def destructive_backend(self, other):
        return lambda: HandrailWorkspace(other)

    @pytest.fixture
    def destroy_environment(self):
        async def destroy(backend):
            shutil.rmtree(backend.ref.id)

        return destroy


async def test_a_command_whose_workspace_is_deleted_is_unavailable(open_runtime, tmp_path):
    backend, root = HandrailWorkspace(await open_runtime("short")), tmp_path / "short"
    script = 'printf ready > "$1"; while [ -e "$1" ]; do sleep 0.1; done'
    command = ["sh", "-c", script, "sh", str(root / "started")]
    running = asyncio.create_task(backend.run(command, timeout=60))
    await wait_until_async(root.joinpath("started").exists)
    shutil.rmtree(root)

    with pytest.raises(WorkspaceUnavailableError):
        await running


def test_the_exceptions_are_tests_of_the_suite():
    assert [name for name in EXCEPTIONS if not hasattr(WorkspaceBackendSuite, name)] == []
