"""The settings of MCP servers whose tools are used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from handrail.config.setting_fields import CLOSED, FieldValidator, SecretText, setting

# URLs to which the tokens of a login may be sent: encrypted, or on this machine.
_SAFE_FOR_TOKENS: Final = re.compile(
    r"https://|http://(localhost|127\.0\.0\.1|\[::1\])([:/?]|$)", re.IGNORECASE
)
# Valid tokens for `Authorization: Bearer`.
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]{1,8000}=*")


@dataclass(frozen=True)
class RemoteServerTable:
    """One MCP server: a program with its arguments, or a URL."""

    __pydantic_config__: ClassVar = CLOSED

    command: str | None = setting(None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = setting({})
    env_from: tuple[str, ...] = ()
    url: str | None = setting(None, pattern=r"^https?://\S+$", max_length=2000)
    bearer_env: str | None = setting(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    bearer_token: SecretText | None = None
    oauth: bool = False
    allow: tuple[str, ...] = ("*",)
    trust_annotations: bool = False
    protocol: Literal["auto", "legacy"] = "auto"
    load: Literal["lazy", "eager"] = "lazy"
    always_load: tuple[str, ...] = ()
    start_s: float = setting(30.0, gt=0, le=600)
    call_s: float = setting(300.0, gt=0, le=3600)
    memory_mb: int = setting(4096, ge=64)
    enabled: bool = True

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        if sum((self.bearer_env is not None, self.bearer_token is not None, self.oauth)) > 1:
            raise ValueError("give only one of bearer_env, bearer_token and oauth")
        if self.bearer_token is not None and not _TOKEN.fullmatch(self.bearer_token.reveal()):
            raise ValueError("bearer_token is not a token: only letters, digits and -._~+/=")
        if not self.oauth:
            return
        if self.url is None or not _SAFE_FOR_TOKENS.match(self.url):
            raise ValueError("oauth needs a url with https, or one of this machine")


def check_server_name(name: str) -> str:
    """Return the name of a server; raises ValueError if it is invalid."""
    if not re.fullmatch(r"(?=.{1,32}$)[A-Za-z0-9]+([-_][A-Za-z0-9]+)*", name):
        raise ValueError("use up to 32 letters and digits, separated by single - or _")
    return name


# Names of servers contain no `__`, which separates them from the names of tools.
_ServerName = Annotated[str, FieldValidator(check_server_name)]


@dataclass(frozen=True)
class RemoteServers:
    """The MCP servers whose tools are used."""

    __pydantic_config__: ClassVar = CLOSED

    auto_allow: bool = True
    servers: dict[_ServerName, RemoteServerTable] = setting({})
