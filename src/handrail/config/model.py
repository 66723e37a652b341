"""The settings and their defaults.

A new setting needs a rule in `layers/project_policy.py`; without one, project files cannot set it.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_PLAIN: Final = (str, int, float, bool, type(None))


class PermissionRule(BaseModel):
    """One rule, such as `edit_file(src/**)`, with example calls that must match it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    rule: str = Field(min_length=1, max_length=4000, description="a tool, and a pattern for it")
    examples: tuple[str, ...] = Field((), description="what the rule must match")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        return {"rule": given} if isinstance(given, str) else given


class Permissions(BaseModel):
    """The rules by effect; deny takes precedence over ask, ask over allow."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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


def _check_network(given: Any) -> Any:
    """Return whether commands have network access, or their hosts; raises ValueError for others."""
    if isinstance(given, bool):
        return given
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise ValueError("it must be true, false or a list of hosts, such as example.org")
    # Rarely needed, and not free to import.
    from handrail.core.names.hosts import HostList

    HostList(given)
    return tuple(given)


Table = Annotated[dict[str, Any], AfterValidator(_plain)]


# A very long pattern would slow down every write.
_Glob = Annotated[str, Field(max_length=1000)]


class ModelPrice(BaseModel):
    """What a million tokens cost."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(None, ge=0)
    cache_write: float | None = Field(None, ge=0)


class ModelTable(BaseModel):
    """One model: where its service is, which key belongs there, and its limits."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    wire: Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
    base_url: str = Field(max_length=2000)
    model: str = Field("", max_length=500)
    key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    key_command: tuple[str, ...] | None = Field(None, min_length=1)
    headers: dict[str, str] = {}
    proxy: str | None = None
    ca_bundle: str | None = None
    context_tokens: int | None = Field(None, ge=1000)
    max_output_tokens: int | None = Field(None, ge=1)
    images: bool = True
    reasoning: Literal["minimal", "low", "medium", "high"] | int | None = None
    idle_s: float = Field(120.0, gt=0, le=3600)
    retries: int = Field(4, ge=0, le=20)
    stream_retries: int = Field(5, ge=0, le=20)
    price: ModelPrice | None = None

    @model_validator(mode="after")
    def _one_key(self) -> ModelTable:
        if self.key_env is not None and self.key_command is not None:
            raise ValueError("key_env and key_command exclude each other")
        return self


class Settings(BaseModel):
    """All settings; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str = Field("default", description="permission mode: what runs without asking")
    dialect: str = Field("canonical", description="tool vocabulary shown to the model")
    directories: tuple[str, ...] = Field(
        (), description="additional directories that tools may use"
    )
    allow_delete: bool = Field(False, description="enable delete_file")
    allow_protected: tuple[_Glob, ...] = Field((), description="globs of protected names to allow")
    break_hard_links: bool = Field(
        False, description="replace a file with several hard links, which separates it from them"
    )
    dry_run: bool = Field(False, description="plan changes without making them")
    durability: Literal["power", "process"] = Field(
        "power", description="what a change survives: loss of power, or the end of this process"
    )
    journal: bool = Field(
        True, description="keep old contents and the hashes of old and new, for undo"
    )
    shadow: bool = Field(True, description="keep copies of files, to undo commands")
    shadow_files: int = Field(
        0, ge=0, description="limit on files and folders for these copies; 0: by shadow_mb alone"
    )
    shadow_mb: int = Field(
        2048, ge=1, description="limit on the total size of the copies, in megabytes"
    )
    shadow_file_mb: int = Field(
        8, ge=1, le=1024, description="largest file that is copied, in megabytes"
    )
    freshness: Literal["auto", "off", "warn", "strict"] = Field(
        "auto",
        description="changing a file that was not read: auto is strict in the claude dialect, else warn",
    )
    most_at_once: int = Field(
        10, ge=1, le=100, description="calls of a batch that run at the same time"
    )
    heartbeat_s: float = Field(4.0, ge=0, description="seconds between heartbeats; 0: none")
    loop_guard: Literal["off", "warn", "stop"] = Field(
        "stop",
        description="a call repeated with the same outcome: warning from the 4th time on, refused for a minute from the 8th",
    )
    max_chars: int | None = Field(
        None, ge=200, description="limit on the text of every result; unset: the limit of the tool"
    )
    truncation_strategy: Literal["auto", "start", "end", "both"] = Field(
        "auto",
        description="which part of a long result is shown; auto: decided by the tool",
    )
    commands: bool = Field(True, description="enable commands and code")
    command_policy: Literal["classify", "allowlist", "blocklist"] = Field(
        "classify",
        description="check of commands beyond the blocklist: by class, by `allowed_commands`, or none",
    )
    allowed_commands: tuple[str, ...] = Field(
        (), description="programs that the policy `allowlist` allows"
    )
    allowed_only: bool = Field(
        False, description="refuse commands of class dangerous instead of asking"
    )
    blocked_commands: tuple[str, ...] = Field(
        (), description="additional commands to refuse in every mode, such as `terraform destroy`"
    )
    programs: dict[str, dict[str, Any]] = Field(
        {}, description="additional programs and the class of their commands"
    )
    command_timeout_s: int | None = Field(
        None,
        ge=1,
        le=600,
        description="default timeout of commands in seconds; unset: the default of the dialect",
    )
    max_output_lines: int | None = Field(
        None,
        ge=10,
        le=5000,
        description="lines of command output that are shown; unset: 200, in the dialect claude up to 30,000 characters",
    )
    keep_jobs: bool = Field(False, description="let background jobs outlive the runtime")
    sandbox: Literal["auto", "bubblewrap", "landlock", "none"] = Field(
        "auto", description="sandbox for commands; auto: the strongest that works here"
    )
    sandbox_require: tuple[str, ...] = Field(
        (), description="sandbox properties that must be enforced, otherwise no command runs"
    )
    accept_no_sandbox: bool = Field(
        False, description="let auto-safe, bypass and sandboxed run commands without a sandbox"
    )
    network: Annotated[bool | tuple[str, ...], BeforeValidator(_check_network)] = Field(
        False,
        description="network access of commands: all, none, or a list of hosts such as example.org,"
        " *.example.org or localhost:8080",
    )
    memory_mb: int | None = Field(
        None,
        ge=64,
        description="memory limit for each process of a command, in megabytes; unset: none",
    )
    reads_without_store: bool = Field(False, description="allow reads that cannot be recorded")
    store_timeout_s: float = Field(5.0, gt=0, description="seconds to wait for a locked store")
    keep_days: int = Field(
        30, ge=1, description="age in days at which `handrail gc` deletes payloads"
    )
    auto_gc: bool = Field(
        True,
        description="once a day, when a command or an MCP session ends, delete some of what `handrail gc` would delete",
    )
    dead_letters: bool = Field(
        True, description="keep calls that failed because of a bug, for retries"
    )
    client_roots: bool = Field(
        False, description="use the roots of an MCP client as additional directories"
    )
    permissions: Permissions = Field(
        Permissions(), description="rules that allow, ask about or deny calls"
    )
    guardrails: Table = Field({}, description="limits that apply in every mode")
    hooks: Table = Field({}, description="programs that run before and after calls")
    agents: Table = Field({}, description="which tools each agent may use")
    model: str | None = Field(
        None, description="model to use: a name of `models`, SERVICE:MODEL or script:FILE"
    )
    models: dict[str, ModelTable] = Field({}, description="models and how they are reached")
