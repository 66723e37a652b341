"""Which tools each agent may use, put together from the settings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from handrail.config.layers.load import LoadedSettings
from handrail.policy.agents import Agents, parse_agents, unknown_tools

if TYPE_CHECKING:
    from handrail.policy.rules.parse import CanonicalName

_log = logging.getLogger("handrail")


def load_agents(loaded: LoadedSettings, names: CanonicalName) -> Agents:
    """The section `agents`; raises `invalid_arguments`, naming the key and its place."""
    section = loaded.settings.agents
    agents = parse_agents(section, names, lambda key: _setting_place(loaded, key))
    for notice in unknown_tools(section, names):
        _log.warning("%s", notice)
    return agents


def _setting_place(loaded: LoadedSettings, key: str) -> str:
    """Where a setting was written: it, the first item of it, or what it is a part of."""
    while True:
        for name in (key, f"{key}[0]"):
            if name in loaded.sources:
                return str(loaded.sources[name])
        key, dot, _ = key.rpartition(".")
        if not dot:
            return "settings"
