"""Make every picture of README and docs from real runs: the demo in a terminal, the page in Chromium.

The pictures of the page are taken by tests/ui/test_browser.py while it clicks.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from PIL import Image
from record_demo import clean_recording, demo_command, demo_environment

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
MAX_BYTES = 150_000
# Few colours make small files.
COLOURS = 256
_STYLED = re.compile(r"^\x1b\[(\d+)m(.*?)\x1b\[0m$")
_SEQUENCE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
# The colours of SGR codes on a dark terminal.
_FILL = {"1": "#ffffff", "2": "#8b949e", "31": "#ff8a80", "32": "#7ee787", "33": "#f0b95a"}
_FILL["36"] = "#79c0ff"
_PLAIN = "#d6dde4"
_COLUMN, _LINE, _MARGIN = 8.0, 18, 16


def main() -> int:
    """Make all pictures; return 1 if one is too large or the page cannot be opened."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "terminal.svg").write_text(draw_demo(), encoding="utf-8")
    environment = {**os.environ, "HANDRAIL_PICTURES": str(PICTURES), "CI": "true"}
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "tests/ui/test_browser.py"]
    done = subprocess.run(
        [*command, "-k", "watched"], cwd=ROOT, env=environment, check=False, timeout=300
    )
    if done.returncode != 0:
        return 1
    large = []
    for path in sorted(PICTURES.glob("*.png")):
        with Image.open(path) as picture:
            picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
        if path.stat().st_size > MAX_BYTES:
            large.append(path.name)
    if large:
        print(f"larger than {MAX_BYTES:,} bytes: {', '.join(large)}", file=sys.stderr)
    return 1 if large else 0


def draw_demo() -> str:
    """Return the demo as an SVG, with the colours that it printed."""
    with tempfile.TemporaryDirectory() as folder:
        printed = run_in_terminal(demo_command(folder), demo_environment(folder))
        lines = printed.replace("\r\n", "\n").splitlines()
        recording = clean_recording("\n".join(_SEQUENCE.sub("", line) for line in lines), folder)
    styles = {}
    for line in lines:
        if styled := _STYLED.match(line):
            styles[_mark(styled[2])] = styled[1]
    return draw_lines([(line, styles.get(_mark(line), "")) for line in recording.splitlines()])


def _mark(line: str) -> str:
    """Return the beginning of a line, which decides its style."""
    return line[:4]


def run_in_terminal(command: list[str], environment: dict[str, str]) -> str:
    """Return what a program prints on a terminal."""
    environment = {name: value for name, value in environment.items() if name != "NO_COLOR"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command,
        env={**environment, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:
            # Linux reports the end of a terminal as an error.
            pass
        finally:
            os.close(ours)
        if process.wait(60) != 0:
            raise SystemExit(f"{command[0]} failed")
    return b"".join(parts).decode("utf-8", "replace")


def draw_lines(lines: list[tuple[str, str]]) -> str:
    """An SVG with one line of text below the other."""
    width = round(80 * _COLUMN) + 2 * _MARGIN
    height = len(lines) * _LINE + 2 * _MARGIN
    texts = [
        f'<text x="{_MARGIN}" y="{_MARGIN + (number + 1) * _LINE - 5}"'
        f' textLength="{len(line) * _COLUMN:g}" lengthAdjust="spacingAndGlyphs"'
        f' fill="{_FILL.get(style, _PLAIN)}">{escape(line, quote=False)}</text>'
        for number, (line, style) in enumerate(lines)
        if line.strip()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" font-family="ui-monospace, monospace" font-size="13">\n'
        f'<style>text {{ white-space: pre }}</style>\n<rect width="{width}" height="{height}"'
        f' rx="6" fill="#14181c"/>\n' + "\n".join(texts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
