"""The settings and their defaults.

A new setting needs a rule in `layers/project_policy.py`; without one, project files cannot set it.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_PLAIN: Final = (str, int, float, bool, type(None))


class PermissionRule(BaseModel):
    """One rule, such as `edit_file(src/**)`, with example calls that must match it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str = Field(min_length=1, max_length=4000, description="a tool, and a pattern for it")
    examples: tuple[str, ...] = Field((), description="what the rule must match")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        return {"rule": given} if isinstance(given, str) else given


class Permissions(BaseModel):
    """The rules by effect; deny takes precedence over ask, ask over allow."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: tuple[PermissionRule, ...] = ()
    ask: tuple[PermissionRule, ...] = ()
    deny: tuple[PermissionRule, ...] = ()


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table; raises ValueError if it contains anything but JSON types."""
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


# A very long pattern would slow down every write.
_Glob = Annotated[str, Field(max_length=1000)]


class Settings(BaseModel):
    """All settings; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str = Field("default", description="how much happens without a question")
    dialect: str = Field("canonical", description="the vocabulary shown to the model")
    directories: tuple[str, ...] = Field((), description="further roots beside the workspace")
    allow_delete: bool = Field(False, description="whether delete_file works")
    allow_protected: tuple[_Glob, ...] = Field((), description="globs of protected names to allow")
    break_hard_links: bool = Field(
        False, description="replace a file that has other names, parting it from them"
    )
    dry_run: bool = Field(False, description="plan writes, carry none out")
    durability: Literal["power", "process"] = Field(
        "power", description="what a change survives: loss of power, or of this process"
    )
    journal: bool = Field(
        True, description="keep old contents before a change, and the hashes of old and new"
    )
    shadow: bool = Field(
        True, description="keep copies of all files, to undo commands that may change any of them"
    )
    shadow_files: int = Field(
        100_000, ge=1, le=1_000_000, description="files and folders that are looked at for that"
    )
    shadow_mb: int = Field(512, ge=1, description="megabytes of copies, all together")
    shadow_file_mb: int = Field(
        8, ge=1, le=1024, description="megabytes of the largest file that is copied"
    )
    freshness: Literal["auto", "off", "warn", "strict"] = Field(
        "auto",
        description="changing a file that was not read: auto is strict in the claude dialect, "
        "else warn",
    )
    most_at_once: int = Field(10, ge=1, le=100, description="calls of a batch in flight together")
    heartbeat_s: float = Field(4.0, ge=0, description="seconds between heartbeats; 0: none")
    loop_guard: Literal["off", "warn", "stop"] = Field(
        "stop",
        description="a call repeated with the same outcome: said from the 4th time on, "
        "refused for a minute from the 8th",
    )
    max_chars: int | None = Field(
        None, ge=200, description="cap on the text of every result; unset: as each tool says"
    )
    truncation_strategy: Literal["auto", "start", "end", "both"] = Field(
        "auto",
        description="which part of a result that is too long is shown; auto: as each tool says",
    )
    commands: bool = Field(True, description="whether commands and code can be run at all")
    command_policy: Literal["classify", "allowlist", "blocklist"] = Field(
        "classify",
        description="what is asked of a command beyond the blocklist: its class, a place on "
        "`allowed_commands`, or nothing",
    )
    allowed_commands: tuple[str, ...] = Field(
        (), description="the programs that the policy `allowlist` lets run"
    )
    allowed_only: bool = Field(
        False, description="refuse commands of class dangerous instead of asking"
    )
    blocked_commands: tuple[str, ...] = Field(
        (), description="further commands to refuse in every mode, such as `terraform destroy`"
    )
    programs: dict[str, dict[str, Any]] = Field(
        {}, description="further programs and the class of their commands"
    )
    command_timeout_s: int | None = Field(
        None,
        ge=1,
        le=600,
        description="seconds for a command that names none; unset: as the dialect says",
    )
    max_output_lines: int | None = Field(
        None,
        ge=10,
        le=5000,
        description="lines of a command's output that are shown; unset: 200, in the dialect "
        "claude as many as fit 30,000 characters",
    )
    keep_jobs: bool = Field(False, description="let background jobs outlive the runtime")
    sandbox: Literal["auto", "bubblewrap", "landlock", "none"] = Field(
        "auto", description="what confines commands; auto: the strongest that works here"
    )
    sandbox_require: tuple[str, ...] = Field(
        (), description="properties that must hold, or no command runs"
    )
    accept_no_sandbox: bool = Field(
        False, description="let auto-safe, bypass and sandboxed run commands that nothing holds"
    )
    network: bool = Field(False, description="let commands use the network")
    memory_mb: int | None = Field(
        None, ge=64, description="most memory for each process of a command; unset: no limit"
    )
    reads_without_store: bool = Field(
        False, description="let reads go on when they cannot be recorded"
    )
    store_timeout_s: float = Field(5.0, gt=0, description="how long to wait for a locked store")
    keep_days: int = Field(30, ge=1, description="age at which `handrail gc` drops payloads")
    dead_letters: bool = Field(
        True, description="keep calls that failed by a defect, to be tried again"
    )
    client_roots: bool = Field(
        False, description="let the roots that an MCP client names be further roots"
    )
    permissions: Permissions = Field(
        Permissions(), description="rules that allow, ask about or deny calls"
    )
    guardrails: Table = Field({}, description="limits that hold in every mode")
    hooks: Table = Field({}, description="programs that are run around calls")
    agents: Table = Field({}, description="which tools each agent may use")
