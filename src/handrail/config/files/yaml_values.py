"""Parses a subset of YAML from parser events, without recursion, and keeps line numbers.

Anchors, aliases, tags and multiple documents are rejected; `on`, `off`, `yes` and `no` are text.
The C loader is never used: deep nesting can crash it.
"""

from __future__ import annotations

import re
import time
from typing import Any, Final

Key = tuple[str | int, ...]

MAX_CHARS: Final = 64_000
_MAX_DEPTH: Final = 32
_MAX_S: Final = 2.0
_WORDS: Final = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INT: Final = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?"
)


class UnsupportedYaml(Exception):
    """Raised for invalid YAML and for unsupported features; `line` counts from 1."""

    def __init__(self, line: int | None, why: str) -> None:
        super().__init__(why)
        self.line = line
        self.why = why


def parse(text: str) -> tuple[Any, dict[Key, int]]:
    """Parse a document; return its value and the line of every key and list item.

    Raises `UnsupportedYaml`.
    """
    import yaml

    if len(text) > MAX_CHARS:
        raise UnsupportedYaml(None, f"a YAML file may have at most {MAX_CHARS:,} characters")
    until = time.monotonic() + _MAX_S
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if time.monotonic() > until:
                raise UnsupportedYaml(None, "it takes too long to read")
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise UnsupportedYaml(line, error.problem or "it is not YAML") from error
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        why = "a character that YAML does not allow"
        raise UnsupportedYaml(text.count("\n", 0, position) + 1, why) from error
    except (ValueError, OverflowError) as error:
        # An escape of a character that does not exist in Unicode, or a version with too many digits.
        raise UnsupportedYaml(None, str(error)) from error
    return builder.value, builder.lines


class _Builder:
    """Builds the value from parser events, with an explicit stack."""

    def __init__(self) -> None:
        self.value: Any = None
        self.lines: dict[Key, int] = {}
        self._open: list[tuple[Any, Key]] = []
        self._key: list[str | None] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise UnsupportedYaml(line, "a second document begins here; there may be only one")
        elif kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise UnsupportedYaml(
                line, "anchors and aliases are not used here; write the value out"
            )
        elif getattr(event, "tag", None) is not None:
            raise UnsupportedYaml(line, "tags are not used here")
        elif kind == "ScalarEvent":
            self._scalar(event, line)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin({} if kind == "MappingStartEvent" else [], line)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._open.pop()
            self._key.pop()

    def _scalar(self, event: Any, line: int) -> None:
        if self._open and isinstance(self._open[-1][0], dict) and self._key[-1] is None:
            self._name(event.value, line)
            return
        self._place(_resolved(event.value) if event.style is None else event.value, line)

    def _name(self, name: str, line: int) -> None:
        table, above = self._open[-1]
        if name in table:
            raise UnsupportedYaml(line, f"{name!r} is set twice")
        self._key[-1] = name
        # The line of the key: a table or list may begin below it.
        self.lines[*above, name] = line

    def _begin(self, container: Any, line: int) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise UnsupportedYaml(line, f"it is nested deeper than {_MAX_DEPTH} levels")
        key = self._place(container, line)
        self._open.append((container, key))
        self._key.append(None)

    def _place(self, value: Any, line: int) -> Key:
        """Add a value to the innermost open container; returns its path."""
        if not self._open:
            self.value = value
            return ()
        container, above = self._open[-1]
        if isinstance(container, list):
            key: Key = (*above, len(container))
            container.append(value)
        else:
            name = self._key[-1]
            if name is None:
                raise UnsupportedYaml(line, "a key must be text")
            key = (*above, name)
            container[name] = value
            self._key[-1] = None
        self.lines.setdefault(key, line)
        return key


def _resolved(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
