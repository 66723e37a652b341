"""Diagnostics in the results of edits, through the front door with a real server."""

import pytest

import handrail
from handrail.host.sandbox.local_sandbox import LocalSandbox

pytestmark = pytest.mark.needs_language_servers

LIB = "def greet(name: str) -> str:\n    return 'hi ' + name\n"
MAIN = "from lib import greet\n\ny = greet('a')\n"
MODE = "sandboxed"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "lib.py").write_text(LIB)
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


def opened(root, **lsp):
    config = {"lsp": {"after_edit": True, **lsp}}
    return handrail.open(root, store=":memory:", mode=MODE, config=config)


async def ask(rt, path):
    return (await rt.call("lsp", {"operation": "diagnostics", "path": path})).unwrap()


async def write(rt, path, content):
    return (await rt.call("write_file", {"path": path, "content": content})).unwrap()


async def test_an_edit_tells_the_errors_of_the_new_text_and_which_are_new(project):
    async with opened(project) as rt:
        await ask(rt, "main.py")
        await rt.call("read_file", {"path": "main.py"})
        first = await write(rt, "main.py", MAIN + "z = greet(1)\n")
        second = await write(rt, "main.py", "import os\n" + MAIN + "z = greet(1)\nunknown()\n")
        third = await write(rt, "main.py", MAIN)

    assert "main.py: 1 error]" in first.text
    assert "line 4: error:" in first.text
    assert "main.py: 2 errors, 1 of them new" in second.text
    assert "line 6: error:" in second.text
    assert "line 5: error:" not in second.text
    assert "main.py: no errors" in third.text


async def test_no_server_is_started_by_an_edit(project):
    async with opened(project) as rt:
        await rt.call("read_file", {"path": "main.py"})
        written = await write(rt, "main.py", MAIN + "z = greet(1)\n")

    assert "diagnostics" not in written.text


async def test_files_without_a_server_and_failed_edits_say_nothing(project):
    async with opened(project) as rt:
        await ask(rt, "main.py")
        notes = await write(rt, "notes.txt", "plain\n")
        refused = await rt.call(
            "edit_file", {"path": "main.py", "old_string": "nowhere", "new_string": "x"}
        )

    assert "diagnostics" not in notes.text
    assert "diagnostics" not in refused.text


async def test_without_the_setting_edits_say_nothing(project):
    async with opened(project, after_edit=False) as rt:
        await ask(rt, "main.py")
        await rt.call("read_file", {"path": "main.py"})
        written = await write(rt, "main.py", MAIN + "z = greet(1)\n")

    assert "diagnostics" not in written.text


async def test_a_change_of_one_file_is_seen_in_the_diagnostics_of_another(project):
    async with opened(project, after_edit=False) as rt:
        before = await ask(rt, "main.py")
        await rt.call("read_file", {"path": "lib.py"})
        await write(rt, "lib.py", LIB.replace("name: str", "name: int"))
        after = await ask(rt, "main.py")

    assert before.data["items"] == []
    assert [one["severity"] for one in after.data["items"]] == ["error"]


@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A47")
async def test_a_denied_file_that_appears_later_is_not_quoted_in_the_result_of_an_edit(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    source = "from typing import Literal\nKEY: Literal['hunter2']\n"
    use = "import private.key\ny: int = private.key.KEY\n"
    config = {"lsp": {"after_edit": True}, "permissions": {"deny": ["read_file(private/**)"]}}

    async with handrail.open(tmp_path, store=":memory:", mode=MODE, config=config) as rt:
        await ask(rt, "a.py")
        (tmp_path / "private").mkdir()
        (tmp_path / "private/key.py").write_text(source)
        outdated = await write(rt, "b.py", use)
        await ask(rt, "b.py")
        current = await write(rt, "b.py", use + "z: int = ''\n")

    assert "b.py are not known yet" in outdated.text
    assert "hunter2" not in outdated.text + current.text
    assert "line 3: error:" in current.text


async def test_where_secrets_cannot_be_hidden_edits_quote_no_server(project, monkeypatch):
    monkeypatch.setattr(LocalSandbox, "hiding_gap", lambda *_: "nothing is hidden here")

    async with opened(project) as rt:
        at = {"path": "main.py", "line": 3, "column": 5}
        (await rt.call("lsp", {"operation": "goto_definition", **at})).unwrap()
        await rt.call("read_file", {"path": "main.py"})
        written = await write(rt, "main.py", MAIN + "z = greet(1)\n")

    assert "main.py are not known yet" in written.text
    assert "error:" not in written.text
