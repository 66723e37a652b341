"""One running server: its documents, its diagnostics, and its answers as values of `core`.

Diagnostics belong to a version of a document, and a version to a text: diagnostics of an older text
are never returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.ports.language_servers import (
    CodeDiagnostic,
    CodeDocument,
    CodeEdit,
    CodeLocation,
    CodeSymbol,
)
from handrail.core.ports.processes import ProcessChannel
from handrail.core.text.positions import ServerPosition
from handrail.lsp import messages
from handrail.lsp.answers import (
    MOST_ITEMS,
    from_uri,
    position_params,
    read_diagnostics,
    read_edits,
    read_hover,
    read_locations,
    read_symbols,
    to_uri,
)
from handrail.lsp.catalog import ServerSpec, language_id
from handrail.lsp.connection import RemoteError, ServerConnection

# The number of documents that a server has open; the oldest is closed for a new one.
_MOST_OPEN: Final = 100
# Errors that mean "ask again": the content changed, the server gave up, the request was dropped.
_ASK_AGAIN: Final = frozenset({-32800, -32801, -32802})
_ENCODINGS: Final = ("utf-8", "utf-16", "utf-32")
CAPABILITIES: Final[dict[str, Any]] = {
    "general": {"positionEncodings": list(_ENCODINGS)},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "symbol": {},
    },
    "textDocument": {
        "synchronization": {},
        "definition": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "rename": {"prepareSupport": False},
        # Not registered dynamically, because some servers then announce nothing at all.
        "diagnostic": {},
        "publishDiagnostics": {"versionSupport": True},
    },
    "window": {"workDoneProgress": True},
}


class ServerLimits(NamedTuple):
    """How long the steps of a conversation with a server may take."""

    initialize_s: float = 45.0
    request_s: float = 3.0
    wait_s: float = 5.0


class _OpenDocument(NamedTuple):
    version: int
    digest: str


class RunningServer:
    """Implements `core.ports.language_servers.LanguageServer`."""

    def __init__(self, spec: ServerSpec, channel: ProcessChannel, limits: ServerLimits) -> None:
        self.spec = spec
        self.encoding = "utf-16"
        self.connection = ServerConnection(spec.name, channel, self._setting, self._on_notification)
        self._limits = limits
        self._offers: Mapping[str, Any] = {}
        self._documents: dict[str, _OpenDocument] = {}
        # By URI, with the version of the document.
        self._pushed: dict[str, tuple[int, list[Any]]] = {}
        self._changed: dict[str, None] = {}
        # Held while a document is sent and the request about it is answered.
        self._turn = anyio.Lock()

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.spec.name

    async def initialize(self, roots: Sequence[str]) -> None:
        """Send `initialize`. Raises `unavailable`, `timeout`, `command_failed`."""
        folders = [{"uri": to_uri(root), "name": PurePosixPath(root).name} for root in roots]
        params = {
            # Without a process id: the supervisor ends the server with this process.
            "processId": None,
            "clientInfo": {"name": "handrail"},
            "rootUri": folders[0]["uri"],
            "workspaceFolders": folders,
            "capabilities": CAPABILITIES,
            "initializationOptions": dict(self.spec.options),
        }
        found = await self._ask("initialize", params, self._limits.initialize_s)
        offers = found.get("capabilities") if isinstance(found, dict) else None
        self._offers = offers if isinstance(offers, dict) else {}
        encoding = self._offers.get("positionEncoding", "utf-16")
        self.encoding = encoding if encoding in _ENCODINGS else "utf-16"
        await self._notify("initialized", {})
        if self.spec.settings:
            settings = {"settings": dict(self.spec.settings)}
            await self._notify("workspace/didChangeConfiguration", settings)

    async def definitions(self, document: CodeDocument, at: ServerPosition) -> list[CodeLocation]:
        """Return where the name is defined."""
        found = await self._request_about(
            document, "textDocument/definition", position_params(document, at)
        )
        return read_locations(found)

    async def references(self, document: CodeDocument, at: ServerPosition) -> list[CodeLocation]:
        """Return where the name is used."""
        params = {**position_params(document, at), "context": {"includeDeclaration": True}}
        return read_locations(
            await self._request_about(document, "textDocument/references", params)
        )

    async def hover(self, document: CodeDocument, at: ServerPosition) -> str:
        """Return what is known about a position."""
        found = await self._request_about(
            document, "textDocument/hover", position_params(document, at)
        )
        return read_hover(found.get("contents")) if isinstance(found, dict) else ""

    async def document_symbols(self, document: CodeDocument) -> list[CodeSymbol]:
        """The names that a file declares."""
        params = {"textDocument": {"uri": to_uri(document.path)}}
        found = await self._request_about(document, "textDocument/documentSymbol", params)
        return read_symbols(found, document.path)

    async def workspace_symbols(self, query: str) -> list[CodeSymbol]:
        """The names of the workspace."""
        async with self._turn:
            await self._report_changes()
            self._require("workspaceSymbolProvider", "workspace/symbol")
            found = await self._ask("workspace/symbol", {"query": query}, self._limits.request_s)
        return read_symbols(found, "")

    async def rename(self, document: CodeDocument, at: ServerPosition, name: str) -> list[CodeEdit]:
        """Return the edits of a rename."""
        params = {**position_params(document, at), "newName": name}
        found = await self._request_about(document, "textDocument/rename", params)
        try:
            return read_edits(found)
        except ValueError as error:
            raise messages.BAD_MESSAGE.error(server=self.name, reason=str(error)) from error

    async def diagnostics(self, document: CodeDocument) -> list[CodeDiagnostic] | None:
        """Return the diagnostics of this text; None if they are not known within `wait_s`."""
        async with self._turn:
            await self._report_changes()
            version = await self._sync_document(document)
            uri = to_uri(document.path)
            with anyio.move_on_after(self._limits.wait_s):
                if self._offers.get("diagnosticProvider"):
                    return await self._pull(uri)
                await self.connection.pump_until(lambda: self._known(uri, version) is not None)
                if self.connection.ended:
                    raise self.connection.problem()
                return self._known(uri, version)
        return None

    def note_change(self, path: str) -> None:
        """Report a changed file before the next request."""
        self._changed[path] = None

    async def _pull(self, uri: str) -> list[CodeDiagnostic]:
        while True:
            params = {"textDocument": {"uri": uri}}
            try:
                found = await self.connection.request(
                    "textDocument/diagnostic", params, self._limits.wait_s
                )
            except RemoteError as error:
                if error.code not in _ASK_AGAIN:
                    raise self._failed("textDocument/diagnostic", error) from error
                await anyio.sleep(0.05)
                continue
            items = found.get("items") if isinstance(found, dict) else None
            return read_diagnostics(items if isinstance(items, list) else [])

    def _known(self, uri: str, version: int) -> list[CodeDiagnostic] | None:
        at, items = self._pushed.get(uri, (-1, []))
        return read_diagnostics(items) if at == version else None

    async def _request_about(self, document: CodeDocument, method: str, params: Any) -> Any:
        """Return the answer to a request about a document, which is sent to the server first."""
        offer = method.removeprefix("textDocument/") + "Provider"
        async with self._turn:
            self._require(offer, method)
            await self._report_changes()
            await self._sync_document(document)
            return await self._ask(method, params, self._limits.request_s)

    def _require(self, offer: str, method: str) -> None:
        if not self._offers.get(offer) and self._offers.get(offer) != {}:
            raise messages.NOT_OFFERED.error(server=self.name, method=method)

    async def _ask(self, method: str, params: Any, timeout_s: float) -> Any:
        with anyio.move_on_after(timeout_s):
            while True:
                try:
                    return await self.connection.request(method, params, timeout_s)
                except RemoteError as error:
                    if error.code not in _ASK_AGAIN:
                        raise self._failed(method, error) from error
                    await anyio.sleep(0.05)
        raise messages.NO_ANSWER.error(server=self.name, method=method, seconds=timeout_s)

    async def _notify(self, method: str, params: Any) -> None:
        """Send a notification, which a busy server may read late."""
        await self.connection.notify(method, params, self._limits.initialize_s)

    def _failed(self, method: str, error: RemoteError) -> Exception:
        return messages.SERVER_ERROR.error(server=self.name, method=method, message=error.message)

    async def _report_changes(self) -> None:
        if not self._changed:
            return
        changes = [{"uri": to_uri(path), "type": 2} for path in self._changed]
        self._changed.clear()
        await self._notify("workspace/didChangeWatchedFiles", {"changes": changes})

    async def _sync_document(self, document: CodeDocument) -> int:
        """Make the server read this text; return its version."""
        uri = to_uri(document.path)
        known = self._documents.pop(uri, None)
        if known is not None and known.digest == document.digest:
            self._documents[uri] = known
            return known.version
        version = 1 if known is None else known.version + 1
        # Noted first: a send that fails half-way must not leave the old digest with the new text.
        self._documents[uri] = _OpenDocument(version, document.digest)
        if known is None:
            item = {
                "uri": uri,
                "languageId": language_id(self.spec, document.path),
                "version": version,
                "text": document.text,
            }
            await self._notify("textDocument/didOpen", {"textDocument": item})
            await self._close_oldest()
        else:
            params = {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"text": document.text}],
            }
            await self._notify("textDocument/didChange", params)
        return version

    async def _close_oldest(self) -> None:
        if len(self._documents) > _MOST_OPEN:
            uri = next(iter(self._documents))
            del self._documents[uri]
            self._pushed.pop(uri, None)
            await self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def _on_notification(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "textDocument/publishDiagnostics":
            return
        uri, version, items = params.get("uri"), params.get("version"), params.get("diagnostics")
        # Without a version it is unknown to which text they belong.
        if isinstance(uri, str) and isinstance(version, int) and isinstance(items, list):
            uri = to_uri(from_uri(uri) or "")
            if uri in self._documents:
                self._pushed[uri] = (version, items[:MOST_ITEMS])

    def _setting(self, section: str) -> Any:
        value: Any = self.spec.settings
        for part in section.split(".") if section else []:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value if value is None or not isinstance(value, Mapping) else dict(value)
