"""Approvals through the client, on both eras of the protocol, and what happens without.

A client that cannot ask, or that declines faster than a person can read, is not asked again;
the question goes to whoever else can answer, and to nobody it is a refusal with the rule.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from pydantic import ValidationError

from handrail.core.approval import Answer, ApprovalRequest, Reply, config_line
from handrail.core.ports import Approver
from handrail.core.problems import ProblemRaised
from handrail.mcp.server.form import SCHEMA, answer_of, message_of

# Nobody reads a question and declines it in less.
INSTANT_S: Final = 0.25
MOST_INSTANT: Final = 2

# How long another terminal has; clients rarely wait longer for a call.
QUEUE_S: Final = 120.0


class Said(NamedTuple):
    """What came back from a form."""

    action: str
    content: dict[str, object] | None


class Channel(Protocol):
    """The way from one call to the person behind its client."""

    @property
    def can_ask(self) -> bool:
        """Whether the client says that it can put a form to a person."""

    @property
    def apart(self) -> bool:
        """Whether a question may be put while another one waits for its answer."""

    async def elicit(self, message: str) -> Said | None:
        """Put the form; None if the client turned out not to be able to."""


class ClientApprover:
    """Asks through the client that made the call, or else `fallback`. The first time that a
    client cannot ask, the call is refused with what the person can do about it.
    """

    def __init__(
        self,
        fallback: Approver | None,
        *,
        queue_s: float = QUEUE_S,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._fallback = fallback
        self._queue_s = queue_s
        self._clock = clock
        self._channels: dict[str, Channel] = {}
        self._instant = 0
        self._broken = False
        self._told = False

    def connect(self, call_id: str, channel: Channel) -> None:
        """Questions about this call go this way; of two, the way of the first stays."""
        self._channels.setdefault(call_id, channel)

    def disconnect(self, call_id: str, channel: Channel) -> None:
        """The call that came this way is over."""
        if self._channels.get(call_id) is channel:
            del self._channels[call_id]

    def asks_apart(self, request: ApprovalRequest) -> bool:
        """Whether a client can be asked this that is owed an answer to another question."""
        channel = self._reachable(request)
        return channel is not None and channel.apart

    async def ask(self, request: ApprovalRequest) -> bool | Answer | Reply:
        """The person's answer; raises `needs_approval` if nobody can be asked."""
        said = await self._through_client(request)
        if said is not None:
            return Reply(answer_of(said.action, said.content), "elicitation")
        told, self._told = self._told, True
        if self._fallback is not None and told:
            with anyio.move_on_after(self._queue_s):
                return await self._fallback.ask(request)
        raise nobody(request, elsewhere=self._fallback is not None)

    async def _through_client(self, request: ApprovalRequest) -> Said | None:
        """What the client brought back; None if no person can have seen the question."""
        channel = self._reachable(request)
        if channel is None:
            return None
        clock = self._clock or asyncio.get_running_loop().time
        asked = clock()
        said = await channel.elicit(message_of(request))
        if said is None:
            self._broken = True
            return None
        if said.action != "accept" and clock() - asked < INSTANT_S:
            self._instant += 1
            self._broken = self._instant >= MOST_INSTANT
            return None
        self._instant = 0
        return said

    def _reachable(self, request: ApprovalRequest) -> Channel | None:
        channel = self._channels.get(request.call_id)
        return channel if channel is not None and channel.can_ask and not self._broken else None


def nobody(request: ApprovalRequest, *, elsewhere: bool) -> ProblemRaised:
    """A refusal that names what would allow the call."""
    ways = []
    if elsewhere:
        ways.append(
            "tell the person to run `handrail approvals` in another terminal, then call again"
        )
    if request.always is not None:
        rule = config_line(request.always)
        ways.append(f"the person can allow exactly this in their configuration: {rule}")
    return ProblemRaised(
        "needs_approval",
        f"{request.tool} needs a person's approval ({request.reason}), and this client cannot "
        "ask them",
        hint="; or ".join(ways) or "nothing can allow this call here; find another way",
    )


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
