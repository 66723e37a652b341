"""The messages between the runtime and its runners: frames on a private socket.

No program inherits the socket, so a program's output cannot be read as a frame.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from handrail.host.sandbox.recipe import LandlockRules, Recipe

# The length of the rest, the kind, the length of the header.
_PREFIX: Final = struct.Struct("!IBI")
_LENGTH: Final = 4
_encoded: Final = json.JSONEncoder(separators=(",", ":")).encode
_decoded: Final = json.JSONDecoder().decode


class FrameKind(IntEnum):
    """Frame types: RUN, JOB, END, OPEN and HANDLES are sent to the runner, the others by it."""

    RUN = 1
    JOB = 2
    END = 3
    STARTED = 4
    FAILED = 5
    OUTPUT = 6
    ENDED = 7
    HELLO = 8
    OPEN = 9
    HANDLES = 10


class WireFrame(NamedTuple):
    """One message: a JSON header and a binary body."""

    kind: FrameKind
    header: Mapping[str, Any]
    body: bytes


def encode_frame(kind: FrameKind, header: Mapping[str, Any], body: bytes = b"") -> bytes:
    """The frame as bytes."""
    text = _encoded(header).encode("ascii")
    size = _PREFIX.size - _LENGTH + len(text) + len(body)
    return b"".join((_PREFIX.pack(size, kind, len(text)), text, body))


class FrameDecoder:
    """Decodes frames from chunks of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[WireFrame]:
        """Return the frames that these bytes complete."""
        self._buffer += data
        while len(self._buffer) >= _PREFIX.size:
            size, kind, text = _PREFIX.unpack_from(self._buffer)
            end = _LENGTH + size
            if len(self._buffer) < end:
                return
            start = _PREFIX.size + text
            header = _decoded(self._buffer[_PREFIX.size : start].decode("ascii"))
            body = bytes(self._buffer[start:end])
            del self._buffer[:end]
            yield WireFrame(FrameKind(kind), header, body)


def encode_recipe(recipe: Recipe, before: Recipe | None = None) -> dict[str, Any]:
    """Encode a recipe as JSON fields, without the filter, which is the body, and without fields
    equal to `before`: nearly all are equal between commands.
    """
    fields = {
        name: value
        for number, (name, value) in enumerate(zip(Recipe._fields, recipe, strict=True))
        if before is None or value != before[number]
    }
    fields.pop("filter", None)
    if "env" in fields:
        fields["env"] = dict(recipe.env)
    if "landlock" in fields and recipe.landlock is not None:
        fields["landlock"] = recipe.landlock._asdict()
    return fields


def decode_recipe(header: Mapping[str, Any], body: bytes, before: Recipe | None = None) -> Recipe:
    """The recipe that `encode_recipe` encoded."""
    fields = _with_tuples(header)
    if fields.get("landlock") is not None:
        fields["landlock"] = LandlockRules(**_with_tuples(fields["landlock"]))
    if before is None:
        return Recipe(**fields, filter=body)
    return before._replace(**fields, filter=body)


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
