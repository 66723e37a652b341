"""A running call as hooks see it, and what they said brought into one shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handrail.core.places import Place
from handrail.core.verdicts import Verdict
from handrail.engine.hooking.callbacks import HookCall, Opinion, Rewrite
from handrail.engine.prepare import Prepared

_ATTRIBUTE: Final = re.compile(r"\w+")


def hook_call(prepared: Prepared) -> HookCall:
    """The call with every path resolved, so that no spelling of one passes a guard."""
    call, runs = prepared.call, prepared.footprint.command is not None
    places = prepared.places
    files = _touched(prepared) if runs else (*_named(places), *_touched(prepared))
    return HookCall(
        call.id,
        prepared.name,
        prepared.arguments,
        call.turn,
        call.agent,
        {_given_name(prepared, name): place.absolute for name, place in places.items()},
        tuple(dict.fromkeys(files)),
        {place.absolute: place.via for place in places.values() if place.via},
        runs,
    )


def opinion_of(said: Verdict | Rewrite | Opinion | None) -> Opinion:
    """All that a hook said."""
    if isinstance(said, Opinion):
        return said
    if isinstance(said, Rewrite):
        return Opinion(rewrite=said)
    return Opinion(verdict=said)


def _given_name(prepared: Prepared, name: str) -> str:
    """The name of a path by the argument as the caller gives it, not by the model's attribute."""
    attribute = _ATTRIBUTE.match(name)
    top = attribute[0] if attribute is not None else ""
    field = prepared.entry.params.model_fields.get(top) if prepared.entry is not None else None
    alias = None if field is None else field.validation_alias
    return alias + name[len(top) :] if isinstance(alias, str) else name


def _named(places: Mapping[str, Place]) -> tuple[str, ...]:
    return tuple(place.absolute for place in places.values())


def _touched(prepared: Prepared) -> tuple[str, ...]:
    kinds = (touch.key.partition(":") for touch in prepared.footprint.touches)
    return tuple(path for kind, _, path in kinds if kind == "file")
