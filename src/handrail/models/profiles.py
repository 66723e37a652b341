"""How models are reached: the profiles of the settings and the services that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from handrail.models import messages


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How a model is reached: the keys of `[models.NAME]`. A key belongs to the origin of `base_url`
    and is sent nowhere else.
    """

    wire: str
    base_url: str
    model: str = ""
    key_env: str | None = None
    key_command: Sequence[str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = None
    ca_bundle: str | None = None
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    images: bool = True
    reasoning: str | int | None = None
    idle_s: float = 120.0
    retries: int = 4
    stream_retries: int = 5


# Services that need no table in the settings. The variable is the one that the service documents.
SERVICES: Final[Mapping[str, ModelProfile]] = {
    "anthropic": ModelProfile(
        "anthropic", "https://api.anthropic.com", key_env="ANTHROPIC_API_KEY"
    ),
    "openai": ModelProfile(
        "openai-responses", "https://api.openai.com/v1", key_env="OPENAI_API_KEY"
    ),
    "gemini": ModelProfile(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        key_env="GEMINI_API_KEY",
    ),
    "openrouter": ModelProfile(
        "openai-chat", "https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"
    ),
    "ollama": ModelProfile("openai-chat", "http://127.0.0.1:11434/v1"),
}


def find_profile(named: str, profiles: Mapping[str, ModelProfile]) -> ModelProfile:
    """The profile of a name; raises `invalid_arguments` if there is none, or no model in it."""
    name, colon, model = named.partition(":")
    found = profiles.get(named)
    if found is None and colon:
        found = profiles.get(name) or SERVICES.get(name)
        found = None if found is None else replace(found, model=model)
    if found is None:
        known = [*profiles, *(f"{one}:MODEL" for one in SERVICES if one not in profiles)]
        raise messages.UNKNOWN_MODEL.error(name=named, known=", ".join(known), field="model")
    if not found.model:
        raise messages.MODEL_NOT_NAMED.error(name=named, field="model")
    return found


def check_profile(profile: ModelProfile) -> None:
    """Raise `invalid_arguments` for an address that a key must not be sent to."""
    parts = urlsplit(profile.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise messages.BASE_URL.error(url=profile.base_url, field="base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise messages.BASE_URL.error(url=f"{parts.scheme}://{parts.hostname}", field="base_url")
