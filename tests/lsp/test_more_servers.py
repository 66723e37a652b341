"""Two more real servers: a second one for Python, and TypeScript's own."""

import shutil

import pytest

import handrail

pytestmark = [pytest.mark.torture, pytest.mark.needs_more_language_servers]

FILES = {
    "lib.py": "def greet(name: str) -> str:\n    return 'hi ' + name\n",
    "main.py": "from lib import greet\n\ny = '😀'; z = greet(1)\n",
    "lib.ts": "export function greet(name: string): string { return 'hi ' + name; }\r\n",
    "main.ts": "import { greet } from './lib';\r\nconst y = '😀'; const z: number = greet('a');\r\n",
}


def only(name, ending, *command):
    """Settings with this server alone for the files with this ending."""
    program = shutil.which(command[0])
    server = {"command": [program, *command[1:]], "extensions": [ending]}
    # What they answer is tested, not how soon: the first question waits for the whole project.
    limits = {"request_s": 30, "wait_s": 30}
    return {"lsp": {"enabled": "configured", "servers": {name: server}, **limits}}


SERVERS = {
    "basedpyright": (".py", (3, 14), (1, 5), ("basedpyright-langserver", "--stdio")),
    "typescript": (".ts", (2, 34), (1, 17), ("tsc", "--lsp", "--stdio")),
}


@pytest.mark.parametrize("name", SERVERS)
async def test_a_server_answers_every_question(tmp_path, name):
    ending, use, declaration, command = SERVERS[name]
    for path, text in FILES.items():
        (tmp_path / path).write_bytes(text.encode())
    config = only(name, ending, *command)

    async with handrail.open(tmp_path, store=":memory:", mode="sandboxed", config=config) as rt:

        async def ask(operation, path, at=None):
            place = {} if at is None else {"line": at[0], "column": at[1]}
            return await rt.call("lsp", {"operation": operation, "path": path, **place})

        definition = await ask("goto_definition", f"main{ending}", use)
        references = await ask("find_references", f"lib{ending}", declaration)
        hover = await ask("hover", f"main{ending}", use)
        diagnostics = await ask("diagnostics", f"main{ending}")

    [found] = definition.unwrap().data["items"]
    assert (found["path"], found["line"], found["column"]) == (f"lib{ending}", *declaration)
    used = {(one["path"], one["line"], one["column"]) for one in references.data["items"]}
    assert {(f"lib{ending}", *declaration), (f"main{ending}", *use)} <= used
    assert "greet" in hover.unwrap().text
    errors = [one for one in diagnostics.data["items"] if one["severity"] == "error"]
    assert [one["line"] for one in errors] == [use[0]]


@pytest.mark.parametrize("name", SERVERS)
async def test_diagnostics_are_never_older_than_the_text(tmp_path, name):
    ending, _, _, command = SERVERS[name]
    good = {".py": "x: int = 1\n", ".ts": "export const x: number = 1;\n"}[ending]
    bad = good.replace("1", "'a'")
    config = only(name, ending, *command)

    known = 0
    async with handrail.open(tmp_path, store=":memory:", mode="sandboxed", config=config) as rt:
        for number in range(100):
            empty = "\n" * (number % 5)
            (tmp_path / f"a{ending}").write_text(empty + (bad if number % 2 else good))
            question = {"operation": "diagnostics", "path": f"a{ending}"}
            found = (await rt.call("lsp", question)).unwrap().data
            lines = [one["line"] for one in found["items"] if one["severity"] == "error"]
            if found["known"]:
                known += 1
                assert lines == ([len(empty) + 1] if number % 2 else []), number
    assert known > 90
