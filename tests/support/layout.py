"""Builds the workspace that the path corpus speaks about, and reads the corpus."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[1] / "data" / "corpus"


@dataclass(frozen=True)
class Layout:
    """A built layout: `base` holds the workspace `work` and what lies outside of it."""

    base: Path
    work: Path

    def path_of(self, row: dict[str, Any]) -> str:
        """The path of a corpus row with its placeholders filled in."""
        return row["path"].replace("{B}", str(self.base)).replace("{W}", str(self.work))

    def outside(self) -> dict[str, str]:
        """Everything outside the workspace by a hash of it; equal before and after: no escape."""
        found = {}
        for path in sorted(self.base.rglob("*")):
            if not path.is_relative_to(self.work):
                found[str(path)] = _state(path)
        return found


def build_layout(base: Path) -> Layout:
    """Make all entries of layout.json under an existing empty directory."""
    base = Path(os.path.realpath(base))
    layout = Layout(base, base / "work")
    for entry in json.loads((CORPUS / "layout.json").read_text("utf-8"))["entries"]:
        path = base / entry["p"]
        path.parent.mkdir(parents=True, exist_ok=True)
        target = entry.get("to", "").replace("{B}", str(base)).replace("{W}", str(layout.work))
        _make(path, entry, target)
    return layout


def corpus(name: str, *channels: str) -> list[dict[str, Any]]:
    """The rows of a corpus file, only those of the given channels if any."""
    lines = (CORPUS / name).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if not channels or row["channel"] in channels]


def _make(path: Path, entry: dict[str, Any], target: str) -> None:
    match entry["t"]:
        case "dir":
            path.mkdir(exist_ok=True)
        case "file":
            path.write_bytes(entry["c"].encode("utf-8"))
        case "link":
            path.symlink_to(target)
        case "hardlink":
            os.link(target, path)
        case "fifo":
            os.mkfifo(path)
        case "socket":
            _make_socket(path)
        case "sparse":
            with path.open("wb") as file:
                file.truncate(entry["size"])
        case other:
            raise ValueError(f"unknown entry type {other!r}")


def _make_socket(path: Path) -> None:
    # A socket's address is limited to about 100 characters; a temp directory's name is not.
    here = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


def _state(path: Path) -> str:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        content = os.readlink(path).encode()
    elif stat.S_ISREG(info.st_mode):
        content = path.read_bytes()
    else:
        content = b""
    return f"{stat.filemode(info.st_mode)} {hashlib.sha256(content).hexdigest()}"
