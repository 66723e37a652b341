"""What is written down of calls holds no secret that shows by its shape."""

import pytest

import handrail

TOKEN = "ghp_" + "Aa1" * 14


def at_rest(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_tokens_in_arguments_and_output_are_not_on_record(workspace, tmp_path):
    home = tmp_path / "state"
    home.mkdir()
    workspace.write("notes.txt", f"the token is {TOKEN}\n")
    async with handrail.open(workspace.root, store=home / "store.db", mode="accept-edits") as rt:
        read = await rt.call("read_file", {"path": "notes.txt"})
        await rt.call("grep", {"pattern": TOKEN, "literal": True})
        records = await rt.store.calls()

    assert TOKEN in read.text
    said = repr([(one.requested, one.completed) for one in records])
    assert TOKEN not in said
    assert "ghp_[redacted]" in said
    assert TOKEN.encode() not in at_rest(home)


@pytest.mark.parametrize("durability", ["power", "process"])
async def test_the_chain_holds_over_what_was_taken_out(workspace, tmp_path, durability):
    from handrail.store.chain.verify import verify

    store = tmp_path / "store.db"
    async with handrail.open(workspace.root, store=store, durability=durability) as rt:
        await rt.call("read_file", {"path": f"{TOKEN}.txt"})

    assert verify(store).broken is None


async def test_an_edit_of_a_file_with_a_token_is_undone_byte_exactly(workspace, tmp_path):
    before = f"a = {TOKEN}\n"
    workspace.write("conf.py", before)
    store = tmp_path / "store.db"
    async with handrail.open(workspace.root, store=store, mode="accept-edits") as rt:
        edit = {"path": "conf.py", "old_string": "a = ", "new_string": "b = "}
        (await rt.call("edit_file", edit)).unwrap()
        (await rt.undo()).unwrap()

    assert workspace.read("conf.py") == before.encode()


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("name", [TOKEN, "pypi-package-release-automation-workflow.yml"])
async def test_a_command_is_undone_where_names_look_like_tokens(workspace, tmp_path, name):
    """The names are kept, or another file would be brought back; what it printed is not."""
    workspace.write(f"gone/{name}", "old")
    code = (
        "import os\nname = os.listdir('gone')[0]\nos.remove(f'gone/{name}'); os.mkdir('made')\n"
        f"open(f'made/{{name}}', 'w').write('new'); print({TOKEN[:9]!r} + {TOKEN[9:]!r})"
    )
    async with handrail.open(workspace.root, store=tmp_path / "s.db", mode="sandboxed") as rt:
        run = {"language": "python", "code": code}
        ran = (await rt.call("execute_code", run, id="run")).unwrap()
        (await rt.undo("run")).unwrap()
        records = await rt.store.calls(call_id="run")

    assert (ran.meta["undo"], TOKEN in ran.text) == ("full", True)
    assert workspace.tree() == {f"gone/{name}": b"old"}
    assert not (workspace.root / "made").exists()
    assert "ghp_[redacted]" in records[0].completed["text"]


async def test_files_that_hold_secrets_are_not_copied_and_undo_says_so(workspace, tmp_path):
    home = tmp_path / "state"
    home.mkdir()
    secret = "correct horse battery staple"
    workspace.write(".env", f"# {secret}\nA=1\n" * 3000)
    store = home / "store.db"
    short = {"mode": "accept-edits", "max_chars": 1000}
    async with handrail.open(workspace.root, store=store, config=short) as rt:
        read = await rt.call("read_file", {"path": ".env"})
        written = await rt.call("write_file", {"path": ".env", "content": "A=2\n"})
        undone = await rt.undo()

    assert "full text could" in read.text
    assert "undone: files that hold secrets" in written.text
    assert undone.problem.code == "not_found"
    assert workspace.read(".env") == b"A=2\n"
    copies = [one for one in home.rglob("*") if one.is_file() and "store.db" not in one.name]
    assert not any(secret.encode() in one.read_bytes() for one in copies)


async def test_what_a_command_prints_of_a_secret_file_is_kept_in_no_file(workspace, tmp_path):
    home = tmp_path / "state"
    home.mkdir()
    line = "# correct horse battery staple\n"
    workspace.write(".env", line * 9000)
    workspace.write("plain.txt", line.upper() * 9000)
    async with handrail.open(
        workspace.root, store=home / "store.db", mode="accept-edits", approver=lambda request: True
    ) as rt:
        secret = await rt.call("run_command", {"command": "cat .env"})
        plain = await rt.call("run_command", {"command": "cat plain.txt"})

    assert secret.ok
    assert plain.ok
    copies = [one for one in home.rglob("*") if one.is_file() and "store.db" not in one.name]
    kept = b"".join(one.read_bytes() for one in copies)
    assert line.upper().encode() in kept
    assert line.encode() not in kept
    assert "left out here" in secret.text
