"""Every tool has what a reader and a model need, and what a model is shown stays affordable."""

import json
from pathlib import Path

import pytest

import handrail
from handrail.core.lazy import Lazy
from handrail.dialects.known import DIALECTS, find_vocabulary
from handrail.tools._lib.services import Services
from handrail.tools.builtin import builtin_tools

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {
    tool.name: tool
    for tool in builtin_tools(Services(files=None, search=None, undo=Lazy(lambda: None)))
}
MOST_TOOLS = 12
MOST_TOKENS = 4_000


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "place",
    [
        "src/handrail/tools/*/{}.py",
        "src/handrail/tools/*/{}.md",
        "docs/reference/{}.md",
        "tests/tools/test_{}.py",
    ],
)
def test_every_tool_has_code_prose_page_and_test_under_its_name(name, place):
    (path,) = ROOT.glob(place.format(name))

    assert path.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_model_sees_of_every_tool_is_pinned_in_a_snapshot(name, dialect):
    file = ROOT / "tests" / "dialects" / "snapshots" / f"{dialect}.json"
    pinned = [tool["function"]["name"] for tool in json.loads(file.read_text())["tools"]]

    shown = [view.name for view in find_vocabulary(dialect).views(name)]

    assert [each for each in shown if each not in pinned] == []


# The tokenizer's own way of loading its vocabulary.
@pytest.mark.filterwarnings("ignore:open_binary is deprecated")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_a_model_is_shown_stays_within_its_budget(dialect, tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    async with handrail.open(workspace, dialect=dialect, store=":memory:") as rt:
        shown = rt.declare("openai")

    text = json.dumps(shown, ensure_ascii=False)
    assert 0 < len(shown) <= MOST_TOOLS
    assert tokens(text) <= MOST_TOKENS


def tokens(text: str) -> int:
    import bpe_openai

    return len(bpe_openai.get_encoding("o200k_base").encode(text))
