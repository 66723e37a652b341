"""Reads the answers of servers into values of `core`. Nothing in them is trusted: what does not
have the expected form is left out, and numbers and counts are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from handrail.core.ports.language_servers import (
    CodeDiagnostic,
    CodeDocument,
    CodeEdit,
    CodeLocation,
    CodeSpan,
    CodeSymbol,
)
from handrail.core.text.positions import ServerPosition

MOST_ITEMS: Final = 5000
_LONGEST_NAME: Final = 500
_SEVERITIES: Final = {1: "error", 2: "warning", 3: "information", 4: "hint"}
_KINDS: Final = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field"),
    *("constructor", "enum", "interface", "function", "variable", "constant", "string", "number"),
    *("boolean", "array", "object", "key", "null", "enum_member", "struct", "event", "operator"),
    "type_parameter",
)


def to_uri(path: str) -> str:
    """The URI of an absolute path."""
    return "file://" + quote(path, errors="surrogateescape")


def from_uri(uri: str) -> str | None:
    """Return the absolute path of a URI; None if it names no file of this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return path if path.startswith("/") and "\0" not in path else None


def position_params(document: CodeDocument, at: ServerPosition) -> dict[str, Any]:
    """The parameters of a request about a position."""
    return {
        "textDocument": {"uri": to_uri(document.path)},
        "position": {"line": at.line, "character": at.unit},
    }


def _span(found: Any) -> CodeSpan | None:
    try:
        start, end = found["start"], found["end"]
        numbers = [start["line"], start["character"], end["line"], end["character"]]
    except (KeyError, TypeError):
        return None
    if not all(isinstance(one, int) and 0 <= one < 1 << 31 for one in numbers):
        return None
    return CodeSpan(ServerPosition(*numbers[:2]), ServerPosition(*numbers[2:]))


def _location(found: Any) -> CodeLocation | None:
    """Read a Location or a LocationLink."""
    if not isinstance(found, dict):
        return None
    uri = found.get("uri", found.get("targetUri"))
    span = _span(found.get("range", found.get("targetSelectionRange")))
    path = from_uri(uri) if isinstance(uri, str) else None
    return None if path is None or span is None else CodeLocation(path, span)


def read_locations(found: Any) -> list[CodeLocation]:
    """Read one or several locations or links."""
    items = found if isinstance(found, list) else [found]
    located = [place for item in items[:MOST_ITEMS] if (place := _location(item)) is not None]
    return list(dict.fromkeys(located))


def read_hover(found: Any) -> str:
    """Return the text of a hover: a string, an object with one, or a list of these."""
    items = found[:20] if isinstance(found, list) else [found]
    texts = [one.get("value") if isinstance(one, dict) else one for one in items]
    return "\n\n".join(one for one in texts if isinstance(one, str) and one)


def read_symbols(found: Any, path: str) -> list[CodeSymbol]:
    """Read the symbols of a document, nested or flat, or of a workspace."""
    symbols: list[CodeSymbol] = []
    waiting = [(item, "") for item in reversed(found)] if isinstance(found, list) else []
    while waiting and len(symbols) < MOST_ITEMS:
        item, container = waiting.pop()
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            continue
        location = _location(item.get("location"))
        if location is None and path:
            span = _span(item.get("selectionRange"))
            location = None if span is None else CodeLocation(path, span)
        children = item.get("children")
        name = _bounded(item["name"])
        if isinstance(children, list):
            inside = _bounded(f"{container}.{name}" if container else name)
            waiting += [(child, inside) for child in reversed(children)]
        if location is not None:
            given = item.get("containerName")
            inside = container or (_bounded(given) if isinstance(given, str) else "")
            symbols.append(CodeSymbol(name, _kind(item.get("kind")), location, inside))
    return symbols


def _bounded(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _kind(number: Any) -> str:
    known = isinstance(number, int) and 1 <= number <= len(_KINDS)
    return _KINDS[number - 1] if known else "symbol"


def read_diagnostics(items: Sequence[Any]) -> list[CodeDiagnostic]:
    """Diagnostics, pushed or pulled."""
    found = []
    for item in items[:MOST_ITEMS]:
        span = _span(item.get("range")) if isinstance(item, dict) else None
        if span is None:
            continue
        message = item.get("message")
        text = message.get("value", "") if isinstance(message, dict) else message
        level = item.get("severity")
        severity = _SEVERITIES.get(level, "error") if isinstance(level, int) else "error"
        source, code = item.get("source"), item.get("code")
        found.append(
            CodeDiagnostic(
                span,
                severity,
                str(text),
                source if isinstance(source, str) else "",
                str(code) if isinstance(code, str | int) else "",
            )
        )
    return found


def read_edits(found: Any) -> list[CodeEdit]:
    """Return the text edits of a WorkspaceEdit. Raises ValueError if it contains anything else."""
    if not isinstance(found, dict):
        return []
    edits: list[CodeEdit] = []
    changes = found.get("changes")
    by_uri = list(changes.items()) if isinstance(changes, dict) else []
    documents = found.get("documentChanges")
    for item in documents if isinstance(documents, list) else ():
        if not isinstance(item, dict) or "kind" in item:
            raise ValueError("it would create, rename or delete files")
        document = item.get("textDocument")
        uri = document.get("uri") if isinstance(document, dict) else None
        by_uri.append((uri, item.get("edits")))
    for uri, wanted in by_uri:
        path = from_uri(uri) if isinstance(uri, str) else None
        for item in wanted if isinstance(wanted, list) else ():
            span = _span(item.get("range")) if isinstance(item, dict) else None
            text = item.get("newText") if isinstance(item, dict) else None
            if path is None or span is None or not isinstance(text, str):
                raise ValueError("it has an edit without file, range or text")
            edits.append(CodeEdit(CodeLocation(path, span), text))
    return list(dict.fromkeys(edits))
