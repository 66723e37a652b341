"""What a hook after a call does to the call's files: undone, redone, known and told with it."""

import stat

import anyio
import pytest

TIDY = "sed -i 's/ *= */ = /' {file}"


def after(*commands, **fields):
    named = [
        {
            "name": f"tidy{number or ''}",
            "command": command,
            "matcher": "write_file|edit_file|apply_patch",
        }
        for number, command in enumerate(commands)
    ]
    return {"hooks": {"post_tool_use": [{**one, **fields} for one in named]}}


async def test_undo_and_redo_take_a_call_with_what_its_hooks_made_of_it(open_runtime, workspace):
    workspace.write("a.py", b"x=1\r\ny=2\r\n")
    async with open_runtime(config=after(TIDY, "echo '# end' >> {file}")) as rt:
        await rt.call("read_file", {"path": "a.py"})
        edit = {"path": "a.py", "old_string": "y=2", "new_string": "y=3"}
        edited = await rt.call("edit_file", edit, id="e")
        made = workspace.read("a.py")
        changes = list(await rt.store.traces(call_id="e"))
        undone = await rt.undo()
        before = workspace.read("a.py")
        redone = await rt.redo()

    assert made == b"x = 1\r\ny = 3\r\n# end\n"
    assert "[Hook tidy changed a.py]\n@@" in edited.text
    assert "[Hook tidy1 changed a.py]\n@@" in edited.text
    assert "+x = 1" in edited.text
    (trace,) = changes
    hooks = trace.completed["effects"]["hooks"]
    assert [(one["path"], one["hook"]) for one in hooks] == [("a.py", "tidy"), ("a.py", "tidy1")]
    assert hooks[0]["after_hash"] == hooks[1]["before_hash"]
    assert edited.changes[0].after_hash == hooks[1]["after_hash"]
    assert undone.ok, undone.text
    assert redone.ok, redone.text
    # The hooks are not about undo: what undo and redo restore is left as it is.
    assert before == b"x=1\r\ny=2\r\n"
    assert workspace.read("a.py") == made


async def test_undo_removes_a_file_that_a_hook_formatted_and_set_to_executable(
    open_runtime, workspace
):
    workspace.write("old.sh", "a=1\n")
    (workspace.root / "old.sh").chmod(0o644)
    async with open_runtime(config=after(TIDY, "chmod 755 {file}")) as rt:
        made = await rt.call("write_file", {"path": "new/a.sh", "content": "x=1\n"}, id="n")
        await rt.call("read_file", {"path": "old.sh"})
        await rt.call("write_file", {"path": "old.sh", "content": "a=2\n"}, id="o")
        mode = stat.S_IMODE((workspace.root / "old.sh").stat().st_mode)
        undone = [await rt.undo("o"), await rt.undo("n")]

    assert "[Hook tidy1 changed the permissions" in made.text
    assert mode == 0o755
    assert all(one.ok for one in undone), undone
    assert workspace.tree() == {"old.sh": b"a=1\n"}
    assert stat.S_IMODE((workspace.root / "old.sh").stat().st_mode) == 0o644


async def test_what_the_model_was_told_of_a_hook_counts_as_known(open_runtime, workspace):
    async with open_runtime(config={**after(TIDY), "freshness": "strict"}) as rt:
        await rt.call("write_file", {"path": "a.py", "content": "x=1\n"})
        edit = {"path": "a.py", "old_string": "x = 1", "new_string": "x=2"}
        edited = await rt.call("edit_file", edit)
        replaced = await rt.call("write_file", {"path": "a.py", "content": "y=3\n"})

    assert edited.ok, edited.text
    assert "changed since" not in edited.text
    assert replaced.ok, replaced.text
    assert workspace.read("a.py") == b"y = 3\n"


@pytest.mark.parametrize("cut", ["by the note", "by the result"])
async def test_what_it_was_not_told_in_full_does_not(open_runtime, workspace, cut):
    many = 100 if cut == "by the note" else 18
    settings = {} if cut == "by the note" else {"max_chars": 200}
    text = "".join(f"x{number}=1\n" for number in range(many))
    async with open_runtime(config={**after(TIDY), **settings}) as rt:
        made = await rt.call("write_file", {"path": "a.py", "content": text}, id="w")
        replaced = await rt.call("write_file", {"path": "a.py", "content": "y=3\n"})
        undone = await rt.undo("w")

    if cut == "by the note":
        assert "[Hook tidy changed a.py; read" in made.text
    assert replaced.problem.code == "stale"
    assert undone.ok, undone.text
    assert workspace.tree() == {}


async def test_a_file_that_the_model_has_not_seen_is_not_shown_to_it(open_runtime, workspace):
    workspace.write("a.py", "key=hidden\n" + "\n" * 9 + "x=1\n")
    workspace.write("b.py", "x=1\n")
    async with open_runtime(config=after(TIDY)) as rt:
        edit = {"path": "a.py", "old_string": "x=1", "new_string": "x=2"}
        edited = await rt.call("edit_file", edit)
        secret = await rt.call("write_file", {"path": ".env", "content": "KEY=1\n"})

    assert "hidden" not in edited.text
    assert "[Hook tidy changed a.py; read" in edited.text
    assert "[Hook tidy changed .env; read" in secret.text
    assert "KEY = 1" not in secret.text


async def test_several_files_of_one_call_go_back_together(open_runtime, workspace):
    workspace.write("a.py", "x=1\n")
    workspace.write("gone.py", "z=1\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x=1\n+x=2\n*** Add File: b.py\n+y=1\n"
        "*** Delete File: gone.py\n*** End Patch\n"
    )
    async with open_runtime(
        config=after("sed -i 's/=/ = /' *.py; echo > other"), allow_delete=True
    ) as rt:
        patched = await rt.call("apply_patch", {"patch": patch}, id="p")
        assert patched.ok, patched.text
        made = workspace.tree()
        undone = await rt.undo("p")
        back = workspace.tree()
        redone = await rt.redo()

    assert undone.ok, undone.text
    assert redone.ok, redone.text
    assert (back["a.py"], back["gone.py"]) == (b"x=1\n", b"z=1\n")
    assert "b.py" not in back
    assert made == workspace.tree()
    # Not a file of the call: nobody's to take back.
    assert "other" in back


@pytest.mark.needs_sandbox
async def test_what_a_hook_did_behind_a_command_is_taken_back_with_it(open_runtime, workspace):
    workspace.write("a.py", "x=1\n")
    config = {"hooks": {"post_tool_use": [{"name": "tidy", "command": TIDY}]}}
    async with open_runtime(config=config, mode="sandboxed") as rt:
        ran = await rt.call("run_command", {"command": "sed -i s/1/2/ a.py"}, id="c")
        made = workspace.read("a.py")
        undone = await rt.undo("c")

    assert (ran.ok, made) == (True, b"x = 2\n")
    assert undone.ok, undone.text


async def test_what_others_wrote_after_the_call_is_not_the_hooks_doing(open_runtime, workspace):
    class Person:
        """Runs before configured hooks, as if somebody saved the file between call and hook."""

        async def before(self, call):
            return None

        async def after(self, call, result):
            if call.tool == "write_file":
                workspace.write("a.py", "theirs=1\n")

    async with open_runtime(config=after(TIDY)) as rt:
        rt.hooks.insert(0, Person())
        await rt.call("write_file", {"path": "a.py", "content": "x=1\n"}, id="w")
        undone = await rt.undo("w")

    assert undone.problem.code == "conflict"
    assert workspace.read("a.py") == b"theirs = 1\n"


async def test_a_hook_that_is_cut_short_leaves_no_change_without_an_owner(open_runtime, workspace):
    slow = f"{TIDY}; mkfifo pipe; cat pipe"
    async with open_runtime(config=after(slow, timeout=60)) as rt:
        async with anyio.create_task_group() as group:
            arguments = {"path": "a.py", "content": "x=1\n"}
            group.start_soon(lambda: rt.call("write_file", arguments, id="w"))
            with anyio.fail_after(30):
                while not (workspace.root / "pipe").exists():
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        undone = await rt.undo("w")

    assert undone.ok, undone.text
    assert not (workspace.root / "a.py").exists()


async def test_a_hook_that_removes_the_file_or_puts_it_back_does_not_break_undo(
    open_runtime, workspace
):
    workspace.write("a.py", "x=1\n")
    async with open_runtime(config=after("rm {file}")) as rt:
        await rt.call("read_file", {"path": "a.py"})
        gone = await rt.call("write_file", {"path": "a.py", "content": "x=2\n"}, id="w")
        undone = await rt.undo("w")
        never = await rt.call("write_file", {"path": "b.py", "content": "x=2\n"}, id="n")
        nothing = await rt.undo("n")

    assert "[Hook tidy removed a.py]" in gone.text
    assert undone.ok, undone.text
    assert workspace.tree() == {"a.py": b"x=1\n"}
    assert never.ok
    assert nothing.problem.code == "already_applied"


async def test_without_a_journal_a_hook_still_counts_as_known(open_runtime, workspace):
    async with open_runtime(config={**after(TIDY), "journal": False}) as rt:
        await rt.call("write_file", {"path": "a.py", "content": "x=1\n"})
        replaced = await rt.call("write_file", {"path": "a.py", "content": "y=3\n"})

    assert replaced.ok, replaced.text


@pytest.mark.needs_bubblewrap
async def test_a_hook_without_network_is_told_that_the_sandbox_closed_it(open_runtime, caplog):
    command = "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6"
    async with open_runtime(config=after(command), sandbox="bubblewrap") as rt:
        result = await rt.call("write_file", {"path": "a.py", "content": "x=1\n"})

    assert "FAILED (exit 6)]\ncurl: (6)" in result.text
    assert "probably why it failed;" in result.text
    assert "unconfined = true" in result.text
    assert any("tidy (post_tool_use): failed," in line for line in caplog.messages)
