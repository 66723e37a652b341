"""Language servers through the front door: real ones in two languages, and one that misbehaves."""

import json
import os
import sys
from pathlib import Path

import pytest

import handrail
from handrail.host.processes.procfs import child_pids
from handrail.host.sandbox.local_sandbox import LocalSandbox
from handrail.lsp.service import _is_shared

FAKE = Path(__file__).with_name("fake_server.py").read_text()
LIB = "def greet(name: str) -> str:\n    return 'hi ' + name\n"
MAIN = "from lib import greet\n\nx = '😀😀'; y = greet('a')\n"

pytestmark = pytest.mark.needs_language_servers


def fake(how, **limits):
    """Settings with the server that misbehaves for files that end in .txt."""
    server = {"command": [sys.executable, "-c", FAKE, how], "extensions": [".txt"]}
    return {"lsp": {"servers": {"fake": server}, "request_s": 1, "wait_s": 1, **limits}}


def opened(root, config=None, **options):
    options = {"mode": "sandboxed", **options}
    return handrail.open(root, store=":memory:", config=config or {}, **options)


async def ask(rt, operation, path=None, line=None, column=None, **more):
    given = {"operation": operation, "path": path, "line": line, "column": column, **more}
    return await rt.call("lsp", {name: value for name, value in given.items() if value is not None})


def places(result):
    return [(one["path"], one["line"], one["column"]) for one in result.data["items"]]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "lib.py").write_text(LIB)
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


@pytest.mark.feature("E55", "E56")
async def test_ty_answers_every_question_with_columns_in_characters(project):
    async with opened(project) as rt:
        definition = await ask(rt, "goto_definition", "main.py", 3, 15)
        references = await ask(rt, "find_references", "lib.py", 1, 5)
        hover = await ask(rt, "hover", "main.py", 3, 15)
        symbols = await ask(rt, "document_symbols", "lib.py")
        everywhere = await ask(rt, "workspace_symbols", query="greet")
        clean = await ask(rt, "diagnostics", "main.py")

    assert definition.text == "lib.py:1:5: def greet(name: str) -> str:"
    assert places(references) == [("lib.py", 1, 5), ("main.py", 1, 17), ("main.py", 3, 15)]
    assert "def greet(name: str) -> str" in hover.text
    assert [one["name"] for one in symbols.data["items"]] == ["greet"]
    assert [one["path"] for one in everywhere.data["items"]] == ["lib.py"]
    assert (clean.data["known"], clean.data["items"]) == (True, [])


@pytest.mark.feature("E55", "E56")
async def test_clangd_answers_in_a_file_with_crlf_and_emoji(tmp_path):
    text = (
        "int add(int a, int b) { return a + b; }\r\nint m(void) { /* 😀 */ return add(1, 2); }\r\n"
    )
    (tmp_path / "a.c").write_bytes(text.encode())
    column = text.splitlines()[1].index("add") + 1

    async with opened(tmp_path) as rt:
        definition = await ask(rt, "goto_definition", "a.c", 2, column)
        references = await ask(rt, "find_references", "a.c", 1, 5)
        (tmp_path / "a.c").write_bytes(text.replace("2)", '"x")').encode())
        broken = await ask(rt, "diagnostics", "a.c")

    assert places(definition) == [("a.c", 1, 5)]
    assert places(references) == [("a.c", 1, 5), ("a.c", 2, column)]
    assert broken.data["known"]
    assert broken.data["items"][0]["line"] == 2


async def test_columns_are_right_in_utf_16(tmp_path):
    text = "😀😀 needle 😀 needle\r\nneedle"
    (tmp_path / "a.txt").write_bytes(text.encode())

    async with opened(tmp_path, fake("utf-16")) as rt:
        references = await ask(rt, "find_references", "a.txt", 1, 4)
        hover = await ask(rt, "hover", "a.txt", 1, 13)

    assert places(references) == [("a.txt", 1, 4), ("a.txt", 1, 13), ("a.txt", 2, 1)]
    assert json.loads(hover.data["items"][0]["text"])[0] == {"line": 0, "character": 15}


async def rounds(root, name, sources, count):
    """Edit and ask in turn; every answer must be about the text on disk at that moment."""
    known = 0
    async with opened(root) as rt:
        for number in range(count):
            text, expected = sources(number)
            (root / name).write_text(text)
            found = await ask(rt, "diagnostics", name)
            assert found.data["content_hash"] is not None
            if found.data["known"]:
                known += 1
                assert [one["line"] for one in found.data["items"]] == expected, number
    # "Not known yet" to everything would be no answer.
    assert known > count * 0.8


def python_source(number):
    good = "def f(x: int) -> int:\n    return x\n"
    return (good + "f('a')\n", [3]) if number % 2 else (good + "\n" * (number % 7) + "f(1)\n", [])


def c_source(number):
    good = "int f(int x) { return x; }\n"
    return (good + "int g = h;\n", [2]) if number % 2 else (good + "\n" * (number % 7), [])


async def test_diagnostics_of_ty_are_never_older_than_the_text(tmp_path):
    await rounds(tmp_path, "a.py", python_source, 50)


async def test_diagnostics_of_clangd_are_never_older_than_the_text(tmp_path):
    await rounds(tmp_path, "a.c", c_source, 50)


@pytest.mark.torture
async def test_a_thousand_edits_and_questions(tmp_path):
    await rounds(tmp_path, "a.py", python_source, 1000)


@pytest.mark.parametrize("how", ["old", "unversioned"])
async def test_diagnostics_of_an_older_or_unknown_text_are_not_shown(tmp_path, how):
    (tmp_path / "a.txt").write_text("one")

    async with opened(tmp_path, fake(how, wait_s=0.2)) as rt:
        found = await ask(rt, "diagnostics", "a.txt")

    assert (found.ok, found.data["known"], found.data["items"]) == (True, False, [])


@pytest.mark.parametrize("operation", ["diagnostics", "find_references"])
async def test_a_server_that_is_busy_is_asked_again(tmp_path, operation):
    (tmp_path / "a.txt").write_text("needle")

    async with opened(tmp_path, fake("busy", wait_s=10, request_s=10)) as rt:
        found = await ask(rt, operation, "a.txt", 1, 1)

    assert found.ok, found.problem
    assert len(found.data["items"]) == 1


@pytest.mark.parametrize("operation", ["diagnostics", "find_references"])
async def test_an_error_of_a_server_is_reported_at_once(tmp_path, operation):
    (tmp_path / "a.txt").write_text("needle")

    async with opened(tmp_path, fake("failing", wait_s=10, request_s=10)) as rt:
        found = await ask(rt, operation, "a.txt", 1, 1)

    assert not found.ok
    assert "not now" in found.problem.message


async def test_pushed_diagnostics_belong_to_the_text_that_was_asked_about(tmp_path):
    async with opened(tmp_path, fake("usual")) as rt:
        for number in range(1, 20):
            (tmp_path / "a.txt").write_text("x" * number)
            found = await ask(rt, "diagnostics", "a.txt")
            [item] = found.data["items"]
            assert item["message"] == f"saw {number} characters of version {number}"


@pytest.mark.threat("A47")
async def test_a_server_cannot_act_through_us(tmp_path):
    (tmp_path / "a.txt").write_text("needle")

    async with opened(tmp_path, fake("acting")) as rt:
        hover = await ask(rt, "hover", "a.txt", 1, 1)

    _, answers = json.loads(hover.data["items"][0]["text"])
    assert answers[0] == {"applied": False, "failureReason": "not allowed"}
    assert answers[1] == {"success": False}
    assert answers[2]["code"] == -32601


@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A47")
async def test_text_outside_or_withheld_is_in_no_answer(tmp_path):
    (tmp_path / ".env").write_text("TOKEN=hunter2\n")
    (tmp_path / "withheld.txt").write_text("hunter3\n")
    (tmp_path / "a.txt").write_text("needle")
    config = {**fake("elsewhere"), "permissions": {"deny": ["read_file(withheld.txt)"]}}

    async with opened(tmp_path, config) as rt:
        found = await ask(rt, "goto_definition", "a.txt", 1, 1)
        denied = await ask(rt, "document_symbols", "withheld.txt")

    assert found.text == "/etc/passwd:1\n.env:1\nwithheld.txt:1"
    assert found.data["items"][1] == {"path": ".env", "line": 1}
    assert denied.problem.code == "denied"
    assert "hunter" not in denied.text


@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A47", "A48")
async def test_a_server_does_not_see_what_a_rule_withholds_even_if_it_comes_later(tmp_path):
    (tmp_path / "secret.py").write_text("TOKEN = 'hunter2'\n")
    (tmp_path / "main.py").write_text("from secret import TOKEN\nfrom later import KEY\n")
    config = {"permissions": {"deny": ["read_file(secret.py)", "read_file(later.py)"]}}

    async with opened(tmp_path, config) as rt:
        first = await ask(rt, "hover", "main.py", 1, 21)
        (tmp_path / "later.py").write_text("KEY = 'hunter3'\n")
        second = await ask(rt, "hover", "main.py", 2, 19)
        symbols = await ask(rt, "workspace_symbols", "main.py", query="KEY")

    assert first.ok
    assert second.ok
    assert "hunter" not in first.text + second.text + symbols.text
    assert symbols.data["items"] == []


@pytest.mark.threat("A46")
async def test_a_workspace_supplies_no_server_no_settings_and_is_not_written(tmp_path, monkeypatch):
    proof = tmp_path / "proof"
    planted = f"#!/bin/sh\ntouch {proof}\nexec sleep 600\n"
    for name in (".venv/bin/ty", "node_modules/.bin/ty", "ty", ".venv/bin/python"):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(planted)
        program.chmod(0o755)
    (tmp_path / ".handrail").mkdir()
    (tmp_path / ".handrail" / "config.toml").write_text(
        f'[lsp.servers.ty]\ncommand = ["{tmp_path}/ty"]\nextensions = [".py"]\n'
    )
    (tmp_path / "pyproject.toml").write_text('[tool.ty.environment]\npython = ".venv"\n')
    (tmp_path / "main.py").write_text("x = 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    before = sorted(tmp_path.rglob("*"))

    async with opened(tmp_path) as rt:
        found = await ask(rt, "document_symbols", "main.py")

    assert [one["name"] for one in found.data["items"]] == ["x"]
    assert not proof.exists()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.threat("A46")
async def test_settings_and_compilers_of_a_c_project_run_nothing_and_write_nothing(tmp_path):
    proof = tmp_path / "proof"
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\ntouch {proof}\n")
    compiler.chmod(0o755)
    plugin = tmp_path / "plugin.so"
    plugin.write_bytes(b"\x7fELF")
    flags = [f"-fplugin={plugin}", "-Xclang", "-load", "-Xclang", str(plugin), "-DFROM_PROJECT"]
    command = {
        "directory": str(tmp_path),
        "file": "a.c",
        "arguments": [str(compiler), *flags, "a.c"],
    }
    (tmp_path / "compile_commands.json").write_text(json.dumps([command]))
    (tmp_path / "compile_flags.txt").write_text("\n".join(flags))
    (tmp_path / ".clangd").write_text(
        f"CompileFlags:\n  Compiler: {compiler}\n  Add: [-DFROM_CLANGD]\nIndex:\n  Background: Build\n"
    )
    (tmp_path / ".clang-tidy").write_text("Checks: '*'\n")
    (tmp_path / "a.c").write_text(
        "#ifdef FROM_CLANGD\nint planted;\n#endif\nint add(int a) { return a; }\n"
    )
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    async with opened(tmp_path) as rt:
        symbols = await ask(rt, "document_symbols", "a.c")
        found = await ask(rt, "diagnostics", "a.c")

    assert [one["name"] for one in symbols.unwrap().data["items"]] == ["add"]
    assert found.ok
    assert not proof.exists()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.threat("A10", "A46")
async def test_starting_a_server_needs_the_clearance_of_a_command(project):
    async with opened(project, mode="default") as rt:
        refused = await ask(rt, "document_symbols", "lib.py")
        planned = rt.plan(
            [
                {
                    "id": "1",
                    "name": "lsp",
                    "arguments": {"operation": "diagnostics", "path": "lib.py"},
                }
            ]
        )
        programs = servers()

    assert (refused.status, refused.problem.code) == ("refused", "needs_approval")
    assert planned
    assert programs == []


async def test_once_started_a_server_is_asked_without_approval(project):
    questions = []

    async def approve(request):
        questions.append(request)
        return True

    async with opened(project, mode="default", approver=approve) as rt:
        answers = [await ask(rt, "document_symbols", "lib.py") for _ in range(3)]

    assert [one.status for one in answers] == ["ok"] * 3
    assert len(questions) == 1


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("crash", "unavailable"),
        ("garbage", "unavailable"),
        ("endless", "unavailable"),
        ("hang", "timeout"),
        ("silent", "timeout"),
    ],
)
async def test_a_server_that_misbehaves_is_a_problem_and_the_next_call_starts_afresh(
    tmp_path, how, code
):
    (tmp_path / "a.txt").write_text("needle")

    async with opened(tmp_path, fake(how, initialize_s=1 if how == "silent" else 45)) as rt:
        results = [await ask(rt, "goto_definition", "a.txt", 1, 1) for _ in range(2)]
        other = await rt.call("read_file", {"path": "a.txt"})

    assert [one.problem.code for one in results] == [code, code]
    assert other.ok


async def test_nothing_is_left_when_the_runtime_ends(project):
    for _ in range(3):
        async with opened(project) as rt:
            assert (await ask(rt, "document_symbols", "lib.py")).ok
            assert servers()
        assert servers() == []


def servers():
    """The running servers below this process."""
    below, found = [os.getpid()], []
    for pid in below:
        below += child_pids(pid)
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith((b"/ty", b"/clangd")) for word in words):
            found.append(pid)
    return found


async def test_settings_switch_servers_off_or_narrow_them(project):
    async with opened(project, {"lsp": {"enabled": "off"}}) as rt:
        off = await ask(rt, "document_symbols", "lib.py")
    async with opened(project, {"lsp": {"enabled": "configured"}}) as rt:
        none = await ask(rt, "document_symbols", "lib.py")
        unknown = await ask(rt, "document_symbols", "lib.unknown")

    assert off.problem.code == "unavailable"
    assert none.problem.code == "unavailable"
    assert "configured" in none.problem.message
    assert unknown.problem.code in ("unavailable", "not_found")


@pytest.mark.feature("E55")
async def test_claude_spells_it_LSP(project):
    async with opened(project, dialect="claude") as rt:
        [declared] = rt.declare("anthropic", allowed=["LSP"])
        found = await rt.call(
            "LSP", {"operation": "goto_definition", "file_path": "main.py", "line": 3, "column": 15}
        )
        wrong = await rt.call("LSP", {"operation": "fly", "file_path": "main.py"})

    assert declared["name"] == "LSP"
    assert found.ok
    assert wrong.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("folder", "shared"),
    [
        ("/srv/user", True),
        ("/srv", True),
        ("/srv/user/.local", True),
        ("/usr", True),
        ("/srv/user/project/.venv", False),
        ("/opt/llvm", False),
    ],
)
def test_a_server_is_not_shown_a_directory_that_others_share(folder, shared):
    assert _is_shared(folder, "/srv/user") is shared


@pytest.mark.threat("A47")
class TestSecrets:
    async def test_a_server_cannot_read_files_that_hold_secrets(self, tmp_path):
        (tmp_path / "a.txt").write_text("needle\n")
        (tmp_path / ".env").write_text("hunter2")

        async with opened(tmp_path, fake("quoting")) as rt:
            hover = await ask(rt, "hover", "a.txt", 1, 1)

        assert "hunter2" not in hover.text
        assert "Error" in hover.text or hover.problem.code == "denied"

    async def test_a_secret_that_appears_later_is_hidden_from_every_question(self, tmp_path):
        (tmp_path / "a.txt").write_text("needle\n")

        async with opened(tmp_path, fake("quoting")) as rt:
            before = await ask(rt, "hover", "a.txt", 1, 1)
            (tmp_path / ".env").write_text("hunter2")
            found = await ask(rt, "workspace_symbols", query="x")

        assert "FileNotFoundError" in before.text
        assert "hunter2" not in found.text

    async def test_where_nothing_can_be_hidden_answers_in_its_words_are_withheld(
        self, tmp_path, monkeypatch
    ):
        (tmp_path / "a.txt").write_text("needle\n")
        (tmp_path / ".env").write_text("hunter2")
        monkeypatch.setattr(LocalSandbox, "hiding_gap", lambda *_: "nothing is hidden here")

        async with opened(tmp_path, fake("utf-16")) as rt:
            places = await ask(rt, "find_references", "a.txt", 1, 1)
            hover = await ask(rt, "hover", "a.txt", 1, 1)

        assert places.ok
        assert hover.problem.code == "denied"

    async def test_a_rename_writes_nothing_but_the_two_names(self, tmp_path):
        (tmp_path / "a.txt").write_text("needle needle\n")

        async with opened(tmp_path, fake("quoting"), mode="bypass") as rt:
            await ask(rt, "document_symbols", "a.txt")
            at = {"path": "a.txt", "line": 1, "column": 1}
            refused = await rt.call("lsp_rename", {**at, "new_name": "thread"})

        assert refused.problem.code == "denied"
        assert (tmp_path / "a.txt").read_text() == "needle needle\n"
