"""The parts of the settings that are tables of their own.

`guardrails`, `hooks` and `agents` are only checked for being plain data here: what their keys
mean is known to the engines that read them.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_PLAIN: Final = (str, int, float, bool, type(None))


class PermissionRule(BaseModel):
    """One rule, such as `edit_file(src/**)`, and calls that it must match when it is loaded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str = Field(min_length=1, max_length=4000, description="a tool, and a pattern for it")
    examples: tuple[str, ...] = Field((), description="what the rule must match")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        return {"rule": given} if isinstance(given, str) else given


class Permissions(BaseModel):
    """The rules, by what they decide; deny wins over ask, ask over allow."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: tuple[PermissionRule, ...] = ()
    ask: tuple[PermissionRule, ...] = ()
    deny: tuple[PermissionRule, ...] = ()


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    """The table, if it holds nothing but what JSON can say."""
    waiting: list[Any] = [table]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise ValueError("the keys must be text")
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{value!r} is not a number that can be compared")
        elif not isinstance(value, _PLAIN):
            what = f"{value!r} is neither text, a number, a boolean, a list nor a table"
            raise ValueError(what)
    return table


Table = Annotated[dict[str, Any], AfterValidator(_plain)]
