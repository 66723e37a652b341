"""Shell commands that containers, other machines, or a later login run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from handrail.shell.blocklist.dry_runs import is_dry_run
from handrail.shell.blocklist.interpreters import interpreter_language
from handrail.shell.tables.catastrophes import ALWAYS, FETCHERS, LANGUAGES, SHELLS
from handrail.shell.tables.remote_loss import PROGRAMS as LOSS_PROGRAMS
from handrail.shell.tables.text_arguments import takes_text_as_data
from handrail.shell.tables.word_list import word_set

_HOST_MOUNT: Final = re.compile(
    r"(?:-v|--volume=)?(/[^:\s,=]*|[\w.-]*prod[\w.-]*):(/[^:\s]*)(?::[\w,]+)?"
    r"|(?:--mount=)?(?:[^,\s]+,)*(?:source|src)=(/[^,]*),(?:target|dst|destination)=([^,]+).*"
)
_CONTAINER_PROGRAMS: Final = word_set("rm chroot sh bash dd find chmod chown mv cp tee shred")
_WIPING: Final = word_set("rm shred dd find")
_WIPES: Final = re.compile(
    r"\b(?:rm|shred|dd|find|drop(?:db)?|mongo(?:sh)?|redis-cli|mysql|psql)\b"
)
_GUEST_VERBS: Final = word_set("exec run ssh shell enter console -C execute")
# All of a phone's data, or of its system; one file below is work on a program.
_DEVICE_DATA: Final = re.compile(
    r"(\s)/(?:sdcard|data|data/(?:data|app|user|media(?:/\d+)?)|system|vendor|storage(?:/emulated(?:/\d+)?)?|product)"
    r"(?=/?\*?(?:\s|$))"
)
_RUNS: Final = frozenset(("exec", "run", "debug", "rsh"))
_COMMAND_VALUE: Final = re.compile(r"--(?:command|scripts)|-a|--args")
# `ansible -m file -a 'path=/x state=absent'`.
_ABSENT: Final = re.compile(r"\bstate=absent\b")
_ABSENT_PATH: Final = re.compile(r"\b(?:path|dest|name)=(\S+)")
_COMMAND_LIST: Final = re.compile(
    r"(?:commands=\[?|.*[\"']commands[\"']\s*:\s*\[)(.+?)(?:\].*)?", re.DOTALL
)
_LIST_ITEM: Final = re.compile(r"[\"']([^\"']+)[\"']")
# Read by every new shell, or by the service manager and the desktop.
STARTUP_FILES: Final = word_set("""
    .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile .zshenv .zlogin .kshrc
    .cshrc .tcshrc .login .xinitrc .xsession .xprofile .bash_aliases config.fish
""")
_STARTUP_FOLDERS: Final = re.compile(
    r"/\.config/(?:autostart|autostart-scripts|plasma-workspace/env|environment\.d)/|/\.bashrc\.d/"
    r"|/\.zshrc\.d/|/\.profile\.d/|/\.git/hooks/"
)
# What a shell runs before each prompt or command.
_STARTUP_VARIABLE: Final = re.compile(
    r"\b(?:PROMPT_COMMAND|PS[0124]|BASH_ENV|ENV|precmd|preexec)=(?:\"([^\"]*)\"|'([^']*)')"
)
_SEARCHED_FIRST: Final = re.compile(
    r"\b(?:PATH|LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_INSERT_LIBRARIES|PYTHONPATH|PYTHONSTARTUP|NODE_PATH|PERL5LIB|RUBYLIB)"
    r"=[\"']?(/(?:tmp|var/tmp|dev/shm)/[^\s:\"']*)"
)
# What ssh runs for a connection.
_SSH_COMMAND: Final = re.compile(
    r"(?i)\b(?:proxycommand|localcommand|knownhostscommand|match\s+exec)[\s=]+([^\n]+)"
)
_UNITS: Final = (".service", ".timer", ".desktop", ".path", ".socket")
_UNIT_COMMAND: Final = re.compile(r"^[ \t]*+Exec\w*=[-@:+!]*(.+)$", re.MULTILINE)


_COMMAND_VARIABLES: Final = re.compile(
    r"GIT_(?:SSH_COMMAND|EDITOR|PAGER|SEQUENCE_EDITOR|EXTERNAL_DIFF|ASKPASS|SSH|PROXY_COMMAND)"
    r"|PROMPT_COMMAND|BASH_ENV|ENV|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|PS[0124]|RSYNC_RSH"
    r"|FCEDIT|SUDO_ASKPASS|SSH_ASKPASS"
)
# Variables whose value is read as options of a program.
_OPTION_VARIABLES: Final = {
    **dict.fromkeys(("MAKEFLAGS", "GNUMAKEFLAGS"), "make"),
    "PERL5OPT": "perl",
    "RUBYOPT": "ruby",
    "NODE_OPTIONS": "node",
}
# Programs that do harm by the paths or processes they are given.
_DAMAGING: Final = word_set("""
    rm dd shred wipefs find chmod chown chgrp mv truncate unlink rmdir tee kill killall pkill crontab
""")
_COMMAND_WORDS: Final = (
    _DAMAGING | ALWAYS.keys() | FETCHERS | SHELLS | LOSS_PROGRAMS | {"eval", "exec", "env", ":"}
)
# What may stand before the first word of a command text; a shell with options is a command itself.
_BEFORE_COMMAND: Final = re.compile(r"[\s!|;&(@:-]*(?:(?:cmd|shell|sh|run|exec)\b(?!\s+-))?[\s!:]*")
_FIRST_WORD: Final = re.compile(r"[\w./+:-]+")
# The words after one of these are the command of another program, whoever reads them.
_INTRODUCES: Final = word_set("-- exec run shell do with cmd command spawn start")
_OPTION_OR_NUMBER: Final = re.compile(r"-|\+?\d+%?$")
_MOST_LINES: Final = 8
# Each is read by itself, together with all words after it.
_MOST_CARRIED: Final = 4
# An unknown program that is given these words runs them, or is given them by mistake.
_DELETES_FILES: Final = word_set("rm dd shred wipefs find chmod chown chgrp mv truncate tee")
_TAKES_COMMAND: Final = re.compile(
    r"-[cxs]|--(?:exec\w*|command|cmd|run|shell|eval|call|script|wrap|(?:on|pre|post|before|after)-[\w-]+)|[A-Z_]*(?:CMD|COMMAND)"
)
# `salt-call cmd.run 'command'`.
_INTRODUCING: Final = re.compile(r"(?!-)[\w.:-]*(?:run|exec|shell|cmd|command)")
# They run their last words on many machines.
_FLEETS: Final = word_set("""
    pdsh clush dsh pssh parallel-ssh prsh mussh fab mco knife bolt srun mpirun mpiexec sshpass ttyd gotty
""")


# They run their arguments, or a text among them, on this machine.
_RUNNERS: Final = _FLEETS | word_set("""
    numactl watchexec entr nodemon choom cpulimit dtach abduco screen tmux zellij nix asdf mise op doppler
    chamber infisical aws-vault saml2aws aws-okta envconsul summon dotenv dotenvx env-cmd cross-env envdir
    mosh kitty alacritty wezterm foot xterm konsole gnome-terminal xfce4-terminal tilix terminator
    chpst softlimit runcon firejail bwrap proot toolbox distrobox flatpak-spawn wsl salt rush
    concurrently lerna hyperfine sg snap eb haxe sops cargo-watch just
""")


def commands_in_variables(variables: Mapping[str, str]) -> Iterator[str]:
    """The values of the variables that programs take for a command, or for a file of commands."""
    for name, value in variables.items():
        if _COMMAND_VARIABLES.fullmatch(name):
            yield value.removeprefix("|")
        program = _OPTION_VARIABLES.get(name)
        if program is not None:
            yield f"{program} {quoted_command([value])}"
        if name.startswith("TF_CLI_ARGS"):
            yield f"terraform {name.removeprefix('TF_CLI_ARGS').lstrip('_')} {value}"


def runs_arguments(name: str) -> bool:
    """Whether a program is known to run its arguments, or a text among them, as commands."""
    return name in _RUNNERS


def commands_in_arguments(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """The first few commands that a program would run if it runs its arguments, as many do."""
    yield from islice(_in_arguments(name, arguments), _MOST_CARRIED)


def _in_arguments(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """The commands that a program would run if it runs its arguments, as many do.

    A word of blanks and a command's name may be text for a shell; so may all words after `--`,
    `exec` or `run`, or from the name of a program that does harm to the end.
    """
    if name not in _RUNNERS:
        # A script, or inline code, may run its arguments.
        is_data = takes_text_as_data(name) and interpreter_language(name) not in LANGUAGES
        yield from () if is_data else _unknown_carrier(arguments)
        return
    for number, one in enumerate(arguments):
        before = arguments[number - 1] if number else ""
        word = posixpath.basename(one)
        introduced = before in _INTRODUCES or name in _FLEETS
        if word in _DAMAGING or (introduced and word in _COMMAND_WORDS):
            yield quoted_command((word, *arguments[number + 1 :]))
        for text in {one, one.partition("=")[2]}:
            if " " in text.strip() and (name in _FLEETS or is_command_text(text)):
                yield _BEFORE_COMMAND.sub("", text, count=1)


def _unknown_carrier(arguments: Sequence[str]) -> Iterator[str]:
    """What a program would run that is not known to run its arguments.

    Prose names commands, too: only words that are nothing but a command count, and the text after
    an option whose name says that it is one.
    """
    for number, one in enumerate(arguments):
        before = arguments[number - 1] if number else ""
        rest = arguments[number + 1 :]
        if posixpath.basename(one) in _DELETES_FILES and rest and all(map(_is_argument, rest)):
            yield quoted_command((posixpath.basename(one), *rest))
        option, equals, value = one.partition("=")
        text = value if equals and _TAKES_COMMAND.fullmatch(option) else one
        told = _TAKES_COMMAND.fullmatch(option if equals else before) or (
            not equals and _INTRODUCING.fullmatch(before)
        )
        if told and " " in text.strip() and is_command_text(text):
            yield text


def _is_argument(word: str) -> bool:
    """Whether a word of a command is an option, an assignment of `dd` or a path."""
    return word.startswith(("-", "/", "~", ".", "*", "if=", "of=", "bs=")) or "/" in word


def is_command_text(text: str) -> bool:
    """Whether a text begins like a command that could do harm."""
    start = _BEFORE_COMMAND.match(text)
    found = _FIRST_WORD.match(text, start.end() if start else 0)
    return found is not None and posixpath.basename(found[0]) in _COMMAND_WORDS


def quoted_command(words: Sequence[str]) -> str:
    """The words as one shell text that means the same words."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def container_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """The first few commands of a container that act on directories of the host."""
    yield from islice(_in_containers(arguments), _MOST_CARRIED)


def _in_containers(arguments: Sequence[str]) -> Iterator[str]:
    """The commands of a container that sees directories of the host: they act on them."""
    if not {"run", "create", "exec"}.intersection(arguments):
        return
    mounts = [
        (match[1] or match[3], match[2] or match[4])
        for one in arguments
        for match in [_HOST_MOUNT.fullmatch(one)]
        if match is not None
    ]
    for mounted, inside in mounts:
        # A volume has a name.
        outside = mounted if mounted[:1] == "/" else f"/var/lib/docker/volumes/{mounted}"
        there = re.compile(rf"(?<![\w./-]){re.escape(inside.rstrip('/'))}(?=/|$|[\s;&|\"'])")
        joined = [there.sub(outside.rstrip("/"), one) or "/" for one in arguments]
        for start in range(1, len(joined)):
            # An image may be named after the program that it starts.
            program = posixpath.basename(joined[start]).partition(":")[0]
            known = joined[start] in _CONTAINER_PROGRAMS or program in FETCHERS
            if joined[start - 1][:1] != "-" and known:
                yield quoted_command((program, *joined[start + 1 :]))
    if "exec" in arguments:
        yield from _in_service(arguments[arguments.index("exec") + 1 :])


def _in_service(words: Sequence[str]) -> Iterator[str]:
    """The command inside a container or a device that serves: it loses what it is for."""
    for number, one in enumerate(words):
        if one in _WIPING or one in LOSS_PROGRAMS:
            yield quoted_command(words[number:])
            return
        if one in SHELLS and _WIPES.search(" ".join(words[number:])):
            yield quoted_command(words[number:])
            return


def guest_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """What `lxc exec NAME -- command`, `vagrant ssh -c command` and `heroku run command` run."""
    verb = next((n for n, one in enumerate(arguments) if one in _GUEST_VERBS), None)
    if verb is None:
        return
    rest = arguments[verb + 1 :]
    yield from _in_service(rest)
    yield from (one for one in rest if " " in one and _WIPES.search(one))


def device_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """What `adb shell` runs, with the places where a phone keeps the user's data."""
    if "shell" not in arguments:
        return
    rest = arguments[arguments.index("shell") + 1 :]
    text = " ".join(rest[rest.index("-c") + 1 :] if rest[:1] == ["su"] and "-c" in rest else rest)
    if text.startswith(tuple(_WIPING)):
        yield _DEVICE_DATA.sub(r"\1/etc", text)


def pod_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """What `kubectl exec POD -- command` runs."""
    if "--" in arguments and not _RUNS.isdisjoint(arguments[: arguments.index("--")]):
        yield quoted_command(arguments[arguments.index("--") + 1 :])


def ansible_commands(arguments: Sequence[str], piped: str) -> Iterator[str]:
    """What `ansible -a` runs; with `--check` that is nothing."""
    if not is_dry_run("ansible", arguments):
        yield from fleet_commands(arguments, piped)


def fleet_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """What `ansible -a`, `gcloud compute ssh --command` and `aws ssm send-command` run."""
    for number, one in enumerate(arguments):
        name, equals, value = one.partition("=")
        if _COMMAND_VALUE.fullmatch(name):
            yield value if equals else "".join(arguments[number + 1 : number + 2])
        for path in _ABSENT_PATH.findall(one) if _ABSENT.search(one) else ():
            yield f"rm -rf {quoted_command([path])}"
        listed = _COMMAND_LIST.fullmatch(one)
        if listed is not None:
            yield from _LIST_ITEM.findall(listed[1]) or [listed[1]]


def repeated_commands(arguments: Sequence[str], piped: str) -> Iterator[str]:
    """`parallel 'command {}' ::: a b` runs the text for each argument, or for each line it reads."""
    at = arguments.index(":::") if ":::" in arguments else len(arguments)
    start = next((n for n, one in enumerate(arguments) if not _OPTION_OR_NUMBER.match(one)), at)
    template = " ".join(arguments[start:at])
    lines = [one for one in piped.splitlines() if one.strip()]
    for one in arguments[at + 1 : at + 9] if at < len(arguments) else lines[:_MOST_LINES]:
        yield template.replace("{}", one) if "{}" in template else f"{template} {one}"


def is_startup_file(path: str) -> bool:
    """Whether every new shell, the desktop or git runs what is in the file."""
    name = posixpath.basename(path)
    return name in STARTUP_FILES or _STARTUP_FOLDERS.search(f"/{path}") is not None


def startup_commands(path: str, content: str) -> Iterator[str]:
    """The shell texts that run at the next login or start if a file has this content."""
    name = posixpath.basename(path)
    if is_startup_file(path):
        yield content
        # A program or a library that is found first is as good as started.
        yield from (match[1] for match in _SEARCHED_FIRST.finditer(content))
        yield from (match[1] or match[2] for match in _STARTUP_VARIABLE.finditer(content))
    if path.endswith("/.ssh/config"):
        yield from _SSH_COMMAND.findall(content)
    elif name.endswith(_UNITS):
        yield from _UNIT_COMMAND.findall(content)


def values_after(arguments: Sequence[str], options: re.Pattern[str]) -> Iterator[str]:
    """The values of the options that match."""
    for number, one in enumerate(arguments):
        name, equals, value = one.partition("=")
        if options.fullmatch(name):
            yield value if equals else "".join(arguments[number + 1 : number + 2])
