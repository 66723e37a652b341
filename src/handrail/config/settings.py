"""The settings and their defaults: keyword arguments over one file of the person's.

Only the person's own file is read. Nothing inside a workspace can change a setting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handrail.config.sections import Permissions, Table
from handrail.core.problems import ProblemRaised


class Settings(BaseModel):
    """Everything that can be set; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str = Field("default", description="how much happens without a question")
    dialect: str = Field("canonical", description="the vocabulary shown to the model")
    directories: tuple[str, ...] = Field((), description="further roots beside the workspace")
    allow_delete: bool = Field(False, description="whether delete_file works")
    allow_protected: tuple[str, ...] = Field((), description="globs of protected names to allow")
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
    freshness: Literal["auto", "off", "warn", "strict"] = Field(
        "auto",
        description="changing a file that was not read: auto is strict in the claude dialect, "
        "else warn",
    )
    most_at_once: int = Field(10, ge=1, le=100, description="calls of a batch in flight together")
    heartbeat_s: float = Field(4.0, ge=0, description="seconds between heartbeats; 0: none")
    max_chars: int | None = Field(
        None, ge=200, description="cap on the text of every result; unset: as each tool says"
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
    max_output_lines: int = Field(
        200, ge=10, le=5000, description="lines of a command's output that are shown"
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
    permissions: Permissions = Field(
        Permissions(), description="rules that allow, ask about or deny calls"
    )
    guardrails: Table = Field({}, description="limits that hold in every mode")
    hooks: Table = Field({}, description="programs that are run around calls")
    agents: Table = Field({}, description="which tools each agent may use")


def load_settings(file: Path | None, overrides: Mapping[str, Any]) -> Settings:
    """Defaults, then the person's file if it exists, then what the caller gave."""
    values: dict[str, Any] = {}
    if file is not None and file.is_file():
        values = _read(file)
    values.update({key: value for key, value in overrides.items() if value is not None})
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _wrong(error, file) from error


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # Never a silent fall-back to defaults: the person meant something by this file.
        raise ProblemRaised(
            "invalid_arguments",
            f"the configuration {str(file)!r} cannot be read: {error}",
            hint="mend the file, or move it away",
        ) from error


def _wrong(error: ValidationError, file: Path | None) -> ProblemRaised:
    rows = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    where = f" (also looked in {str(file)!r})" if file is not None and file.is_file() else ""
    return ProblemRaised(
        "invalid_arguments",
        f"these settings do not fit: {'; '.join(rows)}{where}",
        hint=f"known settings: {', '.join(Settings.model_fields)}",
    )
