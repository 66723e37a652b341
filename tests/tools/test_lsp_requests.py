"""Which requests to a language server are refused, how risky they are, and how they are shown."""

from types import SimpleNamespace

import pytest

from handrail.core.lazy import Lazy
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.tools.search.lsp import Lsp, LspParams


class Servers:
    """Knows Python; its server may run already."""

    def __init__(self, *, runs):
        self._running = SimpleNamespace(name="py") if runs else None

    def find_name(self, path):
        if not path.endswith(".py"):
            raise ProblemRaised("unavailable", "no server")
        return "py"

    def find_running(self, path):
        return self._running


def made(*, runs=True):
    return Lsp(SimpleNamespace(roots=("/w",)), Lazy(lambda: Servers(runs=runs)), lambda _: False)


@pytest.mark.parametrize("operation", ["goto_definition", "find_references", "hover"])
@pytest.mark.parametrize(
    ("given", "runs", "refused"),
    [
        ({"path": "a.py", "line": 1, "column": 1}, False, None),
        ({"path": "a.py", "line": 1}, True, ("invalid_arguments", "column")),
        ({"path": "a.py", "column": 1}, True, ("invalid_arguments", "line")),
        ({"path": "a.py"}, True, ("invalid_arguments", "line")),
        ({"line": 1, "column": 1}, True, ("invalid_arguments", "path")),
        ({"path": "a.txt", "line": 1, "column": 1}, True, ("unavailable", None)),
    ],
)
async def test_a_question_about_a_position(operation, given, runs, refused):
    args = LspParams(operation=operation, **given)

    assert await problem(made(runs=runs), args) == refused


@pytest.mark.parametrize(
    ("given", "runs", "refused"),
    [
        ({"operation": "diagnostics", "path": "a.py"}, False, None),
        ({"operation": "document_symbols", "path": "a.py"}, False, None),
        ({"operation": "diagnostics"}, True, ("invalid_arguments", "path")),
        ({"operation": "workspace_symbols", "query": "x"}, True, None),
        ({"operation": "workspace_symbols", "query": ""}, True, None),
        # Without a file, only a server that runs can answer.
        ({"operation": "workspace_symbols", "query": "x"}, False, ("invalid_arguments", "path")),
        ({"operation": "workspace_symbols", "query": "x", "path": "a.py"}, False, None),
        ({"operation": "workspace_symbols", "path": "a.py"}, True, ("invalid_arguments", "query")),
    ],
)
async def test_other_questions(given, runs, refused):
    assert await problem(made(runs=runs), LspParams(**given)) == refused


async def problem(tool, args):
    try:
        await tool.preflight(args, SimpleNamespace())
    except ProblemRaised as raised:
        return raised.problem.code, raised.problem.field
    return None


@pytest.mark.parametrize(
    ("path", "runs", "risk"),
    [
        ("a.py", True, Risk.SAFE),
        ("a.py", False, Risk.MODERATE),
        ("a.txt", False, Risk.SAFE),
        (None, True, Risk.SAFE),
        (None, False, Risk.SAFE),
    ],
)
def test_only_the_start_of_a_server_is_a_risk(path, runs, risk):
    assert made(runs=runs).risk(LspParams(operation="diagnostics", path=path)) is risk


@pytest.mark.parametrize(
    ("given", "runs", "text"),
    [
        ({"path": "a.py", "line": 3, "column": 4}, False, "hover a.py:3:4 (language server py)"),
        ({"path": "a.py", "line": 3}, False, "hover a.py:3:1 (language server py)"),
        ({"path": "a.txt"}, True, "hover a.txt"),
        ({}, True, "hover (language server py)"),
        ({}, False, "hover"),
    ],
)
def test_a_call_is_shown_with_its_place_and_server(given, runs, text):
    assert made(runs=runs).render_call(LspParams(operation="hover", **given)) == text


def test_without_servers_the_tool_is_off_and_says_so():
    tool = Lsp(SimpleNamespace(roots=("/w",)), None, lambda _: False)

    assert not tool.enabled(SimpleNamespace())
    assert made().enabled(SimpleNamespace())
    assert tool.render_call(LspParams(operation="hover", path="a.py")) == "hover a.py"
