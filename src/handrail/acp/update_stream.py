"""Events of a session as updates for the editor, in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    CurrentModeUpdate,
    PlanEntry,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)

from handrail.acp.client import EditorClient, SessionUpdate, text_block
from handrail.acp.tool_cards import (
    CardContent,
    card_title,
    find_locations,
    tool_kind,
    verbatim_content,
)
from handrail.agent.events import ModelText, ModelThinking
from handrail.core.events import CallOutput, Event
from handrail.core.text.safe_text import safe_text

_log = logging.getLogger("handrail")
_MAIN: Final = "main"
_TAIL_CHARS: Final = 8_000
_DONE: Final = ("ok", "planned")
_PLAN_STATES: Final = ("pending", "in_progress", "completed")


class SessionFacts(NamedTuple):
    """What updates need from a session: the content of an ended call, the mode, and the size of the
    model's context.
    """

    load_content: Callable[[str], Awaitable[list[CardContent]]]
    mode: Callable[[], str]
    context_tokens: Callable[[], int]


class UpdateStream:
    """Sends updates as fast as the editor reads. Queued text is joined."""

    def __init__(self, client: EditorClient, facts: SessionFacts) -> None:
        self._client = client
        self._facts = facts
        self._waiting: deque[Event] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._mode = facts.mode()
        # The output of running calls, and the agents of their cards.
        self._tails: dict[str, str] = {}
        self._open: dict[str, None] = {}

    def publish(self, event: Event) -> None:
        """Queue an event."""
        last = self._waiting[-1] if self._waiting else None
        joined = None if last is None else _join(last, event)
        if joined is not None:
            self._waiting[-1] = joined
        else:
            self._waiting.append(event)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._send_waiting())

    async def drain(self) -> None:
        """Return when everything queued so far was sent."""
        while self._pump is not None and not self._pump.done():
            await asyncio.wait([self._pump])

    async def finish(self) -> None:
        """Send what is queued, and end the cards of cancelled calls."""
        await self.drain()
        for call_id in list(self._open):
            del self._open[call_id]
            await self._send(_progress(call_id, status="failed"))
        await self.report_mode()

    async def report_mode(self) -> None:
        """Send the mode if it has changed since the last report."""
        mode = self._facts.mode()
        if mode != self._mode:
            self._mode = mode
            await self._send(
                CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)
            )

    def set_mode(self, mode: str) -> None:
        """Record a mode that the editor has chosen."""
        self._mode = mode

    async def _send(self, update: SessionUpdate) -> None:
        try:
            await self._client.update(update)
        except OSError:
            # The editor has disconnected; the server is about to end.
            self._waiting.clear()

    async def _send_waiting(self) -> None:
        while self._waiting:
            event = self._waiting.popleft()
            try:
                await self._show(event)
            except Exception:  # noqa: BLE001 - one event that cannot be shown must not hide the rest
                _log.exception("the event %s was not shown in the editor", event.type)

    async def _show(self, event: Event) -> None:
        show = getattr(self, f"_on_{event.type}", None)
        if show is not None:
            await show(event.to_dict())

    async def _on_model_text(self, facts: Mapping[str, Any]) -> None:
        if facts["agent"] == _MAIN and facts["text"]:
            chunk = text_block(facts["text"])
            await self._send(AgentMessageChunk(session_update="agent_message_chunk", content=chunk))

    async def _on_model_thinking(self, facts: Mapping[str, Any]) -> None:
        if facts["agent"] == _MAIN and facts["text"]:
            await self._think(facts["text"])

    async def _on_notification(self, facts: Mapping[str, Any]) -> None:
        await self._think(f"\n\nHandrail: {facts['text']}\n\n")

    async def _on_budget_warning(self, facts: Mapping[str, Any]) -> None:
        used, limit = f"{facts['used']:,.6g}", f"{facts['limit']:,.6g}"
        await self._think(f"\n\nHandrail: {used} of {limit} {facts['kind']} used\n\n")

    async def _on_model_retry(self, facts: Mapping[str, Any]) -> None:
        again = f"trying again in {facts['wait_s']:.1f} s"
        await self._think(f"\n\nHandrail: the request failed ({facts['code']}); {again}\n\n")

    async def _think(self, text: str) -> None:
        chunk = text_block(text)
        await self._send(AgentThoughtChunk(session_update="agent_thought_chunk", content=chunk))

    async def _on_model_response(self, facts: Mapping[str, Any]) -> None:
        if facts["agent"] == _MAIN:
            used = int(facts["usage"]["input"]) + int(facts["usage"]["output"])
            size = self._facts.context_tokens()
            await self._send(UsageUpdate(session_update="usage_update", used=used, size=size))

    async def _on_todos_changed(self, facts: Mapping[str, Any]) -> None:
        entries = [
            PlanEntry(
                content=safe_text(str(fact["content"]), one_line=True),
                priority="medium",
                status=fact["status"],
            )
            for fact in facts["todos"]
            if fact["status"] in _PLAN_STATES
        ]
        await self._send(AgentPlanUpdate(session_update="plan", entries=entries))

    async def _on_tool_call_start(self, facts: Mapping[str, Any]) -> None:
        title = facts["display"] or facts["summary"]
        by = "" if facts["agent"] == _MAIN else f"{facts['agent']}: "
        self._open[facts["call_id"]] = None
        await self._send(
            ToolCallStart(
                session_update="tool_call",
                tool_call_id=facts["call_id"],
                title=card_title(f"{by}{title}"),
                kind=tool_kind(facts["tool"]),
                status="pending",
                locations=find_locations(facts["footprint"]),
            )
        )

    async def _on_tool_call_output(self, facts: Mapping[str, Any]) -> None:
        call_id = facts["call_id"]
        tail = (self._tails.get(call_id, "") + facts["text"])[-_TAIL_CHARS:]
        self._tails[call_id] = tail
        await self._send(_progress(call_id, [verbatim_content(tail)]))

    async def _on_tool_call_progress(self, facts: Mapping[str, Any]) -> None:
        await self._send(_progress(facts["call_id"], [verbatim_content(facts["text"])]))

    async def _on_tool_call_end(self, facts: Mapping[str, Any]) -> None:
        call_id = facts["call_id"]
        self._tails.pop(call_id, None)
        self._open.pop(call_id, None)
        content = await self._facts.load_content(call_id)
        if not content and facts["reason"]:
            content = [verbatim_content(facts["reason"])]
        status = "completed" if facts["status"] in _DONE else "failed"
        await self._send(_progress(call_id, content, status, facts["footprint"]))
        await self.report_mode()


def _progress(
    call_id: str,
    content: list[CardContent] | None = None,
    status: str = "in_progress",
    footprint: tuple[str, ...] = (),
) -> ToolCallProgress:
    fields = {"content": content, "locations": find_locations(footprint) or None}
    return ToolCallProgress.model_validate(
        {
            "session_update": "tool_call_update",
            "tool_call_id": call_id,
            "status": status,
            **{name: value for name, value in fields.items() if value},
        }
    )


def _join(last: Event, event: Event) -> Event | None:
    """Return both events as one, if they are pieces of one text; else None."""
    match last, event:
        case ModelText(agent=of, text=before), ModelText(agent=agent, text=after) if of == agent:
            return replace(last, text=before + after)
        case ModelThinking(agent=of, text=before), ModelThinking(agent=agent, text=after) if (
            of == agent
        ):
            return replace(last, text=before + after)
        case CallOutput(call_id=of, text=before), CallOutput(call_id=call, text=after) if (
            of == call
        ):
            return replace(last, text=(before + after)[-_TAIL_CHARS:])
    return None
