"""The way to the person on the protocol with a handshake: a request back to the client."""

from __future__ import annotations

from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from pydantic import ValidationError

from handrail.mcp.asking import Said
from handrail.mcp.form import SCHEMA


def may_elicit(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client says that it can put a form to a person."""
    said = ctx.session.client_capabilities
    if said is None or said.elicitation is None:
        return False
    # An empty object, as the protocol had it first, means forms.
    return said.elicitation.form is not None or said.elicitation.url is None


class HandshakeChannel:
    """Asks in the middle of the call; the client answers while the call waits."""

    apart = False

    def __init__(self, ctx: ServerRequestContext[Any, Any], *, can_ask: bool) -> None:
        self._ctx = ctx
        self.can_ask = can_ask and ctx.session.can_send_request

    async def elicit(self, message: str) -> Said | None:
        """Put the form; None if the client has no form after all."""
        try:
            said = await self._ctx.session.elicit_form(
                message, dict(SCHEMA), related_request_id=self._ctx.request_id
            )
        except (MCPError, ValidationError):
            return None
        return Said(said.action, None if said.content is None else dict(said.content))
