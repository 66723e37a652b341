"""The event bus. An exception of a listener never reaches a call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.core.events import Event, Listener


_log = logging.getLogger("handrail")


class EventBus:
    """Passes events to listeners, in order, in the thread that emits."""

    __slots__ = ("_listeners", "idle")

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        # Whether there is no listener, so that no event needs to be built.
        self.idle = True

    def subscribe(self, listener: Listener) -> None:
        """Call the listener for every event from now on."""
        self._listeners.append(listener)
        self.idle = False

    def emit(self, event: Event, first: Listener | None = None) -> None:
        """Call `first`, if given, then every listener; exceptions are only logged."""
        if first is not None:
            notify(first, event)
        for listener in tuple(self._listeners):
            notify(listener, event)


def notify(listener: Listener, event: Event) -> None:
    """Call one listener; an exception is logged and not raised again."""
    try:
        listener(event)
    except Exception:  # noqa: BLE001 - foreign code; a call must not fail because of it
        _log.exception("a listener failed on %s", event.type)
