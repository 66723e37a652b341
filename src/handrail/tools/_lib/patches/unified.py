"""Unified diffs, with or without git's headers, as tools and models write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from handrail.tools._lib.patches.model import (
    Action,
    FileNames,
    FilePatch,
    PatchHunk,
    git_names,
    is_null_name,
    malformed_problem,
    numbered_hunks,
    parse_file_name,
    shared_name,
)
from handrail.tools._lib.patches.text import (
    HunkLocation,
    names_one_file,
    parse_location,
    read_body,
    starts_file,
)

_EXTENDED: Final = re.compile(
    r"(?P<key>old mode|new mode|new file mode|deleted file mode"
    r"|rename from|rename to|copy from|copy to) (?P<value>.*)"
)
_OPENING: Final = ("old mode", "new file mode", "deleted file mode", "rename from", "copy from")
# Pairs of lines that begin a part of a patch; one of them alone may be a line of a file.
_PAIRS: Final = (
    ("Index: ", "====="),
    ("diff ", "--- "),
    ("rename from ", "rename to "),
    ("copy from ", "copy to "),
    ("old mode 1", "new mode 1"),
    ("new file mode 1", "--- "),
    ("deleted file mode 1", "--- "),
)
_BINARY: Final = re.compile(r"GIT binary patch$|Binary files .* differ$")
_EXECUTABLE: Final = {"100755": True, "100644": False, "100664": False}


def parse_unified(lines: Sequence[str]) -> list[FilePatch]:
    """Return the files of a diff; hunks before any header belong to a file without name."""
    reader = _DiffReader(lines)
    while reader.at < len(lines):
        reader.step()
    return [section.finished() for section in reader.sections]


@dataclass(slots=True)
class _DiffSection:
    """What has been parsed about one file."""

    git: FileNames | None = None
    old: str = ""
    new: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    hunks: list[PatchHunk] = field(default_factory=list)

    def finished(self) -> FilePatch:
        moved = self._moved()
        if moved is not None:
            return self._patch(*moved, prefixed=False)
        old, new = self.old, self.new
        if not old and not new and self.git is not None:
            old, new = self.git
        shared = shared_name(self.git) if self.git is not None else None
        if is_null_name(old) and is_null_name(new):
            raise malformed_problem("both names of a file in the patch are /dev/null")
        if is_null_name(old) or ("new file mode" in self.notes and not is_null_name(new)):
            if self.hunks and not any(line.sign == "+" for one in self.hunks for line in one.lines):
                raise malformed_problem(
                    f"the patch creates {new!r} and has no `+` before its lines"
                )
            return self._patch(Action.CREATE, "", shared or new or old, prefixed=not shared)
        if is_null_name(new) or "deleted file mode" in self.notes:
            return self._patch(Action.DELETE, shared or old, "", prefixed=not shared)
        return self._patch(Action.UPDATE, old or new, new or old, prefixed=True)

    def _moved(self) -> tuple[Action, str, str] | None:
        for word, action in (("rename", Action.RENAME), ("copy", Action.COPY)):
            old, new = self.notes.get(f"{word} from"), self.notes.get(f"{word} to")
            if old is None and new is None:
                continue
            if old is None or new is None:
                raise malformed_problem(f"the patch has only one of `{word} from` and `{word} to`")
            self._check(old, self.old)
            self._check(new, self.new)
            return action, parse_file_name(old), parse_file_name(new)
        return None

    def _check(self, moved: str, header: str) -> None:
        name = parse_file_name(moved)
        if header and name not in (header, header.partition("/")[2]):
            raise malformed_problem(
                f"the patch renames {name!r}, but the line beneath says {header!r}",
                "give the same names in `rename from`, `---`, `rename to` and `+++`",
            )

    def _patch(self, action: Action, old: str, new: str, *, prefixed: bool) -> FilePatch:
        return FilePatch(
            action,
            old,
            new,
            numbered_hunks(self.hunks),
            prefixed=prefixed,
            executable=self._mode(new),
        )

    def _mode(self, name: str) -> bool | None:
        for key in ("new mode", "new file mode", "deleted file mode", "old mode"):
            mode = self.notes.get(key)
            if mode is not None and mode not in _EXECUTABLE:
                what = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode)
                raise malformed_problem(
                    f"{name or self.old!r} would be {what or f'of mode {mode}'}; "
                    "only regular files can be patched"
                )
        mode = self.notes.get("new mode") or self.notes.get("new file mode")
        return None if mode is None else _EXECUTABLE[mode]


class _DiffReader:
    """Reads the lines in order and adds them to the current section."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        self.sections: list[_DiffSection] = []

    def step(self) -> None:
        """Parse one header line or one hunk."""
        line = self.lines[self.at]
        if line.startswith("diff --git "):
            self._open(_DiffSection(git_names(line[11:])))
        elif (extended := _EXTENDED.fullmatch(line)) and self._in_headers(extended["key"]):
            self.sections[-1].notes[extended["key"]] = extended["value"].strip()
        elif self._names():
            return
        elif line.startswith("@@"):
            self.at += 1
            self._hunk(parse_location(line))
            return
        elif _BINARY.match(line):
            raise malformed_problem("the patch has binary content, which cannot be applied")
        elif self._starts_bare(line):
            self._hunk(HunkLocation())
            return
        self.at += 1

    def _open(self, section: _DiffSection) -> None:
        self.sections.append(section)

    def _in_headers(self, key: str) -> bool:
        fresh = self.sections and not self.sections[-1].hunks and not self.sections[-1].new
        if fresh and key not in self.sections[-1].notes:
            return True
        if key in _OPENING:
            self._open(_DiffSection())
            return True
        return False

    def _names(self) -> bool:
        lines, at = self.lines, self.at
        follows = at + 1 < len(lines) and lines[at + 1].startswith("@@")
        if starts_file(lines, at):
            old, new, width = lines[at][4:], lines[at + 1][4:], 2
        elif lines[at].startswith(("--- ", "+++ ")) and follows:
            old, new, width = lines[at][4:], lines[at][4:], 1
        else:
            return False
        last = self.sections[-1] if self.sections else None
        if last is None or last.hunks or last.new:
            last = _DiffSection()
            self._open(last)
        last.old, last.new = parse_file_name(old), parse_file_name(new)
        self.at += width
        return True

    def _starts_bare(self, line: str) -> bool:
        """Return whether a hunk begins here without an `@@` line."""
        if not self.sections:
            return self.at == 0 and _only_hunk_lines(self.lines)
        last = self.sections[-1]
        return bool(last.new) and not last.hunks and line[:1] in ("+", "-", " ")

    def _hunk(self, place: HunkLocation) -> None:
        body = read_body(self.lines, self.at, place, _begins)
        if not self.sections:
            self._open(_DiffSection())
        if body.lines:
            self.sections[-1].hunks.append(body.hunk(place))
        self.at = body.end


def _begins(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    if (
        line.startswith(("diff --git ", "@@"))
        or line.rstrip() == "*** End Patch"
        or _BINARY.match(line)
    ):
        return True
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if any(line.startswith(first) and below.startswith(then) for first, then in _PAIRS):
        return True
    if names_one_file(lines, at):
        return True
    # Otherwise it is a deleted line `-- x` above an added line `++ y`.
    return starts_file(lines, at) and (at + 2 >= len(lines) or lines[at + 2].startswith("@@"))


def _only_hunk_lines(lines: Sequence[str]) -> bool:
    signs = {line[:1] for line in lines}
    return signs <= {"+", "-", " ", "\\", ""} and not signs.isdisjoint("+-")
