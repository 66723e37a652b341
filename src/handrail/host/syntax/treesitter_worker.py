"""Run as a program by `treesitter`: parses two versions of a file and prints their errors.

Imports nothing of Handrail and little else, because it is started for every file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

_MOST: Final = 50


def main(folders: str, grammars: str, size: str) -> None:
    """Print the errors; the new version is the first `size` bytes of the input, the old one
    follows.
    """
    sys.path += folders.split(os.pathsep)
    content = sys.stdin.buffer.read()
    now, before = content[: int(size)], content[int(size) :]
    parsers = [_parser(*grammar.split(":")) for grammar in grammars.split(",")]
    if any(not parser.parse(now).root_node.has_error for parser in parsers):
        return
    # The grammar that accepted the old version is the right one.
    sound = (one for one in parsers if not one.parse(before).root_node.has_error)
    parser = next(sound, parsers[0])
    for which, data in (("now", now), ("old", before)):
        for fault in _faults(parser.parse(data), data):
            sys.stdout.write(f"{which}\t{fault}\n")


def _parser(module: str, function: str) -> Any:
    tree_sitter = import_module("tree_sitter")
    language = tree_sitter.Language(getattr(import_module(module), function)())
    return tree_sitter.Parser(language)


def _faults(tree: Any, data: bytes) -> Iterator[str]:
    lines = data.split(b"\n")
    for node in _broken(tree):
        row, column = node.start_point
        place = len(lines[row][:column].decode("utf-8", "replace"))
        yield f"{row + 1}\t{place + 1}\t{_message(node, data)}"


def _broken(tree: Any) -> Iterator[Any]:
    """The outermost nodes with errors, in order; without recursion, because trees are deep."""
    waiting = [tree.root_node]
    found = 0
    while waiting and found < _MOST:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            found += 1
            yield node
        elif node.has_error:
            waiting += reversed(node.children)


def _message(node: Any, data: bytes) -> str:
    if node.is_missing:
        return f"missing {node.type!r}"
    text = data[node.start_byte : node.end_byte][:60].decode("utf-8", "replace")
    return f"cannot be understood from here: {' '.join(text.split())!r}"


if __name__ == "__main__":
    main(*sys.argv[1:])
