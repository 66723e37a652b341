"""The content of a prompt as the text of a task."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from handrail.acp import messages

PromptBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


def read_prompt(blocks: Sequence[PromptBlock], root: Path) -> str:
    """Return the text of the prompt; a link to a file of the workspace becomes a mention such as
    @a.py, which is read under the rules. Raises `invalid_arguments` for pictures and sound.
    """
    texts: list[str] = []
    resources: list[str] = []
    for block in blocks:
        if isinstance(block, TextContentBlock):
            texts.append(block.text)
        elif isinstance(block, ResourceContentBlock):
            path = link_path(block.uri, root)
            texts.append(f" {block.name} ({block.uri}) " if path is None else f' @"{path}" ')
        elif isinstance(block, EmbeddedResourceContentBlock) and isinstance(
            block.resource, TextResourceContents
        ):
            text = block.resource.text
            resources.append(f"<resource uri={block.resource.uri!r}>\n{text}\n</resource>")
        else:
            raise messages.UNSUPPORTED_CONTENT.error(kind=block.type, field="prompt")
    text = "".join(texts).strip()
    if not text and not resources:
        raise messages.EMPTY_PROMPT.error(field="prompt")
    return "\n\n".join(part for part in (text, *resources) if part)


def link_path(uri: str, root: Path) -> str | None:
    """The path of a link to a file of the workspace, relative to it; None for any other link."""
    if not uri.startswith("file:///"):
        return None
    path = posixpath.normpath(unquote(uri.removeprefix("file://").partition("#")[0]))
    inner = posixpath.relpath(path, str(root))
    outside = inner == ".." or inner.startswith("../")
    unquotable = any(char in inner for char in '"\n')
    return None if outside or unquotable else inner
