import dataclasses
import re

import pytest
from tests.support.counting import count_calls

from handrail.core.lazy import Lazy
from handrail.core.ports.language_servers import CodeDiagnostic, CodeLocation, CodeSpan
from handrail.core.ports.processes import Confinement
from handrail.core.text.positions import ServerPosition
from handrail.tools.search.lsp import Lsp


async def test_a_question_without_its_arguments_is_refused(workspace):
    workspace.write("a.py", "x = 1\n")

    for given, field, named in (
        ({"line": 1}, "column", "hover needs column"),
        ({}, "line", "hover needs line and column"),
    ):
        call = {"operation": "hover", "path": "a.py", **given}
        tool, args, ctx = workspace.prepare("lsp", call)
        with pytest.raises(Exception) as raised:
            await tool.preflight(args, ctx)

        problem = raised.value.problem
        assert (problem.code, problem.field) == ("invalid_arguments", field)
        assert problem.message == named


async def test_where_no_program_can_be_started_there_is_no_server(workspace):
    workspace.write("a.py", "x = 1\n")

    tool, _, ctx = workspace.prepare("lsp", {"operation": "diagnostics", "path": "a.py"})

    assert not tool.enabled(ctx.session)
    problem = await workspace.problem("lsp", operation="diagnostics", path="a.py")
    assert problem.code == "unavailable"


class ManyPlaces:
    """A server that names every `name` of one text, in units of UTF-16."""

    name, encoding = "fake", "utf-16"

    def __init__(self, path, text):
        self.places = [
            CodeLocation(path, CodeSpan(ServerPosition(row, at), ServerPosition(row, at + 4)))
            for row, line in enumerate(text.split("\n"))
            for at in (
                len(line[: found.start()].encode("utf-16-le")) // 2
                for found in re.finditer("name", line)
            )
        ]

    async def open(self, path, confinement):
        return self

    def find_running(self, path):
        return self

    async def references(self, document, at):
        return self.places

    async def diagnostics(self, document):
        return [CodeDiagnostic(one.span, "error", "wrong") for one in self.places]


async def ask_many(workspace, operation, text, limit):
    """The output for every place of a text, and how many functions were called for it."""
    path = workspace.write("a.py", text)
    servers = Lazy(lambda: ManyPlaces(str(path), text))
    _, args, ctx = workspace.prepare(
        "lsp", {"operation": operation, "path": "a.py", "line": 1, "column": 1, "limit": limit}
    )
    tool = Lsp(workspace.files, servers, lambda path: False)
    with count_calls() as count:
        output = await tool.run(args, dataclasses.replace(ctx, confinement=Confinement(())))
    return output, count.calls


@pytest.mark.parametrize("operation", ["find_references", "diagnostics"])
@pytest.mark.parametrize("joined", ["\n", " 😀 "], ids=["lines", "one line"])
async def test_the_work_grows_with_the_places_of_a_file(workspace, operation, joined):
    few, steps_few = await ask_many(workspace, operation, joined.join(["name = 1"] * 400), 1000)
    many, steps_many = await ask_many(workspace, operation, joined.join(["name = 1"] * 800), 1000)

    assert [len(one.data["items"]) for one in (few, many)] == [400, 800]
    last = many.data["items"][-1]
    expected = (800, 1) if joined == "\n" else (1, 799 * len("name = 1 😀 ") + 1)
    assert (last["line"], last["column"]) == expected
    assert steps_many < 2.5 * steps_few


def test_a_diagnostic_of_several_lines_is_one_line():
    start = ServerPosition(0, 0)
    message = "Expected `int`\n\n  info: found\r\n`str`\x1b[31m"

    found = CodeDiagnostic(CodeSpan(start, start), "error", message)

    assert found.message_line == "Expected `int` info: found `str`\\x1b[31m"
    assert found.message == message


async def test_places_beyond_the_limit_cost_nothing(workspace):
    text = "\n".join(["name = 1"] * 3_000)
    every, steps_every = await ask_many(workspace, "find_references", text, 1000)
    first, steps_first = await ask_many(workspace, "find_references", text, 10)

    assert len(every.data["items"]) == 1000
    assert [one["line"] for one in first.data["items"]] == list(range(1, 11))
    assert first.text.endswith("limit is 10]")
    # Beside the table of the 3,000 lines.
    assert steps_first < steps_every - 10 * (1000 - 10)
