"""Shell commands in the arguments of git and Mercurial: settings, aliases, filters, hooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from handrail.shell.simulate.carried_commands import quoted_command, values_after

# Their value is a command; git runs it with a shell.
_GIT_KEYS: Final = re.compile(
    r"(?i)(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)"
    r"|sequence\.editor|diff\.external|pager\.[\w-]+|credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?program"
    r"|(?:diff|merge|filter|difftool|mergetool|browser|man|guitool)\.[^=]*\.(?:textconv|command|cmd|driver"
    r"|clean|smudge|process|path)|uploadpack\.packobjectshook|alias\.[^=]+|sendemail\.[\w.]*cmd"
    r"|interactive\.difffilter|init\.templatedir|core\.hookspath)"
)
# Settings that change what a later command does.
_LATER: Final = re.compile(r"(?i)alias\.[^=]+|remote\.[^=]+\.(?:mirror|push)|push\.default")
_MOST_SETTINGS: Final = 20
_TRUE: Final = ("true", "yes", "on", "1", "")
_GIT_FILTERS: Final = re.compile(r"--(?:tree|index|msg|env|commit|parent|tag-name)-filter|--setup")


def with_settings(fields: Sequence[str], settings: dict[str, str]) -> Sequence[str]:
    """The fields of git with the settings that the command has made before; records those it makes."""
    if fields[0].rpartition("/")[2] != "git":
        return fields
    if "config" in fields[1:]:
        told = [one for one in fields[fields.index("config") + 1 :] if not one.startswith("-")]
        key, *values = (told[1:] if told[:1] in (["set"], ["add"]) else told) or [""]
        if values and _LATER.fullmatch(key) and len(settings) < _MOST_SETTINGS:
            settings[key] = values[0]
        return fields
    given = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
    return (fields[0], *given, *fields[1:])


def git_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    left = list(arguments)
    aliases: dict[str, str] = {}
    while left:
        one = left.pop(0)
        if one == "-c" and left:
            yield from _git_setting(left.pop(0), aliases)
        elif one.startswith("-c") and "=" in one:
            yield from _git_setting(one[2:], aliases)
        elif one in ("-C", "--git-dir", "--work-tree", "--namespace") and left:
            left.pop(0)
        elif not one.startswith("-"):
            yield from _git_subcommand(one, left, aliases)
            return


def mercurial_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """`hg --config alias.x='!command'`, `hg --config hooks.x=command`."""
    for setting in values_after(arguments, re.compile(r"--config")):
        key, _equals, value = setting.partition("=")
        if key.startswith(("alias.", "hooks.", "ui.", "merge-tools.", "extdiff.", "pager.")):
            yield value.removeprefix("!")


def _git_setting(text: str, aliases: dict[str, str]) -> Iterator[str]:
    key, _, value = text.partition("=")
    if key.lower().startswith(("alias.", "remote.")):
        aliases[key.removeprefix("alias.")] = value
    elif not _GIT_KEYS.fullmatch(key):
        return
    else:
        yield value.removeprefix("!")


def _git_subcommand(name: str, rest: Sequence[str], aliases: Mapping[str, str]) -> Iterator[str]:
    yield from _aliased(name, rest, aliases)
    if name == "push":
        yield from _configured_push(rest, aliases)
    elif name == "config":
        given = [one for one in rest if not one.startswith("-") and one != "set"]
        if len(given) > 1 and _GIT_KEYS.fullmatch(given[0]):
            yield given[1].removeprefix("!")
    elif name == "submodule" and "foreach" in rest:
        after = [one for one in rest[rest.index("foreach") + 1 :] if not one.startswith("--")]
        yield " ".join(after)
    elif name == "filter-branch":
        yield from values_after(rest, _GIT_FILTERS)
    elif name == "bisect" and rest[:1] == ["run"]:
        yield quoted_command(rest[1:])
    elif name in (
        "rebase",
        "difftool",
        "grep",
        "for-each-repo",
        "archive",
        "fetch",
        "clone",
        "pull",
    ):
        yield from values_after(
            rest,
            re.compile(r"-x|--exec|--extcmd|-O|--open-files-in-pager|--upload-pack|-u|--remote"),
        )
        yield from (one[2:] for one in rest if one.startswith("-O"))


def _aliased(name: str, rest: Sequence[str], aliases: Mapping[str, str]) -> Iterator[str]:
    """What a subcommand runs that is an alias: a shell text, or another subcommand."""
    for alias, value in aliases.items():
        arguments = f" {quoted_command(rest)}" if alias == name and rest else ""
        if value.startswith("!"):
            yield value[1:] + arguments
        elif alias == name:
            yield f"git {value}{arguments}"


def _configured_push(rest: Sequence[str], settings: Mapping[str, str]) -> Iterator[str]:
    """What `git push NAME` pushes where a setting of the command says so."""
    for remote in [one for one in rest if not one.startswith("-")][:1] or ["origin"]:
        if settings.get(f"remote.{remote}.mirror", "false").lower() in _TRUE:
            yield f"git push --mirror {quoted_command([remote])}"
        refs = settings.get(f"remote.{remote}.push")
        if refs:
            yield f"git push {quoted_command([*rest, refs])}"
