"""The state of a simulated shell: variables, arguments, functions, directory, files it has written."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.parse.syntax import Redirect, Statement, Word

_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
_OUTPUTS: Final = (">", ">>", ">|", "&>", "&>>")

# In a text: what another machine has sent.
DOWNLOADED: Final = "\ue006"
_INSTALLS: Final = re.compile(
    r"(?i)install|setup|bootstrap|payload|run\.sh|init\.sh|\.(?:sh|bash)$"
)
_SYMBOLIC: Final = re.compile(r"-[a-zA-Z]*s[a-zA-Z]*|--symbolic")
_MOST_PARTS: Final = 40
_MAX_VARIABLES: Final = 500
_MAX_TEXT: Final = 20_000
# What stands before the name of a file in a word.
_NAME_PARTS: Final = re.compile(r"[\s=@;,]+|file://|^-[a-zA-Z]")
_LONGEST_NAME: Final = 400
_MOST_WORDS: Final = 60


class InputText:
    """Text on standard input that several programs read one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_line(self, end: str = "\n") -> str | None:
        """The next line without its end; None at the end of the text."""
        if not self._text:
            return None
        line, _, self._text = self._text.partition(end)
        return line

    def peek(self) -> str:
        """The rest of the text; it stays, since most programs leave their input alone."""
        return self._text


@dataclass()
class ShellState:
    """What a shell knows at one point of a command."""

    cwd: str
    home: str
    # An array has its elements by key, in order.
    variables: dict[str, str | dict[str, str]] = field(default_factory=dict)
    # `declare -n name=target`: the name stands for another variable.
    references: dict[str, str] = field(default_factory=dict)
    name: str = "bash"
    arguments: list[str] = field(default_factory=list)
    functions: dict[str, Statement] = field(default_factory=dict)
    # The contents of files that the command has written; shared by all its shells.
    files: dict[str, str] = field(default_factory=dict)
    # Directories that came from another machine.
    trees: set[str] = field(default_factory=set)
    # Where links lead, and where what was moved has been; the same for all shells.
    links: dict[str, str] = field(default_factory=dict)
    # Settings of git that the command has made.
    settings: dict[str, str] = field(default_factory=dict)
    roots: tuple[str, ...] = ()

    def fork(self) -> ShellState:
        """The state of a subshell: its changes do not come back, except those of files."""
        return replace(
            self,
            variables=dict(self.variables),
            arguments=list(self.arguments),
            functions=dict(self.functions),
            references=dict(self.references),
        )

    def values(self, name: str, key: str | None = None) -> list[str] | None:
        """The values of a variable, of one element or (`@`, `*`) of all; None if it is not set."""
        name = self.references.get(name, name)
        if name in ("@", "*"):
            return list(self.arguments)
        if name.isdigit():
            return [self.name, *self.arguments][int(name[:4]) :][:1] or None
        maintained = {"#": str(len(self.arguments)), "PWD": self.cwd, "HOME": self.home}
        value = self.variables.get(name, maintained.get(name))
        if value is None or isinstance(value, str):
            return None if value is None or key not in (None, "0", "@", "*") else [value]
        if key in ("@", "*"):
            return list(value.values())
        # A computed key may mean any element: the last one is as good as another.
        return [value[key or "0"]] if (key or "0") in value else list(value.values())[-1:] or None

    def assign(self, name: str, value: str, *, appends: bool = False) -> None:
        """Set a variable."""
        name = self.references.get(name, name)
        if len(self.variables) < _MAX_VARIABLES:
            before = self.variables.get(name)
            if appends and isinstance(before, str):
                value = before + value
            self.variables[name] = value[:_MAX_TEXT]

    def assign_elements(
        self, name: str, elements: Sequence[tuple[str | None, str]], *, appends: bool = False
    ) -> None:
        """Set an array; an element without a key follows the ones before it."""
        before = self.variables.get(name) if appends else None
        array = {"0": before} if isinstance(before, str) else dict(before or {})
        for key, value in elements:
            array[str(len(array)) if key is None else key] = value
        if len(self.variables) < _MAX_VARIABLES:
            self.variables[name] = array

    def absolute(self, path: str) -> str:
        """A path without `.` and `..`, from the current directory."""
        return posixpath.normpath(posixpath.join(self.cwd, plain_text(path)))

    def enter(self, path: str) -> None:
        """Change the directory."""
        self.cwd = UNKNOWN if UNKNOWN in path else self.absolute(path)

    @property
    def root(self) -> str:
        """The workspace that contains the current directory."""
        around = [one for one in self.roots if f"{self.cwd}/".startswith(f"{one}/")]
        return max(around, key=len, default=self.cwd)

    def record_link(self, fields: Sequence[str]) -> None:
        """Record where `ln -s` leads, or from where `mv` takes its last operand."""
        name = posixpath.basename(fields[0])
        operands = [one for one in fields[1:] if not one.startswith("-")]
        binds = name == "mount" and any("bind" in one for one in fields[1:])
        symbolic = name in ("ln", "gln") and any(map(_SYMBOLIC.fullmatch, fields[1:]))
        if len(operands) != 2 or not (symbolic or binds or name in ("mv", "gmv")):
            return
        link, target = self.absolute(operands[1]), self.absolute(operands[0])
        if len(self.links) < _MAX_VARIABLES and link != target:
            # A link itself may be deleted; what lies behind it is the target's.
            self.links[link if name in ("mv", "gmv") else f"{link}/"] = target

    def linked_fields(self, fields: Sequence[str]) -> list[str] | None:
        """The fields with the paths that links of the command lead to; None if there are none."""
        if not self.links:
            return None
        found = [self._behind_links(one) for one in fields]
        return None if found == list(fields) else found

    def _behind_links(self, field: str) -> str:
        if field.startswith("-") or not field:
            return field
        path = self.absolute(field) + ("/" if field.endswith("/") else "")
        # The longest beginning that is a link, or a file that was moved.
        ends = [at for at, char in enumerate(path) if char == "/" and at][:_MOST_PARTS]
        for end in (len(path), *reversed(ends)):
            for beginning in (path[:end], path[: end + 1]):
                if beginning in self.links:
                    rest = path[end:].lstrip("/")
                    return f"{self.links[beginning]}/{rest}" if rest else self.links[beginning]
        return field

    def content(self, path: str) -> str | None:
        """The content of a file that the command has written."""
        return self.files.get(self.absolute(path))

    def named_contents(self, words: Sequence[Word], further: Sequence[str] = ()) -> list[str]:
        """The contents of the files of the command that words name: `-f x`, `--file=x`, `@x`, `source x`.

        `further` are names of files that are read without being told.
        """
        if not self.files:
            return []
        told = (plain_text(word.value or "")[:_LONGEST_NAME] for word in words[:_MOST_WORDS])
        paths = dict.fromkeys(path for one in told for path in (one, *_NAME_PARTS.split(one)))
        paths |= dict.fromkeys(further)
        found = (self.content(path) for path in paths if path)
        return [text for text in found if text and UNKNOWN not in text and DOWNLOADED not in text]

    def in_downloaded_tree(self, path: str) -> bool:
        """Whether a file that installs something lies in a directory from another machine."""
        place = self.absolute(path)
        if _INSTALLS.search(posixpath.basename(place)) is None:
            return False
        return any(place.startswith(f"{tree}/") for tree in self.trees)

    def write(self, path: str, text: str, *, appends: bool = False) -> None:
        """Record the content of a file that the command writes."""
        target = self.absolute(path)
        before = self.files.get(target, "") if appends else ""
        if len(self.files) < _MAX_VARIABLES:
            self.files[target] = (before + text)[:_MAX_TEXT]


def standard_input(redirects: Sequence[Redirect], state: ShellState) -> InputText | None:
    """The text that expanded redirects put on standard input; None if they put none there."""
    found = None
    for one in redirects:
        text = "" if one.body is None else one.body.value or one.body.source
        if one.fd not in ("", "0"):
            if one.operator.startswith("<<"):
                state.files[f"&{one.fd}"] = state.files[f"/dev/fd/{one.fd}"] = text
            continue
        if one.operator in ("<<", "<<-", "<<<"):
            end = "\n" if one.operator == "<<<" else ""
            found = InputText(text + end)
            state.files["/dev/stdin"] = text
        elif one.operator in ("<", "<>"):
            path = one.target.value or ""
            sent = DOWNLOADED if path.startswith(_SOCKETS) else UNKNOWN
            sent = "" if path == "/dev/null" else sent
            found = InputText(state.files.get(state.absolute(path), sent))
        elif one.operator == "<&":
            found = InputText(state.files.get(f"&{one.target.value}", UNKNOWN))
    return found


def record_output(redirects: Sequence[Redirect], text: str | None, state: ShellState) -> str | None:
    """Write what a program prints to the files of its redirects. Returns what is left of it."""
    for one in redirects:
        target = one.target.value or ""
        if target.startswith(_SOCKETS) and one.fd:
            state.files[f"&{one.fd}"] = DOWNLOADED
        elif one.operator in ("<", "<>") and one.fd not in ("", "0"):
            state.files[f"&{one.fd}"] = state.content(target) or UNKNOWN
        elif one.operator in _OUTPUTS and one.fd in ("", "1"):
            state.write(target, UNKNOWN if text is None else text, appends=">>" in one.operator)
            text = ""
    return text
