"""Files for language servers: read by Handrail, which applies the rules about reading."""

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
        """The file in the form that is sent to a server."""
        return CodeDocument(self.place.absolute, self.text, self.seen.content.digest)


class CodeLine(NamedTuple):
    """A place in a file, with lines and columns counted as models count them.

    `text` is the line. It is None if the line must not be shown or is outside of the workspace;
    `end` and the columns are unknown then.
    """

    path: str
    start: TextPosition
    end: TextPosition
    text: str | None


class CodeFiles:
    """Reads files for requests to language servers; each file at most once per call.

    `withheld` returns whether a rule denies calls the content of an absolute path.
    """

    def __init__(self, files: Files, withheld: Callable[[str], bool]) -> None:
        self._files = files
        self._withheld = withheld
        self._read: dict[str, CodeFile | None] = {}
        self._tables: dict[tuple[str, str], TextPositions] = {}
        self._lines: dict[tuple[str, int], str] = {}

    def load(self, place: Place) -> CodeFile:
        """Read a file that the call names; raises `denied`, `not_found`, `not_text` or `too_large`."""
        # The rules treat the call as a command, from which the sandbox hides denied paths; but this
        # read happens outside of a sandbox.
        if any(map(self._withheld, (place.absolute, *place.via))):
            raise ProblemRaised("denied", f"a rule denies reading {place.path!r}", field="path")
        cached = self._read.get(place.absolute)
        if cached is not None:
            return cached
        require_file(place, "name a source file")
        content = self._files.read(place, max_bytes=MAX_BYTES)
        data = content.content.tobytes()
        form = detect(data)
        if form is None:
            raise ProblemRaised("not_text", f"{place.path!r} is not text", field="path")
        file = self._read[place.absolute] = CodeFile(place, content, form, form.decode(data))
        return file

    def find(self, path: str) -> CodeFile | None:
        """A file that a server names; None if it is outside of the roots or must not be read."""
        if path not in self._read:
            self._read[path] = self._find(path)
        return self._read[path]

    def is_withheld(self, path: str) -> bool:
        """Return whether a file is in the workspace and must not be read."""
        try:
            self._files.locate(path)
        except ProblemRaised:
            return False
        return self.find(path) is None

    def describe(self, path: str, span: CodeSpan, encoding: str) -> CodeLine:
        """Return a place that a server names, with its line as it is on disk now."""
        file = self.find(path)
        if file is None:
            line = TextPosition(span.start.line + 1, 1)
            return CodeLine(self._name(path), line, line, None)
        positions = self.positions(file, encoding)
        start, end = positions.to_model(span.start), positions.to_model(span.end)
        key = (file.place.absolute, start.line)
        # A line may be long and contain many places.
        if key not in self._lines:
            text = file.form.show(positions.line_text(start.line)).strip()
            self._lines[key] = clip(text, _MAX_SHOWN)
        return CodeLine(file.place.path, start, end, self._lines[key])

    def positions(self, file: CodeFile, encoding: str) -> TextPositions:
        """Return the positions of a file that was loaded here, computed once per call."""
        key = (file.place.absolute, encoding)
        if key not in self._tables:
            self._tables[key] = TextPositions(file.text, encoding)
        return self._tables[key]

    def locate(self, file: CodeFile, line: int, column: int, encoding: str) -> ServerPosition:
        """Convert a position of the call to the server's encoding; raises `invalid_arguments`."""
        position = self.positions(file, encoding).to_server(line, column)
        if position is None:
            raise ProblemRaised(
                "invalid_arguments",
                f"{file.place.path!r} has no line {line}",
                hint="read the file again",
                field="line",
            )
        return position

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
    """Return a place in one line of text."""
    name = shown(line.path)
    if line.text is None:
        return f"{name}:{line.start.line}"
    return f"{name}:{line.start.line}:{line.start.column}: {line.text}"
