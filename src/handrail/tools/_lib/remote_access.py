"""Shared by the two tools for MCP tools that are not declared individually."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from handrail.core.context import Session
from handrail.core.ports.remote_tools import RemoteTools
from handrail.tools._lib.tool_base import Builtin

P = TypeVar("P", bound=BaseModel)


class LazyToolAccess(Builtin[P]):
    """A tool that reaches MCP tools which are not declared individually."""

    def __init__(self, remote: RemoteTools | None) -> None:
        self._remote = remote

    def enabled(self, session: Session) -> bool:
        del session
        return self._remote is not None

    def shown(self, session: Session) -> bool:
        """Return whether there are tools that are not declared."""
        return (
            self._remote is not None and self.enabled(session) and bool(self._remote.count_lazy())
        )
