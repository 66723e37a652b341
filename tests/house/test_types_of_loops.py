"""The loops in the pages pass mypy --strict with the real SDKs."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = """
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

import handrail

def show(event: Any) -> None: ...
"""


def loops():
    """The loops with a provider's client, each with the class of that client."""
    for name in ("README.md", "docs/streaming.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
            if "await client." in block:
                yield "AsyncAnthropic" if "client.messages" in block else "AsyncOpenAI", block


@pytest.mark.finding("F41")
@pytest.mark.timeout(600)
def test_the_loops_pass_strict_type_checks(tmp_path):
    found = list(loops())
    parts = [HEADER]
    for number, (client, block) in enumerate(found):
        head = (
            f"async def loop_{number}(client: {client}, rt: handrail.Runtime, model: str) -> None:"
        )
        parts.append(f"{head}\n{textwrap.indent(block, '    ')}")
    page = tmp_path / "loops.py"
    page.write_text("\n".join(parts), encoding="utf-8")

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            "--cache-dir",
            ROOT / ".mypy_cache" / "loops",
            page,
        ],
        cwd=ROOT / "src",
        capture_output=True,
        text=True,
        check=False,
        timeout=550,
    )

    assert len(found) == 3
    assert done.returncode == 0, done.stdout + done.stderr
