"""Builds the user's guardrails from the settings."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.config.layers.load import LoadedSettings
from handrail.config.layers.sources import PROJECT_LAYERS
from handrail.core.context import Session
from handrail.core.ports.records import Store
from handrail.host.files.roots import real_path
from handrail.policy.guardrails.settings import GuardrailSettings
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule_set import RuleSet

if TYPE_CHECKING:
    from handrail.policy.guardrails.guard import Guardrails, RuleSets

_log = logging.getLogger("handrail")
_SECTION: Final = "guardrails"
_LAST: Final = re.compile(r"(?:\[\d+\]|\.?[^.\[\]]+)$")


def load_guardrails(loaded: LoadedSettings) -> GuardrailSettings:
    """Parse the section `guardrails`; raises `invalid_arguments` with the key and its place."""
    from handrail.policy.guardrails.section import parse_guardrails

    return parse_guardrails(_section_table(loaded), lambda key: _setting_place(loaded, key))


async def open_guardrails(
    settings: GuardrailSettings, session: Session, store: Store, rule_set: RuleSets = RuleSet
) -> Guardrails:
    """The guardrails of a session, with the counts of earlier runs of the session."""
    from handrail.policy.guardrails.guard import Guardrails

    path_base = PathBase(tuple(session.roots), real_path(Path.home()), real_path)
    guardrails = Guardrails(settings, path_base, rule_set)
    if guardrails.counts:
        saved = (await store.load_state(session.id)).get(_SECTION)
        if saved is not None:
            guardrails.ledger.restore(saved)
    return guardrails


def read_counts(guardrails: Guardrails) -> dict[str, Any] | None:
    """The counts of the guardrails so far; None if they count nothing."""
    return guardrails.ledger.save() if guardrails.counts else None


def save_counts(guardrails: Guardrails, session: Session, store: Store) -> None:
    """Store the counts, with which a named session continues."""
    if guardrails.counts:
        store.save_state(session.id, _SECTION, guardrails.ledger.save())


def _section_table(loaded: LoadedSettings) -> dict[str, Any]:
    """The table of the section. A file of the workspace cannot switch guardrails off, even if it is
    trusted: the user's own guardrails would be lost.
    """
    table = dict(loaded.settings.guardrails)
    source = loaded.sources.get(f"{_SECTION}.enabled")
    if table.get("enabled") is False and source is not None and source.layer in PROJECT_LAYERS:
        _log.warning("%s: guardrails.enabled: ignored, only your own settings can say it", source)
        del table["enabled"]
    return table


def _setting_place(loaded: LoadedSettings, key: str) -> str:
    """Where a key, or the nearest table or list that contains it, is written."""
    name = f"{_SECTION}.{key}"
    while name not in loaded.sources and name:
        name = _LAST.sub("", name) if _LAST.search(name) else ""
    source = loaded.sources.get(name)
    return _SECTION if source is None or source.file is None else str(source)
