"""How a tool says that an argument is a path: by its type.

An argument of one of these types is resolved and contained before the tool sees it, and
the call's footprint follows from it. The tool finds the result in `ctx.places`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel


class PathUse(StrEnum):
    """What a call does with the path it was given."""

    READ = "read"
    WRITE = "write"
    TREE = "tree"


ReadPath = Annotated[str, PathUse.READ]
WritePath = Annotated[str, PathUse.WRITE]
TreePath = Annotated[str, PathUse.TREE]


def path_fields(params: type[BaseModel]) -> dict[str, PathUse]:
    """The arguments of a tool that are paths, in the order of declaration."""
    return {
        name: use
        for name, field in params.model_fields.items()
        for use in field.metadata
        if isinstance(use, PathUse)
    }
