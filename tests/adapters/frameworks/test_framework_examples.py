"""The examples of the frameworks run as they are: an edit, a refusal, an undo."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "examples"
FILES = sorted(path.name for path in FOLDER.glob("with_*.py"))


@pytest.mark.parametrize("name", FILES)
async def test_an_example_of_a_framework(name, workspace):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(FOLDER / name),
        str(workspace),
        env={**os.environ, "HANDRAIL_DEBUG": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(), 90)
    printed = out.decode()

    assert process.returncode == 0, errors.decode()
    assert "The spelling is fixed." in printed
    assert "undid edit_file" in printed and "restored notes.txt" in printed
    assert name == "with_pydantic_ai.py" or "outside the workspace" in printed
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


def test_there_is_an_example_for_each_framework():
    adapters = ("deepagents", "langchain", "openai_agents", "pydantic_ai", "smolagents")

    assert [f"with_{one}.py" for one in adapters] == FILES
