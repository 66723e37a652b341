"""How models are reached: the profiles of the settings and the known services."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from handrail.models import messages

_PROXIES: Final = ("http", "https", "socks5", "socks5h")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KEY_HEADER: Final = re.compile(
    r"(^|[-_])(authorization|auth|cookie|api-?key|key|token|secret)($|[-_])", re.IGNORECASE
)
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How a model is reached: the keys of `[models.NAME]`. A key belongs to the origin of
    `base_url` and is sent to no other.
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
    """Return the profile of a name; raises `invalid_arguments` if there is none, or no model in it."""
    name, colon, model = named.partition(":")
    profile = profiles.get(named)
    if profile is None and colon:
        profile = profiles.get(name) or SERVICES.get(name)
        profile = None if profile is None else replace(profile, model=model)
    if profile is None:
        names = [
            *profiles,
            *(f"{service}:MODEL" for service in SERVICES if service not in profiles),
        ]
        raise messages.UNKNOWN_MODEL.error(name=named, known=", ".join(names), field="model")
    if not profile.model:
        raise messages.MODEL_NOT_NAMED.error(name=named, field="model")
    return profile


def check_profile(profile: ModelProfile) -> None:
    """Raise `invalid_arguments` for an address to which a key must not be sent, and for invalid
    headers. A key is bound to an origin, and without encryption any host can pose as that origin.
    """
    parts = _split_address(profile.base_url)
    if parts is None:
        # Text that may contain a password or a key is not shown.
        shown = "..." if re.search(r"[@?#]", profile.base_url) else profile.base_url
        raise messages.BASE_URL.error(url=shown, field="base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise messages.BASE_URL.error(url=f"{parts.scheme}://{parts.hostname}", field="base_url")
    if profile.proxy is not None and _split_address(profile.proxy, _PROXIES) is None:
        # The address may contain a password.
        raise messages.PROXY.error(field="proxy")
    for name, value in profile.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not is_header_value(value):
            raise messages.HEADER.error(name=name, field="headers")
    if parts.scheme == "http" and _has_key(profile) and not _is_loopback(parts.hostname or ""):
        origin = f"{parts.scheme}://{parts.netloc}"
        raise messages.KEY_OVER_HTTP.error(origin=origin, field="base_url")


def _has_key(profile: ModelProfile) -> bool:
    """Return whether requests have a key: that of the profile, or one in a header."""
    configured = profile.key_env is not None or profile.key_command is not None
    return configured or any(map(_KEY_HEADER.search, profile.headers))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _split_address(url: str, schemes: Sequence[str] = ("http", "https")) -> SplitResult | None:
    """The parts of an address; None unless it has a host, a valid port and one of the schemes."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def is_header_value(text: str) -> bool:
    """Return whether a text can be a header value: printable ASCII without blanks at the ends."""
    return _HEADER_VALUE.fullmatch(text) is not None
