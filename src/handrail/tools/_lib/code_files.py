"""Files as language servers see them: read by us, under the rules, and never shown otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from handrail.core.names.sensitive import is_sensitive
from handrail.core.places import Kind, Place, shown
from handrail.core.ports.language_servers import CodeDocument, CodeSpan
from handrail.core.ports.machine import FileContent, Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import TextForm, detect
from handrail.core.text.positions import ServerPosition, TextPosition, TextPositions
from handrail.tools._lib.tool_base import clip, require_file

MAX_BYTES: Final = 5_000_000
_MAX_SHOWN: Final = 300


class CodeFile(NamedTuple):
    """A file with its text."""

    place: Place
    seen: FileContent
    form: TextForm
    text: str

    @property
    def document(self) -> CodeDocument:
        """The file as a server is to see it."""
        return CodeDocument(self.place.absolute, self.text, self.seen.content.digest)


class CodeLine(NamedTuple):
    """A place in a file, as models count. `text` is the line; None: it may not be shown or lies
    outside of the workspace, and `end` and the columns are then not known.
    """

    path: str
    start: TextPosition
    end: TextPosition
    text: str | None


class CodeFiles:
    """Reads files for questions to language servers; each at most once per call.

    `withheld` returns whether a rule keeps the content of an absolute path from calls.
    """

    def __init__(self, files: Files, withheld: Callable[[str], bool]) -> None:
        self._files = files
        self._withheld = withheld
        self._read: dict[str, CodeFile | None] = {}
        self._tables: dict[tuple[str, str], TextPositions] = {}
        self._lines: dict[tuple[str, int], str] = {}

    def load(self, place: Place) -> CodeFile:
        """A file that the call names; raises `denied`, `not_found`, `not_text`, `too_large`."""
        # The rules judge the call as a command, from which the sandbox hides denied paths; here the
        # file is read without a sandbox.
        if any(map(self._withheld, (place.absolute, *place.via))):
            raise ProblemRaised("denied", f"a rule denies reading {place.path!r}", field="path")
        known = self._read.get(place.absolute)
        if known is not None:
            return known
        require_file(place, "name a source file")
        seen = self._files.read(place, max_bytes=MAX_BYTES)
        data = seen.content.tobytes()
        form = detect(data)
        if form is None:
            raise ProblemRaised("not_text", f"{place.path!r} is not text", field="path")
        file = self._read[place.absolute] = CodeFile(place, seen, form, form.decode(data))
        return file

    def find(self, path: str) -> CodeFile | None:
        """A file that a server names; None if it lies outside of the roots or may not be read."""
        if path not in self._read:
            self._read[path] = self._find(path)
        return self._read[path]

    def is_withheld(self, path: str) -> bool:
        """Whether a file lies in the workspace and may not be read."""
        try:
            self._files.locate(path)
        except ProblemRaised:
            return False
        return self.find(path) is None

    def describe(self, path: str, span: CodeSpan, encoding: str) -> CodeLine:
        """A place that a server names, with its line as it is now on disk."""
        file = self.find(path)
        if file is None:
            line = TextPosition(span.start.line + 1, 1)
            return CodeLine(self._name(path), line, line, None)
        positions = self.positions(file, encoding)
        start, end = positions.to_model(span.start), positions.to_model(span.end)
        key = (file.place.absolute, start.line)
        # A line may be long and hold many places.
        if key not in self._lines:
            text = file.form.show(positions.line_text(start.line)).strip()
            self._lines[key] = clip(text, _MAX_SHOWN)
        return CodeLine(file.place.path, start, end, self._lines[key])

    def positions(self, file: CodeFile, encoding: str) -> TextPositions:
        """The positions of a file that was read here, made once per call."""
        key = (file.place.absolute, encoding)
        if key not in self._tables:
            self._tables[key] = TextPositions(file.text, encoding)
        return self._tables[key]

    def locate(self, file: CodeFile, line: int, column: int, encoding: str) -> ServerPosition:
        """A position of the call as a server counts; raises `invalid_arguments`."""
        found = self.positions(file, encoding).to_server(line, column)
        if found is None:
            raise ProblemRaised(
                "invalid_arguments",
                f"{file.place.path!r} has no line {line}",
                hint="read the file again",
                field="line",
            )
        return found

    def _name(self, path: str) -> str:
        try:
            return self._files.locate(path).path
        except ProblemRaised:
            return path

    def _find(self, path: str) -> CodeFile | None:
        try:
            place = self._files.locate(path)
            names = (place.absolute, *place.via)
            if place.kind is not Kind.FILE or any(map(self._withheld, names)):
                return None
            return None if any(map(is_sensitive, names)) else self.load(place)
        except ProblemRaised:
            return None


def format_line(line: CodeLine) -> str:
    """A place in one line of text."""
    name = shown(line.path)
    if line.text is None:
        return f"{name}:{line.start.line}"
    return f"{name}:{line.start.line}:{line.start.column}: {line.text}"
