"""Detects allow rules that would allow nearly everything; they can be neither written nor granted.

Programs that are not in the tables are not restricted here; their rules are matched by their words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.core.traits import RuleFamily
from handrail.policy.rules.command_pattern import CommandPattern, parse_command_pattern
from handrail.policy.rules.paths.pattern import matches_whole_trees
from handrail.policy.rules.rule import ANY_TOOL, MCP_PREFIX, declared_traits


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_SHELLS: Final = word_set("sh bash dash zsh ksh mksh ash fish csh tcsh busybox pwsh")
_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|ipython|ruby|perl|php|node|nodejs|deno|bun|lua|luajit|tclsh|expect|irb|ghci"
    r"|rscript|julia|osascript|guile|racket|groovy|scala|jshell|tsx|ts-node|awk|gawk|mawk|nawk)"
    r"[\d.]*"
)
# Programs that run the command in their arguments or their input.
_COMMAND_RUNNERS: Final = word_set(
    "sudo doas su pkexec runuser env xargs parallel eval exec source . command builtin coproc "
    "nohup nice ionice time timeout stdbuf setsid unshare nsenter chroot script watch strace "
    "ltrace gdb flock ssh mosh telnet nc ncat socat npx pnpx bunx uvx pipx tmux screen at batch "
    "crontab systemd-run vim vi nvim emacs ed ex less man"
)
# Programs whose second word says what they do; a rule without it would allow everything.
_SUBCOMMAND_PROGRAMS: Final = word_set(
    "git npm pnpm yarn cargo go rustup make cmake ninja gradle mvn sbt dotnet pip pip3 uv poetry "
    "pdm hatch conda bundle gem composer brew apt apt-get dnf yum pacman snap gh glab aws gcloud "
    "az terraform tofu ansible helm docker podman kubectl systemctl"
)
# Programs for which every argument matters.
_ARGUMENT_PROGRAMS: Final = word_set(
    "rm rmdir mv cp ln dd shred truncate chmod chown chgrp find fd sed tee tar zip unzip rsync scp "
    "sftp curl wget kill pkill killall mount umount install touch mkdir cat head tail"
)
# Program → second words with which it runs the command that follows.
_RUNNING_SUBCOMMANDS: Final = {
    "npm": word_set("exec x"),
    "pnpm": word_set("exec dlx"),
    "yarn": word_set("exec dlx node"),
    "uv": word_set("run tool"),
    "poetry": word_set("run"),
    "pdm": word_set("run"),
    "hatch": word_set("run"),
    "bundle": word_set("exec"),
    "conda": word_set("run"),
    "go": word_set("run"),
    "docker": word_set("run exec compose"),
    "podman": word_set("run exec"),
    "kubectl": word_set("run exec"),
    "git": word_set("config bisect filter-branch submodule"),
    "find": word_set("-exec -execdir -ok -okdir"),
}
_ALL_COMMANDS: Final = "it allows every command; name programs, or use the mode `sandboxed`"


def overbroad_reason(tool: str, pattern: str | None) -> str | None:
    """Why an allow rule is too broad to be written; None if it is not."""
    if tool == ANY_TOOL:
        return "it allows every tool; that is what the mode `bypass` is for"
    traits = declared_traits(tool)
    if traits.family is RuleFamily.RUN and not traits.takes_pattern:
        return "code can do anything, and nothing in it can be matched"
    if traits.family is RuleFamily.RUN:
        return (
            _ALL_COMMANDS
            if pattern is None
            else _broad_command_reason(parse_command_pattern(pattern))
        )
    if tool.startswith(MCP_PREFIX) and "*" in tool and not re.fullmatch(r"mcp__[^*]+__\*", tool):
        return "it allows the tools of every server; name one"
    about_paths = pattern is not None and traits.family is not RuleFamily.WEB
    if about_paths and matches_whole_trees(pattern or ""):
        return "it means whole trees outside the workspace"
    return None


def ungrantable_reason(tool: str, pattern: str | None) -> str | None:
    """Why a rule is too broad for "always"; stricter than `overbroad_reason`."""
    reason = overbroad_reason(tool, pattern)
    if reason is not None:
        return reason
    family = declared_traits(tool).family
    if family is RuleFamily.WRITE and (pattern is None or not pattern.strip("*/.")):
        return "it allows every change; that is what the mode `accept-edits` is for"
    if family is RuleFamily.WEB and pattern is None:
        return "it allows every host; name one, such as domain:example.org"
    if "*" in tool:
        return "it allows every tool of a server; grant them one by one"
    if family is RuleFamily.RUN and pattern is not None:
        return _broad_prefix_reason(parse_command_pattern(pattern))
    return None


def _broad_prefix_reason(pattern: CommandPattern) -> str | None:
    program, rest = pattern.program, pattern.words[1:]
    if not pattern.prefix:
        return None
    if program in _ARGUMENT_PROGRAMS or (program in _SUBCOMMAND_PROGRAMS and not rest):
        return f"{program} does very different things; name what follows it"
    if program in _SUBCOMMAND_PROGRAMS and rest[0].startswith("-"):
        return f"{rest[0]!r} does not say what {program} will do"
    return None


def has_subcommands(program: str) -> bool:
    """Whether the second word of the program's command says what it does."""
    return program in _SUBCOMMAND_PROGRAMS


def runs_other_program(words: Sequence[str | None]) -> bool:
    """Whether the words may start another program; a computed word may be anything."""
    program = (words[0] or "").rpartition("/")[2].lower()
    if program in _COMMAND_RUNNERS:
        return True
    runs = _RUNNING_SUBCOMMANDS.get(program, frozenset())
    operand = next((word for word in words[1:] if word is None or word[:1] != "-"), "")
    return bool(runs) and (operand is None or not runs.isdisjoint(words[1:]))


def is_interpreter(program: str) -> bool:
    """Whether the program runs a script from its arguments."""
    return program in _SHELLS or _INTERPRETERS.fullmatch(program) is not None


def _broad_command_reason(pattern: CommandPattern) -> str | None:
    program, rest = pattern.program, pattern.words[1:]
    if "*" in pattern.words[0]:
        return "it allows many programs; name one"
    if program in _COMMAND_RUNNERS and (pattern.prefix or not rest):
        return f"{program} runs whatever it is given"
    if is_interpreter(program):
        return _broad_interpreter_reason(program, rest)
    runs = _RUNNING_SUBCOMMANDS.get(program, frozenset())
    if pattern.prefix and len(rest) == 1 and rest[0] in runs:
        return f"{program} {rest[0]} runs whatever follows"
    if program in _SUBCOMMAND_PROGRAMS and rest and "*" in rest[0] and not rest[0].strip("*-"):
        return f"it allows everything that {program} can do"
    return None


def _broad_interpreter_reason(program: str, rest: tuple[str, ...]) -> str | None:
    """Why a rule about an interpreter is too broad; None if it names a script or a module."""
    module = len(rest) > 1 and rest[0] == "-m" and rest[1].strip("*-")
    script = rest and not rest[0].startswith("-") and rest[0].strip("*")
    if module or (script and rest[0] not in ("run", "eval", "exec", "x", "repl")):
        return None
    return f"{program} runs any code it is given; name the script, or `-m` and the module"
