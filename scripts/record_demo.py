"""Write the recording of `handrail demo` in the README, from a run in this environment.

`--check` writes nothing and fails if the recording differs. Only what depends on the machine or the
moment is replaced: ids, directories, times, the sandbox, the middle of long command output.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(?<=<!-- demo: make docs -->\n```text\n).*?(?=```\n)", re.DOTALL)
SESSION = "5d2f81c09a37"
# A longer block of output is shortened to its last lines.
TAIL = 3
REPLACED = (
    (re.compile(r"\b[0-9a-f]{12}\b"), SESSION),
    (re.compile(r"in \d+\.\d+s"), "in 0.001s"),
    (re.compile(r"\d of these 4 calls"), "3 of these 4 calls"),
    (re.compile(r"used      [\d,]+ tokens \(\d+%"), "used      22,742 tokens (3%"),
)


def main() -> int:
    """Write or check the recording."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if it is out of date")
    options = parser.parse_args()
    page = README.read_text(encoding="utf-8")
    recording = record_demo()
    current = BLOCK.sub(lambda _: recording, page, count=1)
    if options.check:
        if current != page:
            print("the demo in README.md is out of date: run `make docs`", file=sys.stderr)
        return 1 if current != page else 0
    README.write_text(current, encoding="utf-8")
    return 0


def record_demo() -> str:
    """Return the part of the demo between its introduction and its last hints."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            demo_command(folder),
            env=demo_environment(folder),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
    return clean_recording(done.stdout, folder)


def demo_command(folder: str) -> list[str]:
    """The demo in a directory of its own."""
    return [str(Path(sys.executable).with_name("handrail")), "demo", "--dir", f"{folder}/p"]


def demo_environment(folder: str) -> dict[str, str]:
    """A terminal of 80 columns, and a state of its own."""
    own = {"COLUMNS": "80", "XDG_STATE_HOME": f"{folder}/state", "PYTHONIOENCODING": "utf-8"}
    return {**os.environ, **own}


def clean_recording(printed: str, folder: str) -> str:
    """Return what the demo printed, without what depends on the machine or the moment."""
    begin, end = printed.index("> The test"), printed.index("\n$ handrail verify")
    lines = [line.replace(f"{folder}/p/", "") for line in printed[begin:end].splitlines()]
    lines = wrap_questions(drop_sandbox_questions(lines))
    text = "\n".join(shorten_output(lines)) + "\n"
    for pattern, replacement in REPLACED:
        text = pattern.sub(replacement, text)
    return text


def drop_sandbox_questions(lines: list[str]) -> list[str]:
    """Remove questions about commands, which only a machine without a sandbox asks."""
    kept: list[str] = []
    dropping = False
    for line in lines:
        if line.startswith("  ? asked: "):
            dropping = line.startswith("  ? asked: run_command")
        if not (dropping and line.startswith("  ? ")):
            kept.append(line)
    return kept


def wrap_questions(lines: list[str]) -> list[str]:
    """Wrap questions again, because their directory was replaced."""
    kept: list[str] = []
    for line in lines:
        if line.startswith("  ? ") and not line.startswith(("  ? asked: ", "  ? answered ")):
            joined = f"{kept.pop()} {line[4:]}"
            kept += textwrap.wrap(joined, 80, subsequent_indent="  ? ")
        else:
            kept.append(line)
    return kept


def shorten_output(lines: list[str]) -> list[str]:
    """Shorten each block of command output to its end."""
    kept: list[str] = []
    block: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("  ┆"):
            if line.strip() != "┆":
                block.append(line)
            continue
        kept += block if len(block) <= TAIL else ["  ┆ …", *block[-TAIL + 1 :]]
        block = []
        kept.append(line)
    return kept[:-1]


if __name__ == "__main__":
    sys.exit(main())
