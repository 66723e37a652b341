"""The base class of the arguments of tools."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Params(BaseModel):
    """Base of every tool's arguments: frozen, strict, nothing unknown accepted.

    Strict, so that a value of the wrong type is not converted silently: `coerce` repairs harmless
    mistakes and records them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
