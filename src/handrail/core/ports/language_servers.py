"""Language servers as tools see them. The implementation is `lsp/`.

Text from a server is not shown unchecked: tools themselves read the files that a server names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from handrail.core.ports.processes import Confinement
from handrail.core.text.positions import ServerPosition
from handrail.core.text.safe_text import safe_text


class CodeDocument(NamedTuple):
    """A file as it is sent to a server: absolute path, text, and the hash of its bytes."""

    path: str
    text: str
    digest: str


class CodeSpan(NamedTuple):
    """A range of a file, `end` excluded."""

    start: ServerPosition
    end: ServerPosition


class CodeLocation(NamedTuple):
    """A range of a file that a server named."""

    path: str
    span: CodeSpan


class CodeSymbol(NamedTuple):
    """A name that a file declares; `container` is what it is declared in."""

    name: str
    kind: str
    location: CodeLocation
    container: str = ""


class CodeDiagnostic(NamedTuple):
    """One message about a file. `severity`: error, warning, information or hint."""

    span: CodeSpan
    severity: str
    message: str
    source: str = ""
    code: str = ""

    @property
    def message_line(self) -> str:
        """The message in one line, safe for a terminal; some servers send paragraphs."""
        lines = (line.strip(" \t\r") for line in self.message.split("\n"))
        return safe_text(" ".join(line for line in lines if line), one_line=True)


class CodeEdit(NamedTuple):
    """Text to put in the place of a range of a file."""

    location: CodeLocation
    text: str


class LanguageServer(Protocol):
    """A running server. Raises `unavailable` if it has ended, `timeout` if it does not answer in
    time and `command_failed` if it answers with an error.
    """

    @property
    def name(self) -> str:
        """Its name in the configuration."""

    @property
    def encoding(self) -> str:
        """How it counts columns: utf-8, utf-16 or utf-32."""

    async def definitions(
        self, document: CodeDocument, at: ServerPosition
    ) -> Sequence[CodeLocation]:
        """Where the name at a position is defined."""

    async def references(
        self, document: CodeDocument, at: ServerPosition
    ) -> Sequence[CodeLocation]:
        """Where the name at a position is used, its declaration included."""

    async def hover(self, document: CodeDocument, at: ServerPosition) -> str:
        """The server's information about a position; "" if there is none."""

    async def document_symbols(self, document: CodeDocument) -> Sequence[CodeSymbol]:
        """The names that a file declares."""

    async def workspace_symbols(self, query: str) -> Sequence[CodeSymbol]:
        """The names of the workspace that match."""

    async def diagnostics(self, document: CodeDocument) -> Sequence[CodeDiagnostic] | None:
        """The diagnostics of exactly this text; None if they are not known yet."""

    async def rename(
        self, document: CodeDocument, at: ServerPosition, name: str
    ) -> Sequence[CodeEdit]:
        """The edits that rename what stands at a position."""


class LanguageServers(Protocol):
    """The language servers of a session. A server is started by the first permitted call that needs it."""

    def find_name(self, path: str) -> str:
        """The name of the server for a file; raises `unavailable` with the reason if none is used."""

    def find_running(self, path: str | None) -> LanguageServer | None:
        """The running server for a file, or any running server if `path` is None; None if there is none."""

    async def find_current(self, path: str, *, quoted: bool) -> LanguageServer | None:
        """The running server for a file; None if there is none, or if it can read more than a server
        that is started now could. `quoted`: text of the server is shown, so it must not see secrets.
        """

    async def open(self, path: str | None, confinement: Confinement) -> LanguageServer:
        """The running server for a file, started if necessary, or any running server if `path` is None.
        A server with another confinement is ended and started again. Raises `unavailable`, `timeout`.
        """

    def note_change(self, path: str) -> None:
        """Tell running servers before their next request that a file has changed."""

    def describe(self) -> Sequence[dict[str, Any]]:
        """Every known server: name, path, state, and why it is not used."""
