"""Every example runs as it is, against a script or a provider on loopback. Those of other frameworks
run in `tests/adapters/frameworks`.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from handrail.testing import FakeProvider, calls, says

FOLDER = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(path.name for path in FOLDER.glob("*.py"))
READ = {"calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]}
EDIT = {
    "calls": [
        {
            "name": "edit_file",
            "arguments": {"path": "notes.txt", "old_string": "teh", "new_string": "the"},
        }
    ]
}
FIXED = {"text": "The spelling is fixed."}
SCRIPTS = {
    "agent_in_ten_lines.py": [READ, EDIT, FIXED],
    "agent_events.py": [READ, EDIT, FIXED],
    "typed_answer.py": [READ, {"text": '{"summary": "One slip.", "problems": ["teh"]}'}],
    "custom_tool.py": [
        {"calls": [{"name": "word_count", "arguments": {"path": "notes.txt"}}]},
        {"expect": "^3"},
        {"text": "It has 3 words."},
    ],
    "approval_callback.py": [READ, EDIT, FIXED],
    "many_conversations.py": [{"text": "Hello."}, {"text": "Hello."}, {"text": "Hello."}],
    "sync_agent.py": [READ, EDIT, FIXED],
}
EXPECTED = {
    "agent_in_ten_lines.py": "done: The spelling is fixed.\nchanged: notes.txt\n",
    "typed_answer.py": "One slip.\n- teh\n",
    "custom_tool.py": "It has 3 words.\n",
    "approval_callback.py": "The spelling is fixed.\nchanged: notes.txt\n",
    "custom_model.py": "I have read ",
    "agent_events.py": "done after 3 turns",
    "many_conversations.py": "barbara: Hello.",
    "sync_agent.py": "done: The spelling is fixed.\nreverted: notes.txt",
}


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("notes.txt").write_text("teh two words\n")
    return root


async def run_example(name, workspace, **variables):
    environment = {**os.environ, **variables, "HANDRAIL_DEBUG": "1"}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(FOLDER / name),
        str(workspace),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, errors.decode()
    return out.decode()


def test_every_example_has_its_line_and_its_test():
    listed = FOLDER.joinpath("README.md").read_text(encoding="utf-8")

    assert [name for name in FILES if f"({name})" not in listed] == []
    elsewhere = ("loop_", "with_")
    assert [one for one in FILES if one not in EXPECTED and not one.startswith(elsewhere)] == []


@pytest.mark.parametrize("name", sorted(EXPECTED))
async def test_an_example_with_a_script(name, workspace, tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in SCRIPTS.get(name, ())))

    printed = await run_example(name, workspace, HANDRAIL_MODEL=f"script:{script}")

    assert EXPECTED[name] in printed


@pytest.mark.finding("F41")
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("loop_")])
async def test_a_loop_with_an_sdk(name, workspace):
    replies = [
        calls("read_file", path="notes.txt"),
        calls("edit_file", path="notes.txt", old_string="teh", new_string="the"),
        says("The spelling is fixed."),
    ]
    async with FakeProvider(replies) as provider:
        printed = await run_example(
            name,
            workspace,
            OPENAI_BASE_URL=provider.base_url("openai-chat"),
            OPENAI_API_KEY="sk-test",
            OPENAI_MODEL="scripted",
            ANTHROPIC_BASE_URL=provider.base_url("anthropic"),
            ANTHROPIC_API_KEY="sk-test",
            ANTHROPIC_MODEL="scripted",
            GEMINI_BASE_URL=provider.base_url("gemini"),
            GEMINI_API_KEY="test",
            GEMINI_MODEL="scripted",
        )

    assert printed == "The spelling is fixed.\n"
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"
