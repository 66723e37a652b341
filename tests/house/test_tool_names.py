"""Policy and the base of the dialects know no tool by its name: tools declare what they need."""

import ast
from pathlib import Path

import pytest

from handrail.core.lazy import Lazy
from handrail.tools._lib.services import Services
from handrail.tools.builtin import BUILTIN_NAMES, builtin_tools, iter_builtin_traits

SOURCE = Path(__file__).resolve().parents[2] / "src" / "handrail"
FILES = [*sorted((SOURCE / "policy").rglob("*.py")), SOURCE / "dialects" / "base.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_literal_is_the_name_of_a_tool(path):
    names = set(BUILTIN_NAMES)
    literals = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    assert literals & names == set()


def test_the_declared_traits_are_those_of_every_built_in_tool():
    tools = builtin_tools(Services(files=None, search=None, undo=Lazy(lambda: None)))

    assert dict(iter_builtin_traits()) == {tool.name: tool.traits for tool in tools}
