"""How a tool says that an argument is a path: by its type.

An argument of one of these types is resolved and contained before the tool sees it, and
the call's footprint follows from it. The tool finds the result in `ctx.places`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final

# Under this key the schema that pydantic builds for a path type carries its uses.
PATH_MARK: Final = "handrail_path"


class PathUse(StrEnum):
    """What a call does with the path it was given."""

    READ = "read"
    WRITE = "write"
    TREE = "tree"

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """The schema of the annotated type, marked, so that the path is found wherever the
        type stands: `core/arguments/path_arguments.py` looks for the mark.
        """
        schema = handler(source)
        metadata = dict(schema.get("metadata") or {})
        metadata[PATH_MARK] = (*metadata.get(PATH_MARK, ()), self)
        return {**schema, "metadata": metadata}


ReadPath = Annotated[str, PathUse.READ]
WritePath = Annotated[str, PathUse.WRITE]
TreePath = Annotated[str, PathUse.TREE]
