"""What a tool can know of the call and the session it runs in."""

import threading

import pytest

import handrail
from handrail.config.model import Settings


@pytest.mark.feature("A16", "Y01", "Y02", "Y03", "U04")
async def test_a_tool_sees_the_call_the_session_and_the_agent_around_it(workspace, open_runtime):
    other = workspace.root.parent / "other"
    other.mkdir()
    seen = {}

    @handrail.tool(reads_only=True)
    def look(ctx: handrail.ToolContext) -> str:
        """Looks around."""
        seen.update(
            call_id=ctx.call_id,
            turn=ctx.turn_id,
            agent=ctx.agent_id,
            cwd=ctx.cwd,
            further=ctx.additional_directories,
            model=ctx.options.main_loop_model,
            mode=ctx.session.mode,
            session=ctx.session.id,
            cancelled=ctx.signal.cancelled,
            kept=ctx.artifacts.load(ctx.artifacts.save("a.txt", b"kept")),
            thread=threading.current_thread() is threading.main_thread(),
        )
        ctx.session.values["count"] = ctx.session.values.get("count", 0) + 1
        return "seen"

    async with open_runtime(directories=[other], session="s1") as rt:
        rt.register(look)
        rt.session.options.main_loop_model = "a-model"
        await rt.call("look")
        async with rt.turn() as turn:
            await rt.call("look", id="c1", agent="scout")

    assert seen == {
        "call_id": "c1",
        "turn": turn,
        "agent": "scout",
        "cwd": str(workspace.root),
        "further": (str(other),),
        "model": "a-model",
        "mode": "accept-edits",
        "session": "s1",
        "cancelled": False,
        "kept": b"kept",
        "thread": False,
    }
    assert rt.session.values == {"count": 2}


@pytest.mark.feature("E07", "Y04")
async def test_a_read_is_remembered_with_what_was_seen(workspace, open_runtime):
    target = workspace.write("a.txt", "1\n2\n3\n")

    async with open_runtime() as rt:
        unseen = rt.session.reads.can_edit(str(target))
        await rt.call("read_file", {"path": "a.txt", "offset": 2, "limit": 1})
        record = rt.session.reads.get(str(target))

    assert unseen is False
    assert (record.offset, record.limit, record.whole) == (2, 1, False)
    assert record.stat.mtime_ns == target.stat().st_mtime_ns
    assert record.digest is not None


@pytest.mark.feature("Y08")
async def test_a_cancelled_call_is_told_so_in_its_thread(open_runtime):
    started, ended = threading.Event(), threading.Event()

    @handrail.tool(reads_only=True)
    def patient(ctx: handrail.ToolContext) -> str:
        """Waits until it is told to stop."""
        started.set()
        if ctx.signal.wait(5):
            ended.set()
        return ""

    import anyio
    import anyio.to_thread

    async with open_runtime() as rt:
        rt.register(patient)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: rt.call("patient", id="p"))
                await anyio.to_thread.run_sync(started.wait)
                await rt.cancel("p")
            stopped = await anyio.to_thread.run_sync(ended.wait, 5)

    assert stopped


@pytest.mark.feature("Y05", "F20")
async def test_defaults_are_careful_and_can_be_seen(workspace, caplog):
    caplog.set_level("INFO", logger="handrail")

    async with handrail.open(workspace.root, store=":memory:") as rt:
        await rt.call("list_files", id="l1")

    settings = Settings()
    assert (settings.dry_run, settings.allow_delete, settings.mode) == (False, False, "default")
    assert rt.session.mode == "default"
    names = "read_file write_file edit_file delete_file list_files find_files grep file_info"
    assert rt.registry.missing(names.split()) == []
    assert rt.hooks == []
    record = next(one for one in caplog.records if one.name == "handrail")
    assert (record.message, record.call_id) == ("list_files: ok", "l1")


async def test_settings_come_from_the_persons_file_unless_the_caller_says_otherwise(
    workspace, own_home
):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('mode = "plan"\nallow_delete = true\n')

    async with handrail.open(workspace.root, store=":memory:") as rt:
        from_file = rt.session.mode
    async with handrail.open(workspace.root, store=":memory:", mode="bypass") as rt:
        from_caller = rt.session.mode
    file.write_text('mode = "plan"\ncolour = "red"\n')
    with pytest.raises(handrail.ProblemRaised, match="colour"):
        await handrail.open(workspace.root, store=":memory:")
    file.write_text("mode = ")
    with pytest.raises(handrail.ProblemRaised, match=r"config\.toml"):
        await handrail.open(workspace.root, store=":memory:")

    assert (from_file, from_caller) == ("plan", "bypass")


async def test_a_workspace_cannot_configure_anything(workspace):
    for name in ("config.toml", ".handrail/config.toml", "handrail.toml", ".handrail.toml"):
        workspace.write(name, 'mode = "bypass"\n')

    async with handrail.open(workspace.root, store=":memory:") as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert result.problem.code == "needs_approval"


@pytest.mark.feature("I06")
async def test_the_workspace_is_resolved_once(workspace, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(workspace.root)
    workspace.write("a.txt", "x\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async with handrail.open(link, store=":memory:") as rt:
        link.unlink()
        link.symlink_to(elsewhere)
        read = await rt.call("read_file", {"path": "a.txt"})

    assert read.text == "x"


@pytest.mark.parametrize("store", [None, "beside"])
async def test_the_store_is_never_inside_the_workspace(workspace, tmp_path, own_home, store):
    chosen = {} if store is None else {"store": tmp_path / "s.db"}

    async with handrail.open(workspace.root, mode="accept-edits", **chosen) as rt:
        await rt.call("write_file", {"path": "a", "content": "x"})
    with pytest.raises(handrail.ProblemRaised, match="inside the workspace"):
        await handrail.open(workspace.root, store=workspace.root / "s.db")

    assert set(workspace.tree()) == {"a"}
    where = own_home / "state" if store is None else tmp_path
    databases = list(where.rglob("*.db"))
    assert len(databases) == 1
    assert databases[0].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("store", [None, ":memory:"])
async def test_the_state_directory_is_hidden_when_a_workspace_contains_it(own_home, store):
    async with handrail.open(own_home, mode="bypass"):
        pass
    async with handrail.open(own_home, mode="bypass", store=store) as rt:
        listed = await rt.call("find_files", {"pattern": "*.db"})
        (database,) = own_home.rglob("store.db")
        read = await rt.call("read_file", {"path": str(database), "max_bytes": 10})
        write = await rt.call("write_file", {"path": str(database), "content": "x"})

    assert not read.ok
    assert not write.ok
    assert "store.db" not in listed.text
