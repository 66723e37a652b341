"""The types that mark an argument of a tool as a path.

The engine resolves such an argument inside the workspace before the tool runs, and derives the call's
footprint from it. The tool finds the resolved path in `ctx.places`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final

# The key of the uses of a path in the metadata of its core schema.
PATH_MARK: Final = "handrail_path"


class PathUse(StrEnum):
    """What a call does with the path it was given."""

    READ = "read"
    WRITE = "write"
    TREE = "tree"

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Add a mark to the schema of the annotated type. `core/arguments/path_arguments.py` looks for
        the mark, so that a path is found wherever its type is used.
        """
        schema = handler(source)
        metadata = dict(schema.get("metadata") or {})
        metadata[PATH_MARK] = (*metadata.get(PATH_MARK, ()), self)
        return {**schema, "metadata": metadata}


ReadPath = Annotated[str, PathUse.READ]
WritePath = Annotated[str, PathUse.WRITE]
TreePath = Annotated[str, PathUse.TREE]
