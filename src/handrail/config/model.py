"""The settings and their defaults, as plain dataclasses.

`validation.py` builds the pydantic models from them: only settings that are given need these. A
new setting needs a rule in `layers/project_policy.py`; without one, project files cannot set it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Annotated, Any, ClassVar, Final, Literal

from handrail.config.remote_server_tables import RemoteServers
from handrail.config.setting_fields import CLOSED as _CLOSED
from handrail.config.setting_fields import FieldValidator as _Validator
from handrail.config.setting_fields import setting

_PLAIN: Final = (str, int, float, bool, type(None))
_MAX_GLOB: Final = 1000


@dataclass(frozen=True)
class PermissionRule:
    """One rule, such as `edit_file(src/**)`, with example calls that must match it."""

    __pydantic_config__: ClassVar = _CLOSED

    rule: str = setting(min_length=1, max_length=4000, description="a tool, and a pattern for it")
    examples: tuple[str, ...] = setting((), description="what the rule must match")


def _rule_table(given: Any) -> Any:
    return {"rule": given} if isinstance(given, str) else given


_Rule = Annotated[PermissionRule, _Validator(_rule_table, before=True)]


@dataclass(frozen=True)
class Permissions:
    """The rules by effect; deny takes precedence over ask, ask over allow."""

    __pydantic_config__: ClassVar = _CLOSED

    allow: tuple[_Rule, ...] = ()
    ask: tuple[_Rule, ...] = ()
    deny: tuple[_Rule, ...] = ()


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


Table = Annotated[dict[str, Any], _Validator(_plain)]


def _short(glob: str) -> str:
    # A very long pattern would slow down every write.
    if len(glob) > _MAX_GLOB:
        raise ValueError(f"it may have at most {_MAX_GLOB} characters")
    return glob


_Glob = Annotated[str, _Validator(_short)]


@dataclass(frozen=True)
class ModelPrice:
    """The price of a million tokens."""

    __pydantic_config__: ClassVar = _CLOSED

    input: float = setting(ge=0)
    output: float = setting(ge=0)
    cache_read: float | None = setting(None, ge=0)
    cache_write: float | None = setting(None, ge=0)


@dataclass(frozen=True)
class ModelTable:
    """One model: where its service is, which key belongs there, and its limits."""

    __pydantic_config__: ClassVar = _CLOSED

    wire: Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
    base_url: str = setting(max_length=2000)
    model: str = setting("", max_length=500)
    key_env: str | None = setting(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    key_command: tuple[str, ...] | None = setting(None, min_length=1)
    headers: dict[str, str] = setting({})
    proxy: str | None = None
    ca_bundle: str | None = None
    context_tokens: int | None = setting(None, ge=1000)
    max_output_tokens: int | None = setting(None, ge=1)
    images: bool = True
    reasoning: Literal["minimal", "low", "medium", "high"] | int | None = None
    idle_s: float = setting(120.0, gt=0, le=3600)
    retries: int = setting(4, ge=0, le=20)
    stream_retries: int = setting(5, ge=0, le=20)
    price: ModelPrice | None = None

    def __post_init__(self) -> None:
        if self.key_env is not None and self.key_command is not None:
            raise ValueError("key_env and key_command exclude each other")


@dataclass(frozen=True)
class BudgetTable:
    """Limits of each task of an agent; None means no limit."""

    __pydantic_config__: ClassVar = _CLOSED

    tokens: int | None = setting(None, ge=1)
    usd: float | None = setting(None, gt=0)
    minutes: float | None = setting(None, gt=0)
    steps: int | None = setting(None, ge=1)
    calls: int | None = setting(None, ge=0)


def _check_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the hosts; raises ValueError for an invalid one."""
    # Rarely needed, and not free to import.
    from handrail.core.names.hosts import HostList

    HostList([one for one in hosts if one != "*"])
    return hosts


_SEARCH: Final = r"^(duckduckgo|ddgs|https?://\S+)$"
_Hosts = Annotated[tuple[str, ...], _Validator(_check_hosts)]


@dataclass(frozen=True)
class WebTable:
    """Which hosts the web tools reach, and the limits of their requests."""

    __pydantic_config__: ClassVar = _CLOSED

    allow: _Hosts = ("*",)
    deny: _Hosts = ()
    max_bytes: int = setting(5_000_000, ge=1_000, le=50_000_000)
    first_byte_s: float = setting(10.0, gt=0, le=120)
    body_s: float = setting(30.0, gt=0, le=300)
    cache_s: float = setting(900.0, ge=0, le=86_400)
    robots: bool = False
    per_host_s: float = setting(0.0, ge=0, le=60)
    search: str = setting("duckduckgo", max_length=500, pattern=_SEARCH)
    browser: str | None = setting(None, pattern="^/")


@dataclass(frozen=True)
class SkillSettings:
    """Where skills are looked for, and how much of them is read."""

    __pydantic_config__: ClassVar = _CLOSED

    folders: tuple[str, ...] = setting((), description="further folders with skills of yours")
    disabled: tuple[str, ...] = setting((), description="names of skills that are not used")
    max_kb: int = setting(64, ge=1, le=1000, description="largest SKILL.md that is read")


@dataclass(frozen=True)
class LanguageServerTable:
    """One language server: its program, and the files that it is for."""

    __pydantic_config__: ClassVar = _CLOSED

    command: tuple[str, ...] = setting(min_length=1, description="program and arguments")
    extensions: dict[str, str] | tuple[str, ...] = setting(
        (), description="file endings such as .py, or a table of endings and language ids"
    )
    options: Table = setting({}, description="initializationOptions of the protocol")
    settings: Table = setting({}, description="answers to workspace/configuration")


@dataclass(frozen=True)
class LanguageServerSettings:
    """Which language servers are used, and how long one may take."""

    __pydantic_config__: ClassVar = _CLOSED

    enabled: Literal["found", "configured", "off"] = "found"
    initialize_s: float = setting(45.0, gt=0, le=600)
    request_s: float = setting(3.0, gt=0, le=600)
    wait_s: float = setting(5.0, gt=0, le=600)
    after_edit: bool = setting(
        False, description="add diagnostics of servers that run to the results of edits"
    )
    servers: dict[str, LanguageServerTable] = setting({})


@dataclass(frozen=True)
class Settings:
    """All settings; unknown keys are errors."""

    __pydantic_config__: ClassVar = _CLOSED

    mode: str = setting("default", description="permission mode: what runs without asking")
    dialect: str = setting("canonical", description="tool vocabulary shown to the model")
    directories: tuple[str, ...] = setting(
        (), description="additional directories that tools may use"
    )
    allow_delete: bool = setting(False, description="enable delete_file")
    allow_protected: tuple[_Glob, ...] = setting(
        (), description="globs of protected names to allow"
    )
    break_hard_links: bool = setting(
        False, description="replace a file with several hard links, which separates it from them"
    )
    dry_run: bool = setting(False, description="plan changes without making them")
    durability: Literal["power", "process"] = setting(
        "power", description="what a change survives: loss of power, or the end of this process"
    )
    journal: bool = setting(
        True, description="keep old contents and the hashes of old and new, for undo"
    )
    shadow: bool = setting(True, description="keep copies of files, to undo commands")
    shadow_files: int = setting(
        0, ge=0, description="limit on files and folders for these copies; 0: by shadow_mb alone"
    )
    shadow_mb: int = setting(
        2048, ge=1, description="limit on the total size of the copies, in megabytes"
    )
    shadow_file_mb: int = setting(
        8, ge=1, le=1024, description="largest file that is copied, in megabytes"
    )
    freshness: Literal["auto", "off", "warn", "strict"] = setting(
        "auto",
        description="changing a file that was not read: auto is strict in the claude dialect, else warn",
    )
    most_at_once: int = setting(
        10, ge=1, le=100, description="calls of a batch that run at the same time"
    )
    heartbeat_s: float = setting(4.0, ge=0, description="seconds between heartbeats; 0: none")
    loop_guard: Literal["off", "warn", "stop"] = setting(
        "stop",
        description="a call repeated with the same outcome: warning from the 4th time on, refused for a minute from the 8th",
    )
    max_chars: int | None = setting(
        None, ge=200, description="limit on the text of every result; unset: the limit of the tool"
    )
    truncation_strategy: Literal["auto", "start", "end", "both"] = setting(
        "auto",
        description="which part of a long result is shown; auto: decided by the tool",
    )
    commands: bool = setting(True, description="enable commands and code")
    command_policy: Literal["classify", "allowlist", "blocklist"] = setting(
        "classify",
        description="check of commands beyond the blocklist: by class, by `allowed_commands`, or none",
    )
    allowed_commands: tuple[str, ...] = setting(
        (), description="programs that the policy `allowlist` allows"
    )
    allowed_only: bool = setting(
        False, description="refuse commands of class dangerous instead of asking"
    )
    blocked_commands: tuple[str, ...] = setting(
        (), description="additional commands to refuse in every mode, such as `terraform destroy`"
    )
    programs: dict[str, dict[str, Any]] = setting(
        {}, description="additional programs and the class of their commands"
    )
    command_timeout_s: int | None = setting(
        None,
        ge=1,
        le=600,
        description="default timeout of commands in seconds; unset: the default of the dialect",
    )
    max_output_lines: int | None = setting(
        None,
        ge=10,
        le=5000,
        description="lines of command output that are shown; unset: 200, in the dialect claude up to 30,000 characters",
    )
    keep_jobs: bool = setting(False, description="let background jobs outlive the runtime")
    sandbox: Literal["auto", "bubblewrap", "landlock", "none"] = setting(
        "auto", description="sandbox for commands; auto: the strongest that works here"
    )
    sandbox_require: tuple[str, ...] = setting(
        (), description="sandbox properties that must be enforced, otherwise no command runs"
    )
    accept_no_sandbox: bool = setting(
        False, description="let auto-safe, bypass and sandboxed run commands without a sandbox"
    )
    network: Annotated[bool | tuple[str, ...], _Validator(_check_network, before=True)] = setting(
        False,
        description="network access of commands: true, false, or a list of hosts such as example.org,"
        " *.example.org or localhost:8080",
    )
    memory_mb: int | None = setting(
        None,
        ge=64,
        description="memory limit for each process of a command, in megabytes; unset: none",
    )
    reads_without_store: bool = setting(False, description="allow reads that cannot be recorded")
    store_timeout_s: float = setting(5.0, gt=0, description="seconds to wait for a locked store")
    keep_days: int = setting(
        30, ge=1, description="age in days at which `handrail gc` deletes payloads"
    )
    keep_conversations_days: int = setting(
        90,
        ge=1,
        description="age in days at which `handrail gc` deletes conversations, counted from their last task",
    )
    auto_gc: bool = setting(
        True,
        description="once a day, when a command or an MCP session ends, delete some of what `handrail gc` would delete",
    )
    dead_letters: bool = setting(
        True, description="keep calls that failed because of a bug, for retries"
    )
    client_roots: bool = setting(
        False, description="use the roots of an MCP client as additional directories"
    )
    telemetry: bool = setting(
        False,
        description="report spans and metrics to the OpenTelemetry providers of the program",
    )
    permissions: Permissions = setting(
        Permissions(), description="rules that allow, ask about or deny calls"
    )
    guardrails: Table = setting({}, description="limits that apply in every mode")
    hooks: Table = setting({}, description="programs that run before and after calls")
    agents: Table = setting({}, description="which tools each agent may use")
    model: str | None = setting(
        None, description="model to use: a name of `models`, SERVICE:MODEL or script:FILE"
    )
    small_model: str | None = setting(
        None, description="model for short work such as summaries (default: `model`)"
    )
    budget: BudgetTable = setting(BudgetTable(), description="limits of each task of an agent")
    max_steps: int = setting(50, ge=1, description="model responses per task of an agent")
    models: dict[str, ModelTable] = setting({}, description="models and how they are reached")
    web: WebTable = setting(WebTable(), description="hosts and limits of the web tools")
    skills: SkillSettings = setting(
        SkillSettings(), description="folders, disabled names and limits of skills"
    )
    mcp: RemoteServers = setting(RemoteServers(), description="MCP servers of others")
    lsp: LanguageServerSettings = setting(
        LanguageServerSettings(), description="language servers and how they are used"
    )


SETTING_NAMES: Final = tuple(one.name for one in fields(Settings))
RULE_LISTS: Final = tuple(one.name for one in fields(Permissions))
