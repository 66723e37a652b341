"""Shared by the web tools: the host of a call, known before anything is sent, and when to ask
again.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

from pydantic import BaseModel

from handrail.core.lazy import Lazy
from handrail.core.names.web_urls import WebUrl, parse_web_url
from handrail.core.ports.web import WebServices
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect, Risk, Verdict
from handrail.tools._lib.tool_base import Builtin

W = TypeVar("W", bound=BaseModel)
_SECRET: Final = re.compile(
    r"(?:secret|token|passw(?:or)?d|api[_-]?key|access[_-]?key|private[_-]?key|credential)"
    r"[\w-]{0,30}(?:=|%3d|:|%3a)[^&]{8}|gh[pousr]_\w{20}|\bsk-[\w-]{16}|AKIA[A-Z0-9]{12}"
    r"|eyJ[\w-]{10,}\.|-----BEGIN",
    re.IGNORECASE,
)
_SECRETS_READ: Final = Verdict(
    Effect.ASK,
    "a file that may hold secrets was read in this session, and the call sends data to another host",
    "web:secrets-read",
)
_SECRET_SENT: Final = Verdict(
    Effect.ASK, "the call seems to send a secret to another host", "web:secret-sent"
)


class WebTool(Builtin[W]):
    """A tool that sends data to other hosts. Every mode that asks, asks about each host."""

    def __init__(self, web: Lazy[WebServices] | None) -> None:
        self._services = web

    @property
    def web(self) -> WebServices:
        """The web services; raises `unavailable` if there are none."""
        if self._services is None:
            raise ProblemRaised("unavailable", f"{self.name} is not available in this runtime")
        return self._services.value

    def risk(self, args: W) -> Risk:
        """Return DANGEROUS: sent data cannot be recalled, so only a rule or bypass mode allows it
        unasked.
        """
        del args
        return Risk.DANGEROUS

    def check_sent(self, text: str) -> Verdict | None:
        """Return a verdict that asks the user, even if a rule allows the host, when a secret may
        have been read or the text looks like one; else None.
        """
        if _SECRET.search(text):
            return _SECRET_SENT
        return _SECRETS_READ if self.web.has_read_secrets() else None

    def check_url(self, text: str) -> WebUrl:
        """Parse a URL without asking a name server; raises `invalid_arguments`, or `denied` if it
        must not be reached.
        """
        try:
            url = parse_web_url(text)
        except ValueError as error:
            hint = "give a complete URL, such as https://example.org/page"
            raise ProblemRaised("invalid_arguments", str(error), hint=hint, field="url") from None
        refusal = self.web.reach.find_refusal(url)
        if refusal is not None:
            address = f"{url.host}:{url.port}"
            hint = f'the user can allow a host and port with web.allow, such as ["*", "{address}"]'
            raise ProblemRaised("denied", refusal, hint=hint, field="url")
        return url
