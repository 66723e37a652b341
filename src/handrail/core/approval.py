"""Approval requests and the user's replies, as values.

A reply is valid for one use and only for the call that was shown, which its `binding` identifies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from handrail.core.names.caller_words import tool_name
from handrail.core.verdicts import Risk

if TYPE_CHECKING:
    from handrail.core.plan import Change


class Answer(StrEnum):
    """The user's answer. ALWAYS is a yes that also grants `ApprovalRequest.always` for the
    session; ABORT ends everything that the runtime does.
    """

    YES = "yes"
    NO = "no"
    ALWAYS = "always"
    ABORT = "abort"


# The version of the form in which processes exchange replies.
ANSWER_VERSION: Final = 1


class Reply(NamedTuple):
    """The user's answer. `via` is how it was given (terminal, callback, approvals, elicitation), `who`
    is the user, if known; both are for the record. `reason` tells the model why the call is refused.
    """

    answer: Answer
    via: str
    who: str | None = None
    reason: str | None = None

    @property
    def refuses(self) -> bool:
        """Whether the call may not run."""
        return self.answer is Answer.NO or self.answer is Answer.ABORT

    def to_dict(self) -> dict[str, Any]:
        """The form that other processes read."""
        return {
            "v": ANSWER_VERSION,
            "answer": self.answer.value,
            "reason": self.reason,
            "via": self.via,
            "who": self.who,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], binding: str, via: str) -> Reply:
        """Parse a reply that another process wrote. It is a refusal unless it has a valid answer, this
        `binding` and the current version. `via` is the default if the reply has none.
        """
        who, reason, route = given.get("who"), given.get("reason"), given.get("via")
        known = given.get("answer") in [one.value for one in Answer]
        if not known or given.get("binding") != binding or given.get("v") != ANSWER_VERSION:
            return cls(Answer.NO, via)
        return cls(
            Answer(given["answer"]),
            route if isinstance(route, str) else via,
            who if isinstance(who, str) else None,
            reason if isinstance(reason, str) else None,
        )


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
    # The agents from the main agent down to the caller; empty stands for the caller alone.
    chain: tuple[str, ...] = ()
    # What the call would change, for an approver in this process; other processes get `preview`.
    changes: tuple[Change, ...] = field(default=(), compare=False, repr=False)
    # The session in which the call is recorded.
    session: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that other processes and servers read; only a subagent's request has a chain."""
        more: dict[str, Any] = {"chain": list(self.chain)} if len(self.chain) > 1 else {}
        if self.session:
            more["session"] = self.session
        return {
            **more,
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
        """Parse the form of `to_dict`; raises ValueError for anything else."""
        if not isinstance(given, Mapping) or given.keys() - _OPTIONAL != _KEYS:
            raise ValueError("this is not an approval request")
        effects, chain = given["effects"], given.get("chain", [])
        if (
            not isinstance(chain, list)
            or not isinstance(given.get("session", ""), str)
            or not all(isinstance(one, str) for one in chain)
            or not all(isinstance(given[name], str) for name in _TEXTS)
            or not all(isinstance(given[name], str | None) for name in _MAYBE)
            or not isinstance(effects, Mapping | None)
            or given["risk"] not in _RISKS
        ):
            raise ValueError("this is not an approval request")
        return cls(**{**given, "risk": _RISKS[given["risk"]], "chain": tuple(chain)})


_TEXTS = frozenset({"call_id", "tool", "agent", "action", "reason", "preview", "binding"})
_MAYBE = frozenset({"model_says", "always"})
_OPTIONAL = frozenset({"chain", "session"})
_KEYS = _TEXTS | _MAYBE | {"risk", "effects"}
_RISKS = {risk.word: risk for risk in Risk}


def config_line(rule: str) -> str:
    """What a user adds to their own configuration, and where, to make a rule permanent."""
    # Not a line to paste: a key that is correct at the top of a file is wrong after a table header,
    # and a second list `allow` makes the file invalid. A JSON string is also a TOML string, unless it
    # contains DEL, which no rule does.
    return f"{json.dumps(rule, ensure_ascii=False)} in the list allow under [permissions]"


def caller_config_line(rule: str) -> str:
    """The `config_line` of a rule with the tool's name in the caller's dialect, for models."""
    tool, parenthesis, rest = rule.partition("(")
    return config_line(f"{tool_name(tool)}{parenthesis}{rest}")
