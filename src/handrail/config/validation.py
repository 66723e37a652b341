"""Validates settings with pydantic, which is loaded only if any were given."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from handrail.config.model import Settings

__all__ = ["ValidationError", "dump_settings", "dump_value", "validate_settings"]


def validate_settings(values: Mapping[str, Any]) -> Settings:
    """Return the settings with these values; raises pydantic's ValidationError."""
    return _adapter().validate_python(values)


def dump_settings(settings: Settings) -> dict[str, Any]:
    """Return every setting as a value of JSON."""
    dumped: dict[str, Any] = _adapter().dump_python(settings, mode="json")
    return dumped


def dump_value(value: Any) -> Any:
    """Return the value of one setting, or of a part of it, as a value of JSON."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


@cache
def _adapter() -> TypeAdapter[Settings]:
    return TypeAdapter(Settings)
