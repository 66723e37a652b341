import pytest

import handrail


@pytest.mark.needs_language_servers
async def test_a_rename_changes_all_files_as_one_plan_that_can_be_undone(tmp_path):
    texts = {
        "lib.py": "def greet():\n    pass\n",
        "main.py": "from lib import greet\r\n'😀'; greet()\r\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())

    async with handrail.open(tmp_path, store=":memory:", mode="sandboxed") as rt:
        done = await rt.call(
            "lsp_rename", {"path": "lib.py", "line": 1, "column": 5, "new_name": "hello"}
        )
        after = {name: (tmp_path / name).read_bytes().decode() for name in texts}
        await rt.undo()
        restored = {name: (tmp_path / name).read_bytes().decode() for name in texts}
        tools = [one.requested["tool"] for one in await rt.store.calls(limit=9)]

    assert tools == ["undo", "lsp", "lsp_rename"]
    assert done.data == {"files": ["lib.py", "main.py"], "replacements": 3}
    assert after == {name: text.replace("greet", "hello") for name, text in texts.items()}
    assert restored == texts


@pytest.mark.needs_language_servers
async def test_a_rename_asks_like_any_edit_and_shows_its_diff(tmp_path):
    (tmp_path / "a.py").write_text("def greet():\n    pass\n\n\ngreet()\n")
    shown = []

    async def approver(request):
        shown.append(request.preview)
        return request.tool == "lsp"

    async with handrail.open(tmp_path, store=":memory:", mode="default", approver=approver) as rt:
        await rt.call("lsp", {"operation": "document_symbols", "path": "a.py"})
        refused = await rt.call(
            "lsp_rename", {"path": "a.py", "line": 1, "column": 5, "new_name": "hi"}
        )
        nothing = await rt.call(
            "lsp_rename", {"path": "a.py", "line": 3, "column": 1, "new_name": "hi"}
        )

    assert refused.status == "refused"
    assert "-def greet():" in shown[-1]
    assert "+def hi():" in shown[-1]
    assert nothing.problem.code == "no_match"
    assert "greet" in (tmp_path / "a.py").read_text()


@pytest.mark.needs_language_servers
async def test_a_rename_that_may_not_start_its_server_is_refused_for_that(tmp_path):
    (tmp_path / "a.py").write_text("def greet():\n    pass\n")
    reasons = []

    async def approver(request):
        reasons.append((request.tool, request.reason))
        return False

    async with handrail.open(tmp_path, store=":memory:", mode="default", approver=approver) as rt:
        refused = await rt.call(
            "lsp_rename", {"path": "a.py", "line": 1, "column": 5, "new_name": "hi"}
        )

    assert (refused.status, refused.problem.code) == ("refused", "denied")
    [(tool, reason)] = reasons
    assert tool == "lsp"
    assert "starts the language server" in reason


@pytest.mark.needs_language_servers
@pytest.mark.needs_bubblewrap
async def test_a_rename_asks_no_server_that_can_read_what_is_denied_by_now(tmp_path):
    (tmp_path / "a.py").write_text("def greet():\n    pass\n")
    config = {"permissions": {"deny": ["read_file(private/**)"]}}

    async with handrail.open(tmp_path, store=":memory:", mode="sandboxed", config=config) as rt:
        (await rt.call("lsp", {"operation": "document_symbols", "path": "a.py"})).unwrap()
        (tmp_path / "private").mkdir()
        (tmp_path / "private/b.py").write_text("from a import greet\n")
        at = {"path": "a.py", "line": 1, "column": 5}
        renamed = (await rt.call("lsp_rename", {**at, "new_name": "hi"})).unwrap()
        tools = [one.requested["tool"] for one in await rt.store.calls(limit=9)]

    assert renamed.data["files"] == ["a.py"]
    assert tools == ["lsp", "lsp_rename", "lsp"]


@pytest.mark.needs_language_servers
@pytest.mark.parametrize("alone", [True, False])
async def test_a_batch_asks_a_server_about_what_it_has_changed_and_renames_it(tmp_path, alone):
    (tmp_path / "a.py").write_text("x = 1\n")
    edit = {"path": "a.py", "content": "def greet():\n    pass\n\n\ngreet()\n"}
    question = {"operation": "document_symbols", "path": "a.py"}
    rename = {"path": "a.py", "line": 1, "column": 5, "new_name": "hi"}
    calls = [{"name": "write_file", "arguments": edit}]
    calls += [] if alone else [{"name": "lsp", "arguments": question}]
    calls.append({"name": "lsp_rename", "arguments": rename})

    async with handrail.open(tmp_path, store=":memory:", mode="sandboxed") as rt:
        results = await rt.batch(calls)

    assert [one.status for one in results] == ["ok"] * len(calls), results
    assert alone or "greet" in results[1].text
    assert (tmp_path / "a.py").read_text() == "def hi():\n    pass\n\n\nhi()\n"


async def test_without_programs_there_is_no_rename(workspace):
    workspace.write("a.py", "x = 1\n")

    problem = None
    tool, args, ctx = workspace.prepare(
        "lsp_rename", {"path": "a.py", "line": 1, "column": 1, "new_name": "y"}
    )
    with pytest.raises(Exception) as raised:
        await tool.preflight(args, ctx)
    problem = raised.value.problem

    assert problem.code == "unavailable"
