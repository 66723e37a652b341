"""What the two tools for undeclared tools of MCP servers share."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from handrail.core.context import Session
from handrail.core.ports.remote_tools import RemoteTools
from handrail.tools._lib.tool_base import Builtin

P = TypeVar("P", bound=BaseModel)


class LazyToolAccess(Builtin[P]):
    """A tool that reaches tools of MCP servers which are not declared one by one."""

    def __init__(self, remote: RemoteTools | None) -> None:
        self._remote = remote

    def enabled(self, session: Session) -> bool:
        """Whether MCP servers are configured and approved."""
        del session
        return self._remote is not None

    def shown(self, session: Session) -> bool:
        """Whether there are tools that are not declared."""
        return (
            self._remote is not None and self.enabled(session) and bool(self._remote.count_lazy())
        )
