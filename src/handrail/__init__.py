"""Handrail: the tool runtime for coding agents.

Public names are imported on first use, so that `import handrail` costs next to nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.agent.agent import Agent
    from handrail.agent.budget import Budget
    from handrail.assembly.runtime_opener import open
    from handrail.core.agent_results import AgentReport, AgentResult, Usage
    from handrail.core.approval import Answer, ApprovalRequest, Reply
    from handrail.core.arguments.params import Params
    from handrail.core.call import ToolCall
    from handrail.core.context import ToolContext
    from handrail.core.effects import Effects
    from handrail.core.events import Event
    from handrail.core.footprint import Access, Footprint, Touch
    from handrail.core.paths import ReadPath, TreePath, WritePath
    from handrail.core.plan import Change, Plan
    from handrail.core.ports.machine import Approver
    from handrail.core.ports.questions import QuestionReply, QuestionRequest
    from handrail.core.problems import Problem, ProblemRaised
    from handrail.core.results import (
        FileRead,
        Output,
        PermissionGranted,
        QueueCommand,
        Status,
        ToolResult,
    )
    from handrail.core.tool import Group, Tool
    from handrail.core.verdicts import Effect, Risk, Verdict
    from handrail.dialects.tool_sets import tool_set
    from handrail.engine.function_tool import tool
    from handrail.engine.hooking.callbacks import Hook, HookCall, Opinion, Rewrite
    from handrail.engine.planning.dry_run import PlannedAction
    from handrail.engine.registry import DuplicateToolError, Registry, ToolNotFoundError
    from handrail.engine.runtime import Runtime
    from handrail.planmode.item import PlanItem, PlanStatus

__version__ = "0.2.0"

_PUBLIC = {
    "open": "handrail.assembly.runtime_opener",
    "Agent": "handrail.agent.agent",
    "AgentReport": "handrail.core.agent_results",
    "AgentResult": "handrail.core.agent_results",
    "Budget": "handrail.agent.budget",
    "Usage": "handrail.core.agent_results",
    "Answer": "handrail.core.approval",
    "ApprovalRequest": "handrail.core.approval",
    "Reply": "handrail.core.approval",
    "ToolCall": "handrail.core.call",
    "ToolContext": "handrail.core.context",
    "Event": "handrail.core.events",
    "Access": "handrail.core.footprint",
    "Footprint": "handrail.core.footprint",
    "Touch": "handrail.core.footprint",
    "ReadPath": "handrail.core.paths",
    "TreePath": "handrail.core.paths",
    "WritePath": "handrail.core.paths",
    "Change": "handrail.core.plan",
    "Plan": "handrail.core.plan",
    "Approver": "handrail.core.ports.machine",
    "QuestionReply": "handrail.core.ports.questions",
    "QuestionRequest": "handrail.core.ports.questions",
    "Problem": "handrail.core.problems",
    "ProblemRaised": "handrail.core.problems",
    "FileRead": "handrail.core.results",
    "Output": "handrail.core.results",
    "PermissionGranted": "handrail.core.results",
    "QueueCommand": "handrail.core.results",
    "Status": "handrail.core.results",
    "ToolResult": "handrail.core.results",
    "Group": "handrail.core.tool",
    "Params": "handrail.core.arguments.params",
    "Tool": "handrail.core.tool",
    "Effects": "handrail.core.effects",
    "Effect": "handrail.core.verdicts",
    "Risk": "handrail.core.verdicts",
    "Verdict": "handrail.core.verdicts",
    "tool": "handrail.engine.function_tool",
    "tool_set": "handrail.dialects.tool_sets",
    "Hook": "handrail.engine.hooking.callbacks",
    "HookCall": "handrail.engine.hooking.callbacks",
    "Opinion": "handrail.engine.hooking.callbacks",
    "Rewrite": "handrail.engine.hooking.callbacks",
    "PlanItem": "handrail.planmode.item",
    "PlanStatus": "handrail.planmode.item",
    "PlannedAction": "handrail.engine.planning.dry_run",
    "DuplicateToolError": "handrail.engine.registry",
    "Registry": "handrail.engine.registry",
    "ToolNotFoundError": "handrail.engine.registry",
    "Runtime": "handrail.engine.runtime",
}

__all__ = [
    "Access",
    "Agent",
    "AgentReport",
    "AgentResult",
    "Answer",
    "ApprovalRequest",
    "Approver",
    "Budget",
    "Change",
    "DuplicateToolError",
    "Effect",
    "Effects",
    "Event",
    "FileRead",
    "Footprint",
    "Group",
    "Hook",
    "HookCall",
    "Opinion",
    "Output",
    "Params",
    "PermissionGranted",
    "Plan",
    "PlanItem",
    "PlanStatus",
    "PlannedAction",
    "Problem",
    "ProblemRaised",
    "QuestionReply",
    "QuestionRequest",
    "QueueCommand",
    "ReadPath",
    "Registry",
    "Reply",
    "Rewrite",
    "Risk",
    "Runtime",
    "Status",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolNotFoundError",
    "ToolResult",
    "Touch",
    "TreePath",
    "Usage",
    "Verdict",
    "WritePath",
    "__version__",
    "open",
    "tool",
    "tool_set",
]

if sys.platform == "win32":
    raise ImportError("Handrail runs on Linux and macOS; on Windows, use it inside WSL")


def __getattr__(name: str) -> Any:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'handrail' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
