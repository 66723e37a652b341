"""Which model a subagent uses."""

from __future__ import annotations

from typing import Any

from handrail.core.ports.agents import AgentServices
from handrail.core.ports.models import Model
from handrail.core.ports.subagents import SubagentRequest
from handrail.subagents import messages
from handrail.subagents.agent_types import AgentType


def choose_model(
    services: AgentServices, request: SubagentRequest, kind: AgentType
) -> str | Model | None:
    """The model of a subagent: that of the call, of its type, or the default. A name must be one that
    the user's settings have; raises `invalid_arguments` for any other.
    """
    name = request.model or kind.model
    check_model(services, name)
    if name is not None:
        return name
    model: Any = services.resolve_model(None).model
    # A script has lines for each subagent.
    of_child = getattr(model, "child", None)
    return of_child(kind.name, request.description) if of_child is not None else None


def check_model(services: AgentServices, name: str | None) -> None:
    """Raise `invalid_arguments` unless the user's settings name the model; None is the default."""
    known = services.defaults.models
    if name is not None and name not in known:
        listed = ", ".join(known) or "none"
        raise messages.MODEL_NOT_LISTED.error(model=name[:100], names=listed, field="model")
