"""Declares fields of settings with limits, descriptions and checks, without importing pydantic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, field
from typing import Any, Final

# The configuration of pydantic for classes of settings: unknown keys are errors.
CLOSED: Final = {"extra": "forbid"}


def setting(default: Any = MISSING, **constraints: Any) -> Any:
    """Return a field with limits and a description, which are passed to pydantic's `Field`."""
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=constraints)
    return field(default=default, metadata=constraints)


class FieldValidator:
    """An annotation with a function that checks or converts values before or after pydantic does."""

    def __init__(self, function: Callable[[Any], Any], *, before: bool = False) -> None:
        self._function = function
        self._before = before

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the annotated type with the function."""
        from pydantic_core import core_schema

        schema = handler(source)
        if self._before:
            return core_schema.no_info_before_validator_function(self._function, schema)
        return core_schema.no_info_after_validator_function(self._function, schema)


class SecretText:
    """A secret text of a setting: `reveal` returns it, all other output shows stars."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the secret text."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretText) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "SecretText('***')"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """A schema that accepts text and serializes to stars."""
        from pydantic_core import core_schema

        made = core_schema.no_info_after_validator_function(cls, core_schema.str_schema())
        stars = core_schema.plain_serializer_function_ser_schema(lambda _: "***")
        kept = core_schema.is_instance_schema(cls)
        return core_schema.union_schema([kept, made], serialization=stars)
