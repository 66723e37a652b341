"""A question to the user and the answer to it, as values.

An answer is good for exactly the call that was shown: its `binding`, one use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Self

from handrail.core.verdicts import Risk


class Answer(StrEnum):
    """The user's answer. ALWAYS is a yes that also grants `ApprovalRequest.always` for the
    session; ABORT ends everything that the runtime does.
    """

    YES = "yes"
    NO = "no"
    ALWAYS = "always"
    ABORT = "abort"


class Reply(NamedTuple):
    """An answer and, for the record, how it came (terminal, callback, approvals, elicitation) and
    from whom, if known. `reason` is why the call is refused; the model reads it.
    """

    answer: Answer
    via: str
    who: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to the user: may this one call happen?

    `action` says what would be done, in full for a command; `preview` shows it (a diff, a
    command's effects, long arguments). `model_says` is text the model wrote about its own
    call, to be labelled as such. `binding` ties the answer to exactly this call, these
    arguments and this plan. `effects` is what a command would touch. `always` is the rule
    that "always" would grant for the session, None if there is none.
    """

    call_id: str
    tool: str
    action: str
    reason: str
    risk: Risk
    preview: str
    binding: str
    model_says: str | None = None
    agent: str = "main"
    effects: Mapping[str, Any] | None = None
    always: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape that other processes and servers read."""
        return {
            "call_id": self.call_id,
            "tool": self.tool,
            "agent": self.agent,
            "risk": self.risk.word,
            "action": self.action,
            "reason": self.reason,
            "model_says": self.model_says,
            "preview": self.preview,
            "effects": None if self.effects is None else dict(self.effects),
            "always": self.always,
            "binding": self.binding,
        }

    @classmethod
    def from_dict(cls, given: Any) -> Self:
        """Read that shape back; raises ValueError if it is another one."""
        if not isinstance(given, Mapping) or given.keys() != _TEXTS | _MAYBE | {"risk", "effects"}:
            raise ValueError("this is not an approval request")
        effects = given["effects"]
        if (
            not all(isinstance(given[name], str) for name in _TEXTS)
            or not all(isinstance(given[name], str | None) for name in _MAYBE)
            or not isinstance(effects, Mapping | None)
            or given["risk"] not in _RISKS
        ):
            raise ValueError("this is not an approval request")
        return cls(**{**given, "risk": _RISKS[given["risk"]]})


_TEXTS = frozenset({"call_id", "tool", "agent", "action", "reason", "preview", "binding"})
_MAYBE = frozenset({"model_says", "always"})
_RISKS = {risk.word: risk for risk in Risk}


def config_line(rule: str) -> str:
    """What a user adds to their own configuration, and where, to make a rule permanent."""
    # No line to paste: one that is right on top of a file is wrong below a table, and a second
    # list of the same name breaks the file. A JSON string is a TOML string too, but for DEL,
    # which no rule holds.
    return f"{json.dumps(rule, ensure_ascii=False)} in the list allow under [permissions]"
