"""Converts error responses of a provider to `ModelFailed`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from handrail.core.ports.models import FailureCode, ModelFailed
from handrail.core.text.safe_text import safe_text

_MAX_MESSAGE: Final = 1000
_OVERFLOW: Final = re.compile(
    r"context[ _](?:length|window|size)|prompt is too long|too many (?:input )?tokens"
    r"|maximum (?:prompt|context|input|number of tokens)|input (?:token count|length) .{0,60}exceed"
    r"|request_too_large",
    re.IGNORECASE,
)
_CONTENT: Final = re.compile(r"content[ _](?:policy|filter)|safety system", re.IGNORECASE)
# The values that providers use as `type`, `code` or `status` of an error.
_WORDS: Final[Mapping[str, FailureCode]] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "billing_error": "auth",
    "insufficient_quota": "auth",
    "context_length_exceeded": "context_overflow",
    "request_too_large": "context_overflow",
    "content_policy_violation": "content_refused",
    "content_filter": "content_refused",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "resource_exhausted": "rate_limited",
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "internal_server_error": "overloaded",
    "timeout_error": "overloaded",
    "unavailable": "overloaded",
    "internal": "overloaded",
    "deadline_exceeded": "overloaded",
    "invalid_request_error": "invalid_request",
    "not_found_error": "invalid_request",
    "invalid_argument": "invalid_request",
    "not_found": "invalid_request",
}
_RETRYABLE: Final = frozenset({"rate_limited", "overloaded", "network", "idle", "cut"})


def failure_from_body(
    body: Any, status: int | None, *, retry_after_s: float | None = None
) -> ModelFailed:
    """Return the failure that an error body means, by its code and then by its status."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    words, text = _read_error(error)
    code = _code_by_words(words) or _code_by_status(status)
    if code == "invalid_request" or (code == "overloaded" and status in (400, 413, 422)):
        code = _code_by_text(text) or code
    status_note = f" (status {status})" if status is not None else ""
    return ModelFailed(
        code,
        f"{_SUMMARY[code]}{status_note}: {text}" if text else f"{_SUMMARY[code]}{status_note}",
        status=status,
        retryable=code in _RETRYABLE and not 300 <= (status or 0) < 400,
        retry_after_s=retry_after_s,
    )


_SUMMARY: Final[Mapping[FailureCode, str]] = {
    "auth": "the provider refuses the key",
    "invalid_request": "the provider refuses the request",
    "context_overflow": "the conversation is too long for the model",
    "rate_limited": "the provider limits the rate of requests",
    "overloaded": "the provider has a failure or is overloaded",
    "network": "the provider cannot be reached",
    "idle": "the provider sent nothing",
    "cut": "the stream was cut off",
    "over_limit": "the message is over a limit",
    "content_refused": "the provider refuses the content",
}


def _read_error(error: Any) -> tuple[list[str], str]:
    if isinstance(error, str):
        return [], _clean(error)
    if not isinstance(error, Mapping):
        return [], ""
    fields = [error.get(name) for name in ("code", "type", "status")]
    message = error.get("message")
    return [field.lower() for field in fields if isinstance(field, str)], _clean(message)


def _clean(text: Any) -> str:
    return safe_text(text[:_MAX_MESSAGE], one_line=True) if isinstance(text, str) else ""


def _code_by_words(words: list[str]) -> FailureCode | None:
    return next((_WORDS[word] for word in words if word in _WORDS), None)


def _code_by_text(text: str) -> FailureCode | None:
    if _OVERFLOW.search(text):
        return "context_overflow"
    return "content_refused" if _CONTENT.search(text) else None


def _code_by_status(status: int | None) -> FailureCode:
    if status is None or status >= 500:
        return "overloaded"
    if 300 <= status < 400:
        return "network"
    return _STATUS.get(status, "invalid_request")


_STATUS: Final[Mapping[int, FailureCode]] = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "overloaded",
    409: "overloaded",
    413: "context_overflow",
    429: "rate_limited",
}


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds to wait from `retry-after-ms` or `retry-after`, None without either."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            seconds = _seconds_until(value, now)
        if seconds >= 0:
            return seconds
    return None


def _seconds_until(date: str, now: datetime) -> float:
    """Return the seconds until an HTTP date, 0 for one in the past, -1 for an invalid date."""
    try:
        until = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return -1.0
    if until.tzinfo is None:
        return -1.0
    return max((until - now).total_seconds(), 0.0)
