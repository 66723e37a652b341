"""Shell commands inside the arguments and the input of programs that are not shells.

Editors, debuggers, database clients, git, sed, make and others run commands by syntax of their
own. The result only ever serves to find a catastrophe, so a guess is allowed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from handrail.shell.classify import sed
from handrail.shell.languages import awk
from handrail.shell.simulate.carried_commands import (
    STARTUP_FILES,
    ansible_commands,
    commands_in_arguments,
    container_commands,
    device_commands,
    fleet_commands,
    guest_commands,
    pod_commands,
    quoted_command,
    repeated_commands,
    runs_arguments,
    values_after,
)
from handrail.shell.simulate.repository_commands import git_commands, mercurial_commands
from handrail.shell.tables.word_list import word_set

_EDITORS: Final = word_set("vim vi nvim view vimdiff gvim ex rvim vimx rview")
_EDITOR_COMMAND: Final = re.compile(
    r"^[\s:]*+(?:\d+,?\$?|%|\$|sil(?:ent)?!?\s+)*+\s*+(?:r(?:ead)?|w(?:rite)?)?\s*+!\s*(.+)",
    re.DOTALL,
)
_EDITOR_WRITE: Final = re.compile(r"^[\s:]*(?:[\d,$%]*)w(?:rite|q)?!?\s+(?:>>\s*)?([^!\s].*)")
_CALLED_SHELL: Final = re.compile(
    r"(?:system(?:list)?|os\.execute|io\.popen|shell-command(?:-to-string)?|async-shell-command"
    r"|call-process-shell-command|jobstart|termopen)\s*\(?\s*(?:\[\[|[\"'])(.+?)(?:\]\]|[\"'](?:[\s,)]|$))",
    re.DOTALL,
)
_DELETED_TREE: Final = re.compile(
    r"(?:delete-directory|delete-file|delete)\s*\(?\s*[\"']([^\"']+)[\"']"
)
_DOT_COMMAND: Final = re.compile(r"^[ \t]*+\.(?:shell|system)\s+(.+)$", re.MULTILINE)
_CLIENT_COMMAND: Final = re.compile(r"\\!\s*([^\n]+)|^[ \t]*+system\s+([^\n]+)", re.MULTILINE)
# `COPY t FROM PROGRAM 'command'`: the server runs it.
_SERVER_PROGRAM: Final = re.compile(r"(?i)\bprogram\s+'([^']+)'")
_DEBUGGER_COMMAND: Final = re.compile(r"^\s*(?:!|shell|pipe|platform shell)\s*(.+)", re.DOTALL)
_SPAWN: Final = re.compile(r"(?:spawn|exec|system)\s+([^;\n\]]+)")
# `1i text`, `$a text`: sed inserts it.
_INSERTED: Final = re.compile(
    r"^[ \t]*+(?:\d+|\$|/[^/\n]*/)?[ \t]*+[aic]\\?\s*+(\S.*)$", re.MULTILINE
)
_CRON: Final = re.compile(r"^[ \t]*+(?:@\w+|(?:\S+[ \t]+){4}\S+)[ \t]+(\S.*)$", re.MULTILINE)
_RECIPE: Final = re.compile(
    r"^(?:\t[-@+]*|[^#\s:=]+\s*::?[^=;\n]*;\s*)(.+)$|\$\(shell\s+([^)]+)\)", re.MULTILINE
)
_MAKE_VARIABLE: Final = re.compile(r"\$\((\w+)\)")
_MANIFEST_RUN: Final = word_set(
    "poetry pdm pipenv hatch rye uv bundle direnv pixi conda mamba rbenv pyenv"
)
_KEY: Final = re.compile(r"(?:C-|\^)[mMjJ]|Enter|KPEnter|Space")
_TYPED_END: Final = re.compile(r"(?:\\[nr]|\\01[25]|\^M|\s)+$")
_RUN_VERBS: Final = frozenset(("run", "exec"))
# `"clean": "rm -rf dist"`.
_SCRIPT: Final = re.compile(r"\"[\w:-]+\"\s*:\s*\"([^\"]*)\"")
_MAX_TEXT: Final = 20_000
# Options whose value is a command, by program.
_COMMAND_OPTIONS: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(("man", "apropos", "whatis"), re.compile(r"-P|--pager|-H|--html")),
    **dict.fromkeys(
        ("tar", "bsdtar", "gtar"),
        re.compile(
            r"--checkpoint-action|--to-command|-I|--use-compress-program|-F|--info-script"
            r"|--new-volume-script|--rsh-command|--rmt-command"
        ),
    ),
    "rsync": re.compile(r"-e|--rsh(?!\w)|--rsync-path"),
    "ssh": re.compile(r"-o"),
    **dict.fromkeys(("scp", "sftp"), re.compile(r"-o|-S|-D")),
    "zip": re.compile(r"-TT|--unzip-command"),
    "sort": re.compile(r"--compress-program"),
    "split": re.compile(r"--filter"),
    "rg": re.compile(r"--pre(?!-)|--hostname-bin"),
    "bat": re.compile(r"--pager"),
    "fzf": re.compile(r"--preview|--bind"),
    "flock": re.compile(r"-c|--command"),
    "strace": re.compile(r"-o|--output"),
    "ncat": re.compile(r"-e|-c|--exec|--sh-exec"),
}
# What stands before the command in such a value.
_OPTION_PREFIX: Final = re.compile(
    r"(?:exec=|(?i:proxycommand|localcommand|knownhostscommand)[= ]|\|"
    r"|[\w,-]+:(?:execute(?:-silent)?|become|reload)[(:])"
)


def embedded_commands(fields: Sequence[str], stdin: str | None) -> Iterator[str]:
    """The shell texts that a program would run."""
    name, arguments = fields[0].rpartition("/")[2], [one[:_MAX_TEXT] for one in fields[1:]]
    options = _COMMAND_OPTIONS.get(name)
    if options is not None:
        for one, after in pairwise((*arguments, "")):
            match = options.match(one)
            if match is not None:
                value = one[match.end() :].removeprefix("=") or after
                yield _OPTION_PREFIX.sub("", value, count=1).rstrip(")")
    reader = _READERS.get(name)
    if reader is None and name in _EDITORS:
        reader = _editor
    if reader is None and name in _MANIFEST_RUN:
        reader = _manifest_run
    if reader is None and re.fullmatch(r"ld(?:-linux.*|-musl.*|-\d.*)?\.so(?:\.\d+)?", name):
        reader = _after_options
    if reader is not None:
        yield from reader(arguments, (stdin or "")[:_MAX_TEXT])
    if (reader is None or runs_arguments(name)) and ("/" not in fields[0] or fields[0][0] == "/"):
        yield from commands_in_arguments(name, arguments)


def _sed(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    scripts, rest, left = [], [], list(arguments)
    while left:
        one = left.pop(0)
        if one in ("-e", "--expression") and left:
            scripts.append(left.pop(0))
        elif one.startswith("--expression="):
            scripts.append(one.partition("=")[2])
        elif not one.startswith("-"):
            rest.append(one)
    text = "\n".join(scripts) if scripts else "".join(rest[:1])
    for command in sed.executed_commands(text):
        yield command or stdin
    if any(posixpath.basename(one) in STARTUP_FILES for one in rest):
        yield from (match[1] for match in _INSERTED.finditer(text))
    for path in sed.written_files(text):
        yield f"> {quoted_command([path])}"


def _editor(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    commands = [one[1:] for one in arguments if one.startswith("+") and len(one) > 1] + list(
        values_after(arguments, re.compile(r"-\w*c|--cmd|-S"))
    )
    for command in (*commands, *stdin.splitlines()):
        shell = _EDITOR_COMMAND.match(command)
        if shell is not None:
            yield shell[1]
        written = _EDITOR_WRITE.match(command)
        if written is not None:
            yield f"> {quoted_command([written[1]])}"
        yield from _called(command)


def _called(code: str) -> Iterator[str]:
    yield from (match[1] for match in _CALLED_SHELL.finditer(code))
    for match in _DELETED_TREE.finditer(code):
        yield f"rm -rf {quoted_command([match[1]])}"


def _ed(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    files = [one for one in arguments if not one.startswith("-")]
    for line in stdin.splitlines():
        if line.lstrip().startswith("!"):
            yield line.lstrip()[1:]
        written = re.fullmatch(r"[\d,$%]*w[q]?(?:\s+(.+))?", line.strip())
        if written is not None:
            yield from (
                f">> {quoted_command([one])}" for one in [written[1] or "".join(files[:1])] if one
            )


def _emacs(arguments: Sequence[str], _: str) -> Iterator[str]:
    for code in values_after(arguments, re.compile(r"--eval|-eval|--execute|-f")):
        yield from _called(code)


def _debugger(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    options = re.compile(r"-{1,2}(?:ex|eval-command|iex|o|one-line|O)")
    for command in (*values_after(arguments, options), *stdin.splitlines()):
        match = _DEBUGGER_COMMAND.match(command)
        if match is not None:
            yield match[1]


def _database(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    for text in (*arguments, stdin):
        yield from (match[1] for match in _DOT_COMMAND.finditer(text))
        yield from (match[1] or match[2] for match in _CLIENT_COMMAND.finditer(text))
        yield from _SERVER_PROGRAM.findall(text)


def _pager(arguments: Sequence[str], _: str) -> Iterator[str]:
    for one in arguments:
        match = re.match(r"\+{1,2}\s*[!|]\s*(.+)", one, re.DOTALL)
        if match is not None:
            yield match[1]


def _terminal(arguments: Sequence[str], _: str) -> Iterator[str]:
    """`tmux new -d 'command'`, `screen -dm command`: the words behind the options are shell text."""
    verbs = (
        "new",
        "new-session",
        "new-window",
        "neww",
        "split-window",
        "run-shell",
        "run",
        "respawn-pane",
        *("send-keys", "send", "stuff", "pipe-pane", "if-shell"),
    )
    rest: list[str] = []
    left = list(arguments)
    while left:
        one = left.pop(0)
        if one in ("-s", "-n", "-c", "-t", "-S", "-L", "-f", "-x", "-y", "-F") and not rest:
            del left[:1]
        elif not (one.startswith("-") or (one in verbs and not rest)):
            rest.append(one)
    # The keys that end a typed line.
    while rest and _KEY.fullmatch(rest[-1]):
        rest.pop()
    yield _TYPED_END.sub("", " ".join(rest))


def _after_options(arguments: Sequence[str], _: str) -> Iterator[str]:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        rest.pop(0)
    yield quoted_command(rest)


def _perf(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    if arguments[:1] in (["stat"], ["record"], ["trace"]):
        yield from _after_options(arguments[1:], stdin)


def _texts(arguments: Sequence[str], _: str) -> Iterator[str]:
    """Every argument is a command of its own, as for `hyperfine`."""
    yield from (one for one in arguments if not one.startswith("-"))


def _call_option(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    """`npx -c 'command'`, `npx command`."""
    yield from values_after(arguments, re.compile(r"-c|--call"))
    yield from _after_options(arguments, stdin)


def _package_exec(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    """`yarn exec 'command'`; any other word names a script of the project."""
    if "exec" in arguments[:2] or arguments[:1] == ["x"]:
        at = arguments.index("exec") if "exec" in arguments else 0
        yield from _call_option(arguments[at + 1 :], stdin)
        yield " ".join(one for one in arguments[at + 1 :] if not one.startswith("-"))


def _package_scripts(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    """As `_package_exec`; also the scripts of a `package.json` that the command has written or set."""
    yield from _package_exec(arguments, stdin)
    yield from _SCRIPT.findall(stdin) if "scripts" in stdin else ()
    yield from (one.partition("=")[2] for one in arguments if one.startswith("scripts."))


def _transfer(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    """What `sftp` and `lftp` delete on the other machine."""
    told = [*values_after(arguments, re.compile(r"-e|-c")), stdin]
    entered = ""
    for line in re.split(r"[;\n]", "\n".join(told)):
        verb, _, rest = line.strip().lstrip("-@").partition(" ")
        if verb == "cd":
            entered = f"cd {rest}; "
        elif verb in ("rm", "mrm", "rmdir", "del", "delete", "mdelete"):
            yield f"{entered}rm -rf {rest}"
        elif verb == "mirror" and "--delete" in rest and "-R" in rest:
            yield f"rsync {rest}"


def _nix(arguments: Sequence[str], _: str) -> Iterator[str]:
    yield from values_after(arguments, re.compile(r"--run|--command|-c"))


def _manifest_run(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    verb = next((n for n, one in enumerate(arguments) if one in _RUN_VERBS), len(arguments))
    rest = arguments[verb + 1 :]
    yield from _after_options(rest, stdin)
    # `direnv exec DIR command`, `conda run -n NAME command`.
    named = rest[:1] in (["-n"], ["-p"], ["--name"], ["--prefix"])
    yield quoted_command(rest[2 if named else 1 :] if named or rest[:1] in (["."], [".."]) else [])


def _make(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    yield from values_after(arguments, re.compile(r"SHELL|\.SHELLFLAGS"))
    texts = [*values_after(arguments, re.compile(r"--eval|-E")), stdin]
    for text in texts:
        for match in _RECIPE.finditer(text):
            yield _MAKE_VARIABLE.sub(r"${\1}", match[1] or match[2]).lstrip("@-+ ")


def _recipes(_: Sequence[str], stdin: str) -> Iterator[str]:
    """The indented lines of a justfile, and the commands of a ninja file, on standard input."""
    for line in stdin.splitlines():
        if line[:1] in (" ", "\t"):
            yield line.strip().removeprefix("command = ").lstrip("@-")


def _expect(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    for text in (*values_after(arguments, re.compile(r"-c")), stdin):
        yield from (match[1] for match in _SPAWN.finditer(text))


def _cron(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    yield from (match[1] for match in _CRON.finditer(stdin))


def _queue(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    yield stdin


def _awk(arguments: Sequence[str], stdin: str) -> Iterator[str]:
    program, values = awk.program_argument(arguments)
    if program is not None:
        yield from awk.likely_commands(program, values, stdin.partition("\n")[0])
        for path in awk.likely_files(program, values):
            yield f"> {quoted_command([path])}"


_READERS: Final[Mapping[str, Callable[[Sequence[str], str], Iterator[str]]]] = {
    **dict.fromkeys(("sed", "gsed"), _sed),
    "git": git_commands,
    "hg": mercurial_commands,
    **dict.fromkeys(("ed", "red"), _ed),
    **dict.fromkeys(("emacs", "emacsclient"), _emacs),
    **dict.fromkeys(("gdb", "lldb"), _debugger),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "mariadb", "duckdb"), _database),
    **dict.fromkeys(("less", "more", "most", "man"), _pager),
    **dict.fromkeys(("tmux", "screen", "byobu"), _terminal),
    **dict.fromkeys(
        (
            *("prlimit", "catchsegv", "eatmydata", "cpulimit", "rlwrap", "cgexec", "proot"),
            *("firejail", "bwrap", "systemd-inhibit", "aa-exec"),
        ),
        _after_options,
    ),
    "perf": _perf,
    **dict.fromkeys(("hyperfine", "concurrently", "npm-run-all"), _texts),
    **dict.fromkeys(("npx", "bunx"), _call_option),
    **dict.fromkeys(("npm", "pnpm", "yarn"), _package_scripts),
    **dict.fromkeys(("sftp", "lftp", "ftp"), _transfer),
    **dict.fromkeys(("nix-shell", "nix", "guix"), _nix),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("just", "mage", "task", "ninja"), _recipes),
    **dict.fromkeys(("expect", "tclsh", "wish"), _expect),
    "crontab": _cron,
    "parallel": repeated_commands,
    **dict.fromkeys(("at", "batch"), _queue),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "docker-compose", "podman-compose"), container_commands
    ),
    **dict.fromkeys(("kubectl", "oc"), pod_commands),
    **dict.fromkeys(
        (
            *("lxc", "incus", "vagrant", "multipass", "limactl", "colima", "machinectl", "crictl"),
            *(
                "heroku",
                "fly",
                "flyctl",
                "railway",
                "eb",
                "ctr",
            ),
        ),
        guest_commands,
    ),
    "adb": device_commands,
    "ansible": ansible_commands,
    **dict.fromkeys(("gcloud", "aws", "az", "salt"), fleet_commands),
    "faketime": lambda arguments, stdin: _after_options(arguments[1:], stdin),
}
