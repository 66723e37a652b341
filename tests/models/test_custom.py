"""A model of one's own is ten lines."""

import subprocess
import sys

import handrail
from handrail.core.ports.models import ResultBlock
from handrail.models.custom import CustomModel, CustomReply


class Reader(CustomModel):
    async def reply(self, request):
        last = request.messages[-1].blocks[-1]
        if isinstance(last, ResultBlock):
            return CustomReply(f"It says {last.blocks[0].text.strip()}.")
        return CustomReply("I look.", (("read_file", {"path": "a.txt"}),))


async def test_an_agent_works_with_a_model_of_ones_own(tmp_path):
    (tmp_path / "a.txt").write_text("hello\n")
    async with handrail.open(tmp_path, store=":memory:", config={}, model=Reader()) as rt:
        result = await rt.agent().run("What does a.txt say?")

    assert result.status == "done"
    assert "hello" in result.text


def test_a_read_loads_no_model_and_no_network_library(tmp_path):
    code = """
import asyncio, sys, handrail
async def main():
    async with handrail.open(".", store=":memory:", config={}) as rt:
        await rt.call("list_directory", {"path": "."})
asyncio.run(main())
print([name for name in sys.modules if name.startswith(("handrail.models", "httpx2"))])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.strip() == "[]"
